"""A file system that is really full: a small one in memory, where this user may mount one."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import FileError, Policy, RandomisedResponse, sanitise_file

TOWNS = ["Bray", "Cork", "Dingle", "Ennis"]
POLICY = Policy({"town": RandomisedResponse(TOWNS, epsilon=1.0)})


def mount(disc: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "dpfast-test", disc], check=True, capture_output=True)


def may_mount() -> bool:
    with tempfile.TemporaryDirectory() as disc:
        try:
            mount(Path(disc))
        except (OSError, subprocess.CalledProcessError):
            return False
        subprocess.run(["umount", disc], check=True)
        return True


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB, beside a source that is sanitised to some 50."""
    towns = pa.array(TOWNS).take(pa.array(np.random.default_rng(1).integers(0, 4, 200_000)))
    (tmp_path / "source").mkdir()
    pq.write_table(pa.table({"town": towns}), tmp_path / "source" / "a.parquet")
    disc = tmp_path / "disc"
    disc.mkdir()
    mount(disc)
    yield disc
    subprocess.run(["umount", disc], check=True)


def fill(disc: Path) -> Path:
    """Leave four pages free: enough for folders and for what is noted of a job, not for rows."""
    status = os.statvfs(disc)
    path = disc / "filler"
    path.write_bytes(bytes((status.f_bavail - 4) * status.f_bsize))
    return path


@pytest.mark.parametrize("source", ["source/a.parquet", "source"])
@pytest.mark.parametrize("threads", [1, 2] if may_mount() else [])
def test_no_space_left(small: Path, source: str, threads: int) -> None:
    filler = fill(small)
    where, target = small.parent / source, small / Path(source).name

    def job() -> int:
        return sanitise_file(where, target, POLICY, key=bytes(32), context="c", threads=threads, progress=False).rows

    for _ in range(2):
        with pytest.raises(FileError, match=r"^cannot write the target: No space left on device$"):
            job()
        assert not target.exists()
        assert not list(small.rglob("*.tmp"))
    filler.unlink()
    assert job() == 200_000
    assert {path.name for path in small.iterdir()} == {target.name}
