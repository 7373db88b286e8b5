"""Several quantiles one after the other: by halving (approximate quantiles), or each by itself.

**Halving.** The middle one of the quantiles is drawn for all rows; the rows at or below the answer and the others then answer
the quantiles on their side, as quantiles of their own number, between the answer and the bound on their side. Quantiles of one
depth are answered for disjoint rows. A person who comes or goes changes one part of each depth by one row: floor(log2 m) + 1
depths share epsilon. A person who changes leaves one part and enters another: each part gets half of that.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpfast._core import duff as core
from dpfast.duff._wide import below
from dpfast.duff.levels import Levels
from dpfast.duff.orders import entries_of, quantile_distances
from dpfast.duff.weights import Weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpfast.duff._wide import Word

__all__ = ["draw_independent", "draw_recursive", "levels_point"]


def draw_recursive(
    places: NDArray[np.int64], size: int, quantiles: Sequence[Fraction], epsilon: Fraction, neighbours: str, word: Word
) -> list[int]:
    """One answer for each of the ascending quantiles."""
    depth = len(quantiles).bit_length()
    share = epsilon / (depth if neighbours == "add_remove" else 2 * depth)
    weights = Weights(share)
    found: list[int] = [0] * len(quantiles)

    def settle(rows: NDArray[np.int64], low: int, high: int, first: int, last: int, under: Fraction, over: Fraction) -> None:
        """Answer quantiles first .. last - 1 of all rows among those that stand for the quantiles from `under` to `over`."""
        if first == last:
            return
        middle = (first + last) // 2
        q = (quantiles[middle] - under) / (over - under)
        answer = low + _draw(rows - low, high - low + 1, q, weights, word)
        found[middle] = answer
        cut = int(np.searchsorted(rows, answer, side="right"))
        settle(rows[:cut], low, answer, first, middle, under, quantiles[middle])
        settle(rows[cut:], answer, high, middle + 1, last, quantiles[middle], over)

    settle(np.sort(places), 0, size - 1, 0, len(quantiles), Fraction(0), Fraction(1))
    return found


def draw_independent(
    places: NDArray[np.int64], size: int, quantiles: Sequence[Fraction], epsilon: Fraction, neighbours: str, word: Word
) -> list[int]:
    """One answer for each of the ascending quantiles, each with its share of epsilon, put in order."""
    rows, weights = np.sort(places), Weights(epsilon / len(quantiles))
    return sorted(_draw(rows, size, q, weights, word, neighbours) for q in quantiles)


def _draw(rows: NDArray[np.int64], size: int, q: Fraction, weights: Weights, word: Word, neighbours: str = "add_remove") -> int:
    """The q-quantile of sorted rows by its levels."""
    lower, upper, below_it, equal = entries_of(rows, size)
    above = rows.size - below_it - equal
    distance = quantile_distances(q, below_it, equal, above, neighbours)  # type: ignore[arg-type]
    levels = Levels(distance, lower, upper, step=1)
    return levels_point(levels, weights.of(distance), word)


def levels_point(levels: Levels, weights: NDArray[np.uint64], word: Word) -> int:
    """A grid index, with chance weight of its entry over the sum of all: integers below 2^124."""
    target = below(core.masses_total(levels.measure, weights), word)
    entry, rest = np.empty(1, np.uint64), np.empty((1, 2), np.uint64)
    parts = np.array([[target & (1 << 64) - 1, target >> 64]], np.uint64)
    core.masses_find(levels.measure, weights, 0, 0, parts, entry, rest)
    place = int(entry[0])
    return int(levels.lower[place]) + (int(rest[0, 1]) << 64 | int(rest[0, 0])) // int(weights[place])
