"""Constants of the baselines: published figures, losses over all scales and shifts, and mistakes that are found in the wild."""

from __future__ import annotations

import decimal
import math
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.integrate
from baseline_cases import NODE_WEIGHTS, NODES, hockey_stick, log_density, loss, tail

from dpfast import ArgumentError
from dpfast.baselines import calibration as constants
from dpfast.baselines import smooth_sensitivity
from dpfast.baselines.noise import LaplaceLognormalNoise, LaplaceNoise, PolyPlaceNoise, StudentNoise
from dpfast.baselines.sensitivity import local_sensitivities
from dpfast.duff._cauchy import cauchy_alpha

Y5, Y6 = (1, 2, 4, 8, 9), (1, 2, 4, 5, 8, 9)
EPSILONS = [Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3), Fraction(8)]


@pytest.mark.parametrize(
    ("rows", "beta", "neighbours", "wanted"),
    [
        (Y5, 0.1, "add_remove", 6.0653065971),
        (Y6, 0.1, "add_remove", 5.4881163609),
        (Y5, 0.5, "add_remove", 3.6391839583),
        (Y6, 0.5, "add_remove", 2.2072766470),
        (Y5, 0.1, "replace_one", 6.0653065971),
        (Y6, 0.1, "replace_one", 5.4881163609),
        (Y5, 0.5, "replace_one", 4.0),
        (Y6, 0.5, "replace_one", 2.4261226389),
    ],
)
def test_smooth_sensitivities_are_the_listed_ones(rows: Any, beta: float, neighbours: Any, wanted: float) -> None:
    assert smooth_sensitivity(rows, bounds=(0, 10), beta=beta, neighbours=neighbours) == pytest.approx(wanted, abs=1e-9)


def test_steps_and_constants_are_the_listed_ones() -> None:
    assert local_sensitivities(Y5, bounds=(0, 10), last=5).tolist() == [2, 6, 7, 8, 9, 10]
    assert local_sensitivities(Y6, bounds=(0, 10), last=6).tolist() == [1, 3, 6, 7, 8, 9, 10]
    tenth = Fraction(1, 10)
    listed = [
        (cauchy_alpha(Fraction(1), tenth), 1.0421906110),
        (cauchy_alpha(Fraction(1, 2), tenth), 0.5052246336),
        (constants.laplace_alpha(Fraction(1), Fraction(1, 10**6), Fraction(3, 100)), 0.7376108015),
        (constants.laplace_alpha(Fraction(1, 2), Fraction(1, 10**5), Fraction(2, 100)), 0.3806557635),
    ]
    for epsilon, t, sigma, s in (
        (Fraction(1), tenth, 0.3091978189, 0.5861931752),
        (Fraction(1, 2), Fraction(1, 50), 0.2142615393, 0.3795953977),
    ):
        found = constants.lognormal(epsilon, tenth, exact=True, t=t, concentrated=epsilon)
        listed += [(found.sigma, sigma), (found.alpha, s)]
    for found_one, wanted in listed:
        assert float(found_one) == pytest.approx(wanted, abs=1e-9)
    assert constants.zcdp_epsilon(0.5, 1e-6, exact=False) == pytest.approx(5.7565, abs=1e-4)
    assert constants.zcdp_epsilon(0.5, 1e-6, exact=True) == pytest.approx(5.2215, abs=1e-4)


def test_concentrated_privacy_is_inverted_downwards() -> None:
    for is_exact in (False, True):
        for epsilon, delta in ((0.1, 1e-6), (1.0, 1e-9), (5.0, 0.01)):
            rho = constants.zcdp_rho(epsilon, delta, exact=is_exact)
            assert epsilon * (1 - 1e-8) < constants.zcdp_epsilon(rho, delta, exact=is_exact) <= epsilon
    assert constants.zcdp_rho(1.0, 1e-6, exact=True) > constants.zcdp_rho(1.0, 1e-6, exact=False)


PURE: dict[str, Any] = {
    "cauchy paper": lambda e: (StudentNoise(1), constants.cauchy(e, exact=False)),
    "cauchy exact": lambda e: (StudentNoise(1), constants.cauchy(e, exact=True)),
    "student paper": lambda e: (StudentNoise(3), constants.student(e, 3, exact=False)),
    "student exact": lambda e: (StudentNoise(3), constants.student(e, 3, exact=True)),
    "student of 1": lambda e: (StudentNoise(1), constants.student(e, 1, exact=True)),
    "polyplace": lambda e: (PolyPlaceNoise(6), constants.Calibration(e / 6, e / 6)),
    "polyplace of 3": lambda e: (PolyPlaceNoise(3), constants.Calibration(e / 3, e / 3)),
}
TIGHT = {"cauchy exact", "polyplace", "polyplace of 3"}


def loss_of(noise: Any, found: Any) -> float:
    """Over scale ratios e^-beta .. e^beta and shifts of up to the smaller sensitivity; a unit of noise is SS / alpha."""
    return loss(partial(log_density, noise), float(found.alpha), float(found.beta))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", sorted(PURE))
def test_losses_stay_below_epsilon(name: str, epsilon: Fraction) -> None:
    found = loss_of(*PURE[name](epsilon))
    assert found <= float(epsilon) * (1 + 1e-9)
    if name in TIGHT and epsilon <= 3:
        assert found >= 0.95 * float(epsilon)


def test_the_exact_cauchy_noise_is_six_times_less() -> None:
    ratio = constants.cauchy(Fraction(1), exact=True).alpha / constants.cauchy(Fraction(1), exact=False).alpha
    assert float(ratio) == pytest.approx(6.25, abs=0.01)


@pytest.mark.parametrize(
    ("noise", "beta", "alpha"),
    [
        (StudentNoise(1), 1.0, 1 / 6),  # smoothness epsilon in place of epsilon / 6
        (StudentNoise(1), 1 / 6, 6.0),  # 6 epsilon / SS where its inverse belongs
        (StudentNoise(1), 1 / 6, 1.1),  # a little more than the exact alpha, 1.042
        (StudentNoise(3), 1 / 8, 0.9),
        (PolyPlaceNoise(6), 1 / 6, 1 / 5),
        (PolyPlaceNoise(6), 1 / 5, 1 / 6),
    ],
)
def test_wrong_constants_are_seen(noise: Any, beta: float, alpha: float) -> None:
    assert loss(partial(log_density, noise), alpha, beta) > 1.003


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-5), (0.3, 1e-6), (3, 1e-2), (8, 1e-6)])
def test_the_exact_alpha_spends_all_of_delta(epsilon: float, delta: float) -> None:
    found = constants.smooth_laplace_calibration(Fraction(epsilon), Fraction(delta), exact=True)
    assert delta_of_laplace(float(found.alpha), float(found.beta), epsilon) == pytest.approx(delta, rel=1e-5)
    paper = constants.smooth_laplace_calibration(Fraction(epsilon), Fraction(delta), exact=False)
    assert delta_of_laplace(float(paper.alpha), float(paper.beta), epsilon) <= delta * (1 + 1e-6)
    assert delta_of_laplace(1.02 * float(found.alpha), float(found.beta), epsilon) > delta


def test_no_other_scale_or_shift_spends_more() -> None:
    epsilon, delta = 1.0, 1e-4
    found = constants.smooth_laplace_calibration(Fraction(1), Fraction(delta), exact=True)
    x = np.linspace(-400.0, 400.0, 800_001)
    narrow = np.exp(-np.abs(x)) / 2
    spent = []
    for r in np.linspace(-float(found.beta), float(found.beta), 7):
        for share in (0.0, 0.5, 1.0):
            shift, wide = share * float(found.alpha) * min(1.0, math.exp(r)), math.exp(r)
            other = np.exp(-np.abs(x - shift) / wide) / (2 * wide)
            for one, two in ((other, narrow), (narrow, other)):
                spent.append(float(np.maximum(one - math.exp(epsilon) * two, 0.0).sum() * 1e-3))
    assert max(spent) == pytest.approx(delta, rel=1e-3)


@pytest.mark.parametrize("is_exact", [False, True])
def test_lognormal_noise_spends_no_more_than_delta(is_exact: bool) -> None:
    epsilon, delta = 1.0, 1e-4
    found = constants.lognormal(Fraction(1), Fraction(delta), exact=is_exact)
    x = np.linspace(-300.0, 300.0, 60_001)

    def density(z: Any) -> Any:
        scales = np.exp(float(found.sigma) * NODES)
        return sum(w / c * np.exp(-np.abs(z) / c) for c, w in zip(scales, NODE_WEIGHTS, strict=True)) / NODE_WEIGHTS.sum() / 2

    def spent(alpha: float, t: float) -> float:
        worst, plain = 0.0, density(x)
        for r in (-t, 0.0, t):
            other = density((x - alpha * min(1.0, math.exp(r))) * math.exp(-r)) * math.exp(-r)
            for one, two in ((other, plain), (plain, other)):
                worst = max(worst, float(np.maximum(one - math.exp(epsilon) * two, 0.0).sum() * 1e-2))
        return worst

    alpha, t = float(found.alpha), float(found.beta)
    assert spent(alpha, t) <= delta
    assert spent(12 * alpha, t) > delta  # the published route through zCDP is far from tight
    assert spent(alpha, 30 * t) > delta


def test_discrete_laplace_noise_exceeds_delta_with_the_constants_of_the_continuous_one() -> None:
    epsilon, delta, worst = 1.0, 1e-2, 0.0
    found = constants.smooth_laplace_calibration(Fraction(1), Fraction(delta), exact=True)
    alpha, beta = float(found.alpha), float(found.beta)
    k = np.arange(-4000, 4001)
    for sensitivity in (1, 2, 3, 5):  # in steps; noise in proportion to e^-|k| / scale at grid points
        narrow = sensitivity / alpha
        laws = [np.exp(-np.abs(k - shift) / scale) for shift, scale in ((0, narrow), (sensitivity, narrow * math.exp(beta)))]
        first, second = (law / law.sum() for law in laws)
        worst = max(worst, float(np.maximum(second - math.exp(epsilon) * first, 0.0).sum()))
    assert worst > 1.02 * delta


def delta_of_laplace(alpha: float, beta: float, epsilon: float) -> float:
    """The larger of both directions, of a law of scale e^beta against one of scale 1 that is alpha away."""
    wide = math.exp(beta)
    reach = 60 * wide + 60 * wide / math.expm1(beta)

    def broad(x: float) -> float:
        return math.exp(-abs(x - alpha) / wide) / (2 * wide)

    def narrow(x: float) -> float:
        return math.exp(-abs(x)) / 2

    growth = 1 / wide - 1  # where the two logarithms differ by epsilon, on either side
    right = (epsilon + beta - alpha / wide) / -growth
    left = -(epsilon + beta + alpha / wide) / -growth
    breaks = sorted({-reach, left, 0.0, alpha, right, reach})
    return max(hockey_stick(broad, narrow, epsilon, breaks), hockey_stick(narrow, broad, epsilon, breaks))


def test_the_published_laplace_scale_fails_at_large_epsilon_and_is_not_used() -> None:
    for epsilon, delta in ((8.5, 0.5), (12.5, 0.01)):
        beta = epsilon / (2 * math.log(2 / delta))
        assert delta_of_laplace(epsilon / 2, beta, epsilon) > delta
        try:
            found = constants.smooth_laplace_calibration(Fraction(epsilon), Fraction(delta), exact=False)
        except ArgumentError:
            continue
        assert found.alpha < Fraction(epsilon) / 2
    with pytest.raises(ArgumentError, match="not private"):
        constants.smooth_laplace_calibration(Fraction(40), Fraction(1, 2), exact=False)


def discrete(density: Any, scale: float) -> Any:
    weights = np.exp(density(np.arange(-200_000, 200_001) / scale))
    return weights / weights.sum()


def test_noise_in_proportion_to_the_density_at_grid_points_is_not_private() -> None:
    # epsilon 0.5, beta 0.45. Where scales are below the step, the ratio of tails is that of squared scales: loss 2 beta (Cauchy)
    narrow = 1e-3
    first, second = (discrete(partial(log_density, StudentNoise(1)), scale) for scale in (narrow, narrow * math.exp(0.45)))
    assert abs(np.log(first / second)).max() > 1.5 * 0.5
    # the same noise rounded keeps epsilon
    cuts = np.arange(1000) + 0.5
    rounded = [-np.diff(tail(StudentNoise(1), cuts / scale)) for scale in (narrow, narrow * math.exp(0.45))]
    assert np.log(rounded[1] / rounded[0]).max() <= 0.5


def test_the_variance_of_lognormal_noise_is_that_of_a_unit_normal_exponent() -> None:
    sigma = Fraction(1, 3)
    noise = LaplaceLognormalNoise(sigma)
    second = scipy.integrate.quad(lambda x: 4 * x * float(tail(noise, np.array(x))), 0, np.inf)[0]
    assert second == pytest.approx(2 * math.exp(2 / 9), rel=1e-6)  # and not e^(2 sigma^4)


@pytest.mark.parametrize("noise", [LaplaceNoise(), PolyPlaceNoise(6), PolyPlaceNoise(10)])
def test_tails_integrate_the_densities(noise: Any) -> None:
    total = 2 * scipy.integrate.quad(lambda x: math.exp(log_density(noise, np.array(x))), 0, np.inf, limit=200)[0]
    for x in (0.05, 0.1, 0.3, 2.0):
        beyond = scipy.integrate.quad(lambda y: math.exp(log_density(noise, np.array(y))), x, np.inf, limit=200)[0]
        assert float(tail(noise, np.array(x))) == pytest.approx(beyond / total, rel=1e-6)


def test_polyplace_is_hardly_wider_than_laplace() -> None:
    noise = PolyPlaceNoise(10)  # epsilon 1, beta 0.1
    mean = 2 * scipy.integrate.quad(lambda x: float(tail(noise, np.array(x))), 0, np.inf)[0] / 0.1
    assert mean == pytest.approx(1.134, abs=5e-4)


def test_each_sigma_has_the_least_variance() -> None:
    for epsilon, t in ((Fraction(1), Fraction(1, 6)), (Fraction(1, 3), Fraction(1, 100))):
        best = float(constants.lognormal_sigma(epsilon, t))

        def variance(sigma: float, epsilon: float = float(epsilon), t: float = float(t)) -> float:
            return math.exp(5 * sigma * sigma) / (epsilon - t / sigma) ** 2

        assert variance(best) < min(variance(best * 0.99), variance(best * 1.01))


def test_the_alpha_of_laplace_noise_is_pure_in_the_other_direction() -> None:
    # a large delta gives room in one direction; the narrower law exceeds the wider by e^(alpha e^-beta + beta) at the centre
    binding = 0
    for epsilon, beta, delta in product(
        (Fraction(1, 4), Fraction(1), Fraction(3)), (10, 4, 2), (Fraction(1, 2), Fraction(9, 10))
    ):
        alpha = constants.laplace_alpha(epsilon, delta, epsilon / beta)
        spent = float(alpha) * math.exp(-float(epsilon / beta)) + float(epsilon / beta)
        assert 0 < alpha <= epsilon
        assert spent <= float(epsilon) * (1 + 1e-14)
        binding += alpha < epsilon and spent > float(epsilon) * (1 - 1e-14)
    assert binding > 3


@pytest.mark.parametrize(("beta", "y"), [(2, "1e-38"), (2, "3e-39"), (3, "7e-38"), (3, "2e-37"), (4, "5e-37"), ("1e-30", "1")])
def test_the_alpha_of_laplace_noise_is_rounded_down_where_digits_are_lost(beta: Any, y: str) -> None:
    """delta at alpha, with 400 digits: near the least delta that can be had, and where e^beta is next to 1."""
    with decimal.localcontext(decimal.Context(prec=400)):
        b = decimal.Decimal(beta)
        width = b.exp() - 1
        for delta in (Fraction(1, 3), Fraction(3, 10), Fraction(1, 7), Fraction(1, 1000)):
            d = decimal.Decimal(delta.numerator) / delta.denominator
            least = 1 - (-b).exp()
            e = width * (decimal.Decimal(y) + least.ln() - d.ln()) - b
            if e <= b:
                e = 4 * b
            alpha = constants.laplace_alpha(Fraction(e), delta, Fraction(b))
            assert alpha > 0
            a = decimal.Decimal(alpha.numerator) / alpha.denominator
            cosh = ((a / width).exp() + (-a / width).exp()) / 2
            assert least * (-(e + b) / width).exp() * cosh <= d
