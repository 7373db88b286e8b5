"""Public cut points of a numeric column: checked, named and identified.

Bin i holds e_i <= x < e_{i+1}; the last one is closed on both sides, so that the declared maximum is inside.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfast._domain_values import DIGEST_PERSON, SIZE_MAX, is_unicode, plain, update_digest
from dpfast.errors import ArgumentTypeError, DomainError

if TYPE_CHECKING:
    from dpfast._domain_values import Value

__all__ = ["bin_labels", "bins_digest", "check_edges"]


def check_edges(edges: Any) -> tuple[float, ...]:
    """Return the cut points as doubles, which they must be exactly; or say what is wrong with them."""
    if not isinstance(edges, (list, tuple, range)):
        raise ArgumentTypeError(
            f"edges are a list or tuple of numbers, not {type(edges).__name__}: a column is private data, and so are its "
            "quantiles; write the cut points down"
        )
    if len(edges) > SIZE_MAX:
        raise DomainError("a domain has at most 2**31 values")
    cuts = tuple(_edge(edge) for edge in edges)
    if len(cuts) < 2:
        raise DomainError("edges need at least two numbers, which make one bin")
    if not all(low < high for low, high in pairwise(cuts)):
        raise DomainError("edges must grow strictly: each is larger than the one before")
    return cuts


def _edge(value: Any) -> float:
    number = value.item() if isinstance(value, (np.integer, np.floating)) else value
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise ArgumentTypeError("every edge must be an int or a float")
    try:
        edge = float(number)
    except OverflowError:
        edge = math.inf
    if not math.isfinite(edge):
        raise DomainError("edges must be finite; values beyond the first and the last are unknown, see unknown= and other=")
    if edge != number:
        raise DomainError("an integer edge has no exact double; choose one of fewer than 54 bits")
    return edge + 0.0  # -0.0 and 0.0 cut alike


def bin_labels(cuts: tuple[float, ...], labels: Any) -> tuple[str, ...]:
    """Return the names of the bins: those given, or their intervals."""
    if labels is None:
        ends = [_number(cut) for cut in cuts]
        closed = ["]" if last == len(cuts) - 1 else ")" for last in range(1, len(cuts))]
        return tuple(f"[{low}, {high}{end}" for (low, high), end in zip(pairwise(ends), closed, strict=True))
    if not isinstance(labels, (list, tuple)):
        raise ArgumentTypeError("labels are a list or tuple of texts, one for each bin")
    names = tuple(plain(label) for label in labels)
    if not all(isinstance(name, str) and is_unicode(name) for name in names):
        raise DomainError("labels must be texts of valid Unicode; null=True makes null a category after the bins")
    if len(names) != len(cuts) - 1:
        raise DomainError(f"{len(cuts)} edges make {len(cuts) - 1} bins, each with one label; there are {len(names)} labels")
    if len(set(names)) != len(names):
        raise DomainError("labels name each bin once; some label is repeated")
    return names


def _number(cut: float) -> str:
    """The shortest text of a double, without the ``.0`` of a whole number."""
    return str(int(cut)) if cut.is_integer() and abs(cut) < 2**53 else repr(cut)


def bins_digest(cuts: Sequence[float], values: Sequence[Value]) -> bytes:
    """32 bytes that identify cut points, labels and whether null is a category; never those of a list of values."""
    state = hashlib.blake2b(digest_size=32, person=DIGEST_PERSON)
    for cut in cuts:
        update_digest(state, b"e", cut.hex().encode())
    for value in values:
        update_digest(state, b"n" if value is None else b"s", str(value or "").encode())
    return state.digest()
