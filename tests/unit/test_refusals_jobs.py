"""Refusals that no other test meets: of jobs, ledgers and clusters, and of what should not happen to a computation."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.optimize

import dpfast.randomness
from dpfast import (
    ArgumentError,
    ArgumentTypeError,
    CorruptDataError,
    ExponentialResponse,
    FileError,
    Ledger,
    LedgerError,
    MatrixResponse,
    Policy,
    PolicyError,
    Privacy,
    RandomisedResponse,
    SolverError,
    Stratified,
    Stream,
    audit,
    optimal_response,
    sanitise_file,
)
from dpfast._core import graph as core_graph
from dpfast._core import joint as core_joint
from dpfast.baselines._oracle import tuned
from dpfast.etl import _chain, _publish, spark
from dpfast.etl._manifest import Manifest, _lock
from dpfast.etl._spark_files import check_places
from dpfast.etl._spark_parts import _stamp
from dpfast.etl._summary import stored_report
from dpfast.kernels import rule

ANY: Any = None
MECHANISM = RandomisedResponse(["a", "b"], epsilon=1.0)


def failing(number: int) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def folder(name: str) -> Path:
    Path(name).mkdir()
    Path(name, "file").touch()
    return Path(name)


def publish() -> None:
    _publish.publish(folder("data"), Path("target"), Path("old"), overwrite=False)


def test_a_target_that_came_meanwhile_is_kept(here: Path) -> None:
    folder("target")
    with pytest.raises(FileError, match="exists"):
        publish()


@pytest.mark.parametrize(("where", "name"), [(os, "rename"), (_publish, "flush_folder")])
def test_a_disc_that_fails_while_a_folder_is_renamed(where: Any, name: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, name, failing(errno.EIO))
    with pytest.raises(FileError):
        publish()


def test_names_that_are_not_there_are_not_exchanged(here: Path) -> None:
    with pytest.raises(FileNotFoundError):
        _publish._exchange(Path("none"), Path("nothing"))


def test_manifests_that_are_refused(here: Path) -> None:
    manifest = Manifest(here)
    with pytest.raises(FileError, match="another version"):
        manifest._take({"version": -1})
    manifest.head = ANY or SimpleNamespace()
    with pytest.raises(FileError, match="damaged"):
        manifest._take({"none": 1})
    Path("manifest").mkdir()
    with pytest.raises(FileError, match="cannot read the manifest"):
        Manifest(here)


def test_a_file_system_without_locks_is_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", failing(errno.ENOLCK))
    with pytest.raises(FileError, match="with locks"):
        _lock(here / "hidden")


def test_ledgers_that_are_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Ledger("ledger", cap=Privacy(1.0))
    with pytest.raises(ArgumentError, match='"sum" or "optimal"'):
        Ledger("ledger", composition=ANY or "product")
    text = json.dumps(dict.fromkeys(_chain._ENTRY_KEYS) | {"number": 1})
    with pytest.raises(LedgerError):
        _chain._entry(text, 2, "")

    def ours(_: int) -> None:
        raise FileError("one of ours")

    monkeypatch.setattr(os, "fsync", ours)
    with pytest.raises(FileError, match="one of ours"):
        Ledger("other", cap=Privacy(1.0))


def test_a_summary_without_numbers_is_damaged() -> None:
    with pytest.raises(CorruptDataError, match="is damaged"):
        stored_report({"rows": "x", "files": 1}, 0.0)


def test_files_with_no_column_are_not_written(here: Path) -> None:
    Path("source/g=x").mkdir(parents=True)
    pq.write_table(pa.table({"a": [1]}), "source/g=x/1.parquet")
    with pytest.raises(PolicyError, match="nothing to write"):
        sanitise_file("source", "target", Policy({"a": "drop", "g": "public"}))


def test_arguments_of_clusters_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark, "check_session", lambda _: None)
    with pytest.raises(ArgumentTypeError, match="must be a Policy"):
        spark.sanitise_files(ANY, "source", "target", ANY, key="key", context="c")
    place = SimpleNamespace(filesystem=1)
    source = SimpleNamespace(files=[SimpleNamespace(format="parquet", place=place)])
    with pytest.raises(ArgumentError, match="source is an address"):
        check_places(ANY or source, ANY or SimpleNamespace(filesystem=None, path="t"), "key")
    with pytest.raises(FileError, match="on an executor"):
        _stamp("no/such/file")


@pytest.mark.parametrize("by", [rule._by_division, rule._by_search])
def test_codes_outside_a_table_are_refused(by: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="domain"):
        by(5, np.uint64(0), SimpleNamespace(k=2, unknown=False))


def test_a_program_that_is_not_solved_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *_, **__: SimpleNamespace(x=None, status=4))
    with pytest.raises(SolverError, match="was not solved"):
        optimal_response(["a", "b"], loss="hamming", epsilon=1.0)


def test_a_keyed_stream_of_another_process_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream(key=bytes(32), context="c")
    monkeypatch.setattr(dpfast.randomness, "_process", lambda: (0, 0))
    with pytest.raises(ArgumentError, match="before a fork"):
        stream.rows("a", bytes(32), 1)


def test_codes_of_no_category_have_no_loss() -> None:
    with pytest.raises(ArgumentError, match="codes of categories"):
        ExponentialResponse(["a", "b"], distance="hamming", epsilon=1.0).privacy_loss(5, 0)


def test_a_singular_matrix_is_not_inverted() -> None:
    with pytest.raises(ArgumentError, match="singular"):
        MatrixResponse(["a", "b"], [[0.5, 0.5], [0.5, 0.5]]).channel.noise(np.array([0.5, 0.5]))


def test_a_stratum_without_a_table_is_not_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpfast.audit.TabledMechanism", int)
    with pytest.raises(ArgumentTypeError, match="no table to audit"):
        audit.audit(Stratified("t", {"x": MECHANISM}))


def test_a_baseline_that_no_choice_makes_private_is_refused() -> None:
    def recipe(*_: Any, **__: Any) -> Any:
        raise ArgumentError("not private")

    with pytest.raises(ArgumentError, match="no smoothness"):
        tuned("any", recipe, ANY, ANY or SimpleNamespace(epsilon=1.0))


def test_arrays_of_other_lengths_do_not_reach_the_core() -> None:
    with pytest.raises(ArgumentError):
        core_graph.weights(np.zeros(2), np.zeros(3))
    with pytest.raises(ArgumentError):
        core_joint.JointPowers(2.0, 1, 1, np.zeros((1, 2)), np.zeros((1, 2)))
