"""Ceilings of memory that the operating system enforces: below, an error and no file; at the ceiling, the work is done.

A child sets the limit above what it holds once libraries are loaded and a small piece of the same work is done.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from soak import record

WORK = """
import os, resource, sys
import numpy as np
from dpfast import Policy, RandomisedResponse, cli, graph, race, sanitise_file

NAMES = [f"carrier {i}" for i in range(16)]
policy = Policy({name: RandomisedResponse(NAMES, epsilon=1.0) for name in "abc"})

def limit(size):
    held = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData")) << 10
    resource.setrlimit(resource.RLIMIT_DATA, (held + size, resource.RLIM_INFINITY))

def file(name):
    sanitise_file(name, "target.parquet", policy, progress=False, overwrite=True)

def median(name):
    code = cli.main(["quantile", name, "--column", "x", "--bounds", "0,1", "--epsilon", "1"])
    if code:
        raise MemoryError

def extension(arcs):
    n = int(arcs) // 10
    rng = np.random.default_rng(1)
    u, v = rng.integers(0, n, (2, int(arcs) // 2), np.int32)
    epsilons, query = rng.uniform(0.1, 1, u.size), 1 + (np.arange(n) > n // 2)

    def made():
        return graph.DatasetGraph(u, v, epsilons, n_vertices=n)

    fixed = graph.optimal_boundary(made(), query)
    return lambda: graph.extend(made(), query, fixed)

def weights(items):
    with open("weights", "wb") as file:
        file.truncate(8 * int(items))  # zeros that lie nowhere
    mapped = np.memmap("weights", np.float64, "r")
    return lambda: race(mapped)

kind, small, large, least, ceiling = sys.argv[1], *sys.argv[2:4], *map(int, sys.argv[4:])
prepare = {"extension": extension, "race": weights}.get(kind, lambda name: lambda: {"file": file, "median": median}[kind](name))
prepare(small)()
work = prepare(large)
before = sorted(os.listdir()), kind == "file" and open("target.parquet", "rb").read()
limit(least)
try:
    work()
except MemoryError:
    print("MemoryError")
assert before == (sorted(os.listdir()), kind == "file" and open("target.parquet", "rb").read())
limit(ceiling)
work()
print("done")
"""
MB = 1 << 20
ARC = 40  # bytes for each arc, both directions of an edge counted: a graph made and extended, beyond the arrays it is made of


def write(kind: str, rows: int, path: Path) -> None:
    """A source of many rows; that of a file job in one row group."""
    if kind == "file":
        codes = pa.array(np.resize(np.arange(16, dtype=np.int32), rows))
        column = pa.DictionaryArray.from_arrays(codes, pa.array([f"carrier {i}" for i in range(16)]))
        pq.write_table(pa.table([column] * 3, names=list("abc")), path, row_group_size=rows)
    elif kind == "median":
        pq.write_table(pa.table({"x": np.arange(rows) % 1_000_003 / 1_000_003}), path)


def check(kind: str, folder: Path, size: int, least: int, ceiling: int) -> None:
    small, large = "1000", str(size)
    if kind in ("file", "median"):
        for name, rows in (("small.parquet", 1000), ("large.parquet", size)):
            write(kind, rows, folder / name)
        small, large = "small.parquet", "large.parquet"
    command = [sys.executable, "-c", WORK, kind, small, large, str(least), str(ceiling)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    said = [line for line in done.stdout.splitlines() if line.isalpha()]
    assert said == ["MemoryError", "done"]
    assert "Traceback" not in done.stderr
    if kind == "median":
        assert done.stderr == "dpfast: there is not enough memory\n"


@pytest.mark.parametrize(
    ("kind", "size", "least", "ceiling"),
    [
        ("file", 5_000_000, 3 * MB, 100 * MB),
        ("median", 5_000_000, 3 * MB, 100 * MB),
        ("extension", 1_000_000, 10 * 1_000_000, ARC * 1_000_000),
        ("race", 100_000_000, 0, 16 * MB),
    ],
)
def test_work_stays_below_its_ceiling(kind: str, size: int, least: int, ceiling: int, tmp_path: Path) -> None:
    check(kind, tmp_path, size, least, ceiling)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "size", "least", "ceiling"),
    [
        ("file", 50_000_000, 3 * MB, 200 * MB),
        ("median", 20_000_000, 3 * MB, 100 * MB),
        ("extension", 20_000_000, 10 * 20_000_000, ARC * 20_000_000),
        ("race", 1_000_000_000, 0, 64 * MB),
    ],
)
def test_large_work_stays_below_its_ceiling(kind: str, size: int, least: int, ceiling: int, tmp_path: Path) -> None:
    check(kind, tmp_path, size, least, ceiling)
    record(f"memory: {kind}", **{f"{kind}_size": f"{size:,}", f"{kind}_ceiling_MB": ceiling // MB})
