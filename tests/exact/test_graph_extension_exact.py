"""Propagation and extension against all paths in fractions, and against linear programs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from graph_cases import VALUES, Case, random_case, reference_edges
from scipy.optimize import linprog
from soak import record

from dpfast import graph
from dpfast.errors import InfeasibleError
from dpfast.graph._values import exact
from dpfast.graph.laws import exact_upper
from dpfast.reference import graph as twin

NEAR = Fraction(1, 10**12)


def test_published_path() -> None:
    laws = ([0.5, 1.0, 0.2, 2.0], [0.0, 0.01, 0.0, 0.05])
    g = graph.DatasetGraph(range(4), range(1, 5), *laws)
    up, low = graph.upper(g, {0: 0.1}), graph.lower(g, {0: 0.9})
    assert up.probability[1:] == pytest.approx([0.1648721271, 0.4581689070, 0.5563862212, 0.9467301678], abs=1e-9)
    assert low.probability[1:] == pytest.approx([0.8351278729, 0.5418310930, 0.4436137788, 0.0532698322], abs=1e-9)
    assert low.probability == pytest.approx(up.complement, abs=1e-15)


def test_published_balanced_distances() -> None:
    epsilon, delta = 1.0, 0.01
    g = graph.DatasetGraph(range(9), range(1, 10), epsilon, delta)
    query = np.where(np.arange(10) < 5, 2, 1)
    found = graph.extend(g, query, graph.optimal_boundary(g, query))
    expected = [0.7337479928, 0.9057301548, 0.9689988564, 0.9922741110, 1.0]
    assert found.probability[5:] == pytest.approx(expected, abs=1e-9)
    assert found.complement[4::-1] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("seed", "laws", "best"), [(0.1, (0.8, 0.7, 0.75), 1), (0.3, (0.9, 0.9125, 0.906666667), 0)])
def test_published_best_path_depends_on_the_seed(seed: float, laws: tuple[float, ...], best: int) -> None:
    two, four = math.log(2), math.log(4)
    g = graph.DatasetGraph([*"uau", *"bu"], [*"awb", *"ww"], [two, four, four, two, math.log(7.5)])
    paths = (["u", "a", "w"], ["u", "b", "w"], ["u", "w"])
    found = [graph.strongest_condition(g, "u", "w", path=path)(seed) for path in paths]
    assert found == pytest.approx(laws, abs=1e-9)
    assert graph.strongest_condition(g, "u", "w")(seed) == min(found)
    assert found.index(min(found)) == best or math.isclose(found[best], min(found)) or best == 1
    assert graph.upper(g, {"u": seed}).probability[g.labels.index("w")] == min(found)


def check_paths(rounds: int, first: int) -> None:
    for number in range(first, first + rounds):
        rng = np.random.default_rng(number)
        n = int(rng.integers(2, 8))
        g, case, _ = random_case(rng, n, int(rng.integers(0, 2 * n)))
        fixed = dict(zip(rng.permutation(n)[:2].tolist(), rng.choice(VALUES, 2).tolist(), strict=True))
        up, low = graph.upper(g, fixed), graph.lower(g, fixed)
        values = {vertex: Fraction(value) for vertex, value in fixed.items()}
        for vertex in range(n):
            real, found = twin.upper(reference_edges(case), values, vertex), exact(int(up._keys[vertex]))
            # e^709 and more times a least double is known to few bits only: private, and not near
            coarse = any(epsilon > 709 for _, _, epsilon, _ in reference_edges(case)) and min(fixed.values()) < 1e-300
            assert found <= real
            assert coarse or real <= found + NEAR
            real, found = twin.lower(reference_edges(case), values, vertex), exact(int(low._keys[vertex]))
            assert found - NEAR <= real <= found
        graph.verify(g, up)
        graph.verify(g, low)


def optimum(g: graph.DatasetGraph, case: tuple, fixed: dict[int, float], vertex: int, sign: int) -> float | None:
    """The largest (sign -1) or least (1) probability at a vertex by a linear program; None if there is none."""
    rows, sides = [], []
    for u, v, epsilon, delta in reference_edges(case):
        for one, other in ((u, v), (v, u)):
            for side in (1, -1):
                row = np.zeros(g.n_vertices)
                row[one], row[other] = side, -side * math.exp(epsilon)
                rows.append(row)
                sides.append(delta if side == 1 else math.exp(epsilon) - 1 + delta)
    goal = np.zeros(g.n_vertices)
    goal[vertex] = sign
    bounds = [(fixed[v], fixed[v]) if v in fixed else (0, 1) for v in range(g.n_vertices)]
    found = linprog(goal, np.array(rows) if rows else None, sides or None, bounds=bounds, method="highs")
    return None if found.x is None else float(found.x[vertex])


def check_programs(rounds: int, first: int) -> tuple[int, int]:
    feasible = infeasible = 0
    for number in range(first, first + rounds):
        rng = np.random.default_rng(number)
        n = int(rng.integers(3, 13))
        g, case, query = random_case(rng, n, int(rng.integers(n, 3 * n)), moderate=True)
        crossing = [(u, v) for u, v, _, _ in reference_edges(case) if query[u] != query[v]]
        chosen = {edge[int(rng.integers(2))] for edge in crossing} or {0}  # a hitting set
        spread = rng.choice([0.05, 0.15, 0.45])
        fixed = {int(v): float(np.clip(0.5 + rng.uniform(-spread, spread), 0, 1)) for v in chosen}
        real = {v: Fraction(p) for v, p in fixed.items()}
        if twin.is_feasible(reference_edges(case), real) if n < 7 else optimum(g, case, fixed, 0, 1) is not None:
            feasible += 1
            found = graph.extend(g, query, fixed)
            for vertex in range(n):
                sign = -1 if query[vertex] == 1 else 1
                assert found.probability[vertex] == pytest.approx(optimum(g, case, fixed, vertex, sign), abs=1e-8)
            graph.verify(g, found)
        else:
            infeasible += 1
            with pytest.raises(InfeasibleError) as caught:
                graph.extend(g, query, fixed)
            check_witness(caught.value, fixed)
    return feasible, infeasible


def check_witness(error: InfeasibleError, fixed: dict[int, float]) -> None:
    """The path really forbids the pair, and either repair makes the path agree."""
    first, last = error.pair
    assert (error.path[0], error.path[-1]) == error.pair

    def along(x: float) -> Fraction:
        value = Fraction(x)
        for epsilon, delta in error.laws:
            value = twin.upper_law(value, epsilon, delta)
        return value

    assert Fraction(fixed[last]) > along(fixed[first])
    assert 0 <= along(fixed[first]) - Fraction(error.largest) <= NEAR
    assert along(error.smallest) >= Fraction(fixed[last]) - NEAR
    assert along(error.smallest - 1e-9) < Fraction(fixed[last])


def test_all_paths_in_fractions() -> None:
    check_paths(60, 0)


def test_linear_programs() -> None:
    feasible, infeasible = check_programs(60, 0)
    assert min(feasible, infeasible) >= 10


def bounds_over_all_paths(case: Case, n: int, fixed: dict[int, Fraction]) -> tuple[list[Fraction], list[Fraction], int]:
    """The twin's bounds of all vertices at once: every path is walked, its first part once for all that begin with it."""
    neighbours: list[list[tuple[int, float, float]]] = [[] for _ in range(n)]
    for u, v, epsilon, delta in reference_edges(case):
        neighbours[u].append((v, epsilon, delta))
        neighbours[v].append((u, epsilon, delta))
    up, low, walked = [Fraction(1)] * n, [Fraction(0)] * n, 0

    def walk(at: int, largest: Fraction, smallest: Fraction, seen: frozenset[int]) -> None:
        nonlocal walked
        walked += 1
        up[at], low[at] = min(up[at], largest), max(low[at], smallest)
        for other, epsilon, delta in neighbours[at]:
            if other not in seen:
                laws = twin.upper_law(largest, epsilon, delta), twin.lower_law(smallest, epsilon, delta)
                walk(other, *laws, seen | {other})

    for vertex, value in fixed.items():
        walk(vertex, value, value, frozenset([vertex]))
    return up, low, walked


@pytest.mark.slow
def test_all_paths_in_fractions_at_length() -> None:
    rounds = paths = 0
    while rounds < 2000:
        rng = np.random.default_rng(1000 + rounds)
        n = int(rng.integers(2, 13))
        g, case, _ = random_case(rng, n, int(rng.integers(0, 5 * n // 2 + 1)), moderate=bool(rng.integers(2)))
        fixed = dict(zip(rng.permutation(n)[:2].tolist(), rng.choice([0.0, *VALUES[2:]], 2).tolist(), strict=True))
        up, low = graph.upper(g, fixed), graph.lower(g, fixed)
        ups, lows, walked = bounds_over_all_paths(case, n, {vertex: Fraction(value) for vertex, value in fixed.items()})
        for vertex in range(n):
            assert 0 <= ups[vertex] - exact(int(up._keys[vertex])) <= NEAR
            assert 0 <= exact(int(low._keys[vertex])) - lows[vertex] <= NEAR
        rounds, paths = rounds + 1, paths + walked
    record("graph: all paths in fractions", graphs=rounds, vertices_at_most=12, paths=paths, within="1e-12", differing=0)


@pytest.mark.slow
def test_linear_programs_at_length() -> None:
    feasible, infeasible = check_programs(2000, 1000)
    record("graph: linear programs", feasible=feasible, infeasible=infeasible, vertices_at_most=12, within="1e-8", differing=0)


def check_minimax(rounds: int, first: int) -> None:
    for number in range(first, first + rounds):
        rng = np.random.default_rng(number)
        n = int(rng.integers(3, 30))
        g, case, query = random_case(rng, n, int(rng.integers(n, 3 * n)))
        fixed = graph.optimal_boundary(g, query)
        found = graph.extend(g, query, fixed)
        assert len(found.adjusted) == 0
        crossing = [(e, d) for u, v, e, d in reference_edges(case) if query[u] != query[v] and d < 1]
        best = min([1 - (1 - d) / (1 + math.exp(min(e, 700))) for e, d in crossing], default=1.0)
        right = np.where(query == 1, found.probability, found.complement)
        assert right.min() == pytest.approx(best, abs=1e-12)
        graph.verify(g, found)


def test_minimax_is_attained() -> None:
    check_minimax(40, 0)


@pytest.mark.slow
def test_random_graphs_break_no_edge_at_length() -> None:
    check_minimax(10_000, 5000)
    record("graph: random graphs", graphs=10_000, broken_edges=0)


@pytest.mark.parametrize(
    ("epsilon", "delta", "first", "last"),
    [
        (1.4138469835113047e-15, 0.0, 0.49999999894433306, 0.4999999989443337),
        (1.4306184128876118e-15, 1.2923973168260718e-16, 0.499999999999999, 0.49999999999999983),
        (739.4860231441056, 0.0, 5e-324, 0.007054787763406522),
    ],
)
def test_values_that_the_real_law_allows_are_not_refused(epsilon: float, delta: float, first: float, last: float) -> None:
    g = graph.DatasetGraph([0], [1], epsilon, delta)
    graph.verify(g, np.array([first, last]))
    extension = graph.extend(g, [1, 1], {0: first, 1: last})
    graph.verify(g, extension)
    assert (extension.probability <= [first, last]).all()
    # the control: what lies beyond the real law is refused as before
    beyond = min(1.0, 1.001 * float(exact_upper(Fraction(first), epsilon, delta, 40)[1]) + 1e-9)
    with pytest.raises(InfeasibleError, match="no private mechanism"):
        graph.extend(g, [1, 1], {0: first, 1: beyond})
