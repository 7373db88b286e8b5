"""The mean of a column, or of its groups, by Duff: from the rows nearest to the bounds and the sum, without a sort."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast.duff._request import Request, grid_of, indices_of, plain_digest, rows_of
from dpfast.duff._words import words_of
from dpfast.duff.means import extreme_levels
from dpfast.duff.recursive import levels_point
from dpfast.duff.weights import Weights, last_distance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpfast._spending import Charges
    from dpfast.domain import Domain
    from dpfast.duff.data import Neighbours
    from dpfast.duff.grid import Grid
    from dpfast.duff.levels import Levels
    from dpfast.randomness import Column, Stream

__all__ = ["mean"]

# The means that a person reaches are at distance 1, not 0. Weights are integers below 2^62: from this epsilon on those of the
# distances 1 and 2 draw nearer, not farther apart, and at twice of it they are equal.
LARGEST: Final = Fraction(42)
PIECE: Final = 1 << 20  # rows that are summed at a time


def mean(
    values: Any,
    *,
    bounds: Any,
    epsilon: float,
    neighbours: Neighbours = "add_remove",
    step: Any = None,
    missing: Any = None,
    by: Any = None,
    keys: Sequence[Any] | Domain | None = None,
    public_groups: bool = False,
    rows_per_person: int = 1,
    person: Any = None,
    rng: Stream | None = None,
    column_name: Column = None,
    threads: int | None = None,
    ledger: Charges | None = None,
) -> Any:
    """Release the mean of a column, or of each group of it; `epsilon` is what the whole call spends.

    The mean of the values clipped to the bounds and snapped to the grid.

    Parameters
    ----------
    values, bounds, epsilon, neighbours, step, missing, by, keys, public_groups, rows_per_person, person, rng, column_name, \
threads, ledger
        As for `median`.

    Returns
    -------
    int, float, numpy.datetime64 or timedelta64; with `by=` an ndarray of shape (len(keys),)
        Values of the grid: for the mean of integers a `step` below 1 is worth giving.

    Raises
    ------
    ArgumentError, ArgumentTypeError, LedgerError
        Before anything is drawn.

    Notes
    -----
    **Privacy guarantee.** Pure `epsilon` for neighbouring data sets (add_remove or replace_one), exactly: a grid point x is
    released with probability w_d(x) / sum of w in integers, d(x) the number of persons who must come, go or change until x lies
    between attainable means, w_k <= e^(epsilon / 2) w_{k+1}. Nothing is rounded, no sum wraps. What epsilon has above 42 is not
    spent: integers of 62 bits tell distances apart best there.
    **When to use.** Where the bounds are loose and outliers few. Noise on a sum and a count is better for data that fill their
    bounds.
    **Cost.** O(n), and some microseconds for each level, of which about (2 / epsilon) ln(2^62 epsilon) matter.

    References
    ----------
    Duff: arXiv 2010.04235, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfast import Stream
    >>> ages = 20.0 + np.arange(10_000) % 61
    >>> round(mean(ages, bounds=(0, 120), epsilon=1.0, rng=Stream.insecure(1)), 1)
    50.0
    """
    numbers = grid_of(values, bounds, step, neighbours, missing)
    request = Request(epsilon, neighbours, by, keys, public_groups, rows_per_person, person, column_name, rng, threads, ledger)
    rows = rows_of(request, plain_digest(request, "mean", *numbers.law), numbers.check_rows)
    weights = Weights(min(rows.epsilon, LARGEST))
    last = max(last_distance(weights), 1)
    found = []
    for indices in indices_of(numbers, rows, threads):
        levels = capped_levels(indices, numbers.grid, neighbours, last)
        found.append(levels_point(levels, weights.of(levels.distance), words_of(rows.words())))
    return numbers.grid.values(np.array(found, np.int64)) if rows.is_grouped else numbers.grid.value(found[0])


def capped_levels(indices: NDArray[np.int64], grid: Grid, neighbours: Neighbours, last: int) -> Levels:
    """Levels of the mean in which distances from `last` on are one, from the `last` smallest and largest rows."""
    count = min(last, indices.size)
    if 2 * count < indices.size:
        parted = np.partition(indices, [count, indices.size - count - 1])
        smallest, largest = parted[:count], parted[indices.size - count :]
    else:
        smallest = largest = indices
    return extreme_levels(
        np.sort(smallest)[:count].tolist(),
        np.sort(largest)[::-1][:count].tolist(),
        indices.size,
        sum_of(indices),
        grid,
        neighbours,
        last,
    )


def sum_of(indices: NDArray[np.int64]) -> int:
    """Piece by piece, each by halves of 31 bits: no sum wraps, however many rows there are."""
    total = 0
    for start in range(0, indices.size, PIECE):
        piece = indices[start : start + PIECE]
        total += int((piece >> 31).sum()) * (1 << 31) + int((piece & (1 << 31) - 1).sum())
    return total
