"""The strongest constraints that fixed values put on a whole graph: one search from all of them at once.

Precondition: keys (see `dpfast.graph._values`) of some vertices. Postcondition: the key of v is the smallest that a path
carries from one of them to v, each edge by its rounded law (``csrc/graph/law.h``), KEY_ONE where there is no path. The law is
monotone, at least its argument and at most the real law U, so every edge holds exactly for what comes out, and what comes out is
a function of graph and values alone: not of the order of edges, labels or work.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from dpfast.graph._values import KEY_ONE, Probabilities, fixed_values
from dpfast.graph.model import DatasetGraph, as_graph

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Queue", "closure", "lower", "upper"]

Queue: TypeAlias = Literal["auto", "heap", "buckets"]

SMALL: Final = 1 << 15  # arcs up to which a heap is as quick as setting up buckets
SAMPLE: Final = 4096  # epsilons that are looked at to choose the width of a bucket
NARROWEST, WIDEST = 44, 50  # 2**52 keys are a factor of two in p, so these are about 0.3 and 17 percent


def closure(
    g: DatasetGraph,
    keys: NDArray[np.uint64],
    colours: NDArray[np.uint8] | None = None,
    queue: Queue = "auto",
    *,
    mirror: bool = False,
) -> NDArray[np.uint64]:
    """Least fixed point below starting keys, which it overwrites and returns; within regions of one colour if given."""
    arcs = g._arcs(colours, mirror=mirror)
    if queue == "heap" or (queue == "auto" and g.n_arcs <= SMALL):
        arcs.by_heap(keys)
    else:
        arcs.by_buckets(keys, _shift(g))
    return keys


def _shift(g: DatasetGraph) -> int:
    """Width of a bucket, as a power of two: about the raise of an edge that nine in ten exceed; any gives the same answer."""
    if not g.n_arcs:
        return WIDEST
    sample = g._epsilons[:: max(1, g.n_arcs // SAMPLE)]
    low = float(np.quantile(sample, 0.1))
    return min(max(52 + math.floor(math.log2(max(low, 1e-300))), NARROWEST), WIDEST)


def upper(g: Any, fixed: Any) -> Probabilities:
    """Return the largest Pr[answer 1] that fixed values leave to every vertex.

    Parameters
    ----------
    g : DatasetGraph
        Or a family, which has one.
    fixed : array_like, dict, tuple or Fixed
        Pr[answer 1] of some vertices: an array over all with NaN where free, a dict by label, or (vertices, values).

    Returns
    -------
    Probabilities
        ``.probability`` and ``.complement``, in the order of the labels; 1 where no path leads. A fixed value that is not
        attainable is lowered: no mechanism has the fixed values exactly if there is one (Theorem 1 of [1]_, with Galois pairs).

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Notes
    -----
    Every mechanism that is private on all edges and has at most the fixed values has at most these. **Exactness.** Each edge
    inequality p(u) <= e^epsilon p(v) + delta and its complement holds exactly for the numbers returned, which are at most the
    real bounds and below them by a few units in the last place for each edge of the binding path.
    **Cost.** Near-linear in arcs: one search by buckets.

    References
    ----------
    .. [1] R. D'Oliveira, M. Medard, P. Sadeghi, "Differential privacy for binary functions via randomized graph colorings",
       ISIT 2021; heterogeneous epsilons: arXiv 2203.15429.

    Examples
    --------
    >>> import math
    >>> from dpfast import graph
    >>> g = graph.DatasetGraph([0, 1], [1, 2], [math.log(2), math.log(4)])
    >>> graph.upper(g, {0: 0.3}).probability.round(4).tolist()
    [0.3, 0.6, 0.9]
    """
    model = as_graph(g)
    return Probabilities(closure(model, _start(model, fixed, mirror=False)))


def lower(g: Any, fixed: Any) -> Probabilities:
    """Return the smallest Pr[answer 1] that fixed values leave to every vertex.

    Parameters
    ----------
    g : DatasetGraph
        Or a family, which has one.
    fixed : array_like, dict, tuple or Fixed
        As for `upper`.

    Returns
    -------
    Probabilities
        In the order of the labels; 0 where no path leads.

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Notes
    -----
    The mirror image of `upper`: one minus the largest Pr[answer 2]. Exactness and cost are the same.

    Examples
    --------
    >>> import math
    >>> from dpfast import graph
    >>> g = graph.DatasetGraph([0, 1], [1, 2], [math.log(2), math.log(4)])
    >>> graph.lower(g, {0: 0.7}).probability.round(4).tolist()
    [0.7, 0.4, 0.1]
    """
    model = as_graph(g)
    return Probabilities(KEY_ONE - closure(model, _start(model, fixed, mirror=True), mirror=True))


def _start(g: DatasetGraph, fixed: Any, *, mirror: bool) -> NDArray[np.uint64]:
    vertices, keys = fixed_values(g, fixed)
    start = np.full(g.n_vertices, KEY_ONE)
    start[vertices] = KEY_ONE - keys if mirror else keys
    return start
