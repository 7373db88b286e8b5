"""Families of datasets: collapsed and uncollapsed mechanisms are the same to the last bit; the closed form of the line."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import soak

from dpfast import graph
from dpfast._rounding import exp_bounds
from dpfast.graph import families
from dpfast.graph._values import exact

Dataset = tuple[int, ...]


def all_datasets(
    alphabets: list[int], law_of: Callable[[int, int, int], tuple[float, float]]
) -> tuple[list[Dataset], graph.DatasetGraph]:
    """Every dataset, and the graph of those that differ in one record: law_of(record, one value, other value)."""
    datasets = list(itertools.product(*(range(k) for k in alphabets)))
    ends: list[tuple[Dataset, Dataset, float, float]] = []
    for dataset in datasets:
        for record, k in enumerate(alphabets):
            for value in range(dataset[record] + 1, k):
                other = (*dataset[:record], value, *dataset[record + 1 :])
                ends.append((dataset, other, *law_of(record, dataset[record], value)))
    u, v, epsilon, delta = (list(column) for column in zip(*ends, strict=True))
    return datasets, graph.DatasetGraph(u, v, epsilon, delta, labels=datasets)


def check_same(
    family: families.Family,
    datasets: list[Dataset],
    full: graph.DatasetGraph,
    state_of: Callable[[Dataset], object],
    fixed_share: float | None = None,
) -> None:
    states = [state_of(dataset) for dataset in datasets]
    numbers = family.graph._names.vertices(states, "states")
    query = family.query[numbers]
    on_states = set(graph.boundary(family, family.query))
    assert {
        state for dataset, state in zip(datasets, states, strict=True) if dataset in set(graph.boundary(full, query))
    } == on_states
    small, large = graph.optimal_boundary(family, family.query), graph.optimal_boundary(full, query)
    if fixed_share is not None:  # by hand, feasible but not best
        values = np.where(query[[datasets.index(d) for d in large.vertices]] == 1, 0.5 + fixed_share, 0.5)
        large_fixed = dict(zip(large.vertices, values.tolist(), strict=True))
        small_fixed = {state_of(dataset): value for dataset, value in large_fixed.items()}
        found, expected = graph.extend(family, family.query, small_fixed), graph.extend(full, query, large_fixed)
    else:
        found, expected = graph.extend(family, family.query, small), graph.extend(full, query, large)
    assert (found._keys[numbers] == expected._keys).all()
    for dataset, state in list(zip(datasets, states, strict=True))[::7]:
        place = datasets.index(dataset)
        assert found.for_dataset(state) == (expected.probability[place], expected.complement[place])
    graph.verify(family, found)


@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.parametrize(("n", "threshold"), [(1, 1), (4, 4), (7, 3)])
def test_counting_is_the_hypercube(n: int, threshold: int, delta: float) -> None:
    datasets, full = all_datasets([2] * n, lambda *_: (0.3, delta))
    family = families.counting(n, threshold, 0.3, delta)
    check_same(family, datasets, full, sum)
    check_same(family, datasets, full, sum, 0.02)


def test_counting_by_steps_is_the_hypercube() -> None:
    epsilons = [0.1, 0.7, 0.05, 1.0, 0.4]
    datasets = list(itertools.product((0, 1), repeat=5))
    pairs = [(d, (*d[:i], 1, *d[i + 1 :])) for d in datasets for i in range(5) if d[i] == 0]
    full = graph.DatasetGraph(*zip(*pairs, strict=True), [epsilons[sum(d)] for d, _ in pairs], labels=datasets)
    check_same(families.counting(5, 3, epsilons), datasets, full, sum)


def check_personalised(sizes: list[int], epsilons: list[float], deltas: list[float], query: object) -> None:
    class_of = [number for number, size in enumerate(sizes) for _ in range(size)]
    datasets, full = all_datasets([2] * sum(sizes), lambda record, *_: (epsilons[class_of[record]], deltas[class_of[record]]))

    def state_of(dataset: Dataset) -> tuple[int, ...]:
        return tuple(sum(bit for bit, c in zip(dataset, class_of, strict=True) if c == number) for number in range(len(sizes)))

    check_same(families.personalised(sizes, epsilons, query, deltas), datasets, full, state_of)


def test_personalised_is_the_hypercube() -> None:
    check_personalised([2, 4], [0.1, 0.9], [0.0, 0.0], 3)
    check_personalised([1, 3, 2], [0.0, 0.9, 2.0], [0.01, 0.0, 0.03], lambda a, b, c: 2 * a + b + 3 * c > 5)


def check_hamming(n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    laws = [rng.uniform(0.05, 1.5, (k, k)), rng.choice([0.0, 0.02], (k, k))]
    laws = [np.triu(law, 1) + np.triu(law, 1).T for law in laws]
    datasets, full = all_datasets([k] * n, lambda _, one, other: (laws[0][one, other], laws[1][one, other]))
    family = families.hamming(n, k, lambda *counts: counts[0] >= counts[1], *laws)
    check_same(family, datasets, full, lambda dataset: tuple(dataset.count(value) for value in range(k)))


def test_hamming_is_the_graph_of_all_datasets() -> None:
    check_hamming(6, 2, 0)
    check_hamming(4, 3, 1)
    check_hamming(3, 4, 2)


def test_products_are_the_graph_of_all_datasets() -> None:
    # two records with a property, and three with one of three values
    datasets, full = all_datasets([2, 2, 3, 3, 3], lambda record, *_: (0.2, 0.0) if record < 2 else (0.8, 0.01))
    parts = [families.counting(2, 1, 0.2), families.hamming(3, 3, lambda *counts: counts[0] > 1, 0.8, 0.01)]
    family = families.product(parts, lambda count, votes: count + votes[:, 0] > votes[:, 1])
    check_same(
        family, datasets, full, lambda d: (d[0] + d[1], tuple(d[2:].count(value) for value in range(3)))
    )  # fmt: skip


def test_histograms_are_numbered_in_order() -> None:
    family = families.hamming(7, 4, lambda *counts: counts[0] > 3, 1.0)
    labels = list(family.labels)
    assert labels == sorted(t for t in itertools.product(range(8), repeat=4) if sum(t) == 7)
    assert family.graph._names.vertices(labels, "labels").tolist() == list(range(math.comb(10, 3)))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.0), (1.0, 0.01), (0.3, 1e-6), (0.0, 0.02)])
def test_the_line_has_its_closed_form(epsilon: float, delta: float) -> None:
    n, threshold, least = 400, 150, 0.03
    family = families.counting(n, threshold, epsilon, delta)
    found = graph.extend(family, family.query, {threshold - 1: least, threshold: least})
    power, d, x = exp_bounds(epsilon, 50)[0], Fraction(delta), Fraction(least)
    kink = (1 - d) / (1 + power)
    if epsilon == 0:
        expected = [min(Fraction(1), x + t * d) for t in range(n - threshold + 1)]
    else:
        # the number of steps below the kink in doubles, set right by the exact numbers
        c = d / (power - 1)
        steps = math.floor(math.log(float((kink + c) / (x + c))) / epsilon) + 1
        while power ** (steps - 1) * (x + c) - c > kink:
            steps -= 1
        turned = power**steps * (x + c) - c
        expected = [power**t * (x + c) - c for t in range(steps)]
        expected += [1 - max(Fraction(0), (1 - turned + c) / power**t - c) for t in range(n - threshold + 1 - steps)]
    assert steps_between(expected, power, d)
    for t, real in enumerate(expected):
        value = exact(int(found._keys[threshold + t]))
        assert value <= real + Fraction(1, 10**40)  # e^epsilon to 50 digits
        assert real - value <= Fraction(1, 10**12) * min(real, 1)
        assert abs((1 - real) - (1 - value)) <= Fraction(1, 10**11) * (1 - real) + Fraction(1, 10**12) * d + Fraction(1, 10**40)


def steps_between(values: list[Fraction], power: Fraction, d: Fraction) -> bool:
    """Whether a closed form follows the law step by step."""
    laws = [min(Fraction(1), power * x + d, 1 - (1 - d - x) / power) for x in values[:-1]]
    return all(abs(law - y) < Fraction(1, 10**30) for law, y in zip(laws, values[1:], strict=True))


def test_a_million_records() -> None:
    n = 10**6
    family = families.counting(n, n // 2, 1e-3)
    found = graph.extend(family, family.query, graph.optimal_boundary(family, family.query))
    assert found.for_dataset(n // 2)[0] == pytest.approx(1 / (1 + math.exp(-1e-3)), rel=1e-12)
    for t in (100, 5000, n // 2):
        wrong = math.exp(-1e-3 * t) / (1 + math.exp(1e-3))
        assert found.for_dataset(n // 2 + t)[1] == pytest.approx(wrong, rel=1e-8)


@pytest.mark.slow
def test_families_are_the_graphs_of_all_datasets_at_length() -> None:
    for n in range(1, 10):
        for threshold in range(1, n + 1):
            datasets, full = all_datasets([2] * n, lambda *_: (0.4, 0.003))
            check_same(families.counting(n, threshold, 0.4, 0.003), datasets, full, sum)
    by_class = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(0, 4, 3).tolist()
        if sum(sizes):
            by_class += 1
            weights = rng.integers(1, 4, 3).tolist()
            least = sum(s * w for s, w in zip(sizes, weights, strict=True)) / 2
            check_personalised(
                sizes, rng.uniform(0, 2, 3).tolist(), rng.choice([0.0, 0.02], 3).tolist(),
                lambda *counts, w=weights, t=least: sum(a * b for a, b in zip(w, counts, strict=True)) > t,
            )  # fmt: skip
        check_hamming(int(rng.integers(1, 6)), 3, seed)
    soak.record("graph: families and all their datasets", counting=45, personalised=by_class, hamming=300, differing=0)
