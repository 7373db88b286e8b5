"""Levels: how far each interval of the public grid is from being the answer, in datasets' steps."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._rounding import integer
from dpfast.duff.grid import MOST_POINTS, grid_values, step_numbers
from dpfast.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Levels", "check_levels"]

_INT64_MAX: Final = (1 << 63) - 1


class Levels:
    """Integer distances and the grid intervals that carry them: what Duff needs to know of a statistic and a data set.

    Parameters
    ----------
    distance : array of int64, shape (n,)
        How many persons must come or go before the statistic takes the values of the entry; at least 0. It must have
        sensitivity 1: between neighbouring data sets, no grid point's distance changes by more than one.
    lower, upper : array of int64, shape (n,)
        First and last grid index of each entry, inclusive. Entries must not overlap; they may come in any order. Their union
        must be the same for all data sets.
    step : int, float, Fraction or Decimal
        Width of the grid. A float is read as the shortest decimal that denotes it, a power of two exactly.
    origin : int, default 0
        The value of index i is (origin + i) * step.

    Attributes
    ----------
    distance, lower, upper : ndarray of int64
        In ascending order of grid indices, read-only.
    measure : ndarray of int64
        Grid points of each entry; at most 2**62 together.
    step : int, float or Fraction
    origin : int

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Notes
    -----
    Levels are private data: they say everything about the data that a draw hides. ``repr`` shows shapes only; do not release,
    print or log their arrays.

    Examples
    --------
    >>> levels = Levels([1, 0, 1], [0, 4, 5], [3, 4, 9], step=0.5)
    >>> levels
    <dpfast.duff.Levels of 3 entries, step 0.5>
    >>> levels.measure.tolist()
    [4, 1, 5]
    """

    __slots__ = ("distance", "lower", "measure", "origin", "ratio", "step", "upper")

    distance: NDArray[np.int64]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    measure: NDArray[np.int64]
    step: int | float | Fraction
    ratio: Fraction
    origin: int

    def __init__(self, distance: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, step: Any, origin: int = 0) -> None:
        self.step, self.ratio = step_numbers(step)
        self.origin = integer(origin, "origin", minimum=-(1 << 4096))
        distances, lowers, uppers = (
            _integers(values, name) for values, name in ((distance, "distance"), (lower, "lower"), (upper, "upper"))
        )
        if not distances.shape == lowers.shape == uppers.shape:
            raise ArgumentError("distance, lower and upper must have the same length")
        if not distances.size:
            raise ArgumentError("levels need at least one entry")
        if (distances < 0).any():
            raise ArgumentError("a distance is negative")
        if (lowers > uppers).any():
            raise ArgumentError("the lower index of an entry is above its upper one; leave entries without grid points out")
        if (lowers[1:] <= lowers[:-1]).any():
            order = np.argsort(lowers, kind="stable")
            distances, lowers, uppers = distances[order], lowers[order], uppers[order]
        if (lowers[1:] <= uppers[:-1]).any():
            raise ArgumentError("entries overlap; each grid point belongs to one entry")
        # Disjoint intervals of int64 hold at most 2^64 points: one of 2^63 or more shows as negative, and without any
        # a sum over halves does not wrap.
        measures = uppers - lowers
        if (measures < 0).any() or (measures == _INT64_MAX).any():
            raise ArgumentError("levels hold more than 2**62 grid points")
        measures += 1
        if int((measures >> 1).sum(dtype=np.uint64)) * 2 + int((measures & 1).sum()) > MOST_POINTS:
            raise ArgumentError("levels hold more than 2**62 grid points")
        try:
            self.value(int(lowers[0])), self.value(int(uppers[-1]))
        except OverflowError:
            raise ArgumentError("the grid reaches beyond the largest double; step or origin is too large") from None
        self.distance, self.lower, self.upper, self.measure = distances, lowers, uppers, measures
        for array in (distances, lowers, uppers, measures):
            array.flags.writeable = False

    def __len__(self) -> int:
        return self.distance.size

    def value(self, index: int) -> int | float:
        """The value of a grid index: an int for an int step, else the nearest double."""
        number = self.origin + integer(index, "index", minimum=-(1 << 63))
        if isinstance(self.step, int):
            return number * self.step
        return number * self.ratio.numerator / self.ratio.denominator

    def values(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """The values of many grid indices."""
        return grid_values(indices, self.origin, self.step, self.ratio)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Levels, step=self.step, origin=self.origin), (self.distance, self.lower, self.upper)

    def __repr__(self) -> str:
        return f"<dpfast.duff.Levels of {self.distance.size} entries, step {self.step}>"


def check_levels(levels: Any) -> None:
    """Refuse what is no `Levels`."""
    if not isinstance(levels, Levels):
        raise ArgumentTypeError(f"levels must be dpfast.duff.Levels, not {type(levels).__name__}")


def _integers(values: Any, name: str) -> NDArray[np.int64]:
    """A copy of our own as int64; what does not fit is refused."""
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise ArgumentTypeError(f"{name} must hold integers")
    if array.ndim != 1:
        raise ArgumentError(f"{name} must be one-dimensional")
    if array.dtype.kind == "u" and array.size and int(array.max()) > _INT64_MAX:
        raise ArgumentError(f"{name} must hold integers below 2**63")
    return array.astype(np.int64)
