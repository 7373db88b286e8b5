"""Where calls of these tests stand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from faulty import quick_place


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own, beside which sources stand, and nothing of ours elsewhere."""
    with quick_place() as found:
        (found / "out").mkdir()
        monkeypatch.chdir(found / "out")
        for name in ("HOME", "TMPDIR"):
            monkeypatch.setenv(name, str(found / "out"))
        yield found / "out"
