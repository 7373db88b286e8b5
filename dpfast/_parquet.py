"""Reading one Parquet file batch by batch: typed errors, and never a word about its values."""

from __future__ import annotations

import io
import os
from collections.abc import Collection, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Never, Self

from dpfast._schema import check_names
from dpfast._sources.places import Place, check_identity, damaged, decoding
from dpfast.errors import FileError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["BATCH_ROWS", "ParquetSource"]

# Calls and dictionaries are dealt with once a batch: more rows cost less, up to the memory of the batches that wait.
BATCH_ROWS = 1 << 19
# Of decoded values, by what the footer tells of a row group. Text is held in several places on its way to the target.
BATCH_BYTES = 16 << 20
BATCH_TEXT_BYTES = 8 << 20
# Rows of a batch where the footer does not tell how long values are: lists of texts that repeat, texts that share beginnings.
BLIND_ROWS = 1 << 12
# Data pages of a text column with at most this many bytes a value hold places in a dictionary, not values.
PLACE_BYTES = 3
WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
SHARED_BEGINNINGS = "DELTA_BYTE_ARRAY"  # an encoding whose bytes are few however long values are; never read as a dictionary
# Without a buffer the reader takes a whole compressed column chunk at once. With one, its memory still grows along a chunk of
# pages below 16 KiB (columns of a few bits a row), to the size of that chunk and no further.
READ_BUFFER_BYTES = 1 << 16
# A page that fits into the buffer is read at once. All columns have one each, so wide files have small ones.
READ_BUFFER_BYTES_MAX = 1 << 20
READ_BUFFERS_BYTES = 8 << 20

# Constant: what a broken file makes a reader say may quote its bytes.
NOT_PARQUET = "is not a Parquet file, or it is truncated"
CORRUPT = "is a damaged Parquet file"


class ParquetSource:
    """One Parquet file, open for reading.

    Parameters
    ----------
    path : str, path-like or Place
        The file.

    Attributes
    ----------
    place : Place
        Where it is.
    schema : pyarrow.Schema
        Logical types as any reader sees them.
    rows : int
        Number of rows that the footer states.

    Raises
    ------
    FileError
        If there is no such file, or it may not be read, or it is a folder.
    CorruptDataError
        If it is no Parquet file or its footer is damaged.
    """

    def __init__(self, path: str | os.PathLike[str] | Place, only: range | None = None) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        place = self.place = path if isinstance(path, Place) else Place(os.fspath(path))
        if place.filesystem is None and place.kind() in ("folder", "other"):
            raise FileError(f"the source {place.path!r} is not a file")
        self._identity = place.identity()
        self._handle = place.open()
        try:
            footer = pq.ParquetFile(self._handle, pre_buffer=False)
            self.schema: pa.Schema = footer.schema_arrow
            check_names(self.schema)
            self._only = range(footer.metadata.num_rows) if only is None else only
            self.rows: int = len(self._only)
            self._footer: pq.FileMetaData = footer.metadata
        except (pa.ArrowException, OSError, ValueError):
            self._handle.close()
            raise damaged(place, NOT_PARQUET) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._handle.close()

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """The key-value pairs of the footer."""
        return dict(self._footer.metadata or {})

    def batches(
        self, names: Collection[str], *, dictionaries: Collection[str] = (), repetitive: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, row group by row group, at most `BATCH_ROWS` at a time, fewer where they are wide.

        Parameters
        ----------
        names : collection of str
            Columns that are needed; a batch may hold more.
        dictionaries : collection of str
            Text and binary columns that are quicker to have as dictionaries. One that cannot be read so comes plain.
        repetitive : collection of str
            Text and binary columns that come as dictionaries where the file holds them so: that is small, however long the
            values are. Others are quicker to read plain.

        Raises
        ------
        CorruptDataError
            If the file is damaged.
        FileError
            If it cannot be read.
        """
        import pyarrow.parquet as pq

        # The reader takes a dot in a name for a step into a struct as well, so it may give more, or encode another column.
        rows = stop = 0
        with decoding(self.place, CORRUPT):
            self._check_chunks(names)
            chunks = self._chunks(names)
            dictionaries = _as_dictionaries(chunks, dictionaries, repetitive)
            reader = pq.ParquetFile(
                self._handle,
                metadata=self._footer,
                read_dictionary=dictionaries,
                pre_buffer=False,
                buffer_size=max(READ_BUFFER_BYTES, min(READ_BUFFER_BYTES_MAX, READ_BUFFERS_BYTES // max(len(chunks), 1))),
            )
            for group, size in enumerate(self._batch_sizes(chunks, dictionaries)):
                start, stop = stop, stop + self._footer.row_group(group).num_rows
                if start >= self._only.stop or stop <= self._only.start:
                    continue
                for batch in reader.iter_batches(size, row_groups=[group], columns=list(names), use_threads=False):
                    before, start = start, start + batch.num_rows
                    wanted = _within(batch, before, self._only)
                    rows += wanted.num_rows
                    if wanted.num_rows:
                        yield wanted
                    if start >= self._only.stop:
                        break
        if rows != self.rows:
            raise damaged(self.place, CORRUPT)

    def _check_chunks(self, names: Collection[str]) -> None:
        """Raise, as the reader does, if the footer contradicts itself about a chunk of the named columns.

        Arrow checks an entry of a chunk when it is looked at. Its reader makes an error of what is wrong; the entry that
        `RowGroupMetaData.column` gives ends the process (Arrow 26). So the reader looks first: with `pre_buffer` at all chunks
        before it asks for the first byte.
        """
        import pyarrow.parquet as pq

        reader = pq.ParquetFile(_NoBytes(), metadata=self._footer, pre_buffer=True)
        try:
            next(reader.iter_batches(1, columns=list(names), use_threads=False), None)
        except _ByteWantedError:
            pass

    def _chunks(self, names: Collection[str]) -> dict[str, list[_Chunk]]:
        """Return what the footer tells of each leaf of the named columns, row group by row group."""
        footer, wanted = self._footer, set(names)
        paths = [footer.schema.column(leaf).path for leaf in range(footer.num_columns)]
        leaves = {leaf: path for leaf, path in enumerate(paths) if path in wanted or path.split(".")[0] in wanted}
        groups = [footer.row_group(group) for group in range(footer.num_row_groups)]
        kinds = {leaf: footer.schema.column(leaf) for leaf in leaves}
        return {path: [_Chunk.of(group.column(leaf), kinds[leaf]) for group in groups] for leaf, path in leaves.items()}

    def _batch_sizes(self, chunks: dict[str, list[_Chunk]], dictionaries: Collection[str]) -> Iterator[int]:
        """Yield, for each row group, how many rows of it are decoded at a time."""
        for group in range(self._footer.num_row_groups):
            rows = self._footer.row_group(group).num_rows
            fixed, text = (sum(size) for size in zip((0, 0), *(leaf[group].sizes for leaf in chunks.values()), strict=True))
            is_blind = any(leaf[group].is_blind for path, leaf in chunks.items() if path not in dictionaries)
            most = min(rows * BATCH_BYTES // max(fixed, 1), rows * BATCH_TEXT_BYTES // max(text, 1))
            yield max(1, min(BLIND_ROWS if is_blind else BATCH_ROWS, most))

    def check_unchanged(self) -> None:
        """Raise `FileError` if the file under the path is no longer the one that was opened, or was written to."""
        check_identity(self.place, self._identity)


class _ByteWantedError(Exception):
    """A reader is through with the footer."""


class _NoBytes(io.BytesIO):
    """A file long enough for any footer, none of whose bytes can be read."""

    def tell(self) -> int:
        return 1 << 62

    def read(self, size: int | None = -1, /) -> Never:
        raise _ByteWantedError


def _within(batch: pa.RecordBatch, start: int, only: range) -> pa.RecordBatch:
    """Those rows of a batch, the first of which has number `start`, that are asked for."""
    if only.start <= start and start + batch.num_rows <= only.stop:
        return batch
    skipped = max(0, only.start - start)
    return batch.slice(skipped, max(0, only.stop - start - skipped))


class _Chunk(NamedTuple):
    """What the footer tells of one leaf of one row group."""

    sizes: tuple[int, int]  # decoded bytes, at least: of fixed width, of text and repeated values
    values: int
    place_bytes: int = 0  # compressed, without the dictionary
    has_dictionary: bool = False
    shares_beginnings: bool = False

    @property
    def is_blind(self) -> bool:
        """Whether the decoded bytes may be far more: they are read out of few."""
        return self.shares_beginnings or (self.has_dictionary and self.place_bytes <= PLACE_BYTES * self.values)

    @classmethod
    def of(cls, chunk: pq.ColumnChunkMetaData, leaf: pq.ColumnSchema) -> _Chunk:
        """Read the footer's entry of a chunk."""
        values = chunk.num_values
        width = leaf.length if leaf.physical_type == "FIXED_LEN_BYTE_ARRAY" else WIDTHS.get(leaf.physical_type)
        if width is not None:
            return cls((0, values * width) if leaf.max_repetition_level else (values * width, 0), values)
        encodings = chunk.encodings
        start = chunk.dictionary_page_offset if chunk.has_dictionary_page else None
        dictionary = 0 if start is None else max(0, chunk.data_page_offset - start)
        return cls(
            (4 * values, chunk.total_uncompressed_size),
            values,
            place_bytes=chunk.total_compressed_size - dictionary,
            has_dictionary=any(name.endswith("_DICTIONARY") for name in encodings),
            shares_beginnings=SHARED_BEGINNINGS in encodings,
        )


def _as_dictionaries(chunks: dict[str, list[_Chunk]], dictionaries: Collection[str], repetitive: Collection[str]) -> list[str]:
    """Return the columns to be read as dictionaries: of `repetitive` those that are places in one by most of their bytes."""
    readable = {name: leaf for name, leaf in chunks.items() if not any(chunk.shares_beginnings for chunk in leaf)}
    small = [
        name
        for name in repetitive
        if (leaf := readable.get(name)) is not None
        and any(chunk.has_dictionary for chunk in leaf)
        and sum(chunk.place_bytes for chunk in leaf) <= PLACE_BYTES * sum(chunk.values for chunk in leaf)
    ]
    return [*(name for name in dictionaries if name in readable), *small]
