"""Columns of every container for tests of frames, the values they hold, and what a numpy column answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from dpfast import Domain, RandomisedResponse, Stream

TEXT = ["a", "b", "long name", "ü"]
NULLS = ["a", None, "b", "ü"]
INDEX = pd.MultiIndex.from_product([["x", "y", "z"], range(7)], names=["of", "two"])
N = len(INDEX)


def pandas(dtype: Any, index: Any = INDEX) -> Callable[[list[Any]], pd.Series]:
    return lambda values: pd.Series(values, index=index[: len(values)], name="own name", dtype=dtype)


def categorical(categories: list[Any], dtype: Any = None, *, ordered: bool = False) -> Callable[[list[Any]], pd.Series]:
    declared = pd.CategoricalDtype(pd.Index(categories, dtype=dtype), ordered=ordered)
    return lambda values: pd.Series(pd.Categorical(values, dtype=declared), index=INDEX[: len(values)], name="own name")


def polars(dtype: Any) -> Callable[[list[Any]], pl.Series]:
    return lambda values: pl.Series("own name", values, dtype=dtype)


def chunked(dtype: Any) -> Callable[[list[Any]], pl.Series]:
    return lambda values: pl.concat(
        [pl.Series("own name", values[:3], dtype=dtype), pl.Series("own name", values[3:], dtype=dtype)], rechunk=False
    )


class Capsule:
    """A column of a library that is nobody's: all that is known of it is the Arrow interface."""

    def __init__(self, column: pa.Array) -> None:
        self.column = column

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self.column.__arrow_c_array__(requested_schema)


class Streaming:
    def __init__(self, column: pa.ChunkedArray) -> None:
        self.column = column

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.column.__arrow_c_stream__(requested_schema)


ARROW_DICTIONARY = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
UNUSED = ["canary", "ü", "b", "a", "long name"]
CASES: dict[str, tuple[list[Any], Callable[[list[Any]], Any], Any]] = {
    # domain, container, type of the answers (None: that of the column)
    "object": (NULLS, pandas(object), None),
    "str": (NULLS, pandas("str"), None),
    "string": (NULLS, pandas("string"), None),
    "python string": (NULLS, pandas("string[python]"), None),
    "arrow string": (NULLS, pandas(pd.ArrowDtype(pa.string())), None),
    "arrow large string": (TEXT, pandas(pd.ArrowDtype(pa.large_string())), None),
    "arrow dictionary": (NULLS, pandas(ARROW_DICTIONARY), pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
    "arrow binary": ([b"x", None, b"y"], pandas(pd.ArrowDtype(pa.binary())), None),
    "category": (TEXT, categorical(UNUSED), pd.CategoricalDtype(TEXT)),
    "category, null": (NULLS, categorical(UNUSED), pd.CategoricalDtype(["a", "b", "ü"])),
    "category, ordered": (TEXT, categorical(UNUSED, ordered=True), pd.CategoricalDtype(TEXT, ordered=True)),
    "category of objects": (TEXT, categorical(UNUSED, object), pd.CategoricalDtype(pd.Index(TEXT, dtype=object))),
    "category of arrow text": (TEXT, categorical(UNUSED, "string[pyarrow]"), None),
    "category of integers": ([3, 1, 9], categorical([9, 77, 3, 1]), pd.CategoricalDtype(pd.Index([3, 1, 9]))),
    "category of a range": (
        range(3),
        categorical([9, 2, 1, 0], "int16"),
        pd.CategoricalDtype(pd.Index([0, 1, 2], dtype="int16")),
    ),
    "category of nullable": (
        [3, None, 9],
        categorical([9, 77, 3], "Int64"),
        pd.CategoricalDtype(pd.Index([3, 9], dtype="Int64")),
    ),
    "category of booleans": ([True, False], categorical([False, True]), pd.CategoricalDtype(pd.Index([True, False]))),
    "int64": ([3, 1, 9], pandas("int64"), None),
    "int8 range": (range(5), pandas("int8"), None),
    "big-endian": ([3, 1, 900], pandas(">i4"), None),
    "uint64": ([3, 1, (1 << 64) - 1], pandas("uint64"), None),
    "Int16": ([3, None, 900], pandas("Int16"), None),
    "UInt8 range": (range(5), pandas("UInt8"), None),
    "arrow int": ([3, None, 900], pandas(pd.ArrowDtype(pa.int32())), None),
    "bool": ([True, False], pandas("bool"), None),
    "boolean": ([False, None, True], pandas("boolean"), None),
    "objects of integers": ([3, None, 9], pandas(object), None),
    "String": (NULLS, polars(pl.String), None),
    "String, chunked": (NULLS, chunked(pl.String), None),
    "Binary": ([b"x", None, b"y"], polars(pl.Binary), None),
    "Enum": (TEXT, polars(pl.Enum(UNUSED)), pl.Enum(TEXT)),
    "Enum, null, chunked": (NULLS, chunked(pl.Enum(UNUSED)), pl.Enum(["a", "b", "ü"])),
    "Categorical": (TEXT, polars(pl.Categorical), pl.Enum(TEXT)),
    "Categorical, null": (NULLS, chunked(pl.Categorical), pl.Enum(["a", "b", "ü"])),
    "Int8": (range(5), polars(pl.Int8), None),
    "Int64": ([3, None, 900], chunked(pl.Int64), None),
    "UInt64": ([3, 1, (1 << 64) - 1], polars(pl.UInt64), None),
    "Boolean": ([True, None, False], polars(pl.Boolean), None),
    "capsule": (NULLS, lambda values: Capsule(pa.array(values, pa.string())), pa.string()),
    "stream": (NULLS, lambda values: Streaming(pa.chunked_array([values[:2], values[2:]], pa.large_string())), pa.large_string()),
}


def plain(column: Any) -> list[Any]:
    """The values of a column, every kind of null as None."""
    if isinstance(column, pd.Series):
        return [None if pd.isna(value) else value for value in column.tolist()]
    return list(column.to_pylist() if isinstance(column, (pa.Array, pa.ChunkedArray)) else column.to_list())


def reference(domain: Domain, values: list[Any], key: bytes, name: str = "c") -> list[Any]:
    """What a numpy column of objects gives."""
    return list(answer(domain, objects(values), key, name).tolist())


def answer(domain: Domain, column: Any, key: bytes, name: str = "c", **more: Any) -> Any:
    return RandomisedResponse(domain, epsilon=1.0).sanitise(
        column, rng=Stream(key=key, context="frames"), column_name=name, **more
    )


def objects(values: list[Any]) -> Any:
    column = np.empty(len(values), object)
    column[:] = values
    return column
