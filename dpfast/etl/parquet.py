"""The Parquet side of a file job: what is read, how a batch is sanitised, how the target is written.

A text or binary column is decoded and written as a dictionary, which is several times quicker than as values, whatever its
logical type. The dictionary is the declared domain in its declared order, so the target says nothing about which values
occur, or which came first. Readers see the logical type because the target carries its Arrow schema, as files of Arrow do.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

from dpfast._policy_plan import id_columns, id_names
from dpfast._schema import plain_type
from dpfast.columns import output_arrow_type
from dpfast.etl.jobs import Background, writing
from dpfast.ids import IdColumn, prepare_ids
from dpfast.policy import Policy
from dpfast.randomness import STREAM_VERSION, Stream

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CERTIFICATE_KEY", "FilePlan", "ParquetTarget"]

CERTIFICATE_KEY = "dpfast"
COMPRESSION = "snappy"
GROUP_ROWS_MAX = 1 << 20
GROUP_ROWS_MIN = 1 << 16
GROUP_BYTES = 64 << 20
# What a value without a fixed width is reckoned to take; only the size of a row group hangs on it.
BYTES_OF_OTHERS = 32


@dataclass(frozen=True)
class FilePlan:
    """How one schema is sanitised under one policy, settled before a value is read.

    Attributes
    ----------
    policy : Policy
    declared : pyarrow.Schema
        What a reader of the target sees.
    stored : pyarrow.Schema
        What the writer is given: the same columns, the sanitised text ones as dictionaries, the public ones without.
    dictionaries : tuple of str
        Columns to be read as dictionaries.
    ids : tuple of str
        Columns that identify a row, or none.
    """

    policy: Policy
    declared: pa.Schema
    stored: pa.Schema
    dictionaries: tuple[str, ...]
    ids: tuple[str, ...]

    @classmethod
    def of(cls, policy: Policy, schema: pa.Schema, ids: object) -> FilePlan:
        """Plan a job, or raise what is wrong with it."""
        import pyarrow as pa

        declared = policy.plan_schema(schema)
        wanted = () if ids is None else id_names(policy.sanitised, ids, schema.names)
        domains = {name: part for group in policy.groups for name, part in zip(group.names, group.parts, strict=True)}
        stored, dictionaries = [], []
        for field in declared:
            domain = domains.get(field.name)
            stored_type = plain_type(field.type)
            if domain is not None:
                if domain.kind == "bins":  # numbers in, labels out: there is no text to be read as a dictionary
                    stored_type = field.type
                elif (value_type := _dictionary_value_type(field.type)) is not None:
                    dictionaries.append(field.name)
                    stored_type = pa.dictionary(pa.int32(), value_type)
                stored_type = output_arrow_type(domain, stored_type)
            stored.append(field.with_type(stored_type))
        return cls(policy, declared, pa.schema(stored), tuple(dictionaries), wanted)

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns of the source that have to be read."""
        return tuple(dict.fromkeys([*self.declared.names, *self.ids]))

    def certificate(self, stream: Stream) -> dict[str, Any]:
        """Return the certificate of a target made with this plan and stream."""
        certificate = self.policy.certificate()
        sanitised = self.policy.sanitised
        certificate["public"] = sorted(name for name in self.declared.names if name not in sanitised)
        certificate["randomness"] = stream.kind
        certificate["stream_version"] = STREAM_VERSION
        certificate["key_fingerprint"] = stream.fingerprint
        certificate["addressing"] = "id" if self.ids else "row"
        if self.ids:
            certificate["ids"] = list(self.ids)
            certificate["ids_unique"] = "unchecked"
        return certificate

    def sanitise(self, batch: pa.RecordBatch, stream: Stream, threads: int | None) -> pa.RecordBatch:
        """Sanitise the next rows; the stream knows which they are."""
        import pyarrow as pa

        ids = self._ids(batch)
        answers: dict[str, Any] = {}
        for group in self.policy.groups:
            by = None if group.by is None else batch.column(group.by)
            answers |= group.sanitise(lambda name: self._read(batch, name), rng=stream, ids=ids, threads=threads, by=by)
        columns = [_stored(answers.get(name, batch.column(name)), self.stored.field(name).type) for name in self.stored.names]
        return pa.RecordBatch.from_arrays(columns, schema=self.stored)

    def _read(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        """A column that is sanitised, text as a dictionary also where the reader gave it plain."""
        import pyarrow as pa

        column = batch.column(name)
        plain = name in self.dictionaries and not pa.types.is_dictionary(column.type)
        return column.dictionary_encode() if plain else column

    def _ids(self, batch: pa.RecordBatch) -> IdColumn | None:
        if not self.ids:
            return None
        # Only the whole file could tell whether ids are unique; a batch that looks would depend on how the file is cut.
        return prepare_ids(id_columns(batch, self.ids), batch.num_rows, unique=False)


class ParquetTarget:
    """Writes batches as row groups whose number of rows depends on the schema alone, never on how the batches are cut.

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

        sanitised = plan.policy.sanitised
        self._schema = plan.stored
        self._group_rows = group_rows(plan.stored)
        self._parts: list[pa.RecordBatch] = []
        self._rows = 0
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
                "ARROW:schema": base64.b64encode(plan.declared.serialize().to_pybytes()).decode(),
                CERTIFICATE_KEY: json.dumps(certificate, sort_keys=True, separators=(",", ":")),
            }
        )

    def __enter__(self) -> ParquetTarget:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        # An abandoned writer must not write a footer when it is collected.
        self._writer.is_open = False

    def add(self, batch: pa.RecordBatch, behind: Background) -> None:
        """Take the next rows; a row group that is full is handed to `behind`."""
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, self._group_rows - self._rows)
            self._parts.append(part)
            self._rows += part.num_rows
            start += part.num_rows
            if self._rows == self._group_rows:
                behind.submit(self._write, self._taken())

    def finish(self, behind: Background) -> None:
        """Write what is left, and the footer."""
        if self._rows:
            behind.submit(self._write, self._taken())
        behind.wait()
        with writing():
            self._writer.close()

    def _taken(self) -> list[pa.RecordBatch]:
        parts, self._parts, self._rows = self._parts, [], 0
        return parts

    def _write(self, parts: list[pa.RecordBatch]) -> None:
        import pyarrow as pa

        # One array a column: page boundaries then depend on the values only.
        table = pa.Table.from_batches(parts, schema=self._schema).combine_chunks()
        with writing():
            self._writer.write_table(table, row_group_size=self._group_rows)
        del parts, table
        # Arrays made on one thread and dropped on another pile up in the allocator: tens of megabytes, for 3 % of the time.
        pa.default_memory_pool().release_unused()


def group_rows(schema: pa.Schema) -> int:
    """Return the rows of a row group: a power of two, about `GROUP_BYTES` of memory, by the types of the columns alone."""
    width = sum(_width(data_type) for data_type in schema.types)
    rows = GROUP_ROWS_MAX
    while rows > GROUP_ROWS_MIN and rows * width > GROUP_BYTES:
        rows //= 2
    return rows


def _width(data_type: pa.DataType) -> int:
    import pyarrow as pa

    if pa.types.is_dictionary(data_type):
        data_type = data_type.index_type
    try:
        return max(1, int(data_type.bit_width) // 8)
    except ValueError:  # text, lists: no fixed width
        return BYTES_OF_OTHERS


def _dictionary_value_type(data_type: pa.DataType) -> pa.DataType | None:
    """Return the type of the values as the reader gives them in a dictionary; None for what it does not encode."""
    import pyarrow as pa

    plain = plain_type(data_type)
    if plain in (pa.string(), pa.large_string(), pa.string_view()):
        return pa.string()
    if plain in (pa.binary(), pa.large_binary(), pa.binary_view()):
        return pa.binary()
    return None


def _stored(column: pa.Array, data_type: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if column.type == data_type:
        return column
    if pa.types.is_dictionary(data_type):
        values = column.dictionary.cast(data_type.value_type)
        return pa.DictionaryArray.from_arrays(column.indices, values, ordered=data_type.ordered)
    return column.cast(data_type)
