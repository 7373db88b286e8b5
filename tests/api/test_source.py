"""Rules for every source file, read as text: no unfinished work, no foreign randomness, no path of one machine."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 400  # lines
SUFFIXES = (".py", ".c", ".h", ".pyx", ".pxd", ".pyi")
# Put together from parts, so that this file does not hold what it looks for.
MARKS = re.compile(
    "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "NotImplemented" + "Error", "pragma: no " + "cover"])
    + r"|/(?:work|root|home)/[a-z.]"
)
TEST_MARKS = re.compile("|".join([r"pytest\.(?:mark\.)?(?:skip|x" + "fail)", r"except Exception:\s*pass", "assert " + "True"]))


def sources(*folders: str, suffixes: tuple[str, ...] = SUFFIXES) -> list[Path]:
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*")) if path.suffix in suffixes]
    return [path for path in found if path.suffix != ".c" or not path.with_suffix(".pyx").exists()]


def names(path: Path) -> str:
    return str(path.relative_to(ROOT))


ALL = sources("dpfast", "csrc", "tests", "examples", "bench", "docs")
PACKAGE = sources("dpfast", suffixes=(".py",))


def test_there_is_something_to_read() -> None:
    assert len(PACKAGE) > 10
    assert {path.suffix for path in ALL} == set(SUFFIXES)


@pytest.mark.parametrize("path", ALL, ids=names)
def test_files_are_short_and_finished(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= LONGEST
    assert MARKS.findall(text) == []
    assert "\t" not in text
    assert text.endswith("\n")
    if "tests" in path.parts:
        assert TEST_MARKS.findall(text) == []


def test_test_files_have_names_of_their_own() -> None:
    # pytest takes two files of one name for one module, and then `pytest` over all folders stops before it begins.
    found = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(set(found)) == sorted(found)


def test_marks_are_seen() -> None:
    for text in ("# TO" + "DO later", "open('/ho" + "me/me/x')", "# pragma: no " + "cover"):
        assert MARKS.search(text)
    for text in ("@pytest.mark.sk" + "ip", "pytest.sk" + "ip()", "except Exception:\n    pa" + "ss"):
        assert TEST_MARKS.search(text)


def random_uses(source: str) -> list[int]:
    """Lines that reach for a generator which is not cryptographic."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found = any(alias.name.split(".")[0] == "random" or alias.name == "numpy.random" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            found = module.split(".")[0] == "random" or module.startswith("numpy.random")
            found |= module == "numpy" and any(alias.name == "random" for alias in node.names)
        elif isinstance(node, ast.Attribute):
            found = node.attr == "random" and isinstance(node.value, ast.Name) and node.value.id in {"np", "numpy"}
        else:
            continue
        if found:
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("path", PACKAGE, ids=names)
def test_no_other_randomness(path: Path) -> None:
    # Every random bit comes from randomness.Stream: operating system entropy and AES, audited in one place.
    source = path.read_text()
    assert random_uses(source) == []
    if path.name != "randomness.py":
        assert not re.search(r"\burandom\b|\bimport secrets\b|\bfrom secrets\b", source)


def test_other_randomness_is_seen() -> None:
    for code in (
        "import random",
        "from random import Random",
        "import numpy.random",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import numpy as np\nnp.random.default_rng()",
    ):
        assert random_uses(code) != [], code


@pytest.mark.parametrize("path", PACKAGE, ids=names)
def test_modules_have_docstrings_and_later_annotations(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree)
    if any(isinstance(node, (ast.FunctionDef, ast.ClassDef)) for node in tree.body):
        assert any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)


@pytest.mark.parametrize("path", sources("csrc", suffixes=(".c", ".h")), ids=names)
def test_the_core_knows_no_python_and_no_allocation(path: Path) -> None:
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    assert not re.search(r"Python\.h|\b(?:malloc|calloc|realloc|alloca|free|rand|random|srand)\s*\(", text)
    if path.suffix == ".h" and ".kernel" not in path.name and ".widths" not in path.name:
        assert re.search(r"#ifndef (DPF_(?:\w+_)?H)\s+#define \1\s", text)
