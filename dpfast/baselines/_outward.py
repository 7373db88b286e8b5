"""Roots, products, powers and sines of intervals of decimals, rounded outward, on top of those of `duff.exact`."""

from __future__ import annotations

import decimal
from fractions import Fraction
from functools import lru_cache

from dpfast.duff.exact import Interval, Outward

__all__ = ["Wider"]

GUARD: int = 64  # bits of the sine's fixed point beyond those of the digits
BITS_OF_A_DIGIT: int = 4

ZERO = decimal.Decimal(0)


class Wider(Outward):
    """Arithmetic on intervals that are not negative, to so many digits."""

    def __init__(self, digits: int) -> None:
        super().__init__(digits)
        self.digits = digits

    def times(self, first: Interval, second: Interval) -> Interval:
        """A product; zero times infinity is taken as unknown."""
        low, high = self.down.multiply(first[0], second[0]), self.up.multiply(first[1], second[1])
        return ZERO if low.is_nan() else low, decimal.Decimal("Infinity") if high.is_nan() else high

    def root(self, number: Interval) -> Interval:
        """The square root: decimal rounds it to half-even, so a step outward encloses it."""
        low = max(self.down.next_minus(self.down.sqrt(max(number[0], ZERO))), ZERO)
        return low, self.up.next_plus(self.up.sqrt(max(number[1], ZERO)))

    def minus_log(self, number: Interval) -> Interval:
        """-ln of an interval within 0 .. 1."""
        low, high = self.ln(number)
        return max(high.copy_negate(), ZERO), low.copy_negate()

    def growth(self, number: Interval) -> Interval:
        """The exponential function, of an interval of any sign."""
        low, high = self.exp(number)
        return max(low, ZERO), high

    def quarter_sine(self, low: Fraction, high: Fraction) -> Interval:
        """sin(pi s / 2) for s from `low` to `high` within 0 .. 1, where it rises."""
        bits = BITS_OF_A_DIGIT * self.digits + GUARD
        pi = _pi(bits)
        least, most = _sine(_floor_product(pi, low, 0), bits)[0], _sine(_floor_product(pi + 1, high, 1), bits)[1]
        one = 1 << bits
        return self.ratio(Fraction(max(least, 0), one))[0], self.ratio(Fraction(min(most, one), one))[1]


def _floor_product(pi: int, share: Fraction, more: int) -> int:
    """pi * share / 2 rounded down, plus `more`."""
    return pi * share.numerator // (2 * share.denominator) + more


def _sine(angle: int, bits: int) -> tuple[int, int]:
    """Integers that enclose 2^bits sin(angle / 2^bits) for an angle from 0 to a little above pi / 2.

    The terms of the alternating series fall by more than half; each is short by less than two units, and what is left out is
    less than the last.
    """
    square, term, total, place, errors = angle * angle >> bits, angle, 0, 1, 2
    while term:
        total += term if place % 4 == 1 else -term
        term = (term * square >> bits) // ((place + 1) * (place + 2))
        place, errors = place + 2, errors + 2
    return total - errors, total + errors


@lru_cache(maxsize=64)
def _pi(bits: int) -> int:
    """floor(2^bits pi), by Machin's formula with guard bits."""
    guarded = bits + 32
    found = 4 * (4 * _arctan_of_inverse(5, guarded) - _arctan_of_inverse(239, guarded))
    low, high = (found - (1 << 16)) >> 32, (found + (1 << 16)) >> 32
    return low if low == high else _pi(bits + 64) >> 64


def _arctan_of_inverse(n: int, bits: int) -> int:
    """2^bits arctan(1 / n) but for less than two units a term, of which there are fewer than 2^11."""
    power, total, place = (1 << bits) // n, 0, 1
    while power:
        total += power // place if place % 4 == 1 else -(power // place)
        power, place = power // (n * n), place + 2
    return total
