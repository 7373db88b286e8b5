"""Folders on a file system that is not this machine's: what says that they are complete, and what is done after a stop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from dpfast import FileError, Ledger, LedgerError, Policy, Privacy, RandomisedResponse, sanitise_file

TOWNS = ["Bray", "Cork", "Dingle", "Ennis"]
NAMES = ("a.parquet", "deep/b.parquet", "z.parquet")
POLICY = Policy({"town": RandomisedResponse(TOWNS, epsilon=1.0)})


class Stop(Exception):
    """Ends a job from its progress call."""


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pafs.FileSystem:
    """A store whose objects lie in a folder of this machine, which nothing here is told."""
    monkeypatch.chdir(tmp_path)
    Path("store").mkdir()
    for name in NAMES:
        path = Path("source", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"town": TOWNS * 30}), path)
    return pafs.SubTreeFileSystem(str(tmp_path / "store"), pafs.LocalFileSystem())


@pytest.fixture
def keyed(key: bytes) -> dict[str, Any]:
    return {"key": key, "context": "c"}


def listed(place: str = "store/out") -> list[str]:
    return sorted(path.relative_to(place).as_posix() for path in Path(place).rglob("*") if path.is_file())


def values(place: str = "store/out") -> list[list[str]]:
    return [pq.ParquetFile(Path(place, name)).read()["town"].to_pylist() for name in NAMES]


def stopped(store: pafs.FileSystem, **options: Any) -> None:
    def stop(done: int, total: int | None) -> None:
        if done > 120:
            raise Stop

    with pytest.raises(Stop):
        sanitise_file("source", (store, "out"), POLICY, **options, progress=stop)
    assert "_SUCCESS" not in listed()
    assert "a.parquet" in listed()
    assert "z.parquet" not in listed()


def test_values_are_those_of_a_local_folder_and_a_last_object_says_that_all_is_there(
    store: pafs.FileSystem, keyed: dict[str, Any]
) -> None:
    report = sanitise_file("source", (store, "out"), POLICY, **keyed)
    sanitise_file("source", "local", POLICY, **keyed)
    assert listed() == sorted([*NAMES, "_SUCCESS", "_dpfast.json"])
    assert values() == values("local")
    assert Path("store/out/_dpfast.json").read_bytes() == Path("local/_dpfast.json").read_bytes()
    assert (report.rows, report.files) == (360, 3)
    before = {path: path.stat().st_mtime_ns for path in Path("store").rglob("*")}
    assert sanitise_file("source", (store, "out"), POLICY, **keyed).digest == report.digest
    assert {path: path.stat().st_mtime_ns for path in Path("store").rglob("*")} == before
    for other in ({**keyed, "context": "d"}, {}):
        with pytest.raises(FileError, match="exists"):
            sanitise_file("source", (store, "out"), POLICY, **other)


def test_a_stopped_job_goes_on_with_what_is_not_there(store: pafs.FileSystem, keyed: dict[str, Any]) -> None:
    stopped(store, **keyed)
    written = Path("store/out/a.parquet").stat().st_mtime_ns
    for other in ({**keyed, "context": "d"}, {}, {**keyed, "resume": False}):
        with pytest.raises(FileError, match="unfinished work"):
            sanitise_file("source", (store, "out"), POLICY, **other)
    Path("store/out/deep/b.parquet").write_bytes(b"of somebody else")
    sanitise_file("source", (store, "out"), POLICY, **keyed)
    sanitise_file("source", "local", POLICY, **keyed)
    assert values() == values("local")
    assert Path("store/out/a.parquet").stat().st_mtime_ns == written


def test_parts_of_fresh_noise_are_never_drawn_twice_unless_told(store: pafs.FileSystem) -> None:
    stopped(store)
    with pytest.raises(FileError, match="unfinished work"):
        sanitise_file("source", (store, "out"), POLICY)
    assert sanitise_file("source", (store, "out"), POLICY, overwrite=True).rows == 360


def test_overwriting_takes_the_old_objects_away_and_only_ours(store: pafs.FileSystem, keyed: dict[str, Any]) -> None:
    sanitise_file("source", (store, "out"), POLICY, **keyed)
    Path("store/out/old.parquet").write_bytes(b"x")
    ledger = Ledger("l", Privacy(0.5))
    with pytest.raises(LedgerError):
        sanitise_file("source", (store, "out"), POLICY, overwrite=True, ledger=ledger)
    assert "old.parquet" in listed()
    sanitise_file("source", (store, "out"), POLICY, key=keyed["key"], context="d", overwrite=True)
    assert listed() == sorted([*NAMES, "_SUCCESS", "_dpfast.json"])
    Path("store/mine").mkdir()
    Path("store/mine/letter").write_text("dear")
    Path("store/file").write_text("dear")
    for target, text in (("mine", "did not make"), ("file", "is a file")):
        with pytest.raises(FileError, match=text):
            sanitise_file("source", (store, target), POLICY, overwrite=True)
    assert listed("store/mine") == ["letter"]


def test_the_source_is_never_in_the_target(store: pafs.FileSystem, keyed: dict[str, Any]) -> None:
    sanitise_file("source", (store, "a/b"), POLICY, **keyed)
    for target in ("a", "a/b", "a/b/c", "/a/b/"):
        with pytest.raises(FileError, match="lies in the source"):
            sanitise_file((store, "a/b"), (store, target), POLICY, overwrite=True)


def test_csv_has_its_certificate_beside_it(store: pafs.FileSystem, keyed: dict[str, Any]) -> None:
    Path("texts").mkdir()
    pa.csv.write_csv(pa.table({"town": TOWNS}), "texts/1.csv")
    report = sanitise_file("texts", (store, "out"), POLICY, **keyed)
    assert listed() == ["1.csv", "1.csv.dpfast.json", "_SUCCESS", "_dpfast.json"]
    assert json.loads(Path("store/out/1.csv.dpfast.json").read_text()) == report.certificate
