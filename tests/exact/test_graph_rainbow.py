"""Several answers: published laws, linear programs, and privacy in integers; what is tempting and not private is seen."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from soak import record

from dpfast import graph
from dpfast._rounding import exp_bounds
from dpfast.errors import InfeasibleError
from dpfast.graph.rainbow import next_row

WHOLE = 1 << 64


def words(law: list[float]) -> tuple[int, ...]:
    exact = [int(Fraction(p) * WHOLE) for p in law]
    exact[exact.index(max(exact))] += WHOLE - sum(exact)
    return tuple(exact)


def is_close(one: list[Fraction], other: list[Fraction], epsilon: float, delta: float) -> bool:
    """The definition, over every event."""
    power = exp_bounds(epsilon, 60)[0]
    events = [event for size in range(len(one) + 1) for event in itertools.combinations(range(len(one)), size)]
    return all(
        sum(a[q] for q in event) <= power * sum(b[q] for q in event) + Fraction(delta)
        for a, b in ((one, other), (other, one))
        for event in events
    )


def check_edges(edges: list[tuple[int, int, float, float]], found: graph.Rainbow) -> None:
    laws = {v: found.exact(v) for v in range(len(found.labels))}
    assert all(sum(law) == 1 and min(law) >= 0 for law in laws.values())
    assert all(is_close(laws[u], laws[v], epsilon, delta) for u, v, epsilon, delta in edges)


@pytest.mark.parametrize(
    ("delta", "published"),
    [(0.0, [0.40275054, 0.34895681, 0.24829265]), (0.05, [0.45275054, 0.32378607, 0.22346339])],
)
def test_published_rows(delta: float, published: list[float]) -> None:
    row = next_row(words([0.2, 0.3, 0.5]), [0, 1, 2], 0.7, delta)
    assert [word / WHOLE for word in row] == pytest.approx(published, abs=1e-8)
    assert sum(row) == WHOLE


def test_rows_are_close_and_have_the_sums_of_the_law() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        k = int(rng.integers(2, 5))
        law = rng.dirichlet(np.full(k, 0.3))
        law[rng.integers(k)] *= rng.choice([0.0, 1.0, 1e-17])
        row = words((law / law.sum()).tolist())
        epsilon, delta = float(rng.choice([0.0, 1e-9, 0.3, 1.0, 5.0, 50.0])), float(rng.choice([0.0, 0.0, 1e-6, 0.2]))
        order = rng.permutation(k).tolist()
        after = next_row(row, order, epsilon, delta)
        exact, stepped = ([Fraction(word, WHOLE) for word in r] for r in (row, after))
        assert is_close(exact, stepped, epsilon, delta)
        power, d = exp_bounds(epsilon, 60)[0], Fraction(delta)
        before = reached = Fraction(0)
        for answer in order[:-1]:
            before, reached = before + exact[answer], reached + stepped[answer]
            real = min(Fraction(1), power * before + d, 1 - (1 - d - before) / power)
            assert real - Fraction(k + 1, WHOLE) <= reached <= real + Fraction(1, 10**40)


def test_two_answers_are_the_usual_extension() -> None:
    g = graph.DatasetGraph([0, 1, 2, 3, 1], [1, 2, 3, 4, 5], 0.6, 0.01)
    query = np.array([2, 2, 2, 1, 1, 2])
    fixed = {2: 0.25, 3: 0.45}
    orders = [[1, 0] if answer == 2 else [0, 1] for answer in query]
    found = graph.rainbow(g, orders, {v: [p, 1 - p] for v, p in fixed.items()})
    assert found.probabilities[:, 0] == pytest.approx(graph.extend(g, query, fixed).probability, abs=1e-15)
    assert found.moved <= 2.0**-64


def program(
    edges: list[tuple[int, int, float, float]], n: int, k: int, fixed: dict[int, list[float]], goal: np.ndarray
) -> float | None:
    """The largest goal over all private mechanisms with fixed laws; every event of every edge is a row."""
    rows, sides = [], []
    for u, v, epsilon, delta in edges:
        for one, other in ((u, v), (v, u)):
            for event in itertools.product((0, 1), repeat=k):
                row = np.zeros((n, k))
                row[one], row[other] = event, -math.exp(epsilon) * np.array(event)
                rows.append(row.ravel())
                sides.append(delta)
    bounds = [(fixed[v][q], fixed[v][q]) if v in fixed else (0, 1) for v in range(n) for q in range(k)]
    sums = np.kron(np.eye(n), np.ones(k))
    found = linprog(-goal.ravel(), np.array(rows), sides, sums, np.ones(n), bounds, method="highs")
    return None if found.x is None else -float(found.fun)


def random_rainbow(rng: np.random.Generator, *, mixed_laws: bool) -> tuple[list[tuple[int, int, float, float]], int, int]:
    n, k = int(rng.integers(4, 7)), int(rng.integers(2, 4))
    pairs = [(int(rng.integers(v)), v) for v in range(1, n)] + [tuple(sorted(rng.permutation(n)[:2].tolist())) for _ in range(2)]
    one = (float(rng.uniform(0.1, 1.2)), float(rng.choice([0.0, 0.03])))
    laws = [(float(rng.uniform(0.1, 1.2)), one[1]) if mixed_laws else one for _ in pairs]
    return [(u, v, *law) for (u, v), law in zip(dict.fromkeys(pairs), laws, strict=False)], n, k


def check_programs(rounds: int, first: int, *, mixed_laws: bool) -> int:
    checked = 0
    for number in range(first, first + rounds):
        rng = np.random.default_rng(number)
        edges, n, k = random_rainbow(rng, mixed_laws=mixed_laws)
        codes = rng.integers(0, 2, n)
        orders = [list(range(k)) if code else list(range(k))[::-1] for code in codes]
        on_boundary = {v for edge in edges for v in edge[:2] if codes[edge[0]] != codes[edge[1]]}
        centre = rng.dirichlet(np.full(k, 3.0))
        tilted = centre * np.exp(rng.uniform(-0.05, 0.05, k))
        laws = [centre.tolist(), (tilted / tilted.sum()).tolist()]
        fixed = {v: laws[int(codes[v])] for v in on_boundary}
        g = graph.DatasetGraph(*zip(*edges, strict=True), n_vertices=n)
        if program(edges, n, k, fixed, np.zeros((n, k))) is None:
            with pytest.raises(InfeasibleError):
                graph.rainbow(g, orders, fixed)
            continue
        found = graph.rainbow(g, orders, fixed)
        check_edges(edges, found)
        checked += 1
        free = [v for v in range(n) if v not in fixed]
        goals = np.zeros((n, k))
        for v in free:
            goals[v, orders[v]] = np.arange(k - 1, -1, -1)
        best = program(edges, n, k, fixed, goals)
        assert float((goals * found.probabilities).sum()) == pytest.approx(best, abs=2e-6)
        if not mixed_laws:  # best for each first answers, at each vertex, at once
            for v, j in itertools.product(free, range(1, k)):
                goal = np.zeros((n, k))
                goal[v, orders[v][:j]] = 1
                assert found.probabilities[v, orders[v][:j]].sum() == pytest.approx(program(edges, n, k, fixed, goal), abs=1e-8)
    return checked


def test_linear_programs_of_one_law() -> None:
    assert check_programs(25, 0, mixed_laws=False) >= 15


def test_linear_programs_of_several_laws() -> None:
    assert check_programs(25, 100, mixed_laws=True) >= 15


@pytest.mark.slow
def test_linear_programs_of_rainbows_at_length() -> None:
    one, several = check_programs(800, 1000, mixed_laws=False), check_programs(800, 3000, mixed_laws=True)
    assert min(one, several) >= 300
    record("graph: linear programs of rainbows", feasible_with_one_law=one, feasible_with_several=several, differing=0)


def test_least_sums_over_paths_are_not_private_and_are_not_what_is_returned() -> None:
    # A fixed vertex 0, and 1 and 2 that are best reached by different edges: the least sums, answer by answer, break an edge.
    rng = np.random.default_rng(1)
    broken = 0
    for _ in range(300):
        epsilons = rng.uniform(0.05, 1.5, 3)
        edges = [(0, 1, float(epsilons[0]), 0.0), (1, 2, float(epsilons[1]), 0.0), (0, 2, float(epsilons[2]), 0.0)]
        law = rng.dirichlet(np.ones(3))
        sums = {0: np.cumsum(law)[:2]}

        def up(x: np.ndarray, epsilon: float) -> np.ndarray:
            return np.minimum(math.exp(epsilon) * x, 1 - math.exp(-epsilon) * (1 - x))

        sums[1] = np.minimum(up(sums[0], epsilons[0]), up(up(sums[0], epsilons[2]), epsilons[1]))
        sums[2] = np.minimum(up(sums[0], epsilons[2]), up(up(sums[0], epsilons[0]), epsilons[1]))
        tempting = {v: [Fraction(p) for p in np.diff([0.0, *s, 1.0])] for v, s in sums.items()}
        slack = [Fraction(1, 10**9)] * 3
        if all(is_close([p + s for p, s in zip(tempting[u], slack, strict=True)], tempting[v], e, 1e-8) for u, v, e, _ in edges):
            continue
        broken += 1
        found = graph.rainbow(graph.DatasetGraph(*zip(*edges, strict=True)), [[0, 1, 2]] * 3, {0: law})
        check_edges(edges, found)
    assert broken >= 3


def test_laws_at_the_very_limit_are_moved_a_little() -> None:
    epsilon = math.log(2)
    g = graph.DatasetGraph([0, 1, 2], [1, 2, 3], epsilon)
    found = graph.rainbow(g, [[0, 1, 2]] * 2 + [[2, 1, 0]] * 2, {1: [0.5, 0.25, 0.25], 2: [0.25, 0.25, 0.5]})
    check_edges([(u, u + 1, epsilon, 0.0) for u in range(3)], found)
    assert found.moved <= 2.0**-47
    with pytest.raises(InfeasibleError, match="too far apart") as caught:
        graph.rainbow(g, [[0, 1, 2]] * 2 + [[2, 1, 0]] * 2, {1: [0.51, 0.25, 0.24], 2: [0.25, 0.25, 0.5]})
    assert caught.value.pair == (1, 2)
