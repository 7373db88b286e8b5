"""Counting bits and drawing histograms give what the slow twins give, value by value."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dpfast import ArgumentError, RandomisedResponse, Stream
from dpfast import words as shipped
from dpfast._core import rows as core
from dpfast.histogram import answer_response, answer_table, sanitise_contingency
from dpfast.reference import histogram, response, words
from dpfast.words import DrawBits

BYTES = bytes(np.random.default_rng(1).integers(0, 256, 5000, dtype=np.uint8))
NUMBER = int.from_bytes(BYTES, "little")  # bit j of the string is bit j of this number


def ones_between(first: int, stop: int) -> int:
    return (NUMBER >> first & (1 << stop - first) - 1).bit_count()


def count(first: int, lengths: list[int], data: bytes = BYTES) -> list[int]:
    ones = np.zeros(len(lengths), np.int64)
    reached = core.count_ones(np.frombuffer(data, np.uint8), first, sum(lengths), np.array(lengths, np.int64), 0, 0, ones)
    assert reached == len(lengths)
    return ones.tolist()


@pytest.mark.parametrize("first", range(17))
def test_ones_of_every_alignment_and_length(first: int) -> None:
    lengths = [*range(140), *range(1000, 1100), 8191, 8192, 8193, 16384]
    for length in lengths:
        assert count(first, [length]) == [ones_between(first, first + length)]
        before, after = count(first, [3, length, 70])[::2]
        assert (before, after) == (ones_between(first, first + 3), ones_between(first + 3 + length, first + 73 + length))


def test_ones_of_bytes_that_are_all_alike() -> None:
    for byte in (0x00, 0xFF):
        for first in range(8):
            assert count(first, [0, 1, 9, 64, 0, 20_000], bytes([byte]) * 4000) == [
                n * (byte & 1) for n in (0, 1, 9, 64, 0, 20_000)
            ]


def test_a_run_that_is_counted_in_pieces() -> None:
    lengths = np.array([5, 0, 1000, 3, 0], np.int64)
    for cut in range(sum(lengths) + 1):
        ones = np.zeros(5, np.int64)
        run = core.count_ones(np.frombuffer(BYTES, np.uint8), 7, cut, lengths, 0, 0, ones)
        skip = cut - int(lengths[:run].sum())
        assert core.count_ones(np.frombuffer(BYTES, np.uint8), 7 + cut, 1008 - cut, lengths, run, skip, ones) == 5
        ends = 7 + np.cumsum(lengths)
        assert ones.tolist() == [ones_between(end - n, end) for n, end in zip(lengths.tolist(), ends.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("first", "size", "run", "skip", "room"),
    [
        (0, 41, 0, 0, 2),
        (33, 8, 0, 0, 2),
        (41, 0, 0, 0, 2),
        (2**64 - 1, 2, 0, 0, 2),
        (0, 8, 3, 0, 2),
        (0, 8, 2, 1, 2),
        (0, 8, 0, 4, 2),
        (0, 8, 0, 0, 1),
    ],
)
def test_the_binding_stays_within_its_arrays(first: int, size: int, run: int, skip: int, room: int) -> None:
    lengths = np.array([3, 30], np.int64)
    with pytest.raises(ArgumentError):
        core.count_ones(np.zeros(5, np.uint8), first, size, lengths, run, skip, np.zeros(room, np.int64))
    assert core.count_ones(np.full(5, 255, np.uint8), 7, 33, lengths, 0, 0, np.zeros(2, np.int64)) == 2


@pytest.mark.parametrize("tile", [1 << 13, 1 << 22])
@pytest.mark.parametrize("vector_aes", [True, False])
def test_bits_of_draws_over_tiles(tile: int, vector_aes: bool, monkeypatch: pytest.MonkeyPatch, key: bytes) -> None:
    """Runs shorter and longer than a tile, asked for together and apart, against the reference."""
    monkeypatch.setattr(core, "has_vector_aes", lambda: vector_aes)
    monkeypatch.setattr(shipped, "TILE_BITS", tile)
    lengths = np.array([[1, 0, 7], [9000, 8192, 1], [20_001, 0, 64]], np.int64)
    bits = words.draw_bits(key, 5)
    expected = [sum(next(bits) for _ in range(n)) for n in lengths.reshape(-1)]
    together = DrawBits(key, 5, 1000)
    assert together.ones(lengths).reshape(-1).tolist() == expected
    assert together.ones(np.ones(100, np.int64)).tolist() == [next(bits) for _ in range(100)]
    apart = DrawBits(key, 5, 1000)
    assert [int(apart.ones(np.array([n]))[0]) for n in lengths.reshape(-1)] == expected
    assert DrawBits(key, 5, 1000).ones(lengths.T[::-1]).shape == (3, 3)


@pytest.mark.parametrize("vector_aes", [True, False])
def test_bits_past_a_segment(vector_aes: bool, monkeypatch: pytest.MonkeyPatch, key: bytes) -> None:
    monkeypatch.setattr(core, "has_vector_aes", lambda: vector_aes)
    bits = DrawBits(key, (1 << 49) - 1, 1 << 20)
    bits.ones(np.array([128 << 16]))
    drawn = bits.ones(np.ones(128, np.int64))
    block = words.keystream_block(key, (1 << 49) - 1, (1 << 32) + 2)
    assert drawn.tolist() == [block[place // 8] >> place % 8 & 1 for place in range(128)]


def test_draws_have_64_bits_each(key: bytes) -> None:
    bits = DrawBits(key, 0, 2)
    bits.ones(np.array([100, 20]))
    with pytest.raises(ArgumentError, match="more bits than were reserved"):
        bits.ones(np.array([9]))
    assert bits.ones(np.array([8, 0])).size == 2
    assert DrawBits(key, 0, 0).ones(np.zeros(0, np.int64)).size == 0


def some_counts(k: int, n_vectors: int, most: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, most, (k, n_vectors)) * rng.integers(0, 2, (k, n_vectors))


@pytest.mark.parametrize("n_vectors", [1, 3])
@pytest.mark.parametrize("k", [1, 2, 3, 10, 16, 100])
@pytest.mark.parametrize("epsilon", [0.0, 1e-18, 0.7, 5.0, 44.0])
def test_randomised_response_is_the_reference(k: int, epsilon: float, n_vectors: int, key: bytes) -> None:
    t = response.threshold(k, epsilon)
    counts = some_counts(k, n_vectors, 60, k)
    answers = answer_response(counts, t, response.is_uniform(k, t), DrawBits(key, 7, int(counts.sum())))
    assert answers.tolist() == histogram.response_answers(counts.tolist(), t, words.draw_bits(key, 7))


@pytest.mark.parametrize("n_vectors", [1, 4])
@pytest.mark.parametrize("k", [1, 2, 5, 33])
def test_a_table_is_the_reference(k: int, n_vectors: int, key: bytes) -> None:
    rng = np.random.default_rng(k)
    table: list[list[int]] = []
    for _ in range(k):
        cuts = sorted([0, *(int(cut) for cut in rng.integers(0, 2**64, k - 1, np.uint64)), 1 << 64])
        row = [stop - start for start, stop in pairwise(cuts)]
        if k > 2:
            row[1], row[k // 2] = 0, row[1] + row[k // 2]  # an answer that never comes
        table.append(row)
    counts = some_counts(k, n_vectors, 60, k)
    bounds = [[sum(row[: x + 1]) for x in range(k)] for row in table]
    answers = answer_table(counts, bounds, DrawBits(key, 1, int(counts.sum())))
    assert answers.tolist() == histogram.table_answers(counts.tolist(), table, words.draw_bits(key, 1))
    assert (answers.sum(axis=0) == counts.sum(axis=0)).all()


@pytest.mark.parametrize("first_row", [0, 3, 1 << 33])
def test_a_keyed_histogram_is_the_reference(first_row: int, key: bytes) -> None:
    domain: list[Any] = ["a", None, "é"]
    mechanism = RandomisedResponse(domain, epsilon=1.0)
    stream = Stream(key=key, context="release", first_row=first_row).bind_source(b"digest")
    draw: dict[str, Any] = {"master": key, "context": "release", "source": b"digest", "column": ("x", "y")}
    for counts in ([4, 0, 9], [0, 0, 0], [100, 1, 1]):
        answers = mechanism.sanitise_counts(counts, rng=stream, column_name=("x", "y"))
        assert answers.tolist() == histogram.sanitise_counts(counts, domain, mechanism.threshold, first_row=first_row, **draw)
        first_row += sum(counts)


def test_a_contingency_table_is_the_reference(key: bytes) -> None:
    mechanisms = [RandomisedResponse(range(k), epsilon=e) for k, e in ((2, 1.0), (3, 0.0), (4, 2.5))]
    counts = some_counts(24, 1, 40, 2).reshape(2, 3, 4)
    names = ["x", "y", "z"]
    answers = sanitise_contingency(counts, mechanisms, rng=Stream(key=key, context="c"), column_names=names)
    cells = {place: int(counts[place]) for place in np.ndindex(2, 3, 4)}
    for axis, (mechanism, name) in enumerate(zip(mechanisms, names, strict=True)):
        digest = words.response_digest(words.range_digest(mechanism.domain.size), mechanism.threshold)
        bits = words.draw_bits(words.subkey(key, "draw", context="c", column=name, mechanism=digest), 0)
        others = sorted({place[:axis] + place[axis + 1 :] for place in cells})
        column = [[cells[(*o[:axis], x, *o[axis:])] for o in others] for x in range(mechanism.domain.size)]
        for x, row in enumerate(histogram.response_answers(column, mechanism.threshold, bits)):
            for o, n in zip(others, row, strict=True):
                cells[(*o[:axis], x, *o[axis:])] = n
    assert answers.tolist() == np.array([cells[place] for place in np.ndindex(2, 3, 4)]).reshape(2, 3, 4).tolist()
