"""What Duff is compared with: the Laplace mechanism, smooth sensitivity, propose-test-release; and the comparison."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfast.baselines.additive import laplace
    from dpfast.baselines.comparison import compare
    from dpfast.baselines.data_sets import datasets
    from dpfast.baselines.ptr import propose_test_release
    from dpfast.baselines.sensitivity import smooth_sensitivity
    from dpfast.baselines.smooth import (
        smooth_cauchy,
        smooth_laplace,
        smooth_laplace_lognormal,
        smooth_polyplace,
        smooth_student_t,
    )

# Where each public name lives; modules load on first use.
_HOMES = {
    "compare": "comparison",
    "datasets": "data_sets",
    "laplace": "additive",
    "propose_test_release": "ptr",
    "smooth_cauchy": "smooth",
    "smooth_laplace": "smooth",
    "smooth_laplace_lognormal": "smooth",
    "smooth_polyplace": "smooth",
    "smooth_sensitivity": "sensitivity",
    "smooth_student_t": "smooth",
}

__all__ = [
    "compare",
    "datasets",
    "laplace",
    "propose_test_release",
    "smooth_cauchy",
    "smooth_laplace",
    "smooth_laplace_lognormal",
    "smooth_polyplace",
    "smooth_sensitivity",
    "smooth_student_t",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dpfast.baselines' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"dpfast.baselines.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
