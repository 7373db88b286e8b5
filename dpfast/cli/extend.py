"""``dpfast extend``: the best private mechanism on a graph of datasets, from files to a file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dpfast.cli._output import add_json, print_json, print_table, printable
from dpfast.errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpfast.graph import DatasetGraph

__all__ = ["add_verbs"]

EXAMPLE = """example:
  dpfast extend edges.parquet --query query.csv --fixed boundary.csv --out probabilities.parquet

EDGES has the columns u, v, epsilon and, if wanted, delta; --query vertex and answer (1 or 2, every vertex); --fixed vertex and
probability (of answer 1), for the boundary or a hitting set of it. Without --fixed the boundary gets the values that are best at
the worst vertex. The target holds vertex, answer, probability (of answer 1) and complement (of answer 2), each at its own
precision. In a CSV file 007 and 7 are two vertices. All of these are public: the graph says what is protected, not what the data
are."""


def add_verbs(verbs: Any) -> None:
    """Add the verb to the command."""
    verb = verbs.add_parser("extend", help="extend a mechanism from the boundary to a graph of datasets", epilog=EXAMPLE)
    verb.add_argument("edges", metavar="EDGES", help="the graph: a .parquet, .csv or .arrow file")
    verb.add_argument("--query", metavar="FILE", required=True, help="the right answer at every vertex")
    verb.add_argument("--fixed", metavar="FILE", help="probabilities on the boundary (default: best at the worst vertex)")
    verb.add_argument("--out", metavar="TARGET", required=True, help="a .parquet or .csv file to write")
    verb.add_argument("--overwrite", action="store_true", help="replace an existing target")
    add_json(verb)
    verb.set_defaults(run=_extend)


def _extend(options: argparse.Namespace) -> int:
    from dpfast import graph

    kind = options.out.lower().rpartition(".")[2]
    if kind not in ("parquet", "csv"):
        raise ArgumentError("--out must end in .parquet or .csv")
    g = graph.DatasetGraph.from_file(options.edges)
    answers = _column(g, options.query, "answer")
    fixed = graph.optimal_boundary(g, answers) if options.fixed is None else _column(g, options.fixed, "probability")
    found = graph.extend(g, answers, fixed)
    _write(
        options, kind, {"vertex": g.labels, "answer": answers, "probability": found.probability, "complement": found.complement}
    )
    adjusted = [printable(label) for label in found.adjusted]
    if options.json:
        print_json({"vertices": g.n_vertices, "arcs": g.n_arcs, "adjusted": adjusted, "least_right": _least(found, answers)})
        return 0
    figures = [
        ("vertices", str(g.n_vertices)),
        ("edges", str(g.n_arcs // 2)),
        ("least probability of the right answer", repr(_least(found, answers))),
        ("fixed values moved by rounding", str(len(adjusted))),
    ]
    print_table(["extension", "value"], figures)
    return 0


def _least(found: Any, answers: NDArray[np.integer[Any]]) -> float:
    import numpy as np

    return float(np.where(answers == 1, found.probability, found.complement).min(initial=1.0))


def _column(g: DatasetGraph, path: str, name: str) -> Any:
    """A column over vertices, in the order of the graph; of a fixed one NaN where the file has no vertex."""
    import numpy as np

    from dpfast.graph._sources import joined, numbers, read_table

    table = read_table(path, ["vertex", name], labels=("vertex",))
    what = f"column 'vertex' of {path!r}"
    vertices = g._names.vertices(joined(g.labels, table["vertex"], what), what)
    values = numbers(table, name)
    if np.unique(vertices).size != vertices.size:
        raise ArgumentError(f"{path!r} names a vertex twice")
    found = np.full(g.n_vertices, np.nan)
    found[vertices] = values
    if name == "probability":
        return found
    if not np.isin(found, (1, 2)).all():
        raise ArgumentError(f"{path!r} must give the answer 1 or 2 for every vertex of the graph")
    return found.astype(np.uint8)


def _write(options: argparse.Namespace, kind: str, columns: dict[str, Any]) -> None:
    from pathlib import Path

    import numpy as np
    import pyarrow as pa

    from dpfast.etl.jobs import AtomicFile

    labels = columns["vertex"]
    columns["vertex"] = np.arange(labels.stop) if isinstance(labels, range) else labels
    table = pa.table(columns)
    sources = [Path(path) for path in (options.edges, options.query, options.fixed) if path is not None]
    target = AtomicFile(options.out, sources=sources, overwrite=options.overwrite)
    with target as file:
        if kind == "parquet":
            import pyarrow.parquet as parquet

            parquet.write_table(table, file)
        else:
            import pyarrow.csv as csv

            csv.write_csv(table, file)
        target.commit()
