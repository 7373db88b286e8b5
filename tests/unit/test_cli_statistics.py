"""``dpfast mean``, ``mode`` and ``triangles`` on a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast.cli import main


@pytest.fixture
def table(tmp_path: Path) -> str:
    n = np.arange(6000)
    names = np.array(["AA", "UA", "ZZ"])[(n % 7) // 3]
    ends = np.array([(i, j) for i in range(110) for j in range(i)][:6000])
    columns = {"delay": n % 61, "carrier": names, "year": 2025 + n % 2, "u": ends[:6000, 0], "v": ends[:6000, 1]}
    rows = min(len(column) for column in columns.values())
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({name: column[:rows] for name, column in columns.items()}), path)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--insecure-seed", "1"]) == 0
    return capsys.readouterr().out


def test_means(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["mean", table, "--column", "delay", "--bounds=-10,200", "--epsilon", "2"]
    assert abs(float(run(capsys, *options, "--step", "0.01")) - 30) < 1
    found = json.loads(run(capsys, *options, "--by", "year", "--keys", "2026", "2030", "--json"))
    assert found["statistic"] == "mean"
    assert found["keys"] == [2026, 2030]
    assert abs(found["answers"][0] - 30) <= 2


def test_modes(table: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "carriers.txt").write_text("AA\nUA\nXX\n")
    options = ["mode", table, "--column", "carrier", "--epsilon", "1"]
    assert run(capsys, *options, "--domain", f"@{tmp_path / 'carriers.txt'}").strip() in ("AA", "UA")
    found = json.loads(run(capsys, *options, "--domain", "UA", "XX", "--by", "year", "--keys", "2025", "--json"))
    assert found["answers"] == ["UA"]


def test_triangles(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["triangles", table, "--columns", "u,v", "--vertices", "110", "--epsilon", "4"]
    exact = 110 * 109 * 108 // 6  # all pairs
    assert abs(int(run(capsys, *options)) - exact) < 0.02 * exact
    assert json.loads(run(capsys, *options, "--method", "smooth_cauchy", "--json"))["neighbours"] == "edge"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["triangles", "FILE", "--columns", "u", "--vertices", "9", "--epsilon", "1"], 2),
        (["triangles", "FILE", "--columns", "u,v", "--vertices", "9", "--epsilon", "1"], 1),
        (["mode", "FILE", "--column", "carrier", "--domain", "AA", "AA", "--epsilon", "1"], 1),
        (["mean", "FILE", "--column", "delay", "--bounds=0,9", "--epsilon", "1", "--by", "year"], 2),
    ],
)
def test_what_is_wrong_is_said(table: str, arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([table if word == "FILE" else word for word in arguments]) == status
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("column", "label", "said"),
    [
        ("carrier", "@nowhere.txt", "--domain: cannot read the file"),
        ("year", "soon", "--domain: the column holds integers"),
        ("nowhere", "AA", "no column named 'nowhere'"),
    ],
)
def test_what_is_wrong_with_a_domain_is_said_of_it(
    table: str, column: str, label: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mode", table, "--column", column, "--domain", label, "--epsilon", "1"]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert "--keys" not in error
