"""The fit of a policy to a schema, settled before a value is read; and what identifies a policy."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from dpfast._frames import Frame
from dpfast._policy_groups import Group, Rule
from dpfast._schema import bare_field
from dpfast._text import did_you_mean
from dpfast.columns import adapt, check_arrow_type, output_arrow_type
from dpfast.errors import ArgumentError, ArgumentTypeError, PolicyError
from dpfast.stratified import Stratified

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfast.domain import Domain

__all__ = ["check_both", "check_names", "id_columns", "id_names", "plan_frame", "planned_schema", "policy_digest"]

_DIGEST_PERSON = b"dpfast/policy/1"


class Planned(Protocol):
    """What of a policy is needed here."""

    columns: Mapping[str, Rule]
    groups: tuple[Group, ...]
    unlisted: str

    @property
    def sanitised(self) -> frozenset[str]:
        """Names of all columns that are sanitised."""


def planned_schema(columns: Mapping[str, Rule], groups: tuple[Group, ...], unlisted: str, schema: pa.Schema) -> pa.Schema:
    """Return the schema of the sanitised table; see `dpfast.Policy.plan_schema`."""
    import pyarrow as pa

    kept = set(check_names(columns, groups, unlisted, schema.names))
    for group in groups:
        _check_strata(group, schema)
    domains = _domains(groups)
    return pa.schema([_planned(field, domains.get(field.name)) for field in schema if field.name in kept])


def check_names(columns: Mapping[str, Rule], groups: tuple[Group, ...], unlisted: str, names: list[Any]) -> list[Any]:
    """Return the names of a table that are published, in its order, or say why the policy does not fit them."""
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise PolicyError(f"the table has more than one column named {_listed(repeated)}")
    domains = _domains(groups)
    wanted = dict.fromkeys([*columns, *domains, *(group.by for group in groups if group.by is not None)])
    without = [name for name in names if name not in columns and name not in domains]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise PolicyError(f"the table has no column named {_listed(missing)}{did_you_mean(missing[0], without)}")
    if without and unlisted == "error":
        raise PolicyError(f"the policy does not list {_listed(without)}; give each a rule, or set unlisted to 'public' or 'drop'")
    kept = [name for name in names if name in domains or columns.get(name, unlisted) != "drop"]
    if not kept:
        raise PolicyError("the policy drops every column of the table")
    return kept


def _domains(groups: tuple[Group, ...]) -> dict[str, Domain]:
    """The domain of each column that is sanitised."""
    return {name: part for group in groups for name, part in zip(group.names, group.parts, strict=True)}


def plan_frame(policy: Planned, frame: Frame) -> list[Any]:
    """Return the names of the columns that stay, or say why the policy does not fit; no value is read."""
    kept = check_names(policy.columns, policy.groups, policy.unlisted, frame.names)
    frame.check({name: policy.columns.get(name) == "public" for name in (*policy.columns, *policy.sanitised)})
    empty = frame.empty()
    for group in policy.groups:
        _plan_group(group, empty)
    return kept


def _plan_group(group: Group, empty: Frame) -> None:
    for name, part in zip(group.names, group.parts, strict=True):
        adapt(part, empty.column(name), name)
    if isinstance(group.rule, Stratified):
        adapt(group.rule.by_domain, empty.column(group.rule.by), group.rule.by)
        check_both(group.rule)


def _planned(field: pa.Field, domain: Domain | None) -> pa.Field:
    if domain is None:
        return bare_field(field)
    check_arrow_type(domain, field.type, field.name)
    if not field.nullable and domain.null_code is not None:
        raise PolicyError(f"column {field.name!r} is declared non-null, but null is in its domain")
    return bare_field(field.with_type(output_arrow_type(domain, field.type)))


def _check_strata(group: Group, schema: pa.Schema) -> None:
    rule = group.rule
    if isinstance(rule, Stratified):
        check_arrow_type(rule.by_domain, schema.field(rule.by).type, rule.by)
        check_both(rule)


def check_both(rule: Stratified) -> None:
    """Refuse strata by a boolean column that leave out one of its values: it is the type whose values are known unread."""
    if rule.by_domain.kind == "bool" and rule.default is None and len({True, False} & set(rule.mechanisms)) < 2:
        raise PolicyError(f"public column {rule.by!r} may be true or false; give both a mechanism, or a default")


def id_names(sanitised: Iterable[str], ids: object, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the id columns that `ids`, a name or a tuple of names, stands for; or say what is wrong."""
    wanted = (ids,) if isinstance(ids, str) else ids
    if not isinstance(wanted, tuple) or not wanted or not all(isinstance(name, str) for name in wanted):
        raise ArgumentTypeError("ids must be the name of a column or a tuple of names")
    if len(set(wanted)) < len(wanted):
        raise ArgumentError("ids names a column twice; name each once, always in the same order")
    present, taken = set(names), set(sanitised)
    for name in wanted:
        if name not in present:
            raise PolicyError(f"ids: the table has no column named {name!r}{did_you_mean(name, present)}")
        if name in taken:
            raise PolicyError(f"ids: column {name!r} is sanitised; ids are public, so it must be public or dropped")
    return wanted


def id_columns(table: pa.Table | pa.RecordBatch | Frame, names: tuple[str, ...]) -> Any:
    """Return the identifiers of the rows: one column, or a tuple of columns."""
    columns = tuple(table.column(name) for name in names)
    return columns[0] if len(columns) == 1 else columns


def policy_digest(columns: Mapping[str, Rule], groups: tuple[Group, ...], unlisted: str, rows_per_person: int) -> bytes:
    """Return 32 bytes that identify names, rules, mechanisms and rows a person, in whatever order."""
    digest = hashlib.blake2b(digest_size=32, person=_DIGEST_PERSON)
    for field in _canonical(columns, groups, unlisted, rows_per_person):
        digest.update(len(field).to_bytes(8, "little"))
        digest.update(field)
    return digest.digest()


def _canonical(columns: Mapping[str, Rule], groups: tuple[Group, ...], unlisted: str, rows_per_person: int) -> Iterator[bytes]:
    """Yield the fields that a policy consists of, columns by name: what the digest is taken of."""
    yield unlisted.encode()
    for name in sorted(columns):
        rule = columns[name]
        yield name.encode()
        if isinstance(rule, str):
            yield rule.encode()
        else:
            yield from _rule_fields(Group((name,), rule))
    for group in sorted((group for group in groups if len(group.names) > 1), key=lambda group: group.names):
        yield b"joint"
        yield str(len(group.names)).encode()
        yield from (name.encode() for name in group.names)
        yield from _rule_fields(group)
    if rows_per_person != 1:
        yield b"rows_per_person"
        yield str(rows_per_person).encode()


def _rule_fields(group: Group) -> Iterator[bytes]:
    domain = group.rule.domain
    yield b"sanitise"
    yield group.rule.digest
    yield domain.unknown.encode()
    yield b"" if domain.other is None else f"{type(domain.other).__name__}:{domain.other!r}".encode()


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
