"""Speed of propagation over graphs of datasets, as ratios to shortest paths by scipy and networkx in the same run.

    pytest bench/bench_graph.py -s              everything; the largest graph takes 6 GB and some two minutes
    pytest bench/bench_graph.py -k ratios -s    the ratios of README alone, saved under bench/results/: some four minutes

Shortest paths are another problem, of the same kind and size: scipy's search over sums of epsilons is what a user had before.
Every answer is checked before it is timed: every edge is proved, and heap and buckets agree.
"""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import networkx
import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import dijkstra
from timing import interleaved, save

from dpfast import graph
from dpfast.graph._values import KEY_ONE, keys_of
from dpfast.graph.propagate import closure

REACH = 4.0  # times as fast as scipy
REACH_NETWORKX = 200.0
BYTES = 40.0  # an arc, at the peak
VERTICES, ARCS = 2_000_000, 20_000_000
SEEDS = 100


def edges(kind: str, n: int, m: int) -> tuple[Any, Any, int]:
    """Ends of about m edges on about n vertices."""
    rng = np.random.default_rng(1)
    if kind == "grid":
        side = int((m / 2) ** 0.5)
        place = np.arange(side * side, dtype=np.int32).reshape(side, side)
        u = np.concatenate([place[:, :-1].ravel(), place[:-1].ravel()])
        return u, np.concatenate([place[:, 1:].ravel(), place[1:].ravel()]), side * side
    u, v = rng.integers(0, n, (2, m), dtype=np.int32)
    return u, (n * (v / n) ** 3).astype(np.int32) if kind == "scale-free" else v, n


def epsilons(kind: str, m: int) -> Any:
    """Figures of the edges."""
    rng = np.random.default_rng(2)
    if kind == "log-uniform":
        return np.exp(rng.uniform(np.log(1e-6), np.log(10), m))
    found = rng.uniform(0.1, 1, m)
    if kind == "1 % zeros":
        found[rng.random(m) < 0.01] = 0.0
    return found


def start(g: graph.DatasetGraph) -> tuple[Any, Any]:
    """Seeds, and the keys that a search starts with."""
    seeds = np.random.default_rng(3).integers(0, g.n_vertices, SEEDS)
    keys = np.full(g.n_vertices, KEY_ONE)
    keys[seeds] = keys_of(np.full(SEEDS, 0.01))
    return seeds, keys


def matrix(g: graph.DatasetGraph) -> Any:
    """The graph for scipy, which takes a stored 0 for no edge."""
    shape = (g.n_vertices, g.n_vertices)
    return scipy.sparse.csr_matrix((np.maximum(g._epsilons, 1e-300), g._indices, g._indptr.astype(np.int32)), shape)


def test_graph_ratios() -> None:
    rows = []
    for kind in ("random", "grid", "scale-free"):
        u, v, n = edges(kind, VERTICES, ARCS // 2)
        for figures in ("uniform", "log-uniform", "1 % zeros"):
            g = graph.DatasetGraph(u, v, epsilons(figures, u.size), n_vertices=n)
            seeds, keys = start(g)
            found = closure(g, keys.copy(), queue="buckets")
            assert (found == closure(g, keys.copy(), queue="heap")).all()
            graph.verify(g, graph.Probabilities(found))
            peer = matrix(g)
            times = interleaved(
                {
                    "dpfast": lambda g=g, keys=keys: closure(g, keys.copy()),
                    "scipy": lambda peer=peer, seeds=seeds: dijkstra(peer, indices=seeds, min_only=True),
                },
                rounds=2,
            )
            ratio = times["scipy"] / times["dpfast"]
            print(f"\n{kind}, {figures}: {ratio:.1f} times as fast (reach: {REACH:.0f}), {g.n_arcs / times['dpfast']:.3g} arcs/s")
            says = [{"against": "`scipy.sparse.csgraph.dijkstra(min_only=True)`", "says": f"{ratio:.1f} times as fast"}]
            rows.append({"work": f"`graph.upper`, {kind}, epsilon {figures}, 2·10⁷ arcs", "ratios": says, "ratio": ratio})
    save("graph", [{key: row[key] for key in ("work", "ratios")} for row in rows])
    assert all(row["ratio"] >= REACH for row in rows)


def cost_of(arcs: int) -> tuple[float, float]:
    """Seconds an arc that a search takes, and bytes an arc at the peak of making the graph and searching it."""
    u, v, n = edges("random", arcs // 10, arcs // 2)
    figures = epsilons("uniform", u.size)
    tracemalloc.start()
    g = graph.DatasetGraph(u, v, figures, n_vertices=n)
    _, keys = start(g)
    begin = time.perf_counter()
    closure(g, keys, queue="buckets")
    seconds, peak = time.perf_counter() - begin, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"\n{g.n_arcs:>11} arcs: {1e9 * seconds / g.n_arcs:.1f} ns and at most {peak / g.n_arcs:.1f} bytes an arc")
    return seconds / g.n_arcs, peak / g.n_arcs


def test_growth_is_near_linear() -> None:
    """From 10^5 to 10^8 arcs the cost of an arc grows with the misses of the caches, not with the number."""
    costs = [cost_of(arcs) for arcs in (10**5, 10**6, 10**7, 10**8)]
    assert costs[-1][0] < 12 * costs[0][0]
    assert all(held <= BYTES for _, held in costs[1:])


def test_beside_networkx() -> None:
    u, v, n = edges("random", 200_000, 1_000_000)
    g = graph.DatasetGraph(u, v, epsilons("uniform", u.size), n_vertices=n)
    seeds, keys = start(g)
    graph.verify(g, graph.Probabilities(closure(g, keys.copy())))
    other, sources = networkx.from_scipy_sparse_array(matrix(g)), set(seeds.tolist())
    times = interleaved(
        {
            "dpfast": lambda: closure(g, keys.copy()),
            "networkx": lambda: networkx.multi_source_dijkstra_path_length(other, sources),
        },
        rounds=3,
    )
    ratio = times["networkx"] / times["dpfast"]
    print(f"\n{ratio:.0f} times as fast as networkx (reach: {REACH_NETWORKX:.0f})")
    says = [{"against": "`networkx.multi_source_dijkstra_path_length`", "says": f"{ratio:.0f} times as fast"}]
    save("graph_networkx", [{"work": "`graph.upper`, random, epsilon uniform, 2·10⁶ arcs", "ratios": says}])
    assert ratio >= REACH_NETWORKX
