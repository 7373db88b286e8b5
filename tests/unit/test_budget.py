"""The split of a budget against searches that know nothing of its structure, and zCDP in rational arithmetic."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dpfast import ArgumentError, ArgumentTypeError, Privacy, RandomisedResponse, budget, privacy
from dpfast.privacy import allocate, zcdp_of_exponential


def errors(k: int, epsilon: Any) -> Any:
    return (k - 1) / (np.exp(epsilon) + k - 1)


def variance(k: int, epsilon: Any) -> Any:
    with np.errstate(divide="ignore"):
        return ((np.exp(epsilon) + k - 1) / np.expm1(epsilon)) ** 2


OBJECTIVES: dict[str, Callable[[int, Any], Any]] = {"errors": errors, "variance": variance}


def cost(sizes: Sequence[int], weights: Sequence[float], shares: Sequence[float], objective: str) -> float:
    used = [j for j, (k, w) in enumerate(zip(sizes, weights, strict=True)) if k > 1 and w > 0]
    return float(sum(weights[j] * OBJECTIVES[objective](sizes[j], shares[j]) for j in used))


def searched(sizes: Sequence[int], weights: Sequence[float], epsilon: float, objective: str, cells: int) -> float:
    """The least cost over all splits into multiples of epsilon / cells, by looking at each."""
    share = epsilon * np.arange(cells + 1) / cells
    tables = [w * OBJECTIVES[objective](k, share) for k, w in zip(sizes, weights, strict=True)]
    least = math.inf
    for cut in product(range(cells + 1), repeat=len(sizes) - 1):
        if sum(cut) <= cells:
            split = [*cut, cells - sum(cut)]
            least = min(least, float(sum(table[i] for table, i in zip(tables, split, strict=True))))
    return least


@pytest.mark.parametrize("objective", ["errors", "variance"])
@pytest.mark.parametrize("seed", range(40))
def test_no_split_of_a_grid_is_better(seed: int, objective: str) -> None:
    rng = random.Random(seed)
    n = rng.randint(2, 4)
    sizes = [rng.choice([2, 3, rng.randint(2, 30), rng.randint(2, 2000)]) for _ in range(n)]
    if seed % 5 == 0:
        sizes = [sizes[0]] * n
    weights = [rng.choice([1.0, rng.random() + 0.01, 10 ** rng.uniform(-3, 1)]) for _ in range(n)]
    epsilon = rng.choice([rng.uniform(0.1, 3), rng.uniform(0.1, 12), 10 ** rng.uniform(-3, 1.5)])
    shares = allocate(sizes, epsilon=epsilon, weights=weights, minimise=objective)  # type: ignore[arg-type]
    assert sum(map(Fraction, shares)) <= Fraction(epsilon)
    found = cost(sizes, weights, shares, objective)
    # 10,000 cells in all show supports and levels; a split that is better by more than rounding would be a counterexample.
    assert found <= searched(sizes, weights, epsilon, objective, {2: 2000, 3: 140, 4: 36}[n]) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_no_exchange_between_two_columns_is_better(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.choice([5, 8, 12, 40])
    sizes = [rng.choice([2, 5, rng.randint(2, 300)]) for _ in range(n)]
    weights = [rng.choice([1.0, rng.random() + 0.01]) for _ in range(n)]
    epsilon = rng.uniform(0.5, 30)
    for objective in ("errors", "variance"):
        shares = allocate(sizes, epsilon=epsilon, weights=weights, minimise=objective)  # type: ignore[arg-type]
        assert sum(map(Fraction, shares)) <= Fraction(epsilon)
        value = OBJECTIVES[objective]
        for i in range(n):
            for j in range(i):
                both = shares[i] + shares[j]
                one = both * np.linspace(0, 1, 301)
                pair = weights[i] * value(sizes[i], one) + weights[j] * value(sizes[j], both - one)
                now = weights[i] * value(sizes[i], shares[i]) + weights[j] * value(sizes[j], shares[j])
                assert now <= pair.min() * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_many_columns_are_as_good_as_few(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # The way of many columns, on few, where all supports are looked at too.
    rng = random.Random(seed)
    n = rng.randint(3, 8)
    sizes = [rng.randint(2, 60) for _ in range(n)]
    weights = [rng.choice([1.0, rng.random() + 0.01]) for _ in range(n)]
    epsilon = rng.uniform(0.5, 12)
    few = cost(sizes, weights, allocate(sizes, epsilon=epsilon, weights=weights), "errors")
    monkeypatch.setattr(budget, "FEW", 0)
    many = cost(sizes, weights, allocate(sizes, epsilon=epsilon, weights=weights), "errors")
    assert few <= many * (1 + 1e-12)
    assert many <= few + epsilon * sum(weights) / (4 * budget.CELLS)


def test_examples_of_large_alphabets() -> None:
    assert cost([100, 100], [1, 1], [2.0, 2.0], "errors") == pytest.approx(1.861, abs=5e-4)
    assert allocate([100, 100], epsilon=4.0) == [4.0, 0.0]
    assert cost([100, 100], [1, 1], [4.0, 0.0], "errors") == pytest.approx(1.635, abs=5e-4)
    # The column of less weight takes all: the support is no prefix in the order of weights.
    assert allocate([6, 1001], epsilon=0.5, weights=[0.5, 1.0]) == [0.5, 0.0]


def test_one_slope_and_at_most_one_column_on_its_concave_side() -> None:
    sizes, weights = [4, 2, 50, 3, 9], [1.0, 2.0, 1.0, 1.5, 1.0]
    shares = allocate(sizes, epsilon=9.0, weights=weights)
    slopes = [
        w * (k - 1) * math.exp(e) / (math.exp(e) + k - 1) ** 2 for k, w, e in zip(sizes, weights, shares, strict=True) if e > 0
    ]
    assert len(slopes) >= 3
    assert max(slopes) - min(slopes) < 1e-9
    assert sum(0 < e < math.log(k - 1) for k, e in zip(sizes, shares, strict=True)) <= 1


def test_columns_without_a_part_get_nothing() -> None:
    for objective in ("errors", "variance"):
        shares = allocate([1, 5, 5], epsilon=2.0, weights=[1, 0, 3], minimise=objective)  # type: ignore[arg-type]
        assert shares == [0.0, 0.0, 2.0]
        assert allocate([1, 1], epsilon=2.0, minimise=objective) == [0.0, 0.0]  # type: ignore[arg-type]
        assert allocate([], epsilon=2.0, minimise=objective) == []  # type: ignore[arg-type]
        assert allocate([3, 4], epsilon=0.0, minimise=objective) == [0.0, 0.0]  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [1e-300, 1e-9, 30.0, 700.0, 1e6])
@pytest.mark.parametrize("objective", ["errors", "variance"])
def test_extreme_budgets_are_split(epsilon: float, objective: str) -> None:
    shares = allocate([2, 10**9, 7], epsilon=epsilon, weights=[1e-200, 1e200, 1.0], minimise=objective)  # type: ignore[arg-type]
    assert all(math.isfinite(share) and share >= 0 for share in shares)
    assert 0.99 * epsilon <= sum(map(Fraction, shares)) <= Fraction(epsilon)


def test_shares_are_what_mechanisms_take() -> None:
    shares = allocate([4, 2, 7], epsilon=3.0)
    parts = [RandomisedResponse(range(k), epsilon=share) for k, share in zip([4, 2, 7], shares, strict=True)]
    assert sum(part.epsilon_at() for part in parts) <= 3.0 * (1 + 1e-15)


def test_the_split_refuses_what_it_cannot_use() -> None:
    for sizes in ([0, 3], [-1]):
        with pytest.raises(ArgumentError, match="size"):
            allocate(sizes, epsilon=1.0)
    wrong: Any
    for wrong in ([2.5], ["a"], [True]):
        with pytest.raises(ArgumentTypeError, match="size"):
            allocate(wrong, epsilon=1.0)
    for epsilon in (-1.0, math.inf, math.nan):
        with pytest.raises(ArgumentError, match="epsilon"):
            allocate([2, 3], epsilon=epsilon)
    for weights in ([1.0], [1.0, 2.0, 3.0], [-1.0, 1.0], [math.inf, 1.0], [math.nan, 1.0]):
        with pytest.raises(ArgumentError, match="weight"):
            allocate([2, 3], epsilon=1.0, weights=weights)
    for wrong in ("ab", 3, ["a", "b"]):
        with pytest.raises(ArgumentTypeError, match="weight"):
            allocate([2, 3], epsilon=1.0, weights=wrong)
    wrong = "loss"
    with pytest.raises(ArgumentError, match="minimise"):
        allocate([2, 3], epsilon=1.0, minimise=wrong)


def test_privacy_leads_to_the_split() -> None:
    assert privacy.allocate is allocate
    assert {"allocate", "zcdp_of_exponential"} <= set(privacy.__all__)


@pytest.mark.parametrize("epsilon", [0.0, 5e-324, 1e-160, 0.1, 1 / 3, 1.0, 7.7, 1e150, 1e200])
def test_zcdp_is_rounded_up_once(epsilon: float) -> None:
    rho, true = zcdp_of_exponential(epsilon), Fraction(epsilon) ** 2 / 8
    assert rho == math.inf or Fraction(rho) >= true
    assert rho == 0.0 or Fraction(math.nextafter(rho, 0)) < true


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_zcdp_bounds_the_renyi_divergence_of_bounded_range(epsilon: float) -> None:
    # The worst pair of an exponential mechanism has two losses, epsilon apart (Dong, Durfee & Rogers 2020): over all of
    # them the Renyi divergence of order a stays below rho a, and at a near 1 comes near it.
    rho = zcdp_of_exponential(epsilon)
    closest = 0.0
    for t in np.linspace(0.001, 0.999, 400) * epsilon:
        # Losses t and t - epsilon; Q has weight q on the first so that both sum to 1.
        q = (1 - math.exp(t - epsilon)) / (math.exp(t) - math.exp(t - epsilon))
        for a in (1.001, 1.5, 2.0, 5.0, 30.0):
            moment = q * math.exp(a * t) + (1 - q) * math.exp(a * (t - epsilon))
            closest = max(closest, math.log(moment) / (a - 1) / (rho * a))
    assert 0.85 < closest <= 1 + 1e-9
    with pytest.raises(ArgumentError):
        zcdp_of_exponential(-epsilon)


def test_statements_imply_zcdp() -> None:
    for epsilon in (0.0, 0.1, 1 / 3, 2.0, 1e150):
        rho = Privacy(epsilon).rho
        assert Fraction(rho) >= Fraction(epsilon) ** 2 / 2
        assert rho == 0.0 or Fraction(math.nextafter(rho, 0)) < Fraction(epsilon) ** 2 / 2
    assert Privacy(1e200).rho == Privacy(math.inf).rho == Privacy(1.0, 1e-9).rho == math.inf
    # The worst pair of a pure statement is randomised response of two answers: its divergences stay below rho a.
    for epsilon in (0.05, 1.0, 4.0):
        high, low = math.exp(epsilon) / (1 + math.exp(epsilon)), 1 / (1 + math.exp(epsilon))
        for a in (1.001, 1.5, 2.0, 5.0, 30.0):
            divergence = math.log(high**a * low ** (1 - a) + low**a * high ** (1 - a)) / (a - 1)
            assert divergence <= Privacy(epsilon).rho * a * (1 + 1e-9)
            assert divergence > zcdp_of_exponential(epsilon) * a or a * epsilon >= 8
