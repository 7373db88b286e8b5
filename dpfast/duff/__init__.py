"""Duff: the exponential mechanism on dataset distance, for medians, quantiles, modes, means and any statistic with `Levels`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfast.duff.grid import Grid
    from dpfast.duff.levels import Levels
    from dpfast.duff.sampling import log_probabilities, sample

# Where each public name lives; modules load on first use.
_HOMES = {
    "Grid": "dpfast.duff.grid",
    "Levels": "dpfast.duff.levels",
    "log_probabilities": "dpfast.duff.sampling",
    "sample": "dpfast.duff.sampling",
}

__all__ = ["Grid", "Levels", "log_probabilities", "sample"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dpfast.duff' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
