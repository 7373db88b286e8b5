"""Extensions: what is fixed and asked, what is refused and why, paths, certificates, draws, and the command."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import ArgumentError, ArgumentTypeError, InfeasibleError, Ledger, LedgerError, Privacy, Stream, ViolationError, graph
from dpfast.cli import main
from dpfast.graph._values import KEY_ONE, keys_of
from dpfast.graph.sampling import answers_of

QUERY = [2, 2, 2, 1, 1, 1]


@pytest.fixture
def path() -> graph.DatasetGraph:
    return graph.DatasetGraph(range(5), range(1, 6), [0.5, 1.0, 0.7, 1.0, 0.5])


def test_every_form_of_fixed_and_query(path: graph.DatasetGraph) -> None:
    array = np.array([np.nan, np.nan, 0.3, 0.6, np.nan, np.nan])
    forms = [array, array.tolist(), {2: 0.3, 3: 0.6}, ([3, 2], [0.6, 0.3])]
    answers = [graph.extend(path, QUERY, form).probability for form in forms]
    assert all((answer == answers[0]).all() for answer in answers)
    assert (graph.extend(path, dict(enumerate(QUERY)), forms[2]).probability == answers[0]).all()
    again = graph.extend(path, QUERY, graph.extend(path, QUERY, array))
    assert (again.probability == answers[0]).all()
    assert np.asarray(again).tolist() == answers[0].tolist()


def test_a_hitting_set_is_enough_and_less_is_not(path: graph.DatasetGraph) -> None:
    one = graph.extend(path, QUERY, {3: 0.6})
    assert one.probability[3] == 0.6
    assert one.why(0).path == [3, 2, 1, 0]
    with pytest.raises(ArgumentError, match="some of 2, 3"):
        graph.extend(path, QUERY, {0: 0.1})
    names = graph.DatasetGraph(["a"], ["b"], 1.0)
    with pytest.raises(ArgumentError, match="'a', 'b'"):
        graph.extend(names, [1, 2], {})


def test_why_explains_every_value(path: graph.DatasetGraph) -> None:
    found = graph.extend(path, QUERY, {2: 0.3, 3: 0.55})
    for vertex in range(6):
        why = found.why(vertex)
        value = {2: 0.3, 3: 0.55}[why.seed]
        law = why.law if QUERY[vertex] == 1 else why.law.lower
        assert law(value) == found.probability[vertex]
        assert why.path[-1] == vertex
    assert found.why(5).path == [3, 4, 5]
    # equal keys along edges of epsilon 0 do not lead round in circles
    ring = graph.DatasetGraph([0, 1, 2, 3], [1, 2, 3, 0], 0.0)
    assert graph.extend(ring, [1] * 4, {0: 0.4}).why(2).path in ([0, 1, 2], [0, 3, 2])


def test_rounding_is_adjusted_and_more_is_refused(path: graph.DatasetGraph) -> None:
    largest = graph.upper(path, {2: 0.3}).probability[3]
    exactly = graph.extend(path, QUERY, {2: 0.3, 3: float(largest)})
    assert list(exactly.adjusted) == []
    unit = math.ulp(float(largest))
    near = graph.extend(path, QUERY, {2: 0.3, 3: float(largest) + 7 * unit})
    assert list(near.adjusted) == [3]
    assert near.probability[3] <= largest + 3 * unit
    graph.verify(path, near)
    with pytest.raises(InfeasibleError) as caught:
        graph.extend(path, QUERY, {2: 0.3, 3: float(largest) + 40 * unit})
    assert caught.value.pair == (2, 3)
    assert caught.value.laws == [(0.7, 0.0)]
    assert caught.value.largest == largest
    repaired = graph.extend(path, QUERY, {2: caught.value.smallest, 3: float(largest) + 40 * unit})
    graph.verify(path, repaired)


@pytest.mark.parametrize(
    ("fixed", "pair"),
    [
        ({2: 0.3, 3: 0.9}, (2, 3)),  # too right across the boundary
        ({2: 0.9, 3: 0.3}, (3, 2)),  # wrong on purpose, more than the edge allows
        ({2: 0.3, 3: 0.4, 4: 0.01}, (4, 3)),  # within the region of answer 1
        ({1: 0.9, 2: 0.3, 3: 0.4}, (2, 1)),  # within that of answer 2
        ({2: 0.0, 3: 0.1}, (2, 3)),
        ({2: 0.0, 3: 1.0}, (2, 3)),
    ],
)
def test_infeasible_values_are_found_with_a_witness(path: graph.DatasetGraph, fixed: dict[int, float], pair: Any) -> None:
    with pytest.raises(InfeasibleError) as caught:
        graph.extend(path, QUERY, fixed)
    error = caught.value
    assert error.pair == pair
    assert (error.path[0], error.path[-1]) == pair
    assert error.largest < fixed[pair[1]]
    assert error.smallest > fixed[pair[0]]
    assert len(error.laws) == len(error.path) - 1


def test_distant_conflict_across_a_hitting_set() -> None:
    g = graph.DatasetGraph([0, 1, 2], [1, 2, 3], 0.5)
    with pytest.raises(InfeasibleError) as caught:
        graph.extend(g, [1, 1, 2, 2], {0: 0.05, 2: 0.95})
    assert caught.value.path == [0, 1, 2]


@pytest.mark.parametrize(
    ("query", "fixed"),
    [
        ([1, 2, 3, 1, 1, 1], {2: 0.5}),
        ([1, 2], {2: 0.5}),
        (QUERY, {2: 1.5}),
        (QUERY, {2: math.nan}),
        (QUERY, {9: 0.5}),
        (QUERY, [0.5]),
        (QUERY, ([2, 2], [0.5, 0.5])),
        (QUERY, ([2], [0.5, 0.5])),
        ({0: 1}, {2: 0.5}),
    ],
)
def test_wrong_queries_and_values(path: graph.DatasetGraph, query: Any, fixed: Any) -> None:
    with pytest.raises(ArgumentError):
        graph.extend(path, query, fixed)
    for wrong in ("answer", [1.0] * 6):
        with pytest.raises(ArgumentTypeError):
            graph.boundary(path, wrong)


def test_certificates_have_no_tolerance(path: graph.DatasetGraph) -> None:
    one = graph.DatasetGraph([0], [1], math.log(2))
    low = float(graph.upper(one, {0: 0.3}).probability[1])
    graph.verify(one, [0.3, low])
    steps = [low]
    while len(steps) < 12:
        steps.append(math.nextafter(steps[-1], 1.0))
    from dpfast.reference.graph import upper_law

    real = upper_law(Fraction(0.3), math.log(2), 0.0)
    for value in steps:
        if Fraction(value) <= real:
            graph.verify(one, [0.3, value])
        else:
            with pytest.raises(ViolationError) as caught:
                graph.verify(one, [0.3, value])
            assert caught.value.edges == [(0, 1, math.log(2), 0.0)]
    assert Fraction(steps[-1]) > real
    for epsilon in (1e4, 1e300):  # 1 forces 1, however weak the edge; anything else is allowed
        with pytest.raises(ViolationError):
            graph.verify(graph.DatasetGraph([0], [1], epsilon), [0.5, 1.0])
        graph.verify(graph.DatasetGraph([0], [1], epsilon), [0.5, 1.0], [0.5, 5e-324])
    wide = graph.DatasetGraph([0], [1], 40.0)
    graph.verify(wide, [1e-17, 1.0], [1.0, 1e-17])
    with pytest.raises(ViolationError):
        graph.verify(wide, [1e-17, 1.0])  # 1 forces 1
    with pytest.raises(ViolationError, match="10 edges"):
        graph.verify(graph.DatasetGraph(range(50), range(1, 51), 0.1), np.arange(51) % 2)
    for wrong in ([0.5], [0.5, 1.5]):
        with pytest.raises(ArgumentError):
            graph.verify(one, wrong)
    with pytest.raises(ArgumentError, match="belong together"):
        graph.verify(one, [0.5, 0.5], [0.5, 0.4])


def test_laws_of_paths() -> None:
    two, four = math.log(2), math.log(4)
    first, second = graph.InducedLaw([(two, 0.0), (four, 0.0)]), graph.InducedLaw([(four, 0.0), (two, 0.0)])
    assert first(0.3) == pytest.approx(0.9, abs=1e-14)
    assert second(0.3) == pytest.approx(0.9125, abs=1e-14)
    for law in (first, second):
        x, y = law.breakpoints
        assert y == pytest.approx([law(float(place)) for place in x], abs=1e-14)
        assert (x[0], x[-1]) == (0.0, 1.0)
        low, high = law.bounds(Fraction(3, 10))
        assert low <= Fraction(law(0.3)) + Fraction(1, 10**14)
        assert high - low < Fraction(1, 10**35)
        assert law.lower(0.7) == pytest.approx(1 - law(0.3), abs=1e-15)
    g = graph.DatasetGraph([0, 1, 0, 3, 0], [1, 2, 3, 2, 2], [two, four, four, two, math.log(7.5)])
    strongest = graph.strongest_condition(g, 0, 2)
    x, y = strongest.breakpoints
    assert len(x) > 3
    for place in np.linspace(0, 1, 41):
        assert np.interp(place, x, y) == pytest.approx(strongest(float(place)), abs=1e-13)
    for wrong in ([0, 2, 1], [0, 3], []):
        with pytest.raises(ArgumentError):
            graph.strongest_condition(g, 0, 2, path=wrong)
    with pytest.raises(ArgumentError):
        strongest.bounds(0.5)


def test_long_paths_take_linear_time() -> None:
    # Quadratic work, of 10^10 steps, would not end; each part below takes some seconds at most.
    n = 200_000
    epsilons = np.random.default_rng(1).uniform(0, 1.5e-5, n)
    g = graph.DatasetGraph(np.arange(n), np.arange(1, n + 1), epsilons, n_vertices=n + 1)
    law = graph.strongest_condition(g, 0, n, path=range(n + 1))
    found = graph.extend(g, np.ones(n + 1, np.int64), {0: 0.1})
    assert law(0.1) == found.probability[n]
    assert law(0.1) == pytest.approx(0.1 * math.exp(epsilons.sum()), rel=1e-9)  # all below the kinks
    assert law.lower(law(0.1)) == pytest.approx(0.1, rel=1e-9)
    with pytest.raises(ArgumentError, match="too long for its breakpoints"):
        _ = law.breakpoints
    why = found.why(n // 20)
    assert (why.seed, len(why.path)) == (0, n // 20 + 1)
    assert why.law(0.1) == found.probability[n // 20]
    part = graph.strongest_condition(g, 0, 1000, path=range(1001))
    low, high = part.bounds(0.1)
    assert low <= high <= low + Fraction(1, 10**30)
    assert low - Fraction(1, 10**12) <= Fraction(part(0.1)) <= high


@pytest.mark.parametrize("p", [0.0, 5e-324, 2.0**-64, 2.0**-63, 0.1, 0.5, 0.75, 1.0 - 2**-53, 1.0])
def test_words_decide_exactly(p: float) -> None:
    key = keys_of(np.array([p]))
    rare = Fraction(min(p, 1.0 - p)) * 2**64
    limit = rare.numerator // rare.denominator
    words = np.array(sorted({w for w in (0, limit - 1, limit, limit + 1, 2**64 - 1) if 0 <= w < 2**64}), np.uint64)
    asked: list[int] = []

    class More:
        def words(self, n: int) -> Any:
            asked.append(n)
            return np.array([2**64 - 1], np.uint64)

    answers = answers_of(np.repeat(key, words.size), words, More)
    seldom, usual = (1, 2) if p <= 0.5 else (2, 1)
    # the word at the limit lies below only in its further bits, here all ones
    assert answers.tolist() == [seldom if word < limit else usual for word in words.tolist()]
    assert bool(asked) == (rare != limit)
    assert answers_of(key * 0 + KEY_ONE - key, words[:1], More)[0] == (3 - answers[0] if p != 0.5 else answers[0])


def test_draws_by_shape_stream_and_ledger(path: graph.DatasetGraph, tmp_path: Path) -> None:
    found = graph.extend(path, QUERY, {2: 0.3, 3: 0.6})
    assert found.sample(0, rng=Stream.insecure(1)) in (1, 2)
    assert found.sample([0, 5, 5], size=4).shape == (4, 3)
    assert found.sample(5, size=3).shape == (3,)
    assert found.sample(np.array([1, 2])).dtype == np.uint8
    whole = found.sample([2, 3] * 500, rng=Stream.insecure(7))
    stream = Stream.insecure(7)
    pieces = [found.sample([2, 3] * 500, rng=stream), found.sample([2, 3] * 500, rng=stream)]
    assert (whole == pieces[0]).all()
    assert (pieces[0] != pieces[1]).any()
    keyed = Stream(key=bytes(32), context="c")
    with pytest.raises(ArgumentTypeError, match="column_name"):
        found.sample(0, rng=keyed)
    ledger = Ledger(tmp_path / "l", cap=Privacy(2.5))
    found.sample([0, 1], rng=keyed, column_name="q", ledger=ledger)
    assert ledger.total().epsilon == 2.0
    with pytest.raises(LedgerError):
        found.sample(0, ledger=ledger)
    # a person with three rows is three edges away
    of_rows = Ledger(tmp_path / "rows", cap=Privacy(100.0, 0.5, rows_per_person=3))
    found.sample([0, 1], ledger=of_rows)
    assert of_rows.total() == Privacy(6.0, 0.0, rows_per_person=3)
    loose = graph.DatasetGraph([0, 1], [1, 2], 0.5, 1e-6)
    graph.extend(loose, [2, 1, 1], {1: 0.5}).sample(0, ledger=of_rows)
    spent = of_rows.entries()[-1].privacy
    assert spent.epsilon == 1.5
    assert 1e-6 * (1 + math.exp(0.5) + math.exp(1.0)) <= spent.delta <= 3e-6 * math.exp(1.0) * (1 + 1e-12)
    for wrong in ("secret", 99, [99]):
        with pytest.raises(ArgumentError) as caught:
            found.sample(wrong)
        assert "secret" not in str(caught.value)
        assert "99" not in str(caught.value)


def test_weighted_boundary_is_the_optimum_of_its_program(path: graph.DatasetGraph) -> None:
    weights = [1.0, 2.0, 1.0, 1.0, 3.0, 1.0]
    totals = []
    for objective in (weights, "minimax", {4: 1.0}):
        found = graph.extend(path, QUERY, graph.optimal_boundary(path, QUERY, objective=objective))
        right = np.where(np.array(QUERY) == 1, found.probability, found.complement)
        totals.append(float(right @ weights))
        assert list(found.adjusted) == []
        graph.verify(path, found)
    assert totals[0] >= totals[1] - 1e-9
    assert right[4] == pytest.approx(1.0, abs=1e-9)  # only one vertex counts: always answer 1
    with pytest.raises(ArgumentError):
        graph.optimal_boundary(path, QUERY, objective=[-1.0] * 6)
    with pytest.raises(ArgumentError):
        graph.optimal_boundary(path, QUERY, objective="best")


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"u": ["a", "b", "c"], "v": ["b", "c", "d"], "epsilon": [0.5, 1.0, 0.5]}), "edges.parquet")
    Path("query.csv").write_text("vertex,answer\na,2\nb,2\nc,1\nd,1\n")
    Path("fixed.csv").write_text("vertex,probability\nb,0.3\nc,0.6\n")
    command = ["extend", "edges.parquet", "--query", "query.csv", "--fixed", "fixed.csv", "--out"]
    assert main([*command, "p.parquet", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["vertices"], told["arcs"], told["adjusted"]) == (4, 6, [])
    written = pq.read_table("p.parquet").to_pydict()
    g = graph.DatasetGraph.from_file("edges.parquet")
    expected = graph.extend(g, [2, 2, 1, 1], {"b": 0.3, "c": 0.6})
    assert written["vertex"] == ["a", "b", "c", "d"]
    assert written["probability"] == expected.probability.tolist()
    assert written["complement"] == expected.complement.tolist()
    assert main([*command, "p.parquet"]) == 1  # exists
    assert main([*command, "p.csv"]) == 0
    assert "least probability" in capsys.readouterr().out
    assert main(["extend", "edges.parquet", "--query", "query.csv", "--out", "best.csv"]) == 0
    Path("fixed.csv").write_text("vertex,probability\nb,0.01\nc,0.99\n")
    assert main([*command, "no.csv"]) == 1
    assert not Path("no.csv").exists()
    assert "no private mechanism" in capsys.readouterr().err


def test_files_of_several_kinds_are_joined_by_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    numbered, named = pa.table({"u": [1, 2], "v": [2, 3]}), pa.table({"u": ["1", "2"], "v": ["2", "03"]})
    for table, name in ((numbered, "numbered.parquet"), (named, "named.parquet")):
        pq.write_table(table.append_column("epsilon", [[0.5, 0.5]]), name)
    Path("numbered.csv").write_text("vertex,answer\n3,1\n1,2\n2,1\n")
    Path("named.csv").write_text("vertex,answer\n03,1\n1,2\n2,1\n")
    pq.write_table(pa.table({"vertex": ["3", "1", "2"], "answer": [1, 2, 1]}), "text.parquet")
    pq.write_table(pa.table({"vertex": [1, 2, 3], "answer": [2, 1, 1]}), "numbers.parquet")
    Path("fixed.csv").write_text("vertex,probability\n1,0.4\n2,0.5\n")  # of both graphs
    command = ["extend", "--fixed", "fixed.csv", "--overwrite", "--out", "p.parquet"]
    for edges, queries in (("numbered", ["numbered.csv", "text.parquet", "numbers.parquet"]), ("named", ["named.csv"])):
        for query in queries:
            assert main([*command, f"{edges}.parquet", "--query", query]) == 0
            written = pq.read_table("p.parquet")
            answers = dict(zip(written["vertex"].to_pylist(), written["answer"].to_pylist(), strict=True))
            assert answers == ({1: 2, 2: 1, 3: 1} if edges == "numbered" else {"1": 2, "2": 1, "03": 1})
    capsys.readouterr()
    assert main([*command, "numbered.parquet", "--query", "named.csv"]) == 1
    assert "vertices of the graph are integers" in capsys.readouterr().err
    assert main([*command, "named.parquet", "--query", "numbers.parquet"]) == 1
    assert "no such vertex" in capsys.readouterr().err
