"""Writing CSV: UTF-8, commas, LF, a header; a field is quoted only where it has to be.

A null is an empty field, an empty text a pair of quotes. Numbers, dates and times are written as Arrow writes them, floats
with as few digits as tell them apart. The same value is written the same way whatever stands around it, so the bytes do not
depend on batches.
"""

from __future__ import annotations

import gzip
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self, cast

import numpy as np

from dpfast._schema import plain_type
from dpfast.errors import PolicyError
from dpfast.etl.formats.sink import OpenSink
from dpfast.etl.jobs import Background, writing
from dpfast.etl.plan import FilePlan

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CsvTarget"]

_SPECIAL: Final = (b'"', b",", b"\n", b"\r")
# Arrow takes level 9: eight times as long, for a tenth of the size.
GZIP_LEVEL: Final = 6


class CsvTarget:
    """Writes batches as they come.

    Parameters
    ----------
    sink : binary file
        Where the bytes go; it is not closed.
    plan : FilePlan
        Gives the schemas.
    kind : {"csv", "csv.gz", "csv.zst"}

    Raises
    ------
    PolicyError
        If a column has a type that is not written as text, such as bytes or lists.
    """

    def __init__(self, sink: BinaryIO, plan: FilePlan, kind: str) -> None:
        import pyarrow as pa

        for field in plan.declared:
            if not _is_writable(plain_type(field.type)):
                raise PolicyError(
                    f"column {field.name!r} has type {field.type}, which a CSV file cannot hold; drop it, or write Parquet"
                )
        self._plan = plan
        self._sink = OpenSink(sink)
        self._file: Any = self._sink
        if kind == "csv.gz":  # without a name and a time, which a header of gzip has room for
            self._file = gzip.GzipFile("", "wb", GZIP_LEVEL, cast(BinaryIO, self._sink), mtime=0)
        elif kind == "csv.zst":
            self._file = pa.CompressedOutputStream(pa.PythonFile(self._sink, "w"), "zstd")
        with writing():
            self._file.write(_header(plan.declared.names))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._sink.abandon()

    def add(self, batch: pa.RecordBatch, behind: Background) -> None:
        """Take the next rows and hand them to `behind`."""
        behind.submit(self._write, batch)

    def finish(self, behind: Background) -> None:
        """Wait for the last rows, and end the compressed stream."""
        behind.wait()
        with writing():
            self._file.close()

    def _write(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        columns, is_bare = [], True
        for column in batch.columns:
            texts, bare = _texts(column)
            columns.append(texts)
            is_bare = is_bare and bare
        data = _plain_rows(columns, batch.schema.names) if is_bare else _quoted_rows(columns)
        with writing():
            self._file.write(data)


def _is_writable(data_type: pa.DataType) -> bool:
    import pyarrow.types as t

    texts = t.is_string(data_type) or t.is_large_string(data_type) or t.is_string_view(data_type) or t.is_null(data_type)
    numbers = t.is_integer(data_type) or t.is_floating(data_type) or t.is_decimal(data_type) or t.is_boolean(data_type)
    return bool(texts or numbers or t.is_date(data_type) or t.is_time(data_type) or t.is_timestamp(data_type))


def _header(names: list[str]) -> bytes:
    fields = ['"' + name.replace('"', '""') + '"' if not name or set(name) & set('",\n\r') else name for name in names]
    return (",".join(fields) + "\n").encode()


def _texts(column: pa.Array) -> tuple[pa.Array, bool]:
    """Return a column as text, its fields quoted where they have to be, and whether none has to."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        entries, bare = _texts(column.dictionary)
        return entries.take(column.indices), bare
    is_text = column.type in (pa.string(), pa.large_string(), pa.string_view())
    texts = column.cast(pa.string()) if column.type != pa.large_string() else column
    if not is_text or not _may_need_quotes(texts):
        return texts, True
    return _quoted(texts), False


def _may_need_quotes(texts: pa.Array) -> bool:
    """Whether a field of a column, or a neighbour of it in memory, holds what must be quoted, or nothing at all."""
    import pyarrow as pa

    offsets = np.frombuffer(texts.buffers()[1], np.int64 if texts.type == pa.large_string() else np.int32)
    offsets = offsets[texts.offset : texts.offset + len(texts) + 1]
    empty = int((offsets[1:] == offsets[:-1]).sum())
    data = texts.buffers()[2]
    content = b"" if data is None else data[int(offsets[0]) : int(offsets[-1])].to_pybytes()
    return empty > texts.null_count or any(sign in content for sign in _SPECIAL)


def _quoted(texts: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    needed = pc.match_substring_regex(texts, '[",\n\r]|^$')
    inside = pc.replace_substring(texts, '"', '""')
    marks = inside.cast(texts.type)
    return pc.if_else(needed, pc.binary_join_element_wise(_like('"', texts), marks, _like('"', texts), _like("", texts)), texts)


def _like(text: str, texts: pa.Array) -> pa.Scalar:
    import pyarrow as pa

    return pa.scalar(text, texts.type)


def _plain_rows(columns: list[pa.Array], names: list[str]) -> Any:
    """Rows of fields none of which is quoted: what the writer of Arrow does fastest."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    rows = pa.BufferOutputStream()
    options = pacsv.WriteOptions(include_header=False, quoting_style="none", batch_size=1 << 14)
    pacsv.write_csv(pa.RecordBatch.from_arrays(columns, names=list(map(str, range(len(names))))), rows, options)
    return rows.getvalue()


def _quoted_rows(columns: list[pa.Array]) -> Any:
    """Rows of fields that are quoted already: joined, they lie one behind the other in memory."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fields = [column.cast(pa.large_string()) for column in columns]
    ends = pc.binary_join_element_wise(
        fields[-1].fill_null(""), pa.scalar("\n", pa.large_string()), pa.scalar("", pa.large_string())
    )
    how = {"null_handling": "replace", "null_replacement": ""}
    rows = pc.binary_join_element_wise(*fields[:-1], ends, pa.scalar(",", pa.large_string()), **how)
    return rows.buffers()[2]
