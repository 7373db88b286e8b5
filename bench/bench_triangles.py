"""Triangles of graphs of a million edges, and how the cost grows."""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from timing import interleaved, save

import dpfast
from dpfast import Stream
from dpfast.duff._edges import read_edges
from dpfast.duff.triangles import study

EDGES = 10**6


def graphs(n_edges: int) -> dict[str, tuple[NDArray[np.int64], int]]:
    random, n = np.random.default_rng(0), n_edges // 5
    weights = np.arange(1, n + 1) ** -0.7
    star = np.stack([np.zeros(n_edges, np.int64), np.arange(1, n_edges + 1)], axis=1)
    return {
        "uniform": (random.integers(0, n, (n_edges, 2)), n),
        "power law": (random.choice(n, (n_edges, 2), p=weights / weights.sum()), n),
        "star": (star, n_edges + 1),
    }


def by_matrix(edges: NDArray[np.int64], n: int) -> int:
    """Triangles alone, not private, by a sparse product."""
    edges = edges[edges[:, 0] != edges[:, 1]]
    lower = np.unique(np.stack([edges.max(axis=1), edges.min(axis=1)], axis=1), axis=0)
    matrix = scipy.sparse.csr_matrix((np.ones(len(lower), np.int64), lower.T), shape=(n, n))
    return int((matrix @ matrix).multiply(matrix).sum())


def test_triangles_ratios() -> None:
    ratios = []
    for name, (edges, n) in graphs(EDGES).items():
        true = by_matrix(edges, n)
        assert study(read_edges(edges, n)).triangles == true
        seconds = interleaved(
            {
                "ladder": lambda: dpfast.count_triangles(edges, n_vertices=n, epsilon=1.0, rng=Stream.insecure(1)),  # noqa: B023
                "matrix": lambda: by_matrix(edges, n),  # noqa: B023
            },
            rounds=3,
        )
        print(f"\n{name}: ladder {seconds['ladder']:.2f} s, sparse product {seconds['matrix']:.2f} s, {true} triangles")
        ratio = seconds["ladder"] / seconds["matrix"]
        ratios.append({"against": f"a sparse product of scipy, {name}", "says": f"{ratio:.2f} times its time"})
    save("triangles", [{"work": "`count_triangles`, 10⁶ edges", "ratios": ratios}])


def test_cost_over_three_decades() -> None:
    for name in ("uniform", "power law"):
        seconds = []
        for n_edges in (10**4, 10**5, 10**6):
            edges, n = graphs(n_edges)[name]
            start = time.thread_time()
            dpfast.count_triangles(edges, n_vertices=n, epsilon=1.0, rng=Stream.insecure(1))
            seconds.append(time.thread_time() - start)
        print(f"\n{name}: " + ", ".join(f"{s:.3f} s" for s in seconds))
