"""``dpfast ledger`` and ``dpfast sanitise --ledger``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import Ledger, Privacy

POLICY = 'version = 1\n[columns.smoker]\ndomain = ["no", "yes"]\nepsilon = 1.0\n'
SANITISE = ("sanitise", "source.parquet", "out.parquet", "--policy", "policy.toml", "--ledger", "people.ledger")
CREATE = ("ledger", "create", "people.ledger", "--epsilon")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: bytes) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"smoker": ["no", "yes"] * 50}), "source.parquet")
    Path("policy.toml").write_text(POLICY)
    Path("secret.key").write_bytes(key)
    Path("secret.key").chmod(0o600)
    return tmp_path


def test_a_ledger_from_creation_to_the_last_of_it(run: Any) -> None:
    code, output, _ = run(*CREATE, "2.5", "--delta", "1e-6")
    assert (code, output.split(";")[0]) == (0, "a ledger with a cap of epsilon 2.5, delta 1e-06 for a row")
    keyed = (*SANITISE, "--key", "secret.key", "--context", "c", "--overwrite")
    for _ in range(2):
        code, output, _ = run(*keyed)
        assert (code, output.splitlines()[-1]) == (0, "left in the ledger: epsilon 1.5, delta 1e-06")
    assert run(*SANITISE, "--overwrite", "--insecure-seed", "1")[0] == 0
    target = Path("out.parquet").read_bytes()
    code, output, error = run(*SANITISE, "--overwrite")
    assert (code, output) == (1, "")
    assert error.startswith("dpfast: the ledger has no room: the release costs epsilon 1.0, delta 0.0, and epsilon 0.5")
    assert Path("out.parquet").read_bytes() == target
    Path("out.parquet").unlink()
    assert run(*SANITISE)[0] == 1
    assert sorted(os.listdir()) == ["people.ledger", "policy.toml", "secret.key", "source.parquet"]
    code, output, _ = run("ledger", "show", "people.ledger")
    lines = output.splitlines()
    assert code == 0
    assert [line.split()[:2] for line in lines[1:3]] == [["a", "table"]] * 2
    assert ["keyed" in lines[1], "insecure" in lines[2]] == [True, True]
    assert "spent: epsilon 2, delta 0 for a row" in lines
    assert "left: epsilon 0.5, delta 1e-06 for a row" in lines
    head = lines[-1].removeprefix("head: ")
    assert run("ledger", "check", "people.ledger")[:2] == (0, "the chain is whole\n")
    assert run("ledger", "check", "people.ledger", "--head", head)[:2] == (0, "the chain is whole and goes through this head\n")
    code, _, error = run("ledger", "check", "people.ledger", "--head", "ab" * 32)
    assert (code, error.startswith("dpfast: the chain does not go through this head")) == (1, True)


def test_json_holds_the_same_and_only_public_things(run: Any) -> None:
    ledger = Ledger("people.ledger", cap=Privacy(float("inf"), 0.25, rows_per_person=2))
    ledger.charge(Privacy(0.1, 0.125, rows_per_person=3))
    code, output, _ = run("ledger", "show", "people.ledger", "--json")
    found = json.loads(output)
    assert code == 0
    stated = {"neighbours": "replace_one", "rows_per_person": 2}
    assert found["cap"] == {"epsilon": None, "delta": 0.25, **stated}
    assert found["spent"] == {"epsilon": 0.1, "delta": 0.125, **stated}
    assert found["left"] == {"epsilon": None, "delta": 0.125, **stated}
    assert found["composition"] == "sum"
    assert found["head"] == ledger.head() == found["entries"][0]["hash"]
    assert set(found) == {"cap", "composition", "entries", "spent", "left", "head"}
    [entry] = found["entries"]
    assert set(entry) == {
        "epsilon", "delta", "neighbours", "rows_per_person", "number", "column", "rule", "addressing", "randomness",
        "key_fingerprint", "hash",
    }  # fmt: skip
    assert (entry["epsilon"], entry["rows_per_person"], entry["rule"]) == (0.1, 3, None)
    assert "a statement" in run("ledger", "show", "people.ledger")[1]


def test_an_empty_ledger_is_shown(run: Any) -> None:
    run(*CREATE, "1", "--composition", "optimal", "--rows-per-person", "3")
    assert Ledger("people.ledger").composition == "optimal"
    code, output, _ = run("ledger", "show", "people.ledger")
    assert (code, output.splitlines()[:2]) == (
        0,
        ["cap: epsilon 1, delta 0 for a person with 3 rows", "spent: epsilon 0, delta 0 for a person with 3 rows"],
    )


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("ledger",), 2, "required: ACTION"),
        (("ledger", "create", "people.ledger"), 2, "--epsilon"),
        ((*CREATE, "much"), 2, "invalid float value"),
        ((*CREATE, "nan"), 2, "epsilon must be a number, not NaN"),
        ((*CREATE, "-1"), 2, "epsilon must not be negative"),
        ((*CREATE, "1", "--delta", "2"), 2, "delta must be between 0 and 1"),
        ((*CREATE, "1", "--delta", "1"), 1, "delta of a cap must be below 1"),
        ((*CREATE, "1", "--rows-per-person", "0"), 2, "must be a whole number, at least 1"),
        (("ledger", "create", "policy.toml", "--epsilon", "1"), 1, "exists; nothing is replaced"),
        (("ledger", "create", "no/people.ledger", "--epsilon", "1"), 1, "cannot make the ledger"),
        (("ledger", "show", "people.ledger"), 1, "there is no ledger"),
        (("ledger", "check", "policy.toml"), 1, "no dpfast ledger"),
        (SANITISE, 1, "there is no ledger"),
    ],
)
def test_what_is_wrong_is_said(words: tuple[str, ...], code: int, text: str, run: Any, place: Path) -> None:
    before = sorted(os.listdir(place))
    status, output, error = run(*words)
    assert (status, output) == (code, "")
    assert text in error
    assert sorted(os.listdir(place)) == before


def test_help_and_debug(run: Any) -> None:
    code, output, _ = run("ledger", "--help")
    assert code == 0
    assert "dpfast ledger create people.ledger --epsilon 5" in output
    for words in (("ledger", "--debug", "show", "x"), ("ledger", "show", "x", "--debug")):
        assert "Traceback" in run(*words)[2]
    assert "Traceback" not in run("ledger", "show", "x")[2]
