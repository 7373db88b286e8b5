"""Columns of numbers as the statistics of Duff take them: without nulls, clipped and snapped to the public grid."""

from __future__ import annotations

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


def numbers_of(column: Any) -> tuple[NDArray[Any], int]:
    """The numbers of a column (numpy, Arrow, pandas, polars, a list) without NaN and nulls, and how many of these there were."""
    if isinstance(column, (list, tuple, range)):
        column = _of_list(list(column))
    elif (polars := sys.modules.get("polars")) is not None and isinstance(column, polars.Series):
        column = column.to_arrow()
    else:
        column = plain_column(column)
    if column is None:
        raise ArgumentTypeError("values must be a 1-D numpy array, a pyarrow, pandas or polars column, or a list of numbers")
    n = len(column)
    if not isinstance(column, np.ndarray):
        column = _of_arrow(column)
    elif column.dtype == object:
        column = _of_list(column.tolist())
    if column.ndim != 1:
        raise ArgumentError("values must be one-dimensional")
    if column.dtype.kind not in "biufMm":
        raise ArgumentTypeError(f"values must be numbers, dates or times, not {column.dtype}")
    if isinstance(column, np.ma.MaskedArray):
        column = column.compressed()
    missing = np.isnat(column) if column.dtype.kind in "Mm" else np.isnan(column) if column.dtype.kind == "f" else None
    if missing is not None and missing.any():
        column = column[~missing]
    return column, n - column.size


def _of_list(values: list[Any]) -> NDArray[Any]:
    """What is there of a list."""
    present = [value for value in values if value is not None]
    return np.asarray(present) if present else np.zeros(0)


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
    numbers, n_missing = numbers_of(values)
    grid = Grid(bounds, step=step, dtype=numbers.dtype)
    filling = 0 if missing is None else grid.index_of(missing)
    indices = grid.snap(numbers)
    if n_missing and neighbours == "replace_one":
        indices = np.append(indices, np.full(n_missing, filling, np.int64))
    return grid, indices
