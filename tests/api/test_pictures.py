"""The pictures of the guide are those that its script makes."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "pictures"


def words(text: str) -> list[str]:
    """What is written in a picture but for the numbers at its axes, which another matplotlib may place otherwise."""
    return sorted(word for word in re.findall(r"<text[^>]*>(?:<tspan[^>]*>)?([^<]+)", text) if re.search("[a-z]", word))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    runpy.run_path(str(ROOT / "docs" / "pictures.py"))["main"](folder)
    return folder


def test_the_pictures_that_are_kept_are_those_of_the_script(made: Path) -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(path.name for path in made.iterdir())
    for path in made.iterdir():
        kept = (FOLDER / path.name).read_text(encoding="utf-8")
        assert words(kept) == words(path.read_text(encoding="utf-8")) != []
        assert len(kept) < 40_000
        assert "<script" not in kept


def test_every_picture_is_shown_somewhere() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    for path in FOLDER.iterdir():
        assert f"pictures/{path.name})" in pages
