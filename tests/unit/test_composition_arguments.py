"""What the composition calls take and refuse."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpfast import (
    ArgumentError,
    ArgumentTypeError,
    Domain,
    MatrixResponse,
    Privacy,
    RandomisedResponse,
    compose,
    compose_bounds,
    composed_delta,
)

PART = RandomisedResponse(["a", "b", "c"], epsilon=1.0)


@pytest.mark.parametrize("parts", [PART, Privacy(1.0), "parts", 3, None])
def test_parts_must_be_a_list(parts: Any) -> None:
    for call in (lambda: compose(parts, delta=0.0), lambda: composed_delta(parts, epsilon=0.0)):
        with pytest.raises(ArgumentTypeError, match="list"):
            call()


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("a", "must be a mechanism"),
        (1.5, "must be a mechanism"),
        ({1: 2}, "must be a mechanism"),
        ([[0.5, 0.5], [0.5, 0.5]], "integers"),
        ([[True, False], [False, True]], "integers"),
        (PART.matrix, "integers"),
    ],
)
def test_other_parts_are_refused_by_type(part: Any, text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=text):
        compose([part], delta=0.1)


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ([1, 2, 3], "two dimensions"),
        ([[]], "two dimensions"),
        ([[1, 2], [2, 2]], "one and the same"),
        ([[0, 0], [0, 0]], "positive sum"),
        ([[-1, 2], [2, -1]], "negative"),
        ([[2**512, 1], [1, 2**512]], "2\\*\\*512"),
    ],
)
def test_tables_that_are_none_are_refused(table: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        compose([table], delta=0.1)


@pytest.mark.parametrize("delta", [-0.1, 1.0, float("nan")])
def test_delta_out_of_range(delta: float) -> None:
    for call in (compose, compose_bounds):
        with pytest.raises(ArgumentError):
            call([PART], delta=delta)


def test_neighbours_must_agree() -> None:
    added = Privacy(1.0, neighbours="add_remove")
    assert compose([added, added], delta=0.0).neighbours == "add_remove"
    assert compose([Privacy(1.0, rows_per_person=3)] * 2, delta=0.0) == Privacy(2.0, rows_per_person=3)
    for other in (PART, Privacy(1.0), Privacy(1.0, neighbours="add_remove", rows_per_person=2)):
        with pytest.raises(ArgumentError, match="neighbours"):
            compose([added, other], delta=0.0)


def test_a_table_is_the_mechanism_it_belongs_to() -> None:
    for delta in (0.0, 1e-6, 0.2):
        for table in (PART.table, PART.table.tolist(), PART.table.astype(np.uint64)):
            assert compose([table, PART], delta=delta) == compose([PART, PART], delta=delta)


def test_any_iterable_and_any_number() -> None:
    assert compose(iter([PART, PART]), delta=Fraction(1, 4)).delta == 0.25
    assert compose((PART for _ in range(2)), delta=0).epsilon == 2.0


def test_rows_that_are_alike_cost_nothing() -> None:
    assert compose([[[1, 2, 3], [1, 2, 3]], RandomisedResponse(range(1), epsilon=5.0)], delta=0.0) == Privacy(0.0)
    assert compose([[[3, 1], [1, 3]]] * 2, delta=0.0).epsilon == pytest.approx(2 * np.log(3), abs=1e-15)
    # The diagonal below the rest: not randomised response, but a table all the same.
    assert compose([[[1, 3], [3, 1]]] * 2, delta=0.0).epsilon == pytest.approx(2 * np.log(3), abs=1e-15)
    assert compose([[[1, 3], [3, 1]]] * 2, delta=0.1).epsilon == pytest.approx(
        compose([[[3, 1], [1, 3]]] * 2, delta=0.1).epsilon, rel=1e-4
    )


def test_the_row_of_unknown_values_counts_as_a_row() -> None:
    domain = Domain(["a", "b", "c"], unknown="randomise")
    mechanism = MatrixResponse(domain, [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
    rows = [mechanism.integer_table.integers(i) for i in range(4)]
    for delta in (1e-6, 0.1):
        assert compose_bounds([mechanism] * 2, delta=delta) == compose_bounds([rows] * 2, delta=delta)


def test_many_tables_with_large_losses_warn_of_nothing() -> None:
    table = [[97, 2, 1], [1, 98, 1], [1, 1, 98]]
    lower, upper = compose_bounds([table] * 1000, delta=1e-6)
    assert 0 <= lower <= upper < 1000 * 4.6
