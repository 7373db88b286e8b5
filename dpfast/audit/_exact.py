"""The hockey-stick divergence of mechanisms that are tables of integers, with witnesses: bounds on both sides, decided exactly.

Of randomised response all pairs of rows are one up to the names of answers, so it is enough to look at one, and at two more for
the row of values outside the domain; answers with equal words in both rows are added up, for any number of categories. In
any other table doubles find the pairs, and integers say what these need: that is a lower bound. The upper bound is that of
`hockey_stick`, over all pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._rounding import FIRST_DIGITS, exp_enclosure, float_below
from dpfast.audit._events import Event
from dpfast.audit._report import EXACT_UNSEEN, AuditReport, Finding
from dpfast.hockey_stick import WORD_RANGE, pair_delta, pair_epsilon, table_delta, table_epsilon, worst_pair
from dpfast.matrix import TableMechanism
from dpfast.response import RandomisedResponse

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Rows", "TabledMechanism", "exact_report", "is_violated", "rows_of", "worst_pairs"]

LARGEST_EPSILON: Final = 45.0  # e^epsilon above the ratio of any two words
SHOWN: Final = 4
TabledMechanism = RandomisedResponse | TableMechanism


@dataclass(frozen=True)
class Rows:
    """Two rows of words, answer by answer; `answers` are codes, or all codes but some, whose words are added up."""

    top: list[int]
    bottom: list[int]
    answers: list[tuple[int, ...] | _Rest]


@dataclass(frozen=True)
class _Rest:
    """Codes from `first` on, below `last`, but some."""

    first: int
    last: int
    without: tuple[int, ...]

    @property
    def size(self) -> int:
        return self.last - self.first - sum(self.first <= code < self.last for code in self.without)


def exact_report(
    mechanism: TabledMechanism, pairs: Sequence[tuple[int, int]] | None, epsilon: float, delta: float
) -> AuditReport:
    """Return the exact audit of a table: over all pairs of codes, or over these in both directions."""
    looked = worst_pairs(mechanism, epsilon, delta) if pairs is None else [order for i, j in pairs for order in ((i, j), (j, i))]
    found = [(pair, rows_of(mechanism, *pair)) for pair in looked]
    findings = tuple(_finding(pair, rows, epsilon, delta) for pair, rows in found)
    epsilon_upper = max((one.epsilon_upper for one in findings), default=0.0)
    delta_upper = max((one.delta_upper for one in findings), default=0.0)
    if pairs is not None:
        epsilon_upper, delta_upper = math.inf, 1.0
    elif isinstance(mechanism, TableMechanism):
        unknown = mechanism.domain.unknown == "randomise"
        epsilon_upper = table_epsilon(mechanism.integer_table, delta, unknown=unknown)
        delta_upper = 0.0 if math.isinf(epsilon) else table_delta(mechanism.integer_table, epsilon, unknown=unknown)
    return AuditReport(
        method="exact",
        epsilon=epsilon,
        delta=delta,
        rejected=any(is_violated(rows, epsilon, delta) for _, rows in found),
        epsilon_lower=max((one.epsilon_lower for one in findings), default=0.0),
        epsilon_upper=epsilon_upper,
        delta_lower=max((one.delta_lower for one in findings), default=0.0),
        delta_upper=delta_upper,
        confidence=1.0,
        samples=0,
        findings=findings,
        cannot_see=EXACT_UNSEEN if pairs is None else "Pairs that were not given. " + EXACT_UNSEEN,
    )


def is_violated(rows: Rows, epsilon: float, delta: float) -> bool:
    """Return whether sum_x max(0, top_x - e^epsilon bottom_x) > delta 2^64.

    A power e^epsilon of a double other than 0 is transcendental (Lindemann), so the two sides are equal only where no bottom_x
    counts, and then any enclosure of e^epsilon shows it: the loop ends.

    Examples
    --------
    >>> rows = Rows([3 << 62, 1 << 62], [1 << 62, 3 << 62], [(0,), (1,)])
    >>> is_violated(rows, 0.0, 0.5), is_violated(rows, 0.0, 0.49)
    (False, True)
    """
    if math.isinf(epsilon):
        return False
    slack, scale = delta.as_integer_ratio()
    digits = FIRST_DIGITS
    while True:
        low, high, one = exp_enclosure(min(epsilon, LARGEST_EPSILON), digits)
        allowed = slack * WORD_RANGE * one
        if _excess(rows, high, one) * scale > allowed:
            return True
        if _excess(rows, low, one) * scale <= allowed:
            return False
        digits *= 2


def _excess(rows: Rows, factor: int, one: int) -> int:
    return sum(max(0, t * one - factor * b) for t, b in zip(rows.top, rows.bottom, strict=True))


def _finding(pair: tuple[int, int], rows: Rows, epsilon: float, delta: float) -> Finding:
    above = pair_epsilon(rows.top, rows.bottom, delta)
    # the true one is 0, infinite, or the logarithm of a rational, which is no double and lies just below
    below = above if above in (0.0, math.inf) else math.nextafter(above, 0.0)
    delta_lower = delta_upper = 0.0
    if math.isfinite(epsilon):
        _, high, one = exp_enclosure(min(epsilon, LARGEST_EPSILON), FIRST_DIGITS)
        delta_lower = float_below(Fraction(_excess(rows, high, one), one * WORD_RANGE))
        delta_upper = pair_delta(rows.top, rows.bottom, epsilon)
    return Finding(pair, below, above, delta_lower, delta_upper, _event(rows, min(epsilon, below)))


def _event(rows: Rows, epsilon: float) -> Event:
    """The answers that are more than e^epsilon times as likely in the first row."""
    _, high, one = exp_enclosure(min(epsilon, LARGEST_EPSILON), FIRST_DIGITS)
    within = [t * one > high * b for t, b in zip(rows.top, rows.bottom, strict=True)]
    answers = [answer for answer, is_in in zip(rows.answers, within, strict=True) if is_in]
    top, bottom = (
        sum(words for words, is_in in zip(row, within, strict=True) if is_in) / WORD_RANGE for row in (rows.top, rows.bottom)
    )
    return Event(_text(answers), top, bottom, partial(_is_within, answers))


def _is_within(answers: Sequence[tuple[int, ...] | _Rest], codes: Any) -> NDArray[np.bool_]:
    array = np.asarray(codes)
    inside = np.zeros(array.shape, bool)
    for answer in answers:
        if isinstance(answer, tuple):
            inside |= np.isin(array, answer)
        else:
            inside |= (answer.first <= array) & (array < answer.last) & ~np.isin(array, answer.without)
    return inside


def _text(answers: Iterable[tuple[int, ...] | _Rest]) -> str:
    codes: list[str] = []
    more = 0
    for answer in answers:
        if isinstance(answer, tuple):
            codes += [f"code {code}" for code in answer]
        else:
            more += answer.size
    more += max(0, len(codes) - SHOWN)
    return " or ".join(codes[:SHOWN] + ([f"{more} more"] if more else [])) or "no output"


def worst_pairs(mechanism: TabledMechanism, epsilon: float, delta: float) -> list[tuple[int, int]]:
    """Return ordered pairs of codes, the worst among them but for roundings: for epsilon at delta and for delta at epsilon."""
    k = mechanism.domain.size
    unknown = mechanism.domain.unknown == "randomise"
    if isinstance(mechanism, RandomisedResponse):
        pairs = [(0, 1)] if k > 1 else []
        # the row of unknown values has one word more for the first categories than for the last
        return pairs + ([(0, k), (k, 0), (k - 1, k), (k, k - 1)] if unknown else [])
    table = mechanism.integer_table
    if k + unknown == 1:
        return []
    if delta == 0.0:
        pairs = [_steepest(mechanism)]
    else:
        least = min(table_epsilon(table, delta, unknown=unknown), LARGEST_EPSILON)
        pairs = [worst_pair(table, least * (1 - 2.0**-40), unknown=unknown)[1]]
    if epsilon < table_epsilon(table, 0.0, unknown=unknown):  # from there on no pair exceeds it
        pairs.append(worst_pair(table, min(epsilon, LARGEST_EPSILON), unknown=unknown)[1])
    # of equal rows: two different ones
    return list(dict.fromkeys(pair if pair[0] != pair[1] else (0, 1) for pair in pairs))


def _steepest(mechanism: TableMechanism) -> tuple[int, int]:
    """The rows with the greatest ratio within a column: doubles find the columns, integers the rows."""
    table, unknown = mechanism.integer_table, mechanism.domain.unknown == "randomise"
    rows = table.floats(unknown=unknown)
    most, least = rows.max(axis=0), rows.min(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(most > 0, most / least, 1.0)
    best, pair = Fraction(1), (0, 1)
    for x in np.flatnonzero(spread >= spread.max() * (1 - 2.0**-50)).tolist():
        column = [table.entry(row, x) for row in range(rows.shape[0])]
        high, low = max(column), min(column)
        if low == 0:
            return column.index(high), column.index(low)
        if Fraction(high, low) > best:
            best, pair = Fraction(high, low), (column.index(high), column.index(low))
    return pair


def rows_of(mechanism: TabledMechanism, i: int, j: int) -> Rows:
    """Return the rows of two true categories; code k stands for a value outside the domain."""
    if isinstance(mechanism, TableMechanism):
        top, bottom = mechanism.integer_table.integers(i), mechanism.integer_table.integers(j)
        return Rows(top, bottom, [(x,) for x in range(mechanism.domain.size)])
    k = mechanism.domain.size
    wide = WORD_RANGE % k
    singles = tuple(code for code in dict.fromkeys((i, j)) if code < k)
    rests = [rest for rest in (_Rest(0, wide, singles), _Rest(wide, k, singles)) if rest.size]
    answers: list[tuple[int, ...] | _Rest] = [*((code,) for code in singles), *rests]
    words = [[_words(mechanism, row, code) for code in singles] for row in (i, j)]
    for row, own in zip((i, j), words, strict=True):
        # all of the rest have equally many words: those of one that is neither i nor j
        own += [rest.size * _off_diagonal(mechanism, row, is_wide=rest.first < wide) for rest in rests]
    return Rows(words[0], words[1], answers)


def _words(mechanism: RandomisedResponse, row: int, x: int) -> int:
    if row == x and not mechanism.is_uniform:
        return WORD_RANGE - (mechanism.domain.size - 1) * mechanism.threshold
    return _off_diagonal(mechanism, row, is_wide=x < WORD_RANGE % mechanism.domain.size)


def _off_diagonal(mechanism: RandomisedResponse, row: int, *, is_wide: bool) -> int:
    k = mechanism.domain.size
    return WORD_RANGE // k + is_wide if mechanism.is_uniform or row == k else mechanism.threshold
