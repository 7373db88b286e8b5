"""What everything that spends asks of a ledger, and what it tells it: public things only.

Precondition: the request is known to be right, and nothing was drawn. Postcondition: the ledger holds the charge, durably, or an
error was raised; only then are words reserved and noise drawn. A stop in between leaves a charge without a release, never a
release without a charge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, runtime_checkable

from dpfast._rounding import exp_bounds, float_above, sum_up, times_up
from dpfast._statement import Privacy
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.randomness import Column, Kind, Stream

__all__ = ["Charges", "Figures", "Pay", "Spend", "group_figure", "payment", "persons_figure"]


@dataclass(frozen=True)
class Spend:
    """What one call is about to spend.

    Attributes
    ----------
    key : bytes
        Names the release: what was charged under it is not charged again.
    privacy : Privacy
        What the release costs a person.
    column : str, tuple of str, or None
        None for a whole table, or where it has no name.
    rule : bytes
        Digest of the mechanism or of the policy; empty for a statement without one.
    addressing : {"row", "id", "draw"} or None
    randomness : {"fresh", "keyed", "insecure"} or None
    key_fingerprint : str or None
    """

    key: bytes
    privacy: Privacy
    column: Column
    rule: bytes
    addressing: Kind | None
    randomness: str | None
    key_fingerprint: str | None


@runtime_checkable
class Charges(Protocol):
    """A ledger, as those who spend see it: `dpfast.Ledger`."""

    @property
    def rows_per_person(self) -> int: ...
    def charge(self, spend: Spend, /) -> bool: ...


class Figures(Protocol):
    """A rule, by what it costs a row."""

    @property
    def delta(self) -> float: ...
    def epsilon_at(self, delta: float = 0.0) -> float: ...


class Pay(Protocol):
    """Charges what is about to be drawn from a stream; `key` names the charge of a job that may go on after a stop."""

    def __call__(self, stream: Stream, kind: Kind, key: bytes | None = None, /) -> None: ...


def payment(ledger: object, column: Column, rule: bytes, privacy_of: Callable[[int], Privacy]) -> Pay:
    """Return what is to be called with the stream right before it is drawn from; without a ledger it does nothing.

    `privacy_of` gives what the release costs a person with so many rows.
    """
    if ledger is None:
        return _free
    if not isinstance(ledger, Charges):
        raise ArgumentTypeError(f"ledger must be None or a dpfast.Ledger, not {type(ledger).__name__}")

    def pay(stream: Stream, kind: Kind, key: bytes | None = None, /) -> None:
        privacy = privacy_of(ledger.rows_per_person)
        key = stream.spend_key(kind, column, rule) if key is None else key
        ledger.charge(Spend(key, privacy, column or None, rule, kind, stream.kind, stream.fingerprint))

    return pay


def _free(stream: Stream, kind: Kind, key: bytes | None = None, /) -> None:
    return


def persons_figure(rules: Sequence[Figures], rows_per_person: int) -> Privacy:
    """What rules that all look at a row cost a person: sums of the figures at the deltas they were asked for, rounded up."""
    deltas = [rule.delta for rule in rules]
    delta = times_up(sum_up(deltas), rows_per_person)
    if delta >= 1.0:  # such a delta states nothing; the pure epsilons do
        delta, deltas = 0.0, [0.0] * len(rules)
    epsilon = sum_up(rule.epsilon_at(one) for rule, one in zip(rules, deltas, strict=True))
    return Privacy(times_up(epsilon, rows_per_person), delta, "replace_one", rows_per_person)


def group_figure(epsilon: Fraction, delta: Fraction, rows: int) -> tuple[float, float]:
    """What costs (epsilon, delta) for neighbours costs a person with so many rows: g epsilon, and delta e^(i epsilon) for i < g.

    Both are rounded up. ArgumentError where that promises nothing.
    """
    spent = float_above(epsilon * rows)
    if rows == 1 or not delta:
        return spent, float_above(delta)
    reach = epsilon * (rows - 1)
    bound = delta * rows * exp_bounds(float_above(reach), 30)[1] if reach < 1000 else Fraction(1)
    if bound >= 1 or not math.isfinite(spent):
        raise ArgumentError("for persons with so many rows this epsilon and delta promise nothing; take smaller ones")
    return spent, float_above(bound)
