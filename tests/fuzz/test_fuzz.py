"""The targets of the fuzzer on the committed corpus, on bytes of hypothesis, and, in `make soak`, under atheris at length.

Each target is one function of a string of bytes. It accepts the errors that dpfast documents and checks an invariant wherever
there is none; anything else that is raised is a fault of ours.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from soak import record

from dpfast import duff

HERE = Path(__file__).resolve().parent
TARGETS = ("certificate", "graph", "levels", "policy", "sources")
SECONDS = int(os.environ.get("DPFAST_FUZZ_SECONDS", "600"))


def target(name: str) -> Callable[[bytes], None]:
    found: Callable[[bytes], None] = importlib.import_module(f"fuzz_{name}").one
    return found


def corpus(name: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((HERE / "corpus" / name).iterdir())]


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus_holds(name: str) -> None:
    inputs = corpus(name)
    assert len(inputs) >= 5
    for data in inputs:
        target(name)(data)


@pytest.mark.parametrize("name", TARGETS)
def test_bytes_near_the_corpus_hold(name: str) -> None:
    one, inputs = target(name), corpus(name)

    @given(st.sampled_from(inputs), st.integers(0, 2048), st.binary(max_size=12), st.integers(0, 12))
    @settings(max_examples=150, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    def search(data: bytes, place: int, new: bytes, removed: int) -> None:
        place %= len(data) + 1
        one(data[:place] + new + data[place + removed :])

    search()


@pytest.mark.parametrize("name", TARGETS)
def test_the_targets_reach_what_they_check(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that refuses every input would find nothing."""
    module = importlib.import_module(f"fuzz_{name}")
    reached = []
    monkeypatch.setattr(module, "check", lambda *_: reached.append(1))
    for data in corpus(name):
        module.one(data)
    assert len(reached) >= 2


def test_a_fault_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: levels that lose a point."""
    made = duff.Levels.__init__

    def losing(self: duff.Levels, *arguments: object, **options: object) -> None:
        made(self, *arguments, **options)  # type: ignore[arg-type]
        self.measure = self.measure - 1

    monkeypatch.setattr(duff.Levels, "__init__", losing)
    with pytest.raises(AssertionError):
        test_the_corpus_holds("levels")


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_the_fuzzer_finds_nothing(name: str, tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="the extra `fuzz`, for Linux")
    begin = time.monotonic()
    command = [sys.executable, str(HERE / "fuzz.py"), name, str(tmp_path), f"-max_total_time={SECONDS}", "-print_final_stats=1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS + 300)
    runs = re.findall(r"^#(\d+)\s", done.stderr, re.MULTILINE)
    edges = re.findall(r" cov: (\d+) ", done.stderr)
    crashes = [path.name for path in tmp_path.iterdir() if path.is_file()]
    record(
        f"fuzz {name}",
        cases=int(runs[-1]) if runs else 0,
        failures=len(crashes),
        edges=int(edges[-1]) if edges else 0,
        seconds=round(time.monotonic() - begin),
    )
    assert crashes == [], done.stderr[-3000:]
    assert done.returncode == 0, done.stderr[-3000:]
