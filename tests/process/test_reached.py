"""How much of the C core the tests of every push reach, and that they meet every refusal of the package.

The tests run once more, from a copy of the sources that counts. A branch of the C core is one that the compiler sees without
optimising; the copies of a kernel for SIMD targets and widths of codes are one source, so a processor without AVX-512 changes
little: a branch that asks the processor goes one way on each machine, and counts as missed the other way.
A refusal is any `raise`, of Python or Cython, but the two that numba compiles.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from reached import Core, Raises, build, core
from soak import record

# Side by side, in processes that end by themselves: a worker of pytest-xdist that is slow to end is killed, its counts lost.
PARTS = (["tests/unit"], ["tests/parity", "tests/leaks", "tests/fuzz", "tests/property"])
# Refusals that no test of these parts meets, each with the reason.
UNMET = {
    ("dpfast/_core/__init__.py", "raise MissingPackageError("): "a package that was not built; `process/test_start.py` has one",
    (
        "dpfast/duff/_chunk_parts.py",
        'raise CorruptDataError("a dictionary index points outside its dictionary") from None',
    ): "Arrow's validation of a column, which comes first, finds it; this is for a column that is changed meanwhile",
    ("dpfast/duff/brackets.py", "raise CorruptDataError(CHANGED)"): "values that change between two passes over them",
    ("dpfast/etl/_spark_parts.py", "raise FileError(CHANGED)"): "a file that changes while an executor reads it",
    (
        "dpfast/etl/_spark_quantile.py",
        'raise ArgumentTypeError(f"{argument} names a column of a type that dpfast does not know")',
    ): "a type of a Spark that does not exist yet",
}
BRANCHES = """
static int sign(int x) {
    if (x < 0)
        return -1;
    return x > 0;
}
#ifdef POSITIVE
int main(void) { return sign(1) != 1; }
#else
int main(void) { return sign(0) != 0; }
#endif
"""
REFUSALS = """
def refuse(x):
    if x == 1: raise ValueError("one")
    elif x == 2:
        raise ValueError(
            "two: nothing to raise"  # neither here nor there: raise
        )
"""


@pytest.fixture(scope="module")
def run(root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Core, Raises]:
    """What the tests reach."""
    folder = tmp_path_factory.mktemp("counted")
    raises = build(root, folder)
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1", "DPFAST_TESTED_BUILD": str(folder)}
    environment["PYTEST_PLUGINS"] = "raise_statements"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow and not package"]
    to_here = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    runs = [subprocess.Popen([*command, *part], cwd=root, env=environment, **to_here) for part in PARTS]
    said = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], "\n".join(text[-3000:] for text in said)
    return core(folder, "csrc/"), raises


@pytest.mark.slow
def test_the_core_is_reached(run: tuple[Core, Raises]) -> None:
    found, _ = run
    lines, branches = len(found.lines), len(found.branches)
    missed_lines, missed_branches = found.missed_lines(), found.missed_branches()
    record(
        "the C core",
        lines=lines,
        lines_reached=lines - len(missed_lines),
        branches=branches,
        branches_reached=branches - len(missed_branches),
    )
    assert len(missed_lines) <= 0.05 * lines, missed_lines
    assert len(missed_branches) <= 0.05 * branches, missed_branches


@pytest.mark.slow
def test_every_refusal_is_met(run: tuple[Core, Raises]) -> None:
    _, raises = run
    missed = raises.missed()
    record("refusals", refusals=len(raises.places), met=len(raises.places) - len(missed), with_a_reason=len(UNMET))
    assert set(missed) - set(UNMET) == set()
    assert set(UNMET) - set(raises.places) == set()


@pytest.mark.parametrize("ways", [("ZERO",), ("POSITIVE",), ("ZERO", "POSITIVE")])
def test_a_branch_that_is_not_taken_is_named(ways: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "branches.c").write_text(BRANCHES)
    for way in ways:
        subprocess.run(["gcc", "--coverage", f"-D{way}", "-o", way, "branches.c"], cwd=tmp_path, check=True)
        subprocess.run([tmp_path / way], cwd=tmp_path, check=True)
    found = core(tmp_path)
    assert found.missed_lines() == [("branches.c", 4)]
    assert [place[1] for place in found.missed_branches()] == [3]
    assert len(found.branches) == 2


def test_a_refusal_that_is_not_met_is_named(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "refusing.py").write_text(REFUSALS)
    raises = Raises(tmp_path, "small")
    one, two = ("small/refusing.py", 'if x == 1: raise ValueError("one")'), ("small/refusing.py", "raise ValueError(")
    program = "import sys; sys.path.insert(0, 'small'); import refusing\ntry: refusing.refuse({})\nexcept ValueError: pass"
    for x, left in ((0, [one, two]), (2, [one]), (1, [])):
        subprocess.run([sys.executable, "-c", program.format(x)], cwd=tmp_path, check=True)
        assert raises.missed() == left
