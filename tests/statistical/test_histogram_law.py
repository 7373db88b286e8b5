"""Histograms drawn from counts have the law of the rows: mean, spread and shape; and wrong ones are rejected by the same tests.

The histogram of N_i rows of each true category i, answered independently by the rows P_i of a matrix, has the mean sum N_i P_i
and the covariance sum N_i (diag(P_i) - P_i P_i'). Both ways to it, `sanitise` then counting and `sanitise_counts`, are held to
these moments, computed here in floats, and to each other. Seeds are fixed; each false-alarm rate is 1e-6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import stats

from dpfast import Domain, RandomisedResponse, Stream
from dpfast.histogram import sanitise_contingency, sanitise_counts

Floats = npt.NDArray[np.float64]
Histogram = npt.NDArray[np.int64]

DRAWS = 400
N_ROWS = 100_000
CASES = [(2, 1.0), (3, 0.5), (10, 1.0), (16, 3.0), (10, 0.0)]


def matrix(k: int, p: float) -> Floats:
    return np.full((k, k), p) + np.eye(k) * (1 - k * p)


def share(k: int, epsilon: float) -> float:
    return 1 / (math.exp(epsilon) + k - 1)


def moments(counts: npt.NDArray[Any], channel: Floats) -> tuple[Floats, Floats]:
    mean = counts @ channel
    return mean, np.diag(mean) - channel.T @ (counts[:, np.newaxis] * channel)


def true_counts(k: int) -> Histogram:
    """Most rows in the first categories, one category empty where there are several."""
    weights = 0.5 ** np.arange(k)
    counts = np.floor(N_ROWS * weights / weights.sum()).astype(np.int64)
    if k > 2:
        counts[k // 2] = 0
    return counts


def by_counts(mechanism: RandomisedResponse, counts: Histogram, seed: int) -> Histogram:
    stream = Stream.insecure(seed)
    return np.stack([mechanism.sanitise_counts(counts, rng=stream) for _ in range(DRAWS)])


def by_rows(mechanism: RandomisedResponse, counts: Histogram, seed: int) -> Histogram:
    stream, k = Stream.insecure(seed), counts.size
    column = np.repeat(np.arange(k, dtype=np.uint8), counts)
    return np.stack([np.bincount(mechanism.sanitise(column, rng=stream), minlength=k) for _ in range(DRAWS)])


@pytest.mark.statistical
@pytest.mark.parametrize(("k", "epsilon"), CASES)
def test_both_ways_have_the_law_and_agree(k: int, epsilon: float) -> None:
    mechanism, counts = RandomisedResponse(range(k), epsilon=epsilon), true_counts(k)
    mean, covariance = moments(counts, matrix(k, share(k, epsilon)))
    direct, rows = by_counts(mechanism, counts, 1), by_rows(mechanism, counts, 2)
    stats.assert_moments(direct, mean, covariance)
    stats.assert_moments(rows, mean, covariance)
    stats.assert_moments(direct - rows, np.zeros(k), 2 * covariance)
    # Consecutive draws of one stream are independent: so the sums of two are spread twice as far, no more, no less.
    stats.assert_moments(direct[::2] + direct[1::2], 2 * mean, 2 * covariance)


@pytest.mark.statistical
@pytest.mark.parametrize(("k", "epsilon"), CASES)
def test_one_true_category_gives_the_row_of_the_matrix(k: int, epsilon: float) -> None:
    mechanism = RandomisedResponse(range(k), epsilon=epsilon)
    for code in (0, k - 1):
        answers = mechanism.sanitise_counts(np.eye(k, dtype=int)[code] * 10**8, rng=Stream.insecure(code))
        stats.assert_law(answers, matrix(k, share(k, epsilon))[code])


@pytest.mark.statistical
def test_few_rows_have_the_law_too() -> None:
    """Three rows: the outcome itself is counted, over many draws."""
    k, p = 3, share(3, 1.0)
    mechanism, stream = RandomisedResponse(range(k), epsilon=1.0), Stream.insecure(4)
    law = np.zeros((4, 4))
    for first, second, third in np.ndindex(k, k, k):
        seen = np.bincount([first, second, third], minlength=k)
        law[seen[0], seen[1]] += matrix(k, p)[0, first] * matrix(k, p)[0, second] * matrix(k, p)[2, third]
    found = np.zeros((4, 4), np.int64)
    for _ in range(5000):
        answers = mechanism.sanitise_counts([2, 0, 1], rng=stream)
        found[answers[0], answers[1]] += 1
    stats.assert_law(found, law)
    with pytest.raises(AssertionError, match="chi-square"):
        stats.assert_law(found, law.T)


def right(counts: Histogram, channel: Floats, rng: np.random.Generator) -> Histogram:
    return rng.multinomial(counts, channel).sum(axis=0)


def k_off_by_one(counts: Histogram, channel: Floats, rng: np.random.Generator) -> Histogram:
    """The last category is never redrawn: those who would have been keep their own."""
    wrong = channel.copy()
    wrong[:-1, -1] = 0
    return right(counts, wrong + np.diag(1 - wrong.sum(axis=1)), rng)


def more(counts: Histogram, channel: Floats, rng: np.random.Generator, factor: float = 1.01) -> Histogram:
    return right(counts, matrix(counts.size, channel[0, 1] * factor), rng)


def less(counts: Histogram, channel: Floats, rng: np.random.Generator) -> Histogram:
    return more(counts, channel, rng, 0.99)


def a_duplicated_block(counts: Histogram, channel: Floats, rng: np.random.Generator) -> Histogram:
    """Half of the rows repeat the words of the other half."""
    return right(counts - 2 * (counts // 2), channel, rng) + 2 * right(counts // 2, channel, rng)


def rounded_means(counts: Histogram, channel: Floats, rng: np.random.Generator) -> Histogram:
    """The mean instead of a draw: nothing is private in it."""
    mean = np.floor(counts @ channel).astype(np.int64)
    mean[0] += counts.sum() - mean.sum()
    return mean


def one_binomial_for_all(counts: Histogram, channel: Floats, rng: np.random.Generator) -> Histogram:
    """Redraws are shared out evenly: their number is random, where they go is not."""
    k, p = counts.size, channel[0, 1]
    redrawn = rng.binomial(counts, k * p)
    answers = counts - redrawn + redrawn.sum() // k
    answers[0] += counts.sum() - answers.sum()
    return answers


MUTANTS = [k_off_by_one, more, less, a_duplicated_block, rounded_means, one_binomial_for_all]


@pytest.mark.statistical
@pytest.mark.parametrize("mutant", [right, *MUTANTS], ids=lambda mutant: mutant.__name__)
@pytest.mark.parametrize(("k", "epsilon"), [(3, 0.5), (10, 1.0)])
def test_wrong_histograms_are_rejected(k: int, epsilon: float, mutant: Callable[..., Histogram]) -> None:
    """By the test of the moments, and by the comparison with the rows."""
    counts, channel, rng = true_counts(k), matrix(k, share(k, epsilon)), np.random.default_rng(7)
    mean, covariance = moments(counts, channel)
    draws = np.stack([mutant(counts, channel, rng) for _ in range(DRAWS)])
    rows = by_rows(RandomisedResponse(range(k), epsilon=epsilon), counts, 2)
    if mutant is right:
        stats.assert_moments(draws, mean, covariance)
        stats.assert_moments(draws - rows, np.zeros(k), 2 * covariance)
        return
    with pytest.raises(AssertionError, match="chi-square"):
        stats.assert_moments(draws, mean, covariance)
    with pytest.raises(AssertionError, match="chi-square"):
        stats.assert_moments(draws - rows, np.zeros(k), 2 * covariance)


@pytest.mark.statistical
def test_draws_with_the_same_words_are_seen() -> None:
    mechanism, counts = RandomisedResponse(range(10), epsilon=1.0), true_counts(10)
    mean, covariance = moments(counts, matrix(10, share(10, 1.0)))
    direct = by_counts(mechanism, counts, 1)
    with pytest.raises(AssertionError, match="chi-square"):
        stats.assert_moments(direct + direct, 2 * mean, 2 * covariance)


class Table:
    """A mechanism of which only the table is known."""

    def __init__(self, rows: list[list[int]]) -> None:
        self.domain = Domain.range(len(rows))
        self.digest = bytes(32)
        self.table = np.array(rows, object)


FULL = 1 << 64
ROWS = [
    [FULL // 2, FULL // 3, 0, FULL - FULL // 2 - FULL // 3],
    [0, FULL // 7, FULL - FULL // 7 - FULL // 1000, FULL // 1000],
    [FULL // 4, FULL // 4, FULL // 4, FULL // 4],
    [0, 0, FULL // 5, FULL - FULL // 5],
]


@pytest.mark.statistical
def test_a_table_with_zeros_has_its_law() -> None:
    channel, mechanism = np.array(ROWS, float) / FULL, Table(ROWS)
    counts = np.array([40_000, 30_000, 0, 30_000])
    stream = Stream.insecure(3)
    draws = np.stack([sanitise_counts(mechanism, counts, rng=stream) for _ in range(DRAWS)])
    stats.assert_moments(draws, *moments(counts, channel))
    for code in range(4):
        answers = sanitise_counts(mechanism, np.eye(4, dtype=int)[code] * 10**7, rng=stream)
        stats.assert_law(answers, channel[code])
        with pytest.raises(AssertionError):
            stats.assert_law(answers, channel[code - 1])
    with pytest.raises(AssertionError, match="chi-square"):
        stats.assert_moments(draws, *moments(counts, channel * [1.01, 1, 1, 1] + np.outer(channel[:, 0] * -0.01, [0, 1, 0, 0])))


@pytest.mark.statistical
def test_a_contingency_table_has_the_law_of_its_rows() -> None:
    sizes, epsilons = (2, 3, 4), (0.7, 1.0, 2.0)
    mechanisms = [RandomisedResponse(range(k), epsilon=e) for k, e in zip(sizes, epsilons, strict=True)]
    channel = np.ones((1, 1))
    for k, epsilon in zip(sizes, epsilons, strict=True):
        channel = np.kron(channel, matrix(k, share(k, epsilon)))
    counts = np.random.default_rng(1).integers(0, 30_000, 24) * (np.arange(24) % 5 == 0)
    stream = Stream.insecure(5)
    draws = np.stack(
        [sanitise_contingency(counts.reshape(sizes), mechanisms, rng=stream).reshape(-1) for _ in range(DRAWS)],
    )
    stats.assert_moments(draws, *moments(counts, channel))
    # The controls: the first column answered from the words of the last, and another epsilon for one.
    shared = np.zeros((2, 3, 4, 2, 3, 4))
    ends = [np.cumsum(matrix(k, share(k, e)), axis=1) for k, e in ((2, 0.7), (4, 2.0))]
    for a, c, x, z in np.ndindex(2, 4, 2, 4):
        start = max(ends[0][a, x - 1] if x else 0, ends[1][c, z - 1] if z else 0)
        shared[a, :, c, x, :, z] = max(0, min(ends[0][a, x], ends[1][c, z]) - start) * matrix(3, share(3, 1.0))
    with pytest.raises(AssertionError, match="chi-square"):
        stats.assert_moments(draws, *moments(counts, shared.reshape(24, 24)))
    swapped = [mechanisms[0], RandomisedResponse(range(3), epsilon=1.05), mechanisms[2]]
    wrong = np.stack([sanitise_contingency(counts.reshape(sizes), swapped, rng=stream).reshape(-1) for _ in range(DRAWS)])
    with pytest.raises(AssertionError, match="chi-square"):
        stats.assert_moments(wrong, *moments(counts, channel))
