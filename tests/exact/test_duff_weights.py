"""The public table of weights: its integers, decided exactly, in every way in which it is made."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpfast.duff import weights as module
from dpfast.duff.weights import Weights, check_epsilon, decay_of
from dpfast.reference import duff as reference

EPSILONS = [0, 5e-324, 1e-18, 1e-6, Fraction(1, 3), 0.1, 1.0, 2.5, 20.0, 88.0, 88.7228390, 88.8, 89.9, 90.0, 1000.0, 1e308]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_decay_is_the_exact_one(epsilon: Any) -> None:
    exponent = check_epsilon(epsilon) / 2
    if exponent < 1000:
        assert decay_of(exponent) == reference.decay(exponent)
    else:
        assert decay_of(exponent) == (1 << 64) - 1


def test_a_decay_that_few_digits_leave_open_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_DIGITS", 3)
    decay_of.cache_clear()
    for epsilon in EPSILONS[:-2]:
        exponent = check_epsilon(epsilon) / 2
        assert decay_of(exponent) == reference.decay(exponent)
    decay_of.cache_clear()


@pytest.mark.parametrize("factor", [Fraction(1, 2), Fraction(1), Fraction(1, 2048)])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 20.0, 1000.0])
def test_the_table_is_that_of_the_reference(epsilon: float, factor: Fraction) -> None:
    exponent = Fraction(epsilon) * factor
    wanted = reference.weights(exponent, 3000)
    weights = Weights(epsilon, factor)
    grown = [weights.table(last).copy() for last in (0, 7, 3000)]
    for table in grown:
        assert table.tolist() == wanted[: table.size]
    table = weights.table(3000)
    assert table.size == 3001 or wanted[table.size - 1 :] == [wanted[-1]] * (3002 - table.size)
    # neighbouring weights differ by no more than e^exponent, in integers, and none is zero
    rho = (1 << 64) - reference.decay(exponent)
    assert all(a >= b >= 1 and a * rho <= b << 64 for a, b in itertools.pairwise(wanted))


@pytest.mark.parametrize("epsilon", [1e-5, 0.5, 100.0])
def test_distances_far_apart_need_no_table(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    distances = np.array([100_000, 0, 3, 70_000, 3, 99_999], np.int64)
    wanted = Weights(epsilon).of(distances)
    table = reference.weights(Fraction(epsilon) / 2, 100_000)
    assert wanted.tolist() == [table[d] for d in distances.tolist()]
    monkeypatch.setattr(module, "DENSE", 10)
    monkeypatch.setattr(module, "PIECE", 1000)
    assert Weights(epsilon).of(distances).tolist() == wanted.tolist()
    assert Weights(epsilon).of(np.zeros(0, np.int64)).size == 0


def test_beyond_the_cap_distances_count_as_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    distances = np.array([0, 49, 50, 51, 10**18], np.int64)
    monkeypatch.setattr(module, "CAP", 50)
    expected = reference.weights(Fraction(0.01) / 2, 50)
    for dense in (1, 1000):
        monkeypatch.setattr(module, "DENSE", dense)
        assert Weights(0.01).of(distances).tolist() == [expected[0], expected[49]] + [expected[50]] * 3


def test_the_recurrence_comes_to_rest() -> None:
    # at the first weight w with floor(w decay / 2^64) = 0; distances without bound cost nothing more
    weights = Weights(1.0)
    last = int(weights.of(np.array([10**18]))[0])
    assert last * weights.decay < 1 << 64 <= (last + 1) * weights.decay
    assert Weights(0).of(np.array([0, 10**18])).tolist() == [1 << 62] * 2
    assert Weights(1000.0).of(np.array([0, 1, 10**18])).tolist() == [1 << 62, 1, 1]
