"""Medians and quantiles of a column, or of its groups, by Duff: one pass over the data, no sort, pure epsilon.

`median_levels` and `duff.sample` are the same law made from all the data, sorted.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dpfast.duff._request import Request, grid_of, rows_of
from dpfast.duff._select import all_values, count_at, find_window
from dpfast.duff._select_draw import Question, Recourse, draw_point
from dpfast.duff._together import put_together
from dpfast.duff.groups import group_answers
from dpfast.duff.laplace import laplace_quantile
from dpfast.duff.orders import check_quantile
from dpfast.duff.sampling import digest_of
from dpfast.duff.weights import Weights
from dpfast.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpfast._spending import Charges
    from dpfast.domain import Domain
    from dpfast.duff._request import Numbers
    from dpfast.duff._select import Window
    from dpfast.duff._select_draw import Blocks, Law
    from dpfast.duff.data import Neighbours
    from dpfast.randomness import Column, Stream

__all__ = ["METHODS", "Asked", "median", "quantile"]

METHODS: Final = ("duff", "piecewise_laplace")


def median(
    values: Any,
    *,
    bounds: Any,
    epsilon: float,
    neighbours: Neighbours = "add_remove",
    step: Any = None,
    method: str = "duff",
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
    """Release the median of a column, or of each group of it; `epsilon` is what the whole call spends, however many groups.

    The lower median: the order statistic of rank (n + 1) // 2.

    Parameters
    ----------
    values : column of numbers, shape (n_rows,)
        A numpy array (also memory-mapped), a pyarrow Array or ChunkedArray, a pandas or polars Series, a list, or any object that
        can be iterated over again and again and gives chunks of a declared type. Integers, floats, booleans, dates, timestamps,
        durations. A list or an array of objects declares no type and counts as of that of the bounds: two ints make integers.
    bounds : (lower, upper)
        Public. Values outside, also infinite ones, are clipped.
    epsilon : float
        What the whole call spends on a person; finite, at least 0.
    neighbours : {"add_remove", "replace_one"}
        The first keeps the number of rows private, the second makes it public.
    step : optional
        Of the public grid {i step} inside the bounds. Default: 1 for integers, booleans, dates and times (their unit), else the
        largest power of two that is at most (upper - lower) / 2**20.
    method : {"duff", "piecewise_laplace"}
        The exponential mechanism on the distance of data sets, or on that distance with straight lines between the order
        statistics, which is better on fine grids: see `dpfast.duff.laplace`.
    missing : number, optional
        What NaN and null count as under replace_one; default the lower bound. Under add_remove they are dropped.
    by : column, or tuple of columns, optional
        The group of each row.
    keys : list or Domain, required with `by`
        The public groups: values, or tuples of them for several columns. Every one is answered, also where it has no rows; rows
        of other groups are dropped.
    public_groups : bool
        Under replace_one `by` is refused unless this says that the group of each row is public.
    rows_per_person : int
        Rows that one person may have; the caller vouches for it, or gives `person`. A draw is made at epsilon / rows_per_person.
    person : column, optional
        Whose row it is: integers or text. Of each person at most `rows_per_person` rows are kept, at random; rows without a
        person are dropped. Needs add_remove.
    rng : Stream, optional
        Default: a fresh stream, new entropy for this call.
    column_name : str or tuple of str
        Required with a keyed stream; keeps the noise of two columns apart.
    threads : int, optional
        Default: all. The answer does not depend on it.
    ledger : Ledger, optional
        Is charged before anything is drawn.

    Returns
    -------
    int, float, numpy.datetime64 or timedelta64; with `by=` an ndarray of shape (len(keys),), in the order of the keys
        Values of the grid: int for an int step, else float; dates and times in the unit of the values, timestamps in UTC.

    Raises
    ------
    ArgumentError, ArgumentTypeError, LedgerError
        Before anything is drawn.

    Notes
    -----
    **Privacy guarantee.** Pure `epsilon` for neighbouring data sets, exactly: a grid point x is released with probability
    w_d(x) / sum of w in integers, d(x) being the number of persons to add or remove (or replace) until x is the median, and
    w_k <= e^(epsilon / 2) w_{k+1}. No delta, nothing rounded. Groups are disjoint, so each is answered with all of epsilon; a
    person's `rows_per_person` rows may lie in several. The time a call takes is not protected.
    **Cost.** One pass over the data (two where they are not in memory), a few times that of `numpy.max`; memory some hundredths
    of the column. By group: the rows are put together by group, some 20 bytes a row. Where 2 (ln points + 14) / epsilon exceeds
    the number of rows, they are sorted.

    References
    ----------
    Duff: arXiv 2010.04235.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfast import Stream
    >>> delays = np.arange(100_001) % 500
    >>> median(delays, bounds=(0, 600), epsilon=1.0, rng=Stream.insecure(1))
    249
    """
    return quantile(
        values,
        Fraction(1, 2),
        bounds=bounds,
        epsilon=epsilon,
        neighbours=neighbours,
        step=step,
        method=method,
        missing=missing,
        by=by,
        keys=keys,
        public_groups=public_groups,
        rows_per_person=rows_per_person,
        person=person,
        column_name=column_name,
        rng=rng,
        threads=threads,
        ledger=ledger,
    )


def quantile(
    values: Any,
    q: Any,
    *,
    bounds: Any,
    epsilon: float,
    neighbours: Neighbours = "add_remove",
    step: Any = None,
    method: str = "duff",
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
    """Release the q-quantile of a column, or of each group of it; `epsilon` is what the whole call spends, however many groups.

    The order statistic of rank max(1, ceil(q n)), of the values clipped to the bounds and snapped to the grid.

    Parameters
    ----------
    values : column of numbers, shape (n_rows,)
        As for `median`.
    q : float, Fraction, Decimal, or a pair of ints
        From 0 to 1. A float is read as the shortest decimal that denotes it: 0.1 is one tenth.
    bounds, epsilon, neighbours, step, method, missing, by, keys, public_groups, rows_per_person, person, rng, column_name, \
threads, ledger
        As for `median`.

    Returns
    -------
    int, float, numpy.datetime64 or timedelta64; with `by=` an ndarray of shape (len(keys),)
        Values of the grid.

    Raises
    ------
    ArgumentError, ArgumentTypeError, DomainError, LedgerError
        Before anything is drawn.

    Notes
    -----
    **Privacy guarantee.** Pure `epsilon`, exactly; see `median`.
    **Cost.** One pass; see `median`.

    References
    ----------
    Duff: arXiv 2010.04235. The same law as the inverse sensitivity mechanism of Asi and Duchi, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfast import Stream
    >>> delays = np.arange(100_001) % 500
    >>> quantile(delays, 0.9, bounds=(0, 600), epsilon=1.0, rng=Stream.insecure(1))
    450
    >>> quantile(delays, 0.9, bounds=(0, 600), epsilon=1.0, by=delays % 2, keys=[0, 1], rng=Stream.insecure(1))
    array([450, 449])
    """
    if method not in METHODS:
        raise ArgumentError(f"method must be one of {', '.join(map(repr, METHODS))}")
    request = Request(epsilon, neighbours, by, keys, public_groups, rows_per_person, person, column_name, rng, threads, ledger)
    if method == "piecewise_laplace":
        return laplace_quantile(values, q, bounds, step, missing, request)
    asked = Asked.of(q, grid_of(values, bounds, step, neighbours, missing), neighbours)
    numbers, grid = asked.numbers, asked.numbers.grid
    rows = rows_of(request, asked.digest, numbers.check_rows)
    question, weights = asked.question(rows.epsilon), Weights(rows.epsilon)
    blocks = rows.stream.draws(column_name, rows.digest, rows.n_groups).as_words()
    if rows.codes is None:
        return grid.value(_answer(numbers, question, weights, blocks, threads))
    grouped = put_together(numbers.column, grid, numbers.cells, rows.codes, rows.n_groups, numbers.missing, threads)
    answers = group_answers(grouped, question, weights, blocks, threads)
    return grid.values(answers) if rows.is_grouped else grid.value(int(answers[0]))


class Asked(NamedTuple):
    """Which quantile of which column, all of it public but the values."""

    top: int
    bottom: int
    numbers: Numbers
    fixed: bool

    @classmethod
    def of(cls, q: Any, numbers: Numbers, neighbours: Neighbours) -> Asked:
        fraction = check_quantile(q)
        if fraction.denominator >= 1 << 62:
            raise ArgumentError("q has too many digits: give a fraction with a denominator below 2**62")
        return cls(fraction.numerator, fraction.denominator, numbers, neighbours == "replace_one")

    def digest(self, share: Fraction, groups: str, kept: int) -> bytes:
        """Names the mechanism, see `rows_of`."""
        grid = self.numbers.grid
        law = (
            self.top,
            self.bottom,
            share,
            int(self.fixed),
            self.numbers.missing,
            kept,
            grid.ratio,
            grid.origin,
            grid.size,
        )
        return digest_of("quantile", "duff", *map(str, law), groups)

    def question(self, epsilon: Fraction) -> Question:
        return Question(self.top, self.bottom, self.numbers.grid.size, epsilon, self.fixed)


def _answer(numbers: Numbers, question: Question, weights: Weights, blocks: Blocks, threads: int | None) -> int:
    """The grid index that answers for the whole column."""
    column, cells, missing = numbers.column, numbers.cells, numbers.missing

    def cap(n: int) -> int:
        return min(question.cap, n + 3)

    window = find_window(column, cells, lambda n: question.places(n, cap(n)), missing, threads)

    def everything() -> tuple[Law, Window]:
        return question.law(weights, window.n + 3), all_values(column, cells, missing)

    def count(index: int) -> tuple[int, int, int]:
        return count_at(column, cells, index, missing, threads)

    return draw_point(question.law(weights, cap(window.n)), window, blocks, 0, Recourse(count, everything))
