"""Rows on a cluster for a quantile: executors find the grid index and the group of each row, keep them, and count.

The pairs are made once and kept on the executors without their lineage (``localCheckpoint``): every pass is over the same rows,
also where the DataFrame would not give the same rows twice. An executor that is lost takes its rows along, and the job fails:
they are never made again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._frames_spark import arrow_schema, collected
from dpfast.duff._chunks import Memory
from dpfast.duff._together import indices_by_row
from dpfast.duff.brackets import Bins, Ranges
from dpfast.duff.groups import codes_of
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.etl._spark_tasks import gathered

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfast.domain import Domain
    from dpfast.duff._request import Numbers

__all__ = ["IndexRows", "KeptRows", "empty_column"]

TASK_ROWS: Final = 1 << 18  # rows that are looked up at once: tables of keys are made that often


def empty_column(df: Any, name: Any, argument: str) -> pa.Array:
    """A column of a DataFrame in Arrow's type, without its rows: enough to check a request."""
    import pyarrow as pa

    schema = arrow_schema(df.schema)
    if not isinstance(name, str):
        raise ArgumentTypeError(f"{argument} names a column of the DataFrame, by a text")
    if schema.names.count(name) != 1:
        raise ArgumentError(f"{argument} must name one column of the DataFrame")
    kind = schema.field(name).type
    if pa.types.is_null(kind):
        raise ArgumentTypeError(f"{argument} names a column of a type that dpfast does not know")
    return pa.array([], kind)


class IndexRows:
    """For `mapInArrow`: the column and those of its groups in, group and grid index of each row that counts out.

    Parameters
    ----------
    numbers : Numbers
        Of no rows: the grid, and what rows without a number count as.
    domain : Domain or None
        The groups.
    """

    SCHEMA = "place int, cell long"

    def __init__(self, numbers: Numbers, domain: Domain | None) -> None:
        self._grid, self._cells, self._missing = numbers.grid, numbers.cells, numbers.missing
        self._domain = domain

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in gathered(batches, TASK_ROWS):
            column, *by = batch.columns
            if self._domain is None:
                k, codes = 1, np.zeros(len(column), np.uint32)
            else:
                k, codes = self._domain.size, codes_of(tuple(by), self._domain, 1)
            indices = indices_by_row(Memory([column]), self._grid, self._cells, codes, k, self._missing, 1)
            counts = codes < k
            found = {"place": codes[counts].astype(np.int32), "cell": indices[counts].astype(np.int64)}
            yield pa.RecordBatch.from_pydict(found)


class KeptRows:
    """Groups and grid indices that lie on the executors; calling it counts them, see `brackets`.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
    names : list of str
        The column, and those of the groups.
    task : IndexRows
    """

    def __init__(self, df: Any, names: list[str], task: IndexRows) -> None:
        # By place: Spark takes a dot in a name for a step into a structure, and two names that differ in case for one.
        numbered = df.toDF(*(f"c{place}" for place in range(len(df.columns))))
        places = [df.columns.index(name) for name in names]
        self._session = df.sparkSession
        self._rows = numbered.select(*(f"c{place}" for place in places)).mapInArrow(task, task.SCHEMA).localCheckpoint()

    def __call__(self, ranges: Ranges) -> Bins:
        from pyspark.sql import functions as F

        numbered = [np.arange(ranges.group.size), *ranges]
        rows = list(zip(*(part.tolist() for part in numbered), strict=True))
        schema = "number long, place int, low long, high long, width long"
        asked = F.broadcast(self._session.createDataFrame(rows, schema))
        inside = self._rows.join(asked, "place").where("cell BETWEEN low AND high")
        bins = inside.groupBy("number", F.expr("(cell - low) DIV width").alias("bin")).agg(F.count(F.lit(1)).alias("rows"))
        found = collected(bins)
        return Bins(*(found.column(name).to_numpy() for name in ("number", "bin", "rows")))
