"""What every column adapter offers, and the type rules they share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

import numpy as np

from dpfast.errors import ArgumentTypeError, CorruptDataError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from dpfast.domain import Domain

__all__ = [
    "ColumnAdapter",
    "IntegerCodes",
    "Piece",
    "are_codes",
    "arrow_values",
    "check_arrow_type",
    "check_structure",
    "clip_codes",
    "code_type",
    "output_arrow_type",
    "refuse",
]


class ColumnAdapter(Protocol):
    """A column, seen as codes of its domain. A value outside the domain has the code k, or that of ``other=``."""

    n_rows: int
    code_type: np.dtype[Any]

    def tile(self, start: int, stop: int, scratch: NDArray[Any]) -> NDArray[Any]:
        """Codes of rows start .. stop-1: either `scratch` (as many elements), filled, or a view of the column itself."""

    def answers(self, out: Any) -> NDArray[Any]:
        """Room for the sanitised codes: memory of `out` where that serves, else new memory."""

    def rebuild(self, codes: NDArray[Any], out: Any = None) -> Any:
        """Make a column like this one from all its codes; into `out` where given. Takes `codes` over."""


class Piece(NamedTuple):
    """A part of a column that comes in many: what was made of the dictionary of one serves the next, if that is the same.

    The memory belongs to whoever cuts the column, and to one domain; it holds data of the column.
    """

    array: pa.Array
    memory: dict[str, tuple[pa.Array, NDArray[Any]]]


def refuse(name: Any, text: str) -> NoReturn:
    """Raise the error of a column whose type does not fit."""
    raise ArgumentTypeError(("the column " if name is None else f"column {name!r} ") + text)


def code_type(largest: int) -> np.dtype[Any]:
    """Narrowest unsigned type that holds `largest`."""
    return np.dtype(np.uint8 if largest <= 0xFF else np.uint16 if largest <= 0xFFFF else np.uint32)


def clip_codes(codes: NDArray[Any], k: int) -> NDArray[Any]:
    """Codes with every one outside the domain made k; a type too narrow for k holds no such code."""
    return np.minimum(codes, codes.dtype.type(k)) if k <= np.iinfo(codes.dtype).max else codes


def are_codes(indices: NDArray[Any], table: NDArray[Any]) -> bool:
    """Whether every index is its own code: entries in the order of the domain, indices of one width with codes, none beyond."""
    if indices.dtype != table.dtype or not indices.size or not table.size or int(table[-1]) != table.size - 1:
        return False
    return int(indices.max()) < table.size and bool((table == np.arange(table.size)).all())


class IntegerCodes:
    """Codes of integers of any native width; k outside the domain. The sorted values are kept from one tile to the next."""

    def __init__(self, domain: Domain, dtype: np.dtype[Any]) -> None:
        self.domain = domain
        self.dtype = dtype
        self._known: tuple[NDArray[Any], NDArray[Any]] | None = None

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        wide = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64, copy=False)
        if self.domain.kind == "range":
            # a negative integer is at least 2^63 as its unsigned twin, and so outside every range
            return np.minimum(wide.view(np.uint64), np.uint64(self.domain.size)).astype(self.dtype)
        known = self._known
        if known is None:  # two threads may both sort: the same arrays
            pairs = sorted((v, c) for v, c in self.domain.index.items() if v is not None)  # they fit: the type was checked
            known = self._known = np.array([v for v, _ in pairs], wide.dtype), np.array([c for _, c in pairs], self.dtype)
        keys, codes = known
        places = np.minimum(np.searchsorted(keys, wide), keys.size - 1)
        return np.where(keys[places] == wide, codes[places], self.dtype.type(self.domain.size))


_ARROW_KINDS = {"text": "text", "bytes": "binary", "int": "integer", "range": "integer", "bool": "boolean"}


def check_arrow_type(domain: Domain, column_type: pa.DataType, name: Any) -> None:
    """Refuse an Arrow type that cannot hold the domain's values; a dictionary is judged by its values."""
    import pyarrow as pa
    import pyarrow.types as t

    value_type = column_type.value_type if t.is_dictionary(column_type) else column_type
    if domain.kind == "bins":
        if not (t.is_integer(value_type) or t.is_floating(value_type)):
            refuse(name, f"has type {column_type}; bins take integers and floats")
        return
    kind = _ARROW_KINDS[domain.kind]
    fits = {
        "text": t.is_string(value_type) or t.is_large_string(value_type) or value_type == pa.string_view(),
        "binary": t.is_binary(value_type)
        or t.is_large_binary(value_type)
        or t.is_fixed_size_binary(value_type)
        or value_type == pa.binary_view(),
        "integer": t.is_integer(value_type),
        "boolean": t.is_boolean(value_type),
    }[kind]
    if not fits:
        hint = "; cut numbers into bins first" if t.is_floating(value_type) else "; convert one of them"
        refuse(name, f"has type {column_type}, but its domain declares {kind} values{hint}")
    try:
        if domain.kind == "range":  # judged by its end: it may have 2^31 values
            pa.array([domain.size - 1], value_type)
        else:
            arrow_values(domain, value_type)
    except (pa.ArrowInvalid, OverflowError):
        refuse(name, f"has type {column_type}, which cannot hold all values of its domain")


def check_structure(array: pa.Array) -> None:
    """Refuse an array whose buffers are shorter than it says, or whose offsets leave them; bytes are looked at, not text."""
    import pyarrow as pa

    as_bytes = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    try:
        array.view(as_bytes.get(array.type, array.type)).validate(full=True)
    except (pa.ArrowInvalid, pa.ArrowIndexError):
        raise CorruptDataError("an Arrow array is broken: its buffers are too short, or its offsets point outside them") from None


def arrow_values(domain: Domain, value_type: pa.DataType, *, null: bool = False) -> pa.Array:
    """All values of the domain, in order, with or without its null, as an Arrow array of the type; made once."""
    import pyarrow as pa

    values = domain.arrow.get((value_type, null))
    if values is None:  # two threads may both make it: the same array
        if domain.kind == "range":
            values = pa.array(np.arange(domain.size, dtype=value_type.to_pandas_dtype()))
        else:
            values = pa.array([v for v in domain.values if null or v is not None], value_type)
        domain.arrow[value_type, null] = values
    return values


def output_arrow_type(domain: Domain, column_type: pa.DataType) -> pa.DataType:
    """Type of the sanitised column: a dictionary gets the narrowest signed index that holds the domain; others are kept.

    Bins become an ordered dictionary of their labels.
    """
    import pyarrow as pa

    if domain.kind == "bins":
        column_type = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    if not pa.types.is_dictionary(column_type):
        return column_type
    size = domain.size - (domain.null_code is not None)
    index = pa.int8() if size <= 1 << 7 else pa.int16() if size <= 1 << 15 else pa.int32()
    return pa.dictionary(index, column_type.value_type, column_type.ordered)
