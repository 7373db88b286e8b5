"""Policies with joint groups, strata and bins: totals, plans, tables, checks."""

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
    ArgumentTypeError,
    Domain,
    OutsideDomainError,
    Policy,
    PolicyError,
    RandomisedResponse,
    Stratified,
    Stream,
)
from dpfast.sanitise import sanitise_column

SEX = ["f", "m"]
TOWNS = ["Bray", "Cork", None]
AGES = Domain.bins([0, 18, 65, 120])
LEVELS = [1, 2, 3]
N = 240


def response(values: Any, epsilon: float = 1.0, delta: float = 0.0) -> RandomisedResponse:
    return RandomisedResponse(values, epsilon=epsilon, delta=delta)


def product(epsilon: float = 2.0, **rules: Any) -> RandomisedResponse:
    return response(Domain.product(SEX, TOWNS, **rules), epsilon)


STRATA = Stratified("year", {2001: response(LEVELS, 0.5), 2002: response(LEVELS, 3.0)}, default=response(LEVELS, 1.5))


@pytest.fixture
def policy() -> Policy:
    columns = {"age": response(AGES), "level": STRATA, "year": "public", "id": "drop"}
    return Policy(columns, joint={("sex", "town"): product()})


@pytest.fixture
def table() -> pa.Table:
    rows = range(N)
    return pa.table(
        {
            "town": pa.chunked_array([[TOWNS[i % 3] for i in rows[:100]], [TOWNS[i % 3] for i in rows[100:]]]),
            "id": pa.array(rows),
            "year": pa.array([2000 + i * i % 7 % 4 for i in rows], pa.int16()),
            "age": pa.array([float(i % 121) for i in rows]),
            "sex": pa.array([SEX[i % 5 % 2] for i in rows]).dictionary_encode(),
            "level": pa.array([LEVELS[i % 3] for i in rows], pa.int8()),
        }
    )


# rules


@pytest.mark.parametrize(
    ("columns", "joint", "text"),
    [
        ({}, [("a", "b")], "joint must be a mapping"),
        ({}, {}, "names no column"),
        ({"a": product()}, {}, "declare the columns in joint="),
        ({}, {"ab": product()}, "tuple of its columns"),
        ({}, {("a",): product()}, "tuple of its columns"),
        ({}, {("a", 1): product()}, "tuple of its columns"),
        ({}, {("a", "a"): product()}, "listed twice"),
        ({}, {("a", "b"): "public"}, "must be a mechanism"),
        ({}, {("a", "b"): response(SEX)}, "needs a joint alphabet"),
        ({}, {("a", "b", "c"): product()}, "3 columns, but the domain is a product of 2"),
        ({"a": "public"}, {("a", "b"): product()}, "'a' is listed twice"),
        ({}, {("a", "b"): product(), ("c", "b"): product()}, "'b' is listed twice"),
        ({"level": STRATA}, {}, "stratified by 'year', which is not public"),
        ({"level": STRATA, "year": "drop"}, {}, "which is not public"),
        ({"level": STRATA, "year": response(LEVELS)}, {}, "which is not public"),
        ({"level": STRATA}, {("year", "x"): product()}, "which is not public"),
    ],
)
def test_wrong_groups_are_refused(columns: Any, joint: Any, text: str) -> None:
    with pytest.raises(PolicyError, match=text):
        Policy(columns, joint=joint)


def test_an_unlisted_public_column_may_stratify(table: pa.Table) -> None:
    policy = Policy({"level": STRATA}, unlisted="public")
    assert policy.sanitise(table, rng=Stream.insecure(1)).num_columns == 6
    with pytest.raises(PolicyError, match="no column named 'year'"):
        policy.plan_schema(table.drop_columns("year").schema)


def test_a_boolean_column_needs_both_of_its_strata() -> None:
    fields = pa.schema([("level", pa.int8()), ("new", pa.bool_())])
    half, other = {True: response(LEVELS, 1.0)}, {False: response(LEVELS, 2.0)}
    with pytest.raises(PolicyError, match="'new' may be true or false"):
        Policy({"level": Stratified("new", half), "new": "public"}).plan_schema(fields)
    for rule in (Stratified("new", half | other), Stratified("new", half, default=response(LEVELS, 2.0))):
        assert Policy({"level": rule, "new": "public"}).plan_schema(fields).names == ["level", "new"]


def test_groups_names_and_repr(policy: Policy) -> None:
    assert [group.column for group in policy.groups] == ["age", "level", ("sex", "town")]
    assert policy.sanitised == {"age", "level", "sex", "town"}
    assert set(policy.mechanisms) == {"age"}
    assert [policy.rule(name) for name in ("level", "town", "year", "id")] == [STRATA, policy.groups[2].rule, "public", "drop"]
    assert (policy.rule("x"), Policy({"x": "drop"}, unlisted="public").rule("y")) == ("error", "public")
    shown = repr(policy)
    assert "'level': 3 strata by 'year'" in shown
    assert "joint={('sex', 'town'): RandomisedResponse of 6 values, epsilon=2.0}" in shown
    with pytest.raises(TypeError):
        policy.joint["a", "b"] = product()  # type: ignore[index]


def test_digest_sees_groups_strata_and_rows_a_person(policy: Policy) -> None:
    columns: dict[str, Any] = dict(policy.columns)
    joint: dict[Any, Any] = dict(policy.joint)
    others = [
        Policy(columns),
        Policy(columns, joint={("town", "sex"): response(Domain.product(TOWNS, SEX), 2.0)}),
        Policy(columns, joint={("sex", "town"): product(1.0)}),
        Policy(columns, joint={("sex", "town"): product(unknown="randomise")}),
        Policy(columns, joint={("sex", "place"): product()}),
        Policy({**columns, "level": response(LEVELS)}, joint=joint),
        Policy(columns, joint=joint, rows_per_person=2),
        Policy(columns, joint={**joint, ("p", "q"): product()}),
    ]
    assert len({policy.digest, *(other.digest for other in others)}) == 1 + len(others)
    two = {("sex", "town"): product(), ("p", "q"): product(1.0)}
    assert Policy(columns, joint=two).digest == Policy(columns, joint=dict(reversed(two.items()))).digest
    again = pickle.loads(pickle.dumps(Policy(columns, joint=joint, rows_per_person=2)))
    assert again.digest == others[6].digest


# totals


def test_a_joint_group_counts_once_and_strata_as_the_worst(policy: Policy) -> None:
    parts = [response(AGES).epsilon_at(), STRATA.epsilon_at(), product().epsilon_at()]
    assert parts == [1.0, 3.0, 2.0]
    assert policy.privacy().epsilon == 6.0
    assert policy.privacy(rows_per_person=2).epsilon == 12.0
    assert policy.attribute_privacy().epsilon == 3.0


def test_rows_per_person_of_the_policy_are_the_default(policy: Policy) -> None:
    three = Policy(policy.columns, joint=policy.joint, rows_per_person=3)
    assert (three.privacy().epsilon, three.privacy().rows_per_person) == (18.0, 3)
    assert three.privacy(rows_per_person=1).epsilon == 6.0
    assert three.certificate()["rows_per_person"] == 3
    assert float.fromhex(three.certificate()["epsilon"]) == 18.0
    for wrong in (0, -1, True, 1.5, None):
        with pytest.raises((TypeError, ValueError)):
            Policy({"x": "drop"}, rows_per_person=wrong)  # type: ignore[arg-type]


def test_attribute_privacy_is_the_largest_at_the_delta() -> None:
    a, b = response(SEX, 2.0, 0.25), response(LEVELS, 1.0)
    policy = Policy({"a": a, "b": b})
    for delta in (0.0, 0.1, 0.25, 0.9):
        stated = policy.attribute_privacy(delta)
        assert (stated.epsilon, stated.delta) == (max(a.epsilon_at(delta), b.epsilon_at(delta)), delta)
    assert Policy({"x": "drop"}).attribute_privacy().epsilon == 0.0


def test_the_joint_claim_holds_for_the_whole_row() -> None:
    """Exactly: the channel on pairs has no ratio above e^epsilon, and both columns may change at once."""
    mechanism = product(1.0)
    table = mechanism.table
    worst = max(Fraction(table[i, x], table[j, x]) for x in range(6) for i in range(6) for j in range(6))
    assert math.log(worst) <= mechanism.epsilon_at() <= 1.0
    separate = [response(SEX, 1.0).table, response(TOWNS, 1.0).table]
    pairs = np.kron(*separate)
    assert math.log(max(Fraction(pairs[i, x], pairs[j, x]) for x in range(6) for i in range(6) for j in range(6))) > 1.9


def test_certificate_holds_groups_and_strata(policy: Policy) -> None:
    certificate = policy.certificate()
    assert json.loads(json.dumps(certificate)) == certificate
    assert certificate["columns"]["level"] == STRATA.certificate()
    assert certificate["joint"] == [{"columns": ["sex", "town"], "mechanism": product().certificate()}]
    assert certificate["public"] == ["year"]
    assert certificate["policy"] == policy.digest.hex()


# plans and tables


def test_plan_keeps_the_types_of_the_columns(policy: Policy, table: pa.Table) -> None:
    planned = policy.plan_schema(table.schema)
    assert planned.names == ["town", "year", "age", "sex", "level"]
    assert planned.field("town").type == pa.string()
    assert planned.field("sex").type == pa.dictionary(pa.int8(), pa.string())
    assert planned.field("age").type == pa.dictionary(pa.int8(), pa.string(), ordered=True)
    assert planned.field("level").type == pa.int8()


@pytest.mark.parametrize(
    ("column", "field", "error", "text"),
    [
        ("town", pa.field("town", pa.int8()), ArgumentTypeError, "column 'town'"),
        ("town", pa.field("town", pa.string(), nullable=False), PolicyError, "declared non-null"),
        ("age", pa.field("age", pa.string()), ArgumentTypeError, "column 'age'"),
        ("age", pa.field("age", pa.bool_()), ArgumentTypeError, "column 'age'"),
        ("year", pa.field("year", pa.string()), ArgumentTypeError, "column 'year'"),
        ("year", pa.field("year", pa.int8()), ArgumentTypeError, "column 'year'"),
    ],
)
def test_plan_says_which_column_does_not_fit(
    policy: Policy, table: pa.Table, column: str, field: Any, error: Any, text: str
) -> None:
    place = table.schema.get_field_index(column)
    with pytest.raises(error, match=text):
        policy.plan_schema(table.schema.set(place, field))


def test_a_table_is_answered_group_by_group(policy: Policy, table: pa.Table, key: bytes) -> None:
    def stream() -> Stream:
        return Stream(key=key, context="c")

    for ids in (None, "id"):
        out = policy.sanitise(table, rng=stream(), ids=ids)
        assert out.schema == policy.plan_schema(table.schema)
        values = None if ids is None else table["id"]
        # the joint group: its codes, answered as a column of codes under the name of the tuple
        mechanism = product()
        codes = np.array([SEX.index(s) * 3 + TOWNS.index(t) for s, t in zip(*pair(table), strict=True)], np.uint8)
        plain = sanitise_column(
            Domain.range(6), mechanism.law, mechanism.digest, codes, rng=stream(), ids=values, column_name=("sex", "town")
        )
        assert list(zip(*pair(out), strict=True)) == [(SEX[code // 3], TOWNS[code % 3]) for code in plain.tolist()]
        strata = STRATA.sanitise(table["level"], table["year"], rng=stream(), ids=values, column_name="level")
        assert out["level"].to_pylist() == strata.to_pylist()
        ages = response(AGES).sanitise(table["age"], rng=stream(), ids=values, column_name="age")
        assert out["age"].to_pylist() == ages.to_pylist()
    assert out["year"].equals(table["year"])


def pair(table: pa.Table) -> tuple[list[Any], list[Any]]:
    return table["sex"].to_pylist(), table["town"].to_pylist()


@pytest.mark.parametrize("cut", [1, 13, 100, N])
def test_pieces_of_a_table_are_the_whole(policy: Policy, table: pa.Table, cut: int) -> None:
    stream = Stream.insecure(3)
    pieces = [policy.sanitise(table.slice(start, cut), rng=stream) for start in range(0, N, cut)]
    assert pa.concat_tables(pieces).to_pydict() == policy.sanitise(table, rng=Stream.insecure(3)).to_pydict()


def test_the_order_of_columns_and_rules_does_not_matter(policy: Policy, table: pa.Table) -> None:
    turned = Policy(dict(reversed(policy.columns.items())), joint=policy.joint)
    out = policy.sanitise(table, rng=Stream.insecure(3))
    moved = turned.sanitise(table.select(table.column_names[::-1]), rng=Stream.insecure(3))
    assert moved.select(out.column_names).to_pydict() == out.to_pydict()


def test_two_groups_share_no_noise(table: pa.Table) -> None:
    copy = table.append_column("sex2", table["sex"]).append_column("town2", table["town"])
    policy = Policy({}, joint={("sex", "town"): product(), ("sex2", "town2"): product()}, unlisted="drop")
    out = policy.sanitise(copy, rng=Stream.insecure(1))
    assert out["sex"].to_pylist() != out["sex2"].to_pylist()


def test_ids_may_not_be_in_a_group(policy: Policy, table: pa.Table, key: bytes) -> None:
    for name in ("town", "level", "age"):
        with pytest.raises(PolicyError, match=f"'{name}' is sanitised"):
            policy.sanitise(table, rng=Stream(key=key, context="c"), ids=name)


def test_an_undeclared_pair_is_an_error_that_names_the_columns() -> None:
    only = [("f", "Bray"), ("m", "Cork")]
    policy = Policy({}, joint={("sex", "town"): product(only=only)})
    good = pa.table({"sex": ["f", "m"], "town": ["Bray", "Cork"]})
    assert policy.sanitise(good).num_rows == 2
    with pytest.raises(OutsideDomainError, match="columns 'sex', 'town'") as caught:
        policy.sanitise(pa.table({"sex": ["f"], "town": ["Cork"]}))
    assert "Cork" not in str(caught.value)
    # only declared pairs are ever answered
    many = pa.concat_tables([good] * 200)
    out = Policy({}, joint={("sex", "town"): product(0.1, only=only)}).sanitise(many, rng=Stream.insecure(2))
    assert set(zip(*pair(out), strict=True)) == set(only)


# checks


def test_check_covers_parts_cells_and_strata(tmp_path: Path) -> None:
    only = [("f", "Bray"), ("m", "Cork"), ("f", None)]
    strict = Stratified("year", {2001: response(LEVELS), 2002: response(LEVELS)})
    bad = pa.table(
        {
            "sex": ["f", "x", "m", "f", "m"],
            "town": ["Bray", "Cork", "Bray", None, "Bray"],
            "level": pa.array([1, 2, 9, 1, 1], pa.int8()),
            "year": pa.array([2001, 2002, 2001, 1999, 1999], pa.int16()),
            "age": [1.0, math.nan, 500.0, math.nan, 500.0],
        }
    )
    columns: dict[str, Any] = {"level": strict, "year": "public", "age": response(AGES)}
    policy = Policy(columns, joint={("sex", "town"): product(only=only)})
    found = {
        ("sex", "x", 1, 1),
        (("sex", "town"), ("m", "Bray"), 2, 2),
        ("level", 9, 2, 1),
        ("year", 1999, 3, 2),
        ("age", "nan", 1, 2),
        ("age", 500.0, 2, 2),
    }
    pq.write_table(bad, tmp_path / "t.parquet", row_group_size=2)
    for source in (bad, tmp_path / "t.parquet"):
        check = policy.check(source)
        assert not check.ok
        assert set(check.findings) == found
    with pytest.raises(OutsideDomainError):
        policy.sanitise(bad)
    kind = Stratified("year", {2001: response(Domain(LEVELS, other=1))}, default=response(Domain(LEVELS, other=1)))
    columns = {**columns, "level": kind, "age": response(Domain.bins([0, 18, 65, 120], unknown="randomise"))}
    handled = Policy(columns, joint={("sex", "town"): product(only=only, unknown="randomise")})
    assert handled.check(bad).ok
    assert {row[:2] for row in handled.check(bad).findings} >= {("sex", "x"), (("sex", "town"), ("m", "Bray"))}
    assert handled.sanitise(bad, rng=Stream.insecure(1)).num_rows == 5


@pytest.mark.parametrize("row", range(4))
def test_check_says_what_sanitise_does(row: int) -> None:
    """One fault alone is seen by both."""
    rows = [("x", "Bray", 1, 2001), ("f", "Rome", 1, 2001), ("f", "Bray", 7, 2001), ("f", "Bray", 1, 1999)]
    strict = Stratified("year", {2001: response(LEVELS)})
    policy = Policy({"level": strict, "year": "public"}, joint={("sex", "town"): product()})
    one = pa.table({name: [value] for name, value in zip(("sex", "town", "level", "year"), rows[row], strict=True)})
    assert not policy.check(one).ok
    with pytest.raises(OutsideDomainError):
        policy.sanitise(one)
