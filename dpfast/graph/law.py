"""Searches and proofs by a law of the user's own: what the compiled arcs do for (epsilon, delta), on the same keys.

The user's functions see doubles. A key that is none, a probability nearer to 1 than doubles tell apart, is rounded to the side
where Pr[right answer] is less, so bounds stay bounds. An edge counts as proved by either half of the Galois pair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpfast._core import graph as core
from dpfast.errors import ArgumentTypeError
from dpfast.graph._values import KEY_ONE, keys_of
from dpfast.graph.user_laws import Law

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast.graph.model import DatasetGraph

__all__ = ["Law", "LawArcs", "checked_law", "law_steps"]

PIECE = 1 << 14  # arcs of a block: Python needs some hundredths of a second for it


def checked_law(law: object, g: DatasetGraph) -> Law:
    """Return the law if it is one, on the laws of the edges of a graph."""
    if not isinstance(law, Law):
        raise ArgumentTypeError(f"law must be a dpfast.graph.Law, not {type(law).__name__}; dpfast.kernels.law makes one")
    law.check(g._epsilons, _deltas(g))
    return law


def law_steps(
    g: DatasetGraph, law: Law, keys: NDArray[np.uint64], arcs: NDArray[np.int64], *, mirror: bool
) -> NDArray[np.uint64]:
    """What keys allow along arcs: of Pr[answer 1] from above or, mirrored, of Pr[answer 2]."""
    search = law._down if mirror else law._up
    deltas = np.zeros(arcs.size) if g._deltas is None else g._deltas[arcs]
    return _keys(search.steps(_words(keys, falls=search.falls), g._epsilons[arcs], deltas), falls=search.falls)


class LawArcs:
    """A graph and a law of the user's, with the methods of the compiled arcs; `mirror` says what keys are without colours."""

    def __init__(self, g: DatasetGraph, law: Law, colours: NDArray[np.uint8] | None, *, mirror: bool) -> None:
        self._graph = g
        self._user = law
        self._colours = colours
        self._mirror = mirror

    def by_heap(self, words: NDArray[np.uint64]) -> None:
        """Lower keys to the least that paths within regions allow."""
        g = self._graph
        for mirror in (False, True):
            second = np.full(words.size, self._mirror) if self._colours is None else self._colours == 2
            inside = second == mirror
            if inside.any():
                search = self._user._down if mirror else self._user._up
                found = _words(words, falls=search.falls)
                search.close(g._indptr, g._indices, g._epsilons, _deltas(g), found, inside)
                words[inside] = _keys(found[inside], falls=search.falls)

    def by_buckets(self, words: NDArray[np.uint64], shift: int, chunks: int = 0) -> int:
        """The same: a law of the user's has no bound on what an edge raises."""
        self.by_heap(words)
        return 0

    def boundary(self, out: NDArray[np.uint8]) -> None:
        """Which vertices have a neighbour of another colour; no law plays a part."""
        g = self._graph
        core.Arcs(g._indptr, g._indices, g._weights, g._deltas, self._colours).boundary(out)

    def cross(
        self, is_given: NDArray[np.uint8], given: NDArray[np.uint64], words: NDArray[np.uint64], missing: NDArray[np.uint8]
    ) -> None:
        """Bound by given keys across the boundary: given vertices of answer 1, where nothing proves the edge, and free ones."""
        g, colours = self._graph, self._colours
        assert colours is not None
        missing[:] = 0
        for arcs, targets in self._pieces():  # each arc backwards: its row is the vertex that is bounded
            others = g._indices[arcs]
            across = colours[others] != colours[targets]
            lone = across & (is_given[others] == 0)
            missing[targets[lone & (is_given[targets] == 0)]] = 1
            across &= (is_given[others] == 1) & ((is_given[targets] == 0) | (colours[targets] == 1))
            for mirror in (False, True):
                chosen = np.flatnonzero(across & ((colours[targets] == 2) == mirror))
                if not mirror:
                    held = is_given[targets[chosen]] == 1
                    source, target = KEY_ONE - given[others[chosen]], given[targets[chosen]]
                    chosen = chosen[~(held & self._proved(source, target, arcs[chosen]))]
                bounds = law_steps(g, self._user, KEY_ONE - given[others[chosen]], arcs[chosen], mirror=mirror)
                np.minimum.at(words, targets[chosen], bounds)

    def unproved(self, keys: NDArray[np.uint64], row: int, arc: int, out: NDArray[np.int64]) -> tuple[int, int, int]:
        """Arcs v -> w from `arc` on with p(w) > U(p(v)); the next ones that there are, and where to go on."""
        g = self._graph
        for arcs, sources in self._pieces(arc, min(PIECE, out.size)):
            broken = arcs[~self._proved(keys[sources], keys[g._indices[arcs]], arcs)]
            arc = int(arcs[-1]) + 1
            if broken.size:
                out[: broken.size] = broken
                return int(broken.size), row, arc
        return 0, row, arc

    def _proved(self, x: NDArray[np.uint64], y: NDArray[np.uint64], arcs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether y <= upper(x), or lower(y) <= x."""
        proved = y <= law_steps(self._graph, self._user, x, arcs, mirror=False)
        rest = np.flatnonzero(~proved)
        proved[rest] = KEY_ONE - x[rest] <= law_steps(self._graph, self._user, KEY_ONE - y[rest], arcs[rest], mirror=True)
        return proved

    def _pieces(self, start: int = 0, size: int = PIECE) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Arcs in blocks, with their rows."""
        g = self._graph
        ends = [np.arange(first, min(first + size, g.n_arcs)) for first in range(start, g.n_arcs, size)]
        return [(arcs, np.searchsorted(g._indptr, arcs, side="right") - 1) for arcs in ends]


def _deltas(g: DatasetGraph) -> NDArray[np.float64]:
    return np.zeros(g.n_arcs) if g._deltas is None else g._deltas


def _words(keys: NDArray[np.uint64], *, falls: bool) -> NDArray[np.float64]:
    """The doubles that a search works on: Pr[right answer] rounded down, or minus Pr[the other] rounded up."""
    if not falls:
        return _rounded(keys, up=False)
    return -_rounded(KEY_ONE - keys, up=True)


def _keys(words: NDArray[np.float64], *, falls: bool) -> NDArray[np.uint64]:
    return KEY_ONE - keys_of(-words) if falls else keys_of(words)


def _rounded(keys: NDArray[np.uint64], *, up: bool) -> NDArray[np.float64]:
    """The nearest double on one side of the probability of each key."""
    half = KEY_ONE // np.uint64(2)
    above = keys > half
    rest = (KEY_ONE - np.where(above, keys, half)).view(np.float64)
    number = 1.0 - rest
    # 1 - number is exact for a number in [1/2, 1]
    if up:
        number = np.where(1.0 - number > rest, np.nextafter(number, 2.0), number)
    else:
        number = np.where(1.0 - number < rest, np.nextafter(number, 0.0), number)
    return np.where(above, number, np.where(above, half, keys).view(np.float64))
