"""Laws between two datasets: what a path of edges, or all paths, leave to one when the other is given.

An edge (e, d) has U(x) = min(1, e^e x + d, 1 - e^-e (1 - d - x)), a minimum of three straight lines. A path is the composition of
its edges, the first edge first, so again a minimum of lines: composing U with one line gives three. Order matters.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from dpfast._core import graph as core
from dpfast._rounding import exp_bounds
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.graph._values import KEY_ONE, Probabilities, scalar_key
from dpfast.graph.model import DatasetGraph, as_graph
from dpfast.graph.propagate import closure

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EPSILON_MOST", "InducedLaw", "exact_upper", "rounded_up", "strongest_condition"]

Line = tuple[float, float]  # slope, value at 0

MOST_LINES: Final = 20_000  # work that finding the kinks over all paths may take
MOST_PATH_LINES: Final = 500_000  # and of one path: every edge may add a kink
BITS: Final = 512  # kept, at least, of the smaller of a probability and its complement along a path
EPSILON_MOST: Final = 1e5


def exact_upper(x: Fraction, epsilon: float, delta: float, digits: int) -> tuple[Fraction, Fraction]:
    """Return fractions that enclose U(x) of one edge."""
    # Beyond this epsilon one e^epsilon serves as both ends: x = 0 and y <= delta are exact, anything else is near 1.
    low, high = exp_bounds(min(epsilon, EPSILON_MOST), digits)
    d = Fraction(delta)
    rest = max(1 - d - x, Fraction(0))
    top = 1 if epsilon > EPSILON_MOST and x > 0 else high * x + d
    last = Fraction(1) if epsilon > EPSILON_MOST else 1 - rest / high
    return min(Fraction(1), low * x + d, 1 - rest / low), min(Fraction(1), Fraction(top), last)


def rounded_up(x: Fraction, bits: int = BITS) -> Fraction:
    """A fraction of few bits, not below x in [0, 1], and close to it at both ends: fractions of a long path grow otherwise."""
    rest = min(x, 1 - x)
    if rest == 0:
        return x
    scale = 1 << max(0, bits + rest.denominator.bit_length() - rest.numerator.bit_length())
    return Fraction(math.ceil(x * scale), scale) if x <= Fraction(1, 2) else 1 - Fraction(math.floor((1 - x) * scale), scale)


class InducedLaw:
    """What one vertex allows another: p(v) <= law(p(u)) and p(v) >= law.lower(p(u)); concave, piecewise linear.

    Attributes
    ----------
    edges : list of (epsilon, delta), or None
        Of the path, from u to v; None for the strongest law over all paths.
    """

    __slots__ = ("_arcs", "_ends", "_figures", "_graph", "_lines", "edges")

    def __init__(
        self,
        edges: Sequence[tuple[float, float]] | None,
        graph: DatasetGraph | None = None,
        ends: tuple[int, int] | None = None,
        arcs: Sequence[int] = (),
    ) -> None:
        self.edges = None if edges is None else list(edges)
        self._graph = graph
        self._ends = ends
        self._arcs = list(arcs)
        self._figures: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        self._lines: list[Line] | None = None

    def __call__(self, x: float) -> float:
        """Return the largest p(v) next to p(u) = x, rounded down."""
        key = self._upper_key(scalar_key(_probability(x)))
        return float(Probabilities(np.array([key], np.uint64)).probability[0])

    def lower(self, x: float) -> float:
        """Return the smallest p(v) next to p(u) = x, rounded up; one minus the law at 1 - x."""
        key = int(KEY_ONE) - self._upper_key(int(KEY_ONE) - scalar_key(_probability(x)), mirror=True)
        return float(Probabilities(np.array([key], np.uint64)).probability[0])

    def bounds(self, x: float | Fraction, digits: int = 40) -> tuple[Fraction, Fraction]:
        """Return fractions that enclose the largest p(v); for the law of a path.

        Parameters
        ----------
        x : float or Fraction
            p(u).
        digits : int, default 40
            Decimal digits of each exponential.

        Returns
        -------
        low, high : Fraction

        Raises
        ------
        ArgumentError
            The law is one over all paths.
        """
        self._refuse_user_law("bounds")
        if self.edges is None:
            raise ArgumentError("bounds are for the law of one path; the law over all paths has one for each p(u)")
        _probability(x)
        low = high = Fraction(x)
        bits = BITS + 4 * digits
        for epsilon, delta in self.edges:
            low = 1 - rounded_up(1 - exact_upper(low, epsilon, delta, digits)[0], bits)
            high = rounded_up(exact_upper(high, epsilon, delta, digits)[1], bits)
        return low, high

    def _upper_key(self, key: int, *, mirror: bool = False) -> int:
        if self.edges is None:
            assert self._graph is not None
            assert self._ends is not None
            keys = np.full(self._graph.n_vertices, KEY_ONE)
            keys[self._ends[0]] = key
            return int(closure(self._graph, keys, mirror=mirror)[self._ends[1]])
        if self._graph is not None and self._graph._user_law is not None:
            return self._graph._along(key, self._arcs, mirror=mirror)
        if self._figures is None:
            epsilons, deltas = np.array(self.edges, np.float64).reshape(-1, 2).T.copy()
            self._figures = np.empty(epsilons.size), deltas
            core.weights(epsilons, self._figures[0])
        return core.along(key, *self._figures)

    def _refuse_user_law(self, what: str) -> None:
        if self._graph is not None and self._graph._user_law is not None:
            raise ArgumentError(f"{what} are for the law of (epsilon, delta); call a law of your own to evaluate it")

    @property
    def breakpoints(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Places x, from 0 to 1, and values there: the law is straight in between. To a few units in the last place.

        The cost grows with the square of the kinks of a path, of which every edge may add one. For all paths by comparing lines
        vertex by vertex: for small graphs. ArgumentError where it would take long.
        """
        self._refuse_user_law("breakpoints")
        lines = self._all_lines()
        places = [0.0]
        for (slope, value), (next_slope, next_value) in pairwise(lines):
            places.append(min(max((next_value - value) / (slope - next_slope), places[-1]), 1.0))
        if places[-1] < 1.0:
            places.append(1.0)
        x = np.array(places)
        return x, np.min([slope * x + value for slope, value in lines], axis=0)

    def _all_lines(self) -> list[Line]:
        if self._lines is None:
            if self.edges is None:
                assert self._graph is not None
                assert self._ends is not None
                self._lines = _strongest_lines(self._graph, *self._ends)
            else:
                lines, work = [(1.0, 0.0)], 0
                for epsilon, delta in self.edges:
                    lines = _envelope(_through(lines, epsilon, delta))
                    work += len(lines)
                    if work > MOST_PATH_LINES:
                        raise ArgumentError("the path is too long for its breakpoints; evaluate the law where you need it")
                self._lines = lines
        return self._lines

    def __repr__(self) -> str:
        return f"<dpfast.graph.InducedLaw of {'all paths' if self.edges is None else f'{len(self.edges)} edges'}>"


def strongest_condition(g: Any, u: Any, v: Any, *, path: Sequence[Any] | None = None) -> InducedLaw:
    """Return what the value at one vertex says of the value at another: the strongest induced condition.

    Parameters
    ----------
    g : DatasetGraph
        Or a family, which has one.
    u, v : labels
        The condition is p(v) <= law(p(u)).
    path : sequence of labels, optional
        From u to v, along edges: the law of this path alone. By default the least over all paths; which path that is
        depends on p(u), so there is no distance between two vertices.

    Returns
    -------
    InducedLaw
        Call it with p(u); `breakpoints` to plot it.

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Notes
    -----
    Laws of edges do not commute, and a path is at least as strong as the sum of its epsilons, often stronger.
    **Cost.** A call is one search of the graph (all paths) or
    linear in the path.

    References
    ----------
    .. [1] "Heterogeneous differential privacy via graphs", arXiv 2203.15429.

    Examples
    --------
    >>> import math
    >>> from dpfast import graph
    >>> g = graph.DatasetGraph(["a", "b", "a", "d"], ["b", "c", "d", "c"], [math.log(x) for x in (2, 4, 4, 2)])
    >>> round(graph.strongest_condition(g, "a", "c", path=["a", "b", "c"])(0.3), 6)
    0.9
    >>> round(graph.strongest_condition(g, "a", "c", path=["a", "d", "c"])(0.3), 6)
    0.9125
    """
    model = as_graph(g)
    first, last = model._names.vertex(u, "first vertex"), model._names.vertex(v, "last vertex")
    if path is None:
        return InducedLaw(None, model, (first, last))
    if isinstance(path, (str, bytes)) or not isinstance(path, Iterable):
        raise ArgumentTypeError("path must be a list of vertices")
    steps = [model._names.vertex(vertex, "vertex of the path") for vertex in path]
    if not steps or steps[0] != first or steps[-1] != last:
        raise ArgumentError("the path must lead from u to v")
    edges: list[tuple[float, float]] = []
    arcs: list[int] = []
    targets = cast("Sequence[int]", model._indices)
    for one, other in pairwise(steps):
        row = model._row(one)  # sorted by target
        arc = bisect_left(targets, other, row.start, row.stop)
        if arc == row.stop or targets[arc] != other:
            raise ArgumentError("the path takes a step that is no edge of the graph")
        arcs.append(arc)
        edges.append(model._law(arc))
        if arc + 1 < row.stop and targets[arc + 1] == other:
            # U of each is at least its argument: the least of several is not one law
            raise ArgumentError("the path takes a step of parallel edges, none of which implies the others; give no path")
    return InducedLaw(edges, model, arcs=arcs)


def _probability(x: float | Fraction) -> float:
    if isinstance(x, bool) or not isinstance(x, (int, float, Fraction, np.floating)):
        raise ArgumentTypeError("a probability is a number from 0 to 1")
    if not 0 <= x <= 1:
        raise ArgumentError("a probability lies between 0 and 1")
    return float(x)


def _through(lines: list[Line], epsilon: float, delta: float) -> list[Line]:
    """The lines of U after each line; 1 is one of them."""
    grow, shrink = math.exp(min(epsilon, 700.0)), math.exp(-min(epsilon, 700.0))
    out: list[Line] = [(0.0, 1.0)]
    for slope, value in lines:
        out.append((grow * slope, grow * value + delta))
        out.append((shrink * slope, 1.0 - shrink * (1.0 - delta - value)))
    return out


def _envelope(lines: list[Line]) -> list[Line]:
    """The lines that are least somewhere in [0, 1], from the steepest."""
    kept: list[Line] = []
    for slope, value in sorted(lines, key=lambda line: (-line[0], line[1])):
        if kept and kept[-1][0] - slope <= 1e-14 * kept[-1][0]:
            if value >= kept[-1][1]:
                continue
            kept.pop()
        while kept:
            cross = (value - kept[-1][1]) / (kept[-1][0] - slope)
            before = (kept[-1][1] - kept[-2][1]) / (kept[-2][0] - kept[-1][0]) if len(kept) > 1 else 0.0
            if cross > max(before, 0.0):
                break
            kept.pop()
        if not kept or (value - kept[-1][1]) / (kept[-1][0] - slope) < 1.0:
            kept.append((slope, value))
    return kept


def _strongest_lines(g: DatasetGraph, first: int, last: int) -> list[Line]:
    """Least law over all paths: lines are carried along edges until nothing is gained anywhere."""
    lines: dict[int, list[Line]] = {first: [(1.0, 0.0)]}
    waiting, work = {first}, 0
    while waiting:
        vertex = min(waiting)
        waiting.remove(vertex)
        row = g._row(vertex)
        for arc in range(row.start, row.stop):
            target = int(g._indices[arc])
            old = lines.get(target, [(0.0, 1.0)])
            new = _envelope([*old, *_through(lines[vertex], *g._law(arc))])
            work += len(new)
            if work > MOST_LINES:
                raise ArgumentError("the graph is too large for the breakpoints over all paths; evaluate the law, or give a path")
            if any(_gain(old, slope, value) for slope, value in new):
                lines[target] = new
                waiting.add(target)
    return lines.get(last, [(0.0, 1.0)])


def _gain(lines: list[Line], slope: float, value: float) -> bool:
    """Whether a line lies below the others somewhere, by more than rounding."""
    places = [0.0, 1.0]
    places += [(value - other_value) / (other_slope - slope) for other_slope, other_value in lines if other_slope != slope]
    places += [(b[1] - a[1]) / (a[0] - b[0]) for a, b in pairwise(lines) if a[0] != b[0]]
    return any(min(s * x + c for s, c in lines) - (slope * x + value) > 1e-13 for x in places if 0.0 <= x <= 1.0)
