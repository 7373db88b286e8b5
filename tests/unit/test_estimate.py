"""The estimator of true frequencies under randomised response: formulas, degenerate cases, arguments, how it looks."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from numpy.typing import NDArray

from dpfast.channel import SymmetricChannel
from dpfast.errors import ArgumentError, ArgumentTypeError, MissingPackageError
from dpfast.estimate import Estimate, EstimateWarning, estimate_counts
from dpfast.privacy import WORD_RANGE, response_threshold

COUNTS = [520, 260, 130, 90]
T4 = response_threshold(4, 1.0)


def estimate(counts: Any = COUNTS, *, threshold: Any = T4, uniform: bool = False, **changes: Any) -> Estimate:
    arguments: dict[str, Any] = {"values": range(len(counts))} | changes
    channel = SymmetricChannel(max(1, len(arguments["values"])), threshold, uniform)
    return estimate_counts(counts, channel, **arguments)


def matrix(k: int, t: int) -> NDArray[np.float64]:
    p = t / WORD_RANGE
    channel: NDArray[np.float64] = np.full((k, k), p) + (1 - k * p) * np.eye(k)
    return channel


def test_inverse_and_its_standard_errors() -> None:
    found = estimate()
    np.testing.assert_allclose(found.frequency, [1.14853484, 0.28327907, -0.14934882, -0.28246509], atol=1e-8)
    np.testing.assert_allclose(found.standard_error, [0.05257672, 0.04616084, 0.03539178, 0.03011710], atol=1e-8)
    np.testing.assert_allclose(found.count, 1000 * found.frequency)
    assert found.frequency.sum() == pytest.approx(1, abs=1e-12)


def test_published_figures_recomputed_from_epsilon() -> None:
    # p = 1 / (e + 3), from epsilon = 1 itself and not from the table of words.
    p, shares = 1 / (math.e + 3), np.array(COUNTS) / 1000
    g = (math.e - 1) / (math.e + 3)
    assert g == pytest.approx(0.30048918, abs=5e-9)
    np.testing.assert_allclose(estimate().frequency, (shares - p) / g, atol=1e-12)
    np.testing.assert_allclose(estimate().standard_error, np.sqrt(shares * (1 - shares) / 1000) / g, rtol=1e-12)
    # The two largest counts share what the others do not get: mu = 0.78 / (1 + 2 p / g).
    mu = 0.78 / (1 + 2 * p / g)
    np.testing.assert_allclose(estimate(method="mle").frequency, [0.52 / mu - p / g, 0.26 / mu - p / g, 0, 0], atol=1e-12)


def test_inverse_solves_the_channel() -> None:
    for k, epsilon in ((2, 0.1), (3, 2.0), (50, 5.0)):
        t = response_threshold(k, epsilon)
        counts = np.arange(10, 10 + 7 * k, 7)
        solved = np.linalg.solve(matrix(k, t).T, counts / counts.sum())
        np.testing.assert_allclose(estimate(counts, threshold=t).frequency, solved, atol=1e-10)


def test_finite_variance_is_that_of_the_channel() -> None:
    # (1 / (n g^2)) sum over d of pi_d (diag(P_d) - P_d P_d^T), on the diagonal, at an estimate inside the simplex.
    k, n = 5, 10_000
    t = response_threshold(k, 1.5)
    channel = matrix(k, t)
    pi = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    counts = np.rint(n * pi @ channel).astype(int)
    counts[0] += n - counts.sum()
    found = estimate(counts, threshold=t, population=False)
    g = 1 - k * t / WORD_RANGE
    variance = (found.frequency @ (channel * (1 - channel))) / (n * g * g)
    np.testing.assert_allclose(found.standard_error**2, variance, rtol=1e-10)
    assert (found.standard_error < estimate(counts, threshold=t).standard_error).all()


def test_population_interval_is_wilson_of_the_observed_share() -> None:
    g = 1 - 4 * T4 / WORD_RANGE
    for level in (0.5, 0.95, 0.999):
        found = estimate([400, 300, 200, 150], confidence=level)
        for category, count in enumerate([400, 300, 200, 150]):
            wilson = scipy.stats.binomtest(count, 1050).proportion_ci(level, method="wilson")
            expected = [np.clip((end - T4 / WORD_RANGE) / g, 0, 1) for end in (wilson.low, wilson.high)]
            np.testing.assert_allclose(found.interval[category], expected, atol=1e-10)


def test_interval_of_these_rows_solves_its_equation() -> None:
    # (estimate - x)^2 = z^2 [x m p (1 - m p) + (1 - x) p (1 - p)] / (n g^2) at both ends that are not clipped.
    counts, m = np.array([400, 300, 250, 230]), 3
    found = estimate(counts, population=False)
    n, p, z = counts.sum(), T4 / WORD_RANGE, scipy.stats.norm.isf(0.025)
    g = 1 - 4 * p
    inside = (found.interval > 0) & (found.interval < 1)
    assert inside.sum() >= 6
    for end in (0, 1):
        x = found.interval[:, end]
        variance = (x * m * p * (1 - m * p) + (1 - x) * p * (1 - p)) / (n * g * g)
        np.testing.assert_allclose(((found.frequency - x) ** 2 / variance)[inside[:, end]], z * z, rtol=1e-9)
    assert "these rows" in found.interval_method


def test_simultaneous_intervals_share_the_error_among_the_categories() -> None:
    for population in (True, False):
        together = estimate(simultaneous=True, population=population)
        alone = estimate(confidence=1 - 0.05 / 4, population=population)
        np.testing.assert_allclose(together.interval, alone.interval, atol=1e-12)
        assert together.confidence == 0.95
        np.testing.assert_array_equal(together.standard_error, alone.standard_error)


def test_intervals_of_no_observation_are_not_points() -> None:
    # 0 of 20 rows: the standard error is 0 and says nothing; the interval still has an upper end.
    found = estimate([20, 0], threshold=response_threshold(2, 8.0))
    assert found.standard_error[1] == 0
    assert 0.1 < found.interval[1, 1] < 0.3


@pytest.mark.parametrize(
    "changes",
    [
        {"counts": [0, 0, 0]},
        {"threshold": response_threshold(3, 0.0), "uniform": True},
        {"counts": [3, 2, 1, 1], "threshold": 2**62},
    ],
    ids=["no rows", "uniform", "uniform without remainder"],
)
def test_nothing_to_estimate(changes: dict[str, Any]) -> None:
    with pytest.warns(EstimateWarning, match=r"^nothing can be estimated: ") as caught:
        found = estimate(**({"counts": [3, 2, 1]} | changes))
    assert len(caught) == 1
    assert not any(character.isdigit() and character not in "01" for character in str(caught[0].message))
    assert caught[0].filename == __file__
    k = len(found.values)
    assert np.isnan(found.frequency).all()
    assert np.isnan(found.count).all()
    assert np.isinf(found.standard_error).all()
    assert found.interval.tolist() == [[0, 1]] * k


def test_one_category_needs_no_data() -> None:
    for counts, uniform in (([7], True), ([0], True), ([7], False)):
        found = estimate(counts, threshold=2**64, uniform=uniform)
        assert found.frequency.tolist() == [1]
        assert found.count.tolist() == counts
        assert found.standard_error.tolist() == [0]
        assert found.interval.tolist() == [[1, 1]]


def test_tiny_epsilon_gives_a_wide_but_finite_estimate() -> None:
    found = estimate([51, 50], threshold=response_threshold(2, 1e-6))
    assert np.isfinite(found.frequency).all()
    assert found.standard_error.min() > 1e4
    assert found.interval.tolist() == [[0, 1], [0, 1]]


def test_huge_counts() -> None:
    counts = np.array([2**60, 2**60, 2**59, 2**59], dtype=np.uint64)
    found = estimate(counts)
    shares = np.array([1 / 3, 1 / 3, 1 / 6, 1 / 6])
    np.testing.assert_allclose(found.frequency, (shares - T4 / WORD_RANGE) / (1 - 4 * T4 / WORD_RANGE), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, ">i4", object])
def test_any_integers_are_counts(dtype: Any) -> None:
    if dtype is object:
        with pytest.raises(ArgumentTypeError, match="integers"):
            estimate(np.array([60, 40], dtype=object))
    else:
        np.testing.assert_array_equal(estimate(np.array([60, 40], dtype=dtype)).frequency, estimate([60, 40]).frequency)


@pytest.mark.parametrize(
    "changes",
    [
        {"counts": [1, -1]},
        {"counts": [1, 2, 3], "values": ("a", "b")},
        {"counts": [], "values": ()},
        {"counts": [2**63 - 1, 1]},
        {"counts": [2**61, 2**61]},
        {"counts": np.array([2**63, 2**63], dtype=np.uint64)},
        {"threshold": 2**63 + 1},
        {"threshold": 2**64 + 1, "uniform": True},
        {"threshold": -1},
        {"method": "guess"},
        {"method": None},
        {"interval": "wald"},
        {"interval": None},
        {"tolerance": 0},
        {"tolerance": 1.0},
        {"tolerance": math.nan},
        {"max_iterations": 0},
        {"confidence": 0},
        {"confidence": 1.0},
        {"confidence": -0.5},
        {"confidence": math.nan},
        {"confidence": math.inf},
    ],
    ids=str,
)
def test_values_out_of_range_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        estimate(**({"counts": [60, 40]} | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"counts": [0.5, 1.5]},
        {"counts": [True, False]},
        {"counts": ["1", "2"]},
        {"counts": [[1, 2]], "values": (0,)},
        {"threshold": 1.0},
        {"confidence": "0.95"},
        {"confidence": None},
        {"confidence": True},
        {"tolerance": "small"},
        {"max_iterations": 10.0},
    ],
    ids=str,
)
def test_wrong_types_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ArgumentTypeError):
        estimate(**({"counts": [60, 40]} | changes))


def test_a_refused_choice_is_told_what_exists() -> None:
    with pytest.raises(ArgumentError, match=r"^method must be one of 'inverse', 'mle', 'em'$"):
        estimate(method="guess")
    with pytest.raises(ArgumentError, match=r"^interval must be one of 'wilson', 'clopper_pearson'$"):
        estimate(interval="guess")


def test_the_channel_must_be_that_of_the_values() -> None:
    with pytest.raises(ArgumentError, match="one row for each category"):
        estimate_counts([1, 2], SymmetricChannel(3, T4), values="ab")


def test_to_arrow() -> None:
    import pyarrow as pa

    found = estimate([60, 40, 10], values=("a", None, "b"), confidence=0.9)
    table = found.to_arrow()
    assert table.column_names == ["value", "frequency", "count", "standard_error", "lower", "upper"]
    assert table["value"].to_pylist() == ["a", None, "b"]
    assert table.schema.types[1:] == [pa.float64()] * 5
    assert table["upper"].to_pylist() == found.interval[:, 1].tolist()
    assert estimate([60, 40]).to_arrow()["value"].type == pa.int64()
    with pytest.raises(ArgumentTypeError, match="common Arrow type"):
        estimate([60, 40], values=("a", 1)).to_arrow()


def test_to_pandas() -> None:
    frame = estimate([60, 40, 10], values=(7, None, 9)).to_pandas()
    assert frame["value"].tolist() == [7, None, 9]
    assert frame.columns.tolist() == ["value", "frequency", "count", "standard_error", "lower", "upper"]


def test_to_pandas_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def without_pandas(name: str, *arguments: Any) -> Any:
        if name.split(".")[0] == "pandas":
            raise ImportError(name)
        return real_import(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(MissingPackageError, match=r"pip install \"dpfast\[pandas\]\""):
        estimate().to_pandas()


def test_an_estimate_is_read_only_and_says_how_it_was_made() -> None:
    found = estimate()
    with pytest.raises(ValueError, match="read-only"):
        found.frequency[0] = 0
    with pytest.raises(AttributeError):
        found.confidence = 0.5  # type: ignore[misc]
    assert found.values == range(4)
    assert estimate(values=list("abcd")).values == ("a", "b", "c", "d")
    assert (found.method, found.population, found.simultaneous, found.converged) == ("inverse", True, False, True)
    assert found.interval_method == "Wilson for the answered share, mapped by the inverse; clipped to [0, 1]"
    assert found.condition == pytest.approx(np.linalg.cond(matrix(4, T4), 1))


def test_an_estimate_prints_as_a_table() -> None:
    lines = repr(estimate(values=("a", None, "\x1b[31m", "d"), population=False, simultaneous=True)).splitlines()
    assert lines[0].split() == ["value", "frequency", "error", "95", "%", "interval"]
    assert lines[1].split()[:2] == ["a", "1.1485"]
    assert [line.split()[0] for line in lines[2:4]] == ["(null)", "'\\x1b[31m'"]
    assert lines[-1] == "(method 'inverse', about these rows, intervals hold together)"
    assert len(lines) == 6
    long = repr(estimate(np.arange(1, 101), threshold=response_threshold(100, 1.0))).splitlines()
    assert (len(long), long[-2]) == (23, "... and 80 more")
    with pytest.warns(EstimateWarning):
        empty = estimate([0, 0])
    assert repr(empty).splitlines()[1].split() == ["0", "-", "-", "0.0000", "to", "1.0000"]
