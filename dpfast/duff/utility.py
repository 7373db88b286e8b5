"""How far the answers of `duff.sample` lie from the truth: the exact law of the error, and the bounds that theory has (B.7).

T is the nearest of the grid points of least distance: the statistic itself, where it has distance 0. B_k is the interval from the
first to the last grid point within distance k; for medians under add_remove its width is the local sensitivity within distance
k - 1, so that levels hold all that smooth sensitivity needs.

Theory weighs a distance by e^(-epsilon d / 2). The integers of `Weights` are at least that, relative to the first, and exceed it
by less than `excess`, because they stand still at the end instead of vanishing. The bounds here allow for it: they hold for the
law that answers are drawn from.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from dpfast._core import duff as core
from dpfast.duff.grid import exact_number
from dpfast.duff.levels import check_levels
from dpfast.duff.weights import FIRST_WEIGHT, Weights, check_epsilon, last_distance
from dpfast.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast.duff.levels import Levels

__all__ = ["Bounds", "ErrorLaw", "error_law"]

MANY: Final = 1 << 16  # distances, from which on it pays to find out where weights stop falling
ROUNDED: Final = 1.25  # by how much a step of the table may exceed the power: 1 for its ceiling, 1/4 for that of its factor


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
        For each k = 0, 1, ... up to the last whose weight is another one: P(d > k) is at most this (T1).
    radius_bound : ndarray
        For each of these k: no point within distance k is further from the truth than this (T2).
    """

    beta: float
    smooth_sensitivity: float
    smooth_sensitivity_half: float
    normaliser: float
    normaliser_bound: float
    mean_bound: float
    distance_tail: NDArray[np.float64]
    radius_bound: NDArray[np.float64]

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={getattr(self, name):.6g}" for name in self._fields[:6])
        return f"Bounds({numbers}, and two arrays of {self.distance_tail.size})"


class ErrorLaw:
    """The law of distance and error of one answer: private data. `error_law` makes it.

    Parameters
    ----------
    levels : Levels
    epsilon : Fraction

    Attributes
    ----------
    distance : ndarray of int64
        The different distances, ascending.
    distance_probability : ndarray of float64
        The chance of each.
    mean, rmse : float
        Of the error ``|x - T|``, in units of the values.

    Examples
    --------
    >>> from dpfast import duff
    >>> law = duff.error_law(duff.median_levels(range(1001), bounds=(0, 1000)), epsilon=1.0)
    >>> law.quantile(0.5), law.quantile(0.95)
    (1.0, 3.0)
    """

    __slots__ = (
        *("_at_truth", "_epsilon", "_far", "_levels", "_near", "_places", "_total", "_weights"),
        *("distance", "distance_probability", "mean", "rmse"),
    )

    distance: NDArray[np.int64]
    distance_probability: NDArray[np.float64]
    mean: float
    rmse: float

    def __init__(self, levels: Levels, epsilon: Fraction) -> None:
        self._levels, self._epsilon = levels, epsilon
        weights = Weights(epsilon).of(levels.distance)
        self._total = core.masses_total(levels.measure, weights)
        self.distance, places = np.unique(levels.distance, return_inverse=True)
        masses = [0] * self.distance.size
        for place, measure, weight in zip(places.tolist(), levels.measure.tolist(), weights.tolist(), strict=True):
            masses[place] += measure * weight
        self.distance_probability = np.array([mass / self._total for mass in masses])
        self._at_truth = masses[0]
        # the other points, in runs whose errors go from near to far by one
        self._near, self._far, entries = _runs(levels, places == 0)
        self._weights, self._places = weights[entries], places[entries]
        first = second = 0
        for near, far, weight in zip(self._near.tolist(), self._far.tolist(), self._weights.tolist(), strict=True):
            first += weight * (_sum(far) - _sum(near - 1))
            second += weight * (_squares(far) - _squares(near - 1))
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
        high = int(self._far.max(initial=0))
        steps = bisect_left(range(high), math.ceil(chance * self._total), key=self._within)
        return float(steps * self._levels.ratio)

    def _within(self, steps: int) -> int:
        """The mass of the points at most so many steps from the truth."""
        counts = np.maximum(np.minimum(self._far, steps) - self._near + 1, 0)
        return self._at_truth + int(core.masses_total(counts, self._weights))

    def likely_error(self, chance: float) -> float:
        """With probability 1 - chance or more no error exceeds this (T6).

        It is the radius of the distances that M points of their weight would have with more than that chance, about
        (2 / epsilon) ln(M / chance).
        """
        failing = exact_number(chance, "chance")
        if not 0 < failing < 1:
            raise ArgumentError("chance must lie between 0 and 1")
        size, weights = int(self._levels.measure.sum()), Weights(self._epsilon).of(self.distance).tolist()
        place = bisect_left(weights, -failing * weights[0], key=lambda weight: -size * weight)
        return float(self.radius()[place - 1])

    def bounds(self, beta: float | None = None) -> Bounds:
        """What theory says: T1 for all levels, the rest for those of a median under add_remove. Default: beta = epsilon / 8."""
        rate, epsilon = self._rate(beta), float(self._epsilon)
        log_smooth, log_half = self._smoothness(rate), self._smoothness(epsilon / 2)
        last = int(self.distance[-1])
        if last > MANY:
            last = min(last, last_distance(Weights(self._epsilon)))
        table = Weights(self._epsilon).of(np.arange(last + 2)).astype(np.float64)
        size, step, normaliser = float(self._levels.measure.sum()), float(self._levels.ratio), self._normaliser()
        mean = math.inf
        if rate < epsilon / 4:
            shrinking = math.expm1(rate - epsilon / 2) * math.expm1(2 * rate - epsilon / 2)
            widest = float(self._far.max(initial=0))
            mean = _exp(2 * log_smooth - log_half) / shrinking + self._excess() * size * widest / normaliser
            mean = min(widest, mean)  # in this order for a grid of one point, whose mean is not a number
        with np.errstate(over="ignore", divide="ignore"):
            radius = np.exp(log_smooth + _log_expm1(rate * np.arange(last + 1)) - _log_expm1(rate))
        return Bounds(
            rate,
            math.exp(log_smooth),
            math.exp(log_half),
            normaliser,
            math.exp(log_half - epsilon / 2),
            mean * step,
            np.minimum(size * table[1:] / table[0] / normaliser, 1.0),
            radius * step,
        )

    def error_tail(self, error: float, beta: float | None = None) -> float:
        """P(``|x - T|`` > error) is at most this (T5), for levels of a median under add_remove.

        Parameters
        ----------
        error : float
            In units of the values.
        beta : float, optional
            Above 0. Default: epsilon / 8.

        Returns
        -------
        float

        Examples
        --------
        >>> from dpfast import duff
        >>> law = duff.error_law(duff.median_levels(range(1001), bounds=(0, 1000)), epsilon=1.0)
        >>> 0 < law.error_tail(300, beta=0.05) < 0.03
        True
        """
        rate, epsilon = self._rate(beta), float(self._epsilon)
        steps = float(exact_number(error, "error") / self._levels.ratio)
        if steps <= 0:
            return 1.0
        size = float(self._levels.measure.sum())
        smoothness = self._smoothness(rate)
        if smoothness == -math.inf:  # nothing but the truth can be answered
            return 0.0
        growth = np.logaddexp(0.0, math.log(steps) + _log_expm1(rate) - smoothness)
        power = math.log(size) + epsilon / 2 - self._smoothness(epsilon / 2) - epsilon / (2 * rate) * growth
        return min(_exp(power) + self._excess() * size / self._normaliser(), 1.0)

    def radius(self) -> NDArray[np.float64]:
        """For each of `distance`: how far the points within it lie from the truth at most."""
        found = np.zeros(self.distance.size, np.int64)
        np.maximum.at(found, self._places, self._far)
        return np.asarray(np.maximum.accumulate(found) * float(self._levels.ratio), np.float64)

    def _rate(self, beta: float | None) -> float:
        rate = float(self._epsilon) / 8 if beta is None else float(exact_number(beta, "beta"))
        if rate <= 0 or not self._epsilon:
            raise ArgumentError("beta and epsilon must be above 0 for these bounds")
        return rate

    def _normaliser(self) -> float:
        return self._total / FIRST_WEIGHT

    def _excess(self) -> float:
        """How much more than e^(-epsilon d / 2) a weight may be, relative to the first."""
        return ROUNDED / FIRST_WEIGHT / -math.expm1(-float(self._epsilon) / 2)

    def _smoothness(self, rate: float) -> float:
        """ln SS of the median at this rate, in steps; the grid has two points or more."""
        some = slice(int(self.distance[-1] == 0), None)
        steps = np.maximum(self.distance, 1)[some]  # between two of them the interval stays as it is
        widths = (self._ends(self._levels.upper, np.maximum) - self._ends(self._levels.lower, np.minimum))[some]
        with np.errstate(divide="ignore"):
            # the interval within distance k + 1 is as wide as the local sensitivity within distance k
            return float(np.max(np.log(widths) - rate * (steps - 1), initial=-math.inf))

    def _ends(self, ends: NDArray[np.int64], choose: Any) -> NDArray[np.int64]:
        """The first or last grid point within each distance."""
        places = np.searchsorted(self.distance, self._levels.distance)
        found = np.full(self.distance.size, ends[places == 0][0])
        choose.at(found, places, ends)
        return np.asarray(choose.accumulate(found))

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
        Of ``|x - T|``: ``mean``, ``rmse``, ``probability_within(error)``, ``quantile(p)``. Of the distance: ``distance``,
        ``distance_probability``, ``radius()``. Of theory: ``bounds(beta)``, ``error_tail(error, beta)``, ``likely_error(p)``.

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Notes
    -----
    T is the nearest of the grid points of least distance. The law is that of the integers that `sample` draws from; sums are
    exact and figures rounded to nearest. Bounds allow for integer weights, which do not vanish. **Cost.** Some microseconds an
    entry.

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


def _runs(levels: Levels, is_nearest: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The points beside the nearest ones, in runs: least error, largest one, and entry, which has two if it lies between them."""
    lows, highs = levels.lower[is_nearest], levels.upper[is_nearest]
    others = np.flatnonzero(~is_nearest)
    lower, upper = levels.lower[others], levels.upper[others]
    after = np.searchsorted(lows, lower)
    has_left, has_right = after > 0, after < lows.size
    left, right = highs[np.maximum(after, 1) - 1], lows[np.minimum(after, lows.size - 1)]
    # points up to the middle are nearer to the left
    middle = np.where(has_left, np.where(has_right, left + (right - left) // 2, upper), lower - 1)
    near = np.concatenate([lower - left, right - upper])
    far = np.concatenate([np.minimum(upper, middle) - left, right - np.maximum(lower, middle + 1)])
    there = near <= far
    return near[there], far[there], np.concatenate([others, others])[there]


def _log_expm1(number: Any) -> Any:
    return number + np.log(-np.expm1(-number))


def _exp(power: float) -> float:
    return math.exp(min(power, 700.0))


def _sum(n: int) -> int:
    return n * (n + 1) // 2


def _squares(n: int) -> int:
    return n * (n + 1) * (2 * n + 1) // 6
