"""Scenarios of everything that takes numbers, levels, weights, edges or a private data set of a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import matplotlib.font_manager  # noqa: F401 - makes its cache where that belongs
import numpy as np
from families import FAMILIES, Family, Scenario

from dpfast import baselines, count_triangles, duff, graph, kernels, plots, race

__all__ = ["CALLS"]

BOUNDS = {"bounds": (0.0, 100.0), "step": 0.5}
ANY: dict[str, Any] = {**BOUNDS, "epsilon": 1.0}
PUBLIC_N: dict[str, Any] = {**ANY, "neighbours": "replace_one"}
GRID = duff.Grid((0.0, 100.0), step=0.5)


def groups(values: Any, n: int = 2) -> dict[str, Any]:
    """A public group of every row, and one that no row has."""
    return {"by": np.arange(len(values)) % n, "keys": list(range(n + 1))}


def answers(function: Callable[..., Any], *more: Any, **options: Any) -> list[Scenario]:
    """All ways to ask for a statistic of numbers."""
    return [
        Scenario(lambda values: function(values, *more, **ANY, **options), "numbers"),
        Scenario(lambda values: function(values, *more, **PUBLIC_N, **options), "numbers, n public"),
        Scenario(lambda values: function(values, *more, bounds=(0, 100), epsilon=1.0, **options), "integers"),
        Scenario(lambda values: function(values, *more, **ANY, **options), "no numbers"),
    ]


def grouped(function: Callable[..., Any], *more: Any) -> list[Scenario]:
    return [
        Scenario(lambda values: function(values, *more, **ANY, **groups(values)), "numbers"),
        Scenario(lambda values: function(values, *more, **PUBLIC_N, **groups(values), public_groups=True), "numbers, n public"),
        Scenario(lambda values: function(values, *more, **ANY, person=np.arange(len(values)) // 2, rows_per_person=2), "numbers"),
    ]


def levels(function: Callable[..., Any], *more: Any) -> list[Scenario]:
    return [
        Scenario(lambda values: function(values, *more, **BOUNDS, neighbours="add_remove"), "numbers", "private"),
        Scenario(lambda values: function(values, *more, **BOUNDS, neighbours="replace_one"), "numbers, n public", "private"),
        Scenario(lambda values: function(values, *more, **BOUNDS, neighbours="add_remove"), "no numbers", "private"),
    ]


def baseline(function: Callable[..., Any], **options: Any) -> list[Scenario]:
    """That it refuses (None) is an answer of propose-test-release, so kinds of answers are not compared there."""
    result = "private" if function is baselines.propose_test_release else "released"
    return [
        Scenario(
            lambda values, statistic=statistic: function(values, **ANY, neighbours="add_remove", statistic=statistic, **options),
            "numbers",
            result,
        )
        for statistic in ("median", "mean")
        if statistic == "median" or function is baselines.laplace
    ] + [
        Scenario(lambda values: function(values, **PUBLIC_N, **options), "numbers, n public", result),
        Scenario(lambda values: function(values, **PUBLIC_N, **options), "no numbers", result),
    ]


# A comparison is for the operator, and needs a median to compare with.
PRESENT = {name: pair for name, pair in FAMILIES["numbers, n public"].pairs.items() if name != "all missing"}
FAMILIES["numbers to compare"] = replace(FAMILIES["numbers"], pairs=PRESENT)
# Levels over the grid points 0 to 99.
FAMILIES["levels"] = Family(
    {
        "usual": (([3, 0, 1], [0, 40, 41], [39, 40, 99]), ([1, 0], [0, 50], [49, 99])),
        "one entry": (([0], [0], [99]), ([2, 0, 5], [0, 1, 2], [0, 1, 99])),
        "far": (([2**62, 0], [0, 99], [98, 99]), ([0, 7], [0, 1], [0, 99])),
    }
)
FAMILIES["weights"] = Family(
    {
        "usual": ([0.0, 1.0, -2.0], [5.0, 5.0, 5.0]),
        "far": ([1e308, -1e308, 0.0], [-1e7, 0.0, 1e-300]),
        "many, far": ([1e308, -1e308] * 5000, [0.0] * 10_000),
        "never": ([float("-inf"), 0.0, 1.0], [0.0, 0.0, float("-inf")]),
        "refused": ([float("nan"), 0.0, 1.0], [0.0, 1.0, float("nan")]),
    },
    {"list": lambda raw: raw, "array": np.array},
)
FAMILIES["edges"] = Family(
    {
        "none or all": ([], [(i, j) for i in range(6) for j in range(i)]),
        "loops and doubles": ([(1, 1), (2, 3), (3, 2), (2, 3)], [(0, 1), (1, 2), (2, 0)]),
        "refused": ([(0, 6), (1, 2)], [(1, 2), (-1, 3)]),
    },
    {
        "array": lambda raw: np.array(raw, np.int64).reshape(-1, 2),
        "pair": lambda raw: tuple(np.array(raw, np.int64).reshape(-1, 2).T),
        "narrow": lambda raw: np.array(raw, np.int8).reshape(-1, 2),
    },
    {"refused": lambda: np.array([(1, 271828)])},
)
PATH = graph.DatasetGraph([0, 1, 2], [1, 2, 3], 1.0)
EXTENSION = graph.extend(PATH, [2, 2, 1, 1], {1: 0.25, 2: 0.6})
COUNTING = graph.families.counting(5, 3, 1.0)
STATES = graph.extend(COUNTING, COUNTING.query, graph.optimal_boundary(COUNTING, COUNTING.query))
RAINBOW = graph.rainbow(PATH, [[0, 1, 2]] * 2 + [[2, 1, 0]] * 2, {1: [0.3, 0.4, 0.3], 2: [0.2, 0.3, 0.5]})
FAMILIES["data sets"] = Family(
    {"usual": (0, 3), "refused": (4, -1), "many": ([0, 1], [3, 3])}, canaries={"refused": lambda: [271828, 0]}
)
FAMILIES["states"] = Family({"usual": (0, 5), "refused": (6, -1)}, canaries={"refused": lambda: 271828})


def made(arrays: tuple[Any, Any, Any]) -> duff.Levels:
    return duff.Levels(*arrays, step=0.5)


def law(arrays: tuple[Any, Any, Any]) -> duff.ErrorLaw:
    return duff.error_law(made(arrays), epsilon=1.0)


# What an error law can be asked.
LAW: dict[str, dict[str, Any]] = {
    "probability_within": {"error": 1.0},
    "quantile": {"p": 0.5},
    "likely_error": {"chance": 0.1},
    "bounds": {},
    "error_tail": {"error": 1.0},
    "radius": {},
}


@partial(kernels.levels, compiled=False)
def largest(k: int, y: Any, last: int) -> tuple[int, int]:
    return (int(y[-1 - k]) if k < y.size else 0), last if k else (int(y[-1]) if y.size else 0)


CALLS: dict[str, list[Scenario]] = {
    "duff.median": [*answers(duff.median), *answers(duff.median, method="piecewise_laplace"), *grouped(duff.median)],
    "duff.quantile": [*answers(duff.quantile, 0.9), *grouped(duff.quantile, 0.1)],
    "duff.quantiles": [
        scenario
        for method in ("joint", "recursive", "independent")
        for scenario in answers(duff.quantiles, [0.25, 0.5], method=method)
    ],
    "duff.mean": [*answers(duff.mean), *grouped(duff.mean)],
    "duff.median_levels": levels(duff.median_levels),
    "duff.quantile_levels": levels(duff.quantile_levels, 0.9),
    "duff.mean_levels": levels(duff.mean_levels),
    "Grid.snap": [Scenario(lambda values: GRID.snap(np.nan_to_num(np.asarray(values, float))), "numbers", "private")],
    "Statistic.levels": [
        Scenario(
            lambda values: largest.levels(np.sort(GRID.snap(np.array(values, float))), GRID.size - 1, grid=GRID, most=9),
            "integers",
            "private",
        )
    ],
    "baselines.laplace": baseline(baselines.laplace),
    "baselines.smooth_cauchy": baseline(baselines.smooth_cauchy),
    "baselines.smooth_student_t": baseline(baselines.smooth_student_t),
    "baselines.smooth_polyplace": baseline(baselines.smooth_polyplace),
    "baselines.smooth_laplace": baseline(baselines.smooth_laplace, delta=1e-6),
    "baselines.smooth_laplace_lognormal": baseline(baselines.smooth_laplace_lognormal, delta=1e-6),
    "baselines.propose_test_release": baseline(baselines.propose_test_release, delta=1e-6),
    "baselines.smooth_sensitivity": [
        Scenario(
            lambda values: baselines.smooth_sensitivity(values, bounds=(0, 100), beta=0.5, neighbours="add_remove"),
            family,
            "private",
        )
        for family in ("numbers", "no numbers")
    ],
    "baselines.compare": [
        Scenario(
            lambda values: baselines.compare(
                {"x": (values, (0, 100))}, epsilons=[1.0], trials=3, mechanisms=["duff", "laplace", "propose_test_release"]
            ),
            "numbers to compare",
            "operator",
        )
    ],
    "count_triangles": [
        Scenario(lambda edges, method=method: count_triangles(edges, n_vertices=6, epsilon=1.0, method=method), "edges")
        for method in ("ladder", "smooth_cauchy")
    ],
    "duff.Levels": [Scenario(made, "levels", "private")],
    "duff.sample": [
        Scenario(lambda arrays, **options: duff.sample(made(arrays), epsilon=1.0), "levels"),
        Scenario(lambda arrays: duff.sample(made(arrays), epsilon=1.0, size=3, sampler="sum"), "levels"),
    ],
    "duff.log_probabilities": [
        Scenario(lambda arrays: duff.log_probabilities(made(arrays), epsilon=1.0), "levels", "private")
    ],
    **{name: [Scenario(law, "levels", "private")] for name in ("duff.error_law", "duff.ErrorLaw")},
    "duff.utility.Bounds": [Scenario(lambda arrays: law(arrays).bounds(**LAW["bounds"]), "levels", "private")],
    **{
        f"ErrorLaw.{name}": [
            Scenario(lambda arrays, name=name, more=more: getattr(law(arrays), name)(**more), "levels", "private")
        ]
        for name, more in LAW.items()
    },
    "plots.levels": [Scenario(lambda arrays: plots.levels(made(arrays), epsilon=1.0), "levels", "operator")],
    "race": [
        Scenario(lambda weights, size=size: race(weights, size=size), "weights") for size in (None, 4)
    ],
    "Extension.sample": [
        Scenario(EXTENSION.sample, "data sets"),
        Scenario(lambda vertices: EXTENSION.sample(vertices, size=4), "data sets"),
    ],
    "Extension.for_dataset": [Scenario(STATES.for_dataset, "states", "private")],
    "Rainbow.sample": [Scenario(RAINBOW.sample, "data sets")],
}  # fmt: skip
