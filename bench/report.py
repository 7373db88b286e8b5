"""Measure every ratio, keep it under results/, and write the speed table of README.md from what is kept there.

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
README = HERE.parent / "README.md"
BEGIN, END = "<!-- speed: written by bench/report.py -->\n", "<!-- end of speed -->"


def kept() -> list[dict[str, Any]]:
    """The results of the table; figures of long tests and of single benches are kept beside them."""
    found = [json.loads(path.read_text()) for path in sorted((HERE / "results").glob("*.json"))]
    return [result for result in found if all("ratios" in row for row in result.get("rows", [{}]))]


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
    text = README.read_text()
    start, stop = text.index(BEGIN) + len(BEGIN), text.index(END)
    README.write_text(text[:start] + table(kept()) + text[stop:])
    return status


if __name__ == "__main__":
    sys.exit(main())
