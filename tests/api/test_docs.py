"""The pages of docs/ work: their Python runs, their links lead somewhere."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

# Pages whose Python runs where what it needs is there: a cluster, other engines.
ELSEWHERE = {"spark.md", "engines.md"}
PAGES = sorted((Path(__file__).resolve().parents[2] / "docs").rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert (result.attempted > 0) == (page.name not in ELSEWHERE)
    assert result.failed == 0
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_there_are_pages() -> None:
    assert PAGES
