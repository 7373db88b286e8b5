"""A policy from options, folders and progress on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import Policy, RandomisedResponse, sanitise_file

TOWNS = ["Bray", "Cork", "Dingle"]
TOWN = ("--column", "town=@towns.txt")
QUICK = (*TOWN, "--column", "month=1..12", "--epsilon", "1", "--public", "id", "--drop", "name")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    table = pa.table({"id": range(60), "town": TOWNS * 20, "month": [1, 12, 7, 3] * 15, "name": ["x"] * 60})
    Path("many/deep").mkdir(parents=True)
    for name in ("one.parquet", "many/a.parquet", "many/deep/b.parquet"):
        pq.write_table(table, name)
    Path("towns.txt").write_text("\n".join(TOWNS) + "\n")
    Path("key").write_bytes(bytes(range(32)))
    Path("key").chmod(0o600)
    return tmp_path


def test_options_make_the_policy_that_they_say(run: Any) -> None:
    code, output, _ = run("sanitise", "one.parquet", "out.parquet", *QUICK, "--json")
    assert code == 0
    half = {"town": RandomisedResponse(TOWNS, epsilon=0.5), "month": RandomisedResponse(range(1, 13), epsilon=0.5)}
    made = json.loads(output)
    assert made["certificate"]["policy"] == Policy({**half, "id": "public", "name": "drop"}).digest.hex()
    assert made["privacy"]["epsilon"] == 1.0
    words = ("--column", "town=Bray,Cork,Dingle", "--epsilon", "1", "--delta", "1e-6", "--unlisted", "drop")
    _, output, _ = run("sanitise", "one.parquet", "two.parquet", *words, "--json")
    policy = Policy({"town": RandomisedResponse(TOWNS, epsilon=1.0, delta=1e-6)}, unlisted="drop")
    assert json.loads(output)["certificate"]["policy"] == policy.digest.hex()


@pytest.mark.parametrize("columns", [3, 7, 49])
def test_the_columns_together_never_cost_more_than_was_asked_for(run: Any, columns: int) -> None:
    words = [word for number in range(columns) for word in ("--column", f"c{number}=a,b")]
    for epsilon in ("1", "0.1", "0.7"):
        code, output, _ = run("plan", *words, "--epsilon", epsilon, "--json")
        assert code == 0
        spent = float.fromhex(json.loads(output)["certificate"]["epsilon"])
        assert float(epsilon) * (1 - 1e-12) < spent <= float(epsilon)


def test_every_verb_with_a_policy_takes_the_options(run: Any) -> None:
    assert run("check", "one.parquet", *QUICK)[0] == 0
    assert run("sanitise", "one.parquet", "out.parquet", *QUICK)[0] == 0
    assert run("verify", "out.parquet", *QUICK)[0] == 0
    assert run("estimate", "out.parquet", *QUICK)[0] == 0
    assert run("plan", *QUICK)[0] == 0
    code, _, error = run("verify", "out.parquet", *TOWN, "--epsilon", "1")
    assert code == 1
    assert "another policy" in error or "mechanism" in error


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "give a policy file, or --column NAME=DOMAIN and --epsilon"),
        (TOWN, "--epsilon"),
        (("--epsilon", "1"), "--column"),
        ((*TOWN, "--epsilon", "1", "--policy", "p.toml"), "--column makes a policy of its own"),
        (("--policy", "p.toml", "--unlisted", "drop"), "--unlisted makes a policy of its own"),
        (("--column", "town", "--epsilon", "1"), "write NAME=DOMAIN"),
        (("--column", "=a", "--epsilon", "1"), "write NAME=DOMAIN"),
        (("--column", "town=", "--epsilon", "1"), "write NAME=DOMAIN"),
        ((*TOWN, *TOWN, "--epsilon", "1"), "'town' is given twice"),
        ((*TOWN, "--epsilon", "1", "--drop", "town"), "'town' already has a rule"),
        ((*TOWN, "--epsilon", "1", "--drop", "id", "--public", "id"), "'id' already has a rule"),
        ((*TOWN, "--epsilon", "-1"), "--epsilon: must be a number, at least 0"),
        ((*TOWN, "--epsilon", "inf"), "--epsilon: must be"),
        ((*TOWN, "--epsilon", "1", "--delta", "1"), "--delta: must lie in [0, 1)"),
        (("--column", "month=12..1", "--epsilon", "1"), "FIRST..LAST"),
        (("--column", "month=1..999999999999999999", "--epsilon", "1"), "FIRST..LAST"),
    ],
)
def test_options_that_make_no_policy_are_usage_errors(run: Any, words: tuple[str, ...], text: str) -> None:
    code, output, error = run("sanitise", "one.parquet", "out.parquet", *words)
    assert (code, output) == (2, "")
    assert text in error.splitlines()[-1]
    assert not Path("out.parquet").exists()


def test_a_missing_domain_file_is_a_failure_of_the_job(run: Any) -> None:
    code, _, error = run("sanitise", "one.parquet", "out.parquet", "--column", "town=@none.txt", "--epsilon", "1")
    assert code == 1
    assert error.startswith("dpfast: ")


def test_a_folder_goes_on_or_starts_over(run: Any) -> None:
    words = ("sanitise", "many", "out", *QUICK, "--key", "key", "--context", "c")

    class Stop(Exception):
        pass

    def stop(done: int, total: int | None) -> None:
        if done > 60:
            raise Stop

    half = {"town": RandomisedResponse(TOWNS, epsilon=0.5), "month": RandomisedResponse(range(1, 13), epsilon=0.5)}
    policy = Policy({**half, "id": "public", "name": "drop"})
    with pytest.raises(Stop):
        sanitise_file("many", "out", policy, key="key", context="c", progress=stop)
    assert ".out.dpfast-partial" in os.listdir()
    other = (*words[:-1], "d")
    code, _, error = run(*other)
    assert code == 1
    assert "--no-resume" in error
    code, output, error = run(*words)
    assert (code, error) == (0, "")
    assert output.startswith("120 rows in 2 files in ")
    assert run("verify", "out", *QUICK)[0] == 0
    first = pq.read_table("out/a.parquet")
    assert run(*words)[0] == 0  # finished before
    code, _, error = run(*other)
    assert (code, "exists" in error) == (1, True)
    assert run(*other, "--no-resume", "--overwrite")[0] == 0
    assert pq.read_table("out/a.parquet") != first


def test_verify_wants_one_certificate_for_all_files(run: Any) -> None:
    run("sanitise", "many", "out", *QUICK)
    run("sanitise", "one.parquet", "out/c.parquet", *TOWN, "--epsilon", "1", "--unlisted", "drop")
    Path("out/deep/b.parquet").unlink()
    Path("out/a.parquet").rename("out/d.parquet")
    code, _, error = run("verify", "out")
    assert code == 1
    assert "differ" in error


def test_progress_is_told_when_it_is_asked_for(run: Any) -> None:
    assert "100 % of 60 rows" in run("sanitise", "one.parquet", "a.parquet", *QUICK, "--progress")[2]
    assert run("sanitise", "one.parquet", "b.parquet", *QUICK, "--no-progress")[2] == ""
    assert run("sanitise", "one.parquet", "c.parquet", *QUICK)[2] == ""


def test_files_of_a_folder_that_are_not_read_are_named(run: Any) -> None:
    for name in ("notes.txt", "_SUCCESS", ".hidden", "deep/b.parquet.crc", "deep/x.tmp"):
        Path("many", name).write_text("x")
    code, _, error = run("sanitise", "many", "out", *QUICK)
    assert code == 0
    assert error == (
        "dpfast: warning: not read, as their names do not end as those of tables do: deep/b.parquet.crc, deep/x.tmp, notes.txt\n"
    )
    assert len(list(Path("out").rglob("*.*"))) == 3
