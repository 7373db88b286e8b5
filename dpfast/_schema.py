"""Arrow types without what must not travel: metadata of fields at any depth, and dictionaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["bare_column", "bare_field", "check_names", "plain_type", "without_hidden"]


def bare_field(field: pa.Field) -> pa.Field:
    """Return `field` with its name, type and nullability and nothing else.

    Key-value metadata of a field is written by its producer from the data it saw (numbers of categories, names of an
    enumeration), so none is kept, at any depth.
    """
    return _bare(field, plain=False)


def bare_column(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return a column whose type, at any depth, holds no metadata of fields: the same memory; itself if it has none."""
    import pyarrow as pa

    bare = _rebuilt(column.type, plain=False)
    # Compared as written: a comparison of types does not look at metadata within the values of a dictionary.
    if pa.schema([pa.field("", bare)]).serialize().equals(pa.schema([pa.field("", column.type)]).serialize()):
        return column
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([pa.array(_Retyped(chunk, bare)) for chunk in column.chunks], bare)
    return pa.array(_Retyped(column, bare))


def check_names(schema: pa.Schema) -> None:
    """Raise a UnicodeDecodeError if a name, at any depth, is no text; readers leave that to whoever looks at it."""
    for field in schema:
        bare_field(field)


def without_hidden(column: pa.Array) -> pa.Array:
    """Return a column with nothing under its nulls: what stood there before a value was taken out is no value of the column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    data_type, types = column.type, pa.types
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    if data_type in views:
        return without_hidden(column.cast(views[data_type])).cast(data_type)
    if types.is_struct(data_type):
        fields = [data_type.field(i) for i in range(data_type.num_fields)]
        parts = [without_hidden(part) for part in column.flatten()]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=column.is_null()) if fields else column
    if column.null_count:
        column = column.take(pa.array(np.arange(len(column))))
    if types.is_list(data_type) or types.is_large_list(data_type):
        make = pa.ListArray if types.is_list(data_type) else pa.LargeListArray
        first, last = column.offsets[0].as_py(), column.offsets[-1].as_py()
        offsets = pc.subtract(column.offsets, column.offsets[0])
        values = without_hidden(column.values.slice(first, last - first))
        return make.from_arrays(offsets, values, type=data_type, mask=column.is_null() if column.null_count else None)
    return column


class _Retyped:
    """An array that says it has another type of the same layout. Casts regard types that differ in metadata as equal."""

    def __init__(self, array: pa.Array, data_type: pa.DataType) -> None:
        self._array = array
        self._type = data_type

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        return self._type.__arrow_c_schema__(), self._array.__arrow_c_array__()[1]


def plain_type(data_type: pa.DataType) -> pa.DataType:
    """Return `data_type` with every dictionary, at any depth, replaced by the type of its values.

    A dictionary may hold values that no row has; written as plain values, a column holds those of its rows only.
    """
    return _rebuilt(data_type, plain=True)


def _bare(field: pa.Field, *, plain: bool) -> pa.Field:
    import pyarrow as pa

    return pa.field(field.name, _rebuilt(field.type, plain=plain), nullable=field.nullable)


def _rebuilt(data_type: pa.DataType, *, plain: bool) -> pa.DataType:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(data_type):
        value_type = _rebuilt(data_type.value_type, plain=plain)
        return value_type if plain else pa.dictionary(data_type.index_type, value_type, data_type.ordered)
    if types.is_struct(data_type):
        return pa.struct([_bare(data_type.field(i), plain=plain) for i in range(data_type.num_fields)])
    if types.is_map(data_type):
        key, item = (_bare(field, plain=plain) for field in (data_type.key_field, data_type.item_field))
        return pa.map_(key, item, keys_sorted=data_type.keys_sorted)
    if types.is_fixed_size_list(data_type):
        return pa.list_(_bare(data_type.value_field, plain=plain), data_type.list_size)
    if types.is_large_list(data_type):
        return pa.large_list(_bare(data_type.value_field, plain=plain))
    if types.is_list(data_type):
        return pa.list_(_bare(data_type.value_field, plain=plain))
    if types.is_list_view(data_type):
        return pa.list_view(_bare(data_type.value_field, plain=plain))
    if types.is_large_list_view(data_type):
        return pa.large_list_view(_bare(data_type.value_field, plain=plain))
    if types.is_run_end_encoded(data_type):
        return pa.run_end_encoded(data_type.run_end_type, _rebuilt(data_type.value_type, plain=plain))
    if types.is_union(data_type):
        fields = [_bare(data_type.field(i), plain=plain) for i in range(data_type.num_fields)]
        return pa.union(fields, data_type.mode, data_type.type_codes)
    return data_type
