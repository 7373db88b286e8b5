"""Channels: each form against the plain matrix algebra, what is singular, what is refused; posteriors of rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpfast import RandomisedResponse
from dpfast.channel import Channel, MatrixChannel, SymmetricChannel
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.estimate import EstimateWarning, estimate_counts, posterior
from dpfast.privacy import WORD_RANGE, response_threshold

UNEVEN = np.array([[0.7, 0.2, 0.1, 0.0], [0.15, 0.6, 0.2, 0.05], [0.05, 0.25, 0.6, 0.1], [0.02, 0.08, 0.3, 0.6]])


def symmetric(k: int, epsilon: float) -> SymmetricChannel:
    return SymmetricChannel(k, response_threshold(k, epsilon))


CHANNELS = [symmetric(2, 0.1), symmetric(3, 1.0), symmetric(4, 12.0), MatrixChannel(UNEVEN), MatrixChannel(np.eye(3)[::-1])]


def noise_matrix(channel: Channel) -> NDArray[np.float64]:
    """V[j, d], from its definition: the variance of A[j, X] for a row of truth d."""
    p = channel.matrix
    a = np.linalg.inv(p.T)
    v: NDArray[np.float64] = np.array(
        [[p[d] @ a[j] ** 2 - (p[d] @ a[j]) ** 2 for d in range(channel.k)] for j in range(channel.k)]
    )
    return v


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: f"{type(channel).__name__}{channel.k}")
def test_channels_do_what_their_matrix_does(channel: Channel) -> None:
    k, p = channel.k, channel.matrix
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-15)
    rng = np.random.default_rng(1)
    array = rng.dirichlet(np.ones(6 * k)).reshape(2, k, 3)
    scale = channel.condition**2
    for axis in (1, -2):
        np.testing.assert_allclose(channel.answer(array, axis), np.einsum("dx,adb->axb", p, array), atol=1e-15)
        np.testing.assert_allclose(channel.back(array, axis), np.einsum("dx,axb->adb", p, array), atol=1e-15)
        np.testing.assert_allclose(channel.solve(channel.answer(array, axis), axis), array, atol=1e-14 * channel.condition)
        expected = np.einsum("jd,adb->ajb", noise_matrix(channel), array)
        np.testing.assert_allclose(channel.noise(array, axis), expected, atol=1e-14 * scale)
    np.testing.assert_allclose(channel.own_noise, np.diag(noise_matrix(channel)), atol=1e-14 * scale)
    assert channel.condition == pytest.approx(np.linalg.cond(p.T, 1))
    assert channel.is_identified
    # The spread is the variance of the entries of A over the answers.
    answered = rng.dirichlet(np.ones(k))
    shares, inverse = channel.solve(answered), np.linalg.inv(p.T)
    spread = (answered * (inverse - shares[:, None]) ** 2).sum(axis=1)
    np.testing.assert_allclose(channel.spread(answered, shares), spread, atol=1e-13 * scale)


def test_the_noise_of_rare_exchanges_keeps_its_digits() -> None:
    # p = 2^-60: 1 + V would be 1.
    channel = SymmetricChannel(3, 2**4)
    assert channel.own_noise.tolist() == pytest.approx([2.0**-59] * 3, rel=1e-12)
    assert channel.other_noise == pytest.approx(2.0**-60, rel=1e-12)


def test_a_symmetric_channel_of_any_size_takes_no_matrix() -> None:
    k = 2**31 - 1
    channel = symmetric(k, 20.0)
    assert channel.is_identified
    assert channel.condition == pytest.approx((1 + (k - 2) * channel.p) / channel.g)
    with pytest.raises(ArgumentError, match="4096"):
        _ = channel.matrix
    # One category: nothing to exchange.
    single = SymmetricChannel(1, WORD_RANGE, uniform=True)
    assert (single.condition, single.is_identified, single.matrix.tolist()) == (1.0, True, [[1.0]])


@pytest.mark.parametrize(
    "channel",
    [
        SymmetricChannel(4, 2**62),
        SymmetricChannel(3, response_threshold(3, 0.0), uniform=True),
        MatrixChannel(np.full((3, 3), 1 / 3)),
        MatrixChannel([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.375, 0.5, 0.125]]),
        MatrixChannel([[0.5, 0.5], [0.5 - 1e-14, 0.5 + 1e-14]]),
    ],
    ids=["g = 0", "uniform", "all equal", "dependent rows", "nearly equal rows"],
)
def test_a_channel_that_tells_nothing_gives_nan_and_a_warning(channel: Channel) -> None:
    assert not channel.is_identified
    assert channel.condition > 1e12
    for method in ("inverse", "mle", "em"):
        with pytest.warns(EstimateWarning, match="nothing can be estimated"):
            found = estimate_counts(range(1, channel.k + 1), channel, values=range(channel.k), method=method)
        assert np.isnan(found.frequency).all()
        assert found.interval.tolist() == [[0, 1]] * channel.k


def test_a_matrix_estimate_solves_the_system_and_tells_its_condition() -> None:
    counts = np.array([400, 300, 200, 100])
    found = estimate_counts(counts, MatrixChannel(UNEVEN), values="abcd")
    np.testing.assert_allclose(found.frequency, np.linalg.solve(UNEVEN.T, counts / 1000), atol=1e-14)
    assert found.condition == pytest.approx(np.linalg.cond(UNEVEN.T, 1))
    # Covariance P^-T Sigma P^-1 of a multinomial, and of these rows.
    inverse, share = np.linalg.inv(UNEVEN.T), counts / 1000
    sigma = (np.diag(share) - np.outer(share, share)) / 1000
    np.testing.assert_allclose(found.standard_error**2, np.diag(inverse @ sigma @ inverse.T), rtol=1e-10)
    rows = estimate_counts(counts, MatrixChannel(UNEVEN), values="abcd", population=False)
    sigma = sum(pi * (np.diag(row) - np.outer(row, row)) for pi, row in zip(found.frequency, UNEVEN, strict=True)) / 1000
    np.testing.assert_allclose(rows.standard_error**2, np.diag(inverse @ sigma @ inverse.T), rtol=1e-10)


@pytest.mark.parametrize("population", [True, False])
def test_both_channels_of_one_mechanism_agree(population: bool) -> None:
    mechanism = RandomisedResponse(range(4), epsilon=1.0)
    counts = [400, 300, 200, 150]
    closed = mechanism.estimate_counts(counts, population=population)
    general = estimate_counts(counts, MatrixChannel(mechanism.matrix), values=range(4), population=population)
    np.testing.assert_allclose(general.frequency, closed.frequency, atol=1e-13)
    np.testing.assert_allclose(general.standard_error, closed.standard_error, rtol=1e-10)
    np.testing.assert_allclose(general.interval, closed.interval, atol=1e-10)


def test_the_variance_of_a_matrix_is_never_negative() -> None:
    # Counts that no true shares explain: the linear formula then gives a negative variance of these rows.
    channel = MatrixChannel([[0.6, 0.3, 0.1], [0.3, 0.6, 0.1], [0.3, 0.3, 0.4]])
    for counts in ([0, 0, 100], [100, 0, 0], [1, 0, 0]):
        for population in (True, False):
            found = estimate_counts(counts, channel, values="abc", population=population)
            assert (found.standard_error >= 0).all()
            assert np.isfinite(found.interval).all()
            assert (found.interval[:, 0] <= found.interval[:, 1]).all()


@pytest.mark.parametrize(
    ("matrix", "error", "text"),
    [
        ([0.5, 0.5], ArgumentTypeError, "square"),
        ([[0.5, 0.5]], ArgumentTypeError, "square"),
        ([["a"]], ArgumentTypeError, "real"),
        (np.zeros((0, 0)), ArgumentError, "at least one"),
        ([[1.5, -0.5], [0.5, 0.5]], ArgumentError, "negative"),
        ([[math.nan, 1.0], [0.5, 0.5]], ArgumentError, "finite"),
        ([[0.5, 0.4], [0.5, 0.5]], ArgumentError, "sum to 1"),
    ],
)
def test_what_is_no_channel_is_refused(matrix: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        MatrixChannel(matrix)


def test_a_matrix_is_copied() -> None:
    matrix = np.eye(2)
    channel = MatrixChannel(matrix)
    matrix[:] = 0
    assert channel.matrix.tolist() == [[1, 0], [0, 1]]
    with pytest.raises(ValueError, match="read-only"):
        channel.matrix[0, 0] = 2


@pytest.mark.parametrize("channel", CHANNELS[:4], ids=lambda channel: f"{type(channel).__name__}{channel.k}")
def test_posterior_is_the_rule_of_bayes(channel: Channel) -> None:
    prior = np.arange(1, channel.k + 1) / sum(range(1, channel.k + 1))
    found = posterior(channel, prior)
    for x in range(channel.k):
        total = sum(prior[j] * channel.matrix[j, x] for j in range(channel.k))
        for j in range(channel.k):
            assert found[x, j] == pytest.approx(prior[j] * channel.matrix[j, x] / total, rel=1e-12)


def test_posterior_of_mechanisms() -> None:
    yes_no = RandomisedResponse(["no", "yes"], epsilon=math.log(3))
    np.testing.assert_allclose(yes_no.posterior([0.5, 0.5]), [[0.75, 0.25], [0.25, 0.75]], atol=1e-12)
    np.testing.assert_allclose(RandomisedResponse(["no", "yes"], epsilon=0.0).posterior([0.9, 0.1]), [[0.9, 0.1]] * 2)
    never = posterior(MatrixChannel([[1.0, 0.0], [1.0, 0.0]]), [0.5, 0.5])
    assert never[0].tolist() == [0.5, 0.5]
    assert np.isnan(never[1]).all()


@pytest.mark.parametrize(
    ("prior", "error"),
    [
        ([0.5], ArgumentError),
        ([0.5, 0.6], ArgumentError),
        ([1.5, -0.5], ArgumentError),
        ([math.nan, 1.0], ArgumentError),
        (["a", "b"], ArgumentTypeError),
        ([[0.5, 0.5]], ArgumentTypeError),
    ],
)
def test_what_is_no_prior_is_refused(prior: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="prior"):
        RandomisedResponse(["no", "yes"], epsilon=1.0).posterior(prior)
    with pytest.raises(ArgumentError, match="4096"):
        RandomisedResponse(range(5000), epsilon=1.0).posterior(np.full(5000, 1 / 5000))
