"""What names of files and folders say: the format of a file, what is hidden, and the columns of a partitioned folder."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote

from dpfast.errors import FileError

__all__ = ["FORMATS", "OTHER_FORMATS", "file_format", "is_hidden", "is_pattern", "matches", "partition_of"]

# The format of a file by the end of its name; and what a target of that name is written as.
SUFFIXES: Final = {
    ".parquet": "parquet",
    ".parq": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv.gz",
    ".csv.zst": "csv.zst",
    ".arrow": "ipc",
    ".ipc": "ipc",
    ".feather": "ipc",
    ".arrows": "arrows",
}
FORMATS: Final = frozenset(SUFFIXES.values())
# Ends that promise a format which is neither read nor written.
OTHER_FORMATS: Final = frozenset(".tsv .txt .json .jsonl .ndjson .orc .avro .xlsx .gz .zip .zst .bz2 .lz4 .xz .7z".split())
NULL_PARTITION: Final = "__HIVE_DEFAULT_PARTITION__"


def file_format(name: str) -> str | None:
    """Return the format that the end of a name stands for, in whatever case; None if it stands for none."""
    lower = PurePosixPath(name).name.lower()
    fitting = [suffix for suffix in SUFFIXES if lower.endswith(suffix)]
    return SUFFIXES[max(fitting, key=len)] if fitting else None


def is_hidden(name: str) -> bool:
    """Whether a relative path is not data by its name: a part starts with a dot, or with _ unless it is ``_key=value``."""
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in name.split("/"))


def is_pattern(path: str) -> bool:
    """Whether a path holds a wildcard."""
    return any(sign in path for sign in "*?[")


def matches(name: str, pattern: str) -> bool:
    """Whether a relative path fits a pattern: ``*``, ``?`` and ``[…]`` within a part, ``**`` for any number of parts."""
    return _matches(name.split("/"), pattern.split("/"))


def _matches(parts: list[str], pattern: list[str]) -> bool:
    from fnmatch import fnmatchcase

    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[skipped:], pattern[1:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def partition_of(name: str) -> dict[str, str | None]:
    """Return the columns that the folders of a relative path spell as ``key=value``, outermost first.

    Keys and values may be written with % escapes; the null of Hive is None.
    """
    found: dict[str, str | None] = {}
    for part in name.split("/")[:-1]:
        key, equals, value = part.partition("=")
        if not equals or not key:
            continue
        key = unquote(key)
        if key in found:
            raise FileError(f"the names of folders spell the column {key!r} twice")
        found[key] = None if value == NULL_PARTITION else unquote(value)
    return found


def are_integers(values: list[str | None]) -> bool:
    """Whether all values but nulls are 64-bit integers as they are commonly written: no sign but -, no leading zero."""
    texts = [value for value in values if value is not None]
    return bool(texts) and all(
        re.fullmatch(r"0|-?[1-9][0-9]{0,18}", text) and -(1 << 63) <= int(text) < 1 << 63 for text in texts
    )
