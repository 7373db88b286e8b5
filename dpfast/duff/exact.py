"""What doubles leave open, settled: intervals of decimals over as many random bits as it takes.

An exponential variate is E = -ln(1 - U), U a real number whose bits are read as far as they are needed: 64 first, then 128 more
for each part. Quotients are rounded outward, and ``decimal`` rounds logarithms and powers correctly, so that one step outward
encloses them. Two keys are equal with probability zero; digits and bits are doubled until one lies below all others.
"""

from __future__ import annotations

import decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy import uint64
    from numpy.typing import NDArray

__all__ = [
    "Contender",
    "Interval",
    "Outward",
    "ReadAhead",
    "Tape",
    "Words",
    "settle_place",
    "settle_race",
    "uniform_below",
    "winner",
]

FIRST_DIGITS: Final = 40
READ_AHEAD: Final = 1 << 16


class Words(Protocol):
    """Random words by index, with more behind each: `words.DrawWords`, or any other to enumerate."""

    def words(self, first: int, n: int) -> NDArray[uint64]: ...
    def more(self, index: int, part: int) -> tuple[int, int]: ...


class ReadAhead:
    """Words that are asked for in small runs, one after the other, and made in larger ones."""

    __slots__ = ("_first", "_held", "_source")

    def __init__(self, source: Words) -> None:
        self._source = source
        self._first = 0
        self._held: NDArray[uint64] | None = None

    def words(self, first: int, n: int) -> NDArray[uint64]:
        """As of the source."""
        at = first - self._first
        if self._held is None or at < 0 or at + n > self._held.size:
            ahead = 0 if self._held is None else min(2 * self._held.size, READ_AHEAD)
            self._held = self._source.words(first, max(n, ahead))
            self._first, at = first, 0
        return self._held[at : at + n]

    def more(self, index: int, part: int) -> tuple[int, int]:
        """As of the source."""
        return self._source.more(index, part)


class Tape:
    """The random bits of one index, the highest first."""

    __slots__ = ("_index", "_parts", "_source", "_value")

    def __init__(self, source: Words, index: int) -> None:
        self._source = source
        self._index = index
        self._value = int(source.words(index, 1)[0])
        self._parts = 0

    def bits(self, parts: int) -> tuple[int, int]:
        """An integer a and a number of bits b: the number lies from a / 2^b up to (a + 1) / 2^b."""
        while self._parts < parts:
            self._parts += 1
            first, second = self._source.more(self._index, self._parts)
            self._value = self._value << 128 | first << 64 | second
        return self._value, 64 + 128 * self._parts


class Contender(NamedTuple):
    """One that takes part with mass e^log * factor."""

    tape: Tape
    log: Fraction
    factor: Fraction


Interval = tuple[decimal.Decimal, decimal.Decimal]


class Outward:
    """Arithmetic on intervals to so many digits."""

    def __init__(self, digits: int) -> None:
        self.down, self.up = (
            decimal.Context(prec=digits, rounding=rounding, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=[])
            for rounding in (decimal.ROUND_FLOOR, decimal.ROUND_CEILING)
        )

    def ratio(self, number: Fraction) -> Interval:
        top, bottom = decimal.Decimal(number.numerator), decimal.Decimal(number.denominator)
        return self.down.divide(top, bottom), self.up.divide(top, bottom)

    def ln(self, number: Interval) -> Interval:
        """Of an interval from 0 up; the logarithm of zero is minus infinity."""
        return self.down.next_minus(self.down.ln(number[0])), self.up.next_plus(self.up.ln(number[1]))

    def exp(self, number: Interval) -> Interval:
        return self.down.next_minus(self.down.exp(number[0])), self.up.next_plus(self.up.exp(number[1]))

    def minus(self, first: Interval, second: Interval) -> Interval:
        return self.down.subtract(first[0], second[1]), self.up.subtract(first[1], second[0])

    def plus(self, first: Interval, second: Interval) -> Interval:
        return self.down.add(first[0], second[0]), self.up.add(first[1], second[1])

    def log_exponential(self, value: int, bits: int) -> Interval:
        """ln(-ln(1 - U)) for U from value / 2^bits up to (value + 1) / 2^bits."""
        one = 1 << bits
        high, low = self.ratio(Fraction(one - value, one)), self.ratio(Fraction(one - value - 1, one))
        most = decimal.Decimal("Infinity") if value + 1 == one else self.ln(low)[0].copy_negate()
        least = decimal.Decimal(0) if value == 0 else max(self.ln(high)[1].copy_negate(), decimal.Decimal(0))
        return self.ln((least, most))


def settle_race(contenders: Sequence[Contender]) -> int:
    """Place of the one with the least E / mass."""
    if len(contenders) == 1:
        return 0
    top = max(contender.log for contender in contenders)
    left = list(range(len(contenders)))
    digits, parts = FIRST_DIGITS, 0
    while True:
        keys: list[Interval] = []
        for place in left:
            value, bits = contenders[place].tape.bits(parts)
            outward = Outward(digits + 2 * bits // 3)  # 1 - U has to show the last bit
            key = outward.log_exponential(value, bits)
            key = outward.minus(key, outward.ratio(contenders[place].log - top))
            keys.append(outward.minus(key, outward.ln(outward.ratio(contenders[place].factor))))
        best = min(high for _, high in keys)
        left = [place for place, key in zip(left, keys, strict=True) if key[0] <= best]
        if len(left) == 1:
            return left[0]
        digits, parts = 2 * digits, 2 * parts + 1


def winner(left: list[int], contender: Callable[[int], Contender]) -> int:
    """Which of the candidates that a race has left wins; who is alone needs no more bits."""
    return left[0] if len(left) == 1 else left[settle_race([contender(item) for item in left])]


def settle_place(logs: Sequence[Fraction | None], scale: Fraction, tape: Tape) -> int:
    """The first place up to which the powers e^log (None: 0) sum to more than U * scale, or their number if none is."""
    digits, parts = FIRST_DIGITS, 0
    while True:
        value, bits = tape.bits(parts)
        outward = Outward(digits + 2 * bits // 3)
        low = outward.ratio(scale * Fraction(value, 1 << bits))[0]
        high = outward.ratio(scale * Fraction(value + 1, 1 << bits))[1]
        total: Interval = (decimal.Decimal(0), decimal.Decimal(0))
        for place, log in enumerate(logs):
            if log is None:
                continue
            total = outward.plus(total, outward.exp(outward.ratio(log)))
            if low < total[1]:
                if high <= total[0]:
                    return place
                break
        else:
            return len(logs)
        digits, parts = 2 * digits, 2 * parts + 1


def uniform_below(n: int, tape: Tape) -> int:
    """A uniform integer below n <= 2^64 by rejection, from the words of a tape in order."""
    shift = 64 - (n - 1).bit_length() if n > 1 else 64
    parts = 0
    while True:
        value, _ = tape.bits(parts)
        for place in (64, 0) if parts else (0,):
            found = (value >> place & ((1 << 64) - 1)) >> shift
            if found < n:
                return found
        parts += 1
