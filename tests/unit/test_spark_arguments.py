"""Spark without a cluster: what is refused, how schemas are read, how keys travel, how files are cut into parts."""

from __future__ import annotations

import base64
import json
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import types as t
from spark_cases import Session

from dpfast import (
    ArgumentError,
    ArgumentTypeError,
    Domain,
    DpfastError,
    FileError,
    IdError,
    Ledger,
    LedgerError,
    MissingPackageError,
    OutsideDomainError,
    Policy,
    PolicyError,
    Privacy,
    RandomisedResponse,
    sanitise_file,
)
from dpfast._frames_spark import arrow_schema
from dpfast._parquet import ParquetSource
from dpfast._policy_base import table_payment
from dpfast._sources.source import combined_digest
from dpfast.etl import _spark_files
from dpfast.etl import spark as on_spark
from dpfast.etl._spark_files import pieces_of, translated
from dpfast.etl._spark_parts import Digested, DigestFiles, NameJob, Piece, Ready, WriteParts
from dpfast.etl._spark_session import Noise, noise_of, spark_schema
from dpfast.etl._spark_tasks import Recipe, SanitiseBatches, TellCharge, Told
from dpfast.etl.plan import FilePlan
from dpfast.etl.sources import open_source

POLICY = Policy({"smoker": RandomisedResponse(["no", "yes"], epsilon=1.0), "id": "public"})
ARGUMENTS: dict[str, Any] = {"key": "env:DPFAST_KEY", "context": "members", "ids": "id"}


class RemoteSession(Session):
    """The same, of a client that is not where the cluster is."""

    __module__ = "pyspark.sql.connect.pretended"


class Frame:
    """A DataFrame that must not be computed."""

    __module__ = "pyspark.sql.pretended"
    schema = t.StructType([t.StructField("smoker", t.StringType()), t.StructField("id", t.LongType())])
    sparkSession = Session()

    def mapInArrow(self, *_: object) -> None:
        raise AssertionError("nothing was refused")


def test_without_key_or_ids_the_reason_is_told() -> None:
    for missing, reason in (("key", "averages out"), ("ids", "answer a row twice")):
        with pytest.raises(ArgumentTypeError, match=reason):
            on_spark.sanitise(Frame(), POLICY, **{**ARGUMENTS, missing: None})  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="averages out"):
        on_spark.sanitise_files(Session(), "source", "target", POLICY)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"key": 3}, ArgumentTypeError, "the path of a key file"),
        ({"key": ""}, ArgumentError, "not a path"),
        ({"key": "env:"}, ArgumentError, "without the name"),
        ({"key": bytes(31)}, ArgumentError, "exactly 32 bytes"),
        ({"key": bytes(32)}, ArgumentError, "clear text"),
        ({"key": bytes(32).hex()}, ArgumentError, "the text of a key"),
        ({"key": base64.b64encode(bytes(range(32))).decode()}, ArgumentError, "the text of a key"),
        ({"key": base64.b64encode(bytes(range(32))).decode() + "\n"}, ArgumentError, "the text of a key"),
        ({"key": base64.urlsafe_b64encode(bytes(range(224, 256))).decode()}, ArgumentError, "the text of a key"),
        ({"key": " " + bytes(range(32)).hex() + "\r\n"}, ArgumentError, "the text of a key"),
        ({"context": None}, ArgumentTypeError, "context="),
        ({"context": ""}, ArgumentError, "empty"),
        ({"ids": "smoker"}, PolicyError, "sanitised"),
        ({"ids": "absent"}, PolicyError, "no column"),
        ({"ids": ["id"]}, ArgumentTypeError, "ids must be"),
    ],
)
def test_requests_are_refused(changes: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        on_spark.sanitise(Frame(), POLICY, **ARGUMENTS | changes)  # type: ignore[arg-type]


def test_other_things_are_no_frames_and_no_sessions() -> None:
    for df in (pa.table({"a": [1]}), None, "df"):
        with pytest.raises(ArgumentTypeError, match="df must be"):
            on_spark.sanitise(df, POLICY, **ARGUMENTS)
        with pytest.raises(ArgumentTypeError, match="df must be"):
            on_spark.estimate(df, POLICY, "smoker")
        with pytest.raises(ArgumentTypeError, match="spark must be"):
            on_spark.sanitise_files(df, "s", "t", POLICY, **ARGUMENTS)
    for call in (lambda: on_spark.sanitise(Frame(), {}, **ARGUMENTS), lambda: on_spark.estimate(Frame(), {}, "smoker")):
        with pytest.raises(ArgumentTypeError, match="policy must be"):
            call()


def test_pyspark_is_asked_for_and_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingPackageError, match="pip install pyspark"):
        on_spark.sanitise(Frame(), POLICY, **ARGUMENTS)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "pyspark", SimpleNamespace(__version__="3.4.1"))
    with pytest.raises(MissingPackageError, match=r"3\.4\.1 is too old"):
        on_spark.sanitise(Frame(), POLICY, **ARGUMENTS)  # type: ignore[arg-type]


def test_a_key_travels_as_bytes_only_where_spark_enciphers() -> None:
    key = bytes(range(32))
    enciphered = {"spark_io_encryption_enabled": "true"}
    noise = noise_of(Session(**enciphered), key, "c")
    assert noise.stream().fingerprint == pickle.loads(pickle.dumps(noise)).stream().fingerprint
    for session in (Session(), Session(spark_io_encryption_enabled="false"), RemoteSession(**enciphered)):
        with pytest.raises(ArgumentError, match="clear text"):
            noise_of(session, key, "c")
    # what a session that was there before is told of late is not what its executors do
    late = Session(**enciphered)
    late.sparkContext = Session().sparkContext
    with pytest.raises(ArgumentError, match="clear text"):
        noise_of(late, key, "c")
    for form in (key.hex(), repr(key), "members"):
        assert form not in repr(Noise(key, "members"))


def test_a_key_among_the_settings_is_refused() -> None:
    for prefix in ("spark_executorEnv_", "spark_yarn_appMasterEnv_", "spark_kubernetes_driverEnv_"):
        with pytest.raises(ArgumentError, match="event log"):
            noise_of(Session(**{f"{prefix}SECRET": "x"}), "env:SECRET", "c")
        assert noise_of(Session(**{f"{prefix}OTHER": "x"}), "env:SECRET", "c").key == "env:SECRET"


def test_types_of_spark_are_those_of_arrow() -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    plain: list[t.DataType] = [
        t.StringType(),
        t.BinaryType(),
        t.BooleanType(),
        t.ByteType(),
        t.ShortType(),
        t.IntegerType(),
        t.LongType(),
        t.FloatType(),
        t.DoubleType(),
        t.DateType(),
        t.TimestampNTZType(),
        t.DecimalType(12, 3),
    ]
    schema = t.StructType([t.StructField(f"c{i}", kind, i % 2 == 0) for i, kind in enumerate(plain)])
    assert arrow_schema(schema).equals(to_arrow_schema(schema))
    nested = t.StructType(
        [
            t.StructField("a", t.ArrayType(t.LongType())),
            t.StructField("m", t.MapType(t.StringType(), t.LongType())),
            t.StructField("s", t.StructType([t.StructField("x", t.LongType())])),
            t.StructField("v", t.VarcharType(3)),
            t.StructField("t", t.TimestampType()),
            t.StructField("n", t.DayTimeIntervalType()),
        ]
    )
    kinds = [pa.types.is_list, pa.types.is_map, pa.types.is_struct, pa.types.is_string, pa.types.is_timestamp, pa.types.is_null]
    assert all(kind(one.type) for kind, one in zip(kinds, arrow_schema(nested), strict=True))


def test_metadata_stays_behind_at_any_depth() -> None:
    seen = {"labels": ["canary"]}
    inner = t.StructType([t.StructField("x", t.LongType(), False, seen)])
    schema = t.StructType(
        [
            t.StructField("m", t.MapType(t.StringType(), t.ArrayType(inner, False), False), False, seen),
            t.StructField("age", t.DoubleType(), True, seen),
        ]
    )
    rules = Policy({"age": RandomisedResponse(Domain.bins([0, 1, 2]), epsilon=1.0)}, unlisted="public")
    result = spark_schema(schema, rules.plan_schema(arrow_schema(schema)))
    assert "canary" not in result.json()
    bare = t.StructType([t.StructField("x", t.LongType(), False)])
    assert result["m"].dataType == t.MapType(t.StringType(), t.ArrayType(bare, False), False)
    assert (result["m"].nullable, result["age"].dataType) == (False, t.StringType())


def recipe(key: str | bytes = bytes(32), **changes: Any) -> Recipe:
    return Recipe(**{"policy": POLICY, "noise": Noise(key, "c"), "ids": ("id",), "digest": POLICY.digest} | changes)


def test_another_dpfast_on_an_executor_is_noticed() -> None:
    recipe().check()
    for changes in ({"digest": bytes(32)}, {"stream_version": 0}):
        task = SanitiseBatches(recipe(**changes), ["smoker", "id"], [])
        with pytest.raises(MissingPackageError, match="another version"):
            next(task(iter([])))


def test_a_task_is_pickled_by_name_and_reads_its_key_where_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "key"
    task = SanitiseBatches(recipe(str(path)), ["smoker", "id"], [])
    again = pickle.loads(pickle.dumps(task))
    path.touch(0o600)
    path.write_bytes(bytes(range(32)))
    batch = pa.record_batch({"c0": ["no", "yes"], "c1": [1, 2]})
    one, other = (next(run(iter([batch]))) for run in (task, again))
    assert one.equals(other)
    assert one.schema.names == ["smoker", "id"]
    assert one.schema.field("smoker").type == pa.string()


def test_a_task_holds_the_place_of_a_key_and_not_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, path = bytes(range(50, 82)), tmp_path / "key"
    path.touch(0o600)
    path.write_bytes(key)
    monkeypatch.setenv("DPFAST_KEY", base64.b64encode(key).decode())
    enciphered = Session(spark_io_encryption_enabled="true")

    def task(given: Any) -> bytes:
        return pickle.dumps(
            SanitiseBatches(Recipe(POLICY, noise_of(enciphered, given, "c"), "id", POLICY.digest), ["smoker", "id"], [])
        )

    forms = [key, key[:16], base64.b64encode(key), key.hex().encode()]
    assert key in task(key)  # what is looked for would be found
    for given in (str(path), path, "env:DPFAST_KEY"):
        assert not any(form in task(given) for form in forms)


def test_errors_of_executors_are_ours_again() -> None:
    text = (
        "An exception was thrown:\nTraceback (most recent call last):\n  File x\ndpfast.errors.IdError: an identifier is null\n"
    )
    with pytest.raises(IdError, match=r"^an identifier is null$") as caught, translated():
        raise RuntimeError(text)
    assert caught.value.__suppress_context__
    for other in ("dpfast.errors.Path: x", "ValueError: dpfast.errors.IdError: x", "lost"):
        with pytest.raises(RuntimeError), translated():
            raise RuntimeError(other)
    with pytest.raises(OutsideDomainError), translated():
        raise OutsideDomainError("x")


def source_of(folder: Path, **rows: int) -> Any:
    for name, n in rows.items():
        pq.write_table(
            pa.table({"smoker": pa.array(["no"] * n, pa.string()), "id": pa.array(range(n), pa.int64())}),
            folder / f"{name}.parquet",
        )
    return open_source(folder)


def test_files_are_cut_by_rows_and_types_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_spark_files, "PIECE_GROUPS", 2)
    monkeypatch.setattr(_spark_files, "group_rows", lambda schema: 5)
    source = source_of(tmp_path, empty=0, small=10, large=25)
    plan = FilePlan.of(POLICY, source.schema, None)
    found = [(piece.name, piece.start, piece.stop) for piece in pieces_of(list(source.files), plan)]
    assert found == [
        ("empty.parquet", 0, 0),
        ("large.part-00000.parquet", 0, 10),
        ("large.part-00001.parquet", 10, 20),
        ("large.part-00002.parquet", 20, 25),
        ("small.parquet", 0, 10),
    ]
    pq.write_table(pa.table({"smoker": ["no"], "id": [1]}), tmp_path / "large.part-00001.parquet")
    with pytest.raises(FileError, match="rename it"):
        pieces_of(list(open_source(tmp_path).files), plan)


def test_only_files_that_all_executors_find_are_taken(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("smoker,id\nno,1\n")
    for source in (tmp_path / "t.csv", "memory://t.parquet"):
        with pytest.raises(DpfastError):
            on_spark.sanitise_files(Session(), source, tmp_path / "out", POLICY, **ARGUMENTS)  # type: ignore[arg-type]
    pq.write_table(pa.table({"smoker": ["no"], "id": [1]}), tmp_path / "t.parquet")
    with pytest.raises(ArgumentError, match="target is an address"):
        on_spark.sanitise_files(Session(), tmp_path / "t.parquet", "memory://out", POLICY, **ARGUMENTS)  # type: ignore[arg-type]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv", "t.parquet"]


@pytest.mark.parametrize("held", ["key", "source"])
def test_a_target_that_holds_what_the_job_needs_is_refused(tmp_path: Path, held: str) -> None:
    """It would be replaced, and so lost."""
    target = tmp_path / "out"
    (target / "inner").mkdir(parents=True)
    (target / "_dpfast.json").write_text("{}")
    places = {"key": tmp_path / "key", "source": tmp_path / "t.parquet"}
    places[held] = target / "inner" / "t.parquet"
    places["key"].write_bytes(bytes(32))
    pq.write_table(pa.table({"smoker": ["no"], "id": [1]}), places["source"])
    arguments = {**ARGUMENTS, "key": places["key"], "overwrite": True}
    with pytest.raises(FileError, match=f"holds, the {held}"):
        on_spark.sanitise_files(Session(), places["source"], target, POLICY, **arguments)  # type: ignore[arg-type]
    assert places[held].exists()


def test_only_complete_attempts_are_found() -> None:
    one, other = Ready.new(7), Ready.new(7)
    assert one != other
    assert Ready.found(one.file) == one
    for name in (f".{one.file}.x.tmp", "7", "x.7", ".7"):
        assert Ready.found(name) is None


@pytest.mark.parametrize("only", [range(0, 100), range(0, 0), range(0, 33), range(33, 34), range(30, 61), range(99, 100)])
def test_some_rows_of_a_file_are_those_rows(tmp_path: Path, only: range) -> None:
    table = pa.table({"n": range(100), "s": [str(i) for i in range(100)]})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=30)
    with ParquetSource(tmp_path / "t.parquet", only) as file:
        batches: Iterator[pa.RecordBatch] = file.batches(["n", "s"])
        assert pa.Table.from_batches(batches, table.schema).equals(table.slice(only.start, len(only)))
        assert file.rows == len(only)


def numbers(*which: int) -> Iterator[pa.RecordBatch]:
    """What `spark.range` hands to a task."""
    return iter([pa.record_batch({"id": pa.array(which, pa.int64())})])


@pytest.mark.parametrize("ids", [None, ("id",)])
def test_tasks_give_the_file_of_one_machine(tmp_path: Path, ids: tuple[str, ...] | None) -> None:
    key = bytes(range(32))
    (tmp_path / "source").mkdir()
    (tmp_path / "ready").mkdir()
    source = source_of(tmp_path / "source", people=1000)
    sent = recipe(key, ids=ids)
    plan = FilePlan.of(POLICY, source.schema, ids)
    [batch] = DigestFiles(list(source.files))(numbers(0))
    [row] = batch.to_pylist()
    assert combined_digest([("people.parquet", row["digest"])]) == source.digest()
    known = [Digested(row["digest"], row["size"], row["modified"])]
    [batch] = NameJob(sent, plan, source.digest())(numbers(0))
    [row] = batch.to_pylist()
    told = json.loads(row["text"])
    pieces = [Piece("a", 0, 0, 400), Piece("b", 0, 400, 1000)]
    task = WriteParts(
        sent, plan, list(source.files), known, source.digest(), told["certificate"], pieces, [1, 0], str(tmp_path / "ready")
    )
    found = [batch.to_pylist()[0] for batch in task(numbers(0, 1))]
    assert [row["place"] for row in found] == [1, 0]
    assert sorted(row["file"] for row in found) == sorted(path.name for path in (tmp_path / "ready").iterdir())
    parts = [pq.read_table(tmp_path / "ready" / row["file"]) for row in reversed(found)]
    sanitise_file(tmp_path / "source", tmp_path / "out", POLICY, key=key, context="c", ids=ids, progress=False)
    assert pa.concat_tables(parts).equals(pq.read_table(tmp_path / "out" / "people.parquet"))
    # a ledger that one machine charged is not charged again for the same job, and not for the DataFrame either with ids
    ledger = Ledger(tmp_path / "ledger", cap=Privacy(1.0, 0.0, "replace_one", 1))
    sanitise_file(tmp_path / "source", tmp_path / "paid", POLICY, key=key, context="c", ids=ids, progress=False, ledger=ledger)
    pay = table_payment(POLICY, ledger)
    Told(row["spend"], row["fingerprint"]).charge(pay, sent)
    [batch] = TellCharge(sent)(numbers(0))
    again = Told(**batch.to_pylist()[0])
    if ids:
        again.charge(pay, sent)
    else:
        with pytest.raises(LedgerError):
            again.charge(pay, sent)
    stale = [known[0]._replace(modified=0)]
    task = WriteParts(sent, plan, list(source.files), stale, source.digest(), {}, pieces, [0], str(tmp_path / "ready"))
    with pytest.raises(FileError, match="changed"):
        list(task(numbers(0)))
    assert len(list((tmp_path / "ready").iterdir())) == 2
    task = WriteParts(sent, plan, list(source.files), known, source.digest(), {}, pieces, [0], str(tmp_path / "elsewhere"))
    with pytest.raises(FileError, match="share"):
        list(task(numbers(0)))
    assert not (tmp_path / "elsewhere").exists()
