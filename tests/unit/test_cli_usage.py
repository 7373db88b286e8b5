"""Options that do not fit together end the command with code 2 and speak of options; `check --json` shows no value."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
    Path("numbers.toml").write_text(POLICY.replace('["Bray", "Cork"]', "[1, 2]"))
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
        (("plan", "policy.toml", "--rows", "1" + "0" * 400), "--rows: must be a whole number, at least 1 and below 2**63"),
        (("plan", "policy.toml", "--rows", "9" * 5000), "--rows: must be a whole number"),
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


def test_the_command_alone_explains_itself(run: Any) -> None:
    code, output, error = run()
    assert (code, output) == (2, "")
    assert "show what a policy will do" in error


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("sanitize", "a", "b"), 2, "there is no verb 'sanitize'; did you mean 'sanitise'?"),
        (("frobnicate",), 2, "there is no verb 'frobnicate'; dpfast --help lists them"),
        (("domain", "source.parquet", "--column", "twon"), 1, "no column named 'twon'; did you mean 'town'?"),
        (("check", "source.parquet", "--column", "grad=1,2", "--epsilon", "1"), 1, "'grad'; did you mean 'grade'?"),
        ((*KEYED, "--ids", "ids"), 1, "no column named 'ids'; did you mean 'id'?"),
        (("mean", "source.parquet", "--column", "zzz", "--bounds", "0,1", "--epsilon", "1"), 1, "no column named 'zzz'\n"),
        (("check", "source.parquet", "--policy", "numbers.toml"), 1, "declares integer values; convert one"),
        ((*ESTIMATE, "0.9", "--columns", "town", "--by", "id"), 2, "--by and --keys go together"),
    ],
)
def test_what_is_nearly_right_is_told_what_would_be(run: Any, words: tuple[str, ...], code: int, text: str) -> None:
    found, output, error = run(*words)
    assert (found, output) == (code, "")
    assert text in error


def test_negative_bounds_need_no_equals_sign(run: Any) -> None:
    code, output, error = run("quantile", "source.parquet", "--column", "id", "--bounds", "-5,9", "--epsilon", "1")
    assert (code, error) == (0, "")
    assert -5 <= int(output) <= 9


def test_the_release_of_another_policy_is_called_that(run: Any) -> None:
    assert run(*SANITISE)[0] == 0
    code, _, error = run("verify", "out.parquet", "--column", "town=Bray,Cork", "--epsilon", "2", "--public", "id")
    assert (code, error) == (1, "dpfast: the file was made by another policy\n")


def test_nulls_outside_a_domain_are_told_how_to_come_in(run: Any) -> None:
    pq.write_table(pa.table({"town": ["Bray", None], "grade": [1, 2]}), "null.parquet")
    code, output, _ = run("check", "null.parquet", "--policy", "policy.toml")
    assert code == 1
    assert "(null)" in output
    assert "null = true" in output


def test_a_damaged_file_of_a_folder_is_named(run: Any) -> None:
    Path("in").mkdir()
    for name in ("a", "b"):
        Path("in", f"{name}.parquet").write_bytes(Path("source.parquet").read_bytes()[: None if name == "a" else 60])
    code, _, error = run("sanitise", "in", "out", "--policy", "policy.toml")
    assert code == 1
    assert "'in/b.parquet' is not a Parquet file" in error


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disc_under_the_output_is_named(unbuffered: str) -> None:
    command = [sys.executable, "-m", "dpfast", "plan", "policy.toml"]
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "dpfast: unexpected OSError, No space left on device; run the command again with --debug to see where\n"
    )


def test_speed_is_told_of_many_rows_that_were_sanitised(run: Any) -> None:
    assert "rows a second" not in run(*SANITISE, "--no-progress")[1]
    towns = pa.DictionaryArray.from_arrays(pa.array([0] * 1_000_000, pa.int8()), ["Bray"])
    pq.write_table(pa.table({"town": towns, "grade": pa.array([1] * 1_000_000)}), "source.parquet")
    assert "million rows a second" in run(*SANITISE, "--no-progress", "--overwrite")[1].splitlines()[0]
