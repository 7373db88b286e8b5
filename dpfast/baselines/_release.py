"""One release of a baseline: arguments, the plan, the ledger, and the draw."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from dpfast._rounding import real_number
from dpfast._spending import group_figure, payment
from dpfast._statement import Privacy
from dpfast.baselines.noise import draw_rounded
from dpfast.baselines.sensitivity import Problem, problem_of
from dpfast.duff.data import check_neighbours
from dpfast.duff.sampling import digest_of, stream_of
from dpfast.duff.weights import check_epsilon
from dpfast.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dpfast.baselines.noise import Noise
    from dpfast.duff.exact import Words

__all__ = ["REFUSED", "Additive", "Plan", "Recipe", "Terms", "release", "terms_of"]

REFUSED = -1  # stands for "no result" among grid indices


class Terms(NamedTuple):
    """What a release may spend, checked."""

    epsilon: Fraction
    delta: Fraction
    exact: bool


class Additive(NamedTuple):
    """The statistic plus scaled noise: private data."""

    noise: Noise
    centre: Fraction
    scale: Fraction  # in grid units
    top: int

    def draw(self, words: Words, n_draws: int) -> NDArray[np.int64]:
        """Grid indices."""
        return draw_rounded(self.noise, self.centre, self.scale, self.top, words, n_draws)


Plan: TypeAlias = Any  # has draw(words, n_draws): grid indices, REFUSED for no result
Recipe: TypeAlias = "Callable[[Problem, Terms], Plan]"


def terms_of(epsilon: Any, delta: Any, calibration: Any, *, most_delta: Fraction | None) -> Terms:
    """Check what is asked; `most_delta` None for mechanisms that need no delta."""
    exact_epsilon = check_epsilon(epsilon)
    if not exact_epsilon:
        raise ArgumentError("epsilon must be above 0 for noise to have a scale")
    exact_delta = real_number(delta, "delta")
    if not isinstance(exact_delta, Fraction) or exact_delta >= 1:
        raise ArgumentError("delta must be below 1")
    if most_delta is not None and not 0 < exact_delta <= most_delta:
        end = "below 1" if most_delta == 1 else f"at most {most_delta}"
        raise ArgumentError(f"this mechanism needs a delta above 0 and {end}")
    if calibration not in ("paper", "exact"):
        raise ArgumentError('calibration must be "paper" or "exact"')
    return Terms(exact_epsilon, exact_delta if most_delta is not None else Fraction(0), calibration == "exact")


def release(
    name: str,
    recipe: Recipe,
    values: Any,
    *,
    bounds: Any,
    epsilon: Any,
    delta: Any,
    statistic: Literal["median", "mean"],
    neighbours: Any,
    calibration: Any,
    step: Any,
    column_name: Any,
    rng: Any,
    ledger: Any,
    most_delta: Fraction | None = None,
    law: tuple[str, ...] = (),
) -> Any:
    """The answer on the grid, or None where the mechanism refuses one."""
    terms = terms_of(epsilon, delta, calibration, most_delta=most_delta)
    check_neighbours(neighbours)
    stream = stream_of(rng)
    problem = problem_of(values, bounds, step, statistic, neighbours)
    plan = recipe(problem, terms)
    grid = problem.grid
    figures = (terms.epsilon, terms.delta, grid.ratio, grid.origin, grid.size)
    digest = digest_of("baseline", name, str(calibration), statistic, neighbours, *map(str, figures), *law)
    payment(ledger, column_name, digest, lambda rows: privacy_of(terms, neighbours, rows))(stream, "draw")
    index = int(plan.draw(stream.draws(column_name, digest, 1).as_words(), 1)[0])
    return None if index == REFUSED else grid.value(index)


def privacy_of(terms: Terms, neighbours: Any, rows: int) -> Privacy:
    """What a release costs a person with so many rows."""
    return Privacy(*group_figure(terms.epsilon, terms.delta, rows), neighbours, rows)
