"""Comparisons: the table, its figures, streams, callables, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import ArgumentError, ArgumentTypeError, Stream, baselines, duff
from dpfast.baselines.comparison import DEFAULT_MECHANISMS
from dpfast.baselines.data_sets import REAL
from dpfast.cli import main

SMALL = {name: pair for name, pair in baselines.datasets(101).items() if name in ("normal", "ages")}
UNIFORM = [-4.253957, 2.115089, -4.8019]
FIGURES = ["error_mean", "error_median", "error_rmse", "error_q95", "rank_error"]


def compared(**changes: Any) -> pa.Table:
    plain: dict[str, Any] = {"epsilons": [0.5, 2.0], "trials": 60, "rng": Stream.insecure(4), "progress": False}
    return baselines.compare(changes.pop("datasets", SMALL), **(plain | changes))


def test_there_is_a_row_for_each_of_everything() -> None:
    table = compared()
    assert table.column_names == ["dataset", "mechanism", "epsilon", "private", *FIGURES, "refusals", "seconds"]
    rows = [(row["dataset"], row["mechanism"], row["epsilon"]) for row in table.to_pylist()]
    assert rows == [(name, one, epsilon) for name in SMALL for one in DEFAULT_MECHANISMS for epsilon in (0.5, 2.0)]
    assert table.drop_columns("seconds").equals(compared().drop_columns("seconds"))
    assert not table.drop_columns("seconds").equals(compared(rng=Stream.insecure(5)).drop_columns("seconds"))


def test_figures_are_those_of_the_answers() -> None:
    answers = iter([3.0, None, 5.0, 8.0, 4.0])
    seen = []

    def told(values: Any, *, bounds: Any, epsilon: float, rng: Stream) -> float | None:
        seen.append((bounds, epsilon, rng.kind))
        return next(answers)

    data = {"few": ([1, 2, 4, 8, 9], (0, 10))}
    row = compared(datasets=data, mechanisms=[told], epsilons=[1.0], trials=5).to_pylist()[0]
    assert seen[0] == ((0, 10), 1.0, "insecure")
    assert row["mechanism"] == "told"
    assert row["private"] is None
    assert (row["refusals"], row["error_mean"], row["error_median"]) == (1, 1.5, 1.0)
    assert row["error_rmse"] == pytest.approx(np.sqrt(18 / 4))
    assert row["rank_error"] == 0.25  # 3 and 5 lie in gaps beside rank 3: one below it counts 1; 8 is rank 4
    assert row["error_q95"] == pytest.approx(np.quantile([1, 1, 4, 0], 0.95))


def test_duff_has_the_error_of_its_law() -> None:
    values, bounds = SMALL["normal"]
    table = compared(datasets={"normal": (values, bounds)}, mechanisms=["duff"], epsilons=[1.0], trials=4000)
    law = duff.error_law(duff.median_levels(values, bounds=bounds, neighbours="add_remove"), epsilon=1.0)
    deviation = np.sqrt(law.rmse**2 - law.mean**2) / np.sqrt(4000)
    assert abs(table["error_mean"][0].as_py() - law.mean) < 5 * deviation
    assert abs(table["error_mean"][0].as_py() - 1.2 * law.mean) > 5 * deviation


def test_tuned_ones_are_marked_and_better() -> None:
    for name in ("smooth_cauchy", "smooth_student_t", "smooth_polyplace", "smooth_laplace", "smooth_laplace_lognormal"):
        rows = compared(mechanisms=[name, f"{name}/exact", f"{name}/oracle"], epsilons=[1.0], trials=400).to_pylist()
        has_one_shape = name in ("smooth_cauchy", "smooth_student_t", "smooth_laplace")
        assert [row["private"] for row in rows[:3]] == [True, True, has_one_shape]
        assert rows[2]["error_median"] <= 1.3 * rows[1]["error_median"] <= 1.5 * 1.3 * rows[0]["error_median"]


def test_what_is_not_private_at_an_epsilon_has_no_result() -> None:
    row = compared(mechanisms=["smooth_laplace"], epsilons=[40.0], delta=0.5).to_pylist()[0]
    assert row["refusals"] == 60
    assert row["error_mean"] is None


def test_a_delta_is_asked_for_by_those_that_need_it() -> None:
    assert compared(mechanisms=["duff", "laplace"], delta=0.0)["refusals"].to_pylist() == [0] * 8
    assert compared(mechanisms=["smooth_laplace"], delta=0.75).num_rows == 4
    with pytest.raises(ArgumentError, match="at most 1/2"):
        compared(mechanisms=["propose_test_release"], delta=0.75)


def test_answers_far_outside_have_finite_errors() -> None:
    row = compared(mechanisms=[lambda *_, **__: 1e300], epsilons=[1.0], trials=2).to_pylist()[0]
    assert row["error_rmse"] == row["error_mean"] == row["error_q95"] == 1e300
    assert row["rank_error"] == 50


def test_replaced_rows_and_progress() -> None:
    steps: list[tuple[int, int]] = []
    table = compared(neighbours="replace_one", mechanisms=["duff", "laplace"], progress=lambda *step: steps.append(step))
    assert table.num_rows == 8
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"mechanisms": ["gauss"]}, ArgumentError, "gauss"),
        ({"mechanisms": ["duff/oracle"]}, ArgumentError, "duff/oracle"),
        ({"mechanisms": [3]}, ArgumentTypeError, "callable"),
        ({"mechanisms": "duff"}, ArgumentTypeError, "a list of names"),
        ({"epsilons": [0.0]}, ArgumentError, "above 0"),
        ({"epsilons": iter([1.0])}, ArgumentTypeError, "a list of numbers"),
        ({"datasets": {3: ([1], (0, 1))}}, ArgumentTypeError, "pair"),
        ({"mechanisms": [lambda *_, **__: float("nan")]}, ArgumentError, "finite"),
        ({"mechanisms": [lambda *_, **__: "3"]}, ArgumentTypeError, "real number"),
        ({"trials": 0}, ArgumentError, "at least 1"),
        ({"delta": 0.0}, ArgumentError, "delta"),
        ({"neighbours": "x"}, ArgumentError, "neighbours"),
        ({"datasets": {"none": ([], (0, 1))}}, ArgumentError, "no values"),
        ({"datasets": {"none": 3}}, ArgumentTypeError, "pair"),
        ({"progress": 3}, ArgumentTypeError, "progress"),
        ({"rng": 3}, ArgumentTypeError, "Stream"),
    ],
)
def test_comparisons_refuse_wrong_arguments(changes: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        compared(**changes)


def test_data_sets_are_the_same_everywhere() -> None:
    first, again = baselines.datasets(50), baselines.datasets(50)
    for name, (values, bounds) in first.items():
        assert np.array_equal(values, again[name][0])
        assert values.size == 50
        assert bounds[0] < bounds[1]
        assert bounds[0] <= values.min()
        assert values.max() <= bounds[1]
    assert [round(value, 6) for value in first["uniform"][0][:3].tolist()] == UNIFORM
    assert not np.array_equal(first["normal"][0], baselines.datasets(50, seed=1)["normal"][0])
    assert np.unique(baselines.datasets(1000)["ages"][0]).size < 111
    made = {"normal", "uniform", "lognormal", "laplace", "ages", "bimodal", "equal"}
    assert made <= set(first) <= made | set(REAL)


@pytest.mark.parametrize(("name", "rows", "median"), [("flights", 328_521, -2), ("voters", 944, 44), ("visits", 20_190, 1)])
def test_real_data_are_read_whole(name: str, rows: int, median: int) -> None:
    values, _ = baselines.datasets(400_000)[name]
    assert (values.size, np.sort(values)[(rows - 1) // 2]) == (rows, median)


def test_the_command_prints_writes_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    words = ["compare", "--rows", "51", "--epsilons", "0.5", "2", "--trials", "20", "--mechanisms", "duff", "smooth_cauchy/exact"]
    assert main([*words, "--insecure-seed", "1", "--table", "out.parquet", "--plot", "figure.svg"]) == 0
    printed = capsys.readouterr().out
    assert "smooth_cauchy/exact" in printed
    table = pq.read_table("out.parquet")
    assert table.num_rows == 2 * 2 * len(baselines.datasets(51))
    assert Path("figure.svg").read_text().count("<svg") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure.svg", "out.parquet"]
    assert main([*words, "--insecure-seed", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["error_mean"] for row in document] == table["error_mean"].to_pylist()


def test_the_command_takes_a_column_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"x": pa.array([1, None, 3, 4, 5] * 20)}), "data.parquet")
    plain = ["compare", "data.parquet", "--trials", "5", "--epsilons", "1", "--mechanisms", "laplace"]
    assert main([*plain, "--column", "x", "--bounds=0,9"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["x", "laplace"]
    assert main(plain) == 2
    assert "go together" in capsys.readouterr().err
    assert main([*plain, "--column", "y", "--bounds=0,9"]) == 1
    assert "no column named" in capsys.readouterr().err
    for option in ("--table", "--plot"):
        Path("data.svg").unlink(missing_ok=True)
        Path("data.svg").hardlink_to("data.parquet")
        pytest.importorskip("matplotlib")
        assert main([*plain, "--column", "x", "--bounds=0,9", option, "data.svg"]) == 1
        assert "the target is the source" in capsys.readouterr().err
    assert pq.read_table("data.parquet").num_rows == 100
    assert main(["compare", "--plot", "figure.doc"]) == 2
    assert main(["compare", "--rows", "11", "--trials", "2", "--epsilons", "1", "--table", "no/such/folder.parquet"]) == 1
    assert "cannot write" in capsys.readouterr().err
