"""The policy file: TOML in, rules out; every refusal names the line, the column and the key.

A key that is not known is an error, never ignored: a misspelt ``epsilon`` must not publish a column under a default.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from dpfast import _toml_lines
from dpfast._policy_groups import UNLISTED, USES, Group, Rule, Sanitiser, check_by
from dpfast._policy_mechanisms import DEFAULT_KIND, KINDS
from dpfast._text import did_you_mean
from dpfast.domain import Domain
from dpfast.errors import ArgumentTypeError, DpfastError, FileError, PolicyError
from dpfast.mechanism import Mechanism
from dpfast.stratified import Stratified

__all__ = ["read_policy_file"]

FORMAT_VERSION = 1
TOP_KEYS = ("version", "unlisted", "rows_per_person", "columns", "joint")
RULE_KEYS = ("unknown", "other")
COLUMN_DOMAIN_KEYS = ("domain", "edges", "labels", "null", *RULE_KEYS)
JOINT_DOMAIN_KEYS = ("columns", "domain", "only", *RULE_KEYS)
MECHANISM_KEYS = ("mechanism", *dict.fromkeys(key for kind in KINDS.values() for key in kind.keys))
STRATA_KEYS = ("by", "strata", "default")


def read_policy_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the rules of a policy file.

    Parameters
    ----------
    path : str or path-like
        A TOML file. Paths inside it are relative to its folder.

    Returns
    -------
    dict
        The arguments of `dpfast.Policy`: ``columns``, ``joint``, ``unlisted`` and ``rows_per_person``.

    Raises
    ------
    FileError
        If the file cannot be read.
    PolicyError
        If it is not TOML or says something that this version does not understand.
    """
    try:
        policy_path = Path(path)
    except TypeError:
        raise ArgumentTypeError("a policy is read from the path of a TOML file") from None
    try:
        text = policy_path.read_bytes().decode("utf-8")
    except OSError as error:
        raise FileError(f"cannot read the policy {str(policy_path)!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PolicyError(f"the policy {str(policy_path)!r} is not UTF-8 text") from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"the policy {str(policy_path)!r} is not TOML: {error}") from None
    except (ValueError, RecursionError):
        raise PolicyError(
            f"the policy {str(policy_path)!r} holds an integer of thousands of digits, or endless brackets"
        ) from None
    return _policy(_Entry(document, "the policy", text, (), policy_path))


class _Entry:
    """One table of the file: its keys, how to call it, and where it stands."""

    def __init__(self, keys: Mapping[str, Any], owner: str, text: str, path: _toml_lines.Path, file: Path) -> None:
        self.keys, self.owner, self.file = keys, owner, file
        self._text, self._path = text, path

    def __contains__(self, key: str) -> bool:
        return key in self.keys

    def inner(self, keys: Any, owner: str, *path: str | int) -> _Entry:
        """A table inside this one, called `owner`."""
        return _Entry(keys, owner, self._text, (*self._path, *path), self.file)

    def refuse(self, message: str, *path: str | int) -> NoReturn:
        """Raise what is wrong, with the file and the line of the key, or of the table."""
        line = _toml_lines.line_of(self._text, (*self._path, *path))
        raise PolicyError(f"{str(self.file)!r}{'' if line is None else f', line {line}'}: {self.owner}: {message}")

    @contextmanager
    def about(self, *path: str | int, prefix: str = "") -> Iterator[None]:
        """Give errors of ours the line and the name of the table; one of the policy has them already."""
        try:
            yield
        except PolicyError:
            raise
        except DpfastError as error:
            self.refuse(f"{prefix}{error}", *path)

    def check_keys(self, known: Sequence[str]) -> None:
        for key, value in self.keys.items():
            if key in known:
                continue
            if isinstance(value, dict) and self._path[:1] == ("columns",):
                name = ".".join(str(part) for part in self._path[1:])
                self.refuse(f'{key!r} is a table; a name that holds a dot is quoted: [columns."{name}.{key}"]', key)
            hint = did_you_mean(key, known) or f"; it takes {_listed(known)}"
            self.refuse(f"unknown key {key!r}{hint}", key)

    def need(self, *keys: str) -> None:
        for key in keys:
            if key not in self.keys:
                self.refuse(f"{key} is missing")

    def word(self, key: str, known: Sequence[str], default: str) -> str:
        value = self.keys.get(key, default)
        if isinstance(value, str) and value in known:
            return value
        self.refuse(f"{key} must be one of {_listed(known)}, not {value!r}{did_you_mean(value, known)}", key)


def _policy(top: _Entry) -> dict[str, Any]:
    top.check_keys(TOP_KEYS)
    if "version" not in top:
        top.refuse(f"version is missing; write version = {FORMAT_VERSION}")
    version = top.keys["version"]
    if type(version) is not int or version != FORMAT_VERSION:
        top.refuse(f"version must be {FORMAT_VERSION}, the only one that this dpfast reads", "version")
    rows = top.keys.get("rows_per_person", 1)
    if type(rows) is not int or rows < 1:
        top.refuse("rows_per_person must be an integer of at least 1", "rows_per_person")
    columns, groups = top.keys.get("columns", {}), top.keys.get("joint", [])
    if not isinstance(columns, dict) or (not columns and not groups):
        top.refuse("columns is missing; write a table [columns.NAME] for each column")
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        top.refuse("joint is a list of tables, [[joint]] for each group of columns", "joint")
    rules = {name: _column(top.inner(entry, f"column {name!r}", "columns", name), name) for name, entry in columns.items()}
    joint: dict[tuple[str, ...], Sanitiser] = {}
    for place, group in enumerate(groups):
        entry = top.inner(group, f"joint group {place + 1}", "joint", place)
        names, rule = _joint(entry)
        taken = [name for name in names if name in rules or any(name in others for others in joint)]
        if taken:
            entry.refuse(f"column {taken[0]!r} is listed twice; a column that is answered jointly has no other rule", "columns")
        joint[names] = rule
    unlisted = top.word("unlisted", UNLISTED, "error")
    named = {*rules, *(name for names in joint for name in names)}
    paths: list[tuple[_toml_lines.Path, Group]] = [
        (("columns", name, "by"), Group((name,), rule)) for name, rule in rules.items() if not isinstance(rule, str)
    ]
    paths += [(("joint", place, "by"), Group(*group)) for place, group in enumerate(joint.items())]
    for path, group in paths:
        try:
            check_by(group, rules, named, unlisted)
        except PolicyError as error:
            top.refuse(str(error), *path)
    return {"columns": rules, "joint": joint, "unlisted": unlisted, "rows_per_person": rows}


def _column(entry: _Entry, name: str) -> Rule:
    if not isinstance(entry.keys, dict):
        entry.refuse(f"expected a table [columns.{name}] with keys, such as use or domain and epsilon")
    entry.check_keys((*MECHANISM_KEYS, *COLUMN_DOMAIN_KEYS, *STRATA_KEYS, "use"))
    if "use" in entry:
        for key in entry.keys:
            if key != "use":
                entry.refuse(f"{key} has no meaning beside use; a sanitised column has no use key", key)
        return entry.word("use", USES, "")
    return _sanitiser(entry, _column_domain(entry), COLUMN_DOMAIN_KEYS)


def _joint(entry: _Entry) -> tuple[tuple[str, ...], Sanitiser]:
    entry.check_keys((*MECHANISM_KEYS, *JOINT_DOMAIN_KEYS, *STRATA_KEYS))
    entry.need("columns", "domain")
    names, declared, only = entry.keys["columns"], entry.keys["domain"], entry.keys.get("only")
    if not isinstance(names, list) or len(names) < 2 or not all(isinstance(name, str) for name in names):
        entry.refuse("columns must be a list of two names or more", "columns")
    if len(set(names)) < len(names):
        entry.refuse("columns lists a name twice", "columns")
    if not isinstance(declared, list) or len(declared) != len(names):
        entry.refuse("domain must be a list with one domain, a list or the path of a file, for each of columns", "domain")
    if only is not None and not (isinstance(only, list) and all(isinstance(cell, list) for cell in only)):
        entry.refuse("only must be a list of lists, one value a column in each", "only")
    parts = []
    for name, part in zip(names, declared, strict=True):
        with entry.about("domain", prefix=f"domain of {name!r}: "):
            parts.append(_part(entry, name, part))
    cells = None if only is None else [tuple(cell) for cell in only]
    with entry.about("only" if "only" in entry else "domain", prefix="domain: "):
        domain = Domain.product(*parts, only=cells)
    return tuple(names), _sanitiser(entry, _ruled(entry, domain), JOINT_DOMAIN_KEYS)


def _part(entry: _Entry, name: str, declared: object) -> Domain:
    """One part of a joint domain: values, a file, or a table with the keys of a column's domain."""
    if isinstance(declared, dict):
        inner = entry.inner(declared, f"{entry.owner}, domain of {name!r}", "domain")
        inner.check_keys(COLUMN_DOMAIN_KEYS)
        return _column_domain(inner)
    if not isinstance(declared, str | list):
        entry.refuse("each domain must be a list of values, the path of a file, or a table", "domain")
    return Domain(entry.file.parent / declared if isinstance(declared, str) else declared)


def _column_domain(entry: _Entry) -> Domain:
    null = entry.keys.get("null")
    if null is not None and not isinstance(null, bool):
        entry.refuse("null must be true or false", "null")
    if "edges" in entry:
        if "domain" in entry:
            entry.refuse("give either domain or edges, which make the domain of a numeric column", "edges")
        with entry.about("edges", prefix="edges: "):
            domain = Domain.bins(entry.keys["edges"], null=bool(null))
        if "labels" in entry:
            with entry.about("labels", prefix="labels: "):
                domain = Domain.bins(entry.keys["edges"], entry.keys["labels"], null=bool(null))
        return _ruled(entry, domain)
    if "labels" in entry:
        entry.refuse("labels name the bins between edges, which are missing", "labels")
    entry.need("domain")
    declared = entry.keys["domain"]
    if not isinstance(declared, str | list):
        entry.refuse("domain must be a list of values or the path of a file", "domain")
    with entry.about("domain", prefix="domain: "):
        domain = Domain(entry.file.parent / declared if isinstance(declared, str) else declared)
        if null and None not in domain.values:
            domain = Domain([*domain.values, None])
    if null is False and None in domain.values:
        entry.refuse("null is false, but null is among the values of the domain", "null")
    return _ruled(entry, domain)


def _ruled(entry: _Entry, domain: Domain) -> Domain:
    """The domain with the rule for unknown values that the entry states."""
    with entry.about("other" if "other" in entry else "unknown", prefix="domain: "):
        return domain.with_rule(unknown=entry.keys.get("unknown", "error"), other=entry.keys.get("other"))


def _sanitiser(entry: _Entry, domain: Domain, others: Sequence[str]) -> Sanitiser:
    if "by" not in entry:
        for key in ("strata", "default"):
            if key in entry:
                entry.refuse(f"{key} has no meaning without by, the name of a public column", key)
        return _mechanism(entry, domain, others)
    for key in MECHANISM_KEYS:
        if key in entry:
            entry.refuse(f"{key} beside by says nothing of any stratum; write it into strata or default", key)
    strata = entry.keys.get("strata")
    if not isinstance(strata, list) or not strata or not all(isinstance(stratum, dict) for stratum in strata):
        entry.refuse("strata are missing: a list of tables, each with a value of the public column and a mechanism", "by")
    mechanisms: dict[Any, Mechanism] = {}
    for place, keys in enumerate(strata):
        stratum = entry.inner(keys, f"{entry.owner}, stratum {place + 1}", "strata", place)
        stratum.check_keys(("value", "null", *MECHANISM_KEYS))
        if ("value" in stratum) == (stratum.keys.get("null") is True):
            stratum.refuse("value is missing; or write null = true for rows where the public column is null")
        value = stratum.keys.get("value")
        if not isinstance(value, str | int | None):
            stratum.refuse("value must be a text, an integer, true or false", "value")
        if value in mechanisms:
            stratum.refuse("value has a stratum already", "value")
        mechanisms[value] = _mechanism(stratum, domain, ("value", "null"))
    default = None
    if "default" in entry:
        if not isinstance(entry.keys["default"], dict):
            entry.refuse("default must be a table with the keys of a mechanism", "default")
        rest = entry.inner(entry.keys["default"], f"{entry.owner}, default", "default")
        rest.check_keys(MECHANISM_KEYS)
        default = _mechanism(rest, domain, ())
    try:
        return Stratified(entry.keys["by"], mechanisms, default=default)
    except PolicyError as error:
        entry.refuse(str(error), "by")


def _mechanism(entry: _Entry, domain: Domain, others: Sequence[str]) -> Mechanism:
    name = entry.word("mechanism", tuple(KINDS), DEFAULT_KIND)
    kind = KINDS[name]
    for key in entry.keys:
        if key not in kind.keys and key not in others and key != "mechanism":
            entry.refuse(f"{key} has no meaning for the mechanism {name!r}, which takes {_listed(kind.keys)}", key)
    entry.need(*kind.required)
    known = [key for key in kind.keys if key in entry]
    try:
        return kind.make(domain, entry.keys, entry.file.parent)
    except DpfastError as error:
        # the text of an argument's error begins with its name
        about = next((key for key in known if str(error).startswith(key)), known[0])
        entry.refuse(str(error), about)


def _listed(words: Iterable[str]) -> str:
    return ", ".join(map(repr, words))
