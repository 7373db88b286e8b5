"""``dpfast ledger``: what was spent on the same people, and what is left."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dpfast.cli._output import add_json, print_json, print_table, printable
from dpfast.cli.plan import positive

if TYPE_CHECKING:
    from dpfast.etl.ledger import Entry
    from dpfast.privacy import Privacy

__all__ = ["add_verbs"]

EXAMPLE = """examples:
  dpfast ledger create people.ledger --epsilon 5 --delta 1e-6
  dpfast sanitise flights.parquet released.parquet --policy policy.toml --ledger people.ledger
  dpfast ledger show people.ledger
  dpfast ledger check people.ledger --head 5d41...

A ledger counts what is released about the same people and refuses what would exceed its cap. It holds no data. `check` verifies
that nothing in it was altered; with the --head that `show` printed at some time, also that nothing since then was taken back."""


def add_verbs(verbs: Any) -> None:
    """Add the verb to the command."""
    ledger = verbs.add_parser("ledger", help="count what is spent on the same people, up to a cap", epilog=EXAMPLE)
    actions = ledger.add_subparsers(title="actions", metavar="ACTION", required=True)

    create = actions.add_parser("create", help="make a ledger where there is no file yet")
    create.add_argument("file", metavar="FILE", help="the ledger to be made, on a local disc")
    create.add_argument("--epsilon", type=float, required=True, metavar="E", help="what may be spent in all")
    create.add_argument("--delta", type=float, default=0.0, metavar="D", help="its delta (default 0)")
    create.add_argument("--rows-per-person", type=positive, default=1, metavar="N", help="rows one person may own (default 1)")
    create.add_argument(
        "--composition",
        choices=("sum", "optimal"),
        default="sum",
        help="optimal: compose releases at --delta; only if none is chosen on the strength of earlier answers",
    )
    create.set_defaults(run=_create, usage_error=create.error)

    show = actions.add_parser("show", help="list what was charged, the sum, and what is left")
    show.add_argument("file", metavar="FILE", help="a ledger")
    add_json(show)
    show.set_defaults(run=_show)

    check = actions.add_parser("check", help="verify that nothing in it was altered")
    check.add_argument("file", metavar="FILE", help="a ledger")
    check.add_argument("--head", metavar="HASH", help="a head that was noted before; the chain must go through it")
    check.set_defaults(run=_check)

    for action in (create, show, check):
        # what was given before the action stays
        action.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="print a traceback on failure")


def _create(options: argparse.Namespace) -> int:
    from dpfast.errors import ArgumentError
    from dpfast.etl.ledger import create_ledger
    from dpfast.privacy import Privacy

    try:
        cap = Privacy(options.epsilon, options.delta, rows_per_person=options.rows_per_person)
    except ArgumentError as error:
        options.usage_error(str(error))
    create_ledger(options.file, cap, options.composition)
    print(f"a ledger with a cap of {_stated(cap)}; give it as --ledger to every release about the same people")
    return 0


def _show(options: argparse.Namespace) -> int:
    from dpfast.etl.ledger import Ledger

    ledger = Ledger(options.file)
    entries, spent, left, head = ledger.entries(), ledger.spent(), ledger.left(), ledger.head()
    if options.json:
        print_json(
            {
                "cap": _figures(ledger.cap),
                "composition": ledger.composition,
                "entries": [_document(entry) for entry in entries],
                "spent": _figures(spent),
                "left": _figures(left),
                "head": head,
            }
        )
        return 0
    if entries:
        print_table(
            ["what", "rule", "noise", "rows a person", "epsilon", "delta"],
            [
                [
                    _what(entry),
                    (entry.rule or "-")[:12],
                    entry.randomness or "-",
                    str(entry.privacy.rows_per_person),
                    f"{entry.privacy.epsilon:.6g}",
                    f"{entry.privacy.delta:.6g}",
                ]
                for entry in entries
            ],
            labels=3,
        )
        print()
    print(f"cap: {_stated(ledger.cap)}")
    print(f"spent: {_stated(spent)}")
    print(f"left: {_stated(left)}")
    print(f"head: {head}")
    return 0


def _check(options: argparse.Namespace) -> int:
    from dpfast.etl.ledger import Ledger

    Ledger(options.file).check(options.head)
    print("the chain is whole" + ("" if options.head is None else " and goes through this head"))
    return 0


def _what(entry: Entry) -> str:
    if entry.column is None:
        return "a statement" if entry.rule is None else "a table"
    return ", ".join(map(printable, [entry.column] if isinstance(entry.column, str) else entry.column))


def _document(entry: Entry) -> dict[str, Any]:
    return {
        **_figures(entry.privacy),
        "number": entry.number,
        "column": entry.column,
        "rule": entry.rule,
        "addressing": entry.addressing,
        "randomness": entry.randomness,
        "key_fingerprint": entry.key_fingerprint,
        "hash": entry.hash,
    }


def _figures(privacy: Privacy) -> dict[str, Any]:
    return {
        "epsilon": privacy.epsilon,
        "delta": privacy.delta,
        "neighbours": privacy.neighbours,
        "rows_per_person": privacy.rows_per_person,
    }


def _stated(privacy: Privacy) -> str:
    rows = privacy.rows_per_person
    who = "a row" if rows == 1 else f"a person with {rows} rows"
    return f"epsilon {privacy.epsilon:.6g}, delta {privacy.delta:.6g} for {who}"
