"""Columns of very many chunks: each dictionary is looked up once, and the cost of a chunk is small."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpfast import CorruptDataError, Domain
from dpfast.columns import arrow
from dpfast.columns.arrow import ArrowColumn

K = 1000
VALUES = [f"value{number:04}" for number in range(K)]
ENTRIES = pa.array(VALUES)


def copy(array: pa.Array) -> pa.Array:
    """The same values in memory of their own."""
    return pa.Array.from_buffers(
        array.type, len(array), [buffer and pa.py_buffer(buffer.to_pybytes()) for buffer in array.buffers()]
    )


def indexed(place: int, dictionary: pa.Array) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array([place], pa.int16()), dictionary)


def chunks(shape: str, count: int) -> tuple[list[pa.Array], list[Any]]:
    """Chunks of one row, and values of a domain that they belong to."""
    places = [number % K for number in range(count)]
    if shape == "shared":
        return [indexed(place, ENTRIES) for place in places], VALUES
    if shape == "equal":
        return [indexed(place, copy(ENTRIES)) for place in places], [*VALUES, None]
    if shape == "text":
        return [ENTRIES.slice(place, 1) for place in places], [*VALUES, None]
    if shape == "integers":
        return [pa.array([place]) for place in places], list(reversed(range(K)))
    return [pa.array([place % 2 == 0]) for place in places], [True, False]


@pytest.mark.parametrize("shape", ["shared", "equal", "text", "integers", "booleans"])
def test_look_ups_do_not_grow_with_the_chunks(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, values = chunks(shape, 500)
    seen: list[int] = []
    codes_of = ArrowColumn._codes_of

    def counted(column: ArrowColumn, array: pa.Array) -> Any:
        seen.append(len(array))
        return codes_of(column, array)

    monkeypatch.setattr(ArrowColumn, "_codes_of", counted)
    domain = Domain(values)
    codes = domain.encode(pa.chunked_array(parts))
    assert len(seen) == 1
    assert [domain.values[code] for code in codes] == pa.chunked_array(parts).to_pylist()


def test_dictionaries_that_differ_are_never_taken_for_each_other() -> None:
    orders = [pa.array(["a", "b", "c"]), pa.array(["c", "b", "a"]), pa.array(["a", "b"]), pa.array(["b", None, "x"])]
    slices = pa.array(["c", "b", "a", "c"])
    orders += [slices.slice(0, 3), slices.slice(1, 3), slices.slice(1, 2)]
    column = pa.chunked_array(
        [indexed(row % len(order), order) for row in range(6) for order in [*orders, *map(copy, orders[:4])]]
    )
    domain = Domain(["a", "b", "c", None], unknown="randomise")
    expected = [4 if value == "x" else domain.index[value] for value in column.to_pylist()]
    assert domain.encode(column).tolist() == expected


def test_few_tables_are_kept() -> None:
    dictionaries = [pa.array(["a", "b", str(number)]) for number in range(10 * arrow.TABLES_MAX)]
    column = ArrowColumn(Domain(["a", "b"]), pa.chunked_array([indexed(1, each) for each in dictionaries]), None)
    codes = column.tile(0, column.n_rows, np.empty(column.n_rows, column.code_type))
    assert set(codes.tolist()) == {1}
    assert len(column._tables) <= arrow.TABLES_MAX


@pytest.mark.parametrize("merge", [1, 2, 5, 1000])
def test_short_chunks_are_put_together_in_order(monkeypatch: pytest.MonkeyPatch, merge: int) -> None:
    monkeypatch.setattr(arrow, "MERGE_ROWS", merge)
    words = np.array(["a", "b", "c"])[np.arange(60) * 7 % 3].tolist()
    lengths = [0, 1, 7, 0, 3, 1, 1, 20, 4, 0, 23, 0]
    ends = np.cumsum([0, *lengths])
    column = pa.chunked_array([pa.array(words[a:b], pa.string()) for a, b in pairwise(ends)])
    adapter = ArrowColumn(Domain(["c", "b", "a"]), column, None)
    for start in range(60):
        for stop in range(start, 61):
            codes = adapter.tile(start, stop, np.empty(stop - start, adapter.code_type))
            assert codes.tolist() == ["cba".index(word) for word in words[start:stop]]


def test_chunks_that_are_too_long_together_are_looked_up_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def overflow(_: object) -> None:
        raise pa.ArrowInvalid("offset overflow while concatenating arrays")

    column = pa.chunked_array([["a"], ["b", "a"], ["b"]])
    monkeypatch.setattr(pa, "concat_arrays", overflow)
    assert Domain(["a", "b"]).encode(column).tolist() == [0, 1, 0, 1]


def test_a_broken_chunk_among_short_ones_is_refused() -> None:
    broken = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(np.array([0, 1 << 20, 1], np.int32)), pa.py_buffer(b"a")])
    with pytest.raises(CorruptDataError):
        Domain(["a"]).encode(pa.chunked_array([pa.array(["a"]), broken]))
    fine, bad = pa.array([0], pa.int8()), pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), broken)
    column = pa.chunked_array([pa.DictionaryArray.from_arrays(fine, pa.array(["a"])), bad])
    with pytest.raises(CorruptDataError):
        Domain(["a"]).encode(column)
