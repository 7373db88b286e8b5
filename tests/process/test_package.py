"""The distributions: the source one holds all that a build needs, and the wheel made of it works where there is no source.

Part of `make check` only: it compiles the core once more.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.package

# Runs in an empty directory; what it prints is compared.
PROGRAM = """
import sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
import dpfast
from dpfast._core import rows as core
assert dpfast.__file__.startswith(sys.prefix), dpfast.__file__
assert core.__file__.startswith(sys.prefix), core.__file__
mechanism = dpfast.RandomisedResponse(["a", "b", None], epsilon=40.0)
column = pa.array(["a", None, "b"] * 100)
assert mechanism.sanitise(column).equals(column)
pq.write_table(pa.table({"letter": column}), "in.parquet")
report = dpfast.sanitise_file("in.parquet", "out.parquet", dpfast.Policy({"letter": mechanism}))
print(report.rows, pq.read_table("out.parquet")["letter"].null_count)
"""


def run(*command: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def source_archive(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, built from the files that the project keeps."""
    target = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", target, root, cwd=target)
    (archive,) = target.glob("*.tar.gz")
    return archive


@pytest.fixture(scope="module")
def wheel(source_archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the unpacked source distribution and from nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    run("tar", "-xzf", source_archive, cwd=folder)
    (source,) = folder.iterdir()
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "built", source, cwd=folder)
    (built,) = (folder / "built").glob("*.whl")
    return built


def generated(name: str) -> bool:
    return name.startswith("dpfast/") and name.endswith(".c")


def compiled(root: Path) -> set[str]:
    return {str(path.relative_to(root).with_suffix("")) for path in (root / "dpfast").rglob("*.pyx")}


def test_source_archive_is_complete(source_archive: Path, root: Path) -> None:
    with tarfile.open(source_archive) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"pyproject.toml", "setup.py", "Makefile", "README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE"}
    for folder, endings in (
        ("dpfast", "py pyx pxd pyi json typed"),
        ("csrc", "c h"),
        ("tests", "py c json"),
        ("examples", "py toml txt"),
    ):
        for ending in endings.split():
            needed |= {str(path.relative_to(root)) for path in (root / folder).rglob(f"*.{ending}")}
    needed = {name for name in needed if not generated(name)}
    assert needed - held == set()
    assert [name for name in held if name.endswith((".so", ".pyc")) or generated(name)] == []


def test_wheel_holds_the_package_and_no_more(wheel: Path, root: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = [name for name in archive.namelist() if ".dist-info/" not in name]
    modules = {str(path.relative_to(root)) for path in (root / "dpfast").rglob("*.py")}
    assert modules <= set(held)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    assert {name for name in held if name.endswith(".so")} == {module + suffix for module in compiled(root)}
    stubs = {f"{module}.pyi" for module in compiled(root)}
    assert {"dpfast/py.typed", "dpfast/policy.schema.json"} | stubs <= set(held)
    assert [name for name in held if not name.startswith("dpfast/") or name.endswith((".c", ".h", ".pyx", ".pxd"))] == []


def test_only_the_module_entry_is_exported(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        modules = [archive.extract(name, tmp_path) for name in archive.namelist() if name.endswith(".so")]
    assert modules
    for module in modules:
        symbols = run("nm", "--dynamic", "--defined-only", module, cwd=tmp_path).split("\n")
        entry = f"PyInit_{Path(module).name.partition('.')[0]}"
        assert {line.split()[-1] for line in symbols if line} <= {entry, "_init", "_fini"}


def test_wheel_works_without_the_source(wheel: Path, tmp_path: Path) -> None:
    # An environment of its own that borrows our dependencies, but not the way in which our dpfast is installed: paths in
    # a .pth file are searched, the .pth files found there are not read.
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip()
    (Path(site) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "--quiet", wheel, cwd=tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run(python, "-c", PROGRAM, cwd=empty) == "300 100\n"
    assert "usage: dpfast" in run(python.with_name("dpfast"), "--help", cwd=empty)
