"""What the package ships against its byte-for-byte reference: digests, thresholds, and whole columns under every layout."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpfast import Domain, RandomisedResponse, Stream
from dpfast.reference import response, sanitise, words

KEY = bytes(range(32))
CONTEXT = "vols/2026-11-30 é"
DOMAINS: list[list[Any]] = [
    ["a"],
    ["a", "b"],
    ["é", "", "ABC", None],
    [5, -7, 2**40],
    [0, 1, 2],
    [False, True],
    [b"x", b"\xff\x00"],
    ["b", None, "a"],
]


@pytest.mark.parametrize("values", DOMAINS, ids=str)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1e-25, 0.0), (1.0, 0.0), (3.0, 1e-3), (60.0, 0.0)])
def test_digests_and_tables(values: list[Any], epsilon: float, delta: float) -> None:
    mechanism = RandomisedResponse(values, epsilon=epsilon, delta=delta)
    t = response.threshold(len(values), epsilon, delta)
    assert mechanism.threshold == t
    assert mechanism.domain.digest == words.domain_digest(values)
    assert mechanism.digest == words.response_digest(words.domain_digest(values), t)
    assert mechanism.table.tolist() == response.table(len(values), t)


@pytest.mark.parametrize("k", [1, 2, 3, 255, 256, 257, 1024, 1025, 4097, 70_000])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 8.0, 100.0])
def test_codes_by_row(k: int, epsilon: float) -> None:
    mechanism = RandomisedResponse(Domain.range(k), epsilon=epsilon)
    assert mechanism.domain.digest == words.range_digest(k)
    column = np.random.default_rng(k).integers(0, k, 700).astype(np.uint32)
    rng = Stream(key=KEY, context=CONTEXT, first_row=13)
    found = mechanism.sanitise(column, rng=rng, column_name="code")
    expected = sanitise.sanitise(
        column.tolist(), range(k), mechanism.threshold, master=KEY, context=CONTEXT, column="code", first_row=13
    )
    assert found.tolist() == expected


@pytest.mark.parametrize("values", DOMAINS, ids=str)
def test_values_by_row(values: list[Any]) -> None:
    rng = random.Random(1)
    strange: Any = {str: "zzz", int: 99, bytes: b"zz", bool: None, type(None): None}[type(values[0])]
    column = [rng.choice([*values, strange]) for _ in range(400)]
    mechanism = RandomisedResponse(Domain(values, unknown="randomise"), epsilon=1.0)
    found = mechanism.sanitise(pa.array(column), rng=Stream.insecure(9), column_name=("a", "b"))
    assert found.to_pylist() == sanitise.sanitise(
        column,
        values,
        mechanism.threshold,
        master=words.insecure_master_key(9),
        column=("a", "b"),
        unknown="randomise",
    )


def test_values_by_row_with_other() -> None:
    column = ["a", "zebra", "b", None] * 50
    mechanism = RandomisedResponse(Domain(["a", "b", "rest"], other="rest"), epsilon=1.0)
    found = mechanism.sanitise(pa.array(column), rng=Stream.insecure(9), column_name="x")
    expected = sanitise.sanitise(
        column, ["a", "b", "rest"], mechanism.threshold, master=words.insecure_master_key(9), column="x", other="rest"
    )
    assert found.to_pylist() == expected


IDS: dict[str, Any] = {
    "int64": np.arange(-200, 200, dtype=np.int64) * 2**54,
    "uint64": np.arange(400, dtype=np.uint64) + np.uint64(2**63 - 200),
    "uint8": np.arange(200, dtype=np.uint8),
    "text": pa.array([f"p{n}" * (n % 9) + str(n) for n in range(400)]),
    "numpy text": np.array([f"é{n}" for n in range(400)]),
    "binary": pa.array([bytes([n % 256, n // 256]) * (1 + n % 9) for n in range(400)]),
    "fixed binary": pa.array([n.to_bytes(16, "big") for n in range(400)], pa.binary(16)),
    "tuple": (pa.array([f"p{n % 20}" for n in range(400)]), np.arange(400) // 20),
}


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("k", [3, 5000])
def test_codes_by_identifier(name: str, k: int) -> None:
    ids = IDS[name]
    parts = [part.tolist() for part in (ids if isinstance(ids, tuple) else (ids,))]
    listed: Any = list(zip(*parts, strict=True)) if isinstance(ids, tuple) else parts[0]
    mechanism = RandomisedResponse(Domain.range(k, unknown="randomise"), epsilon=1.0)
    column = np.arange(len(listed)) % (k + 1)
    found = mechanism.sanitise(column, rng=Stream(key=KEY, context=CONTEXT), ids=ids, column_name="x")
    assert found.tolist() == sanitise.sanitise(
        column.tolist(),
        range(k),
        mechanism.threshold,
        master=KEY,
        context=CONTEXT,
        column="x",
        ids=listed,
        unknown="randomise",
    )
