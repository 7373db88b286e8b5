"""Parquet in, Parquet out: the values of the mechanism, the types of the source, and nothing else of it."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
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
    Policy,
    PolicyError,
    Privacy,
    RandomisedResponse,
    Report,
    Stream,
    _parquet,
    sanitise_file,
)
from dpfast.etl import parquet

TOWNS = ["Bray", "Cork", "Dingle", "Ennis"]
N = 1000


def response(values: Any = TOWNS, epsilon: float = 1.0, **rules: Any) -> RandomisedResponse:
    return RandomisedResponse(Domain(values, **rules), epsilon=epsilon)


@pytest.fixture
def policy() -> Policy:
    return Policy({"town": response(), "code": response(range(7)), "id": "drop", "year": "public"})


@pytest.fixture
def table() -> pa.Table:
    rng = np.random.default_rng(7)
    return pa.table(
        {
            "id": pa.array(range(N)),
            "town": pa.array(TOWNS).take(pa.array(rng.integers(0, 4, N))),
            "year": pa.array(rng.integers(1990, 2030, N)),
            "code": pa.array(rng.integers(0, 7, N), pa.int16()),
        }
    )


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups and batches of a few rows, so that a small file has many."""
    monkeypatch.setattr(parquet, "GROUP_ROWS_MAX", 256)
    monkeypatch.setattr(_parquet, "BATCH_ROWS", 100)


def write(path: Path, table: pa.Table, **options: Any) -> Path:
    pq.write_table(table, path, **options)
    return path


def sanitised(path: Path, policy: Policy, **options: Any) -> bytes:
    """The bytes of the target of a job; by default under a seed, so that they can be compared."""
    target = path.with_name("target.parquet")
    if "key" not in options and "rng" not in options:
        options["rng"] = Stream.insecure(5)
    sanitise_file(path, target, policy, overwrite=True, **options)
    return target.read_bytes()


def read(data: bytes) -> pa.Table:
    return pq.read_table(io.BytesIO(data))


# values and order


@pytest.mark.usefixtures("small_groups")
def test_values_are_those_of_the_table_sanitised_in_memory(policy: Policy, table: pa.Table, tmp_path: Path) -> None:
    out = read(sanitised(write(tmp_path / "t.parquet", table), policy))
    expected = policy.sanitise(table, rng=Stream.insecure(5))
    assert out.schema == expected.schema
    assert out.to_pydict() == expected.to_pydict()
    assert out["town"].to_pylist() != table["town"].to_pylist()


@pytest.mark.usefixtures("small_groups")
@pytest.mark.parametrize("group", [1, 7, 256, 333, N])
def test_bytes_do_not_depend_on_the_cut_of_the_source(policy: Policy, table: pa.Table, tmp_path: Path, group: int) -> None:
    whole = sanitised(write(tmp_path / "whole.parquet", table), policy)
    cut = sanitised(write(tmp_path / "cut.parquet", table, row_group_size=group), policy)
    assert cut == whole
    footer = pq.ParquetFile(io.BytesIO(whole)).metadata
    assert [footer.row_group(i).num_rows for i in range(footer.num_row_groups)] == [256, 256, 256, 232]


def test_bytes_do_not_depend_on_batches(policy: Policy, table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Long enough for several pages of a column that has no use for a dictionary: their boundaries matter too.
    long = pa.concat_tables([table] * 60).set_column(0, "id", pa.array([f"{row:030}" for row in range(60 * N)]))
    source = write(tmp_path / "t.parquet", long)
    policy = Policy({**policy.columns, "id": "public"})
    usual = sanitised(source, policy)
    for rows in (77, 256, 7_777):
        monkeypatch.setattr(_parquet, "BATCH_ROWS", rows)
        assert sanitised(source, policy) == usual


def test_bytes_do_not_depend_on_the_order_of_the_policy(policy: Policy, table: pa.Table, tmp_path: Path) -> None:
    source = write(tmp_path / "t.parquet", table)
    assert sanitised(source, policy) == sanitised(source, Policy(dict(reversed(policy.columns.items()))))


@pytest.mark.usefixtures("small_groups")
def test_a_keyed_job_repeats_itself(policy: Policy, table: pa.Table, tmp_path: Path, key: bytes) -> None:
    source = write(tmp_path / "t.parquet", table)
    first = sanitised(source, policy, key=key, context="c")
    for threads in (1, 2, 8, None):
        assert sanitised(source, policy, key=key, context="c", threads=threads) == first
    (tmp_path / "copy").mkdir()
    copy = tmp_path / "copy" / "other-name.parquet"
    copy.write_bytes(source.read_bytes())
    assert sanitised(copy, policy, key=key, context="c") == first


def test_a_keyed_job_gives_other_noise_to_other_jobs(policy: Policy, table: pa.Table, tmp_path: Path, key: bytes) -> None:
    source = write(tmp_path / "t.parquet", table)
    same_rows = write(tmp_path / "u.parquet", table.replace_schema_metadata({"note": "another file"}))
    results = [
        read(sanitised(source, policy, key=key, context="c")),
        read(sanitised(source, policy, key=key, context="d")),
        read(sanitised(source, policy, key=bytes(32), context="c")),
        read(sanitised(same_rows, policy, key=key, context="c")),
        read(sanitised(source, policy, rng=Stream())),
        read(sanitised(source, policy, rng=Stream())),
    ]
    assert len({tuple(result["town"].to_pylist()) for result in results}) == len(results)


def test_rng_goes_on_over_files(policy: Policy, table: pa.Table, tmp_path: Path) -> None:
    source = write(tmp_path / "t.parquet", table)
    stream = Stream.insecure(5)
    assert sanitised(source, policy, rng=stream) != sanitised(source, policy, rng=stream)


@pytest.mark.usefixtures("small_groups")
def test_ids_make_noise_follow_the_row_into_other_files(policy: Policy, table: pa.Table, tmp_path: Path, key: bytes) -> None:
    def released(name: str, rows: pa.Table, **options: Any) -> dict[int, tuple[str, int]]:
        keep = Policy({**policy.columns, "id": "public"})
        out = read(sanitised(write(tmp_path / name, rows, row_group_size=77), keep, key=key, context="people", **options))
        return {row["id"]: (row["town"], row["code"]) for row in out.to_pylist()}

    shuffled = table.take(np.random.default_rng(1).permutation(N))
    first = released("a.parquet", table, ids="id")
    assert released("b.parquet", shuffled, ids="id") == first
    assert released("c.parquet", shuffled.slice(0, 300), ids="id").items() <= first.items()
    assert released("d.parquet", table, ids=("id", "year")) != first
    in_memory = policy.sanitise(table, rng=Stream(key=key, context="people"), ids="id")
    assert list(first.values()) == list(zip(in_memory["town"].to_pylist(), in_memory["code"].to_pylist(), strict=True))


def test_certificate_says_how_rows_are_addressed(policy: Policy, table: pa.Table, tmp_path: Path, key: bytes) -> None:
    source = write(tmp_path / "t.parquet", table)

    def certificate(**options: Any) -> dict[str, Any]:
        report = sanitise_file(source, tmp_path / "out.parquet", policy, overwrite=True, **options)
        footer = pq.ParquetFile(tmp_path / "out.parquet").metadata.metadata
        assert set(footer) == {b"ARROW:schema", b"dpfast"}
        assert (tmp_path / "out.parquet").read_bytes().count(b"ARROW:schema") == 1
        assert json.loads(footer[b"dpfast"]) == report.certificate
        assert b"t.parquet" not in footer[b"dpfast"]
        assert str(N).encode() not in footer[b"dpfast"]
        return report.certificate

    fresh = certificate()
    assert (fresh["randomness"], fresh["addressing"], fresh["key_fingerprint"]) == ("fresh", "row", None)
    assert fresh["public"] == ["year"]
    assert certificate(rng=Stream.insecure(1))["randomness"] == "insecure"
    keyed = certificate(key=key, context="c", ids=("id", "year"))
    assert (keyed["randomness"], keyed["addressing"], keyed["ids"]) == ("keyed", "id", ["id", "year"])
    assert keyed["ids_unique"] == "unchecked"
    assert keyed["key_fingerprint"] == Stream(key=key, context="c").fingerprint
    assert key.hex() not in json.dumps(keyed)
    assert base64.b64encode(key).decode() not in json.dumps(keyed)


def test_unlisted_public_columns_are_in_the_certificate(table: pa.Table, tmp_path: Path) -> None:
    policy = Policy({"town": response()}, unlisted="public")
    report = sanitise_file(write(tmp_path / "t.parquet", table), tmp_path / "out.parquet", policy)
    assert report.certificate["public"] == ["code", "id", "year"]


def test_report(policy: Policy, table: pa.Table, tmp_path: Path) -> None:
    report = sanitise_file(write(tmp_path / "t.parquet", table), tmp_path / "out.parquet", policy)
    assert isinstance(report, Report)
    assert (report.rows, report.files, report.privacy) == (N, 1, policy.privacy())
    assert report.seconds > 0


# arguments


def test_wrong_requests_touch_nothing(policy: Policy, table: pa.Table, tmp_path: Path, key: bytes) -> None:
    source = write(tmp_path / "t.parquet", table)
    keyed: dict[str, Any] = {"key": key, "context": "c"}
    stranger = Policy({**policy.columns, "stranger": "public"})
    wrong: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (ArgumentTypeError, "Policy.load", {"policy": "policy.toml"}),
        (PolicyError, "no column named 'stranger'", {"policy": stranger}),
        (ArgumentTypeError, "column 'year'", {"policy": Policy({"year": response()}, unlisted="drop")}),
        (ArgumentTypeError, "context", {"key": key}),
        (ArgumentTypeError, "key", {"context": "c"}),
        (ArgumentError, "32 bytes", {"key": b"short", "context": "c"}),
        (ArgumentError, "ids=", {"ids": "id"}),
        (PolicyError, "no column named 'no'", {**keyed, "ids": "no"}),
        (PolicyError, "'town' is sanitised", {**keyed, "ids": "town"}),
        (ArgumentTypeError, "tuple of names", {**keyed, "ids": ["id"]}),
        (ArgumentError, "threads", {"threads": 0}),
        (ArgumentTypeError, "threads", {"threads": 1.5}),
        (ArgumentTypeError, "progress", {"progress": True}),
        (ArgumentTypeError, "rng", {"rng": 3}),
        (ArgumentError, "either rng or key", {"rng": Stream(), **keyed}),
        (ArgumentError, "instead of a keyed stream", {"rng": Stream(key=key, context="c")}),
        (ArgumentTypeError, "source must be a path", {"source": table}),
        (ArgumentTypeError, "target must be a path", {"target": b"out.parquet"}),
        (ArgumentError, "address of no known kind", {"source": "nowhere://bucket/t.parquet"}),
        (ArgumentError, r"a \.orc file", {"target": tmp_path / "out.orc"}),
        (ArgumentError, "null character", {"target": "a\0b"}),
        (FileError, "lies in the source", {"source": tmp_path}),
        (FileError, "No such file", {"source": tmp_path / "none.parquet"}),
        (FileError, "is a folder", {"target": tmp_path}),
        (FileError, "exists", {"target": source.with_name("there")}),
        (FileError, "No such file", {"target": tmp_path / "no" / "out.parquet"}),
        (FileError, "the target is the source", {"target": source, "overwrite": True}),
    ]
    source.with_name("there").write_bytes(b"there")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for error, text, change in wrong:
        options: dict[str, Any] = {"source": source, "target": tmp_path / "out.parquet", "policy": policy, **change}
        with pytest.raises(error, match=text):
            sanitise_file(**options)
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_repeated_ids_are_not_looked_for(policy: Policy, table: pa.Table, tmp_path: Path, key: bytes) -> None:
    # A look at each batch would find some and miss others, by how the file is cut; the certificate says "unchecked".
    source = write(tmp_path / "t.parquet", table.set_column(0, "id", pa.array([1] * N)))
    report = sanitise_file(source, tmp_path / "out.parquet", policy, key=key, context="c", ids="id")
    assert report.certificate["ids_unique"] == "unchecked"


def test_null_ids_are_refused(policy: Policy, table: pa.Table, tmp_path: Path, key: bytes) -> None:
    holes = table.set_column(0, "id", pa.array([None, *range(N - 1)]))
    source = write(tmp_path / "t.parquet", holes)
    with pytest.raises(IdError, match="null"):
        sanitise_file(source, tmp_path / "out.parquet", policy, key=key, context="c", ids="id")
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


@pytest.mark.usefixtures("small_groups")
@pytest.mark.parametrize("threads", [1, 2])
def test_progress_is_told_rows_done_and_total(policy: Policy, table: pa.Table, tmp_path: Path, threads: int) -> None:
    told: list[tuple[int, int]] = []
    sanitised(write(tmp_path / "t.parquet", table), policy, progress=lambda *seen: told.append(seen), threads=threads)
    assert told == [(done, N) for done in range(100, N + 1, 100)]


def test_a_bar_is_shown_on_a_terminal_only(
    policy: Policy, table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path / "t.parquet", table)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown: dict[str, str] = {}
    cases: list[tuple[str, Callable[[], io.StringIO], Any]] = [
        ("terminal", Terminal, None),
        ("quiet", Terminal, False),
        ("file", io.StringIO, None),
    ]
    for name, stream, progress in cases:
        error = stream()
        monkeypatch.setattr("sys.stderr", error)
        sanitised(source, policy, progress=progress)
        shown[name] = error.getvalue()
    assert "row/s" in shown["terminal"]
    assert (shown["quiet"], shown["file"]) == ("", "")


def test_privacy_of_a_report_is_that_of_its_certificate(table: pa.Table, tmp_path: Path) -> None:
    with_delta = RandomisedResponse(TOWNS, epsilon=1.0, delta=0.125)
    policy = Policy({"town": with_delta, "code": response(range(7))}, unlisted="drop")
    report = sanitise_file(write(tmp_path / "t.parquet", table), tmp_path / "out.parquet", policy)
    assert report.privacy == policy.privacy(0.125)
    assert report.privacy == Privacy(float.fromhex(report.certificate["epsilon"]), 0.125)
