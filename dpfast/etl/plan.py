"""How a file job sanitises: what is read, how a batch is answered, and what a target is made of; the same for every format.

A text or binary column is decoded and written as a dictionary, which is several times quicker than as values, whatever its
logical type. The dictionary is the declared domain in its declared order, so the target says nothing about which values
occur, or which came first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfast._policy_groups import read_as
from dpfast._policy_plan import id_columns, id_names
from dpfast._schema import plain_type
from dpfast._sources.written import is_written, typed_column, typed_schema
from dpfast.columns import Piece, output_arrow_type
from dpfast.columns.base import arrow_values
from dpfast.errors import PolicyError
from dpfast.ids import IdColumn, prepare_ids
from dpfast.policy import Policy
from dpfast.randomness import STREAM_VERSION, Stream

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from dpfast.domain import Domain

__all__ = ["FilePlan", "as_type", "fixed_width", "row_bytes"]


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
    written : mapping of str to Domain
        Columns whose cells have no type of their own and are read as what their domains hold: sanitised ones and strata.
    read : tuple of str
        Public columns that are read, as strata may need them, and not written.
    metadata : mapping of bytes to bytes
        Of the schema of the source, what the target keeps.
    """

    policy: Policy
    declared: pa.Schema
    stored: pa.Schema
    dictionaries: tuple[str, ...]
    repetitive: tuple[str, ...]
    measured: tuple[str, ...]
    ids: tuple[str, ...]
    written: Mapping[str, Domain]
    _memories: Mapping[str, dict[str, Any]] = dataclasses.field(repr=False, compare=False)
    read: tuple[str, ...] = ()
    metadata: Mapping[bytes, bytes] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, policy: Policy, schema: pa.Schema, ids: object) -> FilePlan:
        """Plan a job, or raise what is wrong with it."""
        import pyarrow as pa

        domains = {name: part for group in policy.groups for name, part in zip(group.names, group.parts, strict=True)}
        by_domain = read_as(policy.groups)
        planned = policy.plan_schema(typed_schema(schema, by_domain))
        written = {name: domain for name, domain in by_domain.items() if name in schema.names and is_written(schema.field(name))}
        # a public column stays as it is written, also where it names strata
        declared = pa.schema(
            [field if field.name in domains else field.with_type(schema.field(field.name).type) for field in planned]
        )
        wanted = () if ids is None else id_names(policy.sanitised, ids, schema.names)
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
                elif field.name in written:
                    dictionaries.append(field.name)
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
            written=written,
            _memories={name: {} for name in domains},
        )

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns of the source that have to be read."""
        return tuple(dict.fromkeys([*self.declared.names, *self.ids, *self.read]))

    def without(self, names: tuple[str, ...]) -> FilePlan:
        """Return the plan of files that do not hold some public columns, for they stand in the names of folders."""
        import pyarrow as pa

        declared, stored = (
            pa.schema([field for field in schema if field.name not in names]) for schema in (self.declared, self.stored)
        )
        if names and not len(declared):
            raise PolicyError("every column that is published stands in the names of folders; there is nothing to write")
        measured = tuple(name for name in self.measured if name not in names)
        return replace(self, declared=declared, stored=stored, measured=measured, read=names)

    def keeping(self, metadata: Mapping[bytes, bytes]) -> FilePlan:
        """Return the plan of targets that keep some metadata."""
        return replace(self, metadata=metadata)

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
            by = None if group.by is None else self._typed(batch, group.by)
            answers |= group.sanitise(lambda name: self._read(batch, name), rng=stream, ids=ids, threads=threads, by=by)
        # Public dictionaries are written out by the target, a group at a time: a whole batch of long texts would not be small.
        columns = [
            as_type(answers[field.name], field.type) if field.name in answers else batch.column(field.name)
            for field in self.stored
        ]
        fields = [field.with_type(column.type) for field, column in zip(self.stored, columns, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))

    def empty(self) -> pa.RecordBatch:
        """What `sanitise` gives for no rows at all."""
        import pyarrow as pa

        domains = read_as(self.policy.groups)
        columns = [
            pa.DictionaryArray.from_arrays(
                pa.array([], field.type.index_type),
                arrow_values(domains[field.name], field.type.value_type),
                ordered=field.type.ordered,
            )
            if pa.types.is_dictionary(field.type)
            else pa.array([], field.type)
            for field in self.stored
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.stored)

    def text_ends(self, batch: pa.RecordBatch) -> NDArray[np.int64] | None:
        """Return the bytes of public values without a fixed width up to the end of each row; None without such columns."""
        if not self.measured:
            return None
        return np.cumsum(sum(row_bytes(batch.column(name)) for name in self.measured))

    def _read(self, batch: pa.RecordBatch, name: str) -> Piece:
        """A column that is sanitised, text as a dictionary also where the reader gave it plain."""
        import pyarrow as pa

        column = self._typed(batch, name)
        if name in self.dictionaries and not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        return Piece(column, self._memories[name])

    def _typed(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        column, domain = batch.column(name), self.written.get(name)
        return column if domain is None else typed_column(column, domain)

    def _ids(self, batch: pa.RecordBatch) -> IdColumn | None:
        if not self.ids:
            return None
        # Only the whole file could tell whether ids are unique; a batch that looks would depend on how the file is cut.
        return prepare_ids(id_columns(batch, self.ids), batch.num_rows, unique=False)


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


def as_type(column: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Return a column in another type of the same values, dictionaries written out unless it has one too."""
    import pyarrow as pa

    if column.type == data_type:
        return column
    if pa.types.is_dictionary(data_type):
        values = column.dictionary.cast(data_type.value_type)
        return pa.DictionaryArray.from_arrays(column.indices, values, ordered=data_type.ordered)
    if pa.types.is_dictionary(column.type):  # not every type can be cast to from a dictionary
        column = column.dictionary_decode()
    return column if column.type == data_type else column.cast(data_type)
