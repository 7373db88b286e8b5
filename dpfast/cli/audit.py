"""``dpfast audit``: is every mechanism of a policy as private as it says, and a whole row?"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dpfast.cli._output import add_json, print_json, print_table, printable
from dpfast.cli._policy import delta, epsilon
from dpfast.cli.estimate import confidence
from dpfast.cli.plan import positive

if TYPE_CHECKING:
    from dpfast.audit import AuditReport

__all__ = ["add_verbs"]

EXAMPLE = """examples:
  dpfast audit policy.toml
  dpfast audit policy.toml --epsilon 2.5
  dpfast audit policy.toml --samples 100000000

Without --samples the integer tables are audited, exactly. With --samples the compiled mechanisms are run that often on the worst
pair of values, and their answers counted: bounds then hold with the confidence. A rule is put to its own claim; --epsilon and
--delta are a claim for a whole row. Exit code 1 if a claim is refuted."""


def add_verbs(verbs: Any) -> None:
    """Add the verb to the command."""
    verb = verbs.add_parser("audit", help="put the claims of a policy to the test, without data", epilog=EXAMPLE)
    verb.add_argument("policy", metavar="POLICY", help="the policy, a TOML file")
    verb.add_argument("--epsilon", type=epsilon, metavar="E", help="the claim for a whole row (default: that of the policy)")
    verb.add_argument("--delta", type=delta, metavar="D", help="the delta of that claim")
    verb.add_argument("--samples", type=positive, metavar="N", help="run each mechanism so often, instead of reading its table")
    verb.add_argument(
        "--confidence", type=confidence, metavar="C", help="with --samples: probability that bounds hold (default 0.99)"
    )
    add_json(verb)
    verb.set_defaults(run=_audit, usage_error=verb.error)


def _audit(options: argparse.Namespace) -> int:
    from dpfast.audit import audit
    from dpfast.policy import Policy

    if options.confidence is not None and options.samples is None:
        options.usage_error("--confidence needs --samples")
    policy = Policy.load(options.policy)
    report = audit(
        policy,
        epsilon=options.epsilon,
        delta=options.delta,
        samples=options.samples,
        confidence=0.99 if options.confidence is None else options.confidence,
        method="exact" if options.samples is None else "samples",
    )
    if options.json:
        print_json(report.to_dict())
        return int(report.rejected)
    rows = policy.rows_per_person
    total = "a whole row" if rows == 1 else f"a person with {rows} rows"
    lines = [_line(label, part) for label, part in _parts(report)]
    lines.append([total, *_line(total, report)[1:]])
    print_table(["rule", "epsilon", "delta", "at least", "at most", "verdict"], lines)
    print()
    if options.samples is not None:
        print(f"all bounds hold together with confidence {report.confidence:g}")
    print(f"not seen: {report.cannot_see}")
    return int(report.rejected)


def _parts(report: AuditReport, prefix: str = "") -> Iterator[tuple[str, AuditReport]]:
    for label, part in report.parts:
        name = printable(label) if not prefix else f"{prefix} where {printable(label)}"
        yield name, part
        yield from _parts(part, name)


def _line(label: str, report: AuditReport) -> list[str]:
    most = "-" if report.method == "samples" else f"{report.epsilon_upper:.6g}"
    return [label, f"{report.epsilon:.6g}", f"{report.delta:.6g}", f"{report.epsilon_lower:.6g}", most, report.verdict]
