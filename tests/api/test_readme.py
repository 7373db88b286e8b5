"""What README shows works: its Python runs as doctests, its commands run in a shell, in the order of the page."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sysconfig
from pathlib import Path

import pytest

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
# What a reader types once to get started; `make` would build inside a test, `pip` would download.
SETTING_UP = ("make", "pip", "git")


def commands(block: str) -> list[str]:
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


def test_examples_run(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scripts = Path(sysconfig.get_path("scripts"))
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    names: dict[str, object] = {}
    seen = {"python": 0, "console": 0, "toml": 0}
    for language, block in BLOCK.findall((root / "README.md").read_text(encoding="utf-8")):
        if language == "python":
            test = doctest.DocTestParser().get_doctest(block, names, f"README {seen['python']}", "README.md", 0)
            assert test.examples, "a Python block without a prompt is not run"
            runner.run(test, clear_globs=False)
            names = test.globs
            assert runner.failures == 0
        elif language == "toml":
            named = re.match(r"# (\S+\.toml)", block)
            assert named, "the first line of a TOML block names its file"
            (tmp_path / named[1]).write_text(block)
        elif language == "console":
            for command in commands(block):
                words = shlex.split(command)
                if words[0] in SETTING_UP:
                    continue
                assert words[0] == "dpfast", command
                done = subprocess.run([scripts / "dpfast", *words[1:]], capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stdout + done.stderr
        seen[language] += 1
    assert min(seen.values()) > 0


def test_links_lead_somewhere(root: Path) -> None:
    for page in sorted(root.glob("*.md")):
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (root / target).exists(), f"{page.name}: {target}"
