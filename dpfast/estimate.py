"""What sanitised data say about the true data: category frequencies with standard errors and intervals.

**Precondition.** Counts of a column sanitised by randomised response: of W = 2**64 words, t lead from any category to
each other one. With p = t / W and g = 1 - k p > 0, a true share pi shows up as the expected share lambda = p + g pi.

**Estimate.** pi = (c / n - p) / g, the inverse of that map: unbiased, adds up to 1, may fall outside [0, 1].

**Variance.** Two questions have two answers [1]_.

- *population*: the rows are a sample and pi belongs to what they were drawn from. A count is binomial with lambda, so
  the variance is lambda (1 - lambda) / (n g^2), with c / n for lambda.
- *these rows*: pi is the true share in the very rows that were sanitised, and only the noise is random. A row of the
  category stays with probability 1 - m p, another one moves in with p (m = k - 1), so the variance is
  [pi m p (1 - m p) + (1 - pi) p (1 - p)] / (n g^2), with the estimate, clipped to [0, 1], for pi.

**Intervals.** Population: Wilson's score interval [2]_ for lambda, mapped by (x - p) / g, which unlike estimate +- z
standard errors is sound for rare categories. These rows: estimate +- z standard errors. Both are clipped to [0, 1].

All of this is post-processing of released counts and costs no privacy.

References
----------
.. [1] S. L. Warner, Randomized response: a survey technique for eliminating evasive answer bias, JASA 60, 1965;
   A. Chaudhuri, R. Mukerjee, Randomized Response: Theory and Techniques, 1988, chapter 2.
.. [2] E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22, 1927.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfast._rounding import integer, real_number
from dpfast.errors import ArgumentError, ArgumentTypeError, MissingPackageError
from dpfast.privacy import WORD_RANGE

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from numpy.typing import ArrayLike, NDArray

__all__ = ["METHODS", "Estimate", "estimate_counts"]

METHODS = ("inverse",)

_NOTHING_TO_ESTIMATE = (
    "nothing can be estimated: there are no rows, or the mechanism answers independently of the data; "
    "frequencies are NaN and intervals [0, 1]"
)


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Estimated frequencies of the categories of one column.

    Parameters
    ----------
    values : tuple or range
        The k categories, in the order of their domain.
    frequency : ndarray of float64, shape (k,)
        Estimated share of each category. Adds up to 1; single entries may lie outside [0, 1]. NaN where nothing can be
        estimated.
    count : ndarray of float64, shape (k,)
        The same in rows: number of rows times `frequency`.
    standard_error : ndarray of float64, shape (k,)
        Of `frequency`.
    interval : ndarray of float64, shape (k, 2)
        Lower and upper end for each share, in [0, 1].
    confidence : float
        Coverage of each interval, or of all k together if they are simultaneous.
    method : str
        How the frequencies were computed.
    population : bool
        Whether errors and intervals speak of the population behind the rows (True) or of the rows themselves.

    Notes
    -----
    Mechanisms return these objects from `estimate` and `estimate_counts`. Errors and intervals cover the randomness of
    the mechanism, and of sampling for a population. Arrays are read-only.

    Examples
    --------
    >>> from dpfast import RandomisedResponse
    >>> estimate = RandomisedResponse(["no", "yes"], epsilon=1.0).estimate_counts([60, 40])
    >>> estimate
    <dpfast.Estimate of 2 categories: method='inverse', population=True, confidence=0.95>
    >>> estimate.frequency.round(3).tolist()
    [0.716, 0.284]
    """

    values: Sequence[Any]
    frequency: NDArray[np.float64]
    count: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    interval: NDArray[np.float64]
    confidence: float
    method: str
    population: bool

    def __post_init__(self) -> None:
        for array in (self.frequency, self.count, self.standard_error, self.interval):
            array.flags.writeable = False

    def __repr__(self) -> str:
        return (
            f"<dpfast.Estimate of {len(self.values)} categories: method={self.method!r}, "
            f"population={self.population}, confidence={self.confidence}>"
        )

    def to_arrow(self) -> pyarrow.Table:
        """Return the estimate as a table, one row a category.

        Returns
        -------
        pyarrow.Table
            Columns value, frequency, count, standard_error, lower, upper.

        Raises
        ------
        ArgumentTypeError
            If the categories have no common Arrow type.

        Examples
        --------
        >>> estimate = estimate_counts([60, 40], values=("no", "yes"), threshold=2**62, uniform=False)
        >>> estimate.to_arrow().select(["value", "frequency"]).to_pylist()
        [{'value': 'no', 'frequency': 0.7}, {'value': 'yes', 'frequency': 0.30000000000000004}]
        """
        import pyarrow

        try:
            values = pyarrow.array(list(self.values))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
            raise ArgumentTypeError("the categories have no common Arrow type") from None
        return pyarrow.table(
            {
                "value": values,
                "frequency": self.frequency,
                "count": self.count,
                "standard_error": self.standard_error,
                "lower": self.interval[:, 0],
                "upper": self.interval[:, 1],
            }
        )

    def to_pandas(self) -> pandas.DataFrame:
        """Return the estimate as a data frame, one row a category, with the columns of `to_arrow`.

        Returns
        -------
        pandas.DataFrame
            Integer categories beside a null stay integers (dtype object).

        Raises
        ------
        MissingPackageError
            If pandas is not installed.
        ArgumentTypeError
            If the categories have no common Arrow type.

        Examples
        --------
        >>> estimate = estimate_counts([60, 40], values=("no", "yes"), threshold=2**62, uniform=False)
        >>> estimate.to_pandas()["value"].tolist()
        ['no', 'yes']
        """
        try:
            import pandas  # noqa: F401
        except ImportError as error:
            raise MissingPackageError('to_pandas needs pandas: pip install "dpfast[pandas]"') from error
        return self.to_arrow().to_pandas(integer_object_nulls=True)


def estimate_counts(
    counts: ArrayLike,
    *,
    values: Sequence[Any],
    threshold: int,
    uniform: bool,
    method: str = "inverse",
    population: bool = True,
    confidence: float = 0.95,
    simultaneous: bool = False,
) -> Estimate:
    """Estimate true frequencies from the counts of a column sanitised by randomised response.

    Parameters
    ----------
    counts : array_like of int, shape (k,)
        Sanitised rows of each category, in the order of `values`.
    values : sequence
        The k categories.
    threshold : int
        Words off the diagonal, t of 2**64 (`dpfast.privacy.response_threshold`).
    uniform : bool
        Whether the table is the uniform one (`dpfast.privacy.response_is_uniform`), which tells nothing about the data.
    method : {"inverse"}
        The unbiased inverse.
    population : bool, default True
        Whether errors and intervals speak of the population that the rows are a sample of, or of these rows.
    confidence : float, default 0.95
        Coverage of the intervals, strictly between 0 and 1.
    simultaneous : bool, default False
        Whether all k intervals hold together with that confidence (Bonferroni), rather than each one.

    Returns
    -------
    Estimate

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an argument is outside the ranges above, or the lengths differ.

    Warns
    -----
    RuntimeWarning
        If there are no rows or the mechanism is uniform: frequencies and counts are then NaN, errors infinite,
        intervals [0, 1]. A single category needs no data: its frequency is 1 without error.

    Notes
    -----
    Cost: O(k). The coverage is asymptotic: it holds where n p and the counts are not tiny.

    Examples
    --------
    >>> from dpfast.privacy import response_threshold
    >>> t = response_threshold(4, 1.0)
    >>> estimate = estimate_counts([520, 260, 130, 90], values=list("abcd"), threshold=t, uniform=False)
    >>> estimate.frequency.round(6).tolist()
    [1.148535, 0.283279, -0.149349, -0.282465]
    >>> estimate.interval.round(3).tolist()
    [[1.0, 1.0], [0.196, 0.377], [0.0, 0.0], [0.0, 0.0]]
    """
    observed = _counts(counts)
    k = len(values)
    if observed.shape != (k,):
        raise ArgumentError("counts must have one entry for each category")
    if k == 0:
        raise ArgumentError("values must name at least one category")
    t = integer(threshold, "threshold", minimum=0)
    if t > WORD_RANGE or (not uniform and k > 1 and k * t > WORD_RANGE):
        raise ArgumentError("threshold is too large for a table of 2**64 words")
    if method not in METHODS:
        raise ArgumentError(f"method must be one of {', '.join(map(repr, METHODS))}")
    z = _normal_quantile(confidence, k if simultaneous else 1)
    n = int(observed.sum())

    if k == 1:
        frequency, error = np.ones(1), np.zeros(1)
        interval = np.ones((1, 2))
    elif n == 0 or uniform or k * t == WORD_RANGE:
        warnings.warn(_NOTHING_TO_ESTIMATE, RuntimeWarning, stacklevel=2)
        frequency, error = np.full(k, np.nan), np.full(k, np.inf)
        interval = np.tile([0.0, 1.0], (k, 1))
    else:
        # Quotients of exact integers: one rounding each, also where g is tiny.
        p, g = t / WORD_RANGE, (WORD_RANGE - k * t) / WORD_RANGE
        move = (k - 1) * t / WORD_RANGE
        share = observed / n
        frequency = (share - p) / g
        if population:
            error = np.sqrt(share * (1 - share) / n) / g
            ends = _wilson(share, n, z)
            interval = (ends - p) / g
        else:
            pi = frequency.clip(0, 1)
            error = np.sqrt((pi * move * (1 - move) + (1 - pi) * p * (1 - p)) / n) / g
            interval = np.column_stack([frequency - z * error, frequency + z * error])
        interval = interval.clip(0, 1)
    return Estimate(
        values=values if isinstance(values, range) else tuple(values),
        frequency=frequency,
        count=n * frequency,
        standard_error=error,
        interval=interval,
        confidence=float(confidence),
        method=method,
        population=bool(population),
    )


def _counts(counts: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(counts)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ArgumentTypeError("counts must be a one-dimensional array of integers")
    # Summed in doubles, which cannot wrap round; below 2^62 neither can the sum in 63 bits.
    if array.size and (int(array.min()) < 0 or array.sum(dtype=np.float64) >= 2.0**62):
        raise ArgumentError("counts must not be negative, and their sum must stay below 2**62")
    return array.astype(np.int64)


def _normal_quantile(confidence: float, n_intervals: int) -> float:
    """Return z such that n two-sided intervals of z standard errors miss with probability 1 - confidence at most."""
    from statistics import NormalDist

    level = real_number(confidence, "confidence")
    if not 0 < level < 1:
        raise ArgumentError("confidence must lie strictly between 0 and 1")
    miss = float(1 - level) / (2 * n_intervals)
    return -NormalDist().inv_cdf(miss)


def _wilson(share: NDArray[np.float64], n: int, z: float) -> NDArray[np.float64]:
    """Return Wilson's intervals for proportions, shape (k, 2): the solutions x of n (share - x)^2 = z^2 x (1 - x)."""
    z2 = z * z / n
    centre = share + z2 / 2
    half = z * np.sqrt(share * (1 - share) / n + z2 / (4 * n))
    return np.column_stack([centre - half, centre + half]) / (1 + z2)
