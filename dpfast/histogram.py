"""The sanitised histogram drawn directly: from the true counts, with the law of sanitising the rows one by one.

Precondition: the true counts of k categories. A row of category i is answered from one uniform 64-bit word and the integers
of row i of the table: category x owns the words from b[x-1] up to b[x], in order. Rows differ only in their words, so it is
enough to know how many rows of each category have their word in which interval.

Method. The words of N rows are read bit by bit, the highest bit first, for all rows at once. Of N rows whose words are known
to lie in an interval of 2^h, as many lie in its upper half as there are ones among N random bits; these are taken from the
keystream and counted. An interval that one category owns whole is settled, and read no further. Postcondition: the answers are
multinomial with probabilities (b[x] - b[x-1]) / 2^64, exactly, and independent between the true categories; no row takes more
than 64 bits.

Randomised response needs less. Words below B = k t redraw, whatever the true category, and the others keep it. So first the
rows of each category are parted along the bits of B: an interval that B cuts in two goes on, one below B holds redraws, one
above it keeps. The redraws of all categories in one interval are then thrown together, and parted among the k categories of t
words each. Parting at B takes 2 bits a row on average, the redraws about log2 k + 1 more.

The bits of a call (stream version 1, see `randomness`) are spent level by level, h = 64, 63, ..., 1: one run of N bits for each
open interval in the order of words, and within an interval for each vector of counts (one, unless a table has more axes).
Randomised response first spends those of parting at B, at each level category by category, and vector by vector within.
Other tables take their true categories one after the other; a uniform table of randomised response sums the counts first.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import numpy as np

from dpfast._fields import column_bytes, field
from dpfast._spending import Figures, payment, persons_figure
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.randomness import ROWS_MAX, Stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from dpfast._spending import Charges
    from dpfast.domain import Domain
    from dpfast.randomness import Column

__all__ = ["answer_response", "answer_table", "sanitise_contingency", "sanitise_counts"]


def __dir__() -> list[str]:
    return sorted(__all__)


WORD_BITS: Final = 64


class Bits(Protocol):
    """A string of random bits that is counted: `words.DrawBits`, or any other to enumerate."""

    def ones(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]: ...


class Answering(Figures, Protocol):
    """What is asked of a mechanism: its domain, its digest, what it costs, and a threshold or a table."""

    @property
    def domain(self) -> Domain: ...
    @property
    def digest(self) -> bytes: ...


class Threshold(Answering, Protocol):
    """Randomised response."""

    threshold: int
    is_uniform: bool


class Table(Answering, Protocol):
    """Any other mechanism, by its integer table."""

    @property
    def table(self) -> NDArray[np.object_]: ...


def sanitise_counts(
    mechanism: Answering,
    counts: ArrayLike,
    *,
    rng: Stream | None = None,
    column_name: Column = None,
    ledger: Charges | None = None,
) -> NDArray[np.int64]:
    """Draw the histogram of a sanitised column from the true one; see ``RandomisedResponse.sanitise_counts``."""
    true = _checked(counts, (mechanism.domain.size,))
    stream = _stream(rng)
    payment(ledger, column_name, mechanism.digest, lambda rows: persons_figure([mechanism], rows))(stream, "draw")
    bits = stream.draws(column_name, mechanism.digest, int(true.sum()))
    return _answers(mechanism, true.reshape(-1, 1), bits).reshape(-1)


def sanitise_contingency(
    counts: ArrayLike,
    mechanisms: Sequence[Answering],
    *,
    rng: Stream | None = None,
    column_names: Sequence[Column] | None = None,
    ledger: Charges | None = None,
) -> NDArray[np.int64]:
    """Draw the contingency table of several sanitised columns from the true one, without the rows.

    Parameters
    ----------
    counts : array of int, shape (k_1, ..., k_d)
        How many rows hold each combination of true categories; axis j has the categories of mechanism j, in order.
    mechanisms : sequence of d mechanisms
        What sanitises each column, independently of the others.
    rng : Stream, optional
        Default: a fresh stream, new entropy for this call.
    column_names : sequence of d names, required with a keyed stream
        Keep the noise of the columns apart.
    ledger : Ledger, optional
        Is charged once, before anything is drawn, for all columns together.

    Returns
    -------
    ndarray of int64, shape (k_1, ..., k_d)
        Counts of the sanitised rows; their sum is that of `counts`.

    Raises
    ------
    ArgumentTypeError, ArgumentError, LedgerError
        Before anything is drawn.

    Notes
    -----
    **Privacy guarantee.** That of releasing all d columns of every row sanitised (``replace_one``, the number of rows
    public): the losses of the mechanisms add up, as `Policy` states them. Exact: the law is that of the integer tables.
    Every call spends anew.
    **Cost.** That of `sanitise_counts` for each axis in turn, about log2 k_j + 2 random bits a row.

    Examples
    --------
    >>> from dpfast import RandomisedResponse, Stream
    >>> mechanisms = [RandomisedResponse(["no", "yes"], epsilon=1.0), RandomisedResponse(range(3), epsilon=2.0)]
    >>> answers = sanitise_contingency([[500, 0, 0], [0, 200, 300]], mechanisms, rng=Stream.insecure(1))
    >>> answers.shape, int(answers.sum())
    ((2, 3), 1000)
    """
    if not isinstance(mechanisms, (list, tuple)) or not all(hasattr(mechanism, "digest") for mechanism in mechanisms):
        raise ArgumentTypeError("mechanisms must be a list of mechanisms, one for each axis of counts")
    if not mechanisms:
        raise ArgumentError("mechanisms is empty; give one for each axis of counts")
    answers = _checked(counts, tuple(mechanism.domain.size for mechanism in mechanisms))
    names = [None] * len(mechanisms) if column_names is None else _names(column_names, len(mechanisms))
    stream, total = _stream(rng), int(answers.sum())
    for name, mechanism in zip(names, mechanisms, strict=True):
        stream.draws(name, mechanism.digest, 0)  # what is wrong with a name is said before anything is charged
    columns = [field(column_bytes(name)) + mechanism.digest for name, mechanism in zip(names, mechanisms, strict=True)]
    rule = hashlib.blake2b(b"".join(columns), digest_size=32, person=b"dpfast/counts").digest()
    payment(ledger, (), rule, lambda rows: persons_figure(mechanisms, rows))(stream, "draw")
    reserved = [stream.draws(name, mechanism.digest, total) for name, mechanism in zip(names, mechanisms, strict=True)]
    for axis, (mechanism, bits) in enumerate(zip(mechanisms, reserved, strict=True)):
        front = np.moveaxis(answers, axis, 0)  # a row changes its category on this axis, whatever it holds on the others
        drawn = _answers(mechanism, front.reshape(front.shape[0], -1), bits)
        answers = np.moveaxis(drawn.reshape(front.shape), 0, axis)
    return np.ascontiguousarray(answers)


def answer_response(
    counts: NDArray[np.int64], threshold: int, uniform: bool, bits: Bits, *, word_bits: int = WORD_BITS
) -> NDArray[np.int64]:
    """Answers to the vectors of counts, shape (k, n_vectors), under randomised response of `threshold` words a category."""
    k = counts.shape[0]
    if uniform:
        share, wide = divmod(1 << word_bits, k)
        pool = _Intervals.all_words(counts.sum(axis=0), word_bits)
        return pool.part(_multiples(share, k) + np.minimum(np.arange(k, dtype=np.uint64), np.uint64(wide)), np.arange(k), k, bits)
    keep, pool = _redraws(counts, k * threshold, bits, word_bits)
    return keep + pool.part(_multiples(threshold, k), np.arange(k), k, bits)


def answer_table(
    counts: NDArray[np.int64], bounds: Iterable[Sequence[int]], bits: Bits, *, word_bits: int = WORD_BITS
) -> NDArray[np.int64]:
    """Answers to the vectors of counts, shape (k, n_vectors), under any table.

    `bounds` holds for each true category the word after the last of each answer: ascending, the last one 2^64. An answer
    whose bound is that of the one before has no words. Bounds of categories without rows are not looked at.
    """
    k = counts.shape[0]
    answers = np.zeros_like(counts)
    for row, ends in zip(counts, bounds, strict=True):
        if not row.any():
            continue
        begins = np.array([0, *ends[:-1]], object)
        codes = np.flatnonzero(np.array(ends, object) > begins)
        answers += _Intervals.all_words(row, word_bits).part(begins[codes].astype(np.uint64), codes, k, bits)
    return answers


class _Intervals:
    """How many rows of each vector have their words in which open intervals, by the size of the interval.

    `joining` lists for each h intervals of 2^h words, (first word, rows of each vector), that are opened at that level.
    """

    __slots__ = ("_height", "_joining", "_n_vectors")

    def __init__(self, height: int, n_vectors: int) -> None:
        self._height = height
        self._n_vectors = n_vectors
        self._joining: dict[int, tuple[int, NDArray[np.int64]]] = {}

    @classmethod
    def all_words(cls, rows: NDArray[np.int64], word_bits: int) -> _Intervals:
        """Rows of whose words nothing is known yet."""
        intervals = cls(word_bits, rows.size)
        intervals.open(word_bits, 0, rows)
        return intervals

    def open(self, height: int, first: int, rows: NDArray[np.int64]) -> None:
        """Add an interval; of a lower height than those before, and after them in the order of words."""
        self._joining[height] = first, rows

    def part(self, starts: NDArray[np.uint64], codes: NDArray[np.intp], k: int, bits: Bits) -> NDArray[np.int64]:
        """Rows of each category, shape (k, n_vectors); codes[i] owns the words from starts[i] on, up to the next start."""
        answers = np.zeros((k, self._n_vectors), np.int64)
        first = np.zeros(0, np.uint64)
        low, high = np.zeros((2, 0), np.intp)  # places in `codes` of the owners of the first and the last word
        rows = np.zeros((0, self._n_vectors), np.int64)
        for height in range(self._height, -1, -1):
            if height in self._joining:
                start, joining = self._joining.pop(height)
                ends = np.array([start, start + (1 << height) - 1], np.uint64)
                owners = np.searchsorted(starts, ends, side="right") - 1
                first = np.append(first, ends[:1])
                low, high = np.append(low, owners[0]), np.append(high, owners[1])
                rows = np.concatenate([rows, joining[np.newaxis]])
            settled = low == high
            if settled.any():  # intervals of one owner stand side by side
                owner = low[settled]
                changes = np.flatnonzero(np.diff(owner, prepend=-1))
                answers[codes[owner[changes]]] += np.add.reduceat(rows[settled], changes, axis=0)
            going_on = ~settled & rows.any(axis=1)
            first, low, high, rows = first[going_on], low[going_on], high[going_on], rows[going_on]
            if not first.size:
                if not self._joining:
                    break
                continue
            upper = bits.ones(rows)
            middle = first | np.uint64(1 << height >> 1)
            after = np.searchsorted(starts, middle, side="right") - 1
            before = after - (starts[after] == middle)
            first, low, high = _alternately(first, middle), _alternately(low, after), _alternately(before, high)
            rows = _alternately(rows - upper, upper)
        return answers


def _alternately(lower: NDArray[Any], upper: NDArray[Any]) -> NDArray[Any]:
    """The entries of both in turn: halves in the order of words."""
    return np.stack([lower, upper], axis=1).reshape(2 * lower.shape[0], *lower.shape[1:])


def _multiples(step: int, k: int) -> NDArray[np.uint64]:
    """0, step, ..., (k - 1) step; the step of a single category may be 2^64, which is no word."""
    return np.arange(k, dtype=np.uint64) * np.uint64(step if k > 1 else 0)


def _redraws(counts: NDArray[np.int64], boundary: int, bits: Bits, word_bits: int) -> tuple[NDArray[np.int64], _Intervals]:
    """Part rows at a boundary of words: those at or above it, shape (k, n_vectors), and those below it, thrown together."""
    pool = _Intervals(word_bits, counts.shape[1])
    if boundary == 1 << word_bits:
        pool.open(word_bits, 0, counts.sum(axis=0))
        return np.zeros_like(counts), pool
    keep = np.zeros_like(counts)
    cut = counts  # rows in the interval that the boundary lies within
    for height in range(word_bits - 1, -1, -1):
        place = boundary & (1 << height + 1) - 1  # the boundary within that interval; at 0 all its words are above
        if not place or not cut.any():
            break
        upper = bits.ones(cut)
        if place >> height:
            pool.open(height, boundary - place, (cut - upper).sum(axis=0))
            cut = upper
        else:
            keep += upper
            cut = cut - upper
    return keep + cut, pool


def _answers(mechanism: Answering, counts: NDArray[np.int64], bits: Bits) -> NDArray[np.int64]:
    if hasattr(mechanism, "threshold"):
        response = cast("Threshold", mechanism)
        return answer_response(counts, response.threshold, response.is_uniform, bits)
    table = zip(cast("Table", mechanism).table, counts, strict=True)
    return answer_table(counts, (np.cumsum(words).tolist() if rows.any() else [] for words, rows in table), bits)


def _checked(counts: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.int64]:
    try:
        array = np.asarray(counts)
    except ValueError:  # lists of different lengths
        raise ArgumentTypeError("counts must be an array of integers") from None
    if array.dtype.kind not in "iu":
        raise ArgumentTypeError("counts must be an array of integers")
    if array.shape != shape:
        raise ArgumentError("counts must have one entry for each category, and one axis for each mechanism")
    # Summed in doubles, which cannot wrap round; up to 2**53 they are exact.
    if int(array.min(initial=0)) < 0 or array.sum(dtype=np.float64) > ROWS_MAX:
        raise ArgumentError("counts must not be negative, and their sum must be at most 2**49, the rows of a stream")
    return array.astype(np.int64)


def _names(names: Any, n: int) -> Sequence[Column]:
    if not isinstance(names, (list, tuple)):
        raise ArgumentTypeError("column_names must be a list of names, one for each mechanism")
    if len(names) != n:
        raise ArgumentError("column_names must have one name for each mechanism")
    return names


def _stream(rng: Stream | None) -> Stream:
    if rng is not None and not isinstance(rng, Stream):
        raise ArgumentTypeError(f"rng must be None or a dpfast.Stream, not {type(rng).__name__}")
    return Stream() if rng is None else rng
