"""Figures of a release in words that need no mathematics, rounded against us."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING, Any, Final

from dpfast.stratified import Stratified

if TYPE_CHECKING:
    from dpfast._policy_figures import ColumnPlan
    from dpfast._policy_groups import Group

__all__ = ["NOT_PROMISED", "as_percent", "belief", "factor", "how_answered", "noise", "number", "strength"]

NOT_PROMISED: Final = (
    "That nothing can be learnt about groups. If the table shows that smokers fall ill more often, that is said of every smoker, "
    "and would be said had this one answered differently.",
    "Columns that are published as they are, the number of rows and their order: none is protected, and with other sources they "
    "may identify a row.",
    "Other releases about the same people. Each adds its own epsilon; a ledger (`dpfast ledger`) adds them up.",
    "Secrets that many rows share. Protected is what one person contributes.",
    "The machine that made it: times, memory, logs of other programs, and whoever holds the original data or the key.",
    "That a single cell is true. A cell may have been changed and must not be used for a decision about a person.",
)


def number(value: float) -> str:
    """A figure with six digits, rounded up."""
    if not math.isfinite(value):
        return "infinite"
    return f"{_up(value, 6):f}" if 1e-4 <= value < 1e6 or value == 0 else f"{_up(value, 6):e}"


def _up(value: float, digits: int) -> Decimal:
    return Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(repr(value))).normalize()


def factor(epsilon: float) -> str:
    """e to the epsilon, rounded up to three digits."""
    if epsilon > 700:
        return "more than 10^300"
    found = _up(math.nextafter(math.exp(epsilon), math.inf), 3)
    return f"{found:f}" if found < 10**6 else f"{found:.2e}"


def belief(prior: float, epsilon: float) -> str:
    """The most that a belief can become under pure epsilon, in percent, rounded up."""
    if not math.isfinite(epsilon):
        return "no bound"
    after = 1.0 / (1.0 + (1.0 - prior) / prior * math.exp(-epsilon))
    shown = (Decimal(after) * (1 + Decimal("1e-12")) * 100).quantize(Decimal("0.1"), ROUND_CEILING)
    return "over 99.9 %" if shown > Decimal("99.9") else f"{shown} %"


def as_percent(value: float) -> str:
    """A share in percent, to the nearest; a dash where there is none."""
    return f"{100 * value:.2f} %".replace(".00 %", " %") if math.isfinite(value) else "-"


def strength(epsilon: float) -> str:
    """What an epsilon of a person amounts to. The bounds are a custom, not a theorem."""
    if epsilon <= 1:
        return "This is strong protection by the measure that is usual; the table below says how far a guess can move."
    if epsilon <= 4:
        return (
            "This is moderate protection: a guess about a person can become likely, not certain. The table below says how likely."
        )
    if epsilon <= 10:
        return (
            "This is weak protection for a person about whom all columns are asked at once: an unlikely guess can become near "
            "certain. Single columns may be better protected; see below."
        )
    return "This promises a person as a whole next to nothing. Only the figures of single columns below mean something."


def how_answered(group: Group, plan: ColumnPlan) -> str:
    """What happens to a cell, in a sentence."""
    rule = group.rule
    together = " All columns of the group are answered together, as one." if len(group.names) > 1 else ""
    if isinstance(rule, Stratified):
        return f"One of {len(rule.strata)} mechanisms, by the public column `{rule.by}`; figures of the worst.{together}"
    kind = rule.certificate()["kind"]
    if kind == "randomised_response":
        others = plan.size - 1
        if not others:
            return "There is one value only."
        rest = "the other one" if others == 1 else f"one of the {others} others, all alike"
        return f"Randomised response: the true value with the chance shown, else {rest}.{together}"
    return {
        "exponential": "Exponential mechanism: values near the true one are given more often than those far away.",
        "optimal": "Optimal response: the chances that lose least on average or at worst, found by a linear program.",
    }.get(kind, "A table of chances, given by the author of the policy.") + together


def noise(certificate: Mapping[str, Any]) -> str:
    """Where the randomness came from."""
    kind = certificate.get("randomness", "fresh")
    if kind == "keyed":
        kept = (
            " The noise of a row is permanent: it is tied to its identifier, so that an unchanged row is answered alike in every "
            "release under this key; that a value changed can be seen."
            if certificate.get("addressing") == "id"
            else ""
        )
        return f"The noise came from AES-256 under a secret key, whose fingerprint is in the certificate.{kept}"
    if kind == "insecure":
        return "The noise came from a seed that is meant for tests."
    return "The noise came from the operating system's entropy and is known to nobody."
