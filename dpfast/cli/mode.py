"""``dpfast mode``: the most frequent label of a column of a file, privately, or that of each of its groups."""

from __future__ import annotations

import argparse
from typing import Any

from dpfast.cli._rows import columns_of
from dpfast.cli.quantile import FILE, add_rows, keys_of, show, stream_of
from dpfast.cli.sanitise import key_option, ledger_option

__all__ = ["add_verbs"]

EXAMPLE = """examples:
  dpfast mode flights.parquet --column carrier --domain @carriers.txt --epsilon 1
  dpfast mode flights.parquet --column dest --domain @destinations.txt --epsilon 1 --by origin --keys EWR JFK LGA

Labels that the domain does not list are not counted. The answer costs epsilon, for all groups together; running the command again
without a key spends it again. What is printed may be published."""


def add_verbs(verbs: Any) -> None:
    """Add the verb to the command."""
    verb = verbs.add_parser("mode", help="the most frequent label of a column, or of its groups", epilog=EXAMPLE)
    verb.add_argument("file", metavar="FILE", help=FILE)
    verb.add_argument("--column", metavar="NAME", required=True, help="the column of labels")
    verb.add_argument(
        "--domain", metavar="LABEL", nargs="+", required=True, help="the public labels, or @FILE: one text a line, or JSON"
    )
    verb.add_argument("--epsilon", type=float, required=True, metavar="E", help="what the answer spends, of all groups together")
    add_rows(verb)
    verb.set_defaults(run=_mode, verb=verb, ids=None)


def _mode(options: argparse.Namespace) -> int:
    from dpfast._sources.source import open_source
    from dpfast.duff.mode import mode

    key = key_option(options)
    if (options.by is None) != (options.keys is None):
        options.verb.error("--by and --keys go together: list the groups that are to be answered")
    names = options.by.split(",") if options.by else []
    file = open_source(options.file)
    columns = columns_of(file, [options.column, *names, *([options.person] if options.person else [])])
    keys = keys_of(options.keys, [columns[name].type for name in names]) if names else None
    found = mode(
        columns[options.column],
        domain=keys_of(options.domain, [columns[options.column].type]),
        epsilon=options.epsilon,
        neighbours=options.neighbours,
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
    show(options, keys, found, title=f"mode of {options.column}", more={"statistic": "mode"})
    return 0
