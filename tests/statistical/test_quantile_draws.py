"""Answers of `quantile` drawn by the real path, kernels and keystream, follow the law of the levels made from all the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from stats import assert_law

from dpfast import Stream, quantile
from dpfast.duff import log_probabilities, quantile_levels
from dpfast.duff._select_draw import Question

EPSILON = 0.8
BOUNDS = (0, 40)
ROWS = np.array([3, 3, 3, 9, 14, 15, 15, 22, 31, 39, 45, 45])


def law(q: float, neighbours: Any, epsilon: float) -> NDArray[np.float64]:
    """The probability of each grid point."""
    levels = quantile_levels(ROWS, q, bounds=BOUNDS, neighbours=neighbours)
    of_entries = np.exp(log_probabilities(levels, epsilon=epsilon)) / levels.measure
    probabilities = np.repeat(of_entries, levels.measure)
    return probabilities / probabilities.sum()


def counts(draws: int, q: float, neighbours: Any) -> NDArray[np.int64]:
    """How often each grid point answers, for as many groups of the same rows."""
    values, groups = np.tile(ROWS, draws), np.repeat(np.arange(draws), ROWS.size)
    answers = quantile(
        values,
        q,
        bounds=BOUNDS,
        epsilon=EPSILON,
        neighbours=neighbours,
        public_groups=True,
        by=groups,
        keys=range(draws),
        rng=Stream.insecure(2010),
    )
    return np.bincount(answers, minlength=BOUNDS[1] + 1)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("q", [0.5, 0.9])
def test_answers_follow_the_law(q: float, neighbours: str) -> None:
    found = counts(60_000, q, neighbours)
    assert_law(found, law(q, neighbours, EPSILON))
    with pytest.raises(AssertionError):
        assert_law(found, law(q, neighbours, 1.15 * EPSILON))


def test_answers_follow_the_law_where_far_points_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Question, "cap", property(lambda self: 3))
    found = counts(6_000, 0.5, "add_remove")
    assert_law(found, law(0.5, "add_remove", EPSILON))
    levels = quantile_levels(ROWS, 0.5, bounds=BOUNDS, neighbours="add_remove")
    flat = np.repeat(np.exp(-EPSILON * np.minimum(levels.distance, 3) / 2), levels.measure)
    with pytest.raises(AssertionError):  # as if every far point were accepted
        assert_law(found, flat / flat.sum())
