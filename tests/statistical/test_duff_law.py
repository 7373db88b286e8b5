"""Draws from levels and from log-weights against their exact laws, by both samplers and both races."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from stats import assert_law

from dpfast import Stream, duff
from dpfast.duff.exact import ReadAhead
from dpfast.duff.race import BlockRace, plain_race

pytestmark = pytest.mark.statistical

LEVELS = duff.Levels([4, 2, 1, 0, 1, 3], [0, 30, 38, 40, 41, 45], [29, 37, 39, 40, 44, 99], step=1)
DRAWS = 20_000


def counts_of(levels: duff.Levels, sampler: str, epsilon: float) -> np.ndarray[Any, Any]:
    found = duff.sample(levels, epsilon=epsilon, size=DRAWS, sampler=sampler, rng=Stream.insecure(21))
    return np.bincount(found, minlength=100)


def points(epsilon: float) -> np.ndarray[Any, Any]:
    law = np.exp(duff.log_probabilities(LEVELS, epsilon=epsilon))
    return np.repeat(law / LEVELS.measure, LEVELS.measure)


@pytest.mark.parametrize("sampler", ["race", "sum"])
def test_points_of_levels_have_their_law(sampler: str) -> None:
    counts = counts_of(LEVELS, sampler, 1.0)
    assert_law(counts, points(1.0))
    with pytest.raises(AssertionError):
        assert_law(counts, points(1.2))


LOGS = np.array([0.0, 1.0, -math.inf, -2.0, 2.0, 0.5])


def test_items_have_the_law_of_their_log_weights() -> None:
    words = ReadAhead(Stream.insecure(22).draws(None, bytes(32), 1).as_words())
    counts = np.bincount([plain_race(LOGS, words, draw * LOGS.size) for draw in range(DRAWS)], minlength=LOGS.size)
    law = np.exp(LOGS) / np.exp(LOGS).sum()
    assert_law(counts, law)
    flatter = np.exp(0.9 * LOGS) / np.exp(0.9 * LOGS).sum()
    with pytest.raises(AssertionError):
        assert_law(counts, flatter)


def test_blocks_give_items_the_same_law() -> None:
    # groups of items within blocks and across them; one block outweighs the rest in sum, another in its largest item
    rng = np.random.default_rng(23)
    logs = rng.normal(size=10_000)
    logs[2000:2100] += 3.0
    logs[7000] = 7.5
    logs[3000:4000] = -math.inf
    group = np.minimum(np.arange(logs.size) // 97, 103)
    counts = np.bincount(
        group[BlockRace(logs).draws(Stream.insecure(24).draws(None, bytes(32), 1).as_words(), 4000)], minlength=104
    )
    law = np.bincount(group, weights=np.exp(logs), minlength=104)
    assert_law(counts, law / law.sum())
    flatter = np.bincount(group, weights=np.exp(0.9 * logs), minlength=104)
    with pytest.raises(AssertionError):
        assert_law(counts, flatter / flatter.sum())
