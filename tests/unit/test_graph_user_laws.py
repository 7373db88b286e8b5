"""Laws of the user's own: the same answers as ours, in Python and compiled; what is wrong with one is said before it is used."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dpfast import Ledger, Privacy, Stream, graph, kernels
from dpfast.errors import ArgumentError, ArgumentTypeError, InfeasibleError, ViolationError

Function = Callable[[float, float, float], float]


def usual(x: float, epsilon: float, delta: float) -> float:
    grow = math.exp(epsilon)
    return max(x, min(1.0, grow * x + delta, 1.0 - (1.0 - delta - x) / grow))


def one_sided(x: float, epsilon: float, delta: float) -> float:
    """Answer 1 alone is protected: nothing is asked of 1 - p."""
    return min(1.0, math.exp(epsilon) * x + delta)


def one_sided_lower(y: float, epsilon: float, delta: float) -> float:
    return max(0.0, (y - delta) / math.exp(epsilon)) if y < 1.0 else max(0.0, (1.0 - delta) / math.exp(epsilon))


LAWS: dict[str, tuple[Function, Function | None]] = {"usual": (usual, None), "one_sided": (one_sided, one_sided_lower)}


@pytest.fixture(scope="module", params=sorted(LAWS))
def both(request: pytest.FixtureRequest) -> tuple[graph.Law, graph.Law]:
    """One law in Python, and compiled."""
    upper, lower = LAWS[request.param]
    return graph.Law(upper, lower), kernels.law(upper, lower=lower)


def random_graph(seed: int) -> tuple[graph.DatasetGraph, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = 12
    u, v = [*range(n - 1), *rng.integers(0, n, 10)], [*range(1, n), *rng.integers(0, n, 10)]
    g = graph.DatasetGraph(u, v, rng.uniform(0.05, 1.0, len(u)), rng.choice([0.0, 0.02], len(u)), n_vertices=n)
    return g, rng.integers(1, 3, n)


def test_our_law_written_by_a_user_gives_our_answers() -> None:
    law = graph.Law(usual)
    for seed in range(10):
        g, query = random_graph(seed)
        theirs = g.with_law(law)
        fixed = graph.optimal_boundary(g, query)
        ours, found = graph.extend(g, query, fixed), graph.extend(theirs, query, fixed)
        assert found.probability == pytest.approx(ours.probability, abs=1e-14)
        graph.verify(theirs, found)
        for direction in (graph.upper, graph.lower):
            assert direction(theirs, {0: 0.3}).probability == pytest.approx(direction(g, {0: 0.3}).probability, abs=1e-14)
        assert graph.strongest_condition(theirs, 0, 5)(0.2) == pytest.approx(graph.strongest_condition(g, 0, 5)(0.2), abs=1e-14)


def test_compiled_laws_give_the_answers_of_python(both: tuple[graph.Law, graph.Law]) -> None:
    for seed in range(6):
        g, query = random_graph(seed)
        python, compiled = (g.with_law(law) for law in both)
        fixed = graph.optimal_boundary(g, query)
        at = [graph.boundary(model, query).tolist() for model in (g, python, compiled)]
        assert at[0] == at[1] == at[2]
        for direction in (graph.upper, graph.lower):
            assert (direction(python, {0: 0.3})._keys == direction(compiled, {0: 0.3})._keys).all()
        one, other = (graph.extend(model, query, fixed) for model in (python, compiled))
        assert (one._keys == other._keys).all()
        assert [one.why(v).path for v in range(12)] == [other.why(v).path for v in range(12)]


def test_a_law_with_two_halves_is_that_of_all_paths() -> None:
    g, _ = random_graph(3)
    theirs = g.with_law(graph.Law(one_sided, one_sided_lower))
    fixed = {0: 0.2, 7: 0.4}
    up, low = np.ones(12), np.zeros(12)
    for vertex, value in fixed.items():
        up[vertex], low[vertex] = value, value
    arcs = [(v, int(g._indices[arc]), *g._law(arc)) for v in range(12) for arc in range(g._row(v).start, g._row(v).stop)]
    for _, (v, w, epsilon, delta) in itertools.product(range(12), arcs):  # as often as there are vertices: all paths
        up[w] = min(up[w], one_sided(up[v], epsilon, delta))
        low[w] = max(low[w], one_sided_lower(low[v], epsilon, delta))
    assert (graph.upper(theirs, fixed).probability == up).all()
    assert (graph.lower(theirs, fixed).probability == low).all()
    # not symmetric: the mirrored upper would say something else
    assert abs(low - (1 - graph.upper(theirs, {v: 1 - p for v, p in fixed.items()}).probability)).max() > 0.1


def test_extensions_by_a_law_are_the_best_and_infeasible_ones_are_refused() -> None:
    law = graph.Law(one_sided, one_sided_lower)
    g = graph.DatasetGraph([0, 1, 2], [1, 2, 3], math.log(2)).with_law(law)
    found = graph.extend(g, [2, 2, 1, 1], {1: 0.25, 2: 0.4})
    assert found.probability == pytest.approx([0.125, 0.25, 0.4, 0.8])
    assert found.why(3).path == [2, 3]
    assert found.why(3).law(0.25) == 0.5
    assert found.why(0).law.lower(0.5) == 0.25
    with pytest.raises(InfeasibleError, match="lower it to that") as caught:
        graph.extend(g, [2, 2, 1, 1], {1: 0.25, 2: 0.7})
    assert caught.value.pair == (1, 2)
    assert caught.value.largest == pytest.approx(0.5)
    assert caught.value.smallest == pytest.approx(0.35)
    graph.verify(g, [0.0, 0.0, 0.0, 0.0])
    with pytest.raises(ViolationError):
        graph.verify(g, [0.1, 0.25, 0.6, 1.0])


def test_probabilities_that_no_double_is_are_moved_to_the_safe_side() -> None:
    g = graph.DatasetGraph([0, 1], [1, 2], 0.1).with_law(graph.Law(usual))
    found = graph.extend(g, [2, 2, 1], {1: 0.1, 2: 0.1})
    assert found.adjusted.tolist() == [1]  # its Pr[right answer], one minus the double 0.1, is none
    assert 0.0 < found.probability[1] - 0.1 < 2.0**-53
    assert 1.0 - found.complement[1] == found.probability[1]


def test_what_knows_epsilon_only_refuses_a_law(tmp_path: Path) -> None:
    g = graph.DatasetGraph([0, 1], [1, 2], 0.1, law=graph.Law(usual))
    with pytest.raises(ArgumentError, match="optimal_boundary"):
        graph.optimal_boundary(g, [2, 1, 1])
    with pytest.raises(ArgumentError, match="rainbow"):
        graph.rainbow(g, [[0, 1]] * 3, {})
    with pytest.raises(ArgumentError, match="breakpoints"):
        _ = graph.strongest_condition(g, 0, 2).breakpoints
    with pytest.raises(ArgumentError, match="bounds"):
        graph.strongest_condition(g, 0, 2, path=[0, 1, 2]).bounds(0.5)
    found = graph.extend(g, [2, 1, 1], {0: 0.4, 1: 0.42})
    with pytest.raises(ArgumentError, match="ledger"):
        found.sample(0, rng=Stream.insecure(1), ledger=Ledger(tmp_path / "l", cap=Privacy(2.5)))
    assert found.sample(0, rng=Stream.insecure(1)) in (1, 2)


def falling(x: float, epsilon: float, delta: float) -> float:
    return x + (1.0 - x) * (0.5 if x < 0.5 else 0.01)


def below(x: float, epsilon: float, delta: float) -> float:
    return 0.9 * x


def above_one(x: float, epsilon: float, delta: float) -> float:
    return 2.0 * x


def not_a_number(x: float, epsilon: float, delta: float) -> float:
    return math.nan if x > 0.7 else x


def infinite(x: float, epsilon: float, delta: float) -> float:
    return math.inf if x > 0.7 else x


def raising(x: float, epsilon: float, delta: float) -> float:
    return x if x < 0.9 else 1.0 / (1.0 - x)


def lopsided(x: float, epsilon: float, delta: float) -> float:
    return min(1.0, math.exp(epsilon) * x)


def shrinking(x: float, epsilon: float, delta: float) -> float:
    return min(1.0, x + 0.5 / (1.0 + epsilon))


WRONG = [
    (falling, "upper falls"),
    (below, "must be a number from its argument to 1"),
    (above_one, "must be a number from its argument to 1"),
    (not_a_number, r"is nan; it must be a number"),
    (infinite, r"is inf; it must be a number"),
    (raising, "raised ZeroDivisionError|must be a number from its argument"),
    (lopsided, "no Galois pair"),
    (shrinking, "must not fall where epsilon"),
]


@pytest.mark.parametrize(("function", "text"), WRONG)
def test_wrong_laws_are_refused_before_use(function: Function, text: str) -> None:
    g = graph.DatasetGraph([0, 1], [1, 2], [0.5, 1.0])
    with pytest.raises(ArgumentError, match=text):
        g.with_law(graph.Law(function))


def test_wrong_compiled_laws_are_refused_before_use() -> None:
    g = graph.DatasetGraph([0, 1], [1, 2], [0.5, 1.0])
    for function, text in WRONG[:1] + WRONG[3:6]:
        with pytest.raises(ArgumentError, match=text):
            g.with_law(kernels.law(function))


def test_code_that_means_something_else_compiled_is_refused() -> None:
    def wide(x: float, epsilon: float, delta: float) -> float:
        n = 3037000500  # its square is beyond 64 bits: negative, compiled
        return min(1.0, x + (0.125 if n * n > 0 else 0.25))

    g = graph.DatasetGraph([0, 1], [1, 2], 0.5)
    assert graph.upper(g.with_law(graph.Law(wide)), {0: 0.25}).probability.tolist() == [0.25, 0.375, 0.5]
    with pytest.raises(ArgumentError, match="other values compiled than in Python"):
        g.with_law(kernels.law(wide))


def test_laws_go_wrong_between_the_points_of_the_grid() -> None:
    # A hole that no grid sees: the search meets it and stops, in Python and compiled.
    def hole(x: float, epsilon: float, delta: float) -> float:
        return math.nan if 0.30000001 < x < 0.30000002 else min(1.0, x + 0.125)

    g = graph.DatasetGraph([0, 1], [1, 2], 0.5)
    for law in (graph.Law(hole), kernels.law(hole)):
        assert graph.upper(g.with_law(law), {0: 0.25}).probability.tolist() == [0.25, 0.375, 0.5]
        with pytest.raises(ArgumentError, match="is nan"):
            graph.upper(g.with_law(law), {0: 0.300000015})


def test_signatures_and_types_are_checked() -> None:
    def two(x: float, epsilon: float) -> float:
        return x

    def text(x: float, epsilon: float, delta: float) -> str:
        return "x"

    for function in (two, math.sqrt, "x", None):
        with pytest.raises(ArgumentTypeError):
            graph.Law(function)
    with pytest.raises(ArgumentTypeError, match="three arguments"):
        kernels.law(two)
    with pytest.raises(ArgumentTypeError, match="must return a number, not str"):
        graph.DatasetGraph([0], [1], 0.5).with_law(graph.Law(text))
    with pytest.raises(ArgumentTypeError, match="must return a number"):
        kernels.law(text)
    with pytest.raises(ArgumentTypeError, match=r"must be a dpfast\.graph\.Law"):
        graph.DatasetGraph([0], [1], 0.5).with_law(usual)

    def untypable(x: float, epsilon: float, delta: float) -> float:
        return float({"a": x}["a" if x < 2 else 0])

    with pytest.raises(ArgumentError, match="does not compile"):
        kernels.law(untypable)


def test_the_decorator_and_a_large_graph() -> None:
    @kernels.law
    def shifted(x: float, epsilon: float, delta: float) -> float:
        return min(1.0, x + epsilon)

    assert shifted(0.25, 0.5) == 0.75
    assert "shifted, compiled=True" in repr(shifted)
    n = 200_000
    family = graph.families.counting(n, 1, 2.0**-16)
    found = graph.upper(family.graph.with_law(shifted), {0: 0.25}).probability
    assert (found == np.minimum(1.0, 0.25 + np.arange(n + 1) * 2.0**-16)).all()
