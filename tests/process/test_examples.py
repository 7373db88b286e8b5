"""The examples run as they are told to, and do what they say. `flights.py` is the demo, and is tested with its data."""

from __future__ import annotations

import asyncio
import base64
import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpfast

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(name: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, EXAMPLES / name, *arguments], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def members(tmp_path: Path) -> Path:
    n = 800
    regions = ["north", "east", "south", "west"]
    table = pa.table(
        {
            "member_id": range(n),
            "smoker": pa.array(["no", "yes", None, "no"] * (n // 4)),
            "region": regions * (n // 4),
            "name": ["canary-5f3a"] * n,
        }
    )
    pq.write_table(table, tmp_path / "members.parquet")
    (tmp_path / "k.key").write_bytes(bytes(range(32)))
    (tmp_path / "k.key").chmod(0o600)
    return tmp_path


def test_the_nightly_job_may_be_run_again(members: Path) -> None:
    job = ("nightly.py", "members.parquet", "out", "--key", "k.key", "--ledger", "l.ledger", "--night")
    first = run(*job, "one", folder=members)
    assert first.returncode == 0, first.stderr
    page = (members / "out" / "one.html").read_text(encoding="utf-8")
    assert "does NOT" not in page
    assert "canary" not in page
    before = (members / "out" / "one.parquet").read_bytes()
    again, second = run(*job, "one", folder=members), run(*job, "two", folder=members)
    assert (again.returncode, again.stdout) == (0, first.stdout)
    assert second.returncode == 0, second.stderr
    assert (members / "out" / "one.parquet").read_bytes() == before
    one, two = (pq.read_table(members / "out" / f"{night}.parquet") for night in ("one", "two"))
    assert one.equals(two), "the noise of a member is permanent"
    assert one.column_names == ["member_id", "smoker", "region"]
    ledger = dpfast.Ledger(members / "l.ledger")
    assert ledger.spent().epsilon == 2.5, "one context is charged once"


def test_the_nightly_job_stops_at_odd_values_and_shows_none(members: Path) -> None:
    odd = pa.table({"member_id": [1], "smoker": ["canary-5f3a"], "region": ["north"]})
    pq.write_table(odd, members / "odd.parquet")
    done = run("nightly.py", "odd.parquet", "out", "--key", "k.key", "--ledger", "l.ledger", folder=members)
    assert done.returncode == 1
    assert "['smoker']" in done.stderr
    assert "canary" not in done.stdout + done.stderr
    assert list((members / "out").iterdir()) == []


def test_the_dbt_model_gives_a_table_that_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPFAST_KEY", base64.b64encode(bytes(range(32))).decode())
    names = runpy.run_path(str(EXAMPLES / "dbt_model.py"))
    session = duckdb.connect()
    session.sql("create table members as select range as member_id, 'no' as smoker, 'east' as region, 1 as age from range(500)")
    dbt = names["Example"](session)
    released = [names["model"](dbt, session).order("member_id").to_arrow_table() for _ in range(2)]
    assert dbt.options == {"materialized": "table"}
    assert released[0].column_names == ["member_id", "smoker", "region"]
    assert released[0].equals(released[1])
    assert set(released[0]["smoker"].to_pylist()) == {"no", "yes"}


def test_the_dbt_example_runs_by_itself(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPFAST_KEY", "")  # so that what the example sets is taken back
    monkeypatch.delenv("DPFAST_KEY")
    assert runpy.run_path(str(EXAMPLES / "dbt_model.py"))["main"]() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "columns: member_id, smoker, region"
    shares = {line.split()[0]: float(line.split()[1]) for line in lines[2:4]}
    assert abs(shares["yes"] - 0.2) < 0.06


def test_the_study_writes_its_table_and_pictures(tmp_path: Path) -> None:
    done = run("research.py", "--rows", "101", "--trials", "40", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    table = pq.read_table(tmp_path / "study" / "errors.parquet")
    assert table.num_rows == 2 * 5 * 3
    assert {path.name for path in (tmp_path / "study").glob("*.svg")} == {"normal.svg", "bimodal.svg"}
    row = table.to_pylist()[0]
    assert f"{row['error_mean']:>14.4g}" in done.stdout
    assert done.stdout.count("duff, by its law") == 2


RECORDS = [{"smoker": "no", "region": "east"}, {"smoker": None, "region": "west"}] * 40


@pytest.fixture
def service() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / "service.py"))


def test_the_service_answers_and_refuses(service: dict[str, Any], tmp_path: Path) -> None:
    ledger = dpfast.Ledger(tmp_path / "l.ledger", cap=dpfast.Privacy(3.0))
    status, body = service["release"](RECORDS, ledger)
    assert status == 200
    assert len(body["records"]) == len(RECORDS)
    assert body["privacy"] == {"epsilon": 2.5, "delta": 0.0, "neighbours": "replace_one"}
    assert body["records"] != RECORDS
    assert service["release"](RECORDS, ledger)[0] == 429, "2.5 more does not fit under 3"
    canaries: list[list[Any]] = [
        [{"smoker": "canary-5f3a", "region": "east"}],
        [{"smoker": "canary-5f3a\ud800"}],
        ["canary-5f3a"],
    ]
    for records in (*canaries, [{"smoker": 5}]):
        status, body = service["release"](records, None)
        assert status == 422
        assert "canary" not in json.dumps(body)


async def call(app: Any, method: str, path: str, body: bytes = b"") -> tuple[int, Any]:
    """One request by ASGI, without a server or a client."""
    sent: list[dict[str, Any]] = []
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "headers": [(b"content-type", b"application/json")],
        "client": ("test", 1),
        "server": ("test", 80),
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], json.loads(b"".join(message.get("body", b"") for message in sent[1:]))


def test_the_application_serves_what_the_function_says(
    service: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPFAST_LEDGER", str(tmp_path / "service.ledger"))
    app = service["create_app"]()
    status, body = asyncio.run(call(app, "POST", "/release", b'[{"smoker": "canary-5f3a", "region": "east"}]'))
    assert status == 422
    assert "canary" not in json.dumps(body)
    statuses = []
    for _ in range(4):
        status, body = asyncio.run(call(app, "POST", "/release", json.dumps(RECORDS).encode()))
        statuses.append(status)
    assert statuses == [200] * 3 + [429], "a cap of 10 holds four charges of 2.5, and the refusal was one: it came after"
    status, body = asyncio.run(call(app, "GET", "/policy"))
    assert (status, body["neighbours"]) == (200, "replace_one")
