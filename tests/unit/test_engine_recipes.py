"""The recipes of docs/engines.md do what they say, each engine that is installed; dask and ray need not be."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dpfast import Stream

KEY = bytes(range(7, 256, 8))
# Names under which the engines are imported, where they may be missing.
OPTIONAL = {"Dask": "dask.dataframe", "Ray": "ray.data"}


def blocks(root: Path) -> dict[str, list[str]]:
    """Blocks of Python by heading; what stands before the first is under the empty text."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in re.split(r"^(## [^\n]*\n|```python\n.*?^```\n)", (root / "docs" / "engines.md").read_text(), flags=re.M | re.S):
        if line.startswith("## "):
            heading = line[3:].strip()
        elif line.startswith("```python"):
            found.setdefault(heading, []).append(line.removeprefix("```python\n").removesuffix("```\n"))
    return found


def test_there_is_a_recipe_for_each(root: Path) -> None:
    assert set(blocks(root)) == {"", "DuckDB", "polars", "Dask", "Ray"}
    assert all(
        len([line for line in block.splitlines() if line]) <= 4 for recipe in ("DuckDB", "Dask") for block in blocks(root)[recipe]
    )


@pytest.mark.parametrize("engine", ["DuckDB", "polars", "Dask", "Ray"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")
def test_a_recipe_does_what_it_says(engine: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine in OPTIONAL:
        pytest.importorskip(OPTIONAL[engine])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPFAST_KEY", base64.b64encode(KEY).decode())
    names: dict[str, Any] = {}
    for block in blocks(root)[""] + blocks(root)[engine]:
        exec(block, names)
    people: pa.Table = names["people"]
    want = names["policy"].sanitise(people, rng=Stream(key=KEY, context="people"), ids="id")["smoker"].to_pylist()
    if engine == "DuckDB":
        once, again = (names["connection"].sql("SELECT * FROM released ORDER BY id").fetchall() for _ in range(2))
        assert once == again
        assert len(once) == 1000
        assert 0.1 < sum(smoker == "yes" for _, smoker in once) / 1000 < 0.9
    elif engine == "polars":
        assert names["released"].columns == ["id", "smoker"]
        assert names["query"].collect()["smoker"].to_list() == want
    elif engine == "Dask":
        assert names["released"].compute()["smoker"].tolist() == want
    else:
        found = sorted(names["released"].take_all(), key=lambda row: row["id"])
        assert [row["smoker"] for row in found] == want
