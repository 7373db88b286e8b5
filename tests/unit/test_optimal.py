"""Optimal parents: private exactly, as good as the program says, and what theory says they are."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpfast import optimal
from dpfast.errors import ArgumentError, ArgumentTypeError, MissingPackageError
from dpfast.exponential import ExponentialResponse
from dpfast.hockey_stick import table_delta
from dpfast.optimal import optimal_response
from dpfast.reference import matrix as reference
from dpfast.reference.response import exp_bounds
from dpfast.response import RandomisedResponse

BUDGETS = [(0.0, 0.0), (0.5, 0.0), (2.0, 0.0), (8.0, 0.0), (0.0, 0.1), (1.0, 0.05), (1.0, 1e-6)]


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_the_zero_one_loss_is_randomised_response(k: int, epsilon: float, delta: float) -> None:
    """Theorem A1: no other parent errs less, in the worst case or on average."""
    error = 1 - float(RandomisedResponse(range(k), epsilon=epsilon, delta=delta).keep_probability)
    worst = optimal_response(range(k), loss="hamming", epsilon=epsilon, delta=delta)
    average = optimal_response(range(k), loss="hamming", epsilon=epsilon, delta=delta, objective="bayes")
    for mechanism in (worst, average):
        assert mechanism.loss == pytest.approx(error, abs=1e-9)
        assert mechanism.least_loss == pytest.approx(error, abs=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("objective", ["minimax", "bayes"])
def test_any_loss_is_private_and_as_good_as_the_program(epsilon: float, delta: float, objective: Any) -> None:
    rng = np.random.default_rng(1)
    for k in (2, 4, 7):
        for loss in (rng.random((k, k)), rng.integers(0, 3, (k, k)) * 100.0, "ordinal", "circular"):
            prior = rng.random(k) if objective == "bayes" else None
            mechanism = optimal_response(range(k), loss=loss, epsilon=epsilon, delta=delta, prior=prior, objective=objective)
            assert table_delta(mechanism.integer_table, epsilon, unknown=True) <= delta
            assert mechanism.epsilon_at(delta) <= epsilon
            if delta == 0.0:
                worst = reference.worst_ratio(mechanism.table.tolist())
                assert worst is not None
                assert worst <= exp_bounds(Fraction(epsilon), 200)[1]
            scale = 1.0 if isinstance(loss, str) else max(1.0, float(np.max(loss)))
            assert -1e-8 * scale <= mechanism.loss - mechanism.least_loss <= 1e-7 * scale


def test_symmetry_changes_the_size_of_the_program_and_not_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    for loss, delta in (("ordinal", 0.0), ("circular", 0.0), ("hamming", 0.01), ("ordinal", 0.01)):
        reduced = optimal_response(range(6), loss=loss, epsilon=1.0, delta=delta)
        with monkeypatch.context() as patch:
            patch.setattr(optimal, "_orbits", lambda costs, weights: [])
            whole = optimal_response(range(6), loss=loss, epsilon=1.0, delta=delta)
        assert reduced.least_loss == pytest.approx(whole.least_loss, abs=1e-8)
        assert reduced.loss == pytest.approx(whole.loss, abs=1e-7)


def test_better_than_the_truncated_geometric() -> None:
    """For the ordinal loss the exponential mechanism is the truncated geometric: private, so never better than the optimum."""
    for k in (3, 5, 9):
        far = np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
        for epsilon in (0.5, 2.0, 6.0):
            geometric = (ExponentialResponse(range(k), distance="ordinal", epsilon=epsilon).matrix * far).sum(axis=1).max()
            best = optimal_response(range(k), loss="ordinal", epsilon=epsilon).loss
            assert best <= geometric + 1e-9
            assert best < 0.99 * geometric
    two = optimal_response(range(2), loss="ordinal", epsilon=1.0)
    assert np.abs(two.matrix - ExponentialResponse(range(2), distance="ordinal", epsilon=1.0).matrix).max() < 1e-9


def test_columns_of_the_pure_optimum_are_staircases() -> None:
    """For the average loss an optimum stands at a vertex: every entry of a column is its least or e^epsilon times that."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        matrix = optimal_response(range(5), loss=rng.random((5, 5)), epsilon=1.0, objective="bayes").matrix
        for column in matrix.T:
            if column.max() > 1e-9:
                ratio = column / column.min()
                assert np.all((np.abs(ratio - 1) < 1e-6) | (np.abs(ratio - np.e) < 1e-6))


def test_a_prior_without_the_last_category() -> None:
    """A category that never occurs costs nothing; its answers go to the others."""
    with_it = optimal_response(range(3), loss="hamming", epsilon=1.0, objective="bayes", prior=[1, 1, 0])
    two = optimal_response(range(2), loss="hamming", epsilon=1.0, objective="bayes")
    assert with_it.loss == pytest.approx(two.loss, abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"loss": "absolute"}, "loss must be one of"),
        ({"loss": [[0.0, 1.0]]}, "loss must have a row"),
        ({"objective": "best"}, "objective must be"),
        ({"prior": [1, 1, 1]}, "prior belongs to"),
        ({"prior": [1, -1, 1], "objective": "bayes"}, "prior must hold 3"),
        ({"prior": "abc", "objective": "bayes"}, "prior must be an array"),
        ({"epsilon": -1}, "epsilon"),
        ({"delta": 1.0}, "delta"),
    ],
)
def test_wrong_arguments_of_the_program(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match=text):
        optimal_response(range(3), **({"loss": "hamming", "epsilon": 1.0} | arguments))


def test_programs_that_are_too_large() -> None:
    for k, delta in ((513, 0.0), (33, 0.1)):
        with pytest.raises(ArgumentError, match="too large"):
            optimal_response(range(k), loss="ordinal", epsilon=1.0, delta=delta)


def test_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(MissingPackageError, match="dpfast\\[optimal\\]"):
        optimal_response(range(3), loss="ordinal", epsilon=1.0)


@pytest.mark.parametrize("epsilon", [15.0, 25.0, 30.0, 40.0, 1000.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_a_large_epsilon_is_no_failure_and_loses_no_more_than_randomised_response(epsilon: float, delta: float) -> None:
    mechanism = optimal_response(range(4), loss="ordinal", epsilon=epsilon, delta=delta)
    response = RandomisedResponse(range(4), epsilon=epsilon, delta=delta)
    apart = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    assert mechanism.epsilon_at(delta) <= epsilon
    assert mechanism.loss <= float((response.matrix * apart).sum(axis=1).max()) * (1 + 1e-3) + 1e-15
    assert mechanism.least_loss <= mechanism.loss + 1e-9
