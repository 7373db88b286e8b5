"""Statements of privacy and requests for it: what is claimed is rounded up, what may be spent is rounded down."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpfast._rounding import float_above, float_below, integer, real_number
from dpfast.errors import ArgumentError

__all__ = ["NEIGHBOURS", "Privacy", "check_delta", "check_epsilon"]

NEIGHBOURS = ("replace_one", "add_remove", "edge")


@dataclass(frozen=True)
class Privacy:
    """A statement of privacy: (epsilon, delta), for which neighbours, for how many rows a person.

    Parameters
    ----------
    epsilon : float
        Natural logarithm of the largest ratio of probabilities; at least 0, infinite if nothing is promised.
    delta : float
        Additive slack of the ratio, in [0, 1]. Sums of deltas above 1 promise nothing: state ``min(1.0, delta)``.
    neighbours : {"replace_one", "add_remove", "edge"}
        What must look alike: tables that differ in one row, or by one row more or less; graphs on the same vertices that differ
        by one edge.
    rows_per_person : int
        Number of rows, or of edges, that one person may own; the caller vouches for it.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For a value outside the ranges above.

    Notes
    -----
    A number that is no double (a Fraction, a Decimal) is rounded up: a statement never claims more than it was given.

    Examples
    --------
    >>> Privacy(1.5, rows_per_person=2)
    Privacy(epsilon=1.5, delta=0.0, neighbours='replace_one', rows_per_person=2)
    """

    epsilon: float
    delta: float = 0.0
    neighbours: str = "replace_one"
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        epsilon = real_number(self.epsilon, "epsilon")
        delta = real_number(self.delta, "delta")
        if not 0 <= delta <= 1:
            raise ArgumentError("delta must be between 0 and 1")
        if self.neighbours not in NEIGHBOURS:
            raise ArgumentError(f"neighbours must be one of {', '.join(map(repr, NEIGHBOURS))}")
        object.__setattr__(self, "epsilon", float_above(epsilon))
        object.__setattr__(self, "delta", float_above(delta))
        object.__setattr__(self, "rows_per_person", integer(self.rows_per_person, "rows_per_person", minimum=1))

    @property
    def rho(self) -> float:
        """The rho of zero-concentrated differential privacy that the statement implies, epsilon^2 / 2, rounded up.

        Infinite if delta is not 0: no rho follows then (M. Bun, T. Steinke, Concentrated differential privacy, TCC 2016,
        Proposition 1.4). An exponential mechanism has a quarter of it: `zcdp_of_exponential`.

        Examples
        --------
        >>> Privacy(2.0).rho, Privacy(2.0, 1e-9).rho
        (2.0, inf)
        """
        if self.delta or self.epsilon == math.inf:
            return math.inf
        return float_above(Fraction(self.epsilon) ** 2 / 2)


def check_epsilon(value: object, name: str = "epsilon") -> float:
    """Return a privacy budget as a float, or refuse it.

    Parameters
    ----------
    value : real number
        A finite number that is not negative: int, float, Fraction, Decimal or NumPy scalar.
    name : str
        How the error text calls the argument.

    Returns
    -------
    float
        The largest double not above `value`: the budget spent is never more than the one asked for.

    Raises
    ------
    ArgumentTypeError
        If `value` is not a real number (a string, None, a bool, a complex number, an array).
    ArgumentError
        If it is NaN, negative or infinite.

    Examples
    --------
    >>> check_epsilon(1)
    1.0
    >>> from fractions import Fraction
    >>> check_epsilon(Fraction(1, 10)) < 0.1       # the double 0.1 lies above one tenth
    True
    """
    number = real_number(value, name)
    if number == math.inf:
        raise ArgumentError(f'{name} must be finite; to release a column as it is, declare it "public" in a Policy')
    return float_below(number)


def check_delta(value: object, name: str = "delta") -> float:
    """Return a delta as a float in [0, 1), rounded down, or refuse it.

    Parameters
    ----------
    value : real number
        At least 0 and below 1: int, float, Fraction, Decimal or NumPy scalar.
    name : str
        How the error text calls the argument.

    Returns
    -------
    float
        The largest double not above `value`.

    Raises
    ------
    ArgumentTypeError
        If `value` is not a real number.
    ArgumentError
        If it is NaN, negative, or 1 and more (which would allow the data to be released as they are).

    Examples
    --------
    >>> check_delta(1e-6)
    1e-06
    """
    number = real_number(value, name)
    if number >= 1:
        raise ArgumentError(f"{name} must be at least 0 and below 1")
    return float_below(number)
