"""Probabilities at their own precision: keys, what stands for them outside, and queries.

A probability p is the exact number min(p, 1 - p), a double, and its side. Inside it is one integer, its key: the bits of p up to
1/2, ``KEY_ONE`` minus the bits of 1 - p above (see ``csrc/graph/law.h``). Keys are ordered as probabilities, and
``KEY_ONE - key`` is the key of 1 - p.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._core import graph as core
from dpfast.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast.graph.model import DatasetGraph

__all__ = ["KEY_ONE", "Fixed", "Probabilities", "exact", "fixed_values", "keys_of", "mirrored", "query_colours", "scalar_key"]

KEY_ONE: Final = np.uint64(core.KEY_ONE)
_HALF: Final = np.uint64(core.KEY_ONE // 2)


def keys_of(p: NDArray[np.float64], complement: NDArray[np.float64] | None = None) -> NDArray[np.uint64]:
    """Keys of probabilities in [0, 1]; above 1/2 by the complement if there is one."""
    below = p <= 0.5
    rest = 1.0 - p if complement is None else complement
    # Adding 0 makes a negative zero positive; 1 - p is exact from 1/2 on.
    return np.where(below, (p + 0.0).view(np.uint64), KEY_ONE - (np.minimum(rest, 0.5) + 0.0).view(np.uint64))


def scalar_key(p: float) -> int:
    """Key of one probability."""
    return int(keys_of(np.array([p]))[0])


def mirrored(keys: NDArray[np.uint64], where: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Keys of 1 - p where asked, of p elsewhere."""
    return np.where(where, KEY_ONE - keys, keys)


def exact(key: int) -> Fraction:
    """The probability of a key."""
    if key <= int(_HALF):
        return Fraction(float(np.uint64(key).view(np.float64)))
    return 1 - Fraction(float(np.uint64(int(KEY_ONE) - key).view(np.float64)))


class Probabilities:
    """Pr[answer 1] of some vertices, each an exact number.

    Attributes
    ----------
    probability : ndarray of float64
        p, exact up to 1/2; above the nearest double of it.
    complement : ndarray of float64
        1 - p, exact where p is above 1/2; below the nearest double of it.
    """

    __slots__ = ("_keys",)

    def __init__(self, keys: NDArray[np.uint64]) -> None:
        self._keys = keys

    @property
    def probability(self) -> NDArray[np.float64]:
        """Pr[answer 1]: exact up to 1/2, above it the nearest double."""
        return _numbers(self._keys)

    @property
    def complement(self) -> NDArray[np.float64]:
        """Pr[answer 2], one minus the probability: exact where that is above 1/2, else the nearest double."""
        return _numbers(KEY_ONE - self._keys)

    def __len__(self) -> int:
        return int(self._keys.size)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.probability if dtype is None else self.probability.astype(dtype)

    def __repr__(self) -> str:
        return f"<dpfast.graph.{type(self).__name__} of {len(self)} vertices>"


class Fixed(Probabilities):
    """Values of some vertices at their own precision: what `optimal_boundary` returns and ``fixed=`` takes.

    Attributes
    ----------
    vertices : ndarray or list
        Labels of the vertices.
    probability, complement : ndarray of float64
        As in `Probabilities`.
    """

    __slots__ = ("_vertices", "vertices")

    def __init__(self, vertices: Any, numbers: NDArray[np.int64], keys: NDArray[np.uint64]) -> None:
        super().__init__(keys)
        self.vertices = vertices
        self._vertices = numbers


def _numbers(keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    below = keys <= _HALF
    return np.where(
        below, np.where(below, keys, _HALF).view(np.float64), 1.0 - (KEY_ONE - np.where(below, _HALF, keys)).view(np.float64)
    )


def fixed_values(g: DatasetGraph, fixed: Any) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Vertices (ascending) and keys of ``fixed=``: an array with NaN, a dict, (vertices, values), or a `Fixed`."""
    if isinstance(fixed, Fixed):
        vertices, keys = fixed._vertices, fixed._keys
        if vertices.size and int(vertices.max()) >= g.n_vertices:
            raise ArgumentError("fixed belongs to another graph")
    elif isinstance(fixed, Probabilities):
        if len(fixed) != g.n_vertices:
            raise ArgumentError("fixed must have an entry for each vertex")
        return np.arange(g.n_vertices), fixed._keys
    elif isinstance(fixed, Mapping):
        vertices = g._names.vertices(list(fixed), "fixed")
        keys = keys_of(_probabilities(list(fixed.values()), vertices.size))
    elif isinstance(fixed, tuple) and len(fixed) == 2:
        vertices = g._names.vertices(fixed[0], "fixed")
        keys = keys_of(_probabilities(fixed[1], vertices.size))
    else:
        values = _doubles(fixed)
        if values.shape != (g.n_vertices,):
            raise ArgumentError(
                "fixed must have an entry for each vertex, NaN where it is free; or be a dict, or (vertices, values)"
            )
        vertices = np.flatnonzero(~np.isnan(values))
        keys = keys_of(_probabilities(values[vertices], vertices.size))
    order = np.argsort(vertices, kind="stable")
    vertices, keys = vertices[order], keys[order]
    if (np.diff(vertices) == 0).any():
        raise ArgumentError("fixed names a vertex twice")
    return vertices, keys


def _doubles(values: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError("fixed must hold probabilities: numbers from 0 to 1") from None


def _probabilities(values: Any, n: int) -> NDArray[np.float64]:
    array = _doubles(values)
    if array.shape != (n,):
        raise ArgumentError("fixed must have one value for each of its vertices")
    if not ((array >= 0) & (array <= 1)).all():
        raise ArgumentError("fixed must hold probabilities, from 0 to 1; leave a free vertex out")
    return array


def query_colours(g: DatasetGraph, query: Any) -> NDArray[np.uint8]:
    """The right answer, 1 or 2, at each vertex."""
    if isinstance(query, str):
        if g._attributes is None:
            raise ArgumentTypeError("a query by name needs a graph that DatasetGraph.from_networkx made")
        try:
            values = [g._attributes[node][query] for node in g.labels]
        except KeyError:
            raise ArgumentError(f"a node has no attribute {query!r}") from None
    elif isinstance(query, Mapping):
        vertices = g._names.vertices(list(query), "query")
        if np.unique(vertices).size != g.n_vertices:
            raise ArgumentError("query must give an answer for every vertex")
        by_vertex = dict(zip(vertices.tolist(), query.values(), strict=True))
        values = [by_vertex[vertex] for vertex in range(g.n_vertices)]
    else:
        values = query
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        raise ArgumentTypeError("query must hold the integers 1 and 2, the right answer at each vertex")
    if array.shape != (g.n_vertices,):
        raise ArgumentError("query must have an answer for each vertex, in the order of labels")
    if not ((array == 1) | (array == 2)).all():
        raise ArgumentError("query must hold 1 or 2 for each vertex")
    return np.ascontiguousarray(array, np.uint8)
