"""What targets of text and of Arrow IPC say beyond the sanitised values: nothing, as `test_files_leaks` has it of Parquet."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import Domain, Policy, RandomisedResponse, Stream, sanitise_file
from dpfast._schema import without_hidden

CANARY = hashlib.blake2b(b"canary", digest_size=32).hexdigest()
TOWNS = ["Bray", "Cork", "Dingle"]
TARGETS = ["csv", "arrow", "arrows", "parquet"]


def response(**rules: Any) -> RandomisedResponse:
    return RandomisedResponse(Domain(TOWNS, **rules), epsilon=1.0)


def masked(values: list[str], valid: list[bool]) -> pa.Array:
    """Text with values under its nulls."""
    plain = pa.array(values)
    bits = pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(pa.string(), len(values), [bits, *plain.buffers()[1:]])


def coded(values: list[str], codes: list[int | None]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(values))


HIDDEN = masked(["x", CANARY, "y"], [True, False, True])
SCENARIOS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "unused entry": ({"town": coded([CANARY, *TOWNS], [1, 2, 3])}, {}),
    "unused entry of a public column": ({"town": TOWNS, "note": coded(["x", CANARY], [0, 0, None])}, {"note": "public"}),
    "value under a null": ({"town": TOWNS, "note": HIDDEN}, {"note": "public"}),
    "value under a null of a sanitised column": (
        {"town": masked(["Bray", CANARY, "Cork"], [True, False, True])},
        {"town": response(unknown="randomise")},
    ),
    "unknown value": ({"town": ["Bray", CANARY, "Cork"]}, {"town": response(unknown="randomise")}),
    "other value": ({"town": ["Bray", CANARY, "Cork"]}, {"town": response(other="Cork")}),
    "dropped column": ({"town": TOWNS, "name": [CANARY] * 3}, {"name": "drop"}),
}


def source_of(path: Path, columns: dict[str, Any]) -> Path:
    table = pa.table(columns)
    fields = [field.with_metadata({CANARY: CANARY}) for field in table.schema]
    schema = pa.schema(fields, metadata={CANARY: CANARY, "pandas": CANARY})
    with pa.ipc.new_file(str(path), schema) as writer:
        writer.write_table(table.cast(schema) if CANARY not in str(table.schema) else table)
    return path


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_canary_of_an_arrow_file_reaches_no_target(tmp_path: Path, scenario: str, target: str) -> None:
    columns, rules = SCENARIOS[scenario]
    source = source_of(tmp_path / "s.arrow", columns)
    assert CANARY.encode() in source.read_bytes()
    sanitise_file(source, tmp_path / f"t.{target}", Policy({"town": response(), **rules}), rng=Stream.insecure(4))
    for path in tmp_path.glob("t.*"):
        assert CANARY.encode() not in path.read_bytes()
    assert any(town.encode() in (tmp_path / f"t.{target}").read_bytes() for town in TOWNS)


@pytest.mark.parametrize("target", TARGETS)
def test_a_public_canary_is_seen(tmp_path: Path, target: str) -> None:
    # The negative control of the search itself.
    source = source_of(tmp_path / "s.arrow", {"town": TOWNS, "note": [CANARY] * 3})
    sanitise_file(source, tmp_path / f"t.{target}", Policy({"town": response(), "note": "public"}))
    assert CANARY.encode() in (tmp_path / f"t.{target}").read_bytes()


@pytest.mark.parametrize("target", ["csv", "csv.gz", "arrow", "arrows"])
def test_only_the_values_of_the_source_matter(tmp_path: Path, target: str) -> None:
    """Dictionaries, their order, batches, metadata: writings of one table, one target."""
    codes = np.random.default_rng(1).integers(0, 3, 50).tolist()
    plain = pa.table({"town": pa.array([TOWNS[code] for code in codes]).dictionary_encode()})
    writings = [
        plain,
        pa.table({"town": coded([CANARY, *TOWNS[::-1]], [3 - code for code in codes])}),
        pa.table({"town": pa.chunked_array([plain["town"].chunk(0).slice(0, 7), plain["town"].chunk(0).slice(7)])}),
        plain.replace_schema_metadata({"pandas": CANARY}),
    ]
    seen = set()
    for table in writings:
        with pa.ipc.new_stream(str(tmp_path / "s.arrows"), table.schema) as writer:
            writer.write_table(table)
        sanitise_file(
            tmp_path / "s.arrows", tmp_path / f"t.{target}", Policy({"town": response()}), rng=Stream.insecure(4), overwrite=True
        )
        seen.add((tmp_path / f"t.{target}").read_bytes())
    assert len(seen) == 1


def test_the_header_of_gzip_holds_no_name_and_no_time(tmp_path: Path) -> None:
    source = source_of(tmp_path / "s.arrow", {"town": TOWNS})
    sanitise_file(source, tmp_path / f"{CANARY}.csv.gz", Policy({"town": response()}))
    data = (tmp_path / f"{CANARY}.csv.gz").read_bytes()
    assert data[:8] == b"\x1f\x8b\x08" + bytes(5), "deflate, no flags, the beginning of time"
    assert CANARY.encode() not in data


def test_neighbours_differ_in_one_line(tmp_path: Path) -> None:
    lines = []
    for first in TOWNS[:2]:
        pq.write_table(pa.table({"town": [*TOWNS * 9, first, *TOWNS * 9], "n": range(55)}), tmp_path / "s.parquet")
        policy = Policy({"town": response(), "n": "public"})
        sanitise_file(tmp_path / "s.parquet", tmp_path / "t.csv", policy, rng=Stream.insecure(9), overwrite=True)
        lines.append((tmp_path / "t.csv").read_text().split("\n"))
    assert {number for number, pair in enumerate(zip(*lines, strict=True)) if len(set(pair)) > 1} <= {28}


@pytest.mark.parametrize(
    "array",
    [
        HIDDEN,
        HIDDEN.cast(pa.string_view()),
        pa.StructArray.from_arrays([pa.array(["x", CANARY, "y"])], names=["a"], mask=pa.array([False, True, False])),
        pa.StructArray.from_arrays([HIDDEN], names=["a"]),
        pa.ListArray.from_arrays(
            pa.array([0, 1, 2, 3], pa.int32()), pa.array(["x", CANARY, "y"]), mask=pa.array([False, True, False])
        ),
        pa.ListArray.from_arrays(pa.array([0, 3], pa.int32()), HIDDEN),
        pa.ListArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array([CANARY, "y", CANARY])),
        pa.array([CANARY, "y", None, CANARY]).slice(1, 2),
    ],
)
def test_nothing_is_left_under_nulls(array: pa.Array) -> None:
    def held(column: pa.Array) -> bytes:
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, pa.schema([("x", column.type)])) as writer:
            writer.write_batch(pa.record_batch([column], names=["x"]))
        return stream.getvalue().to_pybytes()

    clean = without_hidden(array)
    clean.validate(full=True)
    assert clean.equals(array)
    assert clean.type == array.type
    assert CANARY.encode() not in held(clean)
