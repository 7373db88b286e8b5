"""pandas columns: Series of numpy integers, booleans and objects, of text, nullable and Arrow types, and categoricals.

A Series keeps its index and its name; the name of its noise is `column_name=` alone. The categories of a categorical are data:
the codes of its rows are remapped to the declared domain, and the answers have that as their categories, in its order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dpfast._core import rows as core
from dpfast.columns.array import adapt_array
from dpfast.columns.arrow import ArrowColumn
from dpfast.columns.base import ColumnAdapter, are_codes, check_arrow_type, code_type, refuse
from dpfast.columns.bins import adapt_binned_array
from dpfast.errors import ArgumentTypeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast.domain import Domain

__all__ = ["adapt_series", "plain_series"]

_INTEGERS = tuple(getattr(pd, f"{sign}Int{bits}Dtype") for sign in ("", "U") for bits in (8, 16, 32, 64))
_NULLABLE = (*_INTEGERS, pd.BooleanDtype, pd.Float32Dtype, pd.Float64Dtype)
_KINDS = {"range": "iu", "int": "iu", "bool": "b", "text": "", "bytes": "", "bins": "iuf"}


def adapt_series(domain: Domain, series: pd.Series, name: Any) -> ColumnAdapter:
    """Return the adapter of a Series, after every check that needs no value."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return CategoricalColumn(domain, series, name)
    if isinstance(dtype, np.dtype):
        _check_numpy(domain, dtype, name)
        values = series.to_numpy()
        adapt = adapt_binned_array if domain.kind == "bins" else adapt_array
        return SeriesColumn(domain, series, adapt(domain, values, name))
    if isinstance(dtype, pd.StringDtype) and dtype.storage == "python":
        # by way of objects: text that is no Unicode has no Arrow form, and is outside every domain
        if domain.kind != "text":
            refuse(name, f"has dtype {dtype}, which does not fit a domain of {domain.kind} values")
        return SeriesColumn(domain, series, adapt_array(domain, series.to_numpy(dtype=object), name))
    if isinstance(dtype, (pd.StringDtype, pd.ArrowDtype, *_NULLABLE)):
        return SeriesColumn(domain, series, ArrowColumn(domain, pa.array(series.array), name))
    refuse(name, f"has dtype {dtype}, which is none of text, integers, booleans, bytes or categories")


def plain_series(series: pd.Series | pd.Index) -> Any:
    """Return the values of a Series or Index as a numpy or pyarrow array."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return series.to_numpy()
    if isinstance(dtype, pd.StringDtype) and dtype.storage == "python":
        return series.to_numpy(dtype=object)
    try:
        return pa.array(series.array)
    except (pa.ArrowException, UnicodeEncodeError):
        raise ArgumentTypeError(f"a pandas column of dtype {dtype} has no Arrow form") from None


def _check_numpy(domain: Domain, dtype: np.dtype[Any], name: Any) -> None:
    """What is told better in terms of pandas than of numpy."""
    if domain.kind == "bins":
        return
    if dtype.kind == "f":
        refuse(
            name,
            f"has dtype {dtype}, which does not fit a domain of {domain.kind} values; cut numbers into bins first, or, if they "
            "are integers with gaps, use .astype('Int64')",
        )
    if dtype.kind in _KINDS[domain.kind] and domain.null_code is not None:
        nullable = "boolean" if dtype.kind == "b" else "Int64"
        refuse(name, f"has dtype {dtype}, which cannot hold the null of its domain; use .astype({nullable!r})")


class _Column:
    """Shared: answers come as a new Series with the index and name of the column."""

    code_type: np.dtype[Any]

    def __init__(self, domain: Domain, series: pd.Series) -> None:
        self.domain = domain
        self.series = series
        self.n_rows = len(series)

    def answers(self, out: Any) -> NDArray[Any]:
        if out is not None:
            raise ArgumentTypeError("out= is for numpy columns; a pandas Series comes as a new one")
        return np.empty(self.n_rows, self.code_type)

    def series_of(self, values: Any) -> pd.Series:
        index = self.series.index if len(values) == self.n_rows else None
        # text among objects would be taken for a column of text
        dtype = object if isinstance(values, np.ndarray) and values.dtype.kind == "O" else None
        return pd.Series(values, index=index, name=self.series.name, dtype=dtype, copy=False)


class SeriesColumn(_Column):
    """A Series that is read as its numpy or Arrow memory. Bins become an ordered categorical of their labels."""

    def __init__(self, domain: Domain, series: pd.Series, inner: ColumnAdapter) -> None:
        super().__init__(domain, series)
        self._inner = inner
        self.code_type = inner.code_type

    def tile(self, start: int, stop: int, scratch: NDArray[Any]) -> NDArray[Any]:
        return self._inner.tile(start, stop, scratch)

    def rebuild(self, codes: NDArray[Any], out: Any = None) -> Any:
        if self.domain.kind == "bins":
            labels = pd.Index([label for label in self.domain.values if label is not None])
            return self.series_of(_categorical(self.domain, codes, labels, ordered=True))
        values = self._inner.rebuild(codes)
        dtype = self.series.dtype
        if isinstance(self._inner, ArrowColumn):
            answered = pd.ArrowDtype(values.type) if isinstance(dtype, pd.ArrowDtype) else dtype
            return self.series_of(answered.__from_arrow__(values))
        return self.series_of(values if isinstance(dtype, np.dtype) else pd.array(values, dtype=dtype))


class CategoricalColumn(_Column):
    """A categorical: its codes are looked up in a table of its categories, which are data."""

    def __init__(self, domain: Domain, series: pd.Series, name: Any) -> None:
        super().__init__(domain, series)
        self.code_type = code_type(domain.size)
        categories = series.dtype.categories
        self._categories = _declared(domain, categories.dtype, name)
        codes = series.array.codes
        self._indices = codes.view(f"u{codes.itemsize}")
        # index -1 is null: all are one more than they were, and a table of one entry more has no index below it
        table = np.empty(len(categories) + 1, self.code_type)
        table[0] = domain.outside_code if domain.null_code is None else domain.null_code
        table[1:] = _codes_of(domain, categories, name, table[1:])
        self._table = table

    def tile(self, start: int, stop: int, scratch: NDArray[Any]) -> NDArray[Any]:
        indices = self._indices[start:stop]
        if are_codes(indices, self._table[1:]):
            return np.ascontiguousarray(indices)
        # in the memory of the answers where it serves: new memory for each tile costs more than both passes
        moved = np.add(indices, indices.dtype.type(1), out=scratch if scratch.dtype == indices.dtype else None)
        core.remap(moved, None, 0, self._table, 0, scratch)
        return scratch

    def rebuild(self, codes: NDArray[Any], out: Any = None) -> Any:
        ordered = bool(self.series.dtype.ordered) or self.domain.kind == "bins"
        return self.series_of(_categorical(self.domain, codes, self._categories, ordered=ordered))


def _codes_of(domain: Domain, categories: pd.Index, name: Any, scratch: NDArray[Any]) -> NDArray[Any]:
    """Codes of the categories of a column, by value."""
    if domain.kind == "bins":
        adapter: ColumnAdapter = adapt_binned_array(domain, categories.to_numpy(), name)
    else:
        adapter = adapt_array(domain, categories.to_numpy(dtype=object), name)
    return adapter.tile(0, len(categories), np.empty(len(categories), adapter.code_type))


def _declared(domain: Domain, dtype: Any, name: Any) -> pd.Index:
    """The categories of the answers: the declared domain without its null, in the type that the categories have."""
    kind = getattr(dtype, "kind", "")
    known = isinstance(dtype, (np.dtype, *_NULLABLE))
    values: Any = np.arange(domain.size) if domain.kind == "range" else [v for v in domain.values if v is not None]
    if domain.kind == "bins":
        fits = isinstance(dtype, np.dtype) and kind in _KINDS["bins"]
        dtype = None
    elif isinstance(dtype, pd.ArrowDtype):
        check_arrow_type(domain, dtype.pyarrow_dtype, name)
        fits = True
    elif isinstance(dtype, pd.StringDtype):
        fits = domain.kind == "text"
    else:
        fits = known and (kind == "O" or kind in _KINDS[domain.kind])
    if not fits:
        refuse(name, f"has categories of dtype {dtype}, which do not fit a domain of {domain.kind} values")
    if known and dtype is not None and kind in "iu":
        bits = 8 * dtype.itemsize - (kind == "i")
        ends = (0, domain.size - 1) if domain.kind == "range" else values
        if min(ends) < (-(1 << bits) if kind == "i" else 0) or max(ends) >= 1 << bits:
            refuse(name, f"has categories of dtype {dtype}, which cannot hold all values of its domain")
    return pd.Index(values, dtype=dtype)


def _categorical(domain: Domain, codes: NDArray[Any], categories: pd.Index, *, ordered: bool) -> pd.Categorical:
    """A categorical of all codes, with the index type that pandas has for so many categories; takes `codes` over."""
    dtype = pd.CategoricalDtype(categories, ordered=ordered)
    narrow = pd.Categorical([], dtype=dtype).codes.dtype
    if domain.null_code is not None:
        places = np.arange(domain.size)
        places[domain.null_code :] -= 1
        places[domain.null_code] = -1
        unsigned = np.dtype(f"u{narrow.itemsize}")
        indices = np.empty(codes.size, unsigned)
        core.remap(codes, None, 0, places.astype(narrow).view(unsigned), 0, indices)
        indices = indices.view(narrow)
    else:
        indices = codes.view(narrow) if narrow.itemsize == codes.itemsize else codes.astype(narrow)
    return pd.Categorical.from_codes(indices, dtype=dtype, validate=False)
