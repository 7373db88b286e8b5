"""Numeric columns cut into bins: numbers to codes by exact comparison, codes back to labels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from dpfast.columns.array import ArrayColumn
from dpfast.columns.base import refuse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast.domain import Domain

BLOCK_ROWS: Final = 1 << 13  # numbers and codes of a block stay in the first-level cache
LINEAR_MAX: Final = 24  # so many comparisons of vectors are quicker than a binary search for each number

__all__ = ["BinCodes", "BinnedArray", "adapt_binned_array"]


class BinCodes:
    """Codes of numbers of one type; k outside the bins, that of null for NaN.

    A float is compared as a double, which every narrower one is exactly. An integer x lies at or above an edge e if and only
    if x >= ceil(e), which is an integer too: 64 bits are never rounded.
    """

    def __init__(self, domain: Domain, values: np.dtype[Any], codes: np.dtype[Any]) -> None:
        edges = cast("tuple[float, ...]", domain.edges)
        self._outside = codes.type(domain.size)
        self._nan = self._outside if domain.null_code is None else codes.type(domain.null_code)
        self._codes = codes
        self._last: Any
        self._wide: np.dtype[Any]
        self._starts: NDArray[Any]
        if values.kind == "f":
            self._wide = np.dtype(np.float64)
            self._starts = np.array(edges[:-1], np.float64)
            self._last = edges[-1]
            return
        self._wide = values.newbyteorder("=")
        least, most = (int(end) for end in (np.iinfo(self._wide).min, np.iinfo(self._wide).max))
        # no integer of the type reaches a start beyond its end: those bins stay empty
        starts = [max(math.ceil(edge), least) for edge in edges[:-1]]
        self._starts = np.array([start for start in starts if start <= most], self._wide)
        # where the last edge lies below the type, the first start does too: nothing is inside
        self._last = min(math.floor(edges[-1]), most)
        if self._last < least:
            self._starts, self._last = self._starts[:0], least

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        codes = np.empty(values.size, self._codes)
        for start in range(0, values.size, BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            self._block(values[block].astype(self._wide, copy=False), codes[block])
        return codes

    def _block(self, numbers: NDArray[Any], codes: NDArray[Any]) -> None:
        if self._starts.size > LINEAR_MAX:
            codes[:] = np.searchsorted(self._starts, numbers, side="right")
        else:
            codes[:] = 0
            for start in self._starts:
                codes += numbers >= start
        # a number below all starts has reached none; NaN has reached none or, by the binary search, all, but is at most nothing
        beyond = codes == 0
        beyond |= ~(numbers <= self._last)
        codes -= self._codes.type(1)
        codes[beyond] = self._outside
        if self._wide.kind == "f" and self._nan != self._outside:
            codes[np.isnan(numbers)] = self._nan


def adapt_binned_array(domain: Domain, column: NDArray[Any], name: Any) -> BinnedArray:
    """Return the adapter of a numpy column of numbers, after every check that needs no value."""
    if isinstance(column, np.ma.MaskedArray):
        refuse(name, "is a masked array; use a pyarrow array, which has nulls")
    if column.ndim != 1:
        refuse(name, f"has {column.ndim} dimensions; a column has one")
    if column.dtype.kind not in "iuf" or column.itemsize > 8:
        refuse(name, f"has dtype {column.dtype}; bins take integers and floats of at most 64 bits")
    return BinnedArray(domain, column)


class BinnedArray(ArrayColumn):
    """Integers or floats of any width and byte order; the answers are labels."""

    def __init__(self, domain: Domain, column: NDArray[Any]) -> None:
        super().__init__(domain, column)
        self._codes_of = BinCodes(domain, column.dtype, self.code_type)

    @property
    def output_type(self) -> np.dtype[Any]:
        return np.dtype(object) if self.domain.null_code is not None else np.array(self.domain.values).dtype

    def lookup(self, values: NDArray[Any]) -> NDArray[Any]:
        return self._codes_of(values.astype(values.dtype.newbyteorder("="), copy=False))
