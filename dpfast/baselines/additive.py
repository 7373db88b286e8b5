"""The Laplace mechanism: noise for the worst data set there can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dpfast.baselines._release import Additive, release
from dpfast.baselines.noise import LaplaceNoise

if TYPE_CHECKING:
    from dpfast._spending import Charges
    from dpfast.baselines._release import Terms
    from dpfast.baselines.sensitivity import Problem
    from dpfast.duff.data import Neighbours
    from dpfast.randomness import Column, Stream

__all__ = ["laplace", "laplace_recipe"]


def laplace_recipe(problem: Problem, terms: Terms) -> Additive:
    """Noise of global sensitivity over epsilon."""
    return Additive(LaplaceNoise(), problem.centre(), problem.global_sensitivity() / terms.epsilon, problem.top)


def laplace(
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
    """Release a median or mean plus Laplace noise scaled to its global sensitivity.

    Parameters
    ----------
    values : column of numbers, shape (n_rows,)
        numpy, pyarrow, pandas, polars or a list. Clipped to the bounds and snapped to the grid. Under add_remove NaN and null are
        dropped; under replace_one they count as the lower bound.
    bounds : (lower, upper)
        Public; lower < upper.
    epsilon : float
        What the call spends; finite, above 0.
    delta : float
        Below 1. Used by the mechanisms that need one; the others spend none.
    statistic : {"median", "mean"}
        The lower median; without rows the lower bound. The mean; without rows the middle of the bounds.
    neighbours : {"add_remove", "replace_one"}
        The first keeps the number of rows private, the second makes it public.
    calibration : {"paper", "exact"}
        As published, or the sharpest that is proved; the same for this mechanism.
    step : optional
        Of the public grid {i step} inside the bounds. Default: 1 for integers and dates, else the largest power of two that is at
        most (upper - lower) / 2**20.
    rng : Stream, optional
        Default: a fresh stream.
    column_name : str or tuple of str
        Required with a keyed stream.
    ledger : Ledger, optional
        Charged before anything is drawn.

    Returns
    -------
    int or float
        A grid value: int for an int step, else float; a date for dates.

    Raises
    ------
    ArgumentError, ArgumentTypeError, LedgerError
        Before anything is drawn.

    Notes
    -----
    **Privacy guarantee.** Pure `epsilon` for the neighbours named, exactly: a real-valued Laplace variate is rounded to the grid
    without approximation. The time a call takes is not protected.
    **Cost.** A sort.

    References
    ----------
    C. Dwork, F. McSherry, K. Nissim, A. Smith, "Calibrating noise to sensitivity in private data analysis", TCC 2006.

    Examples
    --------
    >>> from dpfast import Stream
    >>> laplace(range(101), bounds=(0, 100), epsilon=1.0, statistic="mean", neighbours="replace_one", rng=Stream.insecure(1))
    50
    """
    return release(
        "laplace",
        laplace_recipe,
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
