"""Sources and targets that are one place under two names, or lie in one another: no row is ever lost or read twice."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from dpfast import FileError, Ledger, Policy, Privacy, RandomisedResponse, sanitise_file
from dpfast._sources.places import Place, bare, decoding, reading
from dpfast.cli import main
from dpfast.etl.sources import open_source

TOWNS = ["Bray", "Cork", "Dingle", "Ennis"]
POLICY = Policy({"town": RandomisedResponse(TOWNS, epsilon=1.0)})


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # two folders deep: what leads out of a target is seen here and nowhere else
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    Path("raw").mkdir()
    for name in ("a", "b"):
        pq.write_table(pa.table({"town": TOWNS * 30}), f"raw/{name}.parquet")
    return Path.cwd()


def content(*roots: str) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for root in roots for path in Path(root).rglob("*") if path.is_file()}


@pytest.mark.parametrize("spelt", ["raw/", "raw//", "raw///", "./raw", "raw/.", "raw/../raw//", "../work//raw//"])
def test_a_folder_is_the_same_however_it_is_spelt(place: Path, key: bytes, spelt: str) -> None:
    for source in (spelt, str(place) + "//" + spelt):
        found = open_source(source)
        assert [file.name for file in found.files] == ["a.parquet", "b.parquet"]
        assert found.digest() == open_source("raw").digest()
    report = sanitise_file(spelt, "out", POLICY, key=key, context="c")
    assert sorted(content("out")) == ["out/_dpfast.json", "out/a.parquet", "out/b.parquet"]
    assert sanitise_file("raw", "out", POLICY, key=key, context="c").digest == report.digest


def views(place: Path) -> list[Any]:
    """This machine's files, as other file systems show them."""
    dirs = pytest.importorskip("fsspec.implementations.dirfs")
    local = pytest.importorskip("fsspec.implementations.local").LocalFileSystem()
    part = pafs.SubTreeFileSystem(str(place), pafs.LocalFileSystem())
    return [
        lambda name: (part, name),
        lambda name: (pafs.SubTreeFileSystem("raw", part), "../" + name if "/" not in name else name.removeprefix("raw/")),
        lambda name: (local, str(place / name)),
        lambda name: f"local://{place}/{name}",
        lambda name: (dirs.DirFileSystem(str(place), local), name),
    ]


@pytest.mark.parametrize("number", range(5))
def test_no_view_of_a_source_is_a_target(place: Path, number: int) -> None:
    view, before = views(place)[number], content("raw")
    for source, target in [
        ("raw/a.parquet", view("raw/a.parquet")),
        (view("raw/a.parquet"), "raw/a.parquet"),
        (view("raw/a.parquet"), view("raw/a.parquet")),
    ]:
        with pytest.raises(FileError, match="the target is the source"):
            sanitise_file(source, target, POLICY, overwrite=True)
    for source, target in [("raw", view("raw/out")), ("raw", view("raw/all.parquet"))]:
        with pytest.raises(FileError, match="lies in the source"):
            sanitise_file(source, target, POLICY, overwrite=True)
    assert content("raw") == before
    os.link("raw/a.parquet", "linked.parquet")
    with pytest.raises(FileError, match="the target is the source"):
        sanitise_file("linked.parquet", view("raw/a.parquet"), POLICY, overwrite=True)


def test_a_bare_place_of_another_file_system_is_itself() -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = pafs.PyFileSystem(pafs.FSSpecHandler(fsspec.filesystem("memory")))
    inner = bare(Place("x/y", pafs.SubTreeFileSystem("base", memory)))
    assert inner.path == "base/x/y"
    assert inner.filesystem is not None
    assert inner.filesystem.equals(memory)
    assert bare(Place("x")) == Place("x")


@pytest.mark.parametrize("link", ["file", "folder"])
def test_what_a_link_of_the_source_leads_to_is_not_replaced(link: str) -> None:
    sanitise_file("raw", "out", POLICY)
    before = content("out")
    os.symlink("../out/b.parquet" if link == "file" else "../out", "raw/c.parquet" if link == "file" else "raw/sub")
    with pytest.raises(FileError, match="the source in it"):
        sanitise_file("raw", "out", POLICY, overwrite=True)
    assert content("out") == before
    Path("elsewhere").mkdir()
    pq.write_table(pa.table({"town": TOWNS}), "elsewhere/d.parquet")
    os.unlink("raw/c.parquet" if link == "file" else "raw/sub")
    os.symlink("../elsewhere/d.parquet" if link == "file" else "../elsewhere", "raw/d.parquet" if link == "file" else "raw/sub")
    assert sanitise_file("raw", "out", POLICY, overwrite=True).files == 3


def test_the_unfinished_work_of_a_target_is_not_its_source() -> None:
    Path(".out.dpfast-partial").mkdir()
    os.rename("raw", ".out.dpfast-partial/data")
    before = content(".out.dpfast-partial")
    for source in (".out.dpfast-partial/data", ".out.dpfast-partial/data/*.parquet"):
        with pytest.raises(FileError, match="the source in it"):
            sanitise_file(source, "out", POLICY)
    assert content(".out.dpfast-partial") == before


def test_names_that_are_no_text_are_said_to_be_so() -> None:
    os.rename("raw/a.parquet", b"raw/\xff.parquet")
    for source in ("raw", os.fsdecode(b"raw/\xff.parquet")):
        with pytest.raises(FileError, match="UTF-8"):
            sanitise_file(source, "out.parquet", POLICY)


def test_too_little_memory_is_not_a_damaged_source() -> None:
    for guard in (reading(Place("x")), decoding(Place("x"), "damaged")):
        with pytest.raises(MemoryError), guard:
            raise pa.ArrowMemoryError("malloc of size 1 failed")


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_file_under_two_names_is_released_once(kind: str) -> None:
    if kind == "file":
        os.symlink("a.parquet", "raw/c.parquet")
    else:
        os.symlink("..", "raw/loop")
        os.rename("raw", "outer")
        Path("raw").mkdir()
        os.rename("outer", "raw/outer")
    for target in ("out", "out.parquet"):
        with pytest.raises(FileError, match="are one file"):
            sanitise_file("raw", target, POLICY)
    assert sanitise_file("raw/[ab].parquet" if kind == "file" else "raw/outer/*.parquet", "out", POLICY).files == 2


@pytest.mark.parametrize("target", ["out", "out/ledger.db", "out/key", "./out/../out"])
def test_what_a_job_needs_is_not_replaced(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "raw" if target.endswith("out") else "raw/a.parquet"
    sanitise_file("raw", "out", POLICY)
    ledger = Ledger("out/ledger.db", cap=Privacy(5.0))
    assert main(["keygen", "out/key"]) == 0
    before = content("out")
    if not target.endswith("key"):
        with pytest.raises(FileError, match="ledger of this job"):
            sanitise_file(source, target, POLICY, ledger=ledger, overwrite=True)
    if not target.endswith("db"):
        with pytest.raises(FileError, match="key of this job"):
            sanitise_file(source, target, POLICY, key="out/key", context="c", overwrite=True)
        how = ["--column", "town=" + ",".join(TOWNS), "--epsilon", "1", "--key", "out/key", "--context", "c", "--overwrite"]
        assert main(["sanitise", source, target, *how]) == 1
    assert content("out") == before
