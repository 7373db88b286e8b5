"""What sanitised data say about the true data: category frequencies with standard errors and intervals.

**Precondition.** Counts of a column whose rows were answered independently, each by the matrix P of a known `Channel`.

**Estimates.** "inverse": P^-T c / n, for randomised response (c / n - p) / g; unbiased, adds up to 1, may fall outside [0, 1].
"mle": the shares, none negative, under which the counts are most likely; the inverse if no entry of it is negative. "em": the
same maximum by iteration alone. The last two are biased, as every estimate that stays within [0, 1] is.

**Variance.** Two questions have two answers [1]_; `dpfast.channel` derives both for every channel.

- *population*: the rows are a sample and pi belongs to what they were drawn from. For randomised response a count is
  binomial with lambda = p + g pi, so the variance is lambda (1 - lambda) / (n g^2), with c / n for lambda.
- *these rows*: pi is the true share in the very rows that were sanitised, and only the noise is random. For randomised
  response, with m = k - 1, the variance is [pi m p (1 - m p) + (1 - pi) p (1 - p)] / (n g^2), the estimate standing for pi.

**Intervals** are score intervals (Wilson's, for randomised response and a population) or Clopper-Pearson's, mapped by the
inverse and clipped to [0, 1]; see `dpfast._intervals`.

All of this is post-processing of released counts and costs no privacy.

References
----------
.. [1] S. L. Warner, Randomized response: a survey technique for eliminating evasive answer bias, JASA 60, 1965;
   A. Chaudhuri, R. Mukerjee, Randomized Response: Theory and Techniques, 1988, chapter 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfast._estimate_core import METHODS, ConvergenceWarning, EstimateWarning, Options, announce, fit
from dpfast._figures import Figures, Grouped, figures
from dpfast._tally import Counter, Groups, as_array, check_weights
from dpfast.channel import MATRIX_MAX, Channel
from dpfast.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dpfast.domain import Domain

__all__ = [
    "METHODS",
    "ConvergenceWarning",
    "Estimate",
    "EstimateWarning",
    "Grouped",
    "Options",
    "estimate_column",
    "estimate_counts",
    "posterior",
]

PRIOR_SLACK = 1e-9  # how far a prior may be from adding up to 1


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Figures):
    """Estimated frequencies of the categories of one column.

    Parameters
    ----------
    values : tuple or range
        The k categories, in the order of their domain.
    frequency : ndarray of float64, shape (k,)
        Estimated share of each category. Adds up to 1; with the inverse, single entries may lie outside [0, 1]. NaN where
        nothing can be estimated.
    count : ndarray of float64, shape (k,)
        The same in rows (or in weight): the total times `frequency`.
    standard_error : ndarray of float64, shape (k,)
        Of `frequency`. NaN where a maximum of the likelihood differs from the inverse: it is biased, and its error unknown.
    interval : ndarray of float64, shape (k, 2)
        Lower and upper end for each share, in [0, 1].
    confidence : float
        Coverage of each interval, or of all k together if they are simultaneous.
    method : str
        How the frequencies were computed.
    population : bool
        Whether errors and intervals speak of the population behind the rows (True) or of the rows themselves.
    simultaneous : bool
        Whether the intervals hold together.
    interval_method : str
        How the intervals were computed, in words.
    condition : float
        Condition number of the channel in the 1-norm: by how much errors of the answered shares can grow.
    iterations : int
        Of expectation maximisation; 0 where a formula did.
    converged : bool
        Whether they reached the tolerance.

    Notes
    -----
    Mechanisms return these objects from `estimate` and `estimate_counts`. Errors and intervals cover the randomness of
    the mechanism, and of sampling for a population. Arrays are read-only.

    Examples
    --------
    >>> from dpfast import RandomisedResponse
    >>> RandomisedResponse(["no", "yes"], epsilon=1.0).estimate_counts([60, 40])
    value  frequency   error     95 % interval
    no        0.7164  0.1060  0.5043 to 0.9124
    yes       0.2836  0.1060  0.0876 to 0.4957
    (method 'inverse', about the population)
    """

    @property
    def heads(self) -> tuple[str, ...]:
        """Name of the column of values in tables."""
        return ("value",)

    def labels(self) -> Iterator[tuple[Any, ...]]:
        """Yield each category, as a tuple of one."""
        return ((value,) for value in self.values)


def estimate_counts(
    counts: ArrayLike,
    channel: Channel,
    *,
    values: Sequence[Any],
    method: str = "inverse",
    interval: str = "wilson",
    population: bool = True,
    confidence: float = 0.95,
    simultaneous: bool = False,
    tolerance: float = 1e-9,
    max_iterations: int = 10_000,
) -> Estimate:
    """Estimate true frequencies from the counts of a sanitised column.

    Parameters
    ----------
    counts : array_like of int, shape (k,)
        Sanitised rows of each category, in the order of `values`.
    channel : Channel
        What the mechanism does to a row.
    values : sequence
        The k categories.
    method : {"inverse", "mle", "em"}
        The unbiased inverse, or the maximum of the likelihood within [0, 1]: in closed form where there is one, or by
        expectation maximisation.
    interval : {"wilson", "clopper_pearson"}
        Score intervals, whose coverage is near the confidence, or (randomised response only) exact ones that cover at least
        with it.
    population : bool, default True
        Whether errors and intervals speak of the population that the rows are a sample of, or of these rows.
    confidence : float, default 0.95
        Coverage of the intervals, strictly between 0 and 1.
    simultaneous : bool, default False
        Whether all k intervals hold together with that confidence (Bonferroni), rather than each one.
    tolerance : float, default 1e-9
        Expectation maximisation ends when the log-likelihood per row is within it of the maximum, which is certified, and the
        shares move by less.
    max_iterations : int, default 10000
        After which it ends in any case, with a warning.

    Returns
    -------
    Estimate

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an argument is outside the ranges above, or the lengths differ.

    Warns
    -----
    EstimateWarning
        If there are no rows or the channel cannot be inverted: frequencies and counts are then NaN, errors infinite,
        intervals [0, 1]. A single category needs no data: its frequency is 1 without error.
    ConvergenceWarning
        If expectation maximisation did not reach its tolerance.

    Notes
    -----
    Cost: O(k) for randomised response (a sort for "mle"), O(k^3) once and then O(k^2) for a matrix. The coverage of score
    intervals is asymptotic: it holds where the answered counts are not tiny.

    Examples
    --------
    >>> from dpfast.channel import SymmetricChannel
    >>> from dpfast.privacy import response_threshold
    >>> channel = SymmetricChannel(4, response_threshold(4, 1.0))
    >>> estimate = estimate_counts([520, 260, 130, 90], channel, values=list("abcd"))
    >>> estimate.frequency.round(6).tolist()
    [1.148535, 0.283279, -0.149349, -0.282465]
    >>> estimate_counts([520, 260, 130, 90], channel, values=list("abcd"), method="mle").frequency.round(6).tolist()
    [0.860659, 0.139341, 0.0, 0.0]
    """
    observed = integer_counts(counts)
    if observed.ndim != 1:
        raise ArgumentTypeError("counts must be a one-dimensional array of integers")
    if observed.shape != (len(values),):
        raise ArgumentError("counts must have one entry for each category")
    if len(values) == 0:
        raise ArgumentError("values must name at least one category")
    if channel.k != len(values):
        raise ArgumentError("the channel must have one row for each category")
    options = Options(method, interval, population, confidence, simultaneous, tolerance, max_iterations)
    found = fit(observed, [channel], options)
    announce([found])
    return Estimate(values if isinstance(values, range) else tuple(values), **figures(found, options))


def estimate_column(
    column: Any,
    domain: Domain,
    channel: Channel,
    *,
    options: Options,
    weights: Any = None,
    by: Any = None,
    keys: Any = None,
) -> Estimate | Grouped[Estimate]:
    """Estimate true frequencies from a sanitised column; see ``RandomisedResponse.estimate``.

    Parameters
    ----------
    column : ndarray, pyarrow Array or ChunkedArray, pandas or polars Series
        The answers.
    domain : Domain
        That of the mechanism.
    channel : Channel
        What the mechanism does to a row.
    options : Options
        How to estimate.
    weights : array_like of float, optional
        Public weight of each row.
    by : column, or tuple of columns, optional
        Public.
    keys : list, required with `by`
        The keys to answer.

    Returns
    -------
    Estimate or Grouped of Estimate
    """
    groups = Groups.of(by, keys)
    counter = Counter([domain], groups=groups, weighted=weights is not None)
    counter.add([column], by=None if by is None else by if isinstance(by, tuple) else (by,), weights=check_weights(weights))
    fits = [fit(counts, [channel], options, squares=squares) for counts, squares in counter.tables()]
    announce(fits)
    estimates = [Estimate(domain.values, **figures(one, options)) for one in fits]
    return estimates[0] if groups is None else Grouped(groups.names, dict(zip(groups.keys, estimates, strict=True)))


def posterior(channel: Channel, prior: ArrayLike) -> NDArray[np.float64]:
    """Return what an answer says about its row: the probability of each true category.

    Parameters
    ----------
    channel : Channel
        What the mechanism does to a row.
    prior : array_like of float, shape (k,)
        Probability of each category before the answer is seen; adds up to 1 (to 1e-9).

    Returns
    -------
    ndarray, shape (k, k)
        Entry [x, j] is the probability that the truth is j given the answer x. Rows add up to 1; NaN in the row of an answer
        that never comes.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        If `prior` is not a law on the categories, or k is above 4096.

    Examples
    --------
    >>> from dpfast.channel import MatrixChannel
    >>> posterior(MatrixChannel([[0.75, 0.25], [0.25, 0.75]]), [0.9, 0.1]).round(4).tolist()
    [[0.9643, 0.0357], [0.75, 0.25]]
    """
    law = as_array(prior, "prior must be a one-dimensional array of real numbers")
    if law.ndim != 1 or law.dtype.kind not in "fiu":
        raise ArgumentTypeError("prior must be a one-dimensional array of real numbers")
    if law.shape != (channel.k,):
        raise ArgumentError("prior must have one entry for each category")
    if channel.k > MATRIX_MAX:
        raise ArgumentError(f"a table of k x k probabilities is made up to k = {MATRIX_MAX}")
    law = law.astype(np.float64)
    if not np.isfinite(law).all() or law.min() < 0 or abs(law.sum() - 1) > PRIOR_SLACK:
        raise ArgumentError("prior must be probabilities: not negative, adding up to 1")
    joint = channel.matrix.T * law
    with np.errstate(invalid="ignore"):
        result: NDArray[np.float64] = joint / joint.sum(axis=1, keepdims=True)
    return result


def integer_counts(counts: ArrayLike) -> NDArray[np.int64]:
    """Return counts of any shape as int64, or say what is wrong with them."""
    array = as_array(counts, "counts must be an array of integers")
    if array.size and array.dtype.kind not in "iu":
        raise ArgumentTypeError("counts must be an array of integers")
    # Summed in doubles, which cannot wrap round; below 2^62 neither can the sum in 63 bits.
    if array.size and (int(array.min()) < 0 or array.sum(dtype=np.float64) >= 2.0**62):
        raise ArgumentError("counts must not be negative, and their sum must stay below 2**62")
    return array.astype(np.int64)
