"""What a target says about its source beyond the sanitised values: nothing. And sources that are not as one expects.

A canary is text that compression cannot shorten, so that it stands in a file as it is if it is there at all; each test that
looks for one first finds it in the source.
"""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import (
    CorruptDataError,
    Domain,
    FileError,
    OutsideDomainError,
    Policy,
    RandomisedResponse,
    Stream,
    _parquet,
    sanitise_file,
)
from dpfast.etl import parquet

CANARY = hashlib.blake2b(b"canary", digest_size=32).hexdigest()
TOWNS = ["Bray", "Cork", "Dingle", "Ennis"]


def response(values: Any = TOWNS, epsilon: float = 1.0, **rules: Any) -> RandomisedResponse:
    return RandomisedResponse(Domain(values, **rules), epsilon=epsilon)


def write(path: Path, table: pa.Table, **options: Any) -> Path:
    pq.write_table(table, path, **options)
    return path


def sanitised(path: Path, policy: Policy, seed: int = 5) -> bytes:
    target = path.with_name("target.parquet")
    sanitise_file(path, target, policy, overwrite=True, rng=Stream.insecure(seed))
    return target.read_bytes()


def read(data: bytes) -> pa.Table:
    return pq.read_table(io.BytesIO(data))


def coded(values: list[Any], codes: list[int | None], width: pa.DataType | None = None) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, width or pa.int8()), pa.array(values), safe=False)


def test_no_digest_of_a_source_is_published(tmp_path: Path) -> None:
    """Whoever knows all rows but one could try out the last one on it: the name of a job needs the key."""
    found: dict[tuple[bytes | None, int], dict[str, Any]] = {}
    for place, towns in enumerate((TOWNS, TOWNS[::-1])):
        source = write(tmp_path / f"{place}.parquet", pa.table({"x": towns}))
        for key in (bytes(32), bytes(range(32)), None):
            options: dict[str, Any] = {} if key is None else {"key": key, "context": "c"}
            report = sanitise_file(source, tmp_path / f"{place} {key!r}.parquet", Policy({"x": response()}), **options)
            found[key, place] = report.certificate
    keyed = [certificate for (key, _), certificate in found.items() if key is not None]
    assert len({certificate["job"] for certificate in keyed}) == 4
    for key in (bytes(32), bytes(range(32)), None):
        one, other = ({**found[key, place], "job": None} for place in (0, 1))
        assert one == other  # nothing else depends on the source, and without a key nothing at all
    assert "job" not in found[None, 0]


# canaries


@pytest.fixture(params=["snappy", "none"])
def _codec(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once as shipped and once with every page of the target in the clear."""
    monkeypatch.setattr(parquet, "COMPRESSION", request.param)


def with_metadata(table: pa.Table) -> pa.Table:
    field = table.schema.field("town").with_metadata({CANARY: CANARY})
    return table.cast(pa.schema([field, *list(table.schema)[1:]], metadata={CANARY: CANARY}))


SCENARIOS: dict[str, tuple[pa.Table, dict[str, Any]]] = {
    "unused entry": (pa.table({"town": coded(["Cork", CANARY], [0] * 9)}), {}),
    "unused entry of a public column": (
        pa.table({"town": TOWNS, "note": coded(["x", CANARY], [0] * 4)}),
        {"note": "public"},
    ),
    "dropped column": (pa.table({"town": TOWNS, "name": [CANARY] * 4}), {"name": "drop"}),
    "metadata": (with_metadata(pa.table({"town": TOWNS})), {}),
    "unknown value": (pa.table({"town": ["Cork", CANARY] * 9}), {"town": response(unknown="randomise")}),
    "other value": (pa.table({"town": ["Cork", CANARY] * 9}), {"town": response(other="Cork")}),
    "null beside it": (
        pa.table({"town": coded(["Cork", CANARY], [None, 0, None])}),
        {"town": response([*TOWNS, None])},
    ),
    "column that starts with it": (
        pa.table({"town": pa.array([CANARY, *TOWNS] * 30)}),
        {"town": response(unknown="randomise")},
    ),
}


@pytest.mark.usefixtures("_codec")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_canary_does_not_reach_the_target(tmp_path: Path, scenario: str) -> None:
    table, rules = SCENARIOS[scenario]
    source = write(tmp_path / "t.parquet", table)
    assert CANARY.encode() in source.read_bytes()
    data = sanitised(source, Policy({"town": response(), **rules}))
    assert CANARY.encode() not in data
    assert CANARY not in str(read(data).to_pydict())
    assert b"Bray" in data


def test_a_public_canary_is_seen(tmp_path: Path) -> None:
    # The negative control of the search itself.
    source = write(tmp_path / "t.parquet", pa.table({"town": TOWNS, "note": [CANARY] * 4}))
    assert CANARY.encode() in sanitised(source, Policy({"town": response(), "note": "public"}))


def test_only_the_values_of_the_source_matter(tmp_path: Path) -> None:
    """Dictionary, order of its entries, index width, statistics, codec, metadata: two writings of one table, one target."""
    codes = [3, 1, 1, 2, 0, 3] * 20
    plain = pa.table({"town": [TOWNS[code] for code in codes]})
    backwards = pa.table({"town": coded([*TOWNS[::-1], CANARY, "x"], [3 - code for code in codes]).cast(pa.string())})
    targets = {
        sanitised(write(tmp_path / "a.parquet", plain, row_group_size=50), Policy({"town": response()})),
        sanitised(write(tmp_path / "b.parquet", plain, use_dictionary=False), Policy({"town": response()})),
        sanitised(write(tmp_path / "c.parquet", plain, compression="gzip"), Policy({"town": response()})),
        sanitised(write(tmp_path / "d.parquet", plain, write_statistics=False), Policy({"town": response()})),
        sanitised(write(tmp_path / "e.parquet", backwards), Policy({"town": response()})),
        sanitised(write(tmp_path / "f.parquet", plain, data_page_version="2.0"), Policy({"town": response()})),
        sanitised(write(tmp_path / "g.parquet", plain, write_page_index=True), Policy({"town": response()})),
        sanitised(write(tmp_path / "h.parquet", plain, sorting_columns=[pq.SortingColumn(0)]), Policy({"town": response()})),
    }
    assert len(targets) == 1


def test_neighbours_differ_in_data_pages_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "COMPRESSION", "none")
    # Values of one length: the footer holds the total length of the sanitised values.
    towns = ["Bray", "Cork", "Naas", "Trim"] * 25
    policy = Policy({"town": response(sorted(set(towns)), epsilon=9.0)})
    first = sanitised(write(tmp_path / "t.parquet", pa.table({"town": towns})), policy)
    second = sanitised(write(tmp_path / "t.parquet", pa.table({"town": ["Trim", *towns[1:]]})), policy)
    assert len(first) == len(second)
    changed = [place for place, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    column = pq.ParquetFile(io.BytesIO(first)).metadata.row_group(0).column(0)
    end = column.dictionary_page_offset + column.total_compressed_size
    assert changed
    assert all(column.data_page_offset <= place < end for place in changed)
    assert len(changed) <= 2


def test_sanitised_columns_have_no_statistics_and_public_ones_their_own(tmp_path: Path) -> None:
    table = pa.table({"town": TOWNS, "code": pa.array([3, 1, 2, 0], pa.int8()), "year": [4, 9, 2, 7]})
    source = write(tmp_path / "t.parquet", table, write_page_index=True, sorting_columns=[pq.SortingColumn(2)])
    footer = pq.ParquetFile(
        io.BytesIO(sanitised(source, Policy({"town": response(), "code": response(range(4)), "year": "public"})))
    ).metadata
    town, code, year = (footer.row_group(0).column(i) for i in range(3))
    for column in (town, code):
        assert not column.is_stats_set
        assert not column.has_column_index
    assert (year.statistics.min, year.statistics.max) == (2, 9)
    assert footer.row_group(0).sorting_columns == ()
    assert footer.created_by.startswith("parquet-cpp-arrow")


# sources that are not as one expects


@pytest.mark.parametrize("batch", [3, 1000])
def test_each_piece_is_read_by_its_own_dictionary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr(_parquet, "BATCH_ROWS", batch)
    chunks = [coded(["a", "b", "c"], [0, 1, 2]), coded(["d", "e", "f", "g"], [0, 1, 2, 3]), coded(["g", "a"], [0, 1, 1])]
    expected = list("abcdefggaa")
    policy = Policy({"x": response(list("abcdefg"), epsilon=200.0)})
    path = tmp_path / "t.parquet"
    with pq.ParquetWriter(path, pa.schema([("x", chunks[0].type)])) as writer:
        for chunk in chunks:
            writer.write_table(pa.table({"x": chunk}))
    assert read(sanitised(path, policy))["x"].to_pylist() == expected
    write(path, pa.table({"x": pa.chunked_array(chunks)}))
    assert read(sanitised(path, policy))["x"].to_pylist() == expected


def test_names_decide_and_not_codes(tmp_path: Path) -> None:
    policy = Policy({"x": response(["a", "b"], epsilon=200.0)})
    one = write(tmp_path / "1.parquet", pa.table({"x": coded(["a", "b"], [0, 1, 1])}))
    two = write(tmp_path / "2.parquet", pa.table({"x": coded(["b", "a"], [0, 1, 1])}))
    assert read(sanitised(one, policy))["x"].to_pylist() == ["a", "b", "b"]
    assert read(sanitised(two, policy))["x"].to_pylist() == ["b", "a", "a"]


@pytest.mark.parametrize("piece", [slice(1, None), slice(3, 9), slice(8, 17), slice(5, 5)])
def test_slices_keep_their_offset(tmp_path: Path, piece: slice) -> None:
    values = [None if i % 5 == 2 else TOWNS[i % 4] for i in range(20)]
    column = coded(TOWNS, [None if value is None else TOWNS.index(value) for value in values])
    policy = Policy({"x": response([None, *TOWNS], epsilon=200.0)})
    table = pa.table({"x": column})[piece]
    assert policy.sanitise(table)["x"].to_pylist() == values[piece]
    assert read(sanitised(write(tmp_path / "t.parquet", table), policy))["x"].to_pylist() == values[piece]


def test_every_kind_of_null_is_the_null_of_the_domain(tmp_path: Path) -> None:
    plain = pa.array([None, None, "abc", None])
    kinds = [coded([None, "abc"], [0, 0, 1, None]), plain, plain.dictionary_encode()]  # Parquet does not hold the first
    exact, noisy = (Policy({"x": response(["abc", None], epsilon=epsilon)}) for epsilon in (200.0, 0.1))
    results = []
    for column in kinds:
        table = pa.table({"x": pa.chunked_array([column] * 50)})
        assert exact.sanitise(table)["x"].to_pylist() == plain.to_pylist() * 50
        results.append(noisy.sanitise(table, rng=Stream.insecure(5))["x"].to_pylist())
    for column in kinds[1:]:
        source = write(tmp_path / "t.parquet", pa.table({"x": pa.chunked_array([column] * 50)}))
        assert read(sanitised(source, exact))["x"].to_pylist() == plain.to_pylist() * 50
        results.append(read(sanitised(source, noisy))["x"].to_pylist())
    # One law whatever kind of null it was: under one seed, the same noise.
    assert all(result == results[0] for result in results)
    assert results[0] != plain.to_pylist() * 50


@pytest.mark.parametrize("rule", [{}, {"unknown": "randomise"}, {"other": "Cork"}])
def test_a_null_that_is_not_declared_follows_the_rule(tmp_path: Path, rule: dict[str, Any]) -> None:
    source = write(tmp_path / "t.parquet", pa.table({"x": ["Cork", None] * 20}))
    policy = Policy({"x": response(**rule)})
    if rule:
        assert None not in read(sanitised(source, policy))["x"].to_pylist()
    else:
        with pytest.raises(OutsideDomainError):
            sanitised(source, policy)
        assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_empty_tables_and_tables_of_nulls(tmp_path: Path) -> None:
    policy = Policy({"x": response([*TOWNS, None])})
    for column in (pa.array([], pa.string()), coded(TOWNS, []), coded([""], []).slice(1), pa.array([], pa.large_string())):
        table = pa.table({"x": column})
        out = read(sanitised(write(tmp_path / "t.parquet", table), policy))
        assert (out.num_rows, out.schema.names) == (0, ["x"])
        assert pa.types.is_dictionary(out.schema.field("x").type) == pa.types.is_dictionary(column.type)
        empty = policy.sanitise(table)["x"]
        if pa.types.is_dictionary(column.type):
            assert all(chunk.dictionary.to_pylist() == TOWNS for chunk in empty.chunks)
    nulls = write(tmp_path / "t.parquet", pa.table({"x": pa.nulls(64, pa.string())}))
    assert set(read(sanitised(nulls, policy))["x"].to_pylist()) > {None}


@pytest.mark.parametrize("code", [99, 2, -1, -128])
def test_hostile_codes_in_memory(code: int) -> None:
    policy = Policy({"x": response(["a", "b"], unknown="randomise")})
    for codes in ([0, 1, code], [code] * 3):
        with pytest.raises(CorruptDataError) as caught:
            policy.sanitise(pa.table({"x": coded(["a", "b"], list(codes))}))
        assert str(code) not in str(caught.value)


def test_hostile_codes_in_a_file(tmp_path: Path) -> None:
    """The dictionary page of a good file is cut from four entries to two; its codes then point past the end."""
    source = write(
        tmp_path / "t.parquet", pa.table({"x": TOWNS * 9}), compression="none", write_statistics=False, store_schema=False
    )
    data = bytearray(source.read_bytes())
    # Thrift compact protocol: DictionaryPageHeader (field 7) {num_values (field 1, zigzag 4 = 8), encoding}.
    place = data.index(b"\x4c\x15\x08\x15")
    data[place + 2] = 4
    source.write_bytes(data)
    with pytest.raises(CorruptDataError, match="dictionary"):
        sanitised(source, Policy({"x": response(unknown="randomise")}))
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


@pytest.mark.parametrize("threads", [1, 2])
def test_damaged_pages(tmp_path: Path, threads: int) -> None:
    rng = np.random.default_rng(1)
    table = pa.table({"x": pa.array(TOWNS).take(pa.array(rng.integers(0, 4, 4000)))})
    whole = write(tmp_path / "t.parquet", table, row_group_size=500).read_bytes()
    source, target = tmp_path / "t.parquet", tmp_path / "target.parquet"
    end = pq.ParquetFile(source).metadata.row_group(7).column(0).data_page_offset
    seen = set()
    for place in range(4, end, 97):
        damaged = bytearray(whole)
        damaged[place : place + 8] = b"\xff" * 8
        source.write_bytes(damaged)
        try:
            sanitise_file(source, target, Policy({"x": response(unknown="randomise")}), threads=threads, overwrite=True)
        except CorruptDataError as error:
            seen.add(str(error))
            assert not target.exists()
            continue
        target.unlink()  # the bytes made other values of the page
    damaged_page = f"the source {str(source)!r} {_parquet.CORRUPT}"
    assert seen <= {damaged_page, "a dictionary index points outside its dictionary"}
    assert damaged_page in seen
    assert os.listdir(tmp_path) == ["t.parquet"]


def test_a_footer_that_miscounts(tmp_path: Path) -> None:
    with _parquet.ParquetSource(write(tmp_path / "t.parquet", pa.table({"x": TOWNS}))) as source:
        assert sum(batch.num_rows for batch in source.batches(["x"])) == source.rows == 4
        source.rows += 1
        with pytest.raises(CorruptDataError, match="damaged"):
            list(source.batches(["x"]))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"a,b\n1,2\n", b"PAR1" + bytes(100) + b"PAR1"])
def test_other_files_are_not_parquet(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(CorruptDataError, match="not a Parquet file"):
        sanitise_file(tmp_path / "t.parquet", tmp_path / "out.parquet", Policy({"x": response()}))
    assert os.listdir(tmp_path) == ["t.parquet"]


@pytest.mark.parametrize("options", [{}, {"key": bytes(32), "context": "c"}])
def test_a_source_that_changes_while_it_is_read(tmp_path: Path, options: dict[str, Any]) -> None:
    source = write(tmp_path / "t.parquet", pa.table({"x": TOWNS}))
    data = source.read_bytes()

    def replace(done: int, total: int) -> None:
        source.write_bytes(data + b" ")

    with pytest.raises(FileError, match="changed while it was read"):
        sanitise_file(source, tmp_path / "out.parquet", Policy({"x": response()}), progress=replace, **options)
    assert os.listdir(tmp_path) == ["t.parquet"]
