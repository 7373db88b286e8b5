"""Values as users hold them, to be read more than once: piece by piece, without a copy of the whole.

A column is a list of chunks in memory, or a source of chunks that can be asked for again. A piece is a plain numpy array of one
of ten machine types, without nulls; floats may still be NaN, which every reader treats as a null.
"""

from __future__ import annotations

import datetime
import sys
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from dpfast.duff._chunk_parts import PIECE_ROWS, USE, ArrayChunk, ArrowChunk, types_of
from dpfast.duff.grid import check_pair, type_of_bounds
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.randomness import fresh_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from dpfast.duff._chunk_parts import Chunk

__all__ = ["PIECE_ROWS", "Column", "Memory", "Source", "open_values"]


KINDS: Final = (
    "a numpy array, a pyarrow Array or ChunkedArray, a pandas or polars Series, a list, or an object that can be iterated over "
    "again and again and gives such chunks"
)
ONE_SHOT: Final = (
    "values can be read only once, and a quantile needs several passes; give an array, a column of a pyarrow Table, or a Parquet "
    "file to `dpfast quantile`"
)


class Column(Protocol):
    """Values, and what they are."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the pieces."""

    @property
    def logical(self) -> np.dtype[Any]:
        """What decides grid and answer: a type of dates, or the one of the pieces."""

    def memories(self) -> Iterable[Memory]:
        """All rows, in order, part by part; may be asked for again."""

    def sample(self, size: int, run: int) -> tuple[NDArray[Any], int, int]:
        """About `size` values anywhere, or all of them; the number of rows looked at for them, and of all rows."""


class Memory:
    """A column in memory: chunks of one type. `like` has the type where there is no chunk; `logical` counts as declared."""

    def __init__(self, parts: list[Any], like: Any = None, logical: np.dtype[Any] | None = None) -> None:
        kinds = [types_of(part) for part in (parts or [like])]
        if len(set(kinds)) > 1:
            raise ArgumentTypeError("the chunks of values differ in type")
        self.dtype, self.logical = kinds[0][0], kinds[0][1] if logical is None else logical
        self._chunks: list[Chunk] = [
            ArrayChunk(part, self.dtype) if isinstance(part, np.ndarray) else ArrowChunk(part, self.dtype) for part in parts
        ]
        self._ends: list[int] = np.cumsum([0, *(chunk.rows for chunk in self._chunks)]).tolist()
        self.rows = self._ends[-1]

    def memories(self) -> list[Memory]:
        return [self]

    def pieces(self, start: int, stop: int) -> Iterator[NDArray[Any]]:
        """The values of rows start .. stop-1, piece by piece."""
        for chunk, first, last in self._spans(start, stop):
            yield chunk.piece(first, last)

    def aligned(self, start: int, stop: int) -> Iterator[tuple[NDArray[Any], NDArray[np.bool_] | None]]:
        """A value for each of the rows start .. stop-1, piece by piece, and which of them are null (None: none is)."""
        for chunk, first, last in self._spans(start, stop):
            yield chunk.aligned(first, last)

    def _spans(self, start: int, stop: int) -> Iterator[tuple[Chunk, int, int]]:
        place = bisect_right(self._ends, start) - 1
        while start < stop:
            first, end = self._ends[place], min(stop, self._ends[place + 1], start + PIECE_ROWS)
            if start < end:
                yield self._chunks[place], start - first, end - first
            start = end
            place += start == self._ends[place + 1]

    def numbers(self) -> Iterator[NDArray[Any]]:
        """All values that are numbers, piece by piece."""
        for piece in self.pieces(0, self.rows):
            yield piece if self.dtype.kind != "f" else piece[piece == piece]

    def sample(self, size: int, run: int) -> tuple[NDArray[Any], int, int]:
        if self.rows <= 2 * size:
            return np.concatenate([np.empty(0, self.dtype), *self.pieces(0, self.rows)]), self.rows, self.rows
        starts = _scattered(size // run, self.rows - run)
        rows = (np.sort(starts)[:, None] + np.arange(run)).reshape(-1)
        rows.sort()
        cuts = np.searchsorted(rows, self._ends)
        parts = [
            chunk.take(rows[begin:end] - first)
            for chunk, first, begin, end in zip(self._chunks, self._ends, cuts[:-1], cuts[1:], strict=False)
            if begin < end
        ]
        return np.concatenate(parts), rows.size, self.rows


def _scattered(n: int, end: int) -> NDArray[np.int64]:
    """Places below `end` that no data can foresee: a counter from a fresh start, mixed (splitmix64). They decide time only."""
    mixed = np.arange(n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.frombuffer(fresh_key(), np.uint64)[0]
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ mixed >> np.uint64(shift)) * np.uint64(factor)
    places: NDArray[np.int64] = ((mixed ^ mixed >> np.uint64(31)) % np.uint64(end)).astype(np.int64)
    return places


class Source:
    """A column that is not in memory, or not as one: an iterable of chunks that can be asked for again."""

    def __init__(self, source: Iterable[Any]) -> None:
        self._source = source
        first = next(iter(source), None)
        if first is None:
            raise ArgumentError("values give no chunk, so their type is not known; give an empty array instead")
        memory = as_memory(first)
        self.dtype, self.logical = memory.dtype, memory.logical

    def memories(self) -> Iterator[Memory]:
        for given in self._source:
            memory = as_memory(given)
            if (memory.dtype, memory.logical) != (self.dtype, self.logical):
                raise ArgumentTypeError("the chunks of values differ in type")
            yield memory

    def sample(self, size: int, run: int) -> tuple[NDArray[Any], int, int]:
        """One pass: about one of every `stride` rows; when there are too many, every second of them is kept, and so on."""
        kept, held, looked, rows, stride = [np.empty(0, self.dtype)], 0, 0, 0, 1
        for memory in self.memories():
            found, of_rows, all_rows = memory.sample(max(memory.rows // stride // 2, run), run)
            part = max(1, of_rows * stride // max(all_rows, 1))  # more were looked at than wanted
            kept.append(found[::part])
            held, looked, rows = held + kept[-1].size, looked + -(-of_rows // part), rows + all_rows
            if held > 2 * size:
                kept = [np.concatenate(kept)[::2]]
                held, looked, stride = kept[0].size, looked // 2, 2 * stride
        return np.concatenate(kept), looked, rows


def open_values(values: Any, bounds: Any) -> Column:
    """Return the column that values are; ArgumentTypeError, ArgumentError where they are none. Reads no value of an array.

    A list, an array of objects, and Arrow's type of nothing but nulls declare no type, and what they happen to hold is data: they
    count as values of the type that the public bounds have.
    """
    check_pair(bounds)
    known = _known(values, bounds)
    if known is not None:
        return known
    if hasattr(values, "__next__") or hasattr(type(values), "read_all"):
        raise ArgumentTypeError(ONE_SHOT)
    if hasattr(type(values), "columns") or hasattr(type(values), "column_names"):
        raise ArgumentTypeError(f"values are one column, not a table; give {KINDS}")
    if not isinstance(values, (str, bytes, dict, set, frozenset)) and hasattr(type(values), "__iter__"):
        return Source(values)
    raise ArgumentTypeError(f"values are {KINDS}, not {type(values).__name__}")


def as_memory(values: Any) -> Memory:
    """Return a chunk of values as a column in memory."""
    known = _known(values, None)
    if known is None:
        raise ArgumentTypeError(
            "values are no column that is known, nor an object that gives such chunks: numpy arrays, pyarrow Arrays or "
            "ChunkedArrays, pandas or polars Series"
        )
    return known


def _known(values: Any, bounds: Any) -> Memory | None:
    """As `open_values`; bounds None for a chunk, which has to declare its type."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ArgumentError(f"values have {values.ndim} dimensions; give one column at a time (there is no axis)")
        return _of_objects(values.tolist(), bounds) if values.dtype.kind == "O" else Memory([values])
    if isinstance(values, (list, tuple, range)):
        if isinstance(values, range):
            return Memory([np.asarray(values, np.int64)])
        return _of_objects(list(values), bounds)
    pandas, polars, arrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if pandas is not None and isinstance(values, (pandas.Series, pandas.Index)):
        if isinstance(values.dtype, np.dtype):
            return _known(values.to_numpy(), bounds)
        import pyarrow

        return _known(_arrow(lambda: pyarrow.array(values, from_pandas=True)), bounds)
    if polars is not None and isinstance(values, polars.Series):
        import pyarrow

        return _known(_arrow(lambda: pyarrow.table(values.to_frame()).column(0)), bounds)
    if arrow is not None and isinstance(values, (arrow.ChunkedArray, arrow.Array)):
        if bounds is not None and arrow.types.is_null(values.type):
            return _of_objects([None] * len(values), bounds)
        return Memory(values.chunks, arrow.array([], values.type)) if hasattr(values, "chunks") else Memory([values])
    return None


def _of_objects(values: list[Any], bounds: Any) -> Memory:
    import pyarrow as pa

    if bounds is None:
        raise ArgumentTypeError("a chunk of values must declare a type; give an array of numbers, not a list or objects")
    if any(isinstance(value, (list, tuple, np.ndarray)) for value in values):
        raise ArgumentError("values are nested; give one column at a time (there is no axis)")
    logical = type_of_bounds(bounds)
    if logical.kind in "Mm":
        return Memory([_times(values, logical)], logical=logical)
    wanted = "a list of values must hold numbers of 64 bits, ints or floats, or dates if the bounds are dates"
    if not all(value is None or isinstance(value, (int, float, np.integer, np.floating, np.bool_)) for value in values):
        raise ArgumentTypeError(wanted)
    # integers of 2^63 and more are not found out by themselves, and together with floats they are floats
    whole = all(value is None or isinstance(value, (int, np.integer)) for value in values)
    for is_wider in (False, True):
        try:
            if not is_wider:
                array = pa.array(values)
            else:
                array = pa.array(values, pa.uint64()) if whole else pa.array(np.array(values, np.float64))
        except (pa.ArrowException, OverflowError, ValueError, TypeError):
            continue
        return Memory([array.cast(pa.float64()) if pa.types.is_null(array.type) else array], logical=logical)
    raise ArgumentTypeError(wanted)


def _times(values: list[Any], logical: np.dtype[Any]) -> NDArray[Any]:
    """Dates or durations as the bounds have them; NaT where there is none."""
    wanted = (np.datetime64, datetime.date) if logical.kind == "M" else (np.timedelta64, datetime.timedelta)
    if not all(value is None or isinstance(value, wanted) for value in values):
        raise ArgumentTypeError("a list of values must hold dates or durations if the bounds are such")
    plain = [
        value.astimezone(datetime.UTC).replace(tzinfo=None) if isinstance(value, datetime.datetime) and value.tzinfo else value
        for value in values
    ]
    return np.array(plain, logical)


def _arrow(make: Any) -> Any:
    import pyarrow as pa

    try:
        return make()
    except (pa.ArrowException, TypeError, ValueError):
        raise ArgumentTypeError(f"values cannot be read as an Arrow array; {USE}") from None
