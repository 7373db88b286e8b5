"""DataFrames of Spark: their schema in Arrow's terms, and the counts of the cells that occur in one, taken where the rows are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["arrow_schema", "collected", "counted_cells", "is_spark"]

COUNT = "count"
WEIGHTS = ("known", "least", "sum", "squares")


def is_spark(thing: Any) -> bool:
    """Whether it is of a class of Spark's, classic or remote; asked by name, as pyspark need not be there."""
    return any(kind.__module__.startswith("pyspark.sql.") for kind in type(thing).__mro__)


def arrow_schema(schema: Any) -> pa.Schema:
    """Return a schema of Spark in Arrow's types, as far as a policy looks at them: not inside lists, maps and structures."""
    import pyarrow as pa

    return pa.schema([pa.field(one.name, _arrow_type(one.dataType), nullable=one.nullable) for one in schema.fields])


def _arrow_type(data_type: Any) -> pa.DataType:
    import pyarrow as pa

    name = data_type.typeName()
    simple = {
        "string": pa.string(),
        "char": pa.string(),
        "varchar": pa.string(),
        "binary": pa.binary(),
        "boolean": pa.bool_(),
        "byte": pa.int8(),
        "tinyint": pa.int8(),
        "short": pa.int16(),
        "smallint": pa.int16(),
        "integer": pa.int32(),
        "int": pa.int32(),
        "long": pa.int64(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
        "array": pa.list_(pa.null()),
        "map": pa.map_(pa.int8(), pa.null()),
        "struct": pa.struct([]),
    }
    if name == "decimal":
        return pa.decimal128(data_type.precision, data_type.scale)
    return simple.get(name, pa.null())


def counted_cells(
    df: Any,
    schema: pa.Schema,
    columns: Sequence[str],
    sizes: Sequence[int],
    *,
    keys: Sequence[tuple[str, Sequence[Any]]] = (),
    weights: str | None = None,
) -> pa.Table:
    """Count the rows of each combination of values, on the cluster.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
    schema : pyarrow.Schema
        That of `df`, by `arrow_schema`.
    columns : sequence of str
    sizes : sequence of int
        How many different values each of them has where it holds what it should.
    keys : sequence of (str, values)
        Public columns, and which values of each are asked for.
    weights : str, optional
        A column of numbers, to be summed as well.

    Returns
    -------
    pyarrow.Table
        `columns` and those of `keys`, by place: ``c0``, ``c1``, …; and ``count``. With weights also how many of the count have
        one (``known``), the ``least``, their ``sum`` and that of their ``squares``. It has at most one row more than there are
        cells: what holds other values than it should does not flood the driver.
    """
    from pyspark.sql import functions as F

    names = [*columns, *(name for name, _ in keys)]
    # By place: Spark takes a dot in a name for a step into a structure, and two names that differ in case for one.
    numbered = df.toDF(*(f"_{place}" for place in range(len(schema))))
    places = [f"_{schema.get_field_index(name)}" for name in names]
    for place, (_, values) in zip(places[len(columns) :], keys, strict=True):
        column = F.col(place)
        asked = column.isin([value for value in values if value is not None])
        numbered = numbered.where(asked | column.isNull() if None in values else asked)
    totals = [F.count(F.lit(1)).alias(COUNT)]
    if weights is not None:
        weight = F.col(f"_{schema.get_field_index(weights)}").cast("double")  # squares of integers may be beyond 64 bits
        figures = F.count(weight), F.min(weight), F.sum(weight), F.sum(weight * weight)
        totals += [figure.cast("double").alias(name) for name, figure in zip(WEIGHTS, figures, strict=True)]
    cells = math.prod(sizes) * math.prod(len(values) for _, values in keys)
    keyed = [F.col(place).alias(f"c{i}") for i, place in enumerate(places)]
    return collected(numbered.groupBy(*keyed).agg(*totals).limit(cells + 1))


def collected(df: Any) -> pa.Table:
    """Bring the rows of a DataFrame to the driver."""
    if hasattr(df, "toArrow"):  # Spark 4
        return df.toArrow()
    import pyarrow as pa

    rows, schema = df.collect(), arrow_schema(df.schema)
    return pa.Table.from_arrays(
        [pa.array([row[place] for row in rows], one.type) for place, one in enumerate(schema)], schema=schema
    )
