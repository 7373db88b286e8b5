"""Smooth sensitivity of an order statistic when values may change and their number may not.

The largest e^(-beta (j - i - 1)) (y_j - y_i) over i <= m <= j, i < j, m the rank, y_0 and y_(n+1) the bounds. For i < i', j < j'

    M[i, j] M[i', j'] >= M[i, j'] M[i', j],

so the best j never falls as i grows. The middle row of a range is searched, and splits the columns for the rows to either side;
all ranges of one depth are searched together, so a depth costs one pass and there are log2 of them.

A best column that rounding misjudges by a factor 1 - r costs the rows beside it no more than that factor: for a row i above the
middle one, whose true best j lies beyond the misjudged j', M[i, j'] / M[i, j] >= M[mid, j'] / M[mid, j]. So the result is within
a relative 10^-12 of the truth whatever doubles do (r < 10^-14 a depth, at most 62 depths).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["first_wider", "largest_pair"]

PIECE: Final = 1 << 20


def largest_pair(ordered: NDArray[Any], low: Any, high: Any, rank: int, beta: float) -> tuple[int, Any]:
    """How many order statistics lie between the two whose discounted difference is largest, and the difference.

    `ordered` holds the n values, sorted, between the bounds `low` and `high`: integers, whose differences are exact, or doubles.
    """
    n = ordered.size
    reach = _reach(ordered, low, high, rank, beta)
    firsts = np.arange(max(rank - reach, 0), rank + 1)
    lasts = np.arange(rank, min(rank + reach, n + 1) + 1)
    padded = np.concatenate([[low], ordered, [high]]) if n < 4 * reach + 8 else None

    def at(ranks: NDArray[np.int64]) -> NDArray[Any]:
        if padded is not None:
            return padded[ranks]
        found = ordered[np.clip(ranks - 1, 0, n - 1)]
        return np.where(ranks < 1, low, np.where(ranks > n, high, found))

    left, right = at(firsts), at(lasts)
    best, between, difference = -math.inf, 0, high - low
    # ranges of rows, each with its columns, both inclusive
    rows = np.array([[0, firsts.size - 1]])
    columns = np.array([[0, lasts.size - 1]])
    while rows.size:
        middles = (rows[:, 0] + rows[:, 1]) // 2
        found = np.empty(middles.size, np.int64)
        for start, stop in _pieces(columns[:, 1] - columns[:, 0] + 1):
            widths = columns[start:stop, 1] - columns[start:stop, 0] + 1
            heads = np.cumsum(widths) - widths
            column = np.arange(int(widths.sum())) - np.repeat(heads - columns[start:stop, 0], widths)
            row = np.repeat(middles[start:stop], widths)
            with np.errstate(divide="ignore", invalid="ignore"):
                value = np.log(right[column] - left[row]) - beta * (lasts[column] - firsts[row] - 1)
            value[lasts[column] <= firsts[row]] = -math.inf  # i = j is no pair
            tops = np.maximum.reduceat(value, heads)
            is_top = np.flatnonzero(value == np.repeat(tops, widths))
            places = is_top[np.searchsorted(is_top, heads)]
            found[start:stop] = column[places]
            top = int(np.argmax(tops))
            if tops[top] > best:
                best = float(tops[top])
                pair = column[places[top]], row[places[top]]
                between, difference = int(lasts[pair[0]] - firsts[pair[1]] - 1), (right[pair[0]] - left[pair[1]]).item()
        upper = np.stack([rows[:, 0], middles - 1], axis=1), np.stack([columns[:, 0], found], axis=1)
        lower = np.stack([middles + 1, rows[:, 1]], axis=1), np.stack([found, columns[:, 1]], axis=1)
        rows, columns = (np.concatenate([a, b]) for a, b in zip(upper, lower, strict=True))
        kept = rows[:, 0] <= rows[:, 1]
        rows, columns = rows[kept], columns[kept]
    return between, difference


def _reach(ordered: NDArray[Any], low: Any, high: Any, rank: int, beta: float) -> int:
    """How far from the rank a pair may lie that is not beaten already: e^(-beta k) (b - a) must exceed some pair's value."""
    n = ordered.size
    steps = np.unique(np.append(np.geomspace(1, n + 1, 64).astype(np.int64), [1, n + 1]))
    first, last = np.maximum(rank - steps, 0), np.minimum(rank + steps, n + 1)
    wide = np.where(last > n, high, ordered[np.clip(last - 1, 0, n - 1)]) - np.where(
        first < 1, low, ordered[np.clip(first - 1, 0, n - 1)]
    )
    with np.errstate(divide="ignore"):
        best = float(np.max(np.log(wide) - beta * (last - first - 1)))
    most = (math.log(high - low) - best) / beta if beta > 0 else math.inf
    return int(min(most, n + 1)) + 2


def _pieces(widths: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Runs of ranges with some `PIECE` columns together."""
    cuts = np.searchsorted(np.cumsum(widths), np.arange(PIECE, int(widths.sum()), PIECE), side="right")
    ends = np.unique(np.concatenate([[0], cuts, [widths.size]]))
    return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))


def first_wider(ordered: NDArray[np.int64], top: int, rank: int, width: int) -> int | None:
    """The least k with two order statistics k apart around the rank that differ by more than `width`; None if none do."""
    n = ordered.size
    padded = np.concatenate([[0], ordered, [top]])
    firsts = np.arange(rank + 1)
    lasts = np.maximum(np.searchsorted(padded, padded[: rank + 1] + width, side="right"), rank)
    lasts = np.maximum(lasts, firsts + 1)
    there = lasts <= n + 1
    return int((lasts - firsts - 1)[there].min()) if there.any() else None
