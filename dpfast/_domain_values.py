"""What a domain may hold: its values checked and settled, their digest, and the file that lists them."""

from __future__ import annotations

import enum
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

import numpy as np

from dpfast.errors import DomainError, FileError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "DIGEST_PERSON",
    "KINDS",
    "SIZE_MAX",
    "Kind",
    "Value",
    "canonical",
    "is_unicode",
    "plain",
    "read_domain_file",
    "update_digest",
    "values_digest",
]

SIZE_MAX: Final = 1 << 31
DIGEST_PERSON: Final = b"dpfast/domain/1"

Value: TypeAlias = "str | int | bool | bytes | None"
Kind: TypeAlias = Literal["range", "int", "text", "bool", "bytes", "bins", "product"]

KINDS: dict[type, Kind] = {str: "text", bytes: "bytes", bool: "bool", int: "int"}
_TAGS: dict[type, bytes] = {type(None): b"n", str: b"s", bytes: b"y", bool: b"b", int: b"i"}


def canonical(values: Sequence[Value] | range) -> tuple[tuple[Value, ...] | range, Kind]:
    """Check values and settle their kind; a list equal to 0 .. k-1 is the range."""
    try:
        size = len(values)
    except OverflowError:  # a range of 2^63 values and more
        size = SIZE_MAX + 1
    if size == 0:
        raise DomainError("a domain needs at least one value")
    if size > SIZE_MAX:
        raise DomainError("a domain has at most 2**31 values")
    if isinstance(values, range):
        return (values, "range") if values == range(size) else canonical(list(values))
    settled = [plain(v) for v in values]
    kinds = {KINDS.get(type(v)) for v in settled if v is not None}
    if None in kinds:
        raise DomainError("domain values must be text, integers, booleans, bytes or None; for numbers, cut them into bins first")
    if len(kinds) > 1:
        raise DomainError("domain values must be of one kind (and None): a column holds one type")
    if not kinds:
        raise DomainError("a domain needs at least one value that is not None")
    if len(set(settled)) != size:
        raise DomainError("a domain lists each value once; some value is repeated")
    kind = cast(Kind, kinds.pop())
    if kind == "int":
        if settled == list(range(size)):
            return range(size), "range"
        if not all(v is None or -(1 << 63) <= cast(int, v) < 1 << 64 for v in settled):
            raise DomainError("integer values must fit 64 bits")
    if kind == "text" and not all(v is None or is_unicode(cast(str, v)) for v in settled):
        raise DomainError("a text of the domain is not valid Unicode")
    return tuple(settled), kind


def plain(value: Any) -> Any:
    """The Python value of a numpy scalar or Enum member; anything else as it is."""
    if isinstance(value, enum.Enum):
        value = value.value
    # a timedelta64 is an np.integer to Python, and no integer
    is_scalar = isinstance(value, (np.str_, np.bytes_, np.bool_, np.integer)) and not isinstance(value, np.timedelta64)
    return value.item() if is_scalar else value


def is_unicode(text: str) -> bool:
    """Whether a text can be written down: halves of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def values_digest(values: tuple[Value, ...] | range, kind: Kind) -> bytes:
    """32 bytes that identify values and their order."""
    state = hashlib.blake2b(digest_size=32, person=DIGEST_PERSON)
    if kind == "range":
        update_digest(state, b"r", str(len(values)).encode())
        return state.digest()
    for value in values:
        if value is None:
            payload = b""
        elif isinstance(value, bool):
            payload = b"1" if value else b"0"
        elif isinstance(value, int):
            payload = str(value).encode()
        else:
            payload = value.encode() if isinstance(value, str) else value
        update_digest(state, _TAGS[type(value)], payload)
    return state.digest()


def update_digest(state: hashlib.blake2b, tag: bytes, payload: bytes) -> None:
    """Add one field: its type and length come first, so no two lists of fields are one text."""
    state.update(tag + len(payload).to_bytes(8, "little") + payload)


def read_domain_file(path: Path) -> list[Value]:
    """Values of a domain file: a JSON list, or one text a line with nothing stripped but the line end."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"domain file '{path}' is not UTF-8 text") from None
    except OSError as error:
        raise FileError(f"cannot read domain file '{path}': {error.strerror}") from None
    except ValueError:  # a NUL in the path
        raise FileError("the path of a domain file holds a NUL character") from None
    if path.suffix.lower() != ".json":
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        lines = [line.removesuffix("\r") for line in lines]
        if "" in lines:
            raise DomainError(f"domain file '{path}' has an empty line; use a .json file to declare the empty text")
        return list(lines)
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise DomainError(f"domain file '{path}' is not JSON: {error.msg} in line {error.lineno}") from None
    except (ValueError, RecursionError):  # an integer of thousands of digits; brackets within brackets
        raise DomainError(f"domain file '{path}' must hold one JSON list of texts, integers, booleans or null") from None
    if not isinstance(values, list):
        raise DomainError(f"domain file '{path}' must hold one JSON list")
    return values
