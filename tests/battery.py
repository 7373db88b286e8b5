"""A battery for random words: each test counts cells whose law is known, so that counts of pieces add up to those of the whole.

Words come as an array of shape (streams, words): what lies beside each other in a row follows each other in one stream, what lies
below each other is drawn at the same place of two streams. `verdict` joins the p-values of all tests into one number that falls
below a level as often as the level says, or less often, where the words are uniform and independent: Bonferroni's bound on the
least of them (one test that is far off), and the distance of all of them from uniform (many that are a little off).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.stats
from stats import FloatArray, lagged_pairs, statistic

__all__ = ["add", "count", "p_values", "repeated_blocks", "verdict"]

Words: TypeAlias = npt.NDArray[np.uint64]
Counts: TypeAlias = dict[str, npt.NDArray[np.int64]]

LAGS = (1, 2, 8, 1024)  # in words: half a block of AES, a block, four blocks, and beyond what a kernel unrolls
GAP_BYTES, GAPS = 16, 80  # a gap ends at a byte below 16; gaps of 80 and more are one cell
RANK_MATRICES = 1024  # of a piece
MANY_CELLS = 16
BIRTHDAYS, BIRTHDAY_GROUPS = 4096, 64  # in a year of 2^32 days; groups of a piece: their law is a Poisson law only nearly

_ONES = np.array([value.bit_count() for value in range(1 << 16)], np.uint8)


def weights(words: Words) -> npt.NDArray[np.int64]:
    """How many bits of each word are one."""
    return _ONES[np.ascontiguousarray(words).view(np.uint16)].reshape(*words.shape, 4).sum(axis=-1, dtype=np.int64)


def cells(values: npt.NDArray[Any], n: int) -> npt.NDArray[np.int64]:
    return np.bincount(values.reshape(-1), minlength=n).astype(np.int64)


def count(words: Words) -> Counts:
    """The counts of every test over one piece."""
    streams = np.ascontiguousarray(words, "<u8")
    one = streams.reshape(-1)
    lanes = one.view("<u2").reshape(-1, 4)
    pairs = np.stack([cells(lanes[:, lane], 1 << 16) for lane in range(4)])
    byte = np.stack([pairs.reshape(4, 256, 256).sum(axis=1), pairs.reshape(4, 256, 256).sum(axis=2)], axis=1).reshape(8, 256)
    is_one = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.int64)
    ones = (byte @ is_one).reshape(64)
    found = {
        "bits": np.stack([one.size - ones, ones], axis=1),
        "bytes": byte,
        "pairs of bytes": pairs,
        "runs": cells(weights((one ^ (one >> np.uint64(1))) & np.uint64((1 << 63) - 1)), 64)[None],
        "gaps": gaps(one)[None],
        "ranks": ranks(one)[None],
        "birthdays": birthdays(one),
    }
    weight = weights(streams)
    grade = np.searchsorted([28, 31, 33, 36], weight, side="right")  # five grades of bits that are one
    for lag in (lag for lag in LAGS if streams.shape[1] >= 2 * lag):
        first, second = (np.concatenate(parts) for parts in zip(*(lagged_pairs(row, lag) for row in grade), strict=True))
        found[f"weights, lag {lag}"] = cells(first * 5 + second, 25)[None]
        first, second = (np.concatenate(parts) for parts in zip(*(lagged_pairs(row, lag) for row in streams), strict=True))
        found[f"differences, lag {lag}"] = cells(weights(first ^ second), 65)[None]
        low = first.astype(np.uint8).astype(np.int64) << 8 | second.astype(np.uint8)
        found[f"low bytes, lag {lag}"] = cells(low, 1 << 16)[None]
    if len(streams) > 1:
        half = len(streams) // 2 * 2
        found["neighbours"] = cells(weights(streams[0:half:2] ^ streams[1:half:2]), 65)[None]
        found["weights of neighbours"] = cells(grade[0:half:2] * 5 + grade[1:half:2], 25)[None]
    return found


def gaps(words: Words) -> npt.NDArray[np.int64]:
    """Distances between bytes below 16."""
    at = np.flatnonzero(words.view(np.uint8) < GAP_BYTES)
    return cells(np.minimum(np.diff(at) - 1, GAPS), GAPS + 1)


def ranks(words: Words) -> npt.NDArray[np.int64]:
    """How many matrices of 64 words have rank 64, 63, 62, or less over GF(2)."""
    n = min(RANK_MATRICES, words.size // 64)
    left = words[: 64 * n].reshape(n, 64).copy()
    rank = np.zeros(n, np.int64)
    each = np.arange(n)
    for bit in range(64):
        has = (left >> np.uint64(bit) & np.uint64(1)).astype(bool)
        found = has.any(axis=1)
        row = has.argmax(axis=1)
        pivot = np.where(found, left[each, row], 0)
        left ^= np.where(has, pivot[:, None], 0)  # the pivot itself becomes zero
        rank += found
    return cells(np.minimum(64 - rank, 3), 4)


def rank_chance(rank: int, size: int = 64) -> float:
    """The share of square matrices over GF(2) that have this rank."""
    below = 2.0 ** -np.arange(size, size - rank, -1.0)  # 2^(i - size) for i = 0 .. rank-1
    return float(2.0 ** -((size - rank) ** 2) * np.prod((1 - below) ** 2 / (1 - 2.0 ** -np.arange(rank, 0, -1.0))))


def birthdays(words: Words) -> npt.NDArray[np.int64]:
    """Equal distances between sorted birthdays: a row for the high halves of words, one for the low halves."""
    n = min(BIRTHDAY_GROUPS, words.size // BIRTHDAYS)
    halves = words[: n * BIRTHDAYS].view("<u4").reshape(n, BIRTHDAYS, 2)
    found = []
    for half in range(2):
        apart = np.sort(np.diff(np.sort(halves[:, :, half], axis=1), axis=1), axis=1)
        found.append(cells(np.minimum((np.diff(apart, axis=1) == 0).sum(axis=1), 15), 16))
    return np.stack(found)


def law(name: str) -> FloatArray:
    """The probabilities of the cells of one row of a test."""
    spread = np.arange(65)
    if name in ("bits", "bytes") or name.startswith(("pairs", "low bytes")):
        size = {"bits": 2, "bytes": 256}.get(name, 1 << 16)
        return np.full(size, 1 / size)
    if name == "runs":
        return scipy.stats.binom.pmf(spread[:64], 63, 0.5)
    if name == "gaps":
        hit = GAP_BYTES / 256
        return np.append(hit * (1 - hit) ** np.arange(GAPS), (1 - hit) ** GAPS)
    if name == "ranks":
        largest = [rank_chance(rank) for rank in (64, 63, 62)]
        return np.array([*largest, 1 - sum(largest)])
    if name == "birthdays":
        poisson = scipy.stats.poisson(BIRTHDAYS**3 / 2**34)
        return np.append(poisson.pmf(np.arange(15)), poisson.sf(14))
    if name.startswith("differences") or name == "neighbours":
        return scipy.stats.binom.pmf(spread, 64, 0.5)
    graded = np.bincount(np.searchsorted([28, 31, 33, 36], spread, side="right"), scipy.stats.binom.pmf(spread, 64, 0.5))
    return np.outer(graded, graded).ravel()


def add(parts: Iterable[Counts]) -> Counts:
    """The counts of all pieces."""
    whole: Counts = {}
    for part in parts:
        for name, counts in part.items():
            whole[name] = whole.get(name, 0) + counts
    return whole


def p_values(counts: Counts) -> dict[str, float]:
    """One for each row of each test; of many cells both tails, for to be filled too evenly is a fault as well."""
    found = {}
    for name, rows in counts.items():
        probabilities = law(name)
        for place, row in enumerate(rows):
            value, n = statistic(row, probabilities * row.sum())
            chi = scipy.stats.chi2(n - 1)
            upper = float(chi.sf(value))
            # two cells are alike once in a while, and no law of a sum of squares says how often
            found[f"{name} {place}"] = min(1.0, 2 * min(upper, float(chi.cdf(value)))) if n >= MANY_CELLS else upper
    return found


def verdict(values: Iterable[float]) -> float:
    """The chance, or an upper bound of it, that words without fault look as suspicious as these."""
    found = np.array(list(values))
    least = found.size * float(found.min())
    return min(1.0, 2 * min(least, float(scipy.stats.kstest(found, "uniform").pvalue)))


def repeated_blocks(blocks: npt.NDArray[Any]) -> int:
    """How many blocks of 16 bytes are there before; those that share their first half are compared whole."""
    halves = np.ascontiguousarray(blocks).view("<u8").reshape(-1, 2)
    first = np.sort(halves[:, 0])
    twice = first[1:][first[1:] == first[:-1]]
    alike = halves[np.isin(halves[:, 0], twice)]
    return len(alike) - len(np.unique(alike, axis=0))
