"""What a run of tests reaches of the sources: lines and branches of the C core, by gcov, and raise statements.

A copy of the sources is made for it. In that copy the core is built with counters, and each `raise` of Python and Cython sets,
before it raises, a byte of its own in a file that all processes map: so forks, workers and processes that are killed count, too.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

__all__ = ["Core", "Raises", "build", "core"]

COMPILED = ("dpfast/kernels/rule.py",)  # by numba, which cannot set a byte; its two refusals have tests of their own
# Loaded by pytest before any test, as tests replace functions that open files.
MAPPING = """import mmap
with open(__file__.removesuffix(".py") + ".bytes", "r+b") as file:
    ran = mmap.mmap(file.fileno(), 0)
"""


class Raises:
    """The raise statements of the sources below a folder: where they are, and which have run. Marks them once, when made."""

    def __init__(self, folder: Path, package: str, left_out: Collection[str] = ()) -> None:
        self.places: list[tuple[str, str]] = []
        self._bytes = folder / "raise_statements.bytes"
        for path in sorted((folder / package).rglob("*.py*")):
            name = str(path.relative_to(folder))
            if path.suffix in (".py", ".pyx") and name not in left_out:
                path.write_text(self._marked(path.read_text(encoding="utf-8"), name), encoding="utf-8")
        self._bytes.write_bytes(bytes(len(self.places)))
        self._bytes.with_suffix(".py").write_text(MAPPING)

    def _marked(self, text: str, name: str) -> str:
        """The text of a module with its marks; lines keep their numbers."""
        lines = text.splitlines(keepends=True)
        found = [token.start for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.string == "raise"]
        for row, column in found:
            line = lines[row - 1]
            lines[row - 1] = f"{line[:column]}__import__('raise_statements').ran[{len(self.places)}] = 1; {line[column:]}"
            self.places.append((name, line.strip()))
        return "".join(lines)

    def missed(self) -> list[tuple[str, str]]:
        """File and text of those that have not run."""
        return [place for place, ran in zip(self.places, self._bytes.read_bytes(), strict=True) if not ran]


class Core:
    """How often each line of the C sources was reached, and how often each branch that leaves it was taken.

    A source compiled several times, for every SIMD target or width of codes, counts once: what one of its functions reached is
    reached. Branches are those of a line in the order of gcov; functions that have another number of them are not mixed.
    """

    def __init__(self) -> None:
        self.lines: Counter[tuple[str, int]] = Counter()
        self.branches: Counter[tuple[str, int, int, int]] = Counter()

    def add(self, file: str, line: dict[str, Any]) -> None:
        number, branches = line["line_number"], line["branches"]
        self.lines[file, number] += line["count"]
        for i, branch in enumerate(branches):
            self.branches[file, number, len(branches), i] += branch["count"]

    def missed_lines(self) -> list[tuple[str, int]]:
        return sorted(place for place, count in self.lines.items() if count == 0)

    def missed_branches(self) -> list[tuple[str, int, int, int]]:
        return sorted(place for place, count in self.branches.items() if count == 0)


def core(folder: Path, under: str = "") -> Core:
    """What was reached of the sources whose name begins with `under`, of all that was compiled in a folder with --coverage."""
    notes = sorted(map(str, folder.rglob("*.gcno")))
    command = ["gcov", "--json-format", "--stdout", "--branch-probabilities", *notes]
    output = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    found = Core()
    for unit in map(json.loads, output.splitlines()):
        for file in unit["files"]:
            if file["file"].startswith(under):
                for line in file["lines"]:
                    found.add(file["file"], line)
    return found


def build(root: Path, folder: Path) -> Raises:
    """Copy the sources of the package, mark them and build them."""
    for part in ("csrc", "dpfast"):
        shutil.copytree(root / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    shutil.copy(root / "setup.py", folder)
    for made in (folder / "dpfast" / "_core").glob("*.c"):
        made.unlink()
    raises = Raises(folder, "dpfast", COMPILED)
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(command, cwd=folder, env=os.environ | {"DPFAST_COVERAGE": "1"}, check=True, capture_output=True)
    return raises
