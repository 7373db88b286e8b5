"""Cells that are written as text and have no type of their own: those of CSV files, and of the names of folders.

Nothing is inferred from data, so such a column is text, and a mark on its field says that it is only written so. What a policy
declares then gives the type: the column is read as what its domain holds. A cell that is no such value is a value outside the
domain, with whatever rule the domain has for those, and not another kind of error. Public columns stay the text they are.

Written values, none of which depends on the place or the machine:

- integers: decimal, no sign but ``-``, no leading zero, no spaces;
- booleans: ``true``, ``True``, ``TRUE``, ``1`` and ``false``, ``False``, ``FALSE``, ``0``; not under a domain that holds both and
  null, which leaves no room for a cell that is neither;
- numbers that are cut into bins: decimal, with or without fraction, at most 200 digits each, and an exponent below 100; the
  nearest double;
- bytes: the bytes of the text;
- null: what the file says is null. Under a domain of texts that holds the empty text and no null, that is the empty text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfast.domain import Domain

__all__ = ["INTEGER", "NUMBER", "as_written", "is_written", "typed_batch", "typed_column", "typed_schema"]

_MARK: Final = b"dpfast:written"
_TRUE: Final = ("true", "True", "TRUE", "1")
_FALSE: Final = ("false", "False", "FALSE", "0")
INTEGER: Final = r"^(0|-?[1-9][0-9]{0,17})$"
# What it matches is always a finite double.
NUMBER: Final = r"^[+-]?([0-9]{1,200}(\.[0-9]{0,200})?|\.[0-9]{1,200})([eE][+-]?[0-9]{1,2})?$"


def as_written(field: pa.Field) -> pa.Field:
    """Return a field that is marked: its cells are written."""
    return field.with_metadata({_MARK: b""})


def is_written(field: pa.Field) -> bool:
    """Whether the cells of a column are written."""
    return bool(field.metadata) and _MARK in field.metadata


def typed_schema(schema: pa.Schema, domains: Mapping[str, Domain]) -> pa.Schema:
    """Return `schema` with the types that the domains of its written columns have; marks are kept where a type stays."""
    import pyarrow as pa

    fields = []
    for field in schema:
        domain = domains.get(field.name)
        if domain is not None and is_written(field):
            field = pa.field(field.name, _type_of(domain), nullable=field.nullable)
        fields.append(field)
    return pa.schema(fields)


def typed_batch(batch: pa.RecordBatch, schema: pa.Schema, domains: Mapping[str, Domain]) -> pa.RecordBatch:
    """Return `batch`, a part of a table of `schema`, with its written columns as their domains have them."""
    written = [name for name in batch.schema.names if name in domains and is_written(schema.field(name))]
    for name in written:
        place = batch.schema.get_field_index(name)
        batch = batch.set_column(place, name, typed_column(batch.column(name), domains[name]))
    return batch


def _type_of(domain: Domain) -> pa.DataType:
    import pyarrow as pa

    if domain.kind == "int" and any(value is not None and value >= 1 << 63 for value in domain.values):
        return pa.uint64()
    if domain.kind == "bool" and {True, False, None} <= set(domain.values):
        return pa.string()  # which the plan refuses
    kinds = {"text": pa.string(), "bytes": pa.binary(), "bool": pa.bool_(), "bins": pa.float64()}
    return kinds.get(domain.kind, pa.int64())


def typed_column(column: pa.Array, domain: Domain) -> pa.Array:
    """Return a written column as its domain has it: a dictionary of typed values where it is one, else typed values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type) and domain.kind not in ("text", "bins"):
        column = pc.dictionary_encode(column)
    if pa.types.is_dictionary(column.type) and not pa.types.is_floating(column.type.value_type):
        if domain.kind == "text" and not _empty_is_text(domain):
            return column if column.type.value_type == pa.string() else column.cast(pa.dictionary(pa.int32(), pa.string()))
        if not _empty_is_text(domain):
            return _with_values(column, _typed(column.dictionary, domain))
        column = column.dictionary_decode()
    return _typed(column, domain)


def _with_values(column: pa.DictionaryArray, values: pa.Array) -> pa.DictionaryArray:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(column.indices, values, safe=False)


def _empty_is_text(domain: Domain) -> bool:
    return domain.kind == "text" and domain.null_code is None and "" in domain.index


def _typed(values: pa.Array, domain: Domain) -> pa.Array:
    """Typed values of written ones; what is none of its kind becomes a value that the domain does not hold."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = values.cast(pa.string())
    if domain.kind == "text":
        return texts.fill_null("") if _empty_is_text(domain) else texts
    if domain.kind == "bytes":
        return texts.cast(pa.binary())
    if domain.kind == "bool":
        truth = pc.if_else(pc.is_in(texts, pa.array(_TRUE)), True, pc.if_else(pc.is_in(texts, pa.array(_FALSE)), False, None))
        if domain.null_code is None:
            return truth
        missing = next(value for value in (True, False) if value not in domain.index)
        return pc.if_else(texts.is_null(), None, truth.fill_null(missing))
    if domain.kind == "bins":
        known = pc.match_substring_regex(texts, NUMBER)
        return pc.if_else(known, pc.if_else(known, texts, "0").cast(pa.float64()), float("inf"))
    if domain.kind == "range":
        known = pc.match_substring_regex(texts, INTEGER)
        return pc.if_else(known, texts, "-1").cast(pa.int64())
    wanted = _type_of(domain)
    listed = [value for value in domain.values if value is not None]
    places = pc.index_in(texts, value_set=pa.array([str(value) for value in listed], pa.string()))
    stranger = next(value for value in range(len(listed) + 1) if value not in domain.index)
    return pc.if_else(texts.is_null(), pa.scalar(None, wanted), pa.array(listed, wanted).take(places).fill_null(stranger))
