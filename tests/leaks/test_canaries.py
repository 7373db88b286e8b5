"""A canary wherever an input may hide one, through every public name and verb: nothing that is made or said shows it again.

Looked through are results with all memory that they keep alive, what they say of themselves, tracebacks with the errors behind
them, warnings, the log, standard output and error, and all files. `tests/unit/test_files_canaries.py` has the jobs that fail.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from families import CANARY, FAMILIES, NUMBER, Family, Scenario, held
from observing import kept, observe
from soak import record
from test_pairs import CALLS

import dpfast

# Places of every call: a family's canaries, one by one.
SCENARIOS = [
    (name, number) for name, all_of in CALLS.items() for number, one in enumerate(all_of) if FAMILIES[one.family].canaries
]


def shown(scenario: Scenario, data: Any) -> list[bytes]:
    """What a call shows that holds the canary."""
    return [text for text in observe(scenario.call, data, result=scenario.result).texts if held(text)]


def look(scenarios: list[tuple[str, int]]) -> int:
    """Look for all canaries of these; how many there were."""
    looked = 0
    for name, number in scenarios:
        scenario = CALLS[name][number]
        for where, make in FAMILIES[scenario.family].canaries.items():
            assert shown(scenario, make()) == [], (name, number, where)
            looked += 1
    return looked


NAMES = sorted({name for name, _ in SCENARIOS})


@pytest.mark.parametrize("name", NAMES)
def test_no_canary_is_shown(name: str) -> None:
    assert look([scenario for scenario in SCENARIOS if scenario[0] == name]) > 0


@pytest.mark.slow
def test_no_canary_is_shown_in_hundreds_of_places() -> None:
    begin = time.monotonic()
    looked = look(SCENARIOS)
    assert looked > 500
    record("canaries of calls", names=len(NAMES), cases=looked, failures=0, seconds=round(time.monotonic() - begin))


HIDDEN = [
    (name, where)
    for name in ("labels", "numbers", "integers", "tables", "files", "files of numbers")
    for where in FAMILIES[name].canaries
    if where != "before a slice"  # of a table: what pyarrow writes is cut to the slice, and `kept` sees memory
]


@pytest.mark.parametrize(("name", "where"), HIDDEN)
def test_the_canary_is_where_it_is_said_to_be(name: str, where: str) -> None:
    """The control: it would be found, if the input were the result."""
    family: Family = FAMILIES[name]
    data = family.canaries[where]()
    content = data.read_bytes() if isinstance(data, Path) else kept(data)
    assert held(content)


def raises(value: Any) -> None:
    raise dpfast.ArgumentError(f"not {value}")


def raises_behind(value: Any) -> None:
    try:
        {}[value]
    except KeyError as error:
        raise dpfast.ArgumentError("there is no such value") from error


def writes(value: Any) -> None:
    Path("cache").write_text(str(value))


def names(value: Any) -> None:
    Path(str(value)).mkdir()


CONTROLS: list[Callable[[Any], Any]] = [
    raises,
    raises_behind,
    writes,
    names,
    print,
    lambda value: value,
    lambda value: {"a": [value]},
]


@pytest.mark.parametrize("call", CONTROLS)
@pytest.mark.parametrize("value", [CANARY, NUMBER])
def test_a_call_that_shows_a_canary_is_noticed(call: Callable[[Any], Any], value: Any) -> None:
    assert shown(Scenario(call, "labels"), value) != []


@pytest.mark.parametrize("value", [CANARY, NUMBER])
def test_a_canary_of_the_operator_is_not_looked_for_in_the_result_alone(value: Any) -> None:
    assert shown(Scenario(lambda found: found, "labels", "operator"), value) == []
    assert shown(Scenario(writes, "labels", "operator"), value) != []
