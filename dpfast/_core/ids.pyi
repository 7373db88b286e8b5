import numpy as np
from numpy.typing import NDArray

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
