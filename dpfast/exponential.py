"""The discrete exponential mechanism: answers fall off with their distance from the truth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._statement import check_epsilon
from dpfast.domain import Domain
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.hockey_stick import table_epsilon
from dpfast.integer_table import IntegerTable, realise, stochastic
from dpfast.matrix import TableMechanism

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["ExponentialResponse", "distances"]

BISECTIONS: Final = 60
NAMES: Final = ("hamming", "ordinal", "circular")


class ExponentialResponse(TableMechanism):
    """Answer x to the true category i with probability proportional to exp(-rate * distance(i, x)).

    Parameters
    ----------
    domain : Domain, list, tuple, range, Enum class or path
        The public alphabet, k categories, at most 4096; its order is the one of "ordinal" and "circular".
    distance : {"hamming", "ordinal", "circular"} or array_like of shape (k, k)
        How far answer x (column) is from the truth i (row): 0 or 1; \\|i - x\\|; the shorter way round a circle; or finite
        numbers that are not negative. It is public.
    epsilon : float
        Privacy loss of one row, >= 0. At 0 answers are independent of the data. Infinity is refused, a column that needs no noise
        is ``"public"`` in a `Policy`.

    Attributes
    ----------
    domain : Domain
    epsilon : float
        As asked for; the realised value is ``epsilon_at()``.
    rate : float
        The largest rate found whose integer table meets epsilon.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        `epsilon` or `distance` is not what it must be.
    DomainError

    Notes
    -----
    **Privacy guarantee.** Neighbours: ``replace_one``, n public; unit: a row. Pure epsilon, checked exactly on the integer table
    after rounding; normalisers that differ between rows belong to the loss, so the rate is found by that check and not from a
    bound (half as much noise as the bound 2 * rate * diameter needs). A value outside the domain under ``unknown="randomise"`` is
    answered from the average row.
    **Cost.** Construction O(k^2) for each of about 60 bisections: 1 s at k = 1000.

    References
    ----------
    .. [1] N. Holohan, D. Leith, O. Mason, "Differentially private response mechanisms on categorical data", section 3,
       arXiv 1505.07254.

    Examples
    --------
    >>> from dpfast import ExponentialResponse
    >>> mechanism = ExponentialResponse(["none", "some", "much"], distance="ordinal", epsilon=1.0)
    >>> mechanism.matrix.round(3).tolist()
    [[0.506, 0.307, 0.186], [0.274, 0.452, 0.274], [0.186, 0.307, 0.506]]
    >>> mechanism.epsilon_at() <= 1.0
    True
    """

    kind = "exponential"

    def __init__(self, domain: Any, *, distance: str | ArrayLike, epsilon: float) -> None:
        budget = check_epsilon(epsilon)
        public = Domain.of(domain)
        far = distances(distance, public.size)
        self.distance = distance if isinstance(distance, str) else "matrix"
        self.rate, table = _calibrated(far, budget)
        super().__init__(public, table, epsilon=budget, delta=0.0)

    def __repr__(self) -> str:
        return f"ExponentialResponse({self.domain!r}, distance={self.distance!r}, epsilon={self.epsilon!r})"


def distances(distance: str | ArrayLike, k: int) -> NDArray[np.float64]:
    """Return the distances between k categories as an array.

    Parameters
    ----------
    distance : {"hamming", "ordinal", "circular"} or array_like of shape (k, k)
    k : int

    Returns
    -------
    array of float64, shape (k, k)

    Raises
    ------
    ArgumentTypeError, ArgumentError

    Examples
    --------
    >>> distances("circular", 4)[0].tolist()
    [0.0, 1.0, 2.0, 1.0]
    """
    if isinstance(distance, str):
        if distance not in NAMES:
            raise ArgumentError(f"distance must be one of {', '.join(map(repr, NAMES))}, or an array of shape ({k}, {k})")
        apart = np.abs(np.subtract.outer(np.arange(k, dtype=np.float64), np.arange(k, dtype=np.float64)))
        if distance == "hamming":
            return np.minimum(apart, 1.0)
        return apart if distance == "ordinal" else np.minimum(apart, k - apart)
    try:
        given = np.asarray(distance)
        if given.dtype.kind not in "uif":
            raise TypeError
    except (TypeError, ValueError):
        raise ArgumentTypeError("distance must be a name, or an array of numbers with a row for each true category") from None
    far = given.astype(np.float64)
    if far.shape != (k, k):
        raise ArgumentError(f"distance must have a row and a column for each of the {k} categories, shape ({k}, {k})")
    if not np.isfinite(far).all() or (far < 0).any():
        raise ArgumentError("distances must be finite and not negative")
    return far


def _calibrated(far: NDArray[np.float64], epsilon: float) -> tuple[float, IntegerTable]:
    """The largest rate that bisection finds, and its table, whose pure epsilon is at most the one asked for.

    In doubles the loss is found to about 1e-13; the integers are checked last, and the rate goes down until they agree. Loss
    need not grow with the rate for distances that are no metric, so nothing but the last check is relied upon.
    """
    k = far.shape[0]
    diameter = float((far - far.min(axis=1, keepdims=True)).max())
    uniform = realise(stochastic(np.full((k, k), 1.0 / k), k))
    if epsilon == 0.0 or diameter == 0.0:
        return 0.0, uniform
    low, high = 0.0, epsilon / diameter
    if high == 0.0:  # below the doubles
        return 0.0, uniform
    while high * diameter < 800 and _loss(far, high) <= epsilon:
        low, high = high, 2 * high
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if _loss(far, middle) <= epsilon else (low, middle)
    rate, step = low, 2.0**-50
    while rate > 0.0:
        table = realise(stochastic(_matrix(far, rate), k))
        if table_epsilon(table, 0.0, unknown=False) <= epsilon:
            return rate, table
        rate, step = rate * (1 - step), min(2 * step, 0.5)
    return 0.0, uniform


def _weights(far: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """Minus the logarithms of the probabilities."""
    scaled = rate * (far - far.min(axis=1, keepdims=True))
    totals: NDArray[np.float64] = np.exp(-scaled).sum(axis=1, keepdims=True)
    weights: NDArray[np.float64] = scaled + np.log(totals)
    return weights


def _matrix(far: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    matrix = np.exp(-_weights(far, rate))
    normal: NDArray[np.float64] = matrix / matrix.sum(axis=1, keepdims=True)
    return normal


def _loss(far: NDArray[np.float64], rate: float) -> float:
    """The pure privacy loss in doubles."""
    weights = _weights(far, rate)
    loss = float((weights.max(axis=0) - weights.min(axis=0)).max())
    return loss if math.isfinite(loss) else math.inf
