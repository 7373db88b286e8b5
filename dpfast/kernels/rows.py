"""The rows of a mechanism as numbers that compiled loops can read, and whole words for the rows of a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from dpfast._rounding import integer
from dpfast._spending import payment, persons_figure
from dpfast.errors import ArgumentTypeError
from dpfast.integer_table import WORD_RANGE
from dpfast.matrix import TableMechanism
from dpfast.randomness import Stream
from dpfast.response import RandomisedResponse
from dpfast.words import TILE_WORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast._spending import Charges

__all__ = ["MatrixTable", "ResponseTable", "Table", "table", "words"]


class ResponseTable(NamedTuple):
    """Randomised response in numbers, as `respond` reads it; made by `table`.

    Attributes
    ----------
    k : int
        Number of categories.
    unknown : bool
        Whether a code outside the domain is answered, by the uniform row; otherwise it is an error.
    step, last : uint64
        Words of each category, and the last word that redraws; step is 0 where all rows are uniform.
    share, wide : uint64
        The uniform row: words of a category, less one, and how many categories have one more.
    """

    k: np.int64
    unknown: bool
    step: np.uint64
    last: np.uint64
    share: np.uint64
    wide: np.uint64


class MatrixTable(NamedTuple):
    """Any other mechanism in numbers; made by `table`.

    Attributes
    ----------
    k : int
        Number of categories.
    unknown : bool
        Whether a code outside the domain is answered, by the last row; otherwise it is an error.
    firsts : ndarray of uint32, shape (rows,)
        The first category of each row that has a word.
    tops : ndarray of uint64, shape (rows, k)
        The last word of each category in each row.
    """

    k: np.int64
    unknown: bool
    firsts: NDArray[np.uint32]
    tops: NDArray[np.uint64]


Table: TypeAlias = ResponseTable | MatrixTable


def table(mechanism: RandomisedResponse | TableMechanism) -> Table:
    """Return a mechanism in numbers, for `respond`.

    Parameters
    ----------
    mechanism : RandomisedResponse, ExponentialResponse, MatrixResponse, or what `optimal_response` returns

    Returns
    -------
    ResponseTable or MatrixTable
        A NamedTuple, which numba takes as an argument. The same integers as those of the mechanism.

    Raises
    ------
    ArgumentTypeError
        For anything that is no such mechanism; a `Stratified` is several.

    Examples
    --------
    >>> from dpfast import RandomisedResponse, kernels
    >>> int(kernels.table(RandomisedResponse(["no", "yes"], epsilon=1.0)).k)
    2
    """
    check_mechanism(mechanism, "a table is that")
    unknown = mechanism.domain.unknown == "randomise"
    k = mechanism.domain.size
    if isinstance(mechanism, TableMechanism):
        tops, firsts = mechanism.integer_table.search_rows(unknown=unknown)
        return MatrixTable(np.int64(k), unknown, firsts, tops)
    share, wide = divmod(WORD_RANGE, k)
    step = 0 if mechanism.is_uniform else mechanism.threshold
    words = (np.uint64(value) for value in (step, max(0, k * step - 1), share - 1, wide))
    return ResponseTable(np.int64(k), unknown, *words)


def words(
    mechanism: RandomisedResponse | TableMechanism,
    n_rows: int,
    *,
    rng: Stream | None = None,
    column_name: str | None = None,
    ledger: Charges | None = None,
) -> NDArray[np.uint64]:
    """Return the words of the next rows of a column: what `respond` decides them by.

    Parameters
    ----------
    mechanism : RandomisedResponse, ExponentialResponse, MatrixResponse, or what `optimal_response` returns
    n_rows : int
        How many rows; they count as used from now on. For a column in pieces call it once a piece, with one `rng`.
    rng : Stream, optional
        Default: fresh entropy.
    column_name : str, optional
        Needed if `rng` is keyed.
    ledger : Ledger, optional
        Is charged as by `sanitise`, before a word is drawn.

    Returns
    -------
    ndarray of uint64, shape (n_rows,)
        The words that `sanitise` would use: `respond` gives the same answers, row by row. **Each word is used once, for the row
        it belongs to, and never shown**: word and answer together reveal the true value.

    Raises
    ------
    ArgumentTypeError, ArgumentError, LedgerError

    Notes
    -----
    **Cost.** 8 bytes of memory and a block of AES a row: `sanitise` reads the low bits of a word only where the high ones leave a
    row undecided, this function reads them all.

    Examples
    --------
    >>> from dpfast import RandomisedResponse, kernels
    >>> kernels.words(RandomisedResponse(["no", "yes"], epsilon=1.0), 5).dtype
    dtype('uint64')
    """
    check_mechanism(mechanism, "words are those")
    if rng is not None and not isinstance(rng, Stream):
        raise ArgumentTypeError(f"rng must be None or a dpfast.Stream, not {type(rng).__name__}")
    n_rows = integer(n_rows, "n_rows", minimum=0)
    pay = payment(ledger, column_name, mechanism.digest, lambda rows: persons_figure([mechanism], rows))
    stream = Stream() if rng is None else rng
    stream.rows(column_name, mechanism.digest, 0)  # what is wrong with a name is said before anything is charged
    drawn = np.empty(n_rows, np.uint64)
    pay(stream, "row")
    split = mechanism.law.split
    reader = stream.rows(column_name, mechanism.digest, n_rows).reader(0, whole=not split)
    for first in range(0, n_rows, TILE_WORDS):
        tile = drawn[first : first + TILE_WORDS]
        if split:
            reader.joined(first, tile)
        else:
            tile[:] = reader.words(tile.size)
    return drawn


def check_mechanism(mechanism: object, what: str) -> None:
    """Refuse what is no single mechanism."""
    if not isinstance(mechanism, RandomisedResponse | TableMechanism):
        raise ArgumentTypeError(f"{what} of one mechanism, not of {type(mechanism).__name__}")
