"""Mechanisms that are a table of words: any parent matrix."""

from __future__ import annotations

import base64
import hashlib
import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._statement import check_delta, check_epsilon
from dpfast.channel import MatrixChannel
from dpfast.domain import Domain
from dpfast.hockey_stick import table_delta, table_epsilon
from dpfast.integer_mechanism import IntegerMechanism
from dpfast.integer_table import WORD_RANGE, IntegerTable, realise, stochastic
from dpfast.mechanism import expected_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dpfast._core.rows import MatrixLaw

__all__ = ["MatrixResponse", "TableMechanism", "table_digest"]

WRITTEN_MAX: Final = 256  # the largest k whose table a certificate holds


def table_digest(kind: str, domain: bytes, table: bytes, rule: str) -> bytes:
    """Return the digest of a mechanism that is a table: each field preceded by its length."""
    state = hashlib.blake2b(digest_size=32, person=b"dpfast/mech/1")
    for part in (kind.encode(), domain, table, rule.encode()):
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()


class TableMechanism(IntegerMechanism):
    """A mechanism that is an integer table. Its figures come from the table and from nothing else.

    Attributes
    ----------
    domain : Domain
    integer_table : IntegerTable
    epsilon : float
        As asked for; only where the mechanism was made to meet it.
    delta : float
        As asked for; 0 where none was.
    """

    kind: str
    epsilon: float

    def __init__(self, domain: Domain, table: IntegerTable, *, epsilon: float | None = None, delta: float = 0.0) -> None:
        self.domain = domain
        self.integer_table = table
        self.delta = delta
        if epsilon is not None:
            self.epsilon = epsilon
        self._epsilons: dict[float, float] = {}
        self._deltas: dict[float, float] = {}

    def _asked(self, epsilon: float, delta: float) -> bool:
        """Whether (epsilon, delta) is at least what the mechanism was made, and checked, to meet."""
        return hasattr(self, "epsilon") and epsilon >= self.epsilon and delta >= self.delta

    @property
    def _accepts_unknown(self) -> bool:
        return self.domain.unknown == "randomise"

    @cached_property
    def law(self) -> MatrixLaw:
        """The kernels' form of the mechanism."""
        return self.integer_table.law(unknown=self._accepts_unknown)

    @cached_property
    def digest(self) -> bytes:
        """32 bytes that identify kind, domain, table and the rule for values outside the domain."""
        table = self.integer_table.to_bytes(unknown=self._accepts_unknown)
        return table_digest(self.kind, self.domain.digest, table, self.domain.rule)

    @cached_property
    def channel(self) -> MatrixChannel:
        """What the mechanism does to a row, as estimation needs it."""
        return MatrixChannel(self.matrix)

    @cached_property
    def table(self) -> NDArray[np.object_]:
        """Words of each answer (column) for each true category (row): ints that sum to 2^64 in every row.

        Shape (k, k), dtype object; built on first use.

        Examples
        --------
        >>> MatrixResponse(["a", "b"], [[0.75, 0.25], [0.25, 0.75]]).table.sum(axis=1).tolist() == [2**64, 2**64]
        True
        """
        table = np.empty((self.domain.size, self.domain.size), object)
        for row in range(self.domain.size):
            table[row] = self.integer_table.integers(row)
        return table

    @property
    def matrix(self) -> NDArray[np.float64]:
        """Probability of each answer (column) for each true category (row), float64, shape (k, k); `table` / 2^64.

        Examples
        --------
        >>> MatrixResponse(["a", "b"], [[0.75, 0.25], [0.25, 0.75]]).matrix.tolist()
        [[0.75, 0.25], [0.25, 0.75]]
        """
        matrix: NDArray[np.float64] = self.integer_table.floats(unknown=False) / float(WORD_RANGE)
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
            Infinite where some answer is impossible for one category and, with more than delta, possible for another. Values
            outside the domain count as a category where they are randomised.

        Raises
        ------
        ArgumentTypeError, ArgumentError

        Notes
        -----
        **Cost.** O(k^2) at delta 0, else O(k^3): seconds at k = 1000.

        Examples
        --------
        >>> mechanism = MatrixResponse(["a", "b"], [[0.75, 0.25], [0.25, 0.75]])
        >>> round(mechanism.epsilon_at(), 6), mechanism.epsilon_at(delta=0.5)
        (1.098612, 0.0)
        """
        delta = check_delta(delta)
        if delta not in self._epsilons:
            realised = table_epsilon(self.integer_table, delta, unknown=self._accepts_unknown)
            self._epsilons[delta] = min(realised, self.epsilon) if self._asked(math.inf, delta) else realised
        return self._epsilons[delta]

    def delta_at(self, epsilon: float) -> float:
        """Return the smallest delta that the integer table satisfies at `epsilon`, rounded up.

        Parameters
        ----------
        epsilon : float
            >= 0.

        Returns
        -------
        float
            Exact where few pairs of rows compete, else at most 2^-45 above.

        Raises
        ------
        ArgumentTypeError, ArgumentError

        Notes
        -----
        **Cost.** O(k^3): 3 s at k = 1000.

        Examples
        --------
        >>> MatrixResponse(["a", "b"], [[0.75, 0.25], [0.25, 0.75]]).delta_at(0.0)
        0.5
        """
        epsilon = check_epsilon(epsilon)
        if epsilon not in self._deltas:
            realised = table_delta(self.integer_table, epsilon, unknown=self._accepts_unknown)
            self._deltas[epsilon] = min(realised, self.delta) if self._asked(epsilon, math.inf) else realised
        return self._deltas[epsilon]

    def _row(self, code: int) -> list[int]:
        return self.integer_table.integers(code)

    def expected_changes(self, n_rows: int) -> float:
        """Return the largest expected number of rows whose category changes, over all data of `n_rows` rows.

        Parameters
        ----------
        n_rows : int
            >= 0.

        Returns
        -------
        float
            n max_i (1 - P[i, i]).

        Raises
        ------
        ArgumentTypeError, ArgumentError

        Examples
        --------
        >>> MatrixResponse(["a", "b"], [[0.75, 0.25], [0.25, 0.75]]).expected_changes(1000)
        250.0
        """
        kept = min(self.integer_table.entry(i, i) for i in range(self.domain.size))
        return expected_rows(n_rows, 1 - Fraction(kept, WORD_RANGE))

    def certificate(self) -> dict[str, Any]:
        """Return what anyone needs to check the privacy of this mechanism, without data: a dict fit for JSON.

        Returns
        -------
        dict
            Doubles as hexadecimal text. ``table`` holds the integers (base64, 8 bytes each, little-endian) up to k = 256; beyond
            that `verify` needs the mechanism, whose ``digest`` must match.

        Examples
        --------
        >>> MatrixResponse(["a", "b"], [[0.75, 0.25], [0.25, 0.75]]).certificate()["kind"]
        'matrix'
        """
        asked = hasattr(self, "epsilon")
        certificate = self._stated(
            rule=self.domain.rule,
            digest=self.digest.hex(),
            realised_delta=(self.delta_at(self.epsilon) if asked else self.delta).hex(),
        )
        if asked:
            certificate["epsilon"] = self.epsilon.hex()
        if self.domain.size <= WRITTEN_MAX:
            certificate["table"] = base64.b64encode(self.integer_table.to_bytes(unknown=self._accepts_unknown)).decode("ascii")
        return certificate


class MatrixResponse(TableMechanism):
    """Answer each row from the row of a matrix: any mechanism on one category.

    Parameters
    ----------
    domain : Domain, list, tuple, range, Enum class or path
        The public alphabet, k categories, at most 4096.
    matrix : array_like, shape (k, k)
        Probability of each answer (column) for each true category (row). Rows sum to 1 within 1e-12 and are divided by their sum.
        It is public. Zeros stay zeros: they are legal, and make epsilon infinite unless the whole column is zero or rounds to
        no word.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        The matrix is not a matrix of probabilities, or does not fit the domain.
    DomainError

    Notes
    -----
    **Privacy guarantee.** Neighbours: ``replace_one``, n public; unit: a row. Nothing is promised in advance: `epsilon_at` and
    `delta_at` say what the integer table gives, rounded up. No column of the table has a greater ratio between two rows than the
    matrix has, so the pure epsilon of the table is at most that of the matrix. A value outside the domain under
    ``unknown="randomise"`` is answered from the average row, rounded, which counts as a category in every figure.
    **Cost.** Construction O(k^2): 0.2 s at k = 1000; 8 bytes an entry and 4 KiB a row.

    References
    ----------
    .. [1] N. Holohan, D. Leith, O. Mason, "Differentially private response mechanisms on categorical data", arXiv 1505.07254.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfast import MatrixResponse, Stream
    >>> mechanism = MatrixResponse(["low", "mid", "high"], [[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
    >>> round(mechanism.epsilon_at(), 4)
    1.7918
    >>> mechanism.sanitise(np.array(["low", "high"]), rng=Stream.insecure(1)).shape
    (2,)
    """

    kind = "matrix"

    def __init__(self, domain: Any, matrix: ArrayLike) -> None:
        public = Domain.of(domain)
        super().__init__(public, realise(stochastic(matrix, public.size)))

    def __repr__(self) -> str:
        return f"MatrixResponse({self.domain!r}, matrix of {self.domain.size} x {self.domain.size})"
