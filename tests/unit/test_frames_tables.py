"""Tables of pandas and polars under a policy: the answers of Arrow tables, in a table of the same kind."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpfast import Domain, Policy, RandomisedResponse, Stratified, Stream
from dpfast.errors import ArgumentTypeError, IdError, OutsideDomainError, PolicyError

N = 24
DATA: dict[str, list[Any]] = {
    "day": [i % 7 for i in range(N)],
    "from": ["p", "q", "p"] * 8,
    "name": [f"canary {i}" for i in range(N)],
    "carrier": ["x", None, "y", "x"] * 6,
    "to": [1, 2, 2, 1] * 6,
    "late": [True, False, False] * 8,
    "id": [100 - i for i in range(N)],
}
INDEX = pd.MultiIndex.from_product([["u", "v"], range(12)], names=["half", None])


def response(values: list[Any], epsilon: float = 1.0, **rule: Any) -> RandomisedResponse:
    return RandomisedResponse(Domain(values, **rule), epsilon=epsilon)


@pytest.fixture
def policy() -> Policy:
    joint = RandomisedResponse(Domain.product([1, 2], ["p", "q"]), epsilon=1.0)
    late = Stratified("day", {0: response([False, True], 0.1)}, default=response([False, True], 5.0))
    rules = {"carrier": response(["y", None, "x"]), "late": late, "day": "public", "name": "drop", "id": "public"}
    return Policy(rules, joint={("to", "from"): joint})


def frames(rows: slice = slice(None)) -> dict[str, Any]:
    frame = pd.DataFrame(DATA, index=INDEX)
    types = {"carrier": "category", "from": pd.CategoricalDtype(["unused", "q", "p"]), "to": "Int8"}
    table = pl.DataFrame(DATA)
    enums = table.with_columns(pl.col("from").cast(pl.Enum(["unused", "q", "p"])), pl.col("carrier").cast(pl.Categorical))[rows]
    return {
        "pandas": frame.iloc[rows],
        "pandas categories": frame.astype(types).iloc[rows],
        "pandas objects": frame.astype(object).astype({"day": "int64"}).iloc[rows],
        "polars": table[rows],
        "polars chunks": pl.concat([table.slice(0, 5), table.slice(5)], rechunk=False)[rows],
        "polars enums": enums,
        "polars lazy": enums.lazy(),
    }


def as_dict(table: Any) -> dict[str, list[Any]]:
    if isinstance(table, pd.DataFrame):
        columns = {name: table[name] for name in table.columns}
        return {name: [None if pd.isna(v) else v for v in column.tolist()] for name, column in columns.items()}
    return dict(table.to_pydict() if isinstance(table, pa.Table) else table.to_dict(as_series=False))


def stream(key: bytes) -> Stream:
    return Stream(key=key, context="tables")


@pytest.mark.parametrize("kind", list(frames()))
@pytest.mark.parametrize("rows", [slice(None), slice(3, 20), slice(0, 0), slice(1, 2)], ids=str)
@pytest.mark.parametrize("ids", [None, "id", ("id", "name")], ids=str)
def test_the_answers_are_those_of_arrow(policy: Policy, kind: str, rows: slice, ids: Any, key: bytes) -> None:
    table = frames(rows)[kind]
    schema = pa.table(DATA).schema
    expected = policy.sanitise(pa.table({name: values[rows] for name, values in DATA.items()}, schema), rng=stream(key), ids=ids)
    answers = policy.sanitise(table, rng=stream(key), ids=ids, threads=1)
    assert as_dict(answers) == expected.to_pydict()
    assert list(as_dict(answers)) == ["day", "from", "carrier", "to", "late", "id"]
    if isinstance(table, pd.DataFrame):
        assert type(answers) is pd.DataFrame
        assert answers.index.equals(table.index)
        assert answers.index.names == table.index.names
    else:
        assert type(answers) is pl.DataFrame
    assert "unused" not in repr([getattr(dtype, "categories", None) for dtype in answers.dtypes])


def test_types_of_the_answers(policy: Policy) -> None:
    tables = frames()
    answers = policy.sanitise(tables["pandas categories"])
    assert answers.dtypes.to_dict() == {
        "day": np.dtype("int64"),
        "from": pd.CategoricalDtype(["p", "q"]),
        "carrier": pd.CategoricalDtype(["y", "x"]),
        "to": pd.Int8Dtype(),
        "late": np.dtype(bool),
        "id": np.dtype("int64"),
    }
    enums = policy.sanitise(tables["polars lazy"]).schema
    assert enums["from"] == pl.Enum(["p", "q"])
    assert enums["carrier"] == pl.Enum(["y", "x"])
    assert enums["to"] == pl.Int64


def test_what_passes_is_the_memory_of_the_table_and_the_rest_is_not(policy: Policy) -> None:
    frame = frames()["pandas"]
    before = frame.copy(deep=True)
    answers = policy.sanitise(frame)
    for name in ("day", "id"):
        assert np.shares_memory(answers[name].to_numpy(), frame[name].to_numpy())
    assert not np.shares_memory(answers["late"].to_numpy(), frame["late"].to_numpy())
    pd.testing.assert_frame_equal(frame, before)
    # pandas 3 copies what is written to: the input stays as it was
    if int(pd.__version__.split(".")[0]) >= 3:
        answers.loc[:, "day"] = 99
    pd.testing.assert_frame_equal(frame, before)


def test_attributes_do_not_travel(policy: Policy) -> None:
    frame = frames()["pandas"]
    frame.attrs["note"] = frame["carrier"].attrs["note"] = "canary"
    frame.columns.name = "what"
    answers = policy.sanitise(frame)
    assert answers.attrs == {}
    assert all(answers[name].attrs == {} for name in answers.columns)
    assert answers.columns.name == "what"


@pytest.mark.parametrize(
    "index", [[5] * N, pd.date_range("2020", periods=N), range(N, 0, -1), list("ab") * 12], ids=lambda i: type(i).__name__
)
def test_any_index_is_kept(policy: Policy, index: Any, key: bytes) -> None:
    frame = frames()["pandas"].set_index(pd.Index(index, name="when"))
    answers = policy.sanitise(frame, rng=stream(key))
    assert answers.index.equals(frame.index)
    assert as_dict(answers) == policy.sanitise(pa.table(DATA), rng=stream(key)).to_pydict()


@pytest.mark.parametrize("name", ["carrier", "from", "name"])
def test_an_index_that_would_pass_what_the_policy_keeps_back_is_refused(policy: Policy, name: str) -> None:
    frame = frames()["pandas"]
    for index in ([name], [name, "id"]):
        with pytest.raises(PolicyError, match=f"index has a level named '{name}'.*reset_index"):
            policy.sanitise(frame.set_index(index, drop=False))
    policy.sanitise(frame.set_index(["id", "day"], drop=False))


def test_tables_that_do_not_fit_are_refused_before_a_word_is_drawn(policy: Policy, key: bytes) -> None:
    frame = frames()["pandas"]
    cases: list[tuple[Any, type[Exception], str]] = [
        (frame.drop(columns="day"), PolicyError, "no column named 'day'"),
        (frame.assign(more=1), PolicyError, "does not list 'more'"),
        (frame[[*frame.columns, "id"]], PolicyError, "more than one column named 'id'"),
        (pd.concat([frame], axis=1, keys=["top"]), PolicyError, "several levels"),
        (frame.astype({"late": "int64"}), ArgumentTypeError, "column 'late' has dtype int64"),
        (frame.astype({"day": "float64"}), ArgumentTypeError, "column 'day' has dtype float64"),
        (frame.astype({"to": "float64"}), ArgumentTypeError, r"column 'to' has dtype float64.*Int64"),
        (frame["day"], ArgumentTypeError, "a pandas DataFrame, a polars DataFrame or LazyFrame"),
        (pl.DataFrame(DATA).drop("day"), PolicyError, "no column named 'day'"),
        (pl.DataFrame(DATA).lazy().with_columns(more=1), PolicyError, "does not list 'more'"),
        (pl.DataFrame(DATA).with_columns(pl.col("carrier").is_null()), ArgumentTypeError, "column 'carrier' has type bool"),
        (pl.DataFrame(DATA)["day"], ArgumentTypeError, "a pandas DataFrame, a polars DataFrame or LazyFrame"),
    ]
    for table, error, text in cases:
        rng = stream(key)
        with pytest.raises(error, match=text):
            policy.sanitise(table, rng=rng)
        assert policy.sanitise(pa.table(DATA), rng=rng).equals(policy.sanitise(pa.table(DATA), rng=stream(key)))
    with pytest.raises(ArgumentTypeError, match="DuckDB relation"):
        policy.sanitise(frame, connection=object())
    with pytest.raises(ArgumentTypeError, match="rng must be None or"):
        policy.sanitise(frame, rng=np.random.default_rng(1))


def test_a_query_is_planned_before_it_runs_and_runs_once(policy: Policy, key: bytes) -> None:
    runs = []

    def seen(frame: pl.DataFrame) -> pl.DataFrame:
        runs.append(frame.columns)
        return frame

    query = pl.DataFrame(DATA).lazy().map_batches(seen, projection_pushdown=False)
    with pytest.raises(PolicyError, match="no column named"):
        Policy({"other": response(["a"])}, unlisted="drop").sanitise(query)
    assert runs == []
    assert as_dict(policy.sanitise(query, rng=stream(key))) == policy.sanitise(pa.table(DATA), rng=stream(key)).to_pydict()
    assert len(runs) == 1


def test_names_that_are_no_text_may_pass_or_be_dropped() -> None:
    frame = pd.DataFrame({0: [1, 2], "a": ["x", "y"], None: [3, 4]})
    for unlisted, names in (("public", [0, "a", None]), ("drop", ["a"])):
        answers = Policy({"a": response(["x", "y"])}, unlisted=unlisted).sanitise(frame)
        assert [None if isinstance(name, float) else name for name in answers.columns] == names
    with pytest.raises(PolicyError, match="does not list 0"):
        Policy({"a": response(["x", "y"])}).sanitise(frame)
    with pytest.raises(PolicyError, match="drops every column"):
        Policy({"a": "drop"}, unlisted="drop").sanitise(frame)


@pytest.mark.parametrize("kind", list(frames()))
def test_ids_of_tables(policy: Policy, kind: str, key: bytes) -> None:
    table = frames()[kind]
    permanent = as_dict(policy.sanitise(table, rng=stream(key), ids=pd.Series(DATA["id"], index=range(N, 0, -1))))
    assert permanent == as_dict(policy.sanitise(table, rng=stream(key), ids="id"))
    with pytest.raises(IdError, match="repeated"):
        policy.sanitise(table, rng=stream(key), ids="day")
    with pytest.raises(PolicyError, match="'carrier' is sanitised"):
        policy.sanitise(table, rng=stream(key), ids="carrier")


@pytest.mark.parametrize("kind", list(frames()))
def test_check_and_estimate_read_every_table(policy: Policy, kind: str) -> None:
    table = frames()[kind]
    assert policy.check(table).ok
    strict = Policy({"carrier": response(["y", "z"]), "to": response([1, 3], other=3)}, unlisted="drop")
    found = strict.check(table)
    assert not found.ok
    assert found.findings == (("carrier", "x", 0, 12), ("carrier", None, 1, 6), ("to", 2, 1, 12))
    with pytest.raises(OutsideDomainError, match="column 'carrier'"):
        strict.sanitise(table)
    loud = Policy({"carrier": response(["y", None, "x"], 44.0), "to": response([1, 2], 44.0)}, unlisted="public")
    answers = loud.sanitise(table)
    assert loud.estimate(answers, "carrier").count == pytest.approx([6, 6, 12])
    assert loud.estimate(answers, ["carrier", "to"]).count == pytest.approx(np.array([[0, 6], [0, 6], [12, 0]]), abs=1e-6)
    groups = loud.estimate(answers, "to", by="late", keys=[True, False], weights="day")
    arrow = loud.estimate(loud.sanitise(pa.table(DATA)), "to", by="late", keys=[True, False], weights="day")
    assert groups[True].count == pytest.approx(arrow[True].count)
    with pytest.raises(PolicyError, match="no column named 'to'"):
        loud.estimate(answers.drop(columns="to") if isinstance(answers, pd.DataFrame) else answers.drop("to"), "to")


def test_no_frame_library_is_imported_for_those_who_bring_none() -> None:
    code = """
import sys, numpy as np, pyarrow as pa, dpfast
mechanism = dpfast.RandomisedResponse(["a", "b"], epsilon=1.0)
mechanism.estimate(mechanism.sanitise(np.array(["a", "b"])))
policy = dpfast.Policy({"c": mechanism})
policy.check(policy.sanitise(pa.table({"c": ["a", "b"]})))
try:
    mechanism.sanitise([1])
except TypeError:
    print(*sys.modules)
"""
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "dpfast._frames" in loaded
    # pyarrow imports pandas on its own, where both are there
    assert {
        "polars",
        "duckdb",
        "dpfast.columns.frames_pandas",
        "dpfast.columns.frames_polars",
        "dpfast._frames_duckdb",
    }.isdisjoint(loaded)
