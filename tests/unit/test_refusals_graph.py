"""Refusals that no other test meets: of graphs of datasets, their laws, families and fixed values, by class and text."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.optimize
import scipy.sparse
from numba.core.errors import TypingError

from dpfast import ArgumentError, ArgumentTypeError, InfeasibleError, MissingPackageError, SolverError, graph
from dpfast.graph import _programs, boundaries
from dpfast.graph._labels import Labels
from dpfast.graph._sources import joined, read_table

ANY: Any = None
PAIR = graph.DatasetGraph([0], [1], 1.0)
PATH = graph.DatasetGraph([0, 1], [1, 2], [1.0, 0.5])
SEVERAL = graph.DatasetGraph([0, 0], [1, 1], [1.0, 0.5], [0.0, 0.25])
ORDERS = [[0, 1], [0, 1], [0, 1]]
STATES = graph.families.hamming(2, 2, [1, 2, 2], 1.0)
EXTENSION = graph.extend(PAIR, [1, 2], {0: 0.6, 1: 0.5})


def bad_law(x: float, epsilon: float, delta: float) -> float:
    if x >= 0:
        raise ValueError
    return x


def upper(x: float, epsilon: float, delta: float) -> float:
    return min(1.0, x + 0.25)


def lower(x: float, epsilon: float, delta: float) -> float:
    return max(0.0, x - 0.25) if x < 0.5 else 0.0


def text(x: float, epsilon: float, delta: float) -> float:
    return x + "a"  # type: ignore[operator]


def far(x: float, epsilon: float, delta: float) -> float:
    return 2.0


def edges(**columns: Any) -> graph.DatasetGraph:
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), "edges.parquet")
    return graph.DatasetGraph.from_file("edges.parquet")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: graph.DatasetGraph([0], [1], 1.0, labels="ab"), ArgumentTypeError, "list of names"),
        (lambda: graph.DatasetGraph([0], [1], 1.0, labels=[[0], [1]]), ArgumentTypeError, "hashable"),
        (lambda: Labels.named(np.zeros((2, 2))), ArgumentError, "one axis"),
        (lambda: graph.DatasetGraph([0], [1], np.array(["x"])), ArgumentTypeError, "number or an array"),
        (lambda: graph.DatasetGraph.from_csr(scipy.sparse.eye(2).tocsr(), [0], [1.0]), ArgumentTypeError, "give it alone"),
        (lambda: read_table(ANY, ["u"]), ArgumentTypeError, "a str or a path"),
        (lambda: joined([0, 1], pa.chunked_array([[0, None]]), "it"), ArgumentError, "no nulls"),
        (lambda: edges(u=[1], v=["x"], epsilon=[1.0]), ArgumentError, "of one type"),
        (lambda: edges(u=[1.0], v=[2.0], epsilon=[1.0]), ArgumentError, "not be floats"),
        (lambda: graph.extend(PAIR, [1, 2], graph.optimal_boundary(PATH, [1, 1, 2])), ArgumentError, "another graph"),
        (lambda: graph.upper(PAIR, graph.upper(PATH, {0: 0.1})), ArgumentError, "entry for each vertex"),
        (lambda: graph.upper(PAIR, ["x", "y"]), ArgumentTypeError, "must hold probabilities"),
        (lambda: graph.optimal_boundary(PAIR, [1, 2], objective=["x", "y"]), ArgumentTypeError, "weights of the vertices"),
        (lambda: graph.optimal_boundary(PAIR, [1, 2], objective={5: 1.0}), ArgumentError, "vert"),
        (lambda: graph.optimal_boundary(PAIR, [1, 2], objective=[1.0]), ArgumentError, "weight for each vertex"),
        (lambda: graph.verify(PAIR, graph.upper(PATH, {0: 0.1})), ArgumentError, "an extension comes alone"),
        (lambda: graph.verify(PAIR, ["x", "y"]), ArgumentTypeError, "array of numbers"),
        (lambda: graph.strongest_condition(PATH, 0, 2, path=ANY or 3), ArgumentTypeError, "list of vertices"),
        (lambda: graph.strongest_condition(PATH, 0, 2, path=[0, 2]), ArgumentError, "no edge"),
        (lambda: graph.strongest_condition(SEVERAL, 0, 1, path=[0, 1]), ArgumentError, "parallel edges"),
        (lambda: graph.strongest_condition(PATH, 0, 2)(ANY or "x"), ArgumentTypeError, "from 0 to 1"),
        (lambda: graph.strongest_condition(PATH, 0, 2)(2.0), ArgumentError, "between 0 and 1"),
        (lambda: graph.families.personalised([2, 3], ANY or 3, 2), ArgumentTypeError, "for each class"),
        (lambda: graph.families.hamming(2, 2, [1, 2, 1], [["x", 0], [0, 0]]), ArgumentTypeError, "matrix of numbers"),
        (lambda: graph.families.hamming(2, 2, [[1], [1, 2]], 1.0), ArgumentTypeError, "array of answers"),
        (lambda: STATES.graph._names.vertices("x", "it"), ArgumentTypeError, "list of states"),
        (lambda: graph.rainbow(PATH, ORDERS, {5: [0.5, 0.5]}), ArgumentError, "vert"),
        (
            lambda: graph.rainbow(PATH, ORDERS, {0: [1.0, 0.0], 1: [0.0, 1.0], 2: [0.0, 1.0]}),
            InfeasibleError,
            "too far apart",
        ),
        (lambda: graph.rainbow(PATH, ORDERS, {0: [0.999, 0.001], 2: [0.001, 0.999]}), InfeasibleError, "private mechanism"),
        (lambda: EXTENSION.sample([0], rng=ANY or 3), ArgumentTypeError, "rng must be"),
        (lambda: graph.Law(upper, compiled=ANY or 1), ArgumentTypeError, "True or False"),
        (lambda: PAIR.with_law(graph.Law(upper, lower)), ArgumentError, "lower falls"),
        (lambda: PAIR.with_law(graph.Law(bad_law)), ArgumentError, "raised ValueError"),
        (lambda: graph.Law(bad_law, compiled=True)._up.steps(*np.ones((3, 1))), ArgumentError, "raised ValueError"),
        (lambda: graph.Law(text, compiled=True)._up.steps(*np.ones((3, 1))), ArgumentError, "does not compile"),
        (lambda: graph.Law(far, compiled=True)._up.steps(*np.ones((3, 1))), ArgumentError, "far|upper"),
    ],
)
def test_arguments_of_graphs_that_are_refused(
    call: Callable[[], Any], error: type[Exception], words: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=words):
        call()


def region() -> Any:
    return _programs.best_rows(PATH, [0, 1, 2], [0, 1], {})


def weighted() -> Any:
    return graph.optimal_boundary(PATH, [1, 2, 2], objective=[1.0, 1.0, 1.0])


@pytest.mark.parametrize("call", [region, weighted])
def test_programs_without_scipy_or_without_an_end_are_refused(call: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(scipy.optimize, "linprog", lambda *_, **__: SimpleNamespace(x=None, status=4))
        with pytest.raises(SolverError, match="was not solved"):
            call()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "scipy.optimize", None)
        with pytest.raises(MissingPackageError, match="scipy"):
            call()
    monkeypatch.setattr(_programs, "ENTRIES_MAX", 1)
    monkeypatch.setattr(boundaries, "ARCS_MAX", 1)
    with pytest.raises(ArgumentError, match="too large"):
        call()


def test_a_program_without_a_solution_is_infeasible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *_, **__: SimpleNamespace(x=None, status=_programs.INFEASIBLE))
    with pytest.raises(InfeasibleError, match="cannot be joined"):
        region()


def test_a_solution_that_breaks_an_edge_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boundaries, "_is_proved", lambda *_: False)
    with pytest.raises(SolverError, match="exactly private"):
        weighted()


def test_breakpoints_over_too_many_paths_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpfast.graph.laws.MOST_LINES", 1)
    with pytest.raises(ArgumentError, match="too large"):
        graph.strongest_condition(PATH, 0, 2).breakpoints  # noqa: B018


def test_laws_of_a_rainbow_that_break_an_edge_are_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = itertools.cycle([None, (0, 1, 0)])  # what is asked for is private, what is found is not
    monkeypatch.setattr(sys.modules["dpfast.graph.rainbow"], "_open_edge", lambda *_: next(broken))
    with pytest.raises(SolverError, match="exactly private"):
        graph.rainbow(PATH, ORDERS, {0: [0.6, 0.4], 2: [0.4, 0.6]})


@pytest.mark.parametrize(("raised", "error"), [(KeyboardInterrupt(), KeyboardInterrupt), (TypingError("x"), ArgumentError)])
def test_what_compiled_laws_raise(raised: BaseException, error: type[BaseException]) -> None:
    def call() -> None:
        raise raised

    with pytest.raises(error):
        graph.Law(upper)._up._run(call)
