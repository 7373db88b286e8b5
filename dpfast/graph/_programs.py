"""Linear programs for a region of a query with several answers, solved by HiGHS to its tolerance."""

from __future__ import annotations

import importlib
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast.errors import ArgumentError, InfeasibleError, MissingPackageError, SolverError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpfast.graph.model import DatasetGraph

__all__ = ["best_rows"]

ENTRIES_MAX: Final = 1_000_000  # inequalities of one program
INFEASIBLE: Final = 2  # what linprog calls it


def best_rows(
    g: DatasetGraph, vertices: Sequence[int], order: Sequence[int], fixed: Mapping[int, Sequence[Fraction]]
) -> dict[int, list[Fraction]]:
    """Laws for the free vertices of a region with the largest mean of the sums over the first 1, 2, ... answers."""
    k, place = len(order), {vertex: number for number, vertex in enumerate(vertices)}
    arcs = [
        (place[vertex], place[int(g._indices[arc])], *g._law(arc))
        for vertex in vertices
        for arc in range(g._row(vertex).start, g._row(vertex).stop)
        if int(g._indices[arc]) in place and not (vertex in fixed and int(g._indices[arc]) in fixed)
    ]
    if len(arcs) * k > ENTRIES_MAX:
        raise ArgumentError("a region is too large for a linear program; use one epsilon, and one fixed law, in each region")
    try:
        optimize, sparse = importlib.import_module("scipy.optimize"), importlib.import_module("scipy.sparse")
    except ImportError:
        raise MissingPackageError("a region with several laws needs scipy: pip install 'dpfast[graph]'") from None
    # For an arc u -> v and answer q, divided by E: r p_v(q) - p_u(q) - s <= 0, and the s of an arc sum to r delta at most.
    n, m = len(vertices) * k, len(arcs)
    heads, tails = np.array([arc[0] for arc in arcs]), np.array([arc[1] for arc in arcs])
    ratio, deltas = np.exp(-np.array([arc[2] for arc in arcs])), np.array([arc[3] for arc in arcs])
    row = np.arange(m * k)
    answers = np.tile(np.arange(k), m)
    at_tail, at_head = np.repeat(tails, k) * k + answers, np.repeat(heads, k) * k + answers
    values = np.concatenate([np.repeat(ratio, k), -np.ones(m * k), -np.ones(m * k)])
    places = (np.tile(row, 3), np.concatenate([at_tail, at_head, n + row]))
    laws = sparse.csr_matrix((values, places), (m * k, n + m * k))
    slack = sparse.csr_matrix((np.ones(m * k), (row // k, n + row)), (m, n + m * k))
    sums = sparse.csr_matrix((np.ones(n), (np.arange(n) // k, np.arange(n))), (len(vertices), n + m * k))
    goal = np.zeros(n + m * k)
    for vertex, number in place.items():
        if vertex not in fixed:
            goal[number * k + np.array(order)] = -np.arange(k - 1, -1, -1) / max(k - 1, 1)
    bounds: list[tuple[float, float]] = [(0.0, 1.0)] * (n + m * k)
    for vertex, law in fixed.items():
        for answer, share in enumerate(law):
            bounds[place[vertex] * k + answer] = (float(share), float(share))
    found: Any = optimize.linprog(
        goal,
        A_ub=sparse.vstack([laws, slack]),
        b_ub=np.concatenate([np.zeros(m * k), ratio * deltas]),
        A_eq=sums,
        b_eq=np.ones(len(vertices)),
        bounds=bounds,
        method="highs",
    )
    if found.status == INFEASIBLE:
        raise InfeasibleError("no private mechanism has the fixed laws: in one region they cannot be joined")
    if found.x is None:
        raise SolverError("the linear program of a region was not solved")
    p = np.maximum(np.asarray(found.x[:n], np.float64), 0.0).reshape(len(vertices), k)
    if not deltas.any():  # what no fixed law has, none has; the solver is that exact to its tolerance only
        p[:, [answer for answer in range(k) if not any(law[answer] for law in fixed.values())]] = 0.0
    return {vertex: [Fraction(share) for share in p[number].tolist()] for vertex, number in place.items() if vertex not in fixed}
