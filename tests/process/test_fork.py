"""Forks and other processes: no child repeats the noise of its parent or of a sibling, and none hangs."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pending import pending_rows

from dpfast import ArgumentTypeError, Domain, RandomisedResponse, Stream, _threads, randomness

MECHANISM = RandomisedResponse(range(4), epsilon=1.0)
NAMED = RandomisedResponse(Domain(["a", None], unknown="randomise"), epsilon=0.0)
LIMIT = 5.0  # seconds in which a child has done its work, or hangs
# forking a process that has threads is what these tests are about
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def in_child(function: Callable[[], bytes], seconds: float = LIMIT, *, fork: Callable[[], int] = os.fork) -> bytes:
    """What `function` returns in a forked child after "="; an exception there is reported by its type and text."""
    read, write = os.pipe()
    child = fork()
    if child == 0:
        os.close(read)
        try:
            answer = b"=" + function()
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}".encode()
        with os.fdopen(write, "wb") as pipe:
            pipe.write(answer)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        deadline = time.monotonic() + seconds
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                raise AssertionError("the child hangs")
            time.sleep(0.002)
        return pipe.read()


def keystream(stream: Stream, n: int = 800) -> bytes:
    """Both planes, and whole words: 2 n bytes of each; n bytes of draws."""
    reader = stream.rows("c", bytes(32), n).reader(0, whole=False)
    planes = reader.high(n).tobytes() + reader.low(pending_rows(n // 8), 0)[: 2 * n].tobytes()
    planes += np.packbits(stream.draws("c", bytes(32), n).ones(np.ones(8 * n, np.int64)) > 0).tobytes()
    return planes + stream.rows("c", bytes(32), n // 4).reader(0, whole=True).words(n // 4).tobytes()


def answers(mechanism: RandomisedResponse, rows: int = 200, **options: Any) -> bytes:
    drawn: bytes = mechanism.sanitise(np.zeros(rows, np.uint8), **options).tobytes()
    return drawn


def assert_apart(seen: list[bytes]) -> None:
    assert all(len(part) == len(seen[0]) > 0 for part in seen)
    blocks = [part[i : i + 16] for part in seen for i in range(0, len(part), 16)]
    assert len(set(blocks)) == len(blocks)


@pytest.mark.parametrize("used", [0, 1, 1 << 16])
def test_64_children_of_a_fresh_stream_share_no_block(used: int) -> None:
    """With the parent, with each other, with their own children; whether or not the parent had drawn before."""
    stream = Stream()
    if used:
        stream.rows("c", bytes(32), used).reader(0, whole=False).high(used)
    seen = [in_child(lambda: keystream(stream) + keystream(stream))[1:] for _ in range(64)]
    seen.append(in_child(lambda: in_child(lambda: keystream(stream) + keystream(stream))[1:])[1:])
    seen.append(in_child(lambda: keystream(stream) + in_child(lambda: keystream(stream))[1:])[1:])
    seen.append(keystream(stream) + keystream(stream))
    assert_apart(seen)


def test_a_child_begins_where_its_stream_began() -> None:
    """The rows that its parent used are no rows of the new key, and first_row= still holds."""
    stream = Stream(first_row=(1 << 49) - 10)
    stream.rows("c", bytes(32), 8)

    def nine() -> bytes:
        return stream.rows("c", bytes(32), 9).reader(0, whole=False).high(9).tobytes()

    assert len(in_child(nine)) == 1 + 18
    assert stream.rows("c", bytes(32), 2)


@pytest.mark.parametrize("stream", [Stream(key=bytes(32), context="c"), Stream.insecure(1)], ids=["keyed", "insecure"])
def test_a_reproducible_stream_raises_in_the_child(stream: Stream) -> None:
    keystream(stream)
    attempts: list[Callable[[], bytes]] = [
        lambda: keystream(stream),
        lambda: answers(MECHANISM, rng=stream, column_name="c"),
        lambda: answers(MECHANISM, 9, rng=stream, ids=np.arange(9), column_name="c"),
        lambda: MECHANISM.sanitise_counts([9, 0, 0, 0], rng=stream, column_name="c").tobytes(),
        lambda: in_child(lambda: keystream(stream)),
        lambda: bytes(stream.bind_source(b"digest") is None),
    ]
    for attempt in attempts:
        message = in_child(attempt)
        assert message.removeprefix(b"=").startswith(b"ArgumentError: this " + stream.kind.encode())
        assert b"make one in the child" in message
    keystream(stream)  # the parent's goes on


def test_a_stream_made_in_the_child_serves_it(key: bytes) -> None:
    first = in_child(lambda: keystream(Stream(key=key, context="c")))
    assert first == b"=" + keystream(Stream(key=key, context="c"))
    second = in_child(lambda: answers(MECHANISM, rng=Stream(key=key, context="c", first_row=200), column_name="c"))
    assert second[1:] == answers(MECHANISM, 400, rng=Stream(key=key, context="c"), column_name="c")[200:]


def test_a_fork_that_python_did_not_make_is_noticed() -> None:
    """The process number differs although no hook has run."""
    fresh, keyed = Stream(), Stream.insecure(1)
    bare = ctypes.PyDLL(None).fork
    seen = [in_child(lambda: keystream(fresh), fork=bare)[1:] for _ in range(3)]
    assert_apart([*seen, keystream(fresh)])
    assert in_child(lambda: keystream(keyed), fork=bare).startswith(b"ArgumentError: this insecure")


def test_a_child_with_the_process_number_of_its_ancestor_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system gives numbers out again; the hook counts forks whatever they are."""
    fresh, seeded = Stream(), Stream.insecure(1)
    number = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: number)
    assert_apart([in_child(lambda: keystream(fresh))[1:], keystream(fresh)])
    assert in_child(lambda: keystream(seeded)).startswith(b"ArgumentError: this insecure")


def test_locks_that_another_thread_holds_do_not_stop_the_child() -> None:
    """A thread that holds a lock when the process forks is not there to let it go."""
    stream = Stream()
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with stream._lock, randomness._reseeding, _threads._pool_lock:
            held.set()
            release.wait(4 * LIMIT)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert held.wait(LIMIT)
        column = np.zeros(_threads.INLINE_ROWS, np.uint8)
        assert in_child(lambda: MECHANISM.sanitise(column, rng=stream, threads=2)[:9].tobytes()).startswith(b"=")
    finally:
        release.set()
        holder.join()


def test_the_child_can_use_threads_after_the_parent_did() -> None:
    column = np.zeros(5_000_000, np.uint8)
    mine = MECHANISM.sanitise(column, rng=Stream.insecure(1), threads=4)
    answer = in_child(lambda: MECHANISM.sanitise(column, rng=Stream.insecure(1), threads=4)[:1000].tobytes())
    assert answer == b"=" + mine[:1000].tobytes()
    grandchild = in_child(lambda: in_child(lambda: MECHANISM.sanitise(column, threads=4)[:1000].tobytes()), 2 * LIMIT)
    assert grandchild.startswith(b"==")


def test_the_child_of_a_fork_that_python_did_not_make_has_threads_of_its_own() -> None:
    """No hook has run there: the pool of the parent is in memory, and none of its threads. Another one holds its lock."""
    column = np.zeros(5_000_000, np.uint8)
    mine = MECHANISM.sanitise(column, rng=Stream.insecure(1), threads=2)

    def draw() -> bytes:
        child: bytes = MECHANISM.sanitise(column, rng=Stream.insecure(1), threads=2)[:1000].tobytes()
        return child

    bare = ctypes.PyDLL(None).fork
    assert in_child(draw, 2 * LIMIT, fork=bare) == b"=" + mine[:1000].tobytes()
    with _threads._pool_lock:
        assert in_child(draw, 2 * LIMIT, fork=bare) == b"=" + mine[:1000].tobytes()
    assert (MECHANISM.sanitise(column, rng=Stream.insecure(1), threads=2) == mine).all()


def test_a_fork_while_threads_are_busy() -> None:
    column = np.zeros(20_000_000, np.uint8)
    stop = threading.Event()
    rounds = []

    def work() -> None:
        while not stop.is_set():
            MECHANISM.sanitise(column, threads=4)
            rounds.append(1)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        drawn = [in_child(lambda: MECHANISM.sanitise(column[:5_000_000], threads=2)[:64].tobytes()) for _ in range(5)]
    finally:
        stop.set()
        worker.join()
    assert all(answer.startswith(b"=") and len(answer) == 65 for answer in drawn)
    assert len(set(drawn)) == 5
    assert rounds


def drawn_numbers(_: int) -> bytes:
    return answers(MECHANISM)


def drawn_by(mechanism: RandomisedResponse) -> list[Any]:
    values: list[Any] = mechanism.sanitise(pa.array(["a"] * 200)).to_pylist()
    return values


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_draw_apart(method: str) -> None:
    """After a call in the parent, whose state a forked worker inherits; the mechanism itself may be sent to them."""
    drawn_numbers(0)
    drawn_by(NAMED)
    with multiprocessing.get_context(method).Pool(4) as pool:
        numbers = pool.map(drawn_numbers, range(16), chunksize=1)
        values = pool.map(drawn_by, [NAMED] * 16, chunksize=1)
        for stream in (Stream(), Stream(key=bytes(32), context="c")):
            with pytest.raises(ArgumentTypeError, match="cannot be copied or pickled"):
                pool.map(keystream, [stream])
    assert len(set(numbers)) == 16
    assert len({tuple(map(str, column)) for column in values}) == 16
    assert {value for column in values for value in column} == {"a", None}
