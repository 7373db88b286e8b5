"""The policy of a command: a file, or a few options."""

from __future__ import annotations

import argparse
import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfast.domain import Domain
    from dpfast.policy import Policy

__all__ = ["QUICK_EXAMPLE", "add_policy", "delta", "epsilon", "has_policy", "read_policy"]

QUICK_EXAMPLE = "--column carrier=@carriers.txt --column month=1..12 --epsilon 1 --public year --unlisted drop"

_RANGE = re.compile(r"(-?\d{1,18})\.\.(-?\d{1,18})")
_VALUES_MAX = 1 << 24


def add_policy(verb: argparse.ArgumentParser, *, positional: bool = False, required: bool = True) -> None:
    """Give a verb its policy: ``--policy`` (or an argument) and the options that make one."""
    if positional:
        verb.add_argument("policy", metavar="POLICY", nargs="?", help="the policy, a TOML file")
    else:
        verb.add_argument("--policy", metavar="FILE", help="the policy, a TOML file; or the options of the next group")
    group = verb.add_argument_group("a policy without a file: randomised response for each --column")
    group.add_argument(
        "--column",
        action="append",
        metavar="NAME=DOMAIN",
        help="a column to sanitise, with its public values: @FILE (one a line, or JSON), A,B,C or, for integers, FIRST..LAST",
    )
    group.add_argument("--epsilon", type=epsilon, metavar="E", help="what a whole row may cost, split equally over the columns")
    group.add_argument("--delta", type=delta, metavar="D", help="its delta, split likewise (default 0)")
    group.add_argument("--public", action="append", metavar="NAME", help="a column that is published as it is")
    group.add_argument("--drop", action="append", metavar="NAME", help="a column that is left out")
    group.add_argument("--unlisted", choices=("error", "public", "drop"), help="what happens to any other (default: error)")
    verb.set_defaults(policy_error=verb.error, policy_required=required)


def has_policy(options: argparse.Namespace) -> bool:
    """Whether a policy was given, by whatever option."""
    return options.policy is not None or any(
        getattr(options, name) is not None for name in ("column", "epsilon", "delta", "public", "drop", "unlisted")
    )


def read_policy(options: argparse.Namespace) -> Policy:
    """Return the policy that the options give, or end the command with a usage error where they do not fit together."""
    from dpfast.policy import Policy

    quick = [name for name in ("column", "epsilon", "delta", "public", "drop", "unlisted") if getattr(options, name) is not None]
    if options.policy is not None:
        if quick:
            options.policy_error(f"--{quick[0]} makes a policy of its own; give either a policy file or these options")
        return Policy.load(options.policy)
    if options.column is None or options.epsilon is None:
        options.policy_error("give a policy file, or --column NAME=DOMAIN and --epsilon")
    return _quick(options)


def _quick(options: argparse.Namespace) -> Policy:
    from dpfast.policy import Policy
    from dpfast.response import RandomisedResponse

    domains: dict[str, Domain] = {}
    for text in options.column:
        name, equals, domain = text.partition("=")
        if not equals or not name or not domain:
            options.policy_error("--column: write NAME=DOMAIN, such as carrier=@carriers.txt")
        if name in domains:
            options.policy_error(f"--column: {name!r} is given twice")
        domains[name] = _domain(domain, options)
    share, slack = (_share(total or 0.0, len(domains)) for total in (options.epsilon, options.delta))
    rules: dict[str, Any] = {name: RandomisedResponse(of, epsilon=share, delta=slack) for name, of in domains.items()}
    for rule in ("public", "drop"):
        for name in getattr(options, rule) or ():
            if name in rules:
                options.policy_error(f"--{rule}: {name!r} already has a rule")
            rules[name] = rule
    return Policy(rules, unlisted=options.unlisted or "error")


def _domain(text: str, options: argparse.Namespace) -> Domain:
    from dpfast.domain import Domain

    if text.startswith("@"):
        return Domain(text[1:])
    if (ends := _RANGE.fullmatch(text)) is not None:
        first, last = map(int, ends.groups())
        if not first <= last < first + _VALUES_MAX:
            options.policy_error("--column: FIRST..LAST are integers, the first at most the last, and not further than 2**24")
        return Domain(range(first, last + 1))
    return Domain(text.split(","))


def _share(total: float, columns: int) -> float:
    """The largest double that `columns` times is at most the total."""
    from dpfast._rounding import sum_up

    share = total / columns
    while sum_up([share] * columns) > total:
        share = math.nextafter(share, 0.0)
    return share


def epsilon(text: str) -> float:
    """Read an epsilon from the command line."""
    number = float(text)
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError("must be a number, at least 0")
    return number


def delta(text: str) -> float:
    """Read a delta from the command line."""
    number = float(text)
    if not 0 <= number < 1:
        raise argparse.ArgumentTypeError("must lie in [0, 1)")
    return number
