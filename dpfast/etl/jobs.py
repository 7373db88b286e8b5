"""What every job does the same way: a target that appears complete or not at all, a source's digest, and two helper threads.

**Crash safety.** Output grows in a hidden file beside the target (mode 0600). When it is complete it is flushed to the disc,
given the name of the target, and the folder is flushed. Whatever stops the job before (an error, Ctrl-C, a full disc,
``kill -9``, a power cut) leaves the old target, or none. A target that may be replaced is renamed over; any other is linked,
which fails where a file of that name exists, however late it came. The hidden file is removed by anything that Python lives to
see, and after a kill by the next job of a file of that name (`dpfast.etl._hidden`); it holds sanitised values only.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NoReturn, TypeVar

from dpfast._sources.places import Place
from dpfast._sources.source import combined_digest
from dpfast.errors import FileError
from dpfast.etl._hidden import make_hidden

__all__ = ["AtomicFile", "Background", "background", "flush_folder", "read_ahead", "source_digest", "writing"]

T = TypeVar("T")

# Whole pages pass through; only the small writes of headers are gathered.
WRITE_BUFFER_BYTES = 1 << 16
_END: Any = object()
# What an operating system answers where a file system has no hard links.
NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class AtomicFile:
    """A file that appears under its name complete, or not at all.

    Use it as a context manager: it gives the open binary file, and `commit` puts it in place. Leaving the block without a
    commit, for whatever reason, leaves nothing.

    Parameters
    ----------
    target : str or path-like
        The name. A symbolic link is followed, so that the link stays and what it points to is replaced.
    sources : iterable of path
        Files that must not be the target, under whatever name.
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    FileError
        If the target is a source, exists, is a folder, or cannot be written. Raised on construction and on entry, before
        anything is written.
    """

    def __init__(self, target: str | os.PathLike[str], *, sources: Iterable[Path], overwrite: bool) -> None:
        self._shown = repr(os.fspath(target))
        self._target = Path(os.path.realpath(target))
        self._overwrite = overwrite
        self._temporary: Path | None = None
        self._file: BinaryIO | None = None
        #: Whether the file has its name; also where what comes after that fails.
        self.is_placed = False
        if os.path.isdir(self._target):
            raise FileError(f"the target {self._shown} is a folder; name a file")
        # A device or a pipe is no file to be replaced: the rename would put a file in its place.
        if os.path.exists(self._target) and not os.path.isfile(self._target):
            raise FileError(f"the target {self._shown} is a device or a pipe; name a file")
        for source in sources:
            if self._target == Path(os.path.realpath(source)) or _same_file(self._target, source):
                raise FileError("the target is the source, under this or another name; nothing is sanitised in place")
        self._refuse_existing()

    def __enter__(self) -> BinaryIO:
        with writing(f" {self._shown}"):
            descriptor, self._temporary = make_hidden(self._target)
        self._file = os.fdopen(descriptor, "wb", buffering=WRITE_BUFFER_BYTES)
        return self._file

    def commit(self) -> None:
        """Put the file in place: flush it, give it the access rights of any new file, name it, flush the folder."""
        assert self._file is not None
        self._refuse_existing()
        with writing():
            # Opened first: a folder that cannot be opened cannot be flushed either, and then there must be no target.
            folder = os.open(self._target.parent, os.O_RDONLY)
            try:
                self._file.flush()
                os.fchmod(self._file.fileno(), self._mode())
                os.fsync(self._file.fileno())
                self._file.close()
                self._publish()
                self._flush(folder)
            finally:
                os.close(folder)

    def _publish(self) -> None:
        """Give the file its name; unless it may be replaced, only if no other file has that name at this instant."""
        assert self._temporary is not None
        if self._overwrite:
            os.replace(self._temporary, self._target)
            self._temporary = None
            self.is_placed = True
            return
        # A rename would replace a file that has appeared meanwhile; a link never does. `_discard` removes the hidden name.
        try:
            os.link(self._temporary, self._target)
            self.is_placed = True
        except FileExistsError:
            self._refuse()
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            raise FileError(
                f"cannot write the target {self._shown}: its file system has no links, without which a file that appears "
                "meanwhile could be replaced; choose another place, or allow to overwrite"
            ) from None

    def _flush(self, folder: int) -> None:
        """Make the name last, and take the hidden one away; what fails now no longer undoes the target."""
        try:
            self._discard()
            os.fsync(folder)
        except OSError as error:
            raise FileError(
                f"the target {self._shown} is in place, new and complete, but the disc did not confirm its name "
                f"({error.strerror or 'no reason given'}): a power cut may still undo that"
            ) from None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._discard()

    def _discard(self) -> None:
        temporary, self._temporary = self._temporary, None
        if temporary is not None:
            with suppress(FileNotFoundError):
                temporary.unlink()
        if self._file is not None:
            # What is left in the buffer of an abandoned file may have no room on a full disc: it is of no use any more.
            with suppress(OSError):
                self._file.close()

    def _refuse_existing(self) -> None:
        if not self._overwrite and os.path.lexists(self._target):
            self._refuse()

    def _refuse(self) -> NoReturn:
        raise FileError(f"the target {self._shown} exists; choose another name, or overwrite=True (--overwrite)") from None

    def _mode(self) -> int:
        """Access rights of the file that is replaced, or those that this process gives a new file."""
        with suppress(FileNotFoundError):
            return stat.S_IMODE(self._target.stat().st_mode)
        # The mask can only be read by setting it. For that instant files of other threads are private, never too open.
        mask = os.umask(0o077)
        os.umask(mask)
        return 0o666 & ~mask


def source_digest(files: Iterable[tuple[str, Path]]) -> bytes:
    """Return 32 bytes that identify a source: the names and the bytes of its files, not their place or age.

    Parameters
    ----------
    files : iterable of (name, path)
        The name of a file is its path relative to the source, with ``/``; of a source that is one file, the empty text.

    Returns
    -------
    bytes

    Raises
    ------
    FileError
        If a file cannot be read.
    """
    return combined_digest((name, Place(os.fspath(path)).digest()) for name, path in files)


def flush_folder(path: Path) -> None:
    """Make the names in a folder last."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def writing(shown: str = "") -> Iterator[None]:
    """Turn what the operating system says about a write into a `FileError`; `shown` is a blank and the name of the target."""
    try:
        yield
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot write the target{shown}: {error.strerror or 'the write failed'}") from None


class Background:
    """One call at a time on a thread of its own, or at once where there is none; a failure comes up at the next call."""

    def __init__(self, pool: ThreadPoolExecutor | None) -> None:
        self._pool = pool
        self._pending: Future[Any] | None = None

    def submit(self, function: Callable[..., object], *arguments: object) -> None:
        """Run a call after the one before it has ended well."""
        if self._pool is None:
            function(*arguments)
            return
        self.wait()
        self._pending = self._pool.submit(function, *arguments)

    def wait(self) -> None:
        """Wait for the last call and raise what it raised."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()


@contextmanager
def background(threads: int) -> Iterator[Background]:
    """Give a `Background` with a thread, or without one if the job is to keep to one thread.

    On leaving the block the thread has ended: at once after a failure, but for the call that runs.
    """
    with _helper(threads, "dpfast-write") as pool:
        yield Background(pool)


@contextmanager
def read_ahead(items: Iterator[T], threads: int) -> Iterator[Iterator[T]]:
    """Give an iterator over `items` that is one item ahead, on a thread of its own unless `threads` is 1."""
    with _helper(threads, "dpfast-read") as pool:
        yield items if pool is None else _ahead(items, pool)


@contextmanager
def _helper(threads: int, name: str) -> Iterator[ThreadPoolExecutor | None]:
    """Give a thread that has started; None where a job is to keep to one, or where there is no memory or leave for another."""
    if threads == 1:
        yield None
        return
    with ThreadPoolExecutor(1, thread_name_prefix=name) as pool:
        try:
            pool.submit(int).result()
            found = pool
        except RuntimeError:
            found = None
        yield found


def _ahead(items: Iterator[T], pool: ThreadPoolExecutor) -> Iterator[T]:
    pending = pool.submit(next, items, _END)
    while (item := pending.result()) is not _END:
        pending = pool.submit(next, items, _END)
        yield item


def _same_file(target: Path, source: Path) -> bool:
    try:
        return target.samefile(source)
    except OSError:  # one of them does not exist: then they are not one file
        return False
