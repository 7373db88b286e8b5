"""No block of 16 bytes comes twice: over columns, releases, threads that share a stream, and 64 forked children."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from battery import repeated_blocks
from soak import record

from dpfast import Stream
from dpfast.words import TILE_ROWS

Bytes = npt.NDArray[np.uint8]
BLOCK, CHILDREN = 16, 64
DIGEST = bytes(32)
# forking a process that may have threads is what these tests are about
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def drawn(stream: Stream, column: str, blocks: int) -> Bytes:
    """High bits of the next rows of a column, eight rows a block."""
    reader = stream.rows(column, DIGEST, 8 * blocks).reader(0, whole=False)
    rows = range(0, 8 * blocks, TILE_ROWS)
    return np.concatenate([reader.high(min(TILE_ROWS, 8 * blocks - at)).copy() for at in rows]).view(np.uint8)


def in_children(draw: Callable[[], Bytes], size: int) -> Bytes:
    """What each of many forked children drew."""
    with mmap.mmap(-1, CHILDREN * size) as shared:
        children = []
        for place in range(CHILDREN):
            child = os.fork()
            if not child:
                status = 1
                try:
                    shared[place * size : (place + 1) * size] = draw().tobytes()
                    status = 0
                finally:
                    os._exit(status)
            children.append(child)
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * CHILDREN
        return np.frombuffer(shared[:], np.uint8)


def every_stream(blocks: int) -> list[Bytes]:
    """A quarter each of columns, releases, calls of threads, and children."""
    key, part = os.urandom(32), blocks // 4
    fresh, keyed = Stream(), Stream(key=key, context="columns")
    columns = [drawn(keyed, f"c{i}", part // 4) for i in range(4)]  # longer than a segment of the keystream
    releases = [drawn(Stream(key=key, context=f"release {i}"), "c0", part // 16) for i in range(16)]
    drawn(fresh, "c0", 1)
    children = in_children(lambda: drawn(fresh, "c0", part // CHILDREN), BLOCK * part // CHILDREN)
    with ThreadPoolExecutor(8) as pool:
        calls = list(pool.map(lambda _: drawn(fresh, "c0", part // 64), range(64)))
    return [*columns, *releases, children, *calls]


def test_no_block_of_many_streams_comes_twice() -> None:
    found = np.concatenate(every_stream(1 << 21))
    assert found.size == BLOCK << 21
    assert repeated_blocks(found) == 0


@pytest.mark.slow
def test_no_block_of_many_streams_comes_twice_at_length() -> None:
    found = np.concatenate(every_stream(1 << 26))
    repeated = repeated_blocks(found)
    record("blocks", blocks=found.size // BLOCK, repeated=repeated)
    assert repeated == 0


def test_a_block_that_comes_twice_is_found(key: bytes) -> None:
    once = [drawn(Stream(key=key, context="c"), "c", 1000) for _ in range(2)]
    assert repeated_blocks(np.concatenate(once)) == 1000
    blocks = drawn(Stream(key=key, context="c"), "c", 1 << 16).reshape(-1, BLOCK).copy()
    assert repeated_blocks(blocks) == 0
    blocks[[7, 9000]] = blocks[60_000]
    assert repeated_blocks(blocks) == 2
    halves: Any = blocks.copy()
    halves[11, :8] = halves[12, :8]  # one half alone is no block
    assert repeated_blocks(halves) == 2


def test_words_of_a_child_that_kept_its_parents_key_would_be_found(key: bytes) -> None:
    assert repeated_blocks(in_children(lambda: drawn(Stream(key=key, context="c"), "c", 10), BLOCK * 10)) == 10 * (CHILDREN - 1)
