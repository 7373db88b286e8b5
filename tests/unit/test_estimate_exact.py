"""Estimates against every outcome there is, with its exact probability: no bias, and the variances that are stated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpfast._estimate_core import Options, fit
from dpfast.channel import Channel, MatrixChannel, SymmetricChannel
from dpfast.crosstab import crosstab
from dpfast.estimate import estimate_counts

# p = g = 1/4 and p = 1/4, g = 1/2: every estimate of 1, 2 or 4 rows is an exact double.
DYADIC: list[Channel] = [
    SymmetricChannel(2, 2**62),
    SymmetricChannel(3, 2**62),
    MatrixChannel([[0.75, 0.25], [0.25, 0.75]]),
    MatrixChannel([[1.0, 0.0], [0.5, 0.5]]),
]
IDS = ["two", "three", "matrix", "uneven"]


def rows_of(table: tuple[int, ...], channel: Channel) -> Iterator[tuple[Fraction, list[int]]]:
    """Every outcome of sanitising these rows: its probability, and the counts."""
    matrix = channel.matrix
    for answers in itertools.product(range(channel.k), repeat=len(table)):
        probability = math.prod(
            (Fraction(float(matrix[truth, answer])) for truth, answer in zip(table, answers, strict=True)), start=Fraction(1)
        )
        yield probability, [answers.count(x) for x in range(channel.k)]


def moments(outcomes: list[tuple[Fraction, NDArray[np.float64]]]) -> tuple[list[Fraction], list[Fraction]]:
    """Exact means and variances of the entries of arrays."""
    assert sum(probability for probability, _ in outcomes) == 1
    flat = [(probability, [Fraction(float(value)) for value in array.ravel()]) for probability, array in outcomes]
    size = len(flat[0][1])
    means = [sum((p * values[j] for p, values in flat), start=Fraction(0)) for j in range(size)]
    variances = [sum((p * (values[j] - means[j]) ** 2 for p, values in flat), start=Fraction(0)) for j in range(size)]
    return means, variances


@pytest.mark.parametrize("channel", DYADIC, ids=IDS)
@pytest.mark.parametrize("table", [(0,), (1,), (0, 1), (0, 0, 1, 1), (1, 1, 1, 0)])
def test_the_inverse_is_unbiased_for_these_rows(channel: Channel, table: tuple[int, ...]) -> None:
    n = len(table)
    found = [
        (probability, estimate_counts(counts, channel, values=range(channel.k), population=False))
        for probability, counts in rows_of(table, channel)
    ]
    means, variances = moments([(probability, one.frequency) for probability, one in found])
    truth = [Fraction(table.count(j), n) for j in range(channel.k)]
    assert means == truth
    # n times the variance is V pi: exactly so, V being dyadic too.
    stated = channel.noise(np.array([float(share) for share in truth]))
    assert [variance * n for variance in variances] == [Fraction(float(value)) for value in stated]
    # Squared errors are right on average, where no estimate of them was raised to zero.
    if isinstance(channel, SymmetricChannel):
        mean_square = sum(float(probability) * one.standard_error**2 for probability, one in found)
        np.testing.assert_allclose(mean_square, [float(variance) for variance in variances], atol=1e-14)


@pytest.mark.parametrize("channel", DYADIC, ids=IDS)
def test_the_inverse_is_unbiased_for_a_population(channel: Channel) -> None:
    n, law = 4, [Fraction(1, 4), Fraction(3, 4), Fraction(0)][: channel.k]
    outcomes = []
    for table in itertools.product(range(channel.k), repeat=n):
        drawn = math.prod((law[truth] for truth in table), start=Fraction(1))
        for probability, counts in rows_of(table, channel) if drawn else ():
            found = estimate_counts(counts, channel, values=range(channel.k))
            outcomes.append((drawn * probability, found.frequency))
    means, variances = moments(outcomes)
    assert means == law
    shares = np.array([float(share) for share in law])
    stated = (channel.noise(shares) + shares * (1 - shares)) / n
    assert variances == [Fraction(float(value)) for value in stated]


@pytest.mark.parametrize("channel", DYADIC[:2], ids=IDS[:2])
def test_weighted_shares_are_unbiased_with_the_variance_that_is_stated(channel: SymmetricChannel) -> None:
    # Weights that go with the categories, adding up to 8.
    table, weights = (0, 1, 1, 0), np.array([4.0, 1.0, 1.0, 2.0])
    found = []
    for answers in itertools.product(range(channel.k), repeat=4):
        probability = math.prod(
            (Fraction(float(channel.matrix[truth, answer])) for truth, answer in zip(table, answers, strict=True)),
            start=Fraction(1),
        )
        counts, squares = (np.bincount(answers, weights**power, channel.k) for power in (1, 2))
        found.append((probability, fit(counts, [channel], Options(population=False), squares=squares)))
    means, variances = moments([(probability, one.frequency) for probability, one in found])
    assert means == [Fraction(3, 4), Fraction(1, 4), Fraction(0)][: channel.k]
    own, others = channel.own_noise[0], channel.other_noise
    stated = [(own * 20 + others * 2) / 64, (own * 2 + others * 20) / 64, others * 22 / 64][: channel.k]
    assert variances == [Fraction(float(value)) for value in stated]
    mean_square = sum(float(probability) * one.standard_error**2 for probability, one in found)
    np.testing.assert_allclose(mean_square, stated, rtol=1e-12)


@pytest.mark.parametrize("channels", [(0, 3), (3, 1)], ids=str)
def test_a_crosstab_is_unbiased_with_the_variances_of_the_product(channels: tuple[int, int]) -> None:
    first, second = (DYADIC[i] for i in channels)
    table = ((0, 1), (1, 0), (1, 1), (1, 1))
    shape = (first.k, second.k)
    outcomes: list[tuple[Fraction, NDArray[np.float64]]] = []
    for left in itertools.product(range(first.k), repeat=4):
        for right in itertools.product(range(second.k), repeat=4):
            probability = math.prod(
                (
                    Fraction(float(first.matrix[a, x])) * Fraction(float(second.matrix[b, y]))
                    for (a, b), x, y in zip(table, left, right, strict=True)
                ),
                start=Fraction(1),
            )
            if probability:
                counts = np.zeros(shape, int)
                np.add.at(counts, (left, right), 1)
                outcomes.append((probability, fit(counts, [first, second], Options()).frequency))
    means, variances = moments(outcomes)
    truth = np.zeros(shape)
    np.add.at(truth, tuple(np.transpose(table)), 0.25)
    assert means == [Fraction(float(share)) for share in truth.ravel()]
    # The variance that the text derives, with the products written down: (S - I) pi / n.
    product = np.kron(*(np.eye(c.k) + np.column_stack([c.noise(row) for row in np.eye(c.k)]) for c in (first, second)))
    stated = (product @ truth.ravel() - truth.ravel()) / 4
    assert variances == [Fraction(float(value)) for value in stated]


def test_stated_errors_of_a_crosstab_are_those_of_the_product() -> None:
    rng = np.random.default_rng(1)
    channels: list[Channel] = [SymmetricChannel(3, 2**62), MatrixChannel([[0.8, 0.2], [0.3, 0.7]]), SymmetricChannel(2, 2**61)]
    counts = rng.integers(50, 200, (3, 2, 2))
    matrix = np.kron(np.kron(channels[0].matrix, channels[1].matrix), channels[2].matrix)
    inverse, share = np.linalg.inv(matrix.T), counts.ravel() / counts.sum()
    for population in (True, False):
        found = crosstab(counts, channels, population=population)
        np.testing.assert_allclose(found.frequency.ravel(), inverse @ share, atol=1e-12)
        sigma = np.diag(share) - np.outer(share, share)
        if not population:
            sigma = sum(pi * (np.diag(row) - np.outer(row, row)) for pi, row in zip(inverse @ share, matrix, strict=True))
        variance = np.diag(inverse @ sigma @ inverse.T) / counts.sum()
        assert variance.min() > 0
        np.testing.assert_allclose(found.standard_error.ravel() ** 2, variance, rtol=1e-9)
