"""The pictures people expect, by matplotlib: of policies, estimates, Duff's law, comparisons and graphs.

Each call draws into Axes, those given as ``ax`` or new ones, and returns them; no state of ``pyplot`` is touched. `svg` makes
the text of a file that is the same for the same picture. Needs matplotlib: ``pip install 'dpfast[plot]'``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from dpfast._figures import Figures
from dpfast._plot_axes import COLOURS, GREY, cycle, legend, new_axes, svg
from dpfast._plot_data import density, error_curve, graph_places, view_of_mass
from dpfast._policy_base import Rules
from dpfast._rounding import integer
from dpfast._text import printable, printable_cell
from dpfast.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from dpfast.duff.levels import Levels

__all__ = ["errors", "estimate", "extension", "levels", "privacy_error", "svg"]


def __dir__() -> list[str]:
    return sorted(__all__)


INCH: Final = 0.28  # the height of a row of estimates
MOST_VERTICES: Final = 2000
MARKERS: Final = "os^Dv"  # of the lines whose colours come again
Density: TypeAlias = "Callable[[NDArray[np.float64]], ArrayLike] | ArrayLike"


def privacy_error(policy: Rules, n_rows: int, *, ax: Any = None) -> Axes:
    """Draw what a smaller epsilon costs: the standard error of an estimated share against epsilon, for each column.

    Parameters
    ----------
    policy : Policy
    n_rows : int
        Number of rows of the table; public.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A line for each sanitised column or joint group: the error under randomised response over as many values. A point on or
        beside it: what the policy's own mechanism has, at its realised epsilon. Both axes are logarithmic; a mechanism that
        estimates nothing (epsilon 0) has no point.

    Raises
    ------
    ArgumentError, ArgumentTypeError
    MissingPackageError
        matplotlib is not installed.

    Notes
    -----
    Made of public figures alone, before any data. The error is that of `Policy.describe`.

    Examples
    --------
    >>> from dpfast import Policy, RandomisedResponse, plots
    >>> policy = Policy({"smoker": RandomisedResponse(["no", "yes"], epsilon=1.0)})
    >>> axes = plots.privacy_error(policy, 10_000)
    >>> axes.get_xlabel(), [round(float(y), 4) for y in axes.collections[0].get_offsets()[0]]
    ('epsilon of the column', [1.0, 0.0096])
    """
    if not isinstance(policy, Rules):
        raise ArgumentTypeError(f"policy must be a Policy, not {type(policy).__name__}")
    plans = policy.describe(integer(n_rows, "n_rows", minimum=1))
    axes = new_axes(ax)
    own = [plan.epsilon_realised for plan in plans if 0 < plan.epsilon_realised < math.inf]
    epsilons = np.geomspace(min([0.1, *own]), max([8.0, *own]), 61)
    for plan, colour in zip(plans, cycle(), strict=False):
        axes.plot(epsilons, error_curve(plan, n_rows, epsilons), color=colour)
        axes.scatter([plan.epsilon_realised], [plan.standard_error], color=colour, zorder=3)
    axes.set(xscale="log", yscale="log", xlabel="epsilon of the column", ylabel="standard error of a share")
    legend(axes, axes.get_lines(), [plan.column for plan in plans])
    return axes


def estimate(estimate: Figures, counts: ArrayLike | None = None, *, most: int = 30, ax: Any = None) -> Axes:
    """Draw estimated shares with their intervals, and beside them what the sanitised column itself shows.

    Parameters
    ----------
    estimate : Estimate or CrossTab
    counts : array_like of int, of as many entries as the estimate, optional
        How often each category stands in the *sanitised* column; drawn as shares, in grey.
    most : int, default 30
        If there are more categories than these, those with the largest estimates are drawn, in the order of the domain.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure, as high as it takes.

    Returns
    -------
    matplotlib.axes.Axes
        A row for each category, the first on top.

    Raises
    ------
    ArgumentError, ArgumentTypeError
    MissingPackageError
        matplotlib is not installed.

    Examples
    --------
    >>> from dpfast import RandomisedResponse, plots
    >>> found = RandomisedResponse(["no", "yes"], epsilon=1.0).estimate_counts([600, 400])
    >>> [text.get_text() for text in plots.estimate(found, [600, 400]).get_yticklabels()]
    ['no', 'yes']
    """
    if not isinstance(estimate, Figures):
        raise ArgumentTypeError("estimate must be an Estimate or a CrossTab; of grouped ones draw each: estimate[key]")
    shares = estimate.frequency.ravel()
    raw = None if counts is None else _raw_shares(counts, shares.size)
    shown = np.sort(np.argsort(-shares, kind="stable")[: integer(most, "most", minimum=1)])
    low, high = estimate.interval.reshape(-1, 2)[shown].T
    axes = new_axes(ax, height=1.1 + INCH * shown.size)
    rows = np.arange(shown.size)
    axes.hlines(rows, low, high, color=COLOURS[0], linewidth=2)
    parts = [axes.plot(shares[shown], rows, "o", color=COLOURS[0], markersize=5)[0]]
    names = [f"estimated, with {100 * estimate.confidence:g} % interval"]
    if raw is not None:
        parts += axes.plot(raw[shown], rows, "x", color=GREY, markersize=5)
        names.append("sanitised, as it stands")
    labels = list(estimate.labels())
    axes.set_yticks(rows, [printable_cell(labels[row]) for row in shown], parse_math=False)
    axes.set(ylim=(shown.size - 0.5, -0.5), xlabel="share")
    if shown.size < shares.size:
        axes.set_title(f"the {shown.size} largest of {shares.size}", fontsize="medium", loc="left")
    axes.axvline(0.0, color=GREY, linewidth=0.5)
    legend(axes, parts, names, below=0.55 / (INCH * shown.size))
    return axes


def levels(
    levels: Levels, *, epsilon: float, baselines: Mapping[str, Density] | None = None, mass: float = 0.99, ax: Any = None
) -> Axes:
    """Draw the density of Duff's answer over the values, beside other mechanisms. The picture is private data.

    Parameters
    ----------
    levels : dpfast.duff.Levels
    epsilon : float
    baselines : mapping of str to callable or array_like, optional
        What to draw beside it: a density, called with an array of values, or an array of answers of a mechanism, drawn as a
        histogram.
    mass : float, default 0.99
        The view shows the middle values that hold this share of Duff's answers; what lies outside, of any mechanism, is not seen.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ArgumentError, ArgumentTypeError
    MissingPackageError
        matplotlib is not installed.

    Notes
    -----
    Levels say everything about the data that a draw hides, and so does this picture of them: it is for teaching and research
    on data that are no secret. Each entry of a grid has half a step on either side; of more than 2000 entries neighbours are
    drawn as one, with their mean density.

    Examples
    --------
    >>> from dpfast import duff, plots
    >>> found = duff.median_levels([1, 2, 2, 3, 9], bounds=(0, 10), step=1, neighbours="add_remove")
    >>> axes = plots.levels(found, epsilon=2.0)
    >>> data = axes.patches[0].get_data()
    >>> float((data.values * (data.edges[1:] - data.edges[:-1])).sum().round(9))
    1.0
    """
    if not 0 < mass < 1:
        raise ArgumentError("mass must lie strictly between 0 and 1")
    heights, edges = density(levels, epsilon)
    view = view_of_mass(heights, edges, mass)
    axes = new_axes(ax)
    duff = axes.stairs(heights, edges, color=COLOURS[0], fill=True, alpha=0.35)
    parts: list[Any] = [duff]
    for (_, law), colour in zip((baselines or {}).items(), COLOURS[1:] * len(baselines or {}), strict=False):
        if callable(law):
            points = np.linspace(*view, 512)
            parts += axes.plot(points, np.asarray(law(points), np.float64), color=colour)
        else:
            parts.append(_histogram(axes, law, view, colour))
    axes.set(xlim=view, xlabel="answer", ylabel="density")
    axes.set_ylim(bottom=0.0)
    legend(axes, parts, ["Duff", *(baselines or {})])
    return axes


def errors(table: Any, *, dataset: str | None = None, error: str = "error_median", ax: Any = None) -> Axes:
    """Draw the error of each mechanism against epsilon, from the table of `dpfast.baselines.compare`.

    Parameters
    ----------
    table : pyarrow.Table
        Private data, if the data sets were; so is the picture.
    dataset : str, optional
        Which data set; needed where the table has several.
    error : str, default "error_median"
        A column of the table: error_mean, error_median, error_rmse, error_q95, rank_error, refusals or seconds.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A line for each mechanism, broken where it gave no answer; dashed if it is not private. Colours that come again have
        another marker. Both axes are logarithmic: an error of exactly 0 has no place there, and breaks the line.

    Raises
    ------
    ArgumentError, ArgumentTypeError
    MissingPackageError
        matplotlib is not installed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from dpfast import plots
    >>> table = pa.table(
    ...     {"dataset": ["d", "d"], "mechanism": ["duff", "duff"], "epsilon": [0.5, 1.0], "error_median": [4.0, 2.0]}
    ... )
    >>> plots.errors(table).get_lines()[0].get_ydata().tolist()
    [4.0, 2.0]
    """
    names = getattr(table, "column_names", ())
    missing = [name for name in ("dataset", "mechanism", "epsilon", error) if name not in names]
    if missing:
        raise ArgumentTypeError(
            f"the table of baselines.compare is needed; this one has no column {', '.join(map(repr, missing))}"
        )
    rows = table.to_pylist()
    found = list(dict.fromkeys(row["dataset"] for row in rows))
    if dataset is None and len(found) != 1:
        raise ArgumentError("the table has several data sets, or none; name one with dataset=")
    wanted = found[0] if dataset is None else dataset
    if wanted not in found:
        raise ArgumentError(f"the table has no data set named {wanted!r}")
    rows = [row for row in rows if row["dataset"] == wanted]
    axes = new_axes(ax)
    mechanisms = list(dict.fromkeys(row["mechanism"] for row in rows))
    for place, (mechanism, colour) in enumerate(zip(mechanisms, cycle(), strict=False)):
        own = sorted((row for row in rows if row["mechanism"] == mechanism), key=lambda row: row["epsilon"])
        figures = [row[error] or math.nan for row in own]  # 0 would be a line down to the frame
        is_private = all(row.get("private") is not False for row in own)
        marker = MARKERS[place // len(COLOURS) % len(MARKERS)]
        style: dict[str, Any] = {
            "linestyle": "-" if is_private else "--",
            "marker": marker,
            "markersize": 3 if marker == "o" else 5,
        }
        axes.plot([row["epsilon"] for row in own], figures, color=colour, **style)
    axes.set(xscale="log", yscale="log", xlabel="epsilon", ylabel=error.replace("_", " "))
    axes.set_title(printable(wanted), fontsize="medium", loc="left", parse_math=False)
    legend(axes, axes.get_lines(), mechanisms)
    return axes


def extension(g: Any, extension: Any, positions: Any = None, *, ax: Any = None) -> Axes:
    """Draw a graph of datasets, each coloured by its Pr[answer 1].

    Parameters
    ----------
    g : DatasetGraph
        Or a family, which has one; 2000 vertices at most.
    extension : Extension or Probabilities
        What `dpfast.graph.extend`, `upper` or `lower` returned for it.
    positions : dict by label, or array of shape (n, 2), optional
        Where each vertex stands. Default: to the right those that rather answer 1, to the left those that rather answer 2, as far
        from the middle as they have steps to the other side.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Fixed vertices have a thick rim. Up to 40 vertices are labelled.

    Raises
    ------
    ArgumentError, ArgumentTypeError
    MissingPackageError
        matplotlib is not installed.

    Examples
    --------
    >>> from dpfast import graph, plots
    >>> g = graph.DatasetGraph([0, 1, 2], [1, 2, 3], 0.5)
    >>> query = [2, 2, 1, 1]
    >>> axes = plots.extension(g, graph.extend(g, query, graph.optimal_boundary(g, query)))
    >>> axes.collections[1].get_offsets()[:, 0].tolist()
    [-1.5, -0.5, 0.5, 1.5]
    """
    picture = graph_places(g, extension, positions, MOST_VERTICES)
    axes = new_axes(ax)
    from matplotlib.collections import LineCollection

    axes.add_collection(LineCollection(list(picture.places[picture.edges]), colors=GREY, linewidths=0.7, zorder=1))
    points = axes.scatter(
        picture.places[:, 0],
        picture.places[:, 1],
        c=picture.probability,
        cmap="RdBu_r",
        vmin=0.0,
        vmax=1.0,
        s=90 if len(picture.places) <= 40 else 20,
        edgecolors="black",
        linewidths=np.where(picture.is_fixed, 2.0, 0.5).tolist(),
        zorder=2,
    )
    if len(picture.places) <= 40:
        for (x, y), label in zip(picture.places, picture.labels, strict=True):
            axes.annotate(
                printable(label), (x, y), (0, 8), textcoords="offset points", ha="center", fontsize="small", parse_math=False
            )
    axes.margins(0.1)
    axes.set_axis_off()
    axes.figure.colorbar(points, ax=axes, label="Pr[answer 1]")
    return axes


def _histogram(axes: Axes, answers: ArrayLike, view: tuple[float, float], colour: str) -> Any:
    found = np.asarray(answers, np.float64).ravel()
    if not found.size or not np.isfinite(found).all():
        raise ArgumentError("answers of a baseline must be finite numbers, one at least")
    edges = np.linspace(*view, 61)
    counts, _ = np.histogram(found, edges)
    return axes.stairs(counts / found.size / np.diff(edges), edges, color=colour)


def _raw_shares(counts: ArrayLike, size: int) -> NDArray[np.float64]:
    found = np.asarray(counts, np.float64).ravel()
    if found.size != size or not np.isfinite(found).all() or (found < 0).any():
        raise ArgumentError("counts must hold a number of rows for each category of the estimate")
    shares: NDArray[np.float64] = found / max(found.sum(), 1.0)
    return shares
