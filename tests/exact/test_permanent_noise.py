"""Permanent noise of one identifier over two cells: what the pair of answers says about the pair of values.

The words of a cell are a function of the identifier and the true value. Were they a function of the identifier alone, two
values released under it would be decided by one word, and two different answers would give both values away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from dpfast import RandomisedResponse, Stream
from dpfast.reference import response

RANGE = 2**6  # words; small enough to enumerate every pair

Joint = dict[tuple[int, int], Counter[tuple[int, int]]]


def joint_law(k: int, t: int, same_word: Callable[[int, int], bool]) -> Joint:
    """For each pair of true codes of one identifier, the number of word pairs that give each pair of answers."""
    answer = [[response.decide(w, x, k, t, word_range=RANGE) for w in range(RANGE)] for x in range(k)]
    law: Joint = {}
    for a, b in product(range(k), repeat=2):
        if same_word(a, b):
            law[a, b] = Counter({pair: n * RANGE for pair, n in Counter(zip(answer[a], answer[b], strict=True)).items()})
        else:
            law[a, b] = Counter()
            for (x, m), (y, n) in product(Counter(answer[a]).items(), Counter(answer[b]).items()):
                law[a, b][x, y] += m * n
        assert sum(law[a, b].values()) == RANGE**2
    return law


def revealing(law: Joint) -> list[tuple[int, int]]:
    """Pairs of answers that only one pair of values can give, under any prior that gives every pair weight."""
    pairs = {answers for counts in law.values() for answers in counts}
    return sorted(pair for pair in pairs if sum(counts[pair] > 0 for counts in law.values()) == 1)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_no_pair_of_answers_gives_the_values_away(k: int, epsilon: float) -> None:
    t = response.threshold(k, epsilon, word_range=RANGE)
    assert revealing(joint_law(k, t, lambda a, b: a == b)) == []
    # the negative control: words that depend on the identifier alone
    assert revealing(joint_law(k, t, lambda a, b: True)) != []


def test_each_distinct_value_costs_epsilon_once() -> None:
    """Two different values of an identifier are two independent releases; the same value again is the same release."""
    k, epsilon = 3, 1.0
    t = response.threshold(k, epsilon, word_range=RANGE)
    law = joint_law(k, t, lambda a, b: a == b)
    for x, y in product(range(k), repeat=2):
        assert set(law[x, x]) == {(z, z) for z in range(k)}
        row = [response.known_row(k, t, code, word_range=RANGE) for code in (x, y)]
        if x != y:
            assert all(law[x, y][a, b] == row[0][a] * row[1][b] for a, b in product(range(k), repeat=2))


def test_the_shipped_words_depend_on_the_true_code() -> None:
    """Among identifiers answered with a changed value, answers of both releases are independent, as counts show."""
    n, k = 200_000, 2
    mechanism = RandomisedResponse(range(k), epsilon=1.0)
    ids = np.arange(n)
    stream = Stream(key=bytes(32), context="people")
    first = mechanism.sanitise(np.zeros(n, np.uint8), rng=stream, ids=ids, column_name="c")
    again = mechanism.sanitise(np.zeros(n, np.uint8), rng=stream, ids=ids, column_name="c")
    second = mechanism.sanitise(np.ones(n, np.uint8), rng=stream, ids=ids, column_name="c")
    assert (first == again).all()
    p = float(mechanism.keep_probability)
    both = ((first == 0) & (second == 1)).sum()
    # under one word for both, w in the first t words answers 0 to both, in the second t words 1 to both: P(both kept) = 1 - 2q
    q = 1 - p
    assert abs(both - n * p * p) < 6 * np.sqrt(n * p * p * (1 - p * p))
    assert abs(n * (1 - 2 * q) - n * p * p) > 50 * np.sqrt(n * p * p * (1 - p * p))
