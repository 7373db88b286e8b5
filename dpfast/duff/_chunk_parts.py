"""Chunks of a column in memory, and their types: pieces of plain machine numbers out of numpy and Arrow arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from dpfast.columns.base import check_structure
from dpfast.errors import ArgumentTypeError, CorruptDataError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["PIECE_ROWS", "USE", "ArrayChunk", "ArrowChunk", "Chunk", "types_of"]

PIECE_ROWS: Final = 1 << 17  # 1 MiB of doubles: stays in the second-level cache between a conversion and its use
USE: Final = "take integers, floats, booleans, dates, timestamps or durations"


class Chunk(Protocol):
    """A run of rows in memory."""

    rows: int

    def piece(self, start: int, stop: int) -> NDArray[Any]:
        """The values of rows start .. stop-1, at most `PIECE_ROWS`; nulls are left out."""

    def take(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """The values of some rows; nulls are left out."""

    def aligned(self, start: int, stop: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """A value for each of the rows start .. stop-1, and which of them are null and have any value; None if none is."""


class ArrayChunk:
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
        plain = self._machine(part)
        absent = _not_a_time(plain) if part.dtype.kind in "Mm" else None
        return plain if absent is None else plain[~absent]

    def aligned(self, start: int, stop: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        part = self._array[start:stop]
        plain = self._machine(np.asarray(part))
        if isinstance(part, np.ma.MaskedArray):
            absent: NDArray[np.bool_] | None = np.ma.getmaskarray(part).copy()
        else:
            absent = None
        if part.dtype.kind in "Mm" and (no_time := _not_a_time(plain)) is not None:
            absent = no_time if absent is None else absent | no_time
        return plain, absent

    def _machine(self, part: NDArray[Any]) -> NDArray[Any]:
        if part.dtype.kind in "Mm":
            return np.ascontiguousarray(part, part.dtype.newbyteorder("=")).view(np.int64)
        return np.require(part.view(np.uint8) if part.dtype.kind == "b" else part, self._dtype, ["C", "A"])


class ArrowChunk:
    def __init__(self, array: pa.Array, dtype: np.dtype[Any]) -> None:
        check_structure(array)
        self._array = array
        self._dtype = dtype
        self.rows = len(array)

    def piece(self, start: int, stop: int) -> NDArray[Any]:
        return self._plain(self._array.slice(start, stop - start))

    def take(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        return self._plain(self._array.take(rows))

    def aligned(self, start: int, stop: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        part = self._decoded(self._array.slice(start, stop - start))
        if not part.null_count:
            return self._machine(part), None
        absent = part.is_null().to_numpy(zero_copy_only=False)
        return self._machine(part.fill_null(_zero(part.type))), absent

    def _plain(self, part: pa.Array) -> NDArray[Any]:
        part = self._decoded(part)
        return self._machine(part.drop_null() if part.null_count else part)

    def _decoded(self, part: pa.Array) -> pa.Array:
        """Plain machine integers, floats or bits, nulls as they are."""
        import pyarrow as pa

        if pa.types.is_dictionary(part.type):
            try:
                part = part.dictionary.take(part.indices)
            except pa.ArrowIndexError:
                raise CorruptDataError("a dictionary index points outside its dictionary") from None
        if pa.types.is_null(part.type):
            return pa.nulls(len(part), pa.float64())
        if pa.types.is_float16(part.type):
            return part.cast(pa.float32())
        if pa.types.is_boolean(part.type) or pa.types.is_integer(part.type) or pa.types.is_floating(part.type):
            return part
        return part.view(pa.int32() if part.type.bit_width == 32 else pa.int64())

    def _machine(self, part: pa.Array) -> NDArray[Any]:
        found = part.to_numpy(zero_copy_only=False)
        return np.require(found.view(np.uint8) if found.dtype.kind == "b" else found, self._dtype, ["C", "A"])


def _zero(kind: pa.DataType) -> Any:
    import pyarrow as pa

    return pa.scalar(False if pa.types.is_boolean(kind) else 0, kind)


def _not_a_time(values: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    absent = values == np.iinfo(np.int64).min  # NaT
    return absent if absent.any() else None


def types_of(part: Any) -> tuple[np.dtype[Any], np.dtype[Any]]:
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
