"""Columns of pandas and polars: nulls, widths, hostile codes, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from frame_cases import NULLS, TEXT, UNUSED, Capsule, answer, categorical, pandas, plain, polars, reference

from dpfast import Domain, RandomisedResponse, Stream
from dpfast.errors import ArgumentTypeError, CorruptDataError, OutsideDomainError

NULL_LIKE = [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT]


@pytest.mark.parametrize("null", NULL_LIKE, ids=repr)
def test_every_null_of_objects_follows_the_rule_of_null(null: Any, key: bytes) -> None:
    column = pd.Series(["a", null, "b", null], dtype=object, index=[4, 4, 1, 0])
    rows = ["a", None, "b", None]
    assert plain(answer(Domain(NULLS), column, key)) == reference(Domain(NULLS), rows, key)
    for rule in ({"other": "b"}, {"unknown": "randomise"}):
        domain = Domain(TEXT, **rule)
        assert plain(answer(domain, column, key)) == reference(domain, rows, key)
    with pytest.raises(OutsideDomainError):
        answer(Domain(TEXT), column, key)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a", None], dtype="category"),
        pd.Series(["a", None], dtype="string"),
        pd.Series(["a", None]),
        pd.Series(pd.Categorical([None, None], categories=[])),
        pd.Series(pd.Categorical(["a", None], categories=["a"]), index=[1, 1]),
        pl.Series(["a", None]),
        pl.Series(["a", None], dtype=pl.Categorical),
        pl.Series(["a", None], dtype=pl.Enum(["z", "a"])),
        pl.Series([None, None], dtype=pl.Enum(["a"])),
    ],
    ids=lambda column: f"{type(column).__module__} {column.dtype}",
)
def test_a_null_that_is_no_category_is_outside(column: Any, key: bytes) -> None:
    rows = plain(column)
    with pytest.raises(OutsideDomainError):
        answer(Domain(TEXT), column, key)
    for rule in ({"other": "b"}, {"unknown": "randomise"}):
        domain = Domain(TEXT, **rule)
        assert plain(answer(domain, column, key)) == reference(domain, rows, key)
    assert plain(answer(Domain(NULLS), column, key)) == reference(Domain(NULLS), rows, key)


@pytest.mark.parametrize("k", [1, 2, 126, 127, 128, 129, 130, 200, 255, 256, 257, 33_000])
@pytest.mark.parametrize("null", [False, True])
def test_widths_of_the_index(k: int, null: bool, key: bytes) -> None:
    names = [f"name {i}" for i in range(k)]
    domain = Domain([*names[: k // 2], *([None] if null else []), *names[k // 2 :]])
    rows = [*names, *([None] if null else []), *names[::-7]]
    expected = reference(domain, rows, key)
    column = pd.Series(pd.Categorical(rows, categories=names[::-1]))
    answers = answer(domain, column, key)
    assert plain(answers) == expected
    assert answers.cat.codes.dtype == pd.Categorical([], categories=names).codes.dtype  # the narrowest that pandas has for it
    enum = answer(domain, pl.Series(rows, dtype=pl.Enum(names[::-1])), key)
    assert enum.to_list() == expected
    if int(pl.__version__.split(".")[0]) >= 2:  # before, the index always had 32 bits
        assert enum.to_physical().dtype == (pl.UInt8 if k <= 255 else pl.UInt16)


@pytest.mark.parametrize("code", [2, 99, 127, -2, -128])
def test_hostile_codes_of_a_categorical_are_an_ordinary_error(code: int, key: bytes) -> None:
    broken = pd.Categorical.from_codes(np.array([0, code], np.int8), categories=["a", "b"], validate=False)
    for domain in (Domain(TEXT), Domain(NULLS), Domain(TEXT, unknown="randomise")):
        with pytest.raises(CorruptDataError, match="dictionary index"):
            answer(domain, pd.Series(broken), key)


def test_a_polars_categorical_does_not_tell_what_the_process_has_seen(key: bytes) -> None:
    other = pl.Series(["canary of another table", "a"], dtype=pl.Categorical)
    answers = answer(Domain(["b", "a"]), pl.Series(["a", "b"], dtype=pl.Categorical), key)
    assert answers.dtype == pl.Enum(["b", "a"])
    assert "canary" in other.to_list()[0]
    assert "canary" not in repr(pa.table(answers.to_frame()).schema)
    assert pa.table(answers.to_frame()).column(0).chunk(0).dictionary.to_pylist() == ["b", "a"]


@pytest.mark.parametrize(
    ("domain", "column", "text"),
    [
        (TEXT, pd.Series([1, 2]), "dtype int64, which does not fit a domain of text"),
        (TEXT, pd.Series([1, 2], dtype="Int64"), "its domain declares text"),
        ([1, 2], pd.Series([1.0, 2.0]), r"astype\('Int64'\)"),
        ([1, None], pd.Series([1, 2]), r"cannot hold the null of its domain; use .astype\('Int64'\)"),
        ([True, None], pd.Series([True]), r"astype\('boolean'\)"),
        ([1, 200], pd.Series([1], dtype="int8"), "cannot hold all values"),
        ([1, 200], pd.Series([1], dtype="Int8"), "cannot hold all values"),
        ([1, 200], pd.Series([1], dtype="int8").astype("category"), "categories of dtype int8, which cannot hold"),
        ([1, -2], pd.Series([1], dtype="uint8").astype("category"), "categories of dtype uint8, which cannot hold"),
        (range(300), pd.Series([1], dtype="uint8").astype("category"), "categories of dtype uint8, which cannot hold"),
        (TEXT, pd.Series([1], dtype="category"), "categories of dtype int64, which do not fit a domain of text"),
        ([1, 2], pd.Series(["a"], dtype="string").astype("category"), "do not fit a domain of int"),
        ([1, 2], pd.Series([1.0], dtype="category"), "do not fit a domain of int"),
        (TEXT, pd.Series(pd.to_datetime(["2020-01-01"])), "datetime64"),
        (TEXT, pd.Series(pd.to_datetime(["2020-01-01"])).astype("category"), "datetime64"),
        (TEXT, pd.Series(pd.to_datetime(["2020-01-01"], utc=True)), "none of text, integers"),
        ([0, 1], pd.Series(pd.arrays.SparseArray([0, 1])), "none of text, integers"),
        (TEXT, pd.Series(pd.interval_range(0, 1)), "none of text, integers"),
        ([1, 2], pd.Series(["a"], dtype="string[python]"), "does not fit a domain of range|does not fit a domain of int"),
        (TEXT, pl.Series([1, 2]), "its domain declares text"),
        ([1, 200], pl.Series([1], dtype=pl.Int8), "cannot hold all values"),
        (TEXT, pl.Series([[1]]), "type List"),
        (TEXT, pl.Series([object()], dtype=pl.Object), "type Object"),
        ([1, 2], pl.Series([1], dtype=pl.Int128), "type Int128"),
        ([1, 2], pl.Series([1.0]), "cut numbers into bins first"),
        (TEXT, Capsule(pa.array([1])), "its domain declares text"),
    ],
)
def test_a_foreign_type_that_does_not_fit_is_refused(domain: Any, column: Any, text: str) -> None:
    for call in (Domain(domain).encode, RandomisedResponse(domain, epsilon=1.0).sanitise):
        with pytest.raises(ArgumentTypeError, match=f"^the column has .*({text})"):
            call(column)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": ["a"]}),
        pl.DataFrame({"a": ["a"]}),
        pl.LazyFrame({"a": ["a"]}),
        pa.table({"a": ["a"]}),
        pa.record_batch({"a": ["a"]}),
    ],
    ids=lambda table: f"{type(table).__module__}.{type(table).__name__}",
)
def test_a_table_is_no_column(table: Any) -> None:
    with pytest.raises(
        ArgumentTypeError, match=r"a pandas Series, a polars Series, or has __arrow_c_array__.*a Policy takes tables"
    ):
        RandomisedResponse(["a"], epsilon=1.0).sanitise(table)


@pytest.mark.parametrize(
    "column", [["a"], "a", None, 3, pd.Index(["a"]), pd.Categorical(["a"]), pl.col("a")], ids=lambda c: type(c).__name__
)
def test_what_is_no_column_is_told_what_is(column: Any) -> None:
    with pytest.raises(
        ArgumentTypeError, match=r"a column is a 1-D numpy array, .* has __arrow_c_stream__|__arrow_c_stream__, not"
    ):
        RandomisedResponse(["a"], epsilon=1.0).sanitise(column)


@pytest.mark.parametrize("make", [pandas("str"), pandas(object), categorical(UNUSED), polars(pl.String), polars(pl.Enum(UNUSED))])
def test_out_is_for_numpy_columns(make: Any, key: bytes) -> None:
    column = make(["a", "b"])
    for out in (column, np.zeros(2, np.uint8)):
        with pytest.raises(ArgumentTypeError, match="out= is for numpy columns"):
            answer(Domain(TEXT), column, key, out=out)
    with pytest.raises(ArgumentTypeError, match="out must be a numpy array"):
        answer(Domain(TEXT), np.array(["a", "b"]), key, out=column)


@pytest.mark.parametrize("make", [pandas("str"), categorical(UNUSED), polars(pl.String)])
def test_the_name_of_a_series_is_not_that_of_its_noise(make: Any, key: bytes) -> None:
    column = make(TEXT * 5)
    with pytest.raises(TypeError, match="column_name"):
        RandomisedResponse(TEXT, epsilon=1.0).sanitise(column, rng=Stream(key=key, context="c"))
    renamed = answer(Domain(TEXT), column.rename("other"), key)
    assert plain(renamed) == plain(answer(Domain(TEXT), column, key))
    assert plain(renamed) != plain(answer(Domain(TEXT), column, key, "other"))


def test_text_that_is_no_unicode_is_outside(key: bytes) -> None:
    for dtype in (object, "string[python]"):
        column = pd.Series(["a", "\ud800"], dtype=dtype)
        with pytest.raises(OutsideDomainError) as caught:
            answer(Domain(TEXT), column, key)
        assert "\\ud800" not in repr(caught.value)
        assert answer(Domain(TEXT, unknown="randomise"), column, key).isin(TEXT).all()
