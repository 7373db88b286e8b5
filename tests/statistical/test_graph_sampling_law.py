"""Draws of an extension have its probabilities, and a law a little off is rejected by the same test. False alarms: 1e-6 each."""

from __future__ import annotations

import numpy as np
import pytest
import stats

from dpfast import Stream, graph

N = 200_000


@pytest.fixture(scope="module")
def extension() -> graph.Extension:
    g = graph.DatasetGraph(range(3), range(1, 4), [0.5, 0.8, 0.5])
    return graph.extend(g, [2, 2, 1, 1], {1: 0.35, 2: 0.6})


def test_draws_follow_the_extension(extension: graph.Extension) -> None:
    for vertex in range(4):
        drawn = extension.sample(vertex, rng=Stream.insecure(vertex), size=N)
        p = float(extension.probability[vertex])
        counts = np.bincount(drawn, minlength=3)[1:]
        stats.assert_law(counts, [p, 1 - p])
        with pytest.raises(AssertionError):
            stats.assert_law(counts, [p + 0.02, 0.98 - p])
        with pytest.raises(AssertionError):
            stats.assert_law(counts[::-1], [p, 1 - p])


def test_draws_are_independent(extension: graph.Extension) -> None:
    drawn = extension.sample(2, rng=Stream.insecure(9), size=N).astype(np.int64) - 1
    p = float(extension.probability[2])
    stats.assert_independent(*stats.lagged_pairs(drawn, 1), [p, 1 - p])
    with pytest.raises(AssertionError):
        stats.assert_independent(drawn, drawn, [p, 1 - p])


def test_draws_follow_a_rainbow() -> None:
    g = graph.DatasetGraph(range(3), range(1, 4), [0.7, 0.7, 0.7])
    orders = [[0, 1, 2]] * 2 + [[2, 1, 0]] * 2
    found = graph.rainbow(g, orders, {1: [0.4, 0.0, 0.6], 2: [0.3, 0.0, 0.7]})
    for vertex in range(4):
        law = found.probabilities[vertex]
        counts = np.bincount(found.sample([vertex], rng=Stream.insecure(vertex), size=N).ravel(), minlength=3)
        assert counts[1] == 0
        stats.assert_law(counts[[0, 2]], law[[0, 2]].tolist())
        with pytest.raises(AssertionError):
            stats.assert_law(counts[[0, 2]], [law[0] + 0.02, law[2] - 0.02])
        with pytest.raises(AssertionError):
            stats.assert_law(counts[[2, 0]], law[[0, 2]].tolist())
