from typing import Any, Final, Self, final

import numpy as np
from numpy.typing import NDArray

BLOCK: Final[int]

def weights_skip(w: int, decay: int, steps: int) -> int: ...
def weights_fill(w: int, decay: int, out: NDArray[np.uint64]) -> int: ...

@final
class Race:
    def __new__(cls, capacity: int = 64) -> Self: ...
    def masses(self, measures: NDArray[np.int64], weights: NDArray[np.uint64], words: NDArray[np.uint64], base: int) -> None: ...
    def logs(self, logs: NDArray[np.float64], words: NDArray[np.uint64], base: int) -> None: ...
    def candidates(self) -> list[int]: ...

def masses_total(measures: NDArray[np.int64], weights: NDArray[np.uint64], total: int = 0) -> int: ...
def masses_find(
    measures: NDArray[np.int64],
    weights: NDArray[np.uint64],
    base: int,
    before: int,
    targets: NDArray[np.uint64],
    entries: NDArray[np.uint64],
    rests: NDArray[np.uint64],
) -> tuple[int, int]: ...
def blocks(logs: NDArray[np.float64], maxima: NDArray[np.float64], sums: NDArray[np.float64], plain: bool = False) -> bool: ...
def ln(x: float) -> float: ...
def exponential(word: int) -> tuple[float, float]: ...

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
    values: NDArray[Any], scale: float, first: int, last: int, strange: int, out: NDArray[np.uint32], plain: bool = False
) -> int: ...
def code_integers(values: NDArray[Any], least: int, table: NDArray[np.uint32], other: int, codes: NDArray[np.uint32]) -> None: ...
def group_count(codes: NDArray[np.uint32], counts: NDArray[np.uint64]) -> None: ...
def group_scatter(codes: NDArray[np.uint32], values: NDArray[Any], places: NDArray[np.uint64], out: NDArray[Any]) -> None: ...
def group_spread(
    codes: NDArray[np.uint32], values: NDArray[np.uint32], shift: int, places: NDArray[np.uint64], out: NDArray[np.uint64]
) -> None: ...
def group_settle(pairs: NDArray[np.uint64], places: NDArray[np.uint64], out: NDArray[np.uint32]) -> None: ...

@final
class Windows:
    size: int
    def __new__(cls, size: int) -> Self: ...
    def put(self, place: int, points: NDArray[np.int64], upto: NDArray[np.uint64], below: int, n: int) -> None: ...
    def fill(
        self,
        grouped: NDArray[Any],
        starts: NDArray[np.uint64],
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

JOINT_BLOCK: Final[int]

@final
class JointPowers:
    most: int
    def __new__(cls, ratio: float, span: int, most: int, low: NDArray[np.float64], high: NDArray[np.float64]) -> Self: ...
    def first(self, whole: int, near: float, far: float, out: NDArray[np.float64], start: int, stop: int) -> None: ...
    def block_sums(
        self,
        weights: NDArray[np.float64],
        ahead: int,
        stop: int,
        whole: int,
        near: float,
        far: float,
        span: int,
        first: int,
        out: NDArray[np.float64],
    ) -> None: ...

@final
class JointRow:
    def __new__(
        cls,
        powers: JointPowers,
        before: NDArray[np.float64],
        after: NDArray[np.float64],
        whole: int,
        near: float,
        far: float,
        scratch: NDArray[np.float64],
        totals: NDArray[np.float64],
    ) -> Self: ...
    def advance(self, stop: int) -> None: ...

def joint_weights(
    widths: NDArray[np.float64],
    sums: list[NDArray[np.float64]],
    stays: NDArray[np.float64],
    before: NDArray[np.float64] | None,
    weights: NDArray[np.float64],
    crowded: NDArray[np.uint8],
    start: int,
    stop: int,
) -> None: ...

@final
class TriangleGraph:
    def __new__(
        cls,
        offsets: NDArray[np.int64],
        around: NDArray[np.int32],
        marks: NDArray[np.uint32],
        shared: NDArray[np.int32],
        touched: NDArray[np.int32],
    ) -> Self: ...
    def triangles(self, start: int, stop: int) -> int: ...
    def stairs(self, stairs: NDArray[np.int64], start: int, stop: int) -> None: ...
    def strangers(self, stairs: NDArray[np.int64], start: int, stop: int) -> bool: ...
