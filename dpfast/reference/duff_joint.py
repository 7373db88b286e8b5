"""Slow twins of joint quantiles, triangles and the piecewise Laplace law: by listing everything, in fractions.

Nothing here is fast or private; it says what the laws are.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise, product

__all__ = ["joint_law", "local_sensitivities", "piecewise_distances", "triangles"]


def joint_law(rows: Sequence[int], size: int, quantiles: Sequence[Fraction], ratio: float) -> dict[tuple[int, ...], float]:
    """Probability of each sorted outcome: weight ratio^-u over all m-tuples of places 0 .. size - 1."""
    n, ends = len(rows), [Fraction(0), *quantiles, Fraction(1)]
    targets = [(high - low) * n for low, high in pairwise(ends)]
    weights: dict[tuple[int, ...], float] = {}
    for places in product(range(size), repeat=len(quantiles)):
        outcome = tuple(sorted(places))
        counts = [0, *(sum(row <= place for row in rows) for place in outcome), n]
        distance = sum(
            (abs(high - low - target) for low, high, target in zip(counts, counts[1:], targets, strict=False)), Fraction(0)
        )
        weights[outcome] = weights.get(outcome, 0.0) + ratio ** float(distance)
    total = sum(weights.values())
    return {outcome: weight / total for outcome, weight in weights.items()}


def piecewise_distances(lows: Sequence[int], highs: Sequence[int], size: int, parts: int) -> list[int]:
    """h of each grid point from the envelopes L_k and U_k; points beyond both count as one more step."""
    found = []
    for x in range(size):
        ends = [end - highs[0] for end in highs] if x >= highs[0] else [lows[0] - end for end in lows]
        place = abs(x - highs[0])
        h = (len(ends) - 1) * parts
        for k in range(len(ends) - 1):
            if place == 0:
                h = 0
                break
            if ends[k] < place <= ends[k + 1]:
                h = k * parts + parts * (place - ends[k]) // (ends[k + 1] - ends[k])
                break
        found.append(h)
    return found


def triangles(edges: Sequence[tuple[int, int]], n: int) -> int:
    """Triangles of a graph, duplicates and loops left out."""
    near = _neighbours(edges, n)
    return sum(j in near[i] and k in near[i] and k in near[j] for i, j, k in combinations(range(n), 3))


def local_sensitivities(edges: Sequence[tuple[int, int]], n: int, last: int) -> list[int]:
    """LS^(s) for s = 0 .. last by the formula over all pairs."""
    near = _neighbours(edges, n)
    pairs = [(len(near[i] & near[j]), len((near[i] ^ near[j]) - {i, j})) for i, j in combinations(range(n), 2)]
    return [max(min(a + (s + min(s, b)) // 2, n - 2) for a, b in pairs) for s in range(last + 1)]


def _neighbours(edges: Sequence[tuple[int, int]], n: int) -> list[set[int]]:
    near: list[set[int]] = [set() for _ in range(n)]
    for i, j in edges:
        if i != j:
            near[i].add(j)
            near[j].add(i)
    return near
