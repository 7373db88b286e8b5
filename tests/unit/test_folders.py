"""Folders into folders: the values of each file, what else is published, and which targets are let alone."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from folder_cases import POLICY, ROWS, TOWNS, listed, read, sanitised, table, values, write_source

from dpfast import (
    FileError,
    Ledger,
    Policy,
    PolicyError,
    Privacy,
    RandomisedResponse,
    Stratified,
    Stream,
    _parquet,
    verify,
)
from dpfast.etl import _publish
from dpfast.etl.jobs import source_digest


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_source()
    return tmp_path


@pytest.fixture
def keyed(key: bytes) -> dict[str, Any]:
    return {"key": key, "context": "c"}


# values


def test_each_file_has_noise_of_its_own_addressed_by_name_and_row(keyed: dict[str, Any]) -> None:
    sanitised(**keyed)
    digest = source_digest([(name, Path("source", name)) for name in ROWS])
    for name in ROWS:
        stream = Stream(**keyed).bind_source(digest + name.encode())
        expected = POLICY.sanitise(pq.read_table(Path("source", name)), rng=stream)
        assert pq.read_table(Path("out", name)).to_pydict() == expected.to_pydict()
    pq.write_table(table(300), "source/b.parquet")  # the same table under another name
    sanitised("again", **keyed)
    assert read("again/a.parquet") != read("again/b.parquet")


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_values_do_not_depend_on_threads_or_batches(keyed: dict[str, Any], threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sanitised(**keyed)
    for rows in (1, 7, 8192):
        monkeypatch.setattr(_parquet, "BATCH_ROWS", rows)
        sanitised(f"{rows}", **keyed, threads=threads)
        assert values(f"{rows}") == values()


def test_one_file_holds_the_rows_of_all_in_the_order_of_their_names(keyed: dict[str, Any]) -> None:
    sanitised(**keyed)
    report = sanitised("all.parquet", **keyed)
    assert (report.rows, report.files) == (470, 1)
    assert read("all.parquet") == [value for name in sorted(ROWS) for value in values()[name]]
    # a folder may be called like a file
    assert sanitised("all2.parquet/", **keyed).files == 3


def test_ids_make_noise_follow_the_row_whatever_file_it_is_in(keyed: dict[str, Any]) -> None:
    sanitised(**keyed, ids="id")
    whole = pa.concat_tables([pq.read_table(Path("source", name)) for name in ROWS]).take(
        np.random.default_rng(1).permutation(470)
    )
    Path("other").mkdir()
    for number in range(5):
        pq.write_table(whole.slice(100 * number, 100), f"other/{number}.parquet")
    sanitised("again", "other", **keyed, ids="id")
    first, second = (
        {row["id"]: row["town"] for path in Path(target).rglob("*.parquet") for row in pq.ParquetFile(path).read().to_pylist()}
        for target in ("out", "again")
    )
    assert first == second
    assert len(first) == 470


def test_fresh_noise_is_new_each_time() -> None:
    sanitised()
    sanitised("again")
    assert values() != values("again")


# what is published


def test_what_a_target_holds(keyed: dict[str, Any]) -> None:
    keyed["key"] = bytes(reversed(range(32)))  # not what a column of small integers spells
    before = os.umask(0o027)
    try:
        report = sanitised(**keyed)
    finally:
        os.umask(before)
    assert listed("out") == sorted([*ROWS, "_dpfast.json"])
    assert sorted(os.listdir()) == ["out", "source"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in [Path("out"), *Path("out").rglob("*")] if path.is_dir()} == {0o750}
    assert {stat.S_IMODE(path.stat().st_mode) for path in Path("out").rglob("*") if path.is_file()} == {0o640}
    summary = json.loads(Path("out/_dpfast.json").read_text())
    assert (
        (summary["rows"], summary["files"], summary["digest"])
        == (report.rows, report.files, report.digest)
        == (
            470,
            3,
            report.digest,
        )
    )
    assert summary["certificate"] == report.certificate == json.loads(pq.read_metadata("out/a.parquet").metadata[b"dpfast"])
    assert verify(report.certificate) == report.privacy
    document = json.loads(report.to_json())
    assert set(document) == {"rows", "files", "privacy", "certificate", "digest"}
    # nothing that the source is recognised by, and no secret
    digest = source_digest([(name, Path("source", name)) for name in ROWS])
    for path in Path("out").rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        for secret in (digest, keyed["key"]):
            assert secret not in data
            assert secret.hex().encode() not in data


def test_csv_files_have_their_certificate_beside_them(keyed: dict[str, Any]) -> None:
    Path("texts").mkdir()
    for name in ("1.csv", "2.csv"):
        pa.csv.write_csv(table(50), f"texts/{name}")
    report = sanitised("out", "texts", **keyed)
    assert listed("out") == ["1.csv", "1.csv.dpfast.json", "2.csv", "2.csv.dpfast.json", "_dpfast.json"]
    assert json.loads(Path("out/1.csv.dpfast.json").read_text()) == report.certificate
    assert sanitised("out", "texts", **keyed).digest == report.digest


def test_partitions_stay_in_the_names_of_folders_and_must_be_public(keyed: dict[str, Any]) -> None:
    towns = RandomisedResponse(TOWNS, epsilon=1.0)
    for day in (1, 2):
        Path(f"days/day={day}").mkdir(parents=True)
        pq.write_table(table(40, 100 * day), f"days/day={day}/x.parquet")
    by_day = Stratified("day", {1: towns, 2: RandomisedResponse(TOWNS, epsilon=200.0)})
    policy = Policy({"town": by_day, "id": "public", "day": "public"})
    report = sanitised("out", "days", policy, **keyed)
    assert listed("out") == ["_dpfast.json", "day=1/x.parquet", "day=2/x.parquet"]
    assert report.certificate["public"] == ["day", "id"]
    for day in (1, 2):
        out = pq.ParquetFile(f"out/day={day}/x.parquet").read()
        assert out.column_names == ["id", "town"]
        source = pq.ParquetFile(f"days/day={day}/x.parquet").read()
        assert (out["town"].to_pylist() == source["town"].to_pylist()) == (day == 2)
    assert pq.read_table("out")["day"].to_pylist() == [1] * 40 + [2] * 40
    rules: dict[str, Any] = {"town": towns, "id": "public"}
    for rule, word in ((RandomisedResponse([1, 2], epsilon=1.0), "sanitises"), ("drop", "drops")):
        with pytest.raises(PolicyError, match=f"the policy {word} column 'day', which the names of the folders spell"):
            sanitised("other", "days", Policy({**rules, "day": rule}))
    assert sanitised("all.parquet", "days", Policy({**rules, "day": RandomisedResponse([1, 2], epsilon=1.0)})).rows == 80
    assert not Path("other").exists()


# targets that exist


def test_a_finished_job_returns_its_report_and_draws_nothing(keyed: dict[str, Any]) -> None:
    first = sanitised(**keyed, ledger=Ledger("l", Privacy(1.0)))
    before = {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in Path("out").rglob("*")}
    again = sanitised(**keyed, ledger=Ledger("l"))
    assert (again.rows, again.files, again.certificate, again.digest) == (
        first.rows,
        first.files,
        first.certificate,
        first.digest,
    )
    assert {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in Path("out").rglob("*")} == before
    single = sanitised("all.parquet", **keyed)
    inode = os.stat("all.parquet").st_ino
    assert sanitised("all.parquet", **keyed).digest == single.digest
    assert os.stat("all.parquet").st_ino == inode
    assert len(Ledger("l").entries()) == 1


@pytest.mark.parametrize("target", ["out", "all.parquet"])
@pytest.mark.parametrize("change", ["key", "context", "policy", "source", "name", "ids", "fresh", "fresh before"])
def test_any_other_target_is_let_alone(keyed: dict[str, Any], target: str, change: str) -> None:
    sanitised(target, **({} if change == "fresh before" else keyed))
    before = {name: Path(name).read_bytes() for name in listed()}
    options: dict[str, Any] = dict(keyed)
    if change == "key":
        options["key"] = bytes(32)
    elif change == "context":
        options["context"] = "d"
    elif change == "policy":
        options["policy"] = Policy({"town": RandomisedResponse(TOWNS, epsilon=1.5), "id": "public"})
    elif change == "ids":
        options["ids"] = "id"
    elif change == "fresh":
        options = {}
    elif change == "source":
        pq.write_table(table(300, 7), "source/a.parquet")
    elif change == "name":
        os.rename("source/a.parquet", "source/b.parquet")
    with pytest.raises(FileError, match="exists"):
        sanitised(target, **options)
    out = [name for name in before if not name.startswith("source/")]
    assert {name: Path(name).read_bytes() for name in out} == {name: before[name] for name in out}
    assert not list(Path().glob(".*"))


@pytest.mark.parametrize("can_exchange", [True, False])
def test_overwriting_replaces_a_folder_that_dpfast_made(
    keyed: dict[str, Any], can_exchange: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_exchange:
        monkeypatch.setattr(_publish, "_exchange", lambda one, two: False)
    sanitised(key=keyed["key"], context="d")
    Path("out/extra").write_bytes(b"of the old one")
    sanitised(**keyed, overwrite=True)
    assert listed("out") == sorted([*ROWS, "_dpfast.json"])
    new = values()
    sanitised("other", **keyed)
    assert new == values("other")
    assert sorted(os.listdir()) == ["other", "out", "source"]


def test_no_other_folder_is_ever_deleted() -> None:
    Path("mine").mkdir()
    Path("mine/letter").write_text("dear")
    Path("file").write_text("x")
    for target, text in (("mine", "dpfast did not make"), ("file", "is a file"), ("source", "lies in the source")):
        with pytest.raises(FileError, match=text):
            sanitised(target, overwrite=True)
    for target in ("source/out", "source/deep/out", ".", "source/all.parquet", "source/../source/x"):
        with pytest.raises(FileError, match="lies in the source"):
            sanitised(target, overwrite=True)
    assert Path("mine/letter").read_text() == "dear"
    assert listed("source") == sorted(ROWS)
    Path("empty").mkdir()
    assert sanitised("empty", overwrite=True).files == 3
