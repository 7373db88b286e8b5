"""The joint frequencies of several columns that were sanitised independently of one another.

**Precondition.** Cell (x_1, ..., x_J) of a table counts the rows answered x_1 in the first column, and so on. Given the true
row, the columns' answers are independent, so the channel of the table is the Kronecker product of the columns' channels.

**Estimate.** The product of the inverses, applied axis by axis: O(cells) for randomised response, nothing of the size
cells x cells is made. Summing over a column applies the inverse of its channel to a sum that it keeps, so the margins of the
joint estimate are the estimates of the columns, up to rounding.

**Variance.** With A the product of the inverses, the estimate of cell j is a mean over rows of A[j, X] = the product of the
columns' A_i[j_i, X_i], and its square has, for a row of truth d, the expectation S[j, d] = the product of the
S_i = I + V_i (`dpfast.channel`). Hence, for n rows,

- *these rows*: ((S - I) pi)_j / n,
- *population*: ((S pi)_j - pi_j^2) / n = (sum over x of A[j, x]^2 lambda_x - pi_j^2) / n,

exact, with the estimate standing for pi. Roughly, the variance grows by the product of the columns' 1 / g^2.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfast._estimate_core import Fit, Options, announce, fit
from dpfast._figures import Figures, figures
from dpfast._tally import CELLS_MAX
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.estimate import Estimate, integer_counts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dpfast.channel import Channel

__all__ = ["CrossTab", "crosstab", "fit_crosstab"]


@dataclass(frozen=True, eq=False, repr=False)
class CrossTab(Figures):
    """Estimated joint frequencies of several columns.

    Parameters
    ----------
    values : tuple
        The categories of each column, in the order of its domain.
    frequency, count, standard_error : ndarray of float64, shape (k_1, ..., k_J)
        As for `dpfast.Estimate`, one axis for each column.
    interval : ndarray of float64, shape (k_1, ..., k_J, 2)
        Lower and upper end for each cell.
    confidence, method, population, simultaneous, interval_method, condition, iterations, converged
        As for `dpfast.Estimate`; intervals that hold together do so for all cells.
    names : tuple of str
        Of the columns.
    margins : mapping of str to Estimate
        The estimate of each column on its own: the sums of the cells, with errors and intervals of their own.

    Examples
    --------
    >>> from dpfast.channel import SymmetricChannel
    >>> channel = SymmetricChannel(2, threshold=2**62)
    >>> tab = crosstab([[50, 20], [10, 20]], [channel, channel], names=("a", "b"))
    >>> tab.frequency.round(2).tolist()
    [[0.95, -0.05], [-0.25, 0.35]]
    >>> tab.margins["a"].frequency.round(2).tolist()
    [0.9, 0.1]
    """

    names: tuple[str, ...]
    margins: Mapping[str, Estimate]

    @property
    def heads(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.names

    def labels(self) -> Iterator[tuple[Any, ...]]:
        """Yield the categories of each cell, the last column changing fastest."""
        return itertools.product(*self.values)


def crosstab(
    counts: ArrayLike,
    channels: Sequence[Channel],
    *,
    values: Sequence[Sequence[Any]] | None = None,
    names: Sequence[str] | None = None,
    method: str = "inverse",
    population: bool = True,
    confidence: float = 0.95,
    simultaneous: bool = False,
    tolerance: float = 1e-9,
    max_iterations: int = 10_000,
) -> CrossTab:
    """Estimate the joint frequencies of several columns that were sanitised independently.

    Parameters
    ----------
    counts : array_like of int, shape (k_1, ..., k_J)
        Rows of each combination of answers, at most 10**7 cells.
    channels : sequence of Channel
        What each column's mechanism does to a row.
    values : sequence of sequences, optional
        The categories of each column; default: codes.
    names : sequence of str, optional
        Of the columns; default: column_1 and so on.
    method : {"inverse", "mle", "em"}
        The unbiased inverse, or the maximum of the likelihood within [0, 1].
    population : bool, default True
        Whether errors and intervals speak of the population that the rows are a sample of, or of these rows.
    confidence : float, default 0.95
        Coverage of the intervals.
    simultaneous : bool, default False
        Whether the intervals of all cells hold together (Bonferroni).
    tolerance, max_iterations
        Of expectation maximisation, as for `dpfast.estimate.estimate_counts`.

    Returns
    -------
    CrossTab

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an argument is out of range, or the shapes differ.

    Warns
    -----
    EstimateWarning
        If there are no rows or a channel cannot be inverted.
    ConvergenceWarning
        If expectation maximisation did not reach its tolerance.

    Notes
    -----
    Post-processing: no privacy cost.

    Examples
    --------
    >>> from dpfast.channel import SymmetricChannel
    >>> channel = SymmetricChannel(2, threshold=2**62)
    >>> crosstab([[50, 20], [10, 20]], [channel, channel], method="mle").frequency.round(3).tolist()
    [[0.731, 0.061], [0.0, 0.208]]
    """
    observed = integer_counts(counts)
    if not channels or observed.ndim != len(channels) or observed.shape != tuple(channel.k for channel in channels):
        raise ArgumentError("counts must have one axis for each channel, as long as the channel has categories")
    if observed.size > CELLS_MAX:
        raise ArgumentError(f"the table would have more than {CELLS_MAX:,} cells; take fewer columns")
    named = tuple(names) if names is not None else tuple(f"column_{i + 1}" for i in range(observed.ndim))
    if len(named) != observed.ndim or len(set(named)) != len(named) or not all(isinstance(name, str) for name in named):
        raise ArgumentTypeError("names must be distinct strings, one for each column")
    domains: Sequence[Sequence[Any]] = values if values is not None else [range(size) for size in observed.shape]
    if tuple(len(domain) for domain in domains) != observed.shape:
        raise ArgumentError("values must list the categories of each column")
    options = Options(method, "wilson", population, confidence, simultaneous, tolerance, max_iterations)
    tab, found = fit_crosstab(observed, channels, options, values=domains, names=named)
    announce([found])
    return tab


def fit_crosstab(
    counts: NDArray[Any],
    channels: Sequence[Channel],
    options: Options,
    *,
    values: Sequence[Sequence[Any]],
    names: tuple[str, ...],
    squares: NDArray[np.float64] | None = None,
) -> tuple[CrossTab, Fit]:
    """Estimate joint frequencies and margins from checked arguments, without warnings: the estimate and its fit.

    Parameters
    ----------
    counts : ndarray
        Answers, or sums of their weights.
    channels : sequence of Channel
        One for each axis.
    options : Options
        What to compute.
    values, names
        As for `crosstab`.
    squares : ndarray, optional
        Sums of squared weights, if there are weights.

    Returns
    -------
    CrossTab, Fit
    """
    kept = [domain if isinstance(domain, range) else tuple(domain) for domain in values]
    margins = {}
    for axis, (name, channel, domain) in enumerate(zip(names, channels, kept, strict=True)):
        others = tuple(other for other in range(counts.ndim) if other != axis)
        beside = None if squares is None else squares.sum(axis=others)
        margins[name] = Estimate(domain, **figures(fit(counts.sum(axis=others), [channel], options, squares=beside), options))
    found = fit(counts, channels, options, squares=squares)
    return CrossTab(tuple(kept), **figures(found, options), names=names, margins=MappingProxyType(margins)), found
