"""The optimal extension of a mechanism that is given where the right answer changes (Theorem 1 of arXiv 2203.15429).

Everything is done with q(v), the probability of the right answer: p where that is 1, 1 - p where it is 2. By the symmetry of the
law both regions then need the same search. 1. Fixed values of one region bound neighbours in the other (`Arcs.cross`): a fixed
vertex of answer 1 by fixed ones of answer 2, a free vertex by fixed ones across. 2. One search within the regions. 3. Fixed
values that came out lower are adjusted, or infeasible. 4. Every edge of the result is proved. What can fail there is only that
some p(w) of answer 2 is above what a p(v) of answer 1 allows: a mechanism that errs on purpose.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast.errors import ArgumentError
from dpfast.graph._tracing import Search, refusal
from dpfast.graph._values import KEY_ONE, Probabilities, exact, fixed_values, mirrored, query_colours
from dpfast.graph.checking import broken_arcs
from dpfast.graph.families import named
from dpfast.graph.laws import InducedLaw, exact_upper, rounded_up
from dpfast.graph.model import DatasetGraph, as_graph
from dpfast.graph.propagate import Queue, closure
from dpfast.graph.sampling import sample

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast._spending import Charges
    from dpfast.randomness import Column, Stream

__all__ = ["Extension", "Why", "extend"]

# What a rounded law loses of Pr[right answer]: for most epsilons at most 5 units (the weight 3.2, its product or quotient 1.5),
# below 1e-10 up to 16, next to the least doubles any number. So a value that fell further is held against the real law first.
ULPS_PER_EDGE: Final = 8
DIGITS: Final = 40  # of each exponential of the real law
NAMED: Final = 5  # missing vertices that an error names


@dataclass(frozen=True)
class Why:
    """Which fixed value decides a vertex, and how.

    Attributes
    ----------
    seed : label or None
        The fixed vertex; None where no path leads from one: the answer is always right there.
    path : list of labels
        From the seed to the vertex.
    law : InducedLaw
        Of the path: where the right answer is 1, p(vertex) = law(p(seed)), else law.lower(p(seed)).
    """

    seed: Any
    path: list[Any]
    law: InducedLaw


class Extension(Probabilities):
    """A private mechanism on a whole graph: what `extend` returns.

    Attributes
    ----------
    probability, complement : ndarray of float64
        Pr[answer 1] and Pr[answer 2] in the order of the labels, as in `Probabilities`.
    adjusted : ndarray or list of labels
        Fixed vertices whose Pr[right answer] was moved down, by a few units in the last place.
    labels : range, ndarray or list
        The vertices.
    """

    __slots__ = ("_graph", "_search", "adjusted")

    def __init__(self, graph: DatasetGraph, search: Search, keys: NDArray[np.uint64], adjusted: Any) -> None:
        super().__init__(keys)
        self._graph = graph
        self._search = search
        self.adjusted = adjusted

    @property
    def labels(self) -> Any:
        """The vertices in the order of the arrays."""
        return self._graph.labels

    def why(self, vertex: Any) -> Why:
        """Return the fixed vertex and the path that decide a vertex.

        Parameters
        ----------
        vertex : label
            A public question: the path depends on the graph and the fixed values alone.

        Returns
        -------
        Why

        Raises
        ------
        ArgumentError
            It is no vertex of the graph.
        """
        number = self._graph._names.vertex(vertex)
        path, arcs = self._search.trace(number)
        name = self._graph._names.name
        seed = name(path[0]) if self._search.is_seed[path[0]] else None
        return Why(
            seed, [name(step) for step in path], InducedLaw([self._graph._law(arc) for arc in arcs], self._graph, arcs=arcs)
        )

    def for_dataset(self, record_counts: Any) -> tuple[float, float]:
        """Return Pr[answer 1] and Pr[answer 2] on a dataset of a family.

        Parameters
        ----------
        record_counts : int, sequence of int, or dict by class
            The state of the dataset: how many of its records have the property, or each value, class by class.

        Returns
        -------
        probability, complement : float
            Each at its own precision, as in `Probabilities`.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            There is no such state.
        """
        number = named(self._graph._names, record_counts)
        one = Probabilities(self._keys[number : number + 1])
        return float(one.probability[0]), float(one.complement[0])

    def sample(
        self,
        vertices: Any,
        *,
        rng: Stream | None = None,
        size: int | None = None,
        column_name: Column = None,
        ledger: Charges | None = None,
    ) -> Any:
        """Answer the query on datasets; each draw spends.

        Parameters
        ----------
        vertices : label, or list or array of labels
            The true datasets: private.
        rng : Stream, optional
            Default: a fresh stream, new entropy for this call.
        size : int, optional
            Draws for each vertex; every one spends anew.
        column_name : str, required with a keyed stream
            Keeps this noise apart from other noise of the stream.
        ledger : Ledger, optional
            Is charged once for all draws, before any.

        Returns
        -------
        int, or ndarray of uint8
            1 or 2; of shape (size,) in front of that of `vertices`.

        Raises
        ------
        ArgumentError, ArgumentTypeError, LedgerError

        Notes
        -----
        **Privacy guarantee.** One draw: on neighbours, the ends of an edge, the answers are (epsilon, delta)-close by its law.
        The law is exact, nothing is rounded and no delta is added: random bits are compared with all bits of the dyadic number.
        A ledger is charged for the edge with the largest epsilon and the largest delta, times the number of draws, and for as
        many edges one after the other as its `rows_per_person` grants a person.

        Examples
        --------
        >>> from dpfast import Stream, graph
        >>> g = graph.DatasetGraph([0, 1, 2], [1, 2, 3], 1.0)
        >>> extension = graph.extend(g, [2, 2, 1, 1], {1: 0.25, 2: 0.6})
        >>> extension.sample(3, rng=Stream.insecure(1), size=5).tolist()
        [1, 1, 1, 1, 1]
        """
        one = isinstance(vertices, (str, bytes, int, np.generic, tuple)) or not hasattr(vertices, "__len__")
        names = self._graph._names
        # A private argument: the text of an error may not repeat it.
        numbers = np.array([names.vertex(vertices)]) if one else names.vertices(vertices, "vertices")
        answers = sample(self._graph, self._keys, numbers, rng, size, column_name, ledger)
        if one:
            return int(answers[0]) if size is None else answers[:, 0]
        return answers


def extend(g: Any, query: Any, fixed: Any, *, queue: Queue = "auto") -> Extension:
    """Return the best private mechanism that has given probabilities where the right answer changes.

    Parameters
    ----------
    g : DatasetGraph
        Or a family, which has one.
    query : array_like, dict or str
        The right answer, 1 or 2, at every vertex; see `boundary`.
    fixed : array_like, dict, tuple or Fixed
        Pr[answer 1] of some vertices: an array with NaN where free, a dict by label, (vertices, values), or what
        `optimal_boundary` returns. It must hold an end of every edge that joins different right answers: the
        whole `boundary`, or a hitting set.
    queue : {"auto", "heap", "buckets"}
        How the search is done; the answer is the same.

    Returns
    -------
    Extension
        At every vertex at once the right answer has the largest probability that any private mechanism with the fixed values
        gives it. Where no path leads from a fixed vertex the right answer is certain.

    Raises
    ------
    InfeasibleError
        No private mechanism has the fixed values; it carries a pair of fixed vertices that shows it, the path, and a repair.
    ArgumentError
        Also where fixed lacks an end of an edge across the boundary; the text names some.
    ArgumentTypeError

    Notes
    -----
    **Privacy guarantee.** Neighbours are the ends of an edge, each edge with its own (epsilon, delta). All four inequalities
    hold on every edge exactly, for the numbers that `sample` draws with: the result is proved by the method of
    `verify` before it is returned. Graph, epsilons, query and fixed values are public.
    **Rounding.** Each edge rounds Pr[right answer] down: by at most 5 units in its last place, 16 where epsilon is below 1e-10,
    more next to the least doubles (where epsilon is above 709, e^-epsilon is one, of few bits: what such an edge makes of a value
    below 1e-300 is private, and good to some per cent only). A fixed value within 8 units for each edge of the binding path, or
    not proved to be above the real law of that path, is moved down to what is feasible and listed in `adjusted`.
    **Cost.** Near-linear in arcs.

    References
    ----------
    .. [1] "Heterogeneous differential privacy via graphs", arXiv 2203.15429, Theorem 1.
    .. [2] Boundary hitting sets: arXiv 2310.20486.

    Examples
    --------
    >>> import math
    >>> from dpfast import graph
    >>> g = graph.DatasetGraph([0, 1, 2], [1, 2, 3], [math.log(2), math.log(3), math.log(2)])
    >>> graph.extend(g, [2, 2, 1, 1], {1: 0.25, 2: 0.75}).probability.round(4).tolist()
    [0.125, 0.25, 0.75, 0.875]
    """
    model = as_graph(g)
    colours = query_colours(model, query)
    seeds, keys = fixed_values(model, fixed)
    given = np.full(model.n_vertices, KEY_ONE)
    given[seeds] = mirrored(keys, colours[seeds] == 2)
    is_given = np.zeros(model.n_vertices, np.uint8)
    is_given[seeds] = 1
    words = given.copy()
    missing = np.empty(model.n_vertices, np.uint8)
    model._arcs(colours).cross(is_given, given, words, missing)
    if missing.any():
        raise ArgumentError(_missing_text(model, missing))
    search = Search(model, colours, is_given.view(np.bool_), given, closure(model, words, colours, queue))
    lowered = seeds[words[seeds] < given[seeds]]
    _check_lowered(search, lowered)
    result = mirrored(words, colours == 2)
    for arc, vertex in broken_arcs(model, result):
        path, arcs = search.trace(vertex)
        onward, more = search.trace(int(model._indices[arc]))
        raise refusal(search, [*path, *reversed(onward)], [*arcs, arc, *reversed(more)])
    return Extension(model, search, result, model._names.take(lowered))


def _missing_text(g: DatasetGraph, missing: NDArray[np.uint8]) -> str:
    found = np.flatnonzero(missing)
    names = ", ".join(repr(g._names.name(vertex)) for vertex in found[:NAMED].tolist())
    more = f" and {found.size - NAMED} more" if found.size > NAMED else ""
    return f"fixed must hold an end of every edge that joins different right answers; give a value to some of {names}{more}"


def _check_lowered(search: Search, lowered: NDArray[np.int64]) -> None:
    """Refuse fixed values that came out lower by more than rounding."""
    given = Probabilities(search.given[lowered]).probability
    for vertex, value in zip(lowered.tolist(), given.tolist(), strict=True):
        fall = exact(int(search.given[vertex])) - exact(int(search.words[vertex]))
        unit = Fraction(math.ulp(value))
        # A path has an edge at least; its length is looked for where that is not enough.
        if fall <= ULPS_PER_EDGE * unit:
            continue
        path, arcs = search.trace(vertex)
        if fall > ULPS_PER_EDGE * len(arcs) * unit and _is_above(search, path, arcs):
            # q(last) > U(q(first)) says of p, where the right answer is 2, that p(first) > U(p(last)) backwards.
            backwards = search.colours[vertex] == 2
            raise refusal(search, path[::-1], arcs[::-1]) if backwards else refusal(search, path, arcs)


def _is_above(search: Search, path: list[int], arcs: list[int]) -> bool:
    """Whether the last fixed value of a path is proved to be above what the first one allows next to it."""
    if search.graph._user_law is not None:
        return True
    allowed = exact(int(search.given[path[0]]))
    if search.colours[path[0]] != search.colours[path[-1]]:
        allowed = 1 - allowed  # of the answer that is right at the last vertex
    for arc in arcs:
        allowed = rounded_up(exact_upper(allowed, *search.graph._law(arc), DIGITS)[1])
    return exact(int(search.given[path[-1]])) > allowed
