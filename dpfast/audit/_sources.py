"""Where the outputs of an audit come from: a dpfast mechanism, run as users run it, or any callable.

A callable is called as ``function(dataset)`` for one output, or as ``function(dataset, size)`` for an array of `size` of them.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Hashable
from enum import Enum
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

__all__ = ["NAN_LABEL", "PIECE", "as_double", "draw", "is_number", "mechanism_counts", "normal"]

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
    found = function(dataset, size)
    outputs: Any = found if isinstance(found, (list, tuple)) else np.asarray(found)  # a list would be made of one type
    if (isinstance(outputs, np.ndarray) and outputs.ndim not in (1, 2)) or len(outputs) != size:
        raise ArgumentError(
            "with vectorised=True the function must return an array with one output, or one row, for each of size"
        )
    return normal(outputs)


def normal(outputs: Any) -> Any:
    """Return outputs in one of two forms: an array of integers or of floats, or a list of labels without NaN among them.

    What becomes of an output never depends on those beside it, such as a number on whether a text is among them: outputs come in
    pieces, and independent ones have to stay independent.
    """
    if isinstance(outputs, np.ndarray):
        kind = outputs.dtype.kind
        if outputs.ndim == 1 and kind in "iuf":
            return outputs
        if outputs.ndim == 1 and kind in "bmM":
            return outputs.astype(np.int64)
        outputs = outputs.tolist()
    return [_label(output) for output in outputs]


def is_number(output: Any) -> bool:
    """Whether a label can stand on a line; NaN does so beside it."""
    return isinstance(output, numbers.Real) or (isinstance(output, str) and output == NAN_LABEL)


def as_double(output: Any) -> float:
    """The double nearest to a number; NaN for what is none."""
    if not isinstance(output, numbers.Real):
        return math.nan
    number: Any = output
    try:
        return float(number)
    except OverflowError:  # an integer or fraction above all doubles
        return math.inf if number > 0 else -math.inf


def _label(output: Any) -> Hashable:
    kind: Any = type(output)
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
    if kind.__eq__ is object.__eq__ and output is not None and not isinstance(output, (Enum, type)):
        raise ArgumentTypeError(
            f"an output of type {type(output).__name__} equals none but itself, so that nothing is ever seen twice; "
            "return a number, a text or a tuple"
        )
    label: Hashable = output
    return label
