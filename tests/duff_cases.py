"""Words on tapes, levels point by point, and small data sets for the tests of Duff."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfast.duff import Levels

__all__ = ["TapeWords", "data_sets", "dense"]


class TapeWords:
    """The first words of the indices from a list (0 beyond), the words behind them from a seed."""

    def __init__(self, first: Any, seed: int = 0) -> None:
        self.first = [int(word) for word in first]
        self.seed = seed
        self.parts_read = 0

    def words(self, first: int, n: int) -> NDArray[np.uint64]:
        taken = self.first[first : first + n]
        return np.array(taken + [0] * (n - len(taken)), np.uint64)

    def more(self, index: int, part: int) -> tuple[int, int]:
        self.parts_read += 1
        block = hashlib.blake2b(f"{self.seed} {index} {part}".encode(), digest_size=16).digest()
        return int.from_bytes(block[:8], "little"), int.from_bytes(block[8:], "little")

    def word(self, index: int, place: int) -> int:
        """As `dpfast.reference.duff.race` asks for it."""
        return self.first[index] if place == 0 else self.more(index, (place + 1) // 2)[(place + 1) % 2]


def dense(levels: Levels, size: int) -> list[int]:
    """The distance of each grid point; every one must lie in one entry."""
    found: list[int | None] = [None] * size
    for lower, upper, distance in zip(levels.lower.tolist(), levels.upper.tolist(), levels.distance.tolist(), strict=True):
        for point in range(lower, upper + 1):
            assert found[point] is None
            found[point] = distance
    assert None not in found
    return [int(distance) for distance in found if distance is not None]


def data_sets(most_rows: int, points: int) -> Iterator[tuple[int, ...]]:
    """The counts of all data sets of so many rows or fewer."""
    for n in range(most_rows + 1):
        for rows in itertools.combinations_with_replacement(range(points), n):
            yield tuple(rows.count(point) for point in range(points))
