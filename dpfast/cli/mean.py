"""``dpfast mean``: a private mean of a column of a file, or of each of its groups."""

from __future__ import annotations

import argparse
from typing import Any

from dpfast.cli._rows import FileColumn, columns_of, step_for
from dpfast.cli.quantile import FILE, add_rows, keys_of, number, pair, point, show, stream_of
from dpfast.cli.sanitise import key_option, ledger_option

__all__ = ["add_verbs"]

EXAMPLE = """examples:
  dpfast mean flights.parquet --column dep_delay --bounds=-60,600 --step 0.01 --epsilon 1
  dpfast mean flights.parquet --column dep_delay --bounds=-60,600 --epsilon 1 --by carrier --keys @carriers.txt

The answer costs epsilon, for all groups together; running the command again without a key spends it again. What is printed may be
published. The column is held in memory."""


def add_verbs(verbs: Any) -> None:
    """Add the verb to the command."""
    verb = verbs.add_parser("mean", help="a private mean of a column, or of its groups", epilog=EXAMPLE)
    verb.add_argument("file", metavar="FILE", help=FILE)
    verb.add_argument("--column", metavar="NAME", required=True, help="the column of numbers, dates or timestamps")
    verb.add_argument("--bounds", metavar="LOW,HIGH", required=True, type=pair, help="public bounds; values outside are clipped")
    verb.add_argument("--epsilon", type=float, required=True, metavar="E", help="what the answer spends, of all groups together")
    verb.add_argument("--step", type=number, metavar="S", help="of the grid of answers (default: 1 for integers and dates)")
    verb.add_argument(
        "--missing", type=point, metavar="V", help="under replace_one: what nulls count as (default: the lower bound)"
    )
    add_rows(verb)
    verb.set_defaults(run=_mean, verb=verb, ids=None)


def _mean(options: argparse.Namespace) -> int:
    from dpfast._sources.source import open_source
    from dpfast.duff.mean import mean

    key = key_option(options)
    if (options.by is None) != (options.keys is None):
        options.verb.error("--by and --keys go together: list the groups that are to be answered")
    names = options.by.split(",") if options.by else []
    file = open_source(options.file)
    columns = columns_of(file, [*names, *([options.person] if options.person else [])])
    keys = keys_of(options.keys, [columns[name].type for name in names]) if names else None
    found = mean(
        FileColumn(file, options.column, options.bounds),
        bounds=options.bounds,
        epsilon=options.epsilon,
        neighbours=options.neighbours,
        step=step_for(file, options.column, options.bounds, options.step),
        missing=options.missing,
        by=None if not names else columns[names[0]] if len(names) == 1 else tuple(columns[name] for name in names),
        keys=keys,
        public_groups=options.public_groups,
        rows_per_person=options.rows_per_person,
        person=columns[options.person] if options.person else None,
        column_name=options.column,
        rng=stream_of(options, key, file),
        threads=options.threads,
        ledger=ledger_option(options.ledger),
    )
    show(options, keys, found, title=f"mean of {options.column}", more={"statistic": "mean"})
    return 0
