"""What a call gives away to someone who can follow it: the instructions of the compiled rows, one by one, and its time."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dpfast._core import rows as core

__all__ = ["CROPS", "Steps", "kernel_times", "t_statistic"]

CROPS = (50, 90, 99, 100)  # per cent of the timings, the shortest, that a statistic is computed of
SOURCE = Path(__file__).parent / "c" / "stepping" / "stepping.c"
ROWS, SLOTS = 2048, 500


class Steps:
    """The instructions of the compiled rows that a call executes, in order, as places in their code. Linux on x86-64."""

    def __init__(self, folder: Path) -> None:
        library = folder / "stepping.so"
        command = [os.environ.get("CC", "cc"), "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", SOURCE, "-o", library]
        subprocess.run(command, check=True)
        lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
        (code,) = [line[0] for line in lines if line[-1] == core.__file__ and line[1] == "r-xp"]
        self._ends = [int(end, 16) for end in code.split("-")]
        self._places = np.empty(1 << 16, np.uint32)
        self._library = ctypes.PyDLL(str(library))
        self._library.stepping_watch.argtypes = [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t]
        self._library.stepping_seen.restype = ctypes.c_size_t
        self._library.stepping_call.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
        self._library.stepping_call.restype = ctypes.py_object
        self._call = ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p)

    def of(self, function: Callable[..., Any], *arguments: Any) -> np.ndarray:
        """The steps of function(*arguments), which is first called as it is: functions are looked up at their first use."""
        function(*arguments)
        self._library.stepping_watch(*self._ends, self._places.ctypes.data, self._places.size)
        gc.disable()  # it ends objects of the library whenever it likes
        try:
            self._library.stepping_call(self._call, function, arguments)
        finally:
            gc.enable()
        seen = self._library.stepping_seen()
        assert 0 < seen <= self._places.size
        return self._places[:seen].copy()


def kernel_times(law: core.Law, fixed: int, timings: int) -> tuple[np.ndarray, np.ndarray]:
    """Nanoseconds of the kernel of `law` for columns of ROWS rows, and which of them hold the category `fixed` alone.

    A coin says for each column whether its categories are random instead. Columns lie in as many places as are measured in a
    round, whatever their kind, and all those of a round meet the same words. The median of its round is taken from each time, so
    that slow spells of the machine matter little.
    """
    rng = np.random.default_rng()
    dtype = np.uint8 if law.k <= 256 else np.uint16
    columns, out = np.empty((SLOTS, ROWS), dtype), np.empty(ROWS, dtype)
    places = [memoryview(column) for column in columns]
    words = np.empty(ROWS, np.uint16 if law.split else np.uint64)
    pending, seen, clock = core.Pending(ROWS), memoryview(words), time.perf_counter_ns
    times, kinds = np.empty((timings // SLOTS, SLOTS)), rng.random((timings // SLOTS, SLOTS)) < 0.5
    for took, is_fixed in zip(times, kinds, strict=True):
        columns[:] = np.where(is_fixed[:, None], dtype(fixed), rng.integers(0, law.k, columns.shape, dtype))
        words[:] = rng.integers(0, 1 << 8 * words.itemsize, ROWS, words.dtype)
        gc.disable()
        for number, column in enumerate(places):
            pending.clear()
            if law.split:
                start = clock()
                law.first(column, seen, out, pending, 0)
                took[number] = clock() - start
            else:
                start = clock()
                law.whole(column, seen, out)
                took[number] = clock() - start
        gc.enable()
    times -= np.median(times, axis=1, keepdims=True)
    return times.ravel(), kinds.ravel()


def t_statistic(times: np.ndarray, kinds: np.ndarray) -> float:
    """Welch's t of the two kinds of times, the furthest from zero over CROPS, which are of all times together.

    Kinds are coins that the times know nothing of unless the work depends on them, so that t is close to normal whatever else the
    machine does: beyond 4.5 once in 37,000 times for four crops.
    """
    found = []
    for crop in CROPS:
        kept = times <= np.percentile(times, crop)
        first, second = times[kept & kinds], times[kept & ~kinds]
        spread = first.var(ddof=1) / first.size + second.var(ddof=1) / second.size
        found.append(float((first.mean() - second.mean()) / np.sqrt(spread)))
    return max(found, key=abs)
