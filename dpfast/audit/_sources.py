"""Where the outputs of an audit come from: a dpfast mechanism, run as users run it, or any callable.

A callable is called as ``function(dataset)`` for one output, or as ``function(dataset, size)`` for an array of `size` of them.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast.domain import Domain
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.randomness import Stream
from dpfast.sanitise import sanitise_column
from dpfast.words import TILE_ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast.audit._exact import TabledMechanism

__all__ = ["NAN_LABEL", "PIECE", "as_double", "draw", "mechanism_counts", "normal"]

PIECE: Final = 1 << 20  # outputs drawn at once
ROWS: Final = 1 << 23  # rows sanitised at once, enough for several threads
MOST_CATEGORIES: Final = 1 << 22
COLUMN_NAME: Final = "audit"
NAN_LABEL: Final = "NaN"  # which, unlike NaN, equals itself


def mechanism_counts(
    mechanism: TabledMechanism, code: int, samples: int, *, stream: Stream, threads: int | None
) -> NDArray[np.int64]:
    """Return how often each category is answered by `samples` rows of one category, sanitised by the compiled kernels."""
    k = mechanism.domain.size
    if k > MOST_CATEGORIES:
        raise ArgumentError("answers of more than 2**22 categories are not counted; audit the mechanism exactly")
    # codes as they are; the law is that of the mechanism, whose domain says only how values are called
    domain = Domain.range(k, unknown="randomise" if mechanism.domain.unknown == "randomise" else "error")
    dtype = next(dtype for dtype in (np.uint8, np.uint16, np.uint32) if k <= np.iinfo(dtype).max)
    column = np.full(min(ROWS, samples), code, dtype)
    answers = np.empty_like(column)
    counts = np.zeros(k, np.int64)
    tile = max(TILE_ROWS, k)
    for start in range(0, samples, ROWS):
        rows = min(ROWS, samples - start)
        sanitise_column(
            domain,
            mechanism.law,
            mechanism.digest,
            column[:rows],
            rng=stream,
            column_name=COLUMN_NAME,
            threads=threads,
            out=answers[:rows],
        )
        for first in range(0, rows, tile):
            counts += np.bincount(answers[first : min(first + tile, rows)], minlength=k)
    return counts


def draw(function: Callable[..., Any], dataset: Any, size: int, *, vectorised: bool) -> Any:
    """Return outputs: a numpy array of numbers, or a list of anything that can be told apart by a dictionary."""
    if not vectorised:
        return normal([function(dataset) for _ in range(size)])
    array = np.asarray(function(dataset, size))
    if array.ndim not in (1, 2) or array.shape[0] != size:
        raise ArgumentError(
            "with vectorised=True the function must return an array with one output, or one row, for each of size"
        )
    return normal(array)


def normal(outputs: Any) -> Any:
    """Return outputs in one of two forms: an array of int64 or of floats, or a list of labels without NaN among them."""
    if not isinstance(outputs, np.ndarray):
        return _of_list(list(outputs))
    kind = outputs.dtype.kind
    if outputs.ndim == 1 and kind in "iuf":
        return outputs
    if outputs.ndim == 1 and kind in "bmM":
        return outputs.astype(np.int64)
    return _of_list(outputs.tolist())


def _of_list(outputs: list[Any]) -> Any:
    # a refusal, None, stands beside numbers as NaN does
    if any(output is not None for output in outputs) and all(
        output is None or isinstance(output, (numbers.Real, np.bool_)) for output in outputs
    ):
        whole = all(
            isinstance(output, (numbers.Integral, np.bool_)) and -(1 << 63) <= int(output) < 1 << 63 for output in outputs
        )
        return np.array([int(x) for x in outputs], np.int64) if whole else np.array([as_double(x) for x in outputs], np.float64)
    return [_label(output) for output in outputs]


def as_double(output: Any) -> float:
    """The double nearest to a number; NaN for what is none."""
    is_number = isinstance(output, (numbers.Real, np.bool_))
    if not is_number:
        return math.nan
    try:
        return float(output)
    except OverflowError:  # an integer or fraction above all doubles
        return math.inf if output > 0 else -math.inf


def _label(output: Any) -> Hashable:
    if isinstance(output, (np.ndarray, np.generic)):
        output = output.tolist()
    if isinstance(output, (list, tuple)):
        return tuple(map(_label, output))
    if isinstance(output, float) and math.isnan(output):
        return NAN_LABEL
    try:
        hash(output)
    except TypeError:
        raise ArgumentTypeError(
            f"an output of type {type(output).__name__} can be neither ordered nor hashed; return a number, a text or a tuple"
        ) from None
    label: Hashable = output
    return label
