"""How a budget is split over the columns of a row, and what it is in zero-concentrated differential privacy.

**Split.** A column of k = m + 1 categories that spends e changes a row with probability m / (e^e + m) = s(ln m - e), where
s(y) = 1 / (1 + e^-y): concave in e up to ln m, convex above. So equal shares are wrong for large alphabets. At an optimum with
sum e_j = epsilon (Holohan, Leith & Mason, arXiv 1505.07254, give each term):

- the columns with e_j > 0 have one slope, w_j s (1 - s) = lambda;
- at most one of them is on its concave side: of two, one could give to the other at a gain of second order;
- the others get nothing and answer uniformly; which ones is no matter of order by weight or size.

So an optimum belongs to a family: some columns on their convex sides at a common slope lambda, and one with what is left. Up to
`FEW` columns all families are looked at, over a grid of lambda, and the best ones settled. For more, the least sum over a grid
of `CELLS` shares is found first, by dynamic programming. An optimum rounded down to that grid loses at most w_j / 4 times a cell
in each column, so this is within epsilon sum(w) / (4 CELLS) of the least value; the families near its support are then tried.

**Variance.** The estimate of a share has a variance of about w_j / g_j^2, g = (e^e - 1) / (e^e + m). Since
1 / g = 1 + k / (e^e - 1), that is convex: one slope for all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpfast._rounding import float_above, float_below, integer, real_number, sum_up
from dpfast.errors import ArgumentError, ArgumentTypeError

__all__ = ["allocate", "zcdp_of_exponential"]

FEW = 8
MOST_CATEGORIES = 1 << 64
CELLS = 1000
SLOPES = 1000  # at which points of one slope are looked for
REFINED = 40  # the best of these are settled by bisection
HALVINGS = 120

Doubles = NDArray[np.float64]


def allocate(
    sizes: Iterable[int],
    *,
    epsilon: float,
    weights: Iterable[float] | None = None,
    minimise: Literal["errors", "variance"] = "errors",
) -> list[float]:
    """Split an epsilon over the columns of a row, for randomised response, at the least cost.

    Parameters
    ----------
    sizes : iterable of int
        Number of categories of each column, at least 1.
    epsilon : float
        What all columns spend together; finite, at least 0.
    weights : iterable of float, optional
        How much each column matters, at least 0; all alike by default.
    minimise : {"errors", "variance"}
        "errors": the weighted expected number of changed cells in a row, sum of w (k-1) / (e^epsilon + k - 1). "variance": the
        weighted variance of estimated shares, sum of w / g^2 with g = (e^epsilon - 1) / (e^epsilon + k - 1).

    Returns
    -------
    list of float
        An epsilon for each column. Their exact sum is at most `epsilon`. Under "errors" some columns may get 0: they answer
        uniformly, and it is better to drop them. Columns of one category or of weight 0 get 0.

    Raises
    ------
    ArgumentTypeError, ArgumentError

    Notes
    -----
    Nothing here looks at data; sizes, weights and epsilon are public. **Privacy guarantee.** The columns compose to at most
    `epsilon` (``replace_one``, all columns of a row may change), whatever the split. **Optimality.** "variance" and up to 8
    columns under "errors": the least value up to rounding. More columns: at most ``epsilon * sum(weights) / 4000`` above it.
    **Cost.** A few tenths of a second for 8 columns or 50.

    References
    ----------
    .. [1] N. Holohan, D. Leith, O. Mason, "Differentially private response mechanisms on categorical data", arXiv 1505.07254.

    Examples
    --------
    >>> allocate([100, 100], epsilon=4.0)       # 1.635 changed cells a row; 1.861 if both had 2
    [4.0, 0.0]
    >>> [round(share, 6) for share in allocate([4, 2], epsilon=4.0)]
    [2.549306, 1.450694]
    """
    if isinstance(sizes, (str, bytes)) or not isinstance(sizes, Iterable):
        raise ArgumentTypeError(f"sizes must be a list of integers, not {type(sizes).__name__}")
    counts = [integer(size, "each size", minimum=1) for size in sizes]
    if max(counts, default=1) > MOST_CATEGORIES:
        raise ArgumentError("each size must be at most 2**64, above which no mechanism tells categories apart")
    total = real_number(epsilon, "epsilon")
    if total == math.inf:
        raise ArgumentError("epsilon must be finite; a column that needs no noise takes no part in the split")
    share = float_below(total)
    loads = _weights(weights, len(counts))
    if minimise not in ("errors", "variance"):
        raise ArgumentError('minimise must be "errors" or "variance"')
    shares = [0.0] * len(counts)
    used = [j for j, (k, w) in enumerate(zip(counts, loads, strict=True)) if k > 1 and w > 0]
    if share == 0.0 or not used:
        return shares
    # The scale of the weights changes nothing; with the largest at 1 no product leaves the doubles, nor with the least at 1e-100.
    w = np.maximum(np.array([loads[j] for j in used]) / max(loads), 1e-100)
    m = np.array([float(counts[j] - 1) for j in used])
    split = _Errors(w, m, share).best() if minimise == "errors" else _least_variance(w, m, share)
    for j, part in zip(used, _at_most(split.tolist(), share), strict=True):
        shares[j] = part
    return shares


def zcdp_of_exponential(epsilon: float) -> float:
    """Return the rho of the exponential mechanism in zero-concentrated differential privacy, epsilon^2 / 8, rounded up.

    Parameters
    ----------
    epsilon : float
        Parameter of an exponential mechanism, weights e^(epsilon u / (2 sensitivity)); at least 0.

    Returns
    -------
    float
        The smallest double not below epsilon^2 / 8.

    Raises
    ------
    ArgumentTypeError, ArgumentError

    Notes
    -----
    **Privacy guarantee.** For the neighbours of the mechanism. Its losses lie in an interval of length epsilon ("bounded
    range"), which a pure (epsilon, 0) statement alone does not give: that is epsilon^2 / 2 only.

    References
    ----------
    .. [1] M. Cesar, R. Rogers, "Bounding, concentrating, and truncating: unifying privacy loss composition for data analytics",
       ALT 2021.

    Examples
    --------
    >>> zcdp_of_exponential(2.0)
    0.5
    """
    number = real_number(epsilon, "epsilon")
    return math.inf if isinstance(number, float) else float_above(number * number / 8)


def _weights(weights: Iterable[float] | None, n: int) -> list[float]:
    if weights is None:
        return [1.0] * n
    if isinstance(weights, (str, bytes)) or not isinstance(weights, Iterable):
        raise ArgumentTypeError(f"weights must be a list of numbers, not {type(weights).__name__}")
    loads = [real_number(weight, "each weight") for weight in weights]
    if len(loads) != n:
        raise ArgumentError("weights must have one number for each of the sizes")
    if math.inf in loads:
        raise ArgumentError("each weight must be finite")
    return [float_below(load) for load in loads]


def _at_most(shares: list[float], total: float) -> list[float]:
    """Lower shares until their exact sum is at most the total."""
    shares = [min(max(share, 0.0), total) for share in shares]
    while sum_up(shares) > total:
        j = max(range(len(shares)), key=shares.__getitem__)
        over = float_above(sum(map(Fraction, shares), Fraction(0)) - Fraction(total))
        shares[j] = max(0.0, math.nextafter(shares[j] - over, -math.inf))
    return shares


def _bisect(f: Callable[[float], float], low: float, high: float) -> float:
    """Return a place where f, positive at low and not at high, changes sign."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return (low + high) / 2


class _Errors:
    """The sum of w s(L - e), L = ln m, over columns that share a total."""

    def __init__(self, w: Doubles, m: Doubles, total: float) -> None:
        self.w, self.bend, self.total = w, np.log(m), total

    def value(self, shares: Doubles) -> float:
        return float(np.sum(_cost(self.w, self.bend, shares)))

    def best(self) -> Doubles:
        """Return the best shares found."""
        n = self.w.size
        coarse = self.grid()
        if n <= FEW:
            families = [
                (set(others), j)
                for size in range(n)
                for others in combinations(range(n), size)
                for j in range(n)
                if j not in others
            ]
        else:
            support = {int(j) for j in np.flatnonzero(coarse)}
            ends = sorted(support, key=lambda j: float(coarse[j] - self.bend[j]))[:12]
            families = [(support - {j}, j) for j in ends]
            families += [(support - {i, j}, j) for i in ends for j in ends if i != j]
        split = min([coarse, *self.refined(families)], key=self.value)
        # What is left over, by rounding or where all costs are the same double, goes where it helps most.
        distance = np.abs(split - self.bend)
        steepest = int(np.argmax(np.log(self.w) - distance - 2 * np.log1p(np.exp(-distance))))
        split[steepest] += max(0.0, self.total - float(split.sum()))
        return split

    def refined(self, families: list[tuple[set[int], int]]) -> list[Doubles]:
        """Return the best points of one slope, of families (others on their convex sides, one column with what is left)."""
        n = self.w.size
        tops = np.log(self.w / 4)
        low = float(np.min(tops - np.maximum(0.0, self.total - self.bend))) - 1.0
        # Each column has convex shares up to its own steepest slope: these ends belong to the grid.
        places = np.sort(np.append(np.linspace(low, float(tops.max()), SLOPES), tops))
        columns = np.arange(n)[:, None]
        shares = self.convex_share(places, columns)
        costs = _cost(self.w[:, None], self.bend[:, None], shares)
        shares[places > tops[:, None]] = np.inf
        idle = _cost(self.w, self.bend, np.zeros(n))
        best = []
        for number, (others, j) in enumerate(families):
            members = sorted(others)
            rest = self.total - shares[members].sum(axis=0)
            spent = costs[members].sum(axis=0) + _cost(self.w[j], self.bend[j], np.maximum(rest, 0.0))
            value = np.where(rest >= 0, spent + idle.sum() - idle[[*members, j]].sum(), np.inf)
            place = int(value.argmin())
            best.append((float(value[place]), number, place))
        found = []
        for value_there, number, place in sorted(best)[:REFINED]:
            if value_there < math.inf:
                others, j = families[number]
                near = places[max(0, place - 1) : place + 2].tolist()
                found.extend(self.settled(sorted(others), j, float(places[place]), near))
        return found

    def settled(self, others: list[int], j: int, y: float, near: list[float]) -> list[Doubles]:
        """Return the shares at the logarithm y of a slope, and those between some near ones where column j has it too."""

        def rest(y: float) -> float:
            return self.total - float(self.convex_share(np.array(y), others).sum())

        def gap(y: float) -> float:
            distance = abs(rest(y) - float(self.bend[j]))
            return math.log(self.w[j]) - distance - 2 * math.log1p(math.exp(-distance)) - y

        places = [y]
        for low, high in pairwise(near) if others else ():
            if (gap(low) > 0) != (gap(high) > 0):
                places.append(_bisect(gap, low, high) if gap(low) > 0 else _bisect(gap, high, low))
        found = []
        for place in places:
            split = np.zeros(self.w.size)
            split[others] = self.convex_share(np.array(place), others)
            split[j] = self.total - float(split.sum())
            if split[j] >= 0:
                found.append(split)
        return found

    def convex_share(self, log_slope: Doubles, columns: Sequence[int] | NDArray[np.int64]) -> Doubles:
        """Return shares on the convex side at which columns have a slope, at most w / 4."""
        index = np.asarray(columns, dtype=np.int64)
        # Of the two s with s (1 - s) = lambda / w, the one above 1/2; the share is L + ln(s / (1 - s)).
        log_ratio = np.minimum(log_slope - np.log(self.w[index]), math.log(0.25))
        s = (1 + np.sqrt(np.maximum(0.0, 1 - 4 * np.exp(log_ratio)))) / 2
        shares: Doubles = self.bend[index] + 2 * np.log(s) - log_ratio
        return shares

    def grid(self) -> Doubles:
        """Return the best shares among multiples of total / CELLS."""
        places = self.total * np.arange(CELLS + 1) / CELLS
        least = np.zeros(CELLS + 1)
        chosen = []
        for weight, bend in zip(self.w, self.bend, strict=True):
            cost = _cost(weight, bend, places)
            new, choice = least + cost[0], np.zeros(CELLS + 1, np.int64)
            for cells in range(1, CELLS + 1):
                trial = least[: CELLS + 1 - cells] + cost[cells]
                better = trial < new[cells:]
                new[cells:][better] = trial[better]
                choice[cells:][better] = cells
            least = new
            chosen.append(choice)
        left, cells_of = CELLS, []
        for choice in reversed(chosen):
            cells_of.append(int(choice[left]))
            left -= cells_of[-1]
        split: Doubles = places[np.array(cells_of[::-1])]
        return split


def _cost(w: Any, bend: Any, shares: Doubles) -> Doubles:
    costs: Doubles = w * np.exp(-np.logaddexp(0.0, shares - bend))
    return costs


def _least_variance(w: Doubles, m: Doubles, total: float) -> Doubles:
    """Return the shares at which all columns have one slope 2 w k (1 + k y) y (1 + y), y = 1 / (e^e - 1), and the given sum."""
    k = m + 1

    def shares(log_slope: float) -> Doubles:
        # In y the slope rises from 0, so bisection over ln y finds it for all columns at once.
        low, high = np.full(w.size, -800.0 - total), np.full(w.size, 800.0)
        goal = log_slope - np.log(2 * w * k)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            is_low = np.logaddexp(0.0, np.log(k) + middle) + middle + np.logaddexp(0.0, middle) < goal
            low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
        # e = ln(1 + 1 / y)
        parts: Doubles = np.logaddexp(0.0, -(low + high) / 2)
        return parts

    log_slope = _bisect(lambda y: float(shares(y).sum()) - total, -2000.0 - total, 2500.0)
    split = shares(log_slope)
    return split * (total / float(split.sum()))
