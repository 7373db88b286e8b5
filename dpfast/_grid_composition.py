"""Bounds of the epsilon of composed laws and tables, by convolution over a grid of losses, in doubles with outward bounds.

**Upper bound.** The profile of a part, convex in x = e^epsilon, lies below its chords between the knots e^(h c), c integer. The
chords are the profile of a pair whose losses are h c; a pair with a larger profile dominates, also under composition [1]_. An
atom of P-weight p and loss l = h c + s, 0 <= s <= h, becomes two:

    p (1 - e^-s) / (1 - e^-h)  at  h (c + 1),    the rest  at  h c,

which keeps both its weights. For a `Law` that is all. For a `Table` the profiles of all ordered pairs of rows are evaluated at
the knots, and the chords of their maximum taken. So sum p (1 - e^(epsilon - loss))+ over the convolution of P-weights bounds
delta(epsilon), with an error of order h**2.

**Lower bound.** Any event S gives epsilon >= ln((P(S) - delta) / Q(S)). We take the S of outcomes whose losses, each rounded to
the nearest knot, add up to at least h c. Its exact weights under P and Q come from convolutions too; for Q those of
q e^(h c), which do not underflow. For tables one ordered pair of rows for each copy has to be chosen; `best_pairs` tries
those that the maximum above consists of. The error is of order h**2 again, plus what the choice of pairs leaves.

**Rounding.** All terms are positive, so a sum of n products has relative error below n 2**-53. Every convolution adds its
number of terms, plus 128 for how its weights were computed, to a count of such errors. What underflows is below 1e-300 in all.
Weights that are negligible against delta are cut off, which the upper bound counts as lost.

References
----------
.. [1] Y. Zhu, J. Dong, Y.-X. Wang, Optimal accounting of differential privacy via characteristic function, AISTATS 2022.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpfast._losses import Law, Table

__all__ = ["Convolution", "Pair", "Weights", "envelope", "pair_of_law", "pair_of_rows", "rounded", "spread"]

ULP = 2.0**-53
UNDERFLOW = 1e-300
# Terms at most that are added one by one; longer lists of weights go through np.convolve.
FEW = 64

Doubles = NDArray[np.float64]
Cells = NDArray[np.int64]


@dataclass(frozen=True)
class Pair:
    """Atoms of one ordered pair of rows: losses (finite), weights under P and under Q, and what only P has."""

    losses: Doubles
    p: Doubles
    q: Doubles
    lost: float


@dataclass(frozen=True)
class Weights:
    """Weights at the knots h (first + i), i = 0 .. len - 1; what is lost; the number of roundings in each."""

    first: int
    values: Doubles
    lost: float
    roundings: int


def pair_of_law(law: Law) -> Pair:
    """Return the atoms of a law."""
    total = law.total
    weights = [law.up / total, law.flat / total, law.down / total]
    losses = np.array([law.loss, 0.0, -law.loss])
    return Pair(losses, np.array(weights), np.array(weights[::-1]), law.lost / total)


def pair_of_rows(table: Table, i: int, j: int) -> Pair:
    """Return the atoms of rows i and j of a table."""
    total = table.total
    entries = [(p, q) for p, q in zip(table.rows[i], table.rows[j], strict=True) if p and q]
    # log1p of the excess, so that a loss near 0 keeps its digits; relative error 2**-50.
    losses = [math.log1p((p - q) / q) if p >= q else -math.log1p((q - p) / p) for p, q in entries]
    lost = sum(p for p, q in zip(table.rows[i], table.rows[j], strict=True) if p and not q)
    return Pair(
        np.array(losses, dtype=np.float64),
        np.array([p / total for p, _ in entries], dtype=np.float64),
        np.array([q / total for _, q in entries], dtype=np.float64),
        lost / total,
    )


def split(pair: Pair, step: float) -> tuple[Cells, Doubles, Doubles]:
    """Return the knot below each loss, and the weights under P there and one knot higher; losses rounded up."""
    cells = np.floor(pair.losses / step)
    rest = pair.losses - step * cells
    # Errors of the loss (2**-50) and of these two lines, all on the safe side; beyond a knot, the knot itself is a bound.
    rest = np.clip(rest + np.abs(pair.losses) * 2.0**-47, 0.0, step)
    high = pair.p * (np.expm1(-rest) / math.expm1(-step))
    low = pair.p * (np.exp(-rest) * np.expm1(rest - step) / math.expm1(-step))
    return cells.astype(np.int64), low, high


def rounded(pair: Pair, step: float) -> tuple[Weights, Weights]:
    """Return the weights under P, and those under Q times e^loss, with each loss at the nearest knot."""
    cells = np.rint(pair.losses / step).astype(np.int64)
    first = int(cells.min(initial=0))
    size = int(cells.max(initial=0)) - first + 1
    p: Doubles = np.bincount(cells - first, weights=pair.p, minlength=size).astype(np.float64)
    # At the knot h c a weight under Q is e^(h c) times as large, so that Q(S) = sum of values e^(-h c).
    tilted: Doubles = np.bincount(cells - first, weights=pair.q * np.exp(step * cells), minlength=size).astype(np.float64)
    # The exponent of at most 745 carries an error of 2**-53 of itself; 128 are counted for every part.
    return Weights(first, p, pair.lost, pair.p.size), Weights(first, tilted, 0.0, pair.p.size + 1000)


def spread(pair: Pair, step: float) -> Weights:
    """Return the dominating weights of one pair."""
    cells, low, high = split(pair, step)
    first = int(cells.min(initial=0))
    size = int(cells.max(initial=0)) - first + 2
    values: Doubles = np.bincount(cells - first, weights=low, minlength=size).astype(np.float64)
    values += np.bincount(cells - first + 1, weights=high, minlength=size)
    return Weights(first, values, pair.lost, pair.p.size + 1)


def envelope(table: Table, step: float) -> tuple[Weights, float, dict[tuple[int, int], int]]:
    """Return weights that dominate every ordered pair of rows, a shift of their losses, and where each pair is the worst one.

    Chords between knots with one and the same worst pair have that pair's slope, so that their atoms are differences of its own
    sums. A last pass measures by how much the rounded profile falls short of the maximum at a knot, as a share eta of the
    P-weight above it, and adds the errors of both. Since (1 + eta)(1 - r e^-eta)+ >= (1 - r)+ + eta for r < 1, weights times
    1 + eta with losses eta higher make up for it, at the knots and between them. The pairs come with their numbers of knots.
    """
    pairs = table.pairs
    atoms = [pair_of_rows(table, i, j) for i, j in pairs]
    reach = math.floor(max(float(np.abs(pair.losses).max(initial=0.0)) for pair in atoms) / step) + 2
    first, size = -reach, 2 * reach + 1
    knots = step * np.arange(first, first + size)
    x = np.exp(knots)
    best, slope, owner = np.zeros(size), np.zeros(size), np.full(size, -1)
    for number, pair in enumerate(atoms):
        weights = spread(pair, step)
        p = np.zeros(size)
        p[weights.first - first : weights.first - first + weights.values.size] = weights.values
        q_above = _above(p / x)
        profile = pair.lost + np.maximum(0.0, _above(p) - x * q_above)
        better = profile > best * (1 + 4 * ULP)
        best[better], slope[better], owner[better] = profile[better], q_above[better], number
    # Slopes, counted downwards, of the chords to the right of each knot; the one to the left of the first knot is from (0, 1).
    chords = np.where(owner[:-1] == owner[1:], slope[:-1], (best[:-1] - best[1:]) / np.diff(x))
    chords = np.maximum.accumulate(np.append(0.0, np.maximum(chords, 0.0)[::-1]))[::-1]
    q = np.append(max((1.0 - best[0]) / x[0], chords[0]), chords[:-1]) - chords
    p, lost = x * q, float(best[-1])
    above = _above(p)
    short = best - lost - np.maximum(0.0, above - x * _above(q))
    top = above <= 0.0
    lost += max(0.0, float(short[top].max()))
    eta = float(np.max(short[~top] / above[~top], initial=0.0))
    eta = max(eta, 1.0 - lost - float(p.sum()), 0.0) + 16 * (size + 64) * ULP
    counts = {pairs[number]: int((owner == number).sum()) for number in sorted(set(owner.tolist()) - {-1})}
    return Weights(first, p * (1 + eta), lost * (1 + eta), 64), eta, counts


def _above(values: Doubles) -> Doubles:
    """Sums of the values strictly after each place."""
    return np.append(np.cumsum(values[:0:-1])[::-1], 0.0)


class Convolution:
    """The convolution of the weights of many parts, cut off where nothing matters for delta."""

    def __init__(self, step: float, cut: float) -> None:
        self.step = step
        self._first = 0
        self._values = np.ones(1)
        self._kept = 0.0  # ln of what is not lost by any part
        self._cut = cut  # weight that may be cut off at either end, each time
        self._cuts = 0
        self._roundings = 64
        self._reach = 0.0  # the sum of the largest losses

    def add(self, weights: Weights) -> None:
        """Convolve with one more part."""
        places = np.flatnonzero(weights.values)
        if places.size == 0:
            self._values = np.zeros(1)
        elif places.size <= FEW:
            low, high = int(places[0]), int(places[-1])
            values = np.zeros(self._values.size + high - low)
            for place in places.tolist():
                values[place - low : place - low + self._values.size] += weights.values[place] * self._values
            self._values = values
            self._first += weights.first + low
        else:
            self._values = np.convolve(self._values, weights.values)
            self._first += weights.first
        self._reach += self.step * max(abs(weights.first), abs(weights.first + weights.values.size))
        self._kept += math.log1p(-weights.lost) if weights.lost < 1 else -math.inf
        self._roundings += weights.roundings + 128 + min(places.size, self._values.size)

    def cut(self, other: Convolution | None = None) -> None:
        """Cut off negligible weight at both ends; also the same places of another convolution."""
        up = int(np.searchsorted(np.cumsum(self._values), self._cut, side="right"))
        down = int(np.searchsorted(np.cumsum(self._values[::-1]), self._cut, side="right"))
        if up + down >= self._values.size:
            return
        self._cuts += 1
        last = self._first + self._values.size - down
        self.keep(self._first + up, last)
        if other is not None:
            other.keep(self._first, last)

    def keep(self, first: int, last: int) -> None:
        """Keep the knots first .. last - 1 only."""
        self._values = self._values[max(0, first - self._first) : max(0, last - self._first)]
        self._first = max(first, self._first)

    @property
    def size(self) -> int:
        return self._values.size

    @property
    def last(self) -> int:
        """The highest knot."""
        return self._first + self._values.size - 1

    @property
    def largest(self) -> float:
        """The largest loss."""
        return max(0.0, self.step * (self._first + self._values.size - 1))

    @property
    def margin(self) -> float:
        """A bound of the relative error of a sum of weights: roundings so far, and those of the sum."""
        return 2.0 * ULP * (self._roundings + self._values.size)

    def delta_above(self, epsilon: float) -> float:
        """Return a bound of delta(epsilon), up to a shift of epsilon by `blur`."""
        start = max(0, math.floor(epsilon / self.step) - self._first)
        losses = self.step * np.arange(self._first + start, self._first + self._values.size)
        excess = float(np.sum(self._values[start:] * np.maximum(0.0, -np.expm1(epsilon - losses))))
        return (self._lost_above() + excess) * (1 + self.margin) + UNDERFLOW

    @property
    def blur(self) -> float:
        """A bound of the errors of losses: of each part's before it met the grid, 2**-50, and of differences as computed."""
        return 2.0**-48 * self._reach

    def slope(self, epsilon: float) -> float:
        """Return minus the derivative of delta(epsilon), roughly."""
        start = max(0, math.floor(epsilon / self.step) - self._first)
        losses = self.step * np.arange(self._first + start, self._first + self._values.size)
        return float(np.sum(self._values[start:] * np.exp(np.minimum(0.0, epsilon - losses)) * (losses > epsilon)))

    def epsilon_above(self, delta: float) -> float:
        """Return an epsilon at which the composition is proved to be (epsilon, delta)-private."""
        if self._lost_above() * (1 + self.margin) + UNDERFLOW > delta:
            return math.inf
        # Newton's steps in e^epsilon rise to the root; what they reach is then verified, and raised until it holds.
        epsilon = 0.0
        for _ in range(100):
            excess = self.delta_above(epsilon) - delta
            slope = self.slope(epsilon)
            if excess <= 0 or slope <= 0 or math.log1p(excess / slope) <= 1e-13 * (1 + epsilon):
                break
            epsilon += math.log1p(excess / slope)
        raised = 1e-12 * (1 + epsilon)
        while self.delta_above(epsilon) > delta:
            if epsilon > self.largest:
                return math.inf
            epsilon += raised
            raised *= 2
        # A shift of all losses by `blur` raises delta by no more than that.
        return 0.0 if self.delta_above(0.0) + self.blur <= delta else epsilon + self.blur

    def epsilon_below(self, tilted: Convolution, epsilon: float, delta: float) -> float:
        """Return an epsilon that the composition needs; the event begins at a knot near `epsilon`."""
        if self.size == 0 or self.size != tilted.size:
            return 0.0
        losses = self.step * np.arange(self._first, self._first + self.size)
        p = np.cumsum(self._values[::-1])[::-1] * (1 - self.margin) + self._lost_below() - delta * (1 + 4 * ULP)
        # Beyond e^700 an event's weight under Q is no double; such a low event is of no use.
        with np.errstate(over="ignore"):  # an infinite weight under Q makes an event of no use too
            q = np.cumsum((tilted._values * np.exp(np.minimum(700.0, epsilon - losses)))[::-1])[::-1]
        q = q * (1 + tilted.margin + 2.0**-50 * (abs(epsilon) + self.largest)) + UNDERFLOW
        useful = (p > 0) & (losses >= epsilon - 690.0) & np.isfinite(q)
        if not useful.any():
            return 0.0
        found = float(np.log(p[useful] / q[useful]).max())
        return max(0.0, epsilon + found - 2.0**-45 * (1 + abs(epsilon) + abs(found)))

    def _lost_above(self) -> float:
        return -math.expm1(self._kept) * (1 + 64 * ULP * self._roundings) + 2 * self._cuts * self._cut * (1 + self.margin)

    def _lost_below(self) -> float:
        return -math.expm1(self._kept) * (1 - 64 * ULP * self._roundings)
