"""DuckDB relations: the answers back into a connection, with the types that DuckDB has for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["relation_of"]


def relation_of(connection: Any, answers: pa.Table) -> Any:
    """Return sanitised rows as a relation of a DuckDB connection.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Of its own result; a relation does not tell which connection it belongs to.
    answers : pyarrow.Table
        Columns of dictionaries of text become enumerations again, of all entries in order.

    Returns
    -------
    duckdb.DuckDBPyRelation
        It reads `answers`, which holds noise already drawn: run again, it gives the same rows.
    """
    return connection.from_arrow(answers).project(
        ", ".join(_projected(answers.column(name), name) for name in answers.column_names)
    )


def _projected(column: pa.ChunkedArray, name: str) -> str:
    import pyarrow as pa

    quoted = '"' + name.replace('"', '""') + '"'
    if not pa.types.is_dictionary(column.type) or not column.num_chunks:
        return quoted
    values = column.chunk(0).dictionary.to_pylist()
    if not all(isinstance(value, str) for value in values):
        return quoted
    listed = ", ".join("'" + value.replace("'", "''") + "'" for value in values)
    return f"CAST({quoted} AS ENUM ({listed})) AS {quoted}"
