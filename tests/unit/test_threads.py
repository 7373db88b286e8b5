"""How many threads there are, which rows each works on, and what stops them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpfast import ArgumentError, ArgumentTypeError, OutsideDomainError, RandomisedResponse, Stream, _threads
from dpfast._threads import available, check_threads, run_rows
from dpfast.etl.jobs import background, read_ahead

LIMIT = 5.0  # seconds before a test says that something hangs


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks of ten rows, so that a hundred rows are many."""
    monkeypatch.setattr(_threads, "INLINE_ROWS", 20)
    monkeypatch.setattr(_threads, "TASK_ROWS", 10)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A machine that says what the test makes it say."""
    _threads._machine.cache_clear()
    monkeypatch.delenv("DPFAST_THREADS", raising=False)
    yield monkeypatch
    _threads._machine.cache_clear()


@pytest.mark.parametrize(
    ("cpus", "quota", "asked", "expected"),
    [
        (8, None, None, 8),
        (8, None, "3", 3),
        (8, None, "100", 8),
        (8, None, "", 8),
        (8, 2, None, 2),
        (2, 8, None, 2),
        (8, 2, "1", 1),
        (8, 0, None, 8),
        (1, 1, "1", 1),
    ],
)
def test_affinity_quota_and_environment_are_all_heeded(
    machine: pytest.MonkeyPatch, cpus: int, quota: int | None, asked: str | None, expected: int
) -> None:
    machine.setattr(os, "sched_getaffinity", lambda _: set(range(cpus)), raising=False)
    machine.setattr(_threads, "_cgroup_quota", lambda: quota)
    if asked is not None:
        machine.setenv("DPFAST_THREADS", asked)
    assert available() == expected


def test_without_affinity_the_processors_count(machine: pytest.MonkeyPatch) -> None:
    machine.delattr(os, "sched_getaffinity", raising=False)
    machine.setattr(_threads, "_cgroup_quota", lambda: None)
    for count, expected in ((6, 6), (None, 1)):
        machine.setattr(os, "cpu_count", lambda count=count: count)
        _threads._machine.cache_clear()
        assert available() == expected


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.max": "200000 100000\n"}, 2),
        ({"cpu.max": "250000 100000\n"}, 3),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "150000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2),
        ({"cpu/cpu.cfs_quota_us": "150000\n"}, None),
        ({}, None),
    ],
)
def test_the_quota_of_a_container_is_read(monkeypatch: pytest.MonkeyPatch, files: dict[str, str], quota: int | None) -> None:
    def read_text(path: Path) -> str:
        name = str(path.relative_to("/sys/fs/cgroup"))
        if name not in files:
            raise FileNotFoundError(name)
        return files[name]

    monkeypatch.setattr(Path, "read_text", read_text)
    assert _threads._cgroup_quota() == quota


@pytest.mark.parametrize("asked", ["0", "-1", "two", "1.5", " ", "2 ", "+2", "²"])
def test_an_unusable_environment_is_an_error(monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    monkeypatch.setenv("DPFAST_THREADS", asked)
    with pytest.raises(ArgumentError, match="environment variable DPFAST_THREADS must be a positive integer"):
        available()


def test_arguments() -> None:
    right: list[Any] = [None, 1, 2, 1000, np.int64(2), np.uint8(1)]
    for threads in right:
        check_threads(threads)
    column = np.zeros(3_000_000, np.uint8)
    drawn = [RandomisedResponse(range(4), epsilon=1.0).sanitise(column, rng=Stream.insecure(1), threads=n) for n in right[1:3]]
    drawn.append(RandomisedResponse(range(4), epsilon=1.0).sanitise(column, rng=Stream.insecure(1), threads=right[4]))
    assert (drawn[0] == drawn[1]).all()
    assert (drawn[0] == drawn[2]).all()
    for threads in (0, -1):
        with pytest.raises(ArgumentError, match="at least 1"):
            check_threads(threads)
    wrong: list[Any] = [1.0, "1", True, [1], b"1", float("nan"), np.float64(1), np.True_, np.timedelta64(1, "ns")]
    for threads in wrong:
        with pytest.raises(ArgumentTypeError, match="None or an integer"):
            check_threads(threads)


@pytest.mark.parametrize("n_rows", [0, 1, 19])
def test_few_rows_are_done_by_the_caller_in_one_go(small: None, n_rows: int) -> None:
    calls = []
    run_rows(lambda start, stop, cancelled: calls.append((start, stop, threading.get_ident(), cancelled.is_set())), n_rows, 8)
    assert calls == [(0, n_rows, threading.get_ident(), False)]


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("n_rows", [20, 21, 99, 100, 101, 1000])
def test_every_row_is_done_once(small: None, threads: int, n_rows: int) -> None:
    done = np.zeros(n_rows, int)
    names = set()

    def task(start: int, stop: int, _: threading.Event) -> None:
        assert start < stop <= n_rows  # a slice would hide a task that goes beyond the end
        done[start:stop] += 1
        names.add(threading.current_thread().name)

    run_rows(task, n_rows, threads)
    assert (done == 1).all()
    assert (names == {threading.current_thread().name}) == (threads == 1)


def test_threads_really_work_side_by_side(small: None) -> None:
    meeting = threading.Barrier(4)
    run_rows(lambda *_: meeting.wait(LIMIT) and None, 40, 4)  # breaks unless four tasks are under way at once


def test_no_more_threads_than_tasks(small: None) -> None:
    """A large number asked for is not a large number made."""
    before = set(threading.enumerate())
    run_rows(lambda *_: time.sleep(0.01), 50, 500)
    assert len(set(threading.enumerate()) - before) <= 5


@pytest.mark.parametrize("room", [0, 1, 2])
def test_without_room_for_another_thread_the_caller_does_the_rest(
    small: None, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a limit of processes or of memory does to a new thread; those that started work on."""
    start, left = threading.Thread.start, iter(range(room))
    names = set()

    def started(thread: threading.Thread) -> None:
        if next(left, None) is None:
            raise RuntimeError("can't start new thread")
        start(thread)

    done = np.zeros(200, int)

    def task(start: int, stop: int, _: threading.Event) -> None:
        done[start:stop] += 1
        names.add(threading.current_thread() is threading.main_thread())
        time.sleep(0.005)

    _threads._forget_pool()
    monkeypatch.setattr(threading.Thread, "start", started)
    run_rows(task, 200, 4)
    assert (done == 1).all()
    assert names == ({True} if room == 0 else {True, False})
    with read_ahead(iter([1, 2, 3]), 2) as items, background(2) as writer:
        written: list[int] = []
        for item in items:
            writer.submit(written.append, item)
        writer.wait()
    assert written == [1, 2, 3]
    monkeypatch.undo()
    run_rows(task, 200, 4)
    assert (done == 2).all()


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_the_first_error_stops_the_rest_and_is_raised(small: None, threads: int) -> None:
    started: list[int] = []
    stopped: list[int] = []

    def task(start: int, stop: int, cancelled: threading.Event) -> None:
        started.append(start)
        if start == 0:
            raise OSError("the first task")
        assert cancelled.wait(LIMIT)
        stopped.append(start)

    begin = time.monotonic()
    with pytest.raises(OSError, match="the first task"):
        run_rows(task, 10_000, threads)
    assert time.monotonic() - begin < LIMIT
    assert len(started) <= threads  # of four times as many
    assert sorted(stopped) == sorted(set(started) - {0})
    run_rows(lambda *_: None, 10_000, threads)  # the pool goes on


def test_a_call_returns_only_when_all_its_threads_have(small: None) -> None:
    """Else a failed call would go on writing into memory that the caller has taken back."""
    under_way = threading.Event()
    finished = []

    def task(start: int, stop: int, cancelled: threading.Event) -> None:
        if start:
            under_way.set()
            time.sleep(0.2)
            finished.append(start)
        else:
            assert under_way.wait(LIMIT)
            raise ValueError("first")

    with pytest.raises(ValueError, match="first"):
        run_rows(task, 40, 2)
    assert len(finished) >= 1


def test_an_interrupt_while_waiting_stops_the_threads(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    real = _threads.wait
    waits = []
    running = threading.Semaphore(0)
    cancellations = []

    def wait(futures: Any) -> Any:
        waits.append(len(futures))
        if len(waits) == 1:
            assert running.acquire(timeout=LIMIT)
            raise KeyboardInterrupt
        return real(futures)

    def task(start: int, stop: int, cancelled: threading.Event) -> None:
        running.release()
        cancellations.append(cancelled.wait(LIMIT))

    monkeypatch.setattr(_threads, "wait", wait)
    with pytest.raises(KeyboardInterrupt):
        run_rows(task, 1000, 2)
    assert len(waits) == 2
    assert cancellations in ([True], [True, True])


def test_the_pool_serves_many_callers_at_once(small: None) -> None:
    done = np.zeros((8, 300), int)

    def call(number: int) -> None:
        def task(start: int, stop: int, _: threading.Event) -> None:
            done[number, start:stop] += 1

        for _ in range(20):
            run_rows(task, 300, 1 + number % 4)

    callers = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(LIMIT)
        assert not caller.is_alive()
    assert (done == 20).all()


@pytest.mark.parametrize("k", [10, 5000])
def test_answers_do_not_depend_on_threads(k: int) -> None:
    """Above the size at which threads are used at all."""
    n_rows = _threads.INLINE_ROWS + 12_345
    column = (np.arange(n_rows) % k).astype(np.uint16)
    mechanism = RandomisedResponse(range(k), epsilon=1.0)
    one = mechanism.sanitise(column, rng=Stream.insecure(1), threads=1)
    for threads in (2, 3, 8):
        assert (mechanism.sanitise(column, rng=Stream.insecure(1), threads=threads) == one).all()


def test_an_error_in_the_last_row_is_the_error_of_the_call() -> None:
    column = np.zeros(_threads.INLINE_ROWS + 1, np.uint8)
    column[-1] = 3
    for threads in (1, 2, 4):
        with pytest.raises(OutsideDomainError):
            RandomisedResponse(range(3), epsilon=1.0).sanitise(column, threads=threads)
