"""The binding refuses what the C core trusts it to have checked."""

from __future__ import annotations

import numpy as np
import pytest

from dpfast import ArgumentError, CorruptDataError
from dpfast._core import ids as id_core
from dpfast._core import rows as core


@pytest.mark.parametrize("offset", [2**64 - 4, 2**64 - 8, 2**63, 1])
def test_an_offset_that_leaves_the_bitmap(offset: int) -> None:
    codes = np.zeros(8, np.uint8)
    with pytest.raises(ArgumentError, match="bitmap"):
        core.remap(codes, np.zeros(1, np.uint8), offset, np.zeros(1, np.uint8), 0, codes.copy())


@pytest.mark.parametrize(
    ("offsets", "active"),
    [([0, 40, 20], 1), ([0, 10, 41], 1), ([-8, 40], 0), ([0, 40], 1), ([], 0), ([40, 0], 0), ([0, 1 << 62], 0)],
)
def test_identifiers_of_active_rows_lie_within_their_data(offsets: list[int], active: int) -> None:
    data, state = np.zeros(40, np.uint8), np.zeros(16 * 4, np.uint8)
    blocks, reached = np.zeros(16, np.uint8), np.zeros(1, np.uint32)
    with pytest.raises(ArgumentError, match=r"offsets|active row"):
        id_core.id_bytes_next(data, np.array(offsets, np.int64), 1, state, np.array([active], np.uint32), blocks, reached)


@pytest.mark.parametrize("dtype", ["V0", "i1", "f4", ">u2", "u8"])
def test_codes_are_native_unsigned_integers_of_at_most_32_bits(dtype: str) -> None:
    law = core.ResponseLaw(2, 1 << 62, False, False)
    with pytest.raises((ArgumentError, ValueError)):
        law.whole(np.zeros(3, dtype), np.zeros(3, np.uint64), np.zeros(3, dtype))


def test_an_item_of_no_size() -> None:
    with pytest.raises((ArgumentError, ValueError)):
        core.remap(np.zeros(3, "V0"), None, 0, np.zeros(1, np.uint8), 0, np.zeros(3, np.uint8))


@pytest.mark.parametrize("uniform", [True, False])
def test_codes_too_narrow_for_the_law(uniform: bool) -> None:
    law = core.ResponseLaw(300, 1 << 50, uniform, True)
    codes = np.zeros(3, np.uint8)
    pending = core.Pending(3)
    with pytest.raises(ArgumentError, match="narrow"):
        law.whole(codes, np.zeros(3, np.uint64), codes.copy())
    with pytest.raises(ArgumentError, match="narrow"):
        law.first(codes, np.zeros(3, np.uint16), codes.copy(), pending, 0)
    with pytest.raises(ArgumentError, match="narrow"):
        law.settle(pending, np.zeros(48, np.uint8), codes.copy())


def test_pending_cells_have_room_and_a_column() -> None:
    law = core.ResponseLaw(4, 1 << 60, False, False)
    codes, high = np.zeros(8, np.uint8), np.full(8, 1 << 12, np.uint16)
    for wrong in (core.Pending(7), core.Pending(8)):
        wrong.add(0, 0, 0)
        with pytest.raises(ArgumentError, match="no room"):
            law.first(codes, high, codes.copy(), wrong, 0)
    with pytest.raises(ArgumentError, match="no room"):
        law.first(codes, high, codes.copy(), core.Pending(8), 2**32 - 7)
    full = core.Pending(1)
    full.add(0, 0, 0)
    with pytest.raises(ArgumentError, match="no room"):
        full.add(1, 0, 0)
    for capacity in (0, 2**32 + 1):
        with pytest.raises(ArgumentError, match="room for no cell"):
            core.Pending(capacity)
    pending = core.Pending(2)
    pending.add(8, 0, 0)
    with pytest.raises(ArgumentError, match="outside the column"):
        law.settle(pending, np.zeros(16, np.uint8), codes)
    with pytest.raises(ArgumentError, match="low is too short"):
        law.settle(pending, np.zeros(15, np.uint8), codes)
    with pytest.raises(ArgumentError, match="16 bytes a cell"):
        pending.counter_blocks(0, np.zeros(15, np.uint8))
    assert pending.cells() == [(8, 0, 0)]
    pending.clear()
    assert len(pending) == 0


@pytest.mark.parametrize("width", ["u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("place", [0, 300, 599])
def test_an_index_without_an_entry_is_refused_wherever_it_stands(width: str, place: int) -> None:
    table, indices = np.arange(40, dtype=np.uint8)[::-1].copy(), (np.arange(600) % 40).astype(width)
    out = np.empty(600, np.uint8)
    core.remap(indices, None, 0, table, 9, out)
    assert (out == 39 - np.arange(600) % 40).all()
    indices[place] = 40
    with pytest.raises(CorruptDataError):
        core.remap(indices, None, 0, table, 9, out)
    assert out[place] == 9
