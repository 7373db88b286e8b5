"""Joint groups, strata and bins in files: the values of the table in memory, whatever the cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import Domain, OutsideDomainError, Policy, RandomisedResponse, Stratified, Stream, _parquet, sanitise_file
from dpfast.etl import parquet
from dpfast.etl.jobs import source_digest

SEX = ["f", "m"]
TOWNS = ["Bray", "Cork", None]
N = 1000
CANARY = "canary-7b1d"


def strata(**options: float) -> Stratified:
    mechanisms = {name: RandomisedResponse([b"x", b"y"], epsilon=epsilon) for name, epsilon in options.items()}
    return Stratified("region", mechanisms)  # type: ignore[arg-type]


@pytest.fixture
def policy() -> Policy:
    columns = {
        "age": RandomisedResponse(Domain.bins([0, 18, 65, 120], null=True), epsilon=1.0),
        "blood": strata(north=0.5, south=3.0),
        "region": "public",
        "id": "drop",
    }
    product = Domain.product(SEX, TOWNS, Domain.bins(range(0, 101, 25)))
    return Policy(columns, joint={("sex", "town", "score"): RandomisedResponse(product, epsilon=2.0)})  # type: ignore[arg-type]


@pytest.fixture
def table() -> pa.Table:
    return pa.table(
        {
            "id": range(N),
            "town": [TOWNS[i % 3] for i in range(N)],
            "score": pa.array([i % 101 for i in range(N)], pa.uint8()),
            "age": pa.array([None if i % 50 == 0 else i % 120 + 0.5 for i in range(N)]),
            "region": [("north", "south")[i * i % 7 % 2] for i in range(N)],
            "sex": pa.array([SEX[i % 5 % 2] for i in range(N)]).dictionary_encode(),
            "blood": [b"xy"[i % 2 : i % 2 + 1] for i in range(N)],
        }
    )


@pytest.fixture(params=[77, 256, 10_000])
def batch_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(parquet, "GROUP_ROWS_MAX", 256)
    monkeypatch.setattr(_parquet, "BATCH_ROWS", request.param)
    return int(request.param)


def job(table: pa.Table, folder: Path, policy: Policy, group: int = N, **options: Any) -> pa.Table:
    pq.write_table(table, folder / "t.parquet", row_group_size=group)
    sanitise_file(folder / "t.parquet", folder / "out.parquet", policy, overwrite=True, **options)
    return pq.read_table(folder / "out.parquet")


@pytest.mark.usefixtures("batch_rows")
@pytest.mark.parametrize("group", [60, N])
def test_a_file_has_the_values_of_the_table(table: pa.Table, policy: Policy, tmp_path: Path, group: int) -> None:
    out = job(table, tmp_path, policy, group, rng=Stream.insecure(5))
    expected = policy.sanitise(table, rng=Stream.insecure(5))
    assert out.schema == expected.schema == policy.plan_schema(table.schema)
    assert out.to_pydict() == expected.to_pydict()
    assert out["score"].to_pylist() != [f"[{25 * (i % 101 // 25)}" for i in range(N)]


@pytest.mark.usefixtures("batch_rows")
def test_a_keyed_file_with_ids_has_them_too(table: pa.Table, policy: Policy, tmp_path: Path, key: bytes) -> None:
    out = job(table, tmp_path, policy, key=key, context="people", ids="id")
    expected = policy.sanitise(table, rng=Stream(key=key, context="people"), ids="id")
    assert out.to_pydict() == expected.to_pydict()
    again = job(table.take(list(reversed(range(N)))), tmp_path, policy, key=key, context="people", ids="id")
    assert again.to_pydict() == expected.take(list(reversed(range(N)))).to_pydict()


def test_a_keyed_file_is_bound_to_its_source(table: pa.Table, policy: Policy, tmp_path: Path, key: bytes) -> None:
    out = job(table, tmp_path, policy, key=key, context="release")
    bound = Stream(key=key, context="release").bind_source(source_digest([("", tmp_path / "t.parquet")]))
    assert out.to_pydict() == policy.sanitise(table, rng=bound).to_pydict()


def test_the_certificate_lists_groups(table: pa.Table, policy: Policy, tmp_path: Path) -> None:
    job(table, tmp_path, policy)
    certificate = json.loads(pq.read_metadata(tmp_path / "out.parquet").metadata[b"dpfast"])
    assert certificate["public"] == ["region"]
    assert [entry["columns"] for entry in certificate["joint"]] == [["sex", "town", "score"]]
    assert certificate["columns"]["blood"]["by"] == "region"
    assert float.fromhex(certificate["epsilon"]) == policy.privacy().epsilon == 6.0


def test_dictionaries_of_the_source_do_not_travel(table: pa.Table, policy: Policy, tmp_path: Path) -> None:
    extra = pa.DictionaryArray.from_arrays(pa.array([i % 2 for i in range(N)]), pa.array([*SEX, CANARY]))
    place = table.schema.get_field_index("sex")
    out = job(table.set_column(place, "sex", extra), tmp_path, policy)
    assert set(out["sex"].to_pylist()) <= set(SEX)
    data = (tmp_path / "out.parquet").read_bytes()
    assert CANARY.encode() not in data
    # labels of every bin, whether a row has it or not
    assert out["age"].chunk(0).dictionary.to_pylist() == ["[0, 18)", "[18, 65)", "[65, 120]"]


def test_nothing_is_written_when_a_row_does_not_fit(table: pa.Table, policy: Policy, tmp_path: Path) -> None:
    for name, values in (("region", ["east"]), ("town", [CANARY]), ("score", [200])):
        place = table.schema.get_field_index(name)
        column = pa.chunked_array([table[name].combine_chunks().slice(0, N - 1), pa.array(values, table[name].type)])
        with pytest.raises(OutsideDomainError) as caught:
            job(table.set_column(place, name, column), tmp_path, policy)
        assert CANARY not in str(caught.value)
        assert not (tmp_path / "out.parquet").exists()


def test_an_empty_file(table: pa.Table, policy: Policy, tmp_path: Path) -> None:
    out = job(table.slice(0, 0), tmp_path, policy)
    assert out.num_rows == 0
    assert out.schema == policy.plan_schema(table.schema)
