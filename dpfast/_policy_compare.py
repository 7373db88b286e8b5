"""The same privacy spent another way, and the epsilon that a wanted error takes: for those who still choose.

**Expected wrong cells.** Under randomised response with p off the diagonal, a row of a k-ary column changes with probability
(k-1) p. Over M joint cells of columns with k_1, ..., k_J values, column j changes with probability p (M - M/k_j), since M/k_j
cells agree with the true one on it.

**Epsilon for an error.** With s = n E^2 the standard error E of the share of a value no row has is p (1-p) = s (1 - k p)^2, so

    p = (1 + 2 s k - sqrt(1 + 4 s (k-1))) / (2 (1 + s k^2)),       epsilon = ln((1 - delta)/p - (k-1)).

It is the smaller root, at which 1 - k p > 0. The epsilon found is raised until the integer table meets the error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpfast._policy_figures import ColumnPlan, attributes, plan_column
from dpfast._policy_groups import Group
from dpfast._rounding import float_below
from dpfast.domain import Domain
from dpfast.errors import DomainError
from dpfast.response import RandomisedResponse

if TYPE_CHECKING:
    from dpfast.privacy import Privacy

__all__ = ["Alternative", "alternatives", "epsilon_for_error", "plans_for_error"]

# e^45 exceeds the 2^64 words of a cell: no table spends more.
EPSILON_MAX = 45.0


@dataclass(frozen=True)
class Alternative:
    """One way to spend a total.

    Attributes
    ----------
    name : {"policy", "equal_split", "joint"}
        What the policy says; randomised response on each column with equal epsilons; one randomised response on all of them.
    epsilon, delta : float
        Of a whole row.
    changed_cells : float
        Expected number of sanitised cells of a row that change; NaN where a mechanism does not tell.
    columns : tuple of ColumnPlan
        Of each single column, also where several are answered together.
    """

    name: str
    epsilon: float
    delta: float
    changed_cells: float
    columns: tuple[ColumnPlan, ...]


def alternatives(groups: Sequence[Group], total: Privacy, rows: int | None) -> list[Alternative]:
    """Return the policy and, where there are several columns to choose for, other ways to spend its total.

    Parameters
    ----------
    groups : sequence of Group
        The sanitised columns.
    total : Privacy
        What a row costs under the policy.
    rows : int or None
        Number of rows, for standard errors.

    Returns
    -------
    list of Alternative
        The policy first. A joint mechanism is left out where its alphabet would have more than 2^31 cells.
    """
    found = [_alternative("policy", groups, total.epsilon, total.delta, rows)]
    parts = [(name, part.with_rule()) for group in groups for name, part in zip(group.names, group.parts, strict=True)]
    if len(parts) < 2 or not math.isfinite(total.epsilon) or total.delta >= 1.0:
        return found
    epsilon, delta = (float_below(Fraction(whole) / len(parts)) for whole in (total.epsilon, total.delta))
    split = [Group((name,), RandomisedResponse(part, epsilon=epsilon, delta=delta)) for name, part in parts]
    found.append(_alternative("equal_split", split, total.epsilon, total.delta, rows))
    try:
        domain = Domain.product(*(part for _, part in parts))
    except DomainError:
        return found
    joint = Group(tuple(name for name, _ in parts), RandomisedResponse(domain, epsilon=total.epsilon, delta=total.delta))
    found.append(_alternative("joint", [joint], total.epsilon, total.delta, rows))
    return found


def _alternative(name: str, groups: Sequence[Group], epsilon: float, delta: float, rows: int | None) -> Alternative:
    columns = tuple(column for group in groups for column in attributes(group, rows))
    return Alternative(name, epsilon, delta, math.fsum(column.changed_share for column in columns), columns)


def epsilon_for_error(k: int, rows: int, error: float, delta: float = 0.0) -> float:
    """Return the epsilon at which randomised response estimates a share with a standard error of at most `error`.

    Parameters
    ----------
    k : int
        Number of values.
    rows : int
        Number of rows.
    error : float
        The standard error wanted, of the share of a value that no row has; above 0.
    delta : float
        In [0, 1).

    Returns
    -------
    float
        Within a few parts in 10^12 of the smallest; infinite where no table of 64-bit words is exact enough.

    Examples
    --------
    >>> round(epsilon_for_error(2, 10_000, 0.01), 4)
    0.9624
    """
    if k == 1:
        return 0.0
    domain = Domain.range(k)
    s = rows * error * error
    # the numerator is a difference of large numbers: as a quotient it is not
    p = 2.0 * s / (1.0 + 2.0 * s * k + math.sqrt(1.0 + 4.0 * s * (k - 1)))
    if p <= 0.0 or (1.0 - delta) / p - (k - 1) <= 0.0:
        epsilon = 0.0 if p > 0.0 else EPSILON_MAX
    else:
        epsilon = max(0.0, min(math.log((1.0 - delta) / p - (k - 1)), EPSILON_MAX))
    step = 1e-13
    while True:
        mechanism = RandomisedResponse(domain, epsilon=epsilon, delta=delta)
        if plan_column(Group(("",), mechanism), rows).standard_error <= error:
            return epsilon
        if epsilon >= EPSILON_MAX:
            return math.inf
        epsilon = min(epsilon + max(epsilon, 1.0) * step, EPSILON_MAX)
        step *= 2.0


def plans_for_error(groups: Sequence[Group], rows: int, error: float) -> list[ColumnPlan | None]:
    """Return each group as it would be with randomised response at the epsilon that reaches `error`, or None for never."""
    found: list[ColumnPlan | None] = []
    for group in groups:
        delta = group.rule.delta
        epsilon = epsilon_for_error(group.rule.domain.size, rows, error, delta)
        if math.isinf(epsilon):
            found.append(None)
            continue
        mechanism = RandomisedResponse(group.rule.domain.with_rule(), epsilon=epsilon, delta=delta)
        found.append(plan_column(Group(group.names, mechanism), rows))
    return found
