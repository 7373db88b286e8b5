"""The channel between the truth and the answers: what a mechanism does to a row, as the linear algebra of estimation.

**Precondition.** A row of true category d is answered x with probability P[d, x], independently of all other rows; P is
square and known. Shares pi of the true categories give expected answered shares lambda = P^T pi.

**Inverse.** With A = P^-T, the estimate A c / n of answered counts c is unbiased: answer x adds A[j, x] / n to category j.

**Noise.** A row of truth d adds A[j, X] to category j, with expectation delta_jd because A P^T = I, and hence with variance
V[j, d] = sum over x of A[j, x]^2 P[d, x] - delta_jd. So n times the variance of an estimate is

- *these rows*: (V pi)_j, only the mechanism being random;
- *population*: (V pi)_j + pi_j (1 - pi_j), the rows being a sample too; the same as (A^2 lambda)_j - pi_j^2.

**Several columns**, sanitised independently, are the Kronecker product of their channels. So is A, and so is I + V, its
squares weighted by P. Both are applied axis by axis, and the product is never written down.

For randomised response, P = g I + p J (J all ones, k categories, m = k - 1, g = 1 - k p) and everything is in closed form:
A = (I - p J) / g, V[j, j] = m p (1 - m p) / g^2, V[j, d] = p (1 - p) / g^2. It costs O(k) and holds for any k.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from dpfast._rounding import integer
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.privacy import WORD_RANGE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Channel", "MatrixChannel", "SymmetricChannel"]

MATRIX_MAX: Final = 4096  # the largest k for which a k x k array is made
# Entries of a float64 matrix are known to 2^-53. Where the inverse makes more than 2^40 of that, too little is left.
CONDITION_MAX: Final = 2.0**40
ROW_SLACK: Final = 1e-9  # how far a row of probabilities may be from 1


class Channel(ABC):
    """How true shares become answered shares; `axis` is the one that holds the categories.

    Attributes
    ----------
    k : int
        Number of categories, true and answered.
    """

    k: int

    @property
    @abstractmethod
    def condition(self) -> float:
        """Condition number of P^T in the 1-norm: by how much an error of the answered shares can grow; inf if singular."""

    @property
    @abstractmethod
    def is_identified(self) -> bool:
        """Whether answers say something about every share."""

    @property
    @abstractmethod
    def matrix(self) -> NDArray[np.float64]:
        """P, shape (k, k): rows are true categories, columns are answers. ArgumentError above k = 4096 if not stored."""

    @property
    @abstractmethod
    def own_noise(self) -> NDArray[np.float64]:
        """The diagonal of V, shape (k,)."""

    @abstractmethod
    def answer(self, shares: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        """Return P^T applied: the expected answered shares."""

    @abstractmethod
    def back(self, weights: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        """Return P applied: for each true category the expectation of `weights` over its answers."""

    @abstractmethod
    def solve(self, answered: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        """Return A applied: the unbiased estimate of the true shares. The channel must be identified."""

    @abstractmethod
    def noise(self, shares: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        """Return V applied: the variance that the mechanism adds, for one row. The channel must be identified."""

    def spread(self, answered: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance of A[j, X], X drawn from the answered shares: (k,), never negative.

        Parameters
        ----------
        answered, shares : ndarray, shape (k,)
            Answered shares and what `solve` makes of them.

        Returns
        -------
        ndarray
        """
        return np.maximum(self.noise(shares) + shares * (1 - shares), 0.0)


class SymmetricChannel(Channel):
    """Randomised response: any answer but the true one is equally likely.

    Parameters
    ----------
    k : int
        Number of categories, >= 1.
    threshold : int
        Words off the diagonal, t of 2**64 (`dpfast.privacy.response_threshold`).
    uniform : bool
        Whether the table is the uniform one (`dpfast.privacy.response_is_uniform`), which tells nothing about the data.

    Attributes
    ----------
    p, g : float
        Probability of each answer but the true one, and 1 - k p: each a quotient of exact integers, rounded once.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If `k` or `threshold` is outside its range.

    Examples
    --------
    >>> channel = SymmetricChannel(2, threshold=2**62)
    >>> channel.solve(np.array([0.6, 0.4])).round(3).tolist()
    [0.7, 0.3]
    """

    def __init__(self, k: int, threshold: int, uniform: bool = False) -> None:
        self.k = integer(k, "k", minimum=1)
        t = integer(threshold, "threshold", minimum=0)
        if t > WORD_RANGE or (not uniform and self.k > 1 and self.k * t > WORD_RANGE):
            raise ArgumentError("threshold is too large for a table of 2**64 words")
        if self.k == 1:
            self.p, self.g, self._leave = 0.0, 1.0, 0.0
        elif uniform:
            self.p, self.g, self._leave = 1 / self.k, 0.0, 1 - 1 / self.k
        else:
            # Quotients of exact integers: one rounding each, also where g is tiny.
            self.p, self.g = t / WORD_RANGE, (WORD_RANGE - self.k * t) / WORD_RANGE
            self._leave = (self.k - 1) * t / WORD_RANGE

    @property
    def condition(self) -> float:
        return (1 + (self.k - 2) * self.p) / self.g if self.k > 1 and self.g else (1.0 if self.k == 1 else np.inf)

    @property
    def is_identified(self) -> bool:
        return self.g > 0

    @property
    def matrix(self) -> NDArray[np.float64]:
        if self.k > MATRIX_MAX:
            raise ArgumentError(f"a matrix of k x k probabilities is made up to k = {MATRIX_MAX}")
        matrix = np.full((self.k, self.k), self.p)
        np.fill_diagonal(matrix, 1 - self._leave)
        return matrix

    @property
    def own_noise(self) -> NDArray[np.float64]:
        return np.full(self.k, self._leave * (1 - self._leave) / self.g**2)

    @property
    def other_noise(self) -> float:
        """V off its diagonal."""
        return self.p * (1 - self.p) / self.g**2

    def answer(self, shares: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        result: NDArray[np.float64] = self.g * shares + self.p * shares.sum(axis=axis, keepdims=True)
        return result

    def back(self, weights: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        return self.answer(weights, axis)

    def solve(self, answered: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        result: NDArray[np.float64] = (answered - self.p * answered.sum(axis=axis, keepdims=True)) / self.g
        return result

    def noise(self, shares: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        own = self._leave * (1 - self._leave) / self.g**2
        others = shares.sum(axis=axis, keepdims=True) - shares
        result: NDArray[np.float64] = own * shares + self.other_noise * others
        return result

    def spread(self, answered: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
        # A[j, X] has two values, 1 / g apart: the variance of a coin.
        return answered * (1 - answered) / self.g**2


class MatrixChannel(Channel):
    """Any square matrix of probabilities.

    Parameters
    ----------
    matrix : array_like of float, shape (k, k)
        P[d, x], the probability that a row of true category d is answered x. Rows sum to 1.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        If it is not a square array of real numbers >= 0 whose rows sum to 1 (to 1e-9).

    Notes
    -----
    The inverse is solved for once, on first use, in O(k^3); every later use takes O(k^2) and adds a step of refinement,
    so that the residual is that of a direct solution.

    Examples
    --------
    >>> channel = MatrixChannel([[0.75, 0.25], [0.25, 0.75]])
    >>> channel.solve(np.array([0.6, 0.4])).round(3).tolist()
    [0.7, 0.3]
    >>> round(channel.condition, 12)
    2.0
    """

    def __init__(self, matrix: ArrayLike) -> None:
        array = np.asarray(matrix)
        if array.ndim != 2 or array.shape[0] != array.shape[1] or array.dtype.kind not in "fiu":
            raise ArgumentTypeError("matrix must be a square array of real numbers")
        self._matrix = np.array(array, np.float64)
        self.k = len(self._matrix)
        if self.k == 0:
            raise ArgumentError("matrix must have at least one row")
        if not np.isfinite(self._matrix).all() or self._matrix.min() < 0:
            raise ArgumentError("matrix must hold probabilities: finite and not negative")
        if (abs(self._matrix.sum(axis=1) - 1) > ROW_SLACK).any():
            raise ArgumentError("every row of the matrix must sum to 1")
        self._matrix.flags.writeable = False

    @cached_property
    def _inverse(self) -> NDArray[np.float64] | None:
        try:
            return np.linalg.solve(self._matrix.T, np.eye(self.k)).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            return None

    @cached_property
    def condition(self) -> float:
        """Condition number of P^T in the 1-norm: rows of P sum to 1, so it is the norm of A."""
        return np.inf if self._inverse is None else float(abs(self._inverse).sum(axis=0).max())

    @property
    def is_identified(self) -> bool:
        return self.condition < CONDITION_MAX

    @property
    def matrix(self) -> NDArray[np.float64]:
        return self._matrix

    @cached_property
    def own_noise(self) -> NDArray[np.float64]:
        result: NDArray[np.float64] = np.einsum("jx,jx,jx->j", self._solved, self._solved, self._matrix, optimize=False) - 1
        return np.maximum(result, 0.0)

    def answer(self, shares: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        return _along(self._matrix.T, shares, axis)

    def back(self, weights: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        return _along(self._matrix, weights, axis)

    def solve(self, answered: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        shares = _along(self._solved, answered, axis)
        return shares + _along(self._solved, answered - self.answer(shares, axis), axis)

    def noise(self, shares: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        return _along(self._squares, self.answer(shares, axis), axis) - shares

    @cached_property
    def _squares(self) -> NDArray[np.float64]:
        return self._solved * self._solved

    @property
    def _solved(self) -> NDArray[np.float64]:
        if self._inverse is None:
            raise ArgumentError("the matrix is singular: different shares give the same answers")
        return self._inverse


def _along(matrix: NDArray[np.float64], array: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Apply a matrix along one axis of an array."""
    result: NDArray[np.float64] = np.moveaxis(np.tensordot(matrix, array, axes=(1, axis)), 0, axis)
    return result
