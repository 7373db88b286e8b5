"""The joint alphabet of several columns: mixed-radix codes, in declared order, the last column fastest.

With k_1, ..., k_J the sizes of the parts, the cell (c_1, ..., c_J) has the index ((c_1 k_2 + c_2) k_3 + c_3) ...; where only
some cells are declared, its code is the position of that index in their list.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from dpfast._core import rows as core
from dpfast._domain_values import DIGEST_PERSON, SIZE_MAX, update_digest
from dpfast.columns.base import clip_codes, code_type
from dpfast.errors import DomainError

__all__ = ["CellValues", "Cells"]

INDEX_MAX: Final = 1 << 63
TABLE_MAX: Final = 1 << 16  # tables of at most this many cells stay in the cache; beyond, arithmetic and a binary search


class Cells:
    """Codes of the cells of a product, all of them or those of a list."""

    __slots__ = ("_listed", "_order", "_tables", "indices", "radices", "size")

    def __init__(self, radices: tuple[int, ...], only: Sequence[tuple[int, ...]] | None) -> None:
        self.radices = radices
        whole = math.prod(radices)
        self.size = whole if only is None else len(only)
        self.indices: NDArray[np.uint64] | None = None
        if self.size > SIZE_MAX:
            raise DomainError("a product has at most 2**31 cells; declare the possible ones with only=, or fewer columns")
        self._tables = _Tables.of(self) if only is None else None
        if only is None:
            return
        if whole > INDEX_MAX:
            raise DomainError("the parts of a product have more than 2**63 combinations; take fewer columns together")
        if not only:
            raise DomainError("only= lists no cell; a product needs at least one")
        self.indices = np.array([self.index_of(cell) for cell in only], np.uint64)
        self._order = np.argsort(self.indices)
        self._listed = self.indices[self._order]
        if bool((self._listed[1:] == self._listed[:-1]).any()):
            raise DomainError("only= lists each cell once; some cell is repeated")
        self._tables = _Tables.of(self)

    def index_of(self, cell: Sequence[int]) -> int:
        """Mixed-radix index of one cell."""
        index = 0
        for code, radix in zip(cell, self.radices, strict=True):
            index = index * radix + code
        return index

    def code_of(self, cell: Sequence[int]) -> int | None:
        """Code of one cell, or None where it is not declared."""
        index = self.index_of(cell)
        if self.indices is None:
            return index
        place = int(np.searchsorted(self._listed, np.uint64(index)))
        return int(self._order[place]) if place < self.size and int(self._listed[place]) == index else None

    def cell_of(self, code: int) -> tuple[int, ...]:
        """Codes of the parts of one cell."""
        index = code if self.indices is None else int(self.indices[code])
        cell = []
        for radix in reversed(self.radices):
            index, part = divmod(index, radix)
            cell.append(part)
        return tuple(reversed(cell))

    def join(self, parts: Sequence[NDArray[Any]], out: NDArray[Any]) -> NDArray[Any]:
        """Write the codes of cells, given part by part, to `out`; that of an unknown part or an undeclared cell is `size`."""
        tables = self._tables
        if tables is None:
            return self._join_by_arithmetic(parts, out)
        # one more value a part, for whatever is unknown: a look-up settles everything
        index = np.zeros(out.size, tables.index_type)
        for codes, radix in zip(parts, self.radices, strict=True):
            index *= tables.index_type.type(radix + 1)
            index += clip_codes(codes, radix).astype(tables.index_type, copy=False)
        core.remap(index, None, 0, tables.join(out.dtype), 0, out)
        return out

    def _join_by_arithmetic(self, parts: Sequence[NDArray[Any]], out: NDArray[Any]) -> NDArray[Any]:
        wide = np.uint32 if self.indices is None else np.uint64
        index: NDArray[Any] = np.zeros(out.size, wide)
        outside = np.zeros(out.size, bool)
        for codes, radix in zip(parts, self.radices, strict=True):
            beyond = codes >= radix
            outside |= beyond
            index *= wide(radix)
            index += np.where(beyond, wide(0), codes.astype(wide, copy=False))
        if self.indices is None:
            out[:] = index
        else:
            places = np.minimum(np.searchsorted(self._listed, index), self.size - 1)
            out[:] = np.where(self._listed[places] == index, self._order[places], self.size)
        out[outside] = self.size
        return out

    def split(self, codes: NDArray[Any], types: Sequence[np.dtype[Any]]) -> list[NDArray[Any]]:
        """Codes of the parts, each in its type, from the codes of cells."""
        if self._tables is not None:
            parts = [np.empty(codes.size, dtype) for dtype in types]
            for table, part in zip(self._tables.split, parts, strict=True):
                core.remap(codes, None, 0, table.astype(part.dtype), 0, part)
            return parts
        index: NDArray[Any] = codes.astype(np.uint32) if self.indices is None else self.indices[codes]
        parts = []
        for radix, dtype in zip(reversed(self.radices), reversed(types), strict=True):
            index, part = np.divmod(index, index.dtype.type(radix))
            parts.append(part.astype(dtype))
        return parts[::-1]

    def digest(self, parts: Sequence[bytes]) -> bytes:
        """32 bytes that identify the product, from the digests of its parts and the list of cells."""
        state = hashlib.blake2b(digest_size=32, person=DIGEST_PERSON)
        for part in parts:
            update_digest(state, b"p", part)
        if self.indices is not None:
            update_digest(state, b"o", self.indices.astype("<u8").tobytes())
        return state.digest()


class _Tables:
    """Codes of all cells, and cells of all codes, of a small product: both ways are one look-up."""

    __slots__ = ("_join", "index_type", "split")

    def __init__(self, cells: Cells) -> None:
        shape = tuple(radix + 1 for radix in cells.radices)
        self.index_type = code_type(math.prod(shape) - 1)
        places = cells.indices if cells.indices is not None else np.arange(cells.size, dtype=np.uint64)
        self.split = np.unravel_index(places.astype(np.int64), cells.radices)
        self._join: NDArray[Any] = np.full(shape, cells.size, np.uint32)
        self._join[self.split] = np.arange(cells.size)

    @classmethod
    def of(cls, cells: Cells) -> _Tables | None:
        """The tables of a product, or None if it is large."""
        return cls(cells) if math.prod(radix + 1 for radix in cells.radices) <= TABLE_MAX else None

    def join(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The code of each cell, unknown parts included, in the type of the codes."""
        return self._join.astype(dtype).reshape(-1)


class CellValues(Sequence[tuple[Any, ...]]):
    """The values of a product, a tuple each, made when they are asked for."""

    __slots__ = ("_cells", "_values")

    def __init__(self, cells: Cells, values: Sequence[Sequence[Any]]) -> None:
        self._cells = cells
        self._values = tuple(values)

    def __len__(self) -> int:
        return self._cells.size

    @overload
    def __getitem__(self, code: int) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, code: slice) -> tuple[tuple[Any, ...], ...]: ...
    def __getitem__(self, code: int | slice) -> tuple[Any, ...]:
        if isinstance(code, slice):
            return tuple(self[place] for place in range(*code.indices(len(self))))
        place = code + len(self) if code < 0 else code
        if not 0 <= place < len(self):
            raise IndexError("a product has fewer cells than that")
        return tuple(values[part] for values, part in zip(self._values, self._cells.cell_of(place), strict=True))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return (self[place] for place in range(len(self)))
