"""Noise scaled to smooth sensitivity: how far the statistic can move near the data at hand, not at worst (B.9).

All add SS_beta / alpha times a symmetric variate; `calibration` holds the constants. The smooth sensitivity is a rational number,
not below the true one and exactly beta-smooth; alpha is rounded down.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from dpfast._rounding import integer
from dpfast.baselines._recipes import (
    cauchy_recipe,
    laplace_lognormal_recipe,
    polyplace_recipe,
    smooth_laplace_recipe,
    student_recipe,
)
from dpfast.baselines._release import release
from dpfast.baselines.calibration import MOST_DEGREES, STUDENT_DEGREES
from dpfast.errors import ArgumentError

if TYPE_CHECKING:
    from dpfast._spending import Charges
    from dpfast.duff.data import Neighbours
    from dpfast.randomness import Column, Stream

__all__ = ["smooth_cauchy", "smooth_laplace", "smooth_laplace_lognormal", "smooth_polyplace", "smooth_student_t"]


def smooth_cauchy(
    values: Any,
    *,
    bounds: Any,
    epsilon: float,
    delta: float = 0.0,
    statistic: Literal["median", "mean"] = "median",
    neighbours: Neighbours = "add_remove",
    calibration: Literal["paper", "exact"] = "paper",
    step: Any = None,
    rng: Stream | None = None,
    column_name: Column = None,
    ledger: Charges | None = None,
) -> Any:
    """Release a median or mean plus Cauchy noise scaled to its smooth sensitivity.

    Parameters
    ----------
    values, bounds, epsilon, delta, statistic, neighbours
        As for `laplace`.
    calibration : {"paper", "exact"}
        "paper": beta = alpha = epsilon / 6. "exact": the largest alpha for beta = epsilon / 6, 6.2 times as large at epsilon 1.
    step, rng, column_name, ledger
        As for `laplace`.

    Returns
    -------
    int or float
        A grid value, as of `laplace`.

    Raises
    ------
    ArgumentError, ArgumentTypeError, LedgerError
        Before anything is drawn.

    Notes
    -----
    **Privacy guarantee.** Pure `epsilon` for the neighbours named, exactly. beta is public; alpha is
    rounded down, the smooth sensitivity up.
    The variate is real-valued and rounded to the grid without approximation. The time a call takes is not protected.
    **Cost.** A sort, and that of `smooth_sensitivity`.

    References
    ----------
    K. Nissim, S. Raskhodnikova, A. Smith, "Smooth sensitivity and sampling in private data analysis", STOC 2007.

    Examples
    --------
    >>> from dpfast import Stream
    >>> smooth_cauchy(range(1001), bounds=(0, 1000), epsilon=1.0, neighbours="add_remove", rng=Stream.insecure(1))
    498
    """
    return release(
        "smooth_cauchy",
        cauchy_recipe,
        values,
        bounds=bounds,
        epsilon=epsilon,
        delta=delta,
        statistic=statistic,
        neighbours=neighbours,
        calibration=calibration,
        step=step,
        column_name=column_name,
        rng=rng,
        ledger=ledger,
    )


def smooth_student_t(
    values: Any,
    *,
    bounds: Any,
    epsilon: float,
    delta: float = 0.0,
    statistic: Literal["median", "mean"] = "median",
    neighbours: Neighbours = "add_remove",
    calibration: Literal["paper", "exact"] = "paper",
    degrees: int = STUDENT_DEGREES,
    step: Any = None,
    rng: Stream | None = None,
    column_name: Column = None,
    ledger: Charges | None = None,
) -> Any:
    """Release a median or mean plus noise of Student's t scaled to its smooth sensitivity.

    Parameters
    ----------
    values, bounds, epsilon, delta, statistic, neighbours
        As for `laplace`.
    calibration : {"paper", "exact"}
        "paper": epsilon = beta (d + 1) + alpha (d + 1) / (2 sqrt d), in equal halves. "exact": a larger alpha for that beta.
    degrees : int
        Degrees of freedom, d, from 1 to 2**20; public.
    step, rng, column_name, ledger
        As for `laplace`.

    Returns
    -------
    int or float
        A grid value, as of `laplace`.

    Raises
    ------
    ArgumentError, ArgumentTypeError, LedgerError
        Before anything is drawn.

    Notes
    -----
    **Privacy guarantee.** Pure `epsilon` for the neighbours named, exactly. beta is public; alpha is
    rounded down, the smooth sensitivity up.
    The variate is real-valued and rounded to the grid without approximation. The time a call takes is not protected.
    **Cost.** A sort, and that of `smooth_sensitivity`.

    References
    ----------
    M. Bun, T. Steinke, "Average-case averages: private algorithms for smooth sensitivity and mean estimation", NeurIPS 2019.

    Examples
    --------
    >>> from dpfast import Stream
    >>> smooth_student_t(range(1001), bounds=(0, 1000), epsilon=1.0, neighbours="add_remove", rng=Stream.insecure(1))
    502
    """
    degrees = integer(degrees, "degrees", minimum=1)
    if degrees > MOST_DEGREES:
        raise ArgumentError("degrees must be at most 2**20")
    return release(
        "smooth_student_t",
        partial(student_recipe, degrees=degrees),
        values,
        bounds=bounds,
        epsilon=epsilon,
        delta=delta,
        statistic=statistic,
        neighbours=neighbours,
        calibration=calibration,
        step=step,
        column_name=column_name,
        rng=rng,
        ledger=ledger,
        law=(str(degrees),),
    )


def smooth_polyplace(
    values: Any,
    *,
    bounds: Any,
    epsilon: float,
    delta: float = 0.0,
    statistic: Literal["median", "mean"] = "median",
    neighbours: Neighbours = "add_remove",
    calibration: Literal["paper", "exact"] = "paper",
    step: Any = None,
    rng: Stream | None = None,
    column_name: Column = None,
    ledger: Charges | None = None,
) -> Any:
    """Release a median or mean plus PolyPlace noise scaled to its smooth sensitivity, the lightest that is pure.

    Parameters
    ----------
    values, bounds, epsilon, delta, statistic, neighbours
        As for `laplace`.
    calibration : {"paper", "exact"}
        The same for this mechanism, whose published constants are tight: beta = epsilon / 6.
    step, rng, column_name, ledger
        As for `laplace`.

    Returns
    -------
    int or float
        A grid value, as of `laplace`.

    Raises
    ------
    ArgumentError, ArgumentTypeError, LedgerError
        Before anything is drawn.

    Notes
    -----
    **Privacy guarantee.** Pure `epsilon` for the neighbours named, exactly. The smooth sensitivity is
    rounded up.
    The variate is real-valued and rounded to the grid without approximation. The time a call takes is not protected.
    **Cost.** A sort, and that of `smooth_sensitivity`.

    References
    ----------
    R. Hladik, J. Tetek, "Smooth sensitivity revisited: towards optimality", 2024.

    Examples
    --------
    >>> from dpfast import Stream
    >>> smooth_polyplace(range(1001), bounds=(0, 1000), epsilon=1.0, neighbours="add_remove", rng=Stream.insecure(1))
    503
    """
    return release(
        "smooth_polyplace",
        polyplace_recipe,
        values,
        bounds=bounds,
        epsilon=epsilon,
        delta=delta,
        statistic=statistic,
        neighbours=neighbours,
        calibration=calibration,
        step=step,
        column_name=column_name,
        rng=rng,
        ledger=ledger,
    )


def smooth_laplace(
    values: Any,
    *,
    bounds: Any,
    epsilon: float,
    delta: float = 0.0,
    statistic: Literal["median", "mean"] = "median",
    neighbours: Neighbours = "add_remove",
    calibration: Literal["paper", "exact"] = "paper",
    step: Any = None,
    rng: Stream | None = None,
    column_name: Column = None,
    ledger: Charges | None = None,
) -> Any:
    """Release a median or mean plus Laplace noise scaled to its smooth sensitivity; (epsilon, delta)-private.

    Parameters
    ----------
    values, bounds, epsilon, delta, statistic, neighbours
        As for `laplace`. delta is above 0.
    calibration : {"paper", "exact"}
        Both with beta = epsilon / (2 ln(2 / delta)). "paper": alpha = epsilon / 2, or less where that is not private (at large
        epsilon; refused where no alpha is). "exact": the largest alpha.
    step, rng, column_name, ledger
        As for `laplace`.

    Returns
    -------
    int or float
        A grid value, as of `laplace`.

    Raises
    ------
    ArgumentError, ArgumentTypeError, LedgerError
        Before anything is drawn.

    Notes
    -----
    **Privacy guarantee.** (`epsilon`, `delta`) for the neighbours named. alpha is rounded down, the
    smooth sensitivity up.
    The variate is real-valued and rounded to the grid without approximation. The time a call takes is not protected.
    **Cost.** A sort, and that of `smooth_sensitivity`.

    References
    ----------
    K. Nissim, S. Raskhodnikova, A. Smith, "Smooth sensitivity and sampling in private data analysis", STOC 2007.

    Examples
    --------
    >>> from dpfast import Stream
    >>> smooth_laplace(range(1001), bounds=(0, 1000), epsilon=1.0, delta=1e-6, neighbours="add_remove", rng=Stream.insecure(1))
    445
    """
    return release(
        "smooth_laplace",
        smooth_laplace_recipe,
        values,
        bounds=bounds,
        epsilon=epsilon,
        delta=delta,
        statistic=statistic,
        neighbours=neighbours,
        calibration=calibration,
        step=step,
        column_name=column_name,
        rng=rng,
        ledger=ledger,
        most_delta=Fraction(1),
    )


def smooth_laplace_lognormal(
    values: Any,
    *,
    bounds: Any,
    epsilon: float,
    delta: float = 0.0,
    statistic: Literal["median", "mean"] = "median",
    neighbours: Neighbours = "add_remove",
    calibration: Literal["paper", "exact"] = "paper",
    step: Any = None,
    rng: Stream | None = None,
    column_name: Column = None,
    ledger: Charges | None = None,
) -> Any:
    """Release a median or mean plus log-normally scaled Laplace noise; (epsilon, delta)-private.

    Parameters
    ----------
    values, bounds, epsilon, delta, statistic, neighbours
        As for `laplace`. delta is above 0.
    calibration : {"paper", "exact"}
        How (epsilon, delta) is turned into concentrated privacy: "paper": rho + 2 sqrt(rho ln(1 / delta)). "exact": Canonne,
        Kamath and Steinke. t is a sixth of the concentrated epsilon, sigma and s the best for it.
    step, rng, column_name, ledger
        As for `laplace`.

    Returns
    -------
    int or float
        A grid value, as of `laplace`.

    Raises
    ------
    ArgumentError, ArgumentTypeError, LedgerError
        Before anything is drawn.

    Notes
    -----
    **Privacy guarantee.** (`epsilon`, `delta`) for the neighbours named, by concentrated privacy. s is
    rounded down, the smooth sensitivity up.
    The variate is real-valued and rounded to the grid without approximation. The time a call takes is not protected.
    **Cost.** A sort, and that of `smooth_sensitivity`.

    References
    ----------
    M. Bun, T. Steinke, "Average-case averages: private algorithms for smooth sensitivity and mean estimation", NeurIPS 2019.

    Examples
    --------
    >>> from dpfast import Stream
    >>> spent = {"epsilon": 1.0, "delta": 1e-6}
    >>> smooth_laplace_lognormal(range(1001), bounds=(0, 1000), **spent, neighbours="add_remove", rng=Stream.insecure(1))
    472
    """
    return release(
        "smooth_laplace_lognormal",
        laplace_lognormal_recipe,
        values,
        bounds=bounds,
        epsilon=epsilon,
        delta=delta,
        statistic=statistic,
        neighbours=neighbours,
        calibration=calibration,
        step=step,
        column_name=column_name,
        rng=rng,
        ledger=ledger,
        most_delta=Fraction(1),
    )
