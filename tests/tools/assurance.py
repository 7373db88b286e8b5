"""Write docs/assurance.md: what is promised, with a figure each, from what the last long tests left in bench/results/soak.json.

    python tests/tools/assurance.py

`make soak` ends with it. A figure that no long test has found yet says so; those of every run name the tests that hold them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from assurance_map import FIGURES, Held

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results" / "soak.json"
PAGE = ROOT / "docs" / "assurance.md"

HEAD = """# Assurance

What the package promises of itself: each promise with a figure and the test that finds it. Some are held by the tests of every
push (`make test`, `make check`); what takes longer is found by `make soak`, whose figures stand here with their day. Nothing on
this page is typed in: `tests/tools/assurance.py` writes it from what the tests left behind, and says *not run* where they left
none. Tests are named as seen from `tests/`. What is not promised is in `SECURITY.md`.
"""

Entry = dict[str, Any]


def entries(results: dict[str, Entry], test: str) -> list[Entry]:
    """What is known of one test function, in all its cases."""
    return [entry for name, entry in sorted(results.items()) if name.partition("[")[0] == test]


def summary(found: list[Entry]) -> str:
    """How many cases passed, and their figures: numbers of one name are added up, fractions show their range."""
    failed = sum(not entry["passed"] for entry in found)
    words = [f"**{failed} of {len(found)} FAILED**" if failed else f"{len(found)} passed" if len(found) > 1 else "passed"]
    figures: dict[str, list[Any]] = {}
    for entry in found:
        for record in entry["figures"].values():
            for name, value in record.items():
                figures.setdefault(name, []).append(value)
    return "; ".join(words + [f"{name.replace('_', ' ')} {together(values)}" for name, values in figures.items()])


def together(values: list[Any]) -> str:
    """One text for the values that a figure has in several cases."""
    if all(isinstance(value, int) for value in values):
        return f"{sum(values):,}"
    if all(isinstance(value, (int, float)) for value in values):
        ends = sorted({f"{min(values):.4g}", f"{max(values):.4g}"}, key=float)
        return " to ".join(ends)
    return ", ".join(dict.fromkeys(map(str, values)))


def span(ends: Iterable[str]) -> str:
    """A day, or the first and the last of several."""
    days = sorted(set(ends))
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def shown(tests: Iterable[str]) -> str:
    """Names of tests, as seen from their folder."""
    return ", ".join(f"`{test.removeprefix('tests/')}`" for test in tests)


def row(held: Held, results: dict[str, Entry]) -> str:
    """One line of a table: goal, value, day, time, test."""
    if held.every:
        named = shown(held.tests)
        return f"| {held.goal} | every run of `{held.every}` | | | {named} |"
    found = {test: entries(results, test) for test in held.tests}
    all_found = [entry for test in held.tests for entry in found[test]]
    named = shown(held.tests)
    if not all(found.values()) or not all_found:
        return f"| {held.goal} | not run | | | {named} |"
    seconds = [entry["seconds"] for entry in all_found if "seconds" in entry]
    took = f"{sum(seconds):,.0f} s" if len(seconds) == len(all_found) else ""
    return f"| {held.goal} | {summary(all_found)} | {span(entry['date'] for entry in all_found)} | {took} | {named} |"


def page(results: dict[str, Entry]) -> str:
    """The whole page."""
    lines = [HEAD]
    table = ["| goal | value | day | time | test |", "|---|---|---|---|---|"]
    for figure in FIGURES:
        lines += [f"## {figure.number} {figure.title}\n", f"{figure.promise}\n", *table]
        lines += [row(held, results) for held in figure.held] + [""]
    named = {test for figure in FIGURES for held in figure.held for test in held.tests}
    others = dict.fromkeys(name.partition("[")[0] for name in sorted(results))
    rest = [row(Held("", (test,)), results) for test in others if test not in named]
    if rest:
        lines += ["## Other long tests\n", *table, *rest, ""]
    return "\n".join(lines)


def main() -> int:
    PAGE.write_text(page(json.loads(RESULTS.read_text(encoding="utf-8"))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
