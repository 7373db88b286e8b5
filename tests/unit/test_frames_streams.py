"""Streams of batches, tables of any library with the Arrow interface, and DuckDB relations under a policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpfast import Domain, Policy, RandomisedResponse, Stratified, Stream
from dpfast.errors import ArgumentTypeError, OutsideDomainError, PolicyError

N = 300_000  # more than a tile
CARRIERS = ["x", "y", "z", None]


def response(values: list[Any], epsilon: float = 1.0, **rule: Any) -> RandomisedResponse:
    return RandomisedResponse(Domain(values, **rule), epsilon=epsilon)


def make_policy(**rule: Any) -> Policy:
    late = Stratified("day", {0: response([0, 1], 0.1, **rule)}, default=response([0, 1], 5.0, **rule))
    joint = RandomisedResponse(Domain.product([1, 2], ["p", "q"], unknown=rule.get("unknown", "error")), epsilon=1.0)
    rules = {"carrier": response(["y", None, "x"], **rule), "late": late, "day": "public", "name": "drop"}
    return Policy(rules, joint={("to", "from"): joint})


@pytest.fixture(scope="module")
def table() -> pa.Table:
    place = np.arange(N)
    data = {
        "day": place % 7,
        "from": pa.array(np.array(["p", "q"])[place % 2]).dictionary_encode(),
        "name": pa.array([f"canary {i % 9}" for i in range(N)]),
        "carrier": pa.array(CARRIERS).take(pa.array(place % 4)),
        "to": place % 5 % 2 + 1,
        "late": place % 3 % 2,
    }
    return pa.table(data)


def stream(key: bytes) -> Stream:
    return Stream(key=key, context="streams")


@pytest.fixture
def total() -> Policy:
    return make_policy(unknown="randomise")


@pytest.mark.parametrize("rows", [N, 70_001, 4096])
def test_a_reader_in_pieces_gives_what_the_whole_gives(total: Policy, table: pa.Table, rows: int, key: bytes) -> None:
    reader = total.sanitise(table.to_reader(rows), rng=stream(key))
    assert isinstance(reader, pa.RecordBatchReader)
    whole = total.sanitise(table, rng=stream(key))
    assert reader.schema.equals(whole.schema, check_metadata=True)
    sizes = []
    batches = []
    for batch in reader:
        sizes.append(batch.num_rows)
        batches.append(batch)
    assert max(sizes) <= rows
    assert pa.Table.from_batches(batches).combine_chunks().equals(whole.combine_chunks())


def test_a_reader_is_read_as_it_is_asked(total: Policy, table: pa.Table) -> None:
    given: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in table.to_batches(10_000)[:4]:
            given.append(batch.num_rows)
            yield batch

    reader = total.sanitise(pa.RecordBatchReader.from_batches(table.schema, batches()))
    assert given == []
    reader.read_next_batch()
    assert len(given) == 1
    reader.read_all()
    assert len(given) == 4


def test_an_empty_reader(total: Policy, table: pa.Table) -> None:
    reader = total.sanitise(pa.RecordBatchReader.from_batches(table.schema, []))
    assert reader.read_all().num_rows == 0


def test_a_failing_source_is_not_hidden(total: Policy, table: pa.Table) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield table.to_batches(1000)[0]
        raise OSError("the line is dead")

    reader = total.sanitise(pa.RecordBatchReader.from_batches(table.schema, batches()))
    assert reader.read_next_batch().num_rows == 1000
    with pytest.raises(OSError, match="the line is dead"):
        reader.read_next_batch()


def others(**rules: Any) -> Policy:
    return Policy(rules, unlisted="public")


TWO = [0, 1]
OPEN = response(TWO, unknown="randomise")


@pytest.mark.parametrize(
    ("policy", "column"),
    [
        (others(late=response(TWO)), "late"),
        (others(late=Stratified("day", {0: OPEN}), day="public"), "late"),
        (others(late=Stratified("day", {0: response(TWO)}, default=response(TWO)), day="public"), "late"),
        (
            Policy({}, joint={("to", "late"): RandomisedResponse(Domain.product([1, 2], TWO), epsilon=1.0)}, unlisted="public"),
            "to, late",
        ),
        (
            Policy(
                {},
                joint={("to", "late"): RandomisedResponse(Domain.product(Domain([1, 2], other=1), TWO), epsilon=1.0)},
                unlisted="public",
            ),
            "to, late",
        ),
    ],
)
def test_a_stream_that_could_stop_in_its_middle_is_refused_unread(policy: Policy, column: str, table: pa.Table) -> None:
    reader = table.to_reader(1000)
    with pytest.raises(PolicyError, match=f"column '{column}' .*reader -> reader only with an explicit unknown"):
        policy.sanitise(reader)
    assert reader.read_next_batch().num_rows == 1000
    assert len(policy.sanitise(table.slice(0, 1) if "day" in policy.columns else table)) >= 1


@pytest.mark.parametrize(
    "policy",
    [
        others(late=response(TWO, other=1)),
        others(late=Stratified("day", {0: OPEN}, default=OPEN), day="public"),
        Policy(
            {},
            joint={("to", "late"): RandomisedResponse(Domain.product([1, 2], TWO, other=(1, 0)), epsilon=1.0)},
            unlisted="public",
        ),
    ],
)
def test_a_stream_that_cannot_stop_is_taken(policy: Policy, table: pa.Table) -> None:
    assert policy.sanitise(table.to_reader()).read_all().num_rows == N


def test_ids_of_a_stream_are_refused_for_the_whole_is_not_seen(total: Policy, table: pa.Table, key: bytes) -> None:
    for ids in ("day", np.arange(N)):
        with pytest.raises(ArgumentTypeError, match="ids= needs all rows"):
            total.sanitise(table.to_reader(), rng=stream(key), ids=ids)


class Capsule:
    """A table of a library that is nobody's, which may be read once."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.asked = 0

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        self.asked += 1
        return self.table.__arrow_c_stream__(requested_schema)


def test_anything_with_the_arrow_interface_gives_a_table(total: Policy, table: pa.Table, key: bytes) -> None:
    source = Capsule(table)
    answers = total.sanitise(source, rng=stream(key))
    assert isinstance(answers, pa.Table)
    assert answers.combine_chunks().equals(total.sanitise(table, rng=stream(key)).combine_chunks())
    assert source.asked == 1
    found = total.check(table).findings
    assert found[0] == ("carrier", "z", 2, N // 4)
    assert total.check(Capsule(table)).findings == total.check(table.to_reader(1000)).findings == found
    estimates = [total.estimate(one, "carrier").frequency.tolist() for one in (answers, Capsule(answers), answers.to_reader())]
    assert estimates[0] == estimates[1] == estimates[2]
    with pytest.raises(OutsideDomainError):
        make_policy().sanitise(Capsule(table))


def test_what_is_no_table_of_columns_is_refused(total: Policy, table: pa.Table) -> None:
    for source in (Capsule(table.column("day")), table.column("day"), Capsule):
        for call in (total.sanitise, total.check):
            with pytest.raises(ArgumentTypeError, match="or have __arrow_c_stream__"):
                call(source)
    with pytest.raises(PolicyError, match="no column named"):
        total.sanitise(Capsule(table.drop_columns("day")))


def test_duckdb_relations_keep_their_connection_and_types(total: Policy, table: pa.Table, key: bytes) -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    small = table.slice(0, 5000)
    columns = 'day, "from"::ENUM (\'q\', \'p\', \'unused\') AS "from", name, carrier, "to"::TINYINT AS "to", late'
    relation = connection.from_arrow(small).project(columns)
    answers = total.sanitise(relation, rng=stream(key), connection=connection)
    assert type(answers) is type(relation)
    assert dict(zip(answers.columns, map(str, answers.types), strict=True)) == {
        "day": "BIGINT",
        "from": "ENUM('p', 'q')",
        "carrier": "VARCHAR",
        "to": "TINYINT",
        "late": "BIGINT",
    }
    expected = total.sanitise(small, rng=stream(key)).to_pydict()
    first = answers.fetchall()
    assert first == list(zip(*expected.values(), strict=True))
    # the noise was drawn once: the relation, run again, says the same
    assert answers.project("*").fetchall() == first
    assert isinstance(total.sanitise(relation, rng=stream(key)), pa.Table)
    quoted = connection.sql("SELECT CAST('it''s' AS ENUM ('it''s', 'b')) AS \"a \"\"b\"\"\"")
    rule = Policy({'a "b"': response(["it's", 'say "x"'], 44.0)})
    assert rule.sanitise(quoted, connection=connection).fetchall() == [("it's",)]
