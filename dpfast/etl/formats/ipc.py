"""Writing Arrow IPC, files and streams: types as the source has them, and dictionaries that say nothing about the rows.

The dictionary of a sanitised column is the declared domain, in order and whole, from the first batch on. A public column of
dictionary type is written as plain values: its dictionary would tell of rows beyond those of a batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

from dpfast._schema import plain_type
from dpfast.etl.formats.sink import OpenSink
from dpfast.etl.formats.target import CERTIFICATE_KEY, certificate_text
from dpfast.etl.jobs import writing
from dpfast.etl.parquet import GroupedTarget
from dpfast.etl.plan import FilePlan, as_type

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["IpcTarget"]


class IpcTarget(GroupedTarget):
    """Writes groups as record batches, uncompressed.

    Parameters
    ----------
    sink : binary file
        Where the bytes go; it is not closed.
    plan : FilePlan
        Gives the schemas.
    certificate : mapping
        Goes to the metadata of the schema, as JSON.
    stream : bool
        Whether the format is that of streams, which has no footer.
    """

    def __init__(self, sink: BinaryIO, plan: FilePlan, certificate: Mapping[str, Any], *, stream: bool) -> None:
        import pyarrow as pa

        super().__init__(plan)
        sanitised = plan.policy.sanitised
        fields = [field if field.name in sanitised else field.with_type(plain_type(field.type)) for field in plan.declared]
        self._written = pa.schema(
            fields, metadata={**plan.metadata, CERTIFICATE_KEY.encode(): certificate_text(certificate).encode()}
        )
        self._is_empty = True
        self._sink = OpenSink(sink)
        with writing():
            self._writer = (pa.ipc.new_stream if stream else pa.ipc.new_file)(self._sink, self._written)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._sink.abandon()

    def _write(self, parts: list[pa.RecordBatch]) -> None:
        import pyarrow as pa

        # Copied also where there is one: a part of a longer batch shares bytes with the rows around it, which would be written.
        columns = [pa.concat_arrays([part.column(number) for part in parts]) for number in range(len(self._schema))]
        self._write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        del parts, columns
        pa.default_memory_pool().release_unused()

    def _write_batch(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        columns = [as_type(column, field.type) for column, field in zip(batch.columns, self._written, strict=True)]
        with writing():
            self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._written))
        self._is_empty = False

    def _close(self) -> None:
        if self._is_empty:  # the dictionaries belong to the file also where there is no row
            self._write_batch(self._plan.empty())
        self._writer.close()
