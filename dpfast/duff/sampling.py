"""The exponential mechanism over `Levels`: an answer drawn with probability w_d / sum of w, exactly, by two samplers of one law.

The mass of an entry is its number of grid points times the integer weight of its distance (`weights`), below 2^124, and all
masses together stay below 2^124 too. So pure epsilon holds exactly: nothing is rounded after the table.

- "race" (paper B, Algorithm 1): each entry gets an exponential variate E, the least E / mass wins. Keys are compared as intervals
  of doubles; those within the error band are settled with more bits (`exact`). Then a point of the entry, uniformly.
- "sum": a uniform integer below the total, by rejection; the running sum says which entry and which point.

Words (stream version 1). Draw j of a call, N entries: the race reads word j (N + 1) + i for entry i and the parts behind it; the
point is drawn from word j (N + 1) + N, by rejection, on and on through the words behind it. "sum" reads words 2j and 2j + 1, the
low half first, and then the parts behind 2j, each one attempt; of an attempt the lowest bits count, as many as the total has.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._core import duff as core
from dpfast._fields import field
from dpfast._rounding import integer
from dpfast.duff.exact import Contender, ReadAhead, Tape, uniform_below, winner
from dpfast.duff.levels import check_levels
from dpfast.duff.weights import HALF, Weights, check_epsilon
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.randomness import Stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dpfast.duff.exact import Words
    from dpfast.duff.levels import Levels
    from dpfast.randomness import Column

__all__ = ["check_size", "digest_of", "draw_indices", "log_probabilities", "sample", "stream_of"]

CHUNK: Final = 1 << 16  # entries whose words are made at a time: half a megabyte

Size = int | tuple[int, ...] | None


def sample(
    levels: Levels,
    *,
    epsilon: float,
    size: Size = None,
    sampler: str = "race",
    rng: Stream | None = None,
    column_name: Column = None,
) -> Any:
    """Draw answers by the exponential mechanism on the distances of `levels`; each of `size` answers spends `epsilon` anew.

    Parameters
    ----------
    levels : Levels
        Distances of sensitivity 1 and the grid intervals that carry them.
    epsilon : float
        What one answer spends; finite, at least 0.
    size : int or tuple of int, optional
        How many answers; the call then spends size * epsilon. Default: one, as a scalar.
    sampler : {"race", "sum"}
        Two ways to draw from one law.
    rng : Stream, optional
        Default: a fresh stream, new entropy for this call.
    column_name : str or tuple of str
        Required with a keyed stream; keeps the noise of two columns apart.

    Returns
    -------
    int or float, or ndarray of shape `size`
        Grid values, (origin + index) * step: int for an int step, else float.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        Before anything is drawn.

    Notes
    -----
    **Privacy guarantee.** `epsilon` for neighbours between which no distance changes by more than 1 (add_remove or replace_one,
    whatever the levels were made for), exactly: the law is P(x) = w_d(x) / sum of w in integers, w the public table with
    w_k <= e^(epsilon / 2) w_{k+1}. There is no delta. Each answer is also epsilon^2 / 8-zCDP (bounded range).
    **Cost.** One word and one multiplication an entry and answer, about 3 ns; the table costs 1.5 ns a step up to the largest
    distance (at most 2**30, beyond which distances count as equal).

    References
    ----------
    Duff: arXiv 2010.04235, Algorithm 1.

    Examples
    --------
    >>> from dpfast import Stream
    >>> from dpfast.duff import Levels
    >>> levels = Levels([2, 1, 0, 1], [0, 40, 50, 51], [39, 49, 50, 99], step=1)
    >>> sample(levels, epsilon=4.0, rng=Stream.insecure(1))
    98
    """
    check_levels(levels)
    exact = check_epsilon(epsilon)
    shape, n_draws = check_size(size)
    if sampler not in ("race", "sum"):
        raise ArgumentError('sampler must be "race" or "sum"')
    digest = digest_of("sample", sampler, str(exact), str(levels.ratio), str(levels.origin))
    words = stream_of(rng).draws(column_name, digest, n_draws).as_words()
    indices = draw_indices(levels, Weights(exact, HALF).of(levels.distance), words, n_draws, sampler)
    if shape is None:
        return levels.value(int(indices[0]))
    return levels.values(indices).reshape(shape)


def draw_indices(levels: Levels, weights: NDArray[np.uint64], words: Words, n_draws: int, sampler: str) -> NDArray[np.int64]:
    """Grid indices drawn with the given weight for each point of an entry; a pure function of the words."""
    if sampler == "sum":
        return _by_sum(levels, weights, words, n_draws)
    indices = np.empty(n_draws, np.int64)
    stride = len(levels) + 1
    words = ReadAhead(words)
    for draw, entry in enumerate(_winners(levels.measure, weights, words, n_draws)):
        offset = uniform_below(int(levels.measure[entry]), Tape(words, draw * stride + len(levels)))
        indices[draw] = int(levels.lower[entry]) + offset
    return indices


def log_probabilities(levels: Levels, *, epsilon: float) -> NDArray[np.float64]:
    """Log of the probability with which `sample` answers within each entry of `levels`: private data, not for release.

    Parameters
    ----------
    levels : Levels
    epsilon : float
        As for `sample`.

    Returns
    -------
    ndarray of float64, shape (len(levels),)
        In the order of ``levels.distance``; a single point of an entry has its share, 1 / measure.

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Notes
    -----
    The law of the integers that `sample` draws from, not that of e^(-epsilon d / 2), within 10^-13. **Cost.** Two logarithms an
    entry.

    Examples
    --------
    >>> from dpfast.duff import Levels
    >>> import numpy as np
    >>> np.exp(log_probabilities(Levels([1, 0], [0, 9], [8, 9], step=1), epsilon=2.0)).round(6).tolist()
    [0.768031, 0.231969]
    """
    check_levels(levels)
    weights = Weights(epsilon).of(levels.distance)
    total = core.masses_total(levels.measure, weights)
    logs = np.log(levels.measure.astype(np.float64)) + np.log(weights.astype(np.float64))
    logs -= logs_of_integer(total)
    leader = int(np.argmax(logs))
    rest = total - int(levels.measure[leader]) * int(weights[leader])
    if 2 * rest < total:  # a difference of logarithms would lose a probability close to one
        logs[leader] = np.log1p(-(rest / total))
    return logs


def logs_of_integer(number: int) -> float:
    """The logarithm of a positive integer of any size."""
    shift = max(number.bit_length() - 64, 0)
    return float(np.log(float(number >> shift)) + shift * np.log(2.0))


def _winners(measures: NDArray[np.int64], weights: NDArray[np.uint64], words: Words, n_draws: int) -> Iterator[int]:
    """The entry that wins each race."""
    n = measures.size
    for draw in range(n_draws):
        race = core.Race()
        base = draw * (n + 1)
        for start in range(0, n, CHUNK):
            stop = min(start + CHUNK, n)
            race.masses(measures[start:stop], weights[start:stop], words.words(base + start, stop - start), start)

        def contender(entry: int, base: int = base) -> Contender:
            return Contender(Tape(words, base + entry), Fraction(0), Fraction(int(measures[entry]) * int(weights[entry])))

        yield winner(race.candidates(), contender)


def _by_sum(levels: Levels, weights: NDArray[np.uint64], words: Words, n_draws: int) -> NDArray[np.int64]:
    """An integer below the total for each draw, and where it falls."""
    total = core.masses_total(levels.measure, weights)
    mask = (1 << total.bit_length()) - 1
    numbers = []
    pairs = words.words(0, 2 * n_draws).reshape(n_draws, 2).tolist()
    for draw, (low, high) in enumerate(pairs):
        part = 0
        while (number := (high << 64 | low) & mask) >= total:
            part += 1
            low, high = words.more(2 * draw, part)
        numbers.append(number)
    order = sorted(range(n_draws), key=numbers.__getitem__)
    targets = np.array([[numbers[draw] & (1 << 64) - 1, numbers[draw] >> 64] for draw in order], np.uint64).reshape(-1, 2)
    entries, rests = np.empty(n_draws, np.uint64), np.empty((n_draws, 2), np.uint64)
    found, before = 0, 0
    for start in range(0, len(levels), 1 << 22):
        stop = start + (1 << 22)
        part_found, before = core.masses_find(
            levels.measure[start:stop], weights[start:stop], start, before, targets[found:], entries[found:], rests[found:]
        )
        found += part_found
    indices = np.empty(n_draws, np.int64)
    for draw, entry, (low, high) in zip(order, entries.tolist(), rests.tolist(), strict=True):
        indices[draw] = int(levels.lower[entry]) + (high << 64 | low) // int(weights[entry])
    return indices


def check_size(size: Any) -> tuple[tuple[int, ...] | None, int]:
    """The shape that is asked for, None for a scalar, and how many draws that is."""
    if size is None:
        return None, 1
    parts = size if isinstance(size, tuple) else (size,)
    shape = tuple(integer(part, "size", minimum=0) for part in parts)
    n_draws = 1
    for part in shape:
        n_draws *= part
    return shape, n_draws


def stream_of(rng: Any) -> Stream:
    """The stream to draw from; a fresh one for None."""
    if rng is None:
        return Stream()
    if not isinstance(rng, Stream):
        raise ArgumentTypeError("rng must be None or a dpfast.Stream; numpy generators are not cryptographic")
    return rng


def digest_of(*parts: str) -> bytes:
    """What binds the words of a draw to what is public about it: the call, its epsilon and its grid."""
    data = b"".join(field(part.encode()) for part in parts)
    return hashlib.blake2b(data, digest_size=32, person=b"dpfast/duff").digest()
