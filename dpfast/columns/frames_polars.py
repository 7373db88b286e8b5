"""polars columns: Series of text, bytes, integers, booleans, enumerations and categoricals.

A Series is read as Arrow memory, chunk by chunk, without a copy (a categorical, whose numbers are those of the whole process, is
exported first). Enumerations and categoricals are answered as an enumeration of the declared domain: the categories of a polars
categorical are shared by all columns of the process and would tell what other columns hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa

from dpfast.columns.arrow import ArrowColumn
from dpfast.columns.base import refuse
from dpfast.errors import ArgumentTypeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast.domain import Domain

__all__ = ["PolarsColumn", "plain_series"]

_INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
_TYPES = (*_INTEGERS, pl.String, pl.Binary, pl.Boolean, pl.Enum, pl.Categorical, pl.Float32, pl.Float64)


def plain_series(series: pl.Series) -> pa.ChunkedArray:
    """Return the values of a Series as Arrow memory."""
    if not isinstance(series.dtype, _TYPES):
        raise ArgumentTypeError(
            f"a polars column of type {series.dtype} is none of text, integers, booleans, bytes or categories"
        )
    return _exported(series)


def _exported(series: pl.Series) -> pa.ChunkedArray:
    """The memory of a Series, chunk by chunk; by way of a frame, as polars 1.30 states a wrong type for categories alone."""
    return pa.table(series.to_frame()).column(0)


class PolarsColumn:
    """A polars Series; the answers are a new one, with its name."""

    def __init__(self, domain: Domain, series: pl.Series, name: Any) -> None:
        if not isinstance(series.dtype, _TYPES):
            refuse(name, f"has type {series.dtype}, which is none of text, integers, booleans, bytes or categories")
        self.domain = domain
        self.n_rows = len(series)
        self._name = series.name
        self._type = series.dtype
        self._inner = ArrowColumn(domain, _exported(series), name)
        self.code_type = self._inner.code_type

    def tile(self, start: int, stop: int, scratch: NDArray[Any]) -> NDArray[Any]:
        return self._inner.tile(start, stop, scratch)

    def answers(self, out: Any) -> NDArray[Any]:
        if out is not None:
            raise ArgumentTypeError("out= is for numpy columns; a polars Series comes as a new one")
        return np.empty(self.n_rows, self.code_type)

    def rebuild(self, codes: NDArray[Any], out: Any = None) -> pl.Series:
        if self._inner.answers_in_dictionary:
            # null stands in its place among the values: polars gathers it as one
            declared = pl.Enum([value for value in self.domain.values if value is not None])
            return pl.Series(self._name, self.domain.values, dtype=declared).gather(pl.Series(codes))
        return pl.Series(self._name, self._inner.rebuild(codes), dtype=self._type)
