"""Options that do not fit together end the command with code 2 and speak of options; `check --json` shows no value."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

POLICY = """
version = 1
unlisted = "public"
[columns.town]
domain = ["Bray", "Cork"]
epsilon = 1.0
[columns.grade]
domain = [1, 2]
other = 2
epsilon = 2.0
"""
CANARY = "canary-81e0"
SANITISE = ("sanitise", "source.parquet", "out.parquet", "--policy", "policy.toml")
KEYED = (*SANITISE, "--key", "secret.key", "--context", "c")
ESTIMATE = ("estimate", "source.parquet", "--policy", "policy.toml", "--confidence")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": [1, 2, 3], "town": ["Bray", "Cork", "Cork"], "grade": [1, 2, 1]}), "source.parquet")
    pq.write_table(pa.table({"id": [1, 2, 3], "town": ["Bray", CANARY, CANARY], "grade": [1, 7, 1]}), "bad.parquet")
    Path("policy.toml").write_text(POLICY)
    Path("short.key").write_bytes(b"abc")
    Path("secret.key").write_bytes(bytes(range(32)))
    for key in ("short.key", "secret.key"):
        Path(key).chmod(0o600)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((*SANITISE, "--key", "secret.key"), "--key needs --context"),
        ((*SANITISE, "--key", "secret.key", "--context", ""), "--key needs --context"),
        ((*SANITISE, "--key", "secret.key", "--context", "\udcff"), "--context is not valid Unicode"),
        ((*SANITISE, "--context", "c"), "--context belongs to --key; give --key"),
        ((*SANITISE, "--insecure-seed", "1", "--context", "c"), "--context belongs to --key; --insecure-seed takes none"),
        ((*SANITISE, "--ids", "id"), "--ids makes noise permanent and so needs --key"),
        ((*SANITISE, "--key", "env:DPFAST_NO_SUCH_KEY", "--context", "c"), "--key: environment variable DPFAST_NO_SUCH_KEY"),
        ((*SANITISE, "--key", "short.key", "--context", "c"), "--key: key file 'short.key' does not hold 32 bytes"),
        ((*ESTIMATE, "2"), "--confidence: must lie strictly between 0 and 1"),
        ((*ESTIMATE, "0"), "--confidence: must lie"),
        ((*ESTIMATE, "1"), "--confidence: must lie"),
        ((*ESTIMATE, "nan"), "--confidence: must lie"),
        ((*ESTIMATE, "often"), "--confidence: invalid"),
        (("plan", "policy.toml", "--rows", "1" + "0" * 400), "--rows: must be below 2**63"),
        (("plan", "policy.toml", "--rows", "9" * 5000), "--rows: invalid"),
    ],
)
def test_options_that_do_not_fit_are_usage_errors(run: Any, words: tuple[str, ...], text: str) -> None:
    before = sorted(os.listdir())
    code, output, error = run(*words)
    assert (code, output) == (2, "")
    assert error.startswith(f"usage: dpfast {words[0]}")
    assert text in error.splitlines()[-1]
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    "words",
    [KEYED, (*KEYED, "--ids", "id"), (*SANITISE, "--insecure-seed", "1"), (*SANITISE, "--insecure-seed", "1", "--ids", "id")],
)
def test_options_that_fit(run: Any, words: tuple[str, ...]) -> None:
    code, _, error = run(*words, "--no-progress")
    assert (code, error) == (0, "")
    assert pq.read_metadata("out.parquet").num_rows == 3


def test_a_key_that_cannot_be_read_is_a_failure_of_the_job(run: Any) -> None:
    assert run(*SANITISE, "--key", "none.key", "--context", "c")[0] == 1


@pytest.mark.parametrize(("file", "ok", "outside"), [("source.parquet", True, []), ("bad.parquet", False, ["town", "grade"])])
def test_check_as_json_names_columns_and_no_value(run: Any, file: str, ok: bool, outside: list[str]) -> None:
    code, output, error = run("check", file, "--policy", "policy.toml", "--json")
    assert (code, error) == (0 if ok else 1, "")
    document = json.loads(output)
    assert document == {
        "ok": ok,
        "columns": {
            "town": {"outside": "town" in outside, "unknown": "error", "other": None},
            "grade": {"outside": "grade" in outside, "unknown": "error", "other": 1},
        },
    }
    assert CANARY not in output
