"""The sanitised histogram from the true one, one bit at a time: exactly the words of the rows, read level by level.

Rows with one true category are alike, so only how many of them have which beginning of a word matters. The unread words of
some rows lie in an interval [start, start + 2^h); the next bit of each row says which half. An interval in which every word
gives the same answer is not read further.

`bits` yields bits. Where rows are counted, a list holds one number for each vector: a plain histogram is one vector, a
contingency table has one for every combination of categories of the other columns.

References
----------
.. [1] D. E. Knuth, A. C. Yao, The complexity of nonuniform random number generation, 1976: words read bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpfast.reference import response, words

__all__ = ["response_answers", "sanitise_counts", "table_answers"]

Vectors = list[list[int]]  # for each category, rows of each vector
Interval = tuple[int, int, list[int]]  # level h, first word, rows of each vector


def sanitise_counts(
    counts: Sequence[int],
    domain: Sequence[words.DomainValue],
    t: int,
    *,
    master: bytes,
    context: str = "",
    source: bytes = b"",
    column: str | tuple[str, ...] | None = None,
    first_row: int = 0,
) -> list[int]:
    """Return the sanitised histogram under randomised response with t words off the diagonal.

    Parameters
    ----------
    counts : sequence of int
        Rows of each value of `domain`.
    domain : sequence
        The public alphabet in order, under the rule "error" for other values.
    t : int
        The threshold, see `dpfast.reference.response.threshold`.
    master, context, source, column
        As for `dpfast.reference.sanitise.sanitise`.
    first_row : int
        Number of the first draw: `first_row` of the stream, and one for each row of the histograms drawn before.

    Returns
    -------
    list of int

    Examples
    --------
    >>> t = response.threshold(3, 1)
    >>> sanitise_counts([60, 30, 10], ["a", "b", "c"], t, master=words.insecure_master_key(2))
    [44, 30, 26]
    """
    digest = words.response_digest(words.domain_digest(domain), t)
    key = words.subkey(master, "draw", context=context, source=source, column=column, mechanism=digest)
    answers = response_answers([[n] for n in counts], t, words.draw_bits(key, first_row))
    return [rows[0] for rows in answers]


def response_answers(counts: Vectors, t: int, bits: Iterator[int], *, word_bits: int = 64) -> Vectors:
    """Return the answers to the counts under the table of t.

    Examples
    --------
    >>> response_answers([[2], [0]], 64, iter([1, 0, 1]), word_bits=8)      # one row keeps, one redraws category 1
    [[1], [1]]
    """
    k = len(counts)
    word_range = 1 << word_bits
    if response.is_uniform(k, t, word_range=word_range):
        everyone = [sum(rows) for rows in zip(*counts, strict=True)]
        row = response.uniform_row(k, word_range=word_range)
        return _read([(word_bits, 0, everyone)], _ends(row), bits)
    boundary = k * t
    kept = [[0] * len(rows) for rows in counts]
    cut = [(0, [list(rows) for rows in counts])]  # the interval that the boundary lies in
    redrawn: list[Interval] = []
    for h in range(word_bits, -1, -1):
        if not cut:
            break
        ((start, vectors),) = cut
        if start >= boundary:
            kept = [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(kept, vectors, strict=True)]
            break
        if start + 2**h <= boundary:
            redrawn.append((h, start, [sum(rows) for rows in zip(*vectors, strict=True)]))
            break
        middle = start + 2 ** (h - 1)
        upper = [[_draw(bits, n) for n in rows] for rows in vectors]
        lower = [[n - u for n, u in zip(*pair, strict=True)] for pair in zip(vectors, upper, strict=True)]
        if middle <= boundary:
            redrawn.append((h - 1, start, [sum(rows) for rows in zip(*lower, strict=True)]))
            cut = [(middle, upper)]
        else:
            kept = [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(kept, upper, strict=True)]
            cut = [(start, lower)]
    drawn = _read(redrawn, [t * (x + 1) for x in range(k)], bits)
    return [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(kept, drawn, strict=True)]


def table_answers(counts: Vectors, table: Sequence[Sequence[int]], bits: Iterator[int], *, word_bits: int = 64) -> Vectors:
    """Return the answers to the counts under a table of integers whose rows add up to 2^word_bits.

    Examples
    --------
    >>> table_answers([[3], [0]], [[192, 64], [64, 192]], iter([1, 1, 0, 1, 0]), word_bits=8)
    [[2], [1]]
    """
    answers = [[0] * len(rows) for rows in counts]
    for rows, row in zip(counts, table, strict=True):
        for x, drawn in enumerate(_read([(word_bits, 0, list(rows))], _ends(row), bits)):
            answers[x] = [a + b for a, b in zip(answers[x], drawn, strict=True)]
    return answers


def _read(intervals: list[Interval], ends: Sequence[int], bits: Iterator[int]) -> Vectors:
    """Rows of each category, whose words end before `ends`, reading the intervals level by level."""
    n_vectors = max((len(rows) for _, _, rows in intervals), default=1)
    answers = [[0] * n_vectors for _ in ends]
    for level in range(max((h for h, _, _ in intervals), default=0), -1, -1):
        waiting = [interval for interval in intervals if interval[0] < level]
        opened = []
        for h, start, rows in sorted((i for i in intervals if i[0] == level), key=lambda interval: interval[1]):
            owner = next(x for x, end in enumerate(ends) if start < end)
            if start + 2**h <= ends[owner]:
                answers[owner] = [a + b for a, b in zip(answers[owner], rows, strict=True)]
                continue
            upper = [_draw(bits, n) for n in rows]
            opened.append((h - 1, start, [n - u for n, u in zip(rows, upper, strict=True)]))
            opened.append((h - 1, start + 2 ** (h - 1), upper))
        intervals = opened + waiting
    return answers


def _draw(bits: Iterator[int], n: int) -> int:
    """How many of the next n bits are one."""
    return sum(next(bits) for _ in range(n))


def _ends(row: Sequence[int]) -> list[int]:
    return [sum(row[: x + 1]) for x in range(len(row))]
