"""Break the code on purpose, one fault at a time, and see that a test goes red.

    python tests/tools/mutants.py            every fault; prints which test found it
    python tests/tools/mutants.py NAME ...   some of them

Each fault is put into a copy of the sources in a temporary folder, built there where it is C, and met with the tests named
beside it. Exit status 1 if one survives, or if the text that it replaces is not there (then its list is out of date).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from faults import MUTANTS, Mutant
from faults_audit import MUTANTS as AUDIT_MUTANTS

ROOT = Path(__file__).resolve().parents[2]


def survives(mutant: Mutant, folder: Path) -> str:
    """Say how the mutant lived on; empty if a test found it."""
    for part in ("dpfast", "csrc"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.py", folder)
    path = folder / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        return "does not apply: the text it replaces is not there once"
    path.write_text(text.replace(mutant.old, mutant.new))
    if mutant.file.startswith("csrc"):
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]  # only the module of this C
        built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if built.returncode:
            return "does not build:\n" + built.stderr[-2000:]
    # a safe path: else `python -m pytest` would find the package of the current folder first
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1", "DPFAST_TESTED_BUILD": str(folder)}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *mutant.tests.split()]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    if run.returncode == 0:
        return "survives " + mutant.tests
    if run.returncode != 1:
        return "was not tested:\n" + run.stdout[-2000:] + run.stderr[-2000:]
    found = [line.split(" ")[1] for line in run.stdout.splitlines() if line.startswith("FAILED")]
    print(f"found  {mutant.name}: {found[0] if found else mutant.tests}", flush=True)
    return ""


def main(names: list[str]) -> int:
    failures = 0
    for mutant in [*MUTANTS, *AUDIT_MUTANTS]:
        if names and mutant.name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            if said := survives(mutant, Path(folder)):
                failures += 1
                print(f"ALIVE  {mutant.name}: {said}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
