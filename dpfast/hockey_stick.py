"""Exact privacy of integer tables: the hockey-stick divergence of every ordered pair of rows.

A table with rows T[i] of words is (epsilon, delta)-private for one row of data if and only if, for all i and j,
sum_x max(0, T[i, x] - e^epsilon T[j, x]) <= delta 2^64. Doubles find the pairs that matter; integers decide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from dpfast._rounding import FIRST_DIGITS, exp_enclosure, log_above, ratio_above

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast.integer_table import IntegerTable

__all__ = [
    "SufficientSet",
    "pair_delta",
    "pair_epsilon",
    "pair_losses",
    "pair_sets",
    "table_delta",
    "table_epsilon",
    "worst_pair",
]

WORD_RANGE: Final = 1 << 64
EXACT_PAIRS: Final = 64  # pairs that are settled in integers; the others are bounded
BLOCK_ENTRIES: Final = 1 << 20  # entries of a block of differences, in a near cache
# e^epsilon above the ratio of any two words: no difference is left.
LARGEST_EPSILON: Final = 45.0

Row = Sequence[int]


class SufficientSet(NamedTuple):
    """Answers that tell two true categories apart equally well: each is e^loss times as likely for the first."""

    loss: float
    codes: tuple[int, ...]


def pair_delta(top: Row, bottom: Row, epsilon: float) -> float:
    """Return sum_x max(0, top_x - e^epsilon bottom_x) / 2^64, rounded up.

    Examples
    --------
    >>> pair_delta([3 << 62, 1 << 62], [1 << 62, 3 << 62], 0.0)
    0.5
    """
    digits = FIRST_DIGITS
    low, _, one = exp_enclosure(min(epsilon, LARGEST_EPSILON), digits)
    excess = sum(max(0, t * one - low * b) for t, b in zip(top, bottom, strict=True))
    return ratio_above(excess, one * WORD_RANGE)


def pair_epsilon(top: Row, bottom: Row, delta: float) -> float:
    """Return the smallest epsilon >= 0 with sum_x max(0, top_x - e^epsilon bottom_x) <= delta 2^64, rounded up; or infinity.

    Notes
    -----
    With the answers in descending order of top_x / bottom_x and prefix sums A and B, the worst event is a prefix:
    epsilon = max ln((A - delta 2^64) / B) over prefixes with A > delta 2^64.

    Examples
    --------
    >>> round(pair_epsilon([3 << 62, 1 << 62], [1 << 62, 3 << 62], 0.0), 6)
    1.098612
    """
    slack, scale = _exact(delta)
    answers = sorted(
        (pair for pair in zip(top, bottom, strict=True) if pair[0]),
        key=lambda pair: Fraction(pair[0], pair[1]) if pair[1] else Fraction(WORD_RANGE + 1),
        reverse=True,
    )
    a = b = 0
    best = Fraction(1)
    for t, w in answers:
        a, b = a + t, b + w
        left = a * scale - slack
        if left <= 0:
            continue
        if b == 0:
            return math.inf
        best = max(best, Fraction(left, b * scale))
    return log_above(best.numerator, best.denominator) if best > 1 else 0.0


def pair_losses(top: Row, bottom: Row) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the privacy losses ln(top_x / bottom_x) and their probabilities under `top`, ascending, equal losses merged."""
    weights: dict[Fraction | None, int] = {}
    for t, b in zip(top, bottom, strict=True):
        if t:
            ratio = Fraction(t, b) if b else None
            weights[ratio] = weights.get(ratio, 0) + t
    ratios = sorted(ratio for ratio in weights if ratio is not None)
    losses = [_log(ratio) for ratio in ratios]
    masses = [weights[ratio] / WORD_RANGE for ratio in ratios]
    if None in weights:
        losses.append(math.inf)
        masses.append(weights[None] / WORD_RANGE)
    return np.array(losses), np.array(masses)


def pair_sets(top: Row, bottom: Row) -> list[SufficientSet]:
    """Return the answers more likely under `top`, parted by loss, ascending."""
    codes: dict[Fraction | None, list[int]] = {}
    for x, (t, b) in enumerate(zip(top, bottom, strict=True)):
        if t > b:
            codes.setdefault(Fraction(t, b) if b else None, []).append(x)
    ratios = sorted(ratio for ratio in codes if ratio is not None)
    sets = [SufficientSet(_log(ratio), tuple(codes[ratio])) for ratio in ratios]
    if None in codes:
        sets.append(SufficientSet(math.inf, tuple(codes[None])))
    return sets


def table_delta(table: IntegerTable, epsilon: float, *, unknown: bool) -> float:
    """Return the smallest delta that a table satisfies at epsilon, rounded up.

    Parameters
    ----------
    table : IntegerTable
    epsilon : float
        >= 0.
    unknown : bool
        Whether the row of values outside the domain is in use.

    Returns
    -------
    float
        0 from the pure epsilon on. Exact where at most 64 pairs come near the largest, else at most 2^-45 above.

    Notes
    -----
    **Cost.** O(k^3) products of doubles: 3 s at k = 1000.
    """
    if epsilon >= _pure_epsilon(table, unknown=unknown):
        return 0.0
    return worst_pair(table, epsilon, unknown=unknown)[0]


def table_epsilon(table: IntegerTable, delta: float, *, unknown: bool) -> float:
    """Return the smallest epsilon that a table satisfies at delta, rounded up.

    Parameters
    ----------
    table : IntegerTable
    delta : float
        In [0, 1).
    unknown : bool
        Whether the row of values outside the domain is in use.

    Returns
    -------
    float
        Infinite where some answer has a probability that is 0 for one category and, with more than delta, not for another.

    Notes
    -----
    At delta = 0 the greatest ratio within a column, the pure epsilon, which is enough for every delta. Otherwise: at the current
    epsilon find the pair of rows with the greatest excess; if that is at most delta, done; else go on with the epsilon of that
    pair. The last step is checked for all pairs; where it cannot be, as delta is below what doubles tell apart, the pure epsilon
    is the answer.
    **Cost.** O(k^2) at delta = 0, else a few times that of `table_delta`.
    """
    pure = _pure_epsilon(table, unknown=unknown)
    if delta == 0.0:
        return pure
    epsilon, roundings = 0.0, 2.0**-46
    while epsilon < min(pure, LARGEST_EPSILON):
        worst, (i, j) = worst_pair(table, epsilon, unknown=unknown)
        if worst <= delta:
            return epsilon
        needed = pair_epsilon(table.integers(i), table.integers(j), delta)
        if needed == math.inf:
            return math.inf
        # the bound of many near pairs may lie above delta though every pair is at or below it: then go up by roundings
        if needed > epsilon:
            epsilon = needed
        else:
            epsilon, roundings = epsilon + max(epsilon, 1.0) * roundings, 2 * roundings
    return pure


def _pure_epsilon(table: IntegerTable, *, unknown: bool) -> float:
    rows = table.floats(unknown=unknown)
    most, least = rows.max(axis=0), rows.min(axis=0)
    if ((least == 0) & (most > 0)).any():
        return math.inf
    spread = np.divide(most, least, out=np.ones_like(most), where=most > 0)
    best = Fraction(1)
    for x in np.flatnonzero(spread >= spread.max() * (1 - 2.0**-50)).tolist():
        # doubles may tie where integers do not
        column = [table.entry(i, x) for i in np.flatnonzero((rows[:, x] == most[x]) | (rows[:, x] == least[x])).tolist()]
        if max(column):
            best = max(best, Fraction(max(column), min(column)))
    return log_above(best.numerator, best.denominator) if best > 1 else 0.0


def worst_pair(table: IntegerTable, epsilon: float, *, unknown: bool) -> tuple[float, tuple[int, int]]:
    """Return the greatest delta over ordered pairs, rounded up, and the pair that doubles find it at.

    A double sum differs from the integer one by less than 2^-47.5: entries and products are within a factor 1 +- 2^-51 of
    the integers and matter only where they are at most T[i, x], which sum to 2^64, and adding k <= 4096 terms has at most 24
    roundings on the way of each (pairwise over blocks of 128, which are added in eight lanes). Two sums may both be wrong.
    """
    rows = table.floats(unknown=unknown)
    n = rows.shape[0]
    factor = math.exp(min(epsilon, LARGEST_EPSILON))
    scaled = rows * factor
    block = max(1, BLOCK_ENTRIES // (n * table.k) or 1)
    deltas = np.empty((n, n))
    for start in range(0, n, block):
        part = rows[start : start + block, None, :] - scaled[None]
        np.maximum(part, 0.0, out=part)
        part.sum(axis=2, out=deltas[start : start + block])
    deltas /= float(WORD_RANGE)
    slack = 2.0**-46
    order = np.argsort(deltas, axis=None)[::-1]
    flat = deltas.ravel()
    near = order[: EXACT_PAIRS + 1]
    near = near[flat[near] >= flat[order[0]] - slack]
    best, at = 0.0, divmod(int(order[0]), n)
    for pair in near[:EXACT_PAIRS].tolist():
        i, j = divmod(pair, n)
        exact = pair_delta(table.integers(i), table.integers(j), epsilon)
        if exact > best:
            best, at = exact, (i, j)
    if near.size > EXACT_PAIRS:  # too many to settle: the bound
        best = max(best, float(flat[near[-1]]) + slack)
    return best, at


def _exact(delta: float) -> tuple[int, int]:
    """delta 2^64 as an integer over a power of two."""
    top, bottom = delta.as_integer_ratio()
    return top * WORD_RANGE, bottom


def _log(ratio: Fraction) -> float:
    """The logarithm of a ratio to a few units in the last place, whatever its size."""
    if Fraction(1, 2) < ratio < 2:
        return math.log1p(float(ratio - 1))
    return math.log(ratio.numerator) - math.log(ratio.denominator)
