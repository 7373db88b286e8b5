"""Several columns answered together: their codes joined into cells, the answers split into columns of their own types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpfast.columns.base import ColumnAdapter, code_type
from dpfast.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast.domain import Domain
    from dpfast.product import Cells

__all__ = ["JointColumns"]


class JointColumns:
    """A tuple of columns, one a part of a product; each is read and rebuilt by an adapter of its own."""

    def __init__(self, domain: Domain, columns: Any, name: Any, adapt: Callable[[Domain, Any, Any], ColumnAdapter]) -> None:
        if not isinstance(columns, (tuple, list)):
            raise ArgumentTypeError(f"the domain is a product: give a tuple of {len(domain.parts)} columns, not one column")
        if len(columns) != len(domain.parts):
            raise ArgumentError(f"the domain is a product of {len(domain.parts)}; give as many columns, not {len(columns)}")
        names = name if isinstance(name, tuple) and len(name) == len(columns) else (name,) * len(columns)
        self.domain = domain
        self.parts = [adapt(*part) for part in zip(domain.parts, columns, names, strict=True)]
        if len({part.n_rows for part in self.parts}) > 1:
            raise ArgumentError("columns that are answered together have equally many rows; these differ")
        self.n_rows = self.parts[0].n_rows
        self.code_type = code_type(domain.size)
        self._cells = cast("Cells", domain.cells)

    def tile(self, start: int, stop: int, scratch: NDArray[Any]) -> NDArray[Any]:
        codes = [part.tile(start, stop, np.empty(stop - start, part.code_type)) for part in self.parts]
        self._cells.join(codes, scratch)
        if self.domain.other_code is not None:
            scratch[scratch == self.domain.size] = self.domain.other_code
        return scratch

    def answers(self, out: Any) -> NDArray[Any]:
        if out is not None:
            raise ArgumentTypeError("out= is for one numpy column; columns that are answered together come as new ones")
        return np.empty(self.n_rows, self.code_type)

    def rebuild(self, codes: NDArray[Any], out: Any = None) -> tuple[Any, ...]:
        split = self._cells.split(codes, [part.code_type for part in self.parts])
        return tuple(part.rebuild(own) for part, own in zip(self.parts, split, strict=True))
