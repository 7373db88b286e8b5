"""The public grid on which numeric answers lie: the multiples of a step inside the bounds, and data snapped to it exactly.

A step is read as an exact rational: an int, Fraction or Decimal as it is, a float that is a power of two as it is, and any other
float as the shortest decimal that denotes it, so that 0.1 is one tenth. Values and bounds are what their bits say. A value
belongs to the nearest grid point inside the bounds, halves up, decided without rounding.
"""

from __future__ import annotations

import datetime
import decimal
import math
import numbers
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._rounding import integer
from dpfast.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["MOST_POINTS", "Grid", "exact_number", "exact_step", "grid_values", "step_numbers", "type_of_bounds"]

MOST_POINTS: Final = 1 << 62
DEFAULT_CELLS: Final = 1 << 20  # a step that is left out is at most this part of the bounds
_EXACT_FLOAT: Final = 1 << 53
_NO_TIME: Final = -(1 << 63)  # what numpy takes for NaT


def exact_number(value: Any, name: str) -> Fraction:
    """A finite real number without loss; everything else is refused by name."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real | decimal.Decimal):
        raise ArgumentTypeError(f"{name} must be a real number, not {type(value).__name__}")
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    number: Any = value
    try:
        top, bottom = number.as_integer_ratio()
    except (OverflowError, ValueError):
        raise ArgumentError(f"{name} must be a finite number") from None
    except AttributeError:
        raise ArgumentTypeError(f"{name} must be a number that converts to a ratio of integers") from None
    return Fraction(int(top), int(bottom))


def exact_step(step: Any) -> Fraction:
    """A step as the rational it stands for; see the head of this module."""
    number = exact_number(step, "step")
    if number <= 0:
        raise ArgumentError("step must be positive")
    if isinstance(step, (float, np.floating)) and number.numerator & (number.numerator - 1):  # no power of two
        return Fraction(np.format_float_scientific(step, unique=True))
    return number


def step_numbers(step: Any) -> tuple[int | float | Fraction, Fraction]:
    """What `Levels.step` shows, and the exact step: an int, the float as it was given, or a Fraction."""
    ratio = exact_step(step)
    if isinstance(step, numbers.Integral):
        return int(step), ratio
    if isinstance(step, (float, np.floating)):
        return float(step), ratio
    return ratio, ratio


def check_pair(bounds: Any) -> None:
    """Refuse bounds that are no pair."""
    if not isinstance(bounds, (tuple, list, np.ndarray)) or len(bounds) != 2:
        raise ArgumentTypeError("bounds must be a pair (lower, upper) of public numbers; they are never taken from the data")


def type_of_bounds(bounds: Any) -> np.dtype[Any]:
    """The type of values that declare none, as lists do: the bounds are public, what the values happen to be is not."""
    pair = bounds if isinstance(bounds, (tuple, list, np.ndarray)) else ()
    kinds = [bound.dtype if isinstance(bound, np.generic) else _TIMES.get(type(bound)) for bound in pair]
    times = [kind for kind in kinds if kind is not None and kind.kind in "Mm"]
    if times:
        return np.dtype(max(times)) if len({kind.kind for kind in times}) == 1 else times[0]
    integral = all(isinstance(bound, numbers.Integral) for bound in pair)
    return np.dtype(np.int64 if integral else np.float64)


_TIMES: Final = {
    datetime.date: np.dtype("M8[D]"),
    datetime.datetime: np.dtype("M8[us]"),
    datetime.timedelta: np.dtype("m8[us]"),
}


def grid_values(indices: NDArray[np.int64], origin: int, step: int | float | Fraction, ratio: Fraction) -> NDArray[Any]:
    """The values (origin + i) * step: int64 for an int step (object beyond), else the nearest doubles."""
    if not indices.size:
        return np.empty(indices.shape, np.int64 if isinstance(step, int) else np.float64)
    p, q = ratio.numerator, ratio.denominator
    top = max(1, *(abs(origin + int(bound)) for bound in (indices.min(), indices.max())))
    if isinstance(step, int):
        if top * p < 1 << 63:
            return (
                (indices + origin) * p if -(1 << 63) <= origin < 1 << 63 else _apart(indices, origin, lambda n: n * p, np.int64)
            )
        return _apart(indices, origin, lambda n: n * p, object)
    if top * p <= _EXACT_FLOAT and q <= _EXACT_FLOAT:
        return ((indices + origin) * p).astype(np.float64) / float(q)  # one rounding
    nearest = _nearest_double(ratio)
    if top <= _EXACT_FLOAT and nearest == ratio and math.frexp(nearest)[0] == 0.5:
        return (indices + origin).astype(np.float64) * nearest
    return _apart(indices, origin, lambda n: n * p / q, np.float64)


def _apart(indices: NDArray[np.int64], origin: int, value: Any, dtype: Any) -> NDArray[Any]:
    """One at a time, in Python's integers."""
    values = np.empty(indices.size, dtype)
    for place, index in enumerate(indices.ravel().tolist()):
        values[place] = value(origin + index)
    return values.reshape(indices.shape)


class Grid:
    """The points {i * step} inside the bounds, numbered from 0.

    Parameters
    ----------
    bounds : (lower, upper)
        Finite real numbers, or dates and times for values of such a type; lower < upper.
    step : int, float, Fraction, Decimal or timedelta, optional
        Read exactly. Default: 1 for integers, booleans, dates and times (in their unit), else the largest power of two that is
        at most (upper - lower) / 2**20.
    dtype : dtype of the values, optional
        Decides the default step and the unit of dates and times.

    Attributes
    ----------
    step : int, float or Fraction
        As it was given.
    ratio : Fraction
        The step, exactly.
    origin : int
        ceil(lower / step): value of index i = (origin + i) * step.
    size : int
        Number of points, from 1 to 2**62.
    dtype : dtype or None
        The dtype of dates and times that index and unit belong to.

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Examples
    --------
    >>> grid = Grid((0.0, 1.0), step=0.25)
    >>> grid.origin, grid.size, grid.value(3)
    (0, 5, 0.75)
    """

    __slots__ = ("dtype", "origin", "ratio", "size", "step")

    def __init__(self, bounds: Any, *, step: Any = None, dtype: Any = None) -> None:
        check_pair(bounds)
        kind = None if dtype is None else np.dtype(dtype)
        self.dtype = kind if kind is not None and kind.kind in "Mm" else None
        lower, upper = (self._number(bound, name) for bound, name in zip(bounds, ("lower bound", "upper bound"), strict=True))
        if not lower < upper:
            raise ArgumentError("the lower bound must be below the upper bound")
        if step is None:
            step = _default_step(upper - lower, kind)
        elif self.dtype is not None and isinstance(step, (np.timedelta64, datetime.timedelta)):
            step = int(self._number(step, "step", duration=True))
        self.step, self.ratio = step_numbers(step)
        if not isinstance(self.step, int) and max(abs(lower), abs(upper)) > sys.float_info.max:
            raise ArgumentError("bounds beyond the range of doubles need a step that is an int")
        self.origin = math.ceil(lower / self.ratio)
        self.size = math.floor(upper / self.ratio) - self.origin + 1
        if self.size < 1:
            raise ArgumentError("no multiple of step lies inside the bounds; take a smaller step")
        if self.size > MOST_POINTS:
            raise ArgumentError("more than 2**62 multiples of step lie inside the bounds; take a larger step or closer bounds")

    def _number(self, bound: Any, name: str, *, duration: bool = False) -> Fraction:
        """A bound as a number of units."""
        if self.dtype is None:
            if isinstance(bound, (np.datetime64, np.timedelta64, datetime.date, datetime.timedelta)):
                raise ArgumentTypeError(f"{name} is a date or a duration and the values are not")
            return exact_number(bound, name)
        kind = "m" if duration else self.dtype.kind
        wanted = (np.datetime64, datetime.date) if kind == "M" else (np.timedelta64, datetime.timedelta)
        if isinstance(bound, numbers.Integral) and not isinstance(bound, (bool, np.timedelta64)):
            if not _NO_TIME < int(bound) < 1 << 63:
                raise ArgumentError(f"{name} is beyond the dates and times of numpy, which have 64 bits")
            return Fraction(int(bound))
        if not isinstance(bound, wanted):
            raise ArgumentTypeError(f"{name} must be of the kind of the values, or an integer in their unit")
        if isinstance(bound, datetime.datetime) and bound.tzinfo is not None:
            bound = bound.astimezone(datetime.UTC).replace(tzinfo=None)
        unit, count = np.datetime_data(self.dtype)
        number: Any = np.datetime64(bound) if kind == "M" else np.timedelta64(bound)
        target = np.dtype(f"{kind}8[{count}{unit}]")
        converted = number.astype(target)
        if np.isnat(number) or converted.astype(number.dtype) != number:
            raise ArgumentError(f"{name} must be a whole number of the unit of the values")
        return Fraction(int(converted.astype(np.int64)))

    def value(self, index: int) -> Any:
        """The value of a point: int for an int step, else the nearest double; a date or duration of numpy for such values."""
        number = self.origin + integer(index, "index", minimum=-(1 << 63))
        if self.dtype is not None:
            return np.array(math.floor(number * self.ratio), np.int64).view(self.dtype)[()]
        if isinstance(self.step, int):
            return number * self.step
        return number * self.ratio.numerator / self.ratio.denominator

    def index_of(self, value: Any) -> int:
        """The number of the point nearest to one value, as of a bound."""
        number = self._number(value, "a value that stands for others") / self.ratio + Fraction(1, 2)
        return min(max(math.floor(number) - self.origin, 0), self.size - 1)

    def values(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """The values of many points."""
        if self.dtype is None:
            return grid_values(indices, self.origin, self.step, self.ratio)
        p, q = self.ratio.numerator, self.ratio.denominator
        units = (
            grid_values(indices, self.origin, p, self.ratio)
            if q == 1
            else _apart(indices, self.origin, lambda n: n * p // q, np.int64)
        )
        return units.view(self.dtype)

    def snap(self, values: ArrayLike) -> NDArray[np.int64]:
        """The number of the point nearest to each value, halves up, within the bounds. NaN and NaT are the caller's matter."""
        values = np.asarray(values)
        kind = values.dtype.kind
        if kind in "Mm":
            if self.dtype is None or values.dtype != self.dtype:
                raise ArgumentTypeError("dates and times must have the type that the grid was made for")
            values = np.ascontiguousarray(values).view(np.int64)
        elif kind == "O":
            return np.fromiter(map(self._of_number, values.tolist()), np.int64, values.size)
        elif kind == "b":
            values = values.view(np.uint8)
        elif kind not in "iuf" or values.dtype.itemsize > 8:
            raise ArgumentTypeError("values must be integers, booleans, dates, or floats of at most 64 bits")
        if values.size == 0:
            return np.zeros(values.shape, np.int64)
        if values.dtype.kind == "f":
            return self._of_floats(values.astype(np.float64, copy=False))
        return self._of_integers(values.astype(np.uint64 if values.dtype.kind == "u" else np.int64, copy=False))

    def _of_integers(self, values: NDArray[Any]) -> NDArray[np.int64]:
        p, q = self.ratio.numerator, self.ratio.denominator
        least, most = (int(getattr(np.iinfo(values.dtype), end)) for end in ("min", "max"))
        if p > most or (p > 1 and q > 1):
            return self._by_unique(values)
        # Every point is a number of the values' type or lies to one side of all of them; the difference to the origin is
        # below 2^62, so arithmetic modulo 2^64 gives it.
        first, last = self.origin, self.origin + self.size - 1
        if q > 1:
            low, high = -(-first // q), last // q
            below, above = _outside(values, low, high, least, most)
            number = values.astype(np.uint64) * np.uint64(q % (1 << 64))
        else:
            number = values
            if p > 1:
                number = values // p
                number += values - number * values.dtype.type(p) >= (p + 1) // 2
            below, above = _outside(number, first, last, least, most)
            number = number.astype(np.uint64)
        index = (number - np.uint64(first % (1 << 64))).view(np.int64)
        index[below] = 0
        index[above] = self.size - 1
        return index

    def _of_floats(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        first, last = self.origin, self.origin + self.size - 1
        step = _nearest_double(self.ratio)
        mantissa, exponent = math.frexp(step) if 0 < step < math.inf else (0.0, 0)
        dyadic = mantissa == 0.5 and Fraction(step) == self.ratio
        if max(abs(first), abs(last)) > MOST_POINTS or mantissa == 0.0:
            return self._by_unique(values)
        with np.errstate(over="ignore", under="ignore"):
            place = np.ldexp(values, 1 - exponent) if dyadic else values / step
        np.clip(place, math.nextafter(float(first), -math.inf) - 1, math.nextafter(float(last), math.inf) + 1, out=place)
        floor = np.floor(place)
        part = place - floor  # exact from 1/2 up and below zero's neighbourhood, where it only rounds towards 1
        index = (floor + (part >= 0.5)).astype(np.int64)
        if not dyadic:
            # two roundings of half a unit each: what is nearer to a half than 2^-50 of itself is settled exactly
            unsure = np.abs(part - 0.5) <= np.abs(place) * 2.0**-50 + 2.0**-60
            unsure |= np.abs(place) >= 2.0**48
            if unsure.any():
                index[unsure] = self._by_unique(values[unsure]) + first
        return np.asarray(np.clip(index, first, last) - first, np.int64)

    def _by_unique(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """In Python's integers, once for each different value."""
        different, places = np.unique(values, return_inverse=True)
        indices = np.fromiter(map(self._of_number, different.tolist()), np.int64, different.size)
        return indices[places].reshape(values.shape)

    def _of_number(self, value: Any) -> int:
        """One of Python's numbers."""
        if value in (math.inf, -math.inf):
            return self.size - 1 if value > 0 else 0
        top, bottom = value.as_integer_ratio()
        p, q = self.ratio.numerator, self.ratio.denominator
        index = (2 * top * q + bottom * p) // (2 * bottom * p) - self.origin
        return int(min(max(index, 0), self.size - 1))

    def __repr__(self) -> str:
        return f"<dpfast.duff.Grid of {self.size} points, step {self.step}>"


def _nearest_double(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _default_step(width: Fraction, kind: np.dtype[Any] | None) -> int | float:
    if kind is not None and kind.kind in "iubMm":
        return 1
    most = width / DEFAULT_CELLS
    exponent = most.numerator.bit_length() - most.denominator.bit_length()
    if most < Fraction(2) ** exponent:
        exponent -= 1
    if exponent < -1074:
        raise ArgumentError("the bounds are too close together for a step to be chosen; give step=")
    return math.ldexp(1.0, exponent)


def _outside(values: NDArray[Any], low: int, high: int, least: int, most: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Where values lie below `low` and above `high`, which may lie outside the type."""
    below = np.zeros(values.shape, np.bool_) if low <= least else np.ones(values.shape, np.bool_) if low > most else values < low
    above = (
        np.zeros(values.shape, np.bool_) if high >= most else np.ones(values.shape, np.bool_) if high < least else values > high
    )
    return below, above
