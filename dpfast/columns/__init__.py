"""Columns as users hold them, to codes of a declared domain and back into the same container.

`adapt` is the door: it checks everything that can be known without a value and returns an adapter. One file a kind of
container; a new container is a new file and a line here.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast.columns.array import adapt_array
from dpfast.columns.base import ColumnAdapter, Piece, check_arrow_type, output_arrow_type
from dpfast.errors import ArgumentTypeError

if TYPE_CHECKING:
    from dpfast.domain import Domain

__all__ = ["CONTAINERS", "ColumnAdapter", "Piece", "adapt", "check_arrow_type", "output_arrow_type", "plain_column"]

CONTAINERS: Final = (
    "a 1-D numpy array, a pyarrow Array or ChunkedArray, a pandas Series, a polars Series, or has __arrow_c_array__ or "
    "__arrow_c_stream__"
)


def adapt(domain: Domain, column: Any, name: Any) -> ColumnAdapter:
    """Return the adapter of a column; ArgumentTypeError where its type does not fit the domain. No value is read."""
    if domain.kind == "product":
        from dpfast.columns.joint import JointColumns

        return JointColumns(domain, column, name, adapt)
    if isinstance(column, np.ndarray):
        if domain.kind == "bins":
            from dpfast.columns.bins import adapt_binned_array

            return adapt_binned_array(domain, column, name)
        return adapt_array(domain, column, name)
    if _is_a(column, "pyarrow", "Array", "ChunkedArray"):
        from dpfast.columns.arrow import ArrowColumn

        return ArrowColumn(domain, column, name)
    if isinstance(column, Piece):
        from dpfast.columns.arrow import ArrowColumn

        return ArrowColumn(domain, column.array, name, column.memory)
    if _is_a(column, "pandas", "Series"):
        from dpfast.columns.frames_pandas import adapt_series

        return adapt_series(domain, column, name)
    if _is_a(column, "polars", "Series"):
        from dpfast.columns.frames_polars import PolarsColumn

        return PolarsColumn(domain, column, name)
    if (imported := _imported(column)) is not None:
        from dpfast.columns.arrow import ArrowColumn

        return ArrowColumn(domain, imported, name)
    advice = "; a Policy takes tables" if hasattr(type(column), "columns") else ""
    if isinstance(column, (list, tuple)):
        advice = ": make it one of these, as by numpy.array(column)"
    elif type(column).__name__ == "Categorical":
        advice = ": make it one of these, as by pandas.Series(column)"
    raise ArgumentTypeError(f"a column is {CONTAINERS}, not {type(column).__name__}{advice}")


def plain_column(column: Any) -> Any:
    """Return the values of a public column as a numpy array, or as a pyarrow Array or ChunkedArray; None if it is no column."""
    if isinstance(column, np.ndarray) or _is_a(column, "pyarrow", "Array", "ChunkedArray"):
        return column
    if _is_a(column, "pandas", "Series", "Index"):
        from dpfast.columns.frames_pandas import plain_series

        return plain_series(column)
    if _is_a(column, "polars", "Series"):
        from dpfast.columns.frames_polars import plain_series as plain_polars

        return plain_polars(column)
    return _imported(column)


def _is_a(thing: Any, package: str, *names: str) -> bool:
    """Whether it is of a class of a package; one that is not imported has no instances, and is not imported to ask."""
    module = sys.modules.get(package)
    return isinstance(thing, tuple(kind for name in names if (kind := getattr(module, name, None)) is not None))


def _imported(column: Any) -> Any:
    """A column of any other library, by the Arrow interface of arrays or streams; None for a table or anything else."""
    if hasattr(type(column), "columns") or hasattr(type(column), "read_all"):  # a table, or a stream of its batches
        return None
    for method, make in (("__arrow_c_array__", "array"), ("__arrow_c_stream__", "chunked_array")):
        if hasattr(type(column), method):
            import pyarrow as pa

            try:
                return getattr(pa, make)(column)
            except (pa.ArrowException, TypeError, ValueError):
                return None
    return None
