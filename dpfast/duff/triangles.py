"""Triangles of a graph whose edges are private: the ladder, and smooth sensitivity (Duff, part B.11).

The number of triangles changes by the common neighbours of the two ends when an edge comes or goes. Within distance s of a graph
it can change by

    LS^(s) = max over pairs i != j of min(a_ij + floor((s + min(s, b_ij)) / 2), n - 2),

a_ij common neighbours, b_ij vertices next to exactly one of the two: s - 1 edges first make b's into a's, one each, and then two
edges make a new common neighbour. Only pairs matter that no other pair exceeds in both a and b; `stairs` holds for each a the
largest b of the pairs with that many common neighbours or more.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from dpfast._core import joint as core
from dpfast._rounding import float_above
from dpfast._spending import payment
from dpfast._statement import Privacy
from dpfast._threads import check_threads
from dpfast.duff._cauchy import cauchy_alpha, cauchy_integer
from dpfast.duff._edges import read_edges
from dpfast.duff._words import words_of
from dpfast.duff.grid import MOST_POINTS
from dpfast.duff.levels import Levels
from dpfast.duff.sampling import digest_of, draw_indices, stream_of
from dpfast.duff.weights import Weights, check_epsilon, decay_of, last_distance
from dpfast.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dpfast._spending import Charges
    from dpfast.duff._edges import Graph
    from dpfast.randomness import Column, Stream

__all__ = ["Pairs", "count_triangles", "ladder_levels", "local_sensitivity", "smooth_sensitivity_of_triangles", "study"]

PIECE: Final = 1 << 12  # vertices between two looks at Ctrl-C
STEPS: Final = 1 << 25  # the same, by what vertices take
FEW: Final = 1 << 4  # the same where a vertex meets all others
LARGEST: Final = 64  # of epsilon, for the noise of smooth sensitivity
FIRST_WEIGHT: Final = 1 << 96


class Pairs(NamedTuple):
    """What is known of a graph: private data."""

    triangles: int
    stairs: NDArray[np.int64]
    n_vertices: int


def count_triangles(
    edges: Any,
    *,
    n_vertices: int | None = None,
    epsilon: float,
    neighbours: Literal["edge"] = "edge",
    method: Literal["ladder", "smooth_cauchy"] = "ladder",
    rng: Stream | None = None,
    column_name: Column = None,
    threads: int | None = None,
    ledger: Charges | None = None,
) -> int:
    """Count the triangles of an undirected graph whose edges are private.

    Parameters
    ----------
    edges : array of int, shape (n_edges, 2), a pair of such arrays, networkx graph, or scipy sparse matrix
        Vertices are numbered from 0. The graph is taken as simple and undirected: an edge given twice or in both directions
        counts once, and an edge from a vertex to itself not at all.
    n_vertices : int, optional
        Public number of vertices; required with edge arrays, known of a networkx graph or a matrix.
    epsilon : float
        What the call spends; finite, at least 0.
    neighbours : {"edge"}
        Graphs on the same vertices that differ by one edge more or less. The vertices are public.
    method : {"ladder", "smooth_cauchy"}
        "ladder": the exponential mechanism on the ladder of local sensitivities, mostly the more accurate. "smooth_cauchy": the
        count plus Cauchy noise scaled to its smooth sensitivity, the baseline; rounded and clamped to the possible counts.
    rng : Stream, optional
        Default: a fresh stream.
    column_name : str or tuple of str
        Required with a keyed stream.
    threads : int, optional
        For the uniformity of calls; the count is made by one thread.
    ledger : Ledger, optional
        Charged before anything is drawn, for neighbours "edge": `epsilon` times the edges that its `rows_per_person` grants a
        person. A ledger of rows of tables refuses it; make one with ``cap=Privacy(epsilon, neighbours="edge")``.

    Returns
    -------
    int
        From 0 to n (n-1) (n-2) / 6, or to 2**62 - 1 if that is less.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For wrong arguments; an edge to a vertex that does not exist among them.

    Notes
    -----
    **Privacy guarantee.** `epsilon` for edge neighbours, exactly, without delta. "ladder": integer weights w of the rung of each
    count, w_k <= e^(epsilon / 2) w_{k+1}; the rung changes by at most 1. "smooth_cauchy": a rational bound of the smooth
    sensitivity at beta = epsilon / 6, not below it, over an alpha rounded down, times a Cauchy variate without rounding.
    Duplicates and loops are removed by a rule of each edge by itself. A person who owns several edges is protected by as many
    times epsilon. Node privacy is another problem.
    **Cost.** Triangles take O(m^1.5) for m edges. Pairs that share a vertex of up to sqrt(2 m) neighbours are looked at one by
    one unless their degrees are too small to matter, at most O(m^1.5) of them, a nanosecond or two each. Of pairs that share
    heavier vertices only, those of small degree hardly ever matter. 10^6 edges take about two seconds, also those of stars of
    cliques, trees and dense graphs. Memory about 100 bytes an edge.

    References
    ----------
    .. [1] V. Karwa, S. Raskhodnikova, A. Smith, G. Yaroslavtsev, "Private analysis of graph structure", PVLDB 2011.
    .. [2] J. Zhang, G. Cormode, C. Procopiuc, D. Srivastava, X. Xiao, "Private release of graph statistics using ladder
       functions", SIGMOD 2015.

    Examples
    --------
    >>> from dpfast import Stream
    >>> edges = [(i, j) for i in range(40) for j in range(i)]           # 9880 triangles
    >>> count_triangles(edges, n_vertices=40, epsilon=4.0, rng=Stream.insecure(1))
    9850
    """
    exact = check_epsilon(epsilon)
    if neighbours != "edge":
        raise ArgumentError('neighbours must be "edge": graphs that differ by one edge')
    if method not in ("ladder", "smooth_cauchy"):
        raise ArgumentError('method must be "ladder" or "smooth_cauchy"')
    beta = min(exact, Fraction(LARGEST)) / 6
    alpha = cauchy_alpha(min(exact, Fraction(LARGEST)), beta) if method == "smooth_cauchy" else Fraction(1)
    if not alpha:
        raise ArgumentError("smooth_cauchy needs an epsilon of at least 1e-20: noise of a smaller one says nothing of the graph")
    check_threads(threads)
    stream = stream_of(rng)
    graph = read_edges(edges, n_vertices)
    digest = digest_of("triangles", method, str(exact), str(graph.n_vertices))
    pay = payment(
        ledger, column_name, digest, lambda edges_each: Privacy(float_above(exact * edges_each), 0.0, "edge", edges_each)
    )
    pay(stream, "draw")
    words = stream.draws(column_name, digest, 1).as_words()
    if graph.n_vertices < 3:
        return 0
    pairs = study(graph)
    if method == "ladder":
        weights = Weights(exact)
        levels = ladder_levels(pairs, weights)
        return int(draw_indices(levels, weights.of(levels.distance), words, 1, "sum")[0])
    scale = smooth_sensitivity_of_triangles(pairs, beta) / alpha
    top = most_triangles(graph.n_vertices)
    return cauchy_integer(min(pairs.triangles, top), scale, 0, top, words_of(words))


def most_triangles(n: int) -> int:
    """The public range of answers."""
    return min(n * (n - 1) * (n - 2) // 6, MOST_POINTS - 1)


def study(graph: Graph) -> Pairs:
    """Count the triangles and find the pairs that matter."""
    n, offsets = graph.n_vertices, graph.offsets
    room = np.zeros(n, np.uint32), np.zeros(n, np.int32), np.zeros(n, np.int32)
    kernel = core.TriangleGraph(offsets, graph.around, *room, spared_vertices(graph).view(np.uint8), heavy_vertices(graph))
    pieces = [(start, min(start + PIECE, n)) for start in range(0, n, PIECE)]
    triangles = sum(kernel.triangles(start, stop) for start, stop in pieces)
    stairs = np.full(int(offsets[1]) + 1, -1, np.int64)
    work = np.cumsum(_steps(graph))
    ends = work.searchsorted(np.arange(STEPS, int(work[-1]), STEPS))
    for start, stop in pairwise(np.unique([0, *ends.tolist(), n]).tolist()):
        kernel.stairs(stairs, start, stop)
    start = 0
    while kernel.strangers(stairs, start, min(start + FEW, n)):
        start += FEW
    return Pairs(triangles, stairs[stairs >= 0], n)


def heavy_vertices(graph: Graph) -> int:
    """How many vertices have so many neighbours that not all pairs of these should be looked at: more than sqrt(2 edges)."""
    degrees = np.diff(graph.offsets)
    return int(np.count_nonzero(degrees**2 > graph.offsets[-1]))


def _steps(graph: Graph) -> NDArray[np.int64]:
    """Neighbours of neighbours of each vertex, at most: what looking at its pairs takes."""
    degrees = np.diff(graph.offsets)
    sums = np.append(0, np.cumsum(degrees[graph.around[: graph.offsets[-1]]]))
    return np.asarray(sums[graph.offsets[1:]] - sums[graph.offsets[:-1]] + 1, np.int64)


def spared_vertices(graph: Graph) -> NDArray[np.bool_]:
    """All but two of the vertices that have the same neighbours: two are enough for every pair that may be made of them.

    In a graph of a few hubs and many who know only these, all pairs of the many share a hub.
    """
    degrees = np.diff(graph.offsets)
    mixed = np.arange(1, graph.n_vertices + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ mixed >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9)
    sums = np.append(np.uint64(0), np.cumsum(mixed[graph.around[: graph.offsets[-1]]]))
    order = np.lexsort((sums[graph.offsets[1:]] - sums[graph.offsets[:-1]], degrees))
    before, after = order[:-1], order[1:]
    alike = np.flatnonzero(degrees[before] == degrees[after])
    # equal sums are a hint; the lists of neighbours of each vertex and the one before it decide
    lengths = degrees[after[alike]]
    starts = np.cumsum(lengths) - lengths
    places = np.arange(int(lengths.sum())) - np.repeat(starts, lengths)
    ours, others = (graph.around[np.repeat(graph.offsets[side[alike]], lengths) + places] for side in (after, before))
    unequal = np.append(0, np.cumsum(ours != others))
    same = np.zeros(graph.n_vertices, np.bool_)
    same[alike + 1] = unequal[starts + lengths] == unequal[starts]
    found = np.zeros(graph.n_vertices, np.bool_)
    found[order[2:]] = same[2:] & same[1:-1]
    return found


def local_sensitivity(pairs: Pairs, last: int) -> NDArray[np.int64]:
    """LS^(s) for s = 0 .. last, of a graph of three vertices or more."""
    stairs = pairs.stairs
    steps = np.arange(last + 1, dtype=np.int64)
    places = np.arange(stairs.size, dtype=np.int64)
    # Of pairs with b >= s the largest a counts, which is the last stair so high; of the others the largest 2 a + b.
    high = np.searchsorted(-stairs, -steps, side="right") - 1
    others = np.append(np.maximum.accumulate((2 * places + stairs)[::-1])[::-1], -2 * (last + 1))
    found = np.maximum(np.where(high >= 0, high + steps, 0), (steps + others[high + 1]) // 2)
    return np.asarray(np.minimum(found, pairs.n_vertices - 2), np.int64)


def ladder_levels(
    pairs: Pairs, weights: Weights, sensitivities: Callable[[Pairs, int], NDArray[np.int64]] = local_sensitivity
) -> Levels:
    """Levels of the count: rung r holds the LS^(r-1) integers next to rung r - 1 on either side.

    Rungs beyond the last weight have that weight and are one.
    """
    last = last_distance(weights)
    top = most_triangles(pairs.n_vertices)
    centre = min(pairs.triangles, top)
    ends = np.cumsum(sensitivities(pairs, max(last - 1, 0)))[:last]  # sums below 2^22 2^31
    ends = ends[: np.searchsorted(ends, max(centre, top - centre)) + 1]  # what lies beyond is no count
    starts = np.append(0, ends)[: ends.size] + 1
    lower = [np.array([centre]), np.minimum(centre + starts, top + 1), np.maximum(centre - ends, 0)]
    upper = [np.array([centre]), np.minimum(centre + ends, top), np.maximum(centre - starts, -1)]
    reached = int(ends[-1]) if ends.size else 0
    lower.append(np.array([0, min(centre + reached, top) + 1]))
    upper.append(np.array([max(centre - reached, 0) - 1, top]))
    rungs = np.arange(1, ends.size + 1)
    distance = np.concatenate([[0], rungs, rungs, [last, last]])
    low, high = np.concatenate(lower), np.concatenate(upper)
    kept = low <= high
    return Levels(distance[kept], low[kept], high[kept], step=1)


def smooth_sensitivity_of_triangles(pairs: Pairs, beta: Fraction) -> Fraction:
    """The largest e^(-beta s) LS^(s) with weights of integers that are not below it and fall by no more than e^beta a step."""
    decay, weight, best = decay_of(beta), FIRST_WEIGHT, 0
    start, size = 0, 1 << 10
    while True:
        sizes = local_sensitivity(pairs, start + size)[start:].tolist()
        for sensitivity in sizes:
            best = max(best, weight * sensitivity)
            if weight * (pairs.n_vertices - 2) <= best:  # weights only fall
                return Fraction(best, FIRST_WEIGHT)
            weight -= weight * decay >> 64
        start += len(sizes)
        size *= 2
