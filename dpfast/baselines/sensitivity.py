"""How far a median, another order statistic or a mean can move when a person comes, goes or changes, smoothed.

With y_0 = a and y_(n+1) = b, T the lower median and T of no rows the lower bound, a (B.10), the median of any data set within
distance k can move by

    A^(k) = y_(floor((n + k) / 2) + 1) - y_(floor((n - k) / 2)) for k <= n, and b - a beyond

when a person comes or goes; when values change, by the largest y_j - y_i with i <= m <= j, j - i - 1 = k. The mean of n rows
moves by at most (b - a) / n, that of one row or none by half of b - a, T of no rows being the middle.
"""

from __future__ import annotations

import decimal
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from dpfast._rounding import integer
from dpfast.baselines._swap import first_wider, largest_pair
from dpfast.duff.data import check_neighbours, grid_indices, numbers_of
from dpfast.duff.grid import exact_number
from dpfast.duff.weights import CAP, WHOLE, Weights
from dpfast.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from dpfast.duff.data import Neighbours
    from dpfast.duff.grid import Grid

__all__ = ["Problem", "Statistic", "local_sensitivities", "problem_of", "smooth_sensitivity"]

Statistic = Literal["median", "mean"]

NAMES: Final = ("each bound", "each bound", "beta")
LARGEST_RATE: Final = 10_000.0  # the power is 0 in doubles already
PIECE: Final = 1 << 16
FIRST_WEIGHT: Final = 1 << 62
NEAR: Final = 1 - 2.0**-40  # what doubles may hide behind the largest product
SWAP_SLACK: Final = Fraction(1, 1 << 29)
SWAP_OVER: Final = Fraction((1 << 30) + 1, 1 << 30)
LEAST_SWAP_BETA: Final = Fraction(1, 1 << 20)
LONGEST: Final = 44  # e^-44 < 2^-63


def smooth_sensitivity(
    values: ArrayLike, *, bounds: Any, beta: float, neighbours: Neighbours = "add_remove", rank: int | None = None
) -> float:
    """Smooth sensitivity of the lower median, or under replace_one of another order statistic: private data, not for release.

    The largest e^(-beta d(S, S')) LS(S') over all data sets S' within the bounds, LS being how far the statistic can move between
    neighbours, and d the distance.

    Parameters
    ----------
    values : column of numbers, shape (n_rows,)
        Clipped to the bounds; NaN and null are left out.
    bounds : (lower, upper)
        Public, finite; lower < upper.
    beta : float
        At least 0.
    neighbours : {"add_remove", "replace_one"}
    rank : int, optional
        From 1 to n, of the order statistic; replace_one only. Default: (n + 1) // 2, the lower median.

    Returns
    -------
    float
        At most upper - lower. To nearest: the privacy of the mechanisms of this package rests on exact integers instead.

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Notes
    -----
    The median of no rows counts as the lower bound. **Cost.** A sort. Then under add_remove a scan that stops where
    e^(-beta k) (upper - lower) cannot exceed what was found; under replace_one O(K log K), K being where that is.

    References
    ----------
    .. [1] K. Nissim, S. Raskhodnikova, A. Smith, "Smooth sensitivity and sampling in private data analysis", STOC 2007.

    Examples
    --------
    >>> round(smooth_sensitivity([1, 2, 4, 8, 9], bounds=(0, 10), beta=0.5, neighbours="add_remove"), 10)
    3.6391839583
    >>> smooth_sensitivity([1, 2, 4, 8, 9], bounds=(0, 10), beta=0.5, neighbours="replace_one", rank=3)
    4.0
    """
    check_neighbours(neighbours)
    if not isinstance(bounds, (tuple, list, np.ndarray)) or len(bounds) != 2:
        raise ArgumentError("bounds must be a pair (lower, upper)")
    lower, upper, exact_rate = (exact_number(number, name) for number, name in zip((*bounds, beta), NAMES, strict=True))
    try:
        _, _, width, rate = map(float, (lower, upper, upper - lower, exact_rate))
    except OverflowError:
        raise ArgumentError("bounds, upper - lower and beta must be doubles") from None
    if not lower < upper:
        raise ArgumentError("the lower bound must be below the upper bound")
    if rate < 0:
        raise ArgumentError("beta must not be negative")
    rate = min(rate, LARGEST_RATE)
    present = numbers_of(values)[0]
    if present.dtype.kind in "mM":
        raise ArgumentError("values must be numbers; give dates as integers in their unit")
    ordered, low, high = _clipped(present, lower, upper)
    ordered.sort()
    n = ordered.size
    if neighbours == "replace_one":
        if rank is None:
            rank = max(1, (n + 1) // 2)
        elif not 1 <= integer(rank, "rank", minimum=1) <= max(n, 1):
            raise ArgumentError("rank must not exceed the number of values")
        if n == 0:
            return 0.0  # nobody is there to change
        between, difference = largest_pair(ordered, low, high, int(rank), rate)
        return float(difference * math.exp(-rate * between))
    if rank is not None:
        raise ArgumentError("rank= is for replace_one: under add_remove the statistic is the median")
    return _scan(lambda start, stop: median_steps(ordered, low, high, start, stop), n + 1, width, rate)


def _clipped(values: NDArray[Any], lower: Fraction, upper: Fraction) -> tuple[NDArray[Any], Any, Any]:
    """The values within the bounds, and the bounds: integers where all are and differences fit, so that those are exact."""
    if values.dtype.kind == "i" and lower.denominator == upper.denominator == 1 and max(-lower, upper, upper - lower) < 1 << 63:
        return np.clip(values.astype(np.int64), int(lower), int(upper)), int(lower), int(upper)
    low, high = float(lower), float(upper)
    numbers = values if values.dtype == object else values.astype(np.float64)
    return np.clip(numbers, low, high).astype(np.float64), low, high


def _scan(steps: Callable[[int, int], NDArray[np.float64]], last: int, width: float, beta: float) -> float:
    best, start, size = 0.0, 0, 64
    while start <= last:
        stop = min(start + size, last + 1)
        best = max(best, float(np.max(steps(start, stop) * np.exp(-beta * np.arange(start, stop)))))
        if width * math.exp(-beta * stop) <= best:
            break
        start, size = stop, min(2 * size, PIECE)
    return best


def median_steps(ordered: NDArray[Any], low: Any, high: Any, start: int, stop: int) -> NDArray[Any]:
    """A^(k) of the median for k = start .. stop - 1 under add_remove."""
    n = ordered.size
    k = np.arange(start, stop)
    above, below = (n + np.minimum(k, n)) // 2 + 1, (n - np.minimum(k, n)) // 2
    # index n stands for both ends: rank n + 1 is the upper bound, rank 0 the lower one
    upper = np.where(above > n, high, ordered[np.minimum(above, n) - 1] if n else high)
    lower = np.where(below < 1, low, ordered[np.maximum(below, 1) - 1] if n else low)
    found: NDArray[Any] = upper - lower
    found[k >= n] = high - low
    return found


def local_sensitivities(values: ArrayLike, *, bounds: Any, last: int, rank: int | None = None) -> NDArray[Any]:
    """A^(k) for k = 0 .. last: of the median under add_remove, or with a rank of that order statistic under replace_one.

    For those who study sensitivities: O(n) for each k with a rank. Private data.
    """
    ordered = np.sort(np.asarray(values))
    low, high = bounds
    if rank is None:
        return median_steps(ordered, low, high, 0, last + 1)
    n = ordered.size
    padded = np.concatenate([np.full(last + 2, low), ordered, np.full(last + 2, high)])
    places = rank + last + 1 + np.arange(last + 2)
    return (
        np.array([np.max(padded[places[: k + 2]] - padded[places[: k + 2] - k - 1]) for k in range(last + 1)])
        if n
        else padded[:0]
    )


class Problem(NamedTuple):
    """A statistic of rows on the grid: private data. `indices` are sorted."""

    grid: Grid
    indices: NDArray[np.int64]
    statistic: str
    neighbours: str

    @property
    def top(self) -> int:
        """The last grid point; the first is 0."""
        return self.grid.size - 1

    @property
    def rank(self) -> int:
        return max(1, (self.indices.size + 1) // 2)

    def centre(self) -> Fraction:
        """The statistic, in grid units."""
        n = self.indices.size
        if self.statistic == "median":
            return Fraction(int(self.indices[self.rank - 1]) if n else 0)
        total = int((self.indices >> 31).sum()) * (1 << 31) + int((self.indices & (1 << 31) - 1).sum())
        return Fraction(total, n) if n else Fraction(self.top, 2)

    def global_sensitivity(self) -> Fraction:
        """How far the statistic can move between neighbours, whatever they are."""
        if self.statistic == "median":
            return Fraction(self.top)
        return Fraction(self.top, max(self.indices.size, 1) if self.neighbours == "replace_one" else 2)

    def smooth(self, beta: Fraction) -> Fraction:
        """A bound of the local sensitivity, exactly beta-smooth, positive, in grid units."""
        if self.neighbours == "replace_one":
            return self.global_sensitivity() if self.statistic == "mean" else self._smooth_swap(beta)
        n, top = self.indices.size, self.top
        if self.statistic == "mean":
            return self._smooth_mean(beta)
        weights, best, start, size = Weights(beta, WHOLE), 0, 0, 1 << 10
        while start <= n + 1:
            stop = min(start + size, n + 2)
            steps = median_steps(self.indices, 0, top, start, stop)
            falling = _weights(weights, start, stop)
            products = falling.astype(np.float64) * steps
            for place in np.flatnonzero(products >= max(products.max() * NEAR, 1.0)).tolist():
                best = max(best, int(falling[place]) * int(steps[place]))
            if int(falling[-1]) * top <= best:
                break
            start, size = stop, min(2 * size, PIECE)
        return Fraction(best, FIRST_WEIGHT)

    def _smooth_mean(self, beta: Fraction) -> Fraction:
        """min((b - a) / 2, the largest e^(-beta k) (b - a) / (n - k)) over k < n."""
        n, top = self.indices.size, self.top
        if n <= 1:
            return Fraction(top, 2)
        weights, best, start, size = Weights(beta, WHOLE), Fraction(0), 0, 1 << 10
        while start < n:
            stop = min(start + size, n)
            falling = _weights(weights, start, stop)
            shares = falling.astype(np.float64) / (n - np.arange(start, stop))
            for place in np.flatnonzero(shares >= shares.max() * NEAR).tolist():
                best = max(best, Fraction(int(falling[place]), n - start - place))
            if int(falling[-1]) <= best:
                break
            start, size = stop, min(2 * size, PIECE)
        return min(Fraction(top, 2), best * top / FIRST_WEIGHT)

    def _smooth_swap(self, beta: Fraction) -> Fraction:
        """Doubles find the largest pair to a relative 10^-12: at a beta smaller by 2^-29, 2^-30 more than it is beta-smooth."""
        n, top = self.indices.size, self.top
        if n == 0 or beta < LEAST_SWAP_BETA:
            return Fraction(top)
        rate = float(beta - SWAP_SLACK)
        between, difference = largest_pair(self.indices, 0, top, self.rank, rate)
        least = Fraction(top, FIRST_WEIGHT)  # a public floor: beta-smooth, and the noise never vanishes
        if rate * between > LONGEST:
            return least  # and not a fraction of millions of digits on the way
        context = decimal.Context(prec=40, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
        discount = context.exp(context.multiply(decimal.Decimal(-rate), between))
        found = Fraction(context.multiply(decimal.Decimal(difference), discount)) * SWAP_OVER
        return max(found, least)

    def proposal(self, width: Fraction) -> int | None:
        """How many steps away the nearest data set is whose local sensitivity exceeds `width`; None if there is none."""
        n, top = self.indices.size, self.top
        if self.global_sensitivity() <= width:
            return None
        if self.neighbours == "replace_one":
            if self.statistic == "mean" or n == 0:
                return 0 if n else None
            return first_wider(self.indices, top, self.rank, math.floor(width))
        if self.statistic == "mean":
            return max(0, n - max(math.ceil(top / width) - 1, 1)) if width > 0 else 0
        low, high = 0, n + 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if median_steps(self.indices, 0, top, middle, middle + 1)[0] > width else (middle + 1, high)
        return low


def _weights(weights: Weights, start: int, stop: int) -> NDArray[np.uint64]:
    """Weights of the distances start .. stop - 1; those beyond the end of the table have its last."""
    table = weights.table(min(stop - 1, CAP))
    return table[np.minimum(np.arange(start, stop), table.size - 1)]


def problem_of(values: Any, bounds: Any, step: Any, statistic: str, neighbours: Neighbours) -> Problem:
    """Check the arguments and snap the rows."""
    if statistic not in ("median", "mean"):
        raise ArgumentError('statistic must be "median" or "mean"')
    grid, indices = grid_indices(values, bounds=bounds, step=step, neighbours=neighbours)
    if grid.size < 2:
        raise ArgumentError("one multiple of step lies inside the bounds, so there is nothing to release; take a smaller step")
    indices.sort()
    return Problem(grid, indices, statistic, neighbours)
