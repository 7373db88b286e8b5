"""Every privacy formula of randomised response, in integers and rounded against us.

**Precondition.** A public alphabet of k categories, m = k - 1; neighbouring tables differ in one row (``replace_one``:
the number of rows is public). Each row is decided by one word w, uniform over W = 2**64 values.

**The table.** A parent mechanism is an integer table whose row x says how many of the W words turn category x into
each category. Randomised response has t words off the diagonal and D = W - m t on it. It satisfies (epsilon, delta)
exactly if

    D <= e^epsilon t + delta W.

For rows i and j, an event that holds neither, only j, or both needs no more than e^epsilon >= 1; one that holds i and
c others needs D + c t <= e^epsilon (t + c t) + delta W, which follows from the case c = 0. Rows decided independently,
one to each row of a table, have the (epsilon, delta) of one row [1]_.

**The threshold.** The optimum of [1]_ is p = (1 - delta) / (e^epsilon + m). Here t = ceil(W p): D - e^epsilon t falls
as t grows, so rounding up only adds privacy, and t is the smallest integer that satisfies the request. The ceiling is
that of the real number: e^epsilon is enclosed between two rationals and the precision doubled until both give one
answer. That ends, because e^epsilon is transcendental for rational epsilon other than 0 (Lindemann), so W p is then no
integer. From epsilon = 45 > ln W on, t = 1: the realised epsilon stays near ln W = 44.36.

**Uniform tables.** Where k t > W (epsilon 0, or below the table's resolution) there is no such table. Then all rows
are one row u: category x owns U = floor(W / k) words, plus one if x < r = W mod k. Equal rows are (0, 0)-private.

**Unknown values.** A value outside the alphabet may be given the row u as well. That never weakens a table with
k t <= W. Let a = e^epsilon t >= t, and HS(P, Q) = sum over x of max(0, P_x - e^epsilon Q_x) in words; two different
known rows have HS = max(0, D - a). From k t <= W follows t <= U, and D - U - r = m (U - t) >= 0, so t <= u_x <= D.

- HS(row_i, u) = max(0, D - e^epsilon u_i) <= max(0, D - a).
- HS(u, row_i) = sum over x != i of max(0, u_x - a). If a >= U + 1 it is 0. If U < a < U + 1, it is 0 for r = 0 and
  else at most r (U + 1 - a) <= U + r - a <= D - a; the first step is (r - 1)(U - a) <= 0. If a <= U, it is at most
  m U + r - m a, and D - a minus that is (U - a) + m (a - t) >= 0.

So u against a known row is dominated, at every epsilon >= 0 and in both directions, by a pair of known rows; then it
is for e^epsilon < 1 and under composition too [2]_.

**Rounding.** Each epsilon and delta that is stated is the smallest double not below the real number. A request that
holds is a double not below that number, so what is stated never exceeds it.

References
----------
.. [1] N. Holohan, D. J. Leith, O. Mason, Differentially private response mechanisms on categorical data,
   arXiv 1505.07254.
.. [2] Y. Zhu, J. Dong, Y.-X. Wang, Optimal accounting of differential privacy via characteristic function,
   AISTATS 2022.
"""

from __future__ import annotations

import math

from dpfast._rounding import (
    FIRST_DIGITS,
    ceiling,
    exp_enclosure,
    integer,
    log_above,
    ratio_above,
)
from dpfast._statement import Privacy, check_delta, check_epsilon
from dpfast.budget import allocate, zcdp_of_exponential
from dpfast.errors import ArgumentError

__all__ = [
    "Privacy",
    "allocate",
    "response_delta",
    "response_epsilon",
    "response_threshold",
    "zcdp_of_exponential",
]


def __dir__() -> list[str]:
    return sorted(__all__)


WORD_BITS = 64
WORD_RANGE = 2**WORD_BITS

# e^45 = 3.49e19 > 2^64 = 1.84e19: from here on a single word per category off the diagonal is enough.
_EPSILON_OF_ONE_WORD = 45.0


def response_threshold(k: int, epsilon: float, delta: float = 0.0) -> int:
    """Return the number of words off the diagonal, t = ceil(2**64 (1 - delta) / (e**epsilon + k - 1)).

    Parameters
    ----------
    k : int
        Number of categories, at least 1.
    epsilon, delta : float
        The request, as `check_epsilon` and `check_delta` take it.

    Returns
    -------
    int
        The exact ceiling of the real number, in [1, 2**64]. Where k t > 2**64 the table is the uniform one
        (`response_is_uniform`).

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an argument is outside the ranges above.

    Notes
    -----
    **Privacy guarantee.** The table of t satisfies (epsilon, delta) for ``replace_one`` neighbours; t - 1 would not.
    **Cost.** About 50 microseconds.

    References
    ----------
    .. [1] N. Holohan, D. J. Leith, O. Mason, Differentially private response mechanisms on categorical data,
       arXiv 1505.07254, condition (21) and the optimum that follows it.

    Examples
    --------
    >>> response_threshold(10, 2.0) / 2**64       # p = 1 / (e**2 + 9)
    0.06101632662452402
    """
    k = integer(k, "k", minimum=1)
    epsilon = check_epsilon(epsilon)
    delta_top, delta_bottom = check_delta(delta).as_integer_ratio()
    top = (delta_bottom - delta_top) << WORD_BITS
    if epsilon == 0.0:
        return ceiling(top, delta_bottom * k)
    if epsilon >= _EPSILON_OF_ONE_WORD:
        return 1
    digits = FIRST_DIGITS
    while True:
        low, high, one = exp_enclosure(epsilon, digits)
        smallest = ceiling(top * one, delta_bottom * (high + (k - 1) * one))
        largest = ceiling(top * one, delta_bottom * (low + (k - 1) * one))
        if smallest == largest:
            return smallest
        digits *= 2


def response_is_uniform(k: int, t: int) -> bool:
    """Return whether all rows of the table of t are one and the same uniform row.

    Parameters
    ----------
    k : int
        Number of categories, at least 1.
    t : int
        Number of words off the diagonal, in [0, 2**64].

    Returns
    -------
    bool
        True if k is 1 or k t > 2**64. Category x then owns floor(2**64 / k) words, and one more if x < 2**64 mod k.
        (At k t = 2**64 the ordinary table is uniform too, and the same.)

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an argument is outside the ranges above.

    Examples
    --------
    >>> response_is_uniform(3, response_threshold(3, 0.0)), response_is_uniform(3, response_threshold(3, 1.0))
    (True, False)
    """
    k, t = _table(k, t)
    return k == 1 or k * t > WORD_RANGE


def response_epsilon(k: int, t: int, delta: float = 0.0) -> float:
    """Return the smallest epsilon that the table of t satisfies at delta, rounded up.

    Parameters
    ----------
    k : int
        Number of categories, at least 1.
    t : int
        Number of words off the diagonal, in [0, 2**64].
    delta : float
        In [0, 1).

    Returns
    -------
    float
        The smallest double not below max(0, ln((D - delta 2**64) / t)) with D = 2**64 - (k - 1) t; 0.0 for a uniform
        table, infinite for t = 0. Never more than the epsilon from which `response_threshold` computed t at this delta.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an argument is outside the ranges above.

    Notes
    -----
    Neighbouring = ``replace_one``, for one row and equally for a whole table. Cost: about 80 microseconds.

    Examples
    --------
    >>> response_epsilon(10, response_threshold(10, 1.0))
    1.0
    >>> response_epsilon(2, response_threshold(2, 100.0))       # no table of 64-bit words can spend more
    44.361419555836505
    """
    k, t = _table(k, t)
    delta_top, delta_bottom = check_delta(delta).as_integer_ratio()
    if response_is_uniform(k, t):
        return 0.0
    top = (WORD_RANGE - (k - 1) * t) * delta_bottom - (delta_top << WORD_BITS)
    bottom = t * delta_bottom
    if top <= bottom:
        return 0.0
    if t == 0:
        return math.inf
    return log_above(top, bottom)


def response_delta(k: int, t: int, epsilon: float) -> float:
    """Return the smallest delta that the table of t satisfies at epsilon, rounded up.

    Parameters
    ----------
    k : int
        Number of categories, at least 1.
    t : int
        Number of words off the diagonal, in [0, 2**64].
    epsilon : float
        Finite, at least 0.

    Returns
    -------
    float
        The smallest double not below max(0, (D - e**epsilon t) / 2**64) with D = 2**64 - (k - 1) t; 0.0 for a uniform
        table. Never more than the delta from which `response_threshold` computed t at this epsilon.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an argument is outside the ranges above.

    Notes
    -----
    Neighbouring = ``replace_one``, for one row and equally for a whole table. Cost: about 30 microseconds.

    Examples
    --------
    >>> t = response_threshold(10, 1.0)
    >>> response_delta(10, t, 1.0), round(response_delta(10, t, 0.5), 12)
    (0.0, 0.091272814003)
    """
    k, t = _table(k, t)
    epsilon = check_epsilon(epsilon)
    if response_is_uniform(k, t):
        return 0.0
    diagonal = WORD_RANGE - (k - 1) * t
    if epsilon == 0.0 or t == 0:
        return ratio_above(diagonal - t, WORD_RANGE)
    if epsilon >= _EPSILON_OF_ONE_WORD:
        return 0.0
    # As above: e^epsilon t is no rational, so the difference is neither 0 nor a double.
    digits = FIRST_DIGITS
    while True:
        low, high, one = exp_enclosure(epsilon, digits)
        least = diagonal * one - high * t
        most = diagonal * one - low * t
        if most <= 0:
            return 0.0
        if least > 0 and ratio_above(least, one * WORD_RANGE) == ratio_above(most, one * WORD_RANGE):
            return ratio_above(most, one * WORD_RANGE)
        digits *= 2


def _table(k: object, t: object) -> tuple[int, int]:
    size, words = integer(k, "k", minimum=1), integer(t, "t", minimum=0)
    if words > WORD_RANGE:
        raise ArgumentError("t must be at most 2**64")
    return size, words
