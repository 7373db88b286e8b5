"""What every format of a target has in common."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfast.etl.jobs import Background

__all__ = ["CERTIFICATE_KEY", "Target", "certificate_text"]

CERTIFICATE_KEY = "dpfast"


class Target(Protocol):
    """A file that grows; a context manager. Leaving the block without `finish` abandons it."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def add(self, batch: pa.RecordBatch, behind: Background) -> None:
        """Take the next rows, as `FilePlan.sanitise` gives them."""

    def finish(self, behind: Background) -> None:
        """Write what is left, and the end of the file."""


def certificate_text(certificate: Mapping[str, Any]) -> str:
    """Return a certificate as it stands in a file: JSON, the same for the same certificate."""
    return json.dumps(certificate, sort_keys=True, separators=(",", ":"))
