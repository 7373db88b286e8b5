"""Columns as users hold them, to codes of a declared domain and back into the same container.

`adapt` is the door: it checks everything that can be known without a value and returns an adapter. One file a kind of
container; a new container is a new file and a line here.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfast.columns.base import ColumnAdapter, check_arrow_type, output_arrow_type
from dpfast.errors import ArgumentTypeError

if TYPE_CHECKING:
    from dpfast.domain import Domain

__all__ = ["ColumnAdapter", "adapt", "check_arrow_type", "output_arrow_type"]


def adapt(domain: Domain, column: Any, name: Any) -> ColumnAdapter:
    """Return the adapter of a column; ArgumentTypeError where its type does not fit the domain. No value is read."""
    if domain.kind == "product":
        from dpfast.columns.joint import JointColumns

        return JointColumns(domain, column, name, adapt)
    if isinstance(column, np.ndarray):
        if domain.kind == "bins":
            from dpfast.columns.bins import adapt_binned_array

            return adapt_binned_array(domain, column, name)
        from dpfast.columns.array import adapt_array

        return adapt_array(domain, column, name)
    if (pyarrow := sys.modules.get("pyarrow")) and isinstance(column, (pyarrow.Array, pyarrow.ChunkedArray)):
        from dpfast.columns.arrow import ArrowColumn

        return ArrowColumn(domain, column, name)
    raise ArgumentTypeError(
        f"a column is a 1-D numpy array or a pyarrow Array or ChunkedArray, not {type(column).__name__}; "
        "pyarrow.array(column) makes one of most things"
    )
