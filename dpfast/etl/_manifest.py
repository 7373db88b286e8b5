"""The hidden folder in which a folder target grows, what it remembers of the job, and that one process writes to it.

::

    .NAME.dpfast-partial/     mode 0700; one rename makes data/ the target, then this folder is removed
        lock                  held (flock) by the process that writes; a lock ends with its process, however that ends
        manifest              a line for the job, one for each committed part, one before publication
        data/                 the parts, under their names

A line of the manifest is a checksum and JSON. It counts from the moment it is flushed; a line that a stop has torn is the last
one and is taken for unwritten. A part is committed by its line: its file was flushed and named before. What lies in ``data``
without a line is removed when the job goes on. The manifest is private (it holds a digest of the source) and never becomes a
part of the target.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from dpfast._sources.csv_file import CERTIFICATE_SUFFIX
from dpfast.errors import FileError
from dpfast.etl.jobs import flush_folder, writing

__all__ = ["Head", "Manifest", "Part", "locked", "partial_path"]

FORMAT: Final = 1
SUM_CHARACTERS: Final = 16
# Of a part, what is digested: the whole of a small one, the footer of a large one. All of it would have to be read once more.
END_BYTES: Final = 1 << 16
_PERSON: Final = b"dpfast/manifest"


@dataclass(frozen=True)
class Head:
    """What a job is, as far as its parts depend on it.

    Attributes
    ----------
    job : str
        A digest of policy, ids and formats and, under a key, a secret function of the key, the context and the source too.
    source : str
        The digest of the source.
    randomness : {"fresh", "keyed", "insecure"}
    spend : str
        Names the charge of a fresh job, so that it is charged once however often it is resumed.
    version : int
        Of the manifest.
    """

    job: str
    source: str
    randomness: str
    spend: str
    version: int = FORMAT


@dataclass(frozen=True)
class Part:
    """A committed part: its name, the rows and the bytes it has, and a digest of the last of them, if one was taken."""

    name: str
    rows: int
    size: int
    end: str = ""

    @classmethod
    def of(cls, path: Path, name: str, rows: int) -> Part:
        """Describe a part that is in place."""
        with writing():
            return cls(name, rows, path.stat().st_size, _end(path))


def partial_path(target: Path) -> Path:
    """Return the folder in which a target grows."""
    return target.parent / f".{target.name}.dpfast-partial"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the hidden folder, made if it is missing; one without a manifest is removed on leaving.

    Raises
    ------
    FileError
        If another process holds it, it belongs to somebody else, or it cannot be made.
    """
    descriptor = _lock(path)
    try:
        yield
    finally:
        if not (path / "manifest").exists():
            shutil.rmtree(path, ignore_errors=True)
        os.close(descriptor)


def _lock(path: Path) -> int:
    while True:
        with writing():
            with suppress(FileExistsError):
                path.mkdir(mode=0o700)
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
                raise FileError(f"{path.name!r} beside the target is no folder of this user; remove it, or choose another target")
            try:
                descriptor = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            except FileNotFoundError:  # another process was done and removed the folder
                continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.stat(path / "lock"), os.fstat(descriptor)):
                    return descriptor
        except BlockingIOError:
            os.close(descriptor)
            raise FileError(
                "another process is writing to this target; wait until it has ended, or choose another target"
            ) from None
        except OSError as error:
            os.close(descriptor)
            raise FileError(f"cannot lock the target: {error.strerror}; a folder target needs a file system with locks") from None
        os.close(descriptor)


class Manifest:
    """What one hidden folder remembers, read on construction and appended to; the lock must be held.

    Attributes
    ----------
    head : Head or None
        None if no job has begun here.
    parts : dict of str to Part
        What is committed, by name.
    published : int or None
        The inode of ``data`` that was about to become the target.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.head: Head | None = None
        self.parts: dict[str, Part] = {}
        self.published: int | None = None
        self._path = folder / "manifest"
        self._end = 0
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise FileError(f"cannot read the manifest of the unfinished target: {error.strerror}") from None
        lines = content.split(b"\n")
        lines.pop()  # behind the last line end: nothing, or a line that was torn
        for place, line in enumerate(lines):
            entry = _read_line(line)
            if entry is None:
                if place + 1 == len(lines):
                    break
                raise _damaged()
            self._take(entry)
            self._end += len(line) + 1

    def _take(self, entry: dict[str, Any]) -> None:
        try:
            if self.head is None:
                if entry.get("version") != FORMAT:
                    raise FileError(
                        "the unfinished target was begun by another version of dpfast; finish it with that one, or start over "
                        "with resume=False (--no-resume)"
                    )
                self.head = Head(**entry)
            elif "published" in entry:
                self.published = entry["published"]
            else:
                part = Part(**entry)
                self.parts[part.name] = part
        except TypeError:
            raise _damaged() from None

    def begin(self, head: Head) -> None:
        """Forget whatever is in the folder and begin a job."""
        self.clear()
        with writing():
            self.data.mkdir()
            temporary = self._path.with_name("manifest.tmp")
            line = _line(asdict(head))
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                _write_all(descriptor, line)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(temporary, self._path)
            flush_folder(self.folder)
            flush_folder(self.folder.parent)
        self.head, self._end = head, len(line)

    def commit(self, part: Part) -> None:
        """Note that a part is in place."""
        self._append(asdict(part))
        self.parts[part.name] = part

    def publish(self) -> None:
        """Note that ``data`` is complete and about to become the target."""
        inode = self.data.stat().st_ino
        self._append({"published": inode})
        self.published = inode

    def clear(self) -> None:
        """Remove all but the lock; the manifest first, so that a stop leaves nothing that looks committed."""
        with writing():
            for name in ("manifest", "manifest.tmp"):
                with suppress(FileNotFoundError):
                    (self.folder / name).unlink()
            flush_folder(self.folder)
            for path in self.folder.iterdir():
                if path.name == "lock":
                    continue
                with suppress(FileNotFoundError):
                    if path.is_dir() and not path.is_symlink():
                        shutil.rmtree(path)
                    else:
                        path.unlink()
        self.head, self.parts, self.published, self._end = None, {}, None, 0

    def sweep(self) -> None:
        """Remove what is not committed, and refuse a folder in which something committed is missing or is another file.

        Told by its size and its last bytes, which in a Parquet or Arrow file say where everything before them stands.
        """
        with writing():
            self.data.mkdir(exist_ok=True)
            for root, _, names in os.walk(self.data):
                for name in names:
                    path = Path(root, name)
                    if path.relative_to(self.data).as_posix().removesuffix(CERTIFICATE_SUFFIX) not in self.parts:
                        path.unlink()
        for part in self.parts.values():
            try:
                found = Part.of(self.data / part.name, part.name, part.rows)
            except FileError:
                found = None
            if found is None or found.size != part.size or part.end not in ("", found.end):
                raise FileError(
                    "a part of the unfinished target was removed or written to since it was committed; start over with "
                    "resume=False (--no-resume)"
                )

    def _append(self, entry: Mapping[str, Any]) -> None:
        line = _line(entry)
        with writing():
            descriptor = os.open(self._path, os.O_WRONLY)
            try:
                # what a stop, or a full disc, left of an earlier attempt
                os.ftruncate(descriptor, self._end)
                os.lseek(descriptor, self._end, os.SEEK_SET)
                _write_all(descriptor, line)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        self._end += len(line)


def _end(path: Path) -> str:
    """Return a digest of the last bytes of a file."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - END_BYTES))
        return hashlib.blake2b(file.read(), digest_size=16, person=_PERSON).hexdigest()


def _line(entry: Mapping[str, Any]) -> bytes:
    text = json.dumps(entry, sort_keys=True, separators=(",", ":")).encode()
    return _sum(text) + b" " + text + b"\n"


def _read_line(line: bytes) -> dict[str, Any] | None:
    checksum, text = line[:SUM_CHARACTERS], line[SUM_CHARACTERS + 1 :]
    if checksum != _sum(text):
        return None
    entry: dict[str, Any] = json.loads(text)
    return entry


def _sum(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=SUM_CHARACTERS // 2, person=_PERSON).hexdigest().encode()


def _write_all(descriptor: int, data: bytes) -> None:
    """An operating system may take less than it was given."""
    while data:
        data = data[os.write(descriptor, data) :]


def _damaged() -> FileError:
    return FileError("the manifest of the unfinished target is damaged; start over with resume=False (--no-resume)")
