"""The same values out for every SIMD target, number of threads, tile, piece and container."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpfast import Domain, RandomisedResponse, Stream, _threads, sanitise
from dpfast._core import rows as core
from dpfast.reference import sanitise as reference

N = 20_000
CASES = [
    (2, 0.0, np.uint8),
    (10, 1.0, np.uint8),
    (10, 1.0, np.int64),
    (255, 3.0, np.uint8),
    (256, 0.1, np.uint8),
    (300, 2.0, np.uint16),
    (1024, 6.0, np.uint16),
    (1025, 6.0, np.uint16),
    (100_000, 9.0, np.int32),
]


def column_of(k: int, dtype: Any, n: int = N) -> np.ndarray:
    return np.random.default_rng(k).integers(0, k, n).astype(dtype)


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads and tiles at sizes that a test can afford."""
    monkeypatch.setattr(_threads, "INLINE_ROWS", 1)
    monkeypatch.setattr(_threads, "TASK_ROWS", 100)


@pytest.mark.parametrize(("k", "epsilon", "dtype"), CASES)
def test_targets_threads_and_tiles(
    k: int, epsilon: float, dtype: Any, small_tasks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = RandomisedResponse(Domain.range(k, unknown="randomise"), epsilon=epsilon)
    column = column_of(k, dtype)
    column[::17] = np.iinfo(dtype).max if k <= np.iinfo(dtype).max else 0  # unknown values take their own way
    expected = mechanism.sanitise(column, rng=Stream.insecure(3))
    before = core.isa()
    try:
        for isa in core.isas():
            core.set_isa(isa)
            for threads in (1, 2, 8):
                for tile in (7, 4096, N) if threads == 2 else (4096,):
                    monkeypatch.setattr(sanitise, "TILE_ROWS", tile)
                    got = mechanism.sanitise(column, rng=Stream.insecure(3), threads=threads)
                    assert got.tobytes() == expected.tobytes()
    finally:
        core.set_isa(before)
    monkeypatch.setattr(sanitise, "TILE_ROWS", 1)
    assert mechanism.sanitise(column[:500], rng=Stream.insecure(3), threads=2).tobytes() == expected[:500].tobytes()


@pytest.mark.parametrize("piece", [1, 7, 4096, N])
@pytest.mark.parametrize(("k", "epsilon", "dtype"), CASES)
def test_a_column_in_pieces_is_the_column_whole(k: int, epsilon: float, dtype: Any, piece: int) -> None:
    n = 600 if piece == 1 else N
    mechanism = RandomisedResponse(range(k), epsilon=epsilon)
    column = column_of(k, dtype, n)
    whole = mechanism.sanitise(column, rng=Stream(key=bytes(32), context="parity"), column_name="c")
    stream = Stream(key=bytes(32), context="parity")
    parts = [mechanism.sanitise(column[a : a + piece], rng=stream, column_name="c") for a in range(0, n, piece)]
    assert np.concatenate(parts).tobytes() == whole.tobytes()
    start = n // 3
    later = Stream(key=bytes(32), context="parity", first_row=start)
    assert mechanism.sanitise(column[start:], rng=later, column_name="c").tobytes() == whole[start:].tobytes()


def test_random_splits() -> None:
    mechanism = RandomisedResponse(range(6), epsilon=0.5)
    column = column_of(6, np.uint8)
    whole = mechanism.sanitise(column, rng=Stream(key=bytes(32), context="parity"), column_name="c")
    draw = np.random.default_rng(5)
    for _ in range(20):
        cuts = np.sort(draw.integers(0, N, draw.integers(0, 30)))
        stream = Stream(key=bytes(32), context="parity")
        parts = [mechanism.sanitise(part, rng=stream, column_name="c") for part in np.split(column, cuts)]
        assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_containers_hold_the_same_answers() -> None:
    names = ["red", "green", "blue", "black"]
    mechanism = RandomisedResponse(names, epsilon=1.0)
    codes = column_of(4, np.uint8, 3000)
    values = np.array(names)[codes]
    text = pa.array(values)
    columns: list[Any] = [
        values,
        values.astype(object),
        text,
        text.cast(pa.large_string()),
        text.cast(pa.string_view()),
        text.dictionary_encode(),
        pa.chunked_array([text[:5], text[5:5], text[5:1234], text[1234:]]),
        pa.chunked_array([text[:700].dictionary_encode(), text[700:].dictionary_encode()]),
    ]
    expected = reference.sanitise(values.tolist(), names, mechanism.threshold, master=_master(9), column="c")
    for column in columns:
        got = mechanism.sanitise(column, rng=Stream.insecure(9), column_name="c")
        assert (got.to_pylist() if isinstance(got, (pa.Array, pa.ChunkedArray)) else got.tolist()) == expected


def test_ids_in_any_order_and_number_of_threads(small_tasks: None) -> None:
    mechanism = RandomisedResponse(range(5), epsilon=1.0)
    column = column_of(5, np.uint8, 5000)
    ids = np.random.default_rng(1).permutation(5000)
    stream = Stream(key=bytes(32), context="people")
    expected = mechanism.sanitise(column, rng=stream, ids=ids, column_name="c", threads=1)
    for threads in (2, 8):
        got = mechanism.sanitise(column, rng=stream, ids=ids, column_name="c", threads=threads)
        assert got.tobytes() == expected.tobytes()
    order = np.random.default_rng(2).permutation(5000)
    shuffled = mechanism.sanitise(column[order], rng=stream, ids=ids[order], column_name="c")
    assert (shuffled == expected[order]).all()
    text = mechanism.sanitise(column, rng=stream, ids=ids.astype(str), column_name="c")
    assert (text != expected).any(), "text and integers are different identifiers"


def _master(seed: int) -> bytes:
    from dpfast.reference.words import insecure_master_key

    return insecure_master_key(seed)
