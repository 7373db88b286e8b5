"""Where text ends: a quote that is never closed would publish the true values of the rows behind it."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pytest

import dpfast._sources.csv_file
from dpfast import CorruptDataError, Domain, FileError, Policy, RandomisedResponse, sanitise_file
from dpfast.etl.sources import open_source

POLICY = Policy({"s": RandomisedResponse(["no", "yes"], epsilon=1.0)}, unlisted="public")
DROPPING = Policy({"s": RandomisedResponse(Domain(["no", "yes", None]), epsilon=1.0)}, unlisted="drop")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


OPEN = [
    's,n\nno,"a\nyes,b\nyes,c\n',
    's,n\nno,"a\nyes,b',
    's,n\nno,a\nyes,"',
    's,n\nno,5" disc\nyes,"a\nno,b\n',  # as many quotes as where all are closed
    's,n\nno,"a""\nyes,b\n',
    'n,s\na,no\n"b,yes\nc,no\n',
    's,n\r\nno,"a\r\nyes,b\r\n',
]


@pytest.mark.parametrize("text", OPEN)
@pytest.mark.parametrize("policy", [POLICY, DROPPING], ids=["public", "dropped"])
def test_a_quote_that_is_never_closed_is_refused(text: str, policy: Policy) -> None:
    Path("x.csv").write_bytes(text.encode())
    Path("x.csv.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("x.csv", "x.csv.gz"):
        with pytest.raises(CorruptDataError, match="each quote be closed"):
            sanitise_file(name, "out.csv", policy)
    assert sorted(os.listdir()) == ["x.csv", "x.csv.gz"]


def test_a_row_that_ends_in_an_open_quote_of_a_dropped_column_is_not_lost() -> None:
    Path("x.csv").write_text('s,n\nno,a\n,"b\n')
    with pytest.raises(CorruptDataError):
        sanitise_file("x.csv", "out.csv", DROPPING)


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\r", "\n\n\n"])
@pytest.mark.parametrize("block", [16, 40, 64, 1 << 20])
@pytest.mark.parametrize("coded", [False, True])
def test_every_row_and_no_other_is_read(monkeypatch: pytest.MonkeyPatch, end: str, block: int, coded: bool) -> None:
    monkeypatch.setattr(dpfast._sources.csv_file, "BLOCK_BYTES", block)
    for last in ("yes,z", 'yes,"z"', "yes,", 'yes,""', ","):
        Path("x.csv").write_bytes(("s,n\n" + "no,a\n" * 9 + last + end).encode())
        names = ["s"] if coded else ["s", "n"]
        batches = list(open_source("x.csv").batches(names, dictionaries=names if coded else []))
        found = [row for batch in batches for row in batch.to_pylist()]
        values = [None if text == "" else text.strip('"') for text in last.split(",")]
        assert found == [dict(zip(names, row, strict=False)) for row in [("no", "a")] * 9 + [values]]
        for batch in batches:
            for column in batch.columns:
                if isinstance(column, pa.DictionaryArray):
                    assert set(column.dictionary.to_pylist()) <= {"no", "yes"}


def test_one_column_of_empty_lines() -> None:
    for text, rows in [("s\n\n\n", 2), ("s\nno\n\n", 2), ("s\nno\n\nyes", 3), ("s\r\n\r\n", 1), ("s\n", 0), ("s", 0)]:
        Path("x.csv").write_bytes(text.encode())
        assert sanitise_file("x.csv", "out.csv", DROPPING, overwrite=True).rows == rows


@pytest.mark.parametrize("change", ["removed", "added"])
def test_a_finished_folder_that_was_changed_is_not_called_finished(key: bytes, change: str) -> None:
    Path("raw").mkdir()
    for name in ("a", "b"):
        Path(f"raw/{name}.csv").write_text("s,n\nno,1\n")
    report = sanitise_file("raw", "out", POLICY, key=key, context="c")
    assert sanitise_file("raw", "out", POLICY, key=key, context="c").digest == report.digest
    if change == "removed":
        os.unlink("out/a.csv")
    else:
        Path("out/c.csv").write_text("s,n\nyes,1\n")
    with pytest.raises(FileError, match="added or removed"):
        sanitise_file("raw", "out", POLICY, key=key, context="c")
    assert sanitise_file("raw", "out", POLICY, key=key, context="c", overwrite=True).files == 2
