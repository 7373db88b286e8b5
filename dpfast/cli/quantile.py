"""``dpfast quantile``: a private quantile of a column of a file, or of each of its groups."""

from __future__ import annotations

import argparse
import decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpfast._text import read_json
from dpfast.cli._output import add_json, print_json, print_table, printable
from dpfast.cli._rows import FileColumn, check_names, columns_of, step_for
from dpfast.cli.plan import positive
from dpfast.cli.sanitise import add_noise, key_option, ledger_option
from dpfast.errors import ArgumentError, FileError

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfast._sources.source import Source
    from dpfast.randomness import Stream

__all__ = ["FILE", "add_numbers", "add_rows", "add_verbs", "asked", "keys_of", "numbers_of", "pair", "show", "stream_of"]

EXAMPLE = """examples:
  dpfast quantile flights.parquet --column dep_delay --bounds=-60,600 --epsilon 1
  dpfast quantile flights.parquet --column dep_delay --bounds=-60,600 --q 0.9 --epsilon 1 --by carrier --keys @carriers.txt

The answer costs epsilon, for all groups together; running the command again without a key spends it again. What is printed may be
published. Without --by the file is read in constant memory, three times. In a CSV file a cell that is no number (no date, if the
bounds are dates) counts as missing, and the default step is 1 if both bounds are integers."""

FILE = "a Parquet, CSV or Arrow file, a folder or a pattern of them"


def add_verbs(verbs: Any) -> None:
    """Add the verb to the command."""
    verb = verbs.add_parser("quantile", help="a private quantile of a column, or of its groups", epilog=EXAMPLE)
    add_numbers(verb)
    verb.add_argument(
        "--q", type=_decimal, default=decimal.Decimal("0.5"), metavar="Q", help="from 0 to 1 (default 0.5: the median)"
    )
    add_rows(verb)
    verb.set_defaults(run=_quantile, verb=verb, ids=None)


def add_numbers(verb: argparse.ArgumentParser) -> None:
    """Give a verb the options of a column of numbers."""
    verb.add_argument("--column", metavar="NAME", required=True, help="the column of numbers, dates or timestamps")
    verb.add_argument("--bounds", metavar="LOW,HIGH", required=True, type=pair, help="public; values outside are clipped")
    verb.add_argument("--step", type=number, metavar="S", help="of the grid of answers (default: 1 for integers and dates)")
    verb.add_argument(
        "--missing", type=point, metavar="V", help="under replace_one: what nulls count as (default: the lower bound)"
    )


def add_rows(verb: argparse.ArgumentParser) -> None:
    """Give a verb the options of every statistic: the file, epsilon, neighbours, groups, persons, noise."""
    verb.add_argument("file", metavar="FILE", help=FILE)
    verb.add_argument("--epsilon", type=float, required=True, metavar="E", help="what the answer spends, of all groups together")
    verb.add_argument("--neighbours", choices=("add_remove", "replace_one"), default="add_remove", help="default: add_remove")
    verb.add_argument("--by", metavar="A,B", help="columns whose values make the groups")
    verb.add_argument(
        "--keys", metavar="KEY", nargs="+", help="the public groups, or @FILE: one text a line, or JSON; of several columns A,B"
    )
    verb.add_argument("--public-groups", action="store_true", help="under replace_one: the group of each row is public")
    verb.add_argument(
        "--rows-per-person", type=positive, default=1, metavar="N", help="rows that one person may have (default 1)"
    )
    verb.add_argument("--person", metavar="NAME", help="column that identifies a person, of whom N rows are kept")
    add_noise(verb)
    verb.add_argument("--ledger", metavar="FILE", help="charge this ledger first, which refuses what exceeds its cap")
    verb.add_argument("--threads", type=positive, metavar="N", help="number of threads; the result does not depend on it")
    add_json(verb)


def _decimal(text: str) -> decimal.Decimal:
    try:
        return decimal.Decimal(text)
    except decimal.InvalidOperation:
        raise argparse.ArgumentTypeError("must be a number") from None


def number(text: str) -> int | decimal.Decimal:
    """A number as it is written: 0.1 is one tenth."""
    found = _decimal(text)
    return int(found) if text.strip().lstrip("+-").isdecimal() else found


def point(text: str) -> Any:
    """A number, a date or a time."""
    import datetime

    try:
        return number(text)
    except argparse.ArgumentTypeError:
        pass
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        pass
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be a number, a date (2026-11-30) or a time (2026-11-30T12:00)") from None


def pair(text: str) -> tuple[Any, Any]:
    """Two of them, as bounds."""
    parts = text.split(",")
    if len(parts) != 2:
        raise argparse.ArgumentTypeError("must be two values with a comma between them, as --bounds=-60,600")
    return point(parts[0]), point(parts[1])


def _quantile(options: argparse.Namespace) -> int:
    from dpfast.duff.selection import quantile

    request = asked(options)
    found = quantile(q=options.q, **numbers_of(options, request.file), **request.arguments)
    show(options, request.keys, found, title=f"{options.column}, q = {options.q}", more={"q": float(options.q)})
    return 0


class Asked(NamedTuple):
    """What the options of every statistic ask for."""

    file: Source
    columns: dict[str, pa.ChunkedArray]  # in memory
    keys: list[Any] | None
    arguments: dict[str, Any]  # of the function of the statistic, but for those of its column


def asked(options: argparse.Namespace, *held: str) -> Asked:
    """Open the file and read the columns of groups and persons, and those named `held`."""
    from dpfast._sources.source import open_source

    key = key_option(options)
    if (options.by is None) != (options.keys is None):
        options.verb.error("--by and --keys go together: list the groups that are to be answered")
    names = options.by.split(",") if options.by else []
    file = open_source(options.file)
    check_names(file, [options.column])
    columns = columns_of(file, [*held, *names, *([options.person] if options.person else [])])
    keys = keys_of(options.keys, [columns[name].type for name in names], "--keys") if names else None
    arguments = {
        "epsilon": options.epsilon,
        "neighbours": options.neighbours,
        "by": None if not names else columns[names[0]] if len(names) == 1 else tuple(columns[name] for name in names),
        "keys": keys,
        "public_groups": options.public_groups,
        "rows_per_person": options.rows_per_person,
        "person": columns[options.person] if options.person else None,
        "column_name": options.column,
        "rng": stream_of(options, key, file),
        "threads": options.threads,
        "ledger": ledger_option(options.ledger),
    }
    return Asked(file, columns, keys, arguments)


def numbers_of(options: argparse.Namespace, file: Source) -> dict[str, Any]:
    """The arguments that say what the column of numbers is."""
    return {
        "values": FileColumn(file, options.column, options.bounds),
        "bounds": options.bounds,
        "step": step_for(file, options.column, options.bounds, options.step),
        "missing": options.missing,
    }


def stream_of(options: argparse.Namespace, key: bytes | None, source: Source) -> Stream:
    """Where the noise comes from."""
    from dpfast.randomness import Stream

    if options.insecure_seed is not None:
        return Stream.insecure(options.insecure_seed)
    if key is None:
        return Stream()
    # a retry on the same file gives the same answer, another file never shares its noise
    return Stream(key=key, context=options.context).bind_source(source.digest())


def keys_of(words: list[str], kinds: list[pa.DataType], option: str) -> list[Any]:
    """What an option lists, as values of the types of their columns."""
    if len(words) == 1 and words[0].startswith("@"):
        try:
            text = Path(words[0][1:]).read_text(encoding="utf-8")
        except OSError as error:
            raise FileError(f"{option}: cannot read the file: {error.strerror}") from None
        except UnicodeDecodeError:
            raise FileError(f"{option}: the file is not UTF-8 text") from None
        words = _listed(text, option) if words[0].endswith(".json") else text.splitlines()
    if len(kinds) == 1:
        return [_key(word, kinds[0], option) for word in words]
    cells = [word.split(",") if isinstance(word, str) else word for word in words]
    if not all(isinstance(cell, list) and len(cell) == len(kinds) for cell in cells):
        raise ArgumentError(f"{option}: each key has one value for each column of --by, with commas between them")
    return [tuple(_key(part, kind, option) for part, kind in zip(cell, kinds, strict=True)) for cell in cells]


def _listed(text: str, option: str) -> list[Any]:
    try:
        found = read_json(text)
    except ValueError:
        found = None
    if not isinstance(found, list):
        raise ArgumentError(f"{option}: the file holds no JSON list")
    return found


def _key(word: Any, kind: pa.DataType, option: str) -> Any:
    import pyarrow.types as t

    kind = kind.value_type if t.is_dictionary(kind) else kind
    if not t.is_integer(kind) or not isinstance(word, str):
        return word
    try:
        return int(word)
    except ValueError:
        raise ArgumentError(f"{option}: the column holds integers") from None


def show(options: argparse.Namespace, keys: list[Any] | None, found: Any, *, title: str, more: dict[str, Any]) -> None:
    """Print the answer, or those of the groups; `more` is what JSON says of the statistic."""
    answers = [found] if keys is None else list(found)
    plain = [answer.item() if hasattr(answer, "item") and answer.dtype.kind not in "Mm" else answer for answer in answers]
    shown = [answer if isinstance(answer, (int, float, str)) else str(answer) for answer in plain]
    if options.json:
        head = {"column": options.column, **more, "epsilon": options.epsilon, "neighbours": options.neighbours}
        rest = {"answer": shown[0]} if keys is None else {"by": options.by.split(","), "keys": keys, "answers": shown}
        print_json(head | {"rows_per_person": options.rows_per_person} | rest)
        return
    if keys is None:
        print(shown[0])
        return
    labels = [key if isinstance(key, tuple) else (key,) for key in keys]
    rows = [(*map(printable, label), str(answer)) for label, answer in zip(labels, shown, strict=True)]
    print_table([*options.by.split(","), title], rows, labels=len(labels[0]))
