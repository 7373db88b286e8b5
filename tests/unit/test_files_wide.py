"""Public text of any length: memory is bounded by bytes, and row groups depend on public values alone."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from memory import PEAK

from dpfast import Policy, RandomisedResponse, Stream, _parquet, sanitise_file
from dpfast._parquet import ParquetSource
from dpfast.etl import parquet
from dpfast.etl.parquet import row_bytes

POLICY = Policy({"town": RandomisedResponse(["Bray", "Cork"], epsilon=1.0)}, unlisted="public")

# Peak of memory in use by the job above that of the interpreter with all libraries loaded, in MiB.
JOB = """
import pyarrow.parquet
from dpfast import Policy, RandomisedResponse, Stream, sanitise_file
policy = Policy({"town": RandomisedResponse(["Bray", "Cork"], epsilon=1.0)}, unlisted="public")
sanitise_file("small.parquet", "out.parquet", policy, rng=Stream.insecure(1), progress=False)
before = peak()
sanitise_file("wide.parquet", "out.parquet", policy, rng=Stream.insecure(1), progress=False, overwrite=True)
print(peak() - before)
"""


def towns(rows: int) -> pa.Array:
    return pa.array(["Bray", "Cork"]).take(pa.array(np.arange(rows) % 2))


def texts(rows: int, size: int, *, distinct: bool) -> pa.Array:
    data = np.random.default_rng(3).integers(32, 127, rows * size if distinct else 200 * size, np.uint8)
    values = pa.Array.from_buffers(
        pa.string(), len(data) // size, [None, pa.py_buffer(np.arange(0, len(data) + 1, size, "i4")), pa.py_buffer(data)]
    )
    return values if distinct else values.take(pa.array(np.arange(rows) % 200))


@pytest.mark.parametrize("shape", ["distinct", "repeated", "shared beginnings", "lists", "lists of repeated"])
def test_memory_does_not_grow_with_the_length_of_public_text(tmp_path: Path, shape: str) -> None:
    rows, size = 100_000, 3000  # 300 MB of text in one row group
    schema = pa.schema({"town": pa.string(), "text": pa.string()})
    options: dict[str, Any] = {}
    column = texts(rows, size, distinct=shape in ("distinct", "lists"))
    if shape.startswith("lists"):
        column = pa.ListArray.from_arrays(pa.array(np.arange(rows + 1), pa.int32()), column)
        schema = schema.set(1, pa.field("text", column.type))
    if shape == "shared beginnings":
        options = {"use_dictionary": ["town"], "column_encoding": {"text": "DELTA_BYTE_ARRAY"}}
    table = pa.table([towns(rows), column], schema=schema)
    pq.write_table(table, tmp_path / "wide.parquet", row_group_size=rows, compression="none", **options)
    pq.write_table(table.slice(0, 3), tmp_path / "small.parquet")
    del table, column
    done = subprocess.run([sys.executable, "-c", PEAK + JOB], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert int(done.stdout) < 280  # reading it whole takes 600 and more
    footer = pq.read_metadata(tmp_path / "out.parquet")
    assert footer.num_rows == rows
    longest = max(footer.row_group(group).num_rows for group in range(footer.num_row_groups))
    assert longest == parquet.GROUP_TEXT_BYTES // size


def released(source: Path, **options: Any) -> bytes:
    target = source.with_name("target.parquet")
    sanitise_file(source, target, POLICY, rng=Stream.insecure(5), overwrite=True, progress=False, **options)
    return target.read_bytes()


def group_lengths(data: bytes) -> list[int]:
    footer = pq.ParquetFile(io.BytesIO(data)).metadata
    return [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]


def test_row_groups_are_cut_by_the_bytes_of_public_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP_TEXT_BYTES", 100)
    lengths = [60, 40, 1, 100, 101, 250, 0, 50, 50, 0, 1, 99]
    table = pa.table({"town": towns(12), "text": ["x" * length for length in lengths]})
    pq.write_table(table, tmp_path / "source.parquet")
    out = released(tmp_path / "source.parquet")
    # sums 100; 1; 100; 101 and 250 alone; 0 + 50 + 50 + 0; 1 + 99
    assert group_lengths(out) == [2, 1, 1, 1, 1, 4, 2]
    assert pq.read_table(io.BytesIO(out))["text"].to_pylist() == table["text"].to_pylist()


@pytest.mark.parametrize("form", ["plain", "dictionary", "shared beginnings", "large", "view", "nested"])
def test_wide_files_do_not_depend_on_cut_threads_or_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setattr(parquet, "GROUP_TEXT_BYTES", 20_000)
    rows = 3000
    lengths = np.random.default_rng(4).integers(0, 300, rows)
    values = ["abc"[row % 3] * int(length) if row % 11 else None for row, length in enumerate(lengths)]
    types = {"large": pa.large_string(), "view": pa.string_view(), "nested": pa.list_(pa.string())}
    cells = [None if value is None else [value, "y"] for value in values] if form == "nested" else values
    column = pa.array(cells, types.get(form, pa.string()))
    options: dict[str, Any] = {"use_dictionary": form != "plain"}
    if form == "shared beginnings":
        options = {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}}
    table = pa.table({"town": towns(rows), "text": column})
    source = tmp_path / "source.parquet"
    pq.write_table(table, source, **options)
    usual = released(source)
    assert len(group_lengths(usual)) > 10
    assert pq.read_table(io.BytesIO(usual))["text"].to_pylist() == table["text"].to_pylist()
    for cut, batch, threads in [(7, 100, 1), (1000, 333, 2), (rows, 64, 4)]:
        pq.write_table(table, source, row_group_size=cut, **options)
        monkeypatch.setattr(_parquet, "BATCH_ROWS", batch)
        assert released(source, threads=threads) == usual


def test_a_dictionary_of_the_source_is_not_held_once_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_parquet, "BATCH_ROWS", 50)
    rows = 20_000
    text = ["y"] * rows
    text[::100] = [f"{row:020000}" for row in range(rows // 100)]  # a dictionary of 4 MB and one row group
    monkeypatch.setattr(parquet, "GROUP_TEXT_BYTES", 1 << 30)
    table = pa.table({"town": towns(rows), "text": text})
    pq.write_table(table, tmp_path / "source.parquet", dictionary_pagesize_limit=1 << 30)
    with ParquetSource(tmp_path / "source.parquet") as source:
        assert pa.types.is_dictionary(next(source.batches(["text"], repetitive=["text"])).column("text").type)
    pool = pa.default_memory_pool()
    held: list[int] = []
    before = pool.bytes_allocated()
    sanitise_file(
        tmp_path / "source.parquet",
        tmp_path / "target.parquet",
        POLICY,
        rng=Stream.insecure(1),
        threads=1,
        progress=lambda *_: held.append(pool.bytes_allocated() - before),
    )
    assert len(held) == rows // 50
    assert max(held) < 10 * 4_000_000


def test_the_private_column_does_not_move_a_row_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP_TEXT_BYTES", 1000)
    source = tmp_path / "source.parquet"
    layouts = []
    for town in ("Bray", "Cork"):
        pq.write_table(pa.table({"town": [town] * 500, "text": ["x" * (row % 50) for row in range(500)]}), source)
        layouts.append(group_lengths(released(source)))
    assert layouts[0] == layouts[1]
    assert len(layouts[0]) > 5


def test_texts_with_shared_beginnings_are_sanitised_too(tmp_path: Path) -> None:
    source = tmp_path / "source.parquet"
    options: dict[str, Any] = {"use_dictionary": False, "column_encoding": {"town": "DELTA_BYTE_ARRAY"}}
    pq.write_table(pa.table({"town": towns(100)}), source, **options)
    odd = pq.read_table(io.BytesIO(released(source)))
    pq.write_table(pa.table({"town": towns(100)}), source)
    assert odd == pq.read_table(io.BytesIO(released(source)))


def test_batches_are_cut_by_what_the_footer_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_parquet, "BATCH_TEXT_BYTES", 10_000)
    monkeypatch.setattr(_parquet, "BATCH_BYTES", 80_000)
    monkeypatch.setattr(_parquet, "BLIND_ROWS", 50)
    rows = 2000
    long = [f"{row:0100}" for row in range(rows)]
    few = ["x" * 90 + str(row % 4) for row in range(rows)]
    table = pa.table({"long": long, "few": few, "lists": [[text] for text in few], "number": range(rows)})
    path = tmp_path / "source.parquet"
    pq.write_table(table, path, use_dictionary=["few", "lists.list.element"])
    with ParquetSource(path) as source:

        def sizes(name: str, **how: Any) -> int:
            return max(batch.num_rows for batch in source.batches([name], **how))

        assert 80 <= sizes("long") <= 100
        assert sizes("few") == 50  # the footer cannot tell that the texts are long
        assert sizes("few", repetitive=["few", "long"]) == rows
        assert sizes("lists") == 50
        assert sizes("number") == rows
        monkeypatch.setattr(_parquet, "BATCH_BYTES", 8000)
        assert sizes("number") == 1000
        [*batches] = source.batches(["few", "long"], repetitive=["few", "long"])
        assert pa.types.is_dictionary(batches[0].column("few").type)
        assert batches[0].column("long").type == pa.string()  # as a dictionary it would be slow to read


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["ab", None, "ä"], pa.string(), [2, 0, 2]),
        (["ab", None, "ä"], pa.large_string(), [2, 0, 2]),
        (["ab", None, "a" * 50], pa.string_view(), [2, 0, 50]),
        ([b"ab", None, b""], pa.binary_view(), [2, 0, 0]),
        (["ab", None, "abc"], pa.dictionary(pa.int8(), pa.string()), [2, 0, 3]),
        ([1, None, 3], pa.int16(), [2, 2, 2]),
        ([True, None, False], pa.bool_(), [1, 1, 1]),
        ([None, None, None], pa.null(), [0, 0, 0]),
        ([[1, 2], None, []], pa.list_(pa.int32()), [8, 0, 0]),
        ([["a", "bcd"], None, [None]], pa.large_list(pa.string()), [4, 0, 0]),
        ([["a", "bcd"], None, ["x", None]], pa.list_(pa.string(), 2), [4, 0, 1]),
        (
            [{"a": 1, "b": "xyz"}, {"a": 2, "b": None}, {"a": 3, "b": ""}],
            pa.struct({"a": pa.int64(), "b": pa.string()}),
            [11, 8, 8],
        ),
        ([[("k", "long")], None, [("a", "b"), ("c", None)]], pa.map_(pa.string(), pa.string()), [5, 0, 3]),
    ],
)
def test_bytes_of_rows(values: list[Any], kind: pa.DataType, expected: list[int]) -> None:
    array = pa.array(values, kind)
    assert row_bytes(array).tolist() == expected
    assert row_bytes(array.slice(1)).tolist() == expected[1:]
    assert row_bytes(array.slice(3)).tolist() == []
