"""Writing Parquet.

The writer is given dictionaries and writes dictionaries; readers see the logical type because the target carries its Arrow
schema, as files of Arrow do.
"""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import numpy as np

from dpfast.etl.formats.target import CERTIFICATE_KEY, certificate_text
from dpfast.etl.jobs import Background, writing
from dpfast.etl.plan import FilePlan, as_type, fixed_width, row_bytes

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FilePlan", "GroupedTarget", "ParquetTarget", "row_bytes"]

COMPRESSION = "snappy"
GROUP_ROWS_MAX = 1 << 20
GROUP_BYTES = 32 << 20
# What public values without a fixed width may take in one row group: all of it is in memory when it is written.
GROUP_TEXT_BYTES = 16 << 20
# Arrays made on one thread and dropped on another pile up in the allocator. It gives them back after so much was written: after
# each small group that would cost a tenth of the processor time, for pages that are asked for again at once.
KEPT_BYTES = 16 << 20
# What a value without a fixed width is reckoned to take; only the size of a row group hangs on it.
BYTES_OF_OTHERS = 32


class GroupedTarget(ABC):
    """Gathers batches to groups of rows that depend on the schema and on public values alone, never on how batches are cut.

    A group has the number of rows that the schema gives, or fewer where the public values without a fixed width would take
    more than `GROUP_TEXT_BYTES`: then as many rows as stay below, or a single one.

    Parameters
    ----------
    plan : FilePlan
        Gives the schemas.
    """

    def __init__(self, plan: FilePlan) -> None:
        self._plan = plan
        self._schema = plan.stored
        self._group_rows = group_rows(plan.stored)
        self._parts: list[pa.RecordBatch] = []
        self._rows = 0
        self._text = 0

    def __enter__(self) -> Self:
        return self

    def add(self, batch: pa.RecordBatch, behind: Background) -> None:
        """Take the next rows; a group that is full is handed to `behind`."""
        ends = self._plan.text_ends(batch)
        start = before = 0  # rows and bytes of the batch that are dealt with
        while start < batch.num_rows:
            rows = min(batch.num_rows - start, self._group_rows - self._rows)
            if ends is not None:
                fitting = int(np.searchsorted(ends, GROUP_TEXT_BYTES - self._text + before, side="right")) - start
                # a row that is alone too long for a group has one of its own
                rows = min(rows, max(fitting, 0 if self._rows else 1))
            if rows == 0:
                behind.submit(self._write, self._taken())
                continue
            self._parts.append(self._as_stored(batch.slice(start, rows)))
            self._rows += rows
            start += rows
            if ends is not None:
                self._text += int(ends[start - 1]) - before
                before = int(ends[start - 1])
            if self._rows == self._group_rows:
                behind.submit(self._write, self._taken())

    def finish(self, behind: Background) -> None:
        """Write what is left, and the end of the file."""
        if self._rows:
            behind.submit(self._write, self._taken())
        behind.wait()
        with writing():
            self._close()

    def _as_stored(self, part: pa.RecordBatch) -> pa.RecordBatch:
        """Write public dictionaries out: what is held is then what was counted, and not a dictionary for each batch."""
        import pyarrow as pa

        columns = [as_type(column, field.type) for column, field in zip(part.columns, self._schema, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _taken(self) -> list[pa.RecordBatch]:
        parts, self._parts = self._parts, []
        self._rows = self._text = 0
        return parts

    @abstractmethod
    def _write(self, parts: list[pa.RecordBatch]) -> None:
        """Write one group."""

    @abstractmethod
    def _close(self) -> None:
        """Write the end of the file."""


class ParquetTarget(GroupedTarget):
    """Writes groups as row groups.

    Parameters
    ----------
    sink : binary file
        Where the bytes go; it is not closed.
    plan : FilePlan
        Gives the schemas.
    certificate : mapping
        Goes to the footer, as JSON.
    """

    def __init__(self, sink: BinaryIO, plan: FilePlan, certificate: Mapping[str, Any]) -> None:
        import pyarrow.parquet as pq

        super().__init__(plan)
        self._kept = 0
        sanitised = plan.policy.sanitised
        with writing():
            self._writer = pq.ParquetWriter(
                sink,
                plan.stored,
                compression=COMPRESSION,
                # Statistics of a sanitised column tell nothing that its dictionary does not, and cost most of the encoding.
                write_statistics=[name for name in plan.declared.names if name not in sanitised and "." not in name],
                store_schema=False,
            )
        self._writer.add_key_value_metadata(
            {
                **plan.metadata,
                b"ARROW:schema": base64.b64encode(_described(plan).serialize().to_pybytes()),
                CERTIFICATE_KEY.encode(): certificate_text(certificate).encode(),
            }
        )

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        # An abandoned writer must not write a footer when it is collected.
        self._writer.is_open = False

    def _write(self, parts: list[pa.RecordBatch]) -> None:
        import pyarrow as pa

        # One array a column: page boundaries then depend on the values only.
        table = pa.Table.from_batches(parts, schema=self._schema).combine_chunks()
        with writing():
            self._writer.write_table(table, row_group_size=self._group_rows)
        self._kept += table.nbytes
        del parts, table
        if self._kept >= KEPT_BYTES:
            pa.default_memory_pool().release_unused()
            self._kept = 0

    def _close(self) -> None:
        self._writer.close()


def _described(plan: FilePlan) -> pa.Schema:
    """The schema that readers of Arrow see, with the metadata that they look for in it."""
    return plan.declared.with_metadata(dict(plan.metadata)) if plan.metadata else plan.declared


def group_rows(schema: pa.Schema) -> int:
    """Return the rows of a row group: a power of two, about `GROUP_BYTES` of memory, by the types of the columns alone."""
    width = sum(_width(data_type) for data_type in schema.types)
    rows = GROUP_ROWS_MAX
    while rows > 1 and rows * width > GROUP_BYTES:
        rows //= 2
    return rows


def _width(data_type: pa.DataType) -> int:
    import pyarrow as pa

    width = fixed_width(data_type.index_type if pa.types.is_dictionary(data_type) else data_type)
    return BYTES_OF_OTHERS if width is None else width
