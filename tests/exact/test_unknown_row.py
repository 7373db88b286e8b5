"""The uniform row that unknown values get is never worse than the known rows: all small tables, every epsilon at once.

The hockey-stick divergence of two integer rows is a piecewise linear function of e^epsilon whose kinks lie at ratios of
their entries. Two such functions that compare at all kinks of both, and at 1, compare at every epsilon >= 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest

from dpfast.reference.response import decide, hockey_stick, is_uniform, known_row, table, uniform_row

Row = Sequence[int]


def kinks(pairs: Sequence[tuple[Row, Row]]) -> list[Fraction]:
    """Values of e^epsilon >= 1 at which the divergence of any pair changes slope, and one beyond them all."""
    ratios = {Fraction(1)}
    for p, q in pairs:
        ratios.update(Fraction(a, b) for a, b in zip(p, q, strict=True) if b and a > b)
    return [*sorted(ratios), max(ratios) + 1]


def dominated(unknown: Row, rows: Sequence[Row]) -> bool:
    """Whether the row is at no epsilon >= 0 further from a known row than two known rows are from each other."""
    others = [pair for row in rows for pair in ((unknown, row), (row, unknown))]
    known = (rows[0], rows[1])
    return all(hockey_stick(p, q, ratio) <= hockey_stick(*known, ratio) for ratio in kinks([*others, known]) for p, q in others)


@pytest.mark.parametrize("word_range", [5, 16, 27, 64, 101])
def test_the_uniform_row_is_dominated_at_every_epsilon(word_range: int) -> None:
    for k in range(2, 10):
        unknown = uniform_row(k, word_range=word_range)
        assert sum(unknown) == word_range
        assert max(unknown) - min(unknown) <= 1
        for t in range(word_range // k + 1):
            rows = table(k, t, word_range=word_range)
            diagonal = rows[0][0]
            assert t <= min(unknown) <= max(unknown) <= diagonal
            assert dominated(unknown, rows)


def test_two_known_rows_are_all_alike() -> None:
    # `dominated` looks at one pair of known rows; by symmetry any other ordered pair has the same divergence.
    for k, t in ((2, 20), (3, 7), (5, 12)):
        rows = table(k, t, word_range=64)
        for ratio in (Fraction(1), Fraction(3, 2), Fraction(4)):
            values = {hockey_stick(p, q, ratio) for p in rows for q in rows if p != q}
            assert len(values) == 1


def test_the_uniform_row_is_dominated_in_a_product() -> None:
    # Two rows of one person, or two columns: unknown in both, in one, against known in both.
    for k, word_range in ((2, 15), (3, 16), (4, 10)):
        unknown = uniform_row(k, word_range=word_range)
        for t in range(1, word_range // k + 1):
            first, second = (known_row(k, t, code, word_range=word_range) for code in (0, 1))
            worst = (outer(first, first), outer(second, second))
            for left, right in product((unknown, first), (unknown, second)):
                for pair in (
                    (outer(unknown, left), outer(first, right)),
                    (outer(first, right), outer(unknown, left)),
                ):
                    if left == right:
                        continue
                    for ratio in kinks([pair, worst]):
                        assert hockey_stick(*pair, ratio) <= hockey_stick(*worst, ratio)


def outer(p: Row, q: Row) -> list[int]:
    return [a * b for a in p for b in q]


def test_other_rows_are_not_dominated() -> None:
    # The controls: a constant answer, a split that is not even, the row of a table with more noise on one side.
    rows = table(4, 10, word_range=64)
    assert dominated([16, 16, 16, 16], rows)
    for unknown in ([64, 0, 0, 0], [36, 28, 0, 0], [35, 9, 10, 10], [5, 19, 20, 20]):
        assert not dominated(unknown, rows)


@pytest.mark.parametrize("word_range", [16, 64, 97])
def test_every_word_is_decided_by_the_table(word_range: int) -> None:
    for k in range(1, 10):
        for t in range(word_range // k + 3):
            for code in range(k + 1):
                counts = [0] * k
                for word in range(word_range):
                    counts[decide(word, code, k, t, word_range=word_range)] += 1
                unknown = code == k or is_uniform(k, t, word_range=word_range)
                expected = uniform_row(k, word_range=word_range) if unknown else [t] * k
                if not unknown:
                    expected[code] += word_range - k * t
                assert counts == expected
                assert code == k or counts == known_row(k, t, code, word_range=word_range)
