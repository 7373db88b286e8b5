"""The readers of words: AES-256, segments of the keystream by GCM and by CTR, and where a reader stops."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import modes

from dpfast import ArgumentError, Stream
from dpfast import words as cells
from dpfast._core import rows as core
from dpfast.reference import words

DIGEST = bytes(range(32))
AES_KEY = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
PLAIN = bytes.fromhex(
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
)
CTR = bytes.fromhex(
    "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c52b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6"
)
ECB = bytes.fromhex(
    "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870b6ed21b99ca6f4f9f153e7b1beafed1d23304b7a39f9f3ff067d8d8f9e24ecc7"
)


def test_the_cipher_is_aes_256() -> None:
    """NIST SP 800-38A, F.5.5 (CTR-AES256.Encrypt) and F.1.5 (ECB-AES256.Encrypt)."""
    counter = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    assert cells._encryptor(AES_KEY, modes.CTR(counter)).update(PLAIN) == CTR
    assert cells._block_mode(AES_KEY).update(PLAIN) == ECB
    assert words.aes_block(AES_KEY, PLAIN[:16]) == ECB[:16]


@pytest.mark.parametrize("block", [0, 1, 255, (1 << 16) - 1, 1 << 31, (1 << 48) - 8])
def test_a_reader_gives_the_row_blocks_in_order(block: int) -> None:
    expected = b"".join(words.row_block(AES_KEY, block + i) for i in range(5))
    for width, skip in ((2, 0), (2, 3), (8, 0), (8, 1)):
        reader = cells.RowReader(AES_KEY, block * 16 // width + skip, whole=width == 8, n_rows=1 << 17)
        drawn = b"".join((reader.words(n) if width == 8 else reader.high(n)).tobytes() for n in (1, 2, 0, 3))
        assert drawn == expected[skip * width : skip * width + 6 * width]


@pytest.mark.parametrize("vector_aes", [True, False])
@pytest.mark.parametrize("whole", [False, True])
def test_both_ways_to_the_keystream_meet_the_definition(whole: bool, vector_aes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers that begin before, at, and behind the end of a segment of 2^16 blocks, by GCM and by CTR."""
    monkeypatch.setattr(core, "has_vector_aes", lambda: vector_aes)
    segment, k, shift = (1 << 17, 1025, 0) if whole else (1 << 19, 1024, 48)
    for first in (0, segment - 7, segment, segment + 1, 5 * segment - 1):
        reader = cells.RowReader(AES_KEY, first, whole=whole, n_rows=20)
        read = [int(word) for n in (5, 1, 3, 11) for word in (reader.words(n) if whole else reader.high(n))]
        assert read == [words.row_word(AES_KEY, first + row, k) >> shift for row in range(20)]


def test_a_reader_stops_where_its_reservation_ends() -> None:
    """Further on stand the rows of the next call; and a tile is all that a read can give."""
    reader = Stream.insecure(1).rows("c", DIGEST, 10).reader(4, whole=False)
    reader.high(5)
    with pytest.raises(ArgumentError):
        reader.high(2)
    assert reader.high(1).size == 1
    for n_rows in (cells.TILE_ROWS + 1, -1):
        with pytest.raises(ArgumentError):
            Stream.insecure(1).rows("c", DIGEST, 1 << 20).reader(0, whole=True).words(n_rows)


@pytest.mark.parametrize("number", [0, 1, 1 << 20, (1 << 50) - 1])
def test_words_of_draws_meet_the_definition(number: int) -> None:
    """Words by index are the bits of their draw in order; what follows a word is a block of its own, for each draw and part."""
    drawn = cells.DrawWords(AES_KEY, number)
    bits = list(islice(words.draw_bits(AES_KEY, number), 64 * 9))
    wanted = [sum(bit << place for place, bit in enumerate(bits[64 * i : 64 * (i + 1)])) for i in range(9)]
    assert drawn.words(0, 9).tolist() == wanted
    assert drawn.words(3, 5).tolist() == wanted[3:8]
    assert cells.DrawBits(AES_KEY, number, 9).words(9).tolist() == wanted
    indices = np.array([0, 5, 1 << 40])
    for part in (1, 2, (1 << 14) - 1):
        blocks = [
            words.aes_block(AES_KEY, (number + (part << 50)).to_bytes(8, "big") + index.to_bytes(8, "big"))
            for index in indices.tolist()
        ]
        pairs = [[int.from_bytes(block[:8], "little"), int.from_bytes(block[8:], "little")] for block in blocks]
        assert drawn.blocks(indices, part).tolist() == pairs
        assert [list(drawn.more(index, part)) for index in indices.tolist()] == pairs
    for part in (0, 1 << 14):
        with pytest.raises(ArgumentError):
            drawn.more(0, part)
        with pytest.raises(ArgumentError):
            drawn.blocks(indices, part)


def test_draws_stop_where_their_reservation_ends() -> None:
    """Further on stand the bits of nobody, or, of one string for several draws, those of the next call."""
    bits = Stream.insecure(1).draws("c", DIGEST, 2)
    assert 0 <= int(bits.ones(np.array([127]))[0]) <= 127
    with pytest.raises(ArgumentError):
        bits.ones(np.array([2]))
    assert int(bits.ones(np.array([1]))[0]) in (0, 1)
    with pytest.raises(ArgumentError):
        bits.ones(np.array([1]))
    whole = Stream.insecure(1).draws("c", DIGEST, 2)
    with pytest.raises(ArgumentError):
        whole.words(3)
    assert whole.words(2).size == 2
    with pytest.raises(ArgumentError):
        whole.words(1)
    with pytest.raises(ArgumentError):  # read as words, or counted
        bits.words(1)
