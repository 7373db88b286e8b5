"""Refusals that no other test meets: of files, folders, addresses, certificates and words of the command line."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpfast.cli as cli
from dpfast import (
    ArgumentError,
    ArgumentTypeError,
    CertificateError,
    CorruptDataError,
    FileError,
    MissingPackageError,
    Policy,
    PolicyError,
    RandomisedResponse,
    Stratified,
    sanitise_file,
    verify,
)
from dpfast._parquet import ParquetSource
from dpfast._release import release_certificate
from dpfast._sources.csv_file import CsvSource
from dpfast._sources.places import Place, decoding, reading
from dpfast._sources.source import open_source
from dpfast.certificates import read_certificate

Run = Callable[..., tuple[int, str, str]]
MECHANISM = RandomisedResponse(["a", "b"], epsilon=1.0)
POLICY = Policy({"a": MECHANISM})
TABLE = pa.table({"a": ["a", "b"]})
PLACE = Place("x")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(TABLE, "a.parquet")
    return tmp_path


def write(name: str, text: str) -> str:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(text)
    return name


def twice_named() -> str:
    Path("folder").mkdir()
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), "folder/1.parquet")
    return "folder"


def linked() -> str:
    Path("folder").mkdir()
    pq.write_table(TABLE, "folder/1.parquet")
    Path("folder/2.parquet").symlink_to("1.parquet")
    return "folder"


def of_two_releases() -> str:
    for epsilon in (1.0, 2.0):
        Path("folder").mkdir(exist_ok=True)
        sanitise_file("a.parquet", f"folder/{epsilon}.parquet", Policy({"a": RandomisedResponse(["a", "b"], epsilon=epsilon)}))
    return "folder"


def loaded(line: str) -> Policy:
    text = f'version = 1\n[columns.a]\ndomain = ["a", "b"]\nmechanism = "matrix"\n{line}\n'
    return Policy.load(write("policy.toml", text))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ParquetSource("."), FileError, "is not a file"),
        (lambda: Place("x" * 5000).kind(), FileError, "cannot read the source"),
        (lambda: CsvSource(Place(write("a.csv", 'a,"b"c\n1,2\n'))), CorruptDataError, "CSV"),
        (lambda: open_source(twice_named()), FileError, "more than one column named 'a'"),
        (lambda: open_source(linked()), FileError, "are one file, by a link"),
        (lambda: open_source("zip:///no/such/file"), FileError, "cannot be opened"),
        (lambda: open_source("file://elsewhere/x"), FileError, "cannot be opened"),
        (lambda: release_certificate(open_source(of_two_releases())), CertificateError, "not of one release"),
        (lambda: loaded("matrix_file = 3"), PolicyError, "matrix_file must be the path"),
        (lambda: loaded('matrix_file = "none.npy"'), PolicyError, "none.npy"),
        (lambda: POLICY.sanitise(TABLE, ids=("a", "a")), ArgumentError, "names a column twice"),
        (
            lambda: POLICY.sanitise(pd.DataFrame({"a": ["a"]}, pd.Index(["a"], name="a"))),
            PolicyError,
            "reset_index",
        ),
        (
            lambda: POLICY.estimate(write("w.csv", "a,w\na,x\n"), ["a"], weights="w"),
            ArgumentTypeError,
            "column of numbers",
        ),
    ],
)
def test_files_that_are_refused(call: Callable[[], Any], error: type[Exception], words: str, here: Path) -> None:
    with pytest.raises(error, match=words):
        call()


def test_a_header_that_arrow_reads_differently_is_corrupt(here: Path) -> None:
    source = CsvSource(Place(write("a.csv", "a,b\n1,2\n")))
    source._names = ["a"]
    with pytest.raises(CorruptDataError):
        list(source.batches([]))


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (MemoryError(), MemoryError),
        (FileError("one of ours"), FileError),
        (UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogate"), FileError),
    ],
)
def test_what_a_file_system_says_becomes_ours(raised: Exception, error: type[Exception]) -> None:
    with pytest.raises(error), reading(PLACE):
        raise raised


def test_a_disc_that_fails_is_no_corrupt_file() -> None:
    with pytest.raises(FileError, match="cannot read"), decoding(PLACE, "corrupt"):
        raise OSError(errno.EIO, "text of the system")


@pytest.mark.parametrize("package", ["fsspec", "matplotlib"])
def test_a_missing_package_is_named(package: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpfast.cli.compare import _matplotlib

    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=package):
        open_source("memory://x.parquet") if package == "fsspec" else _matplotlib()


def test_a_package_that_an_address_needs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any) -> Any:
        raise ImportError

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    with pytest.raises(MissingPackageError, match="another package for memory"):
        open_source("memory://x")


class Described:
    def __init__(self, text: bytes) -> None:
        self.metadata = {b"dpfast": text}


@pytest.mark.parametrize("text", [b"{", b"[]"])
def test_a_damaged_certificate_is_refused(text: bytes) -> None:
    with pytest.raises(CertificateError, match="is damaged"):
        read_certificate(Described(text))


def test_an_unknown_kind_of_randomness_is_refused() -> None:
    with pytest.raises(CertificateError, match="fresh, keyed or insecure"):
        verify(POLICY.certificate() | {"randomness": "none"})


def test_strata_of_another_mechanism_are_refused() -> None:
    by_town = Stratified("town", {"x": MECHANISM, "y": MECHANISM})
    with pytest.raises(CertificateError, match="strata are not those"):
        verify(by_town.certificate(), mechanism=Stratified("town", {"x": MECHANISM}))


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--query", "q.csv", "--out", "t.txt"], "--out must end in"),
        (["--query", "twice.csv", "--out", "t.csv"], "names a vertex twice"),
        (["--query", "few.csv", "--out", "t.csv"], "for every vertex"),
    ],
)
def test_words_of_extend_that_are_refused(words: list[str], error: str, here: Path, run: Run) -> None:
    write("e.csv", "u,v,epsilon\n1,2,1.0\n")
    write("twice.csv", "vertex,answer\n1,1\n1,1\n2,1\n")
    write("few.csv", "vertex,answer\n1,1\n")
    code, _, said = run("extend", "e.csv", *words)
    assert (code, error in said) == (1, True)


@pytest.mark.parametrize(("name", "content", "error"), [("k.txt", b"\xff", "not UTF-8"), ("k.json", b"{}", "no JSON list")])
def test_lists_of_keys_that_are_refused(name: str, content: bytes, error: str, here: Path, run: Run) -> None:
    pq.write_table(pa.table({"n": [1, 2], "g": ["x", "y"]}), "n.parquet")
    Path(name).write_bytes(content)
    words = ["--column", "n", "--q", "0.5", "--bounds", "0,9", "--epsilon", "1", "--by", "g", "--keys", f"@{name}"]
    code, _, said = run("quantile", "n.parquet", *words)
    assert (code, error in said) == (1, True), said


class FullFile:
    def __enter__(self) -> FullFile:
        return self

    def __exit__(self, *_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write(self, _: object) -> None:
        pass

    flush = fileno = write


@pytest.mark.parametrize("words", [["keygen", "out"], ["domain", "a.parquet", "--column", "a", "--output", "out"]])
def test_a_disc_that_is_full_leaves_no_half_file(words: list[str], here: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fdopen", lambda *_, **__: FullFile())
    assert run(*words)[0] == 1
    assert not Path("out").exists()


def test_a_request_to_end_is_an_exception() -> None:
    with pytest.raises(cli._Terminated):
        cli._terminate(15, None)
