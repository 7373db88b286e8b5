"""Duff from its definitions: distances by walking over data sets, weights and laws in integers, the race to many digits.

A data set is a tuple of counts, one for each point 0 .. m - 1 of a small grid (or label of a domain).
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

__all__ = [
    "decay",
    "distances",
    "law",
    "mean_distances",
    "mean_range",
    "modes",
    "neighbours_of",
    "quantile",
    "race",
    "rows_of",
    "weights",
]

DataSet = tuple[int, ...]

DIGITS = 120  # of keys in a race
WORDS = 5  # of its uniform numbers: 320 bits


def rows_of(counts: DataSet) -> list[int]:
    """The rows of a data set, sorted."""
    return [point for point, count in enumerate(counts) for _ in range(count)]


def quantile(counts: DataSet, q: Fraction) -> set[int]:
    """The order statistic of rank max(1, ceil(q n)), as a set; empty without rows."""
    rows = rows_of(counts)
    if not rows:
        return set()
    rank = max(1, -(-q.numerator * len(rows) // q.denominator))
    return {rows[rank - 1]}


def modes(counts: DataSet) -> set[int]:
    """The most frequent labels; all of them without rows."""
    return {label for label, count in enumerate(counts) if count == max(counts)}


def neighbours_of(counts: DataSet, relation: str) -> Iterator[DataSet]:
    """Data sets one step away: a row more, a row fewer ("add_remove"), or a row of another value ("replace_one")."""
    for place in range(len(counts)):
        if relation == "add_remove":
            yield _changed(counts, {place: 1})
        if counts[place]:
            if relation == "add_remove":
                yield _changed(counts, {place: -1})
            else:
                for other in range(len(counts)):
                    if other != place:
                        yield _changed(counts, {place: -1, other: 1})


def distances(counts: DataSet, statistic: Callable[[DataSet], set[int]], relation: str) -> list[int]:
    """How many steps it takes until the statistic takes each value, by going everywhere, nearest first."""
    found: dict[int, int] = {}
    seen, frontier, steps = {counts}, [counts], 0
    while frontier:
        for place in frontier:
            for value in statistic(place):
                found.setdefault(value, steps)
        if len(found) == len(counts):
            break
        reached = {other for place in frontier for other in neighbours_of(place, relation)} - seen
        seen |= reached
        frontier, steps = list(reached), steps + 1
    return [found[value] for value in range(len(counts))]


def mean_range(counts: DataSet, steps: int, relation: str) -> tuple[Fraction, Fraction]:
    """The least and the largest mean after so many steps, at least one of which is a row that comes (or is replaced)."""
    means = []
    walks: set[tuple[DataSet, bool]] = {(counts, False)}
    for _ in range(steps):
        walks = {
            (other, came or len(rows_of(other)) >= len(rows_of(place)))
            for place, came in walks
            for other in neighbours_of(place, relation)
        }
    for place, came in walks:
        if (came or not steps) and any(place):
            means.append(Fraction(sum(rows_of(place)), len(rows_of(place))))
    return min(means), max(means)


def mean_distances(counts: DataSet, relation: str) -> list[int]:
    """After how many steps the range of means, one row having come, holds each value; from 0 on where rows are replaced."""
    m = len(counts)
    if not any(counts):
        return [1 if relation == "add_remove" else 0] * m
    found: dict[int, int] = {}
    steps = 1 if relation == "add_remove" else 0
    while len(found) < m:
        low, high = mean_range(counts, steps, relation)
        for value in range(m):
            if low <= value <= high:
                found.setdefault(value, steps)
        steps += 1
    return [found[value] for value in range(m)]


def decay(exponent: Fraction) -> int:
    """2^64 - ceil(2^64 e^-exponent), to 200 digits."""
    context = decimal.Context(prec=200, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    power = context.exp(context.divide(decimal.Decimal(-exponent.numerator), decimal.Decimal(exponent.denominator)))
    scaled = context.multiply(power, decimal.Decimal(1 << 64))
    return (1 << 64) - int(scaled.to_integral_value(decimal.ROUND_CEILING, context))


def weights(exponent: Fraction, last: int) -> list[int]:
    """The weights of the distances 0 .. last: w_0 = 2^62, then ceil(w rho), rho = ceil(2^64 e^-exponent) / 2^64."""
    rho = (1 << 64) - decay(exponent)
    table = [1 << 62]
    while len(table) <= last:
        table.append(-(-table[-1] * rho // (1 << 64)))
    return table


def law(distance: Sequence[int], measure: Sequence[int], exponent: Fraction) -> list[Fraction]:
    """The probability of each entry: weight times measure over the sum of all."""
    table = weights(exponent, max(distance))
    masses = [table[d] * points for d, points in zip(distance, measure, strict=True)]
    return [Fraction(mass, sum(masses)) for mass in masses]


def race(logs: Sequence[Fraction | None], factors: Sequence[int | Fraction], word: Callable[[int, int], int]) -> int:
    """The item with the least E / mass, mass = e^log * factor (log None: no mass), E = -ln(1 - U), U from the words of an item.

    word(i, j) is the j-th word of item i, the highest bits first. Keys are rounded to 120 digits.
    """
    context = decimal.Context(prec=DIGITS, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    best: tuple[decimal.Decimal, int] | None = None
    has_logs = any(logs)
    for item, (log, factor) in enumerate(zip(logs, factors, strict=True)):
        if log is None or not factor:
            continue
        uniform = 0
        for part in range(WORDS):
            uniform = uniform << 64 | word(item, part)
        rest = Fraction(2 * ((1 << 64 * WORDS) - uniform) - 1, 2 << 64 * WORDS)  # the middle of what the words leave open
        key = context.divide(context.ln(_decimal(rest, context)).copy_negate(), _decimal(Fraction(factor), context))
        if has_logs:  # a log may be of any size, so it is the logarithms of the keys that are compared
            key = context.subtract(context.ln(key), _decimal(log, context))
        if best is None or key < best[0]:
            best = key, item
    if best is None:
        raise ValueError("nothing has any mass")
    return best[1]


def _decimal(number: Fraction, context: decimal.Context) -> decimal.Decimal:
    return context.divide(decimal.Decimal(number.numerator), decimal.Decimal(number.denominator))


def _changed(counts: DataSet, changes: dict[int, int]) -> DataSet:
    return tuple(count + changes.get(place, 0) for place, count in enumerate(counts))
