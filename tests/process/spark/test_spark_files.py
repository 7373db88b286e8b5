"""Files on a cluster of Spark: those of one machine, whatever dies; and that the key is nowhere in what Spark leaves."""

from __future__ import annotations

import base64
import os
import re
import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_cases import (
    CANARY,
    KEY,
    VARIABLE,
    WARNINGS,
    files,
    policy,
    table,
    without_certificates,
    written,
)

from dpfast import (
    FileError,
    Ledger,
    LedgerError,
    OutsideDomainError,
    Policy,
    RandomisedResponse,
    sanitise_file,
)
from dpfast._sources.source import combined_digest
from dpfast.etl import _spark_files
from dpfast.etl import spark as on_spark
from dpfast.etl.sources import open_source

pytestmark = WARNINGS


@pytest.mark.parametrize("ids", [None, "member id"])
def test_files_are_those_of_one_machine(spark: Any, key_file: Path, tmp_path: Path, ids: str | None) -> None:
    source, rules = written(tmp_path), policy()
    ledger = Ledger(tmp_path / "ledger", cap=rules.privacy())  # the job fits once: a second charge would raise
    arguments: dict[str, Any] = {"key": key_file, "context": "members", "ids": ids, "ledger": ledger}
    report = on_spark.sanitise_files(spark, source, tmp_path / "out", rules, **arguments)
    local = sanitise_file(source, tmp_path / "local", rules, **arguments, progress=False)
    assert (report.rows, report.files, report.privacy) == (local.rows, local.files, local.privacy) == (3010, 2, rules.privacy())
    found, want = files(tmp_path / "out"), files(tmp_path / "local")
    assert without_certificates(found) == without_certificates(want)
    assert list(found) == list(want) == ["_dpfast.json", "town=Bonn/two.parquet", "town=Ulm/one.parquet"]
    if ids is None:
        assert {**report.certificate, "job": ""} == {**local.certificate, "job": ""}
        assert sorted(os.listdir(tmp_path)) == ["ledger", "local", "out", "source"]
        again = on_spark.sanitise_files(spark, source, tmp_path / "out", rules, **arguments)
        assert (again.certificate, files(tmp_path / "out")) == (report.certificate, found)
        with pytest.raises(FileError, match="exists"):
            on_spark.sanitise_files(spark, source, tmp_path / "out", rules, **{**arguments, "context": "others"})
        with pytest.raises(LedgerError):
            on_spark.sanitise_files(spark, source, tmp_path / "anew", rules, **{**arguments, "context": "others"})
        assert sorted(os.listdir(tmp_path)) == ["ledger", "local", "out", "source"]
    else:
        df = spark.createDataFrame(table(10))
        on_spark.sanitise(df, rules, **arguments)  # the same population, and paid for
        with pytest.raises(LedgerError):
            on_spark.sanitise(df, rules, **{**arguments, "context": "others"})
    assert ledger.spent() == rules.privacy()


def test_pieces_of_a_file_are_the_file(spark: Any, key_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, rules = written(tmp_path) / "town=Ulm" / "one.parquet", policy()
    monkeypatch.setattr(_spark_files, "PIECE_GROUPS", 1)
    monkeypatch.setattr(_spark_files, "group_rows", lambda schema: 1000)
    arguments: dict[str, Any] = {"key": f"env:{VARIABLE}", "context": "members"}
    report = on_spark.sanitise_files(spark, source, tmp_path / "out", rules, **arguments)
    assert (report.rows, report.files) == (3000, 3)
    parts = without_certificates(files(tmp_path / "out"))
    assert list(parts) == [f"one.part-0000{i}.parquet" for i in range(3)]
    sanitise_file(source, tmp_path / "local.parquet", rules, key=key_file, context="members", progress=False)
    assert pa.concat_tables(parts.values()) == pq.read_table(tmp_path / "local.parquet")


def test_attempts_that_die_leave_nothing(spark: Any, key_file: Path, tmp_path: Path) -> None:
    from pyspark import TaskContext

    class Deadly(RandomisedResponse):
        """Kills the process of its first attempt when it meets the second batch."""

        __slots__ = ()

        def sanitise(self, column: Any, **arguments: Any) -> Any:
            task = TaskContext.get()
            if task is not None and task.attemptNumber() == 0 and len(column) < 700:
                open(f"{marks}/{task.partitionId()}", "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().sanitise(column, **arguments)

    source, rules, marks = written(tmp_path, n=1000), policy(), tmp_path / "marks"
    marks.mkdir()
    deadly = policy(**{"carrier.code": Deadly(["AA", "DL", "UA", "ü", None], epsilon=1.0)})
    assert deadly.digest == rules.digest
    arguments: dict[str, Any] = {"key": key_file, "context": "members"}
    on_spark.sanitise_files(spark, source, tmp_path / "out", deadly, **arguments)
    sanitise_file(source, tmp_path / "local", rules, **arguments, progress=False)
    assert without_certificates(files(tmp_path / "out")) == without_certificates(files(tmp_path / "local"))
    assert sorted(os.listdir(tmp_path)) == ["local", "marks", "out", "source"]
    assert sorted(os.listdir(marks)) == ["0", "1"]
    assert len(files(tmp_path / "out")) == 3


def test_a_stopped_job_goes_on_with_its_parts(
    spark: Any, key_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, rules = written(tmp_path), policy()
    arguments: dict[str, Any] = {"key": key_file, "context": "members"}

    def stopped(target: Path) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(_spark_files, "_taken", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                on_spark.sanitise_files(spark, source, target, rules, **arguments)

    stopped(tmp_path / "out")
    assert sorted(os.listdir(tmp_path)) == [".out.dpfast-partial", "source"]
    tasks: list[str] = []
    run = _spark_files.ClusterJob._run
    monkeypatch.setattr(
        _spark_files.ClusterJob, "_run", lambda self, task, *n: (tasks.append(type(task).__name__), run(self, task, *n))[1]
    )
    on_spark.sanitise_files(spark, source, tmp_path / "out", rules, **arguments)
    assert tasks == ["DigestFiles", "NameJob"]
    tasks.clear()
    stopped(tmp_path / "anew")
    [ready] = (tmp_path / ".anew.dpfast-partial").glob("ready-*")
    assert combined_digest((file.name, file.digest()) for file in open_source(source).files).hex()[:16] not in ready.name
    on_spark.sanitise_files(spark, source, tmp_path / "anew", rules, **arguments, resume=False)
    assert tasks[-3:] == ["DigestFiles", "NameJob", "WriteParts"]
    sanitise_file(source, tmp_path / "local", rules, **arguments, progress=False)
    assert without_certificates(files(tmp_path / "out")) == without_certificates(files(tmp_path / "local"))


@pytest.mark.parametrize("when", ["before its digest", "after it"])
def test_a_source_that_changes_meanwhile_is_refused(
    spark: Any, key_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    source = written(tmp_path)
    run = _spark_files.ClusterJob._run

    def and_it_changes(job: Any, task: Any, *n: int) -> Any:
        if type(task).__name__ == ("DigestFiles" if when == "before its digest" else "WriteParts"):
            pq.write_table(table(11), source / "town=Bonn" / "two.parquet")
        return run(job, task, *n)

    monkeypatch.setattr(_spark_files.ClusterJob, "_run", and_it_changes)
    with pytest.raises(FileError, match="changed"):
        on_spark.sanitise_files(spark, source, tmp_path / "out", policy(), key=key_file, context="c")
    assert not (tmp_path / "out").exists()


def test_a_value_outside_its_domain_is_not_told(spark: Any, key_file: Path, tmp_path: Path) -> None:
    rules = Policy({"note": RandomisedResponse(["dull"], epsilon=1.0)}, unlisted="public")
    df = spark.createDataFrame(table(50)).coalesce(1)
    released = on_spark.sanitise(df, rules, key=key_file, context="c", ids="member id")
    with pytest.raises(Exception, match="OutsideDomainError") as caught:
        released.collect()
    assert "secret" not in str(caught.value)
    source = written(tmp_path) / "town=Bonn" / "two.parquet"
    with pytest.raises(OutsideDomainError, match="'note'"):
        on_spark.sanitise_files(spark, source, tmp_path / "out", rules, key=key_file, context="c")
    assert os.listdir(tmp_path) == ["source"]


def test_the_guide_is_true(spark: Any, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block of Python in docs/spark.md, in their order."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (root / "docs" / "spark.md").read_text(), flags=re.DOTALL | re.MULTILINE)
    people = pa.table({"name": ["n"] * 300, "id": range(300), "smoker": ["no", "yes", "no"] * 100})
    os.mkdir("people")
    pq.write_table(people, "people/1.parquet")
    visits = pa.table({"minutes": range(300), "town": ["Bonn", "Ulm", "Trier"] * 100})
    names: dict[str, Any] = {"spark": spark, "people": spark.createDataFrame(people), "visits": spark.createDataFrame(visits)}
    for block in blocks:
        for name in ("people", "released"):  # Spark is in another folder
            block = re.sub(rf'"({name}[^"]*)"', rf'"{tmp_path}/\1"', block)
        exec(block.replace("env:DPFAST_KEY", f"env:{VARIABLE}"), names)
    assert names["report"].rows == 300
    assert names["slow"].shape == (2,)
    assert names["estimate"].count.sum() == pytest.approx(300)
    assert pq.read_table("released_frame.parquet").column_names == ["id", "smoker"]


def test_the_key_is_nowhere(spark: Any, folder: Path, key_file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Last, when all the others have left what they leave. What must be found is looked for as well."""
    forms = [KEY, KEY.hex().encode(), KEY.hex().upper().encode(), base64.b64encode(KEY), base64.urlsafe_b64encode(KEY)]
    forms += [repr(KEY).encode(), KEY[:16], base64.b64encode(KEY)[:20]]
    spark.sparkContext.setJobDescription(CANARY)
    df = spark.createDataFrame(table(500)).selectExpr("*", f"'{CANARY}' AS public").repartition(2)
    released = on_spark.sanitise(df, policy(), key=f"env:{VARIABLE}", context="c", ids="member id").repartition(3)
    released.explain(extended=True)
    plan = capfd.readouterr().out
    assert "MapInArrow" in plan
    released.count()
    written = {name: data for name, data in files(folder).items() if name != "key"}
    events = b"".join(data for name, data in written.items() if name.startswith("events/"))
    blocks = b"".join(data for name, data in written.items() if name.startswith("local/"))
    assert CANARY in plan
    assert CANARY.encode() in events
    assert CANARY.encode() in blocks
    for form in forms:
        assert form not in events
        assert form not in blocks
        assert form not in plan.encode()
