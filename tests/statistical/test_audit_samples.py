"""Audits by samples: true claims stand as often as is stated, and the famous faults are found, each beside its cure."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats

from dpfast import Domain, MatrixResponse, RandomisedResponse, Stream
from dpfast.audit import _samples, audit
from dpfast.audit._bounds import proved_shares

Function = Callable[..., Any]
AUDITS = 60
SURE = 1 - 1e-6  # of a single audit in these tests; false alarms of the whole file are below 1e-4


def seeded(make: Callable[[np.random.Generator], Function], seed: int = 1) -> Function:
    return make(np.random.default_rng(seed))


# coverage


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "miss"), [(50, 0.2), (400, 0.05), (3000, 1e-3)])
def test_shares_are_missed_as_seldom_as_is_stated(n: int, miss: float) -> None:
    # No simulation: the probability of every count times whether its bounds miss.
    counts = np.arange(n + 1)
    bounds = np.array([proved_shares((hits, hits), (n, n), miss) for hits in counts[: 60 if n > 1000 else None]])
    for p in (1e-4, 0.003, 0.01) if n > 1000 else (0.003, 0.1, 0.37, 0.5, 0.9, 0.999):
        law = scipy.stats.binom.pmf(counts[: len(bounds)], n, p)
        assert scipy.stats.binom.sf(len(bounds) - 1, n, p) < 1e-6
        for missed in (bounds[:, 0] > p, bounds[:, 1] < p):
            assert law[missed].sum() <= miss
        # negative control: the same counts and twice the room would not do
    p = float(bounds[20, 0]) * (1 + 1e-6)  # from here on a count of 20 does not miss any more, and just before it does
    law = scipy.stats.binom.pmf(counts[: len(bounds)], n, p * (1 - 1e-5))
    assert law[bounds[:, 0] > p * (1 - 1e-5)].sum() > miss / 2


def rejected(confidence: float) -> int:
    """How many of 60 audits refute that a mechanism that does not look at the data has epsilon 0."""
    rng = np.random.default_rng(3)

    def uniform(dataset: object, size: int) -> Any:
        return rng.integers(0, 300, size)

    return sum(
        audit(uniform, [(0, 1)], epsilon=0.0, samples=600, confidence=confidence, vectorised=True).rejected for _ in range(AUDITS)
    )


@pytest.mark.statistical
def test_true_claims_are_refuted_as_seldom_as_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    # Three hundred outputs, and only three hundred samples to choose an event by: most that looks like an effect is chance.
    limit = int(scipy.stats.binom.isf(1e-6, AUDITS, 0.1))
    assert rejected(0.9) <= limit
    # negative control: events tested on the samples that chose them
    counted = _samples._counted

    def same_half(*given: Any, **options: Any) -> _samples.Counted:
        found = counted(*given, **options)
        return _samples.Counted(found.chooses, found.chooses)

    monkeypatch.setattr(_samples, "_counted", same_half)
    assert rejected(0.9) > limit


# mechanisms of our own


@pytest.mark.statistical
@pytest.mark.parametrize(("k", "samples"), [(2, 10_000_000), (10, 45_000_000)])
@pytest.mark.parametrize("epsilon", [1.0, 1.01])
def test_one_per_cent_of_epsilon_is_seen(k: int, samples: int, epsilon: float) -> None:
    mechanism = RandomisedResponse(range(k), epsilon=epsilon)
    report = audit(mechanism, epsilon=1.0, samples=samples, confidence=SURE, method="samples", rng=Stream.insecure(k), threads=1)
    assert report.rejected == (epsilon > 1.0)
    assert 1.0 - 0.01 < report.epsilon_lower < epsilon


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [1.0, 1.002])
def test_two_per_mille_of_epsilon_are_seen_in_a_thousand_million(epsilon: float) -> None:
    report = audit(RandomisedResponse(range(10), epsilon=epsilon), epsilon=1.0, samples=10**9, confidence=SURE, method="samples")
    assert report.rejected == (epsilon > 1.0)


@pytest.mark.statistical
def test_a_kernel_that_does_not_follow_its_table_is_found() -> None:
    mechanism = RandomisedResponse(Domain.range(5, unknown="randomise"), epsilon=1.0)
    for run, is_wrong in ((mechanism, False), (RandomisedResponse(mechanism.domain, epsilon=1.1), True)):
        mechanism.__dict__["law"] = run.law
        assert not audit(mechanism).rejected  # the table is what it was
        report = audit(mechanism, method="samples", samples=2_000_000, confidence=SURE, rng=Stream.insecure(1))
        assert report.rejected == is_wrong


@pytest.mark.statistical
def test_the_worst_pair_of_a_matrix_is_looked_at() -> None:
    matrix = np.full((4, 4), 0.25)
    matrix[2] = 0.3, 0.3, 0.3, 0.1
    mechanism = MatrixResponse(range(4), matrix)
    options: dict[str, Any] = {"samples": 200_000, "confidence": SURE, "method": "samples", "rng": Stream.insecure(1)}
    report = audit(mechanism, epsilon=0.8, **options)
    assert report.rejected
    assert report.pair is not None
    assert report.pair[1] == 2
    assert math.log(0.25 / 0.1) > report.epsilon_lower > 0.8
    assert not audit(mechanism, epsilon=0.8, pairs=[(0, 1), (1, 3)], **options).rejected


# anyone's


def laplace(scale: float) -> Callable[[np.random.Generator], Function]:
    return lambda rng: lambda value, size: value + rng.laplace(scale=scale, size=size)


def gauss(sigma: float) -> Callable[[np.random.Generator], Function]:
    return lambda rng: lambda value, size: value + rng.normal(scale=sigma, size=size)


def exponential(factor: float) -> Callable[[np.random.Generator], Function]:
    """Fifty candidates; one is better by the sensitivity, or worse. The factor should be a half."""

    def make(rng: np.random.Generator) -> Function:
        def choose(is_better: int, size: int) -> Any:
            utility = np.full(50, 1.0 - is_better)
            utility[0] = is_better
            weights = np.exp(factor * utility)
            return rng.choice(50, size, p=weights / weights.sum())

        return choose

    return make


def leak(probability: float, value: float) -> Callable[[np.random.Generator], Function]:
    """Hardly anything, but for one dataset now and then an output that the other never has."""

    def make(rng: np.random.Generator) -> Function:
        def answer(dataset: int, size: int) -> Any:
            noise = rng.random(size)
            return np.where((rng.random(size) < probability) & (dataset == 1), value, noise)

        return answer

    return make


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("wrong", "right", "delta"),
    [
        (laplace(0.5), laplace(1.0), 0.0),  # half the scale
        (laplace(1 / 1.2), laplace(1.0), 0.0),
        (exponential(1.0), exponential(0.5), 0.0),  # without the factor two
        (gauss(1.0), gauss(2.6), 0.02),
        (leak(0.01, math.nan), leak(0.0, math.nan), 0.0),
        (leak(0.01, math.inf), leak(0.001, math.inf), 0.005),
        (leak(0.01, 0.5), leak(0.0, 0.5), 0.0),  # an atom amid a continuum
    ],
)
def test_faults_of_numeric_mechanisms_are_found(wrong: Any, right: Any, delta: float) -> None:
    options: dict[str, Any] = {"epsilon": 1.0, "delta": delta, "samples": 100_000, "confidence": SURE, "vectorised": True}
    assert audit(seeded(wrong), [(0, 1)], **options).rejected
    assert not audit(seeded(right), [(0, 1)], **options).rejected


def sparse_vector(variant: str) -> Callable[[np.random.Generator], Function]:
    """Above or below a threshold, query by query, each of sensitivity 1; meant for epsilon 1 and one answer above."""

    def make(rng: np.random.Generator) -> Function:
        def answer(queries: list[int], size: int) -> Any:
            threshold = rng.laplace(scale=2.0, size=(size, 1))
            scale = {"right": 4.0, "no noise": 0.0}.get(variant, 2.0)
            noise = rng.laplace(scale=scale, size=(size, len(queries))) if scale else 0.0
            above = np.array(queries) + noise >= threshold
            if variant == "right":  # stop after the first
                stopped = np.cumsum(above, axis=1) - above > 0
                return np.where(stopped, 2, above)
            return above

        return answer

    return make


@pytest.mark.statistical
@pytest.mark.parametrize("variant", ["right", "no noise", "no stop"])
def test_variants_of_the_sparse_vector_technique(variant: str) -> None:
    pairs = [([0] * 4 + [1] * 4, [1] * 4 + [0] * 4)]
    report = audit(seeded(sparse_vector(variant)), pairs, epsilon=1.0, samples=60_000, confidence=SURE, vectorised=True)
    assert report.rejected == (variant != "right")
    if variant == "no noise":
        assert report.epsilon_lower > 5.0  # it has no epsilon at all; that is as far as so many samples reach
        assert report.event is not None
        assert report.event.neighbour_probability == 0.0


def unary(keeps: Callable[[float], float]) -> Callable[[np.random.Generator], Function]:
    """A bit for each of four categories: that of the true one is set with probability keeps(q), any other with q."""

    def make(rng: np.random.Generator) -> Function:
        q = 1 / (math.e + 1)

        def answer(category: int, size: int) -> Any:
            chances = np.full(4, q)
            chances[category] = keeps(q)
            return rng.random((size, 4)) < chances

        return answer

    return make


@pytest.mark.statistical
@pytest.mark.parametrize(("keeps", "is_wrong"), [(lambda q: 0.5, False), (lambda q: 1 - q, True)], ids=["right", "wrong"])
def test_unary_encoding_keeps_the_own_bit_with_its_own_probability(keeps: Any, is_wrong: bool) -> None:
    report = audit(seeded(unary(keeps)), [(0, 1)], epsilon=1.0, samples=60_000, confidence=SURE, vectorised=True)
    assert report.rejected == is_wrong
    assert report.epsilon_lower > (1.6 if is_wrong else 0.8)


@pytest.mark.statistical
def test_one_output_at_a_time_and_refusals() -> None:
    rng = np.random.default_rng(8)

    def answer(refuses: float) -> float | None:
        return None if rng.random() < refuses else float(rng.random())

    options: dict[str, Any] = {"epsilon": 1.0, "samples": 4000, "confidence": SURE}
    report = audit(answer, [(0.2, 0.2), (0.1, 0.7)], **options)
    assert report.rejected
    assert report.pair == (0.7, 0.1)
    assert report.event is not None
    assert report.event.text == "NaN"
    assert report.event.contains([None, 0.5]).tolist() == [True, False]
    assert not audit(answer, [(0.2, 0.2), (0.3, 0.5)], **options).rejected


def rarely_a_text(usual: Any) -> Callable[[np.random.Generator], Function]:
    """Does not look at its data: one of two usual outputs, and four times in ten thousand a text."""

    def make(rng: np.random.Generator) -> Function:
        def answer(dataset: object, size: int) -> Any:
            return ["error" if u < 4e-4 else usual if u < 0.5 else 1.0 for u in rng.random(size)]

        return answer

    return make


@pytest.mark.statistical
@pytest.mark.parametrize("usual", [None, 2.5])
def test_a_rare_output_of_another_kind_does_not_move_the_others(usual: Any) -> None:
    answer = seeded(rarely_a_text(usual))
    options: dict[str, Any] = {"epsilon": 1.0, "samples": 2000, "confidence": 1 - 1e-5, "vectorised": True}
    assert not any(audit(answer, [(0, 1)], **options).rejected for _ in range(AUDITS))


def vectors(scale: float, is_reused: bool = False) -> Callable[[np.random.Generator], Function]:
    """Two numbers of sensitivity 1 each, with noise of their own or with the same."""

    def make(rng: np.random.Generator) -> Function:
        def answer(truth: tuple[int, int], size: int) -> Any:
            noise = rng.laplace(scale=scale, size=(size, 2))
            return truth + (noise[:, :1] if is_reused else noise)

        return answer

    return make


@pytest.mark.statistical
@pytest.mark.parametrize("wrong", [vectors(1.0), vectors(2.0, is_reused=True)], ids=["half the scale", "noise used twice"])
def test_faults_of_vectors_are_found(wrong: Any) -> None:
    options: dict[str, Any] = {"epsilon": 1.0, "samples": 40_000, "confidence": SURE, "vectorised": True}
    pairs = [((0, 0), (1, 1)), ((0, 0), (0, 1))]
    assert audit(seeded(wrong), pairs, **options).rejected
    assert not audit(seeded(vectors(2.0)), pairs, **options).rejected
