"""Columns of numbers as the statistics of Duff take them: without nulls, clipped and snapped to the public grid."""

from __future__ import annotations

import decimal
import numbers
import sys
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dpfast.columns import plain_column
from dpfast.duff.grid import Grid
from dpfast.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Neighbours", "check_neighbours", "grid_indices", "numbers_of"]

Neighbours = Literal["add_remove", "replace_one"]


def check_neighbours(neighbours: Any) -> None:
    """Refuse what names no relation."""
    if neighbours not in ("add_remove", "replace_one"):
        raise ArgumentError('neighbours must be "add_remove" (the number of rows is private) or "replace_one" (it is public)')


def numbers_of(column: Any) -> tuple[NDArray[Any], int, np.dtype[Any] | None]:
    """The numbers of a column without NaN and nulls, how many of these there were, and the declared type of the column.

    A list and an array of objects declare none: what their values happen to be is data.
    """
    n = len(column) if hasattr(column, "__len__") else 0
    if isinstance(column, (list, tuple, range)):
        column = np.fromiter(column, object, n)
    elif (polars := sys.modules.get("polars")) is not None and isinstance(column, polars.Series):
        column = column.to_arrow()
    else:
        column = plain_column(column)
    if column is None:
        raise ArgumentTypeError("values must be a 1-D numpy array, a pyarrow, pandas or polars column, or a list of numbers")
    if not isinstance(column, np.ndarray):
        column = _of_arrow(column)
    if column.ndim != 1:
        raise ArgumentError("values must be one-dimensional")
    if isinstance(column, np.ma.MaskedArray):
        column = column.compressed()
    if column.dtype == object:
        present = _of_objects(column)
        return present, n - present.size, None
    if column.dtype.kind not in "biufMm":
        raise ArgumentTypeError(f"values must be numbers, dates or times, not {column.dtype}")
    missing = np.isnat(column) if column.dtype.kind in "Mm" else np.isnan(column) if column.dtype.kind == "f" else None
    if missing is not None and missing.any():
        column = column[~missing]
    return column, n - column.size, column.dtype


def _of_objects(values: NDArray[Any]) -> NDArray[Any]:
    """What is there of Python's numbers, in an array that holds them exactly."""
    plain = (value.item() if isinstance(value, np.generic) else value for value in values.tolist())
    present = [value for value in plain if value is not None and not _is_nan(value)]
    for value in present:
        if not isinstance(value, numbers.Real | decimal.Decimal):
            raise ArgumentTypeError("a list of values must hold numbers, None or NaN; give dates as a numpy or Arrow array")
    if all(isinstance(value, float) for value in present):
        return np.array(present, np.float64)
    if all(isinstance(value, int) and -(1 << 63) <= value < 1 << 63 for value in present):
        return np.array(present, np.int64)
    return np.fromiter(present, object, len(present))


def _is_nan(value: Any) -> bool:
    return value.is_nan() if isinstance(value, decimal.Decimal) else bool(value != value)  # a signalling one cannot be compared


def _of_arrow(column: Any) -> NDArray[Any]:
    import pyarrow.types as t

    kind = column.type
    if not (
        t.is_integer(kind)
        or t.is_floating(kind)
        or t.is_boolean(kind)
        or t.is_date(kind)
        or t.is_timestamp(kind)
        or t.is_duration(kind)
    ):
        raise ArgumentTypeError(f"values must be numbers, dates or times, not {kind}")
    present = column.drop_null()
    array: NDArray[Any] = present.to_numpy(zero_copy_only=False) if hasattr(present, "buffers") else present.to_numpy()
    return array


def grid_indices(
    values: Any, *, bounds: Any, step: Any, neighbours: Neighbours, missing: Any = None
) -> tuple[Grid, NDArray[np.int64]]:
    """The grid of a column, and the grid point of each row.

    Under add_remove rows without a number are dropped, a rule for each row by itself; under replace_one they count as `missing`,
    by default the lower bound, so that the number of rows stays what it is.
    """
    check_neighbours(neighbours)
    present, n_missing, dtype = numbers_of(values)
    if dtype is None and isinstance(bounds, (tuple, list)) and all(isinstance(bound, numbers.Integral) for bound in bounds):
        dtype = np.dtype(np.int64)  # integers if the bounds, which are public, are
    grid = Grid(bounds, step=step, dtype=dtype)
    filling = 0 if missing is None else grid.index_of(missing)
    indices = grid.snap(present)
    if n_missing and neighbours == "replace_one":
        indices = np.append(indices, np.full(n_missing, filling, np.int64))
    return grid, indices
