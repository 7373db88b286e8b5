"""Cells for tests of the binding."""

from __future__ import annotations

from dpfast import _core

__all__ = ["pending_rows"]


def pending_rows(n: int) -> _core.Pending:
    """List rows 0 .. n-1 as pending."""
    pending = _core.Pending(n)
    for row in range(n):
        pending.add(row, 0, 0)
    return pending
