"""Duff: the exponential mechanism on dataset distance, for medians, quantiles, modes, means and any statistic with `Levels`."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfast.duff.grid import Grid
    from dpfast.duff.joint import quantiles
    from dpfast.duff.levels import Levels
    from dpfast.duff.mean import mean
    from dpfast.duff.means import mean_levels
    from dpfast.duff.mode import mode
    from dpfast.duff.modes import mode_levels
    from dpfast.duff.orders import median_levels, quantile_levels
    from dpfast.duff.sampling import log_probabilities, sample
    from dpfast.duff.selection import median, quantile
    from dpfast.duff.triangles import count_triangles
    from dpfast.duff.utility import ErrorLaw, error_law

# Where each public name lives; modules load on first use.
_HOMES = {
    "ErrorLaw": "dpfast.duff.utility",
    "Grid": "dpfast.duff.grid",
    "Levels": "dpfast.duff.levels",
    "count_triangles": "dpfast.duff.triangles",
    "error_law": "dpfast.duff.utility",
    "log_probabilities": "dpfast.duff.sampling",
    "mean": "dpfast.duff.mean",
    "mean_levels": "dpfast.duff.means",
    "median": "dpfast.duff.selection",
    "median_levels": "dpfast.duff.orders",
    "mode": "dpfast.duff.mode",
    "mode_levels": "dpfast.duff.modes",
    "quantile": "dpfast.duff.selection",
    "quantile_levels": "dpfast.duff.orders",
    "quantiles": "dpfast.duff.joint",
    "sample": "dpfast.duff.sampling",
}

__all__ = [
    "ErrorLaw",
    "Grid",
    "Levels",
    "count_triangles",
    "error_law",
    "log_probabilities",
    "mean",
    "mean_levels",
    "median",
    "median_levels",
    "mode",
    "mode_levels",
    "quantile",
    "quantile_levels",
    "quantiles",
    "sample",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dpfast.duff' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Face(ModuleType):
    """An import of `duff.mode`, the module, must not hide `duff.mode`, the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face
