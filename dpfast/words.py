"""Words of cells from the subkey of a column: by row, in two planes, and by identifier; bits of draws.

The layout is described in `randomness`, which derives the subkeys and hands out the rows.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from dpfast._core import ids as id_core
from dpfast._core import rows as core
from dpfast.errors import ArgumentError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext
    from numpy.typing import NDArray

__all__ = ["TILE_IDS", "TILE_ROWS", "TILE_WORDS", "DrawBits", "DrawWords", "IdCells", "RowCells", "RowReader"]

BLOCK_BYTES: Final = 16
SEGMENT_BLOCKS: Final = 1 << 16  # blocks of a plane that one counter-mode message covers
_ZEROS = bytes(SEGMENT_BLOCKS * BLOCK_BYTES)  # plaintext of a segment
# rows a kernel call: words, codes and answers of a tile stay in the second-level cache
TILE_ROWS: Final = 1 << 18  # two bytes of words a row
TILE_WORDS: Final = 1 << 16  # whole words
TILE_IDS: Final = 1 << 14  # blocks of identifiers, several of each
PART_SHIFT: Final = 50  # numbers of draws are below 2^50, and the plane of part p of a draw is p 2^50 above its number
DRAW_PARTS: Final = 1 << 14
TILE_BITS: Final = 1 << 22  # bits of draws, which are only counted
SHORT_BYTES: Final = 1 << 12  # up to which a message in one call is quicker than a cipher to be asked again


@cache
def _whole_message() -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM


@cache
def _ciphers() -> tuple[Any, Any, Any]:
    """The cryptography package, imported when the first word is drawn."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher, algorithms.AES256, modes


def _encryptor(subkey: bytes, mode: Any) -> CipherContext:
    cipher, aes, _ = _ciphers()
    return cast("CipherContext", cipher(aes(subkey), mode).encryptor())


def _block_mode(subkey: bytes) -> CipherContext:
    return _encryptor(subkey, _ciphers()[2].ECB())


class _Keystream:
    """The bytes of a plane from one block on: plane 0 for rows, for draws the one with the number of the first draw.

    A segment is the counter part of one AES-GCM message of zeros, whose counter starts at 2: the nonce is plane and segment.
    OpenSSL produces that twice as fast as CTR where the processor has vector AES, and can only start at the front; CTR gives
    the same bytes from any block on. No tag is used.
    """

    __slots__ = ("_block", "_cipher", "_left", "_plane", "_subkey")

    def __init__(self, subkey: bytes, block: int, plane: int = 0) -> None:
        self._subkey = subkey
        self._plane = plane.to_bytes(8, "big")
        self._block = block  # the first block that no message covers yet
        self._left = 0  # bytes that the message at hand still covers

    def fill(self, out: NDArray[np.uint8], size: int, *, last: bool = False) -> None:
        """Write the next `size` bytes to `out`, which has room for a block more; with `last`, nobody will ask for more."""
        segment, place = divmod(self._block, SEGMENT_BLOCKS)
        if last and not self._left and place == 0 and size <= SHORT_BYTES:
            message = _whole_message()(self._subkey).encrypt(self._nonce(segment), _ZEROS[:size], None)
            out[:size] = np.frombuffer(message, np.uint8, size)  # without the tag behind it
            return
        zeros, target, at = memoryview(_ZEROS), out.data, 0
        while at < size:
            if not self._left:
                self._begin()
            part = min(size - at, self._left)
            self._cipher.update_into(zeros[:part], target[at:])
            at += part
            self._left -= part

    def _begin(self) -> None:
        segment, place = divmod(self._block, SEGMENT_BLOCKS)
        modes, nonce = _ciphers()[2], self._nonce(segment)
        if place == 0 and core.has_vector_aes():
            self._cipher = _encryptor(self._subkey, modes.GCM(nonce))
        else:
            self._cipher = _encryptor(self._subkey, modes.CTR(nonce + (2 + place).to_bytes(4, "big")))
        self._block += SEGMENT_BLOCKS - place
        self._left = (SEGMENT_BLOCKS - place) * BLOCK_BYTES

    def _nonce(self, segment: int) -> bytes:
        return self._plane + segment.to_bytes(4, "big")


class RowCells:
    """The reserved cells of a column, addressed by row."""

    __slots__ = ("_first", "_n_rows", "_subkey")

    def __init__(self, subkey: bytes, first: int, n_rows: int) -> None:
        self._subkey = subkey
        self._first = first
        self._n_rows = n_rows

    def reader(self, start: int, *, whole: bool) -> RowReader:
        """Return a reader of the words from cell `start` of the reservation on; one for each thread."""
        return RowReader(self._subkey, self._first + start, whole=whole, n_rows=self._n_rows - start)


class RowReader:
    """Words of consecutive rows, for one thread; never of a row beyond its `n_rows`."""

    __slots__ = ("_blocks", "_buffer", "_enciphered", "_first", "_keystream", "_left", "_low", "_skip", "_subkey", "_width")

    def __init__(self, subkey: bytes, row: int, *, whole: bool, n_rows: int) -> None:
        self._subkey = subkey
        self._left = n_rows
        self._width = 8 if whole else 2
        block, self._skip = divmod(row * self._width, BLOCK_BYTES)
        self._keystream = _Keystream(subkey, block)
        self._first = row
        self._buffer = self._blocks = self._enciphered = np.empty(0, np.uint8)
        self._low: CipherContext | None = None

    def _next(self, n_rows: int) -> NDArray[np.uint8]:
        """Bytes of the next rows. They live until the next call."""
        if not 0 <= n_rows <= min(TILE_ROWS, self._left):
            raise ArgumentError("words of more rows than a tile, or than were reserved")
        self._left -= n_rows
        size = self._skip + n_rows * self._width
        if self._buffer.size < size + BLOCK_BYTES:
            self._buffer = np.empty(size + BLOCK_BYTES, np.uint8)
        self._keystream.fill(self._buffer, size, last=not self._left)
        taken = self._buffer[self._skip : size]
        self._skip = 0  # the keystream goes on in the middle of a block by itself
        return taken

    def high(self, n_rows: int) -> NDArray[np.uint16]:
        """The 16 high bits of the next rows (at most a tile)."""
        return self._next(n_rows).view("<u2")

    def words(self, n_rows: int) -> NDArray[np.uint64]:
        """The whole words of the next rows (at most a tile)."""
        return self._next(n_rows).view("<u8")

    def joined(self, start: int, out: NDArray[np.uint64]) -> None:
        """Write the whole words of the next rows (at most a tile), which begin at row `start` of this reader."""
        high = self.high(out.size)
        size = BLOCK_BYTES * out.size
        blocks, enciphered = self._room(size)
        core.row_blocks(self._first + start, blocks[:size])
        self._ecb().update_into(blocks.data[:size], enciphered.data)
        core.join_words(high, enciphered, out)

    def _ecb(self) -> CipherContext:
        if self._low is None:
            self._low = _block_mode(self._subkey)
        return self._low

    def _room(self, size: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Memory for blocks and for the enciphered ones."""
        if self._blocks.size < size:
            self._blocks = np.empty(2 * size, np.uint8)
            self._enciphered = np.empty(2 * size + BLOCK_BYTES, np.uint8)
        return self._blocks, self._enciphered

    def low(self, pending: core.Pending, start: int) -> NDArray[np.uint8]:
        """Enciphered blocks that hold the low bits of pending cells, whose row 0 is row `start` of this reader.

        They live until the next call, and may be followed by others.
        """
        size = BLOCK_BYTES * len(pending)
        blocks, enciphered = self._room(size)
        pending.counter_blocks(self._first + start, blocks)
        self._ecb().update_into(blocks.data[:size], enciphered.data)
        return enciphered


class DrawBits:
    """The bits of a reservation of draws, 64 for each, which are counted instead of shown. For one thread."""

    __slots__ = ("_address", "_at", "_buffer", "_filled", "_keystream", "_left")

    def __init__(self, subkey: bytes, number: int, n_draws: int) -> None:
        self._address = subkey, number
        self._keystream = _Keystream(subkey, 0, number)
        self._left = 64 * n_draws
        self._buffer = np.empty(0, np.uint8)
        self._at = self._filled = 0  # bits of the buffer that are used, and that are there

    def as_words(self) -> DrawWords:
        """The same bits read as words; for a caller that counts none of them."""
        return DrawWords(*self._address)

    def ones(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many of the next lengths[0] bits are one, how many of the lengths[1] bits after them, and so on.

        The shape may be any; runs follow one another in C order.
        """
        runs = np.ascontiguousarray(lengths).reshape(-1)
        ones = np.zeros(runs.size, np.int64)
        total = int(runs.sum())
        if total > self._left:
            raise ArgumentError("more bits than were reserved")
        self._left -= total
        run = skip = 0  # the first run that is not counted to its end, and how much of it is counted
        while total:
            if self._at == self._filled:
                self._fill(min(total, TILE_BITS))
            size = min(total, self._filled - self._at)
            reached = core.count_ones(self._buffer, self._at, size, runs, run, skip, ones)
            skip = size - (int(runs[run:reached].sum()) - skip)
            run = reached
            self._at += size
            total -= size
        return ones.reshape(lengths.shape)

    def words(self, n: int) -> NDArray[np.uint64]:
        """The next 64 n bits as n words, the first bit lowest. A reservation is read as words or counted, not both."""
        if self._filled or 64 * n > self._left:
            raise ArgumentError("more bits than were reserved, or bits of which some were counted")
        self._left -= 64 * n
        buffer = np.empty(8 * n + BLOCK_BYTES, np.uint8)
        self._keystream.fill(buffer, 8 * n)
        return buffer[: 8 * n].view("<u8")

    def _fill(self, bits: int) -> None:
        size = max(-(-bits // 8), 1 << 10)
        if self._buffer.size < size + BLOCK_BYTES:
            self._buffer = np.empty(size + BLOCK_BYTES, np.uint8)
        self._keystream.fill(self._buffer, size)
        self._at, self._filled = 0, 8 * size


class DrawWords:
    """The words of a reservation of draws, addressed by index, with as many more bits behind each as anyone asks for.

    Word i is bytes 8i .. 8i+7 (little-endian) of the plane of the draws. Behind it come parts p = 1, 2, ... of two words each:
    the enciphered block (plane of the draws + 2^50 p, counter i).
    """

    __slots__ = ("_block", "_number", "_subkey")

    def __init__(self, subkey: bytes, number: int) -> None:
        self._subkey = subkey
        self._number = number
        self._block: CipherContext | None = None

    def words(self, first: int, n: int) -> NDArray[np.uint64]:
        """The words of the indices first .. first + n - 1."""
        block, skip = divmod(8 * first, BLOCK_BYTES)
        buffer = np.empty(skip + 8 * n + BLOCK_BYTES, np.uint8)
        _Keystream(self._subkey, block, self._number).fill(buffer, skip + 8 * n, last=True)
        return buffer[skip : skip + 8 * n].view("<u8")

    def more(self, index: int, part: int) -> tuple[int, int]:
        """The two words of part 1, 2, ... of an index, which follow its first."""
        if not 0 < part < DRAW_PARTS:
            raise ArgumentError("no random bits are left for this draw")
        if self._block is None:
            self._block = _block_mode(self._subkey)
        plane = self._number + (part << PART_SHIFT)
        block = np.frombuffer(plane.to_bytes(8, "big") + index.to_bytes(8, "big"), np.uint8)
        words = _encipher(self._block, block).view("<u8")
        return int(words[0]), int(words[1])

    def blocks(self, indices: NDArray[np.int64], part: int) -> NDArray[np.uint64]:
        """What `more` gives for each of many indices, shape (indices, 2)."""
        if not 0 < part < DRAW_PARTS:
            raise ArgumentError("no random bits are left for this draw")
        if self._block is None:
            self._block = _block_mode(self._subkey)
        counters = np.empty((indices.size, 2), ">u8")
        counters[:, 0] = self._number + (part << PART_SHIFT)
        counters[:, 1] = indices
        return _encipher(self._block, counters.view(np.uint8).reshape(-1)).view("<u8").reshape(-1, 2)


class IdCells:
    """The cells of a column addressed by identifier and true code: one AES-256 CBC-MAC each.

    The MAC input begins with tag and length, so no input is a prefix of another and CBC-MAC is a pseudo-random function.
    """

    __slots__ = ("_subkey",)

    def __init__(self, subkey: bytes) -> None:
        self._subkey = subkey

    def of_integers(self, ids: NDArray[Any], tag: int, codes: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """Words of 64-bit identifiers; unsigned ones of 2^63 and more have the tag after `tag`."""
        blocks = np.empty(BLOCK_BYTES * ids.size, np.uint8)
        id_core.id_integer_blocks(ids.view(np.uint64), ids.dtype.kind == "u", tag, codes, blocks)
        return self._words(_encipher(_block_mode(self._subkey), blocks))

    def of_bytes(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64], tag: int, codes: NDArray[np.uint32]
    ) -> NDArray[np.uint64]:
        """Words of byte-string identifiers data[offsets[i]:offsets[i + 1]]."""
        cipher = _block_mode(self._subkey)
        blocks = np.empty(BLOCK_BYTES * codes.size, np.uint8)
        id_core.id_bytes_first(data, offsets, tag, codes, blocks)
        state = _encipher(cipher, blocks)
        active = np.arange(codes.size, dtype=np.uint32)
        block = 1
        while reached := id_core.id_bytes_next(data, offsets, block, state, active, blocks, active):
            enciphered = _encipher(cipher, blocks[: BLOCK_BYTES * reached])
            if reached == codes.size:
                state = enciphered
            else:
                active = active[:reached]
                id_core.blocks_scatter(enciphered, active, state)
            block += 1
        return self._words(state)

    @staticmethod
    def _words(blocks: NDArray[np.uint8]) -> NDArray[np.uint64]:
        words = np.empty(blocks.size // BLOCK_BYTES, np.uint64)
        id_core.block_words(blocks, words)
        return words


def _encipher(cipher: CipherContext, blocks: NDArray[np.uint8]) -> NDArray[np.uint8]:
    out = np.empty(blocks.size + BLOCK_BYTES, np.uint8)
    cipher.update_into(blocks.data, out.data)
    return out[: blocks.size]
