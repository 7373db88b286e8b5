"""Tables of pandas and polars as a policy sees them: names, columns, and a table of the same kind from the answers.

Only the columns that are answered are made anew; the others are the memory of the table, and stand where they stood.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from dpfast.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["TABLES", "Frame", "as_frame", "is_relation", "open_stream", "values_at"]

TABLES: Final = (
    "a pyarrow Table, RecordBatch or RecordBatchReader, a pandas DataFrame, a polars DataFrame or LazyFrame, a DuckDB relation, "
    "or have __arrow_c_stream__"
)


class Frame(Protocol):
    """A table that is not Arrow's."""

    @property
    def names(self) -> list[Any]:
        """Names of the columns, in order."""

    @property
    def num_rows(self) -> int:
        """Of a table that is loaded."""

    def column(self, name: Any) -> Any:
        """The column of a name."""

    def empty(self) -> Frame:
        """A table of the same columns without rows."""

    def load(self, names: Iterable[Any]) -> Frame:
        """The table with the values of at least these columns."""

    def check(self, public: Mapping[Any, bool]) -> None:
        """Refuse what the policy cannot see; `public` says of each name that has a rule whether that lets it pass."""

    def rebuild(self, kept: Sequence[Any], answers: Mapping[Any, Any]) -> Any:
        """A table of these columns, with the answers in their places."""


def as_frame(table: Any) -> Frame | None:
    """Return a pandas or polars table as a frame, else None. Imports neither."""
    frames: dict[tuple[str, str], Callable[[Any], Frame]] = {
        ("pandas", "DataFrame"): _PandasFrame,
        ("polars", "DataFrame"): _PolarsFrame,
        ("polars", "LazyFrame"): _LazyFrame,
    }
    for (package, name), make in frames.items():
        kind = getattr(sys.modules.get(package), name, None)
        if kind is not None and isinstance(table, kind):
            return make(table)
    return None


def is_relation(table: Any) -> bool:
    """Whether it is a DuckDB relation; asked by name, as DuckDB need not be there."""
    kind = type(table)
    return kind.__name__ == "DuckDBPyRelation" and kind.__module__.partition(".")[0] in ("duckdb", "_duckdb")


def open_stream(table: Any) -> pa.RecordBatchReader | None:
    """Return the batches of whatever has the Arrow interface of streams; None for anything else, and for a single column."""
    import pyarrow as pa

    if not hasattr(type(table), "__arrow_c_stream__"):
        return None
    try:
        return pa.RecordBatchReader.from_stream(table)
    except pa.ArrowException:
        return None


def values_at(column: Any, rows: NDArray[Any]) -> list[object]:
    """Return some values of a pandas or polars column as Python objects; every kind of null is None. Private."""
    if type(column).__module__.startswith("polars"):
        return list(column.gather(rows.astype(np.uint32)).to_list())
    part = column.iloc[rows]
    return [None if null else value for value, null in zip(part.tolist(), part.isna(), strict=True)]


class _PandasFrame:
    def __init__(self, table: pd.DataFrame) -> None:
        self._table = table

    @property
    def names(self) -> list[Any]:
        if self._table.columns.nlevels > 1:
            raise PolicyError("the table has column names of several levels; a policy knows names of one: flatten them first")
        return list(self._table.columns)

    @property
    def num_rows(self) -> int:
        return len(self._table)

    def column(self, name: Any) -> pd.Series:
        return self._table.iloc[:, self._table.columns.get_loc(name)]

    def empty(self) -> _PandasFrame:
        return _PandasFrame(self._table.iloc[:0])

    def load(self, names: Iterable[Any]) -> _PandasFrame:
        return self

    def check(self, public: Mapping[Any, bool]) -> None:
        for level in self._table.index.names:
            if not public.get(level, True):
                raise PolicyError(
                    f"the index has a level named {level!r}, which the policy does not let pass; the index is kept, so call "
                    "reset_index() first"
                )

    def rebuild(self, kept: Sequence[Any], answers: Mapping[Any, Any]) -> pd.DataFrame:
        pandas = sys.modules["pandas"]
        # by place and not by name, and without a copy: what passes is the memory of the table
        columns = [answers[name] if name in answers else self.column(name) for name in kept]
        result = pandas.DataFrame(dict(enumerate(columns)), index=self._table.index, copy=False)
        result.columns = self._table.columns[[self._table.columns.get_loc(name) for name in kept]]
        return result


class _PolarsFrame:
    def __init__(self, table: pl.DataFrame) -> None:
        self._table = table

    @property
    def names(self) -> list[str]:
        return self._table.columns

    @property
    def num_rows(self) -> int:
        return self._table.height

    def column(self, name: str) -> pl.Series:
        return self._table.get_column(name)

    def empty(self) -> _PolarsFrame:
        return _PolarsFrame(self._table.clear())

    def load(self, names: Iterable[str]) -> _PolarsFrame:
        return self

    def check(self, public: Mapping[Any, bool]) -> None:
        return None

    def rebuild(self, kept: Sequence[str], answers: Mapping[str, pl.Series]) -> pl.DataFrame:
        return self._table.select(list(kept)).with_columns(list(answers.values()))


class _LazyFrame(_PolarsFrame):
    """A query, planned by its schema and run once: run again, it might give other rows."""

    def __init__(self, query: pl.LazyFrame) -> None:
        super().__init__(query.collect_schema().to_frame())
        self._query = query

    def load(self, names: Iterable[str]) -> _PolarsFrame:
        wanted = set(names)
        return _PolarsFrame(self._query.select([name for name in self.names if name in wanted]).collect())
