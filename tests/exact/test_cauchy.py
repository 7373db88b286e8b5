"""Cauchy variates drawn with integers: each answer is that of the real variate, and the law is the arctangent."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import pytest

from dpfast.duff._cauchy import cauchy_alpha, cauchy_integer

TOP = 1 << 64


def words(*first: int, then: int = 0) -> Iterator[int]:
    """Some words, and for ever after those of a generator."""
    rest = random.Random(then)
    return itertools.chain(first, iter(lambda: rest.getrandbits(64), None))


def noted(given: list[int], left: Iterator[int]) -> int:
    given.append(next(left))
    return given[-1]


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5), Fraction(10**25, 7)])
def test_each_answer_is_that_of_all_points_it_was_decided_for(scale: Fraction) -> None:
    source = random.Random(5)
    kept = 0
    for trial in range(400):
        # halves of the first words at the edges: u near 0, v near 0, near the circle
        x, y = (source.choice([source.getrandbits(64), source.getrandbits(3), TOP // 2 - source.getrandbits(2)]) for _ in "uv")
        given: list[int] = []
        found = cauchy_integer(7, scale, -1000, 2000, partial(noted, given, words(x, y, then=trial)))
        # the last point that was begun: it starts where all points before it lay outside the disc
        for start in range(0, len(given), 2):
            u = v = Fraction(0)
            for place in range(start, len(given), 2):
                u += Fraction(2 * given[place], TOP ** ((place - start) // 2 + 1))
                v += Fraction(given[place + 1], TOP ** ((place - start) // 2 + 1))
            u, size = u - 1, Fraction(1, TOP ** ((len(given) - start) // 2))
            # a quarter and three quarters of the way through the cell
            points = [
                (u + 2 * a * size, v + b * size)
                for a in (Fraction(1, 4), Fraction(3, 4))
                for b in (Fraction(1, 4), Fraction(3, 4))
            ]
            if all(a * a + b * b < 1 for a, b in points):
                exact = {min(max(math.floor(7 + scale * a / b + Fraction(1, 2)), -1000), 2000) for a, b in points}
                assert exact == {found}
                kept += 1
                break
    assert kept == 400


def test_the_law_is_the_arctangent() -> None:
    # One point in the middle of each square of a mesh: each answer has its area, but for the squares that its edges cross.
    mesh, low, high = 128, -4, 6
    step = TOP // mesh
    counts: Counter[int] = Counter()
    inside = 0
    for i, j in itertools.product(range(mesh), range(mesh)):
        u, v = Fraction(2 * i + 1, mesh) - 1, Fraction(2 * j + 1, 2 * mesh)
        if u * u + v * v < 1:
            inside += 1
            left = words(i * step + step // 2, j * step + step // 2)
            counts[cauchy_integer(0, Fraction(3, 2), low, high, left.__next__)] += 1

    def below(edge: float) -> float:
        return 0.5 + math.atan(edge / 1.5) / math.pi

    for k in range(low, high + 1):
        share = (1 if k == high else below(k + 0.5)) - (0 if k == low else below(k - 0.5))
        assert abs(counts[k] / inside - share) < 0.006
    # the control: half the scale is another law
    assert abs(counts[0] / inside - 2 * math.atan(0.5 / 0.75) / math.pi) > 0.1


def test_no_square_of_the_mesh_is_decided_too_early() -> None:
    # u from -2^-63 to 0 and v from 0 on: the quotient is anything below zero until more is known, not "below all"
    assert cauchy_integer(0, Fraction(1), -10, 10, words(TOP // 2 - 1, 0, TOP - 1, TOP - 1).__next__) == 0


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**19), Fraction(1, 100), Fraction(1), Fraction(64)])
def test_alpha_is_the_formula_rounded_down(epsilon: Fraction) -> None:
    beta = epsilon / 6
    e, b = float(epsilon), float(beta)
    # cosh x - cosh y = 2 sinh((x + y) / 2) sinh((x - y) / 2), which keeps its digits
    square = min(4 * math.sinh(e / 2) ** 2, 4 * math.exp(b) * math.sinh((e + b) / 2) * math.sinh((e - b) / 2))
    assert math.sqrt(square) * (1 - 1e-9) <= cauchy_alpha(epsilon, beta) <= math.sqrt(square) * (1 + 1e-12)
    assert cauchy_alpha(Fraction(1, 10**21), Fraction(1, 10**22)) == 0
