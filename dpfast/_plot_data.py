"""What pictures show, as numbers: no matplotlib here."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from dpfast._policy_figures import plan_column
from dpfast._policy_groups import Group
from dpfast.domain import Domain
from dpfast.duff.levels import Levels
from dpfast.duff.sampling import log_probabilities
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.graph._values import Probabilities
from dpfast.graph.extension import Extension
from dpfast.graph.model import DatasetGraph, as_graph
from dpfast.response import RandomisedResponse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast._policy_figures import ColumnPlan

__all__ = ["GraphPicture", "density", "error_curve", "graph_places", "view_of_mass"]

MOST_STEPS: Final = 2000


class GraphPicture(NamedTuple):
    """Vertices of a graph as points, with what colours them."""

    places: NDArray[np.float64]  # (n, 2)
    edges: NDArray[np.int64]  # (m, 2)
    probability: NDArray[np.float64]
    is_fixed: NDArray[np.bool_]
    labels: list[Any]


def error_curve(plan: ColumnPlan, n_rows: int, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard errors of a share under randomised response over as many values as a column has, at each epsilon."""
    domain = Domain.range(plan.size)
    mechanisms = (RandomisedResponse(domain, epsilon=float(epsilon), delta=plan.delta) for epsilon in epsilons)
    errors = np.array([plan_column(Group(("",), mechanism), n_rows).standard_error for mechanism in mechanisms])
    return np.where(np.isfinite(errors), errors, np.nan)


def density(levels: Levels, epsilon: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Density of the answers between edges: each grid point has half a step on either side."""
    if not isinstance(levels, Levels):
        raise ArgumentTypeError(f"levels must be dpfast.duff.Levels, not {type(levels).__name__}")
    mass = np.exp(log_probabilities(levels, epsilon=epsilon))
    lows, highs = levels.lower, levels.upper
    if mass.size > MOST_STEPS:
        first = np.arange(0, mass.size, -(-mass.size // MOST_STEPS))
        mass = np.add.reduceat(mass, first)
        lows, highs = lows[first], highs[np.append(first[1:], highs.size) - 1]
    # As integers until the last: doubles that stand for indices up to 2^62 would not tell neighbours apart.
    ends = [(low, high + 1) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]
    half = levels.ratio / 2
    edges = np.array([[float(levels.ratio * (levels.origin + end) - half) for end in pair] for pair in ends])
    gaps = np.flatnonzero(edges[1:, 0] > edges[:-1, 1])  # values that no entry holds have no answers
    mass = np.insert(mass, gaps + 1, 0.0)
    edges = np.insert(edges, gaps + 1, np.column_stack([edges[gaps, 1], edges[gaps + 1, 0]]), axis=0)
    joined = np.append(edges[:, 0], edges[-1, 1])
    widths = np.diff(joined)
    if (widths <= 0).any():
        raise ArgumentError(f"a step of {float(levels.ratio):g} cannot be drawn at these values: doubles lie further apart there")
    return mass / widths, joined


def view_of_mass(heights: NDArray[np.float64], edges: NDArray[np.float64], mass: float) -> tuple[float, float]:
    """The middle interval that holds `mass` of a density."""
    law = np.append(0.0, np.cumsum(heights * np.diff(edges)))
    low, high = np.interp([(1 - mass) / 2, (1 + mass) / 2], law / law[-1], edges)
    return float(low), float(high)


def graph_places(g: Any, extension: Any, positions: Any, most: int) -> GraphPicture:
    """Place the vertices of a graph."""
    model = as_graph(g)
    n = model.n_vertices
    if not isinstance(extension, Probabilities):
        raise ArgumentTypeError("extension must be what extend, upper or lower of dpfast.graph returned")
    if len(extension) != n:
        raise ArgumentError("the extension is of another graph: it has not as many vertices")
    if not 1 <= n <= most:
        raise ArgumentError(f"a picture has between 1 and {most} vertices; draw a part of the graph")
    probability = extension.probability
    is_fixed = extension._search.is_seed if isinstance(extension, Extension) else np.zeros(n, np.bool_)
    tails = np.repeat(np.arange(n), np.diff(model._indptr))
    forward = tails < model._indices
    edges = np.column_stack([tails[forward], model._indices[forward]]).astype(np.int64)
    labels = list(model.labels)
    if positions is None:
        places = _layers(model, probability >= 0.5)
    elif isinstance(positions, dict):
        missing = sum(label not in positions for label in labels)
        if missing:
            raise ArgumentError(f"positions lacks {missing} of the vertices")
        places = np.array([positions[label] for label in labels], np.float64)
    else:
        places = np.asarray(positions, np.float64)
    if places.shape != (n, 2) or not np.isfinite(places).all():
        raise ArgumentError("positions must give two finite numbers for each vertex")
    return GraphPicture(places, edges, probability, np.asarray(is_fixed, np.bool_), labels)


def _layers(model: DatasetGraph, is_one: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Columns by the number of steps to the other side; within a column in the order of the vertices, centred."""
    n = model.n_vertices
    steps = np.full(n, -1)
    waiting: deque[int] = deque()
    for vertex in range(n):
        if (is_one[model._indices[model._row(vertex)]] != is_one[vertex]).any():
            steps[vertex] = 0
            waiting.append(vertex)
    while waiting:
        at = waiting.popleft()
        for other in model._indices[model._row(at)].tolist():
            if steps[other] < 0:
                steps[other] = steps[at] + 1
                waiting.append(other)
    steps[steps < 0] = steps.max() + 1  # no way leads to the other side: furthest out
    columns = np.where(is_one, steps + 0.5, -steps - 0.5)
    places = np.column_stack([columns, np.zeros(n)])
    for column in np.unique(columns):
        here = np.flatnonzero(columns == column)
        places[here, 1] = (here.size - 1) / 2 - np.arange(here.size)
    return places
