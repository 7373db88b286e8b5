"""numpy columns: integers, booleans, fixed-width text and bytes, objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfast.columns.base import IntegerCodes, code_type, refuse
from dpfast.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast.domain import Domain

__all__ = ["adapt_array"]

_UNSIGNED: dict[int, np.dtype[Any]] = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32)}
_KINDS = {"range": "iu", "int": "iu", "bool": "b", "text": "U", "bytes": "S"}


def adapt_array(domain: Domain, column: NDArray[Any], name: Any) -> ArrayColumn:
    """Return the adapter of a numpy column, after every check that needs no value."""
    if isinstance(column, np.ma.MaskedArray):
        refuse(name, "is a masked array; use a pyarrow array, which has nulls, and None in the domain")
    if column.ndim != 1:
        refuse(name, f"has {column.ndim} dimensions; a column has one")
    kind = column.dtype.kind
    # numpy's name of a text type tells the length of the longest value
    shown = {"U": "str", "S": "bytes"}.get(kind, column.dtype)
    if kind == "O":
        return ObjectColumn(domain, column)
    if kind not in _KINDS[domain.kind]:
        hint = "; cut numbers into bins first" if kind == "f" else ""
        refuse(name, f"has dtype {shown}, which does not fit a domain of {domain.kind} values{hint}")
    if domain.null_code is not None:
        refuse(name, f"has dtype {shown}, which cannot hold the null of its domain; use pyarrow or an object array")
    if kind in "iu":
        bits = 8 * column.itemsize - (kind == "i")
        largest, smallest = (1 << bits) - 1, -(1 << bits) if kind == "i" else 0
        # a range is judged by its end: it may have 2^31 values
        ends: Any = (domain.size - 1,) if domain.kind == "range" else domain.values
        if not all(smallest <= v <= largest for v in ends):
            refuse(name, f"has dtype {column.dtype}, which cannot hold all values of its domain")
        if domain.kind == "range" and domain.other is None and column.dtype.isnative and column.itemsize < 8:
            return CodeColumn(domain, column)
        return IntegerColumn(domain, column)
    if kind == "b":
        return BooleanColumn(domain, column)
    end = "\0" if kind == "U" else b"\0"
    if any(v.endswith(end) for v in domain.values):
        refuse(name, f"has dtype {shown}, which drops the NULs that end a value of its domain; use pyarrow or objects")
    return TextColumn(domain, column)


class ArrayColumn(ABC):
    """Shared by all numpy adapters: values are looked up tile by tile and put back by one table."""

    def __init__(self, domain: Domain, column: NDArray[Any]) -> None:
        self.domain = domain
        self.column = column
        self.n_rows = column.size
        self.code_type = self.choose_code_type()

    def choose_code_type(self) -> np.dtype[Any]:
        return code_type(self.domain.size)

    @abstractmethod
    def lookup(self, values: NDArray[Any]) -> NDArray[Any]:
        """Codes of some values; k outside the domain."""

    def tile(self, start: int, stop: int, scratch: NDArray[Any]) -> NDArray[Any]:
        scratch[:] = self.lookup(self.column[start:stop])
        if self.domain.other_code is not None:
            scratch[scratch == self.domain.size] = self.domain.other_code
        return scratch

    def check_out(self, out: Any) -> None:
        if not isinstance(out, np.ndarray):
            raise ArgumentTypeError("out must be a numpy array, as the column is")
        if out.shape != self.column.shape or out.dtype != self.output_type:
            raise ArgumentError(f"out needs the column's length and dtype {self.output_type}")
        if not out.flags.writeable:
            raise ArgumentError("out is read-only")

    @property
    def output_type(self) -> np.dtype[Any]:
        return self.column.dtype

    def answers(self, out: Any) -> NDArray[Any]:
        if out is not None:
            self.check_out(out)
        return np.empty(self.n_rows, self.code_type)

    def rebuild(self, codes: NDArray[Any], out: Any = None) -> Any:
        values = self.values_of(codes)
        if out is None:
            return values
        out[:] = values
        return out

    def values_of(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Values of some codes, in the dtype of the sanitised column."""
        return np.take(np.array(self.domain.values, self.output_type), codes)


class CodeColumn(ArrayColumn):
    """Integers 0 .. k-1 that are their own codes: the kernel works on the column's memory, with no copy."""

    def __init__(self, domain: Domain, column: NDArray[Any]) -> None:
        super().__init__(domain, column)
        self._codes = column.view(self.code_type)  # a negative integer is past every code as its unsigned twin
        self._ready = column.flags.c_contiguous and column.flags.aligned

    def choose_code_type(self) -> np.dtype[Any]:
        return _UNSIGNED[self.column.itemsize]

    def lookup(self, values: NDArray[Any]) -> NDArray[Any]:
        return values.view(self.code_type)

    def tile(self, start: int, stop: int, scratch: NDArray[Any]) -> NDArray[Any]:
        codes = self._codes[start:stop]
        return codes if self._ready else np.require(codes, requirements=["C", "A"])

    def answers(self, out: Any) -> NDArray[Any]:
        if out is None:
            return np.empty(self.n_rows, self.code_type)
        self.check_out(out)
        # strided or misaligned memory is filled at the end, from contiguous answers; so is memory that overlaps the input
        # out of step
        in_step = out.ctypes.data == self.column.ctypes.data and out.strides == self.column.strides
        whole = out.flags.c_contiguous and out.flags.aligned
        usable = whole and (in_step or not np.may_share_memory(out, self.column))
        return out.view(self.code_type) if usable else np.empty(self.n_rows, self.code_type)

    def rebuild(self, codes: NDArray[Any], out: Any = None) -> Any:
        if out is None:
            return codes.view(self.column.dtype)
        if not np.may_share_memory(out, codes):
            out[:] = codes.view(self.column.dtype)
        return out


class IntegerColumn(ArrayColumn):
    """Integers of any width and byte order."""

    def __init__(self, domain: Domain, column: NDArray[Any]) -> None:
        super().__init__(domain, column)
        self._codes_of = IntegerCodes(domain, self.code_type)

    def lookup(self, values: NDArray[Any]) -> NDArray[Any]:
        return self._codes_of(values.astype(values.dtype.newbyteorder("="), copy=False))

    def values_of(self, codes: NDArray[Any]) -> NDArray[Any]:
        if self.domain.kind == "range":
            return codes.astype(self.column.dtype)
        return super().values_of(codes)


class BooleanColumn(ArrayColumn):
    def lookup(self, values: NDArray[Any]) -> NDArray[Any]:
        no, yes = (self.code_type.type(self.domain.index.get(value, self.domain.size)) for value in (False, True))
        codes: NDArray[Any] = np.where(values, yes, no)  # any byte but 0 is true, as numpy has it
        return codes


class TextColumn(ArrayColumn):
    """Fixed-width text or bytes. The width of the input is data; that of the output is the domain's longest value."""

    @property
    def output_type(self) -> np.dtype[Any]:
        return np.array(self.domain.values).dtype

    def lookup(self, values: NDArray[Any]) -> NDArray[Any]:
        return _lookup_objects(self.domain, values.tolist(), self.code_type)


class ObjectColumn(ArrayColumn):
    """Python objects; None, NaN and pandas' NA and NaT are null, and whatever is not of the domain's kind is outside it."""

    def lookup(self, values: NDArray[Any]) -> NDArray[Any]:
        return _lookup_objects(self.domain, values.tolist(), self.code_type)

    def values_of(self, codes: NDArray[Any]) -> NDArray[Any]:
        if self.domain.kind == "range":
            return codes.astype(object)
        values: NDArray[Any] = np.empty(self.domain.size, object)
        values[:] = self.domain.values
        return np.take(values, codes)


def _lookup_objects(domain: Domain, values: list[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Codes of Python values. Text and bytes are their own keys; other kinds need a look at the type (True == 1 == 1.0)."""
    outside = domain.size
    null = outside if domain.null_code is None else domain.null_code
    if domain.kind in ("text", "bytes"):
        index = domain.index
        codes = [index.get(v, outside) if isinstance(v, (str, bytes)) else _code(domain, v, outside, null) for v in values]
    else:
        codes = [_code(domain, v, outside, null) for v in values]
    return np.array(codes, dtype)


def _code(domain: Domain, value: Any, outside: int, null: int) -> int:
    if _is_null(value):
        return null
    code = domain.code_of(value)
    return outside if code is None else code


def _is_null(value: Any) -> bool:
    # pandas' singletons are known by their names: pandas is not imported for them, and NA answers no question about itself
    nan = isinstance(value, (float, np.floating)) and bool(value != value)
    return value is None or nan or type(value).__name__ in ("NAType", "NaTType")
