"""``dpfast mean``: a private mean of a column of a file, or of each of its groups."""

from __future__ import annotations

import argparse
from typing import Any

from dpfast.cli.quantile import add_numbers, add_rows, asked, numbers_of, show

__all__ = ["add_verbs"]

EXAMPLE = """examples:
  dpfast mean flights.parquet --column dep_delay --bounds=-60,600 --step 0.01 --epsilon 1
  dpfast mean flights.parquet --column dep_delay --bounds=-60,600 --epsilon 1 --by carrier --keys @carriers.txt

The answer costs epsilon, for all groups together; running the command again without a key spends it again. What is printed may be
published. The column is held in memory."""


def add_verbs(verbs: Any) -> None:
    """Add the verb to the command."""
    verb = verbs.add_parser("mean", help="a private mean of a column, or of its groups", epilog=EXAMPLE)
    add_numbers(verb)
    add_rows(verb)
    verb.set_defaults(run=_mean, verb=verb, ids=None)


def _mean(options: argparse.Namespace) -> int:
    from dpfast.duff.mean import mean

    request = asked(options)
    found = mean(**numbers_of(options, request.file), **request.arguments)
    show(options, request.keys, found, title=f"mean of {options.column}", more={"statistic": "mean"})
    return 0
