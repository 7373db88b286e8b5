"""Matrices realised in integers: sums, columns that never spread, zeros, rows of one category (figure G1)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.integer_table import WORD_RANGE, IntegerTable, realise, stochastic

RANDOM = 10_000


def random_matrix(rng: np.random.Generator, k: int) -> np.ndarray:
    """Flat, steep, nearly equal rows, nearly the identity, a few words here and there."""
    matrix = rng.dirichlet(np.full(k, 10.0 ** rng.uniform(-2, 3)), k)
    kind = rng.integers(0, 5)
    if kind == 1:
        matrix = np.tile(matrix[0], (k, 1)) * (1 + 1e-15 * rng.integers(-3, 4, (k, k)))
    elif kind == 2:
        matrix = np.eye(k) * 0.5 + matrix * 0.5 * 10.0 ** -rng.integers(0, 30)
    elif kind == 3:
        matrix = np.exp(-60.0 * rng.random((k, k)))
    elif kind == 4:
        matrix = np.tile(matrix[0], (k, 1))
    matrix = np.maximum(matrix, 1e-300)
    return stochastic(matrix / matrix.sum(axis=1, keepdims=True), k)


def columns_hold(table: IntegerTable, matrix: np.ndarray) -> None:
    """In every column: ratios of the table are at most those of the matrix, and the row of unknown values lies between."""
    k = table.k
    rows = [table.integers(i) for i in range(k + 1)]
    assert all(sum(row) == WORD_RANGE for row in rows)
    for x in range(k):
        column = [row[x] for row in rows[:k]]
        given = [Fraction(float(p)) for p in matrix[:, x]]
        assert min(column) <= rows[k][x] <= max(column)
        if max(column):
            assert min(column) > 0
            assert Fraction(max(column), min(column)) <= max(given) / min(given)
        else:
            assert max(given) * WORD_RANGE < 1


@pytest.mark.parametrize(
    "matrix",
    [
        [[1.0, 1e-30, 0.0], [0.0, 1e-30, 1.0], [1.0, 1e-30, 0.0]],
        [[1.0, 1e-30, 0.0], [0.0, 1e-30, 1.0], [0.5, 0.0, 0.5]],
        [[0.0, 1.0], [1e-30, 1.0]],
        [[1e-30, 1.0], [0.0, 1.0]],
    ],
)
def test_a_row_whose_other_entries_come_to_no_word_goes_to_its_largest(matrix: Any) -> None:
    table = realise(stochastic(matrix, len(matrix)))
    for i, row in enumerate(matrix):
        assert sum(table.integers(i)) == WORD_RANGE
        assert [words / WORD_RANGE for words in table.integers(i)] == pytest.approx(row, abs=1e-18)
    assert sum(table.integers(len(matrix))) == WORD_RANGE
    read = IntegerTable.from_bytes(table.to_bytes(unknown=True), len(matrix), unknown=True)
    assert all(read.integers(i) == table.integers(i) for i in range(len(matrix) + 1))


def test_no_column_spreads() -> None:
    rng = np.random.default_rng(1)
    for number in range(RANDOM):
        k = int(rng.integers(1, 7)) if number % 100 else int(rng.integers(7, 40))
        matrix = random_matrix(rng, k)
        columns_hold(realise(matrix), matrix)


@pytest.mark.parametrize("k", [256, 1000])
def test_no_column_of_a_large_matrix_spreads(k: int) -> None:
    matrix = stochastic(np.random.default_rng(k).dirichlet(np.ones(k), k), k)
    table = realise(matrix)
    most, least = table.words.max(axis=0).astype(object), table.words.min(axis=0).astype(object)
    scaled = [(Fraction(float(a)), Fraction(float(b))) for a, b in zip(matrix.max(axis=0), matrix.min(axis=0), strict=True)]
    assert all(m * b <= n * a for m, n, (a, b) in zip(most, least, scaled, strict=True))
    assert all(sum(table.integers(row)) == WORD_RANGE for row in (0, k - 1, k))
    assert np.abs(table.floats(unknown=False) / 2.0**64 - matrix).max() < 1e-12


def test_the_check_sees_a_spread_column() -> None:
    """The negative control: one word from the least entry of a column to another row's breaks the rule."""
    matrix = stochastic([[0.5, 0.5], [0.25, 0.75]], 2)
    table = realise(matrix)
    columns_hold(table, matrix)
    table.words[1] += np.array([-1 % WORD_RANGE, 1], np.uint64)
    with pytest.raises(AssertionError):
        columns_hold(table, matrix)


def test_zeros_stay_zeros() -> None:
    rng = np.random.default_rng(2)
    for _ in range(500):
        k = int(rng.integers(2, 8))
        matrix = rng.random((k, k)) * (rng.random((k, k)) < 0.6)
        matrix[np.arange(k), rng.integers(0, k, k)] += 0.1
        matrix = stochastic(matrix / matrix.sum(axis=1, keepdims=True), k)
        table = realise(matrix)
        for row in range(k):
            integers = table.integers(row)
            assert sum(integers) == WORD_RANGE
            assert [words > 0 for words in integers] == (matrix[row] > 0).tolist()


def test_rows_of_one_category() -> None:
    table = realise(stochastic([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 1.0, 0.0]], 3))
    assert table.integers(0) == [WORD_RANGE, 0, 0]
    assert table.integers(2) == [0, WORD_RANGE, 0]
    assert table.floats(unknown=True)[2].tolist() == [0.0, 2.0**64, 0.0]
    assert sum(table.integers(3)) == WORD_RANGE
    assert realise(np.ones((1, 1))).integers(1) == [WORD_RANGE]


def test_the_format_of_a_table() -> None:
    table = realise(stochastic([[1.0, 0.0], [0.25, 0.75]], 2))
    data = table.to_bytes(unknown=False)
    assert data == bytes(16) + (0).to_bytes(2, "little") + (1 << 62).to_bytes(8, "little") + (3 << 62).to_bytes(8, "little")
    assert table.to_bytes(unknown=True)[: len(data)] == data


@pytest.mark.parametrize(
    ("matrix", "error", "text"),
    [
        ([[0.5, 0.5]], ArgumentError, "shape"),
        ([[0.5, 0.5], [0.5, 0.6]], ArgumentError, "sum to 1"),
        ([[0.5, 0.5], [1.5, -0.5]], ArgumentError, "not negative"),
        ([[0.5, 0.5], [float("nan"), 1.0]], ArgumentError, "finite"),
        ([["a", "b"], ["c", "d"]], ArgumentTypeError, "real numbers"),
        ([[True, False], [False, True]], ArgumentTypeError, "real numbers"),
        ([[0.5, 0.5], [1.0]], ArgumentTypeError, "real numbers"),
        (None, ArgumentError, "row and a column"),
    ],
)
def test_what_is_no_matrix_is_refused(matrix: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        stochastic(matrix, 2)


def test_fractions_are_numbers() -> None:
    assert stochastic([[Fraction(1, 4), Fraction(3, 4)], [1, 0]], 2).tolist() == [[0.25, 0.75], [1.0, 0.0]]


def test_too_many_categories() -> None:
    with pytest.raises(ArgumentError, match="4096"):
        stochastic(np.eye(1), 4097)
