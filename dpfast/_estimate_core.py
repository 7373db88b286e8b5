"""From answered counts to estimates with errors and intervals, for one column or several: the figures without their names.

Everything is `dpfast.channel`'s algebra, one channel for each axis of the counts. Two things are worth a derivation here.

**Noise of several columns.** Let S be the product of all I + V_i. Going axis by axis, N_i = (I + V_i) N_(i-1) + V_i pi builds
(S - I) pi from terms that are never negative when pi is not: nothing cancels, though V is near 0 at large epsilon.

**Weights.** With public weights w the estimate is the sum of w A[j, X] over W = sum of w. Given the weights, its variance is
(sum of w^2 / W^2) times the w^2-weighted mean of the squared deviations of A[j, X]: from pi_j for a population, from what the
row's own category contributes for these rows. So counts weighted by w^2 give the errors, also where weights go with
categories, and W^2 / (sum of w^2) stands for the number of rows; intervals use, for each share, the number of rows at which
the unweighted variance would be the one found.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._estimate_simplex import expectation_maximisation, water_filling
from dpfast._intervals import clopper_pearson, normal_quantile, score_interval
from dpfast._rounding import integer, real_number
from dpfast.channel import Channel, SymmetricChannel
from dpfast.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["INTERVALS", "METHODS", "ConvergenceWarning", "EstimateWarning", "Fit", "Options", "announce", "fit"]

METHODS: Final = ("inverse", "mle", "em")
INTERVALS: Final = ("wilson", "clopper_pearson")

_NOTHING_TO_ESTIMATE = (
    "nothing can be estimated: there are no rows, or the mechanism answers independently of the data; "
    "frequencies are NaN and intervals [0, 1]"
)
_NOT_CONVERGED = "expectation maximisation stopped before its tolerance; allow more max_iterations or a larger tolerance"


class EstimateWarning(RuntimeWarning):
    """An estimate is not what was asked for: nothing can be estimated from these answers."""


class ConvergenceWarning(EstimateWarning):
    """An iteration stopped before its tolerance."""


@dataclass(frozen=True)
class Options:
    """How to estimate: checked arguments of the public calls, documented there."""

    method: str = "inverse"
    interval: str = "wilson"
    population: bool = True
    confidence: float = 0.95
    simultaneous: bool = False
    tolerance: float = 1e-9
    max_iterations: int = 10_000

    def __post_init__(self) -> None:
        for name, known in (("method", METHODS), ("interval", INTERVALS)):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in known:
                raise ArgumentError(f"{name} must be one of {', '.join(map(repr, known))}")
        level = real_number(self.confidence, "confidence")
        if not 0 < level < 1:
            raise ArgumentError("confidence must lie strictly between 0 and 1")
        if not 0 < real_number(self.tolerance, "tolerance") < 1:
            raise ArgumentError("tolerance must lie strictly between 0 and 1")
        integer(self.max_iterations, "max_iterations", minimum=1)

    def miss(self, n_intervals: int) -> float:
        """Return the probability with which one of so many intervals may miss."""
        level = 1 - real_number(self.confidence, "confidence")
        return float(level / n_intervals if self.simultaneous else level)


@dataclass(frozen=True)
class Fit:
    """Figures of an estimate: arrays of the shape of the counts, `interval` with an axis of two more at the end.

    `status` is "fitted", "nothing" (to estimate) or "unconverged".
    """

    frequency: NDArray[np.float64]
    count: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    interval: NDArray[np.float64]
    interval_method: str
    condition: float
    iterations: int
    status: str


def fit(
    counts: NDArray[Any], channels: Sequence[Channel], options: Options, *, squares: NDArray[np.float64] | None = None
) -> Fit:
    """Estimate true shares.

    Parameters
    ----------
    counts : ndarray of int or float
        Answers, or sums of their weights: one axis for each channel.
    channels : sequence of Channel
        One for each axis, its k the length of the axis.
    options : Options
        What to compute.
    squares : ndarray of float, optional
        Sums of squared weights, if there are weights.

    Returns
    -------
    Fit
    """
    one = channels[0] if len(channels) == 1 and isinstance(channels[0], SymmetricChannel) else None
    if options.interval == "clopper_pearson" and one is None:
        raise ArgumentError(
            "interval='clopper_pearson' is for one column under randomised response: counts of other channels are not "
            "mapped to shares one by one; use interval='wilson'"
        )
    total = float(counts.sum()) if counts.dtype.kind == "f" else int(counts.sum())
    condition = float(np.prod([channel.condition for channel in channels]))
    shape = counts.shape
    if counts.size == 1 or not total or not all(channel.is_identified for channel in channels):
        known = counts.size == 1
        return Fit(
            frequency=np.full(shape, 1.0 if known else np.nan),
            count=np.full(shape, float(total) if known else np.nan),
            standard_error=np.full(shape, 0.0 if known else np.inf),
            interval=np.broadcast_to([1.0 if known else 0.0, 1.0], (*shape, 2)).copy(),
            interval_method="a single category is certain" if known else "none: nothing can be estimated",
            condition=condition,
            iterations=0,
            status="fitted" if known else "nothing",
        )
    answered = counts / total
    inverse = _solved(answered, channels)
    variance, size = _variances(answered, inverse, total, channels, options.population, squares)
    error = np.sqrt(variance)
    miss = options.miss(counts.size)
    if one is not None and options.interval == "clopper_pearson":
        interval = (clopper_pearson(answered, size, miss) - one.p) / one.g
        text = "Clopper-Pearson for the answered share, mapped by the inverse"
    else:
        interval, text = _score(inverse, error, normal_quantile(miss), size, channels, options.population)
    frequency, iterations, converged = _frequency(answered, inverse, channels, options)
    if options.method != "inverse":
        text += "; it belongs to the inverse estimate, not to the maximum of the likelihood"
        if not np.array_equal(frequency, inverse) and inverse.min() < 0:
            error = np.full(shape, np.nan)  # the constraint binds: the error of the unbiased estimate is not this one's
    return Fit(
        frequency=frequency,
        count=total * frequency,
        standard_error=error,
        interval=interval.clip(0, 1),
        interval_method=text + "; clipped to [0, 1]",
        condition=condition,
        iterations=iterations,
        status="fitted" if converged else "unconverged",
    )


def announce(fits: Iterable[Fit]) -> None:
    """Warn, once a kind, of what could not be estimated; the warning points at the first line outside this package."""
    found = {one.status for one in fits}
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "dpfast":
        level, frame = level + 1, frame.f_back
    if "nothing" in found:
        warnings.warn(_NOTHING_TO_ESTIMATE, EstimateWarning, stacklevel=level)
    if "unconverged" in found:
        warnings.warn(_NOT_CONVERGED, ConvergenceWarning, stacklevel=level)


def _solved(answered: NDArray[np.float64], channels: Sequence[Channel]) -> NDArray[np.float64]:
    for axis, channel in enumerate(channels):
        answered = channel.solve(answered, axis)
    return answered


def _noise(shares: NDArray[np.float64], channels: Sequence[Channel]) -> NDArray[np.float64]:
    """Variance that the mechanisms add, for one row drawn from `shares`."""
    total = channels[0].noise(shares, 0)
    for axis, channel in enumerate(channels[1:], start=1):
        total = total + channel.noise(total + shares, axis)
    return total


def _simplex(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """The shares without negative ones; they add up to 1 before, so some are positive."""
    positive = np.maximum(shares, 0.0)
    result: NDArray[np.float64] = positive / positive.sum()
    return result


def _variances(
    answered: NDArray[np.float64],
    inverse: NDArray[np.float64],
    total: float,
    channels: Sequence[Channel],
    population: bool,
    squares: NDArray[np.float64] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | float]:
    """Variances of the estimates, and the number of rows that each interval is for."""

    def fixed(shares: NDArray[np.float64]) -> NDArray[np.float64]:
        # Linear in the shares, and so unbiased with unbiased ones. Unequal rows of a matrix may make it negative.
        noise = _noise(shares, channels)
        return noise if (noise >= 0).all() else np.where(noise >= 0, noise, np.maximum(_noise(_simplex(shares), channels), 0))

    if not population:
        each = fixed(inverse)
    elif len(channels) == 1:
        each = channels[0].spread(answered, inverse)
    else:
        each = np.maximum(_noise(inverse, channels) + inverse * (1 - inverse), 0.0)
    if squares is None:
        return each / total, float(total)
    mass = float(squares.sum())
    seconds = _solved(squares / mass, channels)
    if population:
        squared = _noise(seconds, channels) + seconds * (1 - 2 * inverse) + inverse * inverse
        weighted = np.maximum(squared, 0.0)
    else:
        weighted = fixed(seconds)
    size = total * (total / mass)
    factor = np.divide(each, weighted, out=np.ones_like(each), where=(each > 0) & (weighted > 0))
    return weighted / size, size * factor


def _score(
    inverse: NDArray[np.float64],
    error: NDArray[np.float64],
    z: float,
    size: NDArray[np.float64] | float,
    channels: Sequence[Channel],
    population: bool,
) -> tuple[NDArray[np.float64], str]:
    own: NDArray[np.float64]
    others: NDArray[np.float64] | float
    if len(channels) == 1:
        own = channels[0].own_noise
    else:
        logs = [np.log1p(channel.own_noise) for channel in channels]
        own = np.expm1(sum(np.ix_(*logs)))
    if len(channels) == 1 and isinstance(channels[0], SymmetricChannel):
        others = channels[0].other_noise
        text = "Wilson for the answered share, mapped by the inverse" if population else "score, with the noise of these rows"
    else:
        # Half a row for each category in the mix of the others: no category is then all there is.
        rows = size if isinstance(size, float) else float(size.mean())
        mix = (_simplex(inverse) * rows + 0.5) / (rows + 0.5 * inverse.size)
        others = np.maximum(_noise(mix, channels) - mix * own, 0.0) / (1 - mix)
        text = "score, others in their estimated mix" + ("" if population else ", with the noise of these rows")
    ends = score_interval(inverse, own=own, others=others, size=size, z=z, population=population)
    wald = np.stack([inverse - z * error, inverse + z * error], axis=-1)
    return np.where(np.isnan(ends), wald, ends), text


def _frequency(
    answered: NDArray[np.float64], inverse: NDArray[np.float64], channels: Sequence[Channel], options: Options
) -> tuple[NDArray[np.float64], int, bool]:
    """The estimate that the method asks for, iterations, and whether they converged."""
    if options.method == "inverse" or (options.method == "mle" and inverse.min() >= 0):
        return inverse, 0, True
    first = channels[0]
    if options.method == "mle" and len(channels) == 1 and isinstance(first, SymmetricChannel):
        return water_filling(answered, first.p, first.g), 0, True
    found = expectation_maximisation(
        answered, channels, tolerance=float(options.tolerance), max_iterations=options.max_iterations
    )
    return found.shares, found.iterations, found.converged
