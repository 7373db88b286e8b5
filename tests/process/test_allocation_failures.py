"""Each large allocation of a call failing in turn, whoever makes it: an error, no file, and no release without its charge.

A library put before the others makes the n-th allocation above 64 KiB fail, n = 1, 2, ... until the call meets none. (Smaller
ones are left alone: numpy writes into buffers of its iterators, 64 KiB each, without looking whether it got them, and Arrow's
readers end the process; what the core itself asks for is tried whole in tests/parity/test_core_memory.py.)
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SWEEP = """
import ctypes, os, sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from dpfast import *
from dpfast import duff, graph

failing = ctypes.CDLL(None)
failing.failing_arm.argtypes = [ctypes.c_long, ctypes.c_size_t]
failing.failing_stop.restype = ctypes.c_long
N = 200_000
codes = (np.arange(N) % 10).astype(np.uint8)
reals = np.linspace(0, 1, N)
response = RandomisedResponse(range(10), epsilon=1.0)
matrix = MatrixResponse(range(2), [[0.75, 0.25], [0.25, 0.75]])
policy = Policy({"town": RandomisedResponse(["Bray", "Cork"], epsilon=1.0)})
g = graph.DatasetGraph(np.arange(N - 1), np.arange(1, N), np.full(N - 1, 0.5))
answers = 1 + (np.arange(N) > N // 2)
fixed = graph.optimal_boundary(g, answers)
levels = duff.median_levels(reals, bounds=(0, 1), step=None, neighbours="add_remove")
table = pa.table({"town": pa.array(["Bray", "Cork"]).take(pa.array(np.arange(N) % 2))})
pq.write_table(table, "source.parquet")

def stream():
    return Stream.insecure(1)

def file_job():
    # Each try is a release of its own: a charge without a release may be left behind, a release without a charge may not.
    ledger = Ledger("ledger", Privacy(1e6))
    charged = len(ledger.entries())
    try:
        sanitise_file("source.parquet", "target.parquet", policy, ledger=ledger, progress=False, threads=1)
    except BaseException:
        assert sorted(os.listdir()) == ["ledger", "source.parquet"], os.listdir()
        raise
    assert len(Ledger("ledger").entries()) == charged + 1
    rows = pq.ParquetFile("target.parquet").metadata.num_rows
    os.unlink("target.parquet")
    return rows

def charged():
    ledger = Ledger("charges", Privacy(1e6))
    before = len(ledger.entries())
    found = response.sanitise(codes, ledger=ledger)
    assert len(Ledger("charges").entries()) == before + 1
    return found.size

CALLS = {
    "codes": lambda: response.sanitise(codes, rng=stream(), threads=1).tobytes(),
    "integers": lambda: response.sanitise(codes.astype(int), rng=stream(), threads=1).tobytes(),
    "matrix": lambda: matrix.sanitise(codes % 2, rng=stream(), threads=1).tobytes(),
    "text": lambda: policy.sanitise(table, rng=stream()),
    "identifiers": lambda: response.sanitise(codes, rng=stream(), ids=np.arange(N)).tobytes(),
    "median": lambda: median(reals, bounds=(0, 1), epsilon=1.0, rng=stream()),
    "mean": lambda: mean(reals, bounds=(0, 1), epsilon=1.0, rng=stream()),
    "mode": lambda: mode(codes, domain=range(10), epsilon=1.0, rng=stream()),
    "race": lambda: race(np.resize(reals, 10 * N), rng=stream()),
    "levels": lambda: duff.sample(levels, epsilon=1.0, rng=stream()),
    "graph": lambda: graph.extend(g, answers, fixed).probability.tobytes(),
    "ledger": charged,
    "file": file_job,
}

def sweep(call):
    want = call()
    n = failed = 0
    while True:
        n += 1
        failing.failing_arm(n, (1 << 16) + 1)
        try:
            got = call()
        except MemoryError:
            got = None
        finally:
            seen = failing.failing_stop()
        failed += got is None
        assert got in (None, want)
        assert call() == want
        if seen < n:
            return failed

for name in sys.argv[1:]:
    print(name, sweep(CALLS[name]), flush=True)
"""
CALLS = ["codes integers matrix text identifiers ledger", "median mean mode race levels", "graph file"]


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory, root: Path) -> dict[str, str]:
    """The environment of a process in which allocations can be made to fail."""
    library = tmp_path_factory.mktemp("failing") / "failing.so"
    source = root / "tests" / "c" / "failing" / "failing.c"
    command = [os.environ.get("CC", "cc"), "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", source, "-o", library]
    subprocess.run(command, check=True)
    return os.environ | {"LD_PRELOAD": str(library), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.mark.parametrize("calls", CALLS)
def test_each_large_allocation_may_fail(calls: str, preloaded: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", SWEEP, *calls.split()]
    done = subprocess.run(command, capture_output=True, text=True, env=preloaded, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    failed = dict(line.split() for line in done.stdout.splitlines())
    assert list(failed) == calls.split()
    assert min(map(int, failed.values())) >= 1
