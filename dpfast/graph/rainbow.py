"""Queries with several answers: every vertex prefers them in an order of its own, and a mechanism gives a law to each.

Laws are rows of integers, words of 2^64, so that privacy is a matter of integers: a row P' is (epsilon, delta)-close to P if
sum_q max(0, P'(q) - e^epsilon P(q)) <= delta 2^64, both ways. The best row next to P, in the order of a vertex, gives each
answer between ceil(P~/E) and floor(E P), where E is e^epsilon rounded down, the most preferred answer floor(delta 2^64) more,
and P~ is P without as many words of the least preferred answers. What is left beyond the lower ends goes to the answers in
their order. Rounding costs no more than a word an answer, and never privacy.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._rounding import FIRST_DIGITS, exp_enclosure, integer
from dpfast.errors import ArgumentError, ArgumentTypeError, InfeasibleError, SolverError
from dpfast.graph._programs import best_rows
from dpfast.graph.model import DatasetGraph, as_graph
from dpfast.graph.sampling import PIECE, paid_bits
from dpfast.hockey_stick import LARGEST_EPSILON, WORD_RANGE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast._spending import Charges
    from dpfast.randomness import Column, Stream

__all__ = ["Rainbow", "next_row", "rainbow"]

Row = tuple[int, ...]  # words of each answer, in the order of the answers
Table = dict[int, Row]

# Shares of the mean of the fixed laws that all are mixed with, one after the other, until every edge is proved.
MIXED: Final = (Fraction(0), Fraction(1, 1 << 48), Fraction(1, 1 << 40), Fraction(1, 1 << 30), Fraction(1, 1 << 20))
APART: Final = 1e-9  # by which the sum of a given law may differ from 1


class Rainbow:
    """A private mechanism with several answers; what `rainbow` returns.

    Attributes
    ----------
    probabilities : ndarray of float64, shape (n_vertices, n_answers)
        Nearest doubles of the exact law at each vertex, in the order of the labels.
    moved : float
        The most by which a fixed probability was moved so that every edge holds exactly.
    labels : range, ndarray or list
        The vertices.
    """

    __slots__ = ("_graph", "_places", "_rows", "moved")

    def __init__(self, graph: DatasetGraph, rows: list[Row], places: NDArray[np.int64], moved: float) -> None:
        self._graph = graph
        self._rows = rows
        self._places = places
        self.moved = moved

    @property
    def labels(self) -> Any:
        """The vertices in the order of the arrays."""
        return self._graph.labels

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Nearest doubles of the law at each vertex."""
        return np.array([[word / WORD_RANGE for word in row] for row in self._rows])[self._places]

    def exact(self, vertex: Any) -> list[Fraction]:
        """Return the law at a vertex, multiples of 2**-64."""
        row = self._rows[int(self._places[self._graph._names.vertex(vertex)])]
        return [Fraction(word, WORD_RANGE) for word in row]

    def sample(
        self,
        vertices: Any,
        *,
        rng: Stream | None = None,
        size: int | None = None,
        column_name: Column = None,
        ledger: Charges | None = None,
    ) -> NDArray[np.int64]:
        """Answer the query on datasets; each draw spends.

        Parameters
        ----------
        vertices : list or array of labels
            The true datasets: private.
        rng, size, column_name, ledger
            As for `Extension.sample`.

        Returns
        -------
        ndarray of int64
            Answers 0 to n_answers - 1; of shape (size,) in front of that of `vertices`.

        Raises
        ------
        ArgumentError, ArgumentTypeError, LedgerError

        Notes
        -----
        **Privacy guarantee.** One draw: on the ends of an edge the answers are (epsilon, delta)-close by its law, exactly: a
        word of 64 random bits is compared with sums of words.
        """
        numbers = self._graph._names.vertices(vertices, "vertices")
        shape = numbers.shape if size is None else (integer(size, "size", minimum=0), *numbers.shape)
        digest = hashlib.blake2b(repr(self._rows).encode(), digest_size=32, person=b"dpfast/rainbow")
        digest.update(self._places.tobytes())
        total = int(np.prod(shape, dtype=object))
        _, bits = paid_bits(self._graph, digest.digest(), total, rng, column_name, ledger)
        # The last word of each answer, and so no sum reaches 2^64: answers without words repeat the one before.
        lasts = np.array([[max(sum(row[: q + 1]), 1) - 1 for q in range(len(row) - 1)] for row in self._rows], np.uint64)
        zeros = np.array([[sum(row[: q + 1]) == 0 for q in range(len(row) - 1)] for row in self._rows])
        drawn = np.broadcast_to(self._places[numbers], shape).reshape(-1)
        out = np.empty(total, np.int64)
        for first in range(0, total, PIECE):
            piece = drawn[first : first + PIECE]
            above = bits.words(piece.size)[:, np.newaxis] > lasts[piece]
            out[first : first + PIECE] = (above | zeros[piece]).sum(axis=1)
        return out.reshape(shape)

    def __repr__(self) -> str:
        return f"<dpfast.graph.Rainbow of {len(self._places)} vertices and {len(self._rows[0]) if self._rows else 0} answers>"


def rainbow(g: Any, orders: Any, fixed: Any) -> Rainbow:
    """Return the best private mechanism for a query with several answers that has given laws where preferences change.

    Parameters
    ----------
    g : DatasetGraph
        Or a family, which has one.
    orders : array_like of int, shape (n_vertices, n_answers), or dict by label
        The answers 0 to n_answers - 1 at each vertex, the most preferred one first. A region is connected vertices of one order.
    fixed : array_like of float, shape (n_vertices, n_answers), or dict by label
        Laws over the answers 0 to n_answers - 1 (in that order), of the whole boundary at least: every vertex with a neighbour of
        another order. Rows of NaN are free.

    Returns
    -------
    Rainbow
        In a region with one (epsilon, delta) on its edges and one fixed law: the law that dominates, in the order of the
        region, that of every private mechanism with the fixed laws, at each vertex. In other regions none need exist; there the
        mean of the sums over the first 1, 2, ... answers is the largest possible.

    Raises
    ------
    InfeasibleError
        No private mechanism has the fixed laws.
    ArgumentError, ArgumentTypeError
    MissingPackageError, SolverError
        A region needs a linear program.

    Notes
    -----
    **Privacy guarantee.** Neighbours are the ends of an edge. Both directions of every edge are proved in integers,
    exactly: (epsilon, delta) by the hockey-stick sum over all answers, before anything is returned.
    **Rounding.** A law is rounded to words of 2^64. Where fixed laws are at the very limit all are mixed with their mean, by a
    share of 2^-48 or, where that does not do, up to 2^-20; `moved` says by how much a probability changed.
    **Why not path by path.** With epsilons that differ, the least sums over all paths are in general no private mechanism, not
    even on a triangle: only events that are the first answers of the order are held.
    **Cost.** Linear in arcs; a linear program where it is needed, for some thousands of edges.

    References
    ----------
    .. [1] Rainbow differential privacy: arXiv 2202.03974, 2309.05871.

    Examples
    --------
    >>> from dpfast import graph
    >>> g = graph.DatasetGraph([0, 1, 2], [1, 2, 3], 0.7)
    >>> orders = [[0, 1, 2], [0, 1, 2], [2, 1, 0], [2, 1, 0]]
    >>> found = graph.rainbow(g, orders, {1: [0.3, 0.4, 0.3], 2: [0.2, 0.3, 0.5]})
    >>> found.probabilities[0].round(6).tolist()
    [0.604126, 0.246899, 0.148976]
    """
    model = as_graph(g)
    if model._user_law is not None:
        raise ArgumentError("rainbow knows the law of (epsilon, delta) only")
    preferences = _orders(model, orders)
    given = _given(model, fixed, preferences.shape[1])
    codes = np.unique(preferences, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    _check_boundary(model, codes, given)
    if not given:
        return _certain(model, preferences)
    mean = [sum((row[q] for row in given.values()), Fraction(0)) / len(given) for q in range(preferences.shape[1])]
    regions = [(part, preferences[part[0]].tolist()) for part in _connected(model, codes)]
    programs: dict[int, dict[int, list[Fraction]]] = {}
    for share in MIXED:
        start = {v: _mixed(law, mean, share) for v, law in given.items()}
        if _open_edge(model, start) is not None:
            continue
        found = dict(start)
        for number, (part, order) in enumerate(regions):
            if not _fill(model, part, order, start, found):
                if number not in programs:
                    programs[number] = best_rows(model, part, order, {v: given[v] for v in part if v in given})
                found.update({v: _mixed(law, mean, share) for v, law in programs[number].items()})
        if _open_edge(model, found) is None:
            return _result(model, found, given)
    if (edge := _open_edge(model, start)) is not None:
        pair = tuple(model._names.name(vertex) for vertex in edge[:2])
        text = f"no private mechanism has the fixed laws: those of the neighbours {pair[0]!r} and {pair[1]!r} are too far apart"
        raise InfeasibleError(text, pair=(pair[0], pair[1]), path=list(pair), laws=[model._law(edge[2])])
    raise SolverError("the solution of the linear program could not be made exactly private; use one epsilon in each region")


def _result(g: DatasetGraph, found: Table, given: Mapping[int, Sequence[Fraction]]) -> Rainbow:
    moves = (abs(Fraction(w, WORD_RANGE) - p) for v, law in given.items() for w, p in zip(found[v], law, strict=True))
    rows = list(dict.fromkeys(found.values()))
    numbers = {row: place for place, row in enumerate(rows)}
    return Rainbow(g, rows, np.array([numbers[found[v]] for v in range(g.n_vertices)]), float(max(moves)))


def next_row(row: Row, order: Sequence[int], epsilon: float, delta: float) -> Row:
    """The row that dominates, in an order of the answers, all that are (epsilon, delta)-close to a row.

    Examples
    --------
    >>> half = 1 << 63
    >>> [word / 2**64 for word in next_row((half, half), [1, 0], 0.0, 0.25)]
    [0.25, 0.75]
    """
    power, one = _power(epsilon)
    spare = int(Fraction(delta) * WORD_RANGE)
    low, high = list(row), [min(WORD_RANGE, word * power // one) for word in row]
    high[order[0]] = min(WORD_RANGE, high[order[0]] + spare)
    for answer in reversed(order):
        taken = min(spare, low[answer])
        low[answer] -= taken
        spare -= taken
    low = [-(-word * one // power) for word in low]
    left = WORD_RANGE - sum(low)
    for answer in order:
        more = min(left, high[answer] - low[answer])
        low[answer] += more
        left -= more
    return tuple(low)


@lru_cache(maxsize=1024)
def _power(epsilon: float) -> tuple[int, int]:
    """e^epsilon rounded down, over a unit; beyond the greatest ratio of two words that ratio does."""
    low, _, one = exp_enclosure(min(epsilon, LARGEST_EPSILON), FIRST_DIGITS)
    return low, one


def _is_close(one: Row, other: Row, epsilon: float, delta: float) -> bool:
    """Whether rows are (epsilon, delta)-close, both ways; e^epsilon rounded down."""
    power, unit = _power(epsilon)
    allowed = Fraction(delta) * WORD_RANGE * unit
    return all(
        sum(max(0, p * unit - power * q) for p, q in zip(a, b, strict=True)) <= allowed for a, b in ((one, other), (other, one))
    )


def _open_edge(g: DatasetGraph, found: Table) -> tuple[int, int, int] | None:
    """The ends and the arc of an edge between rows that are too far apart; pairs of equal rows and laws are met once."""
    met: set[tuple[Row, Row, float, float]] = set()
    for vertex, row in found.items():
        span = g._row(vertex)
        for arc in range(span.start, span.stop):
            other = int(g._indices[arc])
            if other < vertex or other not in found or found[other] == row:
                continue
            key = (row, found[other], *g._law(arc))
            if key not in met:
                if not _is_close(*key):
                    return vertex, other, arc
                met.add(key)
    return None


def _connected(g: DatasetGraph, codes: NDArray[np.int64]) -> list[list[int]]:
    """Vertices of each region: of one order, and connected by others of it."""
    parts, seen, code_of = [], np.zeros(g.n_vertices, np.bool_), codes.tolist()
    for first in range(g.n_vertices):
        if seen[first]:
            continue
        seen[first] = True
        part = [first]
        for vertex in part:  # it grows while it is read
            for other in g._indices[g._row(vertex)].tolist():
                if not seen[other] and code_of[other] == code_of[vertex]:
                    seen[other] = True
                    part.append(other)
        parts.append(part)
    return parts


def _fill(g: DatasetGraph, part: list[int], order: list[int], start: Table, found: Table) -> bool:
    """Rows for the free vertices of a region, or False where that takes a linear program."""
    inside, distances = set(part), {v: 0 for v in part if v in start}
    if not distances:
        found.update(dict.fromkeys(part, tuple(WORD_RANGE if answer == order[0] else 0 for answer in range(len(order)))))
        return True
    laws = set()
    waiting = deque(distances)
    while waiting:
        vertex = waiting.popleft()
        span = g._row(vertex)
        for arc, other in enumerate(g._indices[span].tolist(), span.start):
            if other in inside and not (vertex in start and other in start):
                laws.add(g._law(arc))
                if other not in distances:
                    distances[other] = distances[vertex] + 1
                    waiting.append(other)
    if not laws:
        return True
    ladder = list({start[v] for v in part if v in start})
    if len(ladder) > 1 or len(laws) > 1:
        return False
    law = laws.pop()
    furthest = max(distances.values())
    while len(ladder) <= furthest and (above := next_row(ladder[-1], order, *law)) != ladder[-1]:
        ladder.append(above)
    found.update({v: ladder[min(distance, len(ladder) - 1)] for v, distance in distances.items()})
    return True


def _mixed(law: Sequence[Fraction], mean: Sequence[Fraction], share: Fraction) -> Row:
    return _words([(1 - share) * p + share * m for p, m in zip(law, mean, strict=True)])


def _words(law: Sequence[Fraction]) -> Row:
    """Words of a law, 2^64 in all: each rounded down or up, those with the largest rests up."""
    total = sum(law)
    exact = [p * WORD_RANGE / total for p in law]
    words = [int(word) for word in exact]
    for answer in sorted(range(len(law)), key=lambda q: words[q] - exact[q])[: WORD_RANGE - sum(words)]:
        words[answer] += 1
    return tuple(words)


def _certain(g: DatasetGraph, preferences: NDArray[np.int64]) -> Rainbow:
    """The mechanism of a graph without a boundary and without fixed laws: the preferred answer."""
    k = preferences.shape[1]
    rows: list[Row] = [tuple(WORD_RANGE if q == first else 0 for q in range(k)) for first in range(k)]
    return Rainbow(g, rows, preferences[:, 0].astype(np.int64), 0.0)


def _check_boundary(g: DatasetGraph, codes: NDArray[np.int64], given: Mapping[int, Any]) -> None:
    sources = np.repeat(np.arange(g.n_vertices), np.diff(g._indptr))
    on_boundary = np.unique(sources[codes[sources] != codes[g._indices]])
    missing = [repr(g._names.name(v)) for v in on_boundary.tolist() if v not in given]
    if missing:
        raise ArgumentError(f"fixed must hold every vertex with a neighbour of another order, such as {', '.join(missing[:5])}")


def _orders(g: DatasetGraph, orders: Any) -> NDArray[np.int64]:
    """Permutations of the answers, a row for each vertex."""
    if isinstance(orders, Mapping):
        vertices = g._names.vertices(list(orders), "orders")
        if np.unique(vertices).size != g.n_vertices:
            raise ArgumentError("orders must hold every vertex")
        by_vertex = dict(zip(vertices.tolist(), orders.values(), strict=True))
        orders = [by_vertex[vertex] for vertex in range(g.n_vertices)]
    try:
        array = np.asarray(orders)
    except ValueError:
        raise ArgumentError("orders must have as many answers at each vertex") from None
    if array.dtype.kind not in "iu":
        raise ArgumentTypeError("orders must hold the answers, integers from 0, the most preferred first, for each vertex")
    if array.ndim != 2 or array.shape[0] != g.n_vertices or not array.shape[1]:
        raise ArgumentError("orders must have a row of answers for each vertex, in the order of labels")
    if not (np.sort(array, axis=1) == np.arange(array.shape[1])).all():
        raise ArgumentError("each of orders must hold every answer from 0 to n_answers - 1 once")
    return array.astype(np.int64)


def _given(g: DatasetGraph, fixed: Any, k: int) -> dict[int, list[Fraction]]:
    """Laws of the fixed vertices, exactly those of the doubles, with sum 1."""
    try:
        if isinstance(fixed, Mapping):
            vertices = g._names.vertices(list(fixed), "fixed")
            array = np.array([np.asarray(law, np.float64) for law in fixed.values()]).reshape(-1, k)
        else:
            array = np.asarray(fixed, np.float64)
            vertices = np.arange(g.n_vertices)
    except (TypeError, ValueError) as error:
        if isinstance(error, (ArgumentError, ArgumentTypeError)):
            raise
        raise ArgumentTypeError("fixed must hold a law, n_answers probabilities, for each of its vertices") from None
    if array.shape != (vertices.size, k) or np.unique(vertices).size != vertices.size:
        raise ArgumentError("fixed must have one law over all answers for each of its vertices; rows of NaN are free")
    kept = ~np.isnan(array).all(axis=1)
    array, vertices = array[kept], vertices[kept]
    if not (array >= 0).all() or (np.abs(array.sum(axis=1) - 1.0) > APART).any():
        raise ArgumentError("fixed must hold laws: probabilities that are not negative and sum to 1")
    exact = [[Fraction(p) for p in law] for law in array.tolist()]
    return {v: [p / sum(law) for p in law] for v, law in zip(vertices.tolist(), exact, strict=True)}
