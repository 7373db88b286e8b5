"""Columns of a file, a folder or a pattern of files, as the statistics take them.

The cells of CSV files and of the names of folders are text. Where a number, a date or a time is wanted, the public bounds say
which of them; a cell that is none of that kind counts as missing, as an empty one does.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from dpfast._text import did_you_mean
from dpfast.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    import pyarrow as pa

    from dpfast._sources.source import Source

__all__ = ["FileColumn", "check_names", "columns_of", "integers_of", "step_for"]


def check_names(source: Source, names: Iterable[str]) -> None:
    """Refuse what is no column."""
    for name in names:
        if name not in source.schema.names:
            raise ArgumentError(f"the file has no column named {name!r}{did_you_mean(name, source.schema.names)}")


def columns_of(source: Source, names: Iterable[str]) -> dict[str, pa.ChunkedArray]:
    """Columns in memory; those of CSV files are text."""
    import pyarrow as pa

    names = list(dict.fromkeys(names))
    check_names(source, names)
    batches = list(source.batches(names)) if names else []
    types = {name: source.schema.field(name).type for name in names}
    return {name: pa.chunked_array([batch.column(name).cast(kind) for batch in batches], kind) for name, kind in types.items()}


class FileColumn:
    """One column of numbers, dates or times as an iterable of Arrow arrays, read anew each time."""

    def __init__(self, source: Source, name: str, bounds: Any) -> None:
        from dpfast._sources.written import is_written
        from dpfast.duff.grid import type_of_bounds

        check_names(source, [name])
        self._source, self._name = source, name
        self._kind = source.schema.field(name).type
        self._written = type_of_bounds(bounds) if is_written(source.schema.field(name)) else None

    def __iter__(self) -> Iterator[pa.Array]:
        import pyarrow as pa

        yield self._typed(pa.array([], self._kind))
        for batch in self._source.batches([self._name]):
            yield self._typed(batch.column(self._name).cast(self._kind))

    def _typed(self, column: pa.Array) -> pa.Array:
        if self._written is None:
            return column
        return _times(column, self._written) if self._written.kind == "M" else _numbers(column)


def step_for(source: Source, name: str, bounds: Any, step: Any) -> Any:
    """The step, which for written numbers between bounds that are integers is 1 if none is given."""
    from dpfast._sources.written import is_written
    from dpfast.duff.grid import type_of_bounds

    check_names(source, [name])
    is_whole = step is None and is_written(source.schema.field(name)) and type_of_bounds(bounds).kind == "i"
    return 1 if is_whole else step


def _numbers(texts: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    from dpfast._sources.written import NUMBER

    known = pc.match_substring_regex(texts, NUMBER).fill_null(False)
    return pc.if_else(known, texts, None).cast(pa.float64())


def _times(texts: pa.Array, kind: np.dtype[Any]) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    found = texts.dictionary_encode()
    values = np.array([_time(text) for text in found.dictionary.to_pylist()], kind)
    of_type = pa.array(values, pa.date32() if kind == np.dtype("M8[D]") else None)
    return of_type.take(found.indices)


def _time(text: str) -> datetime.datetime | None:
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is None else moment.astimezone(datetime.UTC).replace(tzinfo=None)


def integers_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of integers, also where they are written; null where a cell is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from dpfast._sources.written import INTEGER

    if not pa.types.is_string(column.type):
        return column
    known = pc.match_substring_regex(column, INTEGER).fill_null(False)
    return pc.if_else(known, column, None).cast(pa.int64())
