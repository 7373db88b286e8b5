"""Kernels of your own, compiled by numba, inside our mechanisms, and ours inside your loops.

`response` chooses a mechanism for each row by your function of public columns. `respond` decides one row by a word within your
own compiled loop; `table` and `words` give it what it needs. `levels` makes your function of distances a statistic of Duff.
`law` makes a function the law of the edges of a graph. Only what is compiled needs numba: ``pip install 'dpfast[numba]'``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfast.graph.user_laws import Law, law
    from dpfast.kernels.rows import MatrixTable, ResponseTable, table, words
    from dpfast.kernels.rule import respond
    from dpfast.kernels.statistics import Statistic, levels
    from dpfast.kernels.strata import ComputedStrata, response

__all__ = [
    "ComputedStrata",
    "Law",
    "MatrixTable",
    "ResponseTable",
    "Statistic",
    "law",
    "levels",
    "respond",
    "response",
    "table",
    "words",
]

# Where each name lives.
_HOMES = {
    "ComputedStrata": "dpfast.kernels.strata",
    "Law": "dpfast.graph.user_laws",
    "MatrixTable": "dpfast.kernels.rows",
    "ResponseTable": "dpfast.kernels.rows",
    "Statistic": "dpfast.kernels.statistics",
    "levels": "dpfast.kernels.statistics",
    "law": "dpfast.graph.user_laws",
    "respond": "dpfast.kernels.rule",
    "response": "dpfast.kernels.strata",
    "table": "dpfast.kernels.rows",
    "words": "dpfast.kernels.rows",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dpfast.kernels' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
