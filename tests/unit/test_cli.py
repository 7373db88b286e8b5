"""The command: what it prints, what it returns, and what it never shows."""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpfast
from dpfast import Policy, RandomisedResponse
from dpfast.cli._output import printable
from dpfast.keys import resolve_key

POLICY = """
version = 1
unlisted = "drop"
[columns.town]
domain = ["Bray", "Cork", "Dingle"]
epsilon = 1.0
[columns.grade]
domain = [1, 2]
null = true
epsilon = 2.0
[columns.year]
use = "public"
"""
CANARY = "canary-5f3a"
VERBS = ["plan", "domain", "check", "sanitise", "estimate", "info", "keygen"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    n = 600
    table = pa.table(
        {
            "id": range(n),
            "town": ["Bray", "Cork", "Cork"] * (n // 3),
            "grade": pa.array([1, 2, None] * (n // 3), pa.int8()),
            "year": [2000 + i % 9 for i in range(n)],
        }
    )
    pq.write_table(table, "source.parquet")
    bad = pa.table({"town": ["Bray", CANARY, CANARY], "grade": pa.array([1, 2, 7], pa.int8()), "year": [1, 2, 3]})
    pq.write_table(bad, "bad.parquet")
    Path("policy.toml").write_text(POLICY)
    return tmp_path


SANITISE = ("sanitise", "source.parquet", "out.parquet", "--policy", "policy.toml")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(run: Any, verb: str) -> None:
    code, output, _ = run(verb, "--help")
    assert code == 0
    assert f"dpfast {verb}" in output.split("example")[1]


def test_help_lists_the_verbs_and_version_is_told(run: Any) -> None:
    code, output, _ = run("--help")
    assert code == 0
    assert all(f"    {verb}" in output for verb in VERBS)
    assert run("--version")[:2] == (0, f"dpfast {dpfast.__version__}\n")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("publish",),
        ("sanitise", "source.parquet"),
        ("plan", "policy.toml", "--rows", "0"),
        ("plan", "policy.toml", "--rows", "many"),
        (*SANITISE, "--threads", "0"),
        (*SANITISE, "--insecure-seed", "x"),
        (*SANITISE, "--insecure-seed", "1", "--key", "k"),
        ("check", "source.parquet"),
    ],
)
def test_usage_errors(run: Any, words: tuple[str, ...]) -> None:
    code, output, error = run(*words)
    assert (code, output) == (2, "")
    assert "usage: dpfast" in error


# plan


def test_plan_shows_figures_of_each_column(run: Any) -> None:
    code, output, _ = run("plan", "policy.toml", "--rows", "1000000")
    assert code == 0
    heads, town, grade, _, total, weaker, public, other, *_ = output.splitlines()
    assert heads.split() == ["column", "values", "epsilon", "realised", "delta", "keep", "changed", "error"]
    assert town.split()[:2] == ["town", "3"]
    assert grade.split()[:3] == ["grade", "3", "2"]
    assert "epsilon 3, delta 0" in total
    assert "one attribute of a row: epsilon 2, delta 0" in weaker
    assert "year" in public
    assert other.endswith("drop")
    assert "error" not in run("plan", "policy.toml")[1].splitlines()[0]


def test_plan_as_json(run: Any) -> None:
    document = json.loads(run("plan", "policy.toml", "--json")[1])
    assert document["certificate"] == Policy.load("policy.toml").certificate()
    town = document["columns"][0]
    assert (town["column"], town["size"], town["standard_error"]) == ("town", 3, None)


# check


def test_check_lists_private_values_for_the_operator(run: Any) -> None:
    assert run("check", "source.parquet", "--policy", "policy.toml") == (0, "the policy fits the file\n", "")
    code, output, _ = run("check", "bad.parquet", "--policy", "policy.toml")
    assert code == 1
    first, _, *found, last = output.splitlines()
    assert first.startswith("PRIVATE")
    assert [line.split() for line in found] == [["town", CANARY, "1", "2"], ["grade", "7", "2", "1"]]
    assert "does not fit" in last


def test_values_cannot_steer_the_terminal() -> None:
    assert printable("\x1b[31mred\n") == "'\\x1b[31mred\\n'"
    assert (printable(None), printable(""), printable(True), printable(b"a"), printable("né")) == (
        "(null)",
        "''",
        "True",
        "b'a'",
        "né",
    )


# sanitise


def test_sanitise_writes_the_file_and_says_what_it_cost(run: Any) -> None:
    code, output, error = run(*SANITISE)
    assert (code, error) == (0, "")
    assert output.startswith("600 rows in ")
    assert "epsilon 3, delta 0" in output
    out = pq.read_table("out.parquet")
    assert out.column_names == ["town", "grade", "year"]
    assert out["year"].equals(pq.read_table("source.parquet")["year"])


def test_json_output_may_be_published(run: Any) -> None:
    document = json.loads(run(*SANITISE, "--json")[1])
    assert set(document) == {"rows", "files", "privacy", "certificate", "digest"}
    footer = pq.read_metadata("out.parquet").metadata[b"dpfast"]
    assert document["certificate"] == json.loads(footer)
    assert "parquet" not in json.dumps(document)


def test_keyed_runs_repeat_and_fresh_ones_do_not(run: Any) -> None:
    assert run("keygen", "secret.key")[0] == 0

    def towns(*options: str) -> list[str]:
        assert run(*SANITISE, "--overwrite", *options)[0] == 0
        return list(pq.read_table("out.parquet")["town"].to_pylist())

    keyed = ("--key", "secret.key", "--context", "c")
    assert towns(*keyed) == towns(*keyed, "--threads", "2") != towns(*keyed, "--ids", "id")
    assert towns() != towns()
    run(*SANITISE, "--overwrite", *keyed, "--ids", "id", "--ids", "year")
    assert json.loads(pq.read_metadata("out.parquet").metadata[b"dpfast"])["ids"] == ["id", "year"]


def test_an_insecure_seed_is_called_so(run: Any) -> None:
    code, output, _ = run(*SANITISE, "--insecure-seed", "3")
    assert code == 0
    assert "INSECURE" in output
    assert json.loads(pq.read_metadata("out.parquet").metadata[b"dpfast"])["randomness"] == "insecure"
    assert "INSECURE" not in run(*SANITISE, "--overwrite")[1]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("plan", "none.toml"), "No such file"),
        (("plan", "source.parquet"), "the policy 'source.parquet' is not UTF-8"),
        (("sanitise", "none.parquet", "out.parquet", "--policy", "policy.toml"), "No such file"),
        (("sanitise", "policy.toml", "out.parquet", "--policy", "policy.toml"), "the source 'policy.toml' is not a Parquet file"),
        (("sanitise", "source.parquet", "source.parquet", "--policy", "policy.toml"), "the target is the source"),
        (("sanitise", "source.parquet", "policy.toml", "--policy", "policy.toml"), "policy of this job"),
        (
            ("sanitise", "source.parquet", "no/out.parquet", "--policy", "policy.toml"),
            "'no/out.parquet': No such file",
        ),
        (("sanitise", "bad.parquet", "out.parquet", "--policy", "policy.toml"), "run `dpfast check`"),
        ((*SANITISE, "--key", "none.key", "--context", "c"), "No such file"),
        (("keygen", "policy.toml"), "File exists"),
    ],
)
def test_failures_are_one_line_without_a_traceback(run: Any, words: tuple[str, ...], text: str) -> None:
    before = sorted(os.listdir())
    code, output, error = run(*words)
    assert (code, output) == (1, "")
    last = error.splitlines()[-1]
    assert last.startswith("dpfast: ")
    assert text in last
    assert "Traceback" not in error
    assert CANARY not in error
    assert sorted(os.listdir()) == before
    if "policy.toml" in words:
        assert Path("policy.toml").read_text() == POLICY


def test_an_unexpected_error_shows_nothing_unless_asked(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise LookupError(CANARY)

    monkeypatch.setattr(Policy, "describe", fail)
    code, _, error = run("plan", "policy.toml")
    assert code == 1
    assert error == "dpfast: unexpected LookupError; run the command again with --debug to see where\n"
    code, _, error = run("plan", "policy.toml", "--debug")
    assert code == 1
    assert "Traceback" in error


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt, 130), (MemoryError, 1), (SystemError, 1)])
def test_exit_codes(run: Any, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], code: int) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Policy, "describe", fail)
    assert run("plan", "policy.toml")[0] == code


# estimate


def test_estimate_shows_sanitised_and_estimated_shares(run: Any) -> None:
    run(*SANITISE, "--insecure-seed", "3")
    code, output, error = run("estimate", "out.parquet", "--policy", "policy.toml")
    assert (code, error) == (0, "")
    towns, grades = output.split("\n\n")
    assert towns.splitlines()[0].split() == ["town", "sanitised", "estimated", "error", "95", "%", "interval"]
    assert [line.split()[0] for line in grades.splitlines()] == ["grade", "1", "2", "(null)"]
    document = json.loads(run("estimate", "out.parquet", "--policy", "policy.toml", "--json", "--confidence", "0.5")[1])
    column = pq.read_table("out.parquet")["town"]
    mechanism = RandomisedResponse(["Bray", "Cork", "Dingle"], epsilon=1.0)
    estimate = mechanism.estimate(column, confidence=0.5)
    town = document["columns"]["town"]
    assert town["value"] == ["Bray", "Cork", "Dingle"]
    assert town["sanitised_share"] == [column.to_pylist().count(value) / 600 for value in town["value"]]
    assert town["estimated_share"] == estimate.frequency.tolist()
    assert town["standard_error"] == estimate.standard_error.tolist()
    assert town["interval"] == estimate.interval.tolist()
    assert (document["rows"], document["confidence"]) == (600, 0.5)


def test_estimate_of_an_empty_file_is_json_all_the_same(run: Any) -> None:
    pq.write_table(pq.read_table("source.parquet").slice(0, 0), "source.parquet")
    run(*SANITISE)
    code, output, error = run("estimate", "out.parquet", "--policy", "policy.toml", "--json")
    assert code == 0
    assert json.loads(output)["columns"]["town"]["estimated_share"] == [None] * 3
    assert error.startswith("dpfast: warning: nothing can be estimated")


def test_estimate_refuses_another_policy_and_warns_without_a_certificate(run: Any) -> None:
    run(*SANITISE)
    Path("other.toml").write_text(POLICY.replace("1.0", "1.1"))
    code, _, error = run("estimate", "out.parquet", "--policy", "other.toml")
    assert code == 1
    assert "column 'town' of the file was not sanitised by the mechanism of this policy" in error
    Path("more.toml").write_text(POLICY + '[columns.flag]\ndomain = ["x"]\nepsilon = 1\n')
    assert run("estimate", "out.parquet", "--policy", "more.toml")[0] == 1
    code, _, error = run("estimate", "source.parquet", "--policy", "policy.toml")
    assert code == 0
    assert "dpfast: warning: the file has no dpfast certificate" in error
    missing = pq.read_table("source.parquet").drop_columns("town")
    pq.write_table(missing, "missing.parquet")
    assert "no column named 'town'" in run("estimate", "missing.parquet", "--policy", "policy.toml")[2]
    pq.write_table(missing.replace_schema_metadata({"dpfast": "{"}), "damaged.parquet")
    assert "certificate of the file is damaged" in run("estimate", "damaged.parquet", "--policy", "policy.toml")[2]


# info and keys


def test_info(run: Any) -> None:
    shown = run("info")[1]
    document = json.loads(run("info", "--json")[1])
    assert document["dpfast"] == dpfast.__version__
    assert {"SIMD target", "threads", "pyarrow", "numpy"} <= set(document)
    assert all(name in shown for name in document)


def test_keygen_writes_a_key_once_and_for_the_owner_only(run: Any) -> None:
    assert run("keygen", "secret.key") == (0, "", "")
    assert stat.S_IMODE(os.stat("secret.key").st_mode) == 0o600
    key = resolve_key("secret.key")
    assert run("keygen", "other.key")[0] == 0
    assert resolve_key("other.key") != key
    assert run("keygen", "secret.key")[0] == 1
    assert resolve_key("secret.key") == key


# the process


def test_no_core_file_is_left(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # the call is watched: where tests run the limit is often 0 already, whatever the command does
    limits: list[Any] = []
    monkeypatch.setattr(resource, "setrlimit", lambda *limit: limits.append(limit))
    run("plan", "policy.toml")
    assert limits == [(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))]


def test_module_and_pipe() -> None:
    """``python -m dpfast`` works, and a reader that goes away is no reason for a traceback."""
    command = f"{sys.executable} -m dpfast plan policy.toml"
    done = subprocess.run(command.split(), capture_output=True, text=True, check=True)
    assert done.stdout.startswith("column")
    piped = subprocess.run(
        f"{{ sleep 0.2; {command} --json; echo code $? >&2; }} | true", shell=True, capture_output=True, text=True, check=False
    )
    assert piped.stderr == "code 1\n"


def test_help_loads_nothing_heavy() -> None:
    code = "import sys; from dpfast.cli import main; main(['--help']); print(*sys.modules, sep='\\n')"
    loaded = set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())
    assert {"pyarrow", "pandas", "cryptography", "tqdm"}.isdisjoint(loaded)


def test_the_way_a_process_ends_is_its_own_again(run: Callable[..., tuple[int, str, str]]) -> None:
    def own(number: int, frame: object) -> None:
        raise AssertionError

    before = signal.signal(signal.SIGTERM, own)
    try:
        for words in (("info",), ("plan", "none.toml"), ("plan", "--no-such-option")):
            run(*words)
            assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)
