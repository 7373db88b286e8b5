"""Where files are: on this machine, or on a file system of pyarrow or fsspec; opened, listed and digested the same way."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfast._sources.names import is_hidden, is_pattern, matches
from dpfast.errors import ArgumentError, ArgumentTypeError, CorruptDataError, FileError, MissingPackageError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.fs as pafs

__all__ = ["Found", "Place", "bare", "check_identity", "damaged", "decoding", "find", "locate", "reading"]

NO_ROOM = "there is not enough memory to read the source, or it is damaged"
CHANGED = "the source was changed while it was read"
_DIGEST_BYTES = 32
_DIGEST_CHUNK = 1 << 20
# Address schemes that pyarrow has file systems for; any other is asked of fsspec.
_ARROW_SCHEMES = frozenset("file s3 gs gcs hdfs viewfs abfs abfss".split())


@dataclass(frozen=True)
class Place:
    """One file or folder.

    Attributes
    ----------
    path : str
        As its file system spells it.
    filesystem : pyarrow.fs.FileSystem, optional
        None: the one of the operating system.
    """

    path: str
    filesystem: pafs.FileSystem | None = None

    @property
    def local(self) -> Path | None:
        """The path if it is one of the operating system."""
        return Path(self.path) if self.filesystem is None else None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rstrip("/").rsplit("/", 1)[-1]

    def kind(self) -> str:
        """Say what is there: "file", "folder", "nothing", or "other" for a device or a pipe."""
        if self.filesystem is None:
            try:
                mode = os.stat(self.path).st_mode
            except FileNotFoundError:
                return "nothing"
            except OSError as error:
                raise FileError(f"cannot read the source {self.path!r}: {_reason(error)}") from None
            return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"
        kind = _info(self).type.name
        return {"File": "file", "Directory": "folder", "NotFound": "nothing"}.get(kind, "other")

    def open(self) -> pa.NativeFile:
        """Open the file for reading at any place of it."""
        import pyarrow as pa

        with reading(self):
            if self.filesystem is None:
                return pa.OSFile(self.path, "rb")
            return self.filesystem.open_input_file(self.path)

    def identity(self) -> tuple[Any, ...]:
        """What tells whether a file is the same one and was not written to, as far as its file system can say."""
        if self.filesystem is None:
            with reading(self):
                status = os.stat(self.path)
            return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
        info = _info(self)
        return info.type.name, info.size, info.mtime_ns

    def digest(self) -> bytes:
        """Return 32 bytes that identify the bytes of the file."""
        digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        with self.open() as file, reading(self):
            while chunk := file.read_buffer(_DIGEST_CHUNK):
                digest.update(chunk)
        return digest.digest()

    def followed(self) -> Place:
        """The file that this one is a link to, or itself; only this machine has links."""
        return Place(os.path.realpath(self.path)) if self.filesystem is None else self

    def sibling(self, name: str) -> Place:
        """The place of another file in the same folder."""
        folder, slash, _ = self.path.rpartition("/")
        return Place(folder + slash + name, self.filesystem)


@dataclass(frozen=True)
class Found:
    """The files of a source: what each is called within it, sorted by that; and names that were passed over."""

    files: tuple[tuple[str, Place], ...]
    is_folder: bool
    skipped: tuple[str, ...] = ()


def check_identity(place: Place, identity: tuple[Any, ...]) -> None:
    """Raise `FileError` if a file is no longer the one of this identity, or was written to."""
    try:
        same = place.identity() == identity
    except FileError:
        same = False
    if not same:
        raise FileError(CHANGED)


@contextmanager
def reading(place: Place) -> Iterator[None]:
    """Turn what a file system says into a `FileError` that holds none of its text."""
    import pyarrow as pa

    try:
        yield
    except (FileError, MemoryError):
        raise
    except UnicodeError:
        raise FileError(f"cannot read the source {place.path!r}: a name is not valid UTF-8; rename it") from None
    except (OSError, pa.ArrowException) as error:
        raise FileError(f"cannot read the source {place.path!r}: {_reason(error)}") from None


@contextmanager
def decoding(place: Place, corrupt: str) -> Iterator[None]:
    """Turn what a decoder says into a `CorruptDataError` of constant text, and what the system says into a `FileError`."""
    import pyarrow as pa

    try:
        yield
    except (FileError, CorruptDataError):
        raise
    except MemoryError:  # a damaged file may ask for any size, which the reader's text would quote
        raise MemoryError(NO_ROOM) from None
    except OSError as error:
        if error.errno:
            raise FileError(f"cannot read the source {place.path!r}: {_reason(error)}") from None
        raise damaged(place, corrupt) from None
    except (pa.ArrowException, ValueError):
        raise damaged(place, corrupt) from None


def damaged(place: Place, corrupt: str) -> CorruptDataError:
    """The error that names a source and says, in constant text, what is wrong with it."""
    return CorruptDataError(f"the source {place.path!r} {corrupt}")


def _reason(error: Exception) -> str:
    """What the operating system says, without the text that a library put around it."""
    number = getattr(error, "errno", None)
    if number:
        return os.strerror(number)
    return os.strerror(2) if isinstance(error, FileNotFoundError) else "it cannot be opened"


def _info(place: Place) -> Any:
    assert place.filesystem is not None
    with reading(place):
        return place.filesystem.get_file_info(place.path)


def locate(path: object, role: str) -> Place:
    """Return the place that a path, an address or a pair (file system, path) stands for.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        If it is none of them.
    MissingPackageError
        If the address needs fsspec, which is not installed.
    FileError
        If the file system of an address cannot be reached.
    """
    if isinstance(path, tuple):
        if len(path) != 2 or not isinstance(path[1], str):
            raise ArgumentTypeError(f"{role} must be a path, an address, or a pair of a file system and a path")
        return _pair(path[0], path[1], role)
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise ArgumentTypeError(f"{role} must be a path: text or a pathlib.Path; or an address, or a pair (file system, path)")
    if "\0" in text:
        raise ArgumentError(f"{role} is not a path: it holds a null character")
    if not text:
        raise ArgumentError(f"{role} is not a path: it is empty")
    return _address(text, role) if isinstance(path, str) and "://" in text else Place(text)


def _pair(filesystem: Any, path: str, role: str) -> Place:
    import pyarrow.fs as pafs

    if isinstance(filesystem, pafs.LocalFileSystem):
        return Place(path)
    if isinstance(filesystem, pafs.FileSystem):
        return Place(path, filesystem)
    if hasattr(filesystem, "protocol") and hasattr(filesystem, "_strip_protocol"):
        return Place(filesystem._strip_protocol(path), pafs.PyFileSystem(pafs.FSSpecHandler(filesystem)))
    raise ArgumentTypeError(f"{role}: the file system must be one of pyarrow.fs or fsspec")


def _address(text: str, role: str) -> Place:
    import pyarrow as pa
    import pyarrow.fs as pafs

    scheme = text.split("://")[0].lower()
    try:
        if scheme in _ARROW_SCHEMES:
            filesystem, path = pafs.FileSystem.from_uri(_without_signs(text))
            return _pair(filesystem, _with_signs(path), role)
        import fsspec
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingPackageError(f"{role}: an address with {scheme}:// needs fsspec: pip install fsspec") from None
    except (pa.ArrowException, OSError, ValueError):
        raise FileError(f"{role}: the file system of this {scheme}:// address cannot be opened") from None
    if scheme not in fsspec.available_protocols():
        raise ArgumentError(f"{role}: {scheme}:// is an address of no known kind")
    try:
        filesystem, path = url_to_fs(text)
    except ImportError:
        raise MissingPackageError(f"{role}: fsspec needs another package for {scheme}:// addresses") from None
    except (OSError, ValueError, TypeError):
        raise FileError(f"{role}: the file system of this {scheme}:// address cannot be opened") from None
    return _pair(filesystem, path, role)


# Wildcards are no part of an address; they are let through under names that no one uses.
_SIGNS = {"*": "%2A", "?": "%3F", "[": "%5B", "]": "%5D"}


def _without_signs(text: str) -> str:
    scheme, _, rest = text.partition("://")
    # what follows a ? are the options of the file system, where there are any
    path, options, query = rest.rpartition("?") if "?" in rest and "=" in rest.rpartition("?")[2] else (rest, "", "")
    for sign, escape in _SIGNS.items():
        path = path.replace(sign, escape)
    return f"{scheme}://{path}{options}{query}"


def _with_signs(path: str) -> str:
    for sign, escape in _SIGNS.items():
        path = path.replace(escape, sign)
    return path


def bare(place: Place) -> Place:
    """Return the same place without the wrappers of its file system: a part of one, or fsspec's view of this machine."""
    import pyarrow.fs as pafs

    filesystem, path = place.filesystem, place.path
    while True:
        if isinstance(filesystem, pafs.SubTreeFileSystem):
            path = f"{filesystem.base_path.rstrip('/')}/{path.lstrip('/')}"
            filesystem = filesystem.base_fs
        elif isinstance(filesystem, pafs.LocalFileSystem):
            return Place(path)
        elif isinstance(filesystem, pafs.PyFileSystem) and isinstance(filesystem.handler, pafs.FSSpecHandler):
            inner = filesystem.handler.fs
            if type(inner).__name__ == "DirFileSystem":
                path, filesystem = inner._join(path), pafs.PyFileSystem(pafs.FSSpecHandler(inner.fs))
            else:
                protocols = (inner.protocol,) if isinstance(inner.protocol, str) else inner.protocol
                return Place(path) if "file" in protocols else Place(path, filesystem)
        else:
            return Place(path, filesystem)


def find(place: Place, wanted: Any) -> Found:
    """Return the files of a source.

    Parameters
    ----------
    place : Place
        A file, a folder, or a pattern if nothing has exactly its name.
    wanted : callable
        Says of a relative path whether a file of that name is data; asked of the files of a folder.

    Raises
    ------
    FileError
        If nothing is there.
    """
    kind = place.kind()
    if kind == "nothing" and is_pattern(place.path):
        return _fitting(place)
    if kind == "nothing":
        raise FileError(f"cannot read the source {place.path!r}: {os.strerror(2)}")
    if kind == "other":
        raise FileError(f"the source {place.path!r} is not a file: it is a device or a pipe")
    if kind == "file":
        return Found((("", place),), is_folder=False)
    names = _listed(place, recursive=True)
    data = [name for name in names if not is_hidden(name) and wanted(name)]
    if not data:
        raise FileError(f"the folder {place.path!r} holds no file whose name ends as those of a table do")
    return Found(
        tuple((name, _below(place, name)) for name in data), True, tuple(name for name in names if name not in set(data))
    )


def _fitting(place: Place) -> Found:
    """The files that fit a pattern, named from the last folder before its first wildcard on."""
    parts = place.path.split("/")
    first = next(number for number, part in enumerate(parts) if is_pattern(part))
    base = Place(
        "/".join(parts[:first]) or ("/" if place.path.startswith("/") else "." if place.filesystem is None else ""),
        place.filesystem,
    )
    pattern = "/".join(parts[first:])
    names = _listed(base, recursive="/" in pattern or "**" in pattern) if base.kind() == "folder" else []
    found = tuple((name, _below(base, name)) for name in names if not is_hidden(name) and matches(name, pattern))
    if not found:
        raise FileError(f"no file fits the pattern {place.path!r}")
    return Found(found, is_folder=True)


def _below(folder: Place, name: str) -> Place:
    return Place(f"{folder.path.rstrip('/')}/{name}" if folder.path else name, folder.filesystem)


def _listed(folder: Place, *, recursive: bool) -> list[str]:
    """Relative paths of all files in a folder, sorted."""
    import pyarrow.fs as pafs

    filesystem = pafs.LocalFileSystem() if folder.filesystem is None else folder.filesystem
    # listings spell the folder as it was given, but for slashes at its ends
    base = folder.path.strip("/")
    with reading(folder):
        infos = filesystem.get_file_info(pafs.FileSelector(folder.path, recursive=recursive))
        files = [info.path.strip("/") for info in infos if info.type == pafs.FileType.File]
    # all slashes, however many it was given with: a name that began with one would lead out of the target
    return sorted(path.removeprefix(base).lstrip("/") for path in files)
