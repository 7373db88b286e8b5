from typing import Final, Self, final

import numpy as np
from numpy.typing import NDArray

KEY_ONE: Final[int]

def weight(epsilon: float) -> float: ...
def weights(epsilons: NDArray[np.float64], out: NDArray[np.float64]) -> None: ...
def steps(
    keys: NDArray[np.uint64], weights: NDArray[np.float64], deltas: NDArray[np.float64], out: NDArray[np.uint64]
) -> None: ...
def along(key: int, weights: NDArray[np.float64], deltas: NDArray[np.float64]) -> int: ...
def edges_count(
    u: NDArray[np.int32],
    v: NDArray[np.int32],
    epsilons: NDArray[np.float64],
    deltas: NDArray[np.float64] | None,
    counts: NDArray[np.int64],
) -> tuple[int, int]: ...
def edges_scatter(
    u: NDArray[np.int32],
    v: NDArray[np.int32],
    epsilons: NDArray[np.float64],
    deltas: NDArray[np.float64] | None,
    cursors: NDArray[np.int64],
    indices: NDArray[np.int32],
    arc_epsilons: NDArray[np.float64],
    arc_deltas: NDArray[np.float64] | None,
) -> None: ...
def rows_transpose(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    epsilons: NDArray[np.float64],
    deltas: NDArray[np.float64] | None,
    cursors: NDArray[np.int64],
    new_indices: NDArray[np.int32],
    new_epsilons: NDArray[np.float64],
    new_deltas: NDArray[np.float64] | None,
) -> None: ...
def rows_merge(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    epsilons: NDArray[np.float64],
    deltas: NDArray[np.float64] | None,
) -> int: ...

@final
class Arcs:
    def __new__(
        cls,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        weights: NDArray[np.float64],
        deltas: NDArray[np.float64] | None,
        colours: NDArray[np.uint8] | None = None,
    ) -> Self: ...
    def by_heap(self, words: NDArray[np.uint64]) -> None: ...
    def by_buckets(self, words: NDArray[np.uint64], shift: int, chunks: int = 0) -> int: ...
    def boundary(self, out: NDArray[np.uint8]) -> None: ...
    def cross(
        self, is_given: NDArray[np.uint8], given: NDArray[np.uint64], words: NDArray[np.uint64], missing: NDArray[np.uint8]
    ) -> None: ...
    def unproved(self, keys: NDArray[np.uint64], row: int, arc: int, out: NDArray[np.int64]) -> tuple[int, int, int]: ...
