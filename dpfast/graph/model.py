"""Graphs of datasets: who neighbours whom, and how alike the answers on neighbours must be."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._core import graph as core
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.graph._labels import Labels, from_ends
from dpfast.graph.law import LawArcs, checked_law, law_steps

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dpfast.graph.user_laws import Law

__all__ = ["DatasetGraph", "as_graph"]

# What `edges_count` says of a bad edge.
_FAULTS: Final = {
    1: "an end is no vertex of the graph",
    2: "epsilon must be a number that is not negative",
    3: "delta must be a number that is not negative",
}


class DatasetGraph:
    """An undirected graph whose vertices are datasets and whose edges join neighbours, each edge with its own law.

    An edge {u, v} with (epsilon, delta) asks of a mechanism with Pr[answer 1] = p that p(u) <= e^epsilon p(v) + delta and
    1 - p(u) <= e^epsilon (1 - p(v)) + delta, and the same with u and v exchanged.

    Parameters
    ----------
    u, v : array_like
        The two ends of each edge: integers, text, tuples, anything hashable (floats excepted).
    epsilon : float or array_like
        Of all edges, or of each one; at least 0. 0 is a real constraint; infinity is none, such an edge is dropped.
    delta : float or array_like, default 0.0
        At least 0; from 1 on the edge states nothing and is dropped.
    n_vertices : int, optional
        The vertices are 0 to n_vertices - 1.
    labels : sequence, optional
        The vertices, in this order. Without `labels` and `n_vertices` the distinct ends are the vertices, in ascending order
        (in the order of the edges where they cannot be compared).
    law : Law, optional
        A law of your own for all edges, in place of the one above: it is given their epsilon and delta. See `with_law`.

    Attributes
    ----------
    n_vertices, n_arcs : int
        An edge is two arcs.
    labels : range, ndarray or list
        The vertices in the order of every array over vertices.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        An epsilon or delta is NaN or negative (the text names the edge by its place), or an end is no vertex.

    Notes
    -----
    The graph, its labels, epsilons and deltas are public: texts of errors may hold them. Of parallel edges the strongest holds;
    where neither (epsilon, delta) implies the other, both. Loops say nothing and are ignored. Edges may be in any order.
    **Cost.** Linear in edges and vertices: two counting sorts. 20 bytes an arc are held (28 with deltas), with 24 (40) at the
    peak beside the arguments.

    Examples
    --------
    >>> from dpfast import graph
    >>> g = graph.DatasetGraph(["a", "b", "a"], ["b", "c", "a"], [0.5, 1.0, 0.0])
    >>> g.n_vertices, g.n_arcs, g.labels
    (3, 4, ['a', 'b', 'c'])
    """

    __slots__ = ("_attributes", "_colours", "_deltas", "_epsilons", "_indices", "_indptr", "_names", "_user_law", "_weights")

    _user_law: Law | None

    def __init__(
        self,
        u: Any,
        v: Any,
        epsilon: ArrayLike,
        delta: ArrayLike = 0.0,
        *,
        n_vertices: int | None = None,
        labels: Any = None,
        law: Law | None = None,
    ) -> None:
        self._attributes: Any = None
        self._assemble(*from_ends(u, v, n_vertices, labels), epsilon, delta)
        if law is not None:
            self._user_law = checked_law(law, self)

    @classmethod
    def from_csr(cls, indptr: Any, indices: Any = None, epsilon: Any = None, delta: ArrayLike = 0.0) -> DatasetGraph:
        """Make a graph of compressed sparse rows, or of a scipy sparse matrix of epsilons.

        Parameters
        ----------
        indptr : array_like of int, shape (n_vertices + 1,), or a scipy sparse matrix or array
            Where the row of each vertex begins. A matrix is given alone; what it stores are epsilons, zeros too, and an
            entry that it does not store is no edge.
        indices : array_like of int
            Neighbours, row after row; any integer type. An edge may stand in one row or in both.
        epsilon, delta : float or array_like
            Of all entries, or of each.

        Returns
        -------
        DatasetGraph

        Raises
        ------
        ArgumentError, ArgumentTypeError

        Examples
        --------
        >>> from dpfast import graph
        >>> graph.DatasetGraph.from_csr([0, 1, 2, 2], [1, 2], [0.5, 1.0]).n_arcs
        4
        """
        if hasattr(indptr, "tocoo"):
            if indices is not None or epsilon is not None:
                raise ArgumentTypeError("a sparse matrix holds indices and epsilons; give it alone, or with delta")
            matrix = indptr.tocoo()
            if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
                raise ArgumentError("the sparse matrix must be square, a row and a column for each vertex")
            return cls(matrix.row, matrix.col, matrix.data, delta, n_vertices=matrix.shape[0])
        if indices is None or epsilon is None:
            raise ArgumentTypeError("from_csr takes indptr, indices and epsilon, or a scipy sparse matrix")
        begins, targets = np.asarray(indptr), np.asarray(indices)
        for array, name in ((begins, "indptr"), (targets, "indices")):
            if (array.dtype.kind not in "iu" and array.size) or array.ndim != 1:
                raise ArgumentTypeError(f"{name} must be an array of integers with one axis")
        begins = begins.astype(np.int64)
        if begins.size == 0 or begins[0] != 0 or begins[-1] != targets.size or (np.diff(begins) < 0).any():
            raise ArgumentError("indptr must ascend from 0 to the length of indices")
        rows = np.repeat(np.arange(begins.size - 1), np.diff(begins))
        return cls(rows, targets.astype(np.int64), epsilon, delta, n_vertices=begins.size - 1)

    @classmethod
    def from_networkx(cls, G: Any, epsilon: str | float = "epsilon", delta: str | float | None = None) -> DatasetGraph:
        """Make a graph of an undirected networkx graph; its nodes are the labels.

        Parameters
        ----------
        G : networkx.Graph or networkx.MultiGraph
            Every node is a dataset.
        epsilon : str or float, default "epsilon"
            Name of the edge attribute, or one number for all edges.
        delta : str or float, optional
            The same for delta; by default 0.

        Returns
        -------
        DatasetGraph
            Queries may then name a node attribute.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            The graph is directed, or an edge lacks the attribute.

        Examples
        --------
        >>> import networkx
        >>> from dpfast import graph
        >>> graph.DatasetGraph.from_networkx(networkx.path_graph(4), epsilon=0.5).n_arcs
        6
        """
        from dpfast.graph._sources import networkx_edges

        made = cls.__new__(cls)
        made._assemble(*networkx_edges(G, epsilon, delta))
        made._attributes = G.nodes
        return made

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> DatasetGraph:
        """Read a list of edges: a Parquet, CSV or Arrow file with columns u, v, epsilon and, if wanted, delta.

        Parameters
        ----------
        path : str or path-like
            The kind of file is told by its suffix: .parquet, .csv, .arrow or .feather. Vertices of a CSV file are text as it
            stands there, "007" another one than "7", or integers where all of them are written as integers are.

        Returns
        -------
        DatasetGraph

        Raises
        ------
        ArgumentError
            A column is missing or of a type that it cannot be of.
        FileError
            There is no such file, or it cannot be read.

        Examples
        --------
        >>> from pathlib import Path
        >>> from dpfast import graph
        >>> _ = Path("edges.csv").write_text("u,v,epsilon" + chr(10) + "a,b,0.5" + chr(10))
        >>> graph.DatasetGraph.from_file("edges.csv").labels
        ['a', 'b']
        """
        from dpfast.graph._sources import read_edges

        made = cls.__new__(cls)
        made._attributes = None
        made._assemble(*read_edges(path))
        return made

    def _assemble(self, names: Labels, u: NDArray[np.int32], v: NDArray[np.int32], epsilon: ArrayLike, delta: ArrayLike) -> None:
        self._names = names
        self._user_law = None
        epsilons = _per_edge(epsilon, u.size, "epsilon")
        # Without deltas nothing of that length is made.
        deltas = None if isinstance(delta, (int, float)) and delta == 0 else _per_edge(delta, u.size, "delta")
        counts = np.zeros(len(names) + 1, np.int64)
        fault, edge = core.edges_count(u, v, epsilons, deltas, counts)
        if fault:
            raise ArgumentError(f"edge {edge}: {_FAULTS[fault]}")
        indptr = np.cumsum(counts)
        n_arcs = int(indptr[-1])

        def room() -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64] | None]:
            return np.empty(n_arcs, np.int32), np.empty(n_arcs), None if deltas is None else np.empty(n_arcs)

        rough = room()
        core.edges_scatter(u, v, epsilons, deltas, indptr[:-1].copy(), *rough)
        indices, arc_epsilons, arc_deltas = room()
        core.rows_transpose(indptr, *rough, indptr[:-1].copy(), indices, arc_epsilons, arc_deltas)
        del rough
        kept = core.rows_merge(indptr, indices, arc_epsilons, arc_deltas)
        if kept < n_arcs:
            indices, arc_epsilons = indices[:kept].copy(), arc_epsilons[:kept].copy()
            arc_deltas = None if arc_deltas is None else arc_deltas[:kept].copy()
        self._indptr, self._indices, self._epsilons = indptr, indices, arc_epsilons
        self._deltas = arc_deltas if arc_deltas is not None and arc_deltas.any() else None
        self._weights = np.empty(kept)
        core.weights(arc_epsilons, self._weights)

    def with_law(self, law: Law) -> DatasetGraph:
        """Return the same graph with a law of your own on every edge.

        Parameters
        ----------
        law : Law
            It is given the epsilon and delta of each edge and decides what they mean.

        Returns
        -------
        DatasetGraph
            It shares its arrays with this one. `upper`, `lower`, `extend`, `verify`, `boundary` and `strongest_condition` take
            it; `optimal_boundary` and ledgers know (epsilon, delta) only and refuse it.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            The law is not monotone, falls below its argument, or is no Galois pair.

        Notes
        -----
        Edges with an infinite epsilon, or a delta of 1 and more, are none; of parallel edges, one with both less stands alone.
        """
        made = copy.copy(self)
        made._user_law = checked_law(law, self)
        return made

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return len(self._names)

    @property
    def n_arcs(self) -> int:
        """Number of arcs: two for each edge that is held."""
        return int(self._indices.size)

    @property
    def labels(self) -> Any:
        """The vertices in the order of every array over vertices."""
        return self._names.names

    def __repr__(self) -> str:
        return f"<dpfast.graph.DatasetGraph of {self.n_vertices} vertices and {self.n_arcs} arcs>"

    def _arcs(self, colours: NDArray[np.uint8] | None = None, *, mirror: bool = False) -> core.Arcs | LawArcs:
        """The graph for a search; arcs between colours are not followed. `mirror`: keys are of Pr[answer 2]."""
        if self._user_law is not None:
            return LawArcs(self, self._user_law, colours, mirror=mirror)
        return core.Arcs(self._indptr, self._indices, self._weights, self._deltas, colours)

    def _row(self, vertex: int) -> slice:
        """Arcs of a vertex."""
        return slice(int(self._indptr[vertex]), int(self._indptr[vertex + 1]))

    def _law(self, arc: int) -> tuple[float, float]:
        """Epsilon and delta of an arc."""
        return float(self._epsilons[arc]), 0.0 if self._deltas is None else float(self._deltas[arc])

    def _carry(self, keys: NDArray[np.uint64], arcs: NDArray[np.int64], *, mirror: bool = False) -> NDArray[np.uint64]:
        """What each key allows along its arc, by the law; `mirror`: keys are of Pr[answer 2]."""
        if self._user_law is not None:
            return law_steps(self, self._user_law, keys, arcs, mirror=mirror)
        out = np.empty(arcs.size, np.uint64)
        deltas = np.zeros(arcs.size) if self._deltas is None else self._deltas[arcs]
        core.steps(keys, self._weights[arcs], deltas, out)
        return out

    def _along(self, key: int, arcs: Sequence[int], *, mirror: bool = False) -> int:
        """What a key allows at the end of a path of arcs."""
        if self._user_law is None:
            places = np.array(arcs, np.int64)
            return core.along(key, self._weights[places], np.zeros(places.size) if self._deltas is None else self._deltas[places])
        for arc in arcs:
            key = int(self._carry(np.array([key], np.uint64), np.array([arc]), mirror=mirror)[0])
        return key


def as_graph(g: Any) -> DatasetGraph:
    """Return the graph of an argument: a `DatasetGraph`, or what has one as its ``graph`` (a family)."""
    found = g if isinstance(g, DatasetGraph) else getattr(g, "graph", None)
    if not isinstance(found, DatasetGraph):
        raise ArgumentTypeError(f"g must be a DatasetGraph, not {type(g).__name__}")
    return found


def _per_edge(values: ArrayLike, n: int, name: str) -> NDArray[np.float64]:
    """A double for each edge."""
    if isinstance(values, (str, bytes)):
        raise ArgumentTypeError(f"{name} must be a number or an array of numbers")
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" and array.size:
        try:
            if array.dtype.kind != "O":
                raise TypeError
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise ArgumentTypeError(f"{name} must be a number or an array of numbers") from None
    if array.ndim == 0:
        return np.full(n, float(array))
    if array.shape != (n,):
        raise ArgumentError(f"{name} must be one number, or have an entry for each edge")
    return np.ascontiguousarray(array, np.float64)
