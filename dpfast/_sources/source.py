"""A source: one file or many of one format and one schema, whatever it was called by.

What is wrong with it is said when it is opened, before a value is read: no file, several formats, columns that differ from
file to file. Texts of errors hold names of files and columns, and types.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from dpfast._parquet import ParquetSource
from dpfast._schema import bare_field
from dpfast._sources.csv_file import CsvSource
from dpfast._sources.ipc_file import IpcSource
from dpfast._sources.names import OTHER_FORMATS, are_integers, file_format, partition_of
from dpfast._sources.places import Found, Place, bare, check_identity, find, locate
from dpfast._sources.written import as_written, is_written
from dpfast.errors import ArgumentError, FileError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Described", "Reader", "Source", "SourceFile", "combined_digest", "open_source"]

_SOURCE_PERSON = b"dpfast/source/1"


class Described(Protocol):
    """A file, open or not, or files that are one table."""

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """What the file says of itself: a certificate stands under ``dpfast``."""


class Reader(Described, Protocol):
    """An open file of whatever format; a context manager."""

    @property
    def schema(self) -> pa.Schema:
        """Columns as any reader of the format sees them."""

    @property
    def rows(self) -> int | None:
        """Number of rows that the file states; None where only reading would tell."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def batches(
        self, names: Collection[str], *, dictionaries: Collection[str] = (), repetitive: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, with at least the named columns; see `ParquetSource.batches`."""

    def check_unchanged(self) -> None:
        """Raise `FileError` if the file is no longer the one that was opened, or was written to."""


@dataclass(frozen=True)
class SourceFile:
    """One file of a source.

    Attributes
    ----------
    name : str
        Path relative to the source, with ``/``; empty if the source is this file.
    format : str
        "parquet", "csv" or "ipc".
    written_as : str
        The format in full, as a target of the same kind would have it: "csv.gz", say, or "arrows".
    partition : dict
        Columns whose value the names of its folders give.
    place : Place
    schema : pyarrow.Schema
        Of its columns, those of `partition` not included.
    rows : int or None
        None where only reading would tell.
    only : range, optional
        The rows that are read of it, if not all: of Parquet.
    """

    name: str
    written_as: str
    partition: dict[str, Any]
    place: Place
    schema: pa.Schema = field(repr=False)  # its metadata are anybody's
    rows: int | None = field(repr=False)
    _types: Mapping[str, pa.DataType] = field(repr=False)
    _identity: tuple[Any, ...] = field(repr=False)
    only: range | None = None

    @property
    def format(self) -> str:
        return {"csv.gz": "csv", "csv.zst": "csv", "arrows": "ipc"}.get(self.written_as, self.written_as)

    def open(self) -> Reader:
        """Open the file: a `Reader`. FileError if it was replaced since the source was opened."""
        self.check_unchanged()
        reader = _reader(self.place, self.written_as, self.only)
        return _PartitionReader(reader, self.partition, self._types) if self.partition else reader

    def check_unchanged(self) -> None:
        """Raise `FileError` if the file is no longer the one that the source was opened with, or was written to."""
        check_identity(self.place, self._identity)

    def digest(self) -> bytes:
        """Return 32 bytes that identify the bytes of the file; it is read once for that."""
        return self.place.digest()


@dataclass(frozen=True)
class Source:
    """Files that are one table.

    Attributes
    ----------
    files : tuple of SourceFile
        Sorted by name.
    schema : pyarrow.Schema
        Of the table: the columns of the files, then those of the names of folders. The cells of columns of CSV files and of
        folders have no type of their own; see `dpfast._sources.written`.
    is_folder : bool
        Whether it is a folder or a pattern: a source of many files, if only by its form.
    skipped : tuple of str
        Files of the folder that are not read: hidden ones, and those whose names do not end as those of tables do.
    """

    files: tuple[SourceFile, ...]
    schema: pa.Schema = field(repr=False)
    is_folder: bool
    skipped: tuple[str, ...] = ()

    @property
    def rows(self) -> int | None:
        """Number of rows; None where only reading would tell."""
        counts = [file.rows for file in self.files]
        return None if None in counts else sum(count for count in counts if count is not None)

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """What its first file says of itself."""
        with self.files[0].open() as reader:
            return reader.metadata

    def digest(self) -> bytes:
        """Return 32 bytes that identify the source: names and bytes of its files, not their place or age."""
        return combined_digest((file.name, file.digest()) for file in self.files)

    def batches(
        self, names: Collection[str], *, dictionaries: Collection[str] = (), repetitive: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all files, in order; see `Reader.batches`."""
        for file in self.files:
            with file.open() as reader:
                yield from reader.batches(names, dictionaries=dictionaries, repetitive=repetitive)
                reader.check_unchanged()


def combined_digest(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the digest of a source from the names and digests of its files."""
    digest = hashlib.blake2b(digest_size=32, person=_SOURCE_PERSON)
    for name, of_file in sorted(files):
        for part in (name.encode(), of_file):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
    return digest.digest()


def open_source(source: Any, *, filesystem: Any = None) -> Source:
    """Open a file, a folder, a pattern, or an address of one of them.

    Parameters
    ----------
    source : str, path-like, or pair of a file system and a path
        A file is read by the end of its name (``.csv``, ``.csv.gz``, ``.csv.zst``, ``.arrow``, ``.ipc``, ``.feather``,
        ``.arrows``), else as Parquet. Of a folder all files are read whose names end so or in ``.parquet``, ``.parq``,
        ``.pq``, at any depth, but for hidden ones and those that start with ``_``. A pattern has ``*``, ``?``, ``[…]`` and
        ``**``. An address is one of ``pyarrow.fs``, or of fsspec if that is installed.
    filesystem : pyarrow.fs.FileSystem or fsspec.AbstractFileSystem, optional
        Where a plain path stands.

    Returns
    -------
    Source

    Raises
    ------
    ArgumentError, ArgumentTypeError
    FileError
        If nothing can be read there, the formats or columns of its files differ, or a column stands both in the files and in
        the names of folders.
    CorruptDataError
        If a file is damaged.
    MissingPackageError

    Notes
    -----
    A part ``key=value`` of the path of a file is a column of all its rows, behind the others. It is an integer if every value
    of the key is one, as integers are commonly written, else text; ``__HIVE_DEFAULT_PARTITION__`` is null.
    """
    place = locate(source if filesystem is None else (filesystem, os.fspath(source)), "source")
    found = find(place, lambda name: file_format(name) is not None)
    formats = {name: _format(one) for name, one in found.files}
    if len(set(formats.values())) > 1:
        first, other = _two([name for name, _ in found.files], formats)
        raise FileError(
            f"the files are not of one format: {first!r} and {other!r} are not; name a pattern that fits those of one"
        )
    return _of_files(found, formats)


def _format(place: Place) -> str:
    known = file_format(place.name)
    suffix = os.path.splitext(place.name)[1].lower()
    if known is None and suffix in OTHER_FORMATS:
        raise ArgumentError(f"the source is a {suffix} file; what is read is Parquet, CSV and Arrow IPC")
    return known or "parquet"


def _two(names: list[str], kinds: Mapping[str, object]) -> tuple[str, str]:
    """The first name, and the first that is of another kind."""
    return names[0], next(name for name in names if kinds[name] != kinds[names[0]])


def _reader(place: Place, kind: str, only: range | None = None) -> Reader:
    if kind == "parquet":
        return ParquetSource(place, only)
    return IpcSource(place, kind) if kind in ("ipc", "arrows") else CsvSource(place, kind)


def _of_files(found: Found, formats: Mapping[str, str]) -> Source:
    import pyarrow as pa

    _check_once(found)
    partitions = _Partitions([name for name, _ in found.files] if found.is_folder else [])
    files = []
    for name, place in found.files:
        identity = place.identity()
        with _reader(place, formats[name]) as reader:
            of_file = (name, formats[name], partitions.of(name), place, reader.schema, reader.rows, partitions.types, identity)
        files.append(SourceFile(*of_file))
    if not found.is_folder:
        return Source(tuple(files), files[0].schema, is_folder=False)
    fields = _unified(files)
    if both := [name for name in partitions.types if name in {one.name for one in fields}]:
        raise FileError(f"column {both[0]!r} stands both in the files and in the names of their folders; rename one of them")
    fields += [as_written(pa.field(name, kind)) for name, kind in partitions.types.items()]
    return Source(tuple(files), pa.schema(fields), is_folder=True, skipped=found.skipped)


def _check_once(found: Found) -> None:
    """Refuse a file that links lead to under two names: its rows would be answered twice, each time with noise of its own."""
    names: dict[str, str] = {}
    for name, place in found.files:
        file = bare(place)
        if file.filesystem is not None:  # no links there
            return
        first = names.setdefault(file.followed().path, name)
        if first != name:
            raise FileError(
                f"{first!r} and {name!r} are one file, by a link: its rows would be released twice; take the link away, or name "
                "a pattern that fits one of them"
            )


def _unified(files: list[SourceFile]) -> list[pa.Field]:
    """The fields of the table, in the order of the first file; or what differs from file to file."""
    import pyarrow as pa

    first = files[0]
    fields = {one.name: _kept(one) for one in first.schema}
    for file in files:
        if twice := [name for name, times in Counter(file.schema.names).items() if times > 1]:
            raise FileError(f"{file.name!r} has more than one column named {twice[0]!r}")
        for one, has, lacks in [(name, first, file) for name in fields] + [(name, file, first) for name in file.schema.names]:
            if one not in lacks.schema.names:
                raise FileError(
                    f"the files differ in their columns: {has.name!r} has a column {one!r} and {lacks.name!r} has none"
                )
        for new in map(_kept, file.schema):
            old = fields[new.name]
            kind = _common(old.type, new.type)
            if kind is None:
                types = f"{old.type} in {first.name!r} and {new.type} in {file.name!r}"
                raise FileError(f"the files differ in their columns: {new.name!r} has type {types}")
            metadata = old.metadata
            fields[new.name] = pa.field(new.name, kind, nullable=old.nullable or new.nullable, metadata=metadata)
    return list(fields.values())


def _kept(one: pa.Field) -> pa.Field:
    return as_written(bare_field(one)) if is_written(one) else bare_field(one)


def _common(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type that holds columns of both: they may differ in the width of the places in a dictionary."""
    import pyarrow as pa

    if one == other:
        return one
    both = pa.types.is_dictionary(one) and pa.types.is_dictionary(other)
    if not both or one.value_type != other.value_type or one.ordered != other.ordered:
        return None
    widest = max(one.index_type, other.index_type, key=lambda kind: int(kind.bit_width))
    return pa.dictionary(widest, one.value_type, one.ordered)


class _Partitions:
    """The columns that the names of folders spell."""

    def __init__(self, names: list[str]) -> None:
        import pyarrow as pa

        self._texts = {name: partition_of(name) for name in names}
        keys = {name: tuple(texts) for name, texts in self._texts.items()}
        if len(set(keys.values())) > 1:
            first, other = _two(names, keys)
            raise FileError(f"the folders of {first!r} and {other!r} spell columns of different names, or in another order")
        self.types: dict[str, pa.DataType] = {}
        for key in next(iter(keys.values()), ()):
            values = [texts[key] for texts in self._texts.values()]
            self.types[key] = pa.int64() if are_integers(values) else pa.string()

    def of(self, name: str) -> dict[str, Any]:
        import pyarrow as pa

        texts = self._texts.get(name, {})
        return {key: int(text) if text is not None and self.types[key] == pa.int64() else text for key, text in texts.items()}


class _PartitionReader:
    """A reader that gives the columns of the names of folders as well."""

    def __init__(self, reader: Reader, partition: Mapping[str, Any], types: Mapping[str, pa.DataType]) -> None:
        import pyarrow as pa

        self._reader = reader
        self._values = {name: pa.scalar(value, types[name]) for name, value in partition.items()}
        self.rows = reader.rows
        self.schema: pa.Schema = reader.schema
        for name in partition:
            self.schema = self.schema.append(as_written(pa.field(name, types[name])))

    def __enter__(self) -> Self:
        self._reader.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._reader.__exit__(kind, error, traceback)

    @property
    def metadata(self) -> dict[bytes, bytes]:
        return self._reader.metadata

    def batches(
        self, names: Collection[str], *, dictionaries: Collection[str] = (), repetitive: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        of_files = [name for name in names if name not in self._values]
        # a file has to tell how many rows it has, by whatever column
        of_files = of_files or [name for name in self._reader.schema.names if name not in self._values][:1]
        wanted = set(names)
        for batch in self._reader.batches(of_files, dictionaries=dictionaries, repetitive=repetitive):
            for name, value in self._values.items():
                if name in wanted:
                    batch = batch.append_column(name, pa.repeat(value, batch.num_rows))
            yield batch

    def check_unchanged(self) -> None:
        self._reader.check_unchanged()
