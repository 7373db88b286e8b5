"""Sources cut at every byte, and Arrow files with every number of their own changed: an error of constant text and no file."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from faulty import quick_place

from dpfast import ArgumentTypeError, CorruptDataError, Domain, Policy, PolicyError, RandomisedResponse, _parquet, sanitise_file
from dpfast._sources import csv_file, ipc_file, places

TOWNS = ["Bray", "Cork", "Dingle"]
POLICY = Policy({"town": RandomisedResponse(Domain(TOWNS, unknown="randomise"), epsilon=1.0), "n": "public"})
IPC = {ipc_file.CORRUPT}
BROKEN = "an Arrow array is broken: its buffers are too short, or its offsets point outside them"
INDEX = "a dictionary index points outside its dictionary"


@pytest.fixture
def place() -> Iterator[Path]:
    with quick_place() as found:
        yield found


def table(rows: int = 120) -> pa.Table:
    towns = pa.array([TOWNS[row % 3] if row % 7 else None for row in range(rows)])
    return pa.table({"town": towns.dictionary_encode(), "n": pa.array(np.arange(rows) * 7919 % 1000, pa.int32())})


def whole(place: Path, kind: str) -> bytes:
    """A file of two to four thousand bytes."""
    path = place / "whole"
    if kind == "parquet":
        pq.write_table(table(), path, row_group_size=40, compression="none")
    elif kind == "csv.gz":
        rows = "".join(f"{TOWNS[row % 3]},{row * 7919 % 100_003}\n" for row in range(300))
        path.write_bytes(gzip.compress(f"town,n\n{rows}".encode(), mtime=0))
    else:
        with (pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream)(str(path), table().schema) as writer:
            writer.write_table(table(), max_chunksize=40)
    data = path.read_bytes()
    path.unlink()
    assert 1000 < len(data) < 5000
    return data


def outcome(place: Path, kind: str, data: bytes) -> str:
    """The text of the error that a file of these bytes is, or nothing; only what should be there is there."""
    source, target = place / f"s.{kind}", place / "out" / "t.parquet"
    target.parent.mkdir(exist_ok=True)
    source.write_bytes(data)
    try:
        sanitise_file(source, target, POLICY, threads=1)
    except CorruptDataError as error:
        text = str(error)
    else:
        target.unlink()
        text = ""
    assert list(target.parent.iterdir()) == []
    return text


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("parquet", {_parquet.NOT_PARQUET}),
        ("arrow", IPC),
        ("arrows", IPC),
        ("csv.gz", {csv_file.CORRUPT}),
    ],
)
def test_a_file_cut_at_any_byte(place: Path, kind: str, texts: set[str]) -> None:
    data = whole(place, kind)
    assert outcome(place, kind, data) == ""
    assert {outcome(place, kind, data[:size]) for size in range(len(data))} == texts


@pytest.mark.parametrize("kind", ["arrow", "arrows"])
def test_lengths_and_places_that_an_arrow_file_lies_about(place: Path, kind: str) -> None:
    """Each word of eight bytes in turn, among them lengths of buffers and bitmaps, offsets, numbers of rows and nulls."""
    data = whole(place, kind)
    texts: dict[str, int] = {}
    for at in range(0, len(data) - 8, 8):
        for number in (1, -1, 1 << 31):
            changed = bytearray(data)
            changed[at : at + 8] = number.to_bytes(8, "little", signed=True)
            text = attempt(place, kind, bytes(changed))
            texts[text] = texts.get(text, 0) + 1
    assert set(texts) <= {"", "schema", *IPC, INDEX, BROKEN}
    assert texts[ipc_file.CORRUPT] > 50


def attempt(place: Path, kind: str, data: bytes) -> str:
    """As `outcome`; what is said of another schema names columns and types."""
    try:
        return outcome(place, kind, data)
    except (ArgumentTypeError, PolicyError):
        return "schema"


@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrows"])
def test_names_that_are_no_text(place: Path, kind: str) -> None:
    data = whole(place, kind)
    assert b"town" in data
    assert outcome(place, kind, data.replace(b"town", b"t\xffwn")) in {_parquet.NOT_PARQUET, *IPC}


@pytest.mark.parametrize("kind", ["arrow", "arrows"])
def test_a_size_that_no_machine_has_is_not_quoted(place: Path, kind: str) -> None:
    """The length of a message's body, which the reader makes room for before it looks."""
    data, texts = whole(place, kind), set()
    for at in range(0, len(data) - 8, 8):
        if data[at : at + 8] == b"\0" * 8:
            continue
        with contextlib.suppress(ArgumentTypeError, PolicyError):
            try:
                outcome(place, kind, data[:at] + (1 << 57).to_bytes(8, "little") + data[at + 8 :])
            except MemoryError as error:
                texts.add(str(error))
    assert texts <= {places.NO_ROOM}
    assert texts or kind == "arrow"


def test_a_job_that_says_where_a_file_ends_is_noticed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: an error that tells the size of the file."""
    opened: Any = _parquet.ParquetSource.__init__

    def telling(self: Any, path: Any, only: Any = None) -> None:
        try:
            opened(self, path, only)
        except CorruptDataError as error:
            raise CorruptDataError(f"{error} after {path.local.stat().st_size} bytes") from None

    monkeypatch.setattr(_parquet.ParquetSource, "__init__", telling)
    data = whole(place, "parquet")
    assert len({outcome(place, "parquet", data[:size]) for size in (10, 20, 30)}) == 3
