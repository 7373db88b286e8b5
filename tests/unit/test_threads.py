"""How many threads there are, and that every row is worked on once whatever happens."""

from __future__ import annotations

import itertools
import os
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpfast import RandomisedResponse, _threads


@pytest.mark.parametrize(
    ("threads", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("2", TypeError), (True, TypeError)]
)
def test_bad_numbers(threads: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="threads"):
        RandomisedResponse(range(2), epsilon=1.0).sanitise(np.zeros(3, np.uint8), threads=threads)


def test_the_number_follows_affinity_quota_and_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DPFAST_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(6)))
    for quota, expected in ((None, 6), (4, 4), (9, 6)):
        monkeypatch.setattr(_threads, "_cgroup_quota", lambda quota=quota: quota)
        _threads._machine.cache_clear()
        assert _threads.available() == expected
    for asked, expected in (("3", 3), ("100", 6), ("", 6)):
        monkeypatch.setenv("DPFAST_THREADS", asked)
        assert _threads.available() == expected
    for asked in ("0", "-2", "two", "1.5"):
        monkeypatch.setenv("DPFAST_THREADS", asked)
        with pytest.raises(ValueError, match="DPFAST_THREADS"):
            _threads.available()
    _threads._machine.cache_clear()


@pytest.mark.parametrize(("text", "expected"), [("max 100000", None), ("150000 100000", 2), ("50000 100000", 1)])
def test_quota_of_a_container(monkeypatch: pytest.MonkeyPatch, text: str, expected: int | None) -> None:
    monkeypatch.setattr(Path, "read_text", lambda self: text)
    assert _threads._cgroup_quota() == expected


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("n", [0, 1, _threads.INLINE_ROWS - 1, _threads.INLINE_ROWS, 20_000_001])
def test_every_row_once(threads: int, n: int) -> None:
    spans: list[tuple[int, int]] = []
    _threads.run_rows(lambda start, stop, cancelled: spans.append((start, stop)), n, threads)
    spans.sort()
    assert spans[0][0] == 0
    assert spans[-1][1] == n
    assert all(a[1] == b[0] for a, b in itertools.pairwise(spans))
    assert len(spans) == 1 if threads == 1 or n < _threads.INLINE_ROWS else len(spans) > 1


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_the_first_failure_stops_the_rest(threads: int) -> None:
    started: Counter[int] = Counter()
    lock = threading.Lock()

    def task(start: int, stop: int, cancelled: threading.Event) -> None:
        with lock:
            started[start] += 1
            if len(started) == 1:
                raise RuntimeError("the first task fails")
        if not cancelled.wait(timeout=10):
            raise AssertionError("nobody cancelled this task")

    with pytest.raises(RuntimeError, match="the first task fails"):
        _threads.run_rows(task, 64 * _threads.TASK_ROWS, threads)
    assert len(started) <= threads
    _threads.run_rows(lambda start, stop, cancelled: None, 64 * _threads.TASK_ROWS, threads)  # the pool goes on
