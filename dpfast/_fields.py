"""Fields of what is hashed into keys, each preceded by its length: no two lists of fields give the same bytes."""

from __future__ import annotations

from typing import TypeAlias

from dpfast.errors import ArgumentError, ArgumentTypeError

__all__ = ["Column", "column_bytes", "field", "utf8"]

Column: TypeAlias = "str | tuple[str, ...] | None"


def field(value: bytes) -> bytes:
    """The value after its length."""
    return len(value).to_bytes(8, "little") + value


def column_bytes(column: Column) -> bytes:
    """The name of a column, or the names of those that are answered together."""
    if column is None:
        return b""
    if isinstance(column, str):
        return b"s" + utf8(column, "column_name")
    if not isinstance(column, tuple) or not all(isinstance(part, str) for part in column):
        raise ArgumentTypeError("column_name must be text, or a tuple of texts for columns that are answered together")
    return b"t" + b"".join(field(column_bytes(part)) for part in column)


def utf8(text: str, name: str) -> bytes:
    """The bytes of a text that the caller gave as `name`."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ArgumentError(f"{name} is not valid Unicode text") from None
