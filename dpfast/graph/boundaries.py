"""Where the right answer changes, and what probabilities to give there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfast.graph._values import query_colours
from dpfast.graph.model import DatasetGraph, as_graph

__all__ = ["boundary", "boundary_mask"]


def boundary_mask(g: DatasetGraph, colours: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which vertices have a neighbour with another right answer."""
    mask = np.empty(g.n_vertices, np.uint8)
    g._arcs(colours).boundary(mask)
    return mask.view(np.bool_)


def boundary(g: Any, query: Any) -> Any:
    """Return the datasets with a neighbour on which the right answer is another.

    Parameters
    ----------
    g : DatasetGraph
        Or a family, which has one.
    query : array_like, dict or str
        The right answer, 1 or 2, of every vertex: in the order of the labels, by label, or the name of a node attribute of the
        networkx graph that g was made of.

    Returns
    -------
    ndarray or list of labels

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Examples
    --------
    >>> from dpfast import graph
    >>> g = graph.DatasetGraph([0, 1, 2], [1, 2, 3], 0.5)
    >>> graph.boundary(g, [2, 2, 1, 1]).tolist()
    [1, 2]
    """
    model = as_graph(g)
    return model._names.take(np.flatnonzero(boundary_mask(model, query_colours(model, query))))
