"""Privacy losses of the parts of a composition, as integers.

An output x of two neighbouring rows P and Q has loss ln(P_x / Q_x). What a part does to privacy, alone or composed with
anything, is its profile HS(x) = max over ordered pairs of rows of sum (P - x Q)+, x = e^epsilon >= 0.

`Law` is a part whose profile one pair attains, and whose pair is its own mirror image: loss +a with weight `up` under P and
`down` under Q, -a with the weights exchanged, 0 with `flat` under both, and `lost` where only P has mass (as much where only Q
has). Products of such pairs attain the profile of the composition. Two kinds of part are laws:

- Randomised response: (D, t, (k - 2) t, 0) over 2**64; all its pairs of rows are one up to names, and the row of unknown
  values is dominated by them (`privacy`).
- A statement (epsilon, delta) about an unknown mechanism: every pair of distributions that satisfies it is a post-processing
  of (delta, (1 - delta) e^epsilon / (1 + e^epsilon), (1 - delta) / (1 + e^epsilon), 0) and its reverse [1]_. Here e^epsilon is
  rounded up, by 2**-64 of itself.

`Table` is any other matrix: which pair of rows is worst may depend on x, and products of one pair each may then be less than
the worst case.

References
----------
.. [1] P. Kairouz, S. Oh, P. Viswanath, The composition theorem for differential privacy, ICML 2015.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dpfast._rounding import ceiling, exp_enclosure, log_above
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.privacy import WORD_BITS, WORD_RANGE, Privacy

__all__ = ["LARGEST_STATEMENT", "Law", "Table", "read_part"]

# Statements above are added, not convolved: their integers would only grow, and no composition makes up for them.
LARGEST_STATEMENT = 100.0

# Losses then stay below 355, and exponentials of them among the doubles.
LARGEST_TOTAL = 2**512

# Beyond so many rows the pairs of a table are not looked at one by one.
MOST_ROWS = 64


@dataclass(frozen=True)
class Law:
    """A pair of distributions that is its own mirror image; integer weights, up > down > 0 or both 0."""

    up: int
    down: int
    flat: int
    lost: int

    @staticmethod
    def of(up: int, down: int, flat: int, lost: int) -> Law:
        """Return the law of weights up >= down >= 0, in lowest terms."""
        if up == down:
            up, down, flat = 0, 0, flat + up + down
        elif down == 0:
            up, lost = 0, lost + up
        common = math.gcd(up, down, flat, lost)
        return Law(up // common, down // common, flat // common, lost // common)

    @property
    def total(self) -> int:
        return self.up + self.down + self.flat + self.lost

    @property
    def is_trivial(self) -> bool:
        """Whether the two distributions are equal."""
        return self.up == 0 and self.lost == 0

    @cached_property
    def loss(self) -> float:
        """The loss a; relative error at most 2**-51 (a quotient rounded to nearest, and log1p)."""
        return math.log1p((self.up - self.down) / self.down) if self.up else 0.0

    @cached_property
    def pure_epsilon(self) -> float:
        """The smallest double not below the largest loss."""
        if self.lost:
            return math.inf
        return log_above(self.up, self.down) if self.up else 0.0


@dataclass(frozen=True)
class Table:
    """Integer rows of one common sum, at least two different ones."""

    rows: tuple[tuple[int, ...], ...]

    @property
    def total(self) -> int:
        return sum(self.rows[0])

    @cached_property
    def steepest(self) -> tuple[int, int]:
        """Integers (high, low) whose ratio is the largest finite one in a column; (1, 1) if there is none above 1."""
        best = Fraction(1)
        for column in zip(*self.rows, strict=True):
            entries = [entry for entry in column if entry]
            if entries:
                best = max(best, Fraction(max(entries), min(entries)))
        return best.numerator, best.denominator

    @cached_property
    def pure_epsilon(self) -> float:
        """The smallest double not below the largest loss."""
        if any(0 in column and any(column) for column in zip(*self.rows, strict=True)):
            return math.inf
        return log_above(*self.steepest) if self.steepest != (1, 1) else 0.0

    @cached_property
    def finite_loss(self) -> float:
        """The largest finite loss, roughly."""
        high, low = self.steepest
        return math.log1p((high - low) / low)

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Ordered pairs of rows, one of those that are the same up to the names of the outputs."""
        found: dict[tuple[tuple[int, int], ...], tuple[int, int]] = {}
        for i, first in enumerate(self.rows):
            for j, second in enumerate(self.rows):
                if i != j:
                    found.setdefault(tuple(sorted(zip(first, second, strict=True))), (i, j))
        return [*found.values()]

    @property
    def is_small(self) -> bool:
        """Whether all pairs of rows are few enough to be looked at."""
        return len(self.rows) <= MOST_ROWS

    @cached_property
    def bounding_law(self) -> Law:
        """The law of the statement (largest finite loss, largest mass where another row has none): it dominates every pair."""
        high, low = self.steepest
        # The largest mass, over pairs, where the second row has none: summed in doubles, rounded up with room to spare.
        shares = np.array([[entry / self.total for entry in row] for row in self.rows])
        empty = np.array([[float(entry == 0) for entry in row] for row in self.rows])
        mass = float((shares @ empty.T).max())
        lost = min(WORD_RANGE, ceiling(int(mass * 2.0**WORD_BITS * (1 + 1e-9)), 1) + 1) if mass else 0
        kept = WORD_RANGE - lost
        return Law.of(high * kept, low * kept, 0, (high + low) * lost)


def read_part(part: Any) -> Law | Table:
    """Return the law or table of a mechanism, of an integer table or of a `Privacy` up to `LARGEST_STATEMENT`."""
    if isinstance(part, Privacy):
        return _of_statement(part.epsilon, part.delta)
    if hasattr(part, "threshold") and hasattr(part, "is_uniform") and hasattr(part, "domain"):
        return _of_response(int(part.domain.size), int(part.threshold), bool(part.is_uniform))
    if isinstance(part, (str, bytes, dict)) or not (hasattr(part, "table") or hasattr(part, "__len__")):
        raise ArgumentTypeError(
            f"each part must be a mechanism, an integer table of two dimensions or a Privacy, not {type(part).__name__}"
        )
    if hasattr(part, "integer_table") and part.domain.unknown == "randomise":
        # rounded, the row of values outside the domain is no mixture of the others: it counts as one of them
        return _of_rows([part.integer_table.integers(row) for row in range(part.domain.size + 1)])
    return _of_rows(getattr(part, "table", part))


def _of_response(k: int, t: int, is_uniform: bool) -> Law:
    if is_uniform:
        return Law.of(0, 0, 1, 0)
    return Law.of(WORD_RANGE - (k - 1) * t, t, (k - 2) * t, 0)


def _of_statement(epsilon: float, delta: float) -> Law:
    top, bottom = delta.as_integer_ratio()
    if top == bottom or epsilon == math.inf:
        return Law.of(0, 0, 0, 1)
    _, high, one = exp_enclosure(epsilon, 60)
    up, down = ceiling(high << WORD_BITS, one), WORD_RANGE
    return Law.of(up * (bottom - top), down * (bottom - top), 0, (up + down) * top)


def _of_rows(table: Any) -> Law | Table:
    array = np.asarray(table, dtype=object)
    if array.ndim != 2 or array.size == 0:
        raise ArgumentError("a table must have two dimensions and at least one entry: a row for each true category")
    if any(isinstance(entry, bool) or not hasattr(entry, "__index__") for entry in array.flat):
        raise ArgumentTypeError("a table must hold integers, words out of a common total; give the integer table, not the matrix")
    rows = tuple(tuple(int(entry) for entry in row) for row in array.tolist())
    if min(map(min, rows)) < 0:
        raise ArgumentError("a table must not hold negative entries")
    if sum(rows[0]) == 0 or len({sum(row) for row in rows}) > 1:
        raise ArgumentError("the rows of a table must have one and the same positive sum")
    if sum(rows[0]) > LARGEST_TOTAL:
        raise ArgumentError("the rows of a table must not add up to more than 2**512; give the integers of a smaller total")
    distinct = tuple(dict.fromkeys(rows))
    if len(distinct) == 1:
        return Law.of(0, 0, 1, 0)
    k = len(rows)
    diagonal = {row[i] for i, row in enumerate(rows)} if k == len(rows[0]) else set()
    others = {entry for i, row in enumerate(rows) for x, entry in enumerate(row) if x != i}
    if len(diagonal) == 1 and len(others) == 1 and max(diagonal) >= max(others):
        return Law.of(max(diagonal), max(others), (k - 2) * max(others), 0)
    return Table(distinct)
