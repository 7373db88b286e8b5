"""The draw of a quantile from a window: enumerated over its words, its law is that of all levels, in fractions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from dpfast.duff import _select_draw as drawing
from dpfast.duff._select import Window
from dpfast.duff._select_draw import Question, Recourse
from dpfast.reference import duff as slow

POINTS = 4
TABLE = [4, 2, 1]  # weights of distances 0, 1, 2 and more
QUANTILES = [Fraction(1, 2), Fraction(9, 10), Fraction(0), Fraction(1, 10), Fraction(1), Fraction(1, 3)]


class Few:
    """Weights few enough to enumerate the words."""

    def table(self, last: int) -> np.ndarray[Any, Any]:
        return np.array(TABLE[: last + 1], np.uint64)

    def of(self, distances: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.array(TABLE, np.uint64)[np.minimum(distances, len(TABLE) - 1)]


class Ask(Exception):
    """The script of words is at its end; the next one lies below so much."""


class Script:
    """Uniform integers by a script: those that place a target in a law, and those that accept a point."""

    def __init__(self, numbers: list[int], totals: list[int]) -> None:
        self.numbers = list(numbers)
        self.totals = list(totals)

    def below(self, bound: int) -> int:
        if not self.numbers:
            raise Ask(bound)
        return self.numbers.pop(0)

    def next(self) -> np.ndarray[Any, Any]:
        return np.array([[self.below(self.totals.pop(0)), 0]], np.uint64)


def runs(call: Callable[[list[int]], int]) -> Iterator[tuple[int, Fraction]]:
    """Every outcome of a procedure that asks for integers, with its probability."""
    waiting: list[tuple[list[int], Fraction]] = [([], Fraction(1))]
    while waiting:
        numbers, probability = waiting.pop()
        try:
            yield call(numbers), probability
        except Ask as ask:
            bound = ask.args[0]
            waiting += [([*numbers, number], probability / bound) for number in range(bound)]


@cache
def expected(counts: tuple[int, ...], q: Fraction, relation: str) -> list[Fraction]:
    distances = [0] * POINTS
    if sum(counts) or relation == "add_remove":
        distances = slow.distances(counts, partial(slow.quantile, q=q), relation)
    masses = [TABLE[min(distance, 2)] for distance in distances]
    return [Fraction(mass, sum(masses)) for mass in masses]


def window_of(rows: list[int], first: int, last: int) -> Window:
    """The window of some places of sorted rows, as the search leaves it: complete for each of its points."""
    points = sorted(set(rows[first:last]))
    upto = [sum(row <= point for row in rows) for point in points]
    below = sum(row < points[0] for row in rows) if points else 0
    return Window(np.array(points, np.int64), np.array(upto, np.uint64), below, len(rows))


def law_of(counts: tuple[int, ...], q: Fraction, relation: str, cap: int) -> tuple[list[Fraction], int]:
    """The law of the draw, and how many of its runs met a point at the cap."""
    rows = slow.rows_of(counts)
    question = Question(q.numerator, q.denominator, POINTS, Fraction(1), relation == "replace_one")
    weights: Any = Few()
    law, full = question.law(weights, cap), question.law(weights, 100)
    window, every = window_of(rows, *law.places(len(rows))), window_of(rows, 0, len(rows))
    met = 0

    def count_at(point: int) -> tuple[int, int, int]:
        nonlocal met
        met += 1
        return sum(row < point for row in rows), sum(row == point for row in rows), len(rows)

    def total(of: drawing.Law, seen: Window) -> int:
        totals = np.empty((1, 2), np.uint64)
        of.kernel.totals(drawing.windows_of([seen]), totals, 0, 1)
        return int(totals[0, 0])

    totals = [total(law, window)] * drawing.ROUNDS + [total(full, every)]

    def once(numbers: list[int]) -> int:
        words: Any = Script(numbers, totals)
        return drawing._finish(law, window, words, Recourse(count_at, lambda: (full, every)), None)

    found = [Fraction(0)] * POINTS
    for point, probability in runs(once):
        found[point] += probability
    return found, met


def data_sets(most: int) -> Iterator[tuple[int, ...]]:
    return (counts for counts in itertools.product(range(most + 1), repeat=POINTS) if sum(counts) <= most)


def check_all(most: int, quantiles: list[Fraction]) -> int:
    met = 0
    for counts in data_sets(most):
        for q, relation, cap in itertools.product(quantiles, ("add_remove", "replace_one"), (1, 2)):
            found, times = law_of(counts, q, relation, cap)
            assert found == expected(counts, q, relation), (counts, q, relation, cap)
            met += times
    return met


def test_rounds_and_recourse_give_the_law_of_all_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "ROUNDS", 2)
    assert check_all(3, QUANTILES[:3]) > 1000  # the recourse was taken


@pytest.mark.slow
def test_the_law_of_larger_data_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "ROUNDS", 2)
    check_all(5, QUANTILES)


def test_repeating_only_the_draw_of_the_tail_is_another_law(monkeypatch: pytest.MonkeyPatch) -> None:
    # The obvious short cut: after a rejection another far point is drawn, instead of a whole new round.
    counts, q = (0, 0, 1, 2), Fraction(1, 2)
    rows, law = slow.rows_of(counts), [Fraction(0)] * POINTS
    distances = slow.distances(counts, partial(slow.quantile, q=q), "add_remove")
    near = [TABLE[d] if d < 1 else 0 for d in distances]
    far = [TABLE[min(d, 2)] if d >= 1 else 0 for d in distances]
    total = sum(near) + TABLE[1] * sum(weight > 0 for weight in far)
    for point in range(POINTS):
        law[point] = Fraction(near[point], total)
        law[point] += (1 - Fraction(sum(near), total)) * Fraction(far[point], sum(far))
    assert rows
    assert sum(law) == 1
    assert law != expected(counts, q, "add_remove")


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 3), Fraction(1), Fraction(1, 10)])
def test_neighbours_stay_within_epsilon_under_the_real_table(relation: str, q: Fraction) -> None:
    from dpfast._core import quantile as core
    from dpfast.duff.weights import Weights

    epsilon = Fraction(3, 2)
    weights = Weights(epsilon)
    rho = Fraction((1 << 64) - weights.decay, 1 << 64)  # at least e^(-epsilon / 2)

    def law(counts: tuple[int, ...]) -> list[Fraction]:
        kernel = core.QuantileLaw(weights.table(20), q.numerator, q.denominator, POINTS, relation == "replace_one")
        rows = slow.rows_of(counts)
        masses = []
        for point in range(POINTS):
            distance = kernel.distance(len(rows), sum(row < point for row in rows), rows.count(point))
            masses.append(kernel.weight(distance))
        return [Fraction(mass, sum(masses)) for mass in masses]

    worst = Fraction(0)
    for counts in data_sets(4):
        mine = law(counts)
        for other in slow.neighbours_of(counts, relation):
            worst = max([worst, *(a / b for a, b in zip(mine, law(other), strict=True))])
    assert 1 < worst <= 1 / rho**2
