"""Cells for tests of the binding."""

from __future__ import annotations

from dpfast._core import rows as core

__all__ = ["pending_rows"]


def pending_rows(n: int) -> core.Pending:
    """List rows 0 .. n-1 as pending."""
    pending = core.Pending(n)
    for row in range(n):
        pending.add(row, 0, 0)
    return pending
