"""Outputs as cells, and events as sets of cells: chosen on one half of the samples, tested on the other.

Whatever a mechanism returns is first mapped to one of finitely many cells. The map is made from outputs of the choosing half
alone, and so is the event. Hence the counts of the other half are binomial, and what they prove holds however it was chosen.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from dpfast.audit._bounds import LARGEST_EXPONENT, wilson
from dpfast.audit._sources import NAN_LABEL, as_double

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FEW", "Cells", "Codes", "Event", "Labels", "Numbers", "choose", "plain"]

FEW: Final = 5  # outputs, added to both counts of a cell: smaller counts do not make a ratio
SIMPLICITY: Final = 0.02  # of the best value, given up for a half-line
SHOWN: Final = 4  # pieces of an event that its text names


@dataclass(frozen=True)
class Event:
    """A set of outputs, and how likely it is.

    Attributes
    ----------
    text : str
        The outputs, for a person. A long list is cut short.
    probability, neighbour_probability : float
        Of the event under the dataset, and under its neighbour: of an exact audit the true ones, rounded; of samples the shares
        seen among those that tested it.
    contains : callable
        ``contains(outputs)`` says of each output whether it lies in the event: array of bool. Of an exact audit outputs are codes
        of categories.
    """

    text: str
    probability: float
    neighbour_probability: float
    contains: Callable[[Any], NDArray[np.bool_]]

    def __repr__(self) -> str:
        return f"Event({self.text!r}, {self.probability:.6g}, {self.neighbour_probability:.6g})"


class Cells(Protocol):
    """A partition of all outputs."""

    @property
    def size(self) -> int: ...
    @property
    def is_ordered(self) -> bool: ...
    def find(self, outputs: Any) -> NDArray[np.int64]: ...
    def describe(self, cells: NDArray[np.int64]) -> str: ...


@dataclass(frozen=True)
class Codes:
    """Outputs that are cells already: codes of k categories."""

    size: int
    is_ordered: bool = False

    def find(self, outputs: Any) -> NDArray[np.int64]:
        return np.asarray(outputs, np.int64)

    def describe(self, cells: NDArray[np.int64]) -> str:
        return _listed([f"code {cell}" for cell in cells[:SHOWN].tolist()], cells.size)


class Numbers:
    """The line cut at edges: cell 2 i + 1 is edge i alone, cell 2 i what lies before it; the last cell is NaN.

    A value that comes up often is an edge, or several, so it is a cell of its own beside the interval next to it.
    """

    is_ordered = True

    def __init__(self, edges: NDArray[Any]) -> None:
        self._edges = edges

    @property
    def size(self) -> int:
        return 2 * self._edges.size + 2

    def find(self, outputs: Any) -> NDArray[np.int64]:
        is_array = isinstance(outputs, np.ndarray)
        if self._edges.dtype.kind == "f":
            doubles = outputs.astype(np.float64) if is_array else np.array([as_double(x) for x in outputs], np.float64)
            cells = self._between(doubles)
            cells[np.isnan(doubles)] = self.size - 1
            return cells
        if is_array and outputs.dtype.kind == self._edges.dtype.kind:
            return self._between(outputs)
        return self._exactly(outputs.tolist() if is_array else outputs)

    def _between(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        cells: NDArray[np.int64] = np.searchsorted(self._edges, numbers, "left") + np.searchsorted(self._edges, numbers, "right")
        return cells

    def _exactly(self, outputs: Sequence[Any]) -> NDArray[np.int64]:
        """Cells of anything beside integers: a double of them all would merge some of those that are far from 0."""
        edges = self._edges.tolist()

        def cell(output: Any) -> int:
            if not isinstance(output, Real) or output != output:
                return self.size - 1
            return bisect_left(edges, output) + bisect_right(edges, output)

        return np.fromiter(map(cell, outputs), np.int64, len(outputs))

    def describe(self, cells: NDArray[np.int64]) -> str:
        runs = np.split(cells, np.flatnonzero(np.diff(cells) > 1) + 1) if cells.size else []
        pieces = [self._piece(int(run[0]), int(run[-1])) for run in runs[:SHOWN]]
        return _listed(pieces, len(runs))

    def _piece(self, first: int, last: int) -> str:
        nan = self.size - 1
        if first == nan:
            return "NaN"
        behind = " or NaN" if last == nan else ""
        last = min(last, nan - 1)
        if first == last and first % 2:
            return f"{self._edge(first // 2)}{behind}"
        # an odd cell begins or ends at its own edge, which belongs to it; an even one lies between two
        low = f"[{self._edge(first // 2)}" if first % 2 else f"({self._edge(first // 2 - 1)}" if first else "[-inf"
        high = f"{self._edge(last // 2)}]" if last % 2 else f"{self._edge(last // 2)})" if last < nan - 1 else "inf]"
        return f"{low}, {high}{behind}"

    def _edge(self, place: int) -> str:
        edge = self._edges[place]
        return f"{edge:.6g}" if self._edges.dtype.kind == "f" else str(edge)


class Labels:
    """A cell for each of the most frequent outputs, and one for all others."""

    is_ordered = False

    def __init__(self, labels: Sequence[Any]) -> None:
        self._labels = labels
        self._cells = {label: cell for cell, label in enumerate(labels)}

    @property
    def size(self) -> int:
        return len(self._labels) + 1

    def find(self, outputs: Any) -> NDArray[np.int64]:
        last = len(self._labels)
        return np.fromiter((self._cells.get(label, last) for label in plain(outputs)), np.int64, len(outputs))

    def describe(self, cells: NDArray[np.int64]) -> str:
        shown = [
            repr(self._labels[cell]) if cell < len(self._labels) else "any output that the first half has not, or seldom"
            for cell in cells[:SHOWN].tolist()
        ]
        return _listed(shown, cells.size)


def choose(
    counts: NDArray[np.int64],
    neighbour: NDArray[np.int64],
    *,
    is_ordered: bool,
    epsilon: float,
    delta: float,
    z: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return two events, as cells: one to bound epsilon by at `delta`, and one to bound delta by at `epsilon`.

    Parameters
    ----------
    counts, neighbour : array of int64, shape (n_cells,)
        Outputs of the choosing half in each cell, for the dataset and its neighbour.
    is_ordered : bool
        Whether cells stand in order on a line; then half-lines are looked at, too.
    epsilon, delta : float
        What is claimed.
    z : float
        Of the bounds to come, in standard deviations.

    Returns
    -------
    pair of arrays of int64, ascending

    Notes
    -----
    By Neyman and Pearson the best events take cells in descending order of the ratio of their probabilities. Of all such sets
    those are taken whose bounds would be best if the other half had these counts. Half-lines, which follow chance less, are
    preferred unless that costs two hundredths. Cost: O(n_cells log n_cells).
    """
    factor = math.exp(min(epsilon, LARGEST_EXPONENT))
    line = np.arange(counts.size - (is_ordered and not counts[-1] + neighbour[-1]))  # without NaN where there is none
    by_ratio = np.argsort(-(counts + FEW) / (neighbour + FEW), kind="stable")
    orders = [(1.0, line), (1.0, line[::-1]), (1.0 - SIMPLICITY, by_ratio)] if is_ordered else [(1.0, by_ratio)]
    events = [by_ratio[:1], by_ratio[:1]]
    best = [-math.inf, -math.inf]
    for worth, order in orders:
        low, _ = wilson(np.cumsum(counts[order]), max(1, int(counts.sum())), z)
        _, high = wilson(np.cumsum(neighbour[order]), max(1, int(neighbour.sum())), z)
        for number, value in enumerate(((low - delta) / high, low - factor * high)):
            length = int(np.argmax(value))
            if (found := worth * float(value[length])) > best[number]:
                best[number], events[number] = found, order[: length + 1]
    return np.sort(events[0]), np.sort(events[1])


def plain(outputs: Any) -> list[Any]:
    """Labels, which a number is too: NaN, which is not its own equal, as in a list of them."""
    if not isinstance(outputs, np.ndarray):
        return list(outputs)
    return [NAN_LABEL if number != number else number for number in outputs.tolist()]


def _listed(pieces: Sequence[str], n: int) -> str:
    if not n:
        return "no output"
    return " or ".join(pieces) + (f" or {n - len(pieces)} more" if n > len(pieces) else "")
