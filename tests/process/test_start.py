"""A process that starts in a bare place, with a named SIMD target, or is interrupted in the middle of a call."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dpfast
from dpfast._core import rows as core

# A column of a thousand million rows in a few megabytes: one chunk, a thousand times. Its call takes many seconds.
LONG = """
import time
import pyarrow as pa, dpfast
chunk = pa.array(["a", "b", None, "b"] * 250_000)
column = pa.chunked_array([chunk] * 1000)
mechanism = dpfast.RandomisedResponse(["a", "b", None], epsilon=1.0)
mechanism.sanitise(chunk)
print("begin", flush=True)
try:
    mechanism.sanitise(column, threads={threads})
except KeyboardInterrupt:
    print("interrupted", flush=True)
# the pool, and the rest of the package, are as good as before
print(len(mechanism.sanitise(pa.chunked_array([chunk] * 4), threads={threads})), flush=True)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_a_long_call(threads: int) -> None:
    with subprocess.Popen([sys.executable, "-c", LONG.format(threads=threads)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begin\n"
        time.sleep(0.3)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - start < 2
        assert process.stdout.readline() == "4000000\n"
    assert process.returncode == 0


USE = "import numpy as np, dpfast; print(dpfast.RandomisedResponse(range(2), epsilon=1.0).sanitise(np.zeros(3, int)).size)"


def run(code: str, **changes: str | None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in (os.environ | changes).items() if value is not None}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("name", core.isas())
def test_the_target_can_be_named(name: str) -> None:
    assert run("from dpfast._core import rows as core; print(core.isa())", DPFAST_ISA=name).stdout == f"{name}\n"


@pytest.mark.parametrize("name", ["", None])
def test_without_a_name_the_widest_target_is_taken(name: str | None) -> None:
    assert run("from dpfast._core import rows as core; print(core.isa())", DPFAST_ISA=name).stdout == f"{core.isas()[-1]}\n"


@pytest.mark.parametrize("name", ["sse9", "AVX2", " base", "base,avx2", "é"])
def test_a_wrong_name_is_an_error_that_lists_the_right_ones(name: str) -> None:
    done = run("import dpfast; dpfast.RandomisedResponse", DPFAST_ISA=name, PYTHONUTF8="1")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("dpfast.errors.ArgumentError: SIMD target ")
    assert last.endswith(f"is unknown or not supported here; choose one of {', '.join(core.isas())}")


@pytest.mark.parametrize("asked", ["0", "many"])
def test_a_wrong_number_of_threads_is_an_error_when_it_is_needed(asked: str) -> None:
    code = "import numpy as np, dpfast; dpfast.RandomisedResponse(range(2), epsilon=1.0).sanitise(np.zeros(1 << 21, np.uint8))"
    done = run(code, DPFAST_THREADS=asked)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("environment variable DPFAST_THREADS must be a positive integer")


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


def test_nothing_is_written_anywhere_at_import_or_use(tmp_path: Path) -> None:
    """No cache beside the package, at home or in the temporary folder: none of the three may exist or be writable."""
    site, home, here = tmp_path / "site", tmp_path / "home", tmp_path / "here"
    shutil.copytree(Path(dpfast.__file__).parent, site / "dpfast", ignore=shutil.ignore_patterns("__pycache__", "*.c"))
    for folder in (home, here):
        folder.mkdir()
    for path in [site, *site.rglob("*")]:
        path.chmod(path.stat().st_mode & 0o555)
    before = listing(tmp_path)
    places = {"PYTHONPATH": str(site), "HOME": str(home), "TMPDIR": str(tmp_path / "missing"), "PYTHONDONTWRITEBYTECODE": "1"}
    code = f"import os; os.chdir({str(here)!r}); {USE}; print(dpfast.__file__)"
    done = run(code, **places, XDG_CACHE_HOME=None)
    assert done.stdout == f"3\n{site}/dpfast/__init__.py\n", done.stderr
    assert listing(tmp_path) == before
    for path in [site, *site.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)


def test_works_without_a_home_or_a_temporary_folder(tmp_path: Path) -> None:
    done = run(
        USE, HOME=None, TMPDIR=str(tmp_path / "missing"), TEMP=None, TMP=None, XDG_CACHE_HOME=None, USER=None, LOGNAME=None
    )
    assert (done.stdout, done.returncode) == ("3\n", 0), done.stderr


def test_a_source_that_was_not_built_says_what_to_do(tmp_path: Path) -> None:
    left_out = shutil.ignore_patterns("__pycache__", "*.c", "*.so")
    shutil.copytree(Path(dpfast.__file__).parent, tmp_path / "dpfast", ignore=left_out)
    done = run(f"import os; os.chdir({str(tmp_path)!r}); {USE}", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "MissingPackageError: the compiled core of dpfast is not built: " in done.stderr.splitlines()[-1]
