"""Algorithm 1 of paper B in log space: an index with probability proportional to e^log_weight, for any number of floats.

The plain race gives each item an exponential variate, E = -ln(1 - U) with as many bits of U as are needed, and the least
ln E - log_weight wins; a word and two logarithms an item. It is used up to `PLAIN` items. Beyond, blocks of 1024 items race:

1. Of each block the largest log-weight M and a number S >= sum of e^(x - M) over it are computed (single precision, rounded up
   by a part of 2^-14: only an upper bound is needed).
2. The block is won by the race of the masses e^M S, with the same exact comparison.
3. V, uniform below S, is placed in the running sum of e^(x - M) over the block: in doubles where it is clear, in decimals
   where it is not. Beyond the end of the sum the whole round is repeated with fresh words.

A round that starts with block b and item i of it has probability (e^M S / total) (e^(x - M) / S) = e^x / total, whatever S is; so
given that a round ends, the law is that of e^x, exactly. A round is repeated less often than once in 2^13.

Words (stream version 1). Draw j of n items, plain: word j n + i for item i. By B blocks, round t of J draws: word (t J + j)(B +
1) + b for block b, and V from word (t J + j)(B + 1) + B. Behind each word come its parts (`words.DrawWords`).
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._core import duff as core
from dpfast._rounding import integer
from dpfast._threads import run_rows
from dpfast.duff.exact import Contender, ReadAhead, Tape, settle_place, winner
from dpfast.duff.sampling import CHUNK, check_size, digest_of, stream_of
from dpfast.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    import threading

    from numpy.typing import ArrayLike, NDArray

    from dpfast.duff.exact import Words
    from dpfast.duff.sampling import Size
    from dpfast.randomness import Column, Stream

__all__ = ["PLAIN", "BlockRace", "plain_race", "race", "race_slack"]

PLAIN: Final = 1 << 12
PIECE: Final = 1 << 18  # items between two looks at Ctrl-C, a multiple of the block
BOUND: Final = 1 << 50  # items, so that words of any number of rounds have an index

_NOT_WEIGHTS = "log_weights must be numbers below infinity: NaN and +inf weigh nothing that can be drawn"


def race(log_weights: ArrayLike, *, size: Size = None, rng: Stream | None = None, column_name: Column = None) -> Any:
    """Draw an index with probability proportional to exp(log_weights), exactly; what that spends is for the caller to say.

    Parameters
    ----------
    log_weights : array of float, shape (n,)
        Any finite numbers, of any range; minus infinity is a weight of zero and never drawn. Read in pieces, so it may be a
        memory-mapped file; only float64 in one run is read without a copy of each piece.
    size : int or tuple of int, optional
        How many independent draws; default one, as a scalar. For the exponential mechanism each spends anew.
    rng : Stream, optional
        Default: a fresh stream, new entropy for this call.
    column_name : str or tuple of str
        Required with a keyed stream; keeps the noise of two calls apart.

    Returns
    -------
    int, or ndarray of int64 of shape `size`
        Indices into log_weights.

    Raises
    ------
    ArgumentTypeError
        log_weights are no real numbers.
    ArgumentError
        None is finite, or one is NaN or plus infinity.

    Notes
    -----
    **Privacy guarantee.** With log_weights = epsilon u / (2 Delta) as real numbers, Delta the most by which neighbours' utilities
    u differ, this is the exponential mechanism, epsilon-DP. The draw adds nothing to that (`race_slack`), but doubles are not the
    real numbers: rounding each log-weight by up to r costs up to 4 r more, so subtract the largest before rounding.
    `dpfast.duff.sample` has no such term, its weights are integers.
    **Cost.** One pass, on two threads about as fast as memory is read; ten million draws from one array share it.

    References
    ----------
    Duff: arXiv 2010.04235, Algorithm 1.

    Examples
    --------
    >>> from dpfast import Stream
    >>> race([-1e9, 0.0, 1.0], rng=Stream.insecure(1))
    2
    """
    weights = _weights(log_weights)
    shape, n_draws = check_size(size)
    stream = stream_of(rng)
    words = stream.draws(column_name, digest_of("race"), n_draws).as_words()
    if weights.size <= PLAIN:
        found = _plain_draws(weights, words, n_draws)
    else:
        found = BlockRace(weights).draws(words, n_draws)
    return int(found[0]) if shape is None else found.reshape(shape)


def race_slack(n: int) -> float:
    """Bound of the log of the ratio between the probability of any of n items in `race` and exp(log_weight) / sum.

    Parameters
    ----------
    n : int
        Number of log-weights, at least 1.

    Returns
    -------
    float
        5e-324, the least positive double, or 0.0 for one item.

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Notes
    -----
    Proof. Every comparison of keys and of running sums is decided between intervals that enclose the real numbers (see the head
    of the module and `exact`), so a draw that ends has exactly the law of real exponential variates whose bits go on for ever. It
    does not end if 2^21 bits leave a comparison open, which then raises an error. Two keys, or V and a sum, agree that far with
    probability below 2^-2000000; n items offer fewer than n^2 < 2^128 pairs. That is below the least double, which is returned in
    its place. The rounding of the log-weights themselves, up to 2^-53 of their size each, is the caller's: see `race`.

    Examples
    --------
    >>> race_slack(100_000_000) < 1e-300
    True
    """
    return math.ulp(0.0) if integer(n, "n", minimum=1) > 1 else 0.0


def plain_race(weights: NDArray[np.float64], words: Words, first: int = 0) -> int:
    """The winner among all items, item i with the word first + i: the sampler of paper B; a pure function of the words."""
    top = float(weights.max())
    if not -math.inf < top < math.inf:
        raise ArgumentError(_NOT_WEIGHTS if top != -math.inf else "all log_weights are minus infinity: there is nothing to draw")
    shifted = _shifted(weights, top)

    def contender(item: int) -> Contender:
        return Contender(Tape(words, first + item), Fraction(float(weights[item])), Fraction(1))

    return winner(_candidates(shifted, words, first), contender)


def _candidates(logs: NDArray[np.float64], words: Words, first: int) -> list[int]:
    """Who can still have won the race of the masses e^log, item i with the word first + i."""
    runner = core.Race()
    for start in range(0, logs.size, CHUNK):
        stop = min(start + CHUNK, logs.size)
        runner.logs(logs[start:stop], words.words(first + start, stop - start), start)
    return runner.candidates()


def _plain_draws(weights: NDArray[Any], words: Words, n_draws: int) -> NDArray[np.int64]:
    doubles = weights.astype(np.float64)
    words = ReadAhead(words)
    return np.array([plain_race(doubles, words, draw * weights.size) for draw in range(n_draws)], np.int64)


class BlockRace:
    """Log-weights made ready for draws by blocks; the array is read once, and one block of it for each draw."""

    __slots__ = ("_logs", "_maxima", "_sums", "_top", "_weights")

    def __init__(self, weights: NDArray[Any]) -> None:
        self._weights = weights
        blocks = -(-weights.size // core.BLOCK)
        self._maxima, self._sums = np.empty(blocks), np.empty(blocks)
        odd: list[int] = []

        def read(start: int, stop: int, cancelled: threading.Event) -> None:
            # the blocks that begin among these items
            start, stop = (-(-bound // core.BLOCK) * core.BLOCK for bound in (start, stop))
            for at in range(start, min(stop, weights.size), PIECE):
                if cancelled.is_set():
                    return
                end = min(at + PIECE, stop, weights.size)
                place = slice(at // core.BLOCK, -(-end // core.BLOCK))
                if not core.blocks(_doubles(weights[at:end]), self._maxima[place], self._sums[place]):
                    odd.append(at)
                    return

        run_rows(read, weights.size, None)
        if odd:
            raise ArgumentError(_NOT_WEIGHTS)
        self._top = float(self._maxima.max())
        if self._top == -math.inf:
            raise ArgumentError("all log_weights are minus infinity: there is nothing to draw")
        with np.errstate(divide="ignore"):
            self._logs = _shifted(self._maxima, self._top) + np.log(self._sums)

    def draws(self, words: Words, n_draws: int) -> NDArray[np.int64]:
        """Items drawn from the words; a draw whose round ends without an item goes on to the next round."""
        found = np.empty(n_draws, np.int64)
        words = ReadAhead(words)
        stride = self._sums.size + 1
        for draw in range(n_draws):
            first = draw * stride
            while (item := self._round(words, first)) is None:
                first += n_draws * stride
            found[draw] = item
        return found

    def _round(self, words: Words, first: int) -> int | None:
        block = self._block(words, first)
        start = block * core.BLOCK
        top = float(self._maxima[block])
        place = _place(
            _doubles(self._weights[start : start + core.BLOCK]),
            top,
            float(self._sums[block]),
            Tape(words, first + self._sums.size),
        )
        return None if place is None else start + place

    def _block(self, words: Words, first: int) -> int:
        def contender(block: int) -> Contender:
            tape = Tape(words, first + block)
            return Contender(tape, Fraction(float(self._maxima[block])), Fraction(float(self._sums[block])))

        return winner(_candidates(self._logs, words, first), contender)


def _place(logs: NDArray[np.float64], top: float, scale: float, tape: Tape) -> int | None:
    """The item within whose share of the running sum of e^(x - top) the number U * scale falls; None beyond the end."""
    with np.errstate(over="ignore"):
        sums = np.cumsum(np.exp(logs - top))
    # 1024 powers and additions are off by less than a part of 2^-40 of the sum, and so is U by its first word
    band = float(sums[-1]) * 2.0**-40
    at = tape.bits(0)[0] * 2.0**-64 * scale
    place = int(np.searchsorted(sums, at, side="right"))
    clear_below = place == 0 or at - sums[place - 1] > band
    clear_above = place == sums.size or sums[place] - at > band
    if not (clear_below and clear_above):
        exact = Fraction(top)
        shifted = [Fraction(log) - exact if log > -math.inf else None for log in logs.tolist()]
        place = settle_place(shifted, Fraction(scale), tape)
    return None if place == sums.size else place


def _shifted(logs: NDArray[np.float64], top: float) -> NDArray[np.float64]:
    """logs - top, where what passes the doubles stays a number: an item of little weight is not one of none."""
    with np.errstate(over="ignore"):
        shifted = logs - top
    shifted[(shifted == -math.inf) & (logs > -math.inf)] = -sys.float_info.max
    return shifted


def _weights(log_weights: Any) -> NDArray[Any]:
    weights = log_weights if isinstance(log_weights, np.ndarray) else np.asarray(log_weights)
    if weights.dtype.kind not in "iuf" and weights.size:
        raise ArgumentTypeError("log_weights must be real numbers")
    if weights.ndim != 1:
        raise ArgumentError("log_weights must be one-dimensional")
    if not 0 < weights.size < BOUND:
        raise ArgumentError("log_weights is empty: there is nothing to draw")
    return weights


def _doubles(piece: NDArray[Any]) -> NDArray[np.float64]:
    """A piece as the kernels read it: float64 in one run; longer floats and integers are rounded to it."""
    return np.ascontiguousarray(piece, np.float64)
