"""Quantiles of Spark's rows without a cluster: what is refused, what executors make of a batch, how batches are put together."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as t
from spark_cases import Session

from dpfast import ArgumentError, ArgumentTypeError, Domain, MissingPackageError, Stream
from dpfast.duff._request import grid_of
from dpfast.etl import spark as on_spark
from dpfast.etl._spark_quantile import IndexRows
from dpfast.etl._spark_tasks import BATCH_BYTES, gathered


def frame(**settings: str) -> Any:
    """A DataFrame that starts no job."""
    fields = [("delay", t.DoubleType()), ("origin", t.StringType()), ("hour", t.IntegerType()), ("cost", t.DecimalType(9, 2))]
    schema = t.StructType(
        [t.StructField(name, kind) for name, kind in [*fields, ("twice", t.LongType()), ("twice", t.LongType())]]
    )

    class Frame:
        __module__ = settings.get("module", "pyspark.sql.pretended")

        def toDF(self, *_: str) -> None:
            raise AssertionError("a job was started")

        def mapInArrow(self, *_: Any) -> None:
            raise AssertionError("a job was started")

    Frame.schema, Frame.columns, Frame.sparkSession = schema, schema.names, Session()  # type: ignore[attr-defined]
    return Frame()


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"column": "late"}, ArgumentError, "one column"),
        ({"column": "twice"}, ArgumentError, "one column"),
        ({"column": 3}, ArgumentTypeError, "by a text"),
        ({"column": "origin"}, ArgumentTypeError, "no grid"),
        ({"column": "cost"}, ArgumentTypeError, "no grid"),
        ({"bounds": (1, 0)}, ArgumentError, "below"),
        ({"q": 2}, ArgumentError, "between 0 and 1"),
        ({"by": "origin"}, ArgumentTypeError, "go together"),
        ({"by": "nowhere", "keys": ["EWR"]}, ArgumentError, "one column"),
        ({"by": "origin", "keys": [1, 2]}, ArgumentTypeError, "by"),
        ({"by": ("origin", "hour"), "keys": ["EWR"]}, ArgumentTypeError, "tuples"),
        ({"by": "origin", "keys": ["EWR"], "neighbours": "replace_one"}, ArgumentError, "public_groups"),
        ({"epsilon": -1.0}, ArgumentError, "epsilon"),
        ({"missing": 3.0}, ArgumentError, "replace_one"),
        ({"rng": Stream(key=bytes(32), context="c")}, ArgumentTypeError, "column"),
        ({"ledger": "book"}, ArgumentTypeError, "ledger"),
    ],
)
def test_quantiles_are_refused_before_any_job(changes: dict[str, Any], error: type[Exception], match: str) -> None:
    arguments = {"column": "delay", "q": 0.5, "bounds": (0, 600), "epsilon": 1.0} | changes
    with pytest.raises(error, match=match):
        on_spark.quantile(frame(), arguments.pop("column"), arguments.pop("q"), **arguments)


def test_quantiles_need_a_session_that_keeps_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    class Remote(Session):
        __module__ = "pyspark.sql.connect.session"

    df = frame()
    type(df).sparkSession = Remote()
    with pytest.raises(AssertionError, match="a job"):
        on_spark.quantile(df, "delay", 0.5, bounds=(0, 600), epsilon=1.0)
    monkeypatch.setattr("pyspark.__version__", "3.5.4")
    with pytest.raises(MissingPackageError, match="Spark Connect"):
        on_spark.quantile(df, "delay", 0.5, bounds=(0, 600), epsilon=1.0)


def test_rows_become_groups_and_indices() -> None:
    numbers = grid_of(pa.array([], pa.float64()), (0, 10), 0.5, "replace_one", 4.0)
    task = pickle.loads(pickle.dumps(IndexRows(numbers, Domain(["b", "a"], unknown="randomise"))))
    values = pa.array([1.2, None, float("nan"), 99.0, 3.0])
    batch = pa.RecordBatch.from_arrays([values, pa.array(["a", "b", "a", "a", "elsewhere"])], ["c0", "c3"])
    [found] = task(iter([batch.slice(0, 2), batch.slice(2, 0), batch.slice(2)]))
    assert found.to_pydict() == {"place": [1, 0, 1, 1], "cell": [2, 8, 8, 20]}
    numbers = grid_of(pa.array([], pa.float64()), (0, 10), 0.5, "add_remove", None)
    [found] = IndexRows(numbers, None)(iter([batch.select(["c0"])]))
    assert found.to_pydict() == {"place": [0, 0, 0], "cell": [2, 20, 6]}
    assert list(IndexRows(numbers, None)(iter([]))) == []


def test_batches_are_put_together_and_none_is_lost() -> None:
    batch = pa.RecordBatch.from_pydict({"x": list(range(10)), "text": ["t" * 100] * 10})
    given = [batch.slice(0, 3), batch.slice(3, 3), batch.slice(6, 0), batch.slice(6)]
    for rows in (1, 4, 10, 100):
        found = list(gathered(iter(given), rows))
        assert pa.Table.from_batches(found).equals(pa.Table.from_batches([batch]))
        assert len(found) == {1: 3, 4: 2, 10: 1, 100: 1}[rows]
    wide = pa.RecordBatch.from_pydict({"text": ["t" * BATCH_BYTES]})
    assert [one.num_rows for one in gathered(iter([wide, wide.slice(0, 0), wide]))] == [1, 1]
