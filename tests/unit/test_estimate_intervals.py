"""Intervals: quantiles of the beta law against scipy and exact ones, Clopper-Pearson, the equation of the score interval."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats

from dpfast import RandomisedResponse
from dpfast._intervals import beta_quantile, clopper_pearson, normal_quantile
from dpfast.channel import MatrixChannel, SymmetricChannel
from dpfast.errors import ArgumentError
from dpfast.estimate import estimate_counts
from dpfast.privacy import response_threshold


@pytest.mark.parametrize("q", [0.5, 0.025, 1e-4, 1e-10])
def test_beta_quantiles_are_those_of_scipy(q: float) -> None:
    rng = np.random.default_rng(1)
    a = np.concatenate([[1, 1, 2, 50, 1e6, 1, 3, 1.5, 700, 1e9], 10 ** rng.uniform(0, 7, 500)])
    b = np.concatenate([[1, 1e6, 3, 50, 1e6, 1e9, 1e9, 2.5, 1, 1], 10 ** rng.uniform(0, 7, 500)])
    found = beta_quantile(a, b, q)
    np.testing.assert_allclose(found, scipy.stats.beta.ppf(q, a, b), rtol=1e-10)
    # The other way round: the law below the quantile. Where b is large, x must be known well.
    np.testing.assert_allclose(scipy.special.betainc(a, b, found), q, rtol=1e-6)


def test_beta_quantiles_in_closed_form() -> None:
    b = np.array([1.0, 7.0, 1e3, 1e9, 1e15])
    for q in (0.5, 1e-3, 1e-20):
        np.testing.assert_allclose(beta_quantile(np.ones(5), b, q), -np.expm1(np.log1p(-q) / b), rtol=1e-11)
        np.testing.assert_allclose(beta_quantile(b, np.ones(5), q), q ** (1 / b), rtol=1e-11)


def test_beta_quantiles_of_huge_counts_are_normal() -> None:
    a, b = np.array([1e17, 3e15]), np.array([2e17, 5e17])
    mean, z = a / (a + b), scipy.stats.norm.isf(0.025)
    found = (beta_quantile(a, b, 0.025) - mean) / np.sqrt(mean * (1 - mean) / (a + b))
    np.testing.assert_allclose(found, -z, rtol=1e-5)


@pytest.mark.parametrize("n", [1, 20, 1050, 10**6])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999])
def test_clopper_pearson_is_that_of_scipy(n: int, level: float) -> None:
    counts = np.unique([0, 1, n // 3, n // 2, n - 1, n])
    found = clopper_pearson(counts / n, float(n), 1 - level)
    for count, (low, high) in zip(counts.tolist(), found, strict=True):
        # scipy's intervals are roots to 1e-12 or so; its quantiles are better.
        exact = scipy.stats.binomtest(count, n).proportion_ci(level, method="exact")
        assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-10)
        tail = (1 - level) / 2
        assert low == (pytest.approx(scipy.stats.beta.ppf(tail, count, n - count + 1), rel=1e-10) if count else 0)
        assert high == (pytest.approx(scipy.stats.beta.isf(tail, count + 1, n - count), rel=1e-10) if count < n else 1)


def test_clopper_pearson_covers_exactly_as_it_promises() -> None:
    # Every outcome of a binomial, with its exact probability: coverage is never below the level. Wilson's is.
    n, trials = 30, np.arange(31)
    for method, promise in (("clopper_pearson", True), ("wilson", False)):
        worst = 1.0
        channel = SymmetricChannel(2, 1)  # nearly no noise: the answered share is the true one
        ends = np.stack(
            [estimate_counts([c, n - c], channel, values=(0, 1), interval=method).interval[0] for c in trials.tolist()]
        )
        for share in np.linspace(0.01, 0.99, 99):
            held = (ends[:, 0] <= share) & (share <= ends[:, 1])
            worst = min(worst, float(scipy.stats.binom.pmf(trials, n, share)[held].sum()))
        assert (worst >= 0.95) == promise


def test_clopper_pearson_is_mapped_by_the_inverse() -> None:
    mechanism = RandomisedResponse(range(4), epsilon=1.0)
    channel = mechanism.channel
    found = mechanism.estimate_counts([400, 300, 250, 230], interval="clopper_pearson")
    ends = clopper_pearson(np.array([400, 300, 250, 230]) / 1180, 1180.0, 0.05)
    np.testing.assert_allclose(found.interval, ((ends - channel.p) / channel.g).clip(0, 1), atol=1e-12)
    assert found.interval_method.startswith("Clopper-Pearson")
    wilson = mechanism.estimate_counts([400, 300, 250, 230])
    assert (np.diff(found.interval) > np.diff(wilson.interval)).all()
    assert found.standard_error.tolist() == wilson.standard_error.tolist()
    wide = mechanism.estimate_counts([400, 300, 250, 230], interval="clopper_pearson", simultaneous=True)
    assert (np.diff(wide.interval) > np.diff(found.interval)).all()


def test_clopper_pearson_is_for_randomised_response() -> None:
    with pytest.raises(ArgumentError, match="use interval='wilson'"):
        estimate_counts([1, 2], MatrixChannel(np.eye(2)), values="ab", interval="clopper_pearson")


def test_normal_quantiles_are_those_of_scipy() -> None:
    for miss in (0.5, 0.05, 1e-9):
        assert normal_quantile(miss) == pytest.approx(scipy.stats.norm.isf(miss / 2), rel=1e-12)


@pytest.mark.parametrize("population", [True, False])
def test_a_score_interval_of_a_matrix_solves_its_equation(population: bool) -> None:
    # Ends are the x at which the estimate is z standard errors away, the errors being those of shares x e_j + (1 - x) r.
    matrix = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.1, 0.7]])
    counts = np.array([500, 300, 200])
    n = int(counts.sum())
    found = estimate_counts(counts, MatrixChannel(matrix), values="abc", population=population)
    a = np.linalg.inv(matrix.T)
    mix = (n * found.frequency + 0.5) / (n + 1.5)
    for j in range(3):
        others = np.delete(mix, j) / np.delete(mix, j).sum()
        for x in found.interval[j]:
            law = np.insert(others * (1 - x), j, x)
            by_row = np.array([row @ a[j] ** 2 - (row @ a[j]) ** 2 for row in matrix])
            variance = law @ by_row + (x * (1 - x) if population else 0)
            assert (found.frequency[j] - x) ** 2 == pytest.approx(scipy.stats.norm.isf(0.025) ** 2 * variance / n, rel=1e-9)


def test_simultaneous_intervals_are_wider_for_every_kind() -> None:
    channels = [SymmetricChannel(3, response_threshold(3, 2.0)), MatrixChannel([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0, 0.2, 0.8]])]
    for channel in channels:
        for population in (True, False):
            alone, together = (
                estimate_counts([500, 300, 200], channel, values="abc", population=population, simultaneous=both)
                for both in (False, True)
            )
            assert (together.interval[:, 0] < alone.interval[:, 0]).all()
            assert (together.interval[:, 1] > alone.interval[:, 1]).all()
