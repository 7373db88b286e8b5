"""Random graphs of datasets for tests, small and odd: laws of every size, zeros, parallel edges, lone vertices."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfast import graph

__all__ = ["EPSILONS", "Case", "random_case", "random_edges", "reference_edges"]

EPSILONS = [0.0, 1e-300, 1e-12, 1e-6, 0.1, 0.1, 0.5, 0.7, 1.0, 3.0, 30.0, 300.0, 720.0, 1e4]
DELTAS = [0.0, 0.0, 0.0, 1e-9, 0.05, 0.6]
VALUES = [0.0, 5e-324, 1e-300, 1e-10, 0.1, 0.25, 0.3, 0.5, 0.75, 0.9, 1.0 - 2**-53, 1.0]

Case = tuple[Any, Any, Any, Any]


def random_edges(rng: np.random.Generator, n: int, m: int, *, deltas: bool = True) -> Case:
    """Ends, epsilons and deltas of m edges on n vertices, loops among them."""
    u, v = rng.integers(0, n, (2, m))
    return u, v, rng.choice(EPSILONS, m), rng.choice(DELTAS if deltas else [0.0], m)


def reference_edges(case: Case) -> list[tuple[int, int, float, float]]:
    """The same for the twin, without loops, which say nothing."""
    rows = zip(*(column.tolist() for column in case), strict=True)
    return [(u, v, epsilon, delta) for u, v, epsilon, delta in rows if u != v]


def random_case(rng: np.random.Generator, n: int, m: int, *, moderate: bool = False) -> tuple[graph.DatasetGraph, Case, Any]:
    """A graph, its edges, and right answers for its vertices."""
    case = random_edges(rng, n, m)
    if moderate:
        case = (*case[:2], rng.uniform(0.05, 2.0, m), rng.choice([0.0, 0.0, 0.02], m))
    return graph.DatasetGraph(*case, n_vertices=n), case, rng.integers(1, 3, n)
