"""The part of the sorted data that a quantile can see, found without a sort.

Precondition: values, a grid, and which places of the sorted numbers are wanted, as a function of how many numbers there are.
Postcondition: every different grid index between two known places, with how many values lie up to it: a `Window`.

Method. A sample proposes two grid cells around the wanted places. One pass over the data counts what lies below the first cell,
in it, up to the last cell, and keeps what lies strictly between; comparisons are of the values as they are with the limits of
the cells, as snapping is monotone. Ties stay uncounted copies: a cell at the end of a window is a number, however many values
it has. What is kept is narrowed again in the same way until it is small. Where the sample misled, the pass is repeated with wider
margins, at last with none, so no order of the data keeps it from ending; where the sample looks decides time and nothing else.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from dpfast._core import quantile as core
from dpfast._threads import run_rows
from dpfast.duff._chunks import PIECE_ROWS, Memory

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from typing import TypeAlias

    from numpy.typing import NDArray

    from dpfast.duff._chunks import Column
    from dpfast.duff.grid import Grid

    Places: TypeAlias = Callable[[int], tuple[int, int]]

__all__ = ["Cells", "GridCells", "PlainCells", "Window", "all_values", "count_at", "find_window"]

SMALL: Final = 1 << 15  # values that are simply sorted
SAMPLE: Final = 1 << 17  # at most so many places are looked at before a pass, in runs that share a line of the cache
SPARSE: Final = 8  # one of 2^8 rows
RUN: Final = 8
POINTS_MAX: Final = 1 << 62
JOINED: Final = 1 << 22  # what is kept is put together up to this size
MARGINS: Final = (5.0, 25.0, 125.0)  # in standard deviations of a rank in the sample; then none


class Cells(Protocol):
    """Grid cells of values of a machine type, from `least` to `most`, in which its least and its largest value lie."""

    least: int
    most: int

    def snap(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Grid indices of values."""

    def upto(self, index: int) -> Any:
        """The largest value that lies in cell `index`, between `least` and `most`, or below it."""


class Window(NamedTuple):
    """Different grid indices in ascending order, values up to each, values below the first, all values. Private."""

    points: NDArray[np.int64]
    upto: NDArray[np.uint64]
    below: int
    n: int


class GridCells:
    """The cells of a `Grid` for values of a machine type."""

    def __init__(self, grid: Grid, dtype: np.dtype[Any]) -> None:
        self._grid = grid
        self._dtype = dtype
        ends = (-math.inf, math.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        self._largest = dtype.type(ends[1])
        self.least, self.most = self.snap(np.array(ends, dtype)).tolist()

    def snap(self, values: NDArray[Any]) -> NDArray[np.int64]:
        if self._grid.dtype is not None:
            return self._grid.snap(values.astype(np.int64, copy=False).view(self._grid.dtype))
        return self._grid.snap(values)

    def upto(self, index: int) -> Any:
        """Halves belong to the cell above, so the largest value lies below the middle between two points."""
        if index >= self.most:
            return self._largest
        middle = Fraction(2 * (self._grid.origin + index) + 1, 2) * self._grid.ratio
        return float_under(middle, self._dtype) if self._dtype.kind == "f" else self._dtype.type(math.ceil(middle) - 1)


class PlainCells:
    """Values that are grid indices already."""

    def __init__(self, size: int, dtype: np.dtype[Any]) -> None:
        self._type = dtype.type
        self.least, self.most = 0, size - 1

    def snap(self, values: NDArray[Any]) -> NDArray[np.int64]:
        return values.astype(np.int64)

    def upto(self, index: int) -> Any:
        return self._type(index)


def float_under(middle: Fraction, dtype: np.dtype[Any]) -> Any:
    """The largest float of the type below a number."""
    with np.errstate(over="ignore", under="ignore"):
        nearest = dtype.type(_nearest(middle))
        while not _is_under(nearest, middle):
            nearest = np.nextafter(nearest, dtype.type(-math.inf))
        while _is_under(after := np.nextafter(nearest, dtype.type(math.inf)), middle):
            nearest = after
    return nearest


def _nearest(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _is_under(value: Any, middle: Fraction) -> bool:
    return bool(value < 0) if np.isinf(value) else Fraction(float(value)) < middle


class _Counts(NamedTuple):
    """What a pass from a low to a high cell found: values below the low cell, up to its end, and up to the end of the high one;
    numbers, and rows; and the values strictly between the two cells."""

    below: int
    upto_low: int
    upto_high: int
    numbers: int
    rows: int
    between: Memory


def _pass(column: Column, cells: Cells, low: int, high: int, threads: int | None) -> _Counts:
    """One pass; `low` and `high` are cells from `least` to `most`."""
    kind = core.SCAN_TYPES.index(column.dtype.str[1:])
    ends = [cells.upto(max(low - 1, cells.least)), cells.upto(low), cells.upto(max(high - 1, cells.least)), cells.upto(high)]
    limits = np.array(ends, column.dtype).view(np.uint8)
    results: list[tuple[NDArray[np.uint64], list[NDArray[Any]]]] = []

    def work(memory: Memory, start: int, stop: int, cancelled: threading.Event) -> None:
        room = np.empty(min(PIECE_ROWS, stop - start), column.dtype)
        sums, found = np.zeros(core.SCAN_COUNTS, np.uint64), []
        for piece in memory.pieces(start, stop):
            if cancelled.is_set():
                return
            counts = np.zeros(core.SCAN_COUNTS, np.uint64)
            core.scan(kind, piece.view(np.uint8), limits, room.view(np.uint8), counts)
            if counts[-1]:
                found.append(room[: int(counts[-1])].copy())
            sums += counts
        results.append((sums, found))  # one step, whichever thread takes it

    rows = 0
    for memory in column.memories():
        run_rows(partial(work, memory), memory.rows, threads)
        rows += memory.rows
    totals = sum((sums for sums, _ in results), np.zeros(core.SCAN_COUNTS, np.uint64)).tolist()
    kept = [values for _, found in results for values in found]
    if sum(values.size for values in kept) <= JOINED:
        kept = [np.concatenate([np.empty(0, column.dtype), *kept])]
    # below the least cell there is nothing, though a limit has to be some value
    below = totals[0] if low > cells.least else 0
    return _Counts(below, totals[1], totals[2], totals[3], rows, Memory(kept, np.empty(0, column.dtype)))


def count_at(
    column: Column, cells: Cells, index: int, missing: int | None = None, threads: int | None = None
) -> tuple[int, int, int]:
    """How many values lie below a grid index, on it, and altogether: one pass. Rows without a number count as index `missing`."""
    inside = min(max(index, cells.least), cells.most)
    found = _pass(column, cells, inside, inside, threads)
    less, equal, n = found.below, found.upto_low - found.below, found.numbers
    if index != inside:
        less, equal = (0, 0) if index < inside else (n, 0)
    if missing is not None:
        others = found.rows - found.numbers
        less += others * (missing < index)
        equal += others * (missing == index)
        n += others
    return less, equal, n


def all_values(column: Column, cells: Cells, missing: int | None = None) -> Window:
    """Every different grid index: all the data, sorted."""
    points, counts, rows = _sorted_values(column, cells)
    if missing is not None:
        points, counts = _merged([points, np.array([missing])], [counts, np.array([rows - int(counts.sum())])])
        points, counts = points[counts > 0], counts[counts > 0]
    return Window(points, np.cumsum(counts).astype(np.uint64), 0, int(counts.sum()))


def _sorted_values(column: Column, cells: Cells) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Every different grid index, in ascending order, how many values it has, and the number of rows."""
    points, counts, rows = [], [], 0
    for memory in column.memories():
        rows += memory.rows
        for piece in memory.numbers():
            some, of_some = _distinct(cells.snap(piece))
            points.append(some)
            counts.append(of_some)
    return *_merged(points, counts), rows


def _distinct(indices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    points, counts = np.unique(indices, return_counts=True)
    return points, counts.astype(np.int64, copy=False)


def _merged(points: list[NDArray[np.int64]], counts: list[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if len(points) == 1:
        return points[0], counts[0]
    every = np.concatenate([*points, np.empty(0, np.int64)])
    order = np.argsort(every, kind="stable")
    every = every[order]
    if not every.size:
        return every, every
    first = np.flatnonzero(np.concatenate([[True], every[1:] != every[:-1]]))
    return every[first], np.add.reduceat(np.concatenate(counts)[order], first)


class _Search:
    """What is known while a window is looked for: values below it, its ends, and the column of what lies between them."""

    def __init__(self, column: Column, cells: Cells, missing: int | None) -> None:
        self.column = column
        self.cells = cells
        self.missing = missing
        self.others = 0  # rows without a number, where they count
        self.left: list[tuple[int, int]] = []  # cells and counts, inwards
        self.right: list[tuple[int, int]] = []
        self.below = 0  # numbers below the left end
        self.start, self.end = 0, POINTS_MAX  # cells between which all values are known
        self.n: int | None = None

    @property
    def low(self) -> int:
        return self.left[-1][0] + 1 if self.left else self.cells.least

    @property
    def high(self) -> int:
        return self.right[-1][0] - 1 if self.right else self.cells.most

    def others_from(self, low: int, high: int) -> int:
        """Rows without a number, if they count in the cells low .. high."""
        return self.others if self.missing is not None and low <= self.missing <= high else 0

    def before(self) -> int:
        """Values that sort before the column."""
        return self.below + sum(count for _, count in self.left) + self.others_from(0, self.low - 1)

    def propose(self, places: Places, margin: float) -> tuple[int, int, bool]:
        """Cells for the next pass, and whether they are worth one."""
        rows = self.column.rows if isinstance(self.column, Memory) else SAMPLE << SPARSE
        sample, looked, rows = self.column.sample(min(SAMPLE, max(rows >> SPARSE, SAMPLE >> 4)), RUN)
        seen = self.cells.snap(sample[sample == sample])
        numbers = round(rows * seen.size / max(looked, 1))  # an estimate before the first pass: there may be nulls and NaN
        if self.n is None and self.missing is not None:
            self.others = rows - numbers
        inside = self.others_from(self.low, self.high)
        if inside:
            copies = round(inside * seen.size / max(numbers, 1)) if numbers else 1
            seen = np.append(seen, np.full(min(copies, 64 * SAMPLE), self.missing))
        seen.sort()
        first, last = places(numbers + self.others if self.n is None else self.n)
        total, m = max(numbers + inside, 1), seen.size
        low, high = (min(max(place - self.before(), 0) / total, 1.0) for place in (first, last))
        low_place = math.floor(m * low - margin * (math.sqrt(m * low * (1 - low)) + 1))
        high_place = math.ceil(m * high + margin * (math.sqrt(m * high * (1 - high)) + 1))
        low_cell = max(int(seen[low_place]), self.low) if low_place > 0 else self.low
        high_cell = min(int(seen[high_place]), self.high) if high_place < m else self.high
        low_cell = min(low_cell, self.high)
        return low_cell, max(high_cell, low_cell), high_place - low_place < m // 2

    def accept(self, low: int, high: int, found: _Counts, places: Places) -> bool:
        """Take over what a pass found, if it holds the wanted places."""
        if self.n is None:
            self.others = found.rows - found.numbers if self.missing is not None else 0
            self.n = found.numbers + self.others
        first, last = places(self.n)
        above = found.numbers - found.upto_high
        left_fits = not found.below or self.before() + found.below + self.others_from(self.low, low - 1) <= first
        right_fits = not above or self.before() + found.upto_high + self.others_from(self.low, high) >= last
        if not (left_fits and right_fits):
            return False
        if found.below:
            self.below += found.below + sum(count for _, count in self.left)
            self.left, self.start = [], low
        if above:
            self.right, self.end = [], high
        self.left.append((low, found.upto_low - found.below))
        if high > low:
            self.right.append((high, found.upto_high - found.upto_low - found.between.rows))
        self.column = found.between
        return True

    def window(self) -> Window:
        """The end: what is left is sorted."""
        if self.n is None:
            return all_values(self.column, self.cells, self.missing)
        points, counts, _ = _sorted_values(self.column, self.cells)
        known = [(cell, count) for cell, count in (*self.left, *self.right) if count]
        below = self.below
        if self.missing is not None and self.others and self.missing < self.start:
            below += self.others
        elif self.missing is not None and self.others and self.missing <= self.end:
            known.append((self.missing, self.others))
        ends = np.array(known, np.int64).reshape(-1, 2)
        points, counts = _merged([points, ends[:, 0]], [counts, ends[:, 1]])
        return Window(points, (np.cumsum(counts) + below).astype(np.uint64), below, self.n)


def find_window(column: Column, cells: Cells, places: Places, missing: int | None = None, threads: int | None = None) -> Window:
    """Return a window that holds the wanted places.

    Parameters
    ----------
    column : Column
        The values; NaN is none.
    cells : Cells
        The grid, for their type.
    places : callable
        From the number of values to the first wanted place of their sorted order and the one after the last.
    missing : int, optional
        The grid index as which rows without a number count.
    threads : int, optional

    Returns
    -------
    Window
        Complete from its first to its last point; what lies outside are values of places that are not wanted.

    Notes
    -----
    One pass as a rule; two over what is not in memory. Memory: some hundredths of the values, and those of the wanted places.
    """
    search = _Search(column, cells, missing)
    attempt = 0
    while attempt < len(MARGINS):
        if isinstance(search.column, Memory) and search.column.rows <= SMALL:
            break
        low, high, is_worth_it = search.propose(places, MARGINS[attempt])
        if isinstance(search.column, Memory) and not is_worth_it:
            break
        found = _pass(search.column, cells, low, high, threads)
        attempt = 0 if search.accept(low, high, found, places) else attempt + 1
    return search.window()
