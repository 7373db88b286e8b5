"""The JSON Schema that ships with the package: it knows the files that load, and refuses those that do not."""

from __future__ import annotations

import json
import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dpfast import Policy, PolicyError
from dpfast._policy_mechanisms import KINDS
from dpfast._policy_toml import COLUMN_DOMAIN_KEYS, JOINT_DOMAIN_KEYS, MECHANISM_KEYS, STRATA_KEYS, TOP_KEYS

COLUMN = "version = 1\n[columns.x]\ndomain = [0, 1]\nepsilon = 1\n"
JOINT = 'version = 1\n[[joint]]\ncolumns = ["a", "b"]\ndomain = [[0, 1], ["x", "y"]]\nepsilon = 1\n'
BY = "version = 1\n[columns.p]\nuse = 'public'\n[columns.x]\ndomain = [0, 1]\nby = 'p'\n"
STRATUM = "[[columns.x.strata]]\nvalue = 1\nepsilon = 1\n"


@pytest.fixture(scope="module")
def schema() -> Any:
    return json.loads(resources.files("dpfast").joinpath("policy.schema.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def valid(schema: Any) -> Any:
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    return lambda text: not list(validator.iter_errors(tomllib.loads(text)))


def test_policies_that_ship_are_valid(valid: Any, root: Path) -> None:
    readme = re.findall(r"^```toml\n(.*?)^```$", (root / "README.md").read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    examples = [path.read_text("utf-8") for path in (root / "examples").rglob("*.toml")]
    assert readme
    assert examples
    for text in [*readme, *examples]:
        assert valid(text)


GOOD = [
    COLUMN,
    COLUMN + "delta = 0.5\nnull = true\nunknown = 'randomise'\n",
    COLUMN.replace("[0, 1]", "'values.txt'"),
    COLUMN.replace("domain = [0, 1]", "edges = [0, 0.5]\nlabels = ['a']\nother = 'a'"),
    "version = 1\nunlisted = 'drop'\nrows_per_person = 3\n[columns.x]\nuse = 'public'\n",
    JOINT,
    JOINT + "only = [[0, 'x'], [1, 'y']]\nunknown = 'randomise'\n",
    JOINT.replace('["x", "y"]', "{ edges = [0, 1], null = true }"),
    BY + STRATUM,
    BY + STRATUM + "[[columns.x.strata]]\nnull = true\nepsilon = 2\n[columns.x.default]\nepsilon = 0\n",
]
# What the schema can say of a file that does not load; the rest needs the domain.
BAD = [
    "",
    "version = 1\n",
    "version = 2\n" + COLUMN.partition("\n")[2],
    COLUMN + "epsilom = 1\n",
    COLUMN.replace("epsilon = 1", ""),
    COLUMN.replace("domain = [0, 1]", ""),
    COLUMN.replace("epsilon = 1", "epsilon = -1"),
    COLUMN + "delta = 1.0\n",
    COLUMN + "labels = ['a']\n",
    COLUMN + "edges = [0, 1]\n",
    COLUMN + "mechanism = 'other'\n",
    COLUMN + "mechanism = 'matrix'\nmatrix_file = 'm.csv'\n",
    COLUMN + "mechanism = 'exponential'\n",
    COLUMN + "distance = 'hamming'\n",
    COLUMN + "unknown = 'drop'\n",
    COLUMN + "strata = []\n",
    COLUMN + "[columns.x.default]\nepsilon = 1\n",
    COLUMN + "use = 'public'\n",
    "version = 1\nunlisted = 'keep'\n" + COLUMN.partition("\n")[2],
    "version = 1\nrows_per_person = 0\n" + COLUMN.partition("\n")[2],
    JOINT + "null = true\n",
    JOINT.replace('["a", "b"]', '["a"]'),
    JOINT + "only = [0]\n",
    BY,
    BY + "epsilon = 1\n" + STRATUM,
    BY + STRATUM + "null = true\n",
    BY + "[[columns.x.strata]]\nepsilon = 1\n",
    BY + STRATUM.replace("epsilon = 1\n", ""),
]


def loads(text: str, folder: Path) -> bool:
    (folder / "values.txt").write_text("a\nb\n")
    (folder / "policy.toml").write_text(text)
    try:
        Policy.load(folder / "policy.toml")
    except PolicyError:
        return False
    return True


@pytest.mark.parametrize("text", GOOD)
def test_what_loads_is_valid(valid: Any, tmp_path: Path, text: str) -> None:
    assert loads(text, tmp_path)
    assert valid(text)


@pytest.mark.parametrize("text", BAD)
def test_what_is_not_valid_does_not_load(valid: Any, tmp_path: Path, text: str) -> None:
    assert not loads(text, tmp_path)
    assert not valid(text)


@pytest.mark.parametrize(
    "keys",
    [
        "mechanism = 'exponential'\nepsilon = 1\ndistance = 'ordinal'\n",
        "mechanism = 'exponential'\nepsilon = 1\ndistance = [[0, 1], [1, 0]]\n",
        "mechanism = 'matrix'\nmatrix_file = 'm.csv'\n",
        "mechanism = 'optimal'\nepsilon = 1\ndelta = 0.1\nloss = 'hamming'\nobjective = 'bayes'\nprior = [0.5, 0.5]\n",
    ],
)
def test_other_mechanisms_are_valid(valid: Any, keys: str) -> None:
    assert valid(COLUMN.replace("epsilon = 1\n", keys))


def test_schema_and_reader_know_the_same_keys(schema: Any) -> None:
    parts = schema["$defs"]
    column = parts["column"]["oneOf"][1]["properties"]
    assert set(schema["properties"]) == set(TOP_KEYS)
    assert set(parts["mechanism"]["properties"]) == set(MECHANISM_KEYS)
    assert set(parts["mechanism"]["properties"]["mechanism"]["enum"]) == set(KINDS)
    assert set(column) == {*COLUMN_DOMAIN_KEYS, *MECHANISM_KEYS, *STRATA_KEYS}
    assert set(parts["joint"]["properties"]) == {*JOINT_DOMAIN_KEYS, *MECHANISM_KEYS, *STRATA_KEYS}
    assert set(parts["column_domain"]["properties"]) == set(COLUMN_DOMAIN_KEYS)
    assert set(parts["stratum"]["properties"]) == {"value", "null", *MECHANISM_KEYS}
    assert set(parts["lone_mechanism"]["properties"]) == set(MECHANISM_KEYS)
