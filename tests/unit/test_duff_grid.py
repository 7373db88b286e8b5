"""The public grid: steps, bounds, and values snapped exactly, in every type."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpfast.duff import Grid, Levels
from dpfast.errors import ArgumentError, ArgumentTypeError

GRIDS: list[tuple[Any, Any]] = [
    ((0, 1), None),
    ((-3.5, 7.25), 0.1),
    ((-1, 1), Fraction(1, 3)),
    ((0, 100), 7),
    ((0, 10), 2.5),
    ((-(2**70), 2**70), 2**20),
    ((0, 1e300), 1e285),
    ((1e15, 1e15 + 100), 0.3),
    ((-5e-320, 7e-320), 5e-324),
    ((-1e18, 1e18), 1),
    ((2**63 - 5, 2**63 + 5), 1),
    ((-(2**80), 2 - 2**80), 1),
    ((-7, -2), Decimal("0.7")),
]


def snapped(grid: Grid, values: list[Any]) -> list[int]:
    """One by one, in fractions."""
    found = []
    for value in values:
        if value in (math.inf, -math.inf):
            found.append(grid.size - 1 if value > 0 else 0)
        else:
            index = math.floor(Fraction(value) / grid.ratio + Fraction(1, 2)) - grid.origin
            found.append(min(max(index, 0), grid.size - 1))
    return found


@pytest.mark.parametrize(("bounds", "step"), GRIDS, ids=str)
def test_values_snap_as_fractions_say(bounds: Any, step: Any) -> None:
    grid = Grid(bounds, step=step)
    rng = np.random.default_rng(1)
    values = [math.inf, -math.inf, 1.7e308, -1.7e308, 0.0, -0.0, 5e-324, -5e-324, 0.49999999999999994]
    for index in rng.integers(0, grid.size, 60).tolist():
        point = float(grid.value(index))
        half = point + float(grid.ratio) / 2
        values += [point, half, math.nextafter(half, -math.inf), math.nextafter(half, math.inf), math.nextafter(point, -math.inf)]
    assert grid.snap(np.array(values)).tolist() == snapped(grid, values)
    narrow = np.array(values, np.float64).clip(-3e38, 3e38).astype(np.float32)
    assert grid.snap(narrow).tolist() == snapped(grid, narrow.tolist())
    for dtype in (np.int8, np.uint8, np.int16, np.int64, np.uint64):
        ends = np.iinfo(dtype)
        integers = np.concatenate(
            [rng.integers(ends.min, ends.max, 80, dtype, True), np.array([ends.min, ends.max, 0, 1, 2, 3], dtype)]
        )
        assert grid.snap(integers).tolist() == snapped(grid, integers.tolist()), dtype
    assert grid.snap(np.array([True, False])).tolist() == snapped(grid, [1, 0])


@pytest.mark.parametrize(("bounds", "step"), GRIDS, ids=str)
def test_values_are_the_nearest_doubles(bounds: Any, step: Any) -> None:
    grid = Grid(bounds, step=step)
    indices = np.array([0, grid.size - 1, grid.size // 2, grid.size // 3])
    for index, value in zip(indices.tolist(), grid.values(indices).tolist(), strict=True):
        exact = (grid.origin + index) * grid.ratio
        assert value == grid.value(index)
        assert Fraction(bounds[0]) <= exact <= Fraction(bounds[1])
        assert value == exact if isinstance(step, int) else value == float(exact)
    assert (grid.origin - 1) * grid.ratio < Fraction(bounds[0])
    assert (grid.origin + grid.size) * grid.ratio > Fraction(bounds[1])
    levels = Levels([0], [0], [grid.size - 1], step=grid.step, origin=grid.origin)
    assert levels.values(indices).tolist() == [levels.value(index) for index in indices.tolist()] == grid.values(indices).tolist()


def test_steps_are_read_exactly() -> None:
    assert Grid((0, 1), step=0.1).ratio == Fraction(1, 10)
    assert Grid((0, 1), step=np.float32(0.1)).ratio == Fraction(1, 10)
    assert Grid((0, 1e-15), step=2.0**-60).ratio == Fraction(1, 2**60)
    assert Grid((0, 1), step=0.75).ratio == Fraction(3, 4)
    assert Grid((0, 1), step=Decimal("0.001")).ratio == Fraction(1, 1000)
    assert Grid((0, 1), step=0.1).size == 11
    assert Grid((0, 1), step=1).value(1) == 1
    assert isinstance(Grid((0, 1), step=1).value(1), int)
    assert isinstance(Grid((0, 1), step=1.0).value(1), float)


@pytest.mark.parametrize(
    ("bounds", "dtype", "step"),
    [
        ((0, 1), np.float64, 2.0**-20),
        ((0, 1.5), None, 2.0**-20),
        ((0, 0.99), np.float32, 2.0**-21),
        ((0, 100), np.int8, 1),
        ((0, 1), np.bool_, 1),
    ],
)
def test_the_step_that_is_left_out(bounds: Any, dtype: Any, step: Any) -> None:
    grid = Grid(bounds, dtype=dtype)
    assert grid.step == step
    assert type(grid.step) is type(step)


def test_dates_and_times() -> None:
    grid = Grid((datetime.date(2020, 1, 1), np.datetime64("2020-12-31")), dtype="M8[D]")
    assert grid.size == 366
    assert grid.value(5) == np.datetime64("2020-01-06")
    assert grid.values(np.array([3])).tolist() == [datetime.date(2020, 1, 4)]
    assert grid.snap(np.array(["2020-01-05", "1999-01-01", "2030-01-01"], "M8[D]")).tolist() == [4, 0, 365]
    weeks = Grid((0, 70), step=datetime.timedelta(days=7), dtype="m8[D]")
    assert weeks.size == 11
    assert weeks.value(2) == np.timedelta64(14, "D")
    zone = datetime.timezone(datetime.timedelta(hours=1))
    seconds = Grid((datetime.datetime(1970, 1, 1, 1, tzinfo=zone), datetime.datetime(1970, 1, 1, 1)), dtype="M8[ms]")
    assert (seconds.origin, seconds.size) == (0, 3_600_001)


@pytest.mark.parametrize(
    ("bounds", "options", "error"),
    [
        ((1, 1), {}, ArgumentError),
        ((2, 1), {}, ArgumentError),
        ((math.nan, 1), {}, ArgumentError),
        ((0, math.inf), {}, ArgumentError),
        ((np.float64("nan"), np.float64("nan")), {}, ArgumentError),
        (None, {}, ArgumentTypeError),
        ((0, 1, 2), {}, ArgumentTypeError),
        (("0", "1"), {}, ArgumentTypeError),
        ((False, True), {}, ArgumentTypeError),
        ((0, 1), {"step": 0}, ArgumentError),
        ((0, 1), {"step": -1.0}, ArgumentError),
        ((0, 1), {"step": math.nan}, ArgumentError),
        ((0, 1), {"step": "1"}, ArgumentTypeError),
        ((0.1, 0.9), {"step": 1}, ArgumentError),
        ((0, 1), {"step": 2.0**-62}, ArgumentError),
        ((0, 5e-324), {}, ArgumentError),
        ((datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)), {}, ArgumentTypeError),
        ((0.5, 1.5), {"dtype": "M8[D]"}, ArgumentTypeError),
        ((np.datetime64("2020-01-01T12"), np.datetime64("2021-01-01")), {"dtype": "M8[D]"}, ArgumentError),
        ((np.datetime64("NaT"), np.datetime64("2021-01-01")), {"dtype": "M8[D]"}, ArgumentError),
    ],
    ids=str,
)
def test_what_is_no_grid(bounds: Any, options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Grid(bounds, **options)


def test_as_many_points_as_there_may_be() -> None:
    assert Grid((1, 2**62), step=1).size == 2**62
    with pytest.raises(ArgumentError, match=r"2\*\*62"):
        Grid((0, 2**62), step=1)


def test_values_of_the_wrong_type_are_refused() -> None:
    for values in (np.array(["a"]), np.array([1 + 2j]), np.array(["2020-01-01"], "M8[D]"), np.array([1.0], np.longdouble)):
        with pytest.raises(ArgumentTypeError):
            Grid((0, 1)).snap(values)
    assert Grid((0, 1)).snap(np.zeros(0)).tolist() == []
