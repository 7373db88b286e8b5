"""Answers into memory that the caller gives: the column itself, another array, or memory that overlaps it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from dpfast import ArgumentError, ArgumentTypeError, Domain, RandomisedResponse, Stream

Column = npt.NDArray[Any]

N = 300_000  # more than two tiles, so that a tile could overwrite the input of the next
COLUMNS: dict[str, tuple[Domain, Callable[[], Column]]] = {
    **{
        f"codes {dtype}": (Domain.range(100), lambda dtype=dtype: (np.arange(N) * 7 % 100).astype(dtype))
        for dtype in ("u1", "i1", "u2", "<i4", ">u4", "<i8", ">i8")
    },
    "more categories": (Domain.range(5000), lambda: (np.arange(N) * 7 % 5000).astype(np.uint16)),
    "with other=": (Domain.range(50, other=3), lambda: (np.arange(N) * 7 % 100).astype(np.uint8)),
    "listed": (Domain([5, -1, 9]), lambda: np.array([5, 9, -1], np.int32)[np.arange(N) % 3]),
    "bool": (Domain([False, True]), lambda: np.arange(N) % 3 == 0),
    "text": (Domain(["a", "bcd"]), lambda: np.array(["a", "bcd"])[np.arange(N) % 2]),
    "objects": (Domain(["a", None]), lambda: np.array(["a", None], object)[np.arange(N) % 2]),
}


@pytest.fixture(params=COLUMNS)
def case(request: pytest.FixtureRequest) -> tuple[RandomisedResponse, Column, list[Any]]:
    """A mechanism, a column, and the answers in new memory."""
    domain, column = COLUMNS[request.param]
    mechanism = RandomisedResponse(domain, epsilon=1.0)
    return mechanism, column(), answer(mechanism, column()).tolist()


def answer(mechanism: RandomisedResponse, column: Column, **options: Any) -> Column:
    answers: Column = mechanism.sanitise(column, rng=Stream.insecure(5), **options)
    return answers


def test_the_column_itself(case: tuple[RandomisedResponse, Column, list[Any]]) -> None:
    mechanism, column, expected = case
    assert answer(mechanism, column, out=column) is column
    assert column.tolist() == expected


def test_another_array(case: tuple[RandomisedResponse, Column, list[Any]]) -> None:
    mechanism, column, expected = case
    before, out = column.tolist(), np.zeros_like(column)
    assert answer(mechanism, column, out=out, threads=2) is out
    assert out.tolist() == expected
    assert column.tolist() == before


@pytest.mark.parametrize("shift", [1, -1, 64, -(1 << 17), 1 << 17])
def test_memory_that_overlaps_out_of_step(case: tuple[RandomisedResponse, Column, list[Any]], shift: int) -> None:
    mechanism, column, expected = case
    memory = np.zeros(column.size + abs(shift), column.dtype)
    source = memory[max(shift, 0) :][: column.size]
    out = memory[max(-shift, 0) :][: column.size]
    source[:] = column
    answer(mechanism, source, out=out)
    assert out.tolist() == expected


@pytest.mark.parametrize(("source_step", "out_step"), [(1, 2), (2, 1), (2, 2), (1, -1), (-1, 1), (-1, -1), (-2, 1)])
def test_strides_of_one_memory(case: tuple[RandomisedResponse, Column, list[Any]], source_step: int, out_step: int) -> None:
    mechanism, column, expected = case
    memory = np.zeros(2 * column.size, column.dtype)
    source, out = (memory[::step][: column.size] for step in (source_step, out_step))
    source[:] = column
    answer(mechanism, source, out=out)
    assert out.tolist() == expected


def test_memory_at_an_odd_address_and_a_memory_map(tmp_path: Path) -> None:
    mechanism = RandomisedResponse(range(100), epsilon=1.0)
    column = (np.arange(N) * 7 % 100).astype(np.uint32)
    expected = answer(mechanism, column).tolist()
    odd = np.zeros(column.nbytes + 1, np.uint8)[1:].view(np.uint32)
    odd[:] = column
    answer(mechanism, odd, out=odd)
    assert odd.tolist() == expected
    mapped = np.memmap(tmp_path / "column", np.uint32, "w+", shape=(N,))
    mapped[:] = column
    answer(mechanism, mapped, out=mapped)
    mapped.flush()
    assert np.fromfile(tmp_path / "column", np.uint32).tolist() == expected


def test_in_place_under_identifiers() -> None:
    mechanism = RandomisedResponse(range(100), epsilon=1.0)
    column = (np.arange(N) * 7 % 100).astype(np.uint8)
    expected = answer(mechanism, column, ids=np.arange(N), column_name="c").tolist()
    assert answer(mechanism, column, ids=np.arange(N), column_name="c", out=column).tolist() == expected


def test_identifiers_may_lie_where_the_answers_go() -> None:
    mechanism = RandomisedResponse(range(N), epsilon=1.0)
    column = np.arange(N, dtype=np.uint32)
    expected = answer(mechanism, column, ids=column.copy(), column_name="c").tolist()
    assert answer(mechanism, column, ids=column, column_name="c", out=column).tolist() == expected
    wide = np.arange(N)
    assert answer(mechanism, wide, ids=wide, column_name="c", out=wide).tolist() == expected


def frozen(n_rows: int) -> Column:
    array = np.zeros(n_rows, np.uint8)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("out", "error", "text"),
    [
        (np.zeros(4, np.uint8), ArgumentError, "out needs the column's length and dtype uint8"),
        (np.zeros(6, np.uint8), ArgumentError, "out needs the column's length"),
        (np.zeros((5, 1), np.uint8), ArgumentError, "out needs the column's length"),
        (np.zeros(5, np.int8), ArgumentError, "dtype uint8"),
        (np.zeros(5, np.uint16), ArgumentError, "dtype uint8"),
        (np.zeros(5, object), ArgumentError, "dtype uint8"),
        (frozen(5), ArgumentError, "out is read-only"),
        (np.frombuffer(bytes(5), np.uint8), ArgumentError, "out is read-only"),
        ([0] * 5, ArgumentTypeError, "out must be a numpy array"),
        (bytearray(5), ArgumentTypeError, "out must be a numpy array"),
        (pa.array([0] * 5, pa.uint8()), ArgumentTypeError, "out must be a numpy array"),
    ],
)
def test_memory_that_does_not_fit_is_refused(out: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        answer(RandomisedResponse(range(4), epsilon=1.0), np.zeros(5, np.uint8), out=out)
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        answer(RandomisedResponse(range(4, 9), epsilon=1.0), np.full(5, 4, np.uint8), out=out)


def test_memory_for_text_has_the_width_of_the_domain() -> None:
    mechanism = RandomisedResponse(["a", "bcd"], epsilon=1.0)
    column = np.array(["a", "bcd"], "U9")
    with pytest.raises(ArgumentError, match="dtype <U3"):
        answer(mechanism, column, out=column)
    assert answer(mechanism, column, out=np.empty(2, "U3")).tolist() == answer(mechanism, column).tolist()


@pytest.mark.parametrize("byte_order", ["<", ">"])
def test_byte_orders_are_not_mixed(byte_order: str) -> None:
    other = np.zeros(5, {"<": ">", ">": "<"}[byte_order] + "u2")
    with pytest.raises(ArgumentError, match="dtype"):
        answer(RandomisedResponse(range(4), epsilon=1.0), np.zeros(5, byte_order + "u2"), out=other)


@pytest.mark.parametrize("column", [pa.array(["a"]), pa.chunked_array([["a"]]), pa.array(["a"]).dictionary_encode()])
def test_arrow_memory_cannot_be_written(column: Any) -> None:
    for out in (column, np.zeros(1, np.uint8)):
        with pytest.raises(ArgumentTypeError, match="Arrow memory is immutable"):
            answer(RandomisedResponse(["a"], epsilon=1.0), column, out=out)
