"""Reading Arrow IPC: files and streams, told apart by their first bytes and not by their names."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from dpfast import _parquet
from dpfast._schema import check_names, without_hidden
from dpfast._sources.places import Place, check_identity, damaged, decoding

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["IpcSource"]

MAGIC: Final = b"ARROW1"
END: Final = b"\xff\xff\xff\xff\0\0\0\0"
# Constant: what a broken file makes a reader say may quote its bytes.
CORRUPT = "is not an Arrow IPC file or stream, or it is truncated or damaged"


class IpcSource:
    """One Arrow IPC file or stream; see `ParquetSource` for what its methods promise.

    A stream must have its end mark, which tells it from one that was cut. Batches are those of the file, cut where they are
    long: a file of one record batch is in memory as a whole.
    """

    def __init__(self, place: Place, kind: str = "ipc") -> None:
        self.place = place
        self._identity = place.identity()
        self._file = place.open()
        try:
            with decoding(place, CORRUPT):
                self._is_file = self._file.read(len(MAGIC)) == MAGIC
                self._check_end()
                self.schema: pa.Schema = self._reader(None).schema
                check_names(self.schema)
                self.rows: int | None = self._count()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._file.close()

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """The key-value pairs of the schema."""
        return dict(self.schema.metadata or {})

    def batches(
        self, names: Collection[str], *, dictionaries: Collection[str] = (), repetitive: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order; columns come as the file holds them."""
        import pyarrow as pa

        wanted = set(names)
        with decoding(self.place, CORRUPT):
            reader = self._reader([place for place, name in enumerate(self.schema.names) if name in wanted])
            for batch in map(reader.get_batch, range(reader.num_record_batches)) if self._is_file else reader:
                # writers trust what they are given
                batch.validate(full=True)
                batch = pa.RecordBatch.from_arrays([without_hidden(column) for column in batch.columns], schema=batch.schema)
                for start in range(0, batch.num_rows, _parquet.BATCH_ROWS):
                    yield batch.slice(start, _parquet.BATCH_ROWS)

    def check_unchanged(self) -> None:
        """Raise `FileError` if the file is no longer the one that was opened, or was written to."""
        check_identity(self.place, self._identity)

    def _reader(self, fields: list[int] | None) -> Any:
        import pyarrow as pa

        # without threads: read ahead, on a thread of the job's own, is one thread more already
        options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        self._file.seek(0)
        return (pa.ipc.open_file if self._is_file else pa.ipc.open_stream)(self._file, options=options)

    def _check_end(self) -> None:
        """Refuse a stream without its end mark: readers take any of its batches for the last one."""
        if not self._is_file:
            self._file.seek(max(0, self._file.size() - len(END)))
            if self._file.read(len(END)) != END:
                raise damaged(self.place, CORRUPT)

    def _count(self) -> int | None:
        """Number of rows; None for a stream, which tells no sooner than it ends."""
        if not self._is_file:
            return None
        reader = self._reader(None)
        # which old versions of pyarrow do not know
        return int(reader.count_rows()) if hasattr(reader, "count_rows") else None
