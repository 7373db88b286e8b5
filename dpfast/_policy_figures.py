"""What a policy is, in figures: public ones, none of them from data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpfast._policy_groups import Group
from dpfast.errors import ArgumentError, DpfastError
from dpfast.mechanism import Mechanism
from dpfast.response import RandomisedResponse
from dpfast.stratified import Stratified

if TYPE_CHECKING:
    from dpfast._policy_groups import Sanitiser
    from dpfast.product import Cells

__all__ = ["ColumnPlan", "attributes", "plan_column", "response_error"]


@dataclass(frozen=True)
class ColumnPlan:
    """What a policy does to one sanitised column, or to several that are answered together: public figures only.

    Attributes
    ----------
    column : str
        Name of the column; names of a joint group are joined by a comma.
    size : int
        Number k of values of its domain.
    epsilon, delta : float
        As asked for; of a stratified column the largest. A mechanism that was asked for no epsilon has its realised one here.
    epsilon_realised : float
        The epsilon that the integer table has at `delta`, rounded up; never above `epsilon`.
    keep_probability : float
        Expected share of rows that keep their true value.
    changed_share : float
        Expected share of rows whose value changes; the largest of all strata.
    standard_error : float
        Smallest standard error of an estimated share, at the number of rows asked about; NaN if none was given. For randomised
        response that of a value no row has, for other mechanisms that of equally frequent values; of a stratified column the
        largest of all strata, as if all rows were of one.
    """

    column: str
    size: int
    epsilon: float
    delta: float
    epsilon_realised: float
    keep_probability: float
    changed_share: float
    standard_error: float


def plan_column(group: Group, rows: int | None) -> ColumnPlan:
    """Return the figures of one group, with standard errors if a number of rows is given."""
    rule = group.rule
    realised = rule.epsilon_at(rule.delta)
    changed = _changed(rule)
    return ColumnPlan(
        column=group.label,
        size=rule.domain.size,
        epsilon=_asked(rule, realised),
        delta=rule.delta,
        epsilon_realised=realised,
        keep_probability=1.0 - changed if not isinstance(rule, RandomisedResponse) else float(rule.keep_probability),
        changed_share=changed,
        standard_error=math.nan if rows is None else _error(rule, rows),
    )


def attributes(group: Group, rows: int | None) -> list[ColumnPlan]:
    """Return the figures of each column of a group; of joint columns those of the margins.

    A margin of randomised response over M cells keeps with the same gap g = 1 - M p, and answers value v, whatever the truth,
    with p n_v, where n_v cells hold v. Its changed share is that of equally frequent cells. Of other joint mechanisms nothing is
    said: NaN.
    """
    whole = plan_column(group, rows)
    cells = group.rule.domain.cells
    if cells is None:
        return [whole]
    found = []
    for place, (name, part) in enumerate(zip(group.names, group.parts, strict=True)):
        changed = error = math.nan
        if isinstance(group.rule, RandomisedResponse):
            keep = group.rule.keep_probability
            p = (1 - keep) / (cells.size - 1) if cells.size > 1 else 1 - keep
            counts = _cells_a_value(cells, place)
            agree = Fraction(int(np.square(counts.astype(object)).sum()), cells.size)
            changed = float(p * (cells.size - agree))
            error = math.nan if rows is None else response_error(p * int(counts[counts > 0].min()), keep - p, rows)
        found.append(
            ColumnPlan(name, part.size, whole.epsilon, whole.delta, whole.epsilon_realised, 1.0 - changed, changed, error)
        )
    return found


def _cells_a_value(cells: Cells, place: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """How many cells hold each value of one part."""
    if cells.indices is None:
        return np.full(cells.radices[place], cells.size // cells.radices[place], np.int64)
    below = np.uint64(math.prod(cells.radices[place + 1 :]))
    return np.bincount((cells.indices // below % np.uint64(cells.radices[place])).astype(np.int64))


def response_error(p: Fraction, gap: Fraction, rows: int) -> float:
    """Standard error of the share of a value that no row has.

    It is answered with probability p by each row; its share is estimated as (observed - p) / gap.
    """
    if gap == 0:
        return math.inf
    try:
        return math.sqrt(float(p * (1 - p)) / rows) / float(gap)
    except OverflowError:
        raise ArgumentError("rows is larger than the number of rows of any table") from None


def _changed(rule: Sanitiser) -> float:
    if isinstance(rule, RandomisedResponse):
        return float(1 - rule.keep_probability)
    return rule.expected_changes(1)


def _asked(rule: Sanitiser, realised: float) -> float:
    if isinstance(rule, Stratified):
        return max(_asked(mechanism, mechanism.epsilon_at(mechanism.delta)) for _, mechanism in rule.strata)
    return float(getattr(rule, "epsilon", realised))


def _error(rule: Sanitiser, rows: int) -> float:
    if isinstance(rule, Stratified):
        return max(_error(mechanism, rows) for _, mechanism in rule.strata)
    if isinstance(rule, RandomisedResponse):
        keep, size = rule.keep_probability, rule.domain.size
        p = (1 - keep) / (size - 1) if size > 1 else 1 - keep
        return response_error(p, keep - p, rows)
    return _estimated_error(rule, rows)


def _estimated_error(mechanism: Mechanism, rows: int) -> float:
    """What the mechanism's own estimator says of equally frequent values."""
    try:
        matrix = np.asarray(mechanism.matrix, np.float64)  # type: ignore[attr-defined]
        counts = np.rint(rows * matrix.mean(axis=0)).astype(np.int64)
        error = float(np.min(mechanism.estimate_counts(counts).standard_error))
    except DpfastError:  # too many values for a matrix, or one that has no inverse
        return math.nan
    return error if math.isfinite(error) else math.inf
