"""The hidden file ``.NAME.*.tmp`` in which a target grows: locked as long as its process lives, removed by the next job.

A lock (flock) ends with its process, however that ends, so a hidden file that can be locked is one that a stop left. A file may
be locked by somebody who is about to remove it before its maker can: the maker then takes another. Where a file system has no
locks nothing is removed.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = ["make_hidden", "remove_left"]


def make_hidden(target: Path) -> tuple[int, Path]:
    """Make and lock a hidden file beside a target, mode 0600; return its descriptor, which holds the lock, and its path."""
    while True:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        if _lock(descriptor) is not False and _is_named(descriptor, name):
            return descriptor, Path(name)
        os.close(descriptor)


def remove_left(target: Path) -> None:
    """Remove the hidden files that stopped jobs of this user left beside a target; those of living jobs stay."""
    form = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}\.tmp")
    with suppress(OSError):  # what cannot be removed harms nobody
        for name in filter(form.fullmatch, os.listdir(target.parent)):
            _remove(target.parent / name)


def _remove(path: Path) -> None:
    with suppress(OSError):
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        try:
            if _lock(descriptor) and _is_named(descriptor, path):
                path.unlink()
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Whether the lock could be had; None where there are no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_named(descriptor: int, path: str | Path) -> bool:
    """Whether the path is still that of the open file."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False
