"""Reading one Parquet file batch by batch: typed errors, and never a word about its values."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dpfast.errors import CorruptDataError, FileError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["BATCH_ROWS", "ParquetSource"]

BATCH_ROWS = 1 << 18  # as quick to decode as a million rows, at a quarter of the memory
# Without a buffer the reader takes a whole compressed column chunk at once. With one, its memory still grows along a chunk of
# pages below 16 KiB (columns of a few bits a row), to the size of that chunk and no further.
READ_BUFFER_BYTES = 1 << 16

# Constant: what a broken file makes a reader say may quote its bytes.
NOT_PARQUET = "the source is not a Parquet file, or it is truncated"
CORRUPT = "the source is a damaged Parquet file"
CHANGED = "the source was changed while it was read"


class ParquetSource:
    """One Parquet file, open for reading.

    Parameters
    ----------
    path : str or path-like
        The file.

    Attributes
    ----------
    path : Path
        As given.
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

    def __init__(self, path: str | os.PathLike[str]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.path = Path(path)
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            raise FileError(f"the source {str(self.path)!r} is not a file; this version reads one Parquet file")
        try:
            self._identity = self._stat()
            self._handle = pa.OSFile(os.fspath(self.path), "rb")
        except OSError as error:
            raise FileError(f"cannot read the source {str(self.path)!r}: {_reason(error)}") from None
        try:
            footer = pq.ParquetFile(self._handle, pre_buffer=False)
            self.schema: pa.Schema = footer.schema_arrow
            self.rows: int = footer.metadata.num_rows
            self._footer: pq.FileMetaData = footer.metadata
        except (pa.ArrowException, OSError, ValueError):
            self._handle.close()
            raise CorruptDataError(NOT_PARQUET) from None

    def __enter__(self) -> ParquetSource:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._handle.close()

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """The key-value pairs of the footer."""
        return dict(self._footer.metadata or {})

    def batches(self, names: Collection[str], *, dictionaries: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, row group by row group, at most `BATCH_ROWS` at a time.

        Parameters
        ----------
        names : collection of str
            Columns that are needed; a batch may hold more.
        dictionaries : collection of str
            Text and binary columns that are quicker to have as dictionaries. One that cannot be read so comes plain.

        Raises
        ------
        CorruptDataError
            If the file is damaged.
        FileError
            If it cannot be read.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        # The reader takes a dot in a name for a step into a struct as well, so it may give more, or encode another column.
        rows = 0
        try:
            reader = pq.ParquetFile(
                self._handle,
                metadata=self._footer,
                read_dictionary=list(dictionaries),
                pre_buffer=False,
                buffer_size=READ_BUFFER_BYTES,
            )
            for group in range(reader.num_row_groups):
                for batch in reader.iter_batches(BATCH_ROWS, row_groups=[group], columns=list(names), use_threads=False):
                    rows += batch.num_rows
                    yield batch
        except OSError as error:
            if error.errno:
                raise FileError(f"cannot read the source {str(self.path)!r}: {_reason(error)}") from None
            raise CorruptDataError(CORRUPT) from None
        except (pa.ArrowException, ValueError):
            raise CorruptDataError(CORRUPT) from None
        if rows != self.rows:
            raise CorruptDataError(CORRUPT)

    def check_unchanged(self) -> None:
        """Raise `FileError` if the file under the path is no longer the one that was opened, or was written to."""
        try:
            same = self._stat() == self._identity
        except OSError:
            same = False
        if not same:
            raise FileError(CHANGED)

    def _stat(self) -> tuple[Any, ...]:
        status = self.path.stat()
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _reason(error: OSError) -> str:
    """Return what the operating system says, without the text that a library put around it."""
    return os.strerror(error.errno) if error.errno else "it cannot be opened"
