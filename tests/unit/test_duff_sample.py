"""Levels, draws from them and the race as users call them: arguments, shapes, streams, and inputs that broke others."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from duff_cases import TapeWords, dense

import dpfast
from dpfast import ArgumentError, ArgumentTypeError, Domain, Stream, duff, race, race_slack
from dpfast.duff.sampling import draw_indices
from dpfast.duff.weights import Weights

LEVELS = duff.Levels([2, 1, 0, 1], [0, 40, 50, 51], [39, 49, 50, 99], step=1)
SAMPLERS = ["race", "sum"]
TOP = (1 << 64) - 1


def test_levels_come_sorted_and_stay_as_they_are() -> None:
    given = np.array([5, 0])
    levels = duff.Levels([1, 0], given, [9, 4], step=0.5, origin=-3)
    given[:] = 0
    assert levels.lower.tolist() == [0, 5]
    assert levels.distance.tolist() == [0, 1]
    assert levels.measure.tolist() == [5, 5]
    assert levels.value(0) == -1.5
    assert len(levels) == 2
    with pytest.raises(ValueError, match="read-only"):
        levels.distance[0] = 3
    for again in (pickle.loads(pickle.dumps(levels)), copy.deepcopy(levels)):
        assert again.lower.tolist() == [0, 5]
        assert (again.step, again.origin) == (0.5, -3)


def test_repr_shows_no_data() -> None:
    levels = duff.median_levels([123456, 7654321], bounds=(0, 10**7), neighbours="add_remove")
    assert repr(levels) == "<dpfast.duff.Levels of 5 entries, step 1>"


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        (([0], [0], [0, 1]), {}, ArgumentError),
        (([], [], []), {}, ArgumentError),
        (([-1], [0], [0]), {}, ArgumentError),
        (([0], [1], [0]), {}, ArgumentError),
        (([0, 1], [0, 3], [3, 4]), {}, ArgumentError),
        (([0, 1], [0, 0], [3, 4]), {}, ArgumentError),
        (([0], [0], [2**62]), {}, ArgumentError),
        (([0], [-(2**63)], [2**63 - 1]), {}, ArgumentError),
        (([0], [-1], [2**63 - 2]), {}, ArgumentError),
        (([0, 0, 0], [-(2**63), -(2**61), 2**62], [-(2**61) - 1, 2**62 - 1, 2**63 - 1]), {}, ArgumentError),
        (([[0]], [[0]], [[0]]), {}, ArgumentError),
        ((np.array([2**63], np.uint64), [0], [0]), {}, ArgumentError),
        (([0.0], [0], [0]), {}, ArgumentTypeError),
        (([True], [0], [0]), {}, ArgumentTypeError),
        (([0], [0], [0]), {"step": 0}, ArgumentError),
        (([0], [0], [0]), {"origin": 1.0}, ArgumentTypeError),
        (([0], [0], [10**9]), {"step": 1e300}, ArgumentError),  # beyond the largest double
        (([0], [-1], [0]), {"step": 0.5, "origin": -(10**400)}, ArgumentError),
    ],
    ids=str,
)
def test_what_are_no_levels(arguments: Any, options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        duff.Levels(*arguments, **{"step": 1, **options})
    assert duff.Levels([0], [1], [2**62], step=1).measure.tolist() == [2**62]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_shapes_and_types(sampler: str) -> None:
    def draw(levels: duff.Levels, size: Any) -> Any:
        return duff.sample(levels, epsilon=1.0, size=size, sampler=sampler, rng=Stream.insecure(1))

    assert type(draw(LEVELS, None)) is int
    many = draw(LEVELS, (3, 4))
    assert many.shape == (3, 4)
    assert many.dtype == np.int64
    assert draw(LEVELS, 0).shape == (0,)
    halves = duff.Levels([0], [0], [9], step=0.5, origin=10**30)
    assert type(draw(halves, None)) is float
    assert draw(halves, 3).dtype == np.float64
    large = duff.Levels([0], [0], [9], step=1, origin=10**30)
    assert draw(large, 2).tolist()[0] in range(10**30, 10**30 + 10)
    assert (draw(halves, 0).dtype, draw(large, 0).shape) == (np.float64, (0,))
    assert draw(duff.Levels([0], [0], [0], step=1 << 70), 2).tolist() == [0, 0]
    assert draw(duff.Levels([0], [0], [0], step=1e300), 2).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"epsilon": -1.0}, ArgumentError),
        ({"epsilon": math.inf}, ArgumentError),
        ({"epsilon": math.nan}, ArgumentError),
        ({"epsilon": "1"}, ArgumentTypeError),
        ({"epsilon": True}, ArgumentTypeError),
        ({"size": -1}, ArgumentError),
        ({"size": 1.0}, ArgumentTypeError),
        ({"sampler": "inverse"}, ArgumentError),
        ({"rng": np.random.PCG64}, ArgumentTypeError),
        ({"levels": [1, 2]}, ArgumentTypeError),
    ],
    ids=str,
)
def test_arguments_of_sample_that_are_refused(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        duff.sample(**{"levels": LEVELS, "epsilon": 1.0, **options})


def test_a_keyed_stream_repeats_what_is_named_alike(key: bytes) -> None:
    def draws(column: Any, **options: Any) -> list[int]:
        stream = Stream(key=key, context="release")
        found: list[int] = duff.sample(LEVELS, size=20, rng=stream, column_name=column, **{"epsilon": 1.0, **options}).tolist()
        return found

    first = draws("delay")
    assert draws("delay") == first
    others = [draws("age"), draws(("delay", "origin")), draws("delay", epsilon=1.1), draws("delay", sampler="sum")]
    assert len({tuple(other) for other in [first, *others]}) == 5
    with pytest.raises(ArgumentTypeError, match="column_name"):
        draws(None)
    stream = Stream(key=key, context="release")
    twice = [duff.sample(LEVELS, epsilon=1.0, size=20, rng=stream, column_name="delay").tolist() for _ in range(2)]
    assert twice[0] == first != twice[1]
    with pytest.raises(ArgumentTypeError, match="column_name"):
        race([0.0, 0.0], rng=Stream(key=key, context="release"))


def test_the_words_of_a_version_are_frozen() -> None:
    def stream() -> Stream:
        return Stream.insecure(11)

    assert duff.sample(LEVELS, epsilon=1.0, size=8, rng=stream()).tolist() == [90, 29, 45, 45, 92, 8, 64, 70]
    assert duff.sample(LEVELS, epsilon=1.0, size=8, sampler="sum", rng=stream()).tolist() == [8, 71, 99, 81, 52, 91, 60, 1]
    assert race(np.arange(6.0), size=8, rng=stream()).tolist() == [2, 5, 5, 5, 4, 4, 2, 4]
    assert race(np.arange(9000) % 7.0, size=5, rng=stream()).tolist() == [2498, 4304, 5739, 6859, 2246]


def test_log_probabilities_are_the_law() -> None:
    masses = [int(m) * int(w) for m, w in zip(LEVELS.measure, Weights(2.0).of(LEVELS.distance), strict=True)]
    expected = [mass / sum(masses) for mass in masses]
    assert np.allclose(np.exp(duff.log_probabilities(LEVELS, epsilon=2.0)), expected, rtol=1e-13, atol=0)
    sure = duff.Levels([0, 3], [0, 2**50], [2**50 - 1, 2**50], step=1)
    logs = duff.log_probabilities(sure, epsilon=8.0)
    assert math.isclose(logs[0], -math.exp(-12) / 2**50, rel_tol=1e-9)
    assert math.isclose(logs[1], -12 - 50 * math.log(2), rel_tol=1e-12)


@pytest.mark.parametrize("n", [2, 10, 5000])
def test_every_index_of_a_race_is_valid(n: int) -> None:
    logs = np.zeros(n)
    found = race(logs, size=50, rng=Stream.insecure(2))
    assert found.min() >= 0
    assert found.max() < n
    assert type(race(logs)) is int
    logs[:-1] = -math.inf
    assert race(logs, size=(2, 2)).tolist() == [[n - 1] * 2] * 2


@pytest.mark.parametrize("n", [3, 9000])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.uint8, ">f8"])
def test_races_of_other_types_and_strides_are_those_of_doubles(dtype: Any, n: int) -> None:
    logs = (np.arange(2 * n) % 7).astype(dtype)[::2]
    wanted = race(logs.astype(np.float64), size=5, rng=Stream.insecure(3))
    assert race(logs, size=5, rng=Stream.insecure(3)).tolist() == wanted.tolist()
    if n == 3:
        assert race(logs.tolist(), size=5, rng=Stream.insecure(3)).tolist() == wanted.tolist()


def test_a_mapped_file_races(tmp_path: Any) -> None:
    np.save(tmp_path / "logs.npy", np.arange(3_000_000) % 5.0)
    mapped = np.load(tmp_path / "logs.npy", mmap_mode="r")
    assert race(mapped, rng=Stream.insecure(4)) == race(np.array(mapped), rng=Stream.insecure(4))


@pytest.mark.parametrize("n", [3, 9000])
def test_log_weights_that_are_refused(n: int) -> None:
    for value in (math.nan, math.inf):
        with pytest.raises(ArgumentError, match="below infinity"):
            race([0.0] * (n - 1) + [value])
    with pytest.raises(ArgumentError, match="minus infinity"):
        race([-math.inf] * n)
    for odd in (["a"] * n, [1j] * n, [True] * n):
        with pytest.raises(ArgumentTypeError):
            race(odd)
    for wrong in ([], [[0.0] * n]):
        with pytest.raises(ArgumentError):
            race(wrong)


def test_the_slack_of_a_race() -> None:
    assert race_slack(1) == 0.0
    assert 0 < race_slack(10**8) < 1e-300
    with pytest.raises(ArgumentError):
        race_slack(0)


def median(values: Any, bounds: Any, epsilon: float, **options: Any) -> Any:
    levels = duff.median_levels(values, bounds=bounds, neighbours="add_remove", **options)
    return duff.sample(levels, epsilon=epsilon, rng=Stream.insecure(5))


@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 0.5, 1.0, 1000.0])
def test_many_equal_values_at_the_median(epsilon: float) -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([np.full(80_000, 65_000), rng.integers(0, 500_000, 20_000)])
    found = median(values, (0, 500_000), epsilon)
    assert found == 65_000 or epsilon < 0.3
    assert 0 <= found <= 500_000
    assert median(np.full(1000, 7.5), (0.0, 100.0), max(epsilon, 0.3), step=0.5) == 7.5


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_ties_weigh_what_they_should(share: float) -> None:
    n = 1000
    values = np.concatenate([np.full(int(share * n), 300), np.arange(n - int(share * n))])
    levels = duff.median_levels(values, bounds=(0, 999), neighbours="add_remove")
    true = int(np.sort(values)[(n + 1) // 2 - 1])
    assert dense(levels, 1000)[true] == 0
    logs = duff.log_probabilities(levels, epsilon=2.0)
    assert abs(math.fsum(np.exp(logs)) - 1) < 1e-12


@pytest.mark.parametrize("zeros", [1491, 1492])
def test_one_row_more_does_not_decide_whether_there_is_an_answer(zeros: int) -> None:
    assert median([0] * zeros + [1], (0, 1), 1.0) in (0, 1)
    assert median([0] * zeros + [1], (0.0, 1.0), 1.0) >= 0.0


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("rows", [[], [3], [3, 9]])
def test_extreme_words_give_valid_indices(rows: list[int], sampler: str) -> None:
    levels = duff.median_levels(np.array(rows, np.int64), bounds=(0, 9), neighbours="add_remove")
    weights = Weights(1.0).of(levels.distance)
    for word in (0, TOP, 1, 1 << 63):
        for single in range(len(levels) + 1):  # every entry, or one of them, has the odd word
            first = [word] * (len(levels) + 1) if single == len(levels) else [1 << 60] * single + [word] + [1 << 60] * len(levels)
            found = draw_indices(levels, weights, TapeWords(first), 1, sampler)
            assert 0 <= int(found[0]) <= 9


@pytest.mark.parametrize(
    ("values", "bounds", "wanted"),
    [
        (np.array([32767, -1], np.int16), (-(2**15), 2**15 - 1), -1),
        (np.array([-128, 127, 127], np.int8), (-128, 127), 127),
        (np.array([2**63 - 1, -(2**63), 2**63 - 1], np.int64), (2**63 - 2**40, 2**63 - 1), 2**63 - 1),
        (np.array([2**64 - 1, 2**63 + 1, 2**64 - 1], np.uint64), (2**64 - 2**40, 2**64 - 1), 2**64 - 1),
    ],
    ids=str,
)
def test_integers_at_the_ends_of_their_types(values: Any, bounds: Any, wanted: int) -> None:
    assert median(values, bounds, 1000.0) == wanted


def test_sums_of_means_do_not_wrap() -> None:
    # five millions of rows would pass 2^31 and 2^63 long before: the levels of few large rows are those of few small ones
    small = duff.mean_levels(np.array([1, 2, 4, 8, 9]), bounds=(0, 10), step=1, neighbours="add_remove")
    unit = 2**58
    large = duff.mean_levels(np.array([1, 2, 4, 8, 9]) * unit, bounds=(0, 10 * unit), step=unit, neighbours="add_remove")
    assert dense(large, 11) == dense(small, 11)
    narrow = duff.mean_levels(np.full(1000, 100, np.int8), bounds=(0, 2**40), step=1, neighbours="replace_one")
    assert narrow.lower[narrow.distance == 0].tolist() == [100]


def test_missing_values() -> None:
    def found(values: Any, neighbours: str, **options: Any) -> list[int]:
        return dense(duff.median_levels(values, bounds=(0, 4), step=1, neighbours=neighbours, **options), 5)  # type: ignore[arg-type]

    for gappy in ([1.0, None, 3.0, 3.0], np.array([1.0, math.nan, 3.0, 3.0]), np.array([1, None, 3, 3], object)):
        assert found(gappy, "add_remove") == found([1, 3, 3], "add_remove")
        assert found(gappy, "replace_one") == found([0, 1, 3, 3], "replace_one")
        assert found(gappy, "replace_one", missing=4) == found([1, 3, 3, 4], "replace_one")
    assert found([math.inf, -math.inf, 9.0], "add_remove") == found([4, 0, 4], "add_remove")
    assert found(np.array([], np.float64), "add_remove") == [1] * 5


def test_the_grid_never_depends_on_what_a_list_holds() -> None:
    for rows in ([], [1], [1.5], [None], [1, 2.5]):
        for bounds, step in (((0, 4), 1), ((0.0, 4.0), 2.0**-18)):
            assert duff.median_levels(rows, bounds=bounds, neighbours="add_remove").step == step
    exact = [np.uint64(2**63 + 2), np.int8(-1), 2**63 + 2, 10**400]  # as doubles two of these would be 2^63
    assert median(exact, (2**63, 2**63 + 4), 1000.0) == 2**63 + 2


def test_columns_of_other_libraries() -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    wanted = dense(duff.median_levels([1, 3, 3], bounds=(0, 4), neighbours="add_remove"), 5)
    columns = [
        pa.array([1, None, 3, 3]),
        pa.chunked_array([[1], [None, 3, 3]], pa.int16()),
        pd.Series([1, None, 3, 3], dtype="Int32"),
    ]
    for column in [*columns, pl.Series([1, None, 3, 3]), pl.Series([1.0, None, 3.0, 3.0]), pa.array([1.0, math.nan, 3.0, 3.0])]:
        assert dense(duff.median_levels(column, bounds=(0, 4), step=1, neighbours="add_remove"), 5) == wanted
    dates = pa.array([1, None, 3, 3], pa.int32()).cast(pa.date32())
    assert dense(duff.median_levels(dates, bounds=(0, 4), neighbours="add_remove"), 5) == wanted


@pytest.mark.parametrize(
    "call",
    [
        lambda: duff.median_levels([1.0], neighbours="add_remove"),  # type: ignore[call-arg]
        lambda: duff.median_levels([1.0], bounds=(math.nan, math.nan), neighbours="add_remove"),
        lambda: duff.median_levels([1.0], bounds=(0, 1), neighbours="swap"),  # type: ignore[arg-type]
        lambda: duff.median_levels([[1.0]], bounds=(0, 1), neighbours="add_remove"),
        lambda: duff.median_levels(["a"], bounds=(0, 1), neighbours="add_remove"),  # type: ignore[list-item]
        lambda: duff.median_levels(3, bounds=(0, 1), neighbours="add_remove"),  # type: ignore[arg-type]
        lambda: duff.quantile_levels([1.0], 1.5, bounds=(0, 1), neighbours="add_remove"),
        lambda: duff.quantile_levels([1.0], math.nan, bounds=(0, 1), neighbours="add_remove"),
        lambda: duff.quantile_levels([1.0], "half", bounds=(0, 1), neighbours="add_remove"),
        lambda: duff.quantile_levels([1.0], True, bounds=(0, 1), neighbours="add_remove"),
        lambda: duff.mode_levels([1], domain={1, 2}, neighbours="add_remove"),  # type: ignore[arg-type]
        lambda: duff.mode_levels([1], domain=Domain([1, 2]), neighbours="swap"),  # type: ignore[arg-type]
    ],
)
def test_arguments_of_statistics_that_are_refused(call: Any) -> None:
    with pytest.raises((ArgumentError, TypeError)) as caught:
        call()
    assert isinstance(caught.value, dpfast.DpfastError) or "missing 1 required" in str(caught.value)


def test_values_outside_the_domain_are_not_counted() -> None:
    levels = duff.mode_levels(["b", "z", "z", "b", "a", None], domain=Domain(["a", "b", "c"]), neighbours="replace_one")
    assert dense(levels, 3) == [1, 0, 2]
    other = duff.mode_levels(["b", "z", "z", "b", "y"], domain=Domain(["a", "b", "c"], other="c"), neighbours="replace_one")
    assert dense(other, 3) == [3, 1, 0]
