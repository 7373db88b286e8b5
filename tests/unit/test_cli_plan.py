"""``dpfast plan``, ``check`` and ``estimate`` on joint groups and strata; ``dpfast domain``."""

from __future__ import annotations

import io
import json
import stat
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import Domain, Policy
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
[[joint]]
columns = ["town", "age"]
domain = [["Bray", "Cork"], { edges = [0, 18, 120] }]
epsilon = 3.0
"""
PLAIN = 'version = 1\n[columns.town]\ndomain = ["Bray", "Cork"]\nepsilon = 1.0\n'
N = 3000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    table = pa.table(
        {
            "town": [("Bray", "Cork", "Cork")[i % 3] for i in range(N)],
            "age": [float(i % 100) for i in range(N)],
            "grade": pa.array([(1, 2, 2, 3)[i % 4] for i in range(N)], pa.int8()),
            "region": [("north", "south")[i % 7 % 2] for i in range(N)],
        }
    )
    pq.write_table(table, "source.parquet")
    Path("policy.toml").write_text(POLICY)
    Path("plain.toml").write_text(PLAIN)
    return tmp_path


# plan


def test_plan_shows_groups_totals_and_alternatives(run: Any) -> None:
    code, output, error = run("plan", "policy.toml", "--rows", "100000")
    assert (code, error) == (0, "")
    lines = output.splitlines()
    assert lines[1].split()[:4] == ["grade", "3", "2", "2"]
    assert lines[2].split()[:5] == ["town,", "age", "4", "3", "3"]
    assert "a person with 2 rows: epsilon 10, delta 0" in output
    assert "weaker, one attribute of a row: epsilon 3, delta 0" in output
    assert "grade: a mechanism for each value of region" in output
    for way in ("this policy", "equal epsilons", "one joint mechanism"):
        assert sum(line.startswith(way) for line in lines) == 1
    assert output.count("changed cells a row") == 3
    assert "error" not in run("plan", "policy.toml")[1].splitlines()[0]


def test_plan_of_one_column_has_no_alternatives(run: Any) -> None:
    output = run("plan", "plain.toml", "--rows", "1000")[1]
    assert "spent another way" not in output
    assert "weaker" not in output


def test_plan_finds_the_epsilon_of_an_error(run: Any) -> None:
    code, output, _ = run("plan", "policy.toml", "--rows", "100000", "--target-error", "0.005")
    assert code == 0
    table = output.partition("for a standard error of 0.005 at 100000 rows")[2].splitlines()[2:]
    assert [line.split()[0] for line in table] == ["grade", "town,", "a"]
    document = json.loads(run("plan", "policy.toml", "--rows", "100000", "--target-error", "0.005", "--json")[1])
    assert document["target_error"] == 0.005
    assert all(column["standard_error"] <= 0.005 for column in document["for_target"])
    assert float(table[2].split()[-1]) == pytest.approx(sum(column["epsilon"] for column in document["for_target"]), rel=1e-5)
    none = run("plan", "policy.toml", "--rows", "1", "--target-error", "1e-13")[1].splitlines()[-1]
    assert none.split()[-2:] == ["-", "-"]


def test_plan_as_json_has_the_alternatives(run: Any) -> None:
    document = json.loads(run("plan", "policy.toml", "--json")[1])
    assert [column["column"] for column in document["columns"]] == ["grade", "town, age"]
    assert [way["name"] for way in document["alternatives"]] == ["policy", "equal_split", "joint"]
    assert [way["epsilon"] for way in document["alternatives"]] == [5.0] * 3  # of one row
    assert document["certificate"] == Policy.load("policy.toml").certificate()
    assert "for_target" not in document


@pytest.mark.parametrize(
    "words", [("0.01",), ("0", "--rows", "9"), ("1", "--rows", "9"), ("x", "--rows", "9"), ("nan", "--rows", "9")]
)
def test_wrong_errors_are_usage_errors(run: Any, words: tuple[str, ...]) -> None:
    code, output, error = run("plan", "policy.toml", "--target-error", *words)
    assert (code, output) == (2, "")
    assert "--target-error" in error


# check, sanitise and estimate


def test_check_shows_pairs_and_strata(run: Any) -> None:
    assert run("check", "source.parquet", "--policy", "policy.toml")[:2] == (0, "the policy fits the file\n")
    only = POLICY.replace("epsilon = 3.0", 'epsilon = 3.0\nonly = [["Bray", "[0, 18)"], ["Cork", "[18, 120]"]]')
    Path("only.toml").write_text(only.replace('"south"', '"west"'))
    code, output, _ = run("check", "source.parquet", "--policy", "only.toml")
    assert code == 1
    assert output.splitlines()[0].startswith("PRIVATE")
    assert any(line.split()[:4] == ["town,", "age", "Cork,", "1.0"] for line in output.splitlines())
    assert any(line.split()[:2] == ["region", "south"] for line in output.splitlines())


def test_estimate_takes_groups_and_strata(run: Any) -> None:
    assert run("sanitise", "source.parquet", "out.parquet", "--policy", "policy.toml", "--insecure-seed", "1")[0] == 0
    code, output, error = run("estimate", "out.parquet", "--policy", "policy.toml")
    assert (code, error) == (0, "")
    for head in ("grade where region is north", "grade where region is south", "town, age"):
        assert head in output
    assert "Bray, [0, 18)" in output
    columns = json.loads(run("estimate", "out.parquet", "--policy", "policy.toml", "--json")[1])["columns"]
    joint = columns["town, age"]
    assert joint["value"][1] == ["Bray", "[18, 120]"]
    inside = [low <= true <= high for true, (low, high) in zip([0.06, 0.2733, 0.12, 0.5467], joint["interval"], strict=True)]
    assert sum(inside) >= 3
    north = columns["grade where region is north"]
    assert sum(north["estimated_share"]) == pytest.approx(1.0)


def test_estimate_refuses_another_group(run: Any) -> None:
    run("sanitise", "source.parquet", "out.parquet", "--policy", "policy.toml", "--insecure-seed", "1")
    for old, new in (("epsilon = 3.0", "epsilon = 3.5"), ("epsilon = 0.5", "epsilon = 0.75")):
        Path("other.toml").write_text(POLICY.replace(old, new))
        code, _, error = run("estimate", "out.parquet", "--policy", "other.toml")
        assert code == 1
        assert "was not sanitised by the mechanism of this policy" in error


# domain


def draft(values: pa.Array) -> None:
    pq.write_table(pa.table({"x": values}), "data.parquet", row_group_size=2)


def test_a_draft_is_sorted_warned_of_and_loads(run: Any, folder: Path) -> None:
    draft(pa.array(["pear", "apple", "fig", "apple"]).dictionary_encode())
    code, output, error = run("domain", "data.parquet", "--column", "x")
    assert (code, output) == (0, "apple\nfig\npear\n")
    assert "WARNING: PRIVATE DRAFT" in error
    assert "is itself private" in error
    code, output, error = run("domain", "data.parquet", "--column", "x", "--output", "fruit.txt")
    assert (code, output) == (0, "")
    assert "WARNING" in error
    assert stat.S_IMODE((folder / "fruit.txt").stat().st_mode) == 0o600
    assert Domain("fruit.txt").values == ("apple", "fig", "pear")
    code, _, error = run("domain", "data.parquet", "--column", "x", "--output", "fruit.txt")
    assert code == 1
    assert "File exists" in error


@pytest.mark.parametrize(
    "values",
    [
        pa.array([3, 1, None], pa.int16()),
        pa.array([True, False]),
        pa.array(["a", None]),
        pa.array(["", "b"]),
        pa.array(["two\nlines", "\x1b[31m", "NA", "N/A", " "]),
        pa.array(["line\r", "é"]),
    ],
    ids=str,
)
def test_a_draft_that_is_no_text_file_is_json(run: Any, values: pa.Array) -> None:
    draft(values)
    code, output, _ = run("domain", "data.parquet", "--column", "x")
    assert code == 0
    assert "\x1b" not in output
    Path("printed.json").write_text(output)
    assert run("domain", "data.parquet", "--column", "x", "--output", "kept.json")[0] == 0
    expected = sorted(value for value in values.to_pylist() if value is not None)
    expected += [None] * (values.null_count > 0)
    assert list(Domain("printed.json").values) == list(Domain("kept.json").values) == expected
    code, _, error = run("domain", "data.parquet", "--column", "x", "--output", "kept.txt")
    assert code == 1
    assert ".json" in error
    assert not Path("kept.txt").exists()


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (pa.array([0.5]), "edges"),
        (pa.array([[1]]), "a domain file holds"),
        (pa.array([b"x"]), "a domain file holds"),
        (pa.array([1], pa.date32()), "a domain file holds"),
        (pa.array(range(100_001)), "no category"),
    ],
    ids=["float", "list", "bytes", "date", "many"],
)
def test_columns_that_are_no_categories(run: Any, values: pa.Array, text: str) -> None:
    draft(values)
    code, output, error = run("domain", "data.parquet", "--column", "x")
    assert (code, output) == (1, "")
    assert text in error


def test_a_draft_needs_its_column(run: Any) -> None:
    assert "no column named 'y'" in run("domain", "source.parquet", "--column", "y")[2]
    assert run("domain", "none.parquet", "--column", "y")[0] == 1
    assert run("domain", "source.parquet")[0] == 2


def test_a_terminal_is_not_steered(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    draft(pa.array(["\x1b[31mred", "blue"]))

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(("domain", "data.parquet", "--column", "x")) == 0
    assert terminal.getvalue() == "'\\x1b[31mred'\nblue\n"
