"""Metadata of a source that a target keeps: what the caller names, one by one, and nothing that programs drew from data."""

from __future__ import annotations

from typing import Final

from dpfast._sources.source import Source
from dpfast.errors import ArgumentError, ArgumentTypeError, FileError

__all__ = ["kept_metadata"]

# What writers note of the data themselves: types, indexes, numbers of categories, bounds.
_OF_WRITERS: Final = ("arrow:", "parquet:", "pandas", "polars", "dpfast", "org.apache.spark.", "huggingface", "geo")


def kept_metadata(source: Source, names: object, targets: set[str]) -> dict[bytes, bytes]:
    """Return the metadata of a source under some names.

    Parameters
    ----------
    source : Source
    names : tuple of str
    targets : set of str
        The formats that are written.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If `names` are none, one is that of a writer of files, or a format holds no metadata.
    FileError
        If a file has no metadata of such a name, or the files have different ones.
    """
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise ArgumentTypeError("metadata must be a tuple of names")
    if not names:
        return {}
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ArgumentError(f"metadata names {twice[0]!r} twice")
    for name in names:
        if not name or name.lower().startswith(_OF_WRITERS):
            raise ArgumentError(f"metadata: {name!r} is written by programs from the data, or by dpfast, and is never kept")
    if any(target.startswith("csv") for target in targets):
        raise ArgumentError("metadata: a CSV file holds none; write Parquet or Arrow IPC, or keep none")
    kept: dict[bytes, bytes] = {}
    for file in source.files:
        with file.open() as reader:
            found = reader.metadata
        for key in (name.encode() for name in names):
            if key not in found:
                raise FileError(f"metadata: {file.name or 'the source'!r} has none of the name {key.decode()!r}")
            if kept.setdefault(key, found[key]) != found[key]:
                raise FileError(f"metadata: the files have different {key.decode()!r}; keep none of it")
    return kept
