"""Windows of many groups by counts alone: for rows that lie elsewhere, in any number of parts.

Precondition: something that counts: asked for ranges of grid cells in groups, each cut into bins, it tells how many rows each bin
has, of those that have any. Counts of parts may be added up in any order. Postcondition: the window of each group, as
`_select.find_window` gives it.

Method. The first and the last wanted place of a group are looked for in all groups at once. A pass cuts the range that holds such
a place into bins, and the bin that holds it is the next range. When few rows, or the cells of both places alone, are left between
the ends, one last pass asks for every cell between them: no more than the order statistics of the window. All of it is integers
and does not depend on where rows are.

Counts of rows that change between passes cannot be trusted with a law whose proof has one data set: a range that does not
have the rows that it had as a bin ends the search with one error, always the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from dpfast._core import quantile as core
from dpfast.duff._select import Window
from dpfast.duff._select_draw import Recourse, draw_points
from dpfast.errors import CorruptDataError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from numpy.typing import NDArray

    from dpfast.duff._select_draw import Blocks, Law, Question
    from dpfast.duff.weights import Weights

    Integers: TypeAlias = NDArray[np.int64]
    Count: TypeAlias = Callable[["Ranges"], "Bins"]

__all__ = ["Bins", "Ranges", "bins_of", "counted_answers", "find_windows", "most_passes"]

BINS: Final = 1 << 20  # of all groups in one pass
BINS_LEAST: Final = 16  # of a range
CHANGED: Final = (
    "the rows were not the same in two passes over them; a quantile is of one set of rows, so nothing was answered: give data "
    "that do not change while they are read"
)


class Ranges(NamedTuple):
    """Grid cells first .. last of a group, from which bins of `width` cells are cut; the last bin may be narrower."""

    group: Integers
    first: Integers
    last: Integers
    width: Integers


class Bins(NamedTuple):
    """How many rows are in a bin of a range, both by number. In any order, each bin that has rows once."""

    range: Integers
    bin: Integers
    rows: Integers


def counted_answers(count: Count, n_groups: int, question: Question, weights: Weights, blocks: Blocks) -> Integers:
    """Draw the answer of every group, the i-th by draw number i: what `groups.group_answers` gives for the same rows."""
    windows, law = find_windows(count, n_groups, question.points, lambda sizes: question.law_of_groups(weights, sizes))

    def recourse(place: int) -> Recourse:
        n = windows.window(place)[3]

        def count_at(index: int) -> tuple[int, int, int]:
            first = np.array([0, index, index + 1])
            last = np.array([index - 1, index, question.points - 1])
            ranges = Ranges(np.full(3, place), first, last, np.full(3, question.points))
            less, equal, _ = _Found(count(ranges), ranges, np.full(3, -1), n).totals.tolist()
            return less, equal, n

        def everything() -> tuple[Law, Window]:
            ranges = Ranges(np.array([place]), np.array([0]), np.array([question.points - 1]), np.array([1]))
            points, upto = _Found(count(ranges), ranges, np.array([n])).cells(0)
            return question.law(weights, n + 3), Window(points, upto.astype(np.uint64), 0, n)

        return Recourse(count_at, everything)

    return draw_points(law, windows, blocks, recourse)


def bins_of(n_groups: int) -> int:
    """The bins of a range in one pass."""
    return max(BINS // max(n_groups, 1), BINS_LEAST)


def most_passes(points: int, n_groups: int) -> int:
    """How many passes it takes at most."""
    passes, cells = 1, points
    while cells > 1:
        passes, cells = passes + 1, -(-cells // bins_of(n_groups))
    return passes


def find_windows(count: Count, n_groups: int, points: int, law_of: Callable[[Integers], Law]) -> tuple[core.Windows, Law]:
    """Return the windows of the wanted places of all groups, and the law that says which places these are.

    Parameters
    ----------
    count : callable
        One pass over the rows.
    n_groups : int
    points : int
        Of the grid.
    law_of : callable
        From the number of rows of each group.

    Returns
    -------
    windows : Windows
    law : Law

    Raises
    ------
    CorruptDataError
        If counts do not add up.

    Notes
    -----
    At most `most_passes` of them, a public number. A pass gives, for each group, at most `bins_of` bins for either end, or that
    many cells and twice the wanted places.
    """
    search = _Search(n_groups, points)
    found = search.ask(count)
    law = law_of(found.totals)
    search.want(found.totals, law)
    for _ in range(most_passes(points, n_groups) - 1):
        if not search.take(found):
            return search.windows, law
        found = search.ask(count)
    if search.take(found):
        raise CorruptDataError(CHANGED)
    return search.windows, law


class _Part(NamedTuple):
    """A range of cells of each group that holds a wanted place: rows below it and in it, -1 where that is not known."""

    first: Integers
    cells: Integers
    below: Integers
    rows: Integers


class _Found:
    """What a pass found, in order, if it adds up."""

    def __init__(self, bins: Bins, ranges: Ranges, expected: Integers, n: int | None = None) -> None:
        order = np.lexsort((bins.bin, bins.range))
        self._ranges = ranges
        self._range, self._bin, self._rows = (part[order].astype(np.int64) for part in bins)
        self._starts = np.searchsorted(self._range, np.arange(expected.size + 1))
        self._upto = np.concatenate([[0], np.cumsum(self._rows)])
        self.totals: Integers = np.diff(self._upto[self._starts])
        if ((expected >= 0) & (self.totals != expected)).any() or n not in (None, int(self._upto[-1])):
            raise CorruptDataError(CHANGED)

    def cells(self, place: int) -> tuple[Integers, Integers]:
        """The cells of a range that have rows, and how many up to each, where bins are cells."""
        start, stop = self._starts[place], self._starts[place + 1]
        return self._bin[start:stop] + self._ranges.first[place], self._upto[start + 1 : stop + 1] - self._upto[start]

    def bins_at(self, places: Integers, below: Integers, wanted: Integers) -> _Part:
        """The bins of some ranges, with so many rows below them, that hold the wanted places."""
        before = self._upto[self._starts[places]]
        found = np.searchsorted(self._upto, before + wanted - below, side="right") - 1
        first = self._ranges.first[places] + self._bin[found] * self._ranges.width[places]
        cells = np.minimum(self._ranges.width[places], self._ranges.last[places] - first + 1)
        return _Part(first, cells, below + self._upto[found] - before, self._rows[found])


class _Search:
    """The groups whose window is not known yet, and where the first and the last wanted place of each must be."""

    def __init__(self, n_groups: int, points: int) -> None:
        self.windows = core.Windows(n_groups)
        self._most = bins_of(n_groups)
        self._groups = np.arange(n_groups)
        nothing = np.zeros(n_groups, np.int64)
        self._low = self._high = _Part(nothing, nothing + points, nothing, nothing - 1)
        self._sizes = self._first = self._last = nothing  # of the groups; their wanted places
        self._is_last = self._apart = np.zeros(n_groups, np.bool_)  # of the last pass: windows whole, ends each by itself

    def want(self, sizes: Integers, law: Law) -> None:
        """Take the numbers of rows and the wanted places."""
        first, stop = law.places_of_groups(sizes)
        self._sizes, self._first, self._last = sizes, first.astype(np.int64), stop.astype(np.int64) - 1

    def ask(self, count: Count) -> _Found:
        """One pass, for all groups that are left."""
        low, high = self._low, self._high
        last = high.first + high.cells - 1
        rows = np.where(low.rows < 0, -1, high.below + high.rows - low.below)  # between the ends
        few = (rows >= 0) & (rows <= self._most + 2 * (self._last - self._first + 1))
        together = low.first == high.first
        self._is_last = few | (low.cells == 1) & (high.cells == 1) | together & (low.cells <= self._most)
        self._apart = apart = ~(self._is_last | together)
        width = np.where(self._is_last, 1, -(-low.cells // self._most))
        ranges = Ranges(
            np.concatenate([self._groups, self._groups[apart]]),
            np.concatenate([low.first, high.first[apart]]),
            np.concatenate([np.where(apart, low.first + low.cells - 1, last), last[apart]]),
            np.concatenate([width, -(-high.cells[apart] // self._most)]),
        )
        return _Found(count(ranges), ranges, np.concatenate([np.where(apart, low.rows, rows), high.rows[apart]]))

    def take(self, found: _Found) -> bool:
        """Take over what a pass found; whether there are groups left."""
        done = self._is_last | (self._sizes == 0)
        for place in np.flatnonzero(done).tolist():
            points, upto = found.cells(place)
            below = int(self._low.below[place])
            self.windows.put(int(self._groups[place]), points, (upto + below).astype(np.uint64), below, int(self._sizes[place]))
        left = np.flatnonzero(~done)
        seconds = np.where(self._apart, self._groups.size + np.cumsum(self._apart) - 1, np.arange(self._groups.size))[left]
        self._low = found.bins_at(left, self._low.below[left], self._first[left])
        self._high = found.bins_at(seconds, self._high.below[left], self._last[left])
        self._groups, self._sizes = self._groups[left], self._sizes[left]
        self._first, self._last = self._first[left], self._last[left]
        return bool(left.size)
