"""Certificates beside text, ledgers that refuse, and what a job says: nothing certifies rows that it was not made for."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from dpfast import (
    ArgumentError,
    CorruptDataError,
    FileError,
    Ledger,
    LedgerError,
    MatrixResponse,
    Policy,
    Privacy,
    RandomisedResponse,
    sanitise_file,
)
from dpfast.etl.jobs import AtomicFile
from dpfast.etl.remote import RemoteFile

TOWNS = ["Bray", "Cork", "Dingle", "Ennis"]
WEAK = Policy({"town": RandomisedResponse(TOWNS, epsilon=9.0)})
POLICY = Policy({"town": RandomisedResponse(TOWNS, epsilon=1.0)})
PAPER = "out.csv.dpfast.json"


class Stop(BaseException):
    """As Ctrl-C or a kill: no handler knows it."""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("raw.csv").write_text("town\n" + "\n".join(TOWNS * 30) + "\n")
    Path("raw").mkdir()
    for name in ("a", "b"):
        pq.write_table(pa.table({"town": TOWNS * 30}), f"raw/{name}.parquet")
    return tmp_path


@pytest.fixture(params=["local", "store"])
def target(request: Any, place: Path) -> Any:
    store = pafs.SubTreeFileSystem(str(place), pafs.LocalFileSystem())
    return "out.csv" if request.param == "local" else (store, "out.csv")


def stopping(monkeypatch: pytest.MonkeyPatch, before: int) -> None:
    """Stop before the given commit, of rows or certificate."""
    done = [0]
    for kind in (AtomicFile, RemoteFile):

        def commit(self: Any, commit: Any = kind.commit) -> None:
            done[0] += 1
            if done[0] > before:
                raise Stop
            commit(self)

        monkeypatch.setattr(kind, "commit", commit)


def certified() -> float | None:
    """The epsilon that the certificate beside the target states."""
    return float.fromhex(json.loads(Path(PAPER).read_text())["epsilon"]) if Path(PAPER).exists() else None


@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_stopped_replacement_never_leaves_rows_under_the_certificate_of_others(
    target: Any, key: bytes, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    how = {"key": key, "context": "c"}
    sanitise_file("raw.csv", target, WEAK, **how)
    old = Path("out.csv").read_text()
    with monkeypatch.context() as patch:
        stopping(patch, before)
        if before < 2:
            with pytest.raises(Stop):
                sanitise_file("raw.csv", target, POLICY, **how, overwrite=True)
        else:
            sanitise_file("raw.csv", target, POLICY, **how, overwrite=True)
    is_new = Path("out.csv").read_text() != old
    assert is_new == (before > 0)
    assert certified() == (1.0 if before == 2 else None)
    if before < 2:  # nothing takes it for finished
        with pytest.raises(FileError, match="exists"):
            sanitise_file("raw.csv", target, POLICY, **how)
    sanitise_file("raw.csv", target, POLICY, **how, overwrite=True)
    assert certified() == 1.0
    assert sanitise_file("raw.csv", target, POLICY, **how).privacy.epsilon == 1.0


@pytest.mark.parametrize("before", [0, 1])
def test_a_stopped_new_target_has_its_certificate_or_is_not_there(
    target: Any, key: bytes, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    with monkeypatch.context() as patch:
        stopping(patch, before)
        with pytest.raises(Stop):
            sanitise_file("raw.csv", target, POLICY, key=key, context="c")
    assert not Path("out.csv").exists()
    assert not Path(PAPER).exists()
    assert sanitise_file("raw.csv", target, POLICY, key=key, context="c").rows == 120


def test_a_target_that_appears_at_the_last_instant_gets_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    publish = AtomicFile._publish

    def late(self: Any) -> None:
        if not self._overwrite:
            Path("out.csv").write_text("town\nof somebody else\n")
        publish(self)

    monkeypatch.setattr(AtomicFile, "_publish", late)
    with pytest.raises(FileError, match="exists"):
        sanitise_file("raw.csv", "out.csv", POLICY)
    assert certified() is None
    assert Path("out.csv").read_text() == "town\nof somebody else\n"


def test_a_name_that_the_disc_does_not_confirm_keeps_its_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    flush = os.fsync
    calls: list[int] = []

    def fail(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 4:  # file and folder of the certificate, file and folder of the rows
            raise OSError(5, "Input/output error")
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(FileError, match="is in place"):
        sanitise_file("raw.csv", "out.csv", POLICY)
    assert certified() == 1.0


def test_a_ledger_that_refuses_leaves_nothing_that_another_job_waits_for() -> None:
    ledger = Ledger("ledger.db", cap=Privacy(1.5))
    with pytest.raises(LedgerError, match="ask for less"):
        sanitise_file("raw", "out", WEAK, ledger=ledger)
    assert not Path(".out.dpfast-partial").exists()
    assert sanitise_file("raw", "out", POLICY, ledger=ledger).files == 2
    assert ledger.left().epsilon == 0.5


def test_a_ledger_that_refuses_a_job_that_goes_on_deletes_nothing(key: bytes) -> None:
    def stop(done: int, total: int | None) -> None:
        if done > 120:
            raise Stop

    with pytest.raises(Stop):
        sanitise_file("raw", "out", POLICY, progress=stop)
    before = Path(".out.dpfast-partial/data/a.parquet").read_bytes()
    with pytest.raises(LedgerError):
        sanitise_file("raw", "out", POLICY, ledger=Ledger("ledger.db", cap=Privacy(0.5)))
    sanitise_file("raw", "out", POLICY)
    assert Path("out/a.parquet").read_bytes() == before


@pytest.mark.parametrize("is_remote", [False, True])
def test_a_source_elsewhere_that_looks_damaged_loses_no_committed_part(
    place: Path, monkeypatch: pytest.MonkeyPatch, is_remote: bool
) -> None:
    from dpfast.etl._job import Job

    run = Job.run

    def broken(self: Job, file: Any, writer: Any, advance: Any) -> int:
        if file.name == "b.parquet":
            raise CorruptDataError("as a connection that breaks")
        return run(self, file, writer, advance)

    source = (pafs.SubTreeFileSystem(str(place), pafs.LocalFileSystem()), "raw") if is_remote else "raw"
    with monkeypatch.context() as patch:
        patch.setattr(Job, "run", broken)
        with pytest.raises(CorruptDataError):
            sanitise_file(source, "out", POLICY)
    part = Path(".out.dpfast-partial/data/a.parquet")
    assert part.exists() == is_remote
    before = part.read_bytes() if is_remote else b""
    sanitise_file(source, "out", POLICY)
    assert (Path("out/a.parquet").read_bytes() == before) == is_remote


@pytest.mark.parametrize("name", ["new/", "new.parquet/", "new.csv/"])
def test_a_file_is_not_called_a_folder(name: str) -> None:
    with pytest.raises(FileError, match="name a file"):
        sanitise_file("raw/a.parquet", name, POLICY)
    assert not Path(name.rstrip("/")).exists()


def test_names_of_files_do_not_steer_a_terminal(caplog: pytest.LogCaptureFixture) -> None:
    Path("raw/\x1b[2Jx.txt").write_text("")
    os.rename("raw/a.parquet", "raw/\x1b[2Ja.parquet")
    with caplog.at_level(logging.DEBUG, "dpfast"):
        sanitise_file("raw", "out", POLICY)
    assert "x1b[2Ja.parquet" in caplog.text
    assert "x1b[2Jx.txt" in caplog.text
    assert "\x1b" not in caplog.text


def test_a_report_without_a_bound_is_still_json() -> None:
    policy = Policy({"town": MatrixResponse(TOWNS, [[float(row == one) for one in range(4)] for row in range(4)])})
    report = sanitise_file("raw.csv", "out.csv", policy)

    def refuse(text: str) -> None:
        raise AssertionError(text)

    document = json.loads(report.to_json(), parse_constant=refuse)
    assert document["privacy"]["epsilon"] is None
    assert set(document) == {"rows", "files", "privacy", "certificate", "digest"}  # to be published: no duration, no place


def test_the_certificate_stands_beside_the_rows_that_a_link_leads_to(key: bytes) -> None:
    Path("real").mkdir()
    sanitise_file("raw.csv", "real/x.csv", WEAK)
    os.symlink("real/x.csv", "out.csv")
    sanitise_file("raw.csv", "out.csv", POLICY, key=key, context="c", overwrite=True)
    assert Path("out.csv").is_symlink()
    assert not Path(PAPER).exists()
    stated = json.loads(Path("real/x.csv.dpfast.json").read_text())
    assert float.fromhex(stated["epsilon"]) == 1.0
    assert sanitise_file("raw.csv", "out.csv", POLICY, key=key, context="c").certificate == stated


def test_a_column_is_an_id_once(key: bytes) -> None:
    with pytest.raises(ArgumentError, match="twice"):
        sanitise_file("raw.csv", "out.csv", Policy(POLICY.columns, unlisted="public"), key=key, context="c", ids=("n", "n"))
