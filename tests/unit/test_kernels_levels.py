"""Statistics of the user's own: the same levels compiled and plain, right distances, and clear errors."""

from __future__ import annotations

import itertools
import traceback
from typing import Any

import numpy as np
import pytest

from dpfast import ArgumentError, ArgumentTypeError, Stream, duff, kernels

LAST = 4
GRID = duff.Grid((0, LAST), step=1)


def spread(k: Any, y: Any, low: Any, high: Any, last: Any) -> Any:
    n = y.size
    least = (y[high - k] if high - k >= 0 else 0) - (y[low + k] if low + k < n else last)
    most = (y[high + k] if high + k < n else last) - (y[low - k] if low - k >= 0 else 0)
    return max(least, 0), most


def median(k: Any, y: Any, rank: Any, last: Any) -> Any:
    return (y[rank - k] if rank - k >= 0 else 0), (y[rank + k] if rank + k < y.size else last)


def distances(levels: Any) -> list[int]:
    points = np.full(LAST + 1, -1)
    for distance, lower, upper in zip(levels.distance, levels.lower, levels.upper, strict=True):
        points[lower : upper + 1] = distance
    return points.tolist()


@pytest.mark.parametrize("compiled", [True, False])
def test_the_median_in_ones_own_words_is_ours(compiled: bool) -> None:
    statistic = kernels.levels(compiled=compiled)(median)
    for values in ([3], [0, 4], [1, 1, 3], [0, 2, 2, 2, 4], [4, 4, 4, 4]):
        y = np.sort(np.array(values))
        own = statistic.levels(y, (y.size + 1) // 2 - 1, LAST, grid=GRID, most=y.size)
        ours = duff.median_levels(values, bounds=(0, LAST), step=1, neighbours="replace_one")
        assert distances(own) == distances(ours)


def test_the_spread_has_sensitivity_one() -> None:
    statistic = kernels.levels(compiled=False)(spread)
    found = {}
    for values in itertools.combinations_with_replacement(range(LAST + 1), 4):
        found[values] = np.array(distances(statistic.levels(np.array(values), 0, 2, LAST, grid=GRID, most=4)))
        assert found[values][values[2] - values[0]] == 0
        assert (found[values] >= 0).all()
    gaps = []
    for values, place, other in itertools.product(found, range(4), range(LAST + 1)):
        neighbour = tuple(sorted((*values[:place], other, *values[place + 1 :])))
        gaps.append(int(np.abs(found[values] - found[neighbour]).max()))
    assert max(gaps) == 1


def test_intervals_that_grow_at_half_the_pace_are_seen() -> None:
    # the control of the test above
    def halting(k: Any, y: Any) -> Any:
        return median(k // 2, y, 1, LAST)

    statistic = kernels.levels(compiled=False)(halting)
    one, two = (np.array(distances(statistic.levels(np.array(y), grid=GRID, most=9))) for y in ([0, 0, 4], [0, 4, 4]))
    assert np.abs(one - two).max() == 2


def test_a_cap_gives_the_rest_one_distance() -> None:
    y = np.array([0, 1, 2, 3, 4])
    levels = kernels.levels(median).levels(y, 2, LAST, grid=GRID, most=1)
    assert distances(levels) == [2, 1, 0, 1, 2]
    none = kernels.levels(compiled=False)(lambda k, y: (1, 0)).levels(y, grid=GRID, most=3)
    assert distances(none) == [4] * 5


def test_a_first_interval_that_comes_late_is_whole() -> None:
    def late(k: Any) -> Any:
        return (1, 3) if k >= 2 else (1, 0)

    levels = kernels.levels(compiled=False)(late).levels(grid=GRID, most=3)
    assert distances(levels) == [4, 2, 2, 2, 4]


def test_long_runs_of_distances_are_the_same_in_blocks() -> None:
    grid = duff.Grid((0, 1 << 20), step=1)

    def slow(k: Any) -> Any:
        return (1 << 19) - k, (1 << 19) + k // 2

    plain = kernels.levels(compiled=False)(slow).levels(grid=grid, most=200_000)
    fast = kernels.levels(slow).levels(grid=grid, most=200_000)
    for one, other in zip((plain.distance, plain.lower, plain.upper), (fast.distance, fast.lower, fast.upper), strict=True):
        assert np.array_equal(one, other)
    assert int(fast.measure.sum()) == grid.size
    index = np.searchsorted(fast.lower, (1 << 19) - 150_000, side="right") - 1
    assert fast.distance[index] == 150_000


def test_draws_follow_the_levels() -> None:
    y = np.sort(np.tile([1, 2, 2, 3], 50))
    levels = kernels.levels(median).levels(y, 99, LAST, grid=GRID, most=y.size)
    drawn = duff.sample(levels, epsilon=2.0, size=200, rng=Stream.insecure(3))
    assert np.mean(drawn == 2) > 0.99


def not_nested(k: Any) -> Any:
    return k, 4


def fractions(k: Any) -> Any:
    return 0.5, 4.0


def three(k: Any) -> Any:
    return 0, 1, 2


def one_number(k: Any) -> Any:
    return 3


def raises(k: Any) -> Any:
    if k > 1:
        raise ValueError("y")
    return 2, 2


def nowhere(k: Any) -> Any:
    return missing(k), 4  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (not_nested, ArgumentError, "do not nest"),
        (fractions, ArgumentTypeError, "must return two integers"),
        (three, ArgumentTypeError, "must return two integers"),
        (one_number, ArgumentTypeError, "must return two integers"),
        (raises, ArgumentError, "raised ValueError; nothing was drawn"),
        (nowhere, ArgumentError, "does not compile|raised NameError"),
    ],
)
def test_what_is_no_statistic_is_an_error_and_no_other_law(function: Any, error: Any, text: str, compiled: bool) -> None:
    with pytest.raises(error, match=text):
        kernels.levels(compiled=compiled)(function).levels(grid=GRID, most=3)


def test_wrong_use_of_levels_is_explained() -> None:
    with pytest.raises(ArgumentTypeError, match="a plain Python function"):
        kernels.levels(3)
    with pytest.raises(ArgumentTypeError, match="compiled must be"):
        kernels.levels(compiled=1)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match=r"must be a dpfast\.duff\.Grid"):
        kernels.levels(not_nested).levels(grid=(0, 4), most=3)
    with pytest.raises(ArgumentError, match="most"):
        kernels.levels(not_nested).levels(grid=GRID, most=-1)
    assert repr(kernels.levels(median)) == "Statistic(median)"
    assert kernels.levels(median)(0, np.array([5]), 0, 9) == (5, 5)


def tells(k: int, y: Any) -> Any:
    if k > 2:
        raise KeyError(int(y[0]))
    return 2, 2


@pytest.mark.parametrize("compiled", [True, False])
def test_an_error_of_the_function_brings_no_private_cause(compiled: bool) -> None:
    private = np.array([7351])
    with pytest.raises(ArgumentError) as caught:
        kernels.levels(compiled=compiled)(tells).levels(private, grid=GRID, most=3)
    shown = "".join(traceback.format_exception(caught.value))
    assert "KeyError" in shown
    assert "7351" not in shown
