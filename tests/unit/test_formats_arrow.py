"""Arrow IPC: dictionaries are the declared domains, whole and from the first batch on; and where a stream ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import CorruptDataError, Domain, Policy, RandomisedResponse, sanitise_file


def exact(values: Any, epsilon: float = 44.0) -> RandomisedResponse:
    return RandomisedResponse(Domain(values), epsilon=epsilon)


@pytest.mark.parametrize("target", ["arrow", "arrows"])
def test_dictionaries_that_change_from_batch_to_batch(tmp_path: Path, target: str) -> None:
    schema = pa.schema([("x", pa.dictionary(pa.int8(), pa.string())), ("y", pa.dictionary(pa.int8(), pa.string()))])
    expected = []
    with pa.ipc.new_stream(str(tmp_path / "s.arrows"), schema) as writer:
        for entries in (["a", "b"], ["b", "a"], ["c", "a", "b"], ["a"], ["b"]):
            part = pa.DictionaryArray.from_arrays(pa.array([0, len(entries) - 1, None], pa.int8()), pa.array(entries))
            expected += part.to_pylist()
            writer.write_batch(pa.record_batch([part, part], schema=schema))
    policy = Policy({"x": exact(["c", "b", "a", None]), "y": "public"})
    sanitise_file(tmp_path / "s.arrows", tmp_path / f"t.{target}", policy)
    opened = pa.ipc.open_file if target == "arrow" else pa.ipc.open_stream
    out = opened(pa.OSFile(str(tmp_path / f"t.{target}"))).read_all()
    assert out["x"].to_pylist() == out["y"].to_pylist() == expected
    assert out.schema.field("x").type == schema.field("x").type
    assert [chunk.dictionary.to_pylist() for chunk in out["x"].chunks] == [["c", "b", "a"]]
    assert pl.DataFrame(out)["x"].to_list() == expected


@pytest.mark.parametrize("target", ["arrow", "arrows"])
def test_no_rows_and_yet_the_whole_dictionary(tmp_path: Path, target: str) -> None:
    table = pa.table({"x": pa.array([], pa.dictionary(pa.int8(), pa.large_string())), "n": pa.array([], pa.int8())})
    pq.write_table(table, tmp_path / "s.parquet")
    sanitise_file(tmp_path / "s.parquet", tmp_path / f"t.{target}", Policy({"x": exact(["a", "b"]), "n": "public"}))
    opened = pa.ipc.open_file if target == "arrow" else pa.ipc.open_stream
    out = opened(pa.OSFile(str(tmp_path / f"t.{target}"))).read_all()
    assert (out.num_rows, out["x"].type) == (0, pq.read_schema(tmp_path / "s.parquet").field("x").type)
    assert out["x"].chunk(0).dictionary.to_pylist() == ["a", "b"]


def test_a_stream_without_its_end_is_cut(tmp_path: Path) -> None:
    table = pa.table({"x": ["a", "b"] * 50})
    with pa.ipc.new_stream(str(tmp_path / "s.arrows"), table.schema) as writer:
        writer.write_table(table, max_chunksize=20)
    whole = (tmp_path / "s.arrows").read_bytes()
    policy = Policy({"x": exact(["a", "b"])})
    assert sanitise_file(tmp_path / "s.arrows", tmp_path / "t.csv", policy).rows == 100
    (tmp_path / "s.arrows").write_bytes(whole[:-8])  # a reader sees five whole batches
    with pytest.raises(CorruptDataError, match="truncated"):
        sanitise_file(tmp_path / "s.arrows", tmp_path / "t.csv", policy, overwrite=True)
