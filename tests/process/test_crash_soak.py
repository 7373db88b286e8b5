"""Real processes killed at random times, limits of the operating system, and the same job over and over: the long version."""

from __future__ import annotations

import itertools
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from faulty import quick_place
from soak import record

from dpfast import Ledger, Policy, Privacy, RandomisedResponse, _parquet, sanitise_file

TOWNS = ["Bray", "Cork", "Dingle", "Ennis"]
FILES = 4
ROWS = 400  # of each file
BATCH = 50
CANARY = "canary-9b1e77aa"
POLICY = Policy({"town": RandomisedResponse(TOWNS, epsilon=1.0), "id": "public", "name": "drop"})
QUICK = ["--column", f"town={','.join(TOWNS)}", "--epsilon", "1", "--public", "id", "--drop", "name"]

# Runs the command in small steps, and says when it begins.
SLOW_COMMAND = f"""
import sys, time
from dpfast import _parquet
from dpfast.cli import main
from dpfast.etl.plan import FilePlan

_parquet.BATCH_ROWS = {BATCH}
sanitise = FilePlan.sanitise

def slowly(*arguments):
    print("step", flush=True)
    time.sleep(0.004)
    return sanitise(*arguments)

FilePlan.sanitise = slowly
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def folder(key: bytes) -> Iterator[Path]:
    with quick_place() as place:
        (place / "source").mkdir()
        for number in range(FILES):
            ids = pa.array(range(ROWS * number, ROWS * (number + 1)))
            names = [CANARY] * ROWS
            table = pa.table({"id": ids, "town": TOWNS * (ROWS // 4), "name": names})
            pq.write_table(table, place / f"source/{number}.parquet", compression="none")
        (place / "key").write_bytes(key)
        (place / "key").chmod(0o600)
        (place / "out").mkdir()
        yield place


def towns(target: Path) -> list[list[str]] | None:
    """The values of a complete target; None if there is none."""
    if not target.exists():
        return None
    if target.is_dir():
        assert json.loads((target / "_dpfast.json").read_text())["rows"] == FILES * ROWS
    paths = sorted(target.glob("*.parquet")) if target.is_dir() else [target]
    return [pq.ParquetFile(path).read()["town"].to_pylist() for path in paths]


def start(folder: Path, target: Path) -> subprocess.Popen[str]:
    words: list[Any] = ["sanitise", folder / "source", target, *QUICK, "--key", folder / "key", "--context", "c", "--overwrite"]
    return subprocess.Popen(
        [sys.executable, "-c", SLOW_COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def clear(folder: Path) -> None:
    shutil.rmtree(folder / "out")
    (folder / "out").mkdir()


def kill_at_random(folder: Path, name: str, times: int, seed: int, key: bytes) -> int:
    """Kill processes at random times; how many died before their end. Each leaves old or new, and the next run ends well."""
    target = folder / "out" / name
    rng, kills = random.Random(seed), 0
    sanitise_file(folder / "source", target, POLICY, key=key, context="c")
    new = towns(target)
    clear(folder)
    sanitise_file(folder / "source", target, POLICY, key=key, context="old")
    old = towns(target)
    aside = folder / "old"
    os.rename(target, aside)
    for number in range(times):
        clear(folder)
        before = None
        if number % 2:
            before = old
            (shutil.copytree if aside.is_dir() else shutil.copy)(aside, target)
        process = start(folder, target)
        assert process.stdout is not None
        process.stdout.readline()
        # about as long as the job takes from its first batch on
        time.sleep(rng.random() * FILES * ROWS / BATCH * 0.007)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        kills += process.returncode == -signal.SIGKILL
        assert towns(target) in (before, new)
        for path in (folder / "out").rglob("*"):
            assert not path.is_file() or CANARY.encode() not in path.read_bytes()
        if towns(target) != new:
            sanitise_file(folder / "source", target, POLICY, key=key, context="c", overwrite=True)
        assert towns(target) == new
    return kills


@pytest.mark.parametrize("name", ["target", "target.parquet"])
def test_processes_killed_at_random_times(folder: Path, key: bytes, name: str) -> None:
    assert kill_at_random(folder, name, 4, 1, key) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["target", "target.parquet"])
def test_a_hundred_processes_killed_at_random_times(folder: Path, key: bytes, name: str) -> None:
    kills = kill_at_random(folder, name, 110, 2, key)
    record(f"kills_of_processes: {name}", processes=110, killed=kills, torn_targets=0)
    assert kills >= 60


def test_a_limit_on_the_size_of_files_stops_a_folder_and_it_goes_on(folder: Path, key: bytes) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

    target = folder / "out" / "target"
    words: list[Any] = ["sanitise", folder / "source", target, *QUICK, "--key", folder / "key", "--context", "c"]
    done = subprocess.run([sys.executable, "-m", "dpfast", *words], preexec_fn=limit, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "dpfast: cannot write the target: File too large\n"
    assert os.listdir(folder / "out") == [".target.dpfast-partial"]
    sanitise_file(folder / "source", target, POLICY, key=key, context="c")
    assert os.listdir(folder / "out") == ["target"]


@pytest.mark.slow
def test_the_same_rows_over_and_over_have_the_same_answers(folder: Path, key: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permanent noise: batches, threads, cuts into files and a hundred runs, and not one answer differs."""
    whole = pa.concat_tables([pq.read_table(path) for path in sorted((folder / "source").iterdir())])

    def answers(source: Path, threads: int) -> dict[int, str]:
        clear(folder)
        sanitise_file(source, folder / "out" / "t", POLICY, key=key, context="people", ids="id", threads=threads)
        tables = [pq.ParquetFile(path).read(["id", "town"]) for path in (folder / "out" / "t").glob("*.parquet")]
        return {row["id"]: row["town"] for table in tables for row in table.to_pylist()}

    first = answers(folder / "source", 1)
    assert len(first) == FILES * ROWS
    runs = differing = 0
    sizes, threads, cuts = (1, 7, 8192, FILES * ROWS), (1, 2, 8), (1, 3, 10)
    for size, workers, cut in itertools.product(sizes, threads, cuts):
        monkeypatch.setattr(_parquet, "BATCH_ROWS", size)
        parts = folder / f"cut{cut}"
        parts.mkdir(exist_ok=True)
        step = -(-FILES * ROWS // cut)
        for number in range(cut):
            pq.write_table(whole.slice(number * step, step), parts / f"{number}.parquet")
        differing += answers(parts, workers) != first
        runs += 1
    monkeypatch.undo()
    for _ in range(100):
        differing += answers(folder / "source", 2) != first
        runs += 1
    record("permanent_noise", runs=runs, differing=differing)
    assert differing == 0


@pytest.mark.slow
def test_a_ledger_is_exact_however_often_fresh_jobs_are_stopped(folder: Path) -> None:
    """One charge for each job, though each is stopped a few times."""

    class Stop(Exception):
        pass

    ledger = Ledger(folder / "people.ledger", Privacy(1000.0))
    rng, stops, jobs = random.Random(4), 0, 100
    for number in range(jobs):
        clear(folder)
        while True:
            limit = rng.randrange(3 * FILES * ROWS)

            def stop(done: int, total: int | None, limit: int = limit) -> None:
                if done > limit:
                    raise Stop

            try:
                sanitise_file(folder / "source", folder / "out" / "t", POLICY, ledger=ledger, progress=stop)
                break
            except Stop:
                stops += 1
        assert len(ledger.entries()) == number + 1
    record("ledger_of_stopped_jobs", jobs=jobs, stops=stops, charges=len(ledger.entries()))
    assert stops > 30
