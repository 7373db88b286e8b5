from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

SPLIT_MAX: Final[int]

def isas() -> list[str]: ...
def isa() -> str: ...
def set_isa(name: str | None) -> None: ...

@final
class ResponseLaw:
    k: int
    step: int
    uniform: bool
    accept_unknown: bool
    def __init__(self, k: int, step: int, uniform: bool, accept_unknown: bool) -> None: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def split(self) -> bool: ...
    def first(
        self,
        codes: NDArray[Any],
        high: NDArray[np.uint16],
        out: NDArray[Any],
        rows: NDArray[np.uint32],
        trues: NDArray[np.uint32],
    ) -> int: ...
    def settle(
        self,
        high: NDArray[np.uint16],
        low: NDArray[np.uint8],
        rows: NDArray[np.uint32],
        trues: NDArray[np.uint32],
        out: NDArray[Any],
    ) -> None: ...
    def whole(self, codes: NDArray[Any], words: NDArray[np.uint64], out: NDArray[Any]) -> None: ...

def counter_blocks(plane: int, first: int, rows: NDArray[np.uint32], blocks: NDArray[np.uint8]) -> None: ...
def id_integer_blocks(
    ids: NDArray[np.uint64], is_unsigned: bool, tag: int, codes: NDArray[np.uint32], blocks: NDArray[np.uint8]
) -> None: ...
def id_bytes_first(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], tag: int, codes: NDArray[np.uint32], blocks: NDArray[np.uint8]
) -> None: ...
def id_bytes_next(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    block: int,
    state: NDArray[np.uint8],
    active: NDArray[np.uint32],
    blocks: NDArray[np.uint8],
    reached: NDArray[np.uint32],
) -> int: ...
def blocks_scatter(blocks: NDArray[np.uint8], rows: NDArray[np.uint32], state: NDArray[np.uint8]) -> None: ...
def block_words(blocks: NDArray[np.uint8], words: NDArray[np.uint64]) -> None: ...
def remap(
    indices: NDArray[Any],
    validity: NDArray[np.uint8] | None,
    offset: int,
    table: NDArray[Any],
    null_code: int,
    out: NDArray[Any],
) -> None: ...
