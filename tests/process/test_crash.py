"""A job that is stopped, by whatever, leaves the old target or none, and can simply be run again."""

from __future__ import annotations

import errno
import hashlib
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import FileError, OutsideDomainError, Policy, RandomisedResponse, _parquet, sanitise_file
from dpfast.etl import parquet

TOWNS = ["Bray", "Cork", "Dingle", "Ennis"]
CANARY = hashlib.blake2b(b"canary", digest_size=32).hexdigest()
ROWS = 4000
BATCH = 100

# Runs the command in small steps, and says when each is done.
SLOW_COMMAND = f"""
import sys, time
from dpfast import _parquet
from dpfast.cli import main
from dpfast.etl import parquet

_parquet.BATCH_ROWS = {BATCH}
parquet.GROUP_ROWS_MAX = {BATCH}
sanitise = parquet.FilePlan.sanitise

def slowly(self, *arguments):
    print("step", flush=True)
    time.sleep(0.02)
    return sanitise(self, *arguments)

parquet.FilePlan.sanitise = slowly
sys.exit(main(sys.argv[1:]))
"""

POLICY = """
version = 1
[columns.town]
domain = ["Bray", "Cork", "Dingle", "Ennis"]
epsilon = 1.0
[columns.name]
use = "drop"
"""


@pytest.fixture
def folder(tmp_path: Path, key: bytes) -> Path:
    towns = pa.array(TOWNS).take(pa.array(np.random.default_rng(1).integers(0, 4, ROWS)))
    pq.write_table(pa.table({"town": towns, "name": [CANARY] * ROWS}), tmp_path / "source.parquet")
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "key").write_bytes(key)
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "out").mkdir()
    return tmp_path


def job(folder: Path, **options: Any) -> bytes:
    """The target of a job that runs to its end."""
    target = folder / "out" / "target.parquet"
    policy = Policy.load(folder / "policy.toml")
    sanitise_file(folder / "source.parquet", target, policy, key=folder / "key", context="c", **options)
    return target.read_bytes()


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    words = ["sanitise", folder / "source.parquet", folder / "out" / "target.parquet", "--policy", folder / "policy.toml"]
    return subprocess.Popen(
        [sys.executable, "-c", SLOW_COMMAND, *words, "--key", folder / "key", "--context", "c", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def stop_after(process: subprocess.Popen[str], steps: int, number: int) -> tuple[int, str]:
    """Send a signal after so many steps; the exit code and the text on standard error."""
    assert process.stdout is not None
    for _ in range(steps):
        assert process.stdout.readline() == "step\n"
    process.send_signal(number)
    _, error = process.communicate(timeout=30)
    return process.returncode, error


def hidden_and_shown(folder: Path) -> tuple[list[Path], list[str]]:
    paths = sorted((folder / "out").iterdir())
    return [path for path in paths if path.name.startswith(".")], [p.name for p in paths if not p.name.startswith(".")]


@pytest.mark.parametrize("old", [None, b"the old target"])
def test_kill_leaves_the_old_target_and_the_next_run_succeeds(folder: Path, old: bytes | None) -> None:
    target = folder / "out" / "target.parquet"
    for steps in (1, 7, 20):
        if old is not None:
            target.write_bytes(old)
        code, _ = stop_after(start(folder, "--overwrite"), steps, signal.SIGKILL)
        assert code == -signal.SIGKILL
        hidden, shown = hidden_and_shown(folder)
        assert shown == ([] if old is None else ["target.parquet"])
        assert old is None or target.read_bytes() == old
        for path in hidden:
            assert path.stat().st_mode & 0o777 == 0o600
            assert CANARY.encode() not in path.read_bytes()
    after = job(folder, overwrite=True)
    target.unlink()
    assert job(folder) == after


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("threads", ["1", "2"])
def test_interrupts_clean_up(folder: Path, number: int, code: int, threads: str) -> None:
    process = start(folder, "--threads", threads)
    returned, error = stop_after(process, 5, number)
    assert returned == code
    assert hidden_and_shown(folder) == ([], [])
    assert error in ("dpfast: interrupted\n", "dpfast: terminated\n")


def test_the_slow_command_ends_well_if_left_alone(folder: Path) -> None:
    # The control of the two tests above: what they stop would have succeeded, with the values of any other run.
    process = start(folder)
    output, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (0, "")
    assert output.count("step") == ROWS / BATCH
    assert hidden_and_shown(folder) == ([], ["target.parquet"])
    values = pq.read_table(folder / "out" / "target.parquet").to_pydict()
    (folder / "out" / "target.parquet").unlink()
    job(folder)
    assert pq.read_table(folder / "out" / "target.parquet").to_pydict() == values


def test_a_full_disc(folder: Path) -> None:
    """A limit on the size of files stops a real write of a real process."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (900, 900))

    words = ["sanitise", "source.parquet", "out/target.parquet", "--policy", "policy.toml"]
    for threads in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-m", "dpfast", *words, "--threads", threads],
            cwd=folder,
            preexec_fn=limit,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert done.stderr == "dpfast: cannot write the target: File too large\n"
        assert hidden_and_shown(folder) == ([], [])


class FailingFile:
    """A file that has no room for the n-th write, or cannot be closed."""

    def __init__(self, file: Any, fail_at: int) -> None:
        self._file = file
        self._left = fail_at
        self.closed = False

    def write(self, data: Any) -> int:
        self._left -= 1
        if self._left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return int(self._file.write(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@pytest.mark.parametrize("threads", [1, 2])
def test_each_failing_write_is_an_error_and_leaves_nothing(folder: Path, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_parquet, "BATCH_ROWS", 300)
    monkeypatch.setattr(parquet, "GROUP_ROWS_MAX", 256)
    open_descriptor = os.fdopen
    fail_at = 0
    while True:
        monkeypatch.setattr(os, "fdopen", lambda *a, n=fail_at, **k: FailingFile(open_descriptor(*a, **k), n))
        text = ""
        try:
            job(folder, threads=threads)
        except FileError as error:
            text = str(error)
        if not text:
            break
        assert text == "cannot write the target: No space left on device"
        assert hidden_and_shown(folder) == ([], [])
        fail_at += 1
    assert fail_at > 10
    assert hidden_and_shown(folder) == ([], ["target.parquet"])


@pytest.mark.parametrize("threads", [1, 2])
def test_a_value_outside_in_the_last_row_leaves_nothing(folder: Path, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_parquet, "BATCH_ROWS", 300)
    monkeypatch.setattr(parquet, "GROUP_ROWS_MAX", 256)
    table = pa.table({"town": [*TOWNS * 500, CANARY]})
    pq.write_table(table, folder / "bad.parquet")
    policy = Policy({"town": RandomisedResponse(TOWNS, epsilon=1.0)})
    with pytest.raises(OutsideDomainError) as caught:
        sanitise_file(folder / "bad.parquet", folder / "out" / "target.parquet", policy, threads=threads)
    assert CANARY not in str(caught.value)
    assert hidden_and_shown(folder) == ([], [])


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failing_progress_call_leaves_nothing(folder: Path, error: type[BaseException]) -> None:
    def fail(done: int, total: int) -> None:
        raise error

    with pytest.raises(error):
        job(folder, progress=fail)
    assert hidden_and_shown(folder) == ([], [])
