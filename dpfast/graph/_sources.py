"""Edges out of networkx graphs and of files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpfast.errors import ArgumentError, ArgumentTypeError, FileError
from dpfast.graph._labels import Labels, from_ends

__all__ = ["joined", "networkx_edges", "numbers", "read_edges", "read_table"]

# Text that is how an integer is written, and fits in 64 bits: "7" and not "007", which is another name.
PLAIN_INTEGER: Final = r"^(0|-?[1-9][0-9]{0,17})$"

Ends: TypeAlias = NDArray[np.int32]


def networkx_edges(graph: Any, epsilon: str | float, delta: str | float | None) -> tuple[Labels, Ends, Ends, Any, Any]:
    """Nodes, ends, epsilons and deltas of an undirected networkx graph."""
    if not (hasattr(graph, "nodes") and hasattr(graph, "edges") and hasattr(graph, "is_directed")):
        raise ArgumentTypeError(f"G must be a networkx graph, not {type(graph).__name__}")
    if graph.is_directed():
        raise ArgumentError("the graph is directed; neighbours are mutual: use G.to_undirected()")
    nodes = list(graph.nodes)
    place = {node: number for number, node in enumerate(nodes)}
    n = graph.number_of_edges()
    u, v = np.empty(n, np.int32), np.empty(n, np.int32)
    wanted = {"epsilon": epsilon, "delta": 0.0 if delta is None else delta}
    columns: dict[str, Any] = {name: np.empty(n) if isinstance(rule, str) else rule for name, rule in wanted.items()}
    for number, (one, other, data) in enumerate(graph.edges(data=True)):
        u[number], v[number] = place[one], place[other]
        for name, rule in wanted.items():
            if isinstance(rule, str):
                if rule not in data:
                    raise ArgumentError(f"an edge has no attribute {rule!r}, which {name} is to be read from")
                columns[name][number] = data[rule]
    names = range(len(nodes)) if nodes == list(range(len(nodes))) else nodes
    return Labels.named(names), u, v, columns["epsilon"], columns["delta"]


def read_table(
    path: str | os.PathLike[str], columns: list[str], optional: tuple[str, ...] = (), *, labels: tuple[str, ...] = ()
) -> Any:
    """An Arrow table of the named columns of a Parquet, CSV or Arrow file.

    Labels of a CSV file are the text that is there, or integers where all of them are written as integers are.
    """
    import pyarrow as pa

    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentTypeError(f"path must be a str or a path, not {type(path).__name__}")
    file = Path(os.fsdecode(path))
    try:
        table = _read(file, labels)
        table.validate(full=True)  # what points outside its buffers would kill the process later
        names = table.column_names
    except (ArgumentError, MemoryError):
        raise
    except (OSError, pa.ArrowException, ValueError) as error:
        raise FileError(f"{str(file)!r} cannot be read: {type(error).__name__}") from error
    for column in columns:
        if column not in names:
            raise ArgumentError(f"{str(file)!r} has no column {column!r}; it must have {', '.join(columns)}")
    for column in (*columns, *optional):
        if names.count(column) > 1:
            raise ArgumentError(f"{str(file)!r} has two columns {column!r}; it must have one")
    return table.select([*columns, *(column for column in optional if column in names)])


def _read(file: Path, labels: tuple[str, ...]) -> Any:
    kind = file.suffix.lower()
    if kind == ".parquet":
        import pyarrow.parquet

        return pyarrow.parquet.read_table(file)
    if kind == ".csv":
        import pyarrow as pa
        import pyarrow.csv

        # Left to itself Arrow takes "007" and "7" for one number. An empty label is a missing one, unless it is quoted.
        options = pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(labels, pa.string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        )
        return _with_integers(pyarrow.csv.read_csv(file, convert_options=options), labels)
    if kind in (".arrow", ".feather"):
        import pyarrow.feather

        return pyarrow.feather.read_table(file)
    raise ArgumentError("the file must be a .parquet, .csv, .arrow or .feather one")


def _with_integers(table: Any, labels: tuple[str, ...]) -> Any:
    """The table with integers for labels, if that is what all of them are."""
    places = [table.column_names.index(label) for label in labels if label in table.column_names]
    if all(_are_integers(table.column(place)) for place in places):
        for place in places:
            table = table.set_column(place, table.column_names[place], table.column(place).cast("int64"))
    return table


def _are_integers(column: Any) -> bool:
    """Whether each entry is the text of an integer."""
    import pyarrow.compute as pc

    return column.null_count == 0 and bool(pc.all(pc.match_substring_regex(column, PLAIN_INTEGER), min_count=0).as_py())


def joined(labels: Any, column: Any, what: str) -> Any:
    """A column of vertices of another file, as what the labels of a graph are: integers or text."""
    import pyarrow as pa
    import pyarrow.types as t

    if column.null_count:
        raise ArgumentError(f"{what} must have no nulls")
    if t.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    numbered = isinstance(labels, (range, np.ndarray))
    if numbered and (t.is_string(column.type) or t.is_large_string(column.type)):
        if not _are_integers(column):
            raise ArgumentError(
                f"{what} holds text, and the vertices of the graph are integers: write them as 7, not as 007 or a name"
            )
        column = column.cast("int64")
    elif not numbered and t.is_integer(column.type) and all(isinstance(label, str) for label in labels):
        column = column.cast(pa.string())
    return column.to_numpy() if t.is_integer(column.type) else column.to_pylist()


def read_edges(path: str | os.PathLike[str]) -> tuple[Labels, Ends, Ends, Any, Any]:
    """Labels, ends, epsilons and deltas of a file of edges."""
    import pyarrow.types as t

    table = read_table(path, ["u", "v", "epsilon"], ("delta",), labels=("u", "v"))
    if any(column.null_count for column in table.columns):
        raise ArgumentError("the edges must have no nulls")
    figures = [numbers(table, name) for name in ("epsilon", "delta") if name in table.column_names]
    epsilons, deltas = figures[0], figures[1] if len(figures) > 1 else 0.0
    if t.is_integer(table["u"].type) and t.is_integer(table["v"].type):
        return *from_ends(table["u"].to_numpy(), table["v"].to_numpy(), None, None), epsilons, deltas
    labels, u, v = _coded(table["u"], table["v"])
    return labels, u, v, epsilons, deltas


def numbers(table: Any, name: str) -> NDArray[np.float64]:
    """A column of numbers as doubles."""
    import pyarrow.types as t

    kind = table[name].type
    if not (t.is_integer(kind) or t.is_floating(kind) or t.is_null(kind)):
        raise ArgumentError(f"column {name!r} must hold numbers")
    return np.ascontiguousarray(table[name].to_numpy(), np.float64)


def _coded(u: Any, v: Any) -> tuple[Labels, Ends, Ends]:
    """Both ends as text or other values, with their distinct values as labels in ascending order."""
    import pyarrow as pa
    import pyarrow.types as t

    u, v = (end.cast(end.type.value_type) if t.is_dictionary(end.type) else end for end in (u, v))
    if u.type != v.type:
        raise ArgumentError("columns 'u' and 'v' must be of one type")
    if t.is_floating(u.type):
        raise ArgumentError("columns 'u' and 'v' must not be floats")
    codes = pa.chunked_array([*u.chunks, *v.chunks], type=u.type).combine_chunks().dictionary_encode()
    if isinstance(codes, pa.ChunkedArray):
        codes = codes.combine_chunks()
    values = codes.dictionary.to_pylist()
    order = sorted(range(len(values)), key=values.__getitem__)
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values))
    numbers = rank[codes.indices.to_numpy()].astype(np.int32)
    return Labels([values[place] for place in order]), numbers[: len(u)], numbers[len(u) :]
