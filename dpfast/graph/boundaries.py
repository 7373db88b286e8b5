"""Where the right answer changes, and what probabilities to give there."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpfast.errors import ArgumentError, ArgumentTypeError, MissingPackageError, SolverError
from dpfast.graph._values import KEY_ONE, Fixed, keys_of, mirrored, query_colours
from dpfast.graph.checking import broken_arcs
from dpfast.graph.model import DatasetGraph, as_graph
from dpfast.graph.propagate import closure

__all__ = ["boundary", "optimal_boundary"]

# Parts of a fair coin that a solution of the solver is mixed with, one after the other, until it can be completed.
MIXED: Final = (0.0, 1e-9, 1e-7, 1e-5, 1e-3)
ARCS_MAX: Final = 1_000_000  # of a linear program; it has two rows for each


def boundary(g: Any, query: Any) -> Any:
    """Return the datasets with a neighbour on which the right answer is another.

    Parameters
    ----------
    g : DatasetGraph
        Or a family, which has one.
    query : array_like, dict or str
        The right answer, 1 or 2, of every vertex: in the order of the labels, by label, or the name of a node attribute of the
        networkx graph that g was made of.

    Returns
    -------
    ndarray or list of labels

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Examples
    --------
    >>> from dpfast import graph
    >>> g = graph.DatasetGraph([0, 1, 2], [1, 2, 3], 0.5)
    >>> graph.boundary(g, [2, 2, 1, 1]).tolist()
    [1, 2]
    """
    model = as_graph(g)
    return model._names.take(np.flatnonzero(_mask(model, query_colours(model, query))))


def optimal_boundary(g: Any, query: Any, *, objective: Any = "minimax") -> Fixed:
    """Return the best values to fix on the boundary, for `extend`.

    Parameters
    ----------
    g : DatasetGraph
        Or a family, which has one.
    query : array_like, dict or str
        The right answer, 1 or 2, of every vertex; see `boundary`.
    objective : "minimax", array_like or dict
        "minimax": the largest possible Pr[right answer] at the worst vertex. Otherwise public weights of the vertices, at least
        0, an array over all or a dict by label (0 where left out): the largest weighted sum of Pr[right answer].

    Returns
    -------
    Fixed
        ``.vertices``, ``.probability`` and ``.complement`` of the boundary.

    Raises
    ------
    ArgumentError, ArgumentTypeError
    MissingPackageError
        Weights, and scipy is not installed.
    SolverError
        The linear program was not solved.

    Notes
    -----
    **Method.** "minimax" is in closed form: no mechanism is right with more than (e^epsilon + delta) / (1 + e^epsilon) at both
    ends of an edge across the boundary, and the least of these is attained. Two more searches then raise what can be raised
    without lowering anything: nobody does better somewhere and as well everywhere, up to rounding. Weights are a linear program
    over all vertices, solved by HiGHS; what the solver returns is completed by the same searches.
    **Privacy guarantee.** Of `extend` with the values: feasible exactly, proved edge by edge before they are returned.
    **Cost.** "minimax": near-linear. Weights: for graphs up to some 10^5 edges.

    References
    ----------
    .. [1] Pareto-optimal mechanisms and boundary hitting sets: arXiv 2310.20486.

    Examples
    --------
    >>> import math
    >>> from dpfast import graph
    >>> g = graph.DatasetGraph([0, 1, 2], [1, 2, 3], math.log(3))
    >>> fixed = graph.optimal_boundary(g, [2, 2, 1, 1])
    >>> fixed.vertices.tolist(), fixed.probability.round(4).tolist()
    ([1, 2], [0.25, 0.75])
    >>> graph.extend(g, [2, 2, 1, 1], fixed).probability.round(4).tolist()
    [0.0833, 0.25, 0.75, 0.9167]
    """
    model = as_graph(g)
    if model._user_law is not None:
        raise ArgumentError("optimal_boundary knows the law of (epsilon, delta) only; with a law of your own give fixed values")
    colours = query_colours(model, query)
    on_boundary = _mask(model, colours)
    vertices = np.flatnonzero(on_boundary)
    if isinstance(objective, str):
        if objective != "minimax":
            raise ArgumentError('objective must be "minimax" or weights of the vertices')
        words = _completed(model, colours, _minimax_start(model, colours, vertices))
        is_proved = _is_proved(model, colours, words)
    else:
        right = _weighted(model, colours, _weights(model, objective)) if vertices.size else np.ones(model.n_vertices)
        for part in MIXED:
            words = _completed(model, colours, keys_of((1.0 - part) * right + part / 2))
            if is_proved := _is_proved(model, colours, words):
                break
    if not is_proved:
        raise SolverError(
            "the solution of the linear program could not be made exactly private; scale the weights, or use minimax"
        )
    return Fixed(model._names.take(vertices), vertices, mirrored(words, colours == 2)[vertices])


def _mask(g: DatasetGraph, colours: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which vertices have a neighbour with another right answer."""
    mask = np.empty(g.n_vertices, np.uint8)
    g._arcs(colours).boundary(mask)
    return mask.view(np.bool_)


def _minimax_start(g: DatasetGraph, colours: NDArray[np.uint8], vertices: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Keys of Pr[right answer]: on the boundary the least of (E + d) / (1 + E) over edges across, elsewhere 1."""
    across = np.flatnonzero(colours[g._indices] != np.repeat(colours, np.diff(g._indptr)))
    sources = np.searchsorted(g._indptr, across, side="right") - 1
    power = np.exp(-g._epsilons[across])
    wrong = np.zeros(g.n_vertices)
    np.maximum.at(wrong, sources, (1.0 if g._deltas is None else 1.0 - g._deltas[across]) * power / (1.0 + power))
    words = np.full(g.n_vertices, KEY_ONE)
    # Some units up: the exact value lies below.
    words[vertices] -= np.minimum(wrong[vertices].view(np.uint64) + np.uint64(8), KEY_ONE // np.uint64(2))
    return words


def _completed(g: DatasetGraph, colours: NDArray[np.uint8], words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Keep the values where the right answer is 1, raise all others as far as they allow, and then those in the same way."""
    words = closure(g, words, colours)
    for kept in (1, 2):
        is_given = colours == kept
        start = np.where(is_given, words, KEY_ONE)
        missing = np.empty(g.n_vertices, np.uint8)
        g._arcs(colours).cross(is_given.view(np.uint8), words, start, missing)
        completed = closure(g, start, colours)
        # There and back again rounds twice; what the others were derived from is allowed by them.
        words = completed if kept == 1 else np.maximum(words, completed)
    return words


def _is_proved(g: DatasetGraph, colours: NDArray[np.uint8], words: NDArray[np.uint64]) -> bool:
    return next(broken_arcs(g, mirrored(words, colours == 2)), None) is None


def _weights(g: DatasetGraph, objective: Any) -> NDArray[np.float64]:
    weights = np.zeros(g.n_vertices)
    try:
        if isinstance(objective, Mapping):
            weights[g._names.vertices(list(objective), "objective")] = np.array(list(objective.values()), np.float64)
        else:
            weights = np.asarray(objective, np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, (ArgumentError, ArgumentTypeError)):
            raise
        raise ArgumentTypeError('objective must be "minimax" or weights of the vertices, numbers') from None
    if weights.shape != (g.n_vertices,):
        raise ArgumentError("objective must have a weight for each vertex, in the order of labels")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ArgumentError("weights must be finite and not negative")
    return weights


def _weighted(g: DatasetGraph, colours: NDArray[np.uint8], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pr[right answer] at every vertex in a solution of the linear program, to the tolerance of the solver."""
    if g.n_arcs > ARCS_MAX:
        raise ArgumentError("the graph is too large for a linear program; use objective='minimax'")
    try:
        optimize, sparse = importlib.import_module("scipy.optimize"), importlib.import_module("scipy.sparse")
    except ImportError:
        raise MissingPackageError("weights need scipy: pip install 'dpfast[graph]'") from None
    # For an arc v -> w, divided by e^epsilon so that no coefficient exceeds 1: r p(w) - p(v) <= r d, and so for 1 - p.
    n, arcs = g.n_vertices, np.arange(g.n_arcs)
    sources = np.repeat(np.arange(n), np.diff(g._indptr))
    ratio = np.exp(-g._epsilons)
    slack = ratio * (0.0 if g._deltas is None else g._deltas)
    rows = sparse.csr_matrix(
        (np.concatenate([ratio, -np.ones(arcs.size)]), (np.tile(arcs, 2), np.concatenate([g._indices, sources]))), (arcs.size, n)
    )
    sign = np.where(colours == 1, -1.0, 1.0) * weights / max(float(weights.max(initial=0.0)), 1e-300)
    found = optimize.linprog(
        sign, A_ub=sparse.vstack([rows, -rows]), b_ub=np.concatenate([slack, slack + 1.0 - ratio]), bounds=(0, 1), method="highs"
    )
    if found.x is None:
        raise SolverError("the linear program was not solved; scale the weights, or use objective='minimax'")
    p = np.clip(np.asarray(found.x, np.float64), 0.0, 1.0)
    return np.where(colours == 1, p, 1.0 - p)
