"""How far a job is: when something is shown, and what."""

from __future__ import annotations

import io
from typing import Any

import pytest

from dpfast import ArgumentTypeError
from dpfast.etl.progress import Lines, check_progress, showing


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def lines(total: int | None, told: list[tuple[float, int]], capsys: pytest.CaptureFixture[str], quiet: float = 2.0) -> list[str]:
    """What is written for rows that are done at given seconds."""
    clock = Clock()
    call = Lines(quiet, clock)
    for seconds, done in told:
        clock.now = 100.0 + seconds
        call(done, total)
    return capsys.readouterr().err.splitlines()


def test_short_work_is_silent_and_long_work_has_a_line_for_each_twentieth(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines(1000, [(0.5, 100), (1.9, 1000)], capsys) == []
    told = [(second / 10, 10 * second) for second in range(101)]
    assert lines(1000, told, capsys) == [f"dpfast: {percent} % of 1000 rows" for percent in range(20, 101, 5)]
    assert lines(1000, told, capsys, quiet=0.0) == [f"dpfast: {percent} % of 1000 rows" for percent in range(5, 101, 5)]
    assert lines(1000, [(3, 999), (4, 999)], capsys) == ["dpfast: 99 % of 1000 rows"]


@pytest.mark.parametrize("total", [None, 0])
def test_without_a_total_a_line_now_and_then(total: int | None, capsys: pytest.CaptureFixture[str]) -> None:
    told = [(second / 2, second) for second in range(60)]
    assert lines(total, told, capsys) == ["dpfast: 4 rows", "dpfast: 24 rows", "dpfast: 44 rows"]


@pytest.mark.parametrize("total", [7, None])
def test_ways_of_showing(total: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    with showing(lambda *seen: told.append(seen), total) as advance:
        advance(3)
        advance(7)
    assert told == [(3, total), (7, total)]

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, progress, shown in ((Terminal(), None, True), (Terminal(), False, False), (io.StringIO(), None, False)):
        monkeypatch.setattr("sys.stderr", stream)
        with showing(progress, total) as advance:
            advance(7)
        assert ("row/s" in stream.getvalue()) is shown
    monkeypatch.setattr("sys.stderr", None)  # as under pythonw, or a closed descriptor
    with showing(None, total) as advance:
        advance(7)


@pytest.mark.parametrize("wrong", [True, 1, "bar"])
def test_what_is_no_progress(wrong: object) -> None:
    with pytest.raises(ArgumentTypeError, match="progress"):
        check_progress(wrong)
