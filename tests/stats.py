"""The statistical toolbox: the only chi-square in the project. `test_stats.py` checks its size and its power.

Thresholds come from the null law itself (`chi2.isf`), never from "mean plus a few sigma": the tail of chi-square
beyond df + 6·sqrt(2·df) is 2e-3 at one degree of freedom, not 1e-9. Tests take **counts**, not frequencies, and
sum over cells whose expected count is at least five, so that the chi-square law is a fair description of the null.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.stats

IntArray = npt.NDArray[np.integer[Any]]
FloatArray = npt.NDArray[np.float64]

SMALLEST_EXPECTED = 5.0


def pool(counts: IntArray, expected: FloatArray) -> tuple[IntArray, FloatArray]:
    """Join cells expected fewer than five times. Which ones depends on `expected` alone, so the null law holds.

    Small cells are laid out in order and cut wherever their running sum passes a multiple of ten. Each is below five,
    so a group sums to more than five; the last, which may be cut short, joins the group (or cell) before it.
    """
    small = expected < SMALLEST_EXPECTED
    if not small.any():
        return counts, expected
    group = np.floor(np.cumsum(expected[small]) / (2 * SMALLEST_EXPECTED)).astype(np.int64)
    group = np.unique(group, return_inverse=True)[1]
    all_counts = np.concatenate([counts[~small], np.bincount(group, weights=counts[small]).astype(np.int64)])
    all_expected = np.concatenate([expected[~small], np.bincount(group, weights=expected[small])])
    if all_expected[-1] < SMALLEST_EXPECTED and all_expected.size > 1:
        all_counts[-2] += all_counts[-1]
        all_expected[-2] += all_expected[-1]
        all_counts, all_expected = all_counts[:-1], all_expected[:-1]
    return all_counts, all_expected


def statistic(counts: IntArray, expected: FloatArray) -> tuple[float, int]:
    """Pearson's statistic over the pooled cells and the number of those cells."""
    counts, expected = pool(counts, expected)
    assert expected.min() >= SMALLEST_EXPECTED, "too few draws for any cell: draw more"
    return float(np.sum((counts - expected) ** 2 / expected)), int(expected.size)


def assert_law(counts: npt.ArrayLike, probs: npt.ArrayLike, *, alpha: float = 1e-6) -> None:
    """Reject when `counts` (integers, any shape) are implausible under `probs`; P(false alarm) is close to `alpha`."""
    observed = np.asarray(counts).ravel()
    law = np.asarray(probs, dtype=np.float64).ravel()
    assert np.issubdtype(observed.dtype, np.integer), "counts, not frequencies"
    assert observed.shape == law.shape, "one probability for each count"
    assert abs(law.sum() - 1.0) < 1e-9, "probabilities must sum to one"
    assert observed[law == 0].sum() == 0, "an impossible category was drawn"
    observed, law = observed[law > 0], law[law > 0]
    value, cells = statistic(observed, law * observed.sum())
    if cells > 1:
        threshold = float(scipy.stats.chi2.isf(alpha, cells - 1))
        assert value <= threshold, f"chi-square {value:.1f} above {threshold:.1f} at {cells - 1} degrees of freedom"


def assert_channel(counts: npt.ArrayLike, channel: npt.ArrayLike, *, alpha: float = 1e-6) -> None:
    """Reject when the rows of `counts` are implausible under the rows of `channel`; each row's total is given."""
    observed, law = np.asarray(counts), np.asarray(channel, dtype=np.float64)
    assert np.issubdtype(observed.dtype, np.integer), "counts, not frequencies"
    assert observed.ndim == 2
    assert observed.shape == law.shape, "one row of the channel for each row of counts"
    assert observed[law == 0].sum() == 0, "an impossible category was drawn"
    total, freedom = 0.0, 0
    for row, probabilities in zip(observed, law, strict=True):
        if row.sum() > 0:
            value, cells = statistic(row[probabilities > 0], probabilities[probabilities > 0] * row.sum())
            total, freedom = total + value, freedom + cells - 1
    if freedom:
        threshold = float(scipy.stats.chi2.isf(alpha, freedom))
        assert total <= threshold, f"chi-square {total:.1f} above {threshold:.1f} at {freedom} degrees of freedom"


def power_of_law(law: npt.ArrayLike, other: npt.ArrayLike, n: int, *, alpha: float = 1e-6) -> float:
    """Chance that `assert_law` with `law` rejects `n` draws from `other` (non-central chi-square)."""
    null, true = np.asarray(law, dtype=np.float64), np.asarray(other, dtype=np.float64)
    shift = n * float(np.sum((true - null) ** 2 / null))
    return float(scipy.stats.ncx2.sf(scipy.stats.chi2.isf(alpha, null.size - 1), null.size - 1, shift))


def lagged_pairs(column: npt.NDArray[Any], lag: int, *, offset: int = 0) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Pairs (row i, row i + lag) in which no row occurs twice, so that pairs are independent if rows are.

    The rows from `offset` on are cut into blocks of `lag`, and each even block is laid beside the odd block after it;
    offset = lag gives the pairs that offset = 0 leaves out.
    """
    blocks = column[offset : offset + (column.size - offset) // (2 * lag) * (2 * lag)].reshape(-1, 2, lag)
    assert blocks.size > 0, "the column is shorter than two blocks"
    return blocks[:, 0].ravel(), blocks[:, 1].ravel()


def assert_independent(first: IntArray, second: IntArray, probs: npt.ArrayLike, *, alpha: float = 1e-6) -> None:
    """Reject when pairs (first[i], second[i]) of codes are implausible under the product of `probs` with itself."""
    law = np.asarray(probs, dtype=np.float64)
    size = law.size
    pairs = np.bincount(first.astype(np.int64) * size + second.astype(np.int64), minlength=size * size)
    assert_law(pairs, np.outer(law, law), alpha=alpha)


def assert_moments(draws: npt.ArrayLike, mean: npt.ArrayLike, covariance: npt.ArrayLike, *, alpha: float = 1e-6) -> None:
    """Reject when independent draws (rows) of vectors that are close to normal are implausible under these moments.

    The sum of (x - mean)' covariance^-1 (x - mean) is chi-square with as many degrees of freedom as draws times rank. Both tails
    count: words that are used twice spread the draws too far, noise that is shared out evenly not far enough.
    """
    vectors = np.asarray(draws, dtype=np.float64) - np.asarray(mean, dtype=np.float64)
    values, axes = np.linalg.eigh(np.asarray(covariance, dtype=np.float64))
    spread = values > values.max() * 1e-9
    projected = vectors @ axes
    # what cannot vary, as the total, does not
    assert np.abs(projected[:, ~spread]).max(initial=0) <= 1e-6 * max(1.0, np.abs(vectors).max()), "a fixed sum is another one"
    total = float(np.sum(projected[:, spread] ** 2 / values[spread]))
    freedom = int(spread.sum()) * vectors.shape[0]
    low, high = scipy.stats.chi2.ppf(alpha / 2, freedom), scipy.stats.chi2.isf(alpha / 2, freedom)
    assert low <= total <= high, f"chi-square {total:.1f} outside {low:.1f} to {high:.1f} at {freedom} degrees of freedom"
