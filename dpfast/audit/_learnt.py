"""Cells that are learnt from outputs: numbers on a line, frequent labels, or vectors by a score.

**Vectors.** Where outputs are vectors of numbers and hardly ever come twice, labels show nothing. So they are put on a line: each
part, and the difference of each two neighbouring parts, is cut into cells as a number is, and the logarithms of the ratios of the
counts in these cells are added up. Where parts are independent the sum orders outputs as Neyman and Pearson would. In any case it
is a function of one output that was made from the choosing half alone, and so what is proved by it is proved.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast.audit._events import FEW, Cells, Labels, Numbers, plain
from dpfast.audit._sources import as_double, is_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Scores", "learn"]

FEW_NUMBERS: Final = 512  # up to so many different numbers each is a cell of its own
MOST_INTERVALS: Final = 128
OUTPUTS_A_CELL: Final = 1000  # of those that make the cells
MOST_LABELS: Final = 4096
TAIL: Final = 16  # outputs beyond the outermost edge


class Scores:
    """Vectors of `parts` numbers by their score; what is no such vector is a cell of its own."""

    is_ordered = True

    def __init__(self, first: Sequence[Any], second: Sequence[Any], parts: int) -> None:
        self._parts = parts
        columns = [self._columns(outputs) for outputs in (first, second)]
        self._cells = [_line(np.concatenate(both)) for both in zip(*columns, strict=True)]
        self._weights = []
        for cells, *both in zip(self._cells, *columns, strict=True):
            counts = [np.bincount(cells.find(column), minlength=cells.size) + FEW for column in both]
            self._weights.append(np.log(counts[0] / counts[1]))
        self._line = _line(np.concatenate([self._score(outputs) for outputs in (first, second)]))

    @property
    def size(self) -> int:
        return self._line.size

    def find(self, outputs: Any) -> NDArray[np.int64]:
        return self._line.find(self._score(plain(outputs)))

    def describe(self, cells: NDArray[np.int64]) -> str:
        return f"any vector of {self._parts} parts with a score of {self._line.describe(cells)}"

    def _columns(self, outputs: Sequence[Any]) -> list[NDArray[np.float64]]:
        """The parts, then the differences of neighbours; NaN throughout for what is no such vector."""
        nothing = (math.nan,) * self._parts
        rows = [tuple(map(as_double, one)) if _length(one) == self._parts else nothing for one in outputs]
        matrix = np.array(rows, np.float64).reshape(-1, self._parts).T
        with np.errstate(invalid="ignore"):  # infinity less infinity
            return [*matrix, *np.diff(matrix, axis=0)]

    def _score(self, outputs: Sequence[Any]) -> NDArray[np.float64]:
        columns = self._columns(outputs)
        score = np.zeros(len(outputs))
        for cells, weights, column in zip(self._cells, self._weights, columns, strict=True):
            score += weights[cells.find(column)]
        score[[_length(one) != self._parts for one in outputs]] = math.nan
        return score


def learn(first: Any, second: Any) -> Cells:
    """Return cells for outputs like these: samples of a dataset and of its neighbour, arrays of numbers or lists of labels."""
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return _line(np.concatenate([first, second]))
    first, second = plain(first), plain(second)
    both = [*first, *second]
    # a refusal, None, stands beside numbers as NaN does
    if any(map(is_number, both)) and all(output is None or is_number(output) for output in both):
        return _line(_numbers(both))
    counts = Counter(both)
    if 2 * sum(count for count in counts.values() if count < FEW) > len(both):
        numbers = [output for output in both if is_number(output)]
        parts = Counter(map(_length, both)).most_common(1)[0][0]
        if 2 * len(numbers) > len(both):  # with what is none as one cell
            return _line(_numbers(numbers))
        if parts:
            return Scores(first, second, parts)
    return Labels([label for label, _ in counts.most_common(MOST_LABELS)])


def _length(output: Any) -> int:
    """The number of parts of a vector; 0 of anything else."""
    return len(output) if isinstance(output, tuple) and all(map(is_number, output)) else 0


def _numbers(outputs: Sequence[Any]) -> NDArray[Any]:
    """Integers as they are if all are such and fit, else doubles."""
    if all(isinstance(output, int) and -(1 << 63) <= output < 1 << 63 for output in outputs):
        return np.array(outputs, np.int64)
    return np.array([as_double(output) for output in outputs], np.float64)


def _line(numbers: NDArray[Any]) -> Numbers:
    both = numbers.astype(np.float64) if numbers.dtype.kind == "f" else numbers
    if both.dtype.kind == "f":
        both = both[~np.isnan(both)]
    both.sort()
    # positions at which a new number begins
    begins = np.flatnonzero(np.concatenate([[True], both[1:] != both[:-1]])) if both.size else np.zeros(0, np.int64)
    if begins.size <= FEW_NUMBERS:
        return Numbers(both[begins])
    n = both.size
    places = np.linspace(0, n - 1, min(max(n // OUTPUTS_A_CELL, 8), MOST_INTERVALS)).astype(np.int64)
    # finer towards both ends: halves, quarters, ... of what lies beyond
    tails = (n / 2.0 ** np.arange(1, max(2, math.ceil(math.log2(n / TAIL))))).astype(np.int64)
    return Numbers(np.unique(both[np.concatenate([places[1:-1], tails, n - 1 - tails])]))
