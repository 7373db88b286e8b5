"""Scenarios of file jobs and of the verbs of the command that read private files.

A source stands outside the folder where the command runs and where all that it leaves is looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import calls_numbers
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from calls_columns import HIDING, POLICY, REFUSING, arrow
from families import CANARY, FAMILIES, FEW, LABELS, NUMBER, Family, Scenario
from observing import Exit

from dpfast import sanitise_file
from dpfast.cli import main
from dpfast.etl.sources import open_source

__all__ = ["CALLS"]

SOURCE = Path("..") / "in"
KINDS = ("parquet", "csv", "arrow")


def stored(table: pa.Table, kind: str) -> Path:
    """The source as a file of this kind; in text and by its name nothing is hidden."""
    SOURCE.mkdir(exist_ok=True)
    path = SOURCE / f"source.{kind}"
    if kind == "parquet":
        pq.write_table(table, path, compression="none")
    elif kind == "arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    else:
        texts = [
            column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column for column in table.columns
        ]
        pa.csv.write_csv(pa.table(texts, table.column_names), path)
    return path


def files(make: Callable[[Any], pa.Table]) -> dict[str, Callable[[Any], Path]]:
    return {kind: (lambda raw, kind=kind: stored(make(raw), kind)) for kind in KINDS}


def hidden(
    tables: dict[str, Callable[[], pa.Table]], kinds: tuple[str, ...] = ("parquet", "arrow")
) -> dict[str, Callable[[], Path]]:
    return {
        f"{name}, {kind}": (lambda make=make, kind=kind: stored(make(), kind)) for name, make in tables.items() for kind in kinds
    }


ARROW = {name: make for name, make in HIDING.items() if isinstance(make(), pa.Table)}
# The empty text is null in a CSV file, so that "empty text" is one more pair of nulls there.
FAMILIES["files"] = Family(LABELS, files(arrow), hidden(ARROW))
FAMILIES["files, one refused"] = Family(
    FAMILIES["labels, one refused"].pairs,
    files(arrow),
    hidden({name: make for name, make in ARROW.items() if name.startswith("stranger")}, KINDS),
)


def numbers(raw: list[Any]) -> pa.Table:
    n = len(raw)
    column = pa.array(raw, pa.float64(), from_pandas=True)
    return pa.table({"x": column, "by": pa.array(np.arange(n) % 2), "name": pa.array([CANARY] * n, pa.string())})


FAMILIES["files of numbers"] = Family(
    {name: pair for name, pair in FAMILIES["numbers"].pairs.items() if name != "large"},
    files(numbers),
    hidden({"outside": lambda: numbers([NUMBER, *FEW]), "beside": lambda: numbers(FEW)}, KINDS),
)


def edges(raw: list[Any]) -> pa.Table:
    return pa.table({name: pa.array([edge[end] for edge in raw], pa.int64()) for end, name in enumerate(("a", "b"))})


FAMILIES["files to compare"] = replace(FAMILIES["files of numbers"], pairs=calls_numbers.PRESENT)
FAMILIES["files of edges"] = Family(
    {
        **{name: pair for name, pair in FAMILIES["edges"].pairs.items()},
        "a missing end": ([(None, 1)], [(1, 2), (3, None)]),
    },
    files(edges),
    hidden({"refused": lambda: edges([(1, 271828)])}, KINDS),
)

QUICK = ["--column", "town=Bray,Cork,Dingle", "--epsilon", "1", "--public", "id", "--public", "age", "--drop", "name"]


def command(*words: str) -> Callable[[Path], Exit]:
    """A run of the command; SOURCE stands for the file."""
    return lambda path: Exit(main([str(path) if word == "SOURCE" else word for word in words]))


def on_numbers(verb: str, *more: str) -> list[Scenario]:
    words = (verb, "SOURCE", "--column", "x", "--bounds=0,100", "--step", "0.5", "--epsilon", "1", *more)
    by = ("--by", "by", "--keys", "0", "1", "2")
    return [
        Scenario(command(*words, "--insecure-seed", "1", *rest), "files of numbers") for rest in ((), (*by, "--json", "--debug"))
    ]


CALLS: dict[str, list[Scenario]] = {
    "etl.sources.open_source": [Scenario(open_source, "files", "private"), Scenario(open_source, "files of numbers", "private")],
    "etl.sanitise_file": [
        *(
            Scenario(lambda path, name=name, options=options: sanitise_file(path, name, POLICY, **options), "files")
            for name, options in (
                ("t.parquet", {}),
                ("t.csv", {"key": bytes(32), "context": "c"}),
                ("t.arrow", {"key": bytes(32), "context": "c", "ids": "id"}),
            )
        ),
        Scenario(lambda path: sanitise_file(path, "t.parquet", REFUSING), "files, one refused"),
        Scenario(lambda path: sanitise_file(path.parent, "t", REFUSING), "files, one refused"),
    ],
    "dpfast sanitise": [
        Scenario(command("sanitise", "SOURCE", "t.parquet", *QUICK, *more), "files, one refused")
        for more in ((), ("--json", "--debug"))
    ],
    "dpfast check": [
        Scenario(command("check", "SOURCE", *QUICK), "files, one refused", "operator"),
        Scenario(command("check", "SOURCE", *QUICK, "--json"), "files, one refused"),
    ],
    "dpfast domain": [Scenario(command("domain", "SOURCE", "--column", "town"), "files", "operator")],
    "dpfast quantile": on_numbers("quantile", "--q", "0.9"),
    "dpfast mean": on_numbers("mean"),
    "dpfast mode": [
        Scenario(
            command(*"mode SOURCE --column town --domain Bray Cork Dingle --epsilon 1".split(), *more),
            "files",
        )
        for more in ((), ("--by", "age", "--keys", "0", "1", "2", "--json"))
    ],
    "dpfast triangles": [
        Scenario(command("triangles", "SOURCE", "--columns", "a,b", "--vertices", "6", "--epsilon", "1", *more), "files of edges")
        for more in ((), ("--json", "--method", "smooth_cauchy"))
    ],
    "dpfast compare": [
        Scenario(
            command(*"compare SOURCE --column x --bounds=0,100 --epsilons 1 --trials 3 --mechanisms duff --no-progress".split()),
            "files to compare",
            "operator",
        )
    ],
}  # fmt: skip
