"""Lists and other columns without a declared type: what they happen to hold must not choose the grid of the answer."""

from __future__ import annotations

import datetime
import decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpfast import ArgumentError, ArgumentTypeError, Stream
from dpfast.duff import Grid, mean, median, quantiles

DAY = datetime.date
CALLS = {
    "median": median,
    "laplace": lambda values, **request: median(values, method="piecewise_laplace", **request),
    "mean": mean,
    "quantiles": lambda values, **request: quantiles(values, [0.5], **request)[0],
    "by": lambda values, **request: median(values, by=["a"] * len(values), keys=["a"], **request)[0],
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("bounds", "is_whole"), [((0, 10), True), ((0.0, 10.0), False)])
def test_the_grid_of_a_list_is_that_of_its_bounds(name: str, bounds: Any, is_whole: bool) -> None:
    # neighbours and strangers; at epsilon 0 all of them have one law, so under one seed one answer
    lists: list[Any] = [[1, 2, 3], [1, 2, 3, 2.5], [], [None], [True], [float("nan")], [1 << 63], [1 << 63, 0.5]]
    lists += [np.array(part, object) for part in lists] + [pa.nulls(3), pd.Series([1, None], dtype=object)]
    found = {CALLS[name](some, bounds=bounds, epsilon=0.0, rng=Stream.insecure(7)) for some in lists}
    assert len(found) == 1
    answer = found.pop()
    assert isinstance(answer, (int, np.integer)) == is_whole
    assert (answer == int(answer)) == is_whole  # the negative control: on a fine grid it is no whole number


@pytest.mark.parametrize("name", CALLS)
def test_lists_of_dates_are_of_the_type_of_the_bounds(name: str) -> None:
    bounds = (DAY(2019, 1, 1), datetime.datetime(2021, 1, 1))
    lists: list[Any] = [[], [None], [DAY(2020, 5, 5)], [datetime.datetime(2020, 5, 5, 1, 2, 3)], [np.datetime64("2020")]]
    lists.append([datetime.datetime(2020, 5, 5, tzinfo=datetime.UTC), DAY(2020, 1, 1)])
    found = [CALLS[name](some, bounds=bounds, epsilon=0.0, rng=Stream.insecure(7)) for some in lists]
    assert len(set(found)) == 1
    assert found[0].dtype == "M8[us]"


def test_numbers_of_a_list_keep_their_values() -> None:
    def near(values: list[Any], **request: Any) -> Any:
        return median(values * 99, epsilon=9.0, rng=Stream.insecure(1), **request)

    assert near([1 << 63, None], bounds=(0, 1 << 64), step=1 << 10) == 1 << 63
    assert near([2.6, 2], bounds=(2.5, 10), step=Fraction(1, 10)) == 2.5
    assert near([2.6], bounds=(0, 10)) == 3
    assert near([DAY(2020, 5, 5)], bounds=(DAY(2019, 1, 1), DAY(2021, 1, 1))) == np.datetime64("2020-05-05")
    assert near([datetime.timedelta(days=2)], bounds=(datetime.timedelta(0), datetime.timedelta(9))) == np.timedelta64(2, "D")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (["a"], "must hold numbers"),
        ([decimal.Decimal("1.234567")], "must hold numbers"),
        ([DAY(2020, 1, 1)], "must hold numbers"),
        ([1, "2"], "must hold numbers"),
    ],
)
def test_lists_that_hold_no_numbers_are_refused_without_a_word_of_them(values: list[Any], text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=text) as caught:
        median(values, bounds=(0, 10), epsilon=1.0)
    assert not any(part in str(caught.value) for part in ("1.2", "2020", "decimal128", "7"))


def test_chunks_declare_their_type() -> None:
    with pytest.raises(ArgumentTypeError, match="must declare a type"):
        median(_Again([[1, 2], [2.5]]), bounds=(0, 10), epsilon=1.0)
    with pytest.raises(ArgumentTypeError, match="dates or durations if the bounds"):
        median([1], bounds=(DAY(2019, 1, 1), DAY(2021, 1, 1)), epsilon=1.0)


class _Again:
    def __init__(self, chunks: list[Any]) -> None:
        self.chunks = chunks

    def __iter__(self) -> Any:
        return iter(self.chunks)


def test_dates_on_steps_that_are_no_whole_units() -> None:
    grid = Grid((-(10**9), 10**9), step=Fraction(7, 2), dtype="M8[s]")
    indices = np.arange(0, grid.size, grid.size // 1001)
    assert grid.values(indices).tolist() == [grid.value(index).item() for index in indices.tolist()]
    far = Grid((0, 2 * 10**18), step=1e9, dtype="M8[ns]")
    assert far.values(np.array([1_577_836_801]))[0] == far.value(1_577_836_801) == np.datetime64("2020-01-01T00:00:01", "ns")


def test_bounds_and_steps_beyond_all_types() -> None:
    with pytest.raises(ArgumentError, match="64 bits"):
        Grid((0, 1 << 70), step=1 << 20, dtype="M8[s]")
    with pytest.raises(ArgumentError, match="need a step that is an int"):
        Grid((0, 10**400), step=Fraction(10**400, 3))
    assert Grid((0, 10**400), step=10**399).value(10) == 10**400
    assert median(np.arange(5.0), bounds=(-1.0, 1.0), step=10**400, epsilon=1.0, rng=Stream.insecure(1)) == 0
