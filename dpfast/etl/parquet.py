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

import numpy as np

from dpfast._policy_plan import id_columns, id_names
from dpfast._schema import plain_type
from dpfast.columns import output_arrow_type
from dpfast.etl.jobs import Background, writing
from dpfast.ids import IdColumn, prepare_ids
from dpfast.policy import Policy
from dpfast.randomness import STREAM_VERSION, Stream

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["CERTIFICATE_KEY", "FilePlan", "ParquetTarget"]

CERTIFICATE_KEY = "dpfast"
COMPRESSION = "snappy"
GROUP_ROWS_MAX = 1 << 20
GROUP_BYTES = 32 << 20
# What public values without a fixed width may take in one row group: all of it is in memory when it is written.
GROUP_TEXT_BYTES = 16 << 20
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
        Sanitised columns to be read as dictionaries.
    repetitive : tuple of str
        Other text columns, which may be read as dictionaries; they are written without.
    measured : tuple of str
        Public columns without a fixed width, whose bytes bound a row group.
    ids : tuple of str
        Columns that identify a row, or none.
    """

    policy: Policy
    declared: pa.Schema
    stored: pa.Schema
    dictionaries: tuple[str, ...]
    repetitive: tuple[str, ...]
    measured: tuple[str, ...]
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
        texts = [name for name in dict.fromkeys([*declared.names, *wanted]) if _dictionary_value_type(schema.field(name).type)]
        return cls(
            policy,
            declared,
            pa.schema(stored),
            tuple(dictionaries),
            repetitive=tuple(name for name in texts if name not in dictionaries),
            measured=tuple(field.name for field in stored if field.name not in domains and fixed_width(field.type) is None),
            ids=wanted,
        )

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
        """Sanitise the next rows; the stream knows which they are. Public columns stay as they were read."""
        import pyarrow as pa

        ids = self._ids(batch)
        answers: dict[str, Any] = {}
        for group in self.policy.groups:
            by = None if group.by is None else batch.column(group.by)
            answers |= group.sanitise(lambda name: self._read(batch, name), rng=stream, ids=ids, threads=threads, by=by)
        columns = [_stored(answers.get(name, batch.column(name)), self.stored.field(name).type) for name in self.stored.names]
        return pa.RecordBatch.from_arrays(columns, schema=self.stored)

    def text_ends(self, batch: pa.RecordBatch) -> NDArray[np.int64] | None:
        """Return the bytes of public values without a fixed width up to the end of each row; None without such columns."""
        if not self.measured:
            return None
        return np.cumsum(sum(row_bytes(batch.column(name)) for name in self.measured))

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
    """Writes batches as row groups that depend on the schema and on public values alone, never on how the batches are cut.

    A row group has the number of rows that the schema gives, or fewer where the public values without a fixed width would
    take more than `GROUP_TEXT_BYTES`: then as many rows as stay below, or a single one.

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
        self._plan = plan
        self._schema = plan.stored
        self._group_rows = group_rows(plan.stored)
        self._parts: list[pa.RecordBatch] = []
        self._rows = 0
        self._text = 0
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
        ends = self._plan.text_ends(batch)
        start = before = 0  # rows and bytes of the batch that are dealt with
        while start < batch.num_rows:
            rows = min(batch.num_rows - start, self._group_rows - self._rows)
            if ends is not None:
                fitting = int(np.searchsorted(ends, GROUP_TEXT_BYTES - self._text + before, side="right")) - start
                # a row that is alone too long for a row group has one of its own
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
        """Write what is left, and the footer."""
        if self._rows:
            behind.submit(self._write, self._taken())
        behind.wait()
        with writing():
            self._writer.close()

    def _as_stored(self, part: pa.RecordBatch) -> pa.RecordBatch:
        """Write public dictionaries out: what is held is then what was counted, and not a dictionary for each batch."""
        import pyarrow as pa

        columns = [_stored(column, field.type) for column, field in zip(part.columns, self._schema, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _taken(self) -> list[pa.RecordBatch]:
        parts, self._parts = self._parts, []
        self._rows = self._text = 0
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
    while rows > 1 and rows * width > GROUP_BYTES:
        rows //= 2
    return rows


def _width(data_type: pa.DataType) -> int:
    import pyarrow as pa

    width = fixed_width(data_type.index_type if pa.types.is_dictionary(data_type) else data_type)
    return BYTES_OF_OTHERS if width is None else width


def fixed_width(data_type: pa.DataType) -> int | None:
    """Return the bytes of a value, at least 1; None for text, lists and all else that has no width of its own."""
    import pyarrow as pa

    if pa.types.is_null(data_type):
        return 1
    try:
        return max(1, int(data_type.bit_width) // 8)
    except ValueError:
        return None


def row_bytes(column: pa.Array) -> NDArray[np.int64]:
    """Return the bytes that each value takes, written out: the texts of a dictionary, the elements of a list."""
    import pyarrow as pa
    import pyarrow.compute as pc

    data_type, rows, types = column.type, len(column), pa.types
    sizes: NDArray[np.int64] = np.zeros(rows, np.int64)
    if isinstance(column, pa.ExtensionArray):
        sizes = row_bytes(column.storage)
    elif rows == 0 or types.is_null(data_type):
        pass
    elif types.is_dictionary(data_type):
        # the place behind the last entry stands for null
        entries = np.append(row_bytes(column.dictionary), 0)
        sizes = entries[column.indices.fill_null(len(column.dictionary)).to_numpy(zero_copy_only=False)]
    elif types.is_struct(data_type):
        for place in range(data_type.num_fields):
            sizes += row_bytes(column.field(place))
    elif types.is_fixed_size_list(data_type):
        size = data_type.list_size
        sizes = row_bytes(column.values.slice(column.offset * size, rows * size)).reshape(rows, size).sum(axis=1)
    elif types.is_list(data_type) or types.is_large_list(data_type) or types.is_map(data_type):
        parts = (column.keys, column.items) if types.is_map(data_type) else (column.values,)
        ends = np.append(0, np.cumsum(sum(row_bytes(part) for part in parts)))
        sizes = np.diff(ends[column.offsets.to_numpy()])
    elif (width := fixed_width(data_type)) is not None:
        sizes += width
    else:
        texts = column.cast(pa.large_binary()) if data_type in (pa.string_view(), pa.binary_view()) else column
        sizes += pc.binary_length(texts).fill_null(0).to_numpy(zero_copy_only=False)
    return sizes


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
    if pa.types.is_dictionary(column.type):  # not every type can be cast to from a dictionary
        column = column.dictionary_decode()
    return column if column.type == data_type else column.cast(data_type)
