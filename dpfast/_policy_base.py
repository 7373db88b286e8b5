"""The rules of a policy and what they cost, without a table: what `dpfast.Policy` is before it meets one."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from dpfast._policy_figures import ColumnPlan, plan_column
from dpfast._policy_groups import UNLISTED, Group, Rule, Sanitiser, check_rules
from dpfast._policy_plan import policy_digest
from dpfast._policy_totals import certificate, described, realised_privacy, row_privacy
from dpfast._rounding import integer
from dpfast._spending import Pay, payment
from dpfast._statement import check_delta
from dpfast.errors import PolicyError
from dpfast.mechanism import Mechanism
from dpfast.privacy import Privacy

__all__ = ["Rules", "table_payment"]


class Rules:
    """The rule of each column and group, with totals and figures; see `dpfast.Policy`."""

    __slots__ = ("columns", "digest", "groups", "joint", "rows_per_person", "unlisted")

    columns: Mapping[str, Rule]
    joint: Mapping[tuple[str, ...], Sanitiser]
    digest: bytes
    groups: tuple[Group, ...]

    def __init__(
        self,
        columns: Mapping[str, Rule],
        *,
        joint: Mapping[tuple[str, ...], Sanitiser] = MappingProxyType({}),
        unlisted: str = "error",
        rows_per_person: int = 1,
    ) -> None:
        if unlisted not in UNLISTED:
            raise PolicyError(f"unlisted must be one of {', '.join(map(repr, UNLISTED))}")
        self.groups = check_rules(columns, joint, unlisted)
        self.columns = MappingProxyType(dict(columns))
        self.joint = MappingProxyType(dict(joint))
        self.unlisted = unlisted
        self.rows_per_person = integer(rows_per_person, "rows_per_person", minimum=1)
        self.digest = policy_digest(self.columns, self.groups, unlisted, self.rows_per_person)

    @property
    def mechanisms(self) -> dict[str, Mechanism]:
        """The columns that are sanitised by one mechanism of their own, and these."""
        return {name: rule for name, rule in self.columns.items() if isinstance(rule, Mechanism)}

    @property
    def sanitised(self) -> frozenset[str]:
        """Names of all columns that are sanitised, alone, by strata or jointly."""
        return frozenset(name for group in self.groups for name in group.names)

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), dict(self.columns), dict(self.joint), self.unlisted, self.rows_per_person)

    def __repr__(self) -> str:
        shown = [f"{{{described(self.columns)}}}"]
        if self.joint:
            shown.append(f"joint={{{described(self.joint)}}}")
        shown.append(f"unlisted={self.unlisted!r}")
        if self.rows_per_person != 1:
            shown.append(f"rows_per_person={self.rows_per_person}")
        return f"Policy({', '.join(shown)})"

    def rule(self, name: str) -> Rule:
        """Return what happens to a column that a table has: its mechanism or that of its group, ``"public"`` or ``"drop"``."""
        found = (group.rule for group in self.groups if name in group.names)
        return next(found, self.columns.get(name, self.unlisted))

    def privacy(self, delta: float = 0.0, *, rows_per_person: int | None = None) -> Privacy:
        """Return what the release of a whole row costs, all its columns together: the smallest epsilon proved at `delta`.

        Parameters
        ----------
        delta : float
            In [0, 1).
        rows_per_person : int, optional
            Number of rows that one person may own; the caller vouches for it. Default: that of the policy.

        Returns
        -------
        Privacy
            At delta 0 the sum of the pure epsilons, times `rows_per_person`. Otherwise the exact composition
            (`dpfast.compose`) of all columns and rows, or the sum of the columns' epsilons at the deltas they ask for,
            whichever is less. A joint group counts once, a stratified column as its worst stratum. Neighbours are
            ``replace_one``.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            For a delta outside [0, 1) or a `rows_per_person` below 1.

        Notes
        -----
        Sums and products are exact and then rounded up to a double. The figure holds for any dependence between the columns of a
        row; for randomised response it is the true one to about 1e-9.

        Examples
        --------
        >>> from dpfast import Policy, RandomisedResponse
        >>> policy = Policy({"smoker": RandomisedResponse(["no", "yes"], epsilon=1.0)})
        >>> policy.privacy(rows_per_person=3).epsilon
        3.0
        """
        delta = check_delta(delta)
        return row_privacy(self.groups, delta, self._rows(rows_per_person))

    def attribute_privacy(self, delta: float = 0.0) -> Privacy:
        """Return what one *attribute* of one row costs: much weaker than `privacy`, and not a statement about a person.

        Parameters
        ----------
        delta : float
            The delta to be stated, in [0, 1).

        Returns
        -------
        Privacy
            The largest epsilon of a column, or joint group, at `delta`, rounded up. It compares tables that differ in one
            column of one row, all else about that row being equal and known.

        Examples
        --------
        >>> from dpfast import Policy, RandomisedResponse
        >>> smoker, sex = (RandomisedResponse(["a", "b"], epsilon=epsilon) for epsilon in (1.0, 0.5))
        >>> Policy({"smoker": smoker, "sex": sex}).attribute_privacy().epsilon
        1.0
        """
        delta = check_delta(delta)
        return Privacy(max((group.rule.epsilon_at(delta) for group in self.groups), default=0.0), delta)

    def _rows(self, rows_per_person: int | None) -> int:
        return self.rows_per_person if rows_per_person is None else integer(rows_per_person, "rows_per_person", minimum=1)

    def certificate(self, *, rows_per_person: int | None = None) -> dict[str, Any]:
        """Return what a reader of the release may know about how it was made.

        Parameters
        ----------
        rows_per_person : int, optional
            As for `privacy`.

        Returns
        -------
        dict
            Ready for JSON: format version, mechanisms of columns and joint groups, public columns, digest of the policy,
            neighbours, unit, `rows_per_person`, realised epsilon and delta. Doubles are written in hexadecimal, so that
            nothing is lost. No time, path or count; nothing that depends on data.

        Examples
        --------
        >>> from dpfast import Policy, RandomisedResponse
        >>> Policy({"smoker": RandomisedResponse(["no", "yes"], epsilon=1.0)}).certificate()["epsilon"]
        '0x1.0000000000000p+0'
        """
        stated = certificate(self.columns, self.groups, self._rows(rows_per_person))
        return {**stated, "policy": self.digest.hex(), "unlisted": self.unlisted}

    def describe(self, n_rows: int | None = None) -> list[ColumnPlan]:
        """Return the figures of each sanitised column or joint group, without data.

        Parameters
        ----------
        n_rows : int, optional
            Of the table, for the standard errors.

        Returns
        -------
        list of ColumnPlan
            In the order of the policy, joint groups last.

        Examples
        --------
        >>> from dpfast import Policy, RandomisedResponse
        >>> [plan] = Policy({"smoker": RandomisedResponse(["no", "yes"], epsilon=1.0)}).describe(10_000)
        >>> round(plan.keep_probability, 4), round(plan.standard_error, 4)
        (0.7311, 0.0096)
        """
        n = None if n_rows is None else integer(n_rows, "n_rows", minimum=1)
        return [plan_column(group, n) for group in self.groups]


def _remade(
    policy: type[Rules], columns: dict[str, Rule], joint: dict[tuple[str, ...], Sanitiser], unlisted: str, rows_per_person: int
) -> Rules:
    """Make a policy from its pickled parts; a read-only mapping has no pickled form."""
    return policy(columns, joint=joint, unlisted=unlisted, rows_per_person=rows_per_person)


def table_payment(rules: Rules, ledger: object) -> Pay:
    """What charges a ledger for a whole table; people have the more rows of those the policy and the ledger reckon with."""
    return payment(ledger, (), rules.digest, lambda rows: realised_privacy(rules.groups, max(rows, rules.rows_per_person)))
