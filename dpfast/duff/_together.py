"""Values put together by group, in one pass over a column.

Precondition: a column in parts that can be read again, a code for each of its rows, below k for the declared groups, k for rows
that count nowhere. Postcondition: the grid indices of each group stand together, so that a window costs what a group costs.

Many groups on a grid of not too many points go by way of keys of 32 bits, code and grid index in one: first to buckets of so many
groups as fit a cache, then each bucket is sorted there. Otherwise each index is written to the next place of its group, which
keeps the order of rows.
"""

from __future__ import annotations

from threading import Lock, local
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from dpfast._core import quantile as core
from dpfast._threads import available, run_parts, run_rows
from dpfast.duff._chunks import PIECE_ROWS
from dpfast.errors import ArgumentError

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dpfast.duff._chunks import Column, Memory
    from dpfast.duff._select import GridCells
    from dpfast.duff.grid import Grid

__all__ = ["Grouped", "indices_by_row", "put_together"]

KEY_BITS: Final = 32
NARROW_POINTS: Final = (1 << KEY_BITS) - 2  # grid indices of 32 bits, the last one being free for what is no number
EXACT_BITS: Final = 30  # of places on the grid that the fast conversion takes
MANY: Final = 1 << 12  # groups that are worth keys
DIGIT: Final = 11  # bits of the code in a key, at most
FEW_BUCKETS, MOST_BUCKETS = 9, 13  # bits; the line of a cache that each is written to stays there
BUCKET_BITS: Final = 16  # of the rows of a bucket that stays in the second-level cache
FULL: Final = 1 << 24  # rows of a bucket from which on several threads should share it
TASK_ROWS: Final = 1 << 18


class Grouped(NamedTuple):
    """Grid indices that stand together by group: those of group i are values[starts[i] :][: sizes[i]]. Private."""

    values: NDArray[Any]
    starts: NDArray[np.uint64]
    sizes: NDArray[np.uint64]

    def group(self, place: int) -> NDArray[Any]:
        start = int(self.starts[place])
        return self.values[start : start + int(self.sizes[place])]


def put_together(
    column: Column,
    grid: Grid,
    cells: GridCells,
    codes: NDArray[np.uint32],
    k: int,
    missing: int | None,
    threads: int | None,
    *,
    in_order: bool = False,
) -> Grouped:
    """Put the grid indices of each group together. What is no number is in no group, unless it is `missing`.

    `in_order`: those of a group in the order of their rows, else in any. Changes `codes`.
    """
    snap = _Snap(grid, cells, column.dtype, missing)
    keys = None if in_order else _Keys.of(grid, codes.size, k)
    if keys is not None:
        edges = _edges_of(codes, keys, k, threads)
        if edges is not None:
            return _by_keys(column, snap, codes, k, keys, edges, threads)
    return _scattered(column, snap, codes, k, threads)


class _Snap:
    """Values to grid indices, of 32 bits where that is enough."""

    def __init__(self, grid: Grid, cells: GridCells, dtype: np.dtype[Any], missing: int | None) -> None:
        self.dtype: np.dtype[Any] = np.dtype(np.uint32 if grid.size <= NARROW_POINTS else np.int64)
        self.none = (1 << KEY_BITS) - 1 if self.dtype == np.uint32 else -1
        self._cells, self._missing = cells, missing
        self._first, self._last = grid.origin, grid.origin + grid.size - 1
        self._scale = _scale(grid, dtype) if self.dtype == np.uint32 else None

    def __call__(self, piece: NDArray[Any], absent: NDArray[np.bool_] | None, out: NDArray[Any]) -> bool:
        """Write the indices of a piece, `none` for what is no number and not `missing` either; is there such a one?"""
        if self._scale is not None:
            some = core.snap_floats(piece, self._scale, self._first, self._last, out) > 0
        else:
            if piece.dtype.kind == "f":
                strange = piece != piece
                piece, absent = np.where(strange, 0, piece), strange if absent is None else absent | strange
            out[:], some = self._cells.snap(piece), False
        if absent is not None and absent.any():
            out[absent], some = self.none, True
        if some and self._missing is not None:
            out[out == self.none], some = self._missing, False
        return some


def _scale(grid: Grid, dtype: np.dtype[Any]) -> float | None:
    """1 / step where the fast conversion is exact: floats on a grid of a power of two that is not far out."""
    ratio, ends = grid.ratio, (grid.origin, grid.origin + grid.size - 1)
    top, bottom = ratio.numerator, ratio.denominator
    is_power = top & (top - 1) == 0 and bottom & (bottom - 1) == 0 and max(top, bottom) < 1 << 1000
    if dtype.kind != "f" or not is_power or grid.size < 2 or max(map(abs, ends)) >= 1 << EXACT_BITS:
        return None
    return bottom / top


def _each_piece(
    column: Column, n: int, work: Callable[[slice, NDArray[Any], NDArray[np.bool_] | None], None], threads: int | None
) -> None:
    """Call ``work(rows, piece, absent)`` for all pieces of a column of n rows."""
    done = 0
    for memory in column.memories():
        if done + memory.rows > n:
            raise ArgumentError("values and by= (or person=) differ in length")

        def task(start: int, stop: int, cancelled: threading.Event, memory: Memory = memory, done: int = done) -> None:
            place = done + start
            for piece, absent in memory.aligned(start, stop):
                if cancelled.is_set():
                    return
                work(slice(place, place + piece.size), piece, absent)
                place += piece.size

        run_rows(task, memory.rows, threads)
        done += memory.rows
    if done != n:
        raise ArgumentError("values and by= (or person=) differ in length")


class _Keys(NamedTuple):
    """How keys are made: of a code the low `shift` bits, the others being its bucket, above `bits` bits of a grid index."""

    shift: int
    bits: int

    @classmethod
    def of(cls, grid: Grid, n: int, k: int) -> _Keys | None:
        """None where keys do not serve."""
        bits = grid.size.bit_length()  # the largest number of so many bits is no index
        buckets = min(max((n >> BUCKET_BITS).bit_length(), FEW_BUCKETS), MOST_BUCKETS)
        shift = min(max(k.bit_length() - buckets, 0), KEY_BITS - bits, DIGIT)
        serves = k >= MANY and n < 1 << KEY_BITS and shift >= 0 and k >> shift < 1 << MOST_BUCKETS
        return cls(shift, bits) if serves else None


def _edges_of(codes: NDArray[np.uint32], keys: _Keys, k: int, threads: int | None) -> NDArray[np.uint64] | None:
    """Where each bucket begins, and the end of the last; None if one is so full that there is a better way."""
    counts, lock = np.zeros((k >> keys.shift) + 1, np.uint64), Lock()

    def count(start: int, stop: int) -> None:
        some = np.zeros_like(counts)
        core.group_count(codes[start:stop], keys.shift, some)
        with lock:
            np.add(counts, some, out=counts)

    run_parts(count, codes.size, TASK_ROWS, threads)
    return None if counts.max() > FULL else np.append(np.uint64(0), np.cumsum(counts, dtype=np.uint64))


def _by_keys(
    column: Column, snap: _Snap, codes: NDArray[np.uint32], k: int, keys: _Keys, edges: NDArray[np.uint64], threads: int | None
) -> Grouped:
    together = np.empty(codes.size, np.uint32)
    following, lock, room = edges[:-1].copy(), Lock(), local()

    def spread(rows: slice, piece: NDArray[Any], absent: NDArray[np.bool_] | None) -> None:
        if not hasattr(room, "indices"):
            room.indices = np.empty(PIECE_ROWS, np.uint32)
        indices, counts = room.indices[: piece.size], np.zeros_like(following)
        snap(piece, absent, indices)
        core.group_count(codes[rows], keys.shift, counts)
        with lock:  # these rows take their places
            places = following.copy()
            np.add(following, counts, out=following)
        core.group_spread(codes[rows], indices, keys.shift, keys.bits, places, together)

    _each_piece(column, codes.size, spread, threads)
    n_buckets = following.size
    starts, sizes = (np.empty(n_buckets << keys.shift, np.uint64) for _ in range(2))

    def settle(start: int, stop: int) -> None:
        spare = np.empty(max(1, int(np.diff(edges[start : stop + 1]).max())), np.uint32)
        core.group_order(together, edges, keys.shift, keys.bits, spare, starts, sizes, start, stop)

    run_parts(settle, n_buckets, max(1, n_buckets * TASK_ROWS // max(1, codes.size)), threads)
    return Grouped(together, starts[:k], sizes[:k])


def indices_by_row(
    column: Column,
    grid: Grid,
    cells: GridCells,
    codes: NDArray[np.uint32],
    k: int,
    missing: int | None,
    threads: int | None,
) -> NDArray[Any]:
    """The grid index of each row, of 32 bits if they fit. Changes `codes` as `put_together` does."""
    return _indices(column, _Snap(grid, cells, column.dtype, missing), codes, k, threads)


def _indices(column: Column, snap: _Snap, codes: NDArray[np.uint32], k: int, threads: int | None) -> NDArray[Any]:
    indices = np.empty(codes.size, snap.dtype)

    def fill(rows: slice, piece: NDArray[Any], absent: NDArray[np.bool_] | None) -> None:
        if snap(piece, absent, indices[rows]):
            codes[rows][indices[rows] == snap.none] = k

    _each_piece(column, codes.size, fill, threads)
    return indices


def _scattered(column: Column, snap: _Snap, codes: NDArray[np.uint32], k: int, threads: int | None) -> Grouped:
    n, indices = codes.size, _indices(column, snap, codes, k, threads)
    parts = max(1, min(threads or available(), n // TASK_ROWS))
    edges = [n * part // parts for part in range(parts + 1)]
    counts = np.zeros((parts, k + 1), np.uint64)

    def each_part(work: Callable[[int, slice], None]) -> None:
        def run(start: int, stop: int) -> None:
            for part in range(start, stop):
                for first in range(edges[part], edges[part + 1], TASK_ROWS):
                    work(part, slice(first, min(first + TASK_ROWS, edges[part + 1])))

        run_parts(run, parts, 1, threads)

    each_part(lambda part, rows: core.group_count(codes[rows], 0, counts[part]))
    sizes = counts.sum(axis=0, dtype=np.uint64)
    starts = np.cumsum(sizes, dtype=np.uint64) - sizes
    # group by group, and part by part within
    places = np.ascontiguousarray(starts + np.cumsum(counts, axis=0, dtype=np.uint64) - counts)
    together = np.empty(n, snap.dtype)
    each_part(lambda part, rows: core.group_scatter(codes[rows], indices[rows], places[part], together))
    return Grouped(together, starts[:k], sizes[:k])
