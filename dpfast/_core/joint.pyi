from typing import Final, Self, final

import numpy as np
from numpy.typing import NDArray

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
        spared: NDArray[np.uint8],
        n_heavy: int,
    ) -> Self: ...
    def triangles(self, start: int, stop: int) -> int: ...
    def stairs(self, stairs: NDArray[np.int64], start: int, stop: int) -> None: ...
    def strangers(self, stairs: NDArray[np.int64], start: int, stop: int) -> bool: ...
