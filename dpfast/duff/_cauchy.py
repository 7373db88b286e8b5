"""A Cauchy variate times a rational scale, rounded to an integer and clamped: drawn exactly, with integers only.

If (u, v) is uniform in the half disc u^2 + v^2 < 1, v > 0, the angle is uniform and u / v is standard Cauchy. Bits of u and v are
drawn until it is decided that the point lies in the disc and which integer the result is; a point outside is thrown away, with
all its bits. There is no rounding anywhere, so the law is that of the real variate, rounded.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dpfast._rounding import exp_bounds, float_above, float_below

if TYPE_CHECKING:
    from dpfast.duff._wide import Word

__all__ = ["cauchy_alpha", "cauchy_integer"]

DIGITS: Final = 60
ROOT_BITS: Final = 256
LEAST: Final = Fraction(1, 10**20)


def cauchy_integer(centre: int, scale: Fraction, low: int, high: int, word: Word) -> int:
    """The integer nearest to centre + scale * Cauchy, halves up, clamped to low .. high; scale > 0."""
    while True:
        x = y = bits = 0
        while True:
            x, y, bits = x << 64 | word(), y << 64 | word(), bits + 64
            one = 1 << bits
            # u lies from left to left + 2, v from y to y + 1, in units of 2^-bits
            left = 2 * x - one
            near, far = sorted((abs(left), abs(left + 2)))
            if left < 0 < left + 2:
                near = 0
            if near * near + y * y >= one * one:
                break
            if far * far + (y + 1) ** 2 > one * one:
                continue
            least = _nearest(centre, scale, left, y + 1 if left >= 0 else y, low, high)
            most = _nearest(centre, scale, left + 2, y if left + 2 > 0 else y + 1, low, high)
            if least == most:
                return least


def _nearest(centre: int, scale: Fraction, u: int, v: int, low: int, high: int) -> int:
    if v == 0:
        return high if u > 0 else low
    top, bottom = scale.numerator * u, scale.denominator * v
    return min(max(centre + (2 * top + bottom) // (2 * bottom), low), high)


def cauchy_alpha(epsilon: Fraction, beta: Fraction) -> Fraction:
    """The largest alpha, rounded down, for which T + SS / alpha * Cauchy is epsilon-DP if SS is beta-smooth; 0 <= beta < epsilon,
    or both 0. It is 0 below `LEAST`.

    alpha^2 = min(2 (cosh epsilon - 1), 2 e^beta (cosh epsilon - cosh beta)): location-scale families of Cauchy laws are the
    hyperbolic half-plane, and the loss between two of them is their distance.
    """
    if epsilon < LEAST:  # the powers would differ from one by less than the digits show
        return Fraction(0)
    low = exp_bounds(float_below(epsilon), DIGITS)[0]
    low_beta, high_beta = exp_bounds(float_below(beta), DIGITS)[0], exp_bounds(float_above(beta), DIGITS)[1]
    twice_cosh = low + 1 / low  # x + 1 / x rises from 1 on
    square = min(twice_cosh - 2, low_beta * (twice_cosh - high_beta - 1 / high_beta))
    if square <= 0:
        return Fraction(0)
    return Fraction(math.isqrt((square.numerator << 2 * ROOT_BITS) // square.denominator), 1 << ROOT_BITS)
