"""Identifiers for permanent noise: which column types serve, that none is null or repeated, and their encoding.

Identifiers are public. Their encoding is part of the stream's frozen format: a tag for the kind, then 8 bytes for an integer
of any width, UTF-8 for text, raw bytes for binary and UUID; a tuple is tagged part by part, each part being tag, length
(3 bytes, little-endian) and bytes.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast.columns import CONTAINERS, plain_column
from dpfast.columns.base import check_structure
from dpfast.errors import ArgumentTypeError, CorruptDataError, IdError
from dpfast.randomness import fresh_key
from dpfast.words import TILE_IDS, IdCells

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


__all__ = ["IdColumn", "prepare_ids"]

TAG_INTEGER: Final = 1  # 2: an integer of 2^63 and more
TAG_TEXT: Final = 3
TAG_BYTES: Final = 4
TAG_TUPLE: Final = 5
_USE = "use integers, text, binary or UUID"
ID_BYTES_MAX: Final = (1 << 24) - 1  # a length has three bytes
DENSE_SPAN: Final = 8  # a table of flags pays where identifiers span at most this many times their number


class IdColumn:
    """Encoded identifiers of a column: integers, or byte strings with their offsets."""

    __slots__ = ("data", "n_rows", "offsets", "tag")

    def __init__(self, data: NDArray[Any], offsets: NDArray[np.int64] | None, tag: int) -> None:
        self.data = data
        self.offsets = offsets
        self.tag = tag
        self.n_rows = data.size if offsets is None else offsets.size - 1

    def words(self, cells: IdCells, start: int, stop: int, codes: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """Words of rows start .. stop-1, whose true codes are `codes`."""
        if self.offsets is None:
            return cells.of_integers(self.data[start:stop], self.tag, codes)
        return cells.of_bytes(self.data, self.offsets[start : stop + 1], self.tag, codes)

    def tagged(self) -> pa.LargeBinaryArray:
        """Each identifier as a part of a tuple: tag, length, bytes."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.offsets is None:
            eight = _large_binary(self.data.view(np.uint8), np.arange(self.n_rows + 1) * 8)
            tags = self.tag + (self.data.view(np.uint64) >> np.uint64(63)) * (self.data.dtype.kind == "u")
            lengths = np.full(self.n_rows, 8)
        else:
            eight = _large_binary(self.data, self.offsets)
            tags = np.full(self.n_rows, self.tag)
            lengths = np.diff(self.offsets)
        header = np.empty((self.n_rows, 4), np.uint8)
        header[:, 0] = tags
        for place in range(3):
            header[:, 1 + place] = lengths >> 8 * place & 0xFF
        heads = _large_binary(header.reshape(-1), np.arange(self.n_rows + 1) * 4)
        return pc.binary_join_element_wise(heads, eight, pa.scalar(b"", pa.large_binary()))


def prepare_ids(ids: Any, n_rows: int | None = None, *, unique: bool = True) -> IdColumn:
    """Encode identifiers, refusing nulls and, with `unique`, repeated ones.

    Parameters
    ----------
    ids : ndarray, pyarrow Array or ChunkedArray, pandas or polars Series, or tuple, shape (n_rows,)
        Integers, text, binary or UUID; not floats.
    n_rows : int, optional
        Rows of the column they belong to.
    unique : bool
        Whether to look for repeated identifiers.

    Returns
    -------
    IdColumn

    Raises
    ------
    IdError
        Null or repeated identifiers, one of 16 MiB and more, or another number of them than rows.
    ArgumentTypeError
        A type that cannot identify.
    CorruptDataError
        A dictionary index outside its dictionary, or offsets outside their data.
    """
    if isinstance(ids, IdColumn):
        column = ids
        unique = False
    elif isinstance(ids, tuple):
        column = _tuple_ids(ids)
    else:
        column = _encode(ids)
    if n_rows is not None and column.n_rows != n_rows:
        raise IdError("ids and the column differ in length")
    if column is not ids and column.offsets is not None and int(np.diff(column.offsets).max(initial=0)) > ID_BYTES_MAX:
        raise IdError("an identifier has 16 MiB or more (a tuple with all its parts); ids are shorter than that")
    if unique and not _distinct(column):
        raise IdError("an identifier is repeated; ids must be unique within a table, or equal rows would share their noise")
    return column


def _encode(ids: Any) -> IdColumn:
    plain = plain_column(ids)
    if plain is None:
        raise ArgumentTypeError(f"ids are {CONTAINERS}, or a tuple of them; not {type(ids).__name__}")
    if not isinstance(plain, np.ndarray):
        return _encode_arrow(plain)
    ids = plain
    if ids.ndim != 1:
        raise ArgumentTypeError(f"ids have {ids.ndim} dimensions; identifiers have one")
    if isinstance(ids, np.ma.MaskedArray):
        raise ArgumentTypeError("ids are a masked array, which may hide some; identifiers have no gaps")
    if ids.dtype.kind in "iu":
        wide = np.int64 if ids.dtype.kind == "i" else np.uint64
        return IdColumn(np.require(ids, wide, ["C", "A"]), None, TAG_INTEGER)
    if ids.dtype.kind in "USO":
        return _encode_objects(ids.tolist())
    raise ArgumentTypeError(f"ids of dtype {ids.dtype} cannot identify rows; {_USE}")


def _encode_objects(values: list[Any]) -> IdColumn:
    import pyarrow as pa

    values = [v.item() if isinstance(v, (np.str_, np.bytes_, np.integer)) else v for v in values]
    kinds = {type(v) for v in values}
    if type(None) in kinds or any(kind.__name__ in ("NAType", "NaTType") for kind in kinds):
        raise IdError("an identifier is null")
    if any(issubclass(kind, (float, np.floating)) for kind in kinds):
        raise ArgumentTypeError(f"ids hold floats, which cannot identify rows; {_USE}")
    if len(kinds) > 1 or not kinds <= {str, bytes, int, uuid.UUID}:
        raise ArgumentTypeError(f"ids hold objects of several types, or of one that cannot identify; {_USE} throughout")
    if kinds == {int}:
        try:
            return _encode(np.array(values, np.int64 if min(values) < 0 else np.uint64))
        except OverflowError:
            raise IdError("integer ids must all fit 64 bits, with a sign or without") from None
    if kinds == {uuid.UUID}:
        values = [v.bytes for v in values]
    try:
        return _encode_arrow(pa.array(values, pa.large_binary() if kinds & {bytes, uuid.UUID} else pa.large_string()))
    except UnicodeEncodeError:
        raise IdError("an identifier is not valid Unicode text") from None


def _encode_arrow(ids: pa.Array | pa.ChunkedArray) -> IdColumn:
    import pyarrow as pa
    import pyarrow.types as t

    chunks = [_plain(chunk) for chunk in (ids.chunks if isinstance(ids, pa.ChunkedArray) else [ids])]
    # a column without chunks has a type all the same
    array = pa.concat_arrays(chunks or [_plain(pa.array([], ids.type))]) if len(chunks) != 1 else chunks[0]
    if array.null_count:
        raise IdError("an identifier is null")
    if t.is_integer(array.type):
        return _encode(array.to_numpy(zero_copy_only=False))
    if array.type == pa.large_string():
        return IdColumn(*_buffers(array), TAG_TEXT)
    if array.type == pa.large_binary():
        return IdColumn(*_buffers(array), TAG_BYTES)
    raise ArgumentTypeError(f"ids of type {ids.type} cannot identify rows; {_USE}")


def _plain(chunk: pa.Array) -> pa.Array:
    """A chunk without extension, dictionary or short offsets; each chunk is read by its own dictionary."""
    import pyarrow as pa
    import pyarrow.types as t

    if isinstance(chunk, pa.ExtensionArray):
        chunk = chunk.storage
    if t.is_dictionary(chunk.type):
        check_structure(chunk.indices)
        try:
            return _plain(chunk.dictionary).take(chunk.indices)
        except pa.ArrowIndexError:
            raise CorruptDataError("a dictionary index of ids points outside its dictionary") from None
    check_structure(chunk)
    if t.is_string(chunk.type) or t.is_large_string(chunk.type) or chunk.type == pa.string_view():
        return chunk.cast(pa.large_string())
    binary = t.is_binary(chunk.type) or t.is_large_binary(chunk.type) or t.is_fixed_size_binary(chunk.type)
    return chunk.cast(pa.large_binary()) if binary or chunk.type == pa.binary_view() else chunk


def _tuple_ids(parts: tuple[Any, ...]) -> IdColumn:
    if not parts:
        raise IdError("ids is an empty tuple")
    columns = [_encode(part) for part in parts]
    if len({column.n_rows for column in columns}) > 1:
        raise IdError("the columns of ids differ in length")
    import pyarrow as pa
    import pyarrow.compute as pc

    joined = pc.binary_join_element_wise(*(c.tagged() for c in columns), pa.scalar(b"", pa.large_binary()))
    return IdColumn(*_buffers(joined), TAG_TUPLE)


def _buffers(array: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int64, len(array) + 1, 8 * array.offset) if len(array) else np.zeros(1, np.int64)
    return np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8), bounds


def _large_binary(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> pa.LargeBinaryArray:
    import pyarrow as pa

    return pa.Array.from_buffers(
        pa.large_binary(), offsets.size - 1, [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(data)]
    )


def _distinct(column: IdColumn) -> bool:
    if column.offsets is not None:
        return _distinct_bytes(column)
    ids = column.data
    if ids.size < 2 or bool((ids[1:] > ids[:-1]).all()):
        return True
    low, high = int(ids.min()), int(ids.max())
    if high - low < DENSE_SPAN * ids.size:
        seen = np.zeros(high - low + 1, bool)
        seen[ids - ids.dtype.type(low)] = True
        return int(np.count_nonzero(seen)) == ids.size
    ordered = np.sort(ids)
    return bool((ordered[1:] != ordered[:-1]).all())


def _distinct_bytes(column: IdColumn) -> bool:
    """By words of a key of this call: equal identifiers have equal words, and those few that have are then compared.

    A table of the identifiers themselves costs ten times as much.
    """
    import pyarrow.compute as pc

    cells = IdCells(fresh_key())
    words = np.empty(column.n_rows, np.uint64)
    for start in range(0, column.n_rows, TILE_IDS):
        stop = min(start + TILE_IDS, column.n_rows)
        words[start:stop] = column.words(cells, start, stop, np.zeros(stop - start, np.uint32))
    ordered = np.sort(words)
    equal = ordered[1:][ordered[1:] == ordered[:-1]]
    if not equal.size:
        return True
    rows = np.flatnonzero(np.isin(words, equal))
    alike = _large_binary(column.data, np.ascontiguousarray(column.offsets)).take(rows)
    return bool(pc.count_distinct(alike).as_py() == rows.size)
