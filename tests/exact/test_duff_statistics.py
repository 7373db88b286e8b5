"""Triangles, means, modes and piecewise Laplace: their laws from the integers, their privacy by listing, and wrong variants."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from dpfast import Domain
from dpfast.duff import Levels, laplace, mean_levels, mode_levels, triangles
from dpfast.duff._edges import read_edges
from dpfast.duff.grid import MOST_POINTS, Grid
from dpfast.duff.mean import PIECE, capped_levels, sum_of
from dpfast.duff.orders import envelope_ranks
from dpfast.duff.weights import HALF, WHOLE, Weights
from dpfast.reference import duff_joint as reference

NEIGHBOURS = ["add_remove", "replace_one"]
PAIRS = list(combinations(range(5), 2))
SIZE = 6

Law = list[Fraction]


def law_of(levels: Levels, weights: Iterable[int], size: int) -> Law:
    points: dict[int, int] = {}
    for low, high, weight in zip(levels.lower.tolist(), levels.upper.tolist(), weights, strict=True):
        for point in range(low, high + 1):
            assert point not in points
            points[point] = int(weight)
    assert sorted(points) == list(range(size)), "every point has a weight"
    return [Fraction(points[point], sum(points.values())) for point in range(size)]


def log_ratio(first: Law, second: Law) -> float:
    return max(math.log(a / b) for a, b in zip(first, second, strict=True))


def worst_loss(law: Callable[[tuple[int, ...]], Law], neighbours: str, most: int = 4, size: int = SIZE) -> float:
    laws = {rows: law(rows) for n in range(most + 1) for rows in combinations_with_replacement(range(size), n)}
    worst = 0.0
    for rows, here in laws.items():
        if neighbours == "add_remove":
            others = {tuple(sorted((*rows, y))) for y in range(size)}
        else:
            others = {tuple(sorted((*rows[:i], *rows[i + 1 :], y))) for i in range(len(rows)) for y in range(size)}
        for there in (laws[other] for other in others if other in laws):
            worst = max(worst, log_ratio(here, there), log_ratio(there, here))
    return worst


# Triangles


def edges_of(number: int) -> list[tuple[int, int]]:
    return [pair for bit, pair in enumerate(PAIRS) if number >> bit & 1]


def ladder_loss(epsilon: Fraction, sensitivities: Callable[[triangles.Pairs, int], Any], graphs: range) -> float:
    weights = Weights(epsilon)
    laws: dict[int, Law] = {}

    def law(number: int) -> Law:
        if number not in laws:
            pairs = triangles.study(read_edges(edges_of(number), 5))
            levels = triangles.ladder_levels(pairs, weights, sensitivities)
            laws[number] = law_of(levels, weights.of(levels.distance), 11)
        return laws[number]

    near = [(number, number ^ 1 << bit) for number in graphs for bit in range(10)]
    return max(log_ratio(law(here), law(there)) for here, there in near)


@pytest.mark.parametrize(("epsilon", "least"), [pytest.param("3/10", 0.2, marks=pytest.mark.slow), ("2", 1.2)])
def test_the_ladder_is_private_on_all_graphs_of_five_vertices(epsilon: str, least: float) -> None:
    assert least < ladder_loss(Fraction(epsilon), triangles.local_sensitivity, range(1024)) <= Fraction(epsilon)


def test_a_ladder_that_forgets_the_half_or_stays_is_found() -> None:
    def flat(pairs: triangles.Pairs, last: int) -> Any:
        return np.full(last + 1, triangles.local_sensitivity(pairs, 0)[0])

    def adjacent_only(pairs: triangles.Pairs, last: int) -> Any:
        return np.minimum(np.full(last + 1, max(int(pairs.stairs.size) - 1, 0)) + np.arange(last + 1) // 2, 1)

    assert ladder_loss(Fraction(2), flat, range(0, 1024, 5)) > 2.1
    assert ladder_loss(Fraction(2), adjacent_only, range(0, 1024, 5)) > 2.1


def test_sensitivities_are_those_of_all_pairs() -> None:
    random = np.random.default_rng(0)
    for _ in range(150):
        n = int(random.integers(3, 14))
        edges = [pair for pair in combinations(range(n), 2) if random.random() < random.random() ** 2]
        graph = [pair[:: int(random.integers(0, 2)) * 2 - 1] for pair in edges] + edges[::3] + [(0, 0)]
        pairs = triangles.study(read_edges(graph, n))
        assert pairs.triangles == reference.triangles(graph, n)
        assert triangles.local_sensitivity(pairs, 2 * n + 2).tolist() == reference.local_sensitivities(graph, n, 2 * n + 2)


def test_vertices_with_the_same_neighbours_change_nothing() -> None:
    random = np.random.default_rng(8)
    for _ in range(40):
        # a few hubs, and many who know some of them and perhaps one another
        n, hubs = 14, int(random.integers(1, 4))
        pairs = [(i, j) for i in range(n) for j in range(i) if random.random() < (0.7 if j < hubs else 0.06)]
        graph = read_edges(np.array(pairs, np.int64).reshape(-1, 2), n)
        expected = reference.local_sensitivities(pairs, n, 30)
        assert triangles.local_sensitivity(triangles.study(graph), 30).tolist() == expected
    # 4 10^9 wedges, which without the rule would all be looked at
    leaves = np.arange(2, 60_002)
    bipartite = np.concatenate([np.stack([np.full(leaves.size, hub), leaves], 1) for hub in (0, 1)])
    found = triangles.study(read_edges(bipartite, 60_002))
    assert (found.triangles, found.stairs.tolist()) == (0, [leaves.size] + [0] * leaves.size)
    assert triangles.spared_vertices(read_edges(bipartite, 60_002)).sum() == leaves.size - 2


def test_it_does_not_matter_which_vertices_are_heavy(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(9)
    for _ in range(40):
        n = int(random.integers(3, 16))
        chance = random.random(n) ** 2
        pairs = [(i, j) for i, j in combinations(range(n), 2) if random.random() < max(chance[i], chance[j])]
        graph, found = read_edges(np.array(pairs, np.int64).reshape(-1, 2), n), []
        for heavy in range(n + 1):
            monkeypatch.setattr(triangles, "heavy_vertices", lambda graph, heavy=heavy: heavy)
            found.append(triangles.study(graph).stairs.tolist())
        assert all(stairs == found[0] for stairs in found)
        expected = reference.local_sensitivities(pairs, n, 30)
        assert triangles.local_sensitivity(triangles.study(graph), 30).tolist() == expected
    monkeypatch.undo()
    # 2 10^9 wedges at one vertex, whose neighbours have others too: were it not heavy, all of these would be looked at
    near = np.arange(1, 60_001)
    legs = np.concatenate([np.stack([np.zeros_like(near), near], 1), np.stack([near, near + 60_000], 1)])
    graph = read_edges(np.concatenate([legs, np.stack([near + 60_000, near + 120_000], 1)]), 180_001)
    assert triangles.heavy_vertices(graph) == 1
    assert triangles.study(graph).stairs.tolist() == [60_001, 60_000]


def test_local_sensitivity_is_the_largest_change_within_reach() -> None:
    counts = [reference.triangles(edges_of(number), 5) for number in range(1024)]
    reach = [max(abs(counts[number] - counts[number ^ 1 << bit]) for bit in range(10)) for number in range(1024)]
    for number in range(0, 1024, 7):
        near, found = {number}, []
        for _ in range(4):
            found.append(max(reach[other] for other in near))
            near |= {other ^ 1 << bit for other in near for bit in range(10)}
        assert triangles.local_sensitivity(triangles.study(read_edges(edges_of(number), 5)), 3).tolist() == found


def test_smooth_sensitivity_is_smooth_and_no_less() -> None:
    beta = Fraction(1, 6)
    found = [triangles.smooth_sensitivity_of_triangles(triangles.study(read_edges(edges_of(i), 5)), beta) for i in range(1024)]
    for number in range(1024):
        exact = max(
            sensitivity * math.exp(-float(beta) * s)
            for s, sensitivity in enumerate(reference.local_sensitivities(edges_of(number), 5, 12))
        )
        assert exact <= float(found[number]) * (1 + 1e-15) <= exact * (1 + 1e-12)
        for bit in range(10):
            assert found[number] <= found[number ^ 1 << bit] * Fraction(math.exp(beta) * (1 + 1e-15))


# Means


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_means_from_extremes_are_those_of_all_rows(neighbours: Any) -> None:
    random = np.random.default_rng(2)
    for _ in range(60):
        rows = random.integers(0, 50, int(random.integers(0, 40)))
        whole = mean_levels(rows, bounds=(0, 49), step=1, neighbours=neighbours)
        for last in (1, 2, 5, 60):
            levels = capped_levels(rows.copy(), Grid((0, 49), step=1), neighbours, last)
            expected = np.repeat(np.minimum(whole.distance, last), whole.measure)
            assert np.repeat(levels.distance, levels.measure).tolist() == expected.tolist()


@pytest.mark.parametrize("rows", [0, 1, PIECE, 2 * PIECE + 3])
def test_the_sum_of_a_mean_is_that_of_integers_without_end(rows: int) -> None:
    indices = np.arange(rows) + (MOST_POINTS - rows)
    assert sum_of(indices) == rows * (MOST_POINTS - rows) + rows * (rows - 1) // 2


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("epsilon", ["1", "3"])
def test_the_mean_is_private(neighbours: Any, epsilon: str) -> None:
    weights, grid = Weights(Fraction(epsilon)), Grid((0, SIZE - 1), step=1)

    def law(rows: tuple[int, ...]) -> Law:
        levels = capped_levels(np.array(rows, np.int64), grid, neighbours, 30)
        return law_of(levels, weights.of(levels.distance), SIZE)

    assert 0.4 * float(Fraction(epsilon)) < worst_loss(law, neighbours) <= Fraction(epsilon)


def test_a_mean_with_a_level_of_its_own_is_found() -> None:
    # Under add_remove the mean itself must not be nearer than the means that one person who comes can reach.
    size = 13
    grid = Grid((0, size - 1), step=1)

    def largest_change(with_level: bool) -> int:
        def distances(rows: tuple[int, ...]) -> Any:
            levels = capped_levels(np.array(rows, np.int64), grid, "add_remove", 30)
            found = np.repeat(levels.distance, levels.measure)
            if with_level and rows and sum(rows) % len(rows) == 0:
                found[sum(rows) // len(rows)] = 0
            return found

        all_rows = [rows for n in range(4) for rows in combinations_with_replacement(range(size), n)]
        return max(int(np.abs(distances(rows) - distances((*rows, y))).max()) for rows in all_rows for y in (0, 5, size - 1))

    assert largest_change(with_level=False) == 1
    assert largest_change(with_level=True) == 2


# Modes


def mode_law(rows: tuple[int, ...], neighbours: Any, weights: Weights) -> Law:
    levels = mode_levels(np.array(rows, np.int64), domain=Domain.range(4), neighbours=neighbours)
    return law_of(levels, weights.of(levels.distance), 4)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_the_mode_is_private_with_its_own_factor(neighbours: Any) -> None:
    weights = Weights(Fraction(1), WHOLE if neighbours == "add_remove" else HALF)
    worst = worst_loss(lambda rows: mode_law(rows, neighbours, weights), neighbours, 6, 4)
    assert 0.5 < worst <= 1


def test_the_free_factor_is_not_free_for_other_relations_or_distances() -> None:
    weights = Weights(Fraction(1), WHOLE)
    assert worst_loss(lambda rows: mode_law(rows, "replace_one", weights), "replace_one", 6, 4) > 1.5

    def smallest_label_wins(rows: tuple[int, ...]) -> Law:
        counts = [rows.count(label) for label in range(4)]
        distance = np.array([max(0, max(counts) - counts[x], max(counts[:x], default=-1) + 1 - counts[x]) for x in range(4)])
        points = np.arange(4)
        return law_of(Levels(distance, points, points, step=1), weights.of(distance), 4)

    assert worst_loss(smallest_label_wins, "add_remove", 6, 4) > 1.2


# Piecewise Laplace


@pytest.fixture
def few_parts(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(laplace, "parts_of_a_step", lambda epsilon: 4)
    return 4


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("q", ["1/2", "1/3", "9/10", "1"])
def test_piecewise_laplace_is_private(neighbours: Any, q: str, few_parts: int) -> None:
    def law(rows: tuple[int, ...]) -> Law:
        levels, weights = laplace.laplace_levels(np.array(rows, np.int64), SIZE, Fraction(q), neighbours, Fraction(2))
        return law_of(levels, weights.tolist(), SIZE)

    assert 0.8 < worst_loss(law, neighbours) <= 2


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_piecewise_distances_are_those_of_the_definition(neighbours: Any, few_parts: int) -> None:
    random = np.random.default_rng(4)
    for _ in range(80):
        size = int(random.integers(2, 90))
        rows = np.sort(random.integers(0, size, int(random.integers(1, 9))))
        q = Fraction(int(random.integers(0, 5)), 4)
        levels, _ = laplace.laplace_levels(random.permutation(rows), size, q, neighbours, Fraction(1))
        ends = [0, *rows.tolist(), size - 1]
        low, high = envelope_ranks(q, rows.size, rows.size + 1, neighbours)
        expected = reference.piecewise_distances([ends[i] for i in low], [ends[i] for i in high], size, few_parts)
        assert np.repeat(levels.distance, levels.measure).tolist() == expected


def test_half_a_part_for_a_step_is_found(few_parts: int) -> None:
    def law(rows: tuple[int, ...]) -> Law:
        levels, _ = laplace.laplace_levels(np.array(rows, np.int64), SIZE, Fraction(1, 2), "add_remove", Fraction(2))
        return law_of(levels, Weights(Fraction(2), Fraction(1, few_parts)).of(levels.distance).tolist(), SIZE)

    assert worst_loss(law, "add_remove") > 2.1
