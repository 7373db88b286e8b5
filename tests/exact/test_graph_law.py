"""The law of an edge: weights bound e^epsilon, steps lie at or below the real law, are monotone and never fall."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from graph_cases import DELTAS, EPSILONS, VALUES

from dpfast._core import graph as core
from dpfast._rounding import exp_bounds
from dpfast.graph._values import KEY_ONE, exact, keys_of, scalar_key
from dpfast.reference.graph import upper_law


def steps(keys: np.ndarray, epsilon: float, delta: float) -> np.ndarray:
    out = np.empty_like(keys)
    core.steps(keys, np.full(keys.size, core.weight(epsilon)), np.full(keys.size, delta), out)
    return out


def ladder(rng: np.random.Generator, epsilon: float, delta: float) -> np.ndarray:
    """Ascending keys: everywhere, and one by one around 1/2 and around the kink."""
    kink = (1.0 - delta) / (1.0 + np.exp(min(epsilon, 700.0))) if delta < 1 else 0.0
    near = keys_of(np.array([0.5, kink])).astype(np.int64)[:, np.newaxis] + np.arange(-40, 41)
    keys = [np.clip(near.ravel(), 0, int(KEY_ONE)).astype(np.uint64), keys_of(np.array(VALUES)), keys_of(rng.random(60))]
    return np.unique(np.concatenate([*keys, rng.integers(0, int(KEY_ONE), 60, np.uint64)]))


@pytest.mark.parametrize("epsilon", [*EPSILONS, 2.0**-52, 2.0**-53, 0.3465, 0.34658, 1.04, 708.9, 709.0, 744.9, 745.0, 1e300])
def test_weights_bound_the_exponential(epsilon: float) -> None:
    weight = Fraction(core.weight(epsilon))
    if epsilon <= 709:
        low, high = exp_bounds(epsilon, 60)
        assert 1 <= weight <= low
        assert high - weight <= high / 2**50  # within four units of the last place
    else:
        low, _ = exp_bounds(min(epsilon, 1e5), 60)
        assert 0 < weight < 1
        assert weight * low >= 1
        assert weight - 1 / low <= max(Fraction(2) ** -1073, weight / 2**50)


def test_weights_bound_many_exponentials() -> None:
    rng = np.random.default_rng(5)
    for epsilon in [*rng.uniform(0, 3, 200), *rng.uniform(0, 709, 100), *np.exp(rng.uniform(-40, 0, 100))]:
        low, high = exp_bounds(float(epsilon), 40)
        weight = Fraction(core.weight(float(epsilon)))
        assert 1 <= weight <= low
        assert high - weight <= high / 2**50


@pytest.mark.parametrize("delta", sorted(set(DELTAS)))
@pytest.mark.parametrize("epsilon", EPSILONS[:-1])
def test_steps_are_below_the_law_monotone_and_never_fall(epsilon: float, delta: float) -> None:
    keys = ladder(np.random.default_rng(1), epsilon, delta)
    after = steps(keys, epsilon, delta)
    assert (after >= keys).all()
    assert (np.diff(after.astype(np.int64)) >= 0).all()
    for key, stepped in zip(keys.tolist()[::3], after.tolist()[::3], strict=True):
        real, found = upper_law(exact(key), epsilon, delta), exact(stepped)
        assert found <= real
        # what `extend` calls rounding: eight units in the last place of the answer
        assert real - found <= 8 * Fraction(math.ulp(float(real)))


def test_zero_and_one_stay() -> None:
    ends = np.array([0, KEY_ONE], np.uint64)
    for epsilon in EPSILONS:
        assert (steps(ends, epsilon, 0.0) == ends).all()
    assert (steps(keys_of(np.array(VALUES)), 0.0, 0.0) == keys_of(np.array(VALUES))).all()


def test_the_kink_keeps_its_units_at_large_epsilon() -> None:
    for epsilon in (30.0, 37.0, 100.0, 600.0):
        key = int(keys_of(np.array([2.0 * np.exp(-epsilon)]))[0])
        after = int(steps(np.array([key], np.uint64), epsilon, 0.0)[0])
        rest, real = 1 - exact(after), 1 - upper_law(exact(key), epsilon, 0.0)
        assert real <= rest <= real * (1 + Fraction(8, 2**52))


@pytest.mark.parametrize("epsilon", [30.0, 708.0, 709.5, 744.0, 1e4])
def test_what_delta_all_but_allows_is_not_certain(epsilon: float) -> None:
    # 1 - d is rounded to 1/2; in the reals 2^-54 e^-epsilon is left of the other answer
    delta, half = 0.5 - 2.0**-54, scalar_key(0.5)
    after = int(steps(np.array([half], np.uint64), epsilon, delta)[0])
    assert after < int(KEY_ONE)
    assert exact(after) <= upper_law(Fraction(1, 2), epsilon, delta)
