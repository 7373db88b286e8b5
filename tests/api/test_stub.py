"""The hand-written stubs of the compiled modules say what the modules are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dpfast._core


def stubtest(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )


def test_the_stubs_agree_with_the_modules(root: Path) -> None:
    names = sorted(f"dpfast._core.{path.stem}" for path in Path(dpfast._core.__file__).parent.glob("*.pyx"))
    assert names
    result = stubtest(*names, "--mypy-config-file", str(root / "pyproject.toml"), cwd=root)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_wrong_stub_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "twin.py").write_text("def f(x): return x\n")
    (tmp_path / "twin.pyi").write_text("def f(y: int) -> int: ...\n")
    result = stubtest("twin", cwd=tmp_path)
    assert result.returncode != 0
    assert "twin.f" in result.stdout
