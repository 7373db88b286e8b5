"""Claims about epsilon and delta, judged in rational arithmetic with bounds of e^epsilon from an independent series."""

from __future__ import annotations

import decimal
import math
import random
from fractions import Fraction
from itertools import product

import pytest

from dpfast import _rounding, privacy
from dpfast._rounding import exp_bounds, sum_up, times_up
from dpfast._statement import check_epsilon
from dpfast.privacy import WORD_RANGE, response_delta, response_epsilon, response_is_uniform, response_threshold
from dpfast.reference import response as reference

TINY = 5e-324
ALMOST_ONE = 1 - 2**-53
LOG_WORDS = math.log(WORD_RANGE)
EDGES = list(
    product(
        (1, 2, 3, 255, 2**31),
        (0.0, TINY, 1e-300, 1e-19, 1e-9, 44.36, LOG_WORDS, math.nextafter(LOG_WORDS, 50), 45.0, 800.0, 1e308),
        (0.0, TINY, 1e-6, 0.5, ALMOST_ONE),
    )
)


def holds(k: int, t: int, epsilon: float, delta: float) -> bool:
    """Whether D <= e^epsilon t + delta 2^64, decided without rounding; a uniform table satisfies everything."""
    if response_is_uniform(k, t):
        return True
    short = WORD_RANGE - (k - 1) * t - Fraction(delta) * WORD_RANGE
    if short <= t:
        return True
    if epsilon == 0 or t == 0:
        return False
    bits = 128
    while True:
        # No table asks for more than e^epsilon = 2^64 < e^64, so a larger epsilon may stand for 64.
        lower, upper = reference.exp_bounds(min(epsilon, 64.0), bits)
        if lower * t >= short:
            return True
        if upper * t < short:
            return False
        bits *= 2


def requests(count: int, seed: int) -> list[tuple[int, float, float]]:
    """Random (k, epsilon, delta): k to 2^31, epsilon to 800, delta to 1, at every scale."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        k = rng.choice([rng.randint(1, 12), round(2 ** rng.uniform(0, 31))])
        epsilon = rng.choice([rng.uniform(0, 3), rng.uniform(0, 50), rng.uniform(0, 800), 10 ** rng.uniform(-20, 1.6)])
        delta = rng.choice([0.0, 0.0, rng.random(), 10 ** rng.uniform(-20, 0), 1 - 2 ** rng.uniform(-53, 0)])
        found.append((k, epsilon, delta))
    return found


def check_request(k: int, epsilon: float, delta: float) -> None:
    t = response_threshold(k, epsilon, delta)
    assert t == reference.threshold(k, epsilon, delta)
    assert holds(k, t, epsilon, delta)

    realised = response_epsilon(k, t, delta)
    assert realised <= epsilon
    assert holds(k, t, realised, delta)
    if realised > 0:
        assert not holds(k, t, math.nextafter(realised, 0), delta)
        assert not holds(k, t - 1, epsilon, delta)
    if k > 1 and (1 - delta) / (math.exp(min(epsilon, 100)) + k - 1) >= 1e-5:
        assert epsilon - realised <= 1e-9

    slack = response_delta(k, t, epsilon)
    assert slack <= delta
    assert holds(k, t, epsilon, slack)
    if slack > 0:
        assert not holds(k, t, epsilon, math.nextafter(slack, 0))


def test_ten_thousand_requests_are_never_exceeded() -> None:
    for request in requests(10_000, seed=1):
        check_request(*request)


@pytest.mark.parametrize(("k", "epsilon", "delta"), EDGES)
def test_edges_are_never_exceeded(k: int, epsilon: float, delta: float) -> None:
    check_request(k, epsilon, delta)


@pytest.mark.parametrize("digits", [2, 5, 16, 17, 18, 19, 20, 21])
def test_the_first_precision_does_not_matter(digits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # With the usual forty digits the first enclosure nearly always decides; with few, its bounds have to be right.
    monkeypatch.setattr(privacy, "FIRST_DIGITS", digits)
    monkeypatch.setattr(_rounding, "FIRST_DIGITS", digits)
    for request in requests(500, seed=digits):
        check_request(*request)


def test_a_threshold_in_doubles_is_caught() -> None:
    # The control: rounded doubles fall short of the ceiling in about half of all requests, and `holds` sees it.
    cases = [(k, epsilon, delta) for k, epsilon, delta in requests(400, seed=2) if k > 1 and epsilon < 20]
    naive = [math.ceil(2.0**64 * (1 - delta) / (math.exp(epsilon) + k - 1)) for k, epsilon, delta in cases]
    broken = sum(not holds(k, t, epsilon, delta) for (k, epsilon, delta), t in zip(cases, naive, strict=True))
    assert broken > len(cases) / 5


@pytest.mark.parametrize(
    ("m", "epsilon", "delta", "p", "keep", "pure_epsilon"),
    [
        (1, 1.0, 0.0, 0.268941421370, 0.731058578630, 1.0),
        (3, 1.0, 0.01, 0.173128927482, 0.480613217554, 1.021026262618),
        (9, 2.0, 0.0, 0.061016326625, 0.450853060379, 2.0),
        (9, 0.5, 0.001, 0.093814081015, 0.155673270861, 0.506444431153),
    ],
)
def test_published_formulas(m: int, epsilon: float, delta: float, p: float, keep: float, pure_epsilon: float) -> None:
    # p = (1 - delta) / (e^epsilon + m); keep = 1 - m p; k_max = ln(e^epsilon + m delta) - ln(1 - delta).
    t = response_threshold(m + 1, epsilon, delta)
    assert t / WORD_RANGE == pytest.approx(p, abs=1e-12)
    assert 1 - m * t / WORD_RANGE == pytest.approx(keep, abs=1e-12)
    assert response_epsilon(m + 1, t) == pytest.approx(pure_epsilon, abs=1e-12)
    assert response_epsilon(m + 1, t, delta) == pytest.approx(epsilon, abs=1e-12)
    assert response_delta(m + 1, t, epsilon) == pytest.approx(delta, abs=1e-12)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.0, 0.25, 1.0, 6.0])
def test_delta_is_that_of_the_whole_table(k: int, epsilon: float) -> None:
    # Every ordered pair of rows, the row of unknown values among them, and the sum over all categories.
    rng = random.Random(k)
    for t in [WORD_RANGE // k, 1, *(rng.randrange(1, WORD_RANGE // k) for _ in range(20))]:
        rows = [*reference.table(k, t), reference.uniform_row(k)]
        lower, upper = reference.exp_bounds(epsilon, 200)
        stated = Fraction(response_delta(k, t, epsilon))
        assert stated >= reference.worst_delta(rows, upper)
        assert stated <= reference.worst_delta(rows, lower) + Fraction(1, 2**52)


def test_realised_epsilon_stays_at_the_resolution_of_a_word() -> None:
    for epsilon in (44.37, 45.0, 700.0, 800.0, 1e308):
        t = response_threshold(2, epsilon)
        assert t == 1
        assert response_epsilon(2, t) == pytest.approx(LOG_WORDS, abs=1e-12)


def test_epsilon_zero_is_one_row() -> None:
    for k in (1, 2, 3, 7, 2**31, 2**31 - 1):
        t = response_threshold(k, 0.0)
        assert t == -(-WORD_RANGE // k)
        assert response_is_uniform(k, t) == (k == 1 or WORD_RANGE % k != 0)
        assert response_epsilon(k, t) == response_delta(k, t, 0.0) == 0.0


@pytest.mark.parametrize(("k", "t", "uniform"), [(1, 0, True), (1, 2**64, True), (2, 2**63, False), (2, 2**63 + 1, True)])
def test_uniform_tables(k: int, t: int, uniform: bool) -> None:
    assert response_is_uniform(k, t) is uniform
    assert response_epsilon(k, t) == 0.0
    assert response_delta(k, t, 0.0) == 0.0


def test_identity_promises_nothing() -> None:
    assert response_epsilon(2, 0, 0.5) == math.inf
    assert response_delta(2, 0, 800.0) == 1.0


def test_exp_bounds_enclose_and_are_narrow() -> None:
    rng = random.Random(3)
    for _ in range(500):
        epsilon = rng.choice([rng.uniform(0, 5), rng.uniform(0, 800), 10 ** rng.uniform(-300, 0)])
        digits = rng.randint(2, 60)
        lower, upper = exp_bounds(epsilon, digits)
        inner_lower, inner_upper = reference.exp_bounds(epsilon, 1500)
        assert 1 <= lower <= inner_lower <= inner_upper <= upper
        assert upper - lower <= 2 * upper / 10 ** (digits - 1)
    assert exp_bounds(0.0, 2) == (Fraction(1), Fraction(1))
    assert exp_bounds(TINY, 40)[0] == 1 < exp_bounds(TINY, 40)[1]


def test_exp_bounds_of_a_number_that_is_no_double() -> None:
    lower, upper = exp_bounds(Fraction(1, 3), 40)  # type: ignore[arg-type]
    inner_lower, inner_upper = reference.exp_bounds(Fraction(1, 3), 200)
    assert lower < inner_lower < inner_upper < upper


def test_the_callers_decimal_context_is_left_alone() -> None:
    def results() -> tuple[object, ...]:
        cents = decimal.Decimal("0.0125")
        return (
            response_threshold(10, 1.0, 1e-6),
            response_epsilon(10, 2**60, 1e-6),
            response_delta(10, 2**60, 0.1),
            exp_bounds(1.0, 40),
            sum_up([cents, decimal.Decimal("Infinity")]),  # type: ignore[list-item]
            check_epsilon(cents),
        )

    expected = results()
    with decimal.localcontext() as context:
        context.prec, context.Emax, context.Emin, context.rounding = 2, 3, -3, decimal.ROUND_UP
        for signal in context.traps:
            context.traps[signal] = True
        context.clear_flags()  # those that were set before
        assert results() == expected
        assert not any(context.flags.values())


def test_sums_and_products_are_the_smallest_doubles_not_below() -> None:
    rng = random.Random(4)
    for _ in range(500):
        values = [rng.choice([rng.random(), 10 ** rng.uniform(-320, 300), 0.0, TINY]) for _ in range(rng.randint(0, 8))]
        n = rng.choice([0, 1, 2, 3, rng.randrange(10**6)])
        value = rng.choice([*values, 0.1])
        for stated, exact in (
            (sum_up(values), sum(map(Fraction, values), Fraction(0))),
            (times_up(value, n), Fraction(value) * n),
        ):
            assert stated >= exact
            assert stated == 0 or math.nextafter(stated, 0) < exact
    assert sum_up([]) == 0.0
    assert sum_up([1.0, math.inf]) == math.inf
    assert sum_up([1.7e308, 1.7e308]) == math.inf
    assert times_up(1.7e308, 2) == math.inf
    assert times_up(math.inf, 2) == math.inf
    assert times_up(math.inf, 0) == 0.0
