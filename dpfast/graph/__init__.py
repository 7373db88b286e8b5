"""Differential privacy on graphs of datasets: every edge with its own (epsilon, delta), the best answer at every vertex.

A query has the right answer 1 or 2 on each dataset. A mechanism is given where the right answer changes (`boundary`), by hand
or by `optimal_boundary`, and `extend` gives the one that is best everywhere else, with exact proofs. Graphs, epsilons, queries
and fixed values are public; the dataset that `Extension.sample` is asked about is not.
"""

from __future__ import annotations

from dpfast.errors import InfeasibleError, ViolationError
from dpfast.graph import families
from dpfast.graph._values import Fixed, Probabilities
from dpfast.graph.boundaries import boundary, optimal_boundary
from dpfast.graph.checking import verify
from dpfast.graph.extension import Extension, Why, extend
from dpfast.graph.law import Law
from dpfast.graph.laws import InducedLaw, strongest_condition
from dpfast.graph.model import DatasetGraph
from dpfast.graph.propagate import lower, upper
from dpfast.graph.rainbow import Rainbow, rainbow

__all__ = [
    "DatasetGraph",
    "Extension",
    "Fixed",
    "InducedLaw",
    "InfeasibleError",
    "Law",
    "Probabilities",
    "Rainbow",
    "ViolationError",
    "Why",
    "boundary",
    "extend",
    "families",
    "lower",
    "optimal_boundary",
    "rainbow",
    "strongest_condition",
    "upper",
    "verify",
]


def __dir__() -> list[str]:
    return sorted(__all__)
