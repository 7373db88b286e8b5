"""What the time of a kernel says of the categories it answers. Nothing is promised (SECURITY.md); this is what is found.

Randomised response executes the same instructions, one by one, whatever the categories, and its time does not tell a column of
one category from columns of random ones (steps do not show which memory is read, time does). Matrices look up the row of each
category, and tell.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from soak import record
from timings import Steps, kernel_times, t_statistic

from dpfast._core import rows as core
from dpfast.integer_table import realise, stochastic

LIMIT = 4.5  # of |t|: that of dudect (Reparaz, Balasch, Verbauwhede, 2017)
STEPPED = core.isas() if (sys.platform, platform.machine()) == ("linux", "x86_64") else []


def response(k: int, *, uniform: bool = False, unknown: bool = False) -> core.ResponseLaw:
    """Randomised response of epsilon about 1, or 0."""
    return core.ResponseLaw(k, int(2**64 / (np.e + k - 1)), uniform, unknown)


def matrix(k: int) -> core.MatrixLaw:
    return realise(stochastic(np.random.default_rng(k).dirichlet(np.ones(k), k), k)).law(unknown=False)


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Steps:
    return Steps(tmp_path_factory.mktemp("stepping"))


def columns(k: int, rows: int = 150) -> list[np.ndarray]:
    """Of random categories, of the first, of the last; a whole tile of the first stage, and a rest."""
    dtype = np.uint8 if k <= 256 else np.uint16
    mixed = np.random.default_rng(k).integers(0, k, rows, dtype)
    return [mixed, np.zeros(rows, dtype), np.full(rows, k - 1, dtype)]


def high_words(law: core.Law, rows: int) -> np.ndarray:
    """High words of which some leave a cell of category 0 to the low bits."""
    every = np.arange(1 << 16, dtype=np.uint16)
    pending = core.Pending(every.size)
    law.first(np.zeros(every.size, np.uint16), every, np.empty(every.size, np.uint16), pending, 0)
    is_open = [word for _, _, word in pending.cells()[:5]]
    assert is_open
    words = np.random.default_rng(1).integers(0, 1 << 16, rows, np.uint16)
    words[10 : 10 + len(is_open)] = is_open
    return words


def first_stage(steps: Steps, law: core.Law, columns: list[np.ndarray]) -> list[np.ndarray]:
    words, pending = high_words(law, columns[0].size), core.Pending(2 * columns[0].size)

    def taken(column: np.ndarray) -> np.ndarray:
        pending.clear()
        return steps.of(law.first, memoryview(column), memoryview(words), memoryview(np.empty_like(column)), pending, 0)

    return [taken(column) for column in columns]


def second_stage(steps: Steps, law: core.Law, columns: list[np.ndarray]) -> list[np.ndarray]:
    words = high_words(law, columns[0].size)
    low = np.random.default_rng(2).integers(0, 256, 16 * words.size, np.uint8)

    def taken(column: np.ndarray) -> np.ndarray:
        pending = core.Pending(words.size)
        for row, (code, word) in enumerate(zip(column.tolist(), words.tolist(), strict=True)):
            pending.add(row, code, word)
        return steps.of(law.settle, pending, low, memoryview(np.empty_like(column)))

    return [taken(column) for column in columns]


def whole_words(steps: Steps, law: core.Law, columns: list[np.ndarray]) -> list[np.ndarray]:
    words = np.random.default_rng(3).integers(0, 1 << 64, columns[0].size, np.uint64)
    return [steps.of(law.whole, memoryview(column), words, memoryview(np.empty_like(column))) for column in columns]


def differing(found: list[np.ndarray]) -> list[int]:
    """The columns that took other steps than the first."""
    return [number for number, taken in enumerate(found) if not np.array_equal(taken, found[0])]


@pytest.mark.parametrize("name", STEPPED)
def test_randomised_response_takes_the_same_steps_for_every_category(name: str, steps: Steps) -> None:
    before = core.isa()
    core.set_isa(name)
    try:
        for k in (10, 1000):
            assert differing(first_stage(steps, response(k), columns(k))) == []
        for uniform in (False, True):
            assert differing(second_stage(steps, response(10, uniform=uniform), columns(10, 40))) == []
        assert differing(whole_words(steps, response(5000), columns(5000, 40))) == []
    finally:
        core.set_isa(before)


@pytest.mark.parametrize("name", STEPPED[-1:])
def test_steps_that_depend_on_values_are_seen(name: str, steps: Steps) -> None:
    # a matrix leaves more or fewer cells to the low bits; so does a value outside the domain
    _, first, last = columns(10)
    assert differing(first_stage(steps, matrix(10), [last, first, last])) == [1]
    outside = np.where(np.arange(last.size) == 70, 10, last).astype(last.dtype)
    assert differing(first_stage(steps, response(10, unknown=True), [last, outside, last])) == [1]


@pytest.mark.slow
@pytest.mark.parametrize(("k", "fixed"), [(2, 0), (2, 1), (10, 0), (10, 9), (1000, 0), (1000, 999), (5000, 0), (5000, 4999)])
def test_a_million_timings_of_randomised_response_tell_no_category(k: int, fixed: int) -> None:
    timings = 1_000_000
    t = t_statistic(*kernel_times(response(k), fixed, timings))
    record("time", timings=timings, t=t)
    assert abs(t) < LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("k", [16, 256, 1000])
def test_timings_of_matrices_tell_categories(k: int) -> None:
    timings = 100_000
    t = t_statistic(*kernel_times(matrix(k), 0, timings))
    record("time", timings=timings, t=t)
    assert abs(t) > LIMIT


TIMED = """
import sys
from timings import kernel_times, t_statistic
from dpfast._core import rows as core
assert core.__file__.startswith(sys.argv[1])
print(t_statistic(*kernel_times(core.ResponseLaw(10, 2**60, False, False), 0, 20_000)))
"""


@pytest.mark.slow
def test_timings_see_an_early_exit(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(root / "tests" / "tools")
    tools = import_module("mutants")
    (fault,) = [fault for fault in tools.every_fault() if fault.name == "a search ends at the first category"]
    assert tools.planted(fault, tmp_path) == ""
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{root / 'tests'}", "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-c", TIMED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    record("time", timings=20_000, t=float(done.stdout))
    assert abs(float(done.stdout)) > LIMIT
