"""Maxima of the likelihood: the closed form, expectation maximisation, and that both are the maximum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpfast import RandomisedResponse
from dpfast._estimate_simplex import NEWTON_MAX, expectation_maximisation, water_filling
from dpfast.channel import Channel, MatrixChannel, SymmetricChannel
from dpfast.estimate import ConvergenceWarning, estimate_counts
from dpfast.privacy import response_threshold


def answered_shares(channels: list[Channel], rng: Any, n: int, alpha: float = 0.3) -> NDArray[np.float64]:
    """Answers of n rows drawn from random true shares, many of them near zero."""
    shape = tuple(channel.k for channel in channels)
    law = rng.dirichlet(np.full(math.prod(shape), alpha)).reshape(shape)
    for axis, channel in enumerate(channels):
        law = channel.answer(law, axis)
    shares: NDArray[np.float64] = (rng.multinomial(n, law.ravel() / law.sum()) / n).reshape(shape)
    return shares


def symmetric(k: int, epsilon: float) -> SymmetricChannel:
    return SymmetricChannel(k, response_threshold(k, epsilon))


def steep(k: int, rng: Any) -> MatrixChannel:
    matrix = 0.6 * np.eye(k) + 0.4 * rng.dirichlet(np.ones(k), size=k)
    return MatrixChannel(matrix / matrix.sum(axis=1, keepdims=True))


def optimality(answered: NDArray[np.float64], shares: NDArray[np.float64], channels: list[Channel]) -> float:
    """How far from the conditions of the maximum, which are sufficient: the likelihood is concave."""
    matrix = np.eye(1)
    for channel in channels:
        matrix = np.kron(matrix, channel.matrix)
    seen = answered.ravel() > 0
    slope = matrix[:, seen] @ (answered.ravel()[seen] / (shares.ravel() @ matrix)[seen])
    return max(slope.max() - 1, abs(shares.ravel() * (slope - 1)).sum())


def test_published_maximum() -> None:
    mechanism = RandomisedResponse(list("abcd"), epsilon=1.0)
    for method in ("mle", "em"):
        found = mechanism.estimate_counts([520, 260, 130, 90], method=method)  # type: ignore[arg-type]
        np.testing.assert_allclose(found.frequency, [0.8606589, 0.1393411, 0, 0], atol=5e-8)
        assert found.method == method
        assert (found.iterations > 0) == (method == "em")


def test_the_closed_form_is_the_maximum() -> None:
    rng, worse = np.random.default_rng(3), 0
    for _ in range(300):
        channel = symmetric(int(rng.integers(2, 40)), float(10 ** rng.uniform(-2, 1)))
        answered = answered_shares([channel], rng, int(10 ** rng.uniform(0, 6)))
        found = water_filling(answered, channel.p, channel.g)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1, abs=1e-9)
        assert optimality(answered, found, [channel]) < 1e-9
        raw = channel.solve(answered).clip(0)
        worse += optimality(answered, raw / raw.sum(), [channel]) > 1e-6
    # The control: shares that are clipped and scaled are mostly not the maximum.
    assert worse > 100


def test_expectation_maximisation_equals_the_closed_form() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        channel = symmetric(int(rng.integers(2, 30)), float(rng.uniform(1, 6)))
        answered = answered_shares([channel], rng, int(10 ** rng.uniform(1, 6)))
        found = expectation_maximisation(answered, [channel], tolerance=1e-11, max_iterations=10_000)
        assert found.converged
        np.testing.assert_allclose(found.shares, water_filling(answered, channel.p, channel.g), atol=1e-8)


@pytest.mark.parametrize("kind", ["matrix", "any matrix", "columns", "large"])
def test_expectation_maximisation_certifies_the_maximum(kind: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(2 if kind == "large" else 40):
        channels: list[Channel] = {
            "matrix": lambda: [steep(int(rng.integers(2, 20)), rng)],
            "any matrix": lambda: [MatrixChannel(rng.dirichlet(np.ones(15), size=15))],
            "columns": lambda: [symmetric(3, 1.0), steep(4, rng)],
            "large": lambda: [symmetric(NEWTON_MAX + 1, 5.0)],
        }[kind]()
        answered = answered_shares(channels, rng, 10_000)
        found = expectation_maximisation(answered, channels, tolerance=1e-8, max_iterations=10_000)
        assert found.converged
        assert optimality(answered, found.shares, channels) < 2e-8
        assert found.shares.sum() == pytest.approx(1, abs=1e-12)


def test_the_likelihood_never_falls() -> None:
    rng = np.random.default_rng(6)
    for case in range(60):
        k = int(rng.integers(2, 12))
        channel: Channel = [
            symmetric(k, float(10 ** rng.uniform(-1, 1))),
            steep(k, rng),
            MatrixChannel(rng.dirichlet(np.full(k, 0.2), size=k)),
        ][case % 3]
        answered = answered_shares([channel], rng, int(10 ** rng.uniform(0.5, 5)))
        seen = answered > 0
        before = -math.inf
        for steps in range(1, 15):
            found = expectation_maximisation(answered, [channel], tolerance=1e-15, max_iterations=steps)
            reached = float(answered[seen] @ np.log(channel.answer(found.shares)[seen]))
            assert reached >= before - 1e-14
            before = reached


def test_answers_that_were_not_seen_are_passed_over() -> None:
    # Entries of the matrix are zero where answers are: 0 / 0 must not arise.
    channel = MatrixChannel([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]])
    found = estimate_counts([10, 10, 0], channel, values="abc", method="em")
    np.testing.assert_allclose(found.frequency, [1, 0, 0], atol=1e-6)


def test_without_negative_entries_the_maximum_is_the_inverse() -> None:
    rng = np.random.default_rng(7)
    for channel in (symmetric(4, 2.0), steep(4, rng)):
        inverse = estimate_counts([400, 300, 200, 150], channel, values="abcd")
        assert inverse.frequency.min() > 0
        same = estimate_counts([400, 300, 200, 150], channel, values="abcd", method="mle")
        assert same.frequency.tolist() == inverse.frequency.tolist()
        assert same.standard_error.tolist() == inverse.standard_error.tolist()
        iterated = estimate_counts([400, 300, 200, 150], channel, values="abcd", method="em")
        np.testing.assert_allclose(iterated.frequency, inverse.frequency, atol=1e-7)


def test_a_bound_maximum_has_no_error_and_says_whose_interval_it_has() -> None:
    mechanism = RandomisedResponse(list("abcd"), epsilon=1.0)
    inverse = mechanism.estimate_counts([520, 260, 130, 90])
    for method in ("mle", "em"):
        found = mechanism.estimate_counts([520, 260, 130, 90], method=method)  # type: ignore[arg-type]
        assert np.isnan(found.standard_error).all()
        assert found.interval.tolist() == inverse.interval.tolist()
        assert "it belongs to the inverse estimate" in found.interval_method
    assert "belongs" not in inverse.interval_method


def test_an_iteration_cut_short_warns() -> None:
    mechanism = RandomisedResponse(range(20), epsilon=0.1)
    with pytest.warns(ConvergenceWarning, match="max_iterations") as caught:
        found = mechanism.estimate_counts(range(1, 21), method="em", max_iterations=1)
    assert caught[0].filename == __file__
    assert (found.converged, found.iterations) == (False, 1)
