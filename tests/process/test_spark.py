"""Spark: the rows that one machine would give, however often, wherever and in how many pieces they are computed."""

from __future__ import annotations

import base64
import datetime
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from spark_cases import KEY, VARIABLE, expected, files, policy, rows, session_in, table, without_certificates, written

from dpfast import (
    ArgumentError,
    FileError,
    Ledger,
    LedgerError,
    OutsideDomainError,
    Policy,
    PolicyError,
    Privacy,
    RandomisedResponse,
    Stream,
    quantile,
    sanitise_file,
)
from dpfast._sources.source import combined_digest
from dpfast.etl import _spark_files
from dpfast.etl import spark as on_spark
from dpfast.etl._spark_session import ENCRYPTION, noise_of
from dpfast.etl.sources import open_source

# pyspark says that it does not know the newest pandas well, and leaves sockets to the collector
pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
CANARY = "canary-in-the-shuffle"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def key_file(folder: Path) -> Path:
    path = folder / "key"
    path.touch(0o600)
    path.write_bytes(KEY)
    return path


@pytest.fixture(scope="module")
def spark(folder: Path) -> Iterator[Any]:
    with session_in(folder) as session:
        yield session


def jobs_of(spark: Any, group: str, work: Callable[[], Any]) -> int:
    """How many jobs a call starts."""
    spark.sparkContext.setJobGroup(group, group)
    work()
    found = len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))
    spark.sparkContext.setJobGroup("", "")
    return found


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
    rng = np.random.default_rng(8)
    delays = pa.array(np.round(rng.gamma(2, 20, 3000), 1), mask=rng.random(3000) < 0.05)
    days = pa.array(rng.integers(0, 400, 3000), pa.int32()).cast(pa.date32())
    table = pa.table(
        {"late.by": delays, "day": days, "from": rng.choice(["x", "y", "z"], 3000).tolist(), "h": rng.integers(0, 9, 3000)}
    )
    ledger = Ledger(tmp_path / "ledger", cap=Privacy(3.0, 0.0, "add_remove", 1))

    def both(rows: pa.Table, partitions: int, column: str, q: float, **options: Any) -> None:
        def stream() -> Stream:
            return Stream(key=KEY, context="delays")

        names = options.pop("by", ())
        by = rows[names] if isinstance(names, str) else tuple(rows[name] for name in names)
        want = quantile(rows[column], q, column_name="d", rng=stream(), by=by if names else None, **options)
        df = spark.createDataFrame(rows).repartition(partitions)
        options |= {"ledger": ledger} if options["epsilon"] == 2.0 else {}
        found = on_spark.quantile(df, column, q, column_name="d", rng=stream(), by=names or None, **options)
        assert type(found) is type(want)
        np.testing.assert_array_equal(found, want)

    for partitions in (1, 2, 7):  # z counts nowhere, w has no rows
        both(table, partitions, "late.by", 0.9, bounds=(0.0, 200.0), epsilon=2.0, by="from", keys=["y", "w", "x"])
    assert ledger.spent().epsilon == 2.0
    pairs = [(name, hour) for name in "xyzw" for hour in range(9)]
    year = datetime.date(1970, 1, 1), datetime.date(1971, 1, 1)
    fixed: dict[str, Any] = {"neighbours": "replace_one", "public_groups": True}
    both(table, 2, "day", 0.5, bounds=year, epsilon=0.5, by=("from", "h"), keys=pairs, **fixed)
    both(table, 2, "late.by", 0.2, bounds=(0.0, 200.0), epsilon=0.1, neighbours="replace_one", missing=150.0)
    for n in (0, 1):
        both(table.slice(0, n), 2, "h", 0.5, bounds=(0, 1 << 40), epsilon=1.0)


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


@pytest.mark.parametrize("ids", [None, "member id"])
def test_files_are_those_of_one_machine(spark: Any, key_file: Path, tmp_path: Path, ids: str | None) -> None:
    source, rules = written(tmp_path), policy()
    ledger = Ledger(tmp_path / "ledger", cap=rules.privacy())  # the job fits once: a second charge would raise
    arguments: dict[str, Any] = {"key": key_file, "context": "members", "ids": ids, "ledger": ledger}
    report = on_spark.sanitise_files(spark, source, tmp_path / "out", rules, **arguments)
    local = sanitise_file(source, tmp_path / "local", rules, **arguments, progress=False)
    assert (report.rows, report.files, report.privacy) == (local.rows, local.files, local.privacy) == (3010, 2, rules.privacy())
    found, want = files(tmp_path / "out"), files(tmp_path / "local")
    assert without_certificates(found) == without_certificates(want)
    assert list(found) == list(want) == ["_dpfast.json", "town=Bonn/two.parquet", "town=Ulm/one.parquet"]
    if ids is None:
        assert {**report.certificate, "job": ""} == {**local.certificate, "job": ""}
        assert sorted(os.listdir(tmp_path)) == ["ledger", "local", "out", "source"]
        again = on_spark.sanitise_files(spark, source, tmp_path / "out", rules, **arguments)
        assert (again.certificate, files(tmp_path / "out")) == (report.certificate, found)
        with pytest.raises(FileError, match="exists"):
            on_spark.sanitise_files(spark, source, tmp_path / "out", rules, **{**arguments, "context": "others"})
        with pytest.raises(LedgerError):
            on_spark.sanitise_files(spark, source, tmp_path / "anew", rules, **{**arguments, "context": "others"})
        assert sorted(os.listdir(tmp_path)) == ["ledger", "local", "out", "source"]
    else:
        df = spark.createDataFrame(table(10))
        on_spark.sanitise(df, rules, **arguments)  # the same population, and paid for
        with pytest.raises(LedgerError):
            on_spark.sanitise(df, rules, **{**arguments, "context": "others"})
    assert ledger.spent() == rules.privacy()


def test_pieces_of_a_file_are_the_file(spark: Any, key_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, rules = written(tmp_path) / "town=Ulm" / "one.parquet", policy()
    monkeypatch.setattr(_spark_files, "PIECE_GROUPS", 1)
    monkeypatch.setattr(_spark_files, "group_rows", lambda schema: 1000)
    arguments: dict[str, Any] = {"key": f"env:{VARIABLE}", "context": "members"}
    report = on_spark.sanitise_files(spark, source, tmp_path / "out", rules, **arguments)
    assert (report.rows, report.files) == (3000, 3)
    parts = without_certificates(files(tmp_path / "out"))
    assert list(parts) == [f"one.part-0000{i}.parquet" for i in range(3)]
    sanitise_file(source, tmp_path / "local.parquet", rules, key=key_file, context="members", progress=False)
    assert pa.concat_tables(parts.values()) == pq.read_table(tmp_path / "local.parquet")


def test_attempts_that_die_leave_nothing(spark: Any, key_file: Path, tmp_path: Path) -> None:
    from pyspark import TaskContext

    class Deadly(RandomisedResponse):
        """Kills the process of its first attempt when it meets the second batch."""

        __slots__ = ()

        def sanitise(self, column: Any, **arguments: Any) -> Any:
            task = TaskContext.get()
            if task is not None and task.attemptNumber() == 0 and len(column) < 700:
                open(f"{marks}/{task.partitionId()}", "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().sanitise(column, **arguments)

    source, rules, marks = written(tmp_path, n=1000), policy(), tmp_path / "marks"
    marks.mkdir()
    deadly = policy(**{"carrier.code": Deadly(["AA", "DL", "UA", "ü", None], epsilon=1.0)})
    assert deadly.digest == rules.digest
    arguments: dict[str, Any] = {"key": key_file, "context": "members"}
    on_spark.sanitise_files(spark, source, tmp_path / "out", deadly, **arguments)
    sanitise_file(source, tmp_path / "local", rules, **arguments, progress=False)
    assert without_certificates(files(tmp_path / "out")) == without_certificates(files(tmp_path / "local"))
    assert sorted(os.listdir(tmp_path)) == ["local", "marks", "out", "source"]
    assert sorted(os.listdir(marks)) == ["0", "1"]
    assert len(files(tmp_path / "out")) == 3


def test_a_stopped_job_goes_on_with_its_parts(
    spark: Any, key_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, rules = written(tmp_path), policy()
    arguments: dict[str, Any] = {"key": key_file, "context": "members"}

    def stopped(target: Path) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(_spark_files, "_taken", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                on_spark.sanitise_files(spark, source, target, rules, **arguments)

    stopped(tmp_path / "out")
    assert sorted(os.listdir(tmp_path)) == [".out.dpfast-partial", "source"]
    tasks: list[str] = []
    run = _spark_files.ClusterJob._run
    monkeypatch.setattr(
        _spark_files.ClusterJob, "_run", lambda self, task, *n: (tasks.append(type(task).__name__), run(self, task, *n))[1]
    )
    on_spark.sanitise_files(spark, source, tmp_path / "out", rules, **arguments)
    assert tasks == ["DigestFiles", "NameJob"]
    tasks.clear()
    stopped(tmp_path / "anew")
    [ready] = (tmp_path / ".anew.dpfast-partial").glob("ready-*")
    assert combined_digest((file.name, file.digest()) for file in open_source(source).files).hex()[:16] not in ready.name
    on_spark.sanitise_files(spark, source, tmp_path / "anew", rules, **arguments, resume=False)
    assert tasks[-3:] == ["DigestFiles", "NameJob", "WriteParts"]
    sanitise_file(source, tmp_path / "local", rules, **arguments, progress=False)
    assert without_certificates(files(tmp_path / "out")) == without_certificates(files(tmp_path / "local"))


@pytest.mark.parametrize("when", ["before its digest", "after it"])
def test_a_source_that_changes_meanwhile_is_refused(
    spark: Any, key_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    source = written(tmp_path)
    run = _spark_files.ClusterJob._run

    def and_it_changes(job: Any, task: Any, *n: int) -> Any:
        if type(task).__name__ == ("DigestFiles" if when == "before its digest" else "WriteParts"):
            pq.write_table(table(11), source / "town=Bonn" / "two.parquet")
        return run(job, task, *n)

    monkeypatch.setattr(_spark_files.ClusterJob, "_run", and_it_changes)
    with pytest.raises(FileError, match="changed"):
        on_spark.sanitise_files(spark, source, tmp_path / "out", policy(), key=key_file, context="c")
    assert not (tmp_path / "out").exists()


def test_a_value_outside_its_domain_is_not_told(spark: Any, key_file: Path, tmp_path: Path) -> None:
    rules = Policy({"note": RandomisedResponse(["dull"], epsilon=1.0)}, unlisted="public")
    df = spark.createDataFrame(table(50)).coalesce(1)
    released = on_spark.sanitise(df, rules, key=key_file, context="c", ids="member id")
    with pytest.raises(Exception, match="OutsideDomainError") as caught:
        released.collect()
    assert "secret" not in str(caught.value)
    source = written(tmp_path) / "town=Bonn" / "two.parquet"
    with pytest.raises(OutsideDomainError, match="'note'"):
        on_spark.sanitise_files(spark, source, tmp_path / "out", rules, key=key_file, context="c")
    assert os.listdir(tmp_path) == ["source"]


def test_the_guide_is_true(spark: Any, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block of Python in docs/spark.md, in their order."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (root / "docs" / "spark.md").read_text(), flags=re.DOTALL | re.MULTILINE)
    people = pa.table({"name": ["n"] * 300, "id": range(300), "smoker": ["no", "yes", "no"] * 100})
    os.mkdir("people")
    pq.write_table(people, "people/1.parquet")
    visits = pa.table({"minutes": range(300), "town": ["Bonn", "Ulm", "Trier"] * 100})
    names: dict[str, Any] = {"spark": spark, "people": spark.createDataFrame(people), "visits": spark.createDataFrame(visits)}
    for block in blocks:
        for name in ("people", "released"):  # Spark is in another folder
            block = re.sub(rf'"({name}[^"]*)"', rf'"{tmp_path}/\1"', block)
        exec(block.replace("env:DPFAST_KEY", f"env:{VARIABLE}"), names)
    assert names["report"].rows == 300
    assert names["slow"].shape == (2,)
    assert names["estimate"].count.sum() == pytest.approx(300)
    assert pq.read_table("released_frame.parquet").column_names == ["id", "smoker"]


def test_the_key_is_nowhere(spark: Any, folder: Path, key_file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Last, when all the others have left what they leave. What must be found is looked for as well."""
    forms = [KEY, KEY.hex().encode(), KEY.hex().upper().encode(), base64.b64encode(KEY), base64.urlsafe_b64encode(KEY)]
    forms += [repr(KEY).encode(), KEY[:16], base64.b64encode(KEY)[:20]]
    spark.sparkContext.setJobDescription(CANARY)
    df = spark.createDataFrame(table(500)).selectExpr("*", f"'{CANARY}' AS public").repartition(2)
    released = on_spark.sanitise(df, policy(), key=f"env:{VARIABLE}", context="c", ids="member id").repartition(3)
    released.explain(extended=True)
    plan = capfd.readouterr().out
    assert "MapInArrow" in plan
    released.count()
    written = {name: data for name, data in files(folder).items() if name != "key"}
    events = b"".join(data for name, data in written.items() if name.startswith("events/"))
    blocks = b"".join(data for name, data in written.items() if name.startswith("local/"))
    assert CANARY in plan
    assert CANARY.encode() in events
    assert CANARY.encode() in blocks
    for form in forms:
        assert form not in events
        assert form not in blocks
        assert form not in plan.encode()
