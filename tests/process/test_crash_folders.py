"""A folder job that is killed at any call, or that the disc fails: old or complete new, and the next run goes on from there."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from faulty import dies, faulty, quick_place
from soak import record

from dpfast import FileError, Ledger, Policy, Privacy, RandomisedResponse, sanitise_file
from dpfast.etl import _publish

TOWNS = ["Bray", "Cork", "Dingle", "Ennis"]
FILES = ("a.parquet", "deep/b.parquet", "z.parquet")
CANARY = b"canary-2f61d0c4"

Values = dict[str, list[str]]


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_place() as place:
        for number, name in enumerate(FILES):
            path = place / "source" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            table = pa.table({"town": TOWNS * (20 + number), "name": [CANARY.decode()] * 4 * (20 + number)})
            pq.write_table(table, path, compression="none")
        (place / "out").mkdir()
        yield place


@pytest.fixture(params=["exchanged", "renamed twice"])
def swap(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Once with names that change places at one instant, once as where the system cannot."""
    if request.param == "renamed twice":
        monkeypatch.setattr(_publish, "_exchange", lambda one, two: False)
    return str(request.param)


def policy() -> Policy:
    return Policy({"town": RandomisedResponse(TOWNS, epsilon=1.0), "name": "drop"})


def job(folder: Path, **options: Any) -> Callable[[], object]:
    return lambda: sanitise_file(folder / "source", folder / "out" / "target", policy(), threads=1, progress=False, **options)


def values(folder: Path) -> Values | None:
    """What the target holds; None if there is none. Fails for a target that is not complete."""
    target = folder / "out" / "target"
    if not target.exists():
        return None
    assert json.loads((target / "_dpfast.json").read_text())["files"] == len(FILES)
    found = sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file())
    assert found == sorted([*FILES, "_dpfast.json"])
    return {name: pq.ParquetFile(target / name).read()["town"].to_pylist() for name in FILES}


def check_what_is_left(folder: Path) -> None:
    """Whatever a stop leaves is private to this user, and nothing of the source."""
    for path in (folder / "out").glob(".*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for path in (folder / "out").rglob("*"):
        assert not path.is_file() or CANARY not in path.read_bytes()


def remove(folder: Path) -> None:
    shutil.rmtree(folder / "out")
    (folder / "out").mkdir()


def kill_everywhere(folder: Path, key: bytes, *, overwrite: bool, step: int = 1) -> int:
    """Kill a keyed job at each call, and let it go on each time; how many kills there were."""
    keyed: dict[str, Any] = {"key": key, "context": "c"}
    job(folder, **keyed)()
    expected = values(folder)
    point = kills = 0
    while True:
        remove(folder)
        if overwrite:
            job(folder, key=key, context="old")()
        old = values(folder)
        if not dies(point, job(folder, **keyed, overwrite=overwrite)):
            break
        kills += 1
        assert values(folder) in (old, expected) or (values(folder) is None and _publish._exchange.__name__ == "<lambda>")
        check_what_is_left(folder)
        job(folder, **keyed, overwrite=overwrite)()
        assert values(folder) == expected
        assert os.listdir(folder / "out") == ["target"]
        point += step
    assert values(folder) == expected
    return kills


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_kill_at_any_call_leaves_old_or_new_and_the_next_run_goes_on(folder: Path, key: bytes, overwrite: bool) -> None:
    assert kill_everywhere(folder, key, overwrite=overwrite, step=3) > 20


@pytest.mark.slow
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_kill_at_every_call(folder: Path, key: bytes, overwrite: bool, swap: str) -> None:
    kills = kill_everywhere(folder, key, overwrite=overwrite)
    record(f"kill_at_every_call: overwrite={overwrite}, {swap}", kills=kills, torn_targets=0)
    assert kills > 60


def test_two_kills_in_a_row(folder: Path, key: bytes) -> None:
    keyed: dict[str, Any] = {"key": key, "context": "c"}
    job(folder, **keyed)()
    expected = values(folder)
    for first, second in ((12, 3), (30, 5), (45, 9), (60, 17)):
        remove(folder)
        assert dies(first, job(folder, **keyed))
        assert dies(second, job(folder, **keyed))
        job(folder, **keyed)()
        assert values(folder) == expected


def test_committed_parts_of_a_fresh_job_are_never_drawn_again_and_one_charge_covers_it(folder: Path) -> None:
    hidden = folder / "out" / ".target.dpfast-partial"
    ledgers = 0
    for point in range(5, 80, 5):
        remove(folder)
        path = folder / f"{point}.ledger"
        Ledger(path, Privacy(1.0))  # room for one charge
        fresh: dict[str, Any] = {"ledger": Ledger(path)}
        if not dies(point, job(folder, **fresh)):
            break
        committed = (
            {json.loads(line[17:])["name"] for line in (hidden / "manifest").read_bytes().splitlines()[1:] if b'"name"' in line}
            if (hidden / "manifest").exists()
            else set()
        )
        before = {name: pq.ParquetFile(hidden / "data" / name).read()["town"].to_pylist() for name in committed}
        ledgers += len(Ledger(path).entries())
        job(folder, **fresh)()
        after = values(folder)
        assert after is not None
        assert {name: after[name] for name in committed} == before
        assert len(Ledger(path).entries()) == 1
    assert ledgers > 5
    assert point > 40


@pytest.mark.parametrize("action", [errno.EIO, errno.ENOSPC, "short"])
def test_each_failing_call_is_a_file_error_and_the_next_run_goes_on(folder: Path, key: bytes, action: int | str) -> None:
    assert fail_everywhere(folder, key, action, step=4) >= (4 if action == "short" else 16)


@pytest.mark.slow
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("action", [errno.EIO, errno.ENOSPC, "short"])
def test_every_failing_call(folder: Path, key: bytes, action: int | str, overwrite: bool, swap: str) -> None:
    failed = fail_everywhere(folder, key, action, overwrite=overwrite)
    name = action if isinstance(action, str) else errno.errorcode[action]
    record(f"every_failing_call: {name}, overwrite={overwrite}, {swap}", failures=failed, torn_targets=0)
    assert failed > (10 if action == "short" else 60)


def fail_everywhere(folder: Path, key: bytes, action: int | str, *, step: int = 1, overwrite: bool = False) -> int:
    keyed: dict[str, Any] = {"key": key, "context": "c"}
    job(folder, **keyed)()
    expected = values(folder)
    point = failed = 0
    while True:
        remove(folder)
        if overwrite:
            job(folder, key=key, context="old")()
        old = values(folder)
        with faulty(point, action) as faults:
            try:
                job(folder, **keyed, overwrite=overwrite)()
                text = ""
            except FileError as error:
                text = str(error)
        failed += bool(text)
        assert CANARY.decode() not in text
        assert values(folder) in (old, expected) or (values(folder) is None and _publish._exchange.__name__ == "<lambda>")
        check_what_is_left(folder)
        job(folder, **keyed, overwrite=overwrite)()
        assert values(folder) == expected
        if faults.calls <= point:
            return failed
        point += step
