"""Counting the answers of one or several columns, by public keys and with public weights, in one pass over batches.

The cells are the mixed-radix codes of key and columns: memory is that of the table of counts, whatever the number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast.domain import Domain
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.sanitise import Answers
from dpfast.words import TILE_ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CELLS_MAX", "Counter", "Groups", "as_array", "check_weights"]

CELLS_MAX: Final = 10**7  # of a table of several columns or keys


class Groups:
    """The keys of public columns that are asked for; rows of other keys are left out.

    Parameters
    ----------
    names : tuple of str
        Of the public columns.
    keys : list or tuple
        Distinct keys; tuples where there are several columns.

    Attributes
    ----------
    names, keys : tuple
        As given.
    """

    def __init__(self, names: tuple[str, ...], keys: Any) -> None:
        if not isinstance(keys, (list, tuple, range)) or not len(keys):
            raise ArgumentTypeError(
                "by= needs keys=, a list of the keys to answer: write them down, so that every one gets an answer"
            )
        _check_cells(len(keys), "by=")
        width = len(names)
        rows = [(key,) for key in keys] if width == 1 else list(keys)
        if not all(isinstance(row, tuple) and len(row) == width for row in rows):
            raise ArgumentTypeError(f"every key must be a tuple of {width} values, one for each column of by=")
        if len(set(rows)) != len(rows):
            raise ArgumentError("keys must list each key once")
        self.names = names
        self.keys = tuple(keys)
        # dict.fromkeys: distinct, in order.
        self._domains = [Domain(list(dict.fromkeys(row[i] for row in rows)), unknown="randomise") for i in range(width)]
        self._shape = tuple(domain.size + 1 for domain in self._domains)
        _check_cells(math.prod(self._shape), "by=")
        self._places = np.full(self._shape, len(rows), np.int64)
        for place, row in enumerate(rows):
            self._places[tuple(domain.code_of(value) for domain, value in zip(self._domains, row, strict=True))] = place

    @classmethod
    def of(cls, by: Any, keys: Any) -> Groups | None:
        """Return the groups of `by`, columns without names, and `keys`; None without them."""
        if by is None:
            if keys is not None:
                raise ArgumentTypeError("keys= says which keys of by= to answer; give by= as well")
            return None
        width = len(by) if isinstance(by, tuple) else 1
        if width == 0:
            raise ArgumentTypeError("by= must be a column or a tuple of columns")
        return cls(("key",) if width == 1 else tuple(f"key_{i + 1}" for i in range(width)), keys)

    @property
    def parts(self) -> tuple[tuple[Any, ...], ...]:
        """Of each column the values that occur in keys."""
        return tuple(tuple(domain.values) for domain in self._domains)

    def codes(self, columns: Sequence[Any]) -> NDArray[np.int64]:
        """Return the place of each row's key, or the number of keys for a row of another one."""
        codes = [
            domain.encode(column, name=name) for domain, column, name in zip(self._domains, columns, self.names, strict=True)
        ]
        if len({len(part) for part in codes}) > 1:
            raise ArgumentError("the columns of by= must have as many rows as each other")
        result: NDArray[np.int64] = self._places[tuple(codes)]
        return result


class Counter:
    """Counts of the cells of a table of sanitised columns.

    Parameters
    ----------
    domains : sequence of Domain
        Those of the columns.
    names : sequence of str, optional
        Of the columns, for error texts.
    groups : Groups, optional
        A table for each key.
    weighted : bool
        Whether rows have weights.

    Raises
    ------
    ArgumentError
        If the table would have more than 10**7 cells.
    """

    def __init__(
        self,
        domains: Sequence[Domain],
        *,
        names: Sequence[str] | None = None,
        groups: Groups | None = None,
        weighted: bool = False,
    ) -> None:
        self._domains = list(domains)
        self._names: Sequence[str | None] = names or [None] * len(self._domains)
        self._groups = groups
        self._shape = tuple(domain.size for domain in self._domains)
        n_groups = 1 if groups is None else len(groups.keys)
        if len(self._shape) > 1 or groups is not None:
            _check_cells(n_groups * math.prod(self._shape), "the table")
        # One place more for each dimension that may lead outside: rows of keys that are not asked for.
        self._cells = math.prod(self._shape) * (n_groups + (groups is not None))
        self._counts: NDArray[Any] = np.zeros(self._cells, np.float64 if weighted else np.int64)
        self._squares = np.zeros(self._cells) if weighted else None

    def add(
        self,
        columns: Sequence[Any],
        *,
        by: Sequence[Any] | None = None,
        weights: NDArray[Any] | None = None,
        squares: NDArray[np.float64] | None = None,
    ) -> None:
        """Count the rows of one batch.

        Parameters
        ----------
        columns : sequence of ndarray, pyarrow Array or ChunkedArray, pandas or polars Series
            The answers, one column for each domain.
        by : sequence of columns, if there are groups
            Public columns.
        weights : ndarray, if rows have weights
            Checked by `check_weights`. Where they have none, integers: how many rows each of these stands for.
        squares : ndarray, optional
            Where each row stands for several whose weights are summed: the sums of their squares.
        """
        answers = [
            Answers(domain, column, name) for domain, column, name in zip(self._domains, columns, self._names, strict=True)
        ]
        n_rows = answers[0].n_rows
        keys = None if self._groups is None or by is None else self._groups.codes(by)
        lengths = {one.n_rows for one in answers} | {len(beside) for beside in (keys, weights) if beside is not None}
        if lengths != {n_rows}:
            raise ArgumentError("columns, by= and weights= must have as many rows as each other")
        for start in range(0, n_rows, TILE_ROWS):
            stop = min(start + TILE_ROWS, n_rows)
            cells = np.zeros(stop - start, np.int64) if keys is None else keys[start:stop].copy()
            for size, column in zip(self._shape, answers, strict=True):
                cells *= size
                cells += column.codes(start, stop)
            self._add(self._counts, cells, None if weights is None else weights[start:stop])
            if weights is not None and self._squares is not None:
                self._add(self._squares, cells, (weights**2 if squares is None else squares)[start:stop])

    def _add(self, table: NDArray[Any], cells: NDArray[np.int64], weights: NDArray[np.float64] | None) -> None:
        if self._cells <= TILE_ROWS:
            table += np.bincount(cells, weights, self._cells).astype(table.dtype)
        else:  # the table is larger than the tile: touch only the cells that occur
            np.add.at(table, cells, 1 if weights is None else weights)

    def tables(self) -> Iterator[tuple[NDArray[Any], NDArray[np.float64] | None]]:
        """Yield, for each key or once, the counts and the sums of squared weights, one axis for each column."""
        n_groups = 1 if self._groups is None else len(self._groups.keys)
        counts = self._counts.reshape(-1, *self._shape)
        squares = None if self._squares is None else self._squares.reshape(-1, *self._shape)
        for group in range(n_groups):
            yield counts[group], None if squares is None else squares[group]


def as_array(value: Any, text: str) -> NDArray[Any]:
    """Return an array, or refuse what is none: lists of different lengths."""
    try:
        return np.asarray(value)
    except ValueError:
        raise ArgumentTypeError(text) from None


def check_weights(weights: Any) -> NDArray[np.float64] | None:
    """Return public row weights as doubles, or say what is wrong with them."""
    if weights is None:
        return None
    array = as_array(weights, "weights must be a one-dimensional column of numbers")
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise ArgumentTypeError("weights must be a one-dimensional column of numbers")
    array = array.astype(np.float64)
    if not np.isfinite(array).all() or (array < 0).any():
        raise ArgumentError("weights must be finite and not negative, and none may be null")
    return array


def _check_cells(cells: int, what: str) -> None:
    if cells > CELLS_MAX:
        raise ArgumentError(f"{what} would have more than {CELLS_MAX:,} cells; take fewer columns or keys")
