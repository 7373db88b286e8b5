"""Arithmetic that says on which side of the real number it lies: integers, fractions, decimals and doubles.

Nothing here depends on the caller's decimal context. ``decimal`` rounds exp and ln correctly (half-even), so the real
number is at most half a step of the last digit away and one step outward encloses it.
"""

from __future__ import annotations

import decimal
import math
import numbers
import operator
import sys
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from dpfast.errors import ArgumentError, ArgumentTypeError

__all__ = [
    "FIRST_DIGITS",
    "ceiling",
    "exp_bounds",
    "exp_enclosure",
    "float_above",
    "float_below",
    "integer",
    "log_above",
    "ratio_above",
    "real_number",
    "sum_up",
    "times_up",
]

# Digits of a first attempt. 2^64 has 20 of them; 20 more leave a ceiling undecided about once in 10^20 requests, and
# that costs a second round.
FIRST_DIGITS = 40

# Beyond, e^epsilon has more than 400,000 digits and nothing here needs it.
_LARGEST_EXPONENT = 1e6


def exp_bounds(epsilon: float, digits: int) -> tuple[Fraction, Fraction]:
    """Return two fractions that enclose e**epsilon.

    Parameters
    ----------
    epsilon : float
        Exponent, in [0, 1e6].
    digits : int
        Number of decimal digits of the enclosure, at least 2: the bounds differ in the last of them.

    Returns
    -------
    lower, upper : Fraction
        ``1 <= lower <= e**epsilon <= upper``; equal only for epsilon 0.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an argument is outside the ranges above.

    Notes
    -----
    Cost: about 40 microseconds at 40 digits.

    Examples
    --------
    >>> lower, upper = exp_bounds(1.0, 6)
    >>> float(lower), float(upper)
    (2.71827, 2.71829)
    """
    exponent = real_number(epsilon, "epsilon")
    if exponent > _LARGEST_EXPONENT:
        raise ArgumentError("epsilon must be at most 1e6 for its exponential to be written out")
    digits = integer(digits, "digits", minimum=2)
    low, _, low_one = exp_enclosure(float_below(exponent), digits)
    _, high, high_one = exp_enclosure(float_above(exponent), digits)
    return Fraction(low, low_one), Fraction(high, high_one)


def sum_up(values: Iterable[float]) -> float:
    """Return the sum of numbers that are not negative, rounded up.

    Parameters
    ----------
    values : iterable of float
        Each at least 0; infinity is allowed.

    Returns
    -------
    float
        The smallest double not below the exact sum; 0.0 for no values.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If a value is NaN, negative or no real number.

    Examples
    --------
    >>> 0.1 + 0.7, sum_up([0.1, 0.7])
    (0.7999999999999999, 0.8)
    """
    total = Fraction(0)
    infinite = False
    for value in values:
        number = real_number(value, "each value")
        if isinstance(number, Fraction):
            total += number
        else:
            infinite = True
    return math.inf if infinite else float_above(total)


def times_up(value: float, n: int) -> float:
    """Return n times a number that is not negative, rounded up.

    Parameters
    ----------
    value : float
        At least 0; infinity is allowed.
    n : int
        At least 0.

    Returns
    -------
    float
        The smallest double not below the exact product; 0.0 for n = 0.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an argument is outside the ranges above.

    Examples
    --------
    >>> times_up(0.1, 3)
    0.30000000000000004
    """
    number = real_number(value, "value")
    n = integer(n, "n", minimum=0)
    return float_above(number * n) if n else 0.0


def real_number(value: object, name: str) -> Fraction | float:
    """Return a real number >= 0 without loss: a Fraction, or the float infinity. Refuse everything else by name."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real | decimal.Decimal):
        raise ArgumentTypeError(f"{name} must be a real number, not {type(value).__name__}")
    number: Any = value
    # Comparing a Decimal with a float may be trapped by the caller's context; asking the Decimal itself is not.
    is_decimal = isinstance(number, decimal.Decimal)
    if number.is_nan() if is_decimal else number != number:
        raise ArgumentError(f"{name} must be a number, not NaN")
    if number < 0:
        raise ArgumentError(f"{name} must not be negative")
    if number.is_infinite() if is_decimal else number == math.inf:
        return math.inf
    if isinstance(number, numbers.Rational):
        return Fraction(int(number.numerator), int(number.denominator))
    if not hasattr(number, "as_integer_ratio"):
        raise ArgumentTypeError(f"{name} must be a number that converts to a ratio of integers")
    top, bottom = number.as_integer_ratio()
    return Fraction(int(top), int(bottom))


def integer(value: object, name: str, *, minimum: int) -> int:
    """Return an integer >= minimum as an int (NumPy integers are integers, bools and floats are not)."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentTypeError(f"{name} must be an integer, not {type(value).__name__}")
    try:
        number = operator.index(value)
    except TypeError:  # an array
        raise ArgumentTypeError(f"{name} must be an integer, not {type(value).__name__}") from None
    if number < minimum:
        raise ArgumentError(f"{name} must be at least {minimum}")
    return number


def ceiling(top: int, bottom: int) -> int:
    """Return the smallest integer not below top / bottom, bottom > 0."""
    return -(-top // bottom)


def float_below(number: Fraction | float) -> float:
    """Return the largest finite double not above a number >= 0."""
    try:
        nearest = float(number)
    except OverflowError:
        return sys.float_info.max
    return math.nextafter(nearest, -math.inf) if nearest > number else nearest


def float_above(number: Fraction | float) -> float:
    """Return the smallest double not below a number >= 0."""
    if isinstance(number, float):
        return number
    return ratio_above(number.numerator, number.denominator)


def ratio_above(top: int, bottom: int) -> float:
    """Return the smallest double not below top / bottom >= 0."""
    try:
        nearest = top / bottom
    except OverflowError:
        return math.inf
    nearest_top, nearest_bottom = nearest.as_integer_ratio()
    return math.nextafter(nearest, math.inf) if nearest_top * bottom < top * nearest_bottom else nearest


def log_above(top: int, bottom: int) -> float:
    """Return the smallest double not below ln(top / bottom), top > bottom > 0.

    The logarithm of a rational other than 1 is transcendental (Lindemann), so no double: some number of digits shows
    between which two doubles it lies, and the loop ends.
    """
    digits = FIRST_DIGITS
    while True:
        context = _context(digits)
        lower = context.next_minus(context.ln(_quotient(top, bottom, digits, decimal.ROUND_FLOOR)))
        upper = context.next_plus(context.ln(_quotient(top, bottom, digits, decimal.ROUND_CEILING)))
        if lower > 0:
            least, most = _decimal_above(lower), _decimal_above(upper)
            if least == most:
                return most
        digits *= 2


def exp_enclosure(epsilon: float, digits: int) -> tuple[int, int, int]:
    """Return integers (low, high, one) with one <= low and low / one <= e**epsilon <= high / one, epsilon >= 0."""
    if epsilon == 0.0:
        return 1, 1, 1
    context = _context(digits)
    nearest = context.exp(decimal.Decimal.from_float(epsilon))
    places = digits - 1 - nearest.adjusted()
    mantissa = int(nearest.scaleb(places, context))
    if places < 0:
        shift = 10**-places
        return (mantissa - 1) * shift, (mantissa + 1) * shift, 1
    one = 10**places
    return max(mantissa - 1, one), mantissa + 1, one


def _decimal_above(number: decimal.Decimal) -> float:
    """Return the smallest double not below a finite decimal; decimals compare exactly in every context."""
    nearest = float(number)
    return math.nextafter(nearest, math.inf) if decimal.Decimal.from_float(nearest) < number else nearest


def _quotient(top: int, bottom: int, digits: int, rounding: str) -> decimal.Decimal:
    return _context(digits, rounding).divide(decimal.Decimal(top), decimal.Decimal(bottom))


def _context(digits: int, rounding: str = decimal.ROUND_HALF_EVEN) -> decimal.Context:
    return decimal.Context(
        prec=digits,
        rounding=rounding,
        Emin=decimal.MIN_EMIN,
        Emax=decimal.MAX_EMAX,
        capitals=1,
        clamp=0,
        flags=[],
        traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
    )
