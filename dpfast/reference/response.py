"""The law of randomised response in integers, for any number of equally likely words.

A word is an integer below `word_range` (2**64 in the shipped kernels; take 2**8 to enumerate every case). Categories
are the codes 0..k-1; code k stands for a value outside the alphabet. The table of t gives each category t words in
every row and the remaining words to the diagonal, so that

    word < k t   draws category word // t         (t words for each of the k categories)
    otherwise    keeps the true code.

If k t > word_range there is no such table: every row is then the uniform one, which splits the words among the
categories as evenly as integers allow. A value outside the alphabet gets the uniform row in either case.

References
----------
.. [1] N. Holohan, D. J. Leith, O. Mason, Differentially private response mechanisms on categorical data,
   arXiv 1505.07254.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

__all__ = [
    "decide",
    "decide_from_high",
    "decide_in_two_stages",
    "exp_bounds",
    "hockey_stick",
    "is_uniform",
    "known_row",
    "pieces",
    "table",
    "threshold",
    "uniform_row",
    "worst_delta",
]

WORD_RANGE = 2**64


def exp_bounds(x: Fraction | float, bits: int) -> tuple[Fraction, Fraction]:
    """Return two fractions around e**x, x >= 0, from the power series.

    Every term x**n / n! is kept twice as an integer over 2**bits, once rounded down and once up. The series stops
    after a term n with x <= (n + 1) / 2: from there on each term is at most half the one before, so all that is left
    out is at most that term.

    Examples
    --------
    >>> lower, upper = exp_bounds(1, 20)
    >>> lower <= Fraction("2.718281828") <= upper, upper - lower < Fraction(1, 10**4)
    (True, True)
    """
    x = Fraction(x)
    one = 2**bits
    term_low = term_high = sum_low = sum_high = one
    n = 0
    while term_high > 1 or 2 * x > n + 1:
        n += 1
        term_low = term_low * x.numerator // (x.denominator * n)
        term_high = _ceiling(term_high * x.numerator, x.denominator * n)
        sum_low += term_low
        sum_high += term_high
    return Fraction(sum_low, one), Fraction(sum_high + term_high, one)


def threshold(k: int, epsilon: Fraction | float, delta: Fraction | float = 0, *, word_range: int = WORD_RANGE) -> int:
    """Return t = ceil(word_range (1 - delta) / (e**epsilon + k - 1)), the ceiling of the real number.

    Examples
    --------
    >>> threshold(2, 1, word_range=256)           # 256 / (e + 1) = 68.85
    69
    """
    words = word_range * (1 - Fraction(delta))
    if epsilon == 0:
        return _ceiling_of(words / k)
    if epsilon >= word_range.bit_length():
        return 1  # e > 2, so e**epsilon > word_range
    bits = 128
    while True:
        lower, upper = exp_bounds(epsilon, bits)
        least, most = _ceiling_of(words / (upper + k - 1)), _ceiling_of(words / (lower + k - 1))
        if least == most:
            return least
        bits *= 2


def is_uniform(k: int, t: int, *, word_range: int = WORD_RANGE) -> bool:
    """Return whether the table of t is the uniform one: a single category, or more words asked for than there are."""
    return k == 1 or k * t > word_range


def uniform_row(k: int, *, word_range: int = WORD_RANGE) -> list[int]:
    """Return the words of each category in the uniform row; the first ``word_range % k`` categories have one more.

    Examples
    --------
    >>> uniform_row(3, word_range=256)
    [86, 85, 85]
    """
    share, rest = divmod(word_range, k)
    return [share + 1] * rest + [share] * (k - rest)


def known_row(k: int, t: int, code: int, *, word_range: int = WORD_RANGE) -> list[int]:
    """Return the words of each category in the row of a code below k.

    Examples
    --------
    >>> known_row(3, 50, 1, word_range=256)
    [50, 156, 50]
    """
    if is_uniform(k, t, word_range=word_range):
        return uniform_row(k, word_range=word_range)
    row = [t] * k
    row[code] = word_range - (k - 1) * t
    return row


def table(k: int, t: int, *, word_range: int = WORD_RANGE) -> list[list[int]]:
    """Return the k rows of the table, each of k integers that add up to `word_range`.

    Examples
    --------
    >>> table(2, 69, word_range=256)
    [[187, 69], [69, 187]]
    """
    return [known_row(k, t, code, word_range=word_range) for code in range(k)]


def pieces(k: int, t: int, code: int, *, word_range: int = WORD_RANGE) -> list[tuple[int, int, int]]:
    """Return the law of one code as intervals of words: (first word, word after the last, category), without gaps.

    Examples
    --------
    >>> pieces(3, 50, 1, word_range=256)
    [(0, 50, 0), (50, 100, 1), (100, 150, 2), (150, 256, 1)]
    """
    uniform = code == k or is_uniform(k, t, word_range=word_range)
    widths = uniform_row(k, word_range=word_range) if uniform else [t] * k
    intervals = []
    first = 0
    for category, width in enumerate(widths):
        if width:
            intervals.append((first, first + width, category))
        first += width
    if first < word_range:
        intervals.append((first, word_range, code))
    return intervals


def decide(word: int, code: int, k: int, t: int, *, word_range: int = WORD_RANGE) -> int:
    """Return the category that a word gives to a code; code k is a value outside the alphabet.

    Examples
    --------
    >>> [decide(word, 1, 3, 50, word_range=256) for word in (0, 49, 50, 149, 150, 255)]
    [0, 0, 1, 2, 1, 1]
    """
    if code == k or is_uniform(k, t, word_range=word_range):
        share, rest = divmod(word_range, k)
        longer = rest * (share + 1)
        return word // (share + 1) if word < longer else rest + (word - longer) // share
    return word // t if word < k * t else code


def decide_from_high(high: int, code: int, k: int, t: int, *, high_bits: int = 16, low_bits: int = 48) -> int | None:
    """Return the category if the high bits of the word settle it alone, else None.

    They do if all words with these high bits lie in one interval of `pieces`. (One category may own two intervals, its
    own and that of keeping; high bits that reach into both do not settle it.)

    Examples
    --------
    >>> [decide_from_high(high, 1, 3, 50, high_bits=4, low_bits=4) for high in (0, 3, 9, 15)]
    [0, None, None, 1]
    """
    first, last = high << low_bits, (high + 1 << low_bits) - 1
    for start, stop, category in pieces(k, t, code, word_range=1 << high_bits + low_bits):
        if start <= first and last < stop:
            return category
    return None


def decide_in_two_stages(high: int, low: int, code: int, k: int, t: int, *, high_bits: int = 16, low_bits: int = 48) -> int:
    """Return the category from the two halves of a word; the low half is read only if the high one does not settle it.

    Examples
    --------
    >>> decide_in_two_stages(3, 2, 1, 3, 50, high_bits=4, low_bits=4)      # word 3 * 16 + 2 = 50
    1
    """
    settled = decide_from_high(high, code, k, t, high_bits=high_bits, low_bits=low_bits)
    if settled is not None:
        return settled
    return decide(high << low_bits | low, code, k, t, word_range=1 << high_bits + low_bits)


def hockey_stick(p: Sequence[int], q: Sequence[int], exp_epsilon: Fraction | int) -> Fraction:
    """Return the sum of max(0, p_x - e**epsilon q_x) over the categories, in words.

    A mechanism is (epsilon, delta)-private exactly if this is at most delta times the number of words for each ordered
    pair of rows that neighbouring inputs may select.

    Examples
    --------
    >>> hockey_stick([187, 69], [69, 187], 2)
    Fraction(49, 1)
    """
    ratio = Fraction(exp_epsilon)
    return sum((max(Fraction(0), a - ratio * b) for a, b in zip(p, q, strict=True)), Fraction(0))


def worst_delta(rows: Sequence[Sequence[int]], exp_epsilon: Fraction | int) -> Fraction:
    """Return the smallest delta at which any rows of integers, all with one sum, satisfy epsilon.

    Examples
    --------
    >>> worst_delta(table(2, 69, word_range=256), 2)
    Fraction(49, 256)
    """
    words = sum(rows[0])
    return max(hockey_stick(p, q, exp_epsilon) for p in rows for q in rows) / words


def _ceiling(top: int, bottom: int) -> int:
    return -(-top // bottom)


def _ceiling_of(number: Fraction) -> int:
    return _ceiling(number.numerator, number.denominator)
