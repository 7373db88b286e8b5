"""The histogram splitter as a pure function of bits: every bit string, compared in fractions with the law of the rows.

A run that takes the bits b_1 ... b_n has probability 2^-n. All runs are gone through by extending, with 0 and with 1, each string
that is too short; their outcomes add up to the law. It must be the one of rows that are answered one by one from whole words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dpfast import RandomisedResponse
from dpfast.histogram import Bits, answer_response, answer_table
from dpfast.reference import histogram as reference
from dpfast.reference import response

Outcome = tuple[tuple[int, ...], ...]
Law = dict[Outcome, Fraction]


class TooShort(Exception):
    """The bits at hand do not settle the outcome."""


class Tape:
    """Bits that are written out, one by one or counted in runs."""

    def __init__(self, bits: tuple[int, ...]) -> None:
        self.bits = bits
        self.at = 0

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        if self.at == len(self.bits):
            raise TooShort
        self.at += 1
        return self.bits[self.at - 1]

    def ones(self, lengths: np.ndarray) -> np.ndarray:
        counted = [sum(next(self) for _ in range(n)) for n in lengths.reshape(-1).tolist()]
        return np.array(counted, np.int64).reshape(lengths.shape)


def enumerated(run: Callable[[Tape], Any]) -> Law:
    """The law of what `run` returns."""
    law: dict[Outcome, Fraction] = defaultdict(Fraction)
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        tape = Tape(waiting.pop())
        try:
            outcome = np.asarray(run(tape)).tolist()
        except TooShort:
            waiting += [(*tape.bits, 0), (*tape.bits, 1)]
            continue
        assert tape.at == len(tape.bits), "bits that settle the outcome are not followed by others"
        law[tuple(map(tuple, outcome))] += Fraction(1, 2**tape.at)
    return dict(law)


def row_by_row(counts: list[list[int]], table: list[list[int]], word_bits: int) -> Law:
    """The law of histograms whose rows are answered from words of their own."""
    k, n_vectors = len(counts), len(counts[0])
    law: Law = {tuple((0,) * n_vectors for _ in range(k)): Fraction(1)}
    for code, vector in product(range(k), range(n_vectors)):
        for _ in range(counts[code][vector]):
            more: dict[Outcome, Fraction] = defaultdict(Fraction)
            for (outcome, chance), answer in product(law.items(), range(k)):
                if table[code][answer]:
                    grown = [list(row) for row in outcome]
                    grown[answer][vector] += 1
                    more[tuple(map(tuple, grown))] += chance * Fraction(table[code][answer], 2**word_bits)
            law = dict(more)
    return law


def ends(row: list[int]) -> list[int]:
    return np.cumsum(row).tolist()


def ours(counts: list[list[int]], t: int, word_bits: int) -> Callable[[Bits], np.ndarray]:
    uniform = response.is_uniform(len(counts), t, word_range=1 << word_bits)
    return lambda bits: answer_response(np.array(counts, np.int64), t, uniform, bits, word_bits=word_bits)


COUNTS = {
    1: [[[0]], [[5]]],
    2: [[[2], [1]], [[0], [3]], [[1, 0], [0, 2]]],
    3: [[[1], [0], [2]], [[1, 0], [1, 0], [0, 1]]],
    4: [[[0], [1], [1], [1]]],
    5: [[[1], [0], [0], [0], [1]]],
}


@pytest.mark.parametrize("word_bits", [3, 4])
@pytest.mark.parametrize("k", sorted(COUNTS))
def test_every_bit_string_of_randomised_response(k: int, word_bits: int) -> None:
    """All thresholds: one word, boundaries at every place, a power of two, all words redrawn, and the uniform table."""
    for t in range(1, (1 << word_bits) // k + 2):
        table = response.table(k, t, word_range=1 << word_bits)
        for counts in COUNTS[k]:
            law = enumerated(ours(counts, t, word_bits))
            assert law == row_by_row(counts, table, word_bits)
            assert sum(law.values()) == 1


@pytest.mark.parametrize("k", [2, 3, 4])
def test_every_bit_string_of_the_reference(k: int) -> None:
    for t in range(1, 16 // k + 2):
        table = response.table(k, t, word_range=16)
        for counts in COUNTS[k]:
            law = row_by_row(counts, table, 4)
            assert enumerated(lambda bits: reference.response_answers(counts, t, bits, word_bits=4)) == law  # noqa: B023


TABLES = [
    [[16]],
    [[0, 16], [16, 0]],
    [[7, 0, 9], [0, 0, 16], [1, 15, 0]],
    [[4, 4, 8], [5, 6, 5], [16, 0, 0]],
    [[1, 0, 14, 1], [0, 3, 0, 13], [4, 4, 4, 4], [0, 0, 0, 16]],
]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{len(table)}")
def test_every_bit_string_of_a_table(table: list[list[int]]) -> None:
    """Also answers without words, at either end and in the middle, which must never come."""
    k = len(table)
    for counts in [[[1 + (x == 0)] for x in range(k)], [[int(x == k - 1), int(x == 0)] for x in range(k)]]:
        law = row_by_row(counts, table, 4)
        bounds = [ends(row) for row in table]
        assert enumerated(lambda bits: answer_table(np.array(counts, np.int64), bounds, bits, word_bits=4)) == law  # noqa: B023
        assert enumerated(lambda bits: reference.table_answers(counts, table, bits, word_bits=4)) == law  # noqa: B023


def test_another_law_is_seen() -> None:
    """The control: one word more or less, one category more, a row used twice."""
    counts = [[2], [0], [1]]
    right = row_by_row(counts, response.table(3, 4, word_range=16), 4)
    assert enumerated(ours(counts, 4, 4)) == right
    for t in (3, 5):
        assert enumerated(ours(counts, t, 4)) != right
    assert enumerated(ours([*counts, [0]], 4, 4)) != {(*outcome, (0,)): chance for outcome, chance in right.items()}
    single = enumerated(ours([[1], [0], [0]], 4, 4))
    assert {tuple((2 * n,) for (n,) in outcome): p for outcome, p in single.items()} != enumerated(ours([[2], [0], [0]], 4, 4))


class Words:
    """The bits of the words of rows that are asked for one at a time: of a single row, those of its word in order."""

    def __init__(self, word: int) -> None:
        self.word = word
        self.read = 0

    def ones(self, lengths: np.ndarray) -> np.ndarray:
        if not lengths.any():
            return np.zeros_like(lengths)
        assert lengths.sum() == 1
        assert self.read < 64, "no row takes more bits than a word has"
        self.read += 1
        return lengths * (self.word >> 64 - self.read & 1)


def edges(cuts: list[int]) -> list[int]:
    return sorted({word for cut in cuts for word in (cut - 1, cut, cut + 1) if 0 <= word < 1 << 64})


@pytest.mark.parametrize("k", [1, 2, 3, 10, 256, 1000])
@pytest.mark.parametrize("epsilon", [0.0, 1e-18, 1.0, 11.0, 44.0])
def test_a_single_row_is_decided_as_by_its_64_bit_word(k: int, epsilon: float) -> None:
    """At full width: the words around every boundary of the law, or a good many of them."""
    mechanism = RandomisedResponse(range(k), epsilon=epsilon)
    t = mechanism.threshold
    starts = [start for start, _, _ in response.pieces(k, t, 0)]
    for code in {0, k // 2, k - 1}:
        counts = np.zeros((k, 1), np.int64)
        counts[code] = 1
        for word in edges([*starts[:: 1 + k // 40], starts[-1], 1 << 64]):
            answers = answer_response(counts, t, mechanism.is_uniform, Words(word))
            assert np.flatnonzero(answers).tolist() == [response.decide(word, code, k, t)]
            assert answers.sum() == 1


def test_a_single_row_of_a_table_is_decided_as_by_its_64_bit_word() -> None:
    full = 1 << 64
    table = [
        [1, full - 3, 0, 2],
        [0, 1 << 63, 0, 1 << 63],
        [0, 0, full, 0],
        [full // 3, full - full // 3 - 5, 5, 0],
    ]
    bounds = [[sum(row[: x + 1]) for x in range(4)] for row in table]
    for code, row in enumerate(bounds):
        counts = np.zeros((4, 1), np.int64)
        counts[code] = 1
        for word in edges([0, *row]):
            answers = answer_table(counts, bounds, Words(word))
            assert np.flatnonzero(answers).tolist() == [next(x for x, end in enumerate(row) if word < end)]
