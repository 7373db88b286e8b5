"""Metadata of a source: none reaches a target but what is named, and that as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from dpfast import ArgumentError, ArgumentTypeError, FileError, Policy, RandomisedResponse, sanitise_file
from dpfast.cli import main
from dpfast.etl.sources import open_source

TOWNS = ["Bray", "Cork", "Dingle", "Ennis"]
POLICY = Policy({"town": RandomisedResponse(TOWNS, epsilon=1.0)})
KEPT = {"licence": "CC0", "owner": "Zoë"}
CANARY = "canary-4711"


def table(**more: str) -> pa.Table:
    field = pa.field("town", pa.string(), metadata={"note": CANARY})
    metadata = {**KEPT, "secret": CANARY, "pandas": '{"x": "' + CANARY + '"}', **more}
    return pa.table({"town": TOWNS}, schema=pa.schema([field], metadata=metadata))


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("raw").mkdir()
    for name in ("a", "b"):
        pq.write_table(table(), f"raw/{name}.parquet")
    with pa.ipc.new_file("x.arrow", table().schema) as writer:
        writer.write_table(table())


def user_metadata(path: str) -> dict[str, str]:
    found = open_source(path).metadata
    return {key.decode(): value.decode() for key, value in found.items() if key not in (b"dpfast", b"ARROW:schema")}


@pytest.mark.parametrize("source", ["raw/a.parquet", "x.arrow"])
@pytest.mark.parametrize("target", ["out.parquet", "out.arrow", "out.arrows"])
def test_what_is_named_is_kept_and_nothing_else(source: str, target: str) -> None:
    sanitise_file(source, target, POLICY)
    assert user_metadata(target) == {}
    sanitise_file(source, target, POLICY, metadata=("licence", "owner"), overwrite=True)
    assert user_metadata(target) == KEPT
    assert CANARY.encode() not in Path(target).read_bytes()
    if target.endswith("parquet"):  # as readers of Arrow see it, too
        assert {key.decode() for key in pq.read_schema(target).metadata} == set(KEPT)


def test_parts_of_a_folder_have_it_and_it_is_part_of_the_job(key: bytes) -> None:
    how: dict[str, Any] = {"key": key, "context": "c"}
    first = sanitise_file("raw", "out", POLICY, **how, metadata=("licence",))
    assert user_metadata("out/a.parquet") == user_metadata("out/b.parquet") == {"licence": "CC0"}
    assert CANARY.encode() not in Path("out/a.parquet").read_bytes()
    assert sanitise_file("raw", "out", POLICY, **how, metadata=("licence",)).digest == first.digest
    for other in ((), ("owner",), ("licence", "owner")):
        with pytest.raises(FileError, match="exists"):
            sanitise_file("raw", "out", POLICY, **how, metadata=other)
    # the values are those of the same job without: only what else is published differs
    sanitise_file("raw", "bare", POLICY, **how)
    assert pq.ParquetFile("bare/a.parquet").read().equals(pq.ParquetFile("out/a.parquet").read())


@pytest.mark.parametrize(
    ("names", "error", "text"),
    [
        (("pandas",), ArgumentError, "never kept"),
        (("ARROW:schema",), ArgumentError, "never kept"),
        (("arrow:schema",), ArgumentError, "never kept"),
        (("dpfast",), ArgumentError, "never kept"),
        (("org.apache.spark.sql.parquet.row.metadata",), ArgumentError, "never kept"),
        (("",), ArgumentError, "never kept"),
        (("owner", "owner"), ArgumentError, "twice"),
        ("owner", ArgumentTypeError, "tuple"),
        ((1,), ArgumentTypeError, "tuple"),
        (("none",), FileError, "none of the name 'none'"),
    ],
)
def test_wrong_names_of_metadata(names: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        sanitise_file("raw", "out", POLICY, metadata=names)
    assert CANARY not in str(caught.value)
    assert not Path("out").exists()
    assert not Path(".out.dpfast-partial").exists()


def test_files_that_differ_and_formats_without() -> None:
    with pytest.raises(ArgumentError, match="CSV"):
        sanitise_file("raw", "out.csv", POLICY, metadata=("owner",))
    pq.write_table(table(owner=CANARY), "raw/b.parquet")
    with pytest.raises(FileError, match="different 'owner'") as caught:
        sanitise_file("raw", "out", POLICY, metadata=("owner",))
    assert CANARY not in str(caught.value)


def test_the_command_keeps_what_it_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    how = ["--column", f"town={','.join(TOWNS)}", "--epsilon", "1"]
    assert main(["sanitise", "raw/a.parquet", "out.parquet", *how, "--metadata", "owner", "--metadata", "licence"]) == 0
    assert user_metadata("out.parquet") == KEPT
    assert main(["verify", "out.parquet"]) == 0
    assert main(["sanitise", "raw/a.parquet", "other.parquet", *how, "--metadata", "pandas"]) == 1
    assert "never kept" in capsys.readouterr().err
