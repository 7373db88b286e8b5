"""pyarrow columns: arrays and chunked arrays of text, bytes, integers, booleans and dictionaries of them."""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpfast._core import rows as core
from dpfast.columns.base import (
    IntegerCodes,
    are_codes,
    arrow_values,
    check_arrow_type,
    check_structure,
    code_type,
    output_arrow_type,
    refuse,
)
from dpfast.columns.bins import BinCodes
from dpfast.errors import ArgumentTypeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast.domain import Domain

__all__ = ["ArrowColumn"]


# The dictionary that was met last, and the codes of its entries.
Memory: TypeAlias = "dict[str, tuple[pa.Array, NDArray[Any]]]"
MERGE_ROWS: Final = 1 << 12  # chunks below this are put together before they are looked up: one hash table for many
TABLES_MAX: Final = 16  # tables of dictionaries that are kept: one each serves all chunks that share it
OPEN_MAX: Final = 64  # chunks of dictionary type that are kept open, checked as a whole and not once a tile
_SHORT = (pa.string(), pa.binary())
_TAKEABLE = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}  # views cannot be taken from


class _OpenChunk(NamedTuple):
    """A chunk of dictionary type: its indices as unsigned integers, its bitmap with the bit of the first, its table."""

    indices: NDArray[Any]
    validity: NDArray[np.uint8] | None
    offset: int
    table: NDArray[Any]


class ArrowColumn:
    """An Arrow column. Each chunk is read by its own dictionary, offset and validity; outputs share nothing with the input."""

    def __init__(self, domain: Domain, column: pa.Array | pa.ChunkedArray, name: Any, memory: Memory | None = None) -> None:
        if isinstance(column, pa.ExtensionArray):
            refuse(name, f"has the extension type {column.type}; pass its storage")
        check_arrow_type(domain, column.type, name)
        self.domain = domain
        self.type = column.type
        self.chunked = isinstance(column, pa.ChunkedArray)
        self.chunks: list[pa.Array] = column.chunks if self.chunked else [column]
        self.n_rows = len(column)
        self.dictionary = pa.types.is_dictionary(column.type)
        self.value_type = column.type.value_type if self.dictionary else column.type
        self.output_type = output_arrow_type(domain, column.type)
        self.answers_in_dictionary = pa.types.is_dictionary(self.output_type)
        # a null, and a value outside the domain, when the domain says nothing else of them
        self.null = domain.outside_code if domain.null_code is None else domain.null_code
        self.code_type = code_type(domain.size)
        if self.answers_in_dictionary:
            # answers become the indices of the output without a copy when both have one width
            width = self.output_type.index_type.bit_width // 8
            self.code_type = max(self.code_type, np.dtype(f"u{width}"), key=lambda dtype: dtype.itemsize)
        self._ends = list(accumulate(len(chunk) for chunk in self.chunks))
        self._tables: dict[tuple[Any, ...], NDArray[Any]] = {}
        self._open: dict[int, _OpenChunk] = {}
        self._memory: Memory = {} if memory is None else memory
        self._places: NDArray[Any] | None = None
        self._integers = IntegerCodes(domain, self.code_type)
        if self.value_type in _SHORT and not self.dictionary:
            self._check_room(name)

    def _check_room(self, name: Any) -> None:
        """32-bit offsets must hold whatever the answers turn out to be: an overflow would depend on the data."""
        values = (v.encode() if isinstance(v, str) else v for v in self.domain.values if v is not None)
        longest = max(len(cast(bytes, v)) for v in values)
        if longest * max((len(chunk) for chunk in self.chunks), default=0) >= 1 << 31:
            refuse(name, f"has type {self.type}, whose 2 GiB a chunk may be too little for its domain; use large_{self.type}")

    def tile(self, start: int, stop: int, scratch: NDArray[Any]) -> NDArray[Any]:
        row = start
        number = bisect_right(self._ends, row)
        if self.dictionary and start < stop <= self._ends[number]:
            chunk = self._opened(number)
            first = self._ends[number] - len(self.chunks[number])
            indices = chunk.indices[start - first : stop - first]
            if chunk.validity is None and are_codes(indices, chunk.table):
                return indices
        waiting: list[pa.Array] = []  # short parts before `row` that are not encoded yet
        while row < stop:
            first = self._ends[number] - len(self.chunks[number])
            count = min(stop, self._ends[number]) - row
            if self.dictionary:
                self._remap(number, row - first, scratch[row - start : row - start + count])
            else:
                waiting.append(self.chunks[number].slice(row - first, count))
                if count >= MERGE_ROWS:
                    self._look_up(waiting, scratch[: row - start + count])
                    waiting = []
            row += count
            number += 1
        self._look_up(waiting, scratch)
        return scratch

    def answers(self, out: Any) -> NDArray[Any]:
        if out is not None:
            raise ArgumentTypeError("out= is for numpy columns; Arrow memory is immutable")
        # Arrow keeps what it is given back: memory new from the system would cost as much as the answers.
        room = pa.allocate_buffer(self.n_rows * self.code_type.itemsize)
        return np.frombuffer(room, self.code_type, self.n_rows)

    def rebuild(self, codes: NDArray[Any], out: Any = None) -> Any:
        if not self.chunked:
            return self._decode(codes)
        ends = self._ends if self._ends and self._ends[-1] == codes.size else [codes.size]
        starts = [0, *ends[:-1]]
        return pa.chunked_array([self._decode(codes[a:b]) for a, b in zip(starts, ends, strict=True)], self.output_type)

    # values to codes

    def _look_up(self, parts: list[pa.Array], before: NDArray[Any]) -> None:
        """Write the codes of parts that follow each other to the end of `before`."""
        if len(parts) > 1:
            for part in parts:
                check_structure(part)
            with suppress(pa.ArrowInvalid):  # together too long for their offsets
                parts = [pa.concat_arrays(parts)]
        end = before.size
        for part in reversed(parts):
            before[end - len(part) : end] = self._codes_of(part)
            end -= len(part)

    def _opened(self, number: int) -> _OpenChunk:
        """A chunk, looked at once. Two threads may both open one: the same views."""
        chunk = self._open.get(number)
        if chunk is None:
            indices = self.chunks[number].indices
            check_structure(indices)
            values = _values(indices, np.dtype(f"u{indices.type.bit_width // 8}"))
            chunk = _OpenChunk(values, _bitmap(indices), indices.offset, self._table(self.chunks[number].dictionary))
            if len(self._open) >= OPEN_MAX:
                self._open = {}
            self._open[number] = chunk
        return chunk

    def _remap(self, number: int, start: int, out: NDArray[Any]) -> None:
        """Write the codes of some rows of a chunk."""
        chunk = self._opened(number)
        indices = chunk.indices[start : start + out.size]
        core.remap(indices, chunk.validity, chunk.offset + start, chunk.table, self.null, out)

    def _table(self, dictionary: pa.Array) -> NDArray[Any]:
        """Codes of the entries of a dictionary. Two threads may both build the table of one: the same table."""
        # the chunks keep their memory, so an address stands for one dictionary
        addresses = (None if buffer is None else buffer.address for buffer in dictionary.buffers())
        key = (dictionary.offset, len(dictionary), *addresses)
        table = self._tables.get(key)
        if table is None:
            check_structure(dictionary)  # before it is compared
            latest = self._memory.get("latest")
            if latest is not None and latest[1].dtype == self.code_type and dictionary.equals(latest[0]):
                table = latest[1]
            else:
                table = np.ascontiguousarray(self._codes_of(dictionary))
                self._memory["latest"] = dictionary, table
            if len(self._tables) >= TABLES_MAX:
                self._tables = {}
            self._tables[key] = table
        return table

    def _codes_of(self, array: pa.Array) -> NDArray[Any]:
        """Codes of an array of plain values; k outside the domain, or that of other=."""
        domain = self.domain
        check_structure(array)
        if domain.kind in ("text", "bytes"):
            codes = self._find(array)
        else:
            if domain.kind == "bins":
                numbers = np.dtype(array.type.to_pandas_dtype())
                codes = BinCodes(domain, numbers, self.code_type)(_values(array, numbers))
            elif domain.kind == "bool":
                two = [domain.index.get(value, domain.size) for value in (False, True)]
                codes = np.array(two, self.code_type)[_values(array.cast(pa.uint8()), np.dtype(np.uint8))]
            else:
                codes = self._integers(_values(array, np.dtype(array.type.to_pandas_dtype())))
            if array.null_count:
                codes[array.is_null().to_numpy(zero_copy_only=False)] = domain.size if domain.null_code is None else self.null
        if domain.other_code is not None:
            codes[codes == domain.size] = domain.other_code
        return codes

    def _find(self, array: pa.Array) -> NDArray[Any]:
        kind = pa.large_string() if self.domain.kind == "text" else pa.large_binary()
        values = arrow_values(self.domain, kind, null=True)
        places = pc.index_in(array.cast(kind), value_set=values, skip_nulls=False)
        codes: NDArray[Any] = places.fill_null(self.domain.size).to_numpy(zero_copy_only=False)
        return codes.astype(self.code_type)

    # codes to values

    def _decode(self, codes: NDArray[Any]) -> pa.Array:
        null = self.domain.null_code
        if null is None:
            mask = None
            places = codes
        else:
            mask = codes == null
            places = self._places_without_null(null)[codes]
        if self.answers_in_dictionary:
            wanted = self.output_type.index_type
            native = np.dtype(wanted.to_pandas_dtype())
            indices = places.view(native) if native.itemsize == places.itemsize else places.astype(native)
            values = arrow_values(self.domain, self.output_type.value_type)
            return pa.DictionaryArray.from_arrays(
                _array(indices, wanted, mask), values, ordered=self.output_type.ordered, safe=False
            )
        if self.domain.kind == "range":
            return _array(places.astype(self.value_type.to_pandas_dtype()), self.value_type, mask)
        values = arrow_values(self.domain, _TAKEABLE.get(self.value_type, self.value_type))
        return values.take(_array(places, None, mask)).cast(self.value_type)

    def _places_without_null(self, null: int) -> NDArray[Any]:
        """Place of each code among the entries, which hold all but the null; that of the null is 0."""
        if self._places is None:
            table = np.arange(self.domain.size)
            table[null + 1 :] -= 1
            table[null] = 0
            self._places = table.astype(self.code_type)
        return self._places


def _values(array: pa.Array, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The fixed-width values of an array without a copy, whatever lies under its nulls."""
    data = array.buffers()[1]
    if data is None or len(array) == 0:
        return np.zeros(len(array), dtype)
    return np.require(np.frombuffer(data, dtype, len(array), array.offset * dtype.itemsize), requirements="A")


def _bitmap(array: pa.Array) -> NDArray[np.uint8] | None:
    bits = array.buffers()[0]
    return None if bits is None or array.null_count == 0 else np.frombuffer(bits, np.uint8)


def _array(values: NDArray[Any], wanted: pa.DataType | None, mask: NDArray[Any] | None) -> pa.Array:
    if mask is not None:
        return pa.array(values, wanted, mask=mask)
    return pa.array(values) if wanted is None else pa.Array.from_buffers(wanted, values.size, [None, pa.py_buffer(values)])
