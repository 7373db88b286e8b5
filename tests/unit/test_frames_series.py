"""Columns of pandas, polars and others: the same answers as numpy's, in the container and type that came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from frame_cases import CASES, TEXT, Capsule, N, answer, objects, plain, reference
from hypothesis import given
from hypothesis import strategies as st

from dpfast import Domain, RandomisedResponse, Stratified, Stream
from dpfast.errors import ArgumentError


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[Any, Any, Any]:
    return CASES[request.param]


@pytest.mark.parametrize("n", [N, 4, 1, 0])
def test_same_answers_in_the_same_container(case: tuple[Any, Any, Any], n: int, key: bytes) -> None:
    values, make, wanted = case
    rows = [values[i * i % len(values)] for i in range(n)]
    column = make(rows)
    answers = answer(Domain(values), column, key)
    assert plain(answers) == reference(Domain(values), rows, key)
    if isinstance(column, pd.Series):
        assert isinstance(answers, pd.Series)
        assert answers.index.equals(column.index)
        assert answers.index.names == column.index.names
        assert answers.name == "own name"
    elif isinstance(column, pl.Series):
        assert isinstance(answers, pl.Series)
        assert answers.name == "own name"
    else:
        assert isinstance(answers, pa.Array if isinstance(column, Capsule) else pa.ChunkedArray)
        assert answers.type == wanted
        return
    if isinstance(column.dtype, pd.CategoricalDtype) and wanted is None:
        assert answers.cat.categories.tolist() == list(values)
        assert answers.cat.categories.dtype == column.cat.categories.dtype
    else:
        assert answers.dtype == (column.dtype if wanted is None else wanted)
        assert repr(answers.dtype) == repr(column.dtype if wanted is None else wanted)


def test_identifiers_strata_and_estimates(case: tuple[Any, Any, Any], key: bytes) -> None:
    values, make, _ = case
    rows = [values[i * i % len(values)] for i in range(N)]
    domain = Domain(values)
    by_id = answer(domain, make(rows), key, ids=pd.Series(range(N)))
    assert plain(by_id) == answer(domain, objects(rows), key, ids=np.arange(N)).tolist()
    blind, loud = (RandomisedResponse(domain, epsilon=epsilon) for epsilon in (0.0, 44.0))
    rule = Stratified("who", {"a": blind}, default=loud)
    streams = [Stream(key=key, context="strata") for _ in range(2)]
    who = ["a", "b", "c"] * 7
    strata = rule.sanitise(make(rows), pl.Series(who), rng=streams[0], column_name="c")
    assert plain(strata) == rule.sanitise(objects(rows), np.array(who), rng=streams[1], column_name="c").tolist()
    assert loud.estimate(strata).count.sum() == pytest.approx(N)
    assert loud.estimate(make(rows)).frequency == pytest.approx(loud.estimate(objects(rows)).frequency)


def test_slices_and_steps(case: tuple[Any, Any, Any], key: bytes) -> None:
    values, make, _ = case
    rows = [values[i * i % len(values)] for i in range(N)]
    column = make(rows)
    if not isinstance(column, (pd.Series, pl.Series)):
        return
    for part in (slice(3, 17), slice(1, None, 2), slice(None, None, -1), slice(5, 5)):
        cut = column.iloc[part] if isinstance(column, pd.Series) else column[part]
        answers = answer(Domain(values), cut, key)
        assert plain(answers) == reference(Domain(values), rows[part], key)
        if isinstance(column, pd.Series):
            assert answers.index.equals(column.index[part])


def test_the_input_is_read_only_and_stays_as_it_was(case: tuple[Any, Any, Any], key: bytes) -> None:
    values, make, _ = case
    rows = [values[i % len(values)] for i in range(N)]
    column = make(rows)
    if isinstance(column, pd.Series) and isinstance(column.dtype, np.dtype):
        frozen = column.to_numpy().copy()
        frozen.flags.writeable = False
        column = pd.Series(frozen, index=column.index, copy=False)
    answers = answer(Domain(values), column, key)
    if isinstance(column, (pd.Series, pl.Series)):
        assert plain(column) == rows
        if isinstance(answers, pd.Series) and isinstance(answers.dtype, np.dtype):
            assert not np.shares_memory(answers.to_numpy(), column.to_numpy())


NUMBERS = [0.0, 0.5, 1.0, 4.0, 5.0, None, 1.0]
BINS = [0, 1, 5]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(NUMBERS, index=list("abcdefg")),
        pd.Series(NUMBERS, dtype="Float64"),
        pd.Series(NUMBERS, dtype="float32"),
        pd.Series(NUMBERS, dtype="category"),
        pd.Series(NUMBERS, dtype=pd.ArrowDtype(pa.float64())),
        pl.Series("n", NUMBERS),
        pl.Series("n", NUMBERS, dtype=pl.Float32),
    ],
    ids=lambda column: str(column.dtype),
)
def test_bins_become_categories(column: Any, key: bytes) -> None:
    domain = Domain.bins(BINS, null=True)
    answers = answer(domain, column, key)
    assert plain(answers) == answer(domain, np.array(NUMBERS, float), key).tolist()
    labels = ["[0, 1)", "[1, 5]"]
    if isinstance(column, pd.Series):
        assert answers.index.equals(column.index)
        assert answers.dtype == pd.CategoricalDtype(labels, ordered=True)
    else:
        assert answers.dtype == pl.Enum(labels)
    assert RandomisedResponse(domain, epsilon=1.0).estimate(answers).count.sum() == pytest.approx(len(NUMBERS))


def test_columns_of_a_product_may_come_from_anywhere(key: bytes) -> None:
    domain = Domain.product(TEXT, [1, 2], [True, False])
    first, second, third = TEXT * 3, [1, 2, 1] * 4, [True, False] * 6
    index = pd.Index(range(12, 0, -1))
    columns = (pl.Series(first), pd.Series(second, index=index, dtype="Int8"), pa.array(third))
    answers = answer(domain, columns, key, ("p", "q", "r"))
    expected = answer(domain, (np.array(first), np.array(second), np.array(third)), key, ("p", "q", "r"))
    assert [type(part) for part in answers] == [pl.Series, pd.Series, pa.BooleanArray]
    assert [plain(part) for part in answers] == [part.tolist() for part in expected]
    assert answers[1].index.equals(index)
    with pytest.raises(ArgumentError, match="equally many rows"):
        answer(domain, (columns[0], columns[1].iloc[1:], columns[2]), key, ("p", "q", "r"))


def test_decode_like_a_series(case: tuple[Any, Any, Any]) -> None:
    values, make, _ = case
    codes = np.array([1, 0, 1, 1], np.uint8)
    for rows in (4, 0, 2):
        like = make([values[0]] * rows)
        decoded = Domain(values).decode(codes, like=like)
        assert plain(decoded) == [values[code] for code in codes]
        if isinstance(like, pd.Series):
            assert decoded.index.equals(like.index if rows == 4 else pd.RangeIndex(4))


@given(rows=st.lists(st.sampled_from(["a", "b", "", "z", "ü", None]), max_size=40), cut=st.integers(0, 40))
def test_codes_do_not_depend_on_the_container(rows: list[Any], cut: int) -> None:
    domain = Domain(["a", None, "", "b"], unknown="randomise")
    expected = [4 if domain.code_of(value) is None else domain.code_of(value) for value in rows]
    present = sorted({value for value in rows if value is not None})
    parts = [pl.Series(rows[:cut], dtype=pl.String), pl.Series(rows[cut:], dtype=pl.String)]
    columns = [
        pd.Series(rows, dtype=object),
        pd.Series(rows, dtype="str"),
        pd.Series(rows, dtype="string[python]"),
        pd.Series(pd.Categorical(rows, categories=["unused", *present])),
        pl.concat(parts, rechunk=False),
        pl.Series(rows, dtype=pl.Enum([*present, "unused"])),
        pl.Series(rows, dtype=pl.Categorical),
    ]
    for column in columns:
        assert domain.encode(column).tolist() == expected, column.dtype
