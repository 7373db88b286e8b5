"""Policies as TOML files: what they may say, and what is said about mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpfast import Domain, FileError, Policy, PolicyError, RandomisedResponse

HEAD = "version = 1\n"
SEX = '[columns.sex]\ndomain = ["f", "m"]\nepsilon = 1.0\n'


def load(folder: Path, text: str) -> Policy:
    (folder / "policy.toml").write_text(text, encoding="utf-8")
    return Policy.load(folder / "policy.toml")


def test_the_sample_is_read(tmp_path: Path) -> None:
    (tmp_path / "carriers.txt").write_text("AA\nUA\nDL\n")
    policy = load(
        tmp_path,
        """
        version = 1
        unlisted = "drop"
        [columns.carrier]
        mechanism = "randomised_response"
        domain = "carriers.txt"
        null = true
        unknown = "error"
        epsilon = 1.0
        delta = 0.01
        [columns.flight]
        use = "public"
        [columns.tail]
        use = "drop"
        [columns."day.of.week"]
        domain = [1, 2, 3, 4, 5, 6, 7]
        other = 7
        epsilon = 2
        """,
    )
    carrier, day = policy.mechanisms["carrier"], policy.mechanisms["day.of.week"]
    assert list(policy.columns) == ["carrier", "flight", "tail", "day.of.week"]
    assert (policy.columns["flight"], policy.columns["tail"], policy.unlisted) == ("public", "drop", "drop")
    assert carrier.domain == Domain(["AA", "UA", "DL", None])
    assert (carrier.epsilon, carrier.delta) == (1.0, 0.01)
    assert day.domain == Domain(list(range(1, 8)), other=7)
    written = {
        "carrier": RandomisedResponse(["AA", "UA", "DL", None], epsilon=1.0, delta=0.01),
        "flight": "public",
        "tail": "drop",
        "day.of.week": RandomisedResponse(Domain(list(range(1, 8)), other=7), epsilon=2.0),
    }
    assert policy.digest == Policy(written, unlisted="drop").digest  # type: ignore[arg-type]


def test_domain_paths_are_relative_to_the_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "codes.json").write_text(json.dumps([10, 20, None]))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    (tmp_path / "policy.toml").write_text(HEAD + '[columns.x]\ndomain = "lists/codes.json"\nepsilon = 1\n')
    assert Policy.load("../policy.toml").mechanisms["x"].domain.values == (10, 20, None)


def test_null_of_a_file_is_not_doubled(tmp_path: Path) -> None:
    (tmp_path / "codes.json").write_text(json.dumps([None, "a"]))
    entry = HEAD + '[columns.x]\ndomain = "codes.json"\nepsilon = 1\nnull = '
    assert load(tmp_path, entry + "true\n").mechanisms["x"].domain.values == (None, "a")
    with pytest.raises(PolicyError, match="column 'x': null is false"):
        load(tmp_path, entry + "false\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SEX, ["version is missing", "version = 1"]),
        ("version = 2\n" + SEX, ["version must be 1"]),
        ("version = true\n" + SEX, ["version must be 1"]),
        (HEAD, ["columns is missing"]),
        (HEAD + "columns = 3\n", ["columns is missing"]),
        (HEAD + 'unlist = "drop"\n' + SEX, ["unknown key 'unlist'", "did you mean 'unlisted'?"]),
        (HEAD + 'unlisted = "keep"\n' + SEX, ["unlisted must be one of"]),
        (HEAD + "colour = 1\n" + SEX, ["unknown key 'colour'"]),
        (HEAD + SEX + "[[joint]]\nepsilon = 1.0\n", ["line 5: joint group 1: columns is missing"]),
        (HEAD + "rows_per_person = 0\n" + SEX, ["line 2", "rows_per_person must be an integer of at least 1"]),
        (HEAD + "rows_per_person = true\n" + SEX, ["rows_per_person must be an integer"]),
        (HEAD + "[columns]\nsex = 3\n", ["column 'sex'", "expected a table"]),
        (HEAD + SEX + "epsilom = 2.0\n", ["column 'sex'", "unknown key 'epsilom'", "did you mean 'epsilon'?"]),
        (HEAD + SEX + "zzz = 2.0\n", ["column 'sex'", "unknown key 'zzz'", "it takes 'mechanism'"]),
        (HEAD + SEX + 'by = "town"\n', ["line 4: column 'sex'", "epsilon beside by", "strata"]),
        (HEAD + SEX + "edges = [1, 2]\n", ["line 5: column 'sex'", "either domain or edges"]),
        (HEAD + SEX + 'mechanism = "exponential"\n', ["column 'sex'", "distance is missing"]),
        (HEAD + SEX + 'mechanism = "randomized_response"\n', ["did you mean 'randomised_response'?"]),
        (HEAD + SEX + "mechanism = 3\n", ["column 'sex'", "mechanism must be one of", "not 3"]),
        (HEAD + '[columns.sex]\ndomain = ["f"]\n', ["column 'sex'", "epsilon is missing"]),
        (HEAD + "[columns.sex]\nepsilon = 1.0\n", ["column 'sex'", "domain is missing"]),
        (HEAD + "[columns.sex]\n", ["column 'sex'", "domain is missing"]),
        (HEAD + '[columns.sex]\nuse = "pubic"\n', ["column 'sex'", "not 'pubic'", "did you mean 'public'?"]),
        (HEAD + '[columns.sex]\nuse = "drop"\nepsilon = 1.0\n', ["column 'sex'", "epsilon has no meaning beside use"]),
        (HEAD + SEX.replace("1.0", "-1.0"), ["column 'sex'", "epsilon"]),
        (HEAD + SEX.replace("1.0", "nan"), ["column 'sex'", "epsilon"]),
        (HEAD + SEX.replace("1.0", "inf"), ["column 'sex'", "epsilon", "public"]),
        (HEAD + SEX.replace("1.0", '"1.0"'), ["column 'sex'", "epsilon"]),
        (HEAD + SEX.replace("1.0", "true"), ["column 'sex'", "epsilon"]),
        (HEAD + SEX + "delta = 1.0\n", ["column 'sex'", "delta"]),
        (HEAD + SEX + 'null = "yes"\n', ["column 'sex'", "null must be true or false"]),
        (HEAD + SEX + "null = 1\n", ["column 'sex'", "null must be true or false"]),
        (HEAD + SEX + 'unknown = "drop"\n', ["column 'sex'", "unknown must be"]),
        (HEAD + SEX + 'other = "x"\n', ["column 'sex'", "other"]),
        (HEAD + SEX.replace('["f", "m"]', "[]"), ["column 'sex'", "domain:", "at least one"]),
        (HEAD + SEX.replace('["f", "m"]', '["f", "f"]'), ["column 'sex'", "domain:", "repeated"]),
        (HEAD + SEX.replace('["f", "m"]', '["f", 1]'), ["column 'sex'", "domain:", "one kind"]),
        (HEAD + SEX.replace('["f", "m"]', "[0.5]"), ["column 'sex'", "domain:"]),
        (HEAD + SEX.replace('["f", "m"]', "3"), ["column 'sex'", "domain must be a list"]),
        (HEAD + SEX.replace('["f", "m"]', '"none.txt"'), ["column 'sex'", "domain:", "none.txt"]),
        (HEAD + "[columns.a.b]\nepsilon = 1.0\n", ["column 'a'", '[columns."a.b"]']),
        ("version = = 1", ["not TOML", "line 1"]),
        ("", ["version is missing"]),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(PolicyError) as caught:
        load(tmp_path, text)
    for word in words:
        assert word in str(caught.value)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="No such file"):
        Policy.load(tmp_path / "none.toml")
    with pytest.raises(FileError, match="cannot read the policy"):
        Policy.load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"version = 1 # \xe9\n")
    with pytest.raises(PolicyError, match="UTF-8"):
        Policy.load(tmp_path / "latin.toml")
