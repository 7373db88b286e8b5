"""The joint law against a list of all outcomes, from all rows and from windows; its privacy; and variants that must fail."""

from __future__ import annotations

import decimal
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from typing import Any

import numpy as np
import pytest

from dpfast._core import joint as core
from dpfast.duff import _joint_law as joint
from dpfast.duff._joint_windows import Windows
from dpfast.duff._wide import Wide, total_of, wide_array, wide_number
from dpfast.reference.duff_joint import joint_law

QUANTILES = ["1/2", "1/4 3/4", "1/10 1/2 9/10", "1/3 1"]
SIZE = 5

Law = dict[tuple[int, ...], float]


def fractions(text: str) -> list[Fraction]:
    return [Fraction(part) for part in text.split()]


def number(wide: Wide) -> float:
    return math.ldexp(wide.mantissa, 512 * max(wide.exponent, -3))


def numbers(array: Any) -> list[float]:
    return [number(wide_number(array, place)) for place in range(len(array))]


def all_rows_law(rows: Sequence[int], size: int, quantiles: list[Fraction], ratio: float) -> Law:
    """Every walk of `Placements.draw`, with its probability."""
    found: Counter[tuple[int, ...]] = Counter()
    law = joint.Placements(np.array(rows, np.int64), size, quantiles, ratio)

    def walk(j: int, ahead: int, stop: int, chance: float, places: tuple[int, ...]) -> None:
        if j < 0:
            found[tuple(sorted(places))] += chance
            return
        weights = np.empty((law.cells, 2))
        if j == len(quantiles) - 1:
            weights = law.last
        else:
            law._weigh(j, weights, None, stop)
        step, cells = law.steps[j + 1], wide_array(stop)
        law.powers.block_sums(weights, ahead, stop, step.whole, step.near, step.far, 1, 0, cells)
        shares = numbers(cells)
        for cell, share in enumerate(shares):
            if not share:
                continue
            low, high = [0, *rows, size][cell : cell + 2]
            factor, together = 1.0, []
            for k in range(1, j + 2):
                factor *= law.widths[cell] / k * (numbers(law.stays)[j + 2 - k] if k > 1 else 1.0)
                together.append(factor * number(wide_number(law.sums[j + 1 - k], cell)))
            for k, of_k in enumerate(together, 1):
                some = chance * share / sum(shares) * of_k / sum(together) / (high - low) ** k
                for more in product(range(low, high), repeat=k) if of_k else ():
                    walk(j - k, cell, cell, some, places + more)

    walk(len(quantiles) - 1, law.cells - 1, law.cells, 1.0, ())
    return dict(found)


@pytest.mark.parametrize("qs", QUANTILES)
@pytest.mark.parametrize("ratio", [0.9, 0.2])
def test_law_of_all_rows_is_that_of_the_list(qs: str, ratio: float) -> None:
    for n in range(4 if len(qs.split()) == 3 else 5):
        for rows in combinations_with_replacement(range(SIZE), n):
            expected = joint_law(rows, SIZE, fractions(qs), ratio)
            found = all_rows_law(rows, SIZE, fractions(qs), ratio)
            assert found.keys() == expected.keys()
            assert max(abs(found[outcome] / expected[outcome] - 1) for outcome in expected) < 1e-13


def windows_law(rows: Sequence[int], size: int, quantiles: list[Fraction], ratio: float, half: int) -> Law:
    """The law of a round of `Windows.draw` that ends with an outcome."""
    n = len(rows)
    ranges = [(max(0, math.ceil(q * n - half)), min(n, math.floor(q * n + half))) for q in quantiles]
    if not all(before[1] < after[0] for before, after in pairwise(ranges)):
        return {}
    windows = Windows(np.array(rows, np.int64), size, quantiles, ratio, half, ranges)
    found: Counter[tuple[int, ...]] = Counter()
    inside = windows._behind(len(ranges) - 1, windows.weights[-1], n)
    mass, outside = number(total_of(inside)), number(windows._tuples())

    def walk(j: int, weights: Any, chance: float, places: tuple[int, ...]) -> None:
        shares = numbers(weights)
        for cell, share in enumerate(shares):
            if not share:
                continue
            low, high = windows.edges[j][cell : cell + 2].tolist()
            for place in range(low, high):
                some = chance * share / sum(shares) / (high - low)
                if j == 0:
                    found[(place, *places)] += some
                else:
                    before = windows._behind(j - 1, windows.weights[j - 1], ranges[j][0] + cell)
                    walk(j - 1, before, some, (place, *places))

    walk(len(ranges) - 1, inside, mass / (mass + outside), ())
    for given in product(range(size), repeat=len(quantiles)):
        places = tuple(sorted(given))
        cells = [sum(row <= place for row in rows) for place in places]
        if not all(low <= cell <= high for cell, (low, high) in zip(cells, ranges, strict=True)):
            counts = [0, *cells, n]
            distance = sum(
                abs(high - low - gap * n) for low, high, gap in zip(counts, counts[1:], joint.gaps_of(quantiles), strict=False)
            )
            found[places] += outside / (mass + outside) / size ** len(quantiles) * ratio ** float(distance - 2 * half)
    total = sum(found.values())
    return {places: chance / total for places, chance in found.items()}


@pytest.mark.parametrize("qs", ["1/2", "1/4 3/4", "1/10 1/2", "1/3 1", "1/6 1/2 5/6"])
def test_law_of_windows_is_that_of_the_list(qs: str) -> None:
    random, quantiles, cases = np.random.default_rng(3), fractions(qs), 0
    for _ in range(12):
        size = int(random.integers(3, 7))
        rows = sorted(random.integers(0, size, int(random.integers(6, 30))).tolist())
        for half, ratio in product((1, 2, 3), (0.9, 0.3)):
            found = windows_law(rows, size, quantiles, ratio, half)
            if found:
                expected, cases = joint_law(rows, size, quantiles, ratio), cases + 1
                assert found.keys() == expected.keys()
                assert max(abs(found[outcome] / expected[outcome] - 1) for outcome in expected) < 1e-13
    assert cases >= 10


def row_sums(before: Any, whole: int, fraction: float, ratio: float, span: int) -> Iterator[tuple[float, float]]:
    n = len(before)
    powers = core.JointPowers(ratio, span, n + whole + 2, wide_array(span + 1), wide_array((n + whole + 2) // span + 1))
    weights, after = wide_array(n), wide_array(n)
    weights[:, 0] = before
    weights.view(np.int32)[:, 2] = np.where(before > 0, 0, -(1 << 29))
    near, far = ratio**fraction, ratio ** (1 - fraction)
    row = core.JointRow(powers, weights, after, whole, near, far, wide_array(span), wide_array(n // span + 2))
    for stop in (n // 3, n // 2, n):
        row.advance(stop)
    places = np.arange(n)
    gaps = places[:, None] - places[None, :]
    expected = np.where(gaps > 0, ratio ** np.abs(gaps - whole - fraction), 0.0) @ before
    yield from zip(numbers(after), expected.tolist(), strict=True)


@pytest.mark.parametrize("span", [1, 3, 16, 64])
@pytest.mark.parametrize("ratio", [1.0, 0.9, 0.3])
def test_sums_of_a_row_are_the_convolution(span: int, ratio: float) -> None:
    random = np.random.default_rng(1)
    for n in (1, 2, 5, 40, 300):
        for whole in {0, 1, 2, span - 1, span, span + 1, 3 * span + 1, n // 3, n - 1}:
            before = random.random(n) * (random.random(n) < 0.7)
            for found, expected in row_sums(before, whole, 0.3, ratio, span):
                assert found == pytest.approx(expected, rel=1e-12, abs=1e-280)


def test_weights_far_below_doubles_keep_their_ratio() -> None:
    # In doubles the weights of rows 4000 steps from the target at ratio 1/4 are zero, and the loss infinite.
    n = 6000
    law = joint.Placements(np.arange(n, dtype=np.int64), n, [Fraction(1, 2)], 0.25)
    first, second = (wide_number(law.sums[0], place) for place in (10, 11))
    assert first.mantissa > 0
    assert first.exponent < -3
    assert second.mantissa / first.mantissa * 2.0 ** (512 * (second.exponent - first.exponent)) == pytest.approx(4.0)


def worst_loss(law: Any, neighbours: str, quantiles: list[Fraction], sizes: range = range(4)) -> float:
    laws = {rows: law(rows, SIZE, quantiles) for n in sizes for rows in combinations_with_replacement(range(SIZE), n)}
    worst = 0.0
    for rows, here in laws.items():
        if neighbours == "add_remove":
            others = {tuple(sorted((*rows, place))) for place in range(SIZE)}
        else:
            others = {tuple(sorted((*rows[:i], *rows[i + 1 :], y))) for i in range(len(rows)) for y in range(SIZE)}
        for there in (laws[other] for other in others if other in laws):
            for outcome, chance in here.items():
                worst = max(worst, abs(math.log(chance / there[outcome])))
    return worst


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("qs", QUANTILES[:2] + QUANTILES[3:])
def test_the_law_is_private(neighbours: str, qs: str) -> None:
    quantiles = fractions(qs)
    ratio = joint.ratio_for(Fraction(1), quantiles, neighbours)
    assert ratio is not None
    assert 0.3 < worst_loss(lambda rows, size, q: joint_law(rows, size, q, ratio), neighbours, quantiles) <= 1 + 1e-12


def test_a_sensitivity_that_forgets_the_end_gaps_is_found() -> None:
    quantiles = [Fraction(1, 20), Fraction(19, 20)]
    inner = 2 * (1 - (quantiles[1] - quantiles[0]))
    ratio = math.exp(-1 / (2 * float(inner)))
    assert joint.sensitivity(quantiles, "add_remove") > inner
    assert worst_loss(lambda rows, size, q: joint_law(rows, size, q, ratio), "add_remove", quantiles) > 1.2


def test_mixing_multisets_and_volumes_is_found() -> None:
    # |cell|^k / k! for the number of points with uniform multisets within the cell: each is fine with its own partner.
    quantiles = [Fraction(1, 4), Fraction(3, 4)]

    def mixed(rows: tuple[int, ...], size: int, q: list[Fraction]) -> Law:
        found = joint_law(rows, size, q, ratio)
        cells = {place: sum(row <= place for row in rows) for place in range(size)}
        width = Counter(cells.values())
        for first, second in found:
            if cells[first] == cells[second]:
                k = width[cells[first]]
                # two labelled points have k^2 ordered outcomes, a multiset k (k + 1) / 2
                found[first, second] *= (1 if first != second else 2) * k / (k + 1)
        return found

    ratio = joint.ratio_for(Fraction(1), quantiles, "add_remove")
    assert ratio is not None
    assert worst_loss(mixed, "add_remove", quantiles) > 1.05


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("m", [1, 2, 9, 1023])
def test_what_the_arithmetic_may_add_is_taken_from_epsilon(m: int, neighbours: str) -> None:
    quantiles = [Fraction(j, m + 1) for j in range(1, m + 1)]
    spread = 4 if neighbours == "replace_one" else 4 * Fraction(m, m + 1)
    slack = Fraction(m + 1, 1 << 32)
    with decimal.localcontext(decimal.Context(prec=60)):
        for epsilon in (2 * slack, Fraction(1, 10), Fraction(1), Fraction(30)):
            ratio = joint.ratio_for(epsilon, quantiles, neighbours)
            assert ratio is not None
            spent = -decimal.Decimal(ratio).ln() * spread.numerator / spread.denominator  # by the law, not by its arithmetic
            left = decimal.Decimal((epsilon - slack).numerator) / (epsilon - slack).denominator
            assert left - decimal.Decimal("1e-14") < spent <= left
    assert joint.ratio_for(slack, quantiles, neighbours) is None
