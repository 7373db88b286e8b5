"""What counts prove about two distributions: a lower bound of epsilon, and one of delta, each rounded down.

Precondition: of n independent outputs of each of two datasets, a and b lie in an event that was chosen without looking at them.
With probability at least 1 - 2 miss, both p >= p_low and q <= q_high, the ends of one-sided Clopper-Pearson intervals [1]_ of
level 1 - miss. Then (epsilon, delta)-privacy, p <= e^epsilon q + delta, fails for every epsilon < ln((p_low - delta) / q_high),
and for every delta < p_low - e^epsilon q_high. From p_low and q_high on, which are doubles, all is exact and rounded down.

References
----------
.. [1] C. J. Clopper, E. S. Pearson, The use of confidence or fiducial limits, Biometrika 26, 1934.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from dpfast._intervals import beta_quantile
from dpfast._rounding import FIRST_DIGITS, exp_enclosure, float_below, log_above

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Shares", "delta_below", "epsilon_below", "log_below", "proved_shares", "reach", "wilson"]

# Quantiles are quadratures, right to 1e-10 of themselves and to 1e-6 of the tail: both are given up, ten times over.
TAIL_SLACK: Final = 1e-5
QUANTILE_SLACK: Final = 1e-9
UNIT_SLACK: Final = 2.0**-48  # for the rounding of 1 - x
LARGEST_EXPONENT: Final = 700.0  # beyond, e^epsilon is above everything that counts can show


class Shares(NamedTuple):
    """An event has at least the probability `low` under one dataset and at most `high` under the other."""

    low: float
    high: float


def proved_shares(hits: tuple[int, int], samples: tuple[int, int], miss: float) -> Shares:
    """Return what the counts of one event prove, each figure being wrong with probability `miss` at most.

    Parameters
    ----------
    hits, samples : pair of int
        Outputs in the event and outputs in all, for the dataset and its neighbour.
    miss : float
        In (0, 1/2].

    Returns
    -------
    Shares

    Examples
    --------
    >>> low, high = proved_shares((900, 0), (1000, 1000), 0.01)
    >>> round(low, 4), round(high, 6)
    (0.8758, 0.004595)
    """
    misses = samples[0] - hits[0], samples[1] - hits[1]
    # the greatest share of hits is one minus the least share of misses; without a single one the least share is 0
    some, other = max(hits[0], 1), max(misses[1], 1)
    successes, failures = np.array([some, other], np.float64), np.array([misses[0] + 1, hits[1] + 1], np.float64)
    least, least_misses = beta_quantile(successes, failures, miss * (1 - TAIL_SLACK)).tolist()
    low = least if hits[0] else 0.0
    high = 1 - least_misses if misses[1] else 1.0
    low = (low - min(low, 1 - low) * QUANTILE_SLACK) * (1 - UNIT_SLACK)
    high = high + min(high, 1 - high) * QUANTILE_SLACK + UNIT_SLACK
    return Shares(low, min(high, 1.0))


def epsilon_below(shares: Shares, delta: float) -> float:
    """Return the largest double not above ln((low - delta) / high), at least 0.

    Examples
    --------
    >>> round(epsilon_below(Shares(0.5, 0.25), 0.0), 6), epsilon_below(Shares(0.5, 0.25), 0.3)
    (0.693147, 0.0)
    """
    left = Fraction(shares.low) - Fraction(delta)
    if left <= 0:
        return 0.0
    return log_below(left / Fraction(shares.high))


def delta_below(shares: Shares, epsilon: float) -> float:
    """Return a double not above low - e^epsilon high, at least 0; for an infinite epsilon 0.

    Examples
    --------
    >>> delta_below(Shares(0.5, 0.25), 0.0)
    0.25
    """
    if epsilon > LARGEST_EXPONENT:
        return 0.0
    _, high, one = exp_enclosure(epsilon, FIRST_DIGITS)
    left = Fraction(shares.low) - Fraction(high, one) * Fraction(shares.high)
    return float_below(left) if left > 0 else 0.0


def log_below(ratio: Fraction) -> float:
    """Return the largest double not above ln(ratio), or 0 where that is negative.

    The logarithm of a rational other than 1 is no double: it lies between `log_above` and the double before.
    """
    return math.nextafter(log_above(ratio.numerator, ratio.denominator), 0.0) if ratio > 1 else 0.0


def reach(samples: int, miss: float) -> float:
    """Return the largest epsilon that so many samples can prove: an event that always happens, and never for the neighbour."""
    return epsilon_below(proved_shares((samples, 0), (samples, samples), miss), 0.0)


def wilson(hits: NDArray[np.int64], samples: int, z: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return about the ends of intervals for many counts at once: good enough to choose an event by, and to prove nothing."""
    share = hits / samples
    w = z * z / samples
    half = np.sqrt(w * (share * (1 - share) + w / 4))
    centre = share + w / 2
    return (centre - half) / (1 + w), (centre + half) / (1 + w)
