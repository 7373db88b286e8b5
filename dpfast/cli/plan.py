"""``dpfast plan``: what a policy will do, without data."""

from __future__ import annotations

import argparse
import dataclasses
import math
from typing import Any

from dpfast.cli._output import add_json, print_json, print_table, share

__all__ = ["add_verbs"]

EXAMPLE = """example:
  dpfast plan policy.toml --rows 336776

keep is the probability that a row keeps its value, changed the expected share of rows that change, error the smallest
standard error of an estimated share."""

LARGEST = (1 << 63) - 1


def add_verbs(verbs: Any) -> None:
    """Add the verb to the command."""
    verb = verbs.add_parser("plan", help="show what a policy will do, without data", epilog=EXAMPLE)
    verb.add_argument("policy", metavar="POLICY", help="the policy, a TOML file")
    verb.add_argument("--rows", type=positive, metavar="N", help="number of rows of the table, for standard errors")
    add_json(verb)
    verb.set_defaults(run=_plan)


def positive(text: str) -> int:
    """Read a positive integer from the command line."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    if number > LARGEST:
        raise argparse.ArgumentTypeError("must be below 2**63")
    return number


def _plan(options: argparse.Namespace) -> int:
    from dpfast.policy import Policy

    policy = Policy.load(options.policy)
    columns = policy.describe(options.rows)
    certificate = policy.certificate()
    if options.json:
        print_json({"columns": [dataclasses.asdict(column) for column in columns], "certificate": certificate})
        return 0
    heads = ["column", "values", "epsilon", "realised", "delta", "keep", "changed"]
    rows = [
        [
            column.column,
            str(column.size),
            f"{column.epsilon:.6g}",
            f"{column.epsilon_realised:.6g}",
            f"{column.delta:.6g}",
            share(column.keep_probability),
            share(column.changed_share),
        ]
        for column in columns
    ]
    if options.rows is not None:
        heads.append("error")
        for row, column in zip(rows, columns, strict=True):
            row.append("infinite" if math.isinf(column.standard_error) else f"{column.standard_error:.2g}")
    print_table(heads, rows)
    epsilon, delta = float.fromhex(certificate["epsilon"]), float.fromhex(certificate["delta"])
    print()
    print(f"a whole row: epsilon {epsilon:.6g}, delta {delta:.6g}, between tables that differ in one row")
    if certificate["public"]:
        print(f"public, as they are: {', '.join(certificate['public'])}")
    dropped = [name for name, rule in policy.columns.items() if rule == "drop"]
    if dropped:
        print(f"dropped: {', '.join(dropped)}")
    print(f"other columns of the table: {'an error' if policy.unlisted == 'error' else policy.unlisted}")
    return 0
