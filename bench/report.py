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


def table(results: list[dict[str, Any]]) -> str:
    """Markdown: one line a ratio, and the machine once."""
    lines = ["| work | against | ratio |", "|---|---|---|"]
    for result in results:
        for row in result["rows"]:
            lines += [f"| {row['work']} | {entry['against']} | {entry['says']} |" for entry in row["ratios"]]
    machine = results[0]["machine"]
    lines += [
        "",
        f"Measured {machine['date']}, {machine['processor']}, {machine['simd']}, numpy {machine['numpy']}; "
        "contenders interleaved, least of several rounds. `make bench` measures again.",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    if "--keep" not in sys.argv[1:]:
        command = [sys.executable, "-m", "pytest", "-q", "-s", "-k", "ratios", *map(str, sorted(HERE.glob("bench_*.py")))]
        if subprocess.run(command, cwd=HERE.parent).returncode:
            return 1
    kept = [json.loads(path.read_text()) for path in sorted((HERE / "results").glob("*.json"))]
    # figures of long tests and of single benches are kept beside those of the table
    results = [result for result in kept if all("ratios" in row for row in result.get("rows", [{}]))]
    text = README.read_text()
    start, stop = text.index(BEGIN) + len(BEGIN), text.index(END)
    README.write_text(text[:start] + table(results) + text[stop:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
