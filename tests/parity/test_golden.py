"""Stream version 1 is frozen: the shipped code and the reference both give what the golden file says."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pending import pending_rows

from dpfast import Domain, RandomisedResponse, Stream
from dpfast.ids import prepare_ids
from dpfast.privacy import response_threshold
from dpfast.randomness import STREAM_VERSION
from dpfast.words import DrawBits, IdCells, RowReader

FOLDER = Path(__file__).resolve().parents[1] / "golden"
sys.path.insert(0, str(FOLDER))

import make_golden  # noqa: E402

GOLDEN: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / "stream_1.json").read_text(encoding="utf-8"))
KEY = bytes(range(32))


def test_there_are_enough_of_them_and_the_reference_agrees() -> None:
    assert STREAM_VERSION == 1
    assert sum(map(len, GOLDEN.values())) >= 200
    assert make_golden.text(make_golden.entries()) == (FOLDER / "stream_1.json").read_text(encoding="utf-8")


def test_thresholds() -> None:
    for entry in GOLDEN["thresholds"]:
        asked = entry["k"], float.fromhex(entry["epsilon"]), float.fromhex(entry["delta"])
        assert response_threshold(*asked) == entry["t"]


def test_domain_digests() -> None:
    for entry in GOLDEN["domains"]:
        assert Domain(make_golden.unpacked(entry["values"])).digest.hex() == entry["digest"]
    for entry in GOLDEN["ranges"]:
        assert Domain.range(entry["k"]).digest.hex() == entry["digest"]


def test_subkeys() -> None:
    for entry in GOLDEN["subkeys"]:
        column = tuple(entry["column"]) if isinstance(entry["column"], list) else entry["column"]
        if not entry["context"]:
            continue  # fresh streams have no context; nothing else does without
        stream = Stream(key=KEY, context=entry["context"])
        if entry["source"]:
            stream = stream.bind_source(bytes.fromhex(entry["source"]))
        if column is None:
            with pytest.raises(TypeError):
                stream._subkey(entry["kind"], column, bytes(32))
            continue
        assert stream._subkey(entry["kind"], column, bytes(32)).hex() == entry["subkey"]


def test_row_words() -> None:
    for entry in GOLDEN["rows"]:
        whole = entry["k"] > 1024
        reader = RowReader(KEY, entry["row"], whole=whole, n_rows=1)
        if whole:
            word = int(reader.words(1)[0])
        else:
            high = int(reader.high(1)[0])
            word = high << 48 | int.from_bytes(reader.low(pending_rows(1), 0)[:6].tobytes(), "little")
        assert word == entry["word"]


def test_id_words() -> None:
    for entry in GOLDEN["ids"]:
        (identifier,) = make_golden.unpacked([entry["id"]])
        column = (
            np.array([identifier], np.uint64) if isinstance(identifier, int) and identifier >= 2**63 else pa.array([identifier])
        )
        words = prepare_ids(column).words(IdCells(KEY), 0, 1, np.array([entry["code"]], np.uint32))
        assert int(words[0]) == entry["word"]
    for entry in GOLDEN["tuples"]:
        parts = [
            pa.array([part]) if not isinstance(part, int) else np.array([part]) for part in make_golden.unpacked(entry["id"])
        ]
        words = prepare_ids(tuple(parts)).words(IdCells(KEY), 0, 1, np.array([1], np.uint32))
        assert int(words[0]) == entry["word"]


def test_columns(isa: str) -> None:
    for entry in GOLDEN["columns"]:
        domain = make_golden.unpacked(entry["domain"])
        column = np.empty(len(entry["column"]), object)
        column[:] = make_golden.unpacked(entry["column"])
        stream = Stream.insecure(entry["seed"], first_row=entry["seed"] * 1000)
        answers = RandomisedResponse(domain, epsilon=1.0).sanitise(column, rng=stream, column_name="c")
        assert answers.tolist() == make_golden.unpacked(entry["answers"])


def test_bits_of_draws() -> None:
    for entry in GOLDEN["draws"]:
        bits = DrawBits(KEY, entry["number"], 4)
        assert bits.ones(np.ones(256, np.int64)).tolist() == [int(bit) for bit in entry["bits"]]


def test_histograms() -> None:
    for entry in GOLDEN["histograms"]:
        mechanism = RandomisedResponse(range(entry["k"]), epsilon=float.fromhex(entry["epsilon"]))
        stream = Stream.insecure(entry["seed"], first_row=entry["seed"] * 1000)
        answers = mechanism.sanitise_counts(entry["counts"], rng=stream, column_name="c")
        assert answers.tolist() == entry["answers"]
