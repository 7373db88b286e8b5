"""Numbers, choices and texts out of a string of bytes, so that what a fuzzer changes changes one of them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

__all__ = ["Bytes"]

T = TypeVar("T")


class Bytes:
    """A string of bytes that is read from its front; behind its end there are zeros."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def take(self, n: int) -> bytes:
        taken, self._data = self._data[:n], self._data[n:]
        return taken.ljust(n, b"\0")

    def rest(self) -> bytes:
        taken, self._data = self._data, b""
        return taken

    def number(self, low: int, high: int) -> int:
        """An integer from low to high, of one byte."""
        return low + self.take(1)[0] % (high - low + 1)

    def choice(self, options: Sequence[T]) -> T:
        return options[self.number(0, len(options) - 1)]

    def double(self) -> float:
        """Any double: of all bits, or one of the sizes that occur."""
        usual = [0.0, 1.0, 0.5, 0.1, 3.0, 1e-9, 30.0, 1e300, 5e-324, float("inf"), float("nan"), -1.0, -0.0]
        place = self.number(0, 2 * len(usual))
        return usual[place] if place < len(usual) else float(struct.unpack("<d", self.take(8))[0])

    def array(self, n: int, dtypes: Sequence[Any]) -> np.ndarray:
        """An array of n entries of one of the types, of all bits."""
        dtype = np.dtype(self.choice(dtypes))
        return np.frombuffer(self.take(n * dtype.itemsize), dtype)
