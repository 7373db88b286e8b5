"""How far the answers of `duff.sample` lie from the truth: the exact law of the error, and the bounds that theory has (B.7).

T is the nearest of the grid points of least distance: the statistic itself, where it has distance 0. B_k is the interval from the
first to the last grid point within distance k; for medians under add_remove its width is the local sensitivity within distance
k - 1, so that levels hold all that smooth sensitivity needs.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpfast._core import duff as core
from dpfast.duff.grid import exact_number
from dpfast.duff.levels import check_levels
from dpfast.duff.weights import Weights, check_epsilon
from dpfast.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast.duff.levels import Levels

__all__ = ["Bounds", "ErrorLaw", "error_law"]


class Bounds(NamedTuple):
    """What theory says of a law of errors, at one beta; widths in units of the step.

    Attributes
    ----------
    beta : float
    smooth_sensitivity : float
        SS_beta of the median.
    smooth_sensitivity_half : float
        The same at beta = epsilon / 2.
    normaliser : float
        Sum of e^(-epsilon d / 2) over the grid points, relative to the first weight.
    normaliser_bound : float
        It is at least this (T3).
    mean_bound : float
        The mean error is at most this (T4); infinite unless beta < epsilon / 4.
    distance_tail : ndarray
        For each k = 0, 1, ...: P(d > k) is at most this (T1).
    radius_bound : ndarray
        For each k: no point within distance k is further from the truth than this (T2).
    """

    beta: float
    smooth_sensitivity: float
    smooth_sensitivity_half: float
    normaliser: float
    normaliser_bound: float
    mean_bound: float
    distance_tail: NDArray[np.float64]
    radius_bound: NDArray[np.float64]

    def error_tail(self, error: float, epsilon: float, size: int, step: float) -> float:
        """P(error > r) is at most this (T5), for every beta."""
        growth = 1 + error / step * math.expm1(self.beta) / self.smooth_sensitivity
        top = math.log(size) + epsilon / 2 - math.log(self.smooth_sensitivity_half)
        return math.exp(min(top - epsilon / (2 * self.beta) * math.log(growth), 0.0))


class ErrorLaw:
    """The law of distance and error of one answer: private data.

    Attributes
    ----------
    distance : ndarray of int64
        The different distances, ascending.
    distance_probability : ndarray of float64
        The chance of each.
    mean, rmse : float
        Of the error ``|x - T|``, in units of the values.
    """

    __slots__ = ("_centre", "_epsilon", "_levels", "_total", "_weights", "distance", "distance_probability", "mean", "rmse")

    distance: NDArray[np.int64]
    distance_probability: NDArray[np.float64]
    mean: float
    rmse: float

    def __init__(self, levels: Levels, epsilon: Fraction) -> None:
        self._levels, self._epsilon = levels, epsilon
        self._weights = Weights(epsilon).of(levels.distance)
        self._total = core.masses_total(levels.measure, self._weights)
        nearest = levels.distance == levels.distance.min()
        self._centre = int(levels.lower[nearest].min()), int(levels.upper[nearest].max())
        self.distance, places = np.unique(levels.distance, return_inverse=True)
        masses = [0] * self.distance.size
        first = second = 0
        low, high = self._centre
        rows = zip(places.tolist(), levels.lower.tolist(), levels.upper.tolist(), self._weights.tolist(), strict=True)
        for place, lower, upper, weight in rows:
            masses[place] += (upper - lower + 1) * weight
            for near, far in ((lower - high, upper - high), (low - upper, low - lower)):
                # errors near .. far, those above 0
                if far > 0:
                    least = max(near, 1)
                    first += weight * (_sum(far) - _sum(least - 1))
                    second += weight * (_squares(far) - _squares(least - 1))
        self.distance_probability = np.array([mass / self._total for mass in masses])
        self.mean = float(Fraction(first, self._total) * levels.ratio)
        self.rmse = math.sqrt(second / self._total) * float(levels.ratio)

    def probability_within(self, error: Any) -> float:
        """P(``|x - T|`` <= error)."""
        steps = math.floor(exact_number(error, "error") / self._levels.ratio)
        return self._within(steps) / self._total if steps >= 0 else 0.0

    def quantile(self, p: float) -> float:
        """The least error that is not exceeded with probability p or more."""
        chance = exact_number(p, "p")
        if not 0 <= chance <= 1:
            raise ArgumentError("p must lie between 0 and 1")
        low, high = 0, max(self._centre[0] - int(self._levels.lower[0]), int(self._levels.upper[-1]) - self._centre[1], 0)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._within(middle) >= chance * self._total else (middle + 1, high)
        return float(low * self._levels.ratio)

    def _within(self, steps: int) -> int:
        """The mass of the points at most so many steps from the truth."""
        levels = self._levels
        lower = np.maximum(levels.lower, self._centre[0] - steps)
        upper = np.minimum(levels.upper, self._centre[1] + steps)
        return int(core.masses_total(np.maximum(upper - lower + 1, 0), self._weights))

    def likely_error(self, chance: float) -> float:
        """With probability 1 - chance or more no error exceeds this (T6): the radius of distance (2 / epsilon) ln(M / chance)."""
        failing = float(exact_number(chance, "chance"))
        if not 0 < failing < 1:
            raise ArgumentError("chance must lie between 0 and 1")
        size = int(self._levels.measure.sum())
        reach = 2 / float(self._epsilon) * math.log(size / failing) if self._epsilon else math.inf
        place = int(np.searchsorted(self.distance, min(reach, float(self.distance[-1])), side="right")) - 1
        return float(self._radii()[max(place, 0)] * float(self._levels.ratio))

    def bounds(self, beta: float | None = None) -> Bounds:
        """What theory says: T1 for all levels, the rest for those of a median under add_remove. Default: beta = epsilon / 8."""
        levels, epsilon = self._levels, float(self._epsilon)
        rate = epsilon / 8 if beta is None else float(exact_number(beta, "beta"))
        if rate <= 0 or epsilon == 0:
            raise ArgumentError("beta and epsilon must be above 0 for these bounds")
        last = int(self.distance[-1])
        steps = np.arange(int(self.distance[0]), last + 1)
        widths = (self._highs() - self._lows())[np.searchsorted(self.distance, steps, side="right") - 1].astype(np.float64)
        # the interval within distance k + 1 is as wide as the local sensitivity within distance k
        later = steps - 1
        there = later >= 0
        smooth, half = (float(np.max(np.exp(-b * later[there]) * widths[there], initial=0.0)) for b in (rate, epsilon / 2))
        table = Weights(self._epsilon).of(np.arange(last + 2)).astype(np.float64)
        normaliser = self._total / float(table[0])
        size = float(levels.measure.sum())
        mean = math.inf
        if rate < epsilon / 4:
            mean = smooth**2 / half / (-math.expm1(rate - epsilon / 2) * -math.expm1(2 * rate - epsilon / 2)) if half else 0.0
        k = np.arange(last + 1)
        with np.errstate(over="ignore"):
            radius = smooth * np.expm1(rate * k) / math.expm1(rate) * float(levels.ratio)
        return Bounds(
            rate,
            smooth,
            half,
            normaliser,
            math.exp(-epsilon / 2) * half,
            mean * float(levels.ratio),
            np.minimum(size * table[1:] / table[0] / normaliser, 1.0),
            radius,
        )

    def radius(self) -> NDArray[np.float64]:
        """For each of `distance`: how far the points within it lie from the truth at most."""
        return np.asarray(self._radii() * float(self._levels.ratio), np.float64)

    def _lows(self) -> NDArray[np.int64]:
        return self._ends(self._levels.lower, np.minimum)

    def _highs(self) -> NDArray[np.int64]:
        return self._ends(self._levels.upper, np.maximum)

    def _ends(self, ends: NDArray[np.int64], choose: Any) -> NDArray[np.int64]:
        places = np.searchsorted(self.distance, self._levels.distance)
        found = np.full(self.distance.size, ends[places == 0][0])
        choose.at(found, places, ends)
        return np.asarray(choose.accumulate(found))

    def _radii(self) -> NDArray[np.int64]:
        return np.maximum(0, np.maximum(self._highs() - self._centre[1], self._centre[0] - self._lows()))

    def __repr__(self) -> str:
        return f"<dpfast.duff.ErrorLaw of {len(self._levels)} entries>"


def error_law(levels: Levels, *, epsilon: float) -> ErrorLaw:
    """Return the exact law of the distance and the error of one answer of `sample`: private data, not for release.

    Parameters
    ----------
    levels : Levels
    epsilon : float
        As for `sample`.

    Returns
    -------
    ErrorLaw
        With mean, RMSE, quantiles and probabilities of ``|x - T|``, those of the distance, and the bounds of theory.

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Notes
    -----
    T is the nearest of the grid points of least distance. The law is that of the integers that `sample` draws from; sums are
    exact and figures rounded to nearest. **Cost.** About a microsecond an entry.

    References
    ----------
    Duff: arXiv 2010.04235.

    Examples
    --------
    >>> from dpfast.duff import median_levels
    >>> levels = median_levels([1, 2, 4, 8, 9], bounds=(0, 10), step=0.25, neighbours="add_remove")
    >>> law = error_law(levels, epsilon=2.0)
    >>> law.distance.tolist(), law.distance_probability.round(3).tolist()
    ([0, 1, 2, 3, 4, 5, 6], [0.156, 0.459, 0.337, 0.031, 0.011, 0.004, 0.002])
    >>> round(law.mean, 3), round(law.rmse, 3), law.quantile(0.95)
    (1.391, 1.808, 3.75)
    >>> law.bounds().mean_bound > law.mean
    True
    """
    check_levels(levels)
    return ErrorLaw(levels, check_epsilon(epsilon))


def _sum(n: int) -> int:
    return n * (n + 1) // 2


def _squares(n: int) -> int:
    return n * (n + 1) * (2 * n + 1) // 6
