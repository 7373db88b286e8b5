"""The speed tables are what `bench/results/` holds, and say of every figure what it was measured on."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "bench" / "report.py"))


def result(work: str, date: str) -> dict[str, Any]:
    machine = {"date": date, "processor": "P", "simd": "base", "numpy": "2"}
    return {"machine": machine, "rows": [{"work": work, "ratios": [{"against": "it", "says": "once its time"}]}]}


def test_the_tables_are_those_of_the_results(report: dict[str, Any]) -> None:
    results = report["kept"]()
    page, readme = (report[name].read_text(encoding="utf-8") for name in ("PAGE", "README"))
    assert report["table"](list(results.values())) in page
    assert report["table"](list(results.values())[1:]) not in page
    assert set(report["HEADLINES"]) <= set(results)
    assert report["table"](report["headlines"](results)) in readme


def test_figures_of_two_days_are_told_apart(report: dict[str, Any]) -> None:
    assert report["table"]([result("a", "day 1"), result("b", "day 1")]).splitlines()[-1].startswith("Measured day 1, P, base")
    last = report["table"]([result("a", "day 1"), result("b", "day 2")]).splitlines()[-1]
    assert "(a) day 1, P, base, numpy 2" in last
    assert "(b) day 2, P, base, numpy 2" in last
