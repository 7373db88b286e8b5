"""Composed epsilons and deltas against all outputs of small products, in rational arithmetic."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from dpfast import Privacy, RandomisedResponse, _grid_bounds, compose, compose_bounds, composed_delta
from dpfast._exact_composition import ExactComposition, _Points, _shares
from dpfast._grid_bounds import grid_bounds
from dpfast._losses import Law, Table, read_part
from dpfast.reference.response import exp_bounds

Rows = list[list[int]]
Pairs = list[tuple[Fraction, Fraction]]

# Twice this table at e^epsilon = 2: the worst pair of each alone gives .0675, a mixture of pairs .18.
UNLIKE = [[5, 9, 6], [3, 5, 12], [2, 10, 8]]


def excess(parts: Sequence[Pairs], x: Fraction) -> Fraction:
    """The sum of (P - x Q)+ over all outputs of a product of pairs."""
    outputs: dict[tuple[Fraction, Fraction], int] = {(Fraction(1), Fraction(1)): 1}
    for pairs in parts:
        new: dict[tuple[Fraction, Fraction], int] = {}
        for (p, q), count in outputs.items():
            for a, b in pairs:
                key = p * a, q * b
                new[key] = new.get(key, 0) + count
        outputs = new
    return sum((count * max(Fraction(0), p - x * q) for (p, q), count in outputs.items()), Fraction(0))


def pairs_of(table: Rows, i: int, j: int) -> Pairs:
    return [(Fraction(p, sum(table[i])), Fraction(q, sum(table[j]))) for p, q in zip(table[i], table[j], strict=True)]


def worst(tables: Sequence[Rows], x: Fraction) -> Fraction:
    """The largest excess over all choices of an ordered pair of rows, equal ones too, in each table."""
    choices = [[pairs_of(table, i, j) for i, j in product(range(len(table)), repeat=2)] for table in tables]
    return max(excess(choice, x) for choice in product(*choices))


def check_epsilon_of(delta_at: Any, epsilon: float, delta: float, *, within: float = 1e-9) -> None:
    """Whether delta_at(e^epsilon) <= delta, and not so at a smaller epsilon."""
    low, _ = exp_bounds(epsilon, 160)
    assert delta_at(low) <= Fraction(delta), "below the true epsilon"
    if epsilon > within:
        _, high = exp_bounds(epsilon - within, 160)
        assert delta_at(high) > Fraction(delta), "too far above the true epsilon"


def responses(rng: random.Random) -> list[RandomisedResponse]:
    """One to four mechanisms of two to four categories, some of them equal."""
    kinds = [
        RandomisedResponse(
            range(rng.randint(2, 4)),
            epsilon=rng.choice([rng.uniform(0, 3), 10 ** rng.uniform(-6, 1.5)]),
            delta=rng.choice([0.0, 10 ** rng.uniform(-9, -0.5)]),
        )
        for _ in range(rng.randint(1, 3))
    ]
    return [*kinds, *rng.choices(kinds, k=rng.randint(0, 4 - len(kinds)))]


def deltas(rng: random.Random) -> float:
    return rng.choice([10 ** rng.uniform(-12, 0) * 0.99, rng.random(), 1 - 10 ** rng.uniform(-9, -1)])


@pytest.mark.parametrize("seed", range(300))
def test_responses_compose_exactly(seed: int) -> None:
    rng = random.Random(seed)
    parts, delta = responses(rng), deltas(rng)
    pairs = [pairs_of(part.table.tolist(), 0, 1) for part in parts]
    found = compose(parts, delta=delta)
    assert (found.delta, found.neighbours, found.rows_per_person) == (delta, "replace_one", 1)
    check_epsilon_of(lambda x: excess(pairs, x), found.epsilon, delta)
    lower, upper = compose_bounds(parts, delta=delta)
    assert upper == found.epsilon
    assert lower <= upper <= lower + 1e-9
    if lower > 0:
        assert excess(pairs, exp_bounds(lower, 160)[0]) >= Fraction(delta)
    epsilon = rng.uniform(0, 1.2) * found.epsilon
    low, high = exp_bounds(epsilon, 160)
    composed = Fraction(composed_delta(parts, epsilon=epsilon))
    assert excess(pairs, high) <= composed <= excess(pairs, low) * (1 + Fraction(1, 10**9)) + Fraction(1, 10**300)


@pytest.mark.parametrize("seed", range(20))
def test_the_pair_that_differs_everywhere_is_the_worst(seed: int) -> None:
    rng = random.Random(seed)
    parts = responses(rng)[:2]
    tables = [part.table.tolist() for part in parts]
    x = Fraction(math.exp(rng.uniform(0, 2)))
    assert worst(tables, x) == excess([pairs_of(table, 0, 1) for table in tables], x)


@pytest.mark.parametrize("seed", range(60))
def test_the_grid_holds_the_true_epsilon_between_its_bounds(seed: int) -> None:
    rng = random.Random(seed)
    parts, delta = responses(rng), min(0.9, deltas(rng))  # near 1, epsilon hangs on the last digits of delta
    laws: dict[Law, int] = {}
    for part in parts:
        law = read_part(part)
        assert isinstance(law, Law)
        laws[law] = laws.get(law, 0) + 1
    lower, upper = grid_bounds(laws, {}, delta)
    exact, _ = ExactComposition(laws).epsilon(delta)
    pairs = [pairs_of(part.table.tolist(), 0, 1) for part in parts]
    if upper == math.inf:
        assert exact > 0
        return
    assert excess(pairs, exp_bounds(upper, 160)[0]) <= Fraction(delta)
    assert lower <= exact
    assert upper - lower <= 1e-4 * upper + 1e-6


def statement_pairs(part: Privacy, x: Fraction) -> Pairs:
    """The worst pair of a statement, with e^epsilon = x."""
    delta = Fraction(part.delta)
    high, low = (1 - delta) * x / (1 + x), (1 - delta) / (1 + x)
    return [(delta, Fraction(0)), (high, low), (low, high), (Fraction(0), delta)]


@pytest.mark.parametrize("seed", range(60))
def test_statements_compose_as_their_worst_mechanisms(seed: int) -> None:
    rng = random.Random(seed)
    parts = [Privacy(rng.uniform(0, 2), rng.choice([0.0, 10 ** rng.uniform(-8, -1)])) for _ in range(rng.randint(1, 3))]
    parts += rng.choices(parts, k=2)
    mechanisms = responses(rng)[:1]
    delta = max(deltas(rng), min(0.9, 2 * sum(part.delta for part in parts)))
    fixed = [pairs_of(part.table.tolist(), 0, 1) for part in mechanisms]
    low = [*fixed, *(statement_pairs(part, exp_bounds(part.epsilon, 160)[0]) for part in parts)]
    found = compose([*parts, *mechanisms], delta=delta).epsilon
    # e^epsilon is rounded up by 2^-64 of itself: far less than the 1e-9 allowed.
    check_epsilon_of(lambda x: excess(low, x), found, delta)
    added = sum(part.epsilon for part in parts) + sum(part.epsilon_at() for part in mechanisms)
    assert found <= added * (1 + 1e-15)


def test_large_and_broken_statements_add() -> None:
    assert compose([Privacy(150.0, 0.25), Privacy(200.0)], delta=0.25) == Privacy(350.0, 0.25)
    assert compose([Privacy(150.0, 0.25)], delta=0.2).epsilon == math.inf
    assert compose([Privacy(math.inf)], delta=0.5).epsilon == math.inf
    assert compose([Privacy(1.0, 1e-3)], delta=9.9e-4).epsilon == math.inf
    assert compose_bounds([Privacy(1.0, 1e-3)], delta=9.9e-4) == (math.inf, math.inf)
    assert compose([Privacy(1.0, 1e-3)] * 2, delta=1.9e-3).epsilon == math.inf
    assert compose([Privacy(1.0, 1e-3)], delta=1e-3).epsilon == pytest.approx(1.0, abs=1e-9)
    assert composed_delta([Privacy(150.0, 0.25)], epsilon=149.0) == 1.0
    assert composed_delta([Privacy(150.0, 0.25), Privacy(1.0, 0.5)], epsilon=1e308) == 0.75
    mixed = [RandomisedResponse(range(3), epsilon=1.0), Privacy(150.0, 0.25)]
    assert compose(mixed, delta=0.3).epsilon == pytest.approx(150 + mixed[0].epsilon_at(0.3 - 0.25), abs=1e-9)


def random_table(rng: random.Random, zeros: bool) -> Rows:
    k, width, total = rng.randint(2, 3), rng.randint(2, 3), rng.choice([20, 1000])
    rows = []
    for _ in range(k):
        cuts = sorted(rng.randint(0, total) for _ in range(width - 1)) if zeros else rng.sample(range(1, total), width - 1)
        cuts = [0, *sorted(cuts), total]
        rows.append([b - a for a, b in pairwise(cuts)])
    return rows


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize(("seed", "zeros"), [(seed, seed % 4 == 0) for seed in range(40)])
def test_tables_are_bounded_from_both_sides(seed: int, zeros: bool, every: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # With few choices each is looked at; the bound for many choices is tried on the same tables.
    monkeypatch.setattr(_grid_bounds, "FEW_CHOICES", 250 if every else 0)
    rng = random.Random(seed)
    tables = [random_table(rng, zeros) for _ in range(rng.randint(1, 2))]
    tables += tables[:1] * rng.randint(0, 1)
    delta = rng.choice([10 ** rng.uniform(-7, -0.5), rng.uniform(0.05, 0.9)])
    lower, upper = compose_bounds([np.array(table, dtype=object) for table in tables], delta=delta)
    if upper < math.inf:
        assert worst(tables, exp_bounds(upper, 160)[0]) <= Fraction(delta)
    if 0 < lower < math.inf:
        assert worst(tables, exp_bounds(lower, 160)[0]) >= Fraction(delta)
    if every and upper < math.inf:
        assert upper - lower <= 2e-5 * upper + 1e-9
    epsilon = rng.uniform(0, 2)
    true = worst(tables, exp_bounds(epsilon, 160)[1])
    found = composed_delta(tables, epsilon=epsilon)
    assert true <= found
    if every:
        assert found <= float(true) * (1 + 1e-4) + 1e-6


def test_worst_pairs_do_not_multiply(monkeypatch: pytest.MonkeyPatch) -> None:
    two = Fraction(2)
    ordered = [(i, j) for i in range(3) for j in range(3) if i != j]
    alone = max(ordered, key=lambda pair: excess([pairs_of(UNLIKE, *pair)], two))
    assert excess([pairs_of(UNLIKE, *alone)] * 2, two) == Fraction(675, 10000)
    assert worst([UNLIKE, UNLIKE], two) == Fraction(18, 100)
    found = composed_delta([UNLIKE, UNLIKE], epsilon=math.log(2))
    assert 0.18 - 1e-15 <= found <= 0.18 + 1e-9
    epsilon = compose([UNLIKE] * 2, delta=0.18).epsilon
    check_epsilon_of(lambda x: worst([UNLIKE] * 2, x), epsilon, 0.18, within=1e-5)
    monkeypatch.setattr(_grid_bounds, "FEW_CHOICES", 0)
    assert 0.18 < composed_delta([UNLIKE, UNLIKE], epsilon=math.log(2)) < 0.2
    lower, upper = compose_bounds([UNLIKE] * 2, delta=0.18)
    # The search finds the mixed pairs; the bound by dominating pairs stays above.
    assert abs(lower - math.log(2)) < 1e-4
    assert math.log(2) < upper < math.log(2) + 0.06


def test_a_table_of_many_rows_is_bounded_by_its_largest_loss() -> None:
    rng = np.random.default_rng(3)
    rows = [[int(x) for x in row] for row in rng.integers(1, 50, (70, 5))]
    rows = [[*row, 400 - sum(row)] for row in rows]
    table = read_part(rows)
    assert isinstance(table, Table)
    assert not table.is_small
    delta = 1e-3
    upper = compose([rows], delta=delta).epsilon
    assert upper <= table.pure_epsilon
    low, _ = exp_bounds(upper, 160)
    assert worst([rows[:12]], low) <= Fraction(delta)
    with_hole = [[0, *row[:-1], row[-1]] for row in rows[:-1]] + [[1, *rows[-1][:-1], rows[-1][-1] - 1]]
    assert compose([with_hole], delta=1e-3).epsilon == math.inf
    assert compose([with_hole], delta=0.1).epsilon < 5


@pytest.mark.parametrize("law", [Law.of(7, 2, 5, 3), Law.of(2**64 - 1, 1, 0, 0), Law.of(2**63, 2**62, 7, 0), Law.of(5, 5, 1, 1)])
@pytest.mark.parametrize("bits", [8, 200])
def test_shares_of_copies_are_those_of_convolutions(law: Law, bits: int) -> None:
    weights = [1]
    for n in range(1, 40):
        if law.up:
            wide = [0, 0, *weights, 0, 0]
            weights = [law.down * wide[i + 2] + law.flat * wide[i + 1] + law.up * wide[i] for i in range(len(weights) + 2)]
        else:
            weights = [weights[0] * law.flat]
        shares = _shares(law, n, bits)
        assert len(shares) == len(weights)
        for share, weight in zip(shares, weights, strict=True):
            true = Fraction(weight << bits, law.total**n)
            assert true - 2 < share <= true


@pytest.mark.parametrize("bits", [12, 20, 40, 90])
@pytest.mark.parametrize("seed", range(12))
def test_bounds_hold_at_any_precision(seed: int, bits: int) -> None:
    # So few bits that the errors of the shares show: without them the upper bound would be too low, the lower too high.
    rng = random.Random(seed)
    if seed % 2:
        delta = 10 ** rng.uniform(-2, -0.3)
        laws = {Law.of(rng.randint(8, 20), rng.randint(1, 7), rng.randint(0, 9), 0): rng.randint(3, 9) for _ in range(3)}
    else:
        # All depends on what P has beyond delta.
        laws = {Law.of(10**5, 1, 1, 0): rng.randint(1, 3), Law.of(10**6, 7, 1, 0): 1}
        delta = 1 - 10 ** rng.uniform(-3.5, -2.5)
    exact, _ = ExactComposition(laws).epsilon(delta)
    lower, upper = ExactComposition(laws)._epsilon(_Points(laws, bits), delta)
    assert lower <= exact * (1 + 1e-12)
    assert exact <= upper
    assert bits < 90 or upper - lower < 1e-3


@pytest.mark.parametrize("seed", range(30))
def test_bounds_hold_where_losses_are_off(seed: int) -> None:
    # Doubles put the losses in order; here they are wrong by far more than doubles are, and said to be.
    rng = random.Random(seed)
    delta = 10 ** rng.uniform(-6, -0.3)
    weights = [(rng.randint(8, 20), rng.randint(1, 7), rng.randint(0, 9)) for _ in range(3)]
    laws = {Law.of(*weight, 0): rng.randint(1, 5) for weight in weights}
    exact, _ = ExactComposition(laws).epsilon(delta)
    true = Fraction(ExactComposition(laws).delta(0.9 * exact))
    for law in laws:
        vars(law)["loss"] = law.loss * (1 + rng.uniform(-1, 1) * 1e-3)
    off = ExactComposition(laws)
    off._error = 1.1e-3 * off._range
    lower, upper = off.epsilon(delta)
    assert lower <= exact * (1 + 1e-12)
    assert exact <= upper <= exact + 6 * off._error
    assert true <= Fraction(off.delta(0.9 * exact)) * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize(("m", "epsilon", "n"), [(1, 0.1, 100), (9, 0.3, 60), (4, 2.0, 37)])
def test_groups_of_rows_are_copies(m: int, epsilon: float, n: int) -> None:
    # All outputs of n rows of one mechanism, gathered by how many fall on either category that differs.
    part = RandomisedResponse(range(m + 1), epsilon=epsilon)
    d, t, rest = part.table[0][0], part.table[0][1], (m - 1) * part.threshold
    whole = (d + t + rest) ** n
    outputs = [
        (math.comb(n, i) * math.comb(n - i, j) * rest ** (n - i - j), d**i * t**j, d**j * t**i)
        for i in range(n + 1)
        for j in range(n + 1 - i)
    ]

    def true(x: Fraction) -> Fraction:
        top, bottom = x.numerator, x.denominator
        return Fraction(sum(c * max(0, p * bottom - top * q) for c, p, q in outputs), whole * bottom)

    for delta in (1e-9, 1e-3):
        check_epsilon_of(true, compose([part] * n, delta=delta).epsilon, delta)


def test_a_hundred_different_laws_are_bounded_closely() -> None:
    parts = [RandomisedResponse(range(2 + j), epsilon=0.05 + 0.01 * j) for j in range(100)]
    for delta in (0.5, 1e-6, 1e-12):
        lower, upper = compose_bounds(parts, delta=delta)
        assert 0 <= lower <= upper <= lower + 1e-4 * upper
    # An exact figure of the same size, as a check of the order of magnitude: the two halves are laws of 50 copies.
    few = [RandomisedResponse(range(52), epsilon=0.5)] * 50 + [RandomisedResponse(range(12), epsilon=0.6)] * 50
    laws = {law: 50 for law in map(read_part, few) if isinstance(law, Law)}
    lower, upper = grid_bounds(laws, {}, 1e-6)
    assert lower <= compose(few, delta=1e-6).epsilon <= upper <= lower * (1 + 1e-4)


def test_vectors_of_three_columns() -> None:
    parts = [RandomisedResponse(range(m + 1), epsilon=e) for m, e in [(1, 0.5), (2, 1.0), (3, 0.8)]]
    assert composed_delta(parts, epsilon=1.0) == pytest.approx(0.2036832786, abs=1e-9)
    assert composed_delta(parts, epsilon=2.0) == pytest.approx(0.0395849759, abs=1e-9)
    assert compose(parts, delta=composed_delta(parts, epsilon=2.0)).epsilon == pytest.approx(2.0, abs=1e-9)
    assert compose(parts, delta=0.0).epsilon == pytest.approx(2.3, abs=1e-15)


def test_one_part_is_itself() -> None:
    for k, epsilon, delta in [(2, 1.0, 0.0), (10, 3.0, 1e-4), (400, 50.0, 0.0), (3, 0.0, 0.0), (3, 1e-18, 0.0)]:
        part = RandomisedResponse(range(k), epsilon=epsilon, delta=delta)
        for asked in (0.0, 1e-9, 0.3):
            assert compose([part], delta=asked).epsilon == pytest.approx(part.epsilon_at(asked), abs=1e-12)
            assert composed_delta([part], epsilon=asked) == pytest.approx(part.delta_at(asked), rel=1e-9, abs=1e-25)
    assert compose([], delta=0.0) == Privacy(0.0)
    assert composed_delta([], epsilon=0.0) == 0.0
