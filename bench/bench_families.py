"""Speed of families of datasets: from their definition to the best mechanism, beside shortest paths by scipy on the same states.

    pytest bench/bench_families.py -s

scipy is given what costs most by hand, the edges between the states; it sorts them and searches. Ours makes the states, asks the
query, finds the boundary and its values, extends them and proves every edge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.csgraph import dijkstra
from timing import interleaved, save

from dpfast import graph
from dpfast.graph import families

FAMILIES: dict[str, Callable[[], families.Family]] = {
    "counting, 10⁶ records": lambda: families.counting(10**6, 500_000, 1e-3),
    "personalised, three classes of 100": lambda: families.personalised([100] * 3, [0.05, 0.2, 1.0], 150),
    "hamming, 1000 records of 3 values": lambda: families.hamming(1000, 3, lambda yes, no, blank: yes > no, 0.05),
}


def ours(make: Callable[[], families.Family]) -> graph.Extension:
    """The best mechanism of a family."""
    family = make()
    return graph.extend(family, family.query, graph.optimal_boundary(family, family.query))


def theirs(shape: tuple[int, int], u: Any, v: Any, epsilon: Any, seeds: Any) -> Any:
    """Sums of epsilons from the boundary."""
    return dijkstra(scipy.sparse.coo_matrix((epsilon, (u, v)), shape).tocsr(), indices=seeds, min_only=True)


@pytest.mark.parametrize("name", FAMILIES)
def test_families(name: str) -> None:
    family = FAMILIES[name]()
    g = family.graph
    found = ours(FAMILIES[name])
    graph.verify(family, found)
    right = np.where(family.query == 1, found.probability, found.complement)
    assert right.min() > 0.5
    u = np.repeat(np.arange(g.n_vertices), np.diff(g._indptr))
    seeds = graph.optimal_boundary(family, family.query)._vertices
    times = interleaved(
        {
            "dpfast": lambda: ours(FAMILIES[name]),
            "scipy": lambda: theirs((len(family), len(family)), u, g._indices, g._epsilons, seeds),
        },
        rounds=3,
    )
    ratio = times["scipy"] / times["dpfast"]
    print(f"\n{name}: {times['dpfast']:.2f} s for {len(family):,} states; scipy alone takes {ratio:.2f} of it")
    says = [{"against": "`scipy.sparse.csgraph.dijkstra(min_only=True)`", "says": f"{ratio:.2f} times as fast"}]
    save(f"families_{name.partition(',')[0]}", [{"work": f"`graph.families`, {name}, all steps", "ratios": says}])
