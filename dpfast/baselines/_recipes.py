"""What the mechanisms of `smooth` add to which statistic: SS_beta / alpha times a symmetric variate."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpfast.baselines import calibration as constants
from dpfast.baselines._release import Additive
from dpfast.baselines.noise import LaplaceLognormalNoise, LaplaceNoise, PolyPlaceNoise, StudentNoise
from dpfast.errors import ArgumentError

if TYPE_CHECKING:
    from dpfast.baselines._release import Terms
    from dpfast.baselines.calibration import Calibration
    from dpfast.baselines.noise import Noise
    from dpfast.baselines.sensitivity import Problem

__all__ = ["cauchy_recipe", "laplace_lognormal_recipe", "polyplace_recipe", "smooth_laplace_recipe", "student_recipe"]


def _additive(problem: Problem, noise: Noise, found: Calibration) -> Additive:
    if not found.alpha:
        raise ArgumentError(
            "this noise is not known to be private at this epsilon and delta; take larger ones, or another mechanism"
        )
    return Additive(noise, problem.centre(), problem.smooth(found.beta) / found.alpha, problem.top)


def cauchy_recipe(problem: Problem, terms: Terms, beta: Fraction | None = None) -> Additive:
    """The Cauchy law: Student's with one degree of freedom."""
    return _additive(problem, StudentNoise(1), constants.cauchy(terms.epsilon, exact=terms.exact, beta=beta))


def student_recipe(
    problem: Problem, terms: Terms, beta: Fraction | None = None, degrees: int = constants.STUDENT_DEGREES
) -> Additive:
    """Student's t."""
    return _additive(problem, StudentNoise(degrees), constants.student(terms.epsilon, degrees, exact=terms.exact, beta=beta))


def polyplace_recipe(problem: Problem, terms: Terms, exponent: int = constants.SHARE) -> Additive:
    """beta = epsilon / exponent, and SS_beta / beta the scale."""
    beta = terms.epsilon / exponent
    return Additive(PolyPlaceNoise(exponent), problem.centre(), problem.smooth(beta) / beta, problem.top)


def smooth_laplace_recipe(problem: Problem, terms: Terms, beta: Fraction | None = None) -> Additive:
    """The Laplace law."""
    found = constants.smooth_laplace_calibration(terms.epsilon, terms.delta, exact=terms.exact, beta=beta)
    return _additive(problem, LaplaceNoise(), found)


def laplace_lognormal_recipe(problem: Problem, terms: Terms, t: Fraction | None = None) -> Additive:
    """Laplace times log-normal; t is the smoothness."""
    found = constants.lognormal(terms.epsilon, terms.delta, exact=terms.exact, t=t)
    return _additive(problem, LaplaceLognormalNoise(found.sigma), found)
