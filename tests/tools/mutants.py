"""Break the code on purpose, one fault at a time, and see that a test goes red.

    python tests/tools/mutants.py            every fault; prints which test found it
    python tests/tools/mutants.py NAME ...   some of them

Each fault is put into a copy of the sources in a temporary folder, built there where it is C, and met with the tests named
beside it. Exit status 1 if one survives, or if the text that it replaces is not there (then its list is out of date).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

from faults import Mutant

ROOT = Path(__file__).resolve().parents[2]
# A process that a fault ends so was not stopped by us or by the system for want of memory.
DEATHS = (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS)


def every_fault() -> list[Mutant]:
    """The faults of faults.py and of each faults_ENGINE.py beside it."""
    files = sorted(Path(__file__).parent.glob("faults*.py"))
    return [mutant for file in files for mutant in import_module(file.stem).MUTANTS]


def planted(mutant: Mutant, folder: Path) -> str:
    """Put a copy of the sources with the fault into `folder`, built; say what went wrong, empty if nothing did."""
    for part in ("dpfast", "csrc"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.py", folder)
    path = folder / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        return "does not apply: the text it replaces is not there once"
    path.write_text(text.replace(mutant.old, mutant.new))
    if mutant.file.startswith("csrc"):
        # The module of this C alone is built; the others are there. A header beside the folders of the engines is in all.
        if path.parent.name != "csrc":
            for source in (folder / "dpfast" / "_core").glob("*.pyx"):
                if source.stem != path.parent.name:
                    source.unlink()
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if built.returncode:
            return "does not build:\n" + built.stderr[-2000:]
    return ""


def survives(mutant: Mutant, folder: Path) -> str:
    """Say how the mutant lived on; empty if a test found it."""
    if wrong := planted(mutant, folder):
        return wrong
    # a safe path: else `python -m pytest` would find the package of the current folder first
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1", "DPFAST_TESTED_BUILD": str(folder)}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", *mutant.tests.split()]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    if run.returncode == 0:
        return "survives " + mutant.tests
    if run.returncode not in (1, *DEATHS):
        return "was not tested:\n" + run.stdout[-2000:] + run.stderr[-2000:]
    found = [line.split(" ")[1] for line in run.stdout.splitlines() if line.startswith("FAILED")]
    print(f"found  {mutant.name}: {found[0] if found else mutant.tests}", flush=True)
    return ""


def met(mutant: Mutant) -> str:
    """Say how the mutant lived on, from a folder of its own; empty if a test found it."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return survives(mutant, Path(folder))
        except subprocess.TimeoutExpired:
            return "was not met in time"


def main(names: list[str]) -> int:
    wanted = [mutant for mutant in every_fault() if not names or mutant.name in names]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(met, wanted))
    alive = [(mutant, text) for mutant, text in zip(wanted, said, strict=True) if text]
    for mutant, text in alive:
        print(f"ALIVE  {mutant.name}: {text}", flush=True)
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
