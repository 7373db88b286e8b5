"""One answer, bit for bit: heap and buckets, any width and room, any order of edges, any labels."""

from __future__ import annotations

import numpy as np
import pytest
from graph_cases import VALUES, random_case, random_edges
from soak import record

from dpfast import graph
from dpfast.graph._values import KEY_ONE, keys_of
from dpfast.graph.propagate import closure


def starts(rng: np.random.Generator, n: int) -> np.ndarray:
    keys = np.full(n, KEY_ONE)
    seeds = rng.integers(0, n, 1 + n // 20)
    keys[seeds] = keys_of(rng.choice(VALUES, seeds.size))
    return keys


@pytest.mark.parametrize("colours", [False, True])
@pytest.mark.parametrize("shift", [40, 44, 48, 52, 56])
def test_heap_and_buckets_agree(shift: int, colours: bool) -> None:
    for number in range(8):
        rng = np.random.default_rng(number)
        n = int(rng.integers(1, 400))
        g, _, query = random_case(rng, n, 4 * n, moderate=number % 2 == 0)
        keys = starts(rng, n)
        arcs = g._arcs(query.astype(np.uint8) if colours else None)
        heap, buckets = keys.copy(), keys.copy()
        arcs.by_heap(heap)
        followed = arcs.by_buckets(buckets, shift, 1 + number % 3)  # room for one to three chunks: it has to grow
        assert (heap == buckets).all()
        assert followed >= np.count_nonzero(heap < KEY_ONE)


@pytest.mark.parametrize("epsilons", ["uniform", "wide", "zeros"])
def test_wide_buckets_follow_again_what_they_must(epsilons: str) -> None:
    rng = np.random.default_rng(3)
    n, m = 3000, 15_000
    u, v = rng.integers(0, n, (2, m))
    epsilon = {"uniform": rng.uniform(0.1, 1, m), "wide": 10.0 ** rng.uniform(-6, 1, m), "zeros": rng.uniform(0.1, 1, m)}[
        epsilons
    ]
    if epsilons == "zeros":
        epsilon[rng.random(m) < 0.01] = 0.0
    g = graph.DatasetGraph(u, v, epsilon, n_vertices=n)
    keys = starts(rng, n)
    keys[0] = keys_of(np.array([1e-9]))[0]
    answers = [closure(g, keys.copy(), queue="heap"), closure(g, keys.copy(), queue="buckets")]
    one_bucket = keys.copy()
    followed = g._arcs().by_buckets(one_bucket, 56)
    assert (answers[0] == answers[1]).all()
    assert (answers[0] == one_bucket).all()
    assert followed > n  # vertices were improved after they had been followed
    assert g.n_arcs == graph.DatasetGraph(v, u, epsilon, n_vertices=n).n_arcs


@pytest.mark.parametrize("tiny", [1e-6, 1e-12])
def test_a_graph_within_one_bucket_is_not_followed_many_times(tiny: float) -> None:
    rng = np.random.default_rng(4)
    n, m = 20_000, 100_000
    u, v = rng.integers(0, n, (2, m))
    g = graph.DatasetGraph(u, v, tiny * 10.0 ** rng.uniform(-2, 0, m), n_vertices=n)
    keys = np.full(n, KEY_ONE)
    keys[:5] = keys_of(np.full(5, 0.01))
    heap, buckets = keys.copy(), keys.copy()
    g._arcs().by_heap(heap)
    assert g._arcs().by_buckets(buckets, 50, 1) < 1.5 * n
    assert (heap == buckets).all()


def test_order_of_edges_and_labels_change_no_bit() -> None:
    for number in range(10):
        rng = np.random.default_rng(number)
        n, m = 120, 400
        u, v, epsilon, delta = random_edges(rng, n, m)
        fixed = rng.choice([np.nan] * 20 + VALUES, n)
        plain = graph.upper(graph.DatasetGraph(u, v, epsilon, delta, n_vertices=n), fixed)._keys
        order, flip = rng.permutation(m), rng.random(m) < 0.5
        turned = np.where(flip, v, u)[order], np.where(flip, u, v)[order]
        g = graph.DatasetGraph(*turned, epsilon[order], delta[order], n_vertices=n)
        assert (graph.upper(g, fixed)._keys == plain).all()
        names = rng.permutation(n)
        renamed = graph.DatasetGraph(names[u], names[v], epsilon, delta, n_vertices=n)
        moved = np.empty(n)
        moved[names] = fixed
        assert (graph.upper(renamed, moved)._keys[names] == plain).all()


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e3, 1e12])
def test_scaled_epsilons_hold_exactly(scale: float) -> None:
    rng = np.random.default_rng(8)
    n = 200
    u, v, epsilon, delta = random_edges(rng, n, 600, deltas=False)
    g = graph.DatasetGraph(u, v, epsilon * scale, delta, n_vertices=n)
    for queue in ("heap", "buckets"):
        query = rng.integers(1, 3, n)
        found = graph.extend(g, query, graph.optimal_boundary(g, query), queue=queue)
        graph.verify(g, found)


@pytest.mark.slow
def test_ten_million_edges_break_none() -> None:
    for kind in ("random", "grid", "scale free"):
        rng = np.random.default_rng(1)
        n, m = 2_000_000, 10_000_000
        if kind == "grid":
            side = 2236
            n, place = side * side, np.arange(side * side).reshape(side, side)
            u = np.concatenate([place[:, :-1].ravel(), place[:-1].ravel()])
            v = np.concatenate([place[:, 1:].ravel(), place[1:].ravel()])
        else:
            u, v = rng.integers(0, n, m), rng.integers(0, n, m)
            v = (n * (v / n) ** 3).astype(np.int64) if kind == "scale free" else v
        g = graph.DatasetGraph(u, v, 10.0 ** rng.uniform(-6, 1, u.size), n_vertices=n)
        keys = np.full(n, KEY_ONE)
        keys[:50] = keys_of(rng.uniform(0, 0.1, 50))
        heap = closure(g, keys.copy(), queue="heap")
        assert (heap == closure(g, keys.copy(), queue="buckets")).all()
        graph.verify(g, graph.Probabilities(heap))
        record(f"graph: {kind}, 10^7 edges", vertices=n, arcs=g.n_arcs, broken_edges=0, differing=0)
