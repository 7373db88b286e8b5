"""What `dpfast.graph` makes public is documented as the names of the package are."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from test_docstrings import faults, sections

from dpfast import errors, graph, kernels

PUBLIC = [name for name in graph.__all__ if name not in errors.__all__ and callable(getattr(graph, name))]
RECORDS = {"Extension", "Fixed", "InducedLaw", "Probabilities", "Rainbow", "Why"}  # what calls return; nobody makes one


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_of_graphs_are_documented(name: str) -> None:
    found: Any = getattr(graph, name)
    doc = inspect.getdoc(found) or ""
    if name in RECORDS:
        assert "Attributes" in sections(doc)
        return
    assert faults(found) == []
    assert ">>> " in sections(doc).get("Examples", "")


@pytest.mark.parametrize(
    "found", [*(getattr(graph.families, name) for name in graph.families.__all__ if name != "Family"), kernels.law]
)
def test_families_and_laws_are_documented(found: Any) -> None:
    assert faults(found) == []
    assert ">>> " in sections(inspect.getdoc(found) or "").get("Examples", "")


@pytest.mark.parametrize("name", ["extend", "optimal_boundary", "rainbow", "verify"])
def test_private_calls_of_graphs_state_their_guarantee(name: str) -> None:
    doc = inspect.getdoc(getattr(graph, name)) or ""
    assert "**Privacy guarantee.**" in doc
    assert "exact" in doc
