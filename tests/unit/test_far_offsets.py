"""Codes, vertices and offsets beyond the type that holds them inside: refused, never taken for what is left of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpfast
from dpfast import ArgumentError, Domain, DomainError, DpfastError, OutsideDomainError, RandomisedResponse, Stream, graph

FOUR = RandomisedResponse(range(4), epsilon=20.0)
TOWNS = RandomisedResponse(["Bray", "Cork"], epsilon=20.0)
WRAPS = [2**8 + 1, 2**16 + 1, 2**31 + 1, 2**32 + 1, 2**33 + 1, -(2**32) + 1]


@pytest.mark.parametrize("far", WRAPS)
def test_a_code_whose_low_bits_are_in_the_domain_is_outside(far: int) -> None:
    columns: list[Any] = [np.array([0, far]), pa.array([0, far]), pa.chunked_array([[0], [far]])]
    for column in columns:
        with pytest.raises(OutsideDomainError):
            FOUR.sanitise(column, rng=Stream.insecure(1))
    if far > 0:
        with pytest.raises(OutsideDomainError):
            FOUR.sanitise(np.array([0, far], np.uint64), rng=Stream.insecure(1))


@pytest.mark.parametrize("far", [*WRAPS, 2])
@pytest.mark.parametrize("width", [pa.int32(), pa.uint32(), pa.int64(), pa.uint64()], ids=str)
def test_an_index_whose_low_bits_are_in_the_dictionary_is_refused(far: int, width: pa.DataType) -> None:
    try:
        indices = pa.array([0, far], width)
    except (pa.ArrowInvalid, OverflowError):
        return  # this width does not hold it
    column = pa.DictionaryArray.from_arrays(indices, pa.array(["Bray", "Cork"]), safe=False)
    with pytest.raises(DpfastError):
        TOWNS.sanitise(column, rng=Stream.insecure(1))


def test_wide_offsets_and_indices_are_read() -> None:
    wide = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1], pa.int64()), pa.array(["Bray", "Cork"], pa.large_string()))
    for column in (wide, pa.array(["Cork", "Bray", "Cork"], pa.large_string())):
        assert TOWNS.sanitise(column, rng=Stream.insecure(1)).to_pylist() == ["Cork", "Bray", "Cork"]


def test_domains_hold_what_a_code_of_31_bits_counts() -> None:
    wide = RandomisedResponse(Domain.range(2**31), epsilon=60.0)
    column = np.array([0, 2**31 - 1, 2**31 - 2, 1])
    drawn = wide.sanitise(np.tile(column, 50), rng=Stream.insecure(1))
    assert (drawn == np.tile(column, 50)).mean() > 0.5
    assert drawn.min() >= 0
    with pytest.raises(OutsideDomainError):
        wide.sanitise(np.array([2**31]), rng=Stream.insecure(1))
    with pytest.raises(DomainError):
        Domain.range(2**31 + 1)


@pytest.mark.parametrize("far", WRAPS)
def test_a_vertex_whose_low_bits_are_one_is_refused(far: int) -> None:
    with pytest.raises(ArgumentError):
        graph.DatasetGraph([0], [far], 1.0, n_vertices=10)
    with pytest.raises(ArgumentError):
        graph.DatasetGraph.from_csr([0, 1, 1], [far], 1.0)
    with pytest.raises(OutsideDomainError):
        dpfast.count_triangles((np.array([0]), np.array([far])), n_vertices=10, epsilon=1.0)


@pytest.mark.parametrize("far", [2**31, 2**32 + 2, 2**63])
def test_more_vertices_than_31_bits_are_refused(far: int) -> None:
    with pytest.raises(ArgumentError, match=r"2\*\*31|vertices"):
        graph.DatasetGraph([0], [1], 1.0, n_vertices=far)
    with pytest.raises(ArgumentError, match=r"2\*\*31|vertices"):
        dpfast.count_triangles((np.array([0]), np.array([1])), n_vertices=far, epsilon=1.0)


@pytest.mark.parametrize("indptr", [[0, 2**32 + 1], [0, -1, 1], [2**32, 1], [0, 2**63 - 1]])
def test_rows_of_a_graph_that_leave_its_arcs_are_refused(indptr: list[int]) -> None:
    with pytest.raises(ArgumentError):
        graph.DatasetGraph.from_csr(indptr, [0], 1.0)


def test_a_key_of_a_group_is_its_whole_number() -> None:
    values, by = np.array([5.0] * 50 + [9.0] * 50), np.array([1] * 50 + [2**32 + 1] * 50)
    found = dpfast.median(values, bounds=(0, 10), epsilon=100.0, step=1.0, by=by, keys=[1, 2**32 + 1], rng=Stream.insecure(1))
    assert found.tolist() == [5.0, 9.0]


def test_more_rows_than_the_joint_law_is_proved_for_are_refused() -> None:
    many = np.broadcast_to(np.uint8(0), 2**31)  # one byte
    with pytest.raises(ArgumentError, match=r"2\*\*31"):
        dpfast.quantiles(many, [0.1, 0.9], bounds=(0, 255), epsilon=1.0, method="joint")


def test_more_rows_than_a_stream_has_are_refused_before_any_is_drawn() -> None:
    stream = Stream(first_row=2**49 - 5)
    with pytest.raises(ArgumentError, match="no rows left"):
        FOUR.sanitise(np.zeros(6, np.uint8), rng=stream)
    assert FOUR.sanitise(np.zeros(5, np.uint8), rng=stream).size == 5
