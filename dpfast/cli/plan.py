"""``dpfast plan``: what a policy will do, without data, and what else the same budget buys."""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpfast.cli._output import add_json, print_json, print_table, share
from dpfast.cli._policy import QUICK_EXAMPLE, add_policy, read_policy

if TYPE_CHECKING:
    from dpfast._policy_compare import Alternative
    from dpfast.policy import ColumnPlan, Policy

__all__ = ["add_verbs", "positive"]

EXAMPLE = f"""examples:
  dpfast plan policy.toml --rows 336776
  dpfast plan {QUICK_EXAMPLE}
  dpfast plan policy.toml --rows 336776 --target-error 0.01

keep is the probability that a row keeps its value, changed the expected share of rows that change, error the smallest
standard error of an estimated share. With several columns the same total is also shown split equally, and spent by one joint
mechanism. --target-error shows the epsilon at which randomised response estimates shares with that standard error."""

NAMES = {"policy": "this policy", "equal_split": "equal epsilons", "joint": "one joint mechanism"}

LARGEST = (1 << 63) - 1


def add_verbs(verbs: Any) -> None:
    """Add the verb to the command."""
    verb = verbs.add_parser("plan", help="show what a policy will do, without data", epilog=EXAMPLE)
    add_policy(verb, positional=True)
    verb.add_argument("--rows", type=positive, metavar="N", help="number of rows of the table, for standard errors")
    verb.add_argument(
        "--target-error", type=_error, metavar="E", help="with --rows: the standard error to reach, between 0 and 1"
    )
    add_json(verb)
    verb.set_defaults(run=_plan, usage_error=verb.error)


def positive(text: str) -> int:
    """Read a positive integer from the command line."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= LARGEST:
        raise argparse.ArgumentTypeError("must be a whole number, at least 1 and below 2**63")
    return number


def _error(text: str) -> float:
    number = float(text)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError("must lie between 0 and 1")
    return number


def _plan(options: argparse.Namespace) -> int:
    from dpfast._policy_compare import alternatives, plans_for_error

    if options.target_error is not None and options.rows is None:
        options.usage_error("--target-error needs --rows")
    policy = read_policy(options)
    columns = policy.describe(options.rows)
    certificate = policy.certificate()
    stated = float.fromhex(certificate["delta"])
    # what one row costs: an alternative is chosen for the table, whoever owns how many of its rows
    ways = alternatives(policy.groups, policy.privacy(stated, rows_per_person=1), options.rows)
    wanted = None if options.target_error is None else plans_for_error(policy.groups, options.rows, options.target_error)
    if options.json:
        document: dict[str, Any] = {
            "columns": [dataclasses.asdict(column) for column in columns],
            "alternatives": [dataclasses.asdict(way) for way in ways],
            "certificate": certificate,
        }
        if wanted is not None:
            document["target_error"] = options.target_error
            document["for_target"] = [None if column is None else dataclasses.asdict(column) for column in wanted]
        print_json(document)
        return 0
    _print_columns(columns, options.rows)
    _print_total(policy, certificate)
    if len(ways) > 1:
        _print_alternatives(ways, options.rows)
    if wanted is not None:
        _print_wanted(columns, wanted, options)
    return 0


def _print_columns(columns: Sequence[ColumnPlan], rows: int | None) -> None:
    heads = ["column", "values", "epsilon", "realised", "delta", "keep", "changed", *(["error"] if rows is not None else [])]
    print_table(
        heads,
        [
            [
                column.column,
                str(column.size),
                f"{column.epsilon:.6g}",
                f"{column.epsilon_realised:.6g}",
                f"{column.delta:.6g}",
                share(column.keep_probability),
                share(column.changed_share),
                *([_figure(column.standard_error)] if rows is not None else []),
            ]
            for column in columns
        ],
    )


def _print_total(policy: Policy, certificate: dict[str, Any]) -> None:
    epsilon, delta = float.fromhex(certificate["epsilon"]), float.fromhex(certificate["delta"])
    rows = certificate["rows_per_person"]
    what = "a whole row" if rows == 1 else f"a person with {rows} rows"
    print()
    print(f"{what}: epsilon {epsilon:.6g}, delta {delta:.6g}, between tables that differ in {'one row' if rows == 1 else 'them'}")
    if len(policy.groups) > 1:
        # at the largest delta that a rule was asked for, no column needs more than the epsilon it was asked for
        one = policy.attribute_privacy(max(group.rule.delta for group in policy.groups))
        print(f"weaker, one attribute of a row: epsilon {one.epsilon:.6g}, delta {one.delta:.6g}")
    for group in policy.groups:
        if group.by is not None:
            print(f"{group.label}: a mechanism for each value of {group.by}; the figures are those of the worst")
    if certificate["public"]:
        print(f"public, as they are: {', '.join(certificate['public'])}")
    dropped = [name for name, rule in policy.columns.items() if rule == "drop"]
    if dropped:
        print(f"dropped: {', '.join(dropped)}")
    print(f"other columns of the table: {'an error' if policy.unlisted == 'error' else policy.unlisted}")


def _print_alternatives(ways: Sequence[Alternative], rows: int | None) -> None:
    print()
    print("the same total, spent another way; each column as if the others were not looked at:")
    heads = ["way", "column", "changed", *(["error"] if rows is not None else [])]
    lines = []
    for way in ways:
        for place, column in enumerate(way.columns):
            line = [NAMES[way.name] if place == 0 else "", column.column, share(column.changed_share)]
            lines.append([*line, *([_figure(column.standard_error)] if rows is not None else [])])
        lines.append(["", "changed cells a row", share(way.changed_cells), *([""] if rows is not None else [])])
    print_table(heads, lines)


def _print_wanted(columns: Sequence[ColumnPlan], wanted: Sequence[ColumnPlan | None], options: argparse.Namespace) -> None:
    print()
    print(f"for a standard error of {options.target_error:g} at {options.rows} rows, by randomised response:")
    lines = [
        [now.column, str(now.size), "-", "-"]
        if column is None
        else [column.column, str(column.size), f"{column.epsilon:.6g}", _figure(column.standard_error)]
        for now, column in zip(columns, wanted, strict=True)
    ]
    if all(column is not None for column in wanted):
        lines.append(["a whole row", "", f"{math.fsum(column.epsilon for column in wanted if column is not None):.6g}", ""])
    print_table(["column", "values", "epsilon", "error"], lines)


def _figure(error: float) -> str:
    return "infinite" if math.isinf(error) else "-" if math.isnan(error) else f"{error:.2g}"
