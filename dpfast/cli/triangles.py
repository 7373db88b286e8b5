"""``dpfast triangles``: the number of triangles of a graph whose edges are private."""

from __future__ import annotations

import argparse
from typing import Any

from dpfast.cli._output import add_json, print_json
from dpfast.cli._rows import columns_of, integers_of
from dpfast.cli.quantile import FILE, stream_of
from dpfast.cli.sanitise import add_noise, key_option, ledger_option
from dpfast.errors import ArgumentError

__all__ = ["add_verbs"]

EXAMPLE = """example:
  dpfast triangles friends.parquet --columns user,friend --vertices 1000000 --epsilon 1

The vertices are public and numbered from 0; that an edge is there is private. Edges given twice, in either direction, count once,
and edges from a vertex to itself not at all. What is printed may be published; running the command again without a key spends
epsilon again."""


def add_verbs(verbs: Any) -> None:
    """Add the verb to the command."""
    verb = verbs.add_parser("triangles", help="the number of triangles of a graph, each edge private", epilog=EXAMPLE)
    verb.add_argument("file", metavar="FILE", help=f"edges: {FILE}")
    verb.add_argument("--columns", metavar="A,B", required=True, help="the two integer columns of the ends of an edge")
    verb.add_argument("--vertices", type=int, metavar="N", required=True, help="public number of vertices")
    verb.add_argument("--epsilon", type=float, required=True, metavar="E", help="what the answer spends, for each edge")
    verb.add_argument("--method", choices=("ladder", "smooth_cauchy"), default="ladder", help="default: ladder")
    add_noise(verb)
    verb.add_argument("--ledger", metavar="FILE", help="charge this ledger first, which refuses what exceeds its cap")
    add_json(verb)
    verb.set_defaults(run=_triangles, verb=verb, ids=None)


def _triangles(options: argparse.Namespace) -> int:
    from dpfast._sources.source import open_source
    from dpfast.duff.triangles import count_triangles

    key = key_option(options)
    names = options.columns.split(",")
    if len(names) != 2 or names[0] == names[1]:
        options.verb.error("--columns takes the names of two columns, with a comma between them")
    file = open_source(options.file)
    columns = {name: integers_of(column) for name, column in columns_of(file, names).items()}
    if any(column.null_count for column in columns.values()):
        raise ArgumentError("an edge lacks one of its ends, or has one that is no integer; leave such rows out")
    found = count_triangles(
        (columns[names[0]].to_numpy(), columns[names[1]].to_numpy()),
        n_vertices=options.vertices,
        epsilon=options.epsilon,
        method=options.method,
        column_name=(names[0], names[1]),
        rng=stream_of(options, key, file),
        ledger=ledger_option(options.ledger),
    )
    if options.json:
        print_json(
            {
                "columns": names,
                "vertices": options.vertices,
                "method": options.method,
                "epsilon": options.epsilon,
                "neighbours": "edge",
                "answer": found,
            }
        )
    else:
        print(found)
    return 0
