"""Tables of 64-bit words: a row-stochastic matrix realised in integers, so that no column spreads wider than it did.

A table gives category x, in the row of true category i, T[i, x] of the 2^64 words. It is kept as `tops`: the last word of each
category, T[i, 0] + .. + T[i, x] - 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._core.rows import GUIDE_SIZE, MATRIX_MAX, MatrixLaw
from dpfast.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["WORD_RANGE", "IntegerTable", "realise", "stochastic"]

WORD_RANGE: Final = 1 << 64
ROW_TOLERANCE: Final = 1e-12  # how far the sum of a given row may be from 1


@dataclass(frozen=True, eq=False)
class IntegerTable:
    """Words of each answer (column) for each true category (row), and of a row for values outside the domain.

    Parameters
    ----------
    words : array of uint64, shape (k, k)
        T modulo 2^64.
    unknown : array of uint64, shape (k,)
        The row of values outside the domain, between the least and the greatest entry of every column.
    full : dict
        For rows of which one category owns all words, 0 modulo 2^64: that category.
    """

    words: NDArray[np.uint64]
    unknown: NDArray[np.uint64]
    full: dict[int, int] = field(default_factory=dict)

    @property
    def k(self) -> int:
        return int(self.words.shape[1])

    def rows(self, *, unknown: bool) -> NDArray[np.uint64]:
        """The rows that a value can be answered from, modulo 2^64."""
        return np.vstack([self.words, self.unknown]) if unknown else self.words

    def entry(self, row: int, x: int) -> int:
        """One entry as an exact integer."""
        return WORD_RANGE if self.full.get(row) == x else int((self.unknown if row == self.k else self.words[row])[x])

    def integers(self, row: int) -> list[int]:
        """A row as exact integers that sum to 2^64; row k is that of values outside the domain."""
        words: list[int] = (self.unknown if row == self.k else self.words[row]).tolist()
        if row in self.full:
            words[self.full[row]] = WORD_RANGE
        return words

    def floats(self, *, unknown: bool) -> NDArray[np.float64]:
        """The rows as float64, each entry within a factor 1 +- 2^-53 of the integer."""
        rows = self.rows(unknown=unknown).astype(np.float64)
        for row, category in self.full.items():
            if row < rows.shape[0]:
                rows[row, category] = float(WORD_RANGE)
        return rows

    def search_rows(self, *, unknown: bool) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
        """The last word of each category in each row, and the first category that has a word: search from there."""
        rows = self.rows(unknown=unknown)
        firsts = np.argmax(rows > 0, axis=1).astype(np.uint32)
        tops = np.cumsum(rows, axis=1, dtype=np.uint64) - np.uint64(1)
        for row, category in self.full.items():
            if row < rows.shape[0]:
                firsts[row], tops[row, category:] = category, WORD_RANGE - 1
        return tops, firsts

    def law(self, *, unknown: bool) -> MatrixLaw:
        """The kernels' form of the table."""
        tops, firsts = self.search_rows(unknown=unknown)
        return MatrixLaw(tops, firsts, np.empty(tops.shape[0] * GUIDE_SIZE, np.uint32), unknown)

    def to_bytes(self, *, unknown: bool) -> bytes:
        """The table as a format: for each row and category the words as 8 little-endian bytes, 2^64 as eight zeros.

        A row of zeros is followed by the number of its only category (2 bytes).
        """
        rows = self.rows(unknown=unknown)
        parts = []
        for row in range(rows.shape[0]):
            parts.append(rows[row].astype("<u8").tobytes())
            if row in self.full:
                parts.append(self.full[row].to_bytes(2, "little"))
        return b"".join(parts)

    @classmethod
    def from_bytes(cls, data: bytes, k: int, *, unknown: bool) -> IntegerTable:
        """Read the format of `to_bytes`; without the row of unknown values that row is the first one."""
        rows, full, at = [], {}, 0
        for row in range(k + unknown):
            words = np.frombuffer(data[at : at + 8 * k], "<u8").astype(np.uint64)
            at += 8 * k
            if words.size != k or int(words.sum(dtype=np.uint64)):
                raise ArgumentError("the bytes are no table of words: rows must sum to 2^64")
            if not words.any():
                full[row] = int.from_bytes(data[at : at + 2], "little")
                at += 2
                if full[row] >= k:
                    raise ArgumentError("the bytes are no table of words: a category is outside the table")
            rows.append(words)
        if at != len(data):
            raise ArgumentError("the bytes are no table of words: they are too many or too few")
        return cls(np.array(rows[:k]), rows[-1], full)


def stochastic(matrix: Any, k: int) -> NDArray[np.float64]:
    """Return a matrix as float64 with rows that sum to 1, or refuse it.

    Parameters
    ----------
    matrix : array_like of real numbers, shape (k, k)
        Not negative; every row sums to 1 within 1e-12 and is divided by its sum.
    k : int
        Number of categories, at most 4096.

    Returns
    -------
    array of float64, shape (k, k)

    Raises
    ------
    ArgumentTypeError, ArgumentError

    Examples
    --------
    >>> stochastic([[0.75, 0.25], [0.5, 0.5]], 2).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    if k > MATRIX_MAX:
        raise ArgumentError(f"a matrix has at most {MATRIX_MAX} categories; randomised response takes any number")
    try:
        given = np.asarray(matrix)
        if given.dtype.kind not in "uifO" or (
            given.dtype.kind == "O" and any(isinstance(v, (str, bytes, bool)) for v in given.flat)
        ):
            raise TypeError
        rows = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError("matrix must be an array of real numbers, a row for each true category") from None
    if rows.shape != (k, k):
        raise ArgumentError(f"matrix must have a row and a column for each of the {k} categories, shape ({k}, {k})")
    if not np.isfinite(rows).all() or (rows < 0).any():
        raise ArgumentError("entries of matrix must be finite and not negative")
    sums = rows.sum(axis=1, keepdims=True)
    if (np.abs(sums - 1) > ROW_TOLERANCE).any():
        raise ArgumentError("every row of matrix must sum to 1 (within 1e-12)")
    normal: NDArray[np.float64] = rows / sums
    return normal


def realise(matrix: NDArray[np.float64]) -> IntegerTable:
    """Round a row-stochastic matrix to words.

    Parameters
    ----------
    matrix : array of float64, shape (k, k)
        As `stochastic` gives it. Rows are rows of the table, zeros stay zeros.

    Returns
    -------
    IntegerTable
        No column has a greater ratio between two rows than `matrix` has (unless that is infinite already).

    Notes
    -----
    Let U = 2^64 P, which doubles hold exactly, and C an integer row with ceil(min_i U[i, x]) <= C[x] <= floor(max_i U[i, x]):
    the average row, rounded. Every entry is rounded towards C: down above it, up below it, so a column never spreads. A row
    then misses D = 2^64 - sum_x T[x] = sum_x (C[x] - T[x]) words. If D > 0, the entries below C lie at least D below it
    together, and are raised by D words, none beyond C; if D < 0, those above C are lowered likewise. Both move towards C again.

    Where U[i, x] and U[j, x] lie between the same two integers, for all rows, the whole column is one integer. Entries that are 0
    are never raised; a row for which no room is left then gets the missing words in its largest entry, and epsilon is infinite
    before and after.

    Examples
    --------
    >>> realise(np.array([[0.75, 0.25], [0.25, 0.75]])).integers(0) == [3 << 62, 1 << 62]
    True
    """
    k = matrix.shape[1]
    full = {int(row): int(np.argmax(matrix[row])) for row in np.flatnonzero(np.count_nonzero(matrix, axis=1) == 1)}
    if k == 1 or (len(full) == k and len(set(full.values())) == 1):
        return IntegerTable(np.zeros((k, k), np.uint64), np.zeros(k, np.uint64), dict.fromkeys(range(k + 1), full.get(0, 0)))
    scaled = np.ldexp(np.minimum(matrix, np.nextafter(1.0, 0.0)), 64)
    down, up = np.floor(scaled).astype(np.uint64), np.ceil(scaled).astype(np.uint64)
    down[matrix == 1.0] = up[matrix == 1.0] = WORD_RANGE - 1  # of a row of one category too, which keeps all its words below
    centre = _centre(down, up, scaled.mean(axis=0))
    if centre is None:
        row = _closed(up[0], np.full(k, WORD_RANGE - 1, np.uint64))
        only = {} if row.any() else dict.fromkeys(range(k + 1), int(np.argmax(matrix[0])))
        return IntegerTable(np.tile(row, (k, 1)), row, only)
    words = np.where(down >= centre, down, up)
    for i in range(k):
        words[i] = 0 if i in full else _closed(words[i], centre)
        if not words[i].any():  # all its other entries came to no word, and its largest one to all of them
            full[i] = int(np.argmax(matrix[i]))
    return IntegerTable(words, centre, full)


def _centre(down: NDArray[np.uint64], up: NDArray[np.uint64], mean: NDArray[np.float64]) -> NDArray[np.uint64] | None:
    """The average row as integers that sum to 2^64, within every column; None where the columns leave no room for that."""
    least, most = up.min(axis=0), down.max(axis=0)  # ceil(min) and floor(max)
    narrow = least > most  # one word at most between all rows: the column is one integer, either of two
    least, most = np.where(narrow, most, least), np.where(narrow, least, most)
    centre = np.clip(np.floor(mean).astype(np.uint64), least, most)
    missing = _missing(centre)
    room = most - centre if missing > 0 else centre - least
    return _moved(centre, missing, room)


def _closed(words: NDArray[np.uint64], centre: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A row whose words sum to 2^64, its entries moved towards the centre."""
    missing = _missing(words)
    below = (words < centre) & (words > 0)
    room = np.where(below, centre - words, 0) if missing > 0 else np.where(words > centre, words - centre, 0)
    moved = _moved(words, missing, room.astype(np.uint64))
    if moved is None:  # zeros that must stay zeros left no room
        moved = words.copy()
        largest = int(np.argmax(words))
        moved[largest] = (int(words[largest]) + missing) % WORD_RANGE
    return moved


def _missing(words: NDArray[np.uint64]) -> int:
    """2^64 minus the sum of a row, which is less than 2^63 from it."""
    left = -int(words.sum(dtype=np.uint64)) % WORD_RANGE
    return left if left < WORD_RANGE // 2 else left - WORD_RANGE


def _moved(words: NDArray[np.uint64], missing: int, room: NDArray[np.uint64]) -> NDArray[np.uint64] | None:
    """A row with `missing` words more (fewer, if negative), each entry moved by its room at most; None without room."""
    wanted = abs(missing)
    order = np.argsort(room)[::-1]  # where there is most room a word matters least
    steps = np.minimum(room[order], np.uint64(wanted)).astype(object)
    before = np.cumsum(steps) - steps
    if int(before[-1] + steps[-1]) < wanted:
        return None
    taken = np.zeros_like(words)
    taken[order] = np.clip(wanted - before, 0, steps).astype(np.uint64)
    return words + taken if missing > 0 else words - taken
