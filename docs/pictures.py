"""Make the pictures of the guide: ``python docs/pictures.py [folder]``. All data in them are invented."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dpfast import Policy, RandomisedResponse, Stream, duff, graph, plots

ANSWERS = ("never", "once", "weekly", "daily")
TRUE = [5000, 3000, 1500, 500]


def epsilon() -> Any:
    """What three epsilons do to one column of ten thousand rows."""
    figure = Figure(figsize=(8.0, 2.6))
    for axes, spent in zip(figure.subplots(1, 3, sharex=True, sharey=True), (0.5, 1.0, 3.0), strict=True):
        mechanism = RandomisedResponse(ANSWERS, epsilon=spent)
        counts = mechanism.sanitise_counts(TRUE, rng=Stream.insecure(4))
        plots.estimate(mechanism.estimate_counts(counts), counts, ax=axes)
        axes.plot(np.array(TRUE) / sum(TRUE), range(4), "|", color="black", markersize=12)
        axes.set_title(f"epsilon {spent:g}: {float(mechanism.keep_probability):.0%} keep their value", fontsize="small")
        axes.get_legend().remove()
    return figure


def error() -> Any:
    """What privacy costs: 100,000 rows, columns of 2, 16 and 100 values."""
    rules = {f"{k} values": RandomisedResponse(range(k), epsilon=1.0) for k in (2, 16, 100)}
    return plots.privacy_error(Policy(rules), 100_000)


def permanent() -> Any:
    """How many of a thousand people are found out by a majority vote over their answers, release after release."""
    true = np.repeat([0, 1], 500)
    mechanism = RandomisedResponse(range(2), epsilon=1.0)
    releases = range(1, 60, 2)
    fresh = np.cumsum([mechanism.sanitise(true, rng=Stream.insecure(day)).astype(int) for day in range(60)], axis=0)
    found = [float(((fresh[n - 1] * 2 > n) == true).mean()) for n in releases]
    axes = Figure(figsize=(6.0, 3.0)).add_subplot()
    axes.plot(releases, found, color=plots.COLOURS[1], label="fresh noise each time")
    axes.plot(releases, [found[0]] * len(releases), color=plots.COLOURS[0], label="permanent noise")
    axes.set(xlabel="releases of the same column, epsilon 1 each", ylabel="rows guessed right", ylim=(0.5, 1.02))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small")
    return axes


def density() -> Any:
    """The law of a private median beside Laplace noise of the same epsilon."""
    values = np.arange(40) ** 2 // 16
    levels = duff.median_levels(values, bounds=(0, 100), step=1, neighbours="add_remove")
    width = 100.0  # noise on the median itself has to hide the worst case, the width of the bounds
    return plots.levels(
        levels, epsilon=1.0, baselines={"Laplace noise": lambda x: np.exp(-abs(x - values[19]) / width) / (2 * width)}, mass=0.98
    )


def boundary() -> Any:
    """A query on the data sets of a counting question, and the best private answers to it."""
    n, threshold = 10, 5
    counts = range(n + 1)
    g = graph.DatasetGraph(list(counts)[:-1], list(counts)[1:], 0.7)
    query = [2 if count < threshold else 1 for count in counts]
    axes = Figure(figsize=(8.0, 1.6)).add_subplot()
    places = np.column_stack([np.arange(n + 1), np.zeros(n + 1)])
    return plots.extension(g, graph.extend(g, query, graph.optimal_boundary(g, query)), places, ax=axes)


PICTURES = {"boundary": boundary, "density": density, "epsilon": epsilon, "error": error, "permanent": permanent}


def main(folder: Path) -> None:
    """Write all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in PICTURES.items():
        plots.svg(picture(), folder / f"{name}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "pictures")
