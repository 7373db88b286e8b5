"""The privacy of several releases about one row: composition, rounded against us.

**Claim.** Parts act on the same table, each with randomness of its own: the columns of one row, the rows of one person, releases
one after another. A neighbour may change what every part sees, so an output of the whole has the product of the parts' outputs
as its law, and delta(epsilon) is the largest HS of such products, over one ordered pair of rows for each part.

Precondition: parts are mechanisms on one row, integer tables, or `Privacy` statements about anything, all for one neighbouring
relation. Postcondition: the (epsilon, delta) returned holds for the whole; it is never below the true figure.

- Randomised response of any k and statements: the worst products are known. `_exact_composition` finds epsilon to within a few
  units of the last place where the laws that differ are few; `_grid_composition` bounds it from both sides for many.
- Other tables: which pair of rows is worst may depend on the other parts, and worst pairs do not multiply. The upper bound
  composes one pair of distributions for each table that dominates all its pairs.
- delta = 0: epsilons add, for all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpfast._exact_composition import ExactComposition
from dpfast._grid_bounds import grid_bounds, grid_delta
from dpfast._losses import LARGEST_STATEMENT, Law, Table, read_part
from dpfast._rounding import float_below, sum_up
from dpfast._statement import check_delta, check_epsilon
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.privacy import Privacy

__all__ = ["compose", "compose_bounds", "composed_delta"]


def compose(parts: Iterable[Any], *, delta: float) -> Privacy:
    """Return the privacy of several releases about one row, with the smallest epsilon at `delta` that is proved.

    Parameters
    ----------
    parts : iterable of mechanism, integer table or Privacy
        What is released: `RandomisedResponse` and other mechanisms; tables of integers, shape (k, any), whose rows have one sum;
        or statements. Repeat a part that is released more than once, also for the rows of one person: ``[mechanism] * g``.
    delta : float
        In [0, 1). At 0 the epsilons add.

    Returns
    -------
    Privacy
        (epsilon, delta) of all parts together; epsilon is infinite if nothing holds at this delta. `neighbours` and
        `rows_per_person` are those of the parts.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        A part of another kind; a table of fractions or of unequal rows; statements for different neighbours; delta out of range.

    Notes
    -----
    **Privacy guarantee.** Neighbours: ``replace_one`` for mechanisms and tables, as stated for statements; every part may depend
    on the row that differs. epsilon is never below the true one. For randomised response and statements up to epsilon 100 it is
    the true one within 1e-9, or within 1e-4 of itself where more than about 20 laws differ. For other tables the distance to
    what some pair of rows needs is shown by `compose_bounds`. Statements above epsilon 100 are added.
    **Adaptive releases.** A later part may be chosen by earlier answers, as long as it is one of these.
    **Cost.** About 5 ms for 100 parts of up to 3 laws (a few times that at epsilon 44 each), less than a second for 100 different
    ones; tables of k rows take O(k^3), 0.1 seconds for 16 and 3 for 64, and above 64 rows are treated as statements.

    References
    ----------
    .. [1] P. Kairouz, S. Oh, P. Viswanath, The composition theorem for differential privacy, ICML 2015.
    .. [2] Y. Zhu, J. Dong, Y.-X. Wang, Optimal accounting of differential privacy via characteristic function, AISTATS 2022.

    Examples
    --------
    >>> from dpfast import RandomisedResponse
    >>> parts = [RandomisedResponse(range(10), epsilon=0.5)] * 20
    >>> compose(parts, delta=0.0).epsilon
    10.0
    >>> round(compose(parts, delta=1e-6).epsilon, 6)
    5.657322
    """
    read = _read(parts)
    delta = check_delta(delta)
    return Privacy(read.epsilon(delta)[1], delta, read.neighbours, read.rows_per_person)


def compose_bounds(parts: Iterable[Any], *, delta: float) -> tuple[float, float]:
    """Return epsilons between which the true one of several releases lies.

    Parameters
    ----------
    parts, delta
        As for `compose`.

    Returns
    -------
    lower, upper : float
        `upper` is the epsilon of `compose`. Some product of rows needs `lower`, rounded down: no smaller epsilon holds at
        `delta`. For statements, that is some mechanism of which they are true.

    Raises
    ------
    ArgumentTypeError, ArgumentError

    Notes
    -----
    **Privacy guarantee.** `upper` holds, for the neighbours of `compose`. A gap that is left for tables that are no randomised
    response may be due to either bound. **Cost.** That of `compose`.

    Examples
    --------
    >>> from dpfast import RandomisedResponse
    >>> lower, upper = compose_bounds([RandomisedResponse(range(10), epsilon=0.5)] * 20, delta=1e-6)
    >>> upper - lower < 1e-9
    True
    """
    return _read(parts).epsilon(check_delta(delta))


def composed_delta(parts: Iterable[Any], *, epsilon: float) -> float:
    """Return a delta at which several releases about one row are (epsilon, delta)-private, rounded up.

    Parameters
    ----------
    parts : iterable of mechanism, integer table or Privacy
        As for `compose`.
    epsilon : float
        Finite, at least 0.

    Returns
    -------
    float
        At most 1. The true delta within 1e-9 of itself for up to about 20 different laws of randomised response or statements
        (unless epsilon is one of their losses, then up to 1e-9 more); else an upper bound.

    Raises
    ------
    ArgumentTypeError, ArgumentError

    Notes
    -----
    **Privacy guarantee.** (`epsilon`, delta) holds, for the neighbours of `compose`. **Cost.** That of `compose`.

    Examples
    --------
    >>> from dpfast import RandomisedResponse
    >>> parts = [RandomisedResponse(range(m + 1), epsilon=e) for m, e in [(1, 0.5), (2, 1.0), (3, 0.8)]]
    >>> round(composed_delta(parts, epsilon=1.0), 10)
    0.2036832786
    """
    return _read(parts).delta(check_epsilon(epsilon))


@dataclass
class _Parts:
    """Parts by kind, each with its number of copies."""

    laws: Counter[Law] = field(default_factory=Counter)
    tables: Counter[Table] = field(default_factory=Counter)
    added: list[Privacy] = field(default_factory=list)
    # What each part alone is said to have: the sums hold too, and for statements without a rounding of e^epsilon.
    stated: list[tuple[float, float]] = field(default_factory=list)
    neighbours: str = "replace_one"
    rows_per_person: int = 1

    def epsilon(self, delta: float) -> tuple[float, float]:
        """Return (lower, upper)."""
        rest = Fraction(delta) - sum(Fraction(part.delta) for part in self.added)
        if rest < 0:
            return 0.0, math.inf
        lower, upper = self._convolved(float_below(rest))
        upper = sum_up([upper, *(part.epsilon for part in self.added)])
        if sum(Fraction(stated) for _, stated in self.stated) <= Fraction(delta):
            upper = min(upper, sum_up(stated for stated, _ in self.stated))
        return min(lower, upper), upper

    def _convolved(self, delta: float) -> tuple[float, float]:
        if not self.laws and not self.tables:
            return 0.0, 0.0
        if delta == 0.0:
            pure = self._largest_loss
            # Every part rounds its largest loss up, by one unit of the last place at most, and the sum does so once more.
            count = self.laws.total() + self.tables.total()
            return pure if pure == math.inf else max(0.0, pure * (1 - (count + 1) * 2.0**-52)), pure
        if self._is_exact:
            return ExactComposition(self.laws).epsilon(delta)
        return grid_bounds(self.laws, self.tables, delta)

    def delta(self, epsilon: float) -> float:
        """Return an upper bound."""
        rest = Fraction(epsilon) - sum(Fraction(part.epsilon) for part in self.added)
        if rest < 0:
            return 1.0
        left = float_below(rest)
        if left >= self._largest_loss:
            delta = 0.0
        elif self._is_exact:
            delta = ExactComposition(self.laws).delta(left)
        else:
            delta = grid_delta(self.laws, self.tables, left)
        delta = sum_up([delta, *(part.delta for part in self.added)])
        if sum_up(stated for stated, _ in self.stated) <= epsilon:
            delta = min(delta, sum_up(stated for _, stated in self.stated))
        return min(1.0, delta)

    @property
    def _largest_loss(self) -> float:
        """The sum of the largest losses, rounded up."""
        parts: list[tuple[Law | Table, int]] = [*self.laws.items(), *self.tables.items()]
        return sum_up(part.pure_epsilon for part, n in parts for _ in range(n))

    @property
    def _is_exact(self) -> bool:
        return not self.tables and ExactComposition.is_feasible(self.laws)


def _read(parts: Iterable[Any]) -> _Parts:
    if isinstance(parts, (Privacy, str, bytes)) or not isinstance(parts, Iterable):
        raise ArgumentTypeError(f"parts must be a list of mechanisms, tables or statements, not {type(parts).__name__}")
    read = _Parts()
    known: dict[int, Law | Table] = {}
    relations = set()
    listed = list(parts)
    for part in listed:
        if isinstance(part, Privacy):
            relations.add((part.neighbours, part.rows_per_person))
            read.stated.append((part.epsilon, part.delta))
            if LARGEST_STATEMENT < part.epsilon < math.inf:
                read.added.append(part)
                continue
        else:
            relations.add(("replace_one", 1))
        if id(part) not in known:
            known[id(part)] = read_part(part)
        law = known[id(part)]
        if not isinstance(part, Privacy):
            read.stated.append((law.pure_epsilon, 0.0))
        if isinstance(law, Table) and not law.is_small:
            law = law.bounding_law
        if isinstance(law, Table):
            read.tables[law] += 1
        elif not law.is_trivial:
            read.laws[law] += 1
    if len(relations) > 1:
        raise ArgumentError("all parts must be stated for the same neighbours and rows_per_person; mechanisms are for one row")
    if relations:
        ((read.neighbours, read.rows_per_person),) = relations
    return read
