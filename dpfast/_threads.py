"""Threads over calls that release the GIL: how many, which rows each, and a pool that survives forks and Ctrl-C."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpfast.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["available", "check_threads", "run_parts", "run_rows"]

INLINE_ROWS = 1 << 21  # below this handing over to threads costs more than it gains
TASK_ROWS = 1 << 20

_NEVER = threading.Event()  # what an inline task asks: Ctrl-C reaches it directly

_pool: ThreadPoolExecutor | None = None
_pool_size = 0
_pool_lock = threading.Lock()
_pool_process = os.getpid()


def _forget_pool() -> None:
    """The threads of a pool do not exist in a forked child; neither does the holder of its lock."""
    global _pool, _pool_size, _pool_lock, _pool_process
    _pool, _pool_size, _pool_lock, _pool_process = None, 0, threading.Lock(), os.getpid()


os.register_at_fork(after_in_child=_forget_pool)


def check_threads(threads: int | None) -> None:
    """Refuse what is not a number of threads; numpy integers are integers."""
    if threads is None:
        return
    is_integer = isinstance(threads, (int, np.integer)) and not isinstance(threads, (bool, np.timedelta64))
    if not is_integer:
        raise ArgumentTypeError("threads must be None or an integer")
    if threads < 1:
        raise ArgumentError("threads must be at least 1")


@cache
def _machine() -> int:
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        count = os.cpu_count() or 1
    return max(1, min(count, _cgroup_quota() or count))


def _cgroup_quota() -> int | None:
    """Processors that a container may use, rounded up, from cgroup version 2 or 1."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            root = Path("/sys/fs/cgroup/cpu")
            quota, period = (root / "cpu.cfs_quota_us").read_text(), (root / "cpu.cfs_period_us").read_text()
        except OSError:
            return None
    if quota.strip() in ("max", "-1"):
        return None
    return -(-int(quota) // int(period))


def available() -> int:
    """Threads that ``threads=None`` stands for: processors by affinity and container quota, at most DPFAST_THREADS."""
    asked = os.environ.get("DPFAST_THREADS")
    if not asked:
        return _machine()
    if not asked.isdecimal() or int(asked) < 1:
        raise ArgumentError("environment variable DPFAST_THREADS must be a positive integer")
    return min(_machine(), int(asked))


def _executor(threads: int) -> ThreadPoolExecutor:
    global _pool, _pool_size
    if os.getpid() != _pool_process:  # a fork made outside Python calls no hook
        _forget_pool()
    with _pool_lock:
        if _pool is None or _pool_size < threads:
            _pool = ThreadPoolExecutor(threads, thread_name_prefix="dpfast")
            _pool_size = threads
        return _pool


def run_rows(task: Callable[[int, int, threading.Event], None], n_rows: int, threads: int | None) -> None:
    """Call ``task(start, stop, cancelled)`` over all rows, on up to `threads` threads.

    The first failure, or Ctrl-C, cancels the rest; it is raised after every thread has stopped.
    """
    count = 1 if n_rows < INLINE_ROWS else threads or available()
    if count == 1:
        task(0, n_rows, _NEVER)
        return
    _run(task, n_rows, max(-(-n_rows // (4 * count)), TASK_ROWS), count)


def run_parts(task: Callable[[int, int], None], n: int, size: int, threads: int | None) -> None:
    """Call ``task(start, stop)`` over 0 .. n, `size` at a time, each some milliseconds of work, on up to `threads` threads."""
    count = 1 if n <= size else threads or available()
    if count > 1:
        _run(lambda start, stop, _: task(start, stop), n, size, count)
        return
    for start in range(0, n, size):
        task(start, min(start + size, n))


def _run(task: Callable[[int, int, threading.Event], None], n_rows: int, rows: int, count: int) -> None:
    cancelled = threading.Event()
    tasks = range(0, n_rows, rows)
    count = min(count, len(tasks))
    starts = iter(tasks)
    turn = threading.Lock()

    def work() -> None:
        while not cancelled.is_set():
            with turn:
                start = next(starts, None)
            if start is None:
                return
            try:
                task(start, min(start + rows, n_rows), cancelled)
            except BaseException:
                cancelled.set()
                raise

    executor = _executor(count)
    futures: list[Future[None]] = []
    try:
        try:
            futures.extend(executor.submit(work) for _ in range(count))
        except RuntimeError:  # no memory or no leave for one more thread: this one works in its place
            work()
        wait(futures)
    except BaseException:
        cancelled.set()
        wait(futures)
        raise
    for future in futures:
        future.result()
