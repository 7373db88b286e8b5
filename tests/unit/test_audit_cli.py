"""``dpfast audit``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dpfast.cli import main

POLICY = """
version = 1
rows_per_person = 2
[columns.grade]
domain = [1, 2, 3]
by = "region"
[[columns.grade.strata]]
value = "north"
epsilon = 2.0
[[columns.grade.strata]]
value = "south"
epsilon = 0.5
[columns.region]
use = "public"
[columns.ok]
mechanism = "matrix"
domain = ["no", "yes"]
matrix_file = "matrix.csv"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.toml").write_text(POLICY)
    Path("matrix.csv").write_text("0.75,0.25\n0.25,0.75\n")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*words: str) -> tuple[int, str, str]:
        code = main(("audit", *words))
        return code, *capsys.readouterr()

    return call


def test_every_rule_is_audited(run: Any) -> None:
    code, output, error = run("policy.toml")
    assert (code, error) == (0, "")
    lines = [line.split() for line in output.splitlines()]
    assert lines[0][:3] == ["rule", "epsilon", "delta"]
    assert lines[1] == ["grade", "2", "0", "2", "2", "proved"]
    assert lines[3] == ["grade", "where", "region", "is", "'south'", "0.5", "0", "0.5", "0.5", "proved"]
    assert lines[4][:2] == ["ok", "1.09861"]
    assert lines[5] == ["a", "person", "with", "2", "rows", "6.19722", "0", "6.19722", "6.19722", "proved"]
    assert "not seen: The table was audited" in output


def test_a_false_claim_is_exit_code_one(run: Any) -> None:
    code, output, error = run("policy.toml", "--epsilon", "6")
    assert (code, error) == (1, "")
    assert output.splitlines()[5].endswith("refuted")
    assert run("policy.toml", "--epsilon", "6.2")[0] == 0
    # with a delta the composition has less to pay
    assert run("policy.toml", "--epsilon", "6", "--delta", "0.5")[0] == 0


def test_json_holds_the_parts(run: Any) -> None:
    code, output, _ = run("policy.toml", "--json", "--epsilon", "6")
    document = json.loads(output)
    assert (code, document["rejected"], document["method"]) == (1, True, "exact")
    assert list(document["parts"]) == ["grade", "ok"]
    assert list(document["parts"]["grade"]["parts"]) == ["region is 'north'", "region is 'south'"]
    assert document["parts"]["ok"]["event"] == "code 0"
    assert not document["parts"]["ok"]["rejected"]


def test_samples_bound_from_below(run: Any) -> None:
    code, output, _ = run("policy.toml", "--samples", "20000", "--confidence", "0.999999")
    assert code == 0
    assert output.splitlines()[1].split()[-3:] == ["-", "not", "refuted"]
    assert "with confidence 0.999999" in output
    assert run("policy.toml", "--samples", "20000", "--epsilon", "4.5")[0] == 1


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("--confidence", "0.9"), 2, "--confidence needs --samples"),
        (("--epsilon", "-1"), 2, "--epsilon"),
        (("--epsilon", "nan"), 2, "--epsilon"),
        (("--samples", "0"), 2, "--samples"),
        (("--samples", "10"), 1, "samples must be at least 100"),
        (("--samples", "100", "--confidence", "2"), 2, "--confidence"),
        (("--samples", "100", "--confidence", "nan"), 2, "--confidence"),
        (("--samples", "100", "--confidence", "0.3"), 1, "confidence must lie between"),
        (("--delta", "1"), 2, "--delta"),
    ],
)
def test_wrong_options_say_what_is_wrong(run: Any, words: tuple[str, ...], code: int, text: str) -> None:
    found, output, error = run("policy.toml", *words)
    assert (found, output) == (code, "")
    assert text in error
