"""Families and queries with several answers: arguments, labels, sampling, and what is said of mistakes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpfast import Ledger, Privacy, Stream, graph
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.graph import families


def test_classes_have_names() -> None:
    family = families.personalised({"young": 2, "old": 3}, {"old": 1.0, "young": 0.2}, 2, {"young": 0.0, "old": 0.01})
    same = families.personalised([2, 3], np.array([0.2, 1.0]), 2, [0.0, 0.01])
    found = graph.extend(family, family.query, graph.optimal_boundary(family, family.query))
    expected = graph.extend(same, same.query, graph.optimal_boundary(same, same.query))
    assert (found._keys == expected._keys).all()
    assert found.for_dataset({"old": 2, "young": 1}) == found.for_dataset((1, 2)) == expected.for_dataset([1, 2])
    assert len(family) == 12
    assert "12 states" in repr(family)
    assert list(family.labels)[:5] == family.labels[:5] == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]
    assert repr(family.labels) == "[(0, 0), (0, 1), (0, 2), ...]"
    assert family.labels[-1] == (2, 3)


def test_queries_come_in_several_forms() -> None:
    by_threshold = families.personalised([2, 3], [0.2, 1.0], 2)
    counts = np.add.outer(np.arange(3), np.arange(4))
    for query in (lambda a, b: a + b >= 2, lambda a, b: np.where(a + b >= 2, 1, 2), np.where(counts >= 2, 1, 2), counts >= 2):
        assert (families.personalised([2, 3], [0.2, 1.0], query).query == by_threshold.query).all()


def test_states_are_accepted_wherever_labels_are() -> None:
    family = families.hamming(4, 3, lambda *counts: counts[0] > 2, 0.5)
    edge = graph.strongest_condition(family, (4, 0, 0), (3, 1, 0))
    assert edge(0.0) == 0.0
    found = graph.extend(family, family.query, graph.optimal_boundary(family, family.query))
    assert found.why((0, 0, 4)).path[-1] == (0, 0, 4)
    assert found.sample((4, 0, 0), rng=Stream.insecure(1)) in (1, 2)
    assert found.sample([(4, 0, 0), (0, 4, 0)], rng=Stream.insecure(1), size=3).shape == (3, 2)


def test_states_that_are_none_are_refused_without_being_repeated() -> None:
    family = families.personalised([2, 3], [0.2, 1.0], 2)
    votes = families.hamming(4, 3, lambda *counts: counts[0] > 2, 0.5)
    line = families.counting(5, 2, 1.0)
    for one, wrong in [
        (family, (3, 0)), (family, (1,)), (family, {"a": 1}), (family, 77), (votes, (4, 1, 0)), (votes, (4, 0)),
        (votes, (5, -1, 0)), (votes, (2.0, 2.0, 0.0)), (line, 77),
    ]:  # fmt: skip
        found = graph.extend(one, one.query, graph.optimal_boundary(one, one.query))
        with pytest.raises(ArgumentError) as caught:
            found.for_dataset(wrong)
        assert "77" not in str(caught.value)
    found = graph.extend(line, line.query, graph.optimal_boundary(line, line.query))
    with pytest.raises(ArgumentTypeError, match="record_counts"):
        found.for_dataset("many")
    plain = graph.DatasetGraph(["a"], ["b"], 1.0)
    with pytest.raises(ArgumentTypeError, match="record_counts"):
        graph.extend(plain, [1, 1], {}).for_dataset(1)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: families.counting(5, 0, 1.0), "threshold"),
        (lambda: families.counting(5, 6, 1.0), "threshold"),
        (lambda: families.counting(0, 1, 1.0), "n must"),
        (lambda: families.counting(5, 2, [1.0, 2.0]), "epsilon"),
        (lambda: families.counting(5, 2, -1.0), "negative"),
        (lambda: families.personalised([], [], 1), "class_sizes"),
        (lambda: families.personalised([2], [1.0, 2.0], 1), "epsilons"),
        (lambda: families.personalised({"a": 2}, {"b": 2.0}, 1), "epsilons"),
        (lambda: families.personalised([2], [1.0], 3), "threshold"),
        (lambda: families.personalised([2, 2], [1.0, 1.0], [1, 2, 1]), "query"),
        (lambda: families.personalised([2], [1.0], lambda count: count), "query"),
        (lambda: families.hamming(3, 1, lambda count: count > 1, 1.0), "values"),
        (lambda: families.hamming(3, 2, lambda a, b: a > b, [[0, 1], [2, 0]]), "symmetric"),
        (lambda: families.hamming(10**6, 6, lambda *counts: counts[0] > 1, 1.0), "states"),
        (lambda: families.product([], 1), "factors"),
        (lambda: families.product(["a"], 1), "g must"),
    ],
)
def test_mistakes_are_named(call: object, text: str) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match=text):
        call()


def test_rainbow_draws_spend_and_regions_without_a_boundary_are_certain(tmp_path: Path) -> None:
    g = graph.DatasetGraph([0, 1, 3], [1, 2, 4], 0.5)
    orders = {0: [0, 1, 2], 1: [0, 1, 2], 2: [2, 1, 0], 3: [1, 0, 2], 4: [1, 0, 2]}
    found = graph.rainbow(g, orders, {1: [0.4, 0.3, 0.3], 2: [0.3, 0.3, 0.4]})
    assert found.probabilities[3:].tolist() == [[0.0, 1.0, 0.0]] * 2
    assert sum(found.exact(0)) == 1
    ledger = Ledger(tmp_path / "l", cap=Privacy(2.5))
    assert found.sample([3, 4], rng=Stream.insecure(1), size=2, ledger=ledger).tolist() == [[1, 1], [1, 1]]
    assert ledger.total().epsilon == 2.0  # four draws at 0.5
    assert graph.rainbow(graph.DatasetGraph([0], [1], 1.0), [[2, 0, 1]] * 2, {}).probabilities.tolist() == [[0, 0, 1]] * 2


@pytest.mark.parametrize(
    ("orders", "fixed", "text"),
    [
        ([[0, 1], [0, 1]], {}, "row of answers"),
        ([[0, 1], [0, 0], [0, 1]], {}, "once"),
        ([[0, 1], [0], [0, 1]], {}, "orders"),
        ([[0.0, 1.0]] * 3, {}, "integers"),
        ({0: [0, 1]}, {}, "every vertex"),
        ([[0, 1], [1, 0], [1, 0]], {1: [0.5, 0.5]}, "such as 0"),
        ([[0, 1]] * 3, {1: [0.5, 0.6]}, "sum to 1"),
        ([[0, 1]] * 3, {1: [-0.5, 1.5]}, "negative"),
        ([[0, 1]] * 3, {1: [0.5]}, "fixed"),
        ([[0, 1]] * 3, {1: "ab"}, "fixed"),
        ([[0, 1]] * 3, [[0.5, 0.5]], "rows of NaN"),
    ],
)
def test_mistakes_of_a_rainbow_are_named(orders: object, fixed: object, text: str) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match=text):
        graph.rainbow(graph.DatasetGraph([0, 1], [1, 2], 0.5), orders, fixed)


def test_an_array_of_another_shape_is_no_query() -> None:
    with pytest.raises(ArgumentError):
        families.personalised([2, 3], [0.2, 1.0], np.ones((4, 3), np.int64))
    assert (families.personalised([2, 3], [0.2, 1.0], np.ones(12, np.int64)).query == 1).all()


def test_a_product_does_not_forget_a_law() -> None:
    line = graph.DatasetGraph([0], [1], 1.0)
    ours = line.with_law(graph.Law(lambda x, epsilon, delta: min(1.0, x + epsilon / 10)))
    with pytest.raises(ArgumentError, match="with_law"):
        families.product([line, ours], lambda a, b: a + b > 1)


def test_sizes_and_laws_that_do_not_fit_are_refused_at_once() -> None:
    with pytest.raises(ArgumentError, match="2\\*\\*31"):
        families.counting(1 << 40, 2, 1.0)
    with pytest.raises(ArgumentError):
        families.personalised([2, 3], np.ones((2, 7)), 2)


def test_a_query_cannot_change_the_states() -> None:
    def careless(a: Any, b: Any) -> Any:
        a += 1
        return a > b

    with pytest.raises(ArgumentTypeError, match="may not change"):
        families.hamming(2, 2, careless, 1.0)
    family = families.personalised([2, 1], [0.5, 1.0], careless)  # of a grid it is given copies
    assert family.labels[0] == (0, 0)


def test_queries_that_are_no_functions_of_arrays_are_told_so() -> None:
    for query in (lambda a: a > 1, lambda a, b: 1 if a > b else 2):
        with pytest.raises(ArgumentTypeError, match="called once, with 2 arrays"):
            families.personalised([3, 2], [0.2, 0.5], query)


def test_many_values_and_few_records() -> None:
    family = families.hamming(1, 200, lambda *counts: counts[0] > 0, 1.0)
    assert (len(family), family.graph.n_arcs) == (200, 200 * 199)
    family = families.hamming(2, 40, lambda *counts: counts[0] > 0, 1.0)
    assert len(family) == 820
    assert family.graph.n_arcs == 40 * 40 * 39  # with one record left out: 40 datasets of one, a clique of 40 states each


@pytest.mark.parametrize(
    "make",
    [
        lambda: families.hamming(10**9, 10**9, lambda *counts: counts[0] > 0, 1.0),
        lambda: families.hamming(10**9, 2, lambda *counts: counts[0] > 0, 1.0),
        lambda: families.hamming(1, 50_000, lambda *counts: counts[0] > 0, 1.0),
        lambda: families.personalised([999_000, 1000], [0.1, 0.5], 150),
        lambda: families.product([families.counting(40_000, 1, 1.0)] * 2, lambda a, b: a > b),
    ],
)
def test_families_that_do_not_fit_are_refused_at_once(make: Callable[[], object]) -> None:
    with pytest.raises(ArgumentError, match=r"2\*\*(28|31)"):
        make()


def test_a_part_that_is_no_state_is_told_of_the_family() -> None:
    family = families.personalised([2, 1], [0.5, 1.0], 1)
    found = graph.extend(family, family.query, graph.optimal_boundary(family, family.query))
    for counts in ((3, 0), (-1, 0), (True, 0), (1.0, 0), ("1", 0)):
        with pytest.raises(ArgumentError, match="no state of the family"):
            found.for_dataset(counts)
