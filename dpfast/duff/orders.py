"""Levels of the median and of quantiles: how many persons must come, go or change until an order statistic takes a value.

B.2 and B.3 of the mathematics. Data are snapped to the grid first, so equal values carry weight. For a grid point x let L, E, G
be the numbers of rows below, at and above it. All comparisons are of integers; q is an exact fraction num / den, its formulas
times den.
"""

from __future__ import annotations

import decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfast._core import quantile as core
from dpfast.duff.data import grid_indices
from dpfast.duff.grid import exact_number
from dpfast.duff.levels import Levels
from dpfast.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dpfast.duff.data import Neighbours

__all__ = [
    "check_quantile",
    "entries_of",
    "envelope_ranks",
    "median_levels",
    "quantile_distances",
    "quantile_levels",
    "quantile_rank",
]


def median_levels(
    values: ArrayLike, *, bounds: Any, step: Any = None, neighbours: Neighbours = "add_remove", missing: Any = None
) -> Levels:
    """Levels of the lower median, the order statistic of rank (n + 1) // 2; see `quantile_levels`.

    Parameters
    ----------
    values, bounds, step, neighbours, missing
        As for `quantile_levels`.

    Returns
    -------
    Levels
        Private data.

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Examples
    --------
    >>> levels = median_levels([1, 2, 4, 8, 9], bounds=(0, 10), neighbours="add_remove")
    >>> levels.distance.tolist()
    [5, 3, 1, 1, 0, 2, 2, 4, 6]
    """
    return quantile_levels(values, Fraction(1, 2), bounds=bounds, step=step, neighbours=neighbours, missing=missing)


def quantile_levels(
    values: ArrayLike, q: Any, *, bounds: Any, step: Any = None, neighbours: Neighbours = "add_remove", missing: Any = None
) -> Levels:
    """Levels of the q-quantile, the order statistic of rank max(1, ceil(q n)).

    Parameters
    ----------
    values : column of numbers
        numpy, pyarrow, pandas, polars or a list; integers, floats, booleans, dates or times. Clipped to the bounds and snapped to
        the nearest grid point, halves up.
    q : float, Fraction, Decimal, 0, 1, or a pair of ints
        From 0 to 1. A float is read as the shortest decimal that denotes it: 0.1 is one tenth.
    bounds : (lower, upper)
        Public; lower < upper.
    step : optional
        Of the grid, see `Grid`. Default: 1 for integers, booleans, dates and times, else the largest power of two that is at most
        (upper - lower) / 2**20. A list declares no type: it counts as one of integers where both bounds are.
    neighbours : {"add_remove", "replace_one"}
        Whose steps are counted: persons coming or going, or changing their value (the number of rows is then public).
    missing : number, optional
        What NaN and null count as under replace_one; default the lower bound. Under add_remove they are dropped.

    Returns
    -------
    Levels
        Private data. Every grid point lies in one entry; a data point is an entry of its own.

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Notes
    -----
    Distances are exact, so of sensitivity 1. Without rows every answer is equally far. **Cost.** A sort of all rows.

    Examples
    --------
    >>> levels = quantile_levels([1, 2, 4, 5, 8, 9], 0.9, bounds=(0, 10), step=0.25, neighbours="add_remove")
    >>> levels.distance[levels.measure > 1].tolist()
    [7, 6, 5, 4, 3, 2, 1]
    """
    fraction = check_quantile(q)
    grid, indices = grid_indices(values, bounds=bounds, step=step, neighbours=neighbours, missing=missing)
    indices.sort()
    lower, upper, below, equal = entries_of(indices, grid.size)
    above = indices.size - below - equal
    distance = quantile_distances(fraction, below, equal, above, neighbours)
    return Levels(distance, lower, upper, step=grid.step, origin=grid.origin)


def check_quantile(q: Any) -> Fraction:
    """The fraction that q stands for."""
    if isinstance(q, tuple) and len(q) == 2 and q[1] != 0 and all(isinstance(part, (int, np.integer)) for part in q):
        number = Fraction(int(q[0]), int(q[1]))
    elif isinstance(q, (float, np.floating)):
        exact_number(q, "q")  # NaN and infinity
        number = Fraction(np.format_float_scientific(q, unique=True))
    elif isinstance(q, (int, np.integer, Fraction, decimal.Decimal)) and not isinstance(q, bool):
        number = exact_number(q, "q")
    else:
        raise ArgumentTypeError("q must be a float, a Fraction, a Decimal, or a pair of integers (numerator, denominator)")
    if not 0 <= number <= 1:
        raise ArgumentError("q must lie between 0 and 1")
    return number


def quantile_rank(q: Fraction, n: int) -> int:
    """max(1, ceil(q n)); 1 also without rows."""
    return max(1, -(-q.numerator * n // q.denominator))


def entries_of(indices: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], ...]:
    """Points and gaps of sorted data in order: first and last index, rows below and rows at each."""
    starts = np.flatnonzero(np.diff(indices, prepend=-1))
    points = indices[starts]
    counts = np.diff(starts, append=indices.size)
    lower = np.empty(2 * points.size + 1, np.int64)
    upper, below, equal = np.empty_like(lower), np.empty_like(lower), np.zeros_like(lower)
    lower[1::2] = upper[1::2] = points
    lower[0], lower[2::2] = 0, points + 1
    upper[-1], upper[:-1:2] = size - 1, points - 1
    below[1::2], below[0], below[2::2] = starts, 0, starts + counts
    equal[1::2] = counts
    kept = lower <= upper
    return lower[kept], upper[kept], below[kept], equal[kept]


def quantile_distances(
    q: Fraction, below: NDArray[np.int64], equal: NDArray[np.int64], above: NDArray[np.int64], neighbours: Neighbours
) -> NDArray[np.int64]:
    """Distances of grid points with so many rows below, at and above them; each sum of the three is the number of rows."""
    n = int(below[0] + equal[0] + above[0])
    if neighbours == "replace_one":
        if n == 0:
            return np.zeros_like(below)
        rank = quantile_rank(q, n)
        return np.asarray(np.maximum(0, np.maximum(below - rank + 1, rank - below - equal)))
    if n == 0:
        return np.ones_like(below)
    if q == 0:
        return np.asarray(below + (equal == 0), np.int64)
    if q == Fraction(1, 2):
        return np.asarray(np.maximum(0, np.maximum(below - above - equal + 1, above - below - equal)))
    num, den = q.numerator, q.denominator
    if den * (n + 2) >= 1 << 62:
        if den < 1 << 62:  # the products of the kernel have 128 bits
            found = np.empty(below.shape, np.uint64)
            law = core.QuantileLaw(np.ones(1, np.uint64), num, den, 1, False)
            law.distances(n, below.astype(np.uint64), equal.astype(np.uint64), found)
            return found.astype(np.int64)
        below, equal, above = (part.astype(object) for part in (below, equal, above))  # Python's integers do not wrap
    rest = den - num
    most = max(num, rest)
    too_high = rest * below - num * above - num * equal  # x is too high iff this is not negative
    too_low = num * above - rest * below - rest * equal  # x is too low iff this is positive
    at_data = np.where(too_high >= 0, too_high // most + 1, np.where(too_low > 0, -(-too_low // most), 0))
    past = np.where(too_high < num, 1, 2 + (too_high - num) // most)
    short = np.where(too_low <= rest, 1, 1 - (rest - too_low) // most)
    return np.where(equal > 0, at_data, np.where(too_high >= 0, past, short)).astype(np.int64)


def envelope_ranks(q: Fraction, n: int, last: int, neighbours: Neighbours) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ranks lo_k, hi_k for k = 0 .. last: y_lo and y_hi are the least and largest q-quantile within distance k of n rows.

    Rank 0 is the lower end of the grid and rank n + 1 the upper one. The levels min{k : y_lo <= x <= y_hi} have sensitivity 1.
    Without rows the quantile counts as the lower end.
    """
    steps = np.arange(last + 1, dtype=np.int64)
    if neighbours == "replace_one":
        if n == 0:
            return np.zeros_like(steps), np.ones_like(steps)
        rank = quantile_rank(q, n)
        return np.maximum(rank - steps, 0), np.minimum(rank + steps, n + 1)
    if n == 0:
        return np.zeros_like(steps), np.minimum(steps, 1)
    num, den = q.numerator, q.denominator
    wide: Any = steps.astype(object) if den * (n + last + 2) >= 1 << 62 else steps
    more, fewer = np.maximum(1, -(-num * (n + wide) // den)), -(-num * (n - wide) // den)
    fewer = np.maximum(np.where(steps < n, 1, 0), fewer)
    low = np.minimum(more - wide, fewer).astype(np.int64)
    high = np.maximum(more, fewer + wide).astype(np.int64)
    return np.clip(low, 0, n + 1), np.clip(high, 0, n + 1)
