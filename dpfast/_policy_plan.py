"""The fit of a policy to a schema, settled before a value is read; and what identifies a policy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from dpfast._schema import bare_field
from dpfast.columns import check_arrow_type, output_arrow_type
from dpfast.errors import ArgumentTypeError, PolicyError
from dpfast.response import RandomisedResponse

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["USES", "Rule", "check_rule", "id_columns", "id_names", "planned_schema", "policy_digest"]

USES = ("public", "drop")
Rule: TypeAlias = RandomisedResponse | str

_DIGEST_PERSON = b"dpfast/policy/1"


class Rules(Protocol):
    """Whatever knows the rule of each column."""

    def rule(self, name: str) -> Rule:
        """Return the rule of a column."""


def planned_schema(columns: Mapping[str, Rule], unlisted: str, schema: pa.Schema) -> pa.Schema:
    """Return the schema of the sanitised table; see `dpfast.Policy.plan_schema`."""
    import pyarrow as pa

    names = schema.names
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise PolicyError(f"the table has more than one column named {_listed(repeated)}")
    missing = [name for name in columns if name not in names]
    if missing:
        raise PolicyError(f"the table has no column named {_listed(missing)}")
    without = [name for name in names if name not in columns]
    if without and unlisted == "error":
        raise PolicyError(f"the policy does not list {_listed(without)}; give each a rule, or set unlisted to 'public' or 'drop'")
    rules = [(field, columns.get(field.name, unlisted)) for field in schema]
    fields = [_planned(field, rule) for field, rule in rules if rule != "drop"]
    if not fields:
        raise PolicyError("the policy drops every column of the table")
    return pa.schema(fields)


def _planned(field: pa.Field, rule: Rule) -> pa.Field:
    if isinstance(rule, str):
        return bare_field(field)
    check_arrow_type(rule.domain, field.type, field.name)
    if not field.nullable and rule.domain.null_code is not None:
        raise PolicyError(f"column {field.name!r} is declared non-null, but null is in its domain")
    return bare_field(field.with_type(output_arrow_type(rule.domain, field.type)))


def id_names(policy: Rules, ids: object, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the id columns that `ids`, a name or a tuple of names, stands for; or say what is wrong."""
    wanted = (ids,) if isinstance(ids, str) else ids
    if not isinstance(wanted, tuple) or not wanted or not all(isinstance(name, str) for name in wanted):
        raise ArgumentTypeError("ids must be the name of a column or a tuple of names")
    present = set(names)
    for name in wanted:
        if name not in present:
            raise PolicyError(f"ids: the table has no column named {name!r}")
        if isinstance(policy.rule(name), RandomisedResponse):
            raise PolicyError(f"ids: column {name!r} is sanitised; ids are public, so it must be public or dropped")
    return wanted


def id_columns(table: pa.Table | pa.RecordBatch, names: tuple[str, ...]) -> Any:
    """Return the identifiers of the rows: one column, or a tuple of columns."""
    columns = tuple(table.column(name) for name in names)
    return columns[0] if len(columns) == 1 else columns


def check_rule(name: object, rule: object) -> None:
    """Refuse what cannot be the name of a column or its rule."""
    if isinstance(name, tuple):
        raise PolicyError("groups of columns do not exist in this version; give each column a rule of its own")
    if not isinstance(name, str):
        raise PolicyError("the name of a column must be a string")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise PolicyError("the name of a column is not valid Unicode text") from None
    if not isinstance(rule, RandomisedResponse) and not (isinstance(rule, str) and rule in USES):
        raise PolicyError(f'column {name!r}: the rule must be a RandomisedResponse, "public" or "drop"')


def policy_digest(columns: Mapping[str, Rule], unlisted: str) -> bytes:
    """Return 32 bytes that identify names, rules and mechanisms, in whatever order."""
    digest = hashlib.blake2b(digest_size=32, person=_DIGEST_PERSON)
    for field in _canonical(columns, unlisted):
        digest.update(len(field).to_bytes(8, "little"))
        digest.update(field)
    return digest.digest()


def _canonical(columns: Mapping[str, Rule], unlisted: str) -> Iterator[bytes]:
    """Yield the fields that a policy consists of, columns by name: what the digest is taken of."""
    yield unlisted.encode()
    for name in sorted(columns):
        rule = columns[name]
        yield name.encode()
        if isinstance(rule, str):
            yield rule.encode()
            continue
        other = rule.domain.other
        yield b"sanitise"
        yield rule.digest
        yield rule.domain.unknown.encode()
        yield b"" if other is None else f"{type(other).__name__}:{other!r}".encode()


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
