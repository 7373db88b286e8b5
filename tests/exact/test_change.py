"""The change between two releases under permanent noise: its error against the law of all pairs of answers, in fractions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dpfast import ArgumentError, ArgumentTypeError, MatrixResponse, RandomisedResponse, Stream, estimate_change
from dpfast.estimate import EstimateWarning

MATRIX = [[0.7, 0.2, 0.1], [0.25, 0.5, 0.25], [0.05, 0.15, 0.8]]
MECHANISMS = [
    RandomisedResponse(range(2), epsilon=1.0),
    RandomisedResponse(range(3), epsilon=0.5),
    MatrixResponse(range(3), MATRIX),
]
ROWS = [([0, 0], [0, 1]), ([0, 1, 1], [0, 1, 0]), ([0, 0, 1], [1, 0, 1]), ([1, 0, 1], [1, 0, 1])]


def outcomes(mechanism: Any, truth: list[int], later: list[int], *, shared: bool = True) -> Iterator[tuple[Any, Any, float]]:
    """All pairs of releases with their probability: an unchanged row has one answer, a changed one two of their own."""
    P, k = mechanism.matrix, mechanism.domain.size
    rows = []
    for x, y in zip(truth, later, strict=True):
        if x == y and shared:
            rows.append([(a, a, P[x, a]) for a in range(k)])
        else:
            rows.append([(a, b, P[x, a] * P[y, b]) for a, b in product(range(k), repeat=2)])
    for chosen in product(*rows):
        first, second, shares = zip(*chosen, strict=True)
        yield np.array(first), np.array(second), float(np.prod(shares))


def law(mechanism: Any, truth: list[int], later: list[int], *, shared: bool = True) -> tuple[Any, Any, Any]:
    """Expectation and variance of the difference, and the expectation of its squared error."""
    found = [
        (estimate_change(mechanism, first, second), chance)
        for first, second, chance in outcomes(mechanism, truth, later, shared=shared)
    ]
    assert sum(chance for _, chance in found) == pytest.approx(1)
    mean = sum(chance * change.difference for change, chance in found)
    variance = sum(chance * (change.difference - mean) ** 2 for change, chance in found)
    squared = sum(chance * change.standard_error**2 for change, chance in found)
    return mean, variance, squared


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["k=2", "k=3", "matrix"])
@pytest.mark.parametrize(("truth", "later"), ROWS)
def test_difference_and_error_are_what_the_proof_says(mechanism: Any, truth: list[int], later: list[int]) -> None:
    n, k = len(truth), mechanism.domain.size
    changes = np.eye(k)[later] - np.eye(k)[truth]
    mean, variance, squared = law(mechanism, truth, later)
    assert mean == pytest.approx(changes.mean(axis=0), abs=1e-12)
    V = mechanism.channel.noise(np.eye(k), axis=0)
    by_rows = sum((V[:, x] + V[:, y] for x, y in zip(truth, later, strict=True) if x != y), np.zeros(k)) / n**2
    assert variance == pytest.approx(by_rows, abs=1e-12)
    assert squared == pytest.approx(variance + changes.var(axis=0, ddof=1) / n, abs=1e-12)
    if truth != later:
        # the negative control: under noise drawn anew unchanged rows would contribute, and the formula would see that too
        assert np.all(law(mechanism, truth, later, shared=False)[1] > variance * 1.01)


def test_the_error_in_fractions() -> None:
    """Two rows, one of which changes, by hand: k = 2, keep 3/4."""
    mechanism = MatrixResponse(range(2), [[0.75, 0.25], [0.25, 0.75]])
    keep, g = Fraction(3, 4), Fraction(1, 2)
    variance = 2 * keep * (1 - keep) / g**2 / 4
    _, found, squared = law(mechanism, [0, 0], [0, 1])
    assert found == pytest.approx(float(variance))
    assert squared == pytest.approx(float(variance + Fraction(1, 4)))


def test_equal_releases_have_no_error() -> None:
    column = np.arange(300) % 3
    change = estimate_change(MECHANISMS[1], column, column)
    assert change.difference.tolist() == change.standard_error.tolist() == [0.0] * 3


def test_shipped_noise_is_that_of_the_proof() -> None:
    """Over many keys the differences scatter as the error says, far less than two separate errors would."""
    mechanism, n = MECHANISMS[0], 400
    first = np.zeros(n, np.uint8)
    second = np.where(np.arange(n) < 40, 1, first).astype(np.uint8)
    scores = []
    for number in range(300):
        stream = Stream(key=number.to_bytes(32, "big"), context="c")
        days = [mechanism.sanitise(day, rng=stream, ids=np.arange(n), column_name="c") for day in (first, second)]
        change = estimate_change(mechanism, *days)
        V = mechanism.channel.own_noise[0] + mechanism.channel.noise(np.eye(2), axis=0)[0, 1]
        scores.append((change.difference[1] - 0.1) / np.sqrt(40 * V) * n)
    # a sum of 300 squares of standard normals: 300 with a standard deviation of 24.5
    assert 300 - 5 * 24.5 < sum(score**2 for score in scores) < 300 + 5 * 24.5


def test_wrong_requests() -> None:
    mechanism = MECHANISMS[0]
    with pytest.raises(ArgumentTypeError, match="mechanism"):
        estimate_change("rr", [0], [0])  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="differ in length"):
        estimate_change(mechanism, np.array([0, 1]), np.array([0]))
    with pytest.raises(ArgumentError, match="two rows"):
        estimate_change(mechanism, np.array([0]), np.array([0]))
    with pytest.warns(EstimateWarning, match="do not depend"):
        change = estimate_change(RandomisedResponse(range(2), epsilon=0.0), np.array([0, 1]), np.array([0, 1]))
    assert np.isnan(change.difference).all()
