"""The joint exponential mechanism for several quantiles: one draw in O(n m) time and memory.

**Law.** Rows sit at different or equal places f_1 <= ... <= f_n of a fine grid of N places, numbered from 0. Let F(o) be the
number of rows at or below o. Quantiles q_1 < ... < q_m (q_0 = 0, q_{m+1} = 1) are answered by places o_1 <= ... <= o_m with

    u(o) = - sum over j = 1 .. m + 1 of |F(o_j) - F(o_{j-1}) - t_j|,   t_j = (q_j - q_{j-1}) n,  F(o_0) = 0, F(o_{m+1}) = n,

and weight r^-u, over the N^m ways to place m labelled points that are then sorted. One person more adds one to one of the
m + 1 counts and (q_j - q_{j-1}) to every t_j, so u changes by at most 1 - gap + (1 - gap) of that count: the sensitivity
is 2 (1 - the least gap), both end gaps among them. A person who changes adds one to a count and takes one from another: 2.
With r >= e^(-epsilon / (2 sensitivity)) the law is epsilon-private.

**Computation.** Cells are [f_i, f_{i+1}) for i = 0 .. n, F = i inside. Let S_j(i) be the weight of all placements of the first j
quantiles with the j-th in cell i and no other there, for each place of it: S_1(i) = r^|i - t_1|, and

    S_j(i) = sum over i' < i of W_{j-1}(i') r^|i - i' - t_j|,
    W_j(i) = sum over k = 1 .. j of |cell i|^k / k! * r^(t_j + ... + t_{j-k+2}) * S_{j-k+1}(i),

k of the points together in cell i. The kernel is geometric on both sides of t_j, so a row takes O(n) sums of terms that are not
negative (csrc/joint/joint.c). A draw goes back from the last quantile: a cell, the number k of points in it, k independent
uniform places of the cell, then the next cell below.

**Error.** Numbers have an exponent of their own and never underflow, so every placement keeps a positive chance and each step
has a small *relative* error. For n <= 2^31 and blocks of b cells, 1024 <= b <= 2^16 and b^2 >= n, a term of S_j meets at most
3 b + 4 n / b + 20 < 2^18.4 roundings of 2^-53; a factor of the draw (r to a fractional power by doubles, the sums over blocks and
pairs, widths and factorials) is off by less than 2^-42 together. So with theta = 2^-34 a quantile, the chance of an outcome is
its weight times e^(+-(m+1) theta) over a common total that is off by no more; two neighbouring data sets have four such factors.
The loss therefore exceeds that of the law by at most (m + 1) 2^-32, and the law is run at epsilon less that.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from dpfast._core import joint as core
from dpfast._rounding import FIRST_DIGITS, exp_bounds, float_above, float_below
from dpfast.duff._wide import Wide, below, pick, wide_array, wide_number, wide_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpfast.duff._wide import Word

__all__ = [
    "LEAST_SPAN",
    "MOST_QUANTILES",
    "MOST_ROWS",
    "Placements",
    "Step",
    "gaps_of",
    "joint_slack",
    "ratio_for",
    "sensitivity",
]

MOST_QUANTILES: Final = 1023
MOST_ROWS: Final = 1 << 31
MOST_EPSILON: Final = 64  # beyond, exponents of weights might leave 32 bits; what is asked above is not spent
LEAST_SPAN: Final = 1 << 10
PIECE: Final = 1 << 20  # cells of a row between two looks at Ctrl-C


def joint_slack(n_quantiles: int) -> Fraction:
    """What the arithmetic may add to the loss of a draw of so many quantiles."""
    return Fraction(n_quantiles + 1, 1 << 32)


def sensitivity(quantiles: Sequence[Fraction], neighbours: str) -> Fraction:
    """By how much one person may change the utility of an answer; quantiles ascending."""
    if neighbours == "replace_one":
        return Fraction(2)
    return 2 * (1 - min(gaps_of(quantiles)))


def ratio_for(epsilon: Fraction, quantiles: Sequence[Fraction], neighbours: str) -> float | None:
    """The r of the law, rounded up; None where the arithmetic leaves nothing of epsilon."""
    spent = min(epsilon, Fraction(MOST_EPSILON)) - joint_slack(len(quantiles))
    if spent <= 0:
        return None
    steepness = spent / (2 * sensitivity(quantiles, neighbours))
    return min(1.0, float_above(1 / exp_bounds(float_below(steepness), FIRST_DIGITS)[0]))


def gaps_of(quantiles: Sequence[Fraction]) -> list[Fraction]:
    ends = [Fraction(0), *quantiles, Fraction(1)]
    return [high - low for low, high in pairwise(ends)]


class Step:
    """A target t, split: r^t = r^whole * near, and `far` = r^(1 - fraction)."""

    def __init__(self, target: Fraction, ratio: float) -> None:
        self.whole = math.floor(target)
        fraction = target - self.whole
        slope = math.log(ratio)
        self.near = math.exp(slope * float(fraction))
        self.far = math.exp(slope * float(1 - fraction))


class Placements:
    """The rows S_1 .. S_m, W_m, and draws from them."""

    def __init__(self, places: NDArray[np.int64], size: int, quantiles: Sequence[Fraction], ratio: float) -> None:
        n = places.size
        self.cells = n + 1
        self.edges = places
        self.size = size
        self.widths = np.diff(places, prepend=0, append=size).astype(np.float64)
        self.span = max(LEAST_SPAN, 1 << -(-n.bit_length() // 2))
        self.steps = [Step(gap * n, ratio) for gap in gaps_of(quantiles)]
        most = n + 2
        self.powers = core.JointPowers(ratio, self.span, most, wide_array(self.span + 1), wide_array(most // self.span + 1))
        self.stays = wide_array(len(self.steps))  # r^t of each
        for j, step in enumerate(self.steps):
            self.powers.first(step.whole, step.near, step.far, self.stays[j : j + 1], 0, 1)
        # Blocks of a row where several quantiles in one cell weigh something beside one.
        self.crowded = np.zeros((len(quantiles), -(-self.cells // core.JOINT_BLOCK)), np.uint8)
        self.sums: list[NDArray[np.float64]] = []
        self.last = self._fill(len(quantiles))

    def _fill(self, count: int) -> NDArray[np.float64]:
        scratch, totals = wide_array(self.span), wide_array(self.cells // self.span + 2)
        weights, before = np.empty((self.cells, 2)), np.empty((self.cells, 2))
        for j, step in enumerate(self.steps[:count]):
            row = np.empty((self.cells, 2))
            self.sums.append(row)
            if j:
                weights, before = before, weights
                sums = core.JointRow(self.powers, before, row, step.whole, step.near, step.far, scratch, totals)
            for start, stop in self._pieces(self.cells):
                if j:
                    sums.advance(stop)
                else:
                    self.powers.first(step.whole, step.near, step.far, row, start, stop)
            self._weigh(j, weights, before, self.cells)
        return weights

    @staticmethod
    def _pieces(cells: int) -> list[tuple[int, int]]:
        return [(start, min(start + PIECE, cells)) for start in range(0, cells, PIECE)]

    def _weigh(self, j: int, out: NDArray[np.float64], before: NDArray[np.float64] | None, cells: int) -> None:
        """W of row j, with W of row j - 1 at first; later without."""
        for start, stop in self._pieces(cells):
            core.joint_weights(self.widths, self.sums[: j + 1], self.stays, before, out, self.crowded[j], start, stop)

    def draw(self, word: Word) -> list[int]:
        found: list[int] = []
        j = len(self.sums) - 1
        ahead, stop = self.cells - 1, self.cells
        weights = self.last
        while j >= 0:
            if j < len(self.sums) - 1:
                self._weigh(j, weights, None, stop)
            cell = self._cell(weights, ahead, stop, self.steps[j + 1], word)
            together = self._together(j, cell, word)
            low = 0 if cell == 0 else int(self.edges[cell - 1])
            high = self.size if cell == self.cells - 1 else int(self.edges[cell])
            found.extend(low + below(high - low, word) for _ in range(together))
            j -= together
            ahead = stop = cell
        return sorted(found)

    def _cell(self, weights: NDArray[np.float64], ahead: int, stop: int, step: Step, word: Word) -> int:
        """A cell below `stop`, in proportion to its weight and to the way from it to the cell `ahead`."""
        blocks = wide_array(-(-stop // LEAST_SPAN))
        for start in range(0, len(blocks), PIECE // LEAST_SPAN):
            part = blocks[start : start + PIECE // LEAST_SPAN]
            self.powers.block_sums(weights, ahead, stop, step.whole, step.near, step.far, LEAST_SPAN, start, part)
        first = LEAST_SPAN * pick(blocks, word)
        cells = wide_array(min(LEAST_SPAN, stop - first))
        self.powers.block_sums(weights, ahead, stop, step.whole, step.near, step.far, 1, first, cells)
        return first + pick(cells, word)

    def _together(self, j: int, cell: int, word: Word) -> int:
        """How many of the quantiles up to the j-th lie in the cell of the j-th."""
        width = Wide.settled(float(self.widths[cell]), 0)
        factor, shares = Wide(1.0, 0), []
        for k in range(1, j + 2):
            factor = factor.times(width).times(Wide(1.0 / k, 0))
            if k > 1:
                factor = factor.times(wide_number(self.stays, j + 2 - k))
            shares.append(factor.times(wide_number(self.sums[j + 1 - k], cell)))
        return 1 + pick(wide_numbers(shares), word)
