"""What a policy costs, and what a reader of a release may know of it: sums that are exact and then rounded up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpfast._policy_groups import Group, Rule, Sanitiser
from dpfast._rounding import float_below, sum_up, times_up
from dpfast.composition import compose
from dpfast.integer_mechanism import CERTIFICATE_FORMAT
from dpfast.privacy import Privacy
from dpfast.stratified import Stratified

__all__ = ["asked_delta", "certificate", "composed", "described", "realised_privacy", "row_privacy"]

PARTS_MAX = 10_000  # of a composition that is worked out; beyond, epsilons are added


def asked_delta(groups: Sequence[Group], rows_per_person: int) -> float:
    """Sum of the deltas that the groups ask for, for all rows of a person."""
    return times_up(sum_up(group.rule.delta for group in groups), rows_per_person)


def row_privacy(groups: Sequence[Group], delta: float, rows_per_person: int) -> Privacy:
    """Return what the rows of a person cost at `delta`; see `dpfast.Policy.privacy`."""
    figures = [(group.rule.epsilon_at, group.rule.delta) for group in groups]
    return composed([_composable(group.rule) for group in groups], figures, delta, rows_per_person)


def realised_privacy(groups: Sequence[Group], rows_per_person: int) -> Privacy:
    """Return what the rows of a person cost at the deltas that were asked for: what is certified and charged."""
    asked = asked_delta(groups, rows_per_person)
    # Deltas that add up to 1 state nothing; the pure epsilon then does.
    return row_privacy(groups, asked if asked < 1.0 else 0.0, rows_per_person)


def composed(
    parts: Sequence[Any], figures: Sequence[tuple[Callable[[float], float], float]], delta: float, rows_per_person: int
) -> Privacy:
    """Return (epsilon, delta) of releases that all look at one row, for `rows_per_person` rows.

    Parameters
    ----------
    parts
        What `compose` takes.
    figures
        Of each part epsilon as a function of delta, and the delta it was made for: sums of these hold too, and are less where
        the composition only bounds.
    """
    asked = [part_delta for _, part_delta in figures]
    epsilon = times_up(_sum(figures, [0.0] * len(figures)), rows_per_person)
    left = Fraction(delta) / rows_per_person - sum(map(Fraction, asked))
    if delta > 0.0 and left >= 0:
        # a mechanism that was asked for no delta may need one: what is left is shared out evenly
        shared = [float_below(Fraction(one) + left / len(figures)) for one in asked]
        for deltas in (asked, shared):
            epsilon = min(epsilon, times_up(_sum(figures, deltas), rows_per_person))
    if delta > 0.0 and len(parts) * rows_per_person <= PARTS_MAX:
        epsilon = min(epsilon, compose(list(parts) * rows_per_person, delta=delta).epsilon)
    return Privacy(epsilon, delta, "replace_one", rows_per_person)


def _sum(figures: Sequence[tuple[Callable[[float], float], float]], deltas: Sequence[float]) -> float:
    return sum_up(epsilon_at(delta) for (epsilon_at, _), delta in zip(figures, deltas, strict=True))


def _composable(rule: Sanitiser) -> Any:
    """The stratum of a row is public: of strata the worst statement counts. Of a mechanism without integers, what it states."""
    has_integers = hasattr(rule, "threshold") or hasattr(type(rule), "table")
    return rule if has_integers and not isinstance(rule, Stratified) else Privacy(rule.epsilon_at(rule.delta), rule.delta)


def certificate(columns: Mapping[str, Rule], groups: Sequence[Group], rows_per_person: int) -> dict[str, Any]:
    """Return mechanisms, public columns and totals; see `dpfast.Policy.certificate`."""
    realised = realised_privacy(groups, rows_per_person)
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
