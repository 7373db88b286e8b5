"""What a policy costs, and what a reader of a release may know of it: sums that are exact and then rounded up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpfast._policy_groups import Group, Rule
from dpfast._rounding import float_below
from dpfast.privacy import Privacy, sum_up, times_up
from dpfast.stratified import Stratified

__all__ = ["asked_delta", "certificate", "described", "row_privacy"]

CERTIFICATE_FORMAT = 1


def asked_delta(groups: Sequence[Group], rows_per_person: int) -> float:
    """Sum of the deltas that the groups ask for, for all rows of a person."""
    return times_up(sum_up(group.rule.delta for group in groups), rows_per_person)


def row_privacy(groups: Sequence[Group], delta: float, rows_per_person: int) -> Privacy:
    """Return what the rows of a person cost, by basic composition; see `dpfast.Policy.privacy`."""
    asked = asked_delta(groups, rows_per_person)
    deltas = [group.rule.delta if asked <= delta else 0.0 for group in groups]
    epsilon = _sum_at(groups, deltas)
    if math.isinf(epsilon):
        # a mechanism that was asked for no delta may need one: what is left is shared out evenly
        left = Fraction(delta) / rows_per_person - sum(map(Fraction, deltas))
        deltas = [float_below(Fraction(one) + max(Fraction(0), left) / len(groups)) for one in deltas]
        epsilon = _sum_at(groups, deltas)
    # rounded up one after the other, sum and product may pass the delta that their exact value does not
    stated = times_up(sum_up(deltas), rows_per_person)
    return Privacy(times_up(epsilon, rows_per_person), min(stated, delta) if stated else 0.0, "replace_one", rows_per_person)


def _sum_at(groups: Sequence[Group], deltas: Sequence[float]) -> float:
    return sum_up(group.rule.epsilon_at(one) for group, one in zip(groups, deltas, strict=True))


def certificate(columns: Mapping[str, Rule], groups: Sequence[Group], rows_per_person: int) -> dict[str, Any]:
    """Return mechanisms, public columns and totals; see `dpfast.Policy.certificate`."""
    asked = asked_delta(groups, rows_per_person)
    # Deltas that add up to 1 state nothing; the pure epsilon then does.
    realised = row_privacy(groups, asked if asked < 1.0 else 0.0, rows_per_person)
    return {
        "format": CERTIFICATE_FORMAT,
        "columns": {group.names[0]: group.rule.certificate() for group in groups if len(group.names) == 1},
        "joint": [
            {"columns": list(group.names), "mechanism": group.rule.certificate()} for group in groups if len(group.names) > 1
        ],
        "public": sorted(name for name, rule in columns.items() if rule == "public"),
        "neighbours": realised.neighbours,
        "unit": "row",
        "rows_per_person": realised.rows_per_person,
        "epsilon": realised.epsilon.hex(),
        "delta": realised.delta.hex(),
    }


def described(rules: Mapping[Any, Rule]) -> str:
    """The rules of a policy, in short."""
    return ", ".join(f"{name!r}: {_one(rule)}" for name, rule in rules.items())


def _one(rule: Rule) -> str:
    if isinstance(rule, str):
        return repr(rule)
    if isinstance(rule, Stratified):
        return f"{len(rule.strata)} strata by {rule.by!r}"
    asked = f", epsilon={rule.epsilon!r}" if hasattr(rule, "epsilon") else ""
    delta = f", delta={rule.delta!r}" if rule.delta else ""
    return f"{type(rule).__name__} of {rule.domain.size} values{asked}{delta}"
