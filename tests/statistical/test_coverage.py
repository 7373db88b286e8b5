"""Intervals hold the truth as often as they say: by simulation with fixed seeds, and exactly for small tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
from numpy.typing import NDArray

from dpfast._estimate_core import Options, fit
from dpfast.channel import Channel, MatrixChannel, SymmetricChannel
from dpfast.crosstab import crosstab
from dpfast.estimate import Estimate, estimate_counts
from dpfast.privacy import response_threshold

pytestmark = pytest.mark.statistical

TRIALS = 12_000
# One point, as promised, of which four standard deviations of a share of 0.95 among the trials are 0.8.
SLACK = 0.01
assert 4 * math.sqrt(0.95 * 0.05 / TRIALS) < SLACK

UNEVEN = np.array([[0.7, 0.2, 0.1, 0.0], [0.15, 0.6, 0.2, 0.05], [0.05, 0.25, 0.6, 0.1], [0.02, 0.08, 0.3, 0.6]])
# Shares and rows: ordinary ones, and one with a rare category.
TABLES = {"common": (np.array([0.5, 0.3, 0.15, 0.05]), 2_000), "rare": (np.array([0.9, 0.09, 0.0095, 0.0005]), 20_000)}


def symmetric(epsilon: float) -> SymmetricChannel:
    return SymmetricChannel(4, response_threshold(4, epsilon))


def simulated(channel: Channel, pi: NDArray[np.float64], n: int, population: bool, seed: int) -> NDArray[np.int64]:
    """Sanitised counts of many tables: drawn anew from pi each time, or one table sanitised again and again."""
    rng = np.random.default_rng(seed)
    matrix = channel.matrix / channel.matrix.sum(axis=1, keepdims=True)
    if population:
        return rng.multinomial(n, pi @ matrix, size=TRIALS)
    table = np.rint(n * pi).astype(int)
    assert (table == n * pi).all()
    draws: NDArray[np.int64] = np.sum(
        [rng.multinomial(rows, row, size=TRIALS) for rows, row in zip(table, matrix, strict=True)], 0
    )
    return draws


def coverage(draws: NDArray[np.int64], channel: Channel, pi: NDArray[np.float64], **options: Any) -> tuple[Any, float]:
    """Share of the trials in which each interval, and all of them, hold the true shares."""
    chosen = Options(**options)
    intervals = np.stack([fit(counts, [channel], chosen).interval for counts in draws])
    held = (intervals[..., 0] <= pi) & (intervals[..., 1] >= pi)
    return held.mean(axis=0), float(held.all(axis=1).mean())


@pytest.mark.parametrize("population", [True, False], ids=["population", "these rows"])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 5.0])
def test_score_intervals_cover_at_their_level(epsilon: float, table: str, population: bool) -> None:
    channel, (pi, n) = symmetric(epsilon), TABLES[table]
    assert (n * channel.answer(pi)).min() >= 50
    each, _ = coverage(simulated(channel, pi, n, population, 1), channel, pi, population=population)
    assert (abs(each - 0.95) < SLACK).all(), each


@pytest.mark.parametrize("population", [True, False], ids=["population", "these rows"])
def test_intervals_of_a_matrix_cover_at_their_level(population: bool) -> None:
    channel, (pi, n) = MatrixChannel(UNEVEN), TABLES["common"]
    each, _ = coverage(simulated(channel, pi, n, population, 2), channel, pi, population=population)
    assert (abs(each - 0.95) < SLACK).all(), each


@pytest.mark.parametrize("population", [True, False], ids=["population", "these rows"])
def test_simultaneous_intervals_cover_together(population: bool) -> None:
    channel, (pi, n) = symmetric(1.0), TABLES["common"]
    draws = simulated(channel, pi, n, population, 3)
    each, every = coverage(draws, channel, pi, population=population, simultaneous=True)
    assert every > 0.95 - SLACK
    assert (each > 0.98).all()
    _, alone = coverage(draws, channel, pi, population=population)
    assert alone < 0.95 - SLACK


# The controls: what must not pass for a level of 95 points within one.


def test_errors_of_these_rows_do_not_cover_a_population() -> None:
    channel, (pi, n) = symmetric(5.0), TABLES["common"]
    each, _ = coverage(simulated(channel, pi, n, True, 4), channel, pi, population=False)
    assert (each < 0.95 - SLACK).all(), each


def test_errors_of_a_population_cover_these_rows_too_often() -> None:
    for channel in (symmetric(5.0), MatrixChannel(UNEVEN)):
        pi, n = TABLES["common"]
        each, _ = coverage(simulated(channel, pi, n, False, 5), channel, pi, population=True)
        assert (each > 0.95 + SLACK).any(), each


def test_a_wrong_gap_does_not_cover() -> None:
    # epsilon 1.05 for 1: g is 7 % too large.
    channel, (pi, n) = symmetric(1.0), TABLES["common"]
    each, _ = coverage(simulated(channel, pi, 10 * n, True, 6), symmetric(1.05), pi)
    assert each[0] < 0.95 - SLACK


def exact_coverage(channel: SymmetricChannel, n: int, interval: str, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coverage of the first of two categories, from the binomial law of its count: no simulation."""
    ends = np.stack([estimate_counts([c, n - c], channel, values="ab", interval=interval).interval[0] for c in range(n + 1)])
    held = (ends[:, 0] <= shares[:, None]) & (shares[:, None] <= ends[:, 1])
    law = scipy.stats.binom.pmf(np.arange(n + 1), n, channel.answer(np.stack([shares, 1 - shares], axis=1))[:, :1])
    result: NDArray[np.float64] = (held * law).sum(axis=1)
    return result


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_clopper_pearson_covers_at_least_at_its_level(epsilon: float) -> None:
    channel, shares = SymmetricChannel(2, response_threshold(2, epsilon)), np.linspace(0, 1, 401)
    assert exact_coverage(channel, 60, "clopper_pearson", shares).min() >= 0.95 - 1e-9
    # The control: score intervals are right on average and not for every share.
    wilson = exact_coverage(channel, 60, "wilson", shares)
    assert wilson.min() < 0.95
    assert abs(wilson[20:-20].mean() - 0.95) < 0.02


def test_clopper_pearson_covers_these_rows_too() -> None:
    # A sum of two binomials: rows of the category that stay, others that come.
    channel, n = SymmetricChannel(2, response_threshold(2, 1.0)), 60
    stay, come = 1 - channel.p, channel.p
    ends = np.stack(
        [estimate_counts([c, n - c], channel, values="ab", interval="clopper_pearson").interval[0] for c in range(n + 1)]
    )
    for rows in range(n + 1):
        law = np.convolve(
            scipy.stats.binom.pmf(np.arange(rows + 1), rows, stay), scipy.stats.binom.pmf(np.arange(n - rows + 1), n - rows, come)
        )
        held = (ends[:, 0] <= rows / n) & (rows / n <= ends[:, 1])
        assert law[held].sum() >= 0.95


@pytest.mark.parametrize("population", [True, False])
@pytest.mark.parametrize("make", [lambda: symmetric(1.0), lambda: MatrixChannel(UNEVEN)], ids=["symmetric", "matrix"])
def test_the_estimate_is_unbiased_with_the_stated_error(make: Callable[[], Channel], population: bool) -> None:
    channel, (pi, n) = make(), TABLES["common"]
    found: list[Estimate] = [
        estimate_counts(counts, channel, values=range(4), population=population)
        for counts in simulated(channel, pi, n, population, 7)[:4000]
    ]
    values = np.stack([one.frequency for one in found])
    error = np.sqrt(np.mean([one.standard_error**2 for one in found], axis=0))
    assert (abs(values.mean(axis=0) - pi) < 5 * error / math.sqrt(4000)).all()
    # The standard deviation of 4,000 normal draws is known to 1.1 %; five times that.
    np.testing.assert_allclose(values.std(axis=0), error, rtol=0.056)


JOINT = np.array([[0.3, 0.1, 0.05, 0.05], [0.05, 0.25, 0.1, 0.1]])


@pytest.mark.parametrize("population", [True, False], ids=["population", "these rows"])
def test_a_crosstab_covers_its_cells_and_margins(population: bool) -> None:
    first, second, n, trials = SymmetricChannel(2, response_threshold(2, 1.5)), MatrixChannel(UNEVEN), 4_000, 6_000
    matrix = np.kron(first.matrix, second.matrix)
    matrix /= matrix.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(8)
    if population:
        draws = rng.multinomial(n, JOINT.ravel() @ matrix, size=trials)
    else:
        table = np.rint(n * JOINT.ravel()).astype(int)
        draws = np.sum([rng.multinomial(rows, row, size=trials) for rows, row in zip(table, matrix, strict=True)], axis=0)

    def held(tabs: list[Any], truth: NDArray[np.float64]) -> Any:
        intervals = np.stack([one.interval for one in tabs])
        return ((intervals[..., 0] <= truth) & (truth <= intervals[..., 1])).mean(axis=0)

    tabs = [crosstab(counts.reshape(2, 4), [first, second], population=population) for counts in draws]
    slack = 4 * math.sqrt(0.95 * 0.05 / trials) + 0.002
    assert (abs(held(tabs, JOINT) - 0.95) < slack).all()
    assert (abs(held([tab.margins["column_2"] for tab in tabs], JOINT.sum(axis=0)) - 0.95) < slack).all()
    # The control: columns taken for independent. Their product misses the cells that depend on one another.
    independent = np.stack([np.outer(*(tab.margins[name].frequency for name in tab.names)) for tab in tabs])
    assert (abs(independent.mean(axis=0) - JOINT) > 0.02).any()
    assert (held(tabs, JOINT.sum(axis=1)[:, None] * JOINT.sum(axis=0)) < 0.9).any()


def test_weighted_shares_cover_these_rows_and_a_population() -> None:
    # Weights that go with the categories; the control takes the total weight for a number of rows.
    channel, n, trials = SymmetricChannel(2, response_threshold(2, 1.0)), 1_500, 5_000
    rng = np.random.default_rng(9)
    slack = 4 * math.sqrt(0.95 * 0.05 / trials) + 0.003
    for population in (True, False):
        covered = plain = 0
        truth = rng.random(n) < 0.3
        for _ in range(trials):
            if population:
                truth = rng.random(n) < 0.3
            weights = np.where(truth, 3.0, 1.0)
            answers = (truth != (rng.random(n) < channel.p)).astype(int)
            target = 0.9 / 1.6 if population else weights[truth].sum() / weights.sum()
            counts, squares = (np.bincount(answers, weights**power, 2) for power in (1, 2))
            low, high = fit(counts, [channel], Options(population=population), squares=squares).interval[1]
            covered += bool(low <= target <= high)
            low, high = fit(counts, [channel], Options(population=population)).interval[1]
            plain += bool(low <= target <= high)
        assert abs(covered / trials - 0.95) < slack
        assert plain / trials < 0.93
