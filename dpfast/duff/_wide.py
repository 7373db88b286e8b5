"""Choices among weights of any size: wide numbers, and draws that follow them exactly.

A wide number is a double and a count of 2^512, as in csrc/joint/joint_wide.h; an array of them has two doubles a row, the second
of which holds the count in its first half. To draw one of many, the weights are summed pair by pair up to a single total, and the
draw walks down from there: at each pair it goes to the one or the other in exact proportion to the two numbers, deciding by as
many random words as that takes. So the chance of a weight is its share up to one rounding for each sum above it, however
small it is beside the others.
"""

from __future__ import annotations

import decimal
import math
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    Word: TypeAlias = Callable[[], int]  # the next 64 random bits

__all__ = [
    "Wide",
    "below",
    "first_is_taken",
    "happens",
    "no_weights",
    "pick",
    "power_of",
    "total_of",
    "wide_array",
    "wide_number",
    "wide_numbers",
]

UNIT: Final = 512  # bits of an exponent's unit
LOW: Final = 2.0**-256
HIGH: Final = 2.0**256
ZERO: Final = -(1 << 29)  # the exponent of zero
WORD_BITS: Final = 64
FAR: Final = 256  # bits apart at which a first word decides but for one case in 2^64


class Wide(NamedTuple):
    """mantissa * 2^(512 exponent), the mantissa 0 or from 2^-256 up to 2^256."""

    mantissa: float
    exponent: int

    @staticmethod
    def settled(mantissa: float, exponent: int) -> Wide:
        if mantissa >= HIGH:
            return Wide(mantissa * 2.0**-UNIT, exponent + 1)
        if mantissa >= LOW:
            return Wide(mantissa, exponent)
        return Wide(mantissa * 2.0**UNIT, exponent - 1) if mantissa else Wide(0.0, ZERO)

    def times(self, other: Wide) -> Wide:
        return self.settled(self.mantissa * other.mantissa, self.exponent + other.exponent)


def power_of(ratio: float, exponent: Fraction) -> Wide:
    """ratio^exponent for a ratio in (0, 1] and exponent >= 0, to one rounding."""
    if ratio == 1.0 or not exponent:
        return Wide(1.0, 0)
    context = decimal.Context(prec=60)
    log = context.ln(decimal.Decimal(ratio))
    power = context.divide(context.multiply(log, exponent.numerator), decimal.Decimal(exponent.denominator))
    unit = context.multiply(context.ln(decimal.Decimal(2)), UNIT)
    units = int(context.divide(power, unit).to_integral_value(decimal.ROUND_HALF_EVEN, context))
    return Wide.settled(float(context.exp(context.subtract(power, context.multiply(unit, units)))), units)


def wide_array(size: int) -> NDArray[np.float64]:
    return np.zeros((size, 2))


def no_weights(size: int) -> NDArray[np.float64]:
    """An array of zeros that are marked as such."""
    array = wide_array(size)
    exponents_of(array)[:] = ZERO
    return array


def wide_numbers(numbers: Sequence[Wide]) -> NDArray[np.float64]:
    array = wide_array(len(numbers))
    array[:, 0] = [number.mantissa for number in numbers]
    exponents_of(array)[:] = [number.exponent for number in numbers]
    return array


def wide_number(array: NDArray[np.float64], place: int) -> Wide:
    return Wide(float(array[place, 0]), int(exponents_of(array)[place]))


def exponents_of(array: NDArray[np.float64]) -> NDArray[np.int32]:
    """A view of the exponents of a wide array."""
    return array.view(np.int32)[:, 2]


def below(most: int, word: Word) -> int:
    """A uniform integer from 0 to most - 1."""
    size = -(-(most - 1).bit_length() // 64)
    while True:
        number = 0
        for _ in range(size):
            number = number << 64 | word()
        number >>= 64 * size - (most - 1).bit_length()
        if number < most:
            return number


def first_is_taken(first: Wide, second: Wide, word: Word) -> bool:
    """True with chance first / (first + second), exactly; not both are zero."""
    if not first.mantissa or not second.mantissa:
        return bool(first.mantissa)
    if _size(first) > _size(second):
        return not first_is_taken(second, first, word)
    (a, x), (b, y) = _integer(first), _integer(second)
    apart = _size(second) - _size(first)
    return _decide(lambda: (a << max(x - y, 0), (a << max(x - y, 0)) + (b << max(y - x, 0))), apart, word)


def happens(chance: Wide, word: Word) -> bool:
    """True with a chance of at most 1, exactly."""
    if not chance.mantissa:
        return False
    a, x = _integer(chance)
    return _decide(lambda: (a << max(x, 0), 1 << max(-x, 0)), -_size(chance), word)


def _decide(ratio: Callable[[], tuple[int, int]], apart: int, word: Word) -> bool:
    """True with chance share / total, which is below 2^(1 - apart); large integers are made only if they are needed."""
    start = max(apart, 0) // FAR
    for _ in range(start):
        if word():  # one word of more than one for each FAR bits: not zero means far above the share
            return False
    share, total = ratio()
    number, bits = 0, WORD_BITS * start
    while True:
        number, bits = number << WORD_BITS | word(), bits + WORD_BITS
        place, goal = number * total, share << bits
        if place + total <= goal:
            return True
        if place >= goal:
            return False


def _size(number: Wide) -> int:
    """The binary exponent."""
    return math.frexp(number.mantissa)[1] + UNIT * number.exponent


def _integer(number: Wide) -> tuple[int, int]:
    """An integer and the power of two that it is to be multiplied with."""
    mantissa, exponent = math.frexp(number.mantissa)
    return int(math.ldexp(mantissa, 53)), exponent - 53 + UNIT * number.exponent


def pick(weights: NDArray[np.float64], word: Word) -> int:
    """The place of one of the weights, in proportion to them; not all are zero."""
    heap = _heap(weights)
    place = 0
    for mantissas, exponents in reversed(heap[:-1]):
        place *= 2
        if place + 1 < mantissas.size:
            first, second = (Wide(float(mantissas[i]), int(exponents[i])) for i in (place, place + 1))
            place += not first_is_taken(first, second, word)
    return place


def total_of(weights: NDArray[np.float64]) -> Wide:
    """The sum that `pick` starts from."""
    mantissas, exponents = _heap(weights)[-1]
    return Wide(float(mantissas[0]), int(exponents[0]))


def _heap(weights: NDArray[np.float64]) -> list[tuple[NDArray[np.float64], NDArray[np.int32]]]:
    heap = [(weights[:, 0], exponents_of(weights))]
    while heap[-1][0].size > 1:
        heap.append(_pair_sums(*heap[-1]))
    return heap


def _pair_sums(mantissas: NDArray[np.float64], exponents: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    if mantissas.size % 2:
        mantissas, exponents = np.append(mantissas, 0.0), np.append(exponents, np.int32(ZERO))
    (a, b), (x, y) = (mantissas[0::2], mantissas[1::2]), (exponents[0::2], exponents[1::2])
    top = np.maximum(x, y)
    # Two exponents further down is less than 2^-512 of the sum.
    scale = np.array([1.0, 2.0**-UNIT, 0.0])
    total = a * scale[np.minimum(top - x, 2)] + b * scale[np.minimum(top - y, 2)]
    large = total >= HIGH
    return np.where(large, total * 2.0**-UNIT, total), top + large
