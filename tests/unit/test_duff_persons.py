"""Means, modes and quantiles of persons with several rows, graphs of networkx, and epsilons at both ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import dpfast
from dpfast import ArgumentError, Ledger, LedgerError, Privacy, Stream
from dpfast.duff import count_triangles, mean, median, mode, quantiles

CALLS: dict[str, Callable[..., Any]] = {
    "median": lambda values, **request: median(values, bounds=(0, 100), **request),
    "laplace": lambda values, **request: median(values, bounds=(0, 100), method="piecewise_laplace", **request),
    "mean": lambda values, **request: mean(values, bounds=(0, 100), **request),
    "joint": lambda values, **request: quantiles(values, [0.4, 0.6], bounds=(0, 100), **request)[..., 0],
    "recursive": lambda values, **request: quantiles(values, [0.4, 0.6], bounds=(0, 100), method="recursive", **request)[..., 0],
    "independent": lambda values, **request: quantiles(values, [0.4, 0.6], bounds=(0, 100), method="independent", **request)[
        ..., 0
    ],
    "mode": lambda values, **request: mode(values, domain=range(101), **request),
}
# persons 0 .. 199 have one row of 20 each; person 999 has 5000 rows of 90
VALUES = np.concatenate([np.full(200, 20), np.full(5000, 90)])
PERSON = np.concatenate([np.arange(200), np.full(5000, 999)])


@pytest.mark.parametrize("name", CALLS)
def test_a_person_with_most_rows_decides_nothing_once_named(name: str) -> None:
    call, request = CALLS[name], {"epsilon": 8.0, "rng": Stream.insecure(3)}
    assert call(VALUES, **request) > 80  # the control: without person= the rows decide
    assert abs(call(VALUES, **request, person=PERSON, rows_per_person=2) - 20) < 6
    assert abs(call(VALUES, **request, person=[f"p{number}" for number in PERSON.tolist()]) - 20) < 6
    by = call(VALUES, **request, person=PERSON, by=VALUES > 50, keys=[False, True])
    assert abs(by[0] - 20) < 6


@pytest.mark.parametrize("name", CALLS)
def test_rows_of_a_person_share_epsilon(name: str, tmp_path: Path) -> None:
    # g rows at epsilon are one row at epsilon / g: same law, same digest, so the same answer under a key
    def answer(epsilon: float, g: int) -> Any:
        rng = Stream(key=bytes(32), context="a")
        return CALLS[name](VALUES[:201], epsilon=epsilon, rows_per_person=g, rng=rng, column_name="x")

    assert answer(0.75, 3) == answer(0.25, 1)
    ledger = Ledger(tmp_path / "ledger", cap=Privacy(9.0, 0.0, "add_remove", 6))
    CALLS[name](VALUES, epsilon=1.5, rows_per_person=3, ledger=ledger)
    assert ledger.total().epsilon == 3.0  # six rows at half an epsilon each
    CALLS[name](VALUES, epsilon=1.5, rows_per_person=3, person=PERSON, ledger=ledger)
    assert ledger.total().epsilon == 4.5  # no more than three are kept


@pytest.mark.parametrize("name", CALLS)
def test_rows_of_a_person_are_not_chosen_before_they_are_paid_for(name: str, tmp_path: Path) -> None:
    call, request = CALLS[name], {"epsilon": 1.5, "rows_per_person": 3, "person": PERSON}
    stream, other = Stream.insecure(5), Stream.insecure(5)
    with pytest.raises(LedgerError):
        call(VALUES, **request, rng=stream, ledger=Ledger(tmp_path / "ledger", cap=Privacy(1.0, 0.0, "add_remove")))
    # nothing of the stream is used
    assert call(VALUES, **request, rng=stream) == call(VALUES, **request, rng=other)
    assert stream._rows == other._rows


@pytest.mark.parametrize("name", CALLS)
def test_columns_of_other_lengths_are_refused(name: str) -> None:
    for request in ({"person": [1, 2]}, {"by": [1, 2], "keys": [1]}, {"by": [1] * 3, "keys": [1], "person": [1] * 2}):
        with pytest.raises(ArgumentError, match="differ in length"):
            CALLS[name](np.arange(3), epsilon=1.0, **request)
    with pytest.raises(ArgumentError, match="use add_remove"):
        CALLS[name](np.arange(3), epsilon=1.0, person=[1, 2, 3], neighbours="replace_one")


def test_groups_and_persons_of_columns_out_of_memory() -> None:
    class Chunks:
        def __iter__(self) -> Any:
            return iter([np.arange(2), np.arange(2)])

    with pytest.raises(ArgumentError, match="differ in length"):
        median(Chunks(), bounds=(0, 9), epsilon=1.0, by=[1] * 4, keys=[1], person=[1] * 3)
    with pytest.raises(ArgumentError, match="differ in length"):
        mean(Chunks(), bounds=(0, 9), epsilon=1.0, by=[1] * 4, keys=[1], person=[1] * 3)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("epsilon", [40.0, 90.0, 1e3, 1e308])
def test_a_mean_of_much_epsilon_is_near(neighbours: Any, epsilon: float) -> None:
    values = np.arange(1000.0) % 7
    found = mean(values, bounds=(0, 10), epsilon=epsilon, neighbours=neighbours, rng=Stream.insecure(1))
    assert abs(found - values.mean()) < 0.02


def test_graphs_of_networkx() -> None:
    graph = nx.complete_graph(30)
    directed, several = nx.DiGraph(graph), nx.MultiGraph(graph)
    several.add_edges_from([(0, 1), (1, 0), (4, 4)])
    named = nx.relabel_nodes(graph, str)
    for one in (graph, directed, several, named):
        assert count_triangles(one, epsilon=9.0, rng=Stream.insecure(1)) == 4060
        assert count_triangles(one, n_vertices=30, epsilon=9.0, rng=Stream.insecure(1)) == 4060
    with pytest.raises(ArgumentError, match="differs from the number of vertices"):
        count_triangles(graph, n_vertices=31, epsilon=1.0)


def test_edges_have_a_ledger_of_their_own(tmp_path: Path) -> None:
    of_rows = Ledger(tmp_path / "rows", cap=Privacy(9.0, neighbours="add_remove"))
    with pytest.raises(LedgerError):
        count_triangles([(0, 1)], n_vertices=3, epsilon=1.0, ledger=of_rows)
    of_edges = Ledger(tmp_path / "edges", cap=Privacy(9.0, 0.0, "edge", 4))
    count_triangles([(0, 1)], n_vertices=3, epsilon=0.5, ledger=of_edges)
    assert of_edges.total() == Privacy(2.0, 0.0, "edge", 4)


@pytest.mark.parametrize("epsilon", [0.0, 5e-324, 1e-300, 1e-21])
def test_noise_without_end_is_refused_before_a_charge(epsilon: float, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "edges", cap=Privacy(9.0, neighbours="edge"))
    with pytest.raises(ArgumentError, match="at least 1e-20"):
        dpfast.count_triangles([(0, 1)], n_vertices=9, epsilon=epsilon, method="smooth_cauchy", ledger=ledger)
    assert ledger.total().epsilon == 0.0
    assert 0 <= dpfast.count_triangles([(0, 1)], n_vertices=9, epsilon=1e-19, method="smooth_cauchy") <= 84


@pytest.mark.parametrize("labels", [[1, 2.5], [1.0, 2], [True, 1], [1, None], [1, "a"], [[1], [1, 2]], [1 << 64, -1], []])
def test_a_list_of_labels_is_taken_whatever_it_holds(labels: list[Any]) -> None:
    # what is no label is not counted, and never an error that tells of a value
    assert mode(labels * 60, domain=[7, 1], epsilon=4.0, rng=Stream.insecure(2)) in (7, 1)
    assert mode([1] * 60 + labels, domain=[7, 1], epsilon=4.0, rng=Stream.insecure(2)) == 1


def test_edges_that_are_no_pairs_are_refused() -> None:
    with pytest.raises(ArgumentError, match="pairs of vertices"):
        count_triangles([(0, 1), (1,)], n_vertices=3, epsilon=1.0)
