"""The rules of a policy, checked, and the groups of columns that are answered together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from dpfast.errors import PolicyError
from dpfast.mechanism import Mechanism
from dpfast.stratified import Stratified

if TYPE_CHECKING:
    from dpfast.domain import Domain
    from dpfast.randomness import Stream

__all__ = ["UNLISTED", "USES", "Group", "Rule", "Sanitiser", "check_by", "check_rules", "read_as"]

USES = ("public", "drop")
UNLISTED = ("error", *USES)
Sanitiser: TypeAlias = Mechanism | Stratified
Rule: TypeAlias = Mechanism | Stratified | str


@dataclass(frozen=True)
class Group:
    """One column, or several that are answered together, with what answers them.

    Attributes
    ----------
    names : tuple of str
    rule : Mechanism or Stratified
    """

    names: tuple[str, ...]
    rule: Sanitiser

    @property
    def column(self) -> str | tuple[str, ...]:
        """What its noise is bound to: the name of the column, or the tuple of names in declared order."""
        return self.names if self.rule.domain.kind == "product" else self.names[0]

    @property
    def parts(self) -> tuple[Domain, ...]:
        """The domain of each column."""
        return self.rule.domain.parts or (self.rule.domain,)

    @property
    def by(self) -> str | None:
        """The public column that stratifies it."""
        return self.rule.by if isinstance(self.rule, Stratified) else None

    @property
    def label(self) -> str:
        """The names, for a person."""
        return ", ".join(self.names)

    def sanitise(
        self, column_of: Callable[[str], Any], *, rng: Stream, ids: Any, threads: int | None, by: Any = None
    ) -> dict[str, Any]:
        """Return the sanitised columns by name; `by` holds the public column of a stratified rule."""
        joint = self.rule.domain.kind == "product"
        columns = tuple(column_of(name) for name in self.names)
        column = columns if joint else columns[0]
        common: dict[str, Any] = {"rng": rng, "ids": ids, "column_name": self.column, "threads": threads}
        if isinstance(self.rule, Stratified):
            answers = self.rule.sanitise(column, by, **common)
        else:
            answers = self.rule.sanitise(column, **common)
        return dict(zip(self.names, answers if joint else (answers,), strict=True))


def read_as(groups: Iterable[Group]) -> dict[str, Domain]:
    """Return the domains by which the cells of columns are read: of those that are sanitised, and of those that name strata."""
    domains = {name: part for group in groups for name, part in zip(group.names, group.parts, strict=True)}
    return domains | {group.rule.by: group.rule.by_domain for group in groups if isinstance(group.rule, Stratified)}


def check_rules(columns: object, joint: object, unlisted: str) -> tuple[Group, ...]:
    """Return the groups of a policy, or refuse what cannot be the name of a column, a group, or a rule."""
    if not isinstance(columns, Mapping):
        raise PolicyError('columns must be a mapping from names to mechanisms, "public" or "drop"')
    if not isinstance(joint, Mapping):
        raise PolicyError("joint must be a mapping from tuples of names to mechanisms")
    if not columns and not joint:
        raise PolicyError("the policy names no column")
    groups = [group for name, rule in columns.items() if (group := _column(name, rule)) is not None]
    taken = set(columns)
    for names, rule in joint.items():
        groups.append(_joint(names, rule))
        if twice := sorted(taken.intersection(names)):
            raise PolicyError(f"column {twice[0]!r} is listed twice; a column that is answered jointly has no other rule")
        taken.update(names)
    for group in groups:
        check_by(group, columns, taken, unlisted)
    return tuple(groups)


def _column(name: object, rule: object) -> Group | None:
    if isinstance(name, tuple):
        raise PolicyError("a group of columns is declared in joint={(name, name): mechanism}")
    column = _check_name(name)
    if isinstance(rule, str) and rule in USES:
        return None
    if not isinstance(rule, Mechanism | Stratified):
        raise PolicyError(f'column {name!r}: the rule must be a mechanism, such as a RandomisedResponse, "public" or "drop"')
    if rule.domain.kind == "product":
        raise PolicyError(f"column {name!r}: its domain is a product; declare the columns in joint={{(name, name): …}}")
    return Group((column,), rule)


def _check_name(name: object) -> str:
    if not isinstance(name, str):
        raise PolicyError("the name of a column must be a string")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise PolicyError("the name of a column is not valid Unicode text") from None
    return name


def _joint(names: object, rule: object) -> Group:
    if not isinstance(names, tuple) or len(names) < 2 or not all(isinstance(name, str) for name in names):
        raise PolicyError("a joint group is named by the tuple of its columns, two or more")
    for name in names:
        _check_name(name)
    if len(set(names)) < len(names):
        raise PolicyError(f"joint {names!r}: a column is listed twice")
    if not isinstance(rule, Mechanism | Stratified):
        raise PolicyError(f"joint {names!r}: the rule must be a mechanism")
    if rule.domain.kind != "product":
        raise PolicyError(f"joint {names!r}: the mechanism needs a joint alphabet: Domain.product(domain, domain)")
    if len(rule.domain.parts) != len(names):
        raise PolicyError(f"joint {names!r}: {len(names)} columns, but the domain is a product of {len(rule.domain.parts)}")
    return Group(names, rule)


def check_by(group: Group, columns: Mapping[str, Rule], taken: set[str], unlisted: str) -> None:
    """Refuse a group that is stratified by a column which is not public."""
    by = group.by
    if by is None:
        return
    use = columns.get(by) if by in taken else unlisted
    if use != "public":
        raise PolicyError(
            f"column {group.label!r} is stratified by {by!r}, which is not public; the release shows which stratum a row is in, "
            'so declare it "public"'
        )
