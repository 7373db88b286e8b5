"""Reading CSV files: every cell is text, or null where an unquoted field is empty.

The first record names the columns. Fields may be quoted and may then hold commas, quotes (doubled) and line ends; lines end
with LF, CR LF or CR; UTF-8, with or without a byte order mark. An empty line is no record, but in a file of one column, where
it is a null. No other text stands for null: ``NA`` is text. A file may be compressed with gzip or zstd.

A quote that is opened and never closed makes one field of all that is behind it: the true values of the rows that follow would
stand in a public column. Readers let that pass, so a record of dpfast's own is read behind the last one of the file; a file in
which it does not come out again is refused.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from dpfast._sources.places import Place, check_identity, damaged, decoding, reading
from dpfast._sources.written import as_written

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CERTIFICATE_SUFFIX", "CsvSource"]

# Beside NAME.csv its certificate stands in NAME.csv.dpfast.json: a table of text has no other room for it.
CERTIFICATE_SUFFIX: Final = ".dpfast.json"
# A record must fit into two blocks; several blocks are in memory at a time.
BLOCK_BYTES = 4 << 20
HEADER_BYTES_MAX: Final = 1 << 20
CODECS: Final = {"csv.gz": "gzip", "csv.zst": "zstd"}

# No text of a file; the name of no one.
_END: Final = "\x1fdpfast: end of file\x1f"

# Constant: what a broken file makes a reader say may quote its cells.
CORRUPT = (
    "is not a CSV file that can be read: its first record must name the columns, each record have as many fields, no "
    "record be longer than some MiB, each quote be closed, the text be valid UTF-8, and a compressed file be whole"
)


class CsvSource:
    """One CSV file; see `ParquetSource` for what its methods promise. The number of rows is not known before they are read."""

    def __init__(self, place: Place, kind: str = "csv") -> None:
        self.place = place
        self.rows: int | None = None
        self._codec = CODECS.get(kind)
        self._identity = place.identity()
        self._names = self._header()
        self.schema: pa.Schema = _schema(self._names)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        return None

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """The certificate that stands beside the file, or beside the file that it is a link to, if one does."""
        beside = self.place.sibling(self.place.name + CERTIFICATE_SUFFIX)
        if beside.kind() != "file":
            linked = self.place.followed()
            beside = linked.sibling(linked.name + CERTIFICATE_SUFFIX)
        if beside.kind() != "file":
            return {}
        with beside.open() as file, reading(beside):
            return {b"dpfast": file.read()}

    def batches(
        self, names: Collection[str], *, dictionaries: Collection[str] = (), repetitive: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, a block at a time; `dictionaries` as such."""
        import pyarrow as pa
        import pyarrow.csv as pacsv

        wanted = set(names)
        types = {name: pa.dictionary(pa.int32(), pa.string()) if name in dictionaries else pa.string() for name in self._names}
        options: dict[str, Any] = {
            "read_options": pacsv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False),
            # in a file of one column an empty line is a record
            "parse_options": pacsv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(self._names) > 1),
            "convert_options": pacsv.ConvertOptions(
                column_types=types,
                include_columns=[name for name in self._names if name in wanted],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=[""],
            ),
        }
        with decoding(self.place, CORRUPT), self._stream() as stream:
            if self._is_header_only:
                return
            columns = options["convert_options"].include_columns or self._names
            place = self._names.index(columns[0])
            ended = _Ended(stream, ("," * place + _END + "," * (len(self._names) - 1 - place)).encode())
            with pacsv.open_csv(pa.PythonFile(ended, "r"), **options) as reader:
                if reader.schema.names != columns:
                    raise damaged(self.place, CORRUPT)
                yield from _without_end(reader, self.place)

    def check_unchanged(self) -> None:
        """Raise `FileError` if the file is no longer the one that was opened, or was written to."""
        check_identity(self.place, self._identity)

    def _stream(self) -> Any:
        import pyarrow as pa

        file = self.place.open()
        return file if self._codec is None else pa.CompressedInputStream(file, self._codec)

    def _header(self) -> list[str]:
        """Read the first record, and whether there is nothing but it."""
        with decoding(self.place, CORRUPT), self._stream() as stream:
            start = stream.read(HEADER_BYTES_MAX).removeprefix(b"\xef\xbb\xbf")
        # a character may be cut at the end, far behind the header
        lines = io.StringIO(start.decode("utf-8", errors="replace"), newline="")
        try:
            names = next((record for record in csv.reader(lines, strict=True) if record), [])
        except csv.Error:
            raise damaged(self.place, CORRUPT) from None
        if not names or any("\ufffd" in name for name in names):
            raise damaged(self.place, CORRUPT)
        rest = lines.read()
        self._is_header_only = len(start) < HEADER_BYTES_MAX and not (rest.strip("\r\n") if len(names) > 1 else rest)
        return names


class _Ended:
    """A stream of bytes with one record more."""

    def __init__(self, stream: Any, record: bytes) -> None:
        self._stream = stream
        self._record = record
        self._last = b"\n"
        self.closed = False

    def read_buffer(self, size: int) -> pa.Buffer:
        """Up to `size` bytes, in a buffer of Arrow; none at the end."""
        import pyarrow as pa

        data: pa.Buffer = self._stream.read_buffer(size)
        if data.size:
            self._last = data.slice(data.size - 1).to_pybytes()
            return data
        # an empty line would be a record of its own in a file of one column
        line_end = b"" if self._last in b"\r\n" else b"\n"
        record, self._record = self._record, b""
        return pa.py_buffer(line_end + record + b"\n" if record else b"")

    def close(self) -> None:
        """Nothing: whoever owns the stream closes it."""


def _without_end(batches: Iterator[pa.RecordBatch], place: Place) -> Iterator[pa.RecordBatch]:
    """Yield batches without the record of `_Ended`, which must be the last one."""
    import pyarrow as pa

    last = None
    for batch in batches:
        if not batch.num_rows:
            continue
        if last is not None:
            yield last
        last = batch
    if last is None or last.column(0)[-1].as_py() != _END:
        raise damaged(place, CORRUPT)
    rest = last.slice(0, last.num_rows - 1)
    if not rest.num_rows:
        return
    first = rest.column(0)
    if pa.types.is_dictionary(first.type):  # where it came last, as the values do
        first = pa.DictionaryArray.from_arrays(first.indices, first.dictionary.slice(0, len(first.dictionary) - 1))
    yield rest.set_column(0, rest.schema.field(0), first)


def _schema(names: list[str]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([as_written(pa.field(name, pa.string())) for name in names])
