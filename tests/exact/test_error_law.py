"""The law of Duff's error against sums over every grid point, and the theory's bounds against the law."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from soak import record

from dpfast import ArgumentError, ArgumentTypeError, duff
from dpfast.baselines import smooth_sensitivity
from dpfast.duff.weights import FIRST_WEIGHT, Weights


def test_figures_are_sums_over_the_grid_points() -> None:
    rows, step = [1, 2, 4, 4, 8, 9], 0.25
    levels = duff.median_levels(rows, bounds=(0, 10), step=step, neighbours="add_remove")
    law = duff.error_law(levels, epsilon=1.0)
    chance = np.repeat(np.exp(duff.log_probabilities(levels, epsilon=1.0)) / levels.measure, levels.measure)
    distance = np.repeat(levels.distance, levels.measure)
    errors = np.abs(np.arange(chance.size) * step - 4.0)
    assert law.mean == pytest.approx(chance @ errors, rel=1e-13)
    assert law.rmse == pytest.approx(np.sqrt(chance @ errors**2), rel=1e-13)
    for place, k in enumerate(law.distance):
        assert law.distance_probability[place] == pytest.approx(chance[distance == k].sum(), rel=1e-12)
    for r in (0, 0.3, 2.5, 11):
        assert law.probability_within(r) == pytest.approx(chance[errors <= r].sum(), rel=1e-12)
    for p in (0.01, 0.5, 0.95, 1.0):
        r = law.quantile(p)
        assert law.probability_within(r) >= p - 1e-12
        assert r == 0 or law.probability_within(r - step) < p


def test_levels_without_distance_zero_are_measured_from_the_nearest() -> None:
    law = duff.error_law(duff.Levels([1], [0], [9], step=1), epsilon=1.0)
    assert (law.mean, law.rmse, law.quantile(1.0)) == (0.0, 0.0, 0.0)
    point = duff.error_law(duff.Levels([0], [3], [3], step=1), epsilon=1.0)
    assert (point.mean, point.bounds().mean_bound, point.likely_error(0.5)) == (0.0, 0.0, 0.0)
    nobody = duff.error_law(duff.median_levels([], bounds=(0, 9), neighbours="add_remove"), epsilon=1.0)
    assert nobody.bounds(0.1).smooth_sensitivity == pytest.approx(9)
    assert nobody.bounds().normaliser_bound <= nobody.bounds().normaliser


def test_laws_of_any_levels_are_sums_over_their_points() -> None:
    rng = np.random.default_rng(8)
    for _ in range(60):
        cuts = np.sort(rng.choice(60, int(rng.integers(2, 12)), replace=False))
        lower, upper = cuts[:-1], cuts[1:] - 1
        kept = rng.random(lower.size) < 0.8  # points may be missing, and several places may be nearest
        kept[0] = True
        lower, upper = lower[kept], upper[kept]
        distance = rng.integers(0, 3, lower.size)
        law = duff.error_law(duff.Levels(distance, lower, upper, step=0.5), epsilon=1.0)
        points = np.concatenate([np.arange(a, b + 1) for a, b in zip(lower, upper, strict=True)])
        of_points = np.repeat(distance, upper - lower + 1)
        errors = np.abs(points[:, None] - points[of_points == distance.min()]).min(1) * 0.5
        weights = Weights(Fraction(1)).of(of_points).astype(float)
        chance = weights / weights.sum()
        assert law.mean == pytest.approx(chance @ errors, rel=1e-13)
        assert law.rmse == pytest.approx(np.sqrt(chance @ errors**2), rel=1e-13)
        assert law.radius().tolist() == [errors[of_points <= k].max() for k in law.distance]
        for r in (0, 0.5, 2.0, 7.5):
            assert law.probability_within(r) == pytest.approx(chance[errors <= r].sum(), rel=1e-12)


def check_bounds(seed: int) -> tuple[float, float]:
    """All bounds of one random data set; how near the normaliser and the mean come to theirs."""
    rng = np.random.default_rng(seed)
    top = int(rng.choice([10, 50, 1000]))
    rows = rng.integers(0, top + 1 if rng.random() < 0.5 else top // 5 + 1, int(rng.integers(1, 26)))
    epsilon = float(rng.choice([0.1, 0.5, 1.0, 2.0, 4.0]))
    beta = epsilon * float(rng.choice([0.02, 0.1, 0.2, 0.24]))
    law = duff.error_law(duff.median_levels(rows, bounds=(0, top), neighbours="add_remove"), epsilon=epsilon)
    bounds = law.bounds(beta)
    for smooth, at in ((bounds.smooth_sensitivity, beta), (bounds.smooth_sensitivity_half, epsilon / 2)):
        assert smooth == pytest.approx(smooth_sensitivity(rows, bounds=(0, top), beta=at, neighbours="add_remove"), rel=1e-12)
    near = 1 + 1e-9
    assert bounds.normaliser_bound <= bounds.normaliser * near
    assert law.mean <= bounds.mean_bound * near
    assert (law.radius() <= bounds.radius_bound[law.distance] * near + 1e-9).all()
    for k in range(int(law.distance[-1]) + 1):
        assert law.distance_probability[law.distance > k].sum() <= bounds.distance_tail[k] * near
    for r in (1, 5, top / 2):
        assert 1 - law.probability_within(r) <= law.error_tail(r, beta) * near + 1e-13
    for chance in (0.5, 0.05):
        assert law.quantile(1 - chance) <= law.likely_error(chance)
    return bounds.normaliser_bound / bounds.normaliser, law.mean / bounds.mean_bound


def test_bounds_hold_and_are_not_idle() -> None:
    tight = np.array([check_bounds(seed) for seed in range(200)])
    assert tight[:, 0].max() > 0.9
    assert 0.2 < tight[:, 1].max() <= 0.5


def test_the_bound_of_the_normaliser_is_attained() -> None:
    # two of three rows at the lower bound: all but one grid point are at distance 2
    law = duff.error_law(duff.median_levels([0, 0, 1 << 40], bounds=(0, 1 << 40), neighbours="add_remove"), epsilon=0.5)
    bounds = law.bounds()
    assert bounds.normaliser_bound <= bounds.normaliser <= bounds.normaliser_bound * (1 + 1e-9)


@pytest.mark.parametrize("spread", [0, 1])
@pytest.mark.parametrize(("top", "epsilon"), [((1 << 20) - 1, 1.0), (1 << 61, 0.1), (1 << 61, 60.0)])
def test_bounds_hold_where_the_table_stands_still(top: int, epsilon: float, spread: int) -> None:
    # far weights vanish in theory, and with all rows alike sensitivity, too; integers do not
    levels = duff.median_levels(5 + spread * np.arange(3000), bounds=(0, top), neighbours="add_remove")
    law = duff.error_law(levels, epsilon=epsilon)
    bounds = law.bounds()
    assert law.mean <= bounds.mean_bound
    assert (law.radius() <= bounds.radius_bound[law.distance] + 1e-9).all()
    for chance in (0.5, 0.05, 1e-6, 1e-18):
        assert law.quantile(1 - Fraction(chance)) <= law.likely_error(chance)  # type: ignore[arg-type]
    for r in (1, 7, top / 2):
        assert 1 - law.probability_within(r) <= law.error_tail(r)
    assert law.error_tail(0.0) == 1.0
    # what theory says of the powers themselves does not hold of the integers
    last = int(law.distance[-1])
    weight = int(Weights(Fraction(epsilon)).of(np.array([last]))[0])
    assert np.exp(-epsilon / 2 * last) < weight / FIRST_WEIGHT <= np.exp(-epsilon / 2 * last) + law._excess()


@pytest.mark.slow
def test_bounds_hold_on_thousands() -> None:
    tight = np.array([check_bounds(seed) for seed in range(200, 5200)])
    assert tight[:, 0].max() > 0.95
    record("bounds of Duff's error", data_sets=len(tight), violations=0)


def test_wrong_questions_are_refused() -> None:
    levels = duff.median_levels([1, 2], bounds=(0, 10), neighbours="add_remove")
    law = duff.error_law(levels, epsilon=1.0)
    for call in (lambda: law.quantile(1.5), lambda: law.likely_error(0.0), lambda: law.bounds(-1.0)):
        with pytest.raises(ArgumentError):
            call()
    with pytest.raises(ArgumentTypeError):
        duff.error_law([1, 2], epsilon=1.0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError):
        duff.error_law(levels, epsilon=-1.0)
    assert law.bounds(0.3).mean_bound == float("inf")
    assert repr(law) == f"<dpfast.duff.ErrorLaw of {len(levels)} entries>"
