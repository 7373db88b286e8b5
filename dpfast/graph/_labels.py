"""Names of vertices: where each stands in the arrays of a graph."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpfast._rounding import integer
from dpfast.errors import ArgumentError, ArgumentTypeError

__all__ = ["VERTICES_MAX", "Labels", "from_ends"]

VERTICES_MAX = (1 << 31) - 1  # their numbers have 32 bits

Names: TypeAlias = "range | NDArray[Any] | list[Any]"


class Labels:
    """The vertices 0 .. n-1 (``names`` is a range then), or named ones in the order of the arrays."""

    __slots__ = ("_places", "names")

    def __init__(self, names: Names) -> None:
        if len(names) > VERTICES_MAX:
            raise ArgumentError("a graph has at most 2**31 - 1 vertices")
        self.names = names
        self._places: dict[Hashable, int] | None = None

    @classmethod
    def numbered(cls, n_vertices: object) -> Labels:
        """Vertices 0 .. n-1."""
        n = integer(n_vertices, "n_vertices", minimum=0)
        return cls(range(min(n, VERTICES_MAX + 1)))  # a range beyond 2**63 has no len()

    @classmethod
    def named(cls, names: Iterable[Any]) -> Labels:
        """Vertices with the names given, each once."""
        if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
            raise ArgumentTypeError(f"labels must be a list of names, not {type(names).__name__}")
        kept: Names = names if isinstance(names, range) else _plain_array(names) if isinstance(names, np.ndarray) else list(names)
        if isinstance(kept, range) and kept != range(len(kept)):
            kept = np.arange(kept.start, kept.stop, kept.step)
        labels = cls(kept)
        if len(labels.places() if not isinstance(kept, range) else kept) != len(kept):
            raise ArgumentError("labels must differ from one another")
        return labels

    def __len__(self) -> int:
        return len(self.names)

    def places(self) -> dict[Hashable, int]:
        """Vertex number by name."""
        if self._places is None:
            names = self.names.tolist() if isinstance(self.names, np.ndarray) else self.names
            try:
                self._places = {name: place for place, name in enumerate(names)}
            except TypeError:
                raise ArgumentTypeError("labels must be hashable: numbers, text, tuples") from None
        return self._places

    def name(self, vertex: int) -> Any:
        """Name of a vertex, as a Python object."""
        found = self.names[vertex]
        return found.item() if isinstance(found, np.generic) else found

    def take(self, vertices: NDArray[Any]) -> Names:
        """Names of several vertices: an array, or a list where the names came as one."""
        if isinstance(self.names, range):
            return np.asarray(vertices, np.int64)
        if isinstance(self.names, np.ndarray):
            taken: NDArray[Any] = self.names[vertices]
            return taken
        return [self.names[vertex] for vertex in vertices.tolist()]

    def vertex(self, name: Any, what: str = "vertex") -> int:
        """Number of the vertex with this name."""
        if isinstance(self.names, range):
            if isinstance(name, (int, np.integer)) and not isinstance(name, bool) and 0 <= name < len(self.names):
                return int(name)
            raise ArgumentError(f"{what}: no such vertex; those of the graph are 0 to n_vertices - 1")
        try:
            place = self.places().get(name.item() if isinstance(name, np.generic) else name)
        except TypeError:
            place = None
        if place is None:
            raise ArgumentError(f"{what}: no such vertex; see the labels of the graph")
        return place

    def vertices(self, names: Any, what: str) -> NDArray[np.int64]:
        """Numbers of several vertices."""
        if isinstance(names, (str, bytes)) or not isinstance(names, (Sequence, np.ndarray, range)):
            raise ArgumentTypeError(f"{what} must be a list or an array of vertices, not {type(names).__name__}")
        if isinstance(self.names, range):
            array = np.asarray(names)
            if array.size == 0:
                return np.zeros(0, np.int64)
            if array.dtype.kind not in "iu" or array.ndim != 1:
                raise ArgumentTypeError(f"{what} must be a list of vertices, which are integers in this graph")
            if int(array.min()) < 0 or int(array.max()) >= len(self.names):
                raise ArgumentError(f"{what}: no such vertex; those of the graph are 0 to n_vertices - 1")
            return array.astype(np.int64)
        values = names.tolist() if isinstance(names, np.ndarray) else names
        return np.fromiter((self.vertex(name, what) for name in values), np.int64, len(values))


def from_ends(u: Any, v: Any, n_vertices: object, labels: Any) -> tuple[Labels, NDArray[np.int32], NDArray[np.int32]]:
    """Vertices of a list of edges, and the numbers of their ends.

    With `labels` the ends are among them; with `n_vertices` they are numbers below it; else the distinct ends are the vertices,
    in ascending order where they have one, in the order of the edges where not.
    """
    if labels is not None and n_vertices is not None:
        raise ArgumentTypeError("give labels or n_vertices, not both")
    heads, tails = _ends(u, "u"), _ends(v, "v")
    if len(heads) != len(tails):
        raise ArgumentError("u and v must be of one length, an entry for each edge")
    if n_vertices is not None:
        found = Labels.numbered(n_vertices)
        return found, _numbers(found.vertices(heads, "u")), _numbers(found.vertices(tails, "v"))
    if labels is not None:
        found = labels if isinstance(labels, Labels) else Labels.named(labels)
        return found, _numbers(found.vertices(heads, "u")), _numbers(found.vertices(tails, "v"))
    if isinstance(heads, np.ndarray) and isinstance(tails, np.ndarray) and heads.dtype.kind in "iuSU":
        return _distinct(heads, tails)
    values = [*_listed(heads), *_listed(tails)]
    try:
        kept = list(dict.fromkeys(values))
    except TypeError:
        raise ArgumentTypeError("vertices must be hashable: numbers, text, tuples") from None
    try:
        kept.sort()
    except TypeError:  # of several types: in the order of the edges
        kept = list(dict.fromkeys(values))
    found = Labels(kept)
    return found, _numbers(found.vertices(_listed(heads), "u")), _numbers(found.vertices(_listed(tails), "v"))


def _distinct(heads: NDArray[Any], tails: NDArray[Any]) -> tuple[Labels, NDArray[np.int32], NDArray[np.int32]]:
    if heads.size == 0:
        return Labels(range(0)), np.zeros(0, np.int32), np.zeros(0, np.int32)
    if heads.dtype.kind in "iu":
        low = min(int(heads.min()), int(tails.min()))
        high = max(int(heads.max()), int(tails.max()))
        if low == 0 and high < VERTICES_MAX and high < 4 * heads.size + 64:
            # Dense numbers need no sorting: 0 .. n-1 without a gap is the usual case.
            seen = np.zeros(high + 1, np.bool_)
            seen[heads] = True
            seen[tails] = True
            if seen.all():
                return Labels(range(high + 1)), _numbers(heads), _numbers(tails)
            names = np.flatnonzero(seen)
            place = np.cumsum(seen, dtype=np.int64) - 1
            return Labels(names), _numbers(place[heads]), _numbers(place[tails])
    names = np.union1d(heads, tails)
    return Labels(names), _numbers(np.searchsorted(names, heads)), _numbers(np.searchsorted(names, tails))


def _numbers(vertices: NDArray[Any]) -> NDArray[np.int32]:
    return np.ascontiguousarray(vertices, dtype=np.int32)


def _listed(values: Any) -> list[Any]:
    listed: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return listed


def _plain_array(values: NDArray[Any]) -> NDArray[Any]:
    if values.ndim != 1:
        raise ArgumentError("arrays of vertices have one axis")
    if values.dtype.kind not in "iuSUO":
        raise ArgumentTypeError("vertices must be integers, text or other hashable objects, not floats")
    return values


def _ends(values: Any, name: str) -> Any:
    """One end of each edge: an array of integers or text, or a list."""
    if isinstance(values, (str, bytes, dict, set)) or not isinstance(values, Iterable):
        raise ArgumentTypeError(f"{name} must be an array with one end of each edge, not {type(values).__name__}")
    if hasattr(values, "to_numpy") and not isinstance(values, np.ndarray):
        values = values.to_numpy()
    if isinstance(values, np.ndarray):
        return _plain_array(values)
    values = list(values)
    if all(type(value) is int for value in values):
        with_gaps = np.array(values or [0])[: len(values)]
        return with_gaps if with_gaps.dtype.kind in "iu" else values
    return values
