"""Edges as users hold them, as a simple undirected graph in the order that the kernels want."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from dpfast._rounding import integer
from dpfast.errors import ArgumentError, ArgumentTypeError, OutsideDomainError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Graph", "read_edges"]

MOST_VERTICES: Final = (1 << 31) - 1
PAIRS: Final = "edges must be pairs of vertices: an array of shape (n_edges, 2), or a pair of arrays"


class Graph(NamedTuple):
    """Vertices by falling degree; neighbours of i are around[offsets[i] : offsets[i + 1]], ascending."""

    n_vertices: int
    offsets: NDArray[np.int64]
    around: NDArray[np.int32]


def read_edges(edges: Any, n_vertices: Any) -> Graph:
    """The simple graph of some edges: loops are left out, and of equal edges, in whatever direction, all but one."""
    networkx = sys.modules.get("networkx")
    own: int | None = None
    if networkx is not None and isinstance(edges, networkx.Graph):
        numbers = {vertex: number for number, vertex in enumerate(edges.nodes)}
        own = len(numbers)
        ends = np.array([(numbers[u], numbers[v]) for u, v in edges.edges()], np.int64).reshape(-1, 2)
        first, second = ends[:, 0], ends[:, 1]
    elif hasattr(type(edges), "tocoo"):
        if edges.shape[0] != edges.shape[1]:
            raise ArgumentError("an adjacency matrix must be square")
        matrix = edges.tocoo()
        own = int(matrix.shape[0])
        there = matrix.data != 0
        first, second = matrix.row[there], matrix.col[there]
    elif isinstance(edges, tuple) and len(edges) == 2 and all(isinstance(part, np.ndarray) for part in edges):
        first, second = edges
    else:
        try:
            array = np.asarray(edges)
        except ValueError:
            raise ArgumentError(PAIRS) from None
        if array.size == 0:
            array = np.zeros((0, 2), np.int64)
        if array.ndim != 2 or array.shape[1] != 2:
            raise ArgumentError(PAIRS)
        first, second = array[:, 0], array[:, 1]
    if own is None and n_vertices is None:
        raise ArgumentTypeError("edge arrays need n_vertices=: the vertices are public, and not those that happen to have edges")
    n = own if n_vertices is None else integer(n_vertices, "n_vertices", minimum=0)
    if own is not None and n != own:
        raise ArgumentError("n_vertices differs from the number of vertices of the graph")
    if n is None or n > MOST_VERTICES:
        raise ArgumentError("a graph has fewer than 2**31 vertices")
    return _simple(_vertices(first, n), _vertices(second, n), n)


def _vertices(ends: NDArray[Any], n: int) -> NDArray[np.int64]:
    if ends.ndim != 1 or (ends.dtype.kind not in "iu"):
        raise ArgumentTypeError("the ends of edges must be integers")
    if ends.size and (int(ends.min()) < 0 or int(ends.max()) >= n):
        raise OutsideDomainError("an edge names a vertex that is none of 0 .. n_vertices - 1")
    return ends.astype(np.int64)


def _simple(first: NDArray[np.int64], second: NDArray[np.int64], n: int) -> Graph:
    if first.size != second.size:
        raise ArgumentError("the two arrays of edges differ in length")
    proper = first != second
    keys = np.minimum(first, second)[proper] * n + np.maximum(first, second)[proper]
    keys = np.unique(keys)
    first, second = np.divmod(keys, max(n, 1))
    degrees = np.bincount(first, minlength=n) + np.bincount(second, minlength=n)
    order = np.argsort(-degrees, kind="stable")
    number = np.empty(n, np.int64)
    number[order] = np.arange(n)
    first, second = number[first], number[second]
    keys = np.concatenate([first * n + second, second * n + first])
    keys.sort()
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(degrees[order], out=offsets[1:])
    around = (keys % max(n, 1)).astype(np.int32)
    return Graph(n, offsets, around if around.size else np.zeros(1, np.int32))
