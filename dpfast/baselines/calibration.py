"""How much noise: scales and smoothness that keep (epsilon, delta), as published and as sharp as we can prove (B.9).

Noise is SS_beta / alpha * Z. Between neighbours scales differ by at most e^beta, centres by at most the smaller SS. With
phi = ln density of Z, the loss is at most the largest alpha |phi'(z)| + beta |1 + z phi'(z)| (a walk from one law to the other);
for some laws the exact loss is known. beta is a public function of epsilon and delta; alpha is rounded down, from 60 digits.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

from dpfast.duff._cauchy import cauchy_alpha
from dpfast.errors import ArgumentError

__all__ = [
    "Calibration",
    "cauchy",
    "laplace_alpha",
    "lognormal",
    "lognormal_sigma",
    "smooth_laplace_calibration",
    "student",
    "student_alpha",
    "zcdp_epsilon",
    "zcdp_rho",
]

DIGITS: Final = 60
# Of epsilon: what is asked beyond gets the noise of this, which is less than any grid of 2^62 points shows.
LARGEST: Final = 1000  # where its exponential is needed
LARGEST_DOUBLE: Final = 1 << 150
LARGEST_BETA: Final = 10_000
SHARE: Final = 6  # epsilon / beta
STUDENT_DEGREES: Final = 3
MOST_DEGREES: Final = 1 << 20
GRAIN: Final = 1 << 40
ROOM: Final = Decimal("1e-40")  # relative: twenty digits more than what sixty lose

_CONTEXT: Final = decimal.Context(prec=DIGITS, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)


class Calibration(NamedTuple):
    """Noise of SS_beta / alpha; sigma where the law has a shape."""

    beta: Fraction
    alpha: Fraction
    sigma: Fraction = Fraction(0)


def _decimal(number: Fraction) -> Decimal:
    return _CONTEXT.divide(Decimal(number.numerator), Decimal(number.denominator))


def _below(number: Decimal) -> Fraction:
    """A little less than a positive result, and no more than it can be."""
    with decimal.localcontext(_CONTEXT):
        return Fraction(number * (1 - ROOM))


def cauchy(epsilon: Fraction, *, exact: bool, beta: Fraction | None = None) -> Calibration:
    """Of the Cauchy law: alpha = epsilon / 6 (Nissim, Raskhodnikova and Smith), or the hyperbolic distance."""
    epsilon = min(epsilon, Fraction(LARGEST)) if exact else epsilon
    beta = epsilon / SHARE if beta is None else beta
    return Calibration(beta, cauchy_alpha(epsilon, beta) if exact else epsilon / SHARE)


def student_alpha(epsilon: Fraction, beta: Fraction, degrees: int) -> Fraction:
    """sqrt(d) sqrt((2 (epsilon - beta (d - 1) / 2) / (d + 1))^2 - beta^2), rounded down; 0 where none will do."""
    rest = 2 * (epsilon - beta * (degrees - 1) / 2) / (degrees + 1)
    square = degrees * (rest * rest - beta * beta)
    if rest <= 0 or square <= 0:
        return Fraction(0)
    return _below(_CONTEXT.sqrt(_decimal(square)))


def student(epsilon: Fraction, degrees: int, *, exact: bool, beta: Fraction | None = None) -> Calibration:
    """Of Student's t: epsilon = beta (d + 1) + alpha (d + 1) / (2 sqrt d) (Bun and Steinke), in equal halves, or sharper."""
    beta = epsilon / (2 * (degrees + 1)) if beta is None else beta
    if exact:
        return Calibration(beta, student_alpha(epsilon, beta, degrees))
    return Calibration(beta, _below(_CONTEXT.multiply(_CONTEXT.sqrt(Decimal(degrees)), _decimal(epsilon / (degrees + 1)))))


def laplace_alpha(epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
    """The largest alpha, rounded down, for which SS_beta / alpha times Laplace is (epsilon, delta)-private; 0 if there is none.

    The wider law exceeds e^epsilon times the narrower by delta = (1 - e^-beta) e^(-(epsilon + beta) / (e^beta - 1))
    cosh(alpha / (e^beta - 1)); the other direction is pure while alpha <= epsilon and alpha e^-beta + beta <= epsilon.
    """
    # Beyond the largest beta the wider law is all but disjoint: no delta that is a double will do.
    if not 0 < beta < epsilon or not 0 < delta < 1 or beta > LARGEST_BETA:
        return Fraction(0)
    with decimal.localcontext(_CONTEXT) as context:
        e, d, b = _decimal(epsilon), _decimal(delta), _decimal(beta)
        context.prec += max(0, -b.adjusted())  # what e^beta - 1 loses
        growth = b.exp()
        width = growth - 1
        # less than it is by more than all errors: near 0 those of the square root below are small in y only
        y = d.ln() - (1 - 1 / growth).ln() + (e + b) / width - ROOM * (1 + abs(d.ln()) + (e + b) / width)
        if y <= 0:
            return Fraction(0)
        alpha = width * (y + (1 + (1 - (-2 * y).exp()).sqrt()).ln())
        return _below(min(alpha, e, (e - b) * growth))


def smooth_laplace_calibration(epsilon: Fraction, delta: Fraction, *, exact: bool, beta: Fraction | None = None) -> Calibration:
    """Of the Laplace law: beta = epsilon / (2 ln(2 / delta)); alpha = epsilon / 2, never more than the exact one, or that one.

    The published pair is not (epsilon, delta)-private for large epsilon (from 7.9 at delta = 0.5, from 13.7 at 10^-6): where the
    exact alpha is less than epsilon / 2 it is taken, and where there is none the call is refused.
    """
    if beta is None:
        with decimal.localcontext(_CONTEXT):
            beta = _below(_decimal(epsilon) / (2 * (2 / _decimal(delta)).ln()))
    alpha = laplace_alpha(epsilon, delta, beta)
    if not alpha:
        raise ArgumentError(
            "Laplace noise scaled to smooth sensitivity is not private at this epsilon and delta; take a smaller epsilon or a "
            "pure mechanism"
        )
    return Calibration(beta, alpha if exact else min(alpha, epsilon / 2))


def zcdp_epsilon(rho: float, delta: float, *, exact: bool) -> float:
    """The epsilon at delta of rho-zCDP, to nearest: rho + 2 sqrt(rho ln(1 / delta)), or by Canonne, Kamath and Steinke."""
    log = math.log(1 / delta)
    basic = rho + 2 * math.sqrt(rho * log)
    if not exact or rho == 0.0:
        return basic

    def at(logarithm: float) -> float:
        a = 1 + math.exp(logarithm)  # ln delta = (a - 1)(a rho - epsilon) + a ln(1 - 1 / a) - ln(a - 1)
        return a * rho + (log + a * math.log1p(-1 / a) - math.log(a - 1)) / (a - 1)

    low, high = -10.0, 40.0  # one valley in the logarithm of a - 1
    grid = [low + (high - low) * place / 200 for place in range(201)]
    best = min(grid, key=at)
    low, high = best - 0.25, best + 0.25
    for _ in range(100):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if at(left) <= at(right) else (left, high)
    return max(0.0, min(basic, at((low + high) / 2)))


@lru_cache(maxsize=256)
def zcdp_rho(epsilon: float, delta: float, *, exact: bool) -> float:
    """The largest rho, rounded down, such that rho-zCDP is (epsilon, delta)-private by `zcdp_epsilon`."""
    low, high = 0.0, epsilon
    while zcdp_epsilon(high, delta, exact=exact) < epsilon:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_epsilon(middle, delta, exact=exact) <= epsilon else (low, middle)
    return low * (1 - 2.0**-30)  # any order a gives a valid bound; doubles err by far less


def lognormal_sigma(epsilon: Fraction, t: Fraction) -> Fraction:
    """The positive root of 5 (epsilon / t) sigma^3 - 5 sigma^2 - 1, the least variance for t; to 2^-40."""
    ratio = epsilon / t
    low, high = 0, 2 * GRAIN
    while 5 * ratio * high**3 <= 5 * high * high * GRAIN + GRAIN**3:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        is_low = 5 * ratio * middle**3 <= 5 * middle * middle * GRAIN + GRAIN**3
        low, high = (middle, high) if is_low else (low, middle)
    return Fraction(high, GRAIN)


def lognormal(
    epsilon: Fraction, delta: Fraction, *, exact: bool, t: Fraction | None = None, concentrated: Fraction | None = None
) -> Calibration:
    """Of Laplace times a log-normal (Bun and Steinke): epsilon^2 / 2-zCDP when epsilon = t / sigma + e^(1.5 sigma^2) s.

    `concentrated` is that epsilon; by default what (epsilon, delta) allows. t is the smoothness, SS_t / s the scale.
    """
    if concentrated is None:
        rho = zcdp_rho(float(min(epsilon, Fraction(LARGEST_DOUBLE))) * (1 - 2.0**-50), float(delta) * (1 - 2.0**-50), exact=exact)
        concentrated = Fraction(math.sqrt(2 * rho) * (1 - 2.0**-50))
    if not concentrated:
        return Calibration(concentrated, Fraction(0))
    t = concentrated / SHARE if t is None else t
    sigma = lognormal_sigma(concentrated, t)
    rest = concentrated - t / sigma
    if rest <= 0:
        return Calibration(t, Fraction(0), sigma)
    with decimal.localcontext(_CONTEXT):
        return Calibration(t, _below((Decimal("-1.5") * _decimal(sigma * sigma)).exp() * _decimal(rest)), sigma)
