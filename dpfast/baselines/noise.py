"""Continuous noise, rounded to the grid: drawn exactly.

Noise is a sign times a magnitude, and a magnitude is a function of a few uniform numbers, monotone in each. The answer is the
grid point nearest to centre + scale * noise, halves up, within the bounds. Sixty-four bits of each number are drawn; intervals of
doubles, widened by far more than the error of the functions, mostly show in which cell the answer lies. Where they do not,
intervals of decimals are rounded outward, and bits are drawn until both ends fall into one cell. So the law is that of the
real-valued noise, rounded, without any approximation: rounding to a public grid is done after the private step and costs nothing,
whereas a law in proportion to the density at grid points would need a calibration of its own (and is not private with this one).

Words (stream version 1). Draw j of a call with k numbers reads the words j (k + 1) to j (k + 1) + k: signs in the two lowest bits
of the first, then the numbers, highest bits first, with the parts behind each.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

import numpy as np

from dpfast.baselines._outward import Wider
from dpfast.duff.exact import FIRST_DIGITS, Tape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast.duff.exact import Interval, Words

    Floats = NDArray[np.float64]

__all__ = ["LaplaceLognormalNoise", "LaplaceNoise", "Noise", "PolyPlaceNoise", "StudentNoise", "draw_rounded"]

MARGIN: Final = 2.0**-40  # relative: thousands of times the error of a function of numpy
LEAST_MARGIN: Final = 2.0**-44
LARGEST_SCALE: Final = 1 << 900  # of doubles
NEGATIVE: Final = 1
SHRINKING: Final = 2


class Noise(Protocol):
    """A law that is symmetric around 0, by the magnitude that uniform numbers give it."""

    @property
    def numbers(self) -> int: ...
    def floats(self, lows: list[Floats], highs: list[Floats], signs: NDArray[np.uint64]) -> tuple[Floats, Floats]: ...
    def enclose(self, wider: Wider, numbers: list[tuple[Fraction, Fraction]], signs: int) -> Interval: ...


class LaplaceNoise:
    """Density e^-|z| / 2: the magnitude is -ln V."""

    numbers: ClassVar[int] = 1

    def floats(self, lows: list[Floats], highs: list[Floats], signs: NDArray[np.uint64]) -> tuple[Floats, Floats]:
        return -np.log(highs[0]), -np.log(lows[0])

    def enclose(self, wider: Wider, numbers: list[tuple[Fraction, Fraction]], signs: int) -> Interval:
        return wider.minus_log(_ends(wider, numbers[0]))


class StudentNoise:
    """Student's t with so many degrees of freedom, d, by Bailey's polar method: sqrt(d (W^(-2/d) - 1)) times a cosine.

    The modulus of the cosine of a uniform angle is sin(pi s / 2), s uniform. With one degree this is the Cauchy law.
    """

    numbers: ClassVar[int] = 2

    def __init__(self, degrees: int) -> None:
        self.degrees = degrees

    def floats(self, lows: list[Floats], highs: list[Floats], signs: NDArray[np.uint64]) -> tuple[Floats, Floats]:
        d = float(self.degrees)
        radii = [np.sqrt(d * np.expm1(-2.0 / d * np.log(number))) for number in (highs[0], lows[0])]
        return radii[0] * np.sin(np.pi / 2 * lows[1]), radii[1] * np.sin(np.pi / 2 * highs[1])

    def enclose(self, wider: Wider, numbers: list[tuple[Fraction, Fraction]], signs: int) -> Interval:
        d = self.degrees
        logs = wider.minus_log(_ends(wider, numbers[0]))
        power = wider.growth(wider.times(logs, wider.ratio(Fraction(2, d))))
        one = wider.ratio(Fraction(1))
        low, high = wider.minus(power, one)
        radius = wider.root(wider.times((max(low, Decimal(0)), high), wider.ratio(Fraction(d))))
        return wider.times(radius, wider.quarter_sine(*numbers[1]))


class LaplaceLognormalNoise:
    """X e^(sigma Y), X Laplace and Y standard normal: sqrt(-2 ln W) times a cosine (Box and Muller)."""

    numbers: ClassVar[int] = 3

    def __init__(self, sigma: Fraction) -> None:
        self.sigma = sigma

    def floats(self, lows: list[Floats], highs: list[Floats], signs: NDArray[np.uint64]) -> tuple[Floats, Floats]:
        sigma = float(self.sigma)
        least = sigma * np.sqrt(-2.0 * np.log(highs[1])) * np.sin(np.pi / 2 * lows[2])
        most = sigma * np.sqrt(-2.0 * np.log(lows[1])) * np.sin(np.pi / 2 * highs[2])
        shrinks = (signs & np.uint64(SHRINKING)) != 0
        least, most = np.where(shrinks, -most, least), np.where(shrinks, -least, most)
        return -np.log(highs[0]) * np.exp(least), -np.log(lows[0]) * np.exp(most)

    def enclose(self, wider: Wider, numbers: list[tuple[Fraction, Fraction]], signs: int) -> Interval:
        logs = wider.minus_log(_ends(wider, numbers[1]))
        radius = wider.root(wider.times(logs, wider.ratio(Fraction(2))))
        normal = wider.times(radius, wider.quarter_sine(*numbers[2]))
        least, most = wider.times(normal, wider.ratio(self.sigma))
        exponent = (most.copy_negate(), least.copy_negate()) if signs & SHRINKING else (least, most)
        return wider.times(wider.minus_log(_ends(wider, numbers[0])), wider.growth(exponent))


class PolyPlaceNoise:
    """The law of beta |x| whose density falls as fast as pure epsilon allows with so smooth a scale; A = epsilon / beta.

    With t = 1 / A: in proportion to (1 - y)^(A - 1) up to t and to (1 + y)^-(A + 1) beyond.
    """

    numbers: ClassVar[int] = 1

    def __init__(self, exponent: int) -> None:
        self.exponent = exponent
        self.turn = Fraction(1, exponent)
        near = 1 - (1 - self.turn) ** exponent
        far = (1 - self.turn) ** (exponent - 1) * (1 + self.turn)
        self.total = near + far
        self.beyond = far / self.total  # chance of more than t

    def floats(self, lows: list[Floats], highs: list[Floats], signs: NDArray[np.uint64]) -> tuple[Floats, Floats]:
        found = []
        turn, total, beyond, root = float(self.turn), float(self.total), float(self.beyond), 1.0 / self.exponent
        for number in (highs[0], lows[0]):
            near = -np.expm1(root * np.log1p(-np.minimum((1.0 - number) * total, 0.999)))  # what exceeds it is not near
            far = (1.0 + turn) * (number / beyond) ** -root - 1.0
            found.append(np.where(number >= beyond, near, far))
        # differences of numbers near one: their error is absolute
        return found[0] - MARGIN * turn, found[1] + MARGIN * turn

    def enclose(self, wider: Wider, numbers: list[tuple[Fraction, Fraction]], signs: int) -> Interval:
        low, high = numbers[0]
        return max(self._at(wider, high)[0], Decimal(0)), self._at(wider, low)[1]

    def _at(self, wider: Wider, number: Fraction) -> Interval:
        one, root = wider.ratio(Fraction(1)), wider.ratio(Fraction(1, self.exponent))
        if number >= self.beyond:
            logs = wider.minus_log(wider.ratio(1 - (1 - number) * self.total))
            low, high = wider.times(logs, root)
            return wider.minus(one, wider.growth((high.copy_negate(), low.copy_negate())))
        logs = wider.minus_log(wider.ratio(number / self.beyond))
        return wider.minus(wider.times(wider.growth(wider.times(logs, root)), wider.ratio(1 + self.turn)), one)


def _ends(wider: Wider, number: tuple[Fraction, Fraction]) -> Interval:
    return wider.ratio(number[0])[0], wider.ratio(number[1])[1]


def draw_rounded(
    noise: Noise, centre: Fraction, scale: Fraction, top: int, words: Words, n_draws: int, *, exactly: bool = False
) -> NDArray[np.int64]:
    """The integers nearest to centre + scale * noise, within 0 .. top; a pure function of the words.

    With exactly=True doubles decide nothing; the answers are the same.
    """
    stride = noise.numbers + 1
    found = np.zeros(n_draws, np.int64)
    open_draws = np.arange(n_draws)
    if not exactly and scale < LARGEST_SCALE:
        block = words.words(0, n_draws * stride).reshape(n_draws, stride)
        found, is_open = _by_floats(noise, centre, scale, top, block)
        open_draws = np.flatnonzero(is_open)
    for draw in open_draws.tolist():
        found[draw] = _by_digits(noise, centre, scale, top, words, draw * stride)
    return found


def _by_floats(
    noise: Noise, centre: Fraction, scale: Fraction, top: int, block: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """What doubles decide, and which draws they leave open."""
    signs = block[:, 0]
    lows, highs = [], []
    for place in range(1, block.shape[1]):
        number = block[:, place].astype(np.float64)
        lows.append(np.ldexp(np.nextafter(number, 0.0), -64))
        highs.append(np.minimum(np.ldexp(np.nextafter(number + 1.0, np.inf), -64), 1.0))
    with np.errstate(all="ignore"):  # infinite where a number may be 0: left open, or beyond the bounds
        least, most = noise.floats(lows, highs, signs)
        width = float(scale)
        least = np.maximum(least * (1.0 - MARGIN), 0.0) * width
        most = most * (1.0 + MARGIN) * width
        is_negative = (signs & np.uint64(NEGATIVE)) != 0
        low, high = np.where(is_negative, -most, least), np.where(is_negative, -least, most)
        whole = math.floor(centre)
        part = float(centre - whole) + 0.5
        ends = [
            np.floor(np.clip(end + part + slack, -float(whole) - 1.0, float(top - whole) + 1.0))
            for end, slack in ((low, -LEAST_MARGIN), (high, LEAST_MARGIN))
        ]
        is_open = ~((ends[0] == ends[1]) & (np.abs(ends[0]) < 2.0**44))  # NaN is open, too
        index = np.where(is_open, 0.0, ends[0]).astype(np.int64)
        is_open |= np.abs(part + index) > 2.0**44
    return np.clip(index + whole, 0, top), is_open


def _by_digits(noise: Noise, centre: Fraction, scale: Fraction, top: int, words: Words, base: int) -> int:
    signs = int(words.words(base, 1)[0])
    tapes = [Tape(words, base + 1 + place) for place in range(noise.numbers)]
    sign = -1 if signs & NEGATIVE else 1
    digits, parts = FIRST_DIGITS, 0
    while True:
        numbers, bits = [], 0
        for tape in tapes:
            value, bits = tape.bits(parts)
            numbers.append((Fraction(value, 1 << bits), Fraction(value + 1, 1 << bits)))
        interval = noise.enclose(Wider(digits + 2 * bits // 3), numbers, signs)
        first, second = (_place(end, centre, scale * sign, top) for end in interval)
        if first == second:
            return first
        digits, parts = 2 * digits, 2 * parts + 1


def _place(magnitude: Any, centre: Fraction, scale: Fraction, top: int) -> int:
    if magnitude.is_infinite():
        return top if scale > 0 else 0
    return min(max(math.floor(centre + scale * Fraction(magnitude) + Fraction(1, 2)), 0), top)
