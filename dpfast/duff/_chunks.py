"""Values as users hold them, to be read more than once: piece by piece, without a copy of the whole.

A column is a list of chunks in memory, or a source of chunks that can be asked for again. A piece is a plain numpy array of one
of ten machine types, without nulls; floats may still be NaN, which every reader treats as a null.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from dpfast.columns.base import check_structure
from dpfast.errors import ArgumentError, ArgumentTypeError, CorruptDataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["PIECE_ROWS", "Column", "Memory", "ParquetColumn", "Source", "open_values"]

PIECE_ROWS: Final = 1 << 17  # 1 MiB of doubles: stays in the second-level cache between a conversion and its use

KINDS: Final = (
    "a numpy array, a pyarrow Array or ChunkedArray, a pandas or polars Series, a list, or an object that can be iterated over "
    "again and again and gives such chunks"
)
USE: Final = "take integers, floats, booleans, dates, timestamps or durations"
ONE_SHOT: Final = (
    "values can be read only once, and a quantile needs several passes; give an array, a pyarrow Table's column, or the path of a "
    "Parquet file to `dpfast quantile`"
)


class Chunk(Protocol):
    """A run of rows in memory."""

    rows: int

    def piece(self, start: int, stop: int) -> NDArray[Any]:
        """The values of rows start .. stop-1, at most `PIECE_ROWS`; nulls are left out."""

    def take(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """The values of some rows; nulls are left out."""


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

    def sample(self, size: int, run: int) -> tuple[NDArray[Any], int]:
        """About `size` values anywhere, or all of them, and the number of rows, without those that are known to be null."""


class _ArrayChunk:
    def __init__(self, array: NDArray[Any], dtype: np.dtype[Any]) -> None:
        self._array = array
        self._dtype = dtype
        self.rows = array.size

    def piece(self, start: int, stop: int) -> NDArray[Any]:
        return self._plain(self._array[start:stop])

    def take(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        return self._plain(self._array[rows])

    def _plain(self, part: NDArray[Any]) -> NDArray[Any]:
        part = part.compressed() if isinstance(part, np.ma.MaskedArray) else np.asarray(part)
        if part.dtype.kind in "Mm":
            part = np.ascontiguousarray(part, part.dtype.newbyteorder("=")).view(np.int64)
            missing = part == np.iinfo(np.int64).min  # NaT
            return part[~missing] if missing.any() else part
        return np.require(part.view(np.uint8) if part.dtype.kind == "b" else part, self._dtype, ["C", "A"])


class _ArrowChunk:
    def __init__(self, array: pa.Array, dtype: np.dtype[Any]) -> None:
        check_structure(array)
        self._array = array
        self._dtype = dtype
        self.rows = len(array)

    def piece(self, start: int, stop: int) -> NDArray[Any]:
        return self._plain(self._array.slice(start, stop - start))

    def take(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        return self._plain(self._array.take(rows))

    def _plain(self, part: pa.Array) -> NDArray[Any]:
        import pyarrow as pa

        if pa.types.is_null(part.type):
            return np.empty(0, self._dtype)
        if pa.types.is_dictionary(part.type):
            try:
                part = part.dictionary.take(part.indices)
            except pa.ArrowIndexError:
                raise CorruptDataError("a dictionary index points outside its dictionary") from None
        if part.null_count:
            part = part.drop_null()
        if not (pa.types.is_boolean(part.type) or pa.types.is_integer(part.type) or pa.types.is_floating(part.type)):
            part = part.view(pa.int32() if part.type.bit_width == 32 else pa.int64())
        found = part.to_numpy(zero_copy_only=False)
        return np.require(found.view(np.uint8) if found.dtype.kind == "b" else found, self._dtype, ["C", "A"])


class Memory:
    """A column in memory: chunks of one type. `like` has the type where there is no chunk."""

    def __init__(self, parts: list[Any], like: Any = None) -> None:
        kinds = [_types_of(part) for part in (parts or [like])]
        if len(set(kinds)) > 1:
            raise ArgumentTypeError("the chunks of values differ in type")
        self.dtype, self.logical = kinds[0]
        self._chunks: list[Chunk] = [
            _ArrayChunk(part, self.dtype) if isinstance(part, np.ndarray) else _ArrowChunk(part, self.dtype) for part in parts
        ]
        self._ends: list[int] = np.cumsum([0, *(chunk.rows for chunk in self._chunks)]).tolist()
        self.rows = self._ends[-1]

    def memories(self) -> list[Memory]:
        return [self]

    def pieces(self, start: int, stop: int) -> Iterator[NDArray[Any]]:
        """The values of rows start .. stop-1, piece by piece."""
        place = bisect_right(self._ends, start) - 1
        while start < stop:
            first, end = self._ends[place], min(stop, self._ends[place + 1], start + PIECE_ROWS)
            if start < end:
                yield self._chunks[place].piece(start - first, end - first)
            start = end
            place += start == self._ends[place + 1]

    def numbers(self) -> Iterator[NDArray[Any]]:
        """All values that are numbers, piece by piece."""
        for piece in self.pieces(0, self.rows):
            yield piece if self.dtype.kind != "f" else piece[piece == piece]

    def sample(self, size: int, run: int) -> tuple[NDArray[Any], int]:
        if self.rows <= 2 * size:
            return np.concatenate([np.empty(0, self.dtype), *self.pieces(0, self.rows)]), self.rows
        starts = np.frombuffer(os.urandom(8 * (size // run)), np.uint64) % np.uint64(self.rows - run)
        rows = (np.sort(starts.astype(np.int64))[:, None] + np.arange(run)).reshape(-1)
        rows.sort()
        cuts = np.searchsorted(rows, self._ends)
        parts = [
            chunk.take(rows[begin:end] - first)
            for chunk, first, begin, end in zip(self._chunks, self._ends, cuts[:-1], cuts[1:], strict=False)
            if begin < end
        ]
        found = np.concatenate(parts)
        return found, round(self.rows * found.size / rows.size)


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

    def sample(self, size: int, run: int) -> tuple[NDArray[Any], int]:
        """One pass: of every `stride` rows about one is kept; when they are too many, every second of them, and so on."""
        kept, held, rows, stride = [], 0, 0, 1
        for memory in self.memories():
            found, numbers = memory.sample(max(memory.rows // stride // 2, run), run)
            rows += numbers
            found = found[:: max(1, found.size * stride // max(memory.rows, 1))]
            kept.append(found)
            held += found.size
            if held > 2 * size:
                kept = [np.concatenate(kept)[::2]]
                held, stride = kept[0].size, 2 * stride
        return np.concatenate(kept), rows


class ParquetColumn:
    """One column of a Parquet file as an iterable of Arrow arrays, read anew each time.

    Parameters
    ----------
    path : str or path-like
    name : str
        The column.

    Raises
    ------
    FileError, CorruptDataError
        If the file cannot be read, or is no Parquet file.
    ArgumentError
        If it has no such column.
    """

    def __init__(self, path: str | os.PathLike[str], name: str) -> None:
        from dpfast._parquet import ParquetSource

        self._file = ParquetSource(path)
        self._name = name
        if name not in self._file.schema.names:
            self.close()
            raise ArgumentError(f"the file has no column named {name!r}")
        self._type = self._file.schema.field(name).type

    def __iter__(self) -> Iterator[Any]:
        import pyarrow as pa

        yield pa.array([], self._type)
        for batch in self._file.batches([self._name]):
            yield batch.column(self._name)
        self._file.check_unchanged()

    def close(self) -> None:
        """Close the file."""
        self._file.__exit__(None, None, None)

    def __enter__(self) -> ParquetColumn:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_values(values: Any) -> Column:
    """Return the column that values are; ArgumentTypeError, ArgumentError where they are none. Reads no value of an array."""
    if isinstance(values, ParquetColumn):
        return Source(values)
    known = _known(values)
    if known is not None:
        return known
    if hasattr(values, "__next__") or hasattr(type(values), "read_all"):
        raise ArgumentTypeError(ONE_SHOT)
    if hasattr(type(values), "columns") or hasattr(type(values), "column_names"):
        raise ArgumentTypeError(f"values are one column, not a table; give {KINDS}")
    if not isinstance(values, (str, bytes, dict, set, frozenset)) and hasattr(type(values), "__iter__"):
        again = iter(values)
        if again is values:
            raise ArgumentTypeError(ONE_SHOT)
        return Source(values)
    raise ArgumentTypeError(f"values are {KINDS}, not {type(values).__name__}")


def as_memory(values: Any) -> Memory:
    """Return a chunk of values as a column in memory."""
    known = _known(values)
    if known is None:
        raise ArgumentTypeError(f"a chunk of values is {KINDS}, not {type(values).__name__}")
    return known


def _known(values: Any) -> Memory | None:
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ArgumentError(f"values have {values.ndim} dimensions; give one column at a time (there is no axis)")
        return _of_objects(values.tolist()) if values.dtype.kind == "O" else Memory([values])
    if isinstance(values, (list, tuple, range)):
        if isinstance(values, range):
            return Memory([np.asarray(values, np.int64)])
        return _of_objects(list(values))
    pandas, polars, pyarrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if pandas is not None and isinstance(values, (pandas.Series, pandas.Index)):
        if isinstance(values.dtype, np.dtype):
            return _known(values.to_numpy())
        import pyarrow

        return _known(_arrow(lambda: pyarrow.array(values, from_pandas=True)))
    if polars is not None and isinstance(values, polars.Series):
        import pyarrow

        return _known(_arrow(lambda: pyarrow.table(values.to_frame()).column(0)))
    if pyarrow is not None and isinstance(values, pyarrow.ChunkedArray):
        return Memory(values.chunks, pyarrow.array([], values.type))
    if pyarrow is not None and isinstance(values, pyarrow.Array):
        return Memory([values])
    return None


def _of_objects(values: list[Any]) -> Memory:
    import pyarrow as pa

    if any(isinstance(value, (list, tuple, np.ndarray)) for value in values):
        raise ArgumentError("values are nested; give one column at a time (there is no axis)")
    if not values:
        return Memory([np.empty(0)])
    try:
        return Memory([pa.array(values)])
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        pass
    try:
        return Memory([pa.array(values, pa.uint64())])  # integers of 2^63 and more
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        raise ArgumentTypeError(f"a list of values holds objects of no common type that serves; {USE}") from None


def _arrow(make: Any) -> Any:
    import pyarrow as pa

    try:
        return make()
    except (pa.ArrowException, TypeError, ValueError):
        raise ArgumentTypeError(f"values cannot be read as an Arrow array; {USE}") from None


def _types_of(part: Any) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Type of the pieces, and the logical one."""
    if isinstance(part, np.ndarray):
        kind = part.dtype.newbyteorder("=")
        if kind.kind in "Mm":
            if np.datetime_data(kind)[0] == "generic":
                raise ArgumentTypeError("values are dates or durations without a unit; give them one")
            return np.dtype(np.int64), kind
        machine = _machine(kind, str(part.dtype))
        return machine, kind if kind.kind == "b" else machine
    import pyarrow.types as t

    found = part.type.value_type if t.is_dictionary(part.type) else part.type
    units = {"s": "s", "ms": "ms", "us": "us", "ns": "ns"}
    if t.is_null(found):
        return np.dtype(np.float64), np.dtype(np.float64)
    if t.is_date32(found):
        return np.dtype(np.int32), np.dtype("M8[D]")
    if t.is_date64(found):
        return np.dtype(np.int64), np.dtype("M8[ms]")
    if t.is_timestamp(found) or t.is_duration(found):
        return np.dtype(np.int64), np.dtype(f"{'M' if t.is_timestamp(found) else 'm'}8[{units[found.unit]}]")
    if t.is_boolean(found):
        return np.dtype(np.uint8), np.dtype(np.bool_)
    if not (t.is_integer(found) or t.is_floating(found)):
        raise ArgumentTypeError(f"values of type {found} have no grid; {USE}")
    machine = _machine(np.dtype(found.to_pandas_dtype()), str(found))
    return machine, machine


def _machine(kind: np.dtype[Any], name: str) -> np.dtype[Any]:
    if kind.kind == "b":
        return np.dtype(np.uint8)
    if kind == np.float16:
        return np.dtype(np.float32)
    if kind.kind not in "iuf" or kind.itemsize > 8:
        raise ArgumentTypeError(f"values of dtype {name} have no grid; {USE}")
    return kind
