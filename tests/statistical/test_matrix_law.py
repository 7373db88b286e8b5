"""Matrices through the public API at a million rows, and wrong matrices that the same test must reject."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import stats

from dpfast import Domain, ExponentialResponse, MatrixResponse, Stream, optimal_response
from dpfast.matrix import TableMechanism

N_ROWS = 1_000_000
CASES: dict[str, TableMechanism] = {
    "ordinal": ExponentialResponse(range(12), distance="ordinal", epsilon=2.0),
    "circular": ExponentialResponse(range(7), distance="circular", epsilon=0.5),
    "optimal": optimal_response(range(6), loss="ordinal", epsilon=1.0, delta=0.01),
    "dense": MatrixResponse(range(40), np.random.default_rng(1).dirichlet(np.ones(40), 40)),
    "banded": MatrixResponse(range(4), [[0.7, 0.3, 0, 0], [0.2, 0.6, 0.2, 0], [0, 0.2, 0.6, 0.2], [0, 0, 0.3, 0.7]]),
    "wide": MatrixResponse(range(1100), np.eye(1100) * 0.5 + 0.5 / 1100),
}


def column_of(k: int) -> npt.NDArray[Any]:
    return np.random.default_rng(7).integers(0, k, N_ROWS).astype(np.uint8 if k <= 256 else np.uint16)


def cells_of(values: npt.NDArray[Any], answers: npt.NDArray[Any], k: int) -> npt.NDArray[np.int64]:
    return np.bincount(values.astype(np.int64) * k + answers, minlength=k * k).reshape(k, k)


def assert_matrix(values: npt.NDArray[Any], answers: npt.NDArray[Any], matrix: npt.NDArray[np.float64]) -> None:
    """Reject when the answers are implausible as those of the matrix: impossible ones at once, cells of few rows pooled."""
    k = matrix.shape[0]
    cells = cells_of(values, answers, k)
    assert cells[matrix == 0].sum() == 0
    few = cells.sum(axis=1, keepdims=True) * matrix < 10
    pooled = [np.append(np.where(few[i], 0, cells[i])[~few[i]], cells[i][few[i]].sum()) for i in range(k)]
    laws = [np.append(matrix[i][~few[i]], matrix[i][few[i]].sum()) for i in range(k)]
    for seen, law in zip(pooled, laws, strict=True):
        likely = law > 0
        stats.assert_law(seen[likely], law[likely] / law[likely].sum(), alpha=1e-6 / k)


@pytest.mark.parametrize("name", CASES)
def test_matrix_law(name: str) -> None:
    mechanism = CASES[name]
    k = mechanism.domain.size
    values = column_of(k)
    answers = mechanism.sanitise(values, rng=Stream.insecure(5))
    assert_matrix(values, answers, mechanism.matrix)


@pytest.mark.parametrize("name", ["ordinal", "dense", "optimal"])
def test_wrong_matrices_are_rejected(name: str) -> None:
    """The transpose, two answers swapped in one row, a row of one per cent less on the diagonal, one category never drawn."""
    mechanism = CASES[name]
    matrix = mechanism.matrix
    k = mechanism.domain.size
    values = column_of(k)
    answers = mechanism.sanitise(values, rng=Stream.insecure(5))
    wrong = [np.roll(matrix, 1, axis=1), matrix * 0.97 + 0.03 / k]
    swapped = matrix.copy()
    ends = [int(np.argmin(matrix[0])), int(np.argmax(matrix[0]))]
    swapped[0, ends] = swapped[0, ends[::-1]]
    wrong.append(swapped)
    for law in wrong:
        with pytest.raises(AssertionError):
            assert_matrix(values, answers, law)
    with pytest.raises(AssertionError):
        assert_matrix(values, np.where(answers == k - 1, 0, answers), matrix)


def test_unknown_values_follow_the_average_row() -> None:
    matrix = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]
    mechanism = MatrixResponse(Domain.range(3, unknown="randomise"), matrix)
    answers = mechanism.sanitise(np.full(N_ROWS, 9, np.uint8), rng=Stream.insecure(6))
    stats.assert_law(np.bincount(answers, minlength=3), np.mean(matrix, axis=0))
    with pytest.raises(AssertionError):
        stats.assert_law(np.bincount(answers, minlength=3), [1 / 3] * 3)
