"""Differential privacy with a compiled core: sanitised tables, private medians, and optimal mechanisms on graphs of data sets."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dpfast.errors import (
    ArgumentError,
    ArgumentTypeError,
    CertificateError,
    CorruptDataError,
    DomainError,
    DpfastError,
    EntropyError,
    FileError,
    IdError,
    InfeasibleError,
    LedgerError,
    MissingPackageError,
    OutsideDomainError,
    PolicyError,
    SolverError,
    ViolationError,
)

if TYPE_CHECKING:
    from dpfast import audit, baselines, duff, etl, graph, histogram, kernels, plots, privacy, reference, report
    from dpfast._config import show_config
    from dpfast.certificates import verify
    from dpfast.change import estimate_change
    from dpfast.composition import compose, compose_bounds, composed_delta
    from dpfast.domain import Domain
    from dpfast.duff.joint import quantiles
    from dpfast.duff.mean import mean
    from dpfast.duff.mode import mode
    from dpfast.duff.race import race, race_slack
    from dpfast.duff.selection import median, quantile
    from dpfast.duff.triangles import count_triangles
    from dpfast.estimate import Estimate
    from dpfast.etl.files import sanitise_file
    from dpfast.etl.ledger import Ledger
    from dpfast.etl.report import Report
    from dpfast.exponential import ExponentialResponse
    from dpfast.matrix import MatrixResponse
    from dpfast.optimal import optimal_response
    from dpfast.policy import Policy
    from dpfast.privacy import Privacy
    from dpfast.randomness import Stream
    from dpfast.response import RandomisedResponse
    from dpfast.stratified import Stratified

__version__ = "0.1.0"

# Where each public name lives; modules load on first use, so that `import dpfast` stays cheap.
_HOMES = {
    "Domain": "dpfast.domain",
    "Estimate": "dpfast.estimate",
    "ExponentialResponse": "dpfast.exponential",
    "Ledger": "dpfast.etl.ledger",
    "MatrixResponse": "dpfast.matrix",
    "Policy": "dpfast.policy",
    "Privacy": "dpfast.privacy",
    "RandomisedResponse": "dpfast.response",
    "Report": "dpfast.etl.report",
    "Stratified": "dpfast.stratified",
    "Stream": "dpfast.randomness",
    "compose": "dpfast.composition",
    "compose_bounds": "dpfast.composition",
    "composed_delta": "dpfast.composition",
    "count_triangles": "dpfast.duff.triangles",
    "estimate_change": "dpfast.change",
    "optimal_response": "dpfast.optimal",
    "mean": "dpfast.duff.mean",
    "median": "dpfast.duff.selection",
    "mode": "dpfast.duff.mode",
    "quantile": "dpfast.duff.selection",
    "quantiles": "dpfast.duff.joint",
    "race": "dpfast.duff.race",
    "race_slack": "dpfast.duff.race",
    "sanitise_file": "dpfast.etl.files",
    "show_config": "dpfast._config",
    "verify": "dpfast.certificates",
}
_MODULES = ("audit", "baselines", "duff", "etl", "graph", "histogram", "kernels", "plots", "privacy", "reference", "report")

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "CertificateError",
    "CorruptDataError",
    "Domain",
    "DomainError",
    "DpfastError",
    "EntropyError",
    "Estimate",
    "ExponentialResponse",
    "FileError",
    "IdError",
    "InfeasibleError",
    "Ledger",
    "LedgerError",
    "MatrixResponse",
    "MissingPackageError",
    "OutsideDomainError",
    "Policy",
    "PolicyError",
    "Privacy",
    "RandomisedResponse",
    "Report",
    "SolverError",
    "Stratified",
    "Stream",
    "ViolationError",
    "__version__",
    "audit",
    "baselines",
    "compose",
    "compose_bounds",
    "composed_delta",
    "count_triangles",
    "duff",
    "estimate_change",
    "etl",
    "graph",
    "histogram",
    "kernels",
    "mean",
    "median",
    "mode",
    "optimal_response",
    "plots",
    "privacy",
    "quantile",
    "quantiles",
    "race",
    "race_slack",
    "reference",
    "report",
    "sanitise_file",
    "show_config",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"dpfast.{name}")
    else:
        raise AttributeError(f"module 'dpfast' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
