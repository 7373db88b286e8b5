"""Levels of the mode: how many rows each label of a public domain has fewer than the most frequent one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpfast.domain import Domain
from dpfast.duff.data import check_neighbours
from dpfast.duff.levels import Levels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpfast.duff.data import Neighbours

__all__ = ["counts_of_codes", "label_codes", "label_counts", "levels_of_counts", "mode_levels"]


def mode_levels(values: Any, *, domain: Domain | Sequence[Any], neighbours: Neighbours = "add_remove") -> Levels:
    """Levels of the mode over a public domain: grid index i is its i-th value, and ties are all modes.

    Parameters
    ----------
    values : column
        Any that the domain encodes, or a list. Values outside the domain are not counted.
    domain : Domain or list
        Public.
    neighbours : {"add_remove", "replace_one"}

    Returns
    -------
    Levels
        Private data, with step 1 and origin 0. Distance c_max - c_x: exact under add_remove, and of sensitivity 1. Under
        replace_one it may change by 2, that of the label which is left for the new most frequent one; the weights of `sample`
        are private all the same, see below. Neighbouring labels of one distance share an entry, so a large domain costs nothing.

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Notes
    -----
    Under add_remove counts only grow or only shrink, so weights e^(-epsilon d) are epsilon-DP for these distances;
    `dpfast.duff.sample` uses e^(-epsilon d / 2), which holds under replace_one too: where a row goes from v to u and u becomes
    the most frequent label alone, the weight of u stays, no weight grows, that of v falls by at most e^epsilon and all others by
    at most e^(epsilon / 2), so no chance changes by more than e^epsilon. Other uses of a distance may rely on its sensitivity.

    Examples
    --------
    >>> levels = mode_levels(["a", "c", "c"], domain=["a", "b", "c", "d"], neighbours="add_remove")
    >>> levels.distance.tolist()
    [1, 2, 0, 2]
    """
    check_neighbours(neighbours)
    labels = Domain.of(domain)
    return levels_of_counts(*label_counts(values, labels), labels.size)


def levels_of_counts(labels: NDArray[np.int64], counts: NDArray[np.int64], size: int) -> Levels:
    """Levels of the mode from the labels that occur, ascending, and how often."""
    top = int(counts.max(initial=0))
    seen = np.concatenate([labels, [size]])
    before = np.concatenate([[-1], labels])
    gaps = seen - before > 1  # runs of labels that no row has
    lower = np.concatenate([labels, before[gaps] + 1])
    upper = np.concatenate([labels, seen[gaps] - 1])
    distance = np.concatenate([top - counts, np.full(int(gaps.sum()), top, np.int64)])
    order = np.argsort(lower)
    lower, upper, distance = lower[order], upper[order], distance[order]
    starts = np.flatnonzero(np.diff(distance, prepend=-1))
    ends = np.append(starts[1:], distance.size) - 1
    return Levels(distance[starts], lower[starts], upper[ends], step=1)


def label_counts(values: Any, domain: Domain) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The labels that occur, ascending, and how often."""
    return counts_of_codes(label_codes(values, domain), domain.size)


def label_codes(values: Any, domain: Domain) -> NDArray[Any]:
    """The code of each value; the size of the domain, or more, for values outside."""
    rule = domain if domain.other is not None else domain.with_rule(unknown="randomise")
    if isinstance(values, (list, tuple)):
        values = np.fromiter(values, object, len(values))  # whatever they happen to be: a list declares no type
    return rule.encode(values)


def counts_of_codes(codes: NDArray[Any], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The codes below `size` that occur, ascending, and how often."""
    if size <= max(1 << 16, 2 * codes.size):
        counts = np.bincount(codes, minlength=size)[:size]
        labels = np.flatnonzero(counts)
        return labels, counts[labels].astype(np.int64)
    found, often = np.unique(codes[codes < size], return_counts=True)
    return found.astype(np.int64), often.astype(np.int64)
