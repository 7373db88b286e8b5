"""What a job does, but for the values it writes, does not depend on the data: pairs of sources of one schema, one outcome.

Compared are the class and the text of an error, warnings, names and rights of all files, numbers of rows, schemas, certificates
(but for the name of a keyed job, a secret function of the source), what is logged and what the command prints.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from faulty import quick_place
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from soak import record

from dpfast import Domain, DpfastError, Policy, RandomisedResponse, sanitise_file
from dpfast.cli import main

TOWNS = ["Bray", "Cork", "Dingle"]
# What a column of text may hold: members, strangers, the empty text, what looks like null, and null.
CELL = st.sampled_from([*TOWNS, "Mars", "", "NA", "é", "\x1b[31m", None])
CODE = st.one_of(st.none(), st.integers(-3, 300))
KINDS = ("parquet", "arrow", "csv")
LAYOUTS = ("file", "folder", "one")
PAIRS = 10_000  # of the long test


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Any, Any]:
    """Two tables of one schema and one length, cut into the same files."""
    n = draw(st.integers(0, 6))
    columns = [(draw(st.lists(CELL, min_size=n, max_size=n)), draw(st.lists(CODE, min_size=n, max_size=n))) for _ in range(2)]
    return columns[0], columns[1]


POLICY = Policy(
    {
        "town": RandomisedResponse(Domain(TOWNS, unknown="randomise"), epsilon=1.0),
        "code": RandomisedResponse(Domain([1, 2, 3], other=2), epsilon=1.0),
        "id": "public",
    }
)
# The same, but that the first stranger ends the job: then both must hold one for the outcomes to be compared.
STRICT = Policy({"town": RandomisedResponse(TOWNS, epsilon=1.0), "code": "drop", "id": "public"})


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with quick_place() as found:
        yield found


def write(path: Path, columns: tuple[list[Any], list[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    towns, codes = columns
    table = pa.table(
        {"id": pa.array(range(len(towns)), pa.int64()), "town": pa.array(towns, pa.string()), "code": pa.array(codes, pa.int16())}
    )
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    else:
        pa.csv.write_csv(table, str(path))


def clear(place: Path) -> None:
    for path in sorted(place.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def outcome(place: Path, columns: Any, kind: str, layout: str, policy: Policy, by_command: bool) -> dict[str, Any]:
    """All that can be seen of a job but the values."""
    for name in ("a",) if layout == "file" else ("a", "deep/b"):
        write(place / "in" / f"{name}.{kind}", columns)
    source = place / "in" / f"a.{kind}" if layout == "file" else place / "in"
    target = place / "out" / ("t" if layout == "folder" else f"t.{kind}")
    target.parent.mkdir(exist_ok=True)
    shown, log = io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(log)
    logger = logging.getLogger("dpfast")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    seen: dict[str, Any] = {}
    try:
        with warnings.catch_warnings(record=True) as warned, redirect_stdout(shown), redirect_stderr(shown):
            warnings.simplefilter("always")
            if by_command:
                words = ["--column", "town=Bray,Cork,Dingle", "--epsilon", "1", "--public", "id", "--drop", "code"]
                words += ["--json", "--no-progress"]
                seen["code"] = main(["sanitise", str(source), str(target), *words])
            else:
                report = sanitise_file(source, target, policy, progress=False)
                seen["report"] = (report.rows, report.files, report.certificate)
    except DpfastError as error:
        seen["error"] = (type(error), str(error))
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
        logger.propagate = True
    seen["warned"] = [str(one.message) for one in warned]
    seen["text"] = re.sub(r"[\d.]+ seconds.*", "", shown.getvalue()) + log.getvalue()
    seen["files"] = sorted(
        (path.relative_to(place).as_posix(), path.stat().st_mode) for path in (place / "out").rglob("*") if "tmp" not in path.name
    )
    seen["schemas"] = [pq.read_schema(path) for path in sorted((place / "out").rglob("*.parquet"))]
    clear(place)
    return seen


def compare(place: Path, pair: tuple[Any, Any], kind: str, layout: str, strict: bool, by_command: bool) -> None:
    first, second = pair
    policy = POLICY
    if strict or by_command:
        policy = STRICT
        if first[0]:  # the last row of each decides: both jobs fail, wherever other strangers are
            first, second = (
                ([*towns[:-1], stranger], codes) for (towns, codes), stranger in zip(pair, ("Mars", "x,y"), strict=True)
            )
    one, two = (outcome(place, columns, kind, layout, policy, by_command) for columns in (first, second))
    assert one == two
    if strict and first[0] and not by_command:
        assert one["error"][0].__name__ == "OutsideDomainError"


@given(pairs(), st.sampled_from(KINDS), st.sampled_from(LAYOUTS), st.booleans(), st.booleans())
@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_pairs_of_sources_have_one_outcome(
    place: Path, pair: tuple[Any, Any], kind: str, layout: str, strict: bool, by_command: bool
) -> None:
    compare(place, pair, kind, layout, strict, by_command)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_pairs_of_sources_have_one_outcome(place: Path, kind: str) -> None:
    """A third of them for each kind: ``pytest -n 3 -m slow tests/property/test_outcomes.py`` tries them side by side."""
    tried = 0

    @given(pairs(), st.sampled_from(LAYOUTS), st.booleans(), st.booleans())
    @settings(max_examples=PAIRS // len(KINDS) + 1, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def search(pair: tuple[Any, Any], layout: str, strict: bool, by_command: bool) -> None:
        nonlocal tried
        compare(place, pair, kind, layout, strict, by_command)
        tried += 1

    search()
    record(f"outcomes: {kind}", pairs=tried, differences=0)


def test_a_job_that_tells_is_noticed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: an error that names the value it met."""
    from dpfast.errors import OutsideDomainError
    from dpfast.etl.plan import FilePlan

    sanitise = FilePlan.sanitise

    def telling(plan: FilePlan, batch: Any, *arguments: Any) -> Any:
        try:
            return sanitise(plan, batch, *arguments)
        except OutsideDomainError:
            raise OutsideDomainError(f"no town is called {batch.column('town')[-1].as_py()}") from None

    monkeypatch.setattr(FilePlan, "sanitise", telling)
    with pytest.raises(AssertionError):
        compare(place, ((["Bray"], [1]), (["Bray"], [1])), "parquet", "file", True, False)
