"""A mechanism on a graph from its definition: all paths, one by one, in fractions.

Graphs are lists of edges (u, v, epsilon, delta); probabilities are of answer 1. e^epsilon is a fraction within 10^-60 of it.
"""

from __future__ import annotations

import decimal
from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

__all__ = ["extension", "holds", "is_feasible", "lower", "lower_law", "paths", "upper", "upper_law"]

Edge = tuple[Hashable, Hashable, float, float]

DIGITS = 80


@lru_cache(maxsize=1024)
def _power(epsilon: float) -> Fraction:
    context = decimal.Context(prec=DIGITS, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
    return Fraction(context.exp(decimal.Decimal(epsilon)))


def upper_law(x: Fraction, epsilon: float, delta: float) -> Fraction:
    """The largest p next to x.

    Examples
    --------
    >>> upper_law(Fraction(1, 4), 0.0, 0.25)
    Fraction(1, 2)
    """
    power, d = _power(epsilon), Fraction(delta)
    return min(Fraction(1), power * x + d, 1 - (1 - d - x) / power)


def lower_law(x: Fraction, epsilon: float, delta: float) -> Fraction:
    """The smallest p next to x."""
    power, d = _power(epsilon), Fraction(delta)
    return max(Fraction(0), (x - d) / power, 1 - d - power * (1 - x))


def holds(edges: Sequence[Edge], p: Mapping[Hashable, Fraction], slack: Fraction = Fraction(0)) -> bool:
    """Whether all four inequalities hold on every edge, up to a slack."""
    for one, other, epsilon, delta in edges:
        power, d = _power(epsilon), Fraction(delta)
        for u, v in ((one, other), (other, one)):
            if p[u] > power * p[v] + d + slack or 1 - p[u] > power * (1 - p[v]) + d + slack:
                return False
    return True


def paths(edges: Sequence[Edge], first: Hashable, last: Hashable) -> Iterator[list[tuple[float, float]]]:
    """The laws along every path from first to last that meets no vertex twice."""
    arcs: dict[Hashable, list[tuple[Hashable, float, float]]] = {}
    for u, v, epsilon, delta in edges:
        arcs.setdefault(u, []).append((v, epsilon, delta))
        arcs.setdefault(v, []).append((u, epsilon, delta))

    def go(at: Hashable, seen: frozenset[Hashable], laws: list[tuple[float, float]]) -> Iterator[list[tuple[float, float]]]:
        if at == last:
            yield laws
            return
        for other, epsilon, delta in arcs.get(at, ()):
            if other not in seen:
                yield from go(other, seen | {other}, [*laws, (epsilon, delta)])

    yield from go(first, frozenset([first]), [])


def upper(edges: Sequence[Edge], fixed: Mapping[Hashable, Fraction], vertex: Hashable) -> Fraction:
    """The largest p that fixed values leave to a vertex: the least over all paths.

    Examples
    --------
    >>> upper([("a", "b", 0.0, 0.25), ("b", "c", 0.0, 0.25)], {"a": Fraction(1, 4)}, "c")
    Fraction(3, 4)
    """
    least = Fraction(1)
    for seed, value in fixed.items():
        for laws in paths(edges, seed, vertex):
            x = value
            for epsilon, delta in laws:
                x = upper_law(x, epsilon, delta)
            least = min(least, x)
    return least


def lower(edges: Sequence[Edge], fixed: Mapping[Hashable, Fraction], vertex: Hashable) -> Fraction:
    """The smallest p that fixed values leave to a vertex: the largest over all paths."""
    most = Fraction(0)
    for seed, value in fixed.items():
        for laws in paths(edges, seed, vertex):
            x = value
            for epsilon, delta in laws:
                x = lower_law(x, epsilon, delta)
            most = max(most, x)
    return most


def is_feasible(edges: Sequence[Edge], fixed: Mapping[Hashable, Fraction], slack: Fraction = Fraction(0)) -> bool:
    """Whether some private mechanism has the fixed values, up to a slack: no fixed value is improved."""
    return all(upper(edges, fixed, vertex) >= value - slack for vertex, value in fixed.items())


def extension(
    edges: Sequence[Edge], query: Mapping[Hashable, int], fixed: Mapping[Hashable, Fraction]
) -> dict[Hashable, Fraction]:
    """The best mechanism with the fixed values, which must be feasible and hold an end of every edge across the boundary."""
    return {vertex: (upper if right == 1 else lower)(edges, fixed, vertex) for vertex, right in query.items()}
