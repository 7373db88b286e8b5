"""Targets that appear whole or not at all, digests of sources, helper threads."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from dpfast import FileError
from dpfast.etl import jobs
from dpfast.etl.jobs import AtomicFile, Background, background, read_ahead, source_digest


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def atomic(target: Path, *sources: Path, overwrite: bool = False) -> AtomicFile:
    return AtomicFile(target, sources=sources, overwrite=overwrite)


def test_a_committed_file_is_there_and_nothing_else(tmp_path: Path) -> None:
    place = atomic(tmp_path / "out.parquet")
    with place as file:
        [hidden] = names(tmp_path)
        assert hidden.startswith(".out.parquet.")
        assert hidden.endswith(".tmp")
        assert stat.S_IMODE((tmp_path / hidden).stat().st_mode) == 0o600
        file.write(b"whole")
        place.commit()
    assert names(tmp_path) == ["out.parquet"]
    assert (tmp_path / "out.parquet").read_bytes() == b"whole"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, MemoryError, None])
@pytest.mark.parametrize("old", [b"old", None])
def test_without_a_commit_nothing_changes(tmp_path: Path, error: type[BaseException] | None, old: bytes | None) -> None:
    target = tmp_path / "out"
    if old is not None:
        target.write_bytes(old)

    def write_half() -> None:
        with atomic(target, overwrite=True) as file:
            file.write(b"half")
            if error is not None:
                raise error

    with pytest.raises(error) if error else nullcontext():
        write_half()
    assert names(tmp_path) == ([] if old is None else ["out"])
    assert old is None or target.read_bytes() == old


def test_new_files_have_the_rights_of_new_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        place = atomic(tmp_path / "new")
        with place:
            place.commit()
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_replaced_file_keeps_its_rights(tmp_path: Path) -> None:
    target = tmp_path / "old"
    target.write_bytes(b"old")
    target.chmod(0o604)
    place = atomic(target, overwrite=True)
    with place as file:
        file.write(b"new")
        place.commit()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o604


@pytest.mark.parametrize("overwrite", [False, True])
def test_file_and_folder_are_flushed_around_the_naming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool) -> None:
    calls: list[str] = []
    call = "replace" if overwrite else "link"
    flush, give = os.fsync, getattr(os, call)

    def fsync(descriptor: int) -> None:
        calls.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        flush(descriptor)

    def name(old: Any, new: Any) -> None:
        assert Path(old).read_bytes() == b"all of it"
        calls.append("name")
        give(old, new)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, call, name)
    place = atomic(tmp_path / "out", overwrite=overwrite)
    with place as file:
        file.write(b"all of it")
        place.commit()
    assert calls == ["file", "name", "folder"]
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("call", ["fsync", "replace", "link", "fchmod", "open"])
def test_a_failing_commit_is_a_file_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    place = atomic(tmp_path / "out", overwrite=call == "replace")
    with place:
        monkeypatch.setattr(os, call, fail)
        with pytest.raises(FileError, match="cannot write the target: Input/output error"):
            place.commit()
    assert names(tmp_path) == []


def test_an_existing_target_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")
    with pytest.raises(FileError, match="exists"):
        atomic(target)
    late = atomic(tmp_path / "late")
    with late:
        (tmp_path / "late").write_bytes(b"somebody else's")
        with pytest.raises(FileError, match="exists"):
            late.commit()
    assert (tmp_path / "late").read_bytes() == b"somebody else's"
    assert names(tmp_path) == ["late", "out"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_that_appears_at_the_last_instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool) -> None:
    target = tmp_path / "out"
    close = AtomicFile._publish

    def publish(place: AtomicFile) -> None:
        assert not target.exists()
        target.write_bytes(b"somebody else's")
        close(place)

    monkeypatch.setattr(AtomicFile, "_publish", publish)
    place = atomic(target, overwrite=overwrite)
    with nullcontext() if overwrite else pytest.raises(FileError, match="exists"), place as file:
        file.write(b"ours")
        place.commit()
    assert target.read_bytes() == (b"ours" if overwrite else b"somebody else's")
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP])
def test_a_file_system_without_links_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", fail)
    place = atomic(tmp_path / "out")
    with pytest.raises(FileError, match="no links"), place:
        place.commit()
    assert names(tmp_path) == []
    place = atomic(tmp_path / "out", overwrite=True)
    with place:
        place.commit()
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_that_fails_to_flush_does_not_deny_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    flush = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    place = atomic(tmp_path / "out", overwrite=overwrite)
    with place as file:
        file.write(b"all")
        with pytest.raises(FileError, match=r"in place, new and complete, .*Input/output error") as caught:
            place.commit()
    assert "cannot write" not in str(caught.value)
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out").read_bytes() == b"all"


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("way", ["same", "dot", "symlink", "hard link", "folder link"])
def test_the_source_is_never_the_target(tmp_path: Path, way: str, overwrite: bool) -> None:
    source = tmp_path / "data" / "in"
    source.parent.mkdir()
    source.write_bytes(b"data")
    target = {
        "same": source,
        "dot": tmp_path / "data" / ".." / "data" / "in",
        "symlink": tmp_path / "link",
        "hard link": tmp_path / "hard",
        "folder link": tmp_path / "folder" / "in",
    }[way]
    if way == "symlink":
        target.symlink_to(source)
    elif way == "hard link":
        target.hardlink_to(source)
    elif way == "folder link":
        target.parent.symlink_to(source.parent)
    before = names(source.parent)
    with pytest.raises(FileError, match="the target is the source"):
        atomic(target, source, overwrite=overwrite)
    assert source.read_bytes() == b"data"
    assert names(source.parent) == before


def test_the_source_may_be_a_link_to_the_target(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"data")
    (tmp_path / "in").symlink_to(target)
    with pytest.raises(FileError, match="the target is the source"):
        atomic(target, tmp_path / "in", overwrite=True)


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "out")
    place = atomic(tmp_path / "link")
    with place as file:
        file.write(b"new")
        place.commit()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "out").read_bytes() == b"new"


def test_targets_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a folder"):
        atomic(tmp_path, overwrite=True)
    with pytest.raises(FileError, match="No such file or directory"), atomic(tmp_path / "no" / "out"):
        pytest.fail("the block must not be entered")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FileError, match="Not a directory"), atomic(tmp_path / "file" / "out"):
        pytest.fail("the block must not be entered")
    with pytest.raises(FileError, match="name too long"), atomic(tmp_path / ("x" * 300)):
        pytest.fail("the block must not be entered")


def test_digest_is_that_of_names_and_bytes(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"1" * 100_000)
    two.write_bytes(b"2")

    def field(value: bytes) -> bytes:
        return len(value).to_bytes(8, "little") + value

    inner = [hashlib.blake2b(path.read_bytes(), digest_size=32).digest() for path in (one, two)]
    data = field(b"a") + field(inner[0]) + field(b"b/c") + field(inner[1])
    expected = hashlib.blake2b(data, digest_size=32, person=b"dpfast/source/1").digest()
    assert source_digest([("b/c", two), ("a", one)]) == expected
    assert source_digest([("", one)]) != source_digest([("", two)]) != source_digest([("x", two)])
    with pytest.raises(FileError, match="No such file"):
        source_digest([("", tmp_path / "none")])


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_reading_ahead_keeps_order_and_passes_errors(threads: int) -> None:
    def items(fail: bool) -> Iterator[int]:
        yield from range(20)
        if fail:
            raise KeyError("from the source")

    with read_ahead(items(False), threads) as ahead:
        assert list(ahead) == list(range(20))
    got: list[int] = []
    with pytest.raises(KeyError, match="from the source"), read_ahead(items(True), threads) as ahead:
        got.extend(ahead)
    assert got == list(range(20)) or got == []
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("dpfast-read")]


def test_reading_ahead_is_bounded() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    with read_ahead(items(), 2) as ahead:
        for number in ahead:
            assert len(taken) <= number + 2
            if number == 50:
                break
    assert len(taken) <= 52


@pytest.mark.parametrize("threads", [1, 2])
def test_background_keeps_order_and_passes_errors(threads: int) -> None:
    done: list[int] = []

    def fail() -> None:
        raise OSError("disc")

    with background(threads) as behind:
        for number in range(20):
            behind.submit(done.append, number)
        behind.wait()
        assert done == list(range(20))

        def submit_both() -> None:
            behind.submit(fail)
            behind.submit(done.append, 20)

        with pytest.raises(OSError, match="disc"):
            submit_both()
        assert 20 not in done
        behind.wait()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("dpfast-write")]


def test_background_without_a_thread_runs_at_once() -> None:
    done: list[int] = []
    Background(None).submit(done.append, 1)
    assert done == [1]
    assert jobs.WRITE_BUFFER_BYTES > 0


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_pipe_is_never_replaced(tmp_path: Path, overwrite: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(FileError, match="device or a pipe"):
        AtomicFile(pipe, sources=[], overwrite=overwrite)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
