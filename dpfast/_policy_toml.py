"""The policy file: TOML in, rules out; every refusal names the column and the key.

A key that is not known is an error, never ignored: a misspelt ``epsilon`` must not publish a column under a default.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from dpfast._policy_plan import USES, Rule
from dpfast.domain import Domain
from dpfast.errors import DpfastError, FileError, PolicyError
from dpfast.response import RandomisedResponse

__all__ = ["read_policy_file"]

FORMAT_VERSION = 1
TOP_KEYS = ("version", "unlisted", "columns")
RESPONSE_KEYS = ("mechanism", "domain", "null", "unknown", "other", "epsilon", "delta")
COLUMN_KEYS = (*RESPONSE_KEYS, "use")
MECHANISMS = ("randomised_response",)
# Keys that a reader may have met elsewhere and this version does not have: a plain "unknown key" would puzzle them.
ABSENT_TOP_KEYS = ("joint", "rows_per_person", "by")
ABSENT_COLUMN_KEYS = ("edges", "distance", "loss", "matrix_file", "only", "by", "rows_per_person", "labels")


def read_policy_file(path: str | os.PathLike[str]) -> tuple[dict[str, Rule], str]:
    """Read the rules of a policy file.

    Parameters
    ----------
    path : str or path-like
        A TOML file. Paths inside it are relative to its folder.

    Returns
    -------
    columns : dict
        For each named column a mechanism, ``"public"`` or ``"drop"``, in the order of the file.
    unlisted : str
        What happens to a column that is not named.

    Raises
    ------
    FileError
        If the file cannot be read.
    PolicyError
        If it is not TOML or says something that this version does not understand.
    """
    policy_path = Path(path)
    try:
        text = policy_path.read_bytes().decode("utf-8")
    except OSError as error:
        raise FileError(f"cannot read the policy {str(policy_path)!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PolicyError("the policy file is not UTF-8 text") from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"the policy file is not TOML: {error}") from None
    return _rules(document, policy_path.parent)


def _rules(document: Mapping[str, Any], folder: Path) -> tuple[dict[str, Rule], str]:
    _check_keys("the policy", document, TOP_KEYS, ABSENT_TOP_KEYS)
    version = document.get("version")
    if version is None:
        raise PolicyError(f"the policy: version is missing; write version = {FORMAT_VERSION}")
    if type(version) is not int or version != FORMAT_VERSION:
        raise PolicyError(f"the policy: version must be {FORMAT_VERSION}, the only one that this dpfast reads")
    columns = document.get("columns")
    if not isinstance(columns, dict) or not columns:
        raise PolicyError("the policy: columns is missing; write a table [columns.NAME] for each column")
    return {name: _column_rule(name, entry, folder) for name, entry in columns.items()}, document.get("unlisted", "error")


def _column_rule(name: str, entry: object, folder: Path) -> Rule:
    owner = f"column {name!r}"
    if not isinstance(entry, dict):
        raise PolicyError(f"{owner}: expected a table [columns.{name}] with keys, such as use or domain and epsilon")
    for key, value in entry.items():
        if isinstance(value, dict):
            raise PolicyError(f'{owner}: {key!r} is a table; a name that holds a dot is quoted: [columns."{name}.{key}"]')
    _check_keys(owner, entry, COLUMN_KEYS, ABSENT_COLUMN_KEYS)
    if "use" in entry:
        return _use(owner, entry)
    mechanism = entry.get("mechanism", MECHANISMS[0])
    if mechanism not in MECHANISMS:
        _refuse_word(owner, "mechanism", mechanism, MECHANISMS)
    for key in ("domain", "epsilon"):
        if key not in entry:
            raise PolicyError(f"{owner}: {key} is missing")
    domain = _domain(owner, entry, folder)
    try:
        return RandomisedResponse(domain, epsilon=entry["epsilon"], delta=entry.get("delta", 0.0))
    except DpfastError as error:
        raise PolicyError(f"{owner}: {error}") from None


def _use(owner: str, entry: Mapping[str, Any]) -> str:
    for key in entry:
        if key != "use":
            raise PolicyError(f"{owner}: {key} has no meaning beside use; a sanitised column has no use key")
    use = entry["use"]
    if use not in USES:
        _refuse_word(owner, "use", use, USES)
    return str(use)


def _domain(owner: str, entry: Mapping[str, Any], folder: Path) -> Domain:
    declared = entry["domain"]
    if not isinstance(declared, str | list):
        raise PolicyError(f"{owner}: domain must be a list of values or the path of a file")
    null = entry.get("null")
    if null is not None and not isinstance(null, bool):
        raise PolicyError(f"{owner}: null must be true or false")
    rules: dict[str, Any] = {"unknown": entry.get("unknown", "error"), "other": entry.get("other")}
    try:
        domain = Domain(folder / declared if isinstance(declared, str) else declared, **rules)
        has_null = None in domain.values
        if null and not has_null:
            domain = Domain([*domain.values, None], **rules)
    except DpfastError as error:
        raise PolicyError(f"{owner}: domain: {error}") from None
    if null is False and has_null:
        raise PolicyError(f"{owner}: null is false, but null is among the values of the domain")
    return domain


def _check_keys(owner: str, entry: Mapping[str, Any], known: tuple[str, ...], absent: tuple[str, ...]) -> None:
    for key in entry:
        if key in known:
            continue
        if key in absent:
            raise PolicyError(f"{owner}: {key} does not exist in this version, which takes {_listed(known)}")
        close = difflib.get_close_matches(key, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"it takes {_listed(known)}"
        raise PolicyError(f"{owner}: unknown key {key!r}; {hint}")


def _refuse_word(owner: str, key: str, value: object, known: tuple[str, ...]) -> NoReturn:
    close = difflib.get_close_matches(value, known, n=1) if isinstance(value, str) else []
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise PolicyError(f"{owner}: {key} {value!r} does not exist in this version, which has {_listed(known)}{hint}")


def _listed(words: Iterable[str]) -> str:
    return ", ".join(map(repr, words))
