"""Parquet to Parquet against the identity: the same rows read, and written again as they are, by pyarrow alone.

    pytest bench/bench_files.py -s

The identity has the settings of the job that were found best for it (dictionaries read as such, no whole file in memory, row
groups of the same size, no statistics) and its threads: one reads ahead, one encodes. It decides nothing and draws nothing,
so what the job takes above it is what sanitising costs. With two processors the sum of all work is the limit: reading and
encoding keep one of them and a part of the other busy.

The shapes: three columns of 16, 200 and 5,000 texts in 5e7 rows, as 50 row groups and as one; 300 public columns of doubles;
and public texts of a megabyte each. The peak of memory, libraries included, is taken in a process of its own; what getrusage
tells there is no less than the peak of the process that started it, so Linux is asked for the high-water mark itself. It is
held below 300 MiB, or near the peak of the identity where that takes more: the reader of pyarrow, which both use, holds a page
and a dictionary of every column, written out. That alone is 670 MiB for 300 columns whose dictionaries were given up at 1 MiB,
and 200 MiB for a page of 100 texts of 1 MiB. DPFAST_BENCH_ROWS makes the first shapes smaller.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from timing import interleaved, save

from dpfast import Policy, RandomisedResponse, Stream, sanitise_file
from dpfast._parquet import BATCH_ROWS

ROWS = int(os.environ.get("DPFAST_BENCH_ROWS", 50_000_000))
REACH = 1.15
PEAK_REACH = 300  # MiB, libraries included
PEAK_RATIO = 1.25  # of that of the identity, where that takes more
SIZES = {"a": 16, "b": 200, "c": 5000}
GROUP = 1 << 20
ROUNDS = 5

PEAK = """
import os, resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import bench_files
source, sizes = Path(sys.argv[3]), eval(sys.argv[4])
if sys.argv[2] == "ours":
    bench_files.job(source, sizes)
else:
    bench_files.identity(source, [*sizes], *map(int, sys.argv[5:]))
if os.path.exists("/proc/self/status"):
    print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) >> 10)
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 << 20 if sys.platform == "darwin" else 1 << 10))
"""


def peak(work: str, source: Path, sizes: dict[str, int], batch_rows: int, group_rows: int) -> int:
    """The peak in MiB of a process that does nothing but one of the two."""
    here = str(Path(__file__).parent)
    told = [here, work, str(source), repr(sizes), str(batch_rows), str(group_rows)]
    done = subprocess.run([sys.executable, "-c", PEAK, *told], capture_output=True, text=True, check=True)
    return int(done.stdout)


def policy(sizes: dict[str, int]) -> Policy:
    rules = {name: RandomisedResponse([f"category {i}" for i in range(k)], epsilon=1.0) for name, k in sizes.items()}
    return Policy(rules, unlisted="public")


def job(source: Path, sizes: dict[str, int]) -> Path:
    target = source.with_name("target.parquet")
    sanitise_file(source, target, policy(sizes), rng=Stream.insecure(1), progress=False, overwrite=True)
    return target


def identity(source: Path, dictionaries: list[str], batch_rows: int, group_rows: int) -> Path:
    """The same file again, by a thread that reads ahead and one that encodes."""
    target = source.with_name("identity.parquet")
    end: Any = object()
    with pa.OSFile(str(source), "rb") as file:
        footer = pq.ParquetFile(file, pre_buffer=False).metadata
        reader = pq.ParquetFile(file, metadata=footer, read_dictionary=dictionaries, pre_buffer=False, buffer_size=1 << 20)

        def batches() -> Iterator[pa.RecordBatch]:
            for group in range(footer.num_row_groups):
                yield from reader.iter_batches(batch_rows, row_groups=[group], use_threads=False)

        def write(parts: list[pa.RecordBatch]) -> None:
            writer.write_table(pa.Table.from_batches(parts).combine_chunks(), row_group_size=group_rows)

        ahead = batches()
        options: dict[str, Any] = {"compression": "snappy", "write_statistics": False, "store_schema": False}
        writer = pq.ParquetWriter(target, reader.schema_arrow, **options)
        with writer, ThreadPoolExecutor(1) as reading, ThreadPoolExecutor(1) as writing:
            pending, written, parts, rows = reading.submit(next, ahead, end), None, [], 0
            while (batch := pending.result()) is not end:
                pending = reading.submit(next, ahead, end)
                parts.append(batch)
                rows += batch.num_rows
                if rows >= group_rows:
                    if written is not None:
                        written.result()
                    written, parts, rows = writing.submit(write, parts), [], 0
            if written is not None:
                written.result()
            if parts:
                write(parts)
    return target


def dictionaries_file(path: Path, groups: int) -> Path:
    rng = np.random.default_rng(1)
    texts = {name: pa.array([f"category {i}" for i in range(k)]) for name, k in SIZES.items()}

    def part(rows: int) -> pa.Table:
        places = {name: pa.array(rng.integers(0, k, rows, dtype=np.int32)) for name, k in SIZES.items()}
        return pa.table({name: pa.DictionaryArray.from_arrays(places[name], texts[name]) for name in SIZES})

    with pq.ParquetWriter(path, part(1).schema, write_statistics=False) as writer:
        for _ in range(groups):
            writer.write_table(part(ROWS // groups), row_group_size=ROWS)
    return path


def wide_file(path: Path) -> Path:
    rng = np.random.default_rng(1)
    towns = pa.array([f"category {i}" for i in range(16)]).take(pa.array(rng.integers(0, 16, 200_000)))
    pq.write_table(
        pa.table({"a": towns, **{f"x{i}": rng.normal(0, 1, 200_000) for i in range(300)}}), path, write_statistics=False
    )
    return path


def long_file(path: Path) -> Path:
    rng = np.random.default_rng(1)
    with pq.ParquetWriter(path, pa.schema({"a": pa.string(), "text": pa.string()}), use_dictionary=["a"]) as writer:
        for _ in range(4):
            texts = [rng.integers(32, 127, 1 << 20, np.uint8).tobytes().decode() for _ in range(100)]
            writer.write_table(pa.table({"a": ["category 1"] * 100, "text": texts}), row_group_size=100)
    return path


SHAPES = {
    "5·10⁷ rows, 3 columns, 50 row groups": (lambda path: dictionaries_file(path, 50), SIZES, GROUP),
    "5·10⁷ rows, 3 columns, one row group": (lambda path: dictionaries_file(path, 1), SIZES, GROUP),
    "2·10⁵ rows, one column and 300 public ones of doubles": (wide_file, {"a": 16}, 1 << 13),
    "400 rows, one column and public texts of 1 MiB": (long_file, {"a": 16}, 16),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_values(tmp_path: Path, shape: str) -> None:
    """What is measured does its work: every row of the first row group is that of the table sanitised in memory."""
    make, sizes, _ = SHAPES[shape]
    source = make(tmp_path / "source.parquet")
    first = next(pq.ParquetFile(source, pre_buffer=False).iter_batches(10_000))
    out = next(pq.ParquetFile(job(source, sizes), pre_buffer=False).iter_batches(10_000))
    rows = min(first.num_rows, out.num_rows)
    expected = policy(sizes).sanitise(pa.Table.from_batches([first.slice(0, rows)]), rng=Stream.insecure(1))
    assert out.slice(0, rows).to_pydict() == expected.to_pydict()


def test_files_ratios(tmp_path: Path) -> None:
    rows, reached = [], []
    for number, (shape, (make, sizes, group)) in enumerate(SHAPES.items()):
        source = make(tmp_path / f"source-{number}.parquet")
        batch = min(group, BATCH_ROWS)
        times = interleaved(
            {
                "identity": lambda source=source, sizes=sizes, batch=batch, group=group: identity(source, [*sizes], batch, group),
                "ours": lambda source=source, sizes=sizes: job(source, sizes),
            },
            rounds=ROUNDS,
        )
        ratio = times["ours"] / times["identity"]
        peaks = {work: peak(work, source, sizes, batch, group) for work in ("identity", "ours")}
        both = ", ".join(f"{work} {times[work]:.2f} s, {peaks[work]} MiB" for work in times)
        print(f"\n{shape}: {both}, ratio {ratio:.2f}")
        reached.append(ratio <= REACH and peaks["ours"] <= max(PEAK_REACH, PEAK_RATIO * peaks["identity"]))
        says = f"{ratio:.2f} times its time, peak {peaks['ours']} MiB (its own: {peaks['identity']} MiB)"
        rows.append({"work": f"Parquet to Parquet, {shape}", "ratios": [{"against": "pyarrow identity rewrite", "says": says}]})
        source.unlink()
    save("files", rows)
    assert all(reached)
