"""The epsilon of composed laws, proved to within rounding: integers for the weights, doubles only for the order of the losses.

**n copies of one law.** The net loss is j a, j = -n .. n, and P has there the coefficient of x**(n + j) in
(down + flat x + up x**2)**n. The coefficients f_i of (a + b x + c x**2)**n satisfy

    (i + 1) a f_{i+1} = (n - i) b f_i + (2 n - i + 1) c f_{i-1},

from f' (a + b x + c x**2) = n (b + 2 c x) f. Up to i = n all terms are positive, so with each result rounded down to so many
bits, the relative errors only add up; beyond, f_{n+j} = f_{n-j} (up / down)**j. Q has the reverse.

**Several laws.** The laws are dealt out to two halves, and the points of each half listed with their shares of all weight, as
integers over 2**B rounded down. A share is too small by less than 2 for one law, and less than 5 for each of several: f > F - c
and g > G - 2 give floor(f g / 2**B) > F G / 2**B - c - 3. One half is sorted by loss and summed from below. P{loss >= theta} is a
sum of one product for each point of the other half, over 4**B, too small by less than E = 2**B times the errors of all shares.

**Epsilon.** With x = e^epsilon the excess f(x) = lost + sum (p - x q)+ - delta is convex and piecewise linear, and its zero
x* is what we look for. For *any* set S of outcomes, x_S = (lost + P(S) - delta) / Q(S) <= x*. Newton's steps
theta <- ln x_S, S = {loss >= theta}, rise to x* and end, as there are finitely many sets. Rounding: P(S) + E and Q(S) for what
is enough, P(S) and Q(S) + E for what is needed. Where these differ too much, B is doubled.

**Order in doubles.** A loss is known up to an error h. S = {computed loss >= theta - h} holds all outcomes with loss > theta,
and none with loss < theta - 2 h. Hence, from e^theta q - p <= 2 h e^theta q on the latter,

    sum (p - e^theta q)+ <= P(S) - e^theta (1 - 2 h) Q(S),

and theta is proved to be enough if (1 - 2 h) e^theta >= x_S. No outcome within h of theta: the same with h = 0.

**Error of a loss.** a has relative error 2**-51, j a one rounding more, and halves of at most 70,000 points have at most 10 laws
with a loss, so 10 roundings of sums on each side and two more to compare: h = 2**-48 times the sum of all losses is ample.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import accumulate

import numpy as np

from dpfast._losses import Law
from dpfast._rounding import ceiling, exp_enclosure, log_above, ratio_above

__all__ = ["ExactComposition"]

MOST_POINTS = 70_000  # of one half
MOST_BITS = 10**9  # of all shares together
_UNIT = 256  # the factor 1 - 2 h is written over 2**256
_ENOUGH_BITS = 192
_FINEST = 1 << 16
_TOLERANCE = 1e-12


class ExactComposition:
    """The product of laws, each so many times."""

    def __init__(self, laws: Mapping[Law, int]) -> None:
        self._laws = dict(laws)
        self._range = sum(law.loss * n for law, n in laws.items())
        self._error = 2.0**-48 * self._range
        self._total = math.prod(law.total**n for law, n in laws.items())
        self._lost = self._total - math.prod((law.total - law.lost) ** n for law, n in laws.items())

    @staticmethod
    def is_feasible(laws: Mapping[Law, int]) -> bool:
        """Whether the points and the digits of their weights stay few."""
        points = max(map(_size, _halves(laws)))
        bits = _ENOUGH_BITS + 1.5 * sum(law.loss * n for law, n in laws.items())
        return points <= MOST_POINTS and points * bits <= MOST_BITS

    def epsilon(self, delta: float) -> tuple[float, float]:
        """Return (lower, upper) around the smallest epsilon at which the product is (epsilon, delta)-private, delta > 0."""
        top, bottom = delta.as_integer_ratio()
        if self._lost * bottom > top * self._total:
            return math.inf, math.inf
        bits = _ENOUGH_BITS + math.ceil(-math.log2(delta)) + math.ceil(1.5 * self._range)
        while True:
            lower, upper = self._epsilon(_Points(self._laws, bits), delta)
            if upper - lower <= _TOLERANCE * max(1.0, upper) + 8 * self._error or bits > _FINEST:
                return lower, upper
            bits *= 2

    def _epsilon(self, points: _Points, delta: float) -> tuple[float, float]:
        scale = 2 * points.bits
        top, bottom = delta.as_integer_ratio()
        least = (self._lost << scale) // self._total - ceiling(top << scale, bottom)
        most = ceiling(self._lost << scale, self._total) - (top << scale) // bottom + points.error
        # Whatever the first set, its x_S is at most x*: doubles may choose it.
        theta, is_first = points.guess(self._lost / self._total - delta), True
        lower = 0.0
        while True:
            p, q, is_near = points.above(theta, self._error)
            if p + least > q + points.error:
                lower = max(lower, math.nextafter(_log_above(p + least, q + points.error), 0.0))
            slack = self._slack() if is_near else 0
            need, q = (p + most) << _UNIT, q * ((1 << _UNIT) - slack)
            enough = 0.0 if need <= q else _log_above(need, q) if q else math.inf
            if theta >= enough and not is_first:
                return min(lower, theta), theta
            theta, is_first = enough + self._error if slack and not is_first else enough, False

    def delta(self, epsilon: float) -> float:
        """Return a bound of the smallest delta at which the product is (epsilon, delta)-private; epsilon at most 1e6."""
        bits = _ENOUGH_BITS + math.ceil(1.5 * self._range)
        while True:
            points = _Points(self._laws, bits)
            p, q, is_near = points.above(epsilon, self._error)
            if not p:
                return ratio_above(self._lost, self._total)
            low, high, one = exp_enclosure(epsilon, bits // 3)
            least = p * one - high * (q + points.error)
            slack = self._slack() if is_near else 0
            most = ((p + points.error) * one << _UNIT) - low * q * ((1 << _UNIT) - slack)
            unit = one << (_UNIT + 2 * bits)
            answer = ratio_above(self._lost * unit + max(0, most) * self._total, self._total * unit)
            lower = ratio_above((self._lost * unit + (max(0, least) << _UNIT) * self._total), self._total * unit)
            if answer - lower <= _TOLERANCE * answer or slack or bits > _FINEST:
                return answer
            bits *= 2

    def _slack(self) -> int:
        """A bound of 2 h, over 2**256."""
        return int(math.ldexp(self._error, _UNIT + 1)) + 2


class _Points:
    """All points of a product of laws, in two halves; shares of the weight over 2**bits."""

    def __init__(self, laws: Mapping[Law, int], bits: int) -> None:
        self.bits = bits
        # The larger half is sorted and summed, the smaller one walked through.
        self._small, large = sorted((_Half(half, bits) for half in _halves(laws)), key=lambda half: half.losses.size)
        self.error = (self._small.error + large.error) << bits
        order = np.argsort(large.losses, kind="stable")
        self._sorted = large.losses[order]
        # Sums of the i least losses under P. Both halves are their own mirror images, so these are also the sums under Q of the
        # i greatest ones; equal losses are never parted.
        self._sums = [0, *accumulate([large.shares[i] for i in order.tolist()])]

    def above(self, theta: float, error: float) -> tuple[int, int, bool]:
        """Shares over 4**bits, under P and Q, of the losses above theta - error; whether one is as near as that."""
        first = np.searchsorted(self._sorted, theta - error - self._small.losses)
        near = np.searchsorted(self._sorted, theta + error - self._small.losses)
        sums, shares, end = self._sums, self._small.shares, len(self._sums) - 1
        places = first.tolist()
        p = sum(share * (sums[end] - sums[i]) for share, i in zip(shares, places, strict=True))
        q = sum(share * sums[end - i] for share, i in zip(reversed(shares), places, strict=True))
        return p, q, not np.array_equal(first, near)

    def guess(self, excess: float) -> float:
        """Return the epsilon that Newton's steps in doubles find, from 0."""
        one, end = 1 << self.bits, len(self._sums) - 1
        small = np.array([share / one for share in self._small.shares])
        sums = np.array([share / one for share in self._sums])
        # Weights under Q may be below all doubles, so there the logarithms are added.
        log_small = np.array([_log(share) for share in reversed(self._small.shares)])
        log_sums = np.array([_log(share) for share in self._sums])
        log_one = 2 * self.bits * math.log(2)
        theta = 0.0
        for _ in range(64):
            places = np.searchsorted(self._sorted, theta - self._small.losses)
            need = float(small @ (sums[end] - sums[places])) + excess
            log_q = float(np.logaddexp.reduce(log_small + log_sums[end - places])) - log_one
            step = math.log(need) - log_q if need > 0 and log_q > -math.inf else 0.0
            if step <= theta:
                break
            theta = step
        return theta


class _Half:
    """Points of a product of laws: losses, shares under P over 2**bits, and the sum of what these miss."""

    def __init__(self, laws: Mapping[Law, int], bits: int) -> None:
        self.losses = np.zeros(1)
        self.shares = [1 << bits]
        each = 0
        for law, n in laws.items():
            shares = _shares(law, n, bits)
            reach = len(shares) // 2
            self.losses = np.add.outer(self.losses, np.arange(-reach, reach + 1) * law.loss).ravel()
            self.shares = [x * y >> bits for x in self.shares for y in shares]
            each += 5
        self.error = each * len(self.shares)


def _halves(laws: Mapping[Law, int]) -> tuple[dict[Law, int], dict[Law, int]]:
    """Deal the laws out to two halves of nearly equal numbers of points, the largest first."""
    left: dict[Law, int] = {}
    right: dict[Law, int] = {}
    for law, n in sorted(laws.items(), key=lambda item: (-item[1], item[0].up, item[0].down, item[0].flat)):
        (left if _size(left) <= _size(right) else right)[law] = n
    return left, right


def _size(laws: Mapping[Law, int]) -> int:
    """Return the number of points of a product."""
    return math.prod(2 * n + 1 for law, n in laws.items() if law.up)


def _shares(law: Law, n: int, bits: int) -> list[int]:
    """Return the shares under P of the net losses -n a .. n a of n copies, over 2**bits, each too small by less than 2."""
    if law.up == 0:
        return [(law.flat**n << bits) // law.total**n]
    precision = bits + 2 * n.bit_length() + 16
    # All weights are mantissa * 2**exponent; the first is (down / total)**n.
    first, whole = law.down**n, law.total**n
    exponent = first.bit_length() - whole.bit_length() - precision
    before, weight = 0, (first << -exponent) // whole
    below = [(weight, exponent)]
    for i in range(n):
        step = (n - i) * law.flat * weight + (2 * n - i + 1) * law.up * before
        before, weight = weight, step // ((i + 1) * law.down)
        # One exponent for both, so that the shorter one that is not 0 has `precision` bits; the longer one has more.
        excess = min(number.bit_length() for number in (before, weight) if number) - precision
        before, weight = _shifted(before, -excess), _shifted(weight, -excess)
        exponent += excess
        below.append((weight, exponent))
    above = []
    ratio, ratio_exponent = 1 << precision, -precision
    for weight, exponent in reversed(below[:-1]):
        ratio = ratio * law.up // law.down
        excess = ratio.bit_length() - precision
        ratio, ratio_exponent = _shifted(ratio, -excess), ratio_exponent + excess
        above.append((weight * ratio, exponent + ratio_exponent))
    return [_shifted(mantissa, exponent + bits) for mantissa, exponent in below + above]


def _log(share: int) -> float:
    return math.log(share) if share else -math.inf


def _shifted(number: int, places: int) -> int:
    return number << places if places >= 0 else number >> -places


def _log_above(top: int, bottom: int) -> float:
    """Return a double not below ln(top / bottom), top > bottom > 0, by the leading 250 bits of each."""
    shift = max(0, bottom.bit_length() - 250)
    return log_above((top >> shift) + 1, bottom >> shift) if shift else log_above(top, bottom)
