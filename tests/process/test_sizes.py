"""Columns, races and graphs of more entries than 31 and 32 bits count, read from pages of zeros that lie nowhere."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from soak import record
from stats import assert_law

import dpfast
from dpfast import RandomisedResponse, Stream
from dpfast._core import graph as core
from dpfast.reference import sanitise as reference

pytestmark = pytest.mark.slow
PIECE = 1 << 24


def zeros(n: int) -> npt.NDArray[np.uint8]:
    """Zeros that cannot be written to; every page of them is the one zero page of the system."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    return np.frombuffer(mmap.mmap(-1, n, flags=flags, prot=mmap.PROT_READ), np.uint8)


def check_column(n: int, key: bytes) -> None:
    """Rows at both ends and about 2^31 and 2^32 are those of the reference; all of them together have the law."""
    mechanism = RandomisedResponse(range(5), epsilon=1.0)

    def stream(first: int = 0) -> Stream:
        return Stream(key=key, context="sizes", first_row=first)

    drawn = mechanism.sanitise(zeros(n), rng=stream(), column_name="c")
    assert drawn.size == n
    for first in {0, n // 2, 2**31 - 20, 2**32 - 20, n - 40}:
        if first + 40 <= n:
            expected = reference.sanitise(
                [0] * 40, range(5), mechanism.threshold, master=key, context="sizes", column="c", first_row=first
            )
            assert drawn[first : first + 40].tolist() == expected
    last = mechanism.sanitise(zeros(PIECE), rng=stream(n - PIECE), column_name="c")
    assert (last == drawn[n - PIECE :]).all()
    counts: Any = sum(np.bincount(drawn[at : at + PIECE], minlength=5) for at in range(0, n, PIECE))
    assert counts.sum() == n
    assert_law(counts, [float(mechanism.keep_probability), *[float(1 - mechanism.keep_probability) / 4] * 4])


@pytest.mark.parametrize("n", [2**31 - 1, 2**31, 2**31 + 1])
def test_columns_of_more_rows_than_an_int_counts(n: int, key: bytes) -> None:
    check_column(n, key)
    record(f"rows {n}", rows=f"{n:,}")


def test_a_column_of_more_rows_than_32_bits_count(key: bytes) -> None:
    check_column(2**32 + 16, key)
    record("rows beyond 32 bits", rows=f"{2**32 + 16:,}")


def test_a_race_of_more_entries_than_32_bits_count(tmp_path: Path) -> None:
    n = 2**32 + 16
    place = tmp_path / "weights"
    with place.open("wb") as file:
        file.truncate(n)
        file.seek(2**32 + 7)
        file.write(b"\xc8")
    heavy = np.memmap(place, np.uint8, "r")
    assert dpfast.race(heavy, rng=Stream.insecure(1)) == 2**32 + 7
    draws = dpfast.race(zeros(n), size=200, rng=Stream.insecure(1))
    assert draws.max() >= 2**31
    assert_law(np.bincount(draws >> 29, minlength=9)[:8], np.full(8, 1 / 8))
    record("entries beyond 32 bits", entries=f"{n:,}")


def test_the_median_of_more_values_than_32_bits_count() -> None:
    n = 2**32 + 16
    assert dpfast.median(zeros(n), bounds=(0, 255), epsilon=1.0, rng=Stream.insecure(1)) == 0
    record("values beyond 32 bits", values=f"{n:,}")


def small_and_large(arcs: int) -> list[Any]:
    """What the searches make of two vertices: all arcs lead to the first, and the last six are those of the second."""
    found: list[Any] = []
    for size in (16, arcs):
        indptr = np.array([0, size - 6, size])
        indices, weights = zeros(4 * size).view(np.int32), zeros(8 * size).view(np.float64)
        marks, keys = np.empty(2, np.uint8), np.array([core.KEY_ONE, 1 << 60], np.uint64)
        core.Arcs(indptr, indices, weights, None, np.array([0, 1], np.uint8)).boundary(marks)
        followed = core.Arcs(indptr, indices, weights, None).by_buckets(keys, 44)
        found.append((marks.tolist(), keys.tolist(), followed))
    return found


def test_a_graph_of_more_arcs_than_32_bits_count() -> None:
    arcs = 2**32 + 16
    small, large = small_and_large(arcs)
    assert small == large
    assert small[0] == [0, 1]  # the arcs of the second vertex, which come last, lead to the other colour
    record("arcs beyond 32 bits", arcs=f"{arcs:,}")
