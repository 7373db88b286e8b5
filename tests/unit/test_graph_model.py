"""Graphs of datasets: every way in, odd graphs, what is refused, and the strongest of parallel edges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse

from dpfast import ArgumentError, ArgumentTypeError, FileError, graph

Graph = graph.DatasetGraph


def arcs(g: Graph) -> list[tuple[Any, Any, float, float]]:
    """Every arc with its law, by label."""
    found = []
    for vertex in range(g.n_vertices):
        for arc in range(g._row(vertex).start, g._row(vertex).stop):
            found.append((g._names.name(vertex), g._names.name(int(g._indices[arc])), *g._law(arc)))
    return found


def test_tiny_epsilons_are_constraints() -> None:
    for epsilon in (0.0, 1e-300, 1e-9):
        up = graph.upper(Graph([0, 1], [1, 2], [epsilon, 1.0]), {0: 0.25}).probability
        assert up[0] <= up[1] <= 0.25 * np.exp(epsilon) < up[2]
    zero = graph.upper(Graph([0], [1], 0.0), {0: 0.1}).probability
    assert zero[1] == 0.1


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint32, np.uint64])
def test_index_types(dtype: Any) -> None:
    expected = arcs(Graph([0, 1], [1, 2], [0.5, 1.0]))
    assert arcs(Graph(np.array([0, 1], dtype), np.array([1, 2], dtype), [0.5, 1.0])) == expected
    assert arcs(Graph.from_csr(np.array([0, 1, 2, 2], dtype), np.array([1, 2], dtype), [0.5, 1.0])) == expected


def test_sparse_matrices_keep_zeros_and_parallel_entries() -> None:
    matrix = scipy.sparse.coo_matrix(([0.0, 2.0, 0.5, 1.0], ([0, 1, 1, 2], [1, 2, 2, 2])), (4, 4))
    for form in (matrix, scipy.sparse.csr_array(scipy.sparse.csr_matrix([[0, 0.5], [0, 0]]))):
        g = Graph.from_csr(form)
        assert g.n_vertices == form.shape[0]
    found = arcs(Graph.from_csr(matrix))
    assert found == [(0, 1, 0.0, 0.0), (1, 0, 0.0, 0.0), (1, 2, 0.5, 0.0), (2, 1, 0.5, 0.0)]
    with pytest.raises(ArgumentError, match="square"):
        Graph.from_csr(scipy.sparse.csr_matrix((2, 3)))


@pytest.mark.parametrize("copies", [2, 3, 40])
def test_of_parallel_edges_the_strongest_holds(copies: int) -> None:
    epsilons = np.linspace(2.0, 0.5, copies)
    u, v = np.arange(copies) % 2, (np.arange(copies) + 1) % 2
    assert arcs(Graph(u, v, epsilons)) == [(0, 1, 0.5, 0.0), (1, 0, 0.5, 0.0)]


def test_parallel_edges_without_a_strongest_are_all_kept() -> None:
    rng = np.random.default_rng(1)
    epsilon = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 0.5, *rng.uniform(3, 4, 50)])
    delta = np.array([0.02, 0.01, 0.1, 0.03, 0.01, 0.2, *rng.uniform(0.5, 1, 50)])
    laws = [(0.5, 0.1), (1.0, 0.02), (2.0, 0.01)]
    order = rng.permutation(epsilon.size)
    g = Graph(np.zeros(epsilon.size, int), np.ones(epsilon.size, int), epsilon[order], delta[order])
    assert [arc[2:] for arc in arcs(g)] == laws * 2
    found = graph.upper(g, {0: 0.1}).probability[1]
    assert found == min(graph.upper(Graph([0], [1], *law), {0: 0.1}).probability[1] for law in laws)


def test_loops_and_edges_that_state_nothing_are_left_out() -> None:
    g = Graph([0, 1, 2, 2, 0], [1, 2, 2, 2, 2], [1.0, 1.0, 0.0, 5.0, np.inf])
    assert [arc[:2] for arc in arcs(g)] == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert Graph([0], [1], 0.5, 1.0).n_arcs == 0


@pytest.mark.parametrize(
    ("epsilon", "delta", "text"),
    [
        ([1.0, -1.0], 0.0, "edge 1: epsilon"),
        ([np.nan, 1.0], 0.0, "edge 0: epsilon"),
        ([1.0, 1.0], [0.0, -1e-9], "edge 1: delta"),
        ([1.0, 1.0], [np.nan, 0.0], "edge 0: delta"),
        (-np.inf, 0.0, "edge 0: epsilon"),
        ([1.0], 0.0, "entry for each edge"),
        ([[1.0, 1.0]], 0.0, "entry for each edge"),
    ],
)
def test_bad_figures_are_refused(epsilon: Any, delta: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        Graph([0, 1], [1, 2], epsilon, delta)


def test_negative_zero_is_zero() -> None:
    assert arcs(Graph([0], [1], -0.0, -0.0)) == arcs(Graph([0], [1], 0.0))
    assert graph.upper(Graph([0], [1], -0.0), {0: -0.0}).probability.tolist() == [0.0, 0.0]


def test_graphs_without_edges_and_vertices_without_paths() -> None:
    assert graph.upper(Graph([], [], []), []).probability.size == 0
    lone = Graph([], [], [], n_vertices=3)
    assert (lone.n_vertices, lone.n_arcs) == (3, 0)
    found = graph.extend(lone, [1, 2, 1], {})
    assert found.probability.tolist() == [1.0, 0.0, 1.0]
    parts = Graph([0, 2], [1, 3], 1.0)
    assert graph.extend(parts, [1, 2, 1, 1], {0: 0.6, 1: 0.4}).probability.tolist() == [0.6, 0.4, 1.0, 1.0]
    assert graph.extend(parts, [1, 1, 1, 1], {}).why(0).seed is None


@pytest.mark.parametrize(
    "names", [[3, 7, 1000], ["x", "a", "b"], [(0, 1), (1, 1), (0, 0)], [1, "a", (2, 3)], [-5, 0, 2**40]], ids=str
)
def test_labels_come_back(names: list[Any]) -> None:
    g = Graph(names[:2], names[1:], [0.5, 1.0])
    assert sorted(map(str, g.labels)) == sorted(map(str, names))
    up = graph.upper(g, {names[0]: 0.1})
    assert up.probability[list(g.labels).index(names[2])] == pytest.approx(0.1 * np.exp(1.5))
    assert list(Graph(names[:2], names[1:], 1.0, labels=names).labels) == names
    assert graph.extend(g, {name: 1 for name in names}, {names[0]: 0.1}).why(names[2]).path == names


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: Graph([0], [5], 1.0, n_vertices=3), ArgumentError),
        (lambda: Graph([0], [1], 1.0, n_vertices=3, labels=[0, 1]), ArgumentTypeError),
        (lambda: Graph(["a"], ["c"], 1.0, labels=["a", "b"]), ArgumentError),
        (lambda: Graph(["a"], ["b"], 1.0, labels=["a", "b", "a"]), ArgumentError),
        (lambda: Graph([0.5], [1.5], 1.0, n_vertices=3), ArgumentTypeError),
        (lambda: Graph(np.array([0.5]), np.array([1.5]), 1.0), ArgumentTypeError),
        (lambda: Graph([0, 1], [1], 1.0), ArgumentError),
        (lambda: Graph("ab", "bc", 1.0), ArgumentTypeError),
        (lambda: Graph([0], [1], "1.0"), ArgumentTypeError),
        (lambda: Graph([0], [1], 1.0, n_vertices=-1), ArgumentError),
        (lambda: Graph([[0]], [[1]], 1.0), ArgumentTypeError),
        (lambda: Graph.from_csr([0, 2], [1], 1.0), ArgumentError),
        (lambda: Graph.from_csr([0, 1, 2], [1, 7], 1.0), ArgumentError),
        (lambda: Graph.from_csr([0, 1, 2]), ArgumentTypeError),
        (lambda: graph.upper([0], {}), ArgumentTypeError),
    ],
)
def test_wrong_arguments(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


def test_networkx_graphs() -> None:
    nodes = networkx.Graph()
    nodes.add_node("lone", answer=1)
    nodes.add_edge("a", "b", epsilon=0.5, d=0.01)
    nodes.add_edge("b", "c", epsilon=1.0, d=0.0)
    networkx.set_node_attributes(nodes, {"a": 2, "b": 2, "c": 1}, "answer")
    g = Graph.from_networkx(nodes, delta="d")
    assert list(g.labels) == list(nodes)
    assert ("a", "b", 0.5, 0.01) in arcs(g)
    assert sorted(graph.boundary(g, "answer")) == ["b", "c"]
    several = networkx.MultiGraph([(0, 1, {"epsilon": 2.0}), (0, 1, {"epsilon": 1.0})])
    assert arcs(Graph.from_networkx(several)) == [(0, 1, 1.0, 0.0), (1, 0, 1.0, 0.0)]
    assert Graph.from_networkx(networkx.path_graph(5), epsilon=0.5).labels == range(5)
    for wrong, error in ((nodes.to_directed(), ArgumentError), (networkx.path_graph(3), ArgumentError), ([1], ArgumentTypeError)):
        with pytest.raises(error):
            Graph.from_networkx(wrong)
    with pytest.raises(ArgumentError, match="no attribute"):
        graph.boundary(g, "nothing")


@pytest.mark.parametrize("text", [True, False])
def test_files(tmp_path: Path, text: bool) -> None:
    u, v = (["b", "a"], ["c", "b"]) if text else ([1, 0], [2, 1])
    table = pa.table({"u": u, "v": v, "epsilon": [1.0, 0.5], "delta": [0.0, 0.1], "note": ["x", "y"]})
    pq.write_table(table, tmp_path / "e.parquet")
    pyarrow.csv.write_csv(table, tmp_path / "e.csv")
    pyarrow.feather.write_feather(table, tmp_path / "e.arrow")
    expected = arcs(Graph(u, v, [1.0, 0.5], [0.0, 0.1]))
    for name in ("e.parquet", "e.csv", "e.arrow"):
        assert arcs(Graph.from_file(tmp_path / name)) == expected
    if text:
        coded = table.set_column(0, "u", table["u"].dictionary_encode())
        pq.write_table(coded, tmp_path / "coded.parquet")
        assert arcs(Graph.from_file(tmp_path / "coded.parquet")) == expected
    (tmp_path / "bad.csv").write_text("u,v\n1,2\n")
    for name, error in (("none.csv", FileError), ("bad.csv", ArgumentError), ("e.txt", ArgumentError)):
        with pytest.raises(error):
            Graph.from_file(tmp_path / name)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"u,v,epsilon\xd4\n1,2,0.5\n", FileError),
        (b"u,v,v,epsilon\n1,2,3,0.5\n", ArgumentError),
        (b"u,v,epsilon,delta,delta\n1,2,0.5,0,0\n", ArgumentError),
        (b"u,v,epsilon\n1,2\n", FileError),
        (b"", FileError),
    ],
)
def test_files_that_are_no_list_of_edges(tmp_path: Path, data: bytes, error: type[Exception]) -> None:
    (tmp_path / "e.csv").write_bytes(data)
    with pytest.raises(error):
        Graph.from_file(tmp_path / "e.csv")


def test_a_file_that_points_outside_itself(tmp_path: Path) -> None:
    # Reading such a value would end the process.
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int8()), pa.array(["a"]), safe=False)
    table = pa.table({"u": coded, "v": coded, "epsilon": [1.0, 1.0]})
    with pa.ipc.new_file(str(tmp_path / "e.arrow"), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(FileError):
        Graph.from_file(tmp_path / "e.arrow")


def test_labels_of_csv_files_are_what_is_written(tmp_path: Path) -> None:
    for text, labels in (
        ("007,7\n7,8\n", ["007", "7", "8"]),
        ("7,8\n-1,0\n", [-1, 0, 7, 8]),
        ("-0,1\n+1,2\n", ["+1", "-0", "1", "2"]),
        ("1.0,1\n", ["1", "1.0"]),
        ("9999999999999999999,1\n", ["1", "9999999999999999999"]),
        ('"",NA\n', ["", "NA"]),
        ("2,x\n10,2\n", ["10", "2", "x"]),  # one name makes all of them names
    ):
        ends = [row + ",0.5" for row in text.splitlines()]
        (tmp_path / "e.csv").write_text("\n".join(["u,v,epsilon", *ends, ""]))
        assert list(Graph.from_file(tmp_path / "e.csv").labels) == labels
    (tmp_path / "e.csv").write_text("u,v,epsilon\n,1,0.5\n")
    with pytest.raises(ArgumentError, match="no nulls"):
        Graph.from_file(tmp_path / "e.csv")


def test_memory_held_is_what_is_promised() -> None:
    rng = np.random.default_rng(1)
    g = Graph(*rng.integers(0, 10_000, (2, 100_000)), rng.uniform(0.1, 1, 100_000), n_vertices=10_000)
    held = g._indices.nbytes + g._epsilons.nbytes + g._weights.nbytes
    assert held == 20 * g.n_arcs
    assert g._deltas is None
