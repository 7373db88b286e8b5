"""Draws of baselines against the laws they should have, and errors of the size that theory and others found."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from baseline_cases import answers
from stats import assert_law

from dpfast import Stream, baselines
from dpfast.baselines._release import Additive
from dpfast.baselines.noise import LaplaceLognormalNoise, LaplaceNoise, PolyPlaceNoise, StudentNoise
from dpfast.baselines.ptr import Proposal

pytestmark = pytest.mark.statistical

DRAWS = 40_000
NOISES = [
    LaplaceNoise(),
    StudentNoise(1),
    StudentNoise(2),
    StudentNoise(3),
    LaplaceLognormalNoise(Fraction(2, 5)),
    PolyPlaceNoise(6),
    PolyPlaceNoise(3),
]


def counts_of(plan: Any, seed: int) -> np.ndarray[Any, Any]:
    words = Stream.insecure(seed).draws(None, bytes(32), DRAWS).as_words()
    return np.bincount(plan.draw(words, DRAWS) % (plan_top(plan) + 1), minlength=plan_top(plan) + 1)


def plan_top(plan: Any) -> int:
    return plan.answer.top + 1 if isinstance(plan, Proposal) else plan.top  # no result, -1, is counted last


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: f"{type(noise).__name__}")
def test_rounded_noise_has_the_law_of_its_cells(noise: Any) -> None:
    scale = Fraction(4 * noise.exponent if isinstance(noise, PolyPlaceNoise) else 4)
    plan = Additive(noise, Fraction(37, 4), scale, 24)
    counts = counts_of(plan, 31)
    assert_law(counts, answers(plan))
    for wrong in (plan._replace(scale=scale * Fraction(9, 8)), plan._replace(centre=plan.centre + Fraction(1, 2))):
        with pytest.raises(AssertionError):
            assert_law(counts, answers(wrong))


@pytest.mark.parametrize("surplus", [Fraction(-1), Fraction(1, 2)])
def test_tests_pass_as_often_as_they_should(surplus: Fraction) -> None:
    plan = Proposal(surplus, Additive(LaplaceNoise(), Fraction(5), Fraction(2), 10))
    counts = counts_of(plan, 32)
    assert_law(counts, answers(plan))
    with pytest.raises(AssertionError):
        assert_law(counts, answers(plan._replace(surplus=surplus + Fraction(1, 10))))


def test_errors_are_of_the_size_that_is_known() -> None:
    # N(0, 1), n = 1000, bounds +-100; means over sixty data sets, of what earlier runs of an independent program found
    known = {
        ("duff", 0.1, "error_mean"): 0.0256,
        ("duff", 0.5, "error_mean"): 0.0055,
        ("duff", 1.0, "error_mean"): 0.0031,
        ("smooth_cauchy", 0.1, "error_median"): 3.46,
        ("smooth_cauchy", 0.5, "error_median"): 0.149,
        ("smooth_cauchy", 1.0, "error_median"): 0.041,
        ("smooth_cauchy/oracle", 0.1, "error_median"): 0.193,
        ("smooth_cauchy/oracle", 0.5, "error_median"): 0.0088,
        ("smooth_cauchy/oracle", 1.0, "error_median"): 0.0024,
        ("smooth_laplace", 0.1, "error_median"): 88.0,
        ("smooth_laplace", 0.5, "error_median"): 0.155,
        ("smooth_laplace", 1.0, "error_median"): 0.040,
    }
    some = {str(seed): baselines.datasets(1000, seed=seed)["normal"] for seed in range(60)}
    table = baselines.compare(
        some,
        epsilons=[0.1, 0.5, 1.0],
        trials=200,
        mechanisms=list(dict.fromkeys(name for name, _, _ in known)),
        rng=Stream.insecure(33),
        progress=False,
    ).to_pylist()
    for (name, epsilon, figure), wanted in known.items():
        found = np.mean([row[figure] for row in table if (row["mechanism"], row["epsilon"]) == (name, epsilon)])
        assert wanted / 2 < found < 2 * wanted, (name, epsilon, found)
