"""Rows whose numbers pass 31, 32 and more bits: the words of the reference, in every stage of a kernel."""

from __future__ import annotations

import numpy as np
import pytest

from dpfast import ArgumentError, RandomisedResponse, Stream
from dpfast._core import rows as core
from dpfast.randomness import ROWS_MAX
from dpfast.reference import sanitise as reference
from dpfast.reference import words

FAR = [2**31 - 5, 2**32 - 5, 2**33 - 5, 2**35 - 5, 2**40 + 3, ROWS_MAX - 40]
N = 40


@pytest.mark.parametrize("first", FAR)
@pytest.mark.parametrize("k", [3, 1024, 1025])
def test_a_column_that_begins_far_is_the_reference(first: int, k: int, isa: str, key: bytes) -> None:
    mechanism = RandomisedResponse(range(k), epsilon=0.5)
    column = np.arange(N, dtype=np.uint16) % k
    drawn = mechanism.sanitise(column, rng=Stream(key=key, context="far", first_row=first), column_name="c")
    expected = reference.sanitise(
        column.tolist(), range(k), mechanism.threshold, master=key, context="far", column="c", first_row=first
    )
    assert drawn.tolist() == expected
    near = mechanism.sanitise(column, rng=Stream(key=key, context="far", first_row=first % 2**31), column_name="c")
    assert (near != drawn).any() or first < 2**31


@pytest.mark.parametrize("first", FAR)
def test_words_that_begin_far_are_the_reference(first: int, key: bytes) -> None:
    subkey = words.subkey(key, "row", context="far", column="c", mechanism=bytes(32))

    def reader(whole: bool) -> object:
        return Stream(key=key, context="far", first_row=first).rows("c", bytes(32), N).reader(0, whole=whole)

    assert reader(True).words(N).tolist() == [words.row_word(subkey, first + i, 2000) for i in range(N)]
    assert reader(False).high(N).tolist() == [words.row_halves(subkey, first + i)[0] for i in range(N)]
    joined = np.empty(N, np.uint64)
    reader(False).joined(0, joined)
    assert joined.tolist() == [words.row_word(subkey, first + i, 3) for i in range(N)]


def test_cells_pend_up_to_the_last_row_of_32_bits(isa: str, key: bytes) -> None:
    """A kernel counts the rows of one call in 32 bits: the last five of them, and not one more."""
    # words that begin as the border 2^60 + 1 does are left to their low bits
    law = core.ResponseLaw(4, (1 << 60) + 1, False, False)
    codes, high = np.zeros(6, np.uint8), np.full(6, 1 << 12, np.uint16)
    pending = core.Pending(6)
    law.first(codes[:5], high[:5], codes[:5].copy(), pending, 2**32 - 5)
    rows = [row for row, _, _ in pending.cells()]
    assert rows == list(range(2**32 - 5, 2**32))
    blocks = np.empty(16 * 5, np.uint8)
    pending.counter_blocks(2**32 + 9, blocks)
    expected = [(1).to_bytes(8, "big") + (2**32 + 9 + row).to_bytes(8, "big") for row in rows]
    assert blocks.tobytes() == b"".join(expected)
    with pytest.raises(ArgumentError, match="no room"):
        law.first(codes, high, codes.copy(), core.Pending(6), 2**32 - 5)


def test_rows_of_the_second_stage_far_from_the_reader(key: bytes) -> None:
    subkey = words.subkey(key, "row", context="far", column="c", mechanism=bytes(32))
    cells = Stream(key=key, context="far").rows("c", bytes(32), 2**33)
    reader = cells.reader(2**32 - 2, whole=False)
    pending = core.Pending(3)
    for row in (0, 7, 2**31 + 1):
        pending.add(row, 0, 0)
    low = reader.low(pending, 5)[: 16 * 3].reshape(3, 16)
    for place, row in enumerate((0, 7, 2**31 + 1)):
        number = 2**32 - 2 + 5 + row
        assert low[place].tobytes() == words.keystream_block(subkey, 1, number)
        assert int.from_bytes(low[place, :6].tobytes(), "little") == words.row_halves(subkey, number)[1]
