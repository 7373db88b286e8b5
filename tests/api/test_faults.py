"""The list of seeded faults is up to date: each applies once, and the tests that are to find it exist."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def faults() -> Any:
    sys.path.insert(0, str(ROOT / "tests" / "tools"))
    try:
        from mutants import every_fault

        return every_fault()
    finally:
        sys.path.remove(str(ROOT / "tests" / "tools"))


def test_each_fault_applies_once_and_changes_something(faults: Any) -> None:
    stale = [fault.name for fault in faults if (ROOT / fault.file).read_text().count(fault.old) != 1 or fault.old == fault.new]
    assert stale == []


def test_the_tests_of_each_fault_exist(faults: Any) -> None:
    missing = []
    for fault in faults:
        for test in fault.tests.split():
            file, _, name = test.partition("::")
            path = ROOT / file
            if not path.exists() or (name and f"def {name.partition('[')[0]}(" not in path.read_text()):
                missing.append((fault.name, test))
    assert missing == []


def test_names_of_faults_are_unique(faults: Any) -> None:
    assert len({fault.name for fault in faults}) == len(faults) >= 40
