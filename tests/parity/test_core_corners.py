"""Corners of the C core that other tests of every push leave out: each width, refusals, and work that is taken up again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpfast import ArgumentError, MatrixResponse, Stream
from dpfast._core import graph as core_graph
from dpfast._core import rows as core
from dpfast.reference import matrix as reference

CODES = ["u1", "u2", "u4"]
N = (1 << 20) + 2000  # more than one piece of work of the search of a graph


@pytest.mark.parametrize("index", ["u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("has_nulls", [False, True])
def test_indices_of_every_width_are_looked_up(index: str, code: str, has_nulls: bool) -> None:
    table, indices = np.arange(100, 150, dtype=code), (np.arange(600) * 7 % 50).astype(index)
    bits = np.frombuffer(bytes(range(76)), np.uint8) if has_nulls else None
    valid = np.ones(600, bool) if bits is None else np.unpackbits(bits, bitorder="little")[3:603].astype(bool)
    out = np.empty(600, code)
    core.remap(indices, bits, 3 if has_nulls else 0, table, 9, out)
    assert (out == np.where(valid, table[indices.astype(int)], 9)).all()
    indices[-1] = 50
    with pytest.raises(Exception, match="outside its dictionary"):
        core.remap(indices, None, 0, table, 9, out)
    with pytest.raises(Exception, match="outside its dictionary"):
        core.remap(indices, np.full(75, 255, np.uint8), 0, table, 9, out)


def test_a_name_of_no_target_is_refused() -> None:
    with pytest.raises(ArgumentError, match="unknown or not supported"):
        core.set_isa("none")


@pytest.mark.parametrize(("k", "step"), [(0, 1), (3, 1 << 63), ((1 << 31) + 1, 0)])
def test_integers_of_no_response_are_refused(k: int, step: int) -> None:
    with pytest.raises(ArgumentError, match="not a law"):
        core.ResponseLaw(k, step, False, False)


LAST = 2**64 - 1


@pytest.mark.parametrize(
    ("tops", "firsts"), [([[5, 4, LAST]] * 3, [0, 0, 0]), ([[1, 2, 3]] * 3, [0, 0, 0]), ([[1, 2, LAST]] * 3, [3, 0, 0])]
)
def test_integers_of_no_matrix_are_refused(tops: Any, firsts: Any) -> None:
    with pytest.raises(ArgumentError, match="not a law"):
        core.MatrixLaw(np.array(tops, np.uint64), np.array(firsts, np.uint32), np.empty(3 * core.GUIDE_SIZE, np.uint32), False)


def test_a_response_that_never_changes_and_one_of_one_category() -> None:
    codes, words = np.arange(3, dtype=np.uint8), np.array([0, 1, LAST], np.uint64)
    for law in (core.ResponseLaw(3, 0, False, False), core.ResponseLaw(1, 0, False, False)):
        given = np.minimum(codes, law.k - 1).astype(np.uint8)
        out = np.empty(3, np.uint8)
        law.whole(given, words, out)
        assert (out == given).all()


def test_a_matrix_of_more_categories_than_two_stages_serve() -> None:
    k = core.SPLIT_MAX + 1
    mechanism = MatrixResponse(range(k), 0.5 * (np.eye(k) + np.roll(np.eye(k), 1, axis=1)))
    codes = np.arange(k, dtype=np.uint16)
    words = Stream.insecure(1).rows(None, bytes(32), k).reader(0, whole=True).words(k).copy()
    words[0], words[1] = 0, LAST
    out = np.empty(k, np.uint16)
    mechanism.law.whole(codes, words, out)
    assert out.tolist() == [reference.decide(int(w), row.tolist()) for w, row in zip(words, mechanism.table, strict=True)]


@pytest.mark.parametrize(("u", "v"), [(-1, 0), (3, 0), (0, -1), (0, 3)])
def test_edges_of_no_vertex_are_found(u: int, v: int) -> None:
    ends = [np.array([0, end], np.int32) for end in (u, v)]
    status, bad = core_graph.edges_count(*ends, np.ones(2), None, np.zeros(4, np.int64))
    assert (status != 0, bad) == (True, 1)


def test_a_search_is_taken_up_again_where_a_piece_of_work_ended() -> None:
    """A star: everything is reached from its middle in one step, and the others have all the arcs back."""
    indptr = np.concatenate([[0], N - 1 + np.arange(N)])
    indices = np.concatenate([np.arange(1, N), np.zeros(N - 1)]).astype(np.int32)
    arcs = core_graph.Arcs(indptr, indices, np.full(indices.size, core_graph.weight(1.0)), None)
    keys = np.full(N, core_graph.KEY_ONE, np.uint64)
    keys[0] = np.array([1e-3]).view(np.uint64)[0]
    one, other = keys.copy(), keys.copy()
    arcs.by_heap(one)
    arcs.by_buckets(other, 50)
    assert (one == other).all()
    assert (one[1:] == one[1]).all()
    assert keys[0] < one[1] < core_graph.KEY_ONE
    room = np.empty(10, np.int64)  # of the arcs that the keys break, as many as there is room for
    assert arcs.unproved(keys, 0, 0, room) == (10, 0, 10)
    assert room.tolist() == list(range(10))
