"""Policy files with bins, joint groups, strata and other mechanisms; and the line on which a mistake stands."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpfast import Domain, Policy, PolicyError, RandomisedResponse, Stratified, _policy_mechanisms
from dpfast._policy_mechanisms import KINDS, Kind
from dpfast._toml_lines import line_of

SAMPLE = """\
version = 1
unlisted = "error"
rows_per_person = 2
[columns.carrier]
mechanism = "randomised_response"
domain = "carriers.txt"
null = true
unknown = "error"
epsilon = 1.0
[columns.flight]
use = "public"
[columns.delay]
edges = [-60, 0, 15, 60, 1440]
labels = ["early", "on time", "late", "very late"]
null = true
other = "very late"
epsilon = 0.5
delta = 1e-6
[columns.class]
by = "flight"
domain = [1, 2, 3]
unknown = "randomise"
[[columns.class.strata]]
value = 7
epsilon = 2.0
[[columns.class.strata]]
value = 8
epsilon = 0.25
[[columns.class.strata]]
null = true
epsilon = 0.125
[columns.class.default]
epsilon = 0
[[joint]]
columns = ["origin", "dest"]
domain = ["origins.txt", "dests.txt"]
only = [["EWR", "ATL"], ["JFK", "LAX"], ["EWR", "LAX"]]
unknown = "randomise"
epsilon = 2.0
[[joint]]
columns = ["age", "sex"]
domain = [{ edges = [0, 18, 120], null = true }, ["f", "m"]]
by = "flight"
[[joint.strata]]
value = 7
epsilon = 1.5
"""


@pytest.fixture
def load(tmp_path: Path) -> Any:
    for name, lines in (("carriers", "AA UA"), ("origins", "EWR JFK"), ("dests", "ATL LAX")):
        (tmp_path / f"{name}.txt").write_text("\n".join(lines.split()) + "\n")

    def call(text: str) -> Policy:
        (tmp_path / "policy.toml").write_text(text)
        return Policy.load(tmp_path / "policy.toml")

    return call


def response(domain: Any, epsilon: float, delta: float = 0.0) -> RandomisedResponse:
    return RandomisedResponse(domain, epsilon=epsilon, delta=delta)


def test_every_key_says_what_python_says(load: Any) -> None:
    delays = Domain.bins([-60, 0, 15, 60, 1440], ["early", "on time", "late", "very late"], null=True, other="very late")
    classes = Domain([1, 2, 3], unknown="randomise")
    flights = {7: response(classes, 2.0), 8: response(classes, 0.25), None: response(classes, 0.125)}
    airports = Domain.product(
        ["EWR", "JFK"], ["ATL", "LAX"], only=[("EWR", "ATL"), ("JFK", "LAX"), ("EWR", "LAX")], unknown="randomise"
    )
    people = Domain.product(Domain.bins([0, 18, 120], null=True), ["f", "m"])
    written = Policy(
        {
            "carrier": response(["AA", "UA", None], 1.0),
            "flight": "public",
            "delay": response(delays, 0.5, 1e-6),
            "class": Stratified("flight", flights, default=response(classes, 0.0)),
        },
        joint={
            ("origin", "dest"): response(airports, 2.0),
            ("age", "sex"): Stratified("flight", {7: response(people, 1.5)}),
        },
        rows_per_person=2,
    )
    read = load(SAMPLE)
    assert read.digest == written.digest
    assert list(read.columns) == list(written.columns)
    assert list(read.joint) == list(written.joint)
    assert read.rows_per_person == 2
    assert read.certificate() == written.certificate()
    assert [group.rule.domain for group in read.groups] == [group.rule.domain for group in written.groups]


def test_a_policy_may_have_joint_groups_only(load: Any) -> None:
    policy = load('version = 1\n[[joint]]\ncolumns = ["a", "b"]\ndomain = [[0, 1], ["x", "y"]]\nepsilon = 1\n')
    assert [group.names for group in policy.groups] == [("a", "b")]


# other mechanisms: what the file gives them


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Modules that stand in for those of the other mechanisms and note what they are called with."""
    calls: list[tuple[Any, ...]] = []

    def stand_in(name: str) -> Any:
        def make(domain: Domain, *values: Any, **named: Any) -> RandomisedResponse:
            calls.append((name, domain, values, named))
            return response(domain, 1.0)

        return make

    for module, name in (("exponential", "ExponentialResponse"), ("matrix", "MatrixResponse"), ("optimal", "optimal_response")):
        found = types.ModuleType(f"dpfast.{module}")
        setattr(found, name, stand_in(name))
        monkeypatch.setitem(sys.modules, f"dpfast.{module}", found)
    return calls


HEAD = "version = 1\n[columns.x]\ndomain = [0, 1]\n"


def test_exponential_takes_a_distance(load: Any, made: list[Any]) -> None:
    load(HEAD + 'mechanism = "exponential"\nepsilon = 1\ndistance = "ordinal"\n')
    load(HEAD + 'mechanism = "exponential"\nepsilon = 0.5\ndistance = [[0, 1], [2.5, 0]]\n')
    assert made[0] == ("ExponentialResponse", Domain([0, 1]), (), {"distance": "ordinal", "epsilon": 1})
    assert made[1][3]["distance"].tolist() == [[0.0, 1.0], [2.5, 0.0]]


@pytest.mark.parametrize("ending", ["csv", "json", "npy"])
def test_matrix_takes_a_file(load: Any, made: list[Any], tmp_path: Path, ending: str) -> None:
    rows = [[0.75, 0.25], [0.125, 0.875]]
    path = tmp_path / "tables" / f"m.{ending}"
    path.parent.mkdir()
    if ending == "npy":
        np.save(path, np.array(rows))
    else:
        path.write_text(json.dumps(rows) if ending == "json" else "0.75,0.25\n0.125, 0.875\n")
    load(HEAD + f'mechanism = "matrix"\nmatrix_file = "tables/m.{ending}"\n')
    name, domain, values, named = made[0]
    assert (name, domain, named) == ("MatrixResponse", Domain([0, 1]), {})
    assert values[0].tolist() == rows


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("none.csv", None, "cannot read matrix_file 'none.csv'"),
        ("m.csv", b"0.5,x\n1,0\n", "does not hold rows of numbers"),
        ("m.csv", b"\xff\n", "does not hold rows of numbers"),
        ("m.csv", b"0.5,0.5\n1\n", "square list of rows"),
        ("m.json", b'{"a": 1}', "square list of rows"),
        ("m.json", b"[[true, 0], [0, 1]]", "square list of rows"),
        ("m.json", b"[[", "does not hold rows of numbers"),
        ("m.json", b"[" * 100_000, "does not hold rows of numbers"),
        ("m.json", b"[[1%s]]" % (b"0" * 400), "beyond the largest double"),
        ("m.npy", b"nothing", "does not hold rows of numbers"),
        ("m.npy", b"", "does not hold rows of numbers"),
        ("m.npy", b"PK\3\4", "does not hold rows of numbers"),
        ("m.npy", b"\x93NUMPY\1\0\x0a\0{'shape'\n(((", "does not hold rows of numbers"),
    ],
)
@pytest.mark.usefixtures("made")
def test_a_broken_matrix_is_named(load: Any, tmp_path: Path, name: str, data: bytes | None, text: str) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(PolicyError, match=text) as caught:
        load(HEAD + f'mechanism = "matrix"\nmatrix_file = "{name}"\n')
    assert str(caught.value).startswith(f"{str(tmp_path / 'policy.toml')!r}, line 5: column 'x'")


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, "version = 1\nrows_per_person = " + "9" * 5000], ids=["brackets", "digits"]
)
def test_what_the_parser_of_toml_gives_up_on_is_an_error_of_ours(load: Any, text: str) -> None:
    with pytest.raises(PolicyError, match="thousands of digits, or endless brackets"):
        load(text)


def test_optimal_takes_a_loss(load: Any, made: list[Any]) -> None:
    load(HEAD + 'mechanism = "optimal"\nepsilon = 1\nloss = "hamming"\ndelta = 0.01\nobjective = "bayes"\nprior = [0.5, 0.5]\n')
    name, _, _, named = made[0]
    assert name == "optimal_response"
    assert named == {"loss": "hamming", "epsilon": 1, "delta": 0.01, "objective": "bayes", "prior": [0.5, 0.5]}


def test_a_missing_package_is_named(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(*_: object) -> Any:
        return _policy_mechanisms._class("no_such_solver", "x")

    monkeypatch.setitem(KINDS, "optimal", Kind(("loss",), (), make))
    with pytest.raises(PolicyError, match="needs no_such_solver, which is not installed"):
        load(HEAD + 'mechanism = "optimal"\nloss = "hamming"\n')


def test_a_registered_kind_is_a_kind(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "matrix", Kind(("epsilon",), (), lambda domain, entry, folder: response(domain, entry["epsilon"])))
    assert load(HEAD + 'mechanism = "matrix"\nepsilon = 3\n').privacy().epsilon == 3.0


# mistakes

COLUMN = "version = 1\n[columns.x]\ndomain = [0, 1]\nepsilon = 1\n"
JOINT = 'version = 1\n\n[[joint]]\ncolumns = ["a", "b"]\ndomain = [[0, 1], ["x", "y"]]\nepsilon = 1\n'
BINS = "version = 1\n[columns.x]\nedges = [0, 1]\nepsilon = 1\n"
BY = "version = 1\n[columns.p]\nuse = 'public'\n[columns.x]\ndomain = [0, 1]\nby = 'p'\n"
STRATUM = "[[columns.x.strata]]\nvalue = 1\nepsilon = 1\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (COLUMN.replace("epsilon = 1", "epsilon = -1"), 4, ["column 'x'", "epsilon"]),
        (COLUMN + "delta = 2\n", 5, ["column 'x'", "delta"]),
        (COLUMN.replace("[0, 1]", '[\n  0,\n  0, # "\n]'), 3, ["column 'x'", "repeated"]),
        (COLUMN + 'other = "z"\n', 5, ["column 'x'", "other"]),
        (COLUMN + 'unknown = "no"\n', 5, ["column 'x'", "unknown"]),
        (COLUMN + "epsilom = 1\n", 5, ["did you mean 'epsilon'?"]),
        (COLUMN + "only = [[1]]\n", 5, ["unknown key 'only'"]),
        (COLUMN + 'distance = "hamming"\n', 5, ["distance has no meaning for the mechanism 'randomised_response'"]),
        (COLUMN + 'mechanism = "matrix"\nmatrix_file = "m.csv"\n', 4, ["epsilon has no meaning for the mechanism 'matrix'"]),
        (COLUMN + 'mechanism = "optimal"\n', 2, ["loss is missing"]),
        (COLUMN + 'mechanism = "expnential"\n', 5, ["did you mean 'exponential'?"]),
        (COLUMN + "strata = []\n", 5, ["strata has no meaning without by"]),
        (COLUMN + "labels = ['a']\n", 5, ["labels name the bins between edges"]),
        ("version = 1\nunlisted = 3\n[columns.x]\nuse = 'drop'\n", 2, ["unlisted must be one of"]),
        ("version = 2\n", 1, ["version must be 1"]),
        (BINS + "domain = [0]\n", 3, ["either domain or edges"]),
        (BINS.replace("[0, 1]", "[1, 0]"), 3, ["grow strictly"]),
        (BINS.replace("[0, 1]", "'0, 1'"), 3, ["list or tuple"]),
        (BINS + "labels = ['a', 'b']\n", 5, ["each with one label"]),
        (BINS + "null = 1\n", 5, ["null must be true or false"]),
        (JOINT + "epsilom = 1\n", 7, ["joint group 1", "did you mean 'epsilon'?"]),
        (JOINT + "null = true\n", 7, ["unknown key 'null'"]),
        (JOINT + 'use = "drop"\n', 7, ["unknown key 'use'"]),
        (JOINT.replace('["a", "b"]', '["a"]'), 4, ["two names or more"]),
        (JOINT.replace('["a", "b"]', '["a", "a"]'), 4, ["a name twice"]),
        (JOINT.replace('["a", "b"]', "3"), 4, ["two names or more"]),
        (JOINT.replace(', ["x", "y"]]', "]"), 5, ["one domain"]),
        (JOINT.replace('["x", "y"]', "3"), 5, ["joint group 1: each domain must be"]),
        (JOINT.replace('["x", "y"]', '["x", "x"]'), 5, ["domain of 'b'", "repeated"]),
        (JOINT.replace('["x", "y"]', '"none.txt"'), 5, ["domain of 'b'", "none.txt"]),
        (JOINT.replace('["x", "y"]', "{ edges = [1, 1] }"), 5, ["grow strictly"]),
        (JOINT.replace('["x", "y"]', "{ edge = [1, 1] }"), 5, ["did you mean 'edges'?"]),
        (JOINT + 'only = [[0, "z"]]\n', 7, ["one value of each part"]),
        (JOINT + "only = [0]\n", 7, ["list of lists"]),
        (JOINT + 'other = [0, "z"]\n', 7, ["other= must be one of the values"]),
        (JOINT + JOINT.partition("\n")[2], 9, ["joint group 2", "'a' is listed twice"]),
        (JOINT + "[columns.b]\nuse = 'drop'\n", 4, ["joint group 1", "'b' is listed twice"]),
        ("version = 1\njoint = 3\n", 2, ["list of tables"]),
        (BY, 6, ["strata are missing"]),
        (BY + "epsilon = 1\n" + STRATUM, 7, ["epsilon beside by"]),
        (BY + STRATUM + "vale = 3\n", 10, ["stratum 1", "did you mean 'value'?"]),
        (BY + STRATUM + STRATUM, 11, ["stratum 2", "has a stratum already"]),
        (BY + STRATUM.replace("1\ne", "0.5\ne"), 8, ["value must be"]),
        (BY + "[[columns.x.strata]]\nepsilon = 1\n", 7, ["value is missing"]),
        (BY + STRATUM + "null = true\n", 7, ["value is missing; or write null"]),
        (BY + STRATUM.replace("epsilon = 1", "epsilon = -1"), 9, ["stratum 1", "epsilon"]),
        (BY + STRATUM + "[columns.x.default]\n", 10, ["column 'x', default", "epsilon is missing"]),
        (BY + "default = 1\n" + STRATUM, 7, ["default must be a table"]),
        (BY.replace("'p'", "3") + STRATUM, 6, ["name of a public column"]),
        (BY + STRATUM + STRATUM.replace("value = 1", "value = 'a'"), 6, ["are no domain"]),
    ],
)
@pytest.mark.usefixtures("made")
def test_mistakes_are_named_with_their_line(load: Any, text: str, line: int, words: list[str]) -> None:
    with pytest.raises(PolicyError) as caught:
        load(text)
    assert f"policy.toml', line {line}: " in str(caught.value)
    assert str(caught.value).count(", line ") == 1
    for word in words:
        assert word in str(caught.value)


def test_what_python_refuses_a_file_may_not_say(load: Any) -> None:
    joint = JOINT + "by = 'q'\n[[joint.strata]]\nvalue = 1\nepsilon = 1\n"
    for text, line in ((BY.replace("use = 'public'", "use = 'drop'") + STRATUM, 6), (joint.replace("\nepsilon = 1", "", 1), 6)):
        with pytest.raises(PolicyError, match=f", line {line}: .* which is not public"):
            load(text)


# lines

TOML = '''# a comment with [brackets] and "quotes
title = "a # no comment"  # [x]
a.b."c.d" = 1
text = """
[columns.no]
key = "\\""" ]"""
raw = \'\'\'
[columns.never]\'\'\'
[columns."x.y"]  # ]
list = [
  "]", # [
  { a = 1 },
]
 "\\u0065psilon" = 1
[[joint]]
one = 1
[joint.inner]
two = 2
[[joint]]
two = 2
[[joint.deep]]
z = 1
[[joint.deep]]
z = 1
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 2),
        (("a", "b", "c.d"), 3),
        (("a", "b"), 3),
        (("text",), 4),
        (("raw",), 7),
        (("columns",), 9),
        (("columns", "x.y"), 9),
        (("columns", "x.y", "list"), 10),
        (("columns", "x.y", "list", 0, "a"), 10),
        (("columns", "x.y", "epsilon"), 14),
        (("columns", "x.y", "missing"), 9),
        (("columns", "no"), 9),
        (("joint",), 15),
        (("joint", 0, "one"), 16),
        (("joint", 0, "inner", "two"), 18),
        (("joint", 1, "two"), 20),
        (("joint", 1, "deep", 0, "z"), 22),
        (("joint", 1, "deep", 1), 23),
        (("nothing",), None),
    ],
)
def test_lines_of_keys(path: tuple[str | int, ...], line: int | None) -> None:
    assert line_of(TOML, path) == line
    assert line_of(TOML.replace("\n", "\r\n"), path) == line
