"""The discrete exponential mechanism: calibrated, never beyond epsilon, and randomised response for the Hamming distance."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.exponential import ExponentialResponse, distances
from dpfast.integer_table import WORD_RANGE
from dpfast.reference import matrix as reference
from dpfast.reference.response import exp_bounds
from dpfast.response import RandomisedResponse

EPSILONS = [0.0, 1e-9, 0.1, 1.0, 3.0, 20.0, 40.0, 100.0]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("distance", ["hamming", "ordinal", "circular"])
@pytest.mark.parametrize("k", [1, 2, 3, 10, 50])
def test_epsilon_is_met_and_used(k: int, distance: str, epsilon: float) -> None:
    mechanism = ExponentialResponse(range(k), distance=distance, epsilon=epsilon)
    realised = mechanism.epsilon_at()
    assert realised <= epsilon
    worst = reference.worst_ratio(mechanism.table.tolist())
    assert worst is not None
    assert worst <= exp_bounds(Fraction(epsilon), 200)[1]
    if k > 1 and epsilon <= 20:
        assert epsilon - realised <= 1e-6
    assert mechanism.delta_at(epsilon) == 0.0


def test_random_distances_are_calibrated_by_the_check_and_not_by_a_bound() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        k = int(rng.integers(2, 9))
        places = rng.random((k, 2)) * 10.0 ** rng.uniform(-3, 3)
        far = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
        mechanism = ExponentialResponse(range(k), distance=far, epsilon=1.5)
        assert mechanism.epsilon_at() <= 1.5
        assert mechanism.epsilon_at() > 1.4999
        weights = np.exp(-mechanism.rate * far)
        assert np.allclose(mechanism.matrix, weights / weights.sum(axis=1, keepdims=True), atol=1e-9)


def test_the_hamming_distance_is_randomised_response() -> None:
    for k in (2, 5, 100):
        for epsilon in (0.0, 0.5, 4.0):
            ours = ExponentialResponse(range(k), distance="hamming", epsilon=epsilon).matrix
            assert np.abs(ours - RandomisedResponse(range(k), epsilon=epsilon).matrix).max() < 1e-12


def test_half_the_noise_of_the_general_bound() -> None:
    """On a circle the normalisers are equal and the loss is rate * diameter; elsewhere it lies between that and twice that."""
    mechanism = ExponentialResponse(range(10), distance="circular", epsilon=2.0)
    assert mechanism.rate * 5 == pytest.approx(2.0, rel=1e-9)
    lonely = ExponentialResponse(range(4), distance=[[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 1], [1, 1, 1, 0]], epsilon=2.0)
    assert 1.0 < lonely.rate < 1.9


def test_distances_that_are_no_metric_are_safe_too() -> None:
    """Loss may fall as the rate grows (rows (0, 1 x 20), (0, 0.9 x 20)): the last check is what counts."""
    rng = np.random.default_rng(2)
    tried = [rng.random((k, k)) ** 3 * 10.0 for k in rng.integers(2, 9, 40)]
    odd = np.full((21, 21), 1.0)
    odd[::2] = 0.9
    odd[:, 0] = 0.0
    for far in [*tried, odd]:
        for epsilon in (0.1, 1.5):
            mechanism = ExponentialResponse(range(len(far)), distance=far, epsilon=epsilon)
            worst = reference.worst_ratio(mechanism.table.tolist())
            assert worst is not None
            assert worst <= exp_bounds(Fraction(epsilon), 200)[1]


def test_the_named_distances() -> None:
    assert distances("hamming", 3).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert distances("ordinal", 3).tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    assert distances("circular", 5)[0].tolist() == [0, 1, 2, 2, 1]


@pytest.mark.parametrize(
    ("distance", "error", "text"),
    [
        ("euclid", ArgumentError, "one of 'hamming'"),
        ([[0, 1]], ArgumentError, "shape"),
        ([[0, 1], [math.inf, 0]], ArgumentError, "finite"),
        ([[0, 1], [-1, 0]], ArgumentError, "not negative"),
        ([["a", "b"], ["c", "d"]], ArgumentTypeError, "array of numbers"),
        (None, ArgumentTypeError, "array of numbers"),
    ],
)
def test_what_is_no_distance_is_refused(distance: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        ExponentialResponse(["a", "b"], distance=distance, epsilon=1.0)


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, math.inf, "1", None])
def test_what_is_no_epsilon_is_refused(epsilon: Any) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match="epsilon"):
        ExponentialResponse(["a", "b"], distance="hamming", epsilon=epsilon)


def test_every_row_is_a_row() -> None:
    table = ExponentialResponse(range(7), distance="ordinal", epsilon=1.0).table
    assert table.sum(axis=1).tolist() == [WORD_RANGE] * 7
