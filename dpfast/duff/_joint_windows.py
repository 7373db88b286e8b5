"""Joint quantiles from a few rows around each target: the same law as `_joint_law`, without sorting all rows.

Let r_j = q_j n, and C the placements whose j-th point has r_j - W <= F(o_j) <= r_j + W for every j; windows that share no cell. A
placement outside C has a count that is more than W off and others that make up for it, so its weight is at most D = r^(2 W). One
round draws C with chance sum_C w / Gamma and otherwise a sorted uniform m-tuple of places, Gamma = sum_C w + D N^m / m!. From C a
placement is drawn by weight. A uniform tuple is taken if it lies outside C, with chance w / D, else the whole round begins
anew with fresh words. So a round ends with an outcome with chance w / Gamma, the law whatever the round; after three rounds
everything is sorted and the full law drawn. W is such that the tuples are drawn about once in 10^6 times.

Within C no two points share a cell, and W_j(i) = |cell i| S_j(i). Row j of the sums is taken over a frame of twice the length of
a window: the cells of window j - 1, then as many without weight, where the cells of window j stand.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from dpfast._core import joint as core
from dpfast.duff._joint_law import LEAST_SPAN, Step, gaps_of
from dpfast.duff._wide import Wide, below, first_is_taken, happens, no_weights, pick, power_of, total_of, wide_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpfast.duff._wide import Word

__all__ = ["Windows", "windows_for"]

ROUNDS: Final = 3
MARGIN: Final = 14.0  # e^-14 is about 10^-6
WORTH: Final = 4  # windows that hold more than this part of the rows are not worth it


def windows_for(n: int, size: int, quantiles: Sequence[Fraction], ratio: float) -> tuple[int, list[tuple[int, int]]] | None:
    """W, and the first and last cell of each window; None if they would meet or hold much of the data."""
    count = len(quantiles)
    slope = -math.log(ratio)
    reach = (count * math.log(size) + MARGIN) / (2 * slope) if slope else math.inf
    if not reach * 2 * count * WORTH < n:
        return None
    half = math.ceil(reach)
    found = [(max(0, math.ceil(q * n - half)), min(n, math.floor(q * n + half))) for q in quantiles]
    return (half, found) if all(before[1] < after[0] for before, after in pairwise(found)) else None


class Windows:
    """The windows of one data set, given in any order."""

    def __init__(
        self,
        places: NDArray[np.int64],
        size: int,
        quantiles: Sequence[Fraction],
        ratio: float,
        half: int,
        windows: Sequence[tuple[int, int]],
    ) -> None:
        self.places, self.size, self.ratio, self.half, self.windows = places, size, ratio, half, windows
        self.targets = [gap * places.size for gap in gaps_of(quantiles)]
        ranks = sorted({min(max(rank - 1, 0), places.size - 1) for low, high in windows for rank in (low, high + 1)})
        parted = np.partition(places, ranks)
        self.edges = [self._edges(parted, low, high) for low, high in windows]
        self.widths = [np.diff(edges).astype(np.float64) for edges in self.edges]
        longest = max(map(len, self.widths))
        most = 8 * half + 16
        powers = wide_array(LEAST_SPAN + 1), wide_array(most // LEAST_SPAN + 1)
        self.powers = core.JointPowers(ratio, LEAST_SPAN, most, *powers)
        self.weights = self._fill(longest)

    def _edges(self, parted: NDArray[np.int64], low: int, high: int) -> NDArray[np.int64]:
        """Where the cells low .. high begin, and where the last one ends."""
        n = parted.size
        inner = np.sort(parted[max(low - 1, 0) : min(high + 1, n)])
        head = [0] if low == 0 else []
        tail = [self.size] if high == n else []
        return np.concatenate([np.array(head, np.int64), inner, np.array(tail, np.int64)])

    def _step(self, j: int, shift: int) -> Step:
        """Target j in a frame where a distance of cells is `shift` less than it is."""
        return Step(self.targets[j] - shift, self.ratio)

    def _fill(self, longest: int) -> list[NDArray[np.float64]]:
        scratch, totals = wide_array(LEAST_SPAN), wide_array(2 * longest // LEAST_SPAN + 2)
        found: list[NDArray[np.float64]] = []
        for j, (widths, (low, _)) in enumerate(zip(self.widths, self.windows, strict=True)):
            if j == 0:
                sums = self._first(low, len(widths))
            else:
                frame, after = no_weights(2 * longest), wide_array(2 * longest)
                frame[: len(found[-1])] = found[-1]
                step = self._step(j, low - longest - self.windows[j - 1][0])
                row = core.JointRow(self.powers, frame, after, step.whole, step.near, step.far, scratch, totals)
                row.advance(longest + len(widths))
                sums = after[longest : longest + len(widths)]
            out, crowded = wide_array(len(widths)), np.zeros(-(-len(widths) // core.JOINT_BLOCK), np.uint8)
            core.joint_weights(widths, [np.ascontiguousarray(sums)], wide_array(1), None, out, crowded, 0, len(widths))
            found.append(out)
        return found

    def _first(self, low: int, size: int) -> NDArray[np.float64]:
        """r^|i - t_1| for the cells of the first window."""
        shift = min(low, math.floor(self.targets[0]))
        step = self._step(0, shift)
        out = wide_array(low - shift + size)
        self.powers.first(step.whole, step.near, step.far, out, 0, len(out))
        return out[low - shift :]

    def draw(self, word: Word) -> list[int] | None:
        """An outcome of the law, or None: then draw from the full one."""
        last = len(self.windows) - 1
        inside = self._behind(last, self.weights[last], len(self.places))
        mass, outside = total_of(inside), self._tuples()
        for _ in range(ROUNDS):
            if first_is_taken(mass, outside, word):
                return self._from_windows(inside, word)
            found = sorted(below(self.size, word) for _ in self.windows)
            cells = [int(np.count_nonzero(self.places <= place)) for place in found]
            if all(low <= cell <= high for cell, (low, high) in zip(cells, self.windows, strict=True)):
                continue
            if self._is_kept(cells, word):
                return found
        return None

    def _behind(self, j: int, weights: NDArray[np.float64], ahead: int) -> NDArray[np.float64]:
        """Weights of the cells of window j, with the way from each to the cell `ahead`."""
        low, high = self.windows[j]
        shift = min(ahead - high, math.floor(self.targets[j + 1]))
        step = self._step(j + 1, shift)
        out = wide_array(high - low + 1)
        self.powers.block_sums(weights, ahead - low - shift, len(weights), step.whole, step.near, step.far, 1, 0, out)
        return out

    def _from_windows(self, weights: NDArray[np.float64], word: Word) -> list[int]:
        found = []
        for j in reversed(range(len(self.windows))):
            cell = pick(weights, word)
            low, high = (int(edge) for edge in self.edges[j][cell : cell + 2])
            found.append(low + below(high - low, word))
            if j:
                weights = self._behind(j - 1, self.weights[j - 1], self.windows[j][0] + cell)
        return found[::-1]

    def _tuples(self) -> Wide:
        """D N^m / m!."""
        found = power_of(self.ratio, Fraction(2 * self.half))
        for k in range(1, len(self.windows) + 1):
            found = found.times(Wide.settled(float(self.size), 0)).times(Wide(1.0 / k, 0))
        return found

    def _is_kept(self, cells: list[int], word: Word) -> bool:
        """True with chance w / D."""
        counts = [0, *cells, self.places.size]
        distance = sum(
            (abs(high - low - target) for low, high, target in zip(counts, counts[1:], self.targets, strict=False)), Fraction(0)
        )
        chance = power_of(self.ratio, max(distance - 2 * self.half, Fraction(0)))
        return happens(chance, word)
