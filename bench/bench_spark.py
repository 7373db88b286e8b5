"""What a cluster costs above one machine, and noise above nothing: `local[2]` on this one. Needs pyspark and a whole Java.

    pytest bench/bench_spark.py -s

`sanitise_files` is compared with `sanitise_file` on two threads, on the same file of three dictionary columns; `sanitise` with
the same job whose function gives each batch back, both into Spark's sink that keeps nothing; `quantile` by groups
with Spark's own approximate medians. The start of the session, and of the Python of its workers, is not part of it. Answers are
compared first.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from timing import interleaved, save

import dpfast
from dpfast import Policy, RandomisedResponse, Stream, quantile, sanitise_file
from dpfast.etl import spark as on_spark

# Enough that the fixed part of a job, a second or two, does not count; parts of the target have 2²³ rows.
N = int(os.environ.get("DPFAST_BENCH_ROWS", 24 << 23))
N_FRAME = N // 40
ROUNDS = int(os.environ.get("DPFAST_BENCH_ROUNDS", 3))
KEY = base64.b64encode(bytes(range(7, 256, 8))).decode()
SIZES = {"carrier": 16, "origin": 3, "dest": 105}
POLICY = Policy({name: RandomisedResponse([f"{name} {i}" for i in range(k)], epsilon=1.0) for name, k in SIZES.items()})
DESTS = [f"dest {i}" for i in range(SIZES["dest"])]
WITH_ID = Policy(dict(POLICY.columns), unlisted="public")
pytestmark = [pytest.mark.filterwarnings("ignore::FutureWarning"), pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYTHONPATH", str(Path(dpfast.__file__).parents[1]))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("BENCH_KEY", KEY)
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def written(path: Path, n: int) -> Path:
    rng = np.random.default_rng(1)
    with pq.ParquetWriter(path, _table(rng, 1).schema) as writer:
        for start in range(0, n, 1 << 20):
            writer.write_table(_table(rng, min(1 << 20, n - start), start))
    return path


def _table(rng: np.random.Generator, n: int, start: int = 0) -> pa.Table:
    columns: dict[str, Any] = {"id": np.arange(start, start + n)}
    for name, k in SIZES.items():
        values = pa.array([f"{name} {i}" for i in range(k)])
        columns[name] = pa.DictionaryArray.from_arrays(rng.integers(0, k, n, np.int32), values)
    return pa.table(columns)


def test_spark_ratios(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    whole, small = written(tmp_path / "whole.parquet", N), written(tmp_path / "small.parquet", N_FRAME)
    policy = Policy({**POLICY.columns, "id": "drop"})

    def local(source: Path = whole) -> None:
        sanitise_file(
            source,
            tmp_path / "local.parquet",
            policy,
            key="env:BENCH_KEY",
            context="c",
            threads=2,
            overwrite=True,
            progress=False,
        )

    def cluster(source: Path = whole) -> None:
        on_spark.sanitise_files(spark, source, tmp_path / "out", policy, key="env:BENCH_KEY", context="c", overwrite=True)

    frame = spark.read.parquet(str(small))
    released = on_spark.sanitise(frame, WITH_ID, key="env:BENCH_KEY", context="c", ids="id")
    identity = frame.mapInArrow(lambda batches: batches, frame.schema)

    local(small)
    cluster(small)
    parts = [pq.read_table(path) for path in sorted((tmp_path / "out").glob("*.parquet"))]
    assert pa.concat_tables(parts).equals(pq.read_table(tmp_path / "local.parquet"))
    exact = pq.read_table(tmp_path / "small.parquet", columns=["id", "dest"])
    options: dict[str, Any] = {"bounds": (0, N), "epsilon": 1.0, "keys": DESTS, "column_name": "id"}
    streams = [Stream(key=bytes(32), context="c") for _ in range(2)]
    want = quantile(exact["id"], 0.5, by=exact["dest"], rng=streams[0], **options)
    assert np.array_equal(want, on_spark.quantile(frame, "id", 0.5, by="dest", rng=streams[1], **options))
    assert released.limit(1000).toArrow().num_rows == 1000

    times = interleaved({"local": local, "cluster": cluster}, ROUNDS)
    frames = interleaved(
        {
            "identity": lambda: identity.write.format("noop").mode("overwrite").save(),
            "sanitise": lambda: released.write.format("noop").mode("overwrite").save(),
        },
        ROUNDS,
    )
    medians = interleaved(
        {
            "percentile_approx": lambda: frame.groupBy("dest").agg(F.percentile_approx("id", 0.5)).collect(),
            "quantile": lambda: on_spark.quantile(frame, "id", 0.5, bounds=(0, N), epsilon=1.0, by="dest", keys=DESTS),
        },
        ROUNDS,
    )
    share, above = times["local"] / times["cluster"], frames["sanitise"] / frames["identity"]
    for name, seconds in times.items():
        print(f"\n{name}: {seconds:.2f} s, {N / seconds / 1e6:.1f} million rows a second", end="")
    for name, seconds in {**frames, **medians}.items():
        print(f"\n{name}: {seconds:.2f} s, {N_FRAME / seconds / 1e6:.2f} million rows a second", end="")
    print(f"\nsanitise_files has {share:.2f} of the speed of one machine; sanitise takes {above:.2f} times as long as identity")
    rows = [
        (
            "`spark.sanitise_files` on `local[2]`, Parquet of 3 columns",
            "`sanitise_file`, two threads",
            f"{share:.2f} of its speed",
        ),
        ("`spark.sanitise` on `local[2]`, 3 columns and an id", "an identity `mapInArrow`", f"{above:.2f} times its time"),
        (
            "`spark.quantile` on `local[2]`, 105 groups",
            "Spark's `percentile_approx`, without privacy",
            f"{medians['quantile'] / medians['percentile_approx']:.1f} times its time",
        ),
    ]
    save("spark", [{"work": work, "ratios": [{"against": peer, "says": says}]} for work, peer, says in rows])
    assert share >= 0.8
    assert above <= 1.25
