"""Whatever the private input, a call ends alike: pairs of inputs of one schema, through every public name and verb.

A name that is new is in neither list, and fails here until it has scenarios or a reason why it needs none.
"""

from __future__ import annotations

import importlib
import logging
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import calls_columns
import calls_files
import calls_numbers
import numpy as np
import pytest
from families import FAMILIES, Scenario
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from observing import Exit, observe
from public_names import calls, verbs
from soak import record
from without_data import WITHOUT_DATA

import dpfast
from dpfast import DpfastError, cli

ROOT = Path(__file__).resolve().parents[2]
CALLS: dict[str, list[Scenario]] = {**calls_columns.CALLS, **calls_numbers.CALLS, **calls_files.CALLS}
ALL = [(name, number) for name, scenarios in CALLS.items() for number in range(len(scenarios))]


def alike(scenario: Scenario, first: Any, second: Any, make: Callable[[Any], Any]) -> None:
    """Both inputs are answered, or refused, in the same way."""
    one, two = (observe(scenario.call, make(raw), result=scenario.result) for raw in (first, second))
    assert one.outcome == two.outcome
    for kind, text, _ in one.outcome.get("error", [])[:1]:
        assert issubclass(kind[0], DpfastError), (kind, text)


@pytest.mark.parametrize(("name", "number"), ALL)
def test_pairs_end_alike(name: str, number: int) -> None:
    scenario = CALLS[name][number]
    family = FAMILIES[scenario.family]
    for first, second in family.pairs.values():
        for make in family.containers.values():
            alike(scenario, first, second, make)


def test_every_public_name_has_scenarios_or_a_reason() -> None:
    named, judged = {*calls(), *verbs()}, {*CALLS, *WITHOUT_DATA}
    assert named - judged == set(), "write scenarios for these in calls_*.py, or the reason in without_data.py"
    assert judged - named == set(), "there is no such name any more"
    assert CALLS.keys() & WITHOUT_DATA.keys() == set()


def test_what_the_reference_describes_is_judged() -> None:
    described = {
        path
        for page in (ROOT / "docs" / "reference").glob("*.md")
        for path in re.findall(r"auto(?:function|class):: dpfast\.([\w.]+)", page.read_text(encoding="utf-8"))
    }
    values = {id(value) for value in calls().values()}
    missed = [path for path in described if id(_named(path)) not in values and not _is_error(_named(path))]
    assert missed == []
    assert len(described) > 60


def _named(path: str) -> Any:
    module, _, name = f"dpfast.{path}".rpartition(".")
    return getattr(importlib.import_module(module), name)


def _is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, (Exception, Warning))


def test_a_new_name_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: a function, a method and a verb that nobody judged."""
    monkeypatch.setattr(dpfast, "__all__", [*dpfast.__all__, "median_of_new_kind"])
    monkeypatch.setattr(dpfast, "median_of_new_kind", lambda values: values, raising=False)
    monkeypatch.setattr(dpfast.Policy, "release", lambda policy, table: table, raising=False)
    monkeypatch.setattr(cli, "FAMILIES", (*cli.FAMILIES, Verb))
    missed = {*calls(), *verbs()} - {*CALLS, *WITHOUT_DATA}
    assert missed == {"median_of_new_kind", "Policy.release", "dpfast reveal"}


class Verb:
    @staticmethod
    def add_verbs(verbs: Any) -> None:
        verbs.add_parser("reveal")


def text_of(values: list[int]) -> str:
    raise dpfast.OutsideDomainError(f"the value {max(values)} lies outside")


def kind_of(values: list[int]) -> object:
    return 1 if max(values) > 1 else 1.0


def refuses_one(values: list[int]) -> None:
    if max(values) > 1:
        raise dpfast.OutsideDomainError("a value lies outside")


def warns(values: list[int]) -> None:
    if max(values) > 1:
        warnings.warn("a value lies outside", stacklevel=1)


def logs(values: list[int]) -> None:
    logging.getLogger("dpfast.anything").debug("largest value %d", max(values))


def prints(values: list[int]) -> None:
    print("many" if max(values) > 1 else "few")


def ends(values: list[int]) -> Exit:
    return Exit(max(values) > 1)


def keeps(values: list[int]) -> None:
    Path(f"cache-{max(values)}").touch()


def chained(values: list[int]) -> None:
    try:
        [].index(max(values))
    except ValueError as error:
        raise dpfast.ArgumentError("the column is unusual") from error


@pytest.mark.parametrize("call", [text_of, kind_of, refuses_one, warns, logs, prints, ends, keeps, chained])
def test_a_call_that_tells_is_noticed(call: Callable[[Any], Any]) -> None:
    with pytest.raises(AssertionError):
        alike(Scenario(call, "numbers"), [1], [2], list)
    alike(Scenario(call, "numbers"), [2], [2], list)


def test_an_error_that_is_not_ours_is_noticed() -> None:
    with pytest.raises(AssertionError):
        alike(Scenario(lambda values: values[9], "numbers"), [1], [2], list)


LABEL = st.one_of(st.none(), st.sampled_from([*calls_columns.PLAIN, "Mars", ""]), st.text(max_size=4))
FLOAT = st.floats(width=32)
DRAWN = {
    "labels": st.lists(LABEL, min_size=6, max_size=6),
    "labels, any number": st.lists(LABEL, max_size=6),
    "tables": st.lists(LABEL, min_size=6, max_size=6),
    "numbers": st.lists(FLOAT, max_size=12),
    "numbers, n public": st.lists(FLOAT, min_size=6, max_size=6),
    "integers": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6),
    "weights": st.lists(st.floats(-1e300, 1e300), min_size=3, max_size=3),
}
SEARCHED = [(name, number) for name, number in ALL if CALLS[name][number].family in DRAWN]


def searched(scenario: Scenario, examples: int) -> int:
    """Look for a pair of inputs that end differently; how many were tried."""
    containers, tried = FAMILIES[scenario.family].containers, 0
    drawn = DRAWN[scenario.family]

    @given(drawn, drawn, st.sampled_from(sorted(containers)))
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def search(first: Any, second: Any, container: str) -> None:
        nonlocal tried
        tried += 1
        alike(scenario, first, second, containers[container])

    search()
    return tried


@pytest.mark.slow
def test_thousands_of_pairs_end_alike() -> None:
    begin = time.monotonic()
    tried = sum(searched(CALLS[name][number], 200) for name, number in SEARCHED)
    seconds = round(time.monotonic() - begin)
    record("pairs", names=len(CALLS), scenarios=len(ALL), cases=tried, failures=0, seconds=seconds)


def test_a_search_finds_the_pair_that_tells() -> None:
    with pytest.raises(AssertionError):
        searched(Scenario(lambda values: 1 if 3.0 in np.asarray(values).round() else 1.0, "numbers, n public"), 2000)
