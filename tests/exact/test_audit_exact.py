"""The exact audit against brute force over all events, in fractions; the bounds of samples against binomial sums, likewise."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from dpfast import Domain, ExponentialResponse, MatrixResponse, RandomisedResponse
from dpfast._rounding import exp_bounds
from dpfast.audit import audit
from dpfast.audit._bounds import Shares, delta_below, epsilon_below, proved_shares, reach
from dpfast.audit._exact import TabledMechanism, is_violated, rows_of

WORDS = 1 << 64


def table(mechanism: TabledMechanism) -> list[list[int]]:
    """All rows, that of values outside the domain as the last one."""
    k = mechanism.domain.size
    rows = [list(map(int, row)) for row in mechanism.table]
    if mechanism.domain.unknown == "randomise":
        if isinstance(mechanism, RandomisedResponse):
            rows.append([WORDS // k + (x < WORDS % k) for x in range(k)])
        else:
            rows.append(mechanism.integer_table.integers(k))
    return rows


def events(k: int) -> list[list[int]]:
    return [[x for x in range(k) if mask >> x & 1] for mask in range(1, 1 << k)]


def needed(rows: list[list[int]], delta: float) -> Fraction | None:
    """e^epsilon for the smallest epsilon at delta, by all events of all pairs; None if there is none."""
    slack, best = Fraction(delta) * WORDS, Fraction(1)
    for top, bottom in permutations(rows, 2):
        for event in events(len(top)):
            a, b = sum(top[x] for x in event) - slack, sum(bottom[x] for x in event)
            if a > 0:
                if b == 0:
                    return None
                best = max(best, a / b)
    return best


def mechanisms() -> list[TabledMechanism]:
    rng = np.random.default_rng(5)
    made: list[TabledMechanism] = [
        RandomisedResponse(Domain.range(k, unknown=unknown), epsilon=epsilon, delta=delta)
        for k in (2, 3, 5)
        for unknown in ("error", "randomise")
        for epsilon, delta in ((0.0, 0.0), (1e-9, 0.0), (0.7, 0.0), (2.0, 0.125), (50.0, 0.0))
    ]
    for k in (2, 3, 4):
        for zeros in (False, True):
            matrix = rng.random((k, k)) ** 3
            matrix[0, 1] *= not zeros
            made.append(MatrixResponse(range(k), matrix / matrix.sum(axis=1, keepdims=True)))
    made.append(MatrixResponse(range(2), [[1.0, 0.0], [0.0, 1.0]]))
    made.append(ExponentialResponse(Domain.range(4, unknown="randomise"), distance="ordinal", epsilon=1.5))
    return made


@pytest.mark.parametrize("delta", [0.0, 2.0**-20, 0.05, 0.3])
def test_bounds_enclose_the_worst_event_of_all_pairs(delta: float) -> None:
    for mechanism in mechanisms():
        report, truth = audit(mechanism, delta=delta), needed(table(mechanism), delta)
        if truth is None:
            assert report.epsilon_lower == report.epsilon_upper == math.inf
            assert audit(mechanism, epsilon=44.0, delta=delta).rejected
            continue
        assert exp_bounds(report.epsilon_lower, 60)[0] <= truth <= exp_bounds(report.epsilon_upper, 60)[1]
        # one double apart: nothing is lost on either side
        assert report.epsilon_upper <= math.nextafter(report.epsilon_lower, math.inf)
        assert not report.rejected
        assert report.verdict == "proved"
        if report.epsilon_lower > 0.0:
            assert audit(mechanism, epsilon=report.epsilon_lower, delta=delta).rejected
        assert not audit(mechanism, epsilon=report.epsilon_upper, delta=delta).rejected


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 30.0])
def test_delta_is_enclosed_too(epsilon: float) -> None:
    low, high = exp_bounds(epsilon, 60)
    for mechanism in mechanisms():
        rows = table(mechanism)
        report = audit(mechanism, epsilon=epsilon, delta=1e-30)
        excess = [
            [sum(max(Fraction(0), t - factor * b) for t, b in zip(*pair, strict=True)) for pair in permutations(rows, 2)]
            for factor in (high, low)
        ]
        assert report.delta_lower <= max(excess[1]) / WORDS
        assert report.delta_upper >= max(excess[0]) / WORDS
        assert report.delta_upper <= report.delta_lower + 2.0**-52 * report.delta_upper + 1e-38
        assert report.rejected == (report.delta_lower > 1e-30)


@pytest.mark.parametrize("unknown", ["error", "randomise"])
def test_rows_of_randomised_response_are_those_of_its_table(unknown: str) -> None:
    for k in (1, 2, 3, 4, 7):
        for epsilon in (0.0, 1.0, 50.0):
            mechanism = RandomisedResponse(Domain.range(k, unknown=unknown), epsilon=epsilon)
            rows = table(mechanism)
            for i, j in permutations(range(len(rows)), 2):
                found = rows_of(mechanism, i, j)
                codes = [[x for x in range(k) if audit_event(answer, x)] for answer in found.answers]
                assert sorted(x for group in codes for x in group) == list(range(k))
                for row, words in ((i, found.top), (j, found.bottom)):
                    assert words == [sum(rows[row][x] for x in group) for group in codes]


def audit_event(answer: object, x: int) -> bool:
    """Whether a code is one of an answer."""
    if isinstance(answer, tuple):
        return x in answer
    return answer.first <= x < answer.last and x not in answer.without  # type: ignore[attr-defined]


def test_equality_is_no_violation() -> None:
    rows = rows_of(MatrixResponse(range(2), [[1.0, 0.0], [0.5, 0.5]]), 1, 0)
    assert not is_violated(rows, 3.0, 0.5)  # half the words have no counterpart, which is delta to the last bit
    assert is_violated(rows, 3.0, math.nextafter(0.5, 0.0))
    assert not is_violated(rows, math.inf, 0.0)


def test_a_claim_that_is_one_double_short_is_refuted() -> None:
    mechanism = RandomisedResponse(range(10), epsilon=1.0)
    assert not audit(mechanism).rejected
    mechanism.epsilon = 1.0 - 2.0**-52
    assert mechanism.epsilon_at() == mechanism.epsilon  # believes itself
    report = audit(mechanism)
    assert report.rejected
    assert report.event is not None
    assert report.event.contains([0, 1, 2]).tolist() == [True, False, False]


def tails(n: int, hits: int, p: Fraction) -> tuple[Fraction, Fraction]:
    """Probabilities of at least, and of at most, so many successes."""
    terms = [math.comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(n + 1)]
    return sum(terms[hits:], Fraction(0)), sum(terms[: hits + 1], Fraction(0))


@pytest.mark.parametrize("miss", [0.5, 0.05, 1e-3, 1e-9])
@pytest.mark.parametrize("n", [1, 2, 7, 16])
def test_ends_of_shares_have_the_tails_that_they_state(n: int, miss: float) -> None:
    for hits in range(n + 1):
        low, high = proved_shares((hits, hits), (n, n), miss)
        assert tails(n, hits, Fraction(low))[0] <= miss or low == 0.0
        assert tails(n, hits, Fraction(high))[1] <= miss or high == 1.0
        # and no more than the room for rounding is given away
        if hits:
            assert tails(n, hits, Fraction(low))[0] >= miss * (1 - 1e-4)
        if hits < n:
            assert tails(n, hits, Fraction(high))[1] >= miss * (1 - 1e-4)


@pytest.mark.parametrize("n", [10**6, 10**9, 10**12])
@pytest.mark.parametrize("miss", [0.1, 1e-6, 1e-12])
def test_no_hits_at_all_in_many_samples(n: int, miss: float) -> None:
    low, high = proved_shares((n, 0), (n, n), miss)
    for failure in (1 - Fraction(low), Fraction(high)):  # (1 - failure)^n <= miss
        assert n * math.log1p(-float(failure)) <= math.log(miss)
        assert float(failure) <= -math.log(miss) / n * 1.001 + 8e-15
    assert reach(n, miss) == epsilon_below(Shares(low, high), 0.0)


def test_statements_from_shares_are_rounded_down() -> None:
    rng = np.random.default_rng(6)
    for low, high, delta, epsilon in zip(*rng.random((3, 200)), rng.random(200) * 3, strict=True):
        shares = Shares(float(low), float(high))
        found = epsilon_below(shares, float(delta))
        ratio = (Fraction(shares.low) - Fraction(float(delta))) / Fraction(shares.high)
        assert found == 0.0 or exp_bounds(found, 60)[1] <= ratio
        assert ratio <= 1 or exp_bounds(math.nextafter(found, math.inf), 60)[1] > ratio
        left = delta_below(shares, float(epsilon))
        assert left == 0.0 or left <= Fraction(shares.low) - exp_bounds(float(epsilon), 60)[0] * Fraction(shares.high)
    assert delta_below(Shares(1.0, 0.0), 800.0) == 0.0
