"""Policies in Python: rules, totals, plans, and tables sanitised by them."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import (
    ArgumentError,
    ArgumentTypeError,
    Domain,
    FileError,
    IdError,
    OutsideDomainError,
    Policy,
    PolicyError,
    RandomisedResponse,
    Stream,
)
from dpfast.composition import compose

SEX = ["f", "m"]
TOWNS = ["Bray", "Cork", "Dingle"]


def response(values: Any = SEX, epsilon: float = 1.0, **rules: Any) -> RandomisedResponse:
    delta = rules.pop("delta", 0.0)
    return RandomisedResponse(Domain(values, **rules), epsilon=epsilon, delta=delta)


@pytest.fixture
def policy() -> Policy:
    return Policy({"sex": response(), "town": response(TOWNS, 2.0), "id": "drop", "year": "public"})


@pytest.fixture
def table() -> pa.Table:
    n = 40
    return pa.table(
        {
            "id": pa.array(range(n)),
            "sex": pa.array(SEX * (n // 2)),
            "year": pa.array([2000 + i for i in range(n)]),
            "town": pa.array([TOWNS[i % 3] for i in range(n)]).dictionary_encode(),
        }
    )


# rules


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({}, "names no column"),
        ([("sex", "drop")], "mapping"),
        ({1: "drop"}, "must be a string"),
        ({("a", "b"): "drop"}, "declared in joint="),
        ({"sex": "hide"}, "column 'sex'"),
        ({"sex": None}, "column 'sex'"),
        ({"sex": SEX}, "column 'sex'"),
    ],
)
def test_wrong_rules_are_refused(columns: Any, text: str) -> None:
    with pytest.raises(PolicyError, match=text):
        Policy(columns)


def test_wrong_unlisted_is_refused() -> None:
    with pytest.raises(PolicyError, match="'error', 'public', 'drop'"):
        Policy({"sex": "drop"}, unlisted="keep")


def test_columns_are_read_only_and_copied() -> None:
    rules: dict[str, Any] = {"sex": "drop"}
    policy = Policy(rules)
    rules["town"] = "public"
    assert list(policy.columns) == ["sex"]
    with pytest.raises(TypeError):
        policy.columns["sex"] = "public"  # type: ignore[index]


def test_digest_depends_on_every_rule_and_on_no_order() -> None:
    base = {"sex": response(), "town": response(TOWNS), "id": "drop"}
    same = Policy({"id": "drop", "town": response(TOWNS), "sex": response()})
    others = [
        Policy(base, unlisted="drop"),
        Policy({**base, "id": "public"}),
        Policy({**base, "sex": response(epsilon=1.5)}),
        Policy({**base, "sex": response(["m", "f"])}),
        Policy({**base, "sex": response(unknown="randomise")}),
        Policy({**base, "sex": response(other="f")}),
        Policy({**base, "sex": response(other="m")}),
        Policy({"sex": base["sex"], "town": base["town"]}),
        Policy({**base, "x": "drop"}),
    ]
    assert Policy(base).digest == same.digest
    assert len(Policy(base).digest) == 32
    assert len({p.digest for p in [Policy(base), *others]}) == 1 + len(others)


def test_a_policy_is_pickled_whole(policy: Policy) -> None:
    again = pickle.loads(pickle.dumps(policy))
    assert again.digest == policy.digest
    assert list(again.columns) == list(policy.columns)


def test_repr_shows_rules() -> None:
    shown = repr(Policy({"sex": response(epsilon=1.5, delta=0.25), "id": "drop"}))
    assert shown == "Policy({'sex': RandomisedResponse of 2 values, epsilon=1.5, delta=0.25, 'id': 'drop'}, unlisted='error')"


# totals


def test_epsilons_add_up_rounded_up() -> None:
    mechanisms = [response(epsilon=0.1), response(TOWNS, 0.2), response(range(7), 0.3)]
    policy = Policy({str(i): mechanism for i, mechanism in enumerate(mechanisms)})
    exact = sum(Fraction(mechanism.epsilon_at()) for mechanism in mechanisms)
    stated = policy.privacy().epsilon
    assert Fraction(stated) >= exact > Fraction(math.nextafter(stated, 0))
    assert Fraction(policy.privacy(rows_per_person=3).epsilon) >= 3 * Fraction(stated)
    assert policy.privacy(rows_per_person=3).epsilon == pytest.approx(3 * stated)
    assert policy.privacy(rows_per_person=3).rows_per_person == 3
    assert policy.privacy().neighbours == "replace_one"


def test_the_total_at_a_delta_is_the_exact_composition() -> None:
    policy = Policy({"a": response(epsilon=1.0, delta=0.125), "b": response(TOWNS, 1.0, delta=0.25)})
    parts = list(policy.mechanisms.values())
    for delta, rows in ((0.375, 1), (0.374, 1), (0.01, 1), (0.75, 2)):
        total = policy.privacy(delta, rows_per_person=rows)
        assert total.delta == delta
        assert total.epsilon == compose(parts * rows, delta=delta).epsilon
        assert total.epsilon < rows * sum(part.epsilon_at(0.0) for part in parts)
    assert policy.privacy(0.375).epsilon < 2.0
    pure = policy.privacy()
    assert (pure.delta, pure.epsilon) == (0.0, pytest.approx(sum(part.epsilon_at(0.0) for part in parts)))
    assert policy.privacy(rows_per_person=2).epsilon == pytest.approx(2 * pure.epsilon)


@pytest.mark.parametrize(("arguments", "error"), [({"delta": 1.0}, ArgumentError), ({"rows_per_person": 0}, ArgumentError)])
def test_wrong_totals_are_refused(policy: Policy, arguments: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        policy.privacy(**arguments)


def test_a_policy_without_mechanisms_costs_nothing() -> None:
    assert Policy({"id": "drop"}).privacy().epsilon == 0.0


def test_certificate_is_json_and_holds_what_is_public(policy: Policy) -> None:
    certificate = policy.certificate(rows_per_person=2)
    assert json.loads(json.dumps(certificate)) == certificate
    assert certificate["public"] == ["year"]
    assert set(certificate["columns"]) == {"sex", "town"}
    assert certificate["policy"] == policy.digest.hex()
    assert float.fromhex(certificate["epsilon"]) == policy.privacy(rows_per_person=2).epsilon
    assert (certificate["neighbours"], certificate["unit"], certificate["rows_per_person"]) == ("replace_one", "row", 2)


def test_certificate_states_the_deltas_asked_for_unless_they_say_nothing() -> None:
    some = Policy({"a": response(delta=0.25), "b": response(delta=0.25)}).certificate()
    assert float.fromhex(some["delta"]) == 0.5
    all_of_it = Policy({"a": response(delta=0.5), "b": response(delta=0.5)}).certificate()
    assert float.fromhex(all_of_it["delta"]) == 0.0
    assert float.fromhex(all_of_it["epsilon"]) > 2.0


def test_describe_gives_the_figures_of_the_mechanism(policy: Policy) -> None:
    sex, town = policy.describe(10_000)
    assert (sex.column, sex.size, town.column, town.size) == ("sex", 2, "town", 3)
    keep = math.exp(2.0) / (math.exp(2.0) + 2)
    assert (town.keep_probability, town.changed_share) == (pytest.approx(keep), pytest.approx(1 - keep))
    assert town.epsilon_realised <= town.epsilon == 2.0
    # What the estimator itself reports for a value that no row has, whose sanitised count is then n p.
    p = (1 - keep) / 2
    counts = np.rint(10_000 * np.array([p, p, 1 - 2 * p])).astype(np.int64)
    reported = policy.mechanisms["town"].estimate_counts(counts).standard_error
    assert town.standard_error == pytest.approx(reported[0], rel=0.02)
    assert town.standard_error <= reported.max()
    assert math.isnan(policy.describe()[0].standard_error)


def test_describe_of_columns_that_say_nothing_or_everything() -> None:
    policy = Policy({"none": response(epsilon=0.0), "one": response(["only"], 1.0)})
    nothing, everything = policy.describe(100)
    assert nothing.standard_error == math.inf
    assert everything.standard_error == 0.0
    with pytest.raises(ArgumentError, match="rows"):
        policy.describe(0)


# plans


def test_plan_keeps_order_names_and_types(policy: Policy, table: pa.Table) -> None:
    planned = policy.plan_schema(table.schema)
    assert planned.names == ["sex", "year", "town"]
    assert planned.field("town").type == pa.dictionary(pa.int8(), pa.string())
    assert planned.field("sex").type == pa.string()


def broken_text(kind: str) -> pa.Array:
    """Texts a, two bytes that are no text, b, and those bytes again."""
    data = b"a\xff\xfeb\xff\xfe"
    offsets = np.array([0, 1, 3, 4, 6], np.int32)
    text = pa.Array.from_buffers(pa.string(), 4, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    if kind == "large":
        return text.view(pa.binary()).cast(pa.large_binary()).view(pa.large_string())
    if kind == "view":
        return text.view(pa.binary()).cast(pa.binary_view()).view(pa.string_view())
    return text.dictionary_encode() if kind == "dictionary" else text


@pytest.mark.parametrize("kind", ["plain", "large", "view", "dictionary"])
def test_check_shows_text_that_is_none_as_bytes(kind: str) -> None:
    check = Policy({"sex": response(["a"])}).check(pa.table({"sex": broken_text(kind)}))
    assert check.findings == (("sex", b"\xff\xfe", 1, 2), ("sex", "b", 2, 1))
    assert not check.ok


def test_check_reads_columns_of_views() -> None:
    check = Policy({"sex": response(["a"])}).check(pa.table({"sex": pa.array(["b", None, "a", "b"], pa.string_view())}))
    assert check.findings == (("sex", "b", 0, 2), ("sex", None, 1, 1))


def test_figures_for_more_rows_than_doubles_reach_are_refused() -> None:
    with pytest.raises(ArgumentError, match="rows is larger"):
        Policy({"sex": response(["a", "b"])}).describe(10**400)
    with pytest.raises(ArgumentError, match="n_rows is larger"):
        response(["a", "b"]).expected_changes(10**400)
    assert response(["a", "b"]).expected_changes(10**300) > 1e299


def test_plan_drops_metadata_at_every_depth() -> None:
    mark = {"canary": "secret"}
    nested = pa.list_(pa.field("item", pa.struct([pa.field("x", pa.int8(), metadata=mark)]), metadata=mark))
    fields = [pa.field("sex", pa.string(), metadata=mark), pa.field("nested", nested, metadata=mark)]
    planned = Policy({"sex": response(), "nested": "public"}).plan_schema(pa.schema(fields, metadata=mark))
    assert planned == pa.schema(fields)
    assert b"secret" not in planned.serialize().to_pybytes()


def schema(**types: pa.DataType) -> pa.Schema:
    return pa.schema(list(types.items()))


@pytest.mark.parametrize(
    ("rules", "unlisted", "fields", "error", "text"),
    [
        ({"sex": "drop"}, "error", schema(town=pa.string()), PolicyError, "no column named 'sex'"),
        ({"sex": "public"}, "error", schema(sex=pa.string(), x=pa.int8()), PolicyError, "does not list 'x'"),
        ({"sex": "drop"}, "drop", schema(sex=pa.string(), x=pa.int8()), PolicyError, "drops every column"),
        ({"sex": response()}, "error", schema(sex=pa.float64()), ArgumentTypeError, "column 'sex'"),
        ({"sex": response()}, "error", schema(sex=pa.list_(pa.string())), ArgumentTypeError, "column 'sex'"),
        ({"sex": response(range(300))}, "error", schema(sex=pa.uint8()), ArgumentTypeError, "column 'sex'"),
        (
            {"sex": response([*SEX, None])},
            "error",
            pa.schema([pa.field("sex", pa.string(), nullable=False)]),
            PolicyError,
            "declared non-null",
        ),
        ({"sex": "public"}, "error", pa.schema([("sex", pa.int8()), ("sex", pa.int8())]), PolicyError, "more than one"),
    ],
)
def test_plan_says_what_does_not_fit(rules: Any, unlisted: str, fields: pa.Schema, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        Policy(rules, unlisted=unlisted).plan_schema(fields)


# tables


def test_table_is_sanitised_column_by_column(policy: Policy, table: pa.Table, key: bytes) -> None:
    out = policy.sanitise(table, rng=Stream(key=key, context="c"))
    assert out.schema == policy.plan_schema(table.schema)
    assert out.num_rows == table.num_rows
    assert out["year"].chunk(0).buffers()[1].address == table["year"].chunk(0).buffers()[1].address
    for name, mechanism in policy.mechanisms.items():
        alone = mechanism.sanitise(table[name], rng=Stream(key=key, context="c"), column_name=name)
        assert out[name].to_pylist() == alone.to_pylist()
    assert out["town"].chunk(0).dictionary.to_pylist() == TOWNS


def test_unlisted_columns_follow_their_rule(table: pa.Table) -> None:
    assert Policy({"sex": response()}, unlisted="drop").sanitise(table).column_names == ["sex"]
    out = Policy({"sex": response()}, unlisted="public").sanitise(table)
    assert out.drop_columns("sex").equals(table.drop_columns("sex"))


def test_record_batch_gives_a_record_batch(policy: Policy, table: pa.Table) -> None:
    out = policy.sanitise(table.to_batches()[0], rng=Stream.insecure(3))
    assert isinstance(out, pa.RecordBatch)
    assert out.to_pydict() == policy.sanitise(table, rng=Stream.insecure(3)).to_pydict()


def test_pieces_under_one_stream_are_the_whole(policy: Policy, table: pa.Table) -> None:
    stream = Stream.insecure(3)
    pieces = [policy.sanitise(table.slice(start, 13), rng=stream) for start in range(0, 40, 13)]
    assert pa.concat_tables(pieces).to_pydict() == policy.sanitise(table, rng=Stream.insecure(3)).to_pydict()


def test_fresh_noise_differs_from_call_to_call() -> None:
    table = pa.table({"x": np.zeros(256, np.uint8)})
    policy = Policy({"x": response(range(16))})
    assert policy.sanitise(table).to_pydict() != policy.sanitise(table).to_pydict()


def test_ids_by_name_make_noise_follow_the_row(policy: Policy, table: pa.Table, key: bytes) -> None:
    out = policy.sanitise(table, rng=Stream(key=key, context="c"), ids="id")
    order = np.random.default_rng(1).permutation(table.num_rows)
    moved = policy.sanitise(table.take(order), rng=Stream(key=key, context="c"), ids="id")
    assert moved.to_pydict() == out.take(order).to_pydict()
    given = policy.sanitise(table, rng=Stream(key=key, context="c"), ids=table["id"])
    assert given.to_pydict() == out.to_pydict()
    pair = policy.sanitise(table, rng=Stream(key=key, context="c"), ids=("id", "year"))
    assert pair.to_pydict() != out.to_pydict()


def test_wrong_ids_are_refused(policy: Policy, table: pa.Table, key: bytes) -> None:
    stream = Stream(key=key, context="c")
    with pytest.raises(PolicyError, match="no column named 'no'"):
        policy.sanitise(table, rng=stream, ids="no")
    with pytest.raises(PolicyError, match="'sex' is sanitised"):
        policy.sanitise(table, rng=stream, ids=("id", "sex"))
    with pytest.raises(ArgumentTypeError, match="tuple of names"):
        policy.sanitise(table, rng=stream, ids=())
    with pytest.raises(IdError, match="repeated"):
        policy.sanitise(table, rng=stream, ids=pa.array([1] * table.num_rows))
    with pytest.raises(TypeError, match="keyed"):
        policy.sanitise(table, ids="id")


def test_other_containers_are_refused(policy: Policy, table: pa.Table) -> None:
    for other in ([table], table.to_pydict(), "table.parquet", None, table.column("sex")):
        with pytest.raises(ArgumentTypeError, match="a pandas DataFrame, a polars DataFrame or LazyFrame, a DuckDB relation, or"):
            policy.sanitise(other)


def test_a_value_outside_is_an_error_that_does_not_show_it() -> None:
    policy = Policy({"sex": response()})
    with pytest.raises(OutsideDomainError, match="column 'sex'") as caught:
        policy.sanitise(pa.table({"sex": ["f", "canary", "m"]}))
    assert "canary" not in str(caught.value)
    assert "1" not in str(caught.value)


# checks


@pytest.fixture
def bad() -> pa.Table:
    column = pa.chunked_array([["f", "x", None], ["m", "x", "y"]])
    return pa.table({"sex": column, "town": ["Cork"] * 5 + ["Bonn"]})


FOUND = {("sex", "x", 1, 2), ("sex", None, 2, 1), ("sex", "y", 5, 1), ("town", "Bonn", 5, 1)}


def test_check_lists_what_is_outside(bad: pa.Table, tmp_path: Path) -> None:
    policy = Policy({"sex": response(), "town": response(TOWNS)})
    pq.write_table(bad, tmp_path / "t.parquet", row_group_size=2)
    for source in (bad, tmp_path / "t.parquet", str(tmp_path / "t.parquet"), bad.combine_chunks().to_batches()[0]):
        check = policy.check(source)
        assert not check.ok
        assert set(check.findings) == FOUND
        assert repr(check) == "Check(ok=False)"


def test_check_is_well_if_rules_take_care(bad: pa.Table) -> None:
    policy = Policy({"sex": response(unknown="randomise"), "town": response(TOWNS, other="Cork")})
    check = policy.check(bad)
    assert check.ok
    assert set(check.findings) == FOUND
    assert policy.sanitise(bad).num_rows == 6
    assert policy.check(bad.slice(0, 1)).findings == ()


def test_check_plans_first(bad: pa.Table, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="does not list 'town'"):
        Policy({"sex": response()}).check(bad)
    with pytest.raises(FileError, match="No such file"):
        Policy({"sex": response()}).check(tmp_path / "none.parquet")
    with pytest.raises(ArgumentTypeError, match="source"):
        Policy({"sex": response()}).check(3)  # type: ignore[arg-type]
