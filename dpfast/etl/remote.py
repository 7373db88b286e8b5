"""A target wherever it is: on this machine by `AtomicFile`, elsewhere by the file system's own rules.

Object stores have no renames that cost nothing. What goes there grows in a nameless file of this machine and is sent when it
is complete: the object appears when its last byte is there, and a job that fails before leaves nothing, not even a part.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Protocol, Self

from dpfast._sources.places import Place, bare
from dpfast.errors import FileError
from dpfast.etl._hidden import remove_left
from dpfast.etl.jobs import AtomicFile, writing

__all__ = ["NewFile", "RemoteFile", "new_file", "put_with_paper"]

_COPY_BYTES = 1 << 20


class NewFile(Protocol):
    """A file that appears under its name when it is committed; a context manager that gives itself."""

    @property
    def file(self) -> BinaryIO:
        """Where the bytes go."""

    @property
    def is_placed(self) -> bool:
        """Whether the file has its name; also where what comes after that fails."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def commit(self) -> None:
        """Put the file in place."""


def new_file(place: Place, *, sources: Iterable[Place], overwrite: bool) -> NewFile:
    """Return a file to be written.

    Parameters
    ----------
    place : Place
    sources : iterable of Place
        Files that must not be the target.
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    FileError
        If the target is a source, exists, or is a folder; before anything is written.
    """
    if place.filesystem is None:
        local = [one for one in map(bare, sources) if one.filesystem is None]
        return _LocalFile(place.path, [Path(one.path) for one in local], overwrite)
    return RemoteFile(place, sources=sources, overwrite=overwrite)


def put_with_paper(place: Place, rows: NewFile, beside: Place, paper: NewFile, *, overwrite: bool) -> None:
    """Put a file of rows in place with the certificate that stands beside it, so that none ever stands beside other rows.

    A new target has its certificate first, so that there is none without. An old one is replaced between the end of its own
    certificate and the beginning of the new one: a stop there leaves rows, old or new, that nothing certifies.
    """
    if place.kind() == "nothing":
        paper.commit()
        try:
            rows.commit()
        except BaseException:
            if not rows.is_placed:  # such as where another file appeared under the name meanwhile
                _remove(beside)
            raise
        return
    if overwrite:
        with writing():  # a disc that is full says so before anything is taken away
            rows.file.flush()
            os.fsync(rows.file.fileno())
        _remove(beside)
    rows.commit()  # refuses what it may not replace
    paper.commit()


def _remove(place: Place) -> None:
    """Take a file away, if it is there."""
    with writing():
        if place.filesystem is None:
            Path(place.path).unlink(missing_ok=True)
        elif place.kind() == "file":
            place.filesystem.delete_file(place.path)


class _LocalFile:
    def __init__(self, path: str, sources: list[Path], overwrite: bool) -> None:
        self._target = Path(os.path.realpath(path))
        self._atomic = AtomicFile(path, sources=sources, overwrite=overwrite)
        self._file: BinaryIO | None = None

    @property
    def file(self) -> BinaryIO:
        assert self._file is not None
        return self._file

    @property
    def is_placed(self) -> bool:
        return self._atomic.is_placed

    def __enter__(self) -> Self:
        remove_left(self._target)
        self._file = self._atomic.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._atomic.__exit__(kind, error, traceback)

    def commit(self) -> None:
        self._atomic.commit()


class RemoteFile:
    """A file on a file system of pyarrow or fsspec; see `new_file`."""

    def __init__(self, place: Place, *, sources: Iterable[Place], overwrite: bool) -> None:
        self._place = place
        self._overwrite = overwrite
        self._spool: Any = None
        self.is_placed = False
        if any(_same(bare(source), bare(place)) for source in sources):
            raise FileError("the target is the source; nothing is sanitised in place")
        self._refuse()

    @property
    def file(self) -> BinaryIO:
        return self._spool  # type: ignore[no-any-return]

    def __enter__(self) -> Self:
        with writing():
            self._spool = tempfile.TemporaryFile(prefix=".dpfast-")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        with suppress(OSError):
            self._spool.close()

    def commit(self) -> None:
        """Send the file; where that fails midway, take away what came of it."""
        self._refuse()
        filesystem, path = self._place.filesystem, self._place.path
        assert filesystem is not None
        begun = False
        try:
            with writing():
                size = self._spool.tell()
                self._spool.seek(0)
                with filesystem.open_output_stream(path) as out:
                    begun = True
                    while chunk := self._spool.read(_COPY_BYTES):
                        out.write(chunk)
                arrived = filesystem.get_file_info(path).size
        except BaseException:
            if begun:
                self._remove()
            raise
        if arrived != size:
            self._remove()
            raise FileError(f"cannot write the target {path!r}: it did not arrive whole")
        self.is_placed = True

    def _remove(self) -> None:
        assert self._place.filesystem is not None
        with suppress(Exception):
            self._place.filesystem.delete_file(self._place.path)

    def _refuse(self) -> None:
        kind = self._place.kind()
        if kind == "folder":
            raise FileError(f"the target {self._place.path!r} is a folder; name a file")
        if kind == "file" and not self._overwrite:
            raise FileError(f"the target {self._place.path!r} exists; choose another name, or overwrite=True (--overwrite)")


def _same(one: Place, two: Place) -> bool:
    """Whether two places are one file, as far as can be told."""
    if one.filesystem is None or two.filesystem is None:
        if one.filesystem is not two.filesystem:
            return False
        try:
            return Path(one.path).samefile(two.path)
        except OSError:  # one of them does not exist
            return False
    return bool(one.filesystem.equals(two.filesystem)) and one.path.strip("/") == two.path.strip("/")
