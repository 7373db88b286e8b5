"""What README and the guide show works: Python runs as doctests, commands run in a shell, in the order of the page."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sysconfig
from pathlib import Path

import pytest

import dpfast
from dpfast import errors

ROOT = Path(__file__).resolve().parents[2]
# Pages that need a cluster or engines that are not installed everywhere run in tests/process and tests/unit.
ELSEWHERE = {"spark.md", "engines.md"}
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name not in ELSEWHERE)]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
# What a reader types once to get started; `make` would build inside a test, `pip` would download.
SETTING_UP = ("make", "pip", "git")


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a block, each with what the page says that it prints, from one line on."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command, printed) for command, _, printed in (part.partition("\n") for part in parts)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scripts = Path(sysconfig.get_path("scripts"))
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    names: dict[str, object] = {}
    for place, (language, block) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8"))):
        if language == "python":
            test = doctest.DocTestParser().get_doctest(block, names, f"block {place}", page.name, 0)
            assert test.examples, "a Python block without a prompt is not run"
            runner.run(test, clear_globs=False)
            names = test.globs
            assert runner.failures == 0
        elif language in ("toml", "text") and (named := re.match(r"# (\S+\.\w+)\n", block)):
            (tmp_path / named[1]).write_text(block if language == "toml" else block[named.end() :])
        elif language == "toml":
            raise AssertionError("the first line of a TOML block names its file")
        elif language == "console":
            for command, printed in commands(block):
                words = shlex.split(command)
                if words[0] in SETTING_UP:
                    continue
                assert words[0] == "dpfast", command
                done = subprocess.run([scripts / "dpfast", *words[1:]], capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stdout + done.stderr
                assert printed.strip() in done.stdout


def test_readme_shows_each_kind_of_example() -> None:
    assert {"python", "console", "toml"} <= {language for language, _ in BLOCK.findall(PAGES[0].read_text(encoding="utf-8"))}


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name == "mechanisms" and page.stem != "index"], ids=str)
def test_a_page_of_a_mechanism_says_all_that_matters(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for part in ("Precondition", "Pseudocode", "Guarantee", "Proof note", "Tests"):
        assert f"**{part}.**" in text, part
    named = re.findall(r"`(tests/\S+?\.py)`", text)
    assert named
    assert all((ROOT / name).exists() for name in named)


def test_links_lead_somewhere() -> None:
    for page in sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")}):
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_messages_that_are_explained_exist() -> None:
    page = (ROOT / "docs" / "how-to" / "troubleshooting.md").read_text(encoding="utf-8")
    messages = re.findall(r"^\| `([^`]+)` \|", page, flags=re.MULTILINE)
    texts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "dpfast").rglob("*.py"))
    assert len(messages) > 8
    assert [text for text in messages if text not in texts and not text.startswith("cannot import")] == []


def test_the_reference_has_every_public_name() -> None:
    reference = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    names = {name for name in dpfast.__all__ if callable(getattr(dpfast, name))} - set(errors.__all__)
    assert names - set(re.findall(r"::auto\w+:: dpfast\.(\w+)\n", reference.replace(".. ", "::"))) == set()
