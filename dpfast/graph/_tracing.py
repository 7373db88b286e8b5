"""Back from a vertex to the fixed value that decides it. No search stores its paths: they are found again when asked for."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpfast.errors import InfeasibleError
from dpfast.graph._values import KEY_ONE, Probabilities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast.graph.model import DatasetGraph

__all__ = ["Search", "refusal"]


@dataclass(frozen=True)
class Search:
    """A search that is done: keys of Pr[right answer] as given and as found, and which vertices are fixed."""

    graph: DatasetGraph
    colours: NDArray[np.uint8]
    is_seed: NDArray[np.bool_]
    given: NDArray[np.uint64]
    words: NDArray[np.uint64]

    def trace(self, vertex: int) -> tuple[list[int], list[int]]:
        """Vertices from the deciding fixed one to `vertex`, the fewest, and the arcs between; [vertex] where there is none.

        Backwards over arcs whose law is tight; among equal keys (an epsilon of 0) such a walk may go round, so vertices are
        visited once.
        """
        after: dict[int, tuple[int, int]] = {}  # the next vertex on the way to `vertex`, and the arc to it
        waiting, seen = deque([vertex]), {vertex}
        while waiting:
            at = waiting.popleft()
            if self.words[at] == KEY_ONE and not self.is_seed[at]:
                break
            if self.is_seed[at] and self.words[at] == self.given[at]:
                return self._path(at, vertex, after)
            row = self.graph._row(at)
            others = self.graph._indices[row]
            across = self.colours[others] != self.colours[at]
            # Across the boundary only fixed vertices bound, by what they were given.
            sources = np.where(across, KEY_ONE - self.given[others], self.words[others])
            steps = self.graph._carry(sources, np.arange(row.start, row.stop), mirror=bool(self.colours[at] == 2))
            tight = (steps == self.words[at]) & (~across | self.is_seed[others])
            for place in np.flatnonzero(tight).tolist():
                other = int(others[place])
                if across[place]:
                    if self.is_seed[at] and self.colours[at] == 2:
                        continue
                    after[other] = (at, row.start + place)
                    return self._path(other, vertex, after)
                if other not in seen:
                    seen.add(other)
                    after[other] = (at, row.start + place)
                    waiting.append(other)
        return [vertex], []

    def _path(self, first: int, last: int, after: dict[int, tuple[int, int]]) -> tuple[list[int], list[int]]:
        path, arcs = [first], []
        while path[-1] != last:
            step, arc = after[path[-1]]
            path.append(step)
            arcs.append(arc)
        return path, arcs


def refusal(search: Search, path: list[int], arcs: list[int]) -> InfeasibleError:
    """The error for a path of fixed ends, the last of which has a p above what the path allows next to the first."""
    g = search.graph
    p = np.where(search.colours == 2, KEY_ONE - search.given, search.given)
    laws = [g._law(arc) for arc in arcs]
    largest = g._along(int(p[path[0]]), arcs)
    smallest = int(KEY_ONE) - g._along(int(KEY_ONE - p[path[-1]]), arcs[::-1], mirror=True)
    names = [g._names.name(vertex) for vertex in path]
    values = Probabilities(np.array([p[path[0]], p[path[-1]], largest, smallest], np.uint64)).probability.tolist()
    steps = "1 edge" if len(arcs) == 1 else f"{len(arcs)} edges"
    text = (
        f"no private mechanism has the fixed values: with p({names[0]!r}) = {values[0]!r} a path of {steps} allows "
        f"p({names[-1]!r}) at most {values[2]!r}, and it is {values[1]!r}; lower it to that, or raise the first to {values[3]!r}"
    )
    return InfeasibleError(text, pair=(names[0], names[-1]), path=names, laws=laws, largest=values[2], smallest=values[3])
