"""How far a long job is: a bar on a terminal, a line now and then elsewhere, or a call of the user's own.

What is shown is the number of rows, and the share that is done where their total is known: for the operator.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Literal, TypeAlias

from dpfast.errors import ArgumentTypeError

__all__ = ["Lines", "Progress", "check_progress", "showing"]

Progress: TypeAlias = Callable[[int, int | None], object]

QUIET_SECONDS: Final = 2.0  # shorter work needs no word
STEP_PERCENT: Final = 5
STEP_SECONDS: Final = 10.0  # where the total is not known


class Lines:
    """Write a line to standard error for each twentieth of the work, once it has lasted a while.

    Parameters
    ----------
    quiet_seconds : float
        How long nothing is written.
    clock : callable
        Gives seconds.

    Examples
    --------
    >>> Lines()(10, 100)
    """

    def __init__(self, quiet_seconds: float = QUIET_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._speak_from = clock() + quiet_seconds
        self._next_time = self._speak_from
        self._next_percent = STEP_PERCENT

    def __call__(self, done: int, total: int | None) -> None:
        now = self._clock()
        if now < self._speak_from:
            return
        if not total:
            if now >= self._next_time:
                self._next_time = now + STEP_SECONDS
                self._write(f"{done} rows")
            return
        percent = 100 * done // total
        if percent >= self._next_percent:
            self._next_percent = percent - percent % STEP_PERCENT + STEP_PERCENT
            self._write(f"{percent} % of {total} rows")

    def _write(self, text: str) -> None:
        if sys.stderr is not None:
            print(f"dpfast: {text}", file=sys.stderr, flush=True)


def check_progress(progress: object) -> None:
    """Refuse what is no way to show progress."""
    if progress is not None and progress is not False and not callable(progress):
        raise ArgumentTypeError("progress must be None, False or a callable that takes (done, total)")


@contextmanager
def showing(progress: Progress | Literal[False] | None, total: int | None) -> Iterator[Callable[[int], object]]:
    """Give what is to be called with the number of rows done so far.

    Parameters
    ----------
    progress : callable, False or None
        A call of ``(done, total)``; nothing; or a bar on a terminal and `Lines` elsewhere.
    total : int or None
        Number of rows; None where the source does not tell.
    """
    if progress is False:
        yield lambda done: None
    elif progress is not None:
        call = progress
        yield lambda done: call(done, total)
    elif sys.stderr is not None and sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(total=total, unit="row", unit_scale=True, leave=False) as bar:
            yield lambda done: bar.update(done - bar.n)
    else:
        lines = Lines()
        yield lambda done: lines(done, total)
