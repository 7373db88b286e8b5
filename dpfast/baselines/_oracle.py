"""The smoothness that suits a data set best, for comparisons: chosen by looking at the data.

Where the law of the noise has one shape for all beta, the least scale of a public list of beta is private all the same. Let s
and s' be those of neighbours, s <= s', and beta the choice that gave s, with alpha its constant. Then s' <= SS'_beta / alpha,
which is at most e^beta s, and the statistic moves by at most SS_beta = alpha s: for such pairs of laws alpha was calibrated.
Where the shape depends on beta, as of PolyPlace noise and log-normal scales, neighbours may draw from different shapes and
nothing is proved.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast.errors import ArgumentError

if TYPE_CHECKING:
    from dpfast.baselines._release import Additive, Terms
    from dpfast.baselines.sensitivity import Problem

__all__ = ["ONE_SHAPE", "tuned"]

SHARES: Final = [Fraction(place, 40) for place in range(1, 40)]
FINE_SHARES: Final = [Fraction(1, 1 << place) for place in range(6, 13)]
EXPONENTS: Final = [3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 100, 128]
ONE_SHAPE: Final = ("smooth_cauchy", "smooth_student_t", "smooth_laplace")
KEYWORDS: Final = {"smooth_polyplace": "exponent", "smooth_laplace_lognormal": "t"}


def tuned(name: str, recipe: Any, problem: Problem, terms: Terms) -> Additive:
    """The plan with the least typical error among those of many beta: the least scale where that is the same."""
    keyword = KEYWORDS.get(name, "beta")
    choices: list[Any] = EXPONENTS if keyword == "exponent" else [terms.epsilon * share for share in [*FINE_SHARES, *SHARES]]
    plans: list[Additive] = []
    for choice in choices:
        try:
            plans.append(recipe(problem, terms, **{keyword: choice}))
        except ArgumentError:  # not private with this one
            continue
    if not plans:
        raise ArgumentError("no smoothness makes this mechanism private at this epsilon and delta")
    return min(plans, key=lambda plan: plan.scale) if name in ONE_SHAPE else min(plans, key=_typical)


def _typical(plan: Additive) -> float:
    """The scale times the magnitude at the middle of its numbers."""
    middle = [np.array([0.5])] * plan.noise.numbers
    low, high = plan.noise.floats(middle, middle, np.zeros(1, np.uint64))
    return float(plan.scale) * float(low[0] + high[0])
