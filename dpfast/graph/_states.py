"""Vertices that stand for many datasets: their names are counts of records, computed and not stored."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.graph._labels import VERTICES_MAX, Labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Grid", "Histograms", "StateLabels", "States"]


class States(Sequence[Any]):
    """Names of vertices that are computed from their numbers."""

    def __init__(self, size: int) -> None:
        if size > VERTICES_MAX:
            raise ArgumentError("the family has more than 2**31 - 1 states; make the classes coarser")
        self.size = size

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> list[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return [self.name(number) for number in range(*place.indices(self.size))]
        number = range(self.size)[place]
        return self.name(number)

    def __iter__(self) -> Iterator[Any]:
        return (self.name(number) for number in range(self.size))

    def __repr__(self) -> str:
        shown = ", ".join(repr(self.name(number)) for number in range(min(3, self.size)))
        return f"[{shown}{', ...' if self.size > 3 else ''}]"

    @abstractmethod
    def name(self, number: int) -> Any:
        """Name of a vertex."""

    @abstractmethod
    def number(self, name: Any) -> int | None:
        """Number of a vertex; None if there is none of that name."""

    @abstractmethod
    def columns(self) -> list[Any]:
        """What a query as a function is called with: an array over all vertices for each argument."""


class Grid(States):
    """One coordinate for each factor, the last one fastest."""

    def __init__(self, factors: Sequence[Labels], titles: Sequence[Any] | None = None) -> None:
        self.shape = tuple(len(labels) for labels in factors)
        self.factors = list(factors)
        self.titles = None if titles is None else list(titles)
        super().__init__(math.prod(self.shape))

    def name(self, number: int) -> tuple[Any, ...]:
        places = []
        for size in reversed(self.shape):
            number, place = divmod(number, size)
            places.append(place)
        return tuple(labels.name(place) for labels, place in zip(self.factors, reversed(places), strict=True))

    def number(self, name: Any) -> int | None:
        if isinstance(name, Mapping):
            if self.titles is None or len(name) != len(self.titles) or not all(title in name for title in self.titles):
                return None
            name = [name[title] for title in self.titles]
        if not isinstance(name, (tuple, list, np.ndarray)) or len(name) != len(self.factors):
            return None
        number = 0
        for labels, part in zip(self.factors, name, strict=True):
            try:
                number = number * len(labels) + labels.vertex(part)
            except ArgumentError:  # of that factor, which would not be understood
                return None
        return number

    def columns(self) -> list[Any]:
        found: list[Any] = []
        for axis, labels in enumerate(self.factors):
            values = labels.names
            one = values.column() if isinstance(values, Histograms) else np.asarray(values)
            if isinstance(values, Grid) or (isinstance(values, list) and one.ndim > 1):
                one = np.fromiter(iter(values), object, len(values))
            inner, outer = math.prod(self.shape[axis + 1 :]), math.prod(self.shape[:axis])
            repeated = np.repeat(one, inner, axis=0)
            found.append(np.tile(repeated, (outer, *(1,) * (one.ndim - 1))))
        return found


class Histograms(States):
    """How many of n records have each of k values, in lexicographic order."""

    def __init__(self, n: int, k: int) -> None:
        # Beyond, there are more than 2^32, and the number of them takes long to find.
        super().__init__(math.comb(n + k - 1, k - 1) if min(n, k - 1) <= 32 else VERTICES_MAX + 1)
        self.n, self.k = n, k
        self._counts: NDArray[np.int32] | None = None

    @cached_property
    def _ways(self) -> list[NDArray[np.int64]]:
        """In [m][r]: how many ways r records fall into m further values or stay out."""
        ways = [np.ones(self.n + 1, np.int64)]
        for _ in range(self.k - 1):
            ways.append(np.cumsum(ways[-1]))
        return ways

    def column(self) -> NDArray[np.int32]:
        """All histograms, a row each."""
        if self._counts is None:
            counts, left = np.zeros((1, 0), np.int32), np.array([self.n])
            for _ in range(self.k - 1):
                sizes = left + 1
                ends = np.cumsum(sizes)
                here = np.arange(ends[-1]) - np.repeat(ends - sizes, sizes)
                counts = np.column_stack([np.repeat(counts, sizes, axis=0), here.astype(np.int32)])
                left = np.repeat(left, sizes) - here
            self._counts = np.column_stack([counts, left.astype(np.int32)])
            self._counts.flags.writeable = False  # queries are called with its columns
        return self._counts

    def ranks(self, counts: NDArray[np.int32]) -> NDArray[np.int64]:
        """Numbers of histograms: those before each one are counted value by value."""
        rank = np.zeros(len(counts), np.int64)
        left = np.full(len(counts), self.n)
        for value in range(self.k - 1):
            after = left - counts[:, value]
            ways = self._ways[self.k - 1 - value]
            rank += ways[left] - ways[after]
            left = after
        return rank

    def name(self, number: int) -> tuple[int, ...]:
        return tuple(self.column()[number].tolist())

    def number(self, name: Any) -> int | None:
        if not isinstance(name, (tuple, list, np.ndarray)) or len(name) != self.k:
            return None
        if not all(isinstance(count, (int, np.integer)) and not isinstance(count, bool) and count >= 0 for count in name):
            return None
        if sum(int(count) for count in name) != self.n:
            return None
        return int(self.ranks(np.array([name], np.int32))[0])

    def columns(self) -> list[Any]:
        return list(self.column().T)


class StateLabels(Labels):
    """Labels that are states: nothing is held for each of them."""

    __slots__ = ()

    names: Any

    def __init__(self, states: States) -> None:
        super().__init__(states)  # type: ignore[arg-type]

    def name(self, vertex: int) -> Any:
        return self.names.name(vertex)

    def take(self, vertices: NDArray[Any]) -> list[Any]:
        return [self.names.name(vertex) for vertex in vertices.tolist()]

    def vertex(self, name: Any, what: str = "vertex") -> int:
        number: int | None = self.names.number(name)
        if number is None:
            raise ArgumentError(f"the {what} is no state of the family: its states are counts of records, such as its labels")
        return number

    def vertices(self, names: Any, what: str) -> NDArray[np.int64]:
        if isinstance(names, (str, bytes)) or not isinstance(names, (Sequence, np.ndarray)):
            raise ArgumentTypeError(f"{what} must be a list of states, not {type(names).__name__}")
        return np.fromiter((self.vertex(name, what) for name in names), np.int64, len(names))
