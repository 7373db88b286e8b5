"""Propose-test-release: noise for a sensitivity that was proposed, if the data turn out to be far from exceeding it (B.9).

gamma is the number of steps to the nearest data set whose local sensitivity exceeds tau, the proposal; it changes by at most one
between neighbours, so epsilon_1 pays for gamma + Lap(1 / epsilon_1). Unless that exceeds ln(1 / (2 delta)) / epsilon_1 there is
no result. Where tau is exceeded at the data themselves, gamma = 0, it does so with probability delta; else Lap(tau / epsilon_2)
is noise enough. Both epsilons are half of what is asked.
"""

from __future__ import annotations

import decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from dpfast.baselines._release import REFUSED, Additive, release
from dpfast.baselines.noise import LaplaceNoise, draw_rounded
from dpfast.duff.grid import exact_number
from dpfast.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast._spending import Charges
    from dpfast.baselines._release import Terms
    from dpfast.baselines.sensitivity import Problem
    from dpfast.duff.data import Neighbours
    from dpfast.duff.exact import Words
    from dpfast.randomness import Column, Stream

__all__ = ["propose_test_release", "ptr_recipe"]

SHARE: Final = 1000  # of the bounds' width: the proposal that is made if none is given
MOST_DELTA: Final = Fraction(1, 2)


class _Later:
    """Words from an index on."""

    __slots__ = ("_first", "_source")

    def __init__(self, source: Words, first: int) -> None:
        self._source = source
        self._first = first

    def words(self, first: int, n: int) -> NDArray[np.uint64]:
        return self._source.words(self._first + first, n)

    def more(self, index: int, part: int) -> tuple[int, int]:
        return self._source.more(self._first + index, part)


class Proposal(NamedTuple):
    """A test, and what is released after it: private data."""

    surplus: Fraction | None  # epsilon_1 times what gamma is above the threshold; None for an infinite gamma
    answer: Additive

    def draw(self, words: Words, n_draws: int) -> NDArray[np.int64]:
        """Grid indices, REFUSED where the test fails. The tests read the first 2 n words, the answers those behind."""
        found = self.answer.draw(_Later(words, 2 * n_draws), n_draws)
        if self.surplus is not None:
            # the integer nearest to surplus + noise + 1/2 is above 0 where surplus + noise is not negative
            passed = draw_rounded(LaplaceNoise(), self.surplus + Fraction(1, 2), Fraction(1), 1, words, n_draws)
            found[passed == 0] = REFUSED
        return found


def ptr_recipe(problem: Problem, terms: Terms, tau: Fraction | None = None) -> Proposal:
    """The test at half of epsilon and the answer at the other half."""
    width = Fraction(problem.top, SHARE) if tau is None else tau / problem.grid.ratio
    half = terms.epsilon / 2
    gamma = problem.proposal(width)
    surplus = None if gamma is None else half * gamma - _threshold(terms.delta)
    scale = min(width, problem.global_sensitivity()) / half
    return Proposal(surplus, Additive(LaplaceNoise(), problem.centre(), scale, problem.top))


def _threshold(delta: Fraction) -> Fraction:
    """ln(1 / (2 delta)), rounded up."""
    context = decimal.Context(prec=50, rounding=decimal.ROUND_CEILING, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    inverse = context.divide(decimal.Decimal(delta.denominator), decimal.Decimal(2 * delta.numerator))
    found = context.ln(inverse)
    return Fraction(context.next_plus(found)) if found else Fraction(0)  # what is next to 0 has too many digits for a fraction


def propose_test_release(
    values: Any,
    *,
    bounds: Any,
    epsilon: float,
    delta: float = 0.0,
    statistic: Literal["median", "mean"] = "median",
    neighbours: Neighbours = "add_remove",
    calibration: Literal["paper", "exact"] = "paper",
    tau: float | None = None,
    step: Any = None,
    rng: Stream | None = None,
    column_name: Column = None,
    ledger: Charges | None = None,
) -> Any:
    """Release a median or mean plus noise for a proposed sensitivity, or None; (epsilon, delta)-private.

    Parameters
    ----------
    values, bounds, epsilon, delta, statistic, neighbours
        As for `laplace`. delta is above 0 and at most 1/2.
    calibration : {"paper", "exact"}
        The same for this mechanism.
    tau : float, optional
        The proposed sensitivity; public. Default: (upper - lower) / 1000.
    step, rng, column_name, ledger
        As for `laplace`.

    Returns
    -------
    int, float or None
        A grid value, as of `laplace`. None says that the data are, or may be, too close to some that are more sensitive; it is a
        normal answer, and has been paid for.

    Raises
    ------
    ArgumentError, ArgumentTypeError, LedgerError
        Before anything is drawn.

    Notes
    -----
    **Privacy guarantee.** (`epsilon`, `delta`) for the neighbours named, half of epsilon for the test and half for the answer.
    The threshold is rounded up; both variates are real-valued, compared and rounded to the grid without approximation.
    **Cost.** A sort.

    References
    ----------
    C. Dwork, J. Lei, "Differential privacy and robust statistics", STOC 2009.

    Examples
    --------
    >>> from dpfast import Stream
    >>> few, many = range(0, 1001, 10), [i / 100 for i in range(100_001)]
    >>> options = {"bounds": (0, 1000), "epsilon": 1.0, "delta": 1e-6, "neighbours": "add_remove", "step": 0.25}
    >>> propose_test_release(few, **options, rng=Stream.insecure(1)) is None
    True
    >>> propose_test_release(many, **options, rng=Stream.insecure(1))
    502.75
    """
    proposed = None if tau is None else exact_number(tau, "tau")
    if proposed is not None and proposed <= 0:
        raise ArgumentError("tau must be above 0")
    return release(
        "propose_test_release",
        partial(ptr_recipe, tau=proposed),
        values,
        bounds=bounds,
        epsilon=epsilon,
        delta=delta,
        statistic=statistic,
        neighbours=neighbours,
        calibration=calibration,
        step=step,
        column_name=column_name,
        rng=rng,
        ledger=ledger,
        most_delta=MOST_DELTA,
        law=(str(proposed),),
    )
