"""Identifiers of megabytes: refused before a word is drawn if too long, else at a cost that is linear in their bytes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpfast import IdError, RandomisedResponse, Stream
from dpfast.ids import ID_BYTES_MAX, prepare_ids
from dpfast.reference import words
from dpfast.words import TILE_WORDS, IdCells

MECHANISM = RandomisedResponse(range(4), epsilon=1.0)
LONG = "x" * (ID_BYTES_MAX + 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda text: np.array(["a", text], object),
        lambda text: np.array([b"a", text.encode()], object),
        lambda text: pa.array(["a", text]),
        lambda text: pa.chunked_array([["a"], [text.encode()]], pa.large_binary()),
        lambda text: pa.array(["a", text]).dictionary_encode(),
        lambda text: (np.arange(2), pa.array(["a", text])),
    ],
)
def test_identifiers_of_16_mib_are_refused_before_a_draw(make: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(IdCells, "of_bytes", lambda *_: drawn.append("word"))
    stream = Stream(key=bytes(32), context="c")
    with pytest.raises(IdError, match="16 MiB or more") as caught:
        MECHANISM.sanitise(np.zeros(2, np.uint8), rng=stream, ids=make(LONG), column_name="c")
    assert not drawn
    assert "xx" not in str(caught.value)


def test_parts_that_are_too_long_together_are_refused() -> None:
    half = pa.array(["x" * (ID_BYTES_MAX // 2)])
    with pytest.raises(IdError, match="with all its parts"):
        prepare_ids((half, half))
    assert prepare_ids((half,)).n_rows == 1


def test_the_longest_identifier_is_accepted_and_has_the_words_of_the_definition() -> None:
    assert prepare_ids(pa.array([LONG[1:]])).n_rows == 1
    key, text = bytes(range(32)), b"0123456789abcdef" * 40
    ids = prepare_ids(pa.array([b"a", text, text[:-1]]))
    got = ids.words(IdCells(key), 0, 3, np.array([1, 2, 3], np.uint32))
    assert got.tolist() == [words.id_word(key, each, code) for each, code in ((b"a", 1), (text, 2), (text[:-1], 3))]


def test_one_long_identifier_costs_its_own_bytes_and_not_those_of_its_tile() -> None:
    """Looking at every row for each block of the long one costs a thousand times the rounds of a short tile."""
    data = "x" * (1 << 19)

    def seconds(n_short: int) -> float:
        ids = prepare_ids(pa.array([data, *map(str, range(n_short))]))
        codes = np.zeros(n_short + 1, np.uint32)
        start = time.perf_counter()
        ids.words(IdCells(bytes(32)), 0, n_short + 1, codes)
        return time.perf_counter() - start

    alone = min(seconds(1) for _ in range(3))
    in_tile = min(seconds(TILE_WORDS - 1) for _ in range(3))
    assert in_tile < 3 * alone
