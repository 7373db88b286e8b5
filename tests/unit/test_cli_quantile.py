"""`dpfast quantile`: what is printed is public, is the answer of the library, and comes from a file of any size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import Ledger, Privacy, Stream, quantile

RNG = np.random.default_rng(3)
N = 20_000
DELAY = pa.array(RNG.integers(-40, 300, N), mask=RNG.random(N) < 0.1)
CARRIER = pa.array(RNG.choice(["AA", "B6", "UA"], N)).dictionary_encode()
ORIGIN = pa.array(RNG.integers(1, 4, N))
DAYS = pa.array(RNG.integers(18_000, 18_300, N), pa.int32()).cast(pa.date32())
BASE = ("quantile", "flights.parquet", "--column", "delay", "--bounds=-60,600", "--epsilon", "1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    table = pa.table({"delay": DELAY, "carrier": CARRIER, "origin": ORIGIN, "day": DAYS, "pilot": ORIGIN})
    pq.write_table(table, "flights.parquet", row_group_size=3000)
    pq.write_table(table.slice(1), "other.parquet")
    Path("carriers.txt").write_text("UA\nXX\nAA\n")
    Path("cells.json").write_text('[["UA", 1], ["AA", 3]]')
    Path("secret.key").write_bytes(bytes(range(100, 132)))
    Path("secret.key").chmod(0o600)
    return tmp_path


def test_the_answer_is_that_of_the_library(run: Any) -> None:
    code, out, _ = run(*BASE, "--q", "0.9", "--insecure-seed", "4")
    wanted = quantile(DELAY, 0.9, bounds=(-60, 600), epsilon=1.0, rng=Stream.insecure(4), column_name="delay")
    assert (code, out) == (0, f"{wanted}\n")


def test_answers_of_groups(run: Any) -> None:
    words = (*BASE, "--by", "carrier", "--keys", "@carriers.txt", "--insecure-seed", "4")
    code, out, _ = run(*words, "--json")
    request: dict[str, Any] = {"bounds": (-60, 600), "epsilon": 1.0, "column_name": "delay"}
    wanted = quantile(DELAY, 0.5, **request, by=CARRIER, keys=["UA", "XX", "AA"], rng=Stream.insecure(4)).tolist()
    found = json.loads(out)
    assert code == 0
    assert found["answers"] == wanted
    assert found["keys"] == ["UA", "XX", "AA"]
    assert set(found) == {"column", "q", "epsilon", "neighbours", "rows_per_person", "by", "keys", "answers"}
    assert [line.split()[-1] for line in run(*words)[1].splitlines()[1:]] == [str(answer) for answer in wanted]
    for keys in (("@cells.json",), ("UA,1", "AA,3")):
        code, out, _ = run(*BASE, "--by", "carrier,origin", "--keys", *keys, "--json", "--insecure-seed", "1")
        assert code == 0
        assert json.loads(out)["keys"] == [["UA", 1], ["AA", 3]]


def test_a_key_repeats_the_answer_for_one_file_only(run: Any) -> None:
    keyed = (*BASE, "--epsilon", "0.001", "--step", "0.001", "--key", "secret.key", "--context", "2026")
    first, again = run(*keyed), run(*keyed)
    assert first == again
    assert first[0] == 0
    assert run("quantile", "other.parquet", *keyed[2:])[1] != first[1]
    assert run(*keyed[:-1], "2027")[1] != first[1]


def test_dates_and_persons_and_ledgers(run: Any) -> None:
    code, out, _ = run(
        "quantile", "flights.parquet", "--column", "day", "--bounds=2019-01-01,2020-12-31", "--epsilon", "5", "--person", "pilot",
        "--rows-per-person", "5"
    )  # fmt: skip
    assert code == 0
    assert len(out.strip()) == len("2020-01-01")
    Ledger("budget", cap=Privacy(1.5, 0.0, "add_remove"))
    assert run(*BASE, "--ledger", "budget")[0] == 0
    code, out, error = run(*BASE, "--ledger", "budget")
    assert (code, out) == (1, "")
    assert "ledger" in error


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("--bounds=5",), 2, "two values"),
        (("--bounds=a,b",), 2, "must be a number, a date"),
        (("--q", "x"), 2, "must be a number"),
        (("--by", "carrier"), 2, "go together"),
        (("--key", "secret.key"), 2, "--key needs --context"),
        (("--by", "nowhere", "--keys", "a"), 1, "no column named 'nowhere'"),
        (("--column", "nowhere"), 1, "no column named 'nowhere'"),
        (("--by", "origin", "--keys", "a"), 1, "holds integers"),
        (("--by", "carrier", "--keys", "@nowhere"), 1, "cannot read the file"),
        (("--by", "carrier,origin", "--keys", "AA"), 1, "one value for each column"),
        (("--column", "carrier"), 1, "have no grid"),
        (("--neighbours", "replace_one", "--by", "carrier", "--keys", "AA"), 1, "public_groups"),
    ],
)
def test_wrong_requests_say_what_is_wrong(words: tuple[str, ...], code: int, text: str, run: Any) -> None:
    found, out, error = run(*BASE, *words)
    assert (found, out) == (code, "")
    assert text in error
