"""Tests of the statistical toolbox: its false alarms by simulation, its power on small and crafty deviations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
import stats

ALPHA = 0.01
RUNS = 12_000


def rejects(counts: npt.ArrayLike, law: npt.ArrayLike, alpha: float = 1e-6) -> bool:
    """Whether `assert_law` rejects for its chi-square (any other refusal is an error of the test itself)."""
    try:
        stats.assert_law(counts, law, alpha=alpha)
    except AssertionError as error:
        if "chi-square" not in str(error):
            raise
        return True
    return False


def plausible(rejections: int, runs: int, alpha: float) -> bool:
    """Whether `rejections` out of `runs` agrees with a false-alarm rate within a quarter of `alpha`.

    The chi-square law itself is only asymptotic, hence the quarter; the binomial tails are 1e-6 each.
    """
    low = scipy.stats.binom.ppf(1e-6, runs, 0.75 * alpha)
    high = scipy.stats.binom.isf(1e-6, runs, 1.25 * alpha)
    return bool(low <= rejections <= high)


@pytest.mark.statistical
@pytest.mark.parametrize(
    "law",
    [
        np.full(2, 0.5),
        np.array([0.9, 0.05, 0.03, 0.02]),
        np.full(64, 1 / 64),
        0.9 ** np.arange(200) / np.sum(0.9 ** np.arange(200)),  # the tail is pooled
    ],
    ids=["coin", "skewed", "uniform", "geometric"],
)
def test_size_of_law(law: npt.NDArray[np.float64]) -> None:
    rng = np.random.default_rng(20261130)
    rejections = sum(rejects(rng.multinomial(20_000, law), law, ALPHA) for _ in range(RUNS))
    assert plausible(rejections, RUNS, ALPHA), rejections


@pytest.mark.statistical
def test_size_of_channel() -> None:
    rng = np.random.default_rng(1)
    channel = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    rejections = 0
    for _ in range(RUNS):
        counts = np.stack([rng.multinomial(n, row) for n, row in zip([5000, 100, 0], channel, strict=True)])
        try:
            stats.assert_channel(counts, channel, alpha=ALPHA)
        except AssertionError:
            rejections += 1
    assert plausible(rejections, RUNS, ALPHA), rejections


@pytest.mark.statistical
def test_size_of_independence() -> None:
    rng = np.random.default_rng(2)
    law = np.array([0.6, 0.3, 0.1])
    rejections = 0
    for _ in range(1000):
        column = rng.choice(3, size=2048, p=law)
        try:
            stats.assert_independent(*stats.lagged_pairs(column, 16), law, alpha=ALPHA)
        except AssertionError:
            rejections += 1
    assert plausible(rejections, 1000, ALPHA), rejections


def test_a_size_that_is_wrong_is_noticed() -> None:
    # The control of the three tests above: a threshold for twice alpha, or for a third of it, does not pass as alpha.
    assert not plausible(round(RUNS * 2 * ALPHA), RUNS, ALPHA)
    assert not plausible(round(RUNS * ALPHA / 3), RUNS, ALPHA)


@pytest.mark.statistical
@pytest.mark.parametrize("relative", [0.01, -0.01])
@pytest.mark.parametrize("k", [2, 4, 10])
def test_power_on_one_cell(k: int, relative: float) -> None:
    # One per cent of one cell is seen at n = 10^6 where the non-central law says so, and its figure is right.
    law = np.full(k, 1 / k)
    wrong = law.copy()
    wrong[0] *= 1 + relative
    wrong[1:] *= (1 - wrong[0]) / wrong[1:].sum()
    rng = np.random.default_rng(3)
    n = 1_000_000
    seen = sum(rejects(rng.multinomial(n, wrong), law) for _ in range(200))
    power = stats.power_of_law(law, wrong, n)
    assert scipy.stats.binom.ppf(1e-6, 200, power) <= seen <= scipy.stats.binom.isf(1e-6, 200, power), (seen, power)


@pytest.mark.statistical
def test_power_on_a_moment_preserving_tilt() -> None:
    # Mean, variance and skewness are those of the law: a test of moments would pass.
    law = np.array([1, 4, 6, 4, 1]) / 16
    wrong = law + 0.002 * np.array([1, -4, 6, -4, 1])  # a fourth difference: moments 0 to 3 stay
    support = np.arange(5)
    for moment in range(4):
        assert wrong @ support**moment == pytest.approx(law @ support**moment)
    assert rejects(np.random.default_rng(4).multinomial(1_000_000, wrong), law)
    assert not rejects(np.random.default_rng(4).multinomial(1_000_000, law), law)


def test_a_never_drawn_category_is_seen_though_its_cell_is_pooled() -> None:
    law = np.array([1e-6] * 100 + [1 - 1e-4])
    counts = np.zeros(101, dtype=np.int64)
    counts[-1] = 1_000_000
    assert rejects(counts, law)


def test_dependent_rows_are_seen() -> None:
    rng = np.random.default_rng(5)
    law = np.array([0.6, 0.3, 0.1])
    column = rng.choice(3, size=40_000, p=law)
    stats.assert_independent(*stats.lagged_pairs(column, 4000), law)
    repeated = column.copy()
    repeated[4000:8000] = repeated[:4000]  # one block in ten is used twice
    with pytest.raises(AssertionError, match="chi-square"):
        stats.assert_independent(*stats.lagged_pairs(repeated, 4000), law)


def test_lagged_pairs_use_each_row_once() -> None:
    rows = np.arange(103)
    for lag in (1, 2, 10, 50):
        for offset in (0, 1):
            first, second = stats.lagged_pairs(rows, lag, offset=offset)
            assert np.array_equal(second, first + lag)
            used = np.concatenate([first, second])
            assert np.unique(used).size == used.size
            assert used.size > rows.size - offset - 2 * lag
    with pytest.raises(AssertionError, match="shorter"):
        stats.lagged_pairs(rows, 52)


def test_pooling_keeps_totals_and_reaches_five() -> None:
    rng = np.random.default_rng(6)
    for size in (2, 3, 17, 500):
        for scale in (0.01, 1.0, 30.0):
            expected = rng.exponential(scale, size)
            expected[0] = 40.0
            counts = rng.poisson(expected)
            pooled_counts, pooled = stats.pool(counts, expected)
            assert pooled.sum() == pytest.approx(expected.sum())
            assert pooled_counts.sum() == counts.sum()
            assert pooled.min() >= stats.SMALLEST_EXPECTED


def test_refusals() -> None:
    with pytest.raises(AssertionError, match="counts, not frequencies"):
        stats.assert_law([0.5, 0.5], [0.5, 0.5])
    with pytest.raises(AssertionError, match="counts, not frequencies"):
        stats.assert_channel([[0.5, 0.5]], [[0.5, 0.5]])
    with pytest.raises(AssertionError, match="impossible"):
        stats.assert_law([10, 10, 1], [0.5, 0.5, 0.0])
    with pytest.raises(AssertionError, match="impossible"):
        stats.assert_channel([[20, 1]], [[1.0, 0.0]])
    with pytest.raises(AssertionError, match="too few draws"):
        stats.assert_law([1, 1], [0.5, 0.5])
    with pytest.raises(AssertionError, match="sum to one"):
        stats.assert_law([10, 10], [0.5, 0.4])
    with pytest.raises(AssertionError, match="one probability"):
        stats.assert_law([10, 10], [1.0])


@pytest.mark.statistical
def test_size_and_power_of_moments() -> None:
    rng = np.random.default_rng(5)
    law, n = np.array([0.6, 0.3, 0.1]), 10_000
    mean, covariance = n * law, n * (np.diag(law) - np.outer(law, law))

    def rejected(draws: npt.NDArray[np.float64], alpha: float = 1e-6) -> bool:
        try:
            stats.assert_moments(draws, mean, covariance, alpha=alpha)
        except AssertionError as error:
            assert "chi-square" in str(error)  # noqa: PT017 - any other refusal is an error of the test itself
            return True
        return False

    draws = rng.multinomial(n, law, (4000, 30)).astype(float)
    assert plausible(sum(rejected(each, ALPHA) for each in draws), 4000, ALPHA)
    sample = rng.multinomial(n, law, 300)
    assert not rejected(sample)
    for wrong in (
        rng.multinomial(n, [0.61, 0.29, 0.1], 300),  # another mean
        mean + (sample - mean) * 1.2,  # too far
        mean + (sample - mean) * 0.8,  # too close
    ):
        assert rejected(wrong)
    with pytest.raises(AssertionError, match="a fixed sum"):
        stats.assert_moments(sample + np.eye(3)[0], mean, covariance)
