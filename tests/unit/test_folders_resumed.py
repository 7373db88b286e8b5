"""A folder job that was stopped: it goes on, is refused, or starts over; and only one process writes to a target."""

from __future__ import annotations

import fcntl
import logging
import os
import stat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from folder_cases import ROWS, TOWNS, listed, read, sanitised, table, values, write_source

from dpfast import FileError, OutsideDomainError, Policy, RandomisedResponse, Stream


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_source()
    return tmp_path


@pytest.fixture
def keyed(key: bytes) -> dict[str, Any]:
    return {"key": key, "context": "c"}


class Stop(Exception):
    """Ends a job from its progress call."""


def stopped(target: str = "out", at: int = 1, **options: Any) -> Path:
    """Run a job until so many files are committed and the next has begun; where its work is."""

    def stop(done: int, total: int | None) -> None:
        if done > sum(sorted(ROWS.values(), reverse=True)[:at]):
            raise Stop

    with pytest.raises(Stop):
        sanitised(target, **options, progress=stop)
    assert not Path(target).exists()
    return Path(f".{target}.dpfast-partial")


def test_a_stopped_job_goes_on(keyed: dict[str, Any]) -> None:
    hidden = stopped(**keyed)
    assert stat.S_IMODE(hidden.stat().st_mode) == 0o700
    assert "data/a.parquet" in listed(hidden)
    inode = (hidden / "data/a.parquet").stat().st_ino
    told: list[int] = []
    report = sanitised(**keyed, progress=lambda done, total: told.append(done))
    assert told == [300, 470] or told == [300, 300, 470]
    assert os.stat("out/a.parquet").st_ino == inode
    assert report.rows == 470
    sanitised("other", **keyed)
    assert values() == values("other")
    assert sorted(os.listdir()) == ["other", "out", "source"]


def test_starting_over_deletes_what_was_done() -> None:
    hidden = stopped()
    inode = (hidden / "data/a.parquet").stat().st_ino
    before = read(hidden / "data/a.parquet")
    os.link(hidden / "data/a.parquet", "kept")  # so that the inode is not given again
    sanitised(resume=False)
    assert os.stat("out/a.parquet").st_ino != inode
    assert read("out/a.parquet") != before
    assert sorted(os.listdir()) == ["kept", "out", "source"]


@pytest.mark.parametrize("change", ["key", "context", "policy", "ids", "fresh"])
def test_the_unfinished_work_of_another_job_is_not_touched(keyed: dict[str, Any], change: str) -> None:
    hidden = stopped(**keyed)
    before = {name: (hidden / name).read_bytes() for name in listed(hidden)}
    other: dict[str, dict[str, Any]] = {
        "key": {**keyed, "key": bytes(32)},
        "context": {**keyed, "context": "d"},
        "policy": {**keyed, "policy": Policy({"town": RandomisedResponse(TOWNS, epsilon=1.5), "id": "public"})},
        "ids": {**keyed, "ids": "id"},
        "fresh": {},
    }
    with pytest.raises(FileError, match=r"unfinished work of another job .*--no-resume"):
        sanitised(**other[change])
    assert {name: (hidden / name).read_bytes() for name in listed(hidden)} == before
    assert sanitised(**other[change], resume=False).files == 3


@pytest.mark.parametrize("is_keyed", [True, False])
def test_a_source_that_was_changed_since_is_refused(keyed: dict[str, Any], is_keyed: bool) -> None:
    options = keyed if is_keyed else {}
    stopped(**options)
    old = Path("source/deep/c.parquet").read_bytes()
    pq.write_table(table(170, 5), "source/deep/c.parquet")
    with pytest.raises(FileError, match=r"source was changed .*--no-resume"):
        sanitised(**options)
    Path("source/deep/c.parquet").write_bytes(old)
    assert sanitised(**options).rows == 470


@pytest.mark.parametrize("damage", ["gone", "shorter", "other bytes"])
def test_a_committed_part_that_was_touched_is_refused(keyed: dict[str, Any], damage: str) -> None:
    path = stopped(**keyed) / "data/a.parquet"
    if damage == "gone":
        path.unlink()
    else:
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] if damage == "shorter" else whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    with pytest.raises(FileError, match=r"removed or written to .*--no-resume"):
        sanitised(**keyed)
    assert sanitised(**keyed, resume=False).files == 3


def test_a_torn_line_of_the_manifest_counts_for_nothing_and_a_damaged_one_is_said(keyed: dict[str, Any]) -> None:
    manifest = stopped(**keyed) / "manifest"
    whole = manifest.read_bytes()
    head, part, _ = whole.split(b"\n")
    for torn in (whole[:-1], whole[:-9], head + b"\n" + part[:5]):
        manifest.write_bytes(torn)
        hidden = stopped(**keyed)
        assert manifest.read_bytes() == whole
        assert listed(hidden) == ["data/a.parquet", "lock", "manifest"] or "data/a.parquet" in listed(hidden)
    for damaged in (whole.replace(b'"rows":300', b'"rows":301') + whole.split(b"\n")[1] + b"\n", b"\n" + whole):
        manifest.write_bytes(damaged)
        with pytest.raises(FileError, match=r"manifest .* damaged.*--no-resume"):
            sanitised(**keyed)
    manifest.write_bytes(whole)
    assert sanitised(**keyed).rows == 470


def test_one_process_writes_to_a_target(keyed: dict[str, Any]) -> None:
    hidden = stopped(**keyed)
    with (hidden / "lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for resume in (True, False):
            with pytest.raises(FileError, match="another process"):
                sanitised(**keyed, resume=resume)
    assert sanitised(**keyed).files == 3


def test_a_hidden_folder_of_somebody_else_is_not_used(keyed: dict[str, Any]) -> None:
    Path("elsewhere").mkdir()
    Path(".out.dpfast-partial").symlink_to("elsewhere")
    with pytest.raises(FileError, match="no folder of this user"):
        sanitised(**keyed)
    assert os.listdir("elsewhere") == []


def test_what_would_fail_again_is_not_kept(keyed: dict[str, Any]) -> None:
    pq.write_table(pa.table({"id": [1], "town": ["Mars"]}), "source/z.parquet")
    with pytest.raises(OutsideDomainError) as caught:
        sanitised(**keyed)
    assert "Mars" not in str(caught.value)
    assert sorted(os.listdir()) == ["source"]


def test_a_seed_starts_over() -> None:
    sanitised("whole", rng=Stream.insecure(5))
    stopped(rng=Stream.insecure(5))
    sanitised(rng=Stream.insecure(5))
    assert values() == values("whole")


def test_the_log_names_files_and_nothing_else(keyed: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="dpfast"):
        sanitised(**keyed)
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [
        "planned: a folder into a folder",
        *(f"committed: {name}" for name in sorted(ROWS)),
        "finished: a folder",
    ]
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="dpfast"):
        sanitised(**keyed)
    assert caplog.records[-1].getMessage() == "finished before: nothing was drawn"
