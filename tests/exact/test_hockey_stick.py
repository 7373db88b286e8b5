"""Privacy of integer tables against trying every event, every database, and the vectors of the mathematics."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpfast.hockey_stick import pair_delta, pair_epsilon, pair_losses, pair_sets, table_delta, table_epsilon
from dpfast.integer_table import WORD_RANGE, IntegerTable, realise, stochastic
from dpfast.reference import matrix as reference
from dpfast.reference.response import exp_bounds, hockey_stick, worst_delta


def random_table(rng: np.random.Generator, k: int) -> IntegerTable:
    matrix = rng.dirichlet(np.full(k, 10.0 ** rng.uniform(-1, 2)), k)
    if rng.random() < 0.2:
        matrix[rng.random((k, k)) < 0.2] = 0.0
        matrix += 1e-3 * np.eye(k)
    return realise(stochastic(matrix / matrix.sum(axis=1, keepdims=True), k))


def test_epsilon_is_that_of_the_worst_event() -> None:
    rng = np.random.default_rng(1)
    for _ in range(150):
        k = int(rng.integers(1, 6))
        table = random_table(rng, k)
        rows = [table.integers(i) for i in range(k)]
        for delta in (0.0, 1e-9, 0.01, 0.3):
            worst = [reference.worst_events(p, q, Fraction(delta), WORD_RANGE) for p, q in product(rows, rows)]
            got = table_epsilon(table, delta, unknown=False)
            if None in worst:
                assert got == math.inf
            else:
                most = max(ratio for ratio in worst if ratio is not None)
                assert exp_bounds(Fraction(got), 200)[1] >= most, "below the truth"
                assert got - math.log(most) <= 1e-9


def test_delta_is_that_of_the_worst_pair() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        k = int(rng.integers(1, 7))
        table = random_table(rng, k)
        for unknown in (False, True):
            rows = [table.integers(i) for i in range(k + unknown)]
            for epsilon in (0.0, 0.1, 1.0, 5.0, 60.0):
                low, high = exp_bounds(Fraction(epsilon), 200)
                got = Fraction(table_delta(table, epsilon, unknown=unknown))
                assert got >= worst_delta(rows, high)
                assert got - worst_delta(rows, low) <= Fraction(1, 10**12)


def test_epsilon_and_delta_are_inverse() -> None:
    rng = np.random.default_rng(3)
    for _ in range(100):
        table = random_table(rng, int(rng.integers(2, 9)))
        for epsilon in (0.05, 0.7, 2.0):
            delta = table_delta(table, epsilon, unknown=False)
            if 0 < delta < 1:
                back = table_epsilon(table, delta, unknown=False)
                assert back <= epsilon
                assert abs(table_delta(table, back, unknown=False) - delta) <= 1e-12


def test_many_equal_pairs_are_bounded_from_above() -> None:
    """A circulant matrix: every pair of rows at one distance ties, more than are settled one by one."""
    k = 40
    apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
    matrix = np.exp(-0.3 * np.minimum(apart, k - apart))
    table = realise(stochastic(matrix / matrix.sum(axis=1, keepdims=True), k))
    rows = [table.integers(i) for i in range(k)]
    for epsilon in (0.0, 1.0):
        low = exp_bounds(Fraction(epsilon), 200)[0]
        true = max(hockey_stick(rows[0], q, low) for q in rows) / WORD_RANGE
        assert 0 <= Fraction(table_delta(table, epsilon, unknown=False)) - true <= Fraction(1, 10**12)
    epsilon = table_epsilon(table, 0.1, unknown=False)
    assert table_delta(table, epsilon, unknown=False) <= 0.1
    assert table_delta(table, epsilon - 1e-9, unknown=False) > 0.1


def test_a_delta_below_what_doubles_tell_apart_ends() -> None:
    """More equal pairs than are settled one by one: their bound never falls to such a delta, and pure epsilon is the answer."""
    k = 12
    apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
    smooth = np.exp(-0.2 * np.minimum(apart, k - apart))
    banded = np.where(smooth > 0.5, smooth, 0.0)
    for matrix, pure in ((smooth, 1.2), (banded, math.inf)):
        table = realise(stochastic(matrix / matrix.sum(axis=1, keepdims=True), k))
        for unknown in (False, True):
            assert table_epsilon(table, 0.0, unknown=unknown) == pytest.approx(pure)
            assert table_epsilon(table, 1e-18, unknown=unknown) == table_epsilon(table, 0.0, unknown=unknown)
            if pure < math.inf:
                assert table_delta(table, table_epsilon(table, 0.0, unknown=unknown), unknown=unknown) == 0.0
                assert table_delta(table, 0.9 * pure, unknown=unknown) > 0.0


def test_the_row_of_unknown_values_counts() -> None:
    table = IntegerTable(np.array([[1 << 63, 1 << 63], [1 << 63, 1 << 63]], np.uint64), np.array([1 << 62, 3 << 62], np.uint64))
    assert table_epsilon(table, 0.0, unknown=False) == 0.0
    assert table_epsilon(table, 0.0, unknown=True) == pytest.approx(math.log(2))
    assert table_delta(table, 0.0, unknown=True) == 0.25


def test_losses_are_the_law_of_the_pair() -> None:
    p, q = [1 << 62, 1 << 62, 1 << 63, 0], [1 << 61, 3 << 61, 1 << 63, 1 << 62]
    losses, masses = pair_losses(p, q)
    assert losses.tolist() == pytest.approx([math.log(2 / 3), 0.0, math.log(2)])
    assert masses.tolist() == [0.25, 0.5, 0.25]
    losses, masses = pair_losses([1 << 63, 1 << 63], [WORD_RANGE, 0])
    assert losses.tolist() == [-math.log(2), math.inf]
    assert masses.tolist() == [0.5, 0.5]


def test_sufficient_sets_decide_delta() -> None:
    """sum_s (1 - e^(epsilon - loss))+ P(s): each alone with all of delta would be too little (Theorem 3 and after)."""
    rng = np.random.default_rng(4)
    alone_is_too_little = 0
    for _ in range(200):
        k = int(rng.integers(2, 7))
        rows = [random_table(rng, k).integers(i) for i in range(2)]
        sets = pair_sets(*rows)
        assert [s.loss for s in sets] == sorted(s.loss for s in sets)
        assert all(s.loss > 0 for s in sets)
        for epsilon in (0.0, 0.5):
            excess = [
                -math.expm1(min(0.0, epsilon - s.loss)) * sum(rows[0][x] for x in s.codes) / WORD_RANGE
                for s in sets
                if s.loss > epsilon
            ]
            assert sum(excess) == pytest.approx(pair_delta(*rows, epsilon), abs=1e-12)
            alone_is_too_little += len(excess) > 1 and max(excess) < 0.99 * sum(excess)
    assert alone_is_too_little > 20


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 3), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (3, 3)])
def test_theorems_2_to_4_by_enumeration(n: int, m: int) -> None:
    """Sanitising rows independently by the Hamming exponential mechanism, as a mechanism on D^n.

    Theorem 2: answers outside the sufficient set add nothing. Theorem 3 and the corollary: one set, loss k, decides. Theorem 4:
    e^k (1 - delta) <= e^epsilon + m delta is the condition, whatever n is.
    """
    word_range = 10**4
    databases = list(product(range(m + 1), repeat=n))
    for t in (1, word_range // (m + 1) // 3, word_range // (m + 1)):
        diagonal = word_range - m * t

        def row(d: tuple[int, ...], t: int = t, diagonal: int = diagonal) -> list[int]:
            return [math.prod(diagonal if a == b else t for a, b in zip(d, x, strict=True)) for x in databases]

        rows = {d: row(d) for d in databases}
        total = word_range**n
        for d, e in product(databases, databases):
            if sum(a != b for a, b in zip(d, e, strict=True)) != 1:
                continue
            sufficient = [x for x in range(len(databases)) if rows[d][x] > rows[e][x]]
            sets = pair_sets(rows[d], rows[e])
            assert sorted(x for s in sets for x in s.codes) == sufficient
            assert len(sets) == (diagonal > t), "a single sufficient set"
            for ratio in (Fraction(1), Fraction(3, 2), Fraction(diagonal, t)):
                everywhere = hockey_stick(rows[d], rows[e], ratio) / total
                within = sum(rows[d][x] - ratio * rows[e][x] for x in sufficient)
                assert everywhere == max(Fraction(0), Fraction(within) / total if ratio < Fraction(diagonal, t) else Fraction(0))
                delta = everywhere
                assert Fraction(diagonal, t) * (1 - delta) <= ratio + m * delta
                if delta > 0:  # and no smaller delta will do
                    less = delta * Fraction(999, 1000)
                    assert Fraction(diagonal, t) * (1 - less) > ratio + m * less


def test_metrics_other_than_hamming_by_enumeration() -> None:
    """Ordinal and circular distance: the exact check of the parent is that of the mechanism on D^2, normalisers included."""
    for far in ([[0, 1, 2], [1, 0, 1], [2, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]):
        matrix = np.exp(-0.7 * np.array(far))
        table = realise(stochastic(matrix / matrix.sum(axis=1, keepdims=True), 3))
        parent = [table.integers(i) for i in range(3)]
        pure = reference.worst_ratio(parent)
        assert pure is not None
        databases = list(product(range(3), repeat=2))
        rows = {d: [parent[d[0]][x] * parent[d[1]][y] for x, y in databases] for d in databases}
        worst = Fraction(0)
        for d, e in product(databases, databases):
            if sum(a != b for a, b in zip(d, e, strict=True)) == 1:
                worst = max(worst, hockey_stick(rows[d], rows[e], Fraction(3, 2)) / WORD_RANGE**2)
                assert all(Fraction(p, q) <= pure for p, q in zip(rows[d], rows[e], strict=True))
        assert worst == worst_delta(parent, Fraction(3, 2))
        assert pair_epsilon(parent[0], parent[2], 0.0) == pytest.approx(math.log(pure))
