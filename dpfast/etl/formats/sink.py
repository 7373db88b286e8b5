"""A binary file that outlives its writers."""

from __future__ import annotations

from typing import Any, BinaryIO

__all__ = ["OpenSink"]


class OpenSink:
    """Passes bytes on to a file until it is abandoned; closing it does nothing.

    Writers of Arrow close what they write to, and flush when they are collected, also after a failure.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file: BinaryIO | None = file
        self.closed = False

    def write(self, data: Any) -> int:
        """Write all of `data`, or nothing once abandoned."""
        size = memoryview(data).nbytes
        if self._file is not None:
            self._file.write(data)
        return size

    def abandon(self) -> None:
        """Let go of the file: what is written from here on is dropped."""
        self._file = None

    def flush(self) -> None:
        """Nothing: whoever owns the file flushes it."""

    def close(self) -> None:
        """Nothing: whoever owns the file closes it."""

    def writable(self) -> bool:
        """Yes."""
        return True

    def readable(self) -> bool:
        """No."""
        return False

    def seekable(self) -> bool:
        """No."""
        return False
