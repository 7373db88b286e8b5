"""The page of figures is the one that its script makes of what the long tests left, and names tests that exist."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def assurance(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "tests" / "tools")
    return import_module("assurance")


def kept(assurance: ModuleType) -> dict[str, Any]:
    results: dict[str, Any] = json.loads(assurance.RESULTS.read_text(encoding="utf-8"))
    return results


def exists(test: str) -> bool:
    file, _, function = test.partition("[")[0].partition("::")
    path = ROOT / file
    return path.exists() and (not function or f"\ndef {function}(" in path.read_text(encoding="utf-8"))


def test_the_page_is_that_of_the_results(assurance: ModuleType) -> None:
    results = kept(assurance)
    assert assurance.PAGE.read_text(encoding="utf-8") == assurance.page(results)
    assert assurance.page({}) != assurance.page(results)


def test_every_test_that_is_named_exists(assurance: ModuleType) -> None:
    named = [test for figure in assurance.FIGURES for held in figure.held for test in held.tests]
    assert [test for test in [*named, *kept(assurance)] if not exists(test)] == []
    assert not exists("tests/api/test_assurance.py::test_that_is_not_there")


def test_every_test_and_proof_that_the_security_page_names_exists() -> None:
    named = re.findall(r"`([\w/]+/\w+\.(?:py|h))`", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert len(named) > 30
    assert [name for name in named if not any((folder / name).exists() for folder in (ROOT, ROOT / "tests"))] == []


def test_nothing_is_claimed_about_time() -> None:
    text = " ".join((ROOT / "SECURITY.md").read_text(encoding="utf-8").split())
    promised, not_promised = text.split("## What is not ")
    assert "nothing here claims constant time" in not_promised
    assert not re.search(r"constant time|timing", promised, re.IGNORECASE)


def test_what_never_ran_has_no_figure(assurance: ModuleType) -> None:
    lines = [line for line in assurance.page({}).splitlines() if line.startswith("| ") and "every run of" not in line]
    assert len(lines) > 20
    assert all(" | not run | | | " in line for line in lines if not line.startswith("| goal"))


def test_cases_are_added_up_and_failures_stand_out(assurance: ModuleType) -> None:
    test = "tests/process/test_crash_folders.py::test_a_kill_at_every_call"
    good = {"date": "2026-01-02", "seconds": 2.0, "passed": True, "figures": {"a": {"kills": 1200, "p": 0.5, "on": "x"}}}
    other = {"date": "2026-01-03", "seconds": 3.0, "passed": True, "figures": {"b": {"kills": 34, "p": 0.25, "on": "y"}}}
    (line,) = re.findall(r".*test_a_kill_at_every_call.*", assurance.page({f"{test}[a]": good, f"{test}[b]": other}))
    assert "| 2 passed; kills 1,234; p 0.25 to 0.5; on x, y | 2026-01-02 to 2026-01-03 | 5 s |" in line
    (line,) = re.findall(r".*test_a_kill_at_every_call.*", assurance.page({test: good | {"passed": False}}))
    assert "| **1 of 1 FAILED**; kills 1,200" in line


def test_half_of_a_goal_is_not_run(assurance: ModuleType) -> None:
    entry = {"date": "2026-01-02", "seconds": 2.0, "passed": True, "figures": {}}
    test = "tests/parity/test_duff_race.py::test_log_weights_of_any_range_in_many_cases"
    (line,) = re.findall(r".*test_log_weights_of_any_range.*", assurance.page({test: entry}))
    assert " | not run | | | " in line


def test_a_long_test_that_no_goal_names_is_shown_all_the_same(assurance: ModuleType) -> None:
    entry = {"date": "2026-01-02", "seconds": 2.0, "passed": True, "figures": {}}
    text = assurance.page({"tests/x.py::test_new": entry})
    assert "## Other long tests" in text
    assert "|  | passed | 2026-01-02 | 2 s | `x.py::test_new` |" in text
