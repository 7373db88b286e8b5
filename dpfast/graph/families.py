"""Families of datasets collapsed by symmetry: a state stands for all datasets that the law and the query cannot tell apart.

A dataset is a row of records; exchanging two records of one class changes neither who neighbours whom, with which law, nor
the right answer. A state is an orbit of those exchanges: the count of records with each value, class by class. Two states
are joined, with the law (epsilon, delta), if some dataset of one has a neighbour with that law in the other.

**Theorem.** The optimal extension on all datasets is, on each dataset, that on its state, to the last bit.

*Proof.* Let G be the graph of datasets, Q that of states, and s(x) the state of x.

1. *Steps lift.* If s - t is an edge of Q with some law, every x in s has a neighbour in t with that law: one such pair
   (x', y') exists; an exchange of records takes x' to x, keeps edges and laws, and takes y' to a dataset of t.
2. *Paths.* Every path of G maps to one of Q with the same laws, without its steps inside a state; those only raise what a path
   allows, since U(x) >= x. By 1 every path of Q lifts to G from any dataset of its first state, and, read backwards, to
   any dataset of its last state. So with fixed values that depend on the state alone the least over paths, which is the
   extension (Theorem 1 of arXiv 2203.15429), is the same number. The rounded law of an edge is also monotone and at least its
   argument, and nothing else was used.
3. *Privacy.* p(s(x)) is private on G if and only if p is on Q: the edges have the same laws, and an edge inside a state joins
   equal values.
4. *Optima.* "minimax" and weighted sums (weights by state) are invariant and concave, the private mechanisms a convex set
   that exchanges map to itself. The mean of the images of an optimal mechanism is invariant and no worse. QED
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._rounding import integer
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.graph._labels import Labels
from dpfast.graph._states import Grid, Histograms, StateLabels
from dpfast.graph._values import query_colours
from dpfast.graph.model import DatasetGraph, as_graph

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Family", "counting", "hamming", "personalised", "product"]


def __dir__() -> list[str]:
    return sorted(__all__)


EDGES_MAX: Final = 1 << 28  # some 20 GB


class Family:
    """A graph of states and the right answer at each; what the functions of this module return.

    Any function of `dpfast.graph` takes a family as its graph.

    Attributes
    ----------
    graph : DatasetGraph
        Its labels are the states.
    query : ndarray of uint8
        The right answer, 1 or 2, at every state.
    """

    __slots__ = ("graph", "query")

    def __init__(self, graph: DatasetGraph, query: NDArray[np.uint8]) -> None:
        self.graph = graph
        self.query = query

    @property
    def labels(self) -> Any:
        """The states, in the order of every array over vertices."""
        return self.graph.labels

    def __len__(self) -> int:
        return self.graph.n_vertices

    def __repr__(self) -> str:
        return f"<dpfast.graph.families.Family of {self.graph.n_vertices} states>"


def counting(n: int, threshold: int, epsilon: ArrayLike, delta: ArrayLike = 0.0) -> Family:
    """Make the family of "do at least so many of n records have the property?".

    Parameters
    ----------
    n : int
        Number of records, public.
    threshold : int
        The right answer is 1 from this count on, 2 below; from 1 to n.
    epsilon, delta : float or array_like of shape (n,)
        Of every record; or by count: entry c for neighbours with counts c and c + 1.

    Returns
    -------
    Family
        Its states are the counts 0 to n.

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Notes
    -----
    Neighbours: ``replace_one``, datasets of n records that differ in one. The 2**n datasets are n + 1 states; the proof stands
    at the top of the module. **Cost.** Linear in n: 10**6 records take some hundredths of a second.

    Examples
    --------
    >>> from dpfast import graph
    >>> family = graph.families.counting(100, 50, 1.0)
    >>> found = graph.extend(family, family.query, graph.optimal_boundary(family, family.query))
    >>> [round(p, 4) for p in found.for_dataset(50)]
    [0.7311, 0.2689]
    """
    records = integer(n, "n", minimum=1)
    if integer(threshold, "threshold", minimum=1) > records:
        raise ArgumentError("threshold must be from 1 to n: beyond, the right answer never changes")
    line = _line(records, epsilon, delta)
    query = np.full(records + 1, 2, np.uint8)
    query[threshold:] = 1
    return Family(line, query)


def personalised(class_sizes: Any, epsilons: Any, query: Any, deltas: Any = 0.0) -> Family:
    """Make the family of datasets whose records belong to classes, each class with its own epsilon.

    Parameters
    ----------
    class_sizes : sequence of int, or dict by class
        How many records each class has, public.
    epsilons : sequence of float, or dict by class
        What neighbours that differ in a record of the class are held to.
    query : int, callable or array_like
        A threshold: 1 where at least so many records of all classes have the property. Or a function, called once with an
        integer array for each class, the counts of records with the property over all states, that returns 1 and 2, or
        booleans (true for 1). Or its values, of the shape of the grid of counts.
    deltas : float, sequence or dict, default 0.0

    Returns
    -------
    Family
        Its states are tuples of counts, one for each class.

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Notes
    -----
    Neighbours: ``replace_one``, datasets that differ in one record, held to the law of its class (personalised differential
    privacy). **Cost.** The product of the sizes plus one, each. See the top of the module for the proof.

    Examples
    --------
    >>> from dpfast import graph
    >>> family = graph.families.personalised({"minority": 5, "others": 20}, {"minority": 0.1, "others": 1.0}, 13)
    >>> found = graph.extend(family, family.query, graph.optimal_boundary(family, family.query))
    >>> round(found.for_dataset({"minority": 5, "others": 12})[0], 4)
    0.6816
    """
    titles: list[Any] | None = None
    if isinstance(class_sizes, Mapping):
        titles = list(class_sizes)
        class_sizes = list(class_sizes.values())
    if isinstance(class_sizes, (str, bytes)) or not isinstance(class_sizes, (Sequence, np.ndarray)) or not len(class_sizes):
        raise ArgumentTypeError("class_sizes must be a list of sizes, or a dict by class")
    sizes = [integer(size, "each of class_sizes", minimum=0) for size in class_sizes]
    laws = (_by_class(epsilons, titles, len(sizes), "epsilons"), _by_class(deltas, titles, len(sizes), "deltas"))
    _check_edges(sum(size * math.prod(other + 1 for other in sizes) // (size + 1) for size in sizes))
    lines = [_line(size, epsilon, delta) for size, epsilon, delta in zip(sizes, *laws, strict=True)]
    if isinstance(query, (int, np.integer)) and not isinstance(query, bool):
        least = integer(query, "query", minimum=1)
        if least > sum(sizes):
            raise ArgumentError("the threshold must be from 1 to the number of all records")
        return _product(lines, lambda *counts: sum(counts) >= least, titles)
    return _product(lines, query, titles)


def hamming(n: int, values: int, query: Any, epsilon: Any, delta: Any = 0.0) -> Family:
    """Make the family of n records, each with one of some values, whose right answer depends on how many have each.

    Parameters
    ----------
    n : int
        Number of records, public.
    values : int
        Number k of values, at least 2.
    query : callable or array_like
        A function, called once with k integer arrays, how many records have each value over all states, that returns 1 and
        2, or booleans (true for 1). Or an answer for every state, in the order of the labels.
    epsilon, delta : float or array_like of shape (values, values)
        Of every record; or by what it changes from and to: symmetric, the diagonal is not read.

    Returns
    -------
    Family
        Its states are tuples of k counts with sum n.

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Notes
    -----
    Neighbours: ``replace_one``, the Hamming graph of k**n datasets. **Cost.** k (k - 1) / 2 edges for each of
    C(n + k - 1, k - 1) states. See the top of the module for the proof.

    Examples
    --------
    >>> from dpfast import graph
    >>> family = graph.families.hamming(100, 3, lambda yes, no, blank: yes > no, 0.5)
    >>> len(family)
    5151
    >>> found = graph.extend(family, family.query, graph.optimal_boundary(family, family.query))
    >>> round(found.for_dataset([60, 30, 10])[0], 4)
    0.9997
    """
    k = integer(values, "values", minimum=2)
    records = integer(n, "n", minimum=1)
    states = Histograms(records, k)
    _check_edges(math.comb(records + k - 2, k - 1) * k * (k - 1) // 2)
    laws = [_matrix(law, k, name) for law, name in ((epsilon, "epsilon"), (delta, "delta"))]
    # What is left of a dataset without the record that changes: with each of the values in its place it is a state.
    rest = Histograms(records - 1, k).column()
    numbers = [states.ranks(rest + (np.arange(k) == value)) for value in range(k)]
    ends: list[list[NDArray[Any]]] = [[], [], [], []]
    for one in range(k):
        for other in range(one + 1, k):
            parts = (numbers[one], numbers[other], *(np.full(len(rest), law[one, other]) for law in laws))
            for column, part in zip(ends, parts, strict=True):
                column.append(part)
    u, v, epsilons, deltas = (np.concatenate(column) for column in ends)
    g = DatasetGraph(np.arange(0), np.arange(0), 0.0, n_vertices=0)
    g._assemble(StateLabels(states), u.astype(np.int32), v.astype(np.int32), epsilons, deltas)
    return Family(g, _answers(g, query, states.columns(), ()))


def product(factors: Sequence[Any], query: Any) -> Family:
    """Make the family whose datasets have a part in each of several graphs, neighbours differing in one part.

    Parameters
    ----------
    factors : sequence of DatasetGraph or Family
        Their own queries are not read.
    query : callable or array_like
        A function, called once with an array for each factor, the labels of that part over all states (a row of counts each where
        it is of `hamming`), that returns 1 and 2, or booleans. Or an array of the shape of the grid.

    Returns
    -------
    Family
        Its states are tuples, a label of each factor.

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Examples
    --------
    >>> from dpfast import graph
    >>> strict = graph.families.counting(4, 1, 0.2)
    >>> votes = graph.families.hamming(6, 3, lambda *counts: counts[0] > 2, 1.0)
    >>> family = graph.families.product([strict, votes], lambda count, votes: count + votes[:, 0] > votes[:, 1])
    >>> len(family), family.labels[-1]
    (140, (4, (6, 0, 0)))
    """
    if isinstance(factors, (str, bytes)) or not isinstance(factors, Sequence) or not factors:
        raise ArgumentTypeError("factors must be a list of graphs or families")
    return _product([as_graph(factor) for factor in factors], query, None)


def _product(graphs: list[DatasetGraph], query: Any, titles: list[Any] | None) -> Family:
    if any(g._user_law is not None for g in graphs):
        raise ArgumentError("a factor has a law of its own: make the product without, then give its graph one by with_law")
    states = Grid([g._names for g in graphs], titles)
    _check_edges(sum(g.n_arcs // 2 * (len(states) // g.n_vertices) for g in graphs if g.n_vertices))
    ends: list[list[NDArray[Any]]] = [[], [], [], []]
    for axis, g in enumerate(graphs):
        sources = np.repeat(np.arange(g.n_vertices), np.diff(g._indptr))
        once = np.flatnonzero(sources < g._indices)
        inner, outer = math.prod(states.shape[axis + 1 :]), math.prod(states.shape[:axis])
        rest = (np.arange(outer)[:, np.newaxis] * g.n_vertices * inner + np.arange(inner)).ravel()
        deltas = np.zeros(once.size) if g._deltas is None else g._deltas[once]
        parts = [
            (numbers[:, np.newaxis] * inner + rest).ravel() for numbers in (sources[once], g._indices[once].astype(np.int64))
        ]
        parts += [np.repeat(law, rest.size) for law in (g._epsilons[once], deltas)]
        for column, part in zip(ends, parts, strict=True):
            column.append(part)
    u, v, epsilons, all_deltas = (np.concatenate(column) for column in ends)
    made = DatasetGraph(np.arange(0), np.arange(0), 0.0, n_vertices=0)
    made._assemble(StateLabels(states), u.astype(np.int32), v.astype(np.int32), epsilons, all_deltas)
    return Family(made, _answers(made, query, states.columns() if callable(query) else [], states.shape))


def _check_edges(n: int) -> None:
    """Refuse what would not fit before any of it is made."""
    if n > EDGES_MAX:
        raise ArgumentError("the family has more than 2**28 edges between its states; make the classes or values coarser")


def _line(n: int, epsilon: ArrayLike, delta: ArrayLike) -> DatasetGraph:
    """Counts 0 to n, each joined to the next."""
    Labels.numbered(n + 1)  # refuses too many before anything of that length is made
    return DatasetGraph(np.arange(n), np.arange(1, n + 1), epsilon, delta, n_vertices=n + 1)


def _answers(g: DatasetGraph, query: Callable[..., Any] | Any, columns: list[Any], shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """The right answers of a function of states, or of an array: of the shape of the grid, or flat."""
    try:
        found = np.asarray(query(*columns) if callable(query) else query)
    except (TypeError, ValueError) as error:
        if not callable(query):
            raise ArgumentTypeError("query must be a function, or an array of answers") from None
        raise ArgumentTypeError(
            f"query is called once, with {len(columns)} arrays that it may not change, and must return an array of answers: it "
            f"raised {type(error).__name__}"
        ) from error
    if found.dtype.kind == "b":
        found = np.where(found, 1, 2)
    return query_colours(g, found.reshape(-1) if found.shape == shape else found)


def _by_class(values: Any, titles: list[Any] | None, n: int, name: str) -> list[Any]:
    """A number for each class, in their order."""
    if isinstance(values, Mapping):
        if titles is None or set(values) != set(titles):
            raise ArgumentError(f"{name} must have the classes of class_sizes, each once")
        return [values[title] for title in titles]
    if isinstance(values, (int, float)) and name == "deltas":
        return [values] * n
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        raise ArgumentTypeError(f"{name} must have a number for each class")
    if len(values) != n:
        raise ArgumentError(f"{name} must have a number for each class")
    return list(values)


def _matrix(law: Any, k: int, name: str) -> NDArray[np.float64]:
    """A number for each pair of values."""
    try:
        array = np.asarray(law, np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{name} must be a number, or a matrix of numbers") from None
    if array.ndim == 0:
        return np.full((k, k), float(array))
    off = ~np.eye(k, dtype=np.bool_)
    if array.shape != (k, k) or not np.array_equal(array[off], array.T[off], equal_nan=True):  # NaN is refused with the edges
        raise ArgumentError(f"{name} must be one number, or a symmetric matrix with a row for each value")
    return array


def named(labels: Labels, record_counts: Any) -> int:
    """Vertex of the state of a dataset; for `Extension.for_dataset`. The argument is private: no text repeats it."""
    if isinstance(labels, StateLabels) or (isinstance(labels.names, range) and isinstance(record_counts, (int, np.integer))):
        return labels.vertex(record_counts, "dataset")
    raise ArgumentTypeError("record_counts must be the counts that name a state of the family, such as one of its labels")
