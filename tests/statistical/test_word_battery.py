"""Random words in every order in which they are laid out, under a battery of tests; and weak sources that it must reject.

False alarms: the key is fixed, so none but the first; at length, with keys of the day, one in a million runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import battery
import numpy as np
import numpy.typing as npt
import pytest
from pending import pending_rows
from soak import record

from dpfast import Stream
from dpfast.words import TILE_ROWS, TILE_WORDS

pytestmark = pytest.mark.statistical
Words = npt.NDArray[np.uint64]

ALPHA = 1e-6
DIGEST = bytes(32)
PIECE = 1 << 20  # words: 8 MiB


def streams(key: bytes) -> Iterator[Stream]:
    """One stream a release."""
    number = 0
    while True:
        yield Stream(key=key, context=f"release {number}")
        number += 1


def high(stream: Stream, column: str, n: int, first: int = 0) -> Words:
    """The 16 high bits of rows, four rows a word."""
    reader = stream.rows(column, DIGEST, 4 * (first + n)).reader(4 * first, whole=False)
    parts = [reader.high(min(TILE_ROWS, 4 * n - at)).copy() for at in range(0, 4 * n, TILE_ROWS)]
    return np.concatenate(parts).view("<u8")


def whole(stream: Stream, column: str, n: int, first: int = 0) -> Words:
    """Whole words of rows."""
    reader = stream.rows(column, DIGEST, first + n).reader(first, whole=True)
    return np.concatenate([reader.words(min(TILE_WORDS, n - at)).copy() for at in range(0, n, TILE_WORDS)])


def low(stream: Stream, n: int) -> Words:
    """The enciphered blocks from which rows that stay open take their low bits."""
    reader = stream.rows("low", DIGEST, n // 2).reader(0, whole=False)
    return reader.low(pending_rows(n // 2), 0)[: 8 * n].view("<u8").copy()


def joined(stream: Stream, n: int) -> Words:
    """Words of rows put together from both planes."""
    reader = stream.rows("joined", DIGEST, n).reader(0, whole=False)
    out = np.empty(n, np.uint64)
    for at in range(0, n, TILE_WORDS):
        reader.joined(at, out[at : at + TILE_WORDS])
    return out


def draws(stream: Stream, n: int) -> Words:
    """Words of draws, and the parts behind them."""
    source = stream.draws("draws", DIGEST, n).as_words()
    return np.stack([source.words(0, n // 2), source.blocks(np.arange(n // 4), 1).reshape(-1)])


def ids(stream: Stream, n: int) -> Words:
    """Words of identifiers 0, 1, ... under one true code, and under the next."""
    numbers = np.arange(n // 2)
    cells = stream.ids("ids", DIGEST)
    return np.stack([cells.of_integers(numbers, 1, np.full(n // 2, code, np.uint32)) for code in (0, 1)])


LAYOUTS: dict[str, Callable[[bytes, int], Words]] = {
    "rows": lambda key, n: high(next(streams(key)), "c", n)[None],
    "whole words": lambda key, n: whole(next(streams(key)), "c", n)[None],
    "low bits": lambda key, n: low(next(streams(key)), n)[None],
    "both planes": lambda key, n: joined(next(streams(key)), n)[None],
    "columns": lambda key, n: np.stack([whole(next(streams(key)), f"c{i}", n // 16) for i in range(16)]),
    "releases": lambda key, n: np.stack([high(s, "c", n // 16) for s, _ in zip(streams(key), range(16), strict=False)]),
    "readers": lambda key, n: np.stack([high(next(streams(key)), "c", n // 8, first=i * n // 8) for i in range(8)]),
    "draws": lambda key, n: draws(next(streams(key)), n),
    "identifiers": lambda key, n: ids(next(streams(key)), n),
}
# What follows each other in time, or stands beside each other in a table, follows each other here.
BY_ROW = ("columns", "releases", "readers")


def pieces(key: bytes, n: int) -> Iterator[tuple[str, Words]]:
    """Every layout, and the same words row by row where there are several streams."""
    for name, layout in LAYOUTS.items():
        words = layout(key, n)
        yield name, words
        if name in BY_ROW:
            yield f"{name}, by row", np.ascontiguousarray(words.T).reshape(1, -1)


def judge(counts: dict[str, battery.Counts]) -> float:
    return battery.verdict([p for layout in counts.values() for p in battery.p_values(layout).values()])


def test_words_as_laid_out_pass(key: bytes) -> None:
    counts = {name: battery.count(words) for name, words in pieces(key, PIECE * 3 // 4)}
    assert judge(counts) > ALPHA


def mixed_counter(n: int) -> Words:
    """A counter times an odd number, its halves folded: well spread, and not random."""
    counter = np.arange(n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return counter ^ counter >> np.uint64(32)


def low_bits(n: int) -> Words:
    """The lowest bytes of a congruential generator modulo 2^64, eight a word."""
    multiplier, state, found = 6364136223846793005, 1, np.empty(1 << 16, np.uint8)
    for place in range(found.size):
        state = (multiplier * state + 1442695040888963407) % 2**64
        found[place] = state & 255
    return np.tile(found, 8 * n // found.size).view("<u8")


def twice(words: Words) -> Words:
    """The words of one column used for the one beside it."""
    return np.stack([words, words])


def biased(words: Words) -> Words:
    """One bit of 64 is one in 51 of 100 words."""
    changed = words.copy()
    changed[::50] |= np.uint64(1 << 37)
    return changed[None]


def even(words: Words) -> Words:
    """Every byte value equally often: too good for chance."""
    return np.resize(np.arange(256, dtype=np.uint8), 8 * words.size).reshape(-1, 8)[np.argsort(words)].view("<u8").reshape(1, -1)


def shifted(words: Words) -> Words:
    """Two columns, one a row behind the other, read row by row."""
    return np.stack([words[1:], words[:-1]], axis=1).reshape(1, -1)


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        (lambda good: mixed_counter(good.size)[None], "differences"),
        (lambda good: low_bits(good.size)[None], "ranks"),
        (twice, "neighbours"),
        (biased, "bits 37"),
        (even, "bytes"),
        (shifted, "ranks"),
    ],
    ids=["counter", "low bits", "twice", "biased", "even", "shifted"],
)
def test_weak_words_are_rejected(words: Callable[[Words], Words], seen: str, key: bytes) -> None:
    good = whole(next(streams(key)), "c", 1 << 17)
    values = battery.p_values(battery.count(words(good)))
    assert battery.verdict(values.values()) < ALPHA
    assert min(p for name, p in values.items() if name.startswith(seen)) < ALPHA / len(values)


def test_a_small_fault_in_many_tests_is_seen() -> None:
    even_values = (np.arange(400) + 0.5) / 400
    assert battery.verdict(even_values) > 0.1
    assert battery.verdict(even_values**2) < ALPHA
    assert (even_values**2).min() * 400 > ALPHA


def test_two_cells_that_are_alike_by_chance_are_no_fault() -> None:
    assert set(battery.p_values({"bits": np.full((64, 2), 500)}).values()) == {1.0}
    assert min(battery.p_values({"bytes": np.full((8, 256), 500)}).values()) < 1e-50


def test_counts_of_pieces_are_those_of_the_whole(key: bytes) -> None:
    words = whole(next(streams(key)), "c", 1 << 15)[None]
    parts = battery.add([battery.count(words[:, : 1 << 14]), battery.count(words[:, 1 << 14 :])])
    together = battery.count(words)
    assert (parts["pairs of bytes"] == together["pairs of bytes"]).all()
    assert (parts["runs"] == together["runs"]).all()
    assert battery.verdict(battery.p_values(parts).values()) > ALPHA


@pytest.mark.slow
def test_sixteen_gib_of_words_pass() -> None:
    counts: dict[str, battery.Counts] = {}
    size, done = float(os.environ.get("DPFAST_BATTERY_GIB", "16")), 0
    while done < size * 2**30:
        for name, words in pieces(os.urandom(32), PIECE):
            found = [counts[name]] if name in counts else []
            counts[name] = battery.add([*found, battery.count(words)])
            done += words.nbytes
    tests: dict[str, Any] = {name: battery.p_values(layout) for name, layout in counts.items()}
    judged = judge(counts)
    record("battery", gib=round(done / 2**30), layouts=len(tests), p_values=sum(map(len, tests.values())), verdict=judged)
    assert judged > ALPHA
