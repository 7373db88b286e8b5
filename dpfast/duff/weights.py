"""The public table of integer weights that stands for e^(-epsilon d / 2), exactly private (Duff, B.6).

rho = ceil(2^64 e^(-factor epsilon)) / 2^64, w_0 = 2^62 and w_{k+1} = ceil(w_k rho). So w_k <= w_{k+1} / rho, and
1 / rho <= e^(factor epsilon): neighbouring weights differ by no more than that factor, exactly, and since the table never
grows, weights whose distances differ by one neither. It never reaches zero; below about 1 / (factor epsilon) it stands still.

Distances beyond 2^30 count as 2^30. A cap of the distance keeps its sensitivity, so this costs no privacy; it matters only
where more than 2^30 persons meet an epsilon below 10^-7. The recurrence is sequential, about 1.5 ns a step.
"""

from __future__ import annotations

import decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._core import duff as core
from dpfast._rounding import FIRST_DIGITS, real_number
from dpfast.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CAP", "HALF", "WHOLE", "Weights", "check_epsilon", "decay_of", "last_distance"]

FIRST_WEIGHT: Final = 1 << 62
CAP: Final = 1 << 30
PIECE: Final = 1 << 24  # steps between two looks at Ctrl-C
DENSE: Final = 1 << 20  # a table of so many weights is made whole, whoever asks
MOST_DISTANCE: Final = 1 << 22  # for those who make a level of each distance
HALF: Final = Fraction(1, 2)
WHOLE: Final = Fraction(1)


def check_epsilon(epsilon: Any) -> Fraction:
    """A finite epsilon, exactly."""
    number = real_number(epsilon, "epsilon")
    if not isinstance(number, Fraction):
        raise ArgumentError("epsilon must be finite")
    return number


@lru_cache(maxsize=256)
def decay_of(exponent: Fraction) -> int:
    """2^64 - ceil(2^64 e^-exponent), decided by as many digits as it takes: the power is irrational but for exponent 0."""
    if exponent == 0:
        return 0
    if exponent >= 45:  # e^-45 < 2^-64
        return (1 << 64) - 1
    digits = FIRST_DIGITS
    while True:
        low, high = _power(-exponent, digits)
        # 2^64 - ceil(y) = floor(2^64 - y)
        least, most = ((1 << 64) - (1 << 64) * bound for bound in (high, low))
        if least // 1 == most // 1:
            return int(least // 1)
        digits *= 2


def _power(exponent: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Fractions that enclose e^exponent: decimal rounds quotients as told and the exponential correctly."""
    bounds = []
    for rounding in (decimal.ROUND_FLOOR, decimal.ROUND_CEILING):
        context = decimal.Context(prec=digits, rounding=rounding, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=[])
        quotient = context.divide(decimal.Decimal(exponent.numerator), decimal.Decimal(exponent.denominator))
        nearest = context.exp(quotient)  # half-even whatever the context says: one step outward encloses it
        bounds.append(context.next_minus(nearest) if rounding == decimal.ROUND_FLOOR else context.next_plus(nearest))
    return Fraction(bounds[0]), Fraction(bounds[1])


def last_distance(weights: Weights) -> int:
    """The distance from which on all weights are equal, or may count as that: a cap of a distance keeps its sensitivity."""
    size = 1 << 8
    while True:
        table = weights.table(size)
        if table.size <= size or table[-1] == table[-2] or size == MOST_DISTANCE:
            return int(np.count_nonzero(table > table[-1]))
        size *= 2


class Weights:
    """The table for one epsilon, as far as it was asked for.

    ``exponent`` is factor times epsilon: epsilon / 2 for a utility that may rise for some answers while it falls for others,
    epsilon for the mode under add_remove.
    """

    __slots__ = ("_table", "decay")

    def __init__(self, epsilon: Any, factor: Fraction = HALF) -> None:
        self.decay = decay_of(check_epsilon(epsilon) * factor)
        self._table = np.array([FIRST_WEIGHT], np.uint64)

    def table(self, last: int) -> NDArray[np.uint64]:
        """Weights of the distances 0 .. last, or fewer: distances beyond the end have the last weight."""
        wanted = min(last, CAP) + 1
        if self._table.size < wanted and not self._stands():
            grown = np.empty(wanted, np.uint64)
            grown[: self._table.size] = self._table
            place, weight = self._table.size, int(self._table[-1])
            while place < wanted and not self._still(weight):
                after = min(place + PIECE, wanted)
                weight = core.weights_fill(weight, self.decay, grown[place:after])
                place = after
            self._table = grown[:place]
        return self._table[:wanted]

    def of(self, distances: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The weight of each distance. Time grows with the largest of them, memory with their number."""
        if not distances.size:
            return np.zeros(distances.shape, np.uint64)
        last = min(int(distances.max()), CAP)
        if last < max(DENSE, 2 * distances.size):
            table = self.table(last)
            return table[np.minimum(distances, table.size - 1)]
        wanted, places = np.unique(np.minimum(distances, CAP), return_inverse=True)
        weights = np.empty(wanted.size, np.uint64)
        reached, weight = 0, FIRST_WEIGHT
        for place, distance in enumerate(wanted.tolist()):
            while reached < distance and not self._still(weight):
                steps = min(distance - reached, PIECE)
                weight = core.weights_skip(weight, self.decay, steps)
                reached += steps
            weights[place] = weight
        return weights[places].reshape(distances.shape)

    def _stands(self) -> bool:
        return self._still(int(self._table[-1]))

    def _still(self, weight: int) -> bool:
        """Whether the recurrence has come to rest: floor(w decay / 2^64) = 0."""
        return weight * self.decay < 1 << 64
