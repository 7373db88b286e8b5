"""The proof that a mechanism is private on every edge: by rounded laws in C, and in exact fractions where those leave it open."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast.errors import ArgumentError, ArgumentTypeError, ViolationError
from dpfast.graph._values import Probabilities, exact, keys_of
from dpfast.graph.laws import EPSILON_MOST, exact_upper
from dpfast.graph.model import DatasetGraph, as_graph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["broken_arcs", "edge_holds", "verify"]

SHOWN: Final = 10  # broken edges that an error lists
OPEN: Final = 4096  # arcs of one round
APART: Final = 1e-12  # a probability and a complement that differ by more do not belong together


def verify(g: Any, p: Any, complement: Any = None) -> None:
    """Prove that a mechanism is private on every edge, exactly and without tolerance; raise if it is not.

    Parameters
    ----------
    g : DatasetGraph
        Or a family, which has one.
    p : Extension, Probabilities, or array_like of float, shape (n_vertices,)
        Pr[answer 1] in the order of the labels. An array is taken at its word: p is the double, 1 - p exactly one minus it.
    complement : array_like of float, optional
        1 - p at its own precision: taken at its word where p is above 1/2.

    Returns
    -------
    None

    Raises
    ------
    ViolationError
        With up to ten broken edges.
    ArgumentError, ArgumentTypeError

    Notes
    -----
    **Privacy guarantee.** Silence proves p(u) <= e^epsilon p(v) + delta and 1 - p(u) <= e^epsilon (1 - p(v)) + delta for both
    orientations of every edge, in real numbers: neighbours are the ends of an edge. A law rounded down decides almost all; what
    it leaves open is decided in fractions, with as many digits of e^epsilon as it takes. **Cost.** Linear in arcs; each broken or
    nearly broken edge costs some hundred microseconds, and the search stops at ten broken ones.

    Examples
    --------
    >>> from dpfast import graph
    >>> g = graph.DatasetGraph([0], [1], 0.5)
    >>> graph.verify(g, [0.5, 0.6])
    >>> graph.verify(g, [0.5, 0.9])
    Traceback (most recent call last):
        ...
    dpfast.errors.ViolationError: the mechanism breaks the law of at least 1 edge of the graph; .edges lists up to ten
    """
    model = as_graph(g)
    keys = _keys(model, p, complement)
    found = []
    for arc, vertex in broken_arcs(model, keys):
        found.append((model._names.name(vertex), model._names.name(int(model._indices[arc])), *model._law(arc)))
        if len(found) == SHOWN:
            break
    if found:
        edges = f"{len(found)} edge{'s' if len(found) > 1 else ''}"
        raise ViolationError(
            f"the mechanism breaks the law of at least {edges} of the graph; .edges lists up to ten", edges=found
        )


def broken_arcs(g: DatasetGraph, keys: NDArray[np.uint64]) -> Iterator[tuple[int, int]]:
    """Arcs v -> w with p(w) > U(p(v)), each with v."""
    arcs = g._arcs()
    row = arc = 0
    open_arcs = np.empty(OPEN, np.int64)
    while True:
        filled, row, arc = arcs.unproved(keys, row, arc, open_arcs)
        sources = np.searchsorted(g._indptr, open_arcs[:filled], side="right") - 1
        for place, vertex in zip(open_arcs[:filled].tolist(), sources.tolist(), strict=True):
            epsilon, delta = g._law(place)
            if g._user_law is not None or not edge_holds(
                exact(int(keys[vertex])), exact(int(keys[g._indices[place]])), epsilon, delta
            ):
                yield place, vertex
        if not filled:
            return


def edge_holds(x: Fraction, y: Fraction, epsilon: float, delta: float) -> bool:
    """Whether y <= U(x), for probabilities of keys.

    A power of e is irrational, so some number of digits decides, unless it plays no part. Beyond `EPSILON_MOST` the one
    there stands for all: what lies between it and 1 is no probability of a key but 1 itself, which is U(x) for 1 - x <= d only.
    """
    digits = 20
    while True:
        low, high = exact_upper(x, epsilon, delta, digits)
        if y <= low:
            return True
        if y > high or epsilon > EPSILON_MOST:
            return False
        digits *= 2


def _keys(g: DatasetGraph, p: Any, complement: Any) -> NDArray[np.uint64]:
    if isinstance(p, Probabilities):
        if len(p) != g.n_vertices or complement is not None:
            raise ArgumentError("an extension comes alone and has an entry for each vertex of the graph")
        return p._keys
    values = _array(p, g.n_vertices, "p")
    if complement is None:
        return keys_of(values)
    rest = _array(complement, g.n_vertices, "complement")
    if (np.abs(1.0 - values - rest) > APART).any():
        raise ArgumentError("p and complement do not belong together: their sum must be 1")
    return keys_of(values, rest)


def _array(values: Any, n: int, name: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{name} must be an array of numbers") from None
    if array.shape != (n,):
        raise ArgumentError(f"{name} must have an entry for each vertex, in the order of labels")
    if not ((array >= 0) & (array <= 1)).all():
        raise ArgumentError(f"{name} must lie between 0 and 1")
    return array
