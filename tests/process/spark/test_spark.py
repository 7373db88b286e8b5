"""Spark: the rows that one machine would give, however often, wherever and in how many pieces they are computed."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from spark_cases import (
    CANARY,
    KEY,
    VARIABLE,
    WARNINGS,
    delays,
    expected,
    jobs_of,
    policy,
    rows,
    same_quantiles,
    table,
)

from dpfast import (
    ArgumentError,
    Ledger,
    OutsideDomainError,
    Policy,
    PolicyError,
    Privacy,
    RandomisedResponse,
    Stream,
)
from dpfast.etl import spark as on_spark
from dpfast.etl._spark_session import ENCRYPTION, noise_of

pytestmark = WARNINGS


def test_rows_are_those_of_one_machine(spark: Any, key_file: Path) -> None:
    source, rules = table(3000), policy()
    df = spark.createDataFrame(source)
    want = expected(source, rules)
    assert want["carrier.code"] != source.sort_by("member id")["carrier.code"]
    for partitions in (1, 2, 7):
        released = on_spark.sanitise(df.repartition(partitions), rules, key=str(key_file), context="members", ids="member id")
        assert released.columns == [name for name in source.column_names if name != "note"]
        assert rows(released.toArrow()).equals(want)
    assert rows(released.toArrow()).equals(want)  # another action
    cached = released.cache()
    assert rows(cached.repartition(3).toArrow()).equals(want)
    cached.unpersist()
    by_variable = on_spark.sanitise(df, rules, key=f"env:{VARIABLE}", context="members", ids="member id")
    assert rows(by_variable.toArrow()).equals(want)
    other = on_spark.sanitise(df, rules, key=key_file, context="others", ids=("member id",))
    assert rows(other.toArrow()).equals(expected(source, rules, "others"))
    assert not rows(other.toArrow()).equals(want)


def test_schema_stays_and_nothing_runs(spark: Any, key_file: Path) -> None:
    from pyspark.sql import types as t

    seen = {"ml_attr": {"vals": [CANARY]}}
    inner = t.StructType([t.StructField("x", t.DoubleType(), False, seen)])
    schema = t.StructType(
        [
            t.StructField("when", t.TimestampType(), True),
            t.StructField("smoker", t.StringType(), False, seen),
            t.StructField("id", t.LongType(), False),
            t.StructField("nested", t.ArrayType(inner), True),
            t.StructField("price", t.DecimalType(9, 2), True),
        ]
    )
    df = spark.createDataFrame([(None, "no", 1, [(1.5,)], None), (None, "yes", 2, None, None)], schema)
    rules = Policy({"smoker": RandomisedResponse(["no", "yes"], epsilon=1.0)}, unlisted="public")
    released: list[Any] = []
    arguments: dict[str, Any] = {"key": key_file, "context": "c", "ids": "id"}
    assert jobs_of(spark, "lazy", lambda: released.append(on_spark.sanitise(df, rules, **arguments))) == 0
    bare = t.StructType([t.StructField("x", t.DoubleType(), False)])
    assert released[0].schema == t.StructType(
        [
            t.StructField("when", t.TimestampType(), True),
            t.StructField("smoker", t.StringType(), False),
            t.StructField("id", t.LongType(), False),
            t.StructField("nested", t.ArrayType(bare), True),
            t.StructField("price", t.DecimalType(9, 2), True),
        ]
    )
    assert CANARY not in released[0].schema.json()
    assert jobs_of(spark, "eager", lambda: released.append(released[0].collect())) > 0
    assert [(row.id, row.nested) for row in sorted(released[1], key=lambda row: row.id)] == [
        (row.id, row.nested) for row in df.collect()
    ]


def test_what_is_wrong_is_said_before_any_job(spark: Any, key_file: Path, tmp_path: Path) -> None:
    df = spark.createDataFrame(table(10))
    pq.write_table(table(10), tmp_path / "t.parquet")
    arguments: dict[str, Any] = {"key": key_file, "context": "c", "ids": "member id"}
    wrong: list[tuple[type[Exception], Policy, dict[str, Any]]] = [
        (PolicyError, policy(absent="drop"), {}),
        (PolicyError, policy(), {"ids": "absent"}),
        (PolicyError, policy(), {"ids": "stops"}),
        (TypeError, policy(stops=RandomisedResponse(["a"], epsilon=1.0)), {}),
        (TypeError, policy(), {"ids": "Plan"}),
        (ArgumentError, policy(), {"key": KEY}),
        (ArgumentError, policy(), {"context": ""}),
    ]

    def all_of_them() -> None:
        for error, rules, changes in wrong:
            with pytest.raises(error):
                on_spark.sanitise(df, rules, **arguments | changes)
            if "ids" not in changes or changes["ids"] != "Plan":
                with pytest.raises(error):
                    on_spark.sanitise_files(spark, tmp_path / "t.parquet", tmp_path / "out", rules, **arguments | changes)

    assert jobs_of(spark, "wrong", all_of_them) == 0
    assert os.listdir(tmp_path) == ["t.parquet"]


def test_a_session_got_again_does_not_encipher_what_its_context_does_not(spark: Any) -> None:
    from pyspark.sql import SparkSession

    late = SparkSession.builder.config(ENCRYPTION, "true").getOrCreate()
    try:
        assert late.conf.get(ENCRYPTION, "") == "true"
        with pytest.raises(ArgumentError, match="clear text"):
            noise_of(late, KEY, "c")
    finally:
        late._jsparkSession.sessionState().conf().unsetConf(ENCRYPTION)


def test_a_task_that_failed_gives_the_same_rows_again(spark: Any, key_file: Path, tmp_path: Path) -> None:
    from pyspark import TaskContext

    source, rules, attempts = table(2000), policy(), str(tmp_path)

    def fails_at_first(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        open(f"{attempts}/{task.partitionId()}.{task.attemptNumber()}", "w").close()
        yield next(batches)
        if task.attemptNumber() == 0:
            raise RuntimeError("lost")
        yield from batches

    df = spark.createDataFrame(source).repartition(2)
    released = on_spark.sanitise(df, rules, key=key_file, context="members", ids="member id")
    numbered = released.toDF(*(f"c{i}" for i in range(len(released.columns))))
    again = numbered.mapInArrow(fails_at_first, numbered.schema).toArrow().rename_columns(released.columns)
    assert rows(again).equals(expected(source, rules))
    assert sorted(os.listdir(tmp_path)) == ["0.0", "0.1", "1.0", "1.1"]


def test_estimates_are_those_of_one_machine(spark: Any) -> None:
    rules = policy()
    released = rules.sanitise(table(4000), rng=Stream.insecure(1))
    pairs = [(row["plan"], row["member id"]) for row in released.slice(0, 3).to_pylist()]
    df = spark.createDataFrame(released.set_column(4, "age", pc.cast(released["age"], pa.string())))
    kinds: list[tuple[Any, dict[str, Any]]] = [
        ("carrier.code", {}),
        (["carrier.code", "stops"], {}),
        ("stops", {"by": "plan", "keys": ["q", "p"]}),
        ("stops", {"by": ("plan", "member id"), "keys": pairs}),
        ("stops", {"weights": "Plan", "method": "mle"}),
    ]
    for columns, options in kinds:
        want, found = rules.estimate(released, columns, **options), on_spark.estimate(df, rules, columns, **options)
        for one, other in zip(want.values(), found.values(), strict=True) if "by" in options else [(want, found)]:
            np.testing.assert_allclose(one.frequency, other.frequency, rtol=1e-9)
            np.testing.assert_allclose(one.interval, other.interval, rtol=1e-9)
    # cents: their squares are beyond 64 bits
    cents = pa.table({"stops": pa.array([0, 1, 1], pa.int16()), "w": pa.array([5, 6, 4_000_000_000], pa.int64())})
    exact = rules.estimate(cents, "stops", weights="w")
    found = on_spark.estimate(spark.createDataFrame(cents), rules, "stops", weights="w")
    np.testing.assert_allclose(found.interval, exact.interval, rtol=1e-9)
    negative = spark.createDataFrame(pa.table({"stops": pa.array([1, 1], pa.int16()), "w": [1.5, -0.5]}))
    with pytest.raises(ArgumentError, match="weights"):
        on_spark.estimate(negative, rules, "stops", weights="w")
    raw = spark.createDataFrame(pa.table({"stops": pa.array(np.arange(1000), pa.int16())}))
    with pytest.raises(OutsideDomainError):
        on_spark.estimate(raw, rules, "stops")


def test_quantiles_are_those_of_rows_in_memory(spark: Any, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger", cap=Privacy(3.0, 0.0, "add_remove", 1))
    same, rows = partial(same_quantiles, spark), delays(3000)
    for partitions in (1, 2, 7):  # z counts nowhere, w has no rows
        same(rows, partitions, "late.by", 0.9, bounds=(0.0, 200.0), epsilon=2.0, by="from", keys=["y", "w", "x"], ledger=ledger)
    assert ledger.spent().epsilon == 2.0
    pairs = [(name, hour) for name in "xyzw" for hour in range(9)]
    year = datetime.date(1970, 1, 1), datetime.date(1971, 1, 1)
    fixed: dict[str, Any] = {"neighbours": "replace_one", "public_groups": True}
    same(rows, 2, "day", 0.5, bounds=year, epsilon=0.5, by=("from", "h"), keys=pairs, **fixed)
    same(rows, 2, "late.by", 0.2, bounds=(0.0, 200.0), epsilon=0.1, neighbours="replace_one", missing=150.0)
    same(rows.slice(0, 0), 2, "h", 0.5, bounds=(0, 1 << 40), epsilon=1.0)


def test_quantiles_see_rows_that_are_never_the_same_once(spark: Any, tmp_path: Path) -> None:
    from pyspark import TaskContext

    marks = str(tmp_path)

    def another_each_time(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        name = f"{marks}/{task.partitionId()}.{task.attemptNumber()}"
        seen = len([one for one in os.listdir(marks) if one.startswith(os.path.basename(name))])
        open(f"{name}.{seen}", "w").close()
        yield pa.RecordBatch.from_pydict({"x": np.random.default_rng().integers(0, 1 << 40, 2000)})
        if task.partitionId() == 0 and task.attemptNumber() == 0:
            raise RuntimeError("lost")

    df = spark.range(0, 2, 1, 2).mapInArrow(another_each_time, "x long")
    found = on_spark.quantile(df, "x", 0.5, bounds=(0, 1 << 40), epsilon=100.0)
    assert abs(found / (1 << 40) - 0.5) < 0.1
    assert sorted(os.listdir(tmp_path)) == ["0.0.0", "0.1.0", "1.0.0"]
