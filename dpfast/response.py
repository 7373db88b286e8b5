"""Parent mechanisms: how one row of a categorical column answers.

**Randomised response.** Precondition: a public alphabet of k = m + 1 categories; neighbouring tables differ in one row
(``replace_one``). Every row keeps its category with probability 1 - m p and takes each other one with probability p,
independently; p* = (1 - delta)/(e^epsilon + m) is the smallest p that is (epsilon, delta)-differentially private, and no
mechanism on whole tables, correlated or not, changes fewer rows in the worst case (Holohan, Leith & Mason, arXiv 1505.07254,
sections on product sanitisation and on the optimal mechanism).

Realisation: one 64-bit word w decides a row. With t = ceil(2^64 p*), a word w < k t answers category w // t (the true one
included) and any other keeps the true category. Rounding t up can only lower epsilon and delta. Where k t > 2^64, which takes
an epsilon of 0 or nearly, all rows of the table are one row that shares the words out evenly. Postcondition: the integer table
satisfies (epsilon, delta) exactly, as integers; `privacy` proves it.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._core import rows as core
from dpfast._statement import check_delta, check_epsilon
from dpfast.channel import SymmetricChannel
from dpfast.domain import Domain
from dpfast.errors import ArgumentError
from dpfast.integer_mechanism import IntegerMechanism
from dpfast.mechanism import expected_rows
from dpfast.privacy import WORD_RANGE, response_delta, response_epsilon, response_is_uniform, response_threshold

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RandomisedResponse"]

TABLE_MAX: Final = 4096  # the largest k whose table is written out


class RandomisedResponse(IntegerMechanism):
    """Answer each row truthfully or with a category drawn uniformly: k-ary randomised response, the optimal parent.

    Parameters
    ----------
    domain : Domain, list, tuple, range, Enum class or path
        The public alphabet, k categories.
    epsilon : float
        Privacy loss of one row, >= 0. At 0 answers are independent of the data. Above ln 2^64 = 44.36 the realised epsilon
        stays there; infinity is refused, a column that needs no noise is ``"public"`` in a `Policy`.
    delta : float, default 0.0
        In [0, 1).

    Attributes
    ----------
    domain : Domain
    epsilon, delta : float
        As asked for; the realised values are `epsilon_at` and `delta_at`.
    threshold : int
        t, the 64-bit words that answer each category whatever the truth; 2^64 p* rounded up.
    keep_probability : Fraction
        Exact probability that a row keeps its category, by chance redraws included: 1 - (k-1) t / 2^64, or 1/k where the
        table is uniform.
    digest : bytes
        32 bytes that identify kind, domain, threshold and the rule for values outside the domain.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        `epsilon` or `delta` is not a number, or out of range.
    DomainError

    Notes
    -----
    **Privacy guarantee.** Neighbours: ``replace_one``, n public; unit: a row. (epsilon, delta) holds exactly for the integer
    table, every rounding being towards more privacy; so it does for a value outside the domain under
    ``unknown="randomise"``, whose row is the uniform one. Not covered: timing, a keyed stream used again on changed data.
    **Cost.** Construction about 50 us, without a look at data.

    References
    ----------
    .. [1] N. Holohan, D. Leith, O. Mason, "Differentially private response mechanisms on categorical data", arXiv 1505.07254.

    Examples
    --------
    >>> from dpfast import RandomisedResponse
    >>> mechanism = RandomisedResponse(["car", "bicycle", "train"], epsilon=1.0)
    >>> round(float(mechanism.keep_probability), 6)
    0.576117
    >>> mechanism.epsilon_at() <= 1.0
    True
    """

    kind = "randomised_response"

    def __init__(self, domain: Any, *, epsilon: float, delta: float = 0.0) -> None:
        self.epsilon = check_epsilon(epsilon)
        self.delta = check_delta(delta)
        self.domain = Domain.of(domain)
        self.threshold = response_threshold(self.domain.size, self.epsilon, self.delta)
        self.is_uniform = response_is_uniform(self.domain.size, self.threshold)

    @cached_property
    def law(self) -> core.ResponseLaw:
        """The kernels' form of the mechanism."""
        step = 0 if self.is_uniform else self.threshold
        return core.ResponseLaw(self.domain.size, step, self.is_uniform, self.domain.unknown == "randomise")

    @cached_property
    def digest(self) -> bytes:
        fields = (self.kind.encode(), self.domain.digest, str(self.threshold).encode(), self.domain.rule.encode())
        data = b"".join(len(field).to_bytes(8, "little") + field for field in fields)
        return hashlib.blake2b(data, digest_size=32, person=b"dpfast/mech/1").digest()

    @property
    def keep_probability(self) -> Fraction:
        """Exact probability that a row keeps its category, by chance redraws included: 1 - (k-1) t / 2^64, or 1/k if uniform.

        Examples
        --------
        >>> RandomisedResponse([False, True], epsilon=0.0).keep_probability
        Fraction(1, 2)
        """
        k = self.domain.size
        return Fraction(1, k) if self.is_uniform else 1 - Fraction((k - 1) * self.threshold, WORD_RANGE)

    @cached_property
    def table(self) -> NDArray[np.object_]:
        """Words of each answer (column) for each true category (row): ints that sum to 2^64 in every row.

        Shape (k, k), dtype object; built on first use. ArgumentError above k = 4096.

        Examples
        --------
        >>> RandomisedResponse([False, True], epsilon=0.0).table.tolist()[0]
        [9223372036854775808, 9223372036854775808]
        """
        k = self.domain.size
        if k > TABLE_MAX:
            raise ArgumentError(f"table and matrix are written out up to k = {TABLE_MAX}; use threshold and keep_probability")
        if self.is_uniform:
            share, wide = divmod(WORD_RANGE, k)
            table = np.empty((k, k), object)
            table[:] = [share + (x < wide) for x in range(k)]
            return table
        table = np.full((k, k), self.threshold, object)
        np.fill_diagonal(table, WORD_RANGE - (k - 1) * self.threshold)
        return table

    @property
    def matrix(self) -> NDArray[np.float64]:
        """Probability of each answer (column) for each true category (row), float64, shape (k, k); `table` / 2^64.

        Examples
        --------
        >>> RandomisedResponse([False, True], epsilon=0.0).matrix.tolist()
        [[0.5, 0.5], [0.5, 0.5]]
        """
        matrix: NDArray[np.float64] = self.table.astype(np.float64) / float(WORD_RANGE)
        return matrix

    def epsilon_at(self, delta: float = 0.0) -> float:
        """Return the smallest epsilon that the integer table satisfies at `delta`, rounded up.

        Parameters
        ----------
        delta : float, default 0.0
            In [0, 1).

        Returns
        -------
        float
            Never more than `epsilon` when `delta` is at least the one asked for: that bound holds exactly.

        Raises
        ------
        ArgumentTypeError, ArgumentError

        Examples
        --------
        >>> RandomisedResponse([False, True], epsilon=2.0).epsilon_at(delta=0.1) < 2.0
        True
        """
        delta = check_delta(delta)
        realised = response_epsilon(self.domain.size, self.threshold, delta)
        return min(realised, self.epsilon) if delta >= self.delta else realised

    def delta_at(self, epsilon: float) -> float:
        """Return the smallest delta that the integer table satisfies at `epsilon`, rounded up.

        Parameters
        ----------
        epsilon : float
            >= 0.

        Returns
        -------
        float
            Never more than `delta` when `epsilon` is at least the one asked for.

        Raises
        ------
        ArgumentTypeError, ArgumentError

        Examples
        --------
        >>> RandomisedResponse([False, True], epsilon=1.0).delta_at(1.0)
        0.0
        """
        epsilon = check_epsilon(epsilon)
        realised = response_delta(self.domain.size, self.threshold, epsilon)
        return min(realised, self.delta) if epsilon >= self.epsilon else realised

    def _row(self, code: int) -> list[int]:
        rows = self.table  # refuses a k for which rows are not written out
        if code < self.domain.size:
            row: list[int] = rows[code].tolist()
            return row
        share, wide = divmod(WORD_RANGE, self.domain.size)
        return [share + (x < wide) for x in range(self.domain.size)]

    def expected_changes(self, n_rows: int) -> float:
        """Return the expected number of rows whose category changes, n (k-1) p: the least possible at this privacy.

        Parameters
        ----------
        n_rows : int
            >= 0.

        Returns
        -------
        float

        Raises
        ------
        ArgumentTypeError, ArgumentError

        Examples
        --------
        >>> round(RandomisedResponse(range(10), epsilon=2.0).expected_changes(1000), 3)
        549.147
        """
        return expected_rows(n_rows, 1 - self.keep_probability)

    @cached_property
    def channel(self) -> SymmetricChannel:
        """What the mechanism does to a row, as estimation needs it."""
        return SymmetricChannel(self.domain.size, self.threshold, self.is_uniform)

    def certificate(self) -> dict[str, Any]:
        """Return what anyone needs to check the privacy of this mechanism, without data: a dict fit for JSON.

        Returns
        -------
        dict
            Doubles as hexadecimal text. ``epsilon`` and ``delta`` are as asked for; ``realised_epsilon`` is the epsilon of
            the integer table at that delta, rounded up.

        Examples
        --------
        >>> RandomisedResponse(range(2), epsilon=1.0).certificate()["threshold"]
        4961093570831980854
        """
        return self._stated(
            epsilon=self.epsilon.hex(), threshold=self.threshold, realised_delta=self.delta_at(self.epsilon).hex()
        )

    def __repr__(self) -> str:
        delta = f", delta={self.delta!r}" if self.delta else ""
        return f"RandomisedResponse({self.domain!r}, epsilon={self.epsilon!r}{delta})"
