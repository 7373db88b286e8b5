"""Confidence intervals for shares: score intervals for any channel, Clopper-Pearson for randomised response.

**Score interval.** An estimate e of a share t has variance v(t) / n, where

    v(t) = t V_jj + (1 - t) V_jr [+ t (1 - t) for a population]

with V_jj the noise of a row of the category, V_jr that of a row of another one (the mean over the others, in the mix that
is estimated for them). The interval is all t with (e - t)^2 <= z^2 v(t) / n: the variance belongs to the t under test, not
to the estimate, so rare categories and empty counts are covered as well [1]_. For randomised response V_jr is the same for all
others, and the population interval is exactly Wilson's for the answered share, mapped by (x - p) / g.

**Clopper-Pearson.** A count of answers is binomial for a population, so the beta quantiles [2]_ cover the answered share at
least at the stated level. For these rows it is a sum of unequal coins, whose tails beyond its mean +- 1 are at most the
binomial ones [3]_: the interval is wider than it need be.

References
----------
.. [1] E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22, 1927.
.. [2] C. J. Clopper, E. S. Pearson, The use of confidence or fiducial limits, Biometrika 26, 1934.
.. [3] W. Hoeffding, On the distribution of the number of successes in independent trials, Ann. Math. Stat. 27, 1956.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["beta_quantile", "clopper_pearson", "normal_quantile", "score_interval"]

PANELS: Final = 32  # of the range of a beta density that matters
NEWTON_STEPS: Final = 24
BLOCK: Final = 4096  # quantiles computed at once: 16 MiB
# Sixteen Gauss-Legendre nodes on [0, 1].
_NODES, _WEIGHTS = (0.5 * (part + shift) for part, shift in zip(np.polynomial.legendre.leggauss(16), (1, 0), strict=True))


def normal_quantile(miss: float) -> float:
    """Return z such that a standard normal number lies outside [-z, z] with probability `miss`."""
    return -NormalDist().inv_cdf(miss / 2)


def score_interval(
    estimate: NDArray[np.float64],
    *,
    own: NDArray[np.float64],
    others: NDArray[np.float64] | float,
    size: NDArray[np.float64] | float,
    z: float,
    population: bool,
) -> NDArray[np.float64]:
    """Return all shares that an estimate does not speak against, as lower and upper ends; not clipped.

    Parameters
    ----------
    estimate : ndarray
        Unbiased estimates.
    own, others : ndarray or float
        Noise of a row of the category, and of a row of another one.
    size : ndarray or float
        Number of rows, > 0.
    z : float
        Normal quantile.
    population : bool
        Whether rows are a sample.

    Returns
    -------
    ndarray, shape (..., 2)
        NaN where no share at all fits the estimate, which with unequal rows of a matrix may happen far outside [0, 1].
    """
    # (e - t)^2 = w (a + b t - c t^2) with w = z^2 / n; the squares of e cancel by hand.
    w = z * z / size
    c = 1.0 if population else 0.0
    b = own - others + c
    inside = others + b * estimate - c * estimate * estimate + w * (b * b / 4 + c * others)
    with np.errstate(invalid="ignore"):
        half = np.sqrt(w * inside)
    centre = estimate + w * b / 2
    scale = 1 + w * c
    ends: NDArray[np.float64] = np.stack([(centre - half) / scale, (centre + half) / scale], axis=-1)
    return ends


def clopper_pearson(share: NDArray[np.float64], size: NDArray[np.float64] | float, miss: float) -> NDArray[np.float64]:
    """Return Clopper-Pearson intervals of proportions, each side missing with probability miss / 2 at most.

    Parameters
    ----------
    share : ndarray, shape (k,)
        Observed proportions.
    size : ndarray or float
        Number of trials; not an integer if it is an effective one.
    miss : float
        In (0, 1).

    Returns
    -------
    ndarray, shape (k, 2)
        Where fewer than one success (failure) was seen, the lower (upper) end is 0 (1).
    """
    hits = share * size
    nearest = np.rint(hits)
    # Shares are rounded quotients; their product with an integer size is an integer but for that.
    hits = np.where(abs(hits - nearest) <= 1e-9 * np.maximum(1.0, nearest), nearest, hits)
    misses = size - hits
    lower, upper = np.zeros_like(share), np.ones_like(share)
    some, rest = hits >= 1, misses >= 1
    lower[some] = _distinct(hits[some], misses[some] + 1, miss / 2)
    upper[rest] = 1 - _distinct(misses[rest], hits[rest] + 1, miss / 2)
    return np.stack([lower, upper], axis=-1)


def _distinct(a: NDArray[np.float64], b: NDArray[np.float64], q: float) -> NDArray[np.float64]:
    """Quantiles for many pairs, each distinct one computed once."""
    if not a.size:
        return a
    pairs, places = np.unique(a + 1j * b, return_inverse=True)
    blocks = [pairs[i : i + BLOCK] for i in range(0, len(pairs), BLOCK)]
    return np.concatenate([beta_quantile(block.real, block.imag, q) for block in blocks])[places]


def beta_quantile(a: NDArray[np.float64], b: NDArray[np.float64], q: float) -> NDArray[np.float64]:
    """Return the q-quantiles of beta distributions, a >= 1, b >= 1, 0 < q <= 1/2.

    Parameters
    ----------
    a, b : ndarray, shape (n,)
        Parameters, up to 1e18.
    q : float
        Lower tail.

    Returns
    -------
    ndarray, shape (n,)

    Notes
    -----
    On the logit scale y = log(x / (1 - x)) the density is x^a (1 - x)^b: smooth, log-concave and with tails at least as light
    as exponential ones, for every a and b. It is integrated by Gauss-Legendre panels over the range where it exceeds e^-40 q
    of its maximum; the tail is a sum of positive terms from the left, so that small q keep their relative accuracy. Nothing is
    normalised by gamma functions, which lose all digits for large parameters. Tests compare with scipy.
    """
    a, b = np.asarray(a, np.float64)[:, None], np.asarray(b, np.float64)[:, None]
    low = a / (a + b)
    high = b / (a + b)

    def log_density(d: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of the point d beside the mode, relative to the mode."""
        result: NDArray[np.float64] = -a * np.log1p(high * np.expm1(-d)) - b * np.log1p(low * np.expm1(d))
        return result

    def integral(start: NDArray[np.float64], width: NDArray[np.float64]) -> NDArray[np.float64]:
        points = np.exp(log_density(start + width * _NODES))
        result: NDArray[np.float64] = width[:, 0] * (points @ _WEIGHTS)
        return result

    cut = 40.0 - math.log(q)
    left, right = (_edge(log_density, sign * np.sqrt(1 / a + 1 / b), cut) for sign in (-1.0, 1.0))
    width = (right - left) / PANELS
    parts = np.column_stack([integral(left + i * width, width) for i in range(PANELS)])
    goal = q * parts.sum(axis=1)
    sums = np.cumsum(parts, axis=1)
    panel = np.minimum((sums < goal[:, None]).sum(axis=1), PANELS - 1)
    before = np.where(panel > 0, sums[np.arange(len(sums)), panel - 1], 0.0)
    start = left + panel[:, None] * width
    # Newton's method on the logarithm of the integral, which is concave and in the tails nearly straight; a step that leaves
    # the bracket is replaced by bisection.
    inside, outside = np.zeros_like(width), width.copy()
    point = width / 2
    for _ in range(NEWTON_STEPS):
        reached = (before + integral(start, point))[:, None]
        is_short = reached < goal[:, None]
        inside, outside = np.where(is_short, point, inside), np.where(is_short, outside, point)
        with np.errstate(all="ignore"):
            point = point + np.log(goal[:, None] / reached) * reached * np.exp(-log_density(start + point))
        point = np.where((inside <= point) & (point <= outside), point, (inside + outside) / 2)
    d = start + point
    result: NDArray[np.float64] = (low * np.exp(d) / (1 + low * np.expm1(d)))[:, 0]
    return result


def _edge(log_density, step: NDArray[np.float64], cut: float) -> NDArray[np.float64]:  # type: ignore[no-untyped-def]
    """A point on the side of `step` where the log density is below -cut, no further out than need be."""
    near, far = np.zeros_like(step), step
    while (is_high := log_density(far) > -cut).any():
        near, far = np.where(is_high, far, near), np.where(is_high, 2 * far, far)
    for _ in range(6):
        middle = (near + far) / 2
        is_high = log_density(middle) > -cut
        near, far = np.where(is_high, middle, near), np.where(is_high, far, middle)
    return far
