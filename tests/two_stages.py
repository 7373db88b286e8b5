"""The shipped kernels of a law against the pieces of the word range it gives each category, word for word.

Every high word is fed to the first stage. A cell decided there must be what all 2^48 words below it give; for a pending cell the
second stage is fed the first and last word and, of every boundary of the law, the words just before, at and just after it. The
pieces between boundaries are then counted.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from dpfast._core import rows as core

__all__ = ["BLOCK", "LOW_BITS", "WORDS", "check_code", "first_stage", "list_first_stage", "second_stage"]

LOW_BITS = 48
BLOCK = 1 << LOW_BITS
WORDS = 1 << 64


def first_stage(law: core.Law, codes: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    out = np.empty_like(codes)
    rows, trues, _ = list_first_stage(law, codes, high, out)
    return out, rows, trues


def list_first_stage(law: core.Law, codes: np.ndarray, high: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Rows, true codes and high words of the pending cells."""
    pending = core.Pending(max(codes.size, 1))
    law.first(codes, high, out, pending, 0)
    return np.array(pending.cells(), np.int64).reshape(-1, 3).T


def second_stage(law: core.Law, words: list[int], code: int, dtype: Any) -> list[int]:
    """Settle one cell for each word, all with the true code `code`."""
    pending = core.Pending(max(len(words), 1))
    for row, word in enumerate(words):
        pending.add(row, code, word >> LOW_BITS)
    low = np.zeros((len(words), 16), np.uint8)
    low[:, :8] = np.array([word % BLOCK for word in words], "<u8").view(np.uint8).reshape(-1, 8)
    low[:, 6:] = 0xA5  # only six bytes of a block count
    out = np.full(len(words), 7, dtype)
    law.settle(pending, low.reshape(-1), out)
    return [int(v) for v in out]


def check_code(law: core.Law, pieces: list[tuple[int, int, int]], code: int, dtype: Any) -> list[int]:
    """Check one true code under every high word; return the words each category owns, counted from the kernels' answers.

    `pieces` are the runs (start, stop, category) of words that the law gives one answer for this code.
    """
    high = np.arange(65536, dtype=np.uint16)
    seen = min(code, np.iinfo(dtype).max)  # an unknown value may come as any code past the domain
    out, rows, trues = first_stage(law, np.full(65536, seen, dtype), high)
    assert (trues == code).all()
    assert (out[rows] == 0).all(), "a pending cell shows nothing of its true code"

    decided = np.ones(65536, bool)
    decided[rows] = False
    counts = [0] * law.k
    for start, stop, category in pieces:
        # high words whose whole block lies in the piece
        whole = slice(-(-start // BLOCK), max(stop // BLOCK, -(-start // BLOCK)))
        assert (out[whole][decided[whole]] == category).all()
        counts[category] += BLOCK * int(decided[whole].sum())
        # the blocks that the piece begins and ends in are not decided unless they lie in it whole
        for edge in {start // BLOCK, (stop - 1) // BLOCK}:
            assert not decided[edge] or whole.start <= edge < whole.stop

    # every pending block cut at the boundaries of the law
    cuts: dict[int, list[int]] = {int(h): [int(h) * BLOCK] for h in rows}
    for start, _, _ in pieces:
        if start and start % BLOCK:
            cuts[start // BLOCK].append(start)
    starts, stops, probes = [], [], []
    for h, inside in cuts.items():
        for start, stop in zip(inside, [*inside[1:], (h + 1) * BLOCK], strict=True):
            starts.append(start)
            stops.append(stop)
            probes += [start, min(start + 1, stop - 1), stop - 1]
    answers = second_stage(law, probes, code, dtype)
    bounds = [stop for _, stop, _ in pieces]
    expected = [pieces[bisect_right(bounds, word)][2] for word in probes]
    assert answers == expected
    for start, stop, answer in zip(starts, stops, answers[::3], strict=True):
        counts[answer] += stop - start
    return counts
