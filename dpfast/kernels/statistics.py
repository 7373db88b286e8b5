"""A statistic of the user's own for Duff: a function that says, distance by distance, which grid points are within reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpfast._numba import check_function, first_lines, need_numba
from dpfast._rounding import integer
from dpfast.duff.grid import Grid
from dpfast.duff.levels import Levels
from dpfast.errors import ArgumentError, ArgumentTypeError, DpfastError

__all__ = ["Statistic", "levels"]

_BLOCK: Final = 1 << 16  # distances between two looks at Ctrl-C
_WHAT: Final = "the function of distances"

Block = Callable[..., None]


def levels(function: Any = None, *, compiled: bool = True) -> Any:
    """Make a function of distances a statistic that Duff can answer.

    Parameters
    ----------
    function : function
        ``function(k, *data)`` returns two integers: the first and the last grid index that the statistic may take on data sets
        within k steps, or a superset of that which is as wide for every data set. An upper one below the lower one means: none.
    compiled : bool, default True
        Whether the function is compiled by numba; otherwise Python calls it for each distance: slow, and the same levels.

    Returns
    -------
    Statistic
        Call its `levels` with the data; `dpfast.duff.sample` draws from what it gives.

    Raises
    ------
    ArgumentTypeError, MissingPackageError

    Notes
    -----
    **Privacy guarantee.** That of `dpfast.duff.sample`, if the intervals B_k keep their promise: B_k(S) lies within B_{k+1}(S')
    for all neighbouring data sets S and S'. Then the distance min {k : x in B_k} has sensitivity 1. The promise is the caller's
    and is not checked. What is checked: that the intervals nest and that the function returns integers.

    Examples
    --------
    The range between two order statistics of sorted grid indices, replace_one. For neighbours y_(r-1) <= y'_r <= y_(r+1); so
    each bound below for S at k is passed by that for S' at k + 1.

    >>> import numpy as np
    >>> from dpfast import Stream, duff, kernels
    >>> @kernels.levels
    ... def spread(k, y, low, high, last):
    ...     n = y.size
    ...     least = (y[high - k] if high - k >= 0 else 0) - (y[low + k] if low + k < n else last)
    ...     most = (y[high + k] if high + k < n else last) - (y[low - k] if low - k >= 0 else 0)
    ...     return max(least, 0), most
    >>> grid = duff.Grid((0, 100), step=1)
    >>> y = np.sort(grid.snap(np.arange(1001) % 90))
    >>> found = spread.levels(y, 250, 750, grid.size - 1, grid=grid, most=y.size)
    >>> abs(duff.sample(found, epsilon=1.0, rng=Stream.insecure(1)) - 45) < 5
    True
    """
    if not isinstance(compiled, bool):
        raise ArgumentTypeError("compiled must be True or False")
    if function is None:
        return lambda function: Statistic(function, compiled=compiled)
    return Statistic(function, compiled=compiled)


class Statistic:
    """A statistic for Duff in the user's own words; made by `levels`.

    Attributes
    ----------
    function : callable
        As it was written.
    """

    def __init__(self, function: Callable[..., tuple[int, int]], *, compiled: bool = True) -> None:
        self.function = check_function(function, _WHAT)
        self._block = _compiled_block(self.function) if compiled else _python_block(self.function)
        self.__doc__ = function.__doc__ or type(self).__doc__

    def levels(self, *data: Any, grid: Grid, most: int) -> Levels:
        """Return the levels of a data set.

        Parameters
        ----------
        *data : arrays and numbers
            What the function takes besides the distance.
        grid : duff.Grid
            The public grid of answers.
        most : int
            The last distance asked for. Grid points beyond all intervals have distance most + 1: a cap, which keeps the
            sensitivity if it is public. The function is not asked beyond the distance that covers the grid.

        Returns
        -------
        Levels
            Private data.

        Raises
        ------
        ArgumentTypeError, ArgumentError
            Intervals that do not nest; a function that does not compile, raises, or returns something else than two integers.

        Notes
        -----
        **Cost.** One call of the function a distance, in compiled code, and some 20 bytes.
        """
        if not isinstance(grid, Grid):
            raise ArgumentTypeError("grid must be a dpfast.duff.Grid")
        most = integer(most, "most", minimum=0)
        distances, lowers, uppers = self._rings(data, grid.size - 1, most)
        return Levels(distances, lowers, uppers, step=grid.step, origin=grid.origin)

    def _rings(self, data: tuple[Any, ...], last: int, most: int) -> tuple[NDArray[np.int64], ...]:
        """The grid in pieces: what each interval adds to the one before, to the left and to the right of it."""
        parts: list[tuple[NDArray[np.int64], ...]] = []
        inner: tuple[int, int] | None = None  # the interval reached so far
        for first in range(0, most + 1, _BLOCK):
            bounds = np.zeros((2, min(_BLOCK, most + 1 - first)), np.int64)
            self._run(first, bounds, data)
            lowers, uppers = np.clip(bounds[0], 0, last + 1), np.clip(bounds[1], -1, last)
            there = lowers <= uppers
            start = 0 if inner is not None else int(there.argmax()) if there.any() else there.size
            lowers, uppers, distances = lowers[start:], uppers[start:], first + start + np.arange(there.size - start)
            if not distances.size:
                continue
            if inner is None:
                # the first interval is whole: to the left of its last point nothing was before
                parts.append((distances[:1], lowers[:1], uppers[:1]))
                inner = int(lowers[0]), int(uppers[0])
            before_low = np.append(inner[0], lowers[:-1])
            before_high = np.append(inner[1], uppers[:-1])
            if (lowers > before_low).any() or (uppers < before_high).any():
                raise ArgumentError("the intervals do not nest: each must hold the one before it")
            parts += [(distances, lowers, before_low - 1), (distances, before_high + 1, uppers)]
            inner = int(lowers[-1]), int(uppers[-1])
            if inner == (0, last):
                break
        beyond = [(0, last)] if inner is None else [(0, inner[0] - 1), (inner[1] + 1, last)]
        parts += [(np.array([most + 1]), np.array([low]), np.array([high])) for low, high in beyond]
        whole = [np.concatenate(column) for column in zip(*parts, strict=True)]
        some = whole[1] <= whole[2]
        return tuple(column[some] for column in whole)

    def _run(self, first: int, bounds: NDArray[np.int64], data: tuple[Any, ...]) -> None:
        try:
            self._block(first, bounds, *data)
        except DpfastError:
            raise
        except Exception as error:  # its text may hold private data, and so no cause is shown
            raise ArgumentError(f"{_WHAT} raised {type(error).__name__}; nothing was drawn") from None

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def __repr__(self) -> str:
        return f"Statistic({self.function.__name__})"


def _python_block(function: Callable[..., Any]) -> Block:
    def block(first: int, bounds: NDArray[np.int64], *data: Any) -> None:
        for place in range(bounds.shape[1]):
            pair = function(first + place, *data)
            if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(bound, int | np.integer) for bound in pair):
                raise ArgumentTypeError(f"{_WHAT} must return two integers, the first and the last grid index")
            bounds[:, place] = pair

    return block


def _compiled_block(function: Callable[..., Any]) -> Block:
    numba = need_numba("dpfast.kernels.levels")
    one = numba.njit(nogil=True)(function)

    @numba.njit(nogil=True)  # type: ignore[untyped-decorator]
    def loop(first: int, bounds: NDArray[np.int64], *data: Any) -> None:
        for place in range(bounds.shape[1]):
            lower, upper = one(first + place, *data)
            bounds[0, place], bounds[1, place] = lower, upper

    settled: set[Any] = set()  # types of data whose return type was looked at

    def settle(types: tuple[Any, ...]) -> None:
        one.compile(types)
        returned = one.overloads[types].signature.return_type
        kinds = tuple(returned) if isinstance(returned, numba.types.BaseTuple) else ()
        if len(kinds) != 2 or not all(isinstance(kind, numba.types.Integer) for kind in kinds):
            raise ArgumentTypeError(f"{_WHAT} must return two integers, the first and the last grid index")
        settled.add(types)

    def block(first: int, bounds: NDArray[np.int64], *data: Any) -> None:
        try:
            types = (numba.int64, *map(numba.typeof, data))
            if types not in settled:
                settle(types)
            loop(first, bounds, *data)
        except numba.core.errors.NumbaError as error:
            raise ArgumentError(f"{_WHAT} does not compile: {first_lines(error)}") from error

    return block
