"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
import soak

from dpfast._core import rows as core

ROOT = Path(__file__).resolve().parents[1]


def pytest_configure() -> None:
    # A shell starts what runs in the background with interrupts ignored, and every process below inherits that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # `make test` says here which build it means, so that tests of a sanitised build never run on another one.
    meant = os.environ.get("DPFAST_TESTED_BUILD")
    if meant and not Path(core.__file__).resolve().is_relative_to(Path(meant).resolve()):
        raise pytest.UsageError(f"dpfast._core comes from {core.__file__}, not from {meant}")
    # And what its modules call if they are sanitised: without that all tests would pass, and say nothing.
    for call in filter(None, os.environ.get("DPFAST_TESTED_CALLS", "").split(",")):
        plain = [module.name for module in Path(core.__file__).parent.glob("*.so") if call.encode() not in module.read_bytes()]
        if plain:
            raise pytest.UsageError(f"these modules never call {call}: {', '.join(sorted(plain))}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "setup":
        soak.begin()
    if item.get_closest_marker("slow") and not report.skipped and (report.when == "call" or report.failed):
        soak.keep(item.nodeid, passed=report.passed, seconds=report.duration)
    return report


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's directory."""
    return ROOT


@pytest.fixture
def key() -> bytes:
    """A key for tests: thirty-two bytes that anyone may know."""
    return bytes(range(32))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command: exit code, standard output, standard error."""
    from dpfast.cli import main

    def call(*words: str) -> tuple[int, str, str]:
        code = main(words)
        return code, *capsys.readouterr()

    return call


@pytest.fixture(params=core.isas())
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each SIMD target of this processor in turn; the one in use before is put back."""
    before = core.isa()
    core.set_isa(request.param)
    yield request.param
    core.set_isa(before)
