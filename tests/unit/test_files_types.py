"""Types of columns through a file job: a reader sees those of the source."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import Domain, Policy, RandomisedResponse, Stream, sanitise_file
from dpfast.etl import parquet

TOWNS = ["Bray", "Cork", "Dingle", "Ennis"]
N = 1000


def response(values: Any = TOWNS, epsilon: float = 1.0) -> RandomisedResponse:
    return RandomisedResponse(Domain(values), epsilon=epsilon)


def write(path: Path, table: pa.Table) -> Path:
    pq.write_table(table, path)
    return path


def sanitised(path: Path, policy: Policy) -> bytes:
    target = path.with_name("target.parquet")
    sanitise_file(path, target, policy, overwrite=True, rng=Stream.insecure(5))
    return target.read_bytes()


def read(data: bytes) -> pa.Table:
    return pq.read_table(io.BytesIO(data))


def test_logical_types_are_kept_and_text_has_the_domain_for_dictionary(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    places = pa.array(rng.integers(0, 4, N))
    text, binary = pa.array(TOWNS).take(places), pa.array([town.encode() for town in TOWNS]).take(places)
    numbers = pa.array(rng.integers(0, 4, N))
    columns = {
        "string": text,
        "large_string": text.cast(pa.large_string()),
        "string_view": text.cast(pa.string_view()),
        "dictionary": text.dictionary_encode().cast(pa.dictionary(pa.int32(), pa.string())),
        "ordered": text.cast(pa.dictionary(pa.int16(), pa.string(), ordered=True)),
        "binary": binary,
        "large_binary": binary.cast(pa.large_binary()),
        "fixed": pa.array([town[:4].encode() for town in TOWNS], pa.binary(4)).take(places),
        "with.dot": text,
        "int8": numbers.cast(pa.int8()),
        "uint64": numbers.cast(pa.uint64()),
        "bool": pa.array([False, True]).take(pa.array(rng.integers(0, 2, N))),
    }
    domains: dict[str, Any] = dict.fromkeys(columns, TOWNS)
    domains |= {name: [town.encode() for town in TOWNS] for name in ("binary", "large_binary")}
    domains |= {"fixed": [town[:4].encode() for town in TOWNS], "int8": range(4), "uint64": [0, 1, 2, 3], "bool": [False, True]}
    policy = Policy({name: response(values) for name, values in domains.items()})
    source = write(tmp_path / "t.parquet", pa.table(columns))
    data = sanitised(source, policy)
    out = read(data)
    seen = pq.read_table(source)
    expected = policy.sanitise(seen, rng=Stream.insecure(5))
    assert out.schema == policy.plan_schema(seen.schema)
    assert out.to_pydict() == expected.to_pydict()
    assert pl.read_parquet(io.BytesIO(data))["string"].dtype == pl.String
    for name in ("string", "large_string", "string_view", "dictionary", "ordered", "with.dot"):
        whole = pq.read_table(io.BytesIO(data), read_dictionary=[name])[name].chunk(0)
        assert whole.cast(pa.string()).to_pylist() == expected[name].to_pylist()
        if "." not in name:
            assert whole.dictionary.to_pylist() == TOWNS


def test_public_columns_of_any_type_pass_unchanged(tmp_path: Path) -> None:
    columns = {
        "town": pa.array(["Cork", "Bray", "Ennis"]),
        "float": pa.array([0.5, None, float("nan")]),
        "time": pa.array([1, 2, None], pa.timestamp("ns", "Europe/Dublin")),
        "decimal": pa.array([1, 2, 3]).cast(pa.decimal128(30, 2)),
        "list": pa.array([["a", None], [], None]),
        "struct": pa.array([{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}]),
        "map": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int8())),
        "dictionary": pa.array(["a", "b", "a"]).dictionary_encode(),
        "list of dictionary": pa.ListArray.from_arrays([0, 1, 2, 3], pa.array(["a", "b", "a"]).dictionary_encode()),
        "null": pa.nulls(3),
    }
    source = write(tmp_path / "t.parquet", pa.table(columns))
    out = read(sanitised(source, Policy({"town": response()}, unlisted="public")))
    seen = pq.read_table(source)
    assert out.schema.equals(seen.schema.remove_metadata())
    for name in seen.column_names[1:]:
        assert str(out[name].to_pylist()) == str(seen[name].to_pylist())
    assert str(pl.read_parquet(tmp_path / "target.parquet")["list"].to_list()) == str(seen["list"].to_pylist())


def test_columns_declared_non_null_stay_so(tmp_path: Path) -> None:
    fields = [pa.field("town", pa.string(), nullable=False), pa.field("year", pa.int64(), nullable=False)]
    source = write(tmp_path / "t.parquet", pa.table([TOWNS, [1, 2, 3, 4]], schema=pa.schema(fields)))
    assert read(sanitised(source, Policy({"town": response(), "year": "public"}))).schema.equals(pa.schema(fields))


@pytest.mark.parametrize("names", [["s", "s.a"], ["s.a", "s"]])
def test_a_dot_in_a_name_is_not_a_step_into_a_struct(tmp_path: Path, names: list[str]) -> None:
    source = write(tmp_path / "t.parquet", pa.table({"s": [{"a": "inner"}] * 4, "s.a": TOWNS}).select(names))
    policy = Policy({"s.a": response(epsilon=200.0), "s": "public"})
    assert read(sanitised(source, policy)).to_pydict() == pq.read_table(source).to_pydict()
    assert policy.check(source).ok
    flat, nested = Policy({"s.a": response(epsilon=200.0), "s": "drop"}), Policy({"s.a": "drop", "s": "public"})
    assert read(sanitised(source, flat)).to_pydict() == {"s.a": TOWNS}
    assert read(sanitised(source, nested)).to_pydict() == {"s": [{"a": "inner"}] * 4}


@pytest.mark.parametrize("count", [1, 128, 129, 200, 255, 256, 1000])
def test_domains_of_many_sizes(tmp_path: Path, count: int) -> None:
    values = [f"value {i}" for i in range(count)]
    source = write(tmp_path / "t.parquet", pa.table({"x": pa.array(values * 2).dictionary_encode()}))
    data = sanitised(source, Policy({"x": response(values, epsilon=100.0)}))
    assert read(data)["x"].to_pylist() == values * 2


def test_a_domain_larger_than_a_page_stays_a_dictionary(tmp_path: Path) -> None:
    values = [f"{i:0>200}" for i in range(8000)]
    source = write(tmp_path / "t.parquet", pa.table({"x": values}))
    data = sanitised(source, Policy({"x": response(values)}))
    column = pq.read_table(io.BytesIO(data), read_dictionary=["x"])["x"].chunk(0)
    assert column.dictionary.to_pylist() == values


def test_group_rows_are_a_function_of_the_schema() -> None:
    narrow = pa.schema([("a", pa.dictionary(pa.int8(), pa.string())), ("b", pa.int16())])
    wide = pa.schema([(str(i), pa.float64()) for i in range(100)])
    nested = pa.schema([(str(i), pa.list_(pa.string())) for i in range(4)])
    assert parquet.group_rows(narrow) == 1 << 20
    assert parquet.group_rows(wide) == 1 << 15
    assert parquet.group_rows(nested) == 1 << 18
    assert parquet.group_rows(pa.schema([("x", pa.null()), ("y", pa.bool_())])) == 1 << 20
    assert parquet.group_rows(pa.schema([("x", pa.binary(3000))])) == 1 << 13
    assert parquet.group_rows(pa.schema([("x", pa.binary(1 << 27))])) == 1
