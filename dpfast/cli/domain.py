"""``dpfast domain``: draft the list of values of a column from a data file, for a person to go through."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from dpfast._text import did_you_mean
from dpfast.cli._output import printable
from dpfast.errors import ArgumentError, ArgumentTypeError, FileError, PolicyError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["add_verbs"]

# A column with more values is no category; the draft would be a copy of the data.
VALUES_MAX = 100_000

EXAMPLE = """example:
  dpfast domain flights.parquet --column carrier --output carriers.txt

The draft is PRIVATE: a value that one person alone has tells that the person is in the data. Go through it before you use it:
take out what the public does not know, add what might occur, and keep it away from the release until then."""

WARNING = """PRIVATE DRAFT. This list was drawn from private data and is itself private: which values occur, and that others
do not, tells about the people in the data, and no epsilon covers it. Before a policy uses it, replace it by what is publicly
known: a code list, a standard, the form that was filled in. Take out rare values (other= or unknown= take them in), add those
that might occur."""


def add_verbs(verbs: Any) -> None:
    """Add the verb to the command."""
    verb = verbs.add_parser("domain", help="draft a domain file from private data", epilog=EXAMPLE)
    verb.add_argument("file", metavar="FILE", help="a file, folder, pattern or address: Parquet, CSV or Arrow IPC")
    verb.add_argument("--column", metavar="NAME", required=True, help="the column")
    verb.add_argument("--output", metavar="PATH", help="write here (mode 0600) instead of printing; .json or one text a line")
    verb.set_defaults(run=_domain)


def _domain(options: argparse.Namespace) -> int:
    values = _values(options.file, options.column)
    as_json = options.output.lower().endswith(".json") if options.output else not _fits_lines(values)
    if not as_json and not _fits_lines(values):
        raise ArgumentError("these values are no texts of one line each; give --output a name that ends in .json")
    print(f"dpfast: WARNING: {WARNING}", file=sys.stderr)
    if options.output is None:
        # a terminal is never steered by a value; a file or a pipe gets the values as they are
        shown = [printable(value) for value in values] if sys.stdout.isatty() and not as_json else values
        print(_text(shown, as_json=as_json), end="")
        return 0
    _write(options.output, _text(values, as_json=as_json))
    print(f"{len(values)} values in {options.output!r}", file=sys.stderr)
    return 0


def _values(path: str, name: str) -> list[Any]:
    """Distinct values of a column, sorted: their order in the data is no one's business. Null, where it occurs, last."""
    import pyarrow.compute as pc

    from dpfast._sources.source import open_source

    found: set[Any] = set()
    file = open_source(path)
    if name not in file.schema.names:
        raise PolicyError(f"the file has no column named {name!r}{did_you_mean(name, file.schema.names)}")
    _check_type(file.schema.field(name).type, name)
    for batch in file.batches([name], dictionaries=[name]):
        found.update(pc.unique(batch.column(name)).to_pylist())
        if len(found) > VALUES_MAX:
            raise ArgumentError(f"column {name!r} has more than {VALUES_MAX} values; it is no category")
    return [*sorted(value for value in found if value is not None), *([None] if None in found else [])]


def _check_type(column_type: pa.DataType, name: str) -> None:
    import pyarrow.types as t

    values = column_type.value_type if t.is_dictionary(column_type) else column_type
    if t.is_floating(values):
        raise ArgumentTypeError(
            f"column {name!r} holds numbers with fractions; declare public cut points, edges = [...], instead"
        )
    if not (t.is_string(values) or t.is_large_string(values) or t.is_integer(values) or t.is_boolean(values)):
        raise ArgumentTypeError(f"column {name!r} has type {column_type}; a domain file holds texts, integers or booleans")


def _fits_lines(values: list[Any]) -> bool:
    """Whether a file of one text a line can hold the values; it has no null."""
    return all(isinstance(value, str) and value and "\n" not in value and not value.endswith("\r") for value in values)


def _text(values: list[Any], *, as_json: bool) -> str:
    if as_json:
        return json.dumps(values, indent=1, ensure_ascii=not all(_is_plain(value) for value in values)) + "\n"
    return "".join(f"{value}\n" for value in values)


def _is_plain(value: object) -> bool:
    return not isinstance(value, str) or value.isprintable()


def _write(path: str, text: str) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise FileError(f"cannot write the draft {path!r}: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        os.unlink(path)  # half a list looks like a whole one
        raise FileError(f"cannot write the draft {path!r}: {error.strerror}") from None
