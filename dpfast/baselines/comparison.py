"""Duff and its rivals on the same data, with the same epsilon and the same meaning of neighbours: errors in a table.

Medians only, as in the paper. What depends on the data but not on chance (levels, smooth sensitivity) is computed once for each
epsilon; then all trials are drawn together, each from words of its own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from dpfast._rounding import integer
from dpfast.baselines import _recipes as recipes
from dpfast.baselines._oracle import ONE_SHAPE, tuned
from dpfast.baselines._release import REFUSED, terms_of
from dpfast.baselines.additive import laplace_recipe
from dpfast.baselines.ptr import MOST_DELTA, ptr_recipe
from dpfast.baselines.sensitivity import problem_of
from dpfast.duff.data import check_neighbours
from dpfast.duff.grid import exact_number
from dpfast.duff.laplace import laplace_levels
from dpfast.duff.levels import Levels
from dpfast.duff.orders import entries_of, quantile_distances
from dpfast.duff.sampling import digest_of, draw_indices, stream_of
from dpfast.duff.weights import Weights, check_epsilon
from dpfast.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from dpfast.baselines._release import Plan, Recipe, Terms
    from dpfast.baselines.sensitivity import Problem
    from dpfast.duff.data import Neighbours
    from dpfast.duff.exact import Words
    from dpfast.randomness import Stream

__all__ = ["DEFAULT_MECHANISMS", "compare"]

MEDIAN: Final = Fraction(1, 2)


class _Weighted(NamedTuple):
    """Levels and the weights of their entries: Duff, or piecewise Laplace."""

    levels: Levels
    weights: NDArray[np.uint64]

    def draw(self, words: Words, n_draws: int) -> NDArray[np.int64]:
        return draw_indices(self.levels, self.weights, words, n_draws, "sum")


def _duff(problem: Problem, terms: Terms) -> _Weighted:
    lower, upper, below, equal = entries_of(problem.indices, problem.grid.size)
    above = problem.indices.size - below - equal
    distance = quantile_distances(MEDIAN, below, equal, above, problem.neighbours)  # type: ignore[arg-type]
    return _Weighted(Levels(distance, lower, upper, step=1), Weights(terms.epsilon).of(distance))


def _piecewise_laplace(problem: Problem, terms: Terms) -> _Weighted:
    found = laplace_levels(problem.indices, problem.grid.size, MEDIAN, problem.neighbours, terms.epsilon)  # type: ignore[arg-type]
    return _Weighted(*found)


# Recipe, and the most delta it takes: None where it needs none.
_RECIPES: Final[dict[str, tuple[Recipe, Fraction | None]]] = {
    "duff": (_duff, None),
    "piecewise_laplace": (_piecewise_laplace, None),
    "laplace": (laplace_recipe, None),
    "smooth_cauchy": (recipes.cauchy_recipe, None),
    "smooth_student_t": (recipes.student_recipe, None),
    "smooth_polyplace": (recipes.polyplace_recipe, None),
    "smooth_laplace": (recipes.smooth_laplace_recipe, Fraction(1)),
    "smooth_laplace_lognormal": (recipes.laplace_lognormal_recipe, Fraction(1)),
    "propose_test_release": (ptr_recipe, MOST_DELTA),
}
DEFAULT_MECHANISMS: Final = (
    *_RECIPES,
    "smooth_cauchy/exact",
    "smooth_student_t/exact",
    "smooth_laplace/exact",
    "smooth_laplace_lognormal/exact",
)


def compare(
    datasets: Mapping[str, tuple[Any, Any]],
    *,
    epsilons: Sequence[float],
    trials: int,
    mechanisms: Sequence[str | Callable[..., Any]] | None = None,
    neighbours: Neighbours = "add_remove",
    delta: float = 1e-6,
    rng: Stream | None = None,
    progress: Any = None,
) -> pa.Table:
    """Compare private medians: `trials` answers for each data set, mechanism and epsilon; the table is private data.

    Parameters
    ----------
    datasets : dict of str to (values, (lower, upper))
        At least one row each; `datasets` makes some.
    epsilons : sequence of float
        Each above 0.
    trials : int
        At least 1.
    mechanisms : sequence of str or callable, optional
        "duff", "piecewise_laplace", or the name of a function of `dpfast.baselines`, as published; with "/exact" behind it for
        the sharp calibration, with "/oracle" for that and the smoothness that suits this data set best. That choice looks at
        the data: it is private for Cauchy, Student's and Laplace noise (see Notes), and not known to be for the others. A
        callable is called as f(values, bounds=, epsilon=, rng=) and returns a number or None.
        Default: all, and the exact ones where they differ.
    neighbours : {"add_remove", "replace_one"}
        The same for all but callables, which know their own.
    delta : float
        Of the mechanisms that need one.
    rng : Stream, optional
        Default: a fresh stream. A stream of the same key or seed gives the same table, but for the seconds.
    progress : callable, False or None
        ``progress(done, total)`` after each data set and mechanism. None: a bar on a terminal; False: nothing.

    Returns
    -------
    pyarrow.Table
        One row for each data set, mechanism and epsilon, in this order: dataset, mechanism, epsilon, private (false where
        "/oracle" is not known to be, and null for callables, as nobody vouches for them), then error_mean, error_median,
        error_rmse, error_q95 of the distance to the lower median of the values on the grid, rank_error (mean distance of the
        median's rank from the number of values up to the answer, or from the nearest rank of values equal to it), null where no
        trial had a result; refusals (trials without one), and seconds of all trials together.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        Before anything is drawn, but for what callables raise.

    Notes
    -----
    The least scale SS_beta / alpha of a public list of beta is private where noise has one shape for all of them: of neighbours,
    let beta be the choice of the one with the smaller scale s. The other's is at most e^beta s, and the statistic moves by at
    most alpha s, which is what this alpha allows for.
    A mechanism that is refused altogether, as "smooth_laplace" at a large epsilon, has as many refusals as trials.

    Examples
    --------
    >>> from dpfast import Stream
    >>> from dpfast.baselines import datasets
    >>> some = {"normal": datasets(101)["normal"]}
    >>> table = compare(some, epsilons=[1.0], trials=100, mechanisms=["duff", "laplace"], rng=Stream.insecure(1))
    >>> [round(error, 2) for error in table["error_mean"].to_pylist()]
    [0.04, 81.12]
    """
    import pyarrow as pa

    check_neighbours(neighbours)
    trials = integer(trials, "trials", minimum=1)
    if not isinstance(datasets, Mapping) or not all(
        isinstance(name, str) and isinstance(pair, (tuple, list)) and len(pair) == 2 for name, pair in datasets.items()
    ):
        raise ArgumentTypeError("datasets must map each name to a pair (values, (lower, upper))")
    if not isinstance(epsilons, (Sequence, np.ndarray)):
        raise ArgumentTypeError(f"epsilons must be a list of numbers, not {type(epsilons).__name__}")
    for epsilon in epsilons:
        if not check_epsilon(epsilon):
            raise ArgumentError("each epsilon must be above 0")
    if isinstance(mechanisms, str):
        raise ArgumentTypeError("mechanisms must be a list of names and callables, not one name")
    contenders = [_contender(one) for one in (DEFAULT_MECHANISMS if mechanisms is None else mechanisms)]
    for contender in contenders:
        terms_of(1.0, delta, "paper", most_delta=contender.most_delta)
    stream = stream_of(rng)
    problems = {name: problem_of(values, bounds, None, "median", neighbours) for name, (values, bounds) in datasets.items()}
    if any(not problem.indices.size for problem in problems.values()):
        raise ArgumentError("a data set has no values; there is no median to be near to")
    rows = []
    with _bar(progress, len(problems) * len(contenders)) as advance:
        for name, problem in problems.items():
            for contender in contenders:
                for epsilon in epsilons:
                    start = time.perf_counter()
                    values = contender.answers(datasets[name], name, problem, epsilon, delta, stream, trials)
                    seconds = time.perf_counter() - start
                    head = {"dataset": name, "mechanism": contender.name, "epsilon": float(epsilon), "private": contender.private}
                    rows.append(head | _errors(problem, values) | {"seconds": seconds})
                advance()
    return pa.Table.from_pylist(rows, schema=_schema())


def _schema() -> pa.Schema:
    import pyarrow as pa

    kinds = {"dataset": pa.string(), "mechanism": pa.string(), "private": pa.bool_(), "refusals": pa.int64()}
    names = "dataset mechanism epsilon private error_mean error_median error_rmse error_q95 rank_error refusals seconds".split()
    return pa.schema([(name, kinds.get(name, pa.float64())) for name in names])


class _Contender(NamedTuple):
    name: str
    private: bool | None
    recipe: Recipe | None
    most_delta: Fraction | None
    calibration: str
    call: Callable[..., Any] | None

    def answers(
        self, dataset: tuple[Any, Any], name: str, problem: Problem, epsilon: Any, delta: Any, stream: Stream, trials: int
    ) -> NDArray[np.float64]:
        """Grid indices, as doubles between them for callables; NaN without result."""
        if self.call is not None:
            values, bounds = dataset
            found = [self.call(values, bounds=bounds, epsilon=epsilon, rng=stream) for _ in range(trials)]
            ratio, origin = problem.grid.ratio, problem.grid.origin
            return np.array([np.nan if one is None else float(exact_number(one, "an answer") / ratio - origin) for one in found])
        assert self.recipe is not None
        terms = terms_of(epsilon, delta, self.calibration, most_delta=self.most_delta)
        try:
            plan: Plan = self.recipe(problem, terms)
        except ArgumentError:  # no such noise at this epsilon and delta
            return np.full(trials, np.nan)
        digest = digest_of("compare", self.name, problem.neighbours, str(terms.epsilon), str(terms.delta))
        indices = plan.draw(stream.draws(name, digest, trials).as_words(), trials)
        return np.where(indices == REFUSED, np.nan, indices.astype(np.float64))


def _contender(mechanism: Any) -> _Contender:
    if callable(mechanism):
        name = getattr(mechanism, "__name__", type(mechanism).__name__)
        return _Contender(name, None, None, None, "paper", mechanism)
    if not isinstance(mechanism, str):
        raise ArgumentTypeError("each of mechanisms must be a name or a callable")
    name, _, kind = mechanism.partition("/")
    if name not in _RECIPES or kind not in ("", "exact", "oracle") or (kind == "oracle" and not name.startswith("smooth_")):
        raise ArgumentError(
            f"no mechanism is called {mechanism!r}; there are {', '.join(_RECIPES)}, and /exact or /oracle behind them"
        )
    recipe, most_delta = _RECIPES[name]
    if kind == "oracle":
        recipe = partial(tuned, name, recipe)
    return _Contender(mechanism, kind != "oracle" or name in ONE_SHAPE, recipe, most_delta, "exact" if kind else "paper", None)


def _errors(problem: Problem, places: NDArray[np.float64]) -> dict[str, Any]:
    """Statistics over the trials that had a result."""
    there = places[~np.isnan(places)]
    found: dict[str, Any] = {"refusals": int(places.size - there.size)}
    if not there.size:
        return found
    unit, indices, rank = float(problem.grid.ratio), problem.indices, problem.rank
    errors = np.abs(there - float(problem.centre())) * unit
    below = np.searchsorted(indices, there, side="left")
    upto = np.searchsorted(indices, there, side="right")
    ranks = np.maximum(0, np.maximum(below - rank, rank - upto))
    largest = max(float(errors.max()), 1.0)  # squares of a callable's answers may be no doubles
    return found | {
        "error_mean": float(errors.mean()),
        "error_median": float(np.median(errors)),
        "error_rmse": largest * float(np.sqrt(np.mean((errors / largest) ** 2))),
        "error_q95": float(np.quantile(errors, 0.95)),
        "rank_error": float(ranks.mean()),
    }


@contextmanager
def _bar(progress: Any, total: int) -> Iterator[Callable[[], object]]:
    if callable(progress):
        done = 0

        def step() -> None:
            nonlocal done
            done += 1
            progress(done, total)

        yield step
    elif progress is None and sys.stderr is not None and sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(total=total, unit="mechanism") as bar:
            yield bar.update
    elif progress is None or progress is False:
        yield lambda: None
    else:
        raise ArgumentTypeError("progress must be None, False or a callable that takes (done, total)")
