"""Hidden files that stopped jobs left beside a target: removed by the next job, unless their process lives."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import Policy, RandomisedResponse, Stream, sanitise_file
from dpfast.etl import _hidden

LEFT = ".out.parquet.abcdefg7.tmp"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"town": ["a", "b"] * 50}), tmp_path / "in.parquet")
    return tmp_path


def job(folder: Path) -> None:
    policy = Policy({"town": RandomisedResponse(["a", "b"], epsilon=1.0)})
    sanitise_file(folder / "in.parquet", folder / "out.parquet", policy, rng=Stream.insecure(1), progress=False, overwrite=True)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_job_left_is_removed(folder: Path) -> None:
    # made and killed as a job is: the lock ends with the process
    script = (
        "import os, pathlib; from dpfast.etl._hidden import make_hidden; make_hidden(pathlib.Path('out.parquet')); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", script], cwd=folder, check=False)
    assert len(names(folder)) == 2
    job(folder)
    assert names(folder) == ["in.parquet", "out.parquet"]


def test_what_a_living_job_writes_stays(folder: Path) -> None:
    descriptor, path = _hidden.make_hidden(folder / "out.parquet")
    job(folder)
    assert names(folder) == sorted([path.name, "in.parquet", "out.parquet"])
    os.close(descriptor)
    job(folder)
    assert names(folder) == ["in.parquet", "out.parquet"]


def test_files_of_other_names_and_kinds_stay(folder: Path) -> None:
    others = [".out.parquet.tmp", ".out.parquet.x.abcdefg7.tmp", ".out.parquet.ABCDEFG7.tmp", "out.parquet.abcdefg7.tmp"]
    for name in others:
        (folder / name).write_bytes(b"")
    (folder / LEFT).symlink_to(folder / "in.parquet")
    (folder / LEFT.replace("7", "8")).mkdir()
    job(folder)
    assert names(folder) == sorted([*others, LEFT, LEFT.replace("7", "8"), "in.parquet", "out.parquet"])


def test_without_locks_nothing_is_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(95, "no locks here")

    (folder / LEFT).write_bytes(b"")
    monkeypatch.setattr(fcntl, "flock", flock)
    job(folder)
    assert names(folder) == [LEFT, "in.parquet", "out.parquet"]


def test_a_file_that_is_being_removed_is_not_written_to(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another job sees the new file before its maker has locked it."""
    flock, seen = fcntl.flock, []

    def late(descriptor: int, how: int) -> None:
        if not seen:
            seen.append(descriptor)
            _hidden.remove_left(folder / "out.parquet")
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    descriptor, path = _hidden.make_hidden(folder / "out.parquet")
    assert os.path.samestat(path.stat(), os.fstat(descriptor))
    assert names(folder) == [path.name, "in.parquet"]
    os.close(descriptor)
