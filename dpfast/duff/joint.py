"""Several quantiles at once: by one joint draw, by halving, or each by itself."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from dpfast.duff._joint_law import MOST_QUANTILES, MOST_ROWS, Placements, ratio_for
from dpfast.duff._joint_windows import Windows, windows_for
from dpfast.duff._request import Request, grid_of, indices_of, plain_digest, rows_of
from dpfast.duff._wide import below
from dpfast.duff._words import words_of
from dpfast.duff.orders import check_quantile
from dpfast.duff.recursive import draw_independent, draw_recursive
from dpfast.duff.sampling import digest_of
from dpfast.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpfast._spending import Charges
    from dpfast.domain import Domain
    from dpfast.duff._wide import Word
    from dpfast.duff.data import Neighbours
    from dpfast.randomness import Column, Stream

__all__ = ["quantiles"]

METHODS: Final = ("joint", "recursive", "independent")
SLOT_BITS: Final = 16
MOST_PLACES_BITS: Final = 62


def quantiles(
    values: Any,
    qs: Sequence[Any],
    *,
    bounds: Any,
    epsilon: float,
    neighbours: Neighbours = "add_remove",
    step: Any = None,
    method: Literal["joint", "recursive", "independent"] = "joint",
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
) -> NDArray[Any]:
    """Release several quantiles of a column, or of each group of it; `epsilon` is what the whole call spends.

    Parameters
    ----------
    values : column of numbers, shape (n_rows,)
        As for `median`.
    qs : sequence of float, Fraction, Decimal, or pairs of ints
        Above 0 and up to 1, in any order; at most 1023 different ones. A float is read as the shortest decimal that denotes it.
    bounds, epsilon, neighbours, step
        As for `median`.
    method : {"joint", "recursive", "independent"}
        "joint": one draw of all answers, by far the most accurate for up to some dozens of quantiles. "recursive": the middle
        quantile first, then the others among the rows below and above the answer; for many quantiles. "independent": each with an
        equal share of epsilon, sorted.
    missing, by, keys, public_groups, rows_per_person, person, rng, column_name, threads, ledger
        As for `median`.

    Returns
    -------
    ndarray, shape (len(qs),); with `by=` (len(keys), len(qs))
        Values of the grid, in the order of `qs`; a larger q never has a smaller answer.

    Raises
    ------
    ArgumentError, ArgumentTypeError, LedgerError
        Before anything is drawn.

    Notes
    -----
    **Privacy guarantee.** Pure `epsilon` for neighbouring data sets, no delta. "joint": the exponential mechanism on
    ``-sum |rows between answers - (q_j - q_(j-1)) n|``, sensitivity 2 (1 - the least gap between qs, ends included) under
    add_remove and 2 under replace_one; computed in doubles with exponents of their own, whose error adds at most (m + 1) 2^-32 to
    the loss of m quantiles, proved in `dpfast.duff._joint_law` and subtracted from epsilon beforehand. "recursive":
    floor(log2 m) + 1 layers share epsilon; a person who comes or goes is in one part of each layer, one who changes in two, so
    replace_one halves the shares. "recursive" and "independent" are exact, in integers. To break ties each row first gets a
    random place within its grid point (2^16 of them; fewer on a grid of more than 2^46 points), and answers are rounded down to
    the grid. "joint" refuses a column of 2^31 rows or more, before it charges or draws: that it is shorter counts as public.
    **Keyed answers.** They are a function of the key, the context, `column_name`, the arguments and the rows in their order, in
    which they get their places; of neither threads nor chunks nor the kind of column. "joint" draws from a few rows around each
    target where n, the grid, `qs`, epsilon and neighbours allow it, and from all rows where not: one law, but not the same words,
    so a row that comes or goes may change the route, and with it the whole answer.
    **Cost.** "joint": O(n), some tens of milliseconds for 10^6 rows and nine quantiles; where epsilon is so small or quantiles
    so close that most rows matter, O(n m) time and 16 n (m + 3) bytes, about 50 ns a row and quantile.

    References
    ----------
    .. [1] J. Gillenwater, M. Joseph, A. Kulesza, "Differentially private quantiles", ICML 2021.
    .. [2] H. Kaplan, S. Schnapp, U. Stemmer, "Differentially private approximate quantiles", ICML 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfast import Stream
    >>> delays = np.arange(100_000) % 500
    >>> quantiles(delays, [0.25, 0.5, 0.75], bounds=(0, 600), epsilon=1.0, rng=Stream.insecure(1))
    array([124, 250, 375])
    """
    if method not in METHODS:
        raise ArgumentError(f"method must be one of {', '.join(map(repr, METHODS))}")
    wanted = _fractions(qs)
    ascending = sorted(set(wanted))
    numbers = grid_of(values, bounds, step, neighbours, missing)
    if method == "joint" and numbers.rows() >= MOST_ROWS:
        raise ArgumentError("joint quantiles take fewer than 2**31 rows")
    request = Request(epsilon, neighbours, by, keys, public_groups, rows_per_person, person, column_name, rng, threads, ledger)
    digest = plain_digest(request, "quantiles", method, *map(str, ascending), *numbers.law)
    rows = rows_of(request, digest, numbers.check_rows)
    bits = max(0, min(SLOT_BITS, MOST_PLACES_BITS - (numbers.grid.size - 1).bit_length()))
    size = numbers.grid.size << bits
    slots_digest = digest_of("slots", rows.digest.hex())
    order = [ascending.index(q) for q in wanted]
    answers = []
    for indices in indices_of(numbers, rows, threads):
        slots = rows.stream.draws(column_name, slots_digest, 1).as_words().words(0, -(-indices.size // 4)).view("<u2")
        places = (indices << bits) + (slots[: indices.size] >> (SLOT_BITS - bits)).astype(np.int64)
        source = rows.words()
        if not ascending:
            found = []
        elif method == "joint":
            found = draw_joint(places, size, ascending, rows.epsilon, neighbours, words_of(source))
        elif method == "recursive":
            found = draw_recursive(places, size, ascending, rows.epsilon, neighbours, words_of(source))
        else:
            found = draw_independent(places, size, ascending, rows.epsilon, neighbours, words_of(source))
        answers.append([found[place] >> bits for place in order])
    released = numbers.grid.values(np.array(answers, np.int64).reshape(rows.n_groups, len(wanted)))
    return released if rows.is_grouped else released[0]


def draw_joint(
    places: NDArray[np.int64], size: int, quantiles: Sequence[Fraction], epsilon: Fraction, neighbours: str, word: Word
) -> list[int]:
    """One answer for each of the ascending quantiles, from fewer than `MOST_ROWS` places of 0 .. size - 1 in any order."""
    ratio = ratio_for(epsilon, quantiles, neighbours)
    if ratio is None:  # the arithmetic would spend it all; this spends nothing
        return sorted(below(size, word) for _ in quantiles)
    windows = windows_for(places.size, size, quantiles, ratio)
    if windows is not None:
        found = Windows(places, size, quantiles, ratio, *windows).draw(word)
        if found is not None:
            return found
    return Placements(np.sort(places), size, quantiles, ratio).draw(word)


def _fractions(qs: Any) -> list[Fraction]:
    if isinstance(qs, (str, bytes)) or not hasattr(qs, "__iter__"):
        raise ArgumentTypeError("qs must be a list of quantiles; for a single one use dpfast.quantile")
    found = [check_quantile(q) for q in qs]
    if 0 in found:
        raise ArgumentError("quantiles must be above 0; the smallest value of a column is dpfast.quantile(values, 0.0)")
    if len(set(found)) > MOST_QUANTILES:
        raise ArgumentError(f"at most {MOST_QUANTILES} different quantiles in one call")
    return found
