"""The verbs of statistics on files of every format: what is written and what is typed give one answer."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from dpfast.cli import main

N = 900
RNG = np.random.default_rng(6)
TABLE = pa.table(
    {
        "delay": pa.array(RNG.integers(-40, 300, N), mask=RNG.random(N) < 0.1),
        "share": RNG.random(N),
        "day": pa.array(RNG.integers(18_000, 18_300, N), pa.int32()).cast(pa.date32()),
        "carrier": RNG.choice(["AA", "B6", "UA"], N),
        "pilot": RNG.integers(0, 60, N).astype(str),
        "u": RNG.integers(0, 30, N),
        "v": RNG.integers(0, 30, N),
    }
)
FILES = ["rows.csv", "rows.csv.gz", "rows.arrow", "rows.arrows", "folder", "parts/*.csv"]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(TABLE, "rows.parquet")
    pyarrow.csv.write_csv(TABLE, "rows.csv")
    with pa.CompressedOutputStream("rows.csv.gz", "gzip") as out:
        pyarrow.csv.write_csv(TABLE, out)
    with pa.ipc.new_file("rows.arrow", TABLE.schema) as file:
        file.write_table(TABLE)
    with pa.ipc.new_stream("rows.arrows", TABLE.schema) as stream:
        stream.write_table(TABLE)
    for folder, write, suffix in (("folder", pq.write_table, "parquet"), ("parts", pyarrow.csv.write_csv, "csv")):
        Path(folder).mkdir()
        for part in range(3):
            write(TABLE.slice(part * 300, 300), f"{folder}/part-{part}.{suffix}")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*words: str) -> str:
        assert main([*words, "--insecure-seed", "3"]) == 0
        return capsys.readouterr().out

    return call


VERBS = {
    "integers": ("quantile", "--column", "delay", "--bounds=-60,600"),
    "numbers": ("quantile", "--column", "share", "--bounds=0.0,1.0", "--q", "0.9"),
    "dates": ("quantile", "--column", "day", "--bounds=2019-01-01,2021-01-01"),
    "missing": ("quantile", "--column", "delay", "--bounds=-60,600", "--neighbours", "replace_one", "--missing", "600"),
    "groups": ("quantile", "--column", "delay", "--bounds=-60,600", "--by", "carrier", "--keys", "UA", "XX", "AA"),
    "persons": ("quantile", "--column", "delay", "--bounds=-60,600", "--person", "pilot", "--rows-per-person", "2"),
    "mean": ("mean", "--column", "delay", "--bounds=-60,600", "--step", "0.5"),
    "mode": ("mode", "--column", "carrier", "--domain", "AA", "UA"),
    "triangles": ("triangles", "--columns", "u,v", "--vertices", "30"),
}


@pytest.mark.parametrize("name", VERBS)
def test_every_format_gives_one_answer(name: str, run: Any) -> None:
    verb, *rest = VERBS[name]
    wanted = run(verb, "rows.parquet", *rest, "--epsilon", "1")
    assert [run(verb, file, *rest, "--epsilon", "1") for file in FILES] == [wanted] * len(FILES)


def test_cells_that_are_no_numbers_are_missing(run: Any) -> None:
    cells = ["5"] * 60 + ["NA", "", "1e999", "0x5", "5 ", "inf", "nan", "2020-01-01"] * 30
    Path("odd.csv").write_text("n,d\n" + "".join(f"{cell},{cell}\n" for cell in cells))
    words = ("quantile", "odd.csv", "--epsilon", "9", "--bounds=0,9")
    assert run(*words, "--column", "n") == "5\n"
    assert run(*words, "--column", "n", "--neighbours", "replace_one", "--missing", "2") == "2\n"
    days = ("quantile", "odd.csv", "--epsilon", "9", "--column", "d", "--bounds=2019-01-01,2021-01-01")
    assert run(*days) == "2020-01-01\n"


def test_times_and_integers_of_text(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    moment = datetime.datetime(2020, 5, 5, 12, 30)
    Path("times.csv").write_text("t\n" + f"{moment.isoformat()}\n" * 90)
    words = ("quantile", "times.csv", "--column", "t", "--bounds=2020-01-01T00:00,2021-01-01T00:00", "--epsilon", "9")
    assert run(*words).startswith("2020-05-05T12:30:00")
    Path("edges.csv").write_text("u,v\n0,1\n1,x\n")
    assert main(["triangles", "edges.csv", "--columns", "u,v", "--vertices", "3", "--epsilon", "1"]) == 1
    assert "has one that is no integer" in capsys.readouterr().err
