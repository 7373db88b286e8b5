"""Measure every ratio, keep it under results/, and write docs/speed.md and the short table of README.md from what is kept there.

python bench/report.py              measure, then write
python bench/report.py --keep       write from the results that are there
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
README, PAGE = HERE.parent / "README.md", HERE.parent / "docs" / "speed.md"
# What the short table has: the first work of each of these.
HEADLINES = ("response", "files", "ids", "spark", "median", "groups", "race_flat", "joint", "graph")
BEGIN, END = "<!-- speed: written by bench/report.py -->\n", "<!-- end of speed -->"


def kept() -> dict[str, dict[str, Any]]:
    """Results by name; figures of long tests and of single benches are kept beside them."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted((HERE / "results").glob("*.json"))}
    return {name: result for name, result in found.items() if all("ratios" in row for row in result.get("rows", [{}]))}


def headlines(results: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The first work of each engine's main results, against two at most."""
    first = {name: results[name]["rows"][0] for name in HEADLINES if name in results}
    return [results[name] | {"rows": [row | {"ratios": row["ratios"][:2]}]} for name, row in first.items()]


def table(results: list[dict[str, Any]]) -> str:
    """Markdown: one line a ratio, and every machine once; where there are several, each with its works."""
    lines = ["| work | against | ratio |", "|---|---|---|"]
    works: dict[str, dict[str, None]] = {}
    for result in results:
        of = "{date}, {processor}, {simd}, numpy {numpy}".format(**result["machine"])
        for row in result["rows"]:
            lines += [f"| {row['work']} | {entry['against']} | {entry['says']} |" for entry in row["ratios"]]
            works.setdefault(of, {})[row["work"]] = None
    measured = [of if len(works) == 1 else f"({'; '.join(done)}) {of}" for of, done in works.items()]
    lines += [
        "",
        f"Measured {'; '.join(measured)}; contenders interleaved, least of several rounds. `make bench` measures again.",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    status = 0
    if "--keep" not in sys.argv[1:]:
        command = [sys.executable, "-m", "pytest", "-q", "-s", "-k", "ratios", *map(str, sorted(HERE.glob("bench_*.py")))]
        # A bench that misses its aim has measured all the same, and what was measured is told.
        status = subprocess.run(command, cwd=HERE.parent).returncode
    results = kept()
    for path, rows in ((README, headlines(results)), (PAGE, list(results.values()))):
        text = path.read_text()
        start, stop = text.index(BEGIN) + len(BEGIN), text.index(END)
        path.write_text(text[:start] + table(rows) + text[stop:])
    return status


if __name__ == "__main__":
    sys.exit(main())
