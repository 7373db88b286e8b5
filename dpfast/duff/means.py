"""Levels of the mean: between which grid points it can be brought by so many persons who come, go or change (B.5)."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from dpfast.duff.data import grid_indices
from dpfast.duff.levels import Levels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from dpfast.duff.data import Neighbours
    from dpfast.duff.grid import Grid

__all__ = ["extreme_levels", "mean_levels"]


def mean_levels(
    values: ArrayLike, *, bounds: Any, step: Any = None, neighbours: Neighbours = "add_remove", missing: Any = None
) -> Levels:
    """Levels of the mean of the values on the grid.

    Parameters
    ----------
    values, bounds, step, neighbours, missing
        As for `dpfast.duff.quantile_levels`.

    Returns
    -------
    Levels
        Private data. Every grid point lies in one entry. Under add_remove there is no distance 0: at least one person who
        comes is needed to hit an exact value. Under replace_one it is the mean itself, where that is a grid point.

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Notes
    -----
    Distances are exact for all but isolated points that removals alone could hit, and have sensitivity 1 everywhere: grid points
    are compared with means as integers. Useful where the bounds are loose and outliers few; for well-scaled data noise on sum and
    count is better. As no distance is 0, integer weights serve up to an epsilon of about 42, and from 90 on all answers are
    equally likely under `dpfast.duff.sample`; `dpfast.mean` spends no more than 42. **Cost.** A sort, and some microseconds for
    each level up to the one that reaches both bounds, at most n + 1.

    Examples
    --------
    >>> levels = mean_levels([1, 2, 4, 8, 9], bounds=(0, 10), step=1, neighbours="add_remove")
    >>> levels.distance.tolist()
    [6, 4, 3, 2, 1, 2, 3, 4, 6]
    """
    grid, indices = grid_indices(values, bounds=bounds, step=step, neighbours=neighbours, missing=missing)
    indices.sort()
    rows: list[int] = indices.tolist()
    return extreme_levels(rows, rows[::-1], len(rows), sum(rows), grid, neighbours, len(rows) + 1)


def extreme_levels(
    smallest: list[int], largest: list[int], n: int, total: int, grid: Grid, neighbours: Neighbours, last: int
) -> Levels:
    """Levels of the mean from its extreme rows, ascending and descending; distances from `last` on count as `last`.

    `smallest` and `largest` hold at least min(last, n) rows each, `total` is the sum of all n.
    """
    top = grid.size - 1
    first = 1 if neighbours == "add_remove" else 0
    if n == 0:
        return Levels([first], [0], [top], step=grid.step, origin=grid.origin)
    # The highest means of the rows are, mirrored, the lowest ones of the mirrored rows. Means are affine, so grid indices do.
    reach = _added if first else _replaced
    steps = min(last, n + first)
    highs = reach(smallest, n, total, top, steps)
    mirrored = reach([top - row for row in largest], n, n * top - total, top, steps)
    distance, lower, upper = [], [], []
    low, high = 0, -1  # what the levels so far cover; empty
    for level, ((a, b), (c, d)) in enumerate(zip(highs, mirrored, strict=True), start=first):
        new_high, new_low = (a // b, top - c // d) if level < last else (top, 0)
        if low > high:
            pieces = [(new_low, new_high)]
            low, high = (new_low, new_high) if new_low <= new_high else (low, high)
        else:
            pieces = [(new_low, low - 1), (high + 1, new_high)]
            low, high = min(low, new_low), max(high, new_high)
        for begin, end in pieces:
            if begin <= end:
                distance.append(level)
                lower.append(begin)
                upper.append(end)
        if (low, high) == (0, top):
            break
    return Levels(distance, lower, upper, step=grid.step, origin=grid.origin)


def _added(smallest: list[int], n: int, total: int, top: int, last: int) -> Iterator[tuple[int, int]]:
    """The highest mean, a fraction, that k = 1, 2, ... last <= n + 1 steps reach, at least one of them a person who comes.

    j of the steps remove the smallest rows, the others add `top`; the best j never falls as k grows.
    """
    removed = list(accumulate(smallest, initial=0))
    j = 0

    def mean(k: int, j: int) -> tuple[int, int]:
        return total - removed[j] + (k - j) * top, n + k - 2 * j

    for k in range(1, last + 1):
        best = mean(k, j)
        while j < min(k - 1, n):
            more = mean(k, j + 1)
            if more[0] * best[1] < best[0] * more[1]:
                break
            best, j = more, j + 1
        yield best


def _replaced(smallest: list[int], n: int, total: int, top: int, last: int) -> Iterator[tuple[int, int]]:
    """The highest mean that k = 0, 1, ... last <= n rows set to `top` give."""
    for k, small in enumerate(accumulate(smallest[:last], initial=0)):
        yield total - small + k * top, n
