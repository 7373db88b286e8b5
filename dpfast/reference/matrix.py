"""The law of a parent matrix in integers: each row gives category x its words, in order of x.

Privacy is a matter of pairs of rows: (epsilon, delta) holds if and only if for all rows p and q the sum over x of
max(0, p[x] - e**epsilon q[x]) is at most delta times the number of words (`dpfast.reference.response.worst_delta`).

References
----------
.. [1] N. Holohan, D. J. Leith, O. Mason, Differentially private response mechanisms on categorical data,
   arXiv 1505.07254.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain, combinations

__all__ = ["decide", "pieces", "worst_events", "worst_ratio"]


def decide(word: int, row: Sequence[int]) -> int:
    """Return the category that a word gives in a row.

    Examples
    --------
    >>> [decide(word, [2, 0, 3]) for word in range(5)]
    [0, 0, 2, 2, 2]
    """
    for category, words in enumerate(row):
        if word < words:
            return category
        word -= words
    raise ValueError("the word is not below the sum of the row")


def pieces(row: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return the runs (start, stop, category) of words with one answer, in order.

    Examples
    --------
    >>> pieces([2, 0, 3])
    [(0, 2, 0), (2, 5, 2)]
    """
    runs, start = [], 0
    for category, words in enumerate(row):
        if words:
            runs.append((start, start + words, category))
            start += words
    return runs


def worst_ratio(rows: Sequence[Sequence[int]]) -> Fraction | None:
    """Return the greatest ratio of two entries of a column, e**epsilon at delta = 0; None if it is infinite.

    Examples
    --------
    >>> worst_ratio([[3, 1], [1, 3]])
    Fraction(3, 1)
    """
    worst = Fraction(1)
    for column in zip(*rows, strict=True):
        if max(column) == 0:
            continue
        if min(column) == 0:
            return None
        worst = max(worst, Fraction(max(column), min(column)))
    return worst


def worst_events(p: Sequence[int], q: Sequence[int], delta: Fraction, word_range: int) -> Fraction | None:
    """Return the least e**epsilon >= 1 at which p(A) <= e**epsilon q(A) + delta for every event A, tried one by one.

    None if no epsilon is enough. There are 2**k events: for small alphabets.

    Examples
    --------
    >>> worst_events([3, 1], [1, 3], Fraction(1, 4), 4)
    Fraction(2, 1)
    """
    worst = Fraction(1)
    for event in _subsets(range(len(p))):
        excess = sum(p[x] for x in event) - delta * word_range
        if excess > 0:
            against = sum(q[x] for x in event)
            if against == 0:
                return None
            worst = max(worst, Fraction(excess) / against)
    return worst


def _subsets(items: Iterable[int]) -> Iterable[tuple[int, ...]]:
    listed = list(items)
    return chain.from_iterable(combinations(listed, size) for size in range(len(listed) + 1))
