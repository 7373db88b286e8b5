"""An operating system that fails, or a process that dies, at the n-th call that touches the disc.

What dies does so as under ``kill -9``: a child of ours leaves at once, without clean-up of any kind, so what is on the disc is
what a kill at that point would leave. Calls are those that Python makes: each is one system call or a few.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

DIED = 77
CALLS = ("open", "write", "fsync", "replace", "rename", "link", "mkdir", "unlink", "rmdir", "ftruncate", "fchmod")


class Faults:
    """Counts calls and acts at the n-th: "die", an errno, or "short" (a write takes half of what it was given)."""

    def __init__(self, at: int | None, action: str | int) -> None:
        self.calls = 0
        self.names: list[str] = []
        self._at = at
        self._action = action

    def meet(self, name: str) -> None:
        self.calls += 1
        self.names.append(name)
        if self.calls - 1 != self._at:
            return
        if self._action == "die":
            os._exit(DIED)
        if isinstance(self._action, int):
            raise OSError(self._action, os.strerror(self._action))

    def wrap(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            if name == "write" and self.calls == self._at and self._action == "short":
                # what an operating system may do at any time: it takes less than it was given, and says so
                self.calls += 1
                descriptor, data = arguments
                return call(descriptor, data[: len(data) // 2])
            self.meet(name)
            return call(*arguments, **options)

        return wrapped

    def write(self, call: Callable[[Any], int], data: Any) -> int:
        """A write of a file that may end in its middle: there is no room for the rest."""
        if self.calls != self._at or self._action != "short":
            self.meet("write")
            return call(data)
        self.calls += 1
        call(memoryview(data)[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FaultyFile:
    """A file whose writes are counted."""

    def __init__(self, file: Any, faults: Faults) -> None:
        self._file = file
        self._faults = faults
        self.closed = False

    def write(self, data: Any) -> int:
        return self._faults.write(self._file.write, data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@contextmanager
def faulty(at: int | None, action: str | int) -> Iterator[Faults]:
    """All calls within pass through one `Faults`."""
    from dpfast.etl import _publish

    faults = Faults(at, action)
    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, faults.wrap(name, getattr(os, name)))
        fdopen, exchange = os.fdopen, _publish._exchange
        patch.setattr(os, "fdopen", lambda *a, **k: FaultyFile(fdopen(*a, **k), faults))
        patch.setattr(_publish, "_exchange", faults.wrap("exchange", exchange))
        yield faults


@contextmanager
def quick_place() -> Iterator[Path]:
    """A folder in memory where there is one: thousands of flushes of a busy disc would take minutes."""
    memory = "/dev/shm"
    path = Path(tempfile.mkdtemp(prefix="dpfast-", dir=memory if os.access(memory, os.W_OK) else None))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def dies(at: int, job: Callable[[], object]) -> bool:
    """Run a job in a child that dies at the given call; False if it came to its end before."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with faulty(at, "die"):
                job()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, DIED), "the job failed"
    return code == DIED
