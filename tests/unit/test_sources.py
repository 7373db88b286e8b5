"""What a source is made of: files, folders, patterns, addresses, columns in the names of folders, and what does not fit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from dpfast import ArgumentError, ArgumentTypeError, CorruptDataError, FileError, Policy, RandomisedResponse, Stream
from dpfast._sources.names import file_format, matches, partition_of
from dpfast.etl.jobs import source_digest
from dpfast.etl.sources import Source, open_source

TOWNS = ["Bray", "Cork", "Dingle"]


def write(path: Path, table: pa.Table | dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), path)
    return path


def rows(source: Source) -> list[dict[str, Any]]:
    return [row for batch in source.batches(source.schema.names) for row in batch.to_pylist()]


def names(source: Source) -> list[str]:
    return [file.name for file in source.files]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with files at several depths, and much that is no data."""
    for number, name in enumerate(["b.parquet", "a.parquet", "sub/c.PARQUET", "sub/deep/d.parq"]):
        write(tmp_path / "tree" / name, {"town": TOWNS, "file": [number] * 3})
    for name in ["_SUCCESS", ".part", "x.tmp", ".a.parquet.crc", "_temporary/e.parquet", ".hidden/f.parquet", "_g.parquet"]:
        path = tmp_path / "tree" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"no data")
    return tmp_path / "tree"


def test_a_single_file_has_no_name_of_its_own(tree: Path) -> None:
    source = open_source(tree / "a.parquet")
    (file,) = source.files
    assert (file.name, file.format, file.partition, file.rows, source.is_folder) == ("", "parquet", {}, 3, False)
    assert source.digest() == source_digest([("", tree / "a.parquet")])
    with file.open() as reader:
        assert reader.schema == source.schema


def test_a_folder_is_read_to_its_depths_but_for_what_is_no_data(tree: Path) -> None:
    source = open_source(tree)
    assert names(source) == ["a.parquet", "b.parquet", "sub/c.PARQUET", "sub/deep/d.parq"]
    assert [row["file"] for row in rows(source)][::3] == [1, 0, 2, 3]
    assert (source.is_folder, source.rows) == (True, 12)
    assert "_SUCCESS" in source.skipped
    assert "x.tmp" in source.skipped
    assert ".hidden/f.parquet" in source.skipped
    assert source.digest() == source_digest([(name, tree / name) for name in reversed(names(source))])


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.parquet", ["a.parquet", "b.parquet"]),
        ("?.parquet", ["a.parquet", "b.parquet"]),
        ("[a]*", ["a.parquet"]),
        ("sub/*", ["c.PARQUET"]),
        ("*/*.PARQUET", ["sub/c.PARQUET"]),
        ("**/*.par*", ["a.parquet", "b.parquet", "sub/deep/d.parq"]),
        ("sub/**/d.parq", ["deep/d.parq"]),
    ],
)
def test_patterns(tree: Path, pattern: str, found: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert names(open_source(f"{tree}/{pattern}")) == found
    monkeypatch.chdir(tree)
    assert names(open_source(pattern)) == found
    assert names(open_source(f"file://{tree}/{pattern}")) == found


def test_a_name_with_signs_of_patterns_is_a_name(tmp_path: Path) -> None:
    write(tmp_path / "a[1].parquet", {"x": [1]})
    write(tmp_path / "a1.parquet", {"x": [2]})
    assert rows(open_source(tmp_path / "a[1].parquet")) == [{"x": 1}]


def test_folders_spell_columns(tmp_path: Path) -> None:
    for year, place, number in [("2024", "a%2Fb", 1), ("2025", "c d", 2), ("-7", "__HIVE_DEFAULT_PARTITION__", 3)]:
        write(tmp_path / f"year={year}/place={place}/x.parquet", {"n": [number] * 2})
    source = open_source(tmp_path)
    assert [(field.name, field.type) for field in source.schema] == [
        ("n", pa.int64()),
        ("year", pa.int64()),
        ("place", pa.string()),
    ]
    seen = {row["n"]: (row["year"], row["place"]) for row in rows(source)}
    assert seen == {1: (2024, "a/b"), 2: (2025, "c d"), 3: (-7, None)}
    assert [file.partition for file in source.files if file.partition["year"] == 2024] == [{"year": 2024, "place": "a/b"}]
    (batch,) = next(iter(source.files)).open().batches(["year"])
    assert batch.column("year").to_pylist() == [-7, -7]


@pytest.mark.parametrize("value", ["007", "+1", "1.0", "", " 1", "9223372036854775808", "1_0"])
def test_a_value_that_is_no_plain_integer_makes_text(tmp_path: Path, value: str) -> None:
    write(tmp_path / "k=1/x.parquet", {"n": [1]})
    write(tmp_path / f"k={value}/x.parquet", {"n": [2]})
    assert open_source(tmp_path).schema.field("k").type == pa.string()
    assert {row["k"] for row in rows(open_source(tmp_path))} == {"1", value}


def test_columns_of_folders_take_the_type_of_their_domain(tmp_path: Path) -> None:
    for year in (2024, 2025):
        write(tmp_path / f"year={year}/x.parquet", {"town": TOWNS})
    keep = RandomisedResponse(TOWNS, epsilon=1.0)
    for values in (["2024", "2025"], [2024, 2025]):
        policy = Policy({"town": keep, "year": RandomisedResponse(values, epsilon=1.0)})
        assert policy.check(tmp_path).ok
        assert not policy.check(str(tmp_path)).findings
        short = Policy({"town": keep, "year": RandomisedResponse([*values[:1], values[0] * 2], epsilon=1.0)})
        assert [(finding[0], str(finding[1])) for finding in short.check(tmp_path).findings] == [("year", "2025")]


# what does not fit


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        ({"x": [1], "y": [1]}, {"x": [1]}, r"'a.parquet' has a column 'y' and 'b.parquet' has none"),
        ({"x": [1]}, {"x": [1], "y": [1]}, r"'b.parquet' has a column 'y' and 'a.parquet' has none"),
        ({"x": [1]}, {"x": ["SECRET"]}, r"'x' has type int64 in 'a.parquet' and string in 'b.parquet'"),
        ({"x": pa.array([1], pa.uint8())}, {"x": pa.array([1], pa.int64())}, "'x' has type uint8 in"),
        ({"x": ["SECRET"]}, {"x": pa.array(["SECRET"]).dictionary_encode()}, "'x' has type string in .* and dictionary"),
        ({"x": pa.array([None])}, {"x": ["SECRET"]}, "'x' has type null"),
    ],
)
def test_files_that_differ_in_their_columns(tmp_path: Path, one: Any, other: Any, text: str) -> None:
    write(tmp_path / "a.parquet", one)
    write(tmp_path / "b.parquet", other)
    with pytest.raises(FileError, match=text) as caught:
        open_source(tmp_path)
    assert "SECRET" not in str(caught.value)


def test_files_may_differ_in_order_and_in_the_width_of_places(tmp_path: Path) -> None:
    def coded(width: pa.DataType, values: list[str]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array([0, 1], width), pa.array(values))

    write(tmp_path / "a.parquet", {"x": coded(pa.int8(), ["a", "b"]), "y": [1, 2]})
    write(tmp_path / "b.parquet", {"y": [3, 4], "x": coded(pa.int16(), ["b", "a"])})
    source = open_source(tmp_path)
    assert source.schema.names == ["x", "y"]
    assert source.schema.field("x").type == pa.dictionary(pa.int16(), pa.string())
    assert [(row["x"], row["y"]) for row in rows(source)] == [("a", 1), ("b", 2), ("b", 3), ("a", 4)]


def test_a_column_stands_in_files_or_folders_not_in_both(tmp_path: Path) -> None:
    write(tmp_path / "key=1/x.parquet", {"key": pa.array([1], pa.uint8())})
    with pytest.raises(FileError, match="'key' stands both"):
        open_source(tmp_path)


def test_wrong_sources(tmp_path: Path, tree: Path) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "uneven/a=1/x.parquet", {"n": [1]})
    write(tmp_path / "uneven/b=1/x.parquet", {"n": [1]})
    write(tmp_path / "twice/a=1/a=2/x.parquet", {"n": [1]})
    write(tmp_path / "mixed/a.parquet", {"n": [1]})
    (tmp_path / "mixed/b.csv").write_text("n\n1\n")
    (tmp_path / "table.json").write_text("{}")
    wrong: list[tuple[type[Exception], str, Any]] = [
        (FileError, "No such file", tmp_path / "none.parquet"),
        (FileError, "no file fits", f"{tree}/*.none"),
        (FileError, "no file fits", f"{tmp_path}/none/*.parquet"),
        (FileError, "holds no file", tmp_path / "empty"),
        (FileError, "spell columns of different names", tmp_path / "uneven"),
        (FileError, "'a' twice", tmp_path / "twice"),
        (FileError, "not of one format: 'a.parquet' and 'b.csv'", tmp_path / "mixed"),
        (FileError, "device", "/dev/null"),
        (ArgumentError, r"a \.json file", tmp_path / "table.json"),
        (ArgumentError, "no known kind", "nowhere://a/b"),
        (ArgumentError, "empty", ""),
        (ArgumentError, "null character", "a\0b"),
        (ArgumentTypeError, "must be a path", b"bytes"),
        (ArgumentTypeError, "pair of a file system", ("a", "b", "c")),
        (ArgumentTypeError, "pyarrow.fs or fsspec", ("a", "b")),
        (CorruptDataError, "not a Parquet file", tree / "x.tmp"),
    ]
    for error, text, source in wrong:
        with pytest.raises(error, match=text):
            open_source(source)


def test_a_file_that_is_replaced_between_plan_and_work(tree: Path) -> None:
    source = open_source(tree)
    write(tree / "b.parquet", {"town": ["Bray"], "file": [9]})
    with pytest.raises(FileError, match="changed"):
        rows(source)
    os.unlink(tree / "b.parquet")
    with pytest.raises(FileError, match="changed"):
        source.files[1].check_unchanged()


def test_files_of_many_formats_by_their_names() -> None:
    expected = {"a.PARQUET": "parquet", "a.csv": "csv", "a.b.csv.gz": "csv.gz", "a.csv.zst": "csv.zst", "a.arrow": "ipc"}
    expected |= {"a.feather": "ipc", "a.ipc": "ipc", "a.arrows": "arrows", "csv/a.pq": "parquet"}
    assert {name: file_format(name) for name in expected} == expected
    assert [file_format(name) for name in ("a", "a.gz", "csv", "a.csv.tmp", "a.parquet/b")] == [None] * 5
    assert matches("a/b/c", "**/c")
    assert not matches("a/b/c", "*/c")
    assert partition_of("k=v=w/=x/y/z=1.parquet") == {"k": "v=w"}


# addresses


@pytest.fixture
def memory() -> Any:
    filesystem = fsspec.filesystem("memory")
    filesystem.store.clear()
    yield filesystem
    filesystem.store.clear()


@pytest.fixture
def policy() -> Policy:
    return Policy({"town": RandomisedResponse(TOWNS, epsilon=1.0), "file": "public"})


def test_every_address_of_a_file_is_the_file(tree: Path, memory: Any) -> None:
    memory.put(str(tree / "a.parquet"), "/data/a.parquet")
    subtree = pafs.SubTreeFileSystem(str(tree), pafs.LocalFileSystem())
    expected = rows(open_source(tree / "a.parquet"))
    digest = open_source(tree / "a.parquet").digest()
    sources: list[Any] = [
        f"file://{tree}/a.parquet",
        (pafs.LocalFileSystem(), str(tree / "a.parquet")),
        (subtree, "a.parquet"),
        (memory, "data/a.parquet"),
        "memory://data/a.parquet",
    ]
    for source in sources:
        assert rows(open_source(source)) == expected
        assert open_source(source).digest() == digest
    assert rows(open_source("a.parquet", filesystem=subtree)) == expected


def test_folders_and_patterns_of_addresses(tree: Path, memory: Any) -> None:
    for name in ("a.parquet", "b.parquet", "sub/c.PARQUET"):
        memory.put(str(tree / name), f"/data/{name}")
    memory.pipe("/data/_SUCCESS", b"")
    local = pafs.SubTreeFileSystem(str(tree), pafs.LocalFileSystem())
    assert names(open_source("memory://data")) == ["a.parquet", "b.parquet", "sub/c.PARQUET"]
    assert names(open_source("memory://data/*.parquet")) == ["a.parquet", "b.parquet"]
    assert names(open_source((local, ""))) == names(open_source(tree))
    assert names(open_source((local, "*.parquet"))) == ["a.parquet", "b.parquet"]
    assert open_source((local, "")).digest() == open_source(tree).digest()
    with pytest.raises(FileError, match="No such file"):
        open_source("memory://data/none.parquet")


def test_jobs_between_addresses(tree: Path, memory: Any, policy: Policy) -> None:
    from dpfast import sanitise_file

    def released(source: Any, target: Any, **options: Any) -> Any:
        return sanitise_file(source, target, policy, rng=Stream.insecure(3), **options)

    released(tree / "a.parquet", tree.parent / "out.parquet")
    expected = (tree.parent / "out.parquet").read_bytes()
    memory.put(str(tree / "a.parquet"), "/data/a.parquet")
    local = pafs.SubTreeFileSystem(str(tree.parent), pafs.LocalFileSystem())
    released("memory://data/a.parquet", "memory://data/out.parquet")
    assert memory.cat("/data/out.parquet") == expected
    released("memory://data/a.parquet", (local, "sub.parquet"))
    assert (tree.parent / "sub.parquet").read_bytes() == expected
    released(tree / "a.parquet", "memory://data/out.csv")
    assert memory.cat("/data/out.csv").startswith(b"town,file\n")
    assert b"epsilon" in memory.cat("/data/out.csv.dpfast.json")
    before = dict(memory.store)
    for error, source, target in [
        ("exists", "memory://data/a.parquet", "memory://data/out.parquet"),
        ("the target is the source", "memory://data/a.parquet", "memory://data/a.parquet"),
        ("is a folder", "memory://data/a.parquet", "memory://data"),
    ]:
        with pytest.raises(FileError, match=error):
            released(source, target)
    assert {name: memory.cat(name) for name in before} == {name: file.getvalue() for name, file in before.items()}
    released("memory://data/a.parquet", "memory://data/out.parquet", overwrite=True)


def test_a_job_that_fails_sends_nothing(tree: Path, memory: Any) -> None:
    from dpfast import OutsideDomainError, sanitise_file

    short = Policy({"town": RandomisedResponse(TOWNS[:2], epsilon=1.0), "file": "public"})
    with pytest.raises(OutsideDomainError):
        sanitise_file(tree / "a.parquet", "memory://out/x.parquet", short)
    assert memory.store == {}


def test_what_does_not_arrive_whole_is_taken_away(tree: Path, memory: Any, policy: Policy, monkeypatch: Any) -> None:
    from fsspec.implementations.memory import MemoryFile

    from dpfast import sanitise_file

    write_all = MemoryFile.write
    monkeypatch.setattr(MemoryFile, "write", lambda self, data: write_all(self, bytes(data)[:-1]) + 1)
    with pytest.raises(FileError, match="whole"):
        sanitise_file(tree / "a.parquet", "memory://out/x.parquet", policy)
    assert "/out/x.parquet" not in memory.store

    def full(self: Any, data: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(MemoryFile, "write", full)
    with pytest.raises(FileError, match="No space left"):
        sanitise_file(tree / "a.parquet", "memory://out/x.parquet", policy)
    assert "/out/x.parquet" not in memory.store


def test_policies_check_and_estimate_every_source(tree: Path, memory: Any, policy: Policy, tmp_path: Path) -> None:
    memory.put(str(tree), "/tree", recursive=True)
    table = pa.Table.from_pylist(rows(open_source(tree)))
    pacsv.write_csv(table, tmp_path / "t.csv")
    for source in (tree, str(tree), f"{tree}/**/*.parq*", "memory://tree", (memory, "/tree"), tmp_path / "t.csv"):
        assert policy.check(source).ok
    expected = policy.estimate(table, "town").frequency.tolist()
    for source in (tree, "memory://tree", tmp_path / "t.csv"):
        assert policy.estimate(source, "town").frequency.tolist() == expected
