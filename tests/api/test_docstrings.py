"""What is public is documented, in numpydoc's order; parameters are named as they are, and the examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpfast
import dpfast.etl.spark
from dpfast import errors

SECTIONS = "Parameters Attributes Returns Yields Raises Warns See_Also Notes References Examples".split()
# Calls that spend: their documentation says what is promised, to whom, and which way it is rounded.
SPENDING = [
    "RandomisedResponse",
    "ExponentialResponse",
    "MatrixResponse",
    "optimal_response",
    "Stratified",
    "Policy",
    "Privacy",
    "sanitise_file",
    "Ledger",
    "compose",
    "compose_bounds",
    "composed_delta",
    "race",
    "median",
    "quantile",
    "quantiles",
    "mean",
    "mode",
    "count_triangles",
    "audit.audit",
    "duff.sample",
    *(f"baselines.{name}" for name in dpfast.baselines.__all__ if name not in ("compare", "datasets", "smooth_sensitivity")),
]

RECORDS = {"Event", "Finding"}  # what audits return; nobody makes one
PUBLIC = {
    name: getattr(dpfast, name) for name in dpfast.__all__ if callable(getattr(dpfast, name)) and name not in errors.__all__
} | {
    f"{module.__name__.removeprefix('dpfast.')}.{name}": getattr(module, name)
    for module in (dpfast.audit, dpfast.baselines, dpfast.duff, dpfast.plots, dpfast.etl.spark)
    for name in module.__all__
    if name not in RECORDS and callable(getattr(module, name))
}


def modules() -> list[str]:
    return ["dpfast", *(found.name for found in pkgutil.walk_packages(dpfast.__path__, "dpfast."))]


def methods() -> dict[str, Callable[..., Any]]:
    """Public methods and properties of our classes, those of their bases included, by qualified name."""
    found: dict[str, Callable[..., Any]] = {}
    for owner, cls in PUBLIC.items():
        ours = [base for base in getattr(cls, "__mro__", ()) if base.__module__.startswith("dpfast")]
        for base in ours:
            for name, member in vars(base).items():
                if name.startswith("_") or f"{owner}.{name}" in found:
                    continue
                if isinstance(member, (staticmethod, classmethod)):
                    member = member.__func__
                if inspect.isfunction(member) or isinstance(member, property):
                    found[f"{owner}.{name}"] = member
    return found


def sections(doc: str) -> dict[str, str]:
    """The numpydoc sections of a docstring, in their order."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(doc), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def described(section: str) -> list[str]:
    """Names that a Parameters section describes: `a, b : type` counts for both."""
    heads = [line.split(" : ")[0] for line in section.splitlines() if line and not line.startswith(" ")]
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def parameters(call: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(call).parameters if name not in {"self", "cls"}]


def faults(call: Any) -> list[str]:
    """What is wrong with the docstring of a function, a method or a class."""
    doc = inspect.getdoc(call)
    if not doc:
        return ["no docstring"]
    wrong = []
    first, _, rest = doc.partition("\n")
    if not first.endswith(".") or (rest and not rest.startswith("\n")):
        wrong.append("the first line is not one sentence")
    found = sections(doc)
    known = [name.replace(" ", "_") for name in found]
    if [name for name in SECTIONS if name in known] != known:
        wrong.append("sections are not those of numpydoc, in its order")
    if isinstance(call, property):
        return wrong
    # A record that a call returns describes its fields as attributes.
    names, told = parameters(call), described(found.get("Parameters", found.get("Attributes", "")))
    if names and told != names:
        wrong.append(f"Parameters are {told}, the signature has {names}")
    silent = not inspect.isfunction(call) or inspect.signature(call).return_annotation in (None, "None")
    if not silent and "Returns" not in found:
        wrong.append("no Returns section")
    return wrong


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_names_are_documented(name: str) -> None:
    assert faults(PUBLIC[name]) == []
    assert ">>> " in sections(inspect.getdoc(PUBLIC[name]) or "").get("Examples", ""), "no runnable example"


@pytest.mark.parametrize("name", sorted(methods()))
def test_public_methods_are_documented(name: str) -> None:
    member = methods()[name]
    doc = inspect.getdoc(member) or ""
    # A short method may say it all in a sentence; one with several arguments may not.
    if not isinstance(member, property) and (len(parameters(member)) > 1 or "Parameters" in sections(doc)):
        assert faults(member) == []
    else:
        assert doc.partition("\n")[0].rstrip().endswith((".", ":"))


@pytest.mark.parametrize("name", SPENDING)
def test_spending_calls_state_their_guarantee(name: str) -> None:
    doc = inspect.getdoc(PUBLIC[name]) or ""
    assert re.search(r"replace_one|neighbour", doc), "the neighbouring relation"
    assert re.search(r"round|never exceed|at most|exact", doc), "the direction of rounding"


@pytest.mark.parametrize("name", sorted(set(errors.__all__)))
def test_errors_are_documented(name: str) -> None:
    assert (getattr(errors, name).__doc__ or "").rstrip().endswith(".")


@pytest.mark.parametrize("name", modules())
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def good(first: int, second: int = 0) -> int:
    """Add two numbers.

    Parameters
    ----------
    first, second : int
        The numbers.

    Returns
    -------
    int
    """
    return first + second


def bad_names(first: int) -> None:
    """Do nothing.

    Parameters
    ----------
    frist : int
        A number.
    """


def bad_order(first: int) -> int:
    """Return the number.

    Returns
    -------
    int

    Parameters
    ----------
    first : int
        A number.
    """
    return first


def bad_head(first: int) -> int:
    """Return the number, after
    thinking

    Parameters
    ----------
    first : int
        A number.
    """
    return first


def test_the_rules_see_what_they_should() -> None:
    assert faults(good) == []
    assert [fault.split()[0] for fault in faults(bad_names)] == ["Parameters"]
    assert faults(bad_order) == ["sections are not those of numpydoc, in its order"]
    assert faults(bad_head) == ["the first line is not one sentence", "no Returns section"]
    assert faults(lambda: None) == ["no docstring"]
