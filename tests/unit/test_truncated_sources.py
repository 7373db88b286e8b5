"""Sources cut at every byte, and Arrow files with every number of their own changed: an error of constant text and no file."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from faulty import quick_place
from soak import record

from dpfast import ArgumentTypeError, CorruptDataError, Domain, Policy, PolicyError, RandomisedResponse, _parquet, sanitise_file
from dpfast._sources import csv_file, ipc_file, places

KINDS = ("parquet", "arrow", "arrows", "csv.gz")
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
    """The text of the error that a file of these bytes is, or nothing; no file is left. Of another schema names are told."""
    source, target = place / f"s.{kind}", place / "out" / "t.parquet"
    target.parent.mkdir(exist_ok=True)
    source.write_bytes(data)
    try:
        sanitise_file(source, target, POLICY, threads=1)
    except (CorruptDataError, MemoryError) as error:
        text = str(error).removeprefix(f"the source {str(source)!r} ")
    except (ArgumentTypeError, PolicyError):
        text = "schema"
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
    data, texts = whole(place, kind), set()
    for at in range(0, len(data) - 8, 8):
        for number in (-1, 1 << 57):
            texts.add(outcome(place, kind, data[:at] + number.to_bytes(8, "little", signed=True) + data[at + 8 :]))
    assert texts <= {"", "schema", *IPC, INDEX, BROKEN, places.NO_ROOM}
    # a reader makes room for the body of a message before it looks
    assert places.NO_ROOM in texts or kind == "arrow"


def flipped(place: Path, kind: str, step: int) -> int:
    """Flip every `step`-th bit of a file, one at a time: an error of constant text, or values; how many were tried."""
    data, texts, tried = whole(place, kind), set(), 0
    for bit in range(0, 8 * len(data), step):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        texts.add(outcome(place, kind, bytes(changed)))
        tried += 1
    assert texts <= {"", "schema", _parquet.NOT_PARQUET, _parquet.CORRUPT, csv_file.CORRUPT, *IPC, INDEX, BROKEN, places.NO_ROOM}
    return tried


@pytest.mark.parametrize("kind", KINDS)
def test_some_bits_flipped(place: Path, kind: str) -> None:
    assert flipped(place, kind, 97) > 80


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_bit_flipped(place: Path, kind: str) -> None:
    begin = time.monotonic()
    tried = flipped(place, kind, 1)
    record(f"bits of {kind}", cases=tried, failures=0, seconds=round(time.monotonic() - begin))


@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrows"])
def test_names_that_are_no_text(place: Path, kind: str) -> None:
    data = whole(place, kind)
    assert b"town" in data
    assert outcome(place, kind, data.replace(b"town", b"t\xffwn")) in {_parquet.NOT_PARQUET, *IPC}


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
