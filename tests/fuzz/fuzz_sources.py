"""Sources of file jobs: any bytes are a table that is sanitised whole, or an error of constant text that leaves no file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from faulty import quick_place

from dpfast import (
    ArgumentTypeError,
    CorruptDataError,
    Domain,
    Policy,
    PolicyError,
    RandomisedResponse,
    _parquet,
    sanitise_file,
    verify,
)
from dpfast._sources import csv_file, ipc_file, places

__all__ = ["one"]

TOWNS = ["Bray", "Cork"]
MECHANISM = RandomisedResponse(Domain(TOWNS, unknown="randomise"), epsilon=1.0)
POLICY = Policy({"x": MECHANISM}, unlisted="public")
KINDS = ("parquet", "csv", "arrow", "arrows", "csv.gz")
TARGETS = ("parquet", "csv", "arrow")
# All that is said of a source that is broken, behind its name; a text of any other kind might quote it.
CONSTANT = {
    _parquet.NOT_PARQUET,
    _parquet.CORRUPT,
    ipc_file.CORRUPT,
    csv_file.CORRUPT,
    places.NO_ROOM,
    "a dictionary index points outside its dictionary",
    "an Arrow array is broken: its buffers are too short, or its offsets point outside them",
}


def one(data: bytes) -> None:
    """Sanitise a file of these bytes."""
    kind, target = (options[byte % len(options)] for options, byte in zip((KINDS, TARGETS), data.ljust(2, b"\0"), strict=False))
    with quick_place() as place:
        source = place / f"s.{kind}"
        source.write_bytes(data[2:])
        (place / "out").mkdir()
        out = place / "out" / f"t.{target}"
        try:
            report = sanitise_file(source, out, POLICY, threads=1, progress=False)
        except (CorruptDataError, MemoryError, PolicyError, ArgumentTypeError) as error:
            text = str(error).removeprefix(f"the source {str(source)!r} ")
            is_constant = isinstance(error, (PolicyError, ArgumentTypeError)) or text in CONSTANT  # those tell the schema
        else:
            check(out, report)
            return
        assert is_constant, text
        assert list(out.parent.iterdir()) == []
        assert source.read_bytes() == data[2:]


def check(out: Path, report: Any) -> None:
    """The target is whole, holds the declared values only, and its certificate proves what it says."""
    assert {path.name for path in out.parent.iterdir()} <= {out.name, f"{out.name}.dpfast.json"}
    assert verify(report.certificate).epsilon <= 1.0
    if out.suffix == ".csv":
        return
    if out.suffix == ".parquet":
        table = pq.ParquetFile(out).read()
    else:
        with pa.ipc.open_file(str(out)) as file:
            table = file.read_all()
    assert table.num_rows == report.rows
    table.validate(full=True)
    assert set(table["x"].to_pylist()) <= set(TOWNS)
