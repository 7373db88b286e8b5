"""``dpfast mode``: the most frequent label of a column of a file, privately, or that of each of its groups."""

from __future__ import annotations

import argparse
from typing import Any

from dpfast.cli.quantile import add_rows, asked, keys_of, show

__all__ = ["add_verbs"]

EXAMPLE = """examples:
  dpfast mode flights.parquet --column carrier --domain @carriers.txt --epsilon 1
  dpfast mode flights.parquet --column dest --domain @destinations.txt --epsilon 1 --by origin --keys EWR JFK LGA

Labels that the domain does not list are not counted. The answer costs epsilon, for all groups together; running the command again
without a key spends it again. What is printed may be published."""


def add_verbs(verbs: Any) -> None:
    """Add the verb to the command."""
    verb = verbs.add_parser("mode", help="the most frequent label of a column, or of its groups", epilog=EXAMPLE)
    verb.add_argument("--column", metavar="NAME", required=True, help="the column of labels")
    verb.add_argument(
        "--domain", metavar="LABEL", nargs="+", required=True, help="the public labels, or @FILE: one text a line, or JSON"
    )
    add_rows(verb)
    verb.set_defaults(run=_mode, verb=verb, ids=None)


def _mode(options: argparse.Namespace) -> int:
    from dpfast.duff.mode import mode

    request = asked(options, options.column)
    labels = request.columns[options.column]
    found = mode(labels, domain=keys_of(options.domain, [labels.type], "--domain"), **request.arguments)
    show(options, request.keys, found, title=f"mode of {options.column}", more={"statistic": "mode"})
    return 0
