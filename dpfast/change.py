"""What two releases under permanent noise say about the change between them: only rows that changed add noise."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._estimate_core import EstimateWarning
from dpfast.channel import SymmetricChannel
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.mechanism import Mechanism
from dpfast.sanitise import Answers
from dpfast.words import TILE_ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Change", "estimate_change"]

# Pairs of answers whose k contributions are made at a time.
PAIRS: Final = 1 << 10


@dataclass(frozen=True, eq=False)
class Change:
    """Estimated change of the share of each category from one release to another.

    Attributes
    ----------
    values : tuple or range
        The k categories, in the order of their domain.
    difference : ndarray of float64, shape (k,)
        Share in the second release less that in the first; adds up to 0. NaN where nothing can be estimated.
    standard_error : ndarray of float64, shape (k,)
        Of `difference`.
    n_rows : int
        Number of rows of each release.
    """

    values: Sequence[Any]
    difference: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    n_rows: int


def estimate_change(mechanism: Mechanism, first: Any, second: Any) -> Change:
    """Estimate how the true shares changed between two releases of the same rows under permanent noise.

    Parameters
    ----------
    mechanism : Mechanism
        Of both releases.
    first, second : ndarray, pyarrow Array or ChunkedArray, pandas or polars Series, shape (n_rows,)
        Sanitised columns made with ``ids=`` under one key, context and column name; row i of both is the same identifier.

    Returns
    -------
    Change

    Raises
    ------
    ArgumentTypeError, ArgumentError
        `mechanism` is none, or the columns differ in length or have fewer than two rows.
    OutsideDomainError
        A column cannot be an answer of this mechanism.

    Warns
    -----
    EstimateWarning
        If answers do not depend on the data.

    Notes
    -----
    Post-processing: no privacy cost. The errors of two separate estimates would be wrong here: they would take the noise of the
    two releases for independent, and that of unchanged rows is one and the same and cancels.

    **Formula.** Let A = P^-T for the matrix P of the mechanism (`dpfast.channel`), a_i and b_i the answers of row i, and
    u_i = A e(b_i) - A e(a_i), which is 0 where the answers are equal. The difference is the mean of the u_i, and the squared
    standard error of its j-th entry is the sum of (u_ij - mean_j)^2, divided by n (n - 1). For randomised response
    u_ij = (1[b_i = j] - 1[a_i = j]) / g with g = 1 - k p.

    **Proof.** Row i has true values x_i and y_i. A row of truth d contributes A e(X) with expectation e(d) and, in entry j,
    variance V[j, d] (`dpfast.channel`), so u_i has expectation m_i = e(y_i) - e(x_i): the difference is unbiased. Where y_i = x_i
    both answers come from one word, so u_i = 0. Otherwise they come from independent words, as the true value is part of what
    the word is a function of, and the variance of u_ij is v_ij = V[j, x_i] + V[j, y_i]. Rows are independent, so the variance of
    entry j is the sum over changed rows of v_ij, divided by n^2: only changed rows contribute. For independent u_i
    the expectation of the sum of (u_ij - mean_j)^2 is (n - 1) / n times the sum of v_ij plus the sum of (m_ij - mean m_j)^2, so

        E[squared standard error] = variance + (sum of (m_ij - mean m_j)^2) / (n (n - 1)).

    About *these rows* the error is thus overstated, by what sampling them would add; about the *population* that the rows
    were drawn from it is unbiased, for that term is what sampling does add.

    **Cost.** O(n_rows), and O(k) for each distinct pair of different answers.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfast import RandomisedResponse, Stream, estimate_change
    >>> mechanism = RandomisedResponse(["no", "yes"], epsilon=1.0)
    >>> monday = np.repeat(["no", "yes"], [6000, 4000])
    >>> tuesday = monday.copy()
    >>> tuesday[:300] = "yes"
    >>> days = [
    ...     mechanism.sanitise(day, rng=Stream(key=bytes(32), context="people"), ids=np.arange(10_000), column_name="smoker")
    ...     for day in (monday, tuesday)
    ... ]
    >>> change = estimate_change(mechanism, *days)
    >>> low, high = change.difference[1] - 2 * change.standard_error[1], change.difference[1] + 2 * change.standard_error[1]
    >>> bool(low < 0.03 < high), round(float(change.standard_error[1]), 4)
    (True, 0.003)
    >>> errors = [mechanism.estimate(day, population=False).standard_error[1] for day in days]
    >>> round(float(np.hypot(*errors)), 3)  # what two separate estimates would make of it
    0.014
    """
    if not isinstance(mechanism, Mechanism):
        raise ArgumentTypeError("mechanism must be the mechanism that made both releases")
    channel, k = mechanism.channel, mechanism.domain.size
    old, new = (Answers(mechanism.domain, column) for column in (first, second))
    n = old.n_rows
    if n != new.n_rows:
        raise ArgumentError("the releases differ in length; bring them into one order by their ids, without rows of one only")
    if n < 2:
        raise ArgumentError("a change is estimated from two rows at least")
    if not channel.is_identified:
        warnings.warn("nothing can be estimated: the answers do not depend on the data", EstimateWarning, stacklevel=2)
        return Change(mechanism.domain.values, np.full(k, np.nan), np.full(k, np.nan), n)
    pairs, counts = _pairs(old, new, k)
    sums, squares = np.zeros(k), np.zeros(k)
    if isinstance(channel, SymmetricChannel):
        before, after = (np.bincount(codes, counts, k) for codes in (pairs // k, pairs % k))
        sums, squares = (after - before) / channel.g, (after + before) / channel.g**2
    else:
        inverse = channel.solve(np.eye(k), axis=0)
        for start in range(0, pairs.size, PAIRS):
            some, times = pairs[start : start + PAIRS], counts[start : start + PAIRS]
            each = inverse[:, some % k] - inverse[:, some // k]
            sums += each @ times
            squares += each**2 @ times
    variance = np.maximum(squares - sums**2 / n, 0.0) / (n * (n - 1))
    return Change(mechanism.domain.values, sums / n, np.sqrt(variance), n)


def _pairs(old: Answers, new: Answers, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct pairs of different answers, as k times the old code plus the new one, and how often each occurs."""
    found: dict[int, int] = {}
    for start in range(0, old.n_rows, TILE_ROWS):
        stop = min(start + TILE_ROWS, old.n_rows)
        before, after = (answers.codes(start, stop).astype(np.int64) for answers in (old, new))
        changed = before != after
        for pair, times in zip(*np.unique(before[changed] * k + after[changed], return_counts=True), strict=True):
            found[int(pair)] = found.get(int(pair), 0) + int(times)
    return np.array(list(found), np.int64), np.array(list(found.values()), np.int64)
