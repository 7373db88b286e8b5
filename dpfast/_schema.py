"""Arrow types without what must not travel: metadata of fields at any depth, and dictionaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["bare_field", "plain_type"]


def bare_field(field: pa.Field) -> pa.Field:
    """Return `field` with its name, type and nullability and nothing else.

    Key-value metadata of a field is written by its producer from the data it saw (numbers of categories, names of an
    enumeration), so none is kept, at any depth.
    """
    return _bare(field, plain=False)


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
        return _rebuilt(data_type.value_type, plain=True) if plain else data_type
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
    return data_type
