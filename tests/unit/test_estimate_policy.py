"""`Policy.estimate` and `dpfast estimate --columns`: every kind of table, cross-tabs, keys, weights, refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import Domain, Policy, RandomisedResponse, Stream, sanitise_file
from dpfast._tally import Counter
from dpfast.cli import main
from dpfast.crosstab import CrossTab, crosstab
from dpfast.errors import ArgumentError, ArgumentTypeError, FileError, OutsideDomainError, PolicyError
from dpfast.estimate import EstimateWarning, Grouped

N = 300_000  # more than a batch
POLICY = """version = 1
[columns.town]
domain = ["Bray", "Cork", "Dingle"]
epsilon = 2.0
[columns.grade]
domain = [1, 2]
null = true
epsilon = 3.0
[columns.year]
use = "public"
[columns.weight]
use = "public"
"""


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy(
        {
            "town": RandomisedResponse(["Bray", "Cork", "Dingle"], epsilon=2.0),
            "grade": RandomisedResponse(Domain([1, 2, None]), epsilon=3.0),
            "year": "public",
            "weight": "public",
        }
    )


@pytest.fixture(scope="module")
def truth() -> pa.Table:
    rng = np.random.default_rng(1)
    town = rng.choice(3, N, p=[0.5, 0.3, 0.2])
    grade = np.where(rng.random(N) < 0.6, town, rng.integers(0, 3, N))
    return pa.table(
        {
            "town": pa.array(np.array(["Bray", "Cork", "Dingle"])[town]).dictionary_encode(),
            "grade": pa.array([1, 2, None], pa.int8()).take(pa.array(grade)),
            "year": pa.array(rng.integers(2020, 2023, N), pa.int16()),
            "weight": rng.uniform(0.5, 2, N),
        }
    )


@pytest.fixture(scope="module")
def released(policy: Policy, truth: pa.Table) -> pa.Table:
    table = policy.sanitise(truth, rng=Stream.insecure(5))
    assert isinstance(table, pa.Table)
    return table


def joint(table: pa.Table) -> np.ndarray[Any, Any]:
    """Counts of town and grade, by other means."""
    rows = table.group_by(["town", "grade"]).aggregate([([], "count_all")]).to_pylist()
    counts = np.zeros((3, 3), int)
    for row in rows:
        counts[["Bray", "Cork", "Dingle"].index(row["town"]), [1, 2, None].index(row["grade"])] = row["count_all"]
    return counts


def test_a_crosstab_of_a_table_covers_the_truth(policy: Policy, truth: pa.Table, released: pa.Table) -> None:
    found = policy.estimate(released, ["town", "grade"], population=False, simultaneous=True, confidence=0.999)
    assert isinstance(found, CrossTab)
    shares = joint(truth) / N
    assert ((found.interval[..., 0] <= shares) & (shares <= found.interval[..., 1])).all()
    # The control: the sanitised shares are far from the true ones.
    answered = joint(released) / N
    assert not ((found.interval[..., 0] <= answered) & (answered <= found.interval[..., 1])).all()
    expected = crosstab(joint(released), [policy.mechanisms[name].channel for name in ("town", "grade")])
    assert found.frequency.tolist() == expected.frequency.tolist()
    assert found.names == ("town", "grade")
    assert found.values == (("Bray", "Cork", "Dingle"), (1, 2, None))
    alone = policy.mechanisms["grade"].estimate(released["grade"], population=False, simultaneous=True, confidence=0.999)
    assert found.margins["grade"].interval.tolist() == alone.interval.tolist()


def test_tables_of_every_kind_are_counted_once(policy: Policy, released: pa.Table, tmp_path: Path) -> None:
    expected = policy.estimate(released, ["grade", "town"]).frequency.tolist()
    pq.write_table(released, tmp_path / "released.parquet", row_group_size=70_000)

    def batches() -> Iterator[pa.RecordBatch]:
        yield from released.to_batches(max_chunksize=1000)

    for source in (
        released.combine_chunks().to_batches()[0],
        released.to_reader(),
        released.to_batches(),
        batches(),
        tmp_path / "released.parquet",
        str(tmp_path / "released.parquet"),
        released.select(["weight", "town", "grade"]),
    ):
        assert policy.estimate(source, ("grade", "town")).frequency.tolist() == expected


def test_one_name_gives_the_estimate_of_the_column(policy: Policy, released: pa.Table) -> None:
    for options in ({}, {"method": "mle"}, {"interval": "clopper_pearson", "confidence": 0.8}, {"population": False}):
        found = policy.estimate(released, "town", **options)
        alone = policy.mechanisms["town"].estimate(released["town"], **options)
        assert found.to_arrow() == alone.to_arrow()


def test_keys_and_weights_are_columns(policy: Policy, released: pa.Table) -> None:
    found = policy.estimate(released, ["town", "grade"], by="year", keys=[2022, 2020], weights="weight")
    assert isinstance(found, Grouped)
    assert found.names == ("year",)
    for year in (2022, 2020):
        rows = released.filter(pa.compute.equal(released["year"], year))
        alone = policy.estimate(rows, ["town", "grade"], weights="weight")
        np.testing.assert_allclose(found[year].frequency, alone.frequency, atol=1e-12)
        np.testing.assert_allclose(found[year].standard_error, alone.standard_error, rtol=1e-9)
    assert found.to_arrow().column_names[:4] == ["year", "town", "grade", "frequency"]
    single = policy.estimate(released, "town", by=("year",), keys=[2021])
    alone = policy.mechanisms["town"].estimate(released["town"], by=released["year"], keys=[2021])
    assert single[2021].frequency.tolist() == alone[2021].frequency.tolist()


@pytest.mark.parametrize(
    ("columns", "options", "error", "text"),
    [
        ("year", {}, PolicyError, "does not sanitise a column named 'year'"),
        (["town", "height"], {}, PolicyError, "'height'"),
        ([], {}, ArgumentTypeError, "columns"),
        (["town", "town"], {}, ArgumentTypeError, "distinct"),
        ([1], {}, ArgumentTypeError, "columns"),
        ("town", {"by": "grade", "keys": [1]}, PolicyError, "'grade' is sanitised"),
        ("town", {"by": "age", "keys": [1]}, PolicyError, "no column named 'age'"),
        ("town", {"by": "year"}, ArgumentTypeError, "keys="),
        ("town", {"keys": [2020]}, ArgumentTypeError, "by="),
        ("town", {"by": (), "keys": [2020]}, ArgumentTypeError, "by"),
        ("town", {"by": ["year"], "keys": [2020]}, ArgumentTypeError, "by"),
        ("town", {"weights": "grade"}, PolicyError, "'grade' is sanitised"),
        ("town", {"weights": [1.0]}, ArgumentTypeError, "weights"),
        (["town", "grade"], {"interval": "clopper_pearson"}, ArgumentError, "one column"),
        ("town", {"method": "guess"}, ArgumentError, "method"),
    ],
)
def test_wrong_requests_are_refused(
    policy: Policy, released: pa.Table, columns: Any, options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        policy.estimate(released, columns, **options)


def test_wrong_tables_are_refused_without_a_value(policy: Policy, released: pa.Table, tmp_path: Path) -> None:
    for source in (7, [released], released.to_pydict()):
        with pytest.raises(ArgumentTypeError, match="table must be"):
            policy.estimate(source, "town")
    with pytest.raises(FileError):
        policy.estimate(tmp_path / "none.parquet", "town")
    twice = pa.Table.from_arrays([released["town"], released["town"]], names=["town", "town"])
    with pytest.raises(PolicyError, match="more than one column named 'town'"):
        policy.estimate(twice, "town")
    with pytest.raises(OutsideDomainError, match="column 'town' holds values that this mechanism cannot") as caught:
        policy.estimate(pa.table({"town": ["canary"]}), "town")
    assert "canary" not in str(caught.value)


def test_a_table_of_too_many_cells_is_refused_before_a_value_is_read() -> None:
    wide = RandomisedResponse(Domain.range(4000), epsilon=5.0)
    policy = Policy({"a": wide, "b": wide})

    def batches() -> Iterator[pa.RecordBatch]:
        raise AssertionError("a value was read")
        yield

    with pytest.raises(ArgumentError, match="10,000,000 cells"):
        policy.estimate(batches(), ["a", "b"])


def test_large_tables_of_counts_are_counted_alike() -> None:
    # Above the size of a tile, cells are added one by one; the same counts as from a histogram.
    rng = np.random.default_rng(2)
    columns = [rng.integers(0, 400, 100_000), rng.integers(0, 300, 100_000)]
    weights = rng.integers(1, 5, 100_000).astype(float)
    for weighted in (False, True):
        counter = Counter([Domain.range(400), Domain.range(300)], weighted=weighted)
        counter.add(columns, weights=weights if weighted else None)
        [(counts, squares)] = counter.tables()
        expected = np.histogram2d(*columns, bins=(range(401), range(301)), weights=weights if weighted else None)[0]
        assert (counts == expected).all()
        assert (squares is not None) == weighted


# the command


@pytest.fixture
def file(truth: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    pq.write_table(truth.slice(0, 6000), "source.parquet")
    Path("policy.toml").write_text(POLICY)
    sanitise_file("source.parquet", "out.parquet", Policy.load("policy.toml"))
    return "out.parquet"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["estimate", "out.parquet", "--policy", "policy.toml", *words])
    return code, *capsys.readouterr()


def test_the_command_cross_tabulates(file: str, policy: Policy, capsys: pytest.CaptureFixture[str]) -> None:
    code, output, error = run(capsys, "--columns", "town,grade", "--these-rows", "--simultaneous")
    assert (code, error) == (0, "")
    lines = output.splitlines()
    assert lines[0].split() == ["town", "grade", "estimated", "error", "95", "%", "interval"]
    assert len(lines) == 10
    document = json.loads(run(capsys, "--columns", "town,grade", "--these-rows", "--json")[1])
    expected = policy.estimate(file, ["town", "grade"], population=False)
    assert [row["frequency"] for row in document["estimates"]] == expected.frequency.ravel().tolist()
    assert document["columns"] == ["town", "grade"]
    assert document["rows"] == 6000


def test_the_command_takes_keys_and_weights(file: str, policy: Policy, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--columns", "town", "--by", "year", "--keys", "2020", "2022", "--weights", "weight")
    code, output, error = run(capsys, *words)
    assert (code, error) == (0, "")
    assert [line for line in output.splitlines() if line.startswith("year")] == ["year 2020", "year 2022"]
    document = json.loads(run(capsys, *words, "--json")[1])
    expected = policy.estimate(file, "town", by="year", keys=[2020, 2022], weights="weight")
    assert document["estimates"] == expected.to_arrow().to_pylist()
    code, output, _ = run(capsys, "--method", "mle", "--interval", "clopper_pearson")
    assert (code, output.count("interval")) == (0, 2)


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("--by", "year", "--columns", "town"), 2, "--keys"),
        (("--keys", "2020", "--columns", "town"), 2, "--by"),
        (("--by", "year", "--keys", "2020"), 1, "--columns"),
        (("--by", "year", "--keys", "old", "--columns", "town"), 1, "holds integers"),
        (("--by", "age", "--keys", "1", "--columns", "town"), 1, "no column named 'age'"),
        (("--columns", "height"), 1, "'height'"),
    ],
)
def test_the_command_refuses(
    file: str, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], status: int, text: str
) -> None:
    code, output, error = run(capsys, *words)
    assert (code, output) == (status, "")
    assert text in error


def test_an_empty_table_warns(policy: Policy, released: pa.Table) -> None:
    with pytest.warns(EstimateWarning) as caught:
        found = policy.estimate(released.slice(0, 0), ["town", "grade"])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert np.isnan(found.frequency).all()
