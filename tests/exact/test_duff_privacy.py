"""Pure epsilon over all small data sets, in integers: no answer is more than e^epsilon times likelier than for a neighbour."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from duff_cases import data_sets, dense

from dpfast import Domain, duff
from dpfast.duff.weights import Weights
from dpfast.reference import duff as reference

POINTS = 5
RELATIONS = ["add_remove", "replace_one"]
EPSILONS = [0.1, 1.0, 8.0]
BOUNDS = {"bounds": (0, POINTS - 1)}
STATISTICS: dict[str, Callable[..., duff.Levels]] = {
    "median": partial(duff.median_levels, **BOUNDS),
    **{
        f"quantile {q}": partial(lambda rows, q, **rest: duff.quantile_levels(rows, q, **rest), q=q, **BOUNDS)
        for q in (0, 0.1, 0.5, 0.9, 1.0)
    },
    "mode": partial(duff.mode_levels, domain=Domain.range(POINTS)),
    "mean": partial(duff.mean_levels, **BOUNDS),
}

Law = tuple[list[int], int]


def law(levels: duff.Levels, epsilon: float, factor: Fraction) -> Law:
    """The weight of each grid point and their sum."""
    weights = Weights(epsilon, factor)
    points = [int(weights.of(np.array([distance]))[0]) for distance in dense(levels, POINTS)]
    entries = [int(m) * int(w) for m, w in zip(levels.measure, weights.of(levels.distance), strict=True)]
    assert sum(points) == sum(entries)
    return points, sum(points)


def is_within(first: Law, second: Law, root: int) -> bool:
    """Whether P(x) <= P'(x) (2^64 / root)^2 for every x, root = ceil(2^64 e^(-epsilon / 2)): at most e^epsilon, exactly."""
    return all(a * second[1] * root * root <= b * first[1] << 128 for a, b in zip(first[0], second[0], strict=True))


def pairs_within(statistic: str, relation: str, epsilon: float, rows: int, factor: Fraction = Fraction(1, 2)) -> list[bool]:
    root = (1 << 64) - reference.decay(Fraction(epsilon) / 2)
    levels = partial(STATISTICS[statistic], neighbours=relation)
    laws = {
        counts: law(levels(np.array(reference.rows_of(counts), np.int64)), epsilon, factor) for counts in data_sets(rows, POINTS)
    }
    found = []
    for counts, mine in laws.items():
        for other in reference.neighbours_of(counts, relation):
            if other in laws:
                found.append(is_within(mine, laws[other], root) and is_within(laws[other], mine, root))
    return found


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("statistic", sorted(STATISTICS))
def test_epsilon_holds_for_all_small_data_sets(statistic: str, relation: str) -> None:
    found = pairs_within(statistic, relation, 1.0, 3)
    assert len(found) > 100
    assert all(found)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("statistic", sorted(STATISTICS))
def test_epsilon_holds_for_all_data_sets_of_six_rows(statistic: str, relation: str, epsilon: float) -> None:
    assert all(pairs_within(statistic, relation, epsilon, 6))


def test_the_mode_has_its_own_factor_under_add_remove_only() -> None:
    # Counts only grow or only shrink: weights e^(-epsilon d) are epsilon-DP. Replaced rows do both.
    assert all(pairs_within("mode", "add_remove", 1.0, 3, Fraction(1)))
    assert not all(pairs_within("mode", "replace_one", 1.0, 3, Fraction(1)))


@pytest.mark.parametrize("statistic", ["median", "quantile 0.9", "mean"])
def test_the_half_cannot_be_dropped(statistic: str) -> None:
    # A law that is off by a factor of two in epsilon is seen.
    assert not all(pairs_within(statistic, "add_remove", 1.0, 3, Fraction(1)))


def test_zero_concentrated_privacy_of_the_law() -> None:
    # What is claimed, epsilon^2 / 8 for a law of bounded range, against the exact Renyi divergences of neighbours.
    for epsilon in EPSILONS:
        levels = partial(STATISTICS["median"], neighbours="add_remove")
        laws = {
            counts: np.array(points, float) / total
            for counts in data_sets(3, POINTS)
            for points, total in [law(levels(np.array(reference.rows_of(counts), np.int64)), epsilon, Fraction(1, 2))]
        }
        for counts, mine in laws.items():
            for other in reference.neighbours_of(counts, "add_remove"):
                if other in laws:
                    for alpha in (1.5, 2.0, 8.0):
                        divergence: Any = np.log(np.sum(mine**alpha * laws[other] ** (1 - alpha))) / (alpha - 1)
                        assert divergence <= alpha * epsilon**2 / 8 + 1e-12
