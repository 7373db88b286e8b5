from typing import Any, Final, Self, final

import numpy as np
from numpy.typing import NDArray

SCAN_TYPES: Final[tuple[str, ...]]
SCAN_COUNTS: Final[int]
AGAIN: Final[int]
FOUND: Final[int]
FAR: Final[int]

def scan(
    kind: int,
    values: NDArray[np.uint8],
    limits: NDArray[np.uint8],
    kept: NDArray[np.uint8],
    counts: NDArray[np.uint64],
    plain: bool = False,
) -> None: ...
def snap_floats(
    values: NDArray[Any], scale: float, first: int, last: int, out: NDArray[np.uint32], plain: bool = False
) -> int: ...
def code_integers(values: NDArray[Any], least: int, table: NDArray[np.uint32], other: int, codes: NDArray[np.uint32]) -> None: ...
def group_count(codes: NDArray[np.uint32], shift: int, counts: NDArray[np.uint64]) -> None: ...
def group_scatter(codes: NDArray[np.uint32], values: NDArray[Any], places: NDArray[np.uint64], out: NDArray[Any]) -> None: ...
def group_spread(
    codes: NDArray[np.uint32],
    values: NDArray[np.uint32],
    shift: int,
    bits: int,
    places: NDArray[np.uint64],
    out: NDArray[np.uint32],
) -> None: ...
def group_order(
    keys: NDArray[np.uint32],
    edges: NDArray[np.uint64],
    shift: int,
    bits: int,
    spare: NDArray[np.uint32],
    starts: NDArray[np.uint64],
    sizes: NDArray[np.uint64],
    begin: int,
    end: int,
) -> None: ...

@final
class Windows:
    size: int
    def __new__(cls, size: int) -> Self: ...
    def put(self, place: int, points: NDArray[np.int64], upto: NDArray[np.uint64], below: int, n: int) -> None: ...
    def fill(
        self,
        grouped: NDArray[Any],
        starts: NDArray[np.uint64],
        sizes: NDArray[np.uint64],
        firsts: NDArray[np.uint64],
        lasts: NDArray[np.uint64],
        rooms: NDArray[np.uint64],
        points: NDArray[np.int64],
        upto: NDArray[np.uint64],
        begin: int,
        end: int,
    ) -> None: ...
    def window(self, place: int) -> tuple[list[int], list[int], int, int]: ...

@final
class QuantileLaw:
    def __init__(self, weights: NDArray[np.uint64], top: int, bottom: int, points: int, fixed: bool) -> None: ...
    def weight(self, distance: int) -> int: ...
    def distance(self, n: int, less: int, equal: int) -> int: ...
    def distances(self, n: int, less: NDArray[np.uint64], equal: NDArray[np.uint64], out: NDArray[np.uint64]) -> None: ...
    def totals(self, windows: Windows, totals: NDArray[np.uint64], begin: int, end: int) -> None: ...
    def draw(
        self,
        windows: Windows,
        totals: NDArray[np.uint64],
        which: NDArray[np.int64],
        words: NDArray[np.uint64],
        points: NDArray[np.int64],
        states: NDArray[np.uint8],
    ) -> None: ...
