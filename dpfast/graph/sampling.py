"""Draws from a mechanism on a graph: random bits compared with every bit of an exact probability.

With m = min(p, 1 - p) the rarer answer is given if a uniform real number lies below m. Its first 64 bits decide unless they are
those of m; then further ones do, at most 1010 more, and that happens once in 2^64 draws.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._rounding import integer, times_up
from dpfast._spending import group_figure, payment
from dpfast._statement import Privacy
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.graph._values import KEY_ONE
from dpfast.randomness import Stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast._spending import Charges
    from dpfast.graph.model import DatasetGraph
    from dpfast.randomness import Column
    from dpfast.words import DrawBits

__all__ = ["PIECE", "answers_of", "paid_bits", "sample"]

PIECE: Final = 1 << 20  # draws at a time
MORE_WORDS: Final = 16  # 64 bits each: the least double has its bit at place 1074


def sample(
    g: DatasetGraph,
    keys: NDArray[np.uint64],
    vertices: NDArray[np.int64],
    rng: Stream | None,
    size: int | None,
    column_name: Column,
    ledger: Charges | None,
) -> NDArray[np.uint8]:
    """Answers for vertices; see `Extension.sample`."""
    shape = vertices.shape if size is None else (integer(size, "size", minimum=0), *vertices.shape)
    total = int(np.prod(shape, dtype=object))
    digest = hashlib.blake2b(keys.tobytes(), digest_size=32, person=b"dpfast/graph").digest()
    stream, bits = paid_bits(g, digest, total, rng, column_name, ledger)
    drawn = np.broadcast_to(keys[vertices], shape).reshape(-1)
    out = np.empty(total, np.uint8)
    for start in range(0, total, PIECE):
        piece = drawn[start : start + PIECE]
        out[start : start + PIECE] = answers_of(piece, bits.words(piece.size), lambda: _more(stream, column_name, digest))
    return out.reshape(shape)


def paid_bits(
    g: DatasetGraph, digest: bytes, total: int, rng: Stream | None, column_name: Column, ledger: Charges | None
) -> tuple[Stream, DrawBits]:
    """The bits of so many draws from a mechanism, once the ledger has paid for them."""
    if rng is not None and not isinstance(rng, Stream):
        raise ArgumentTypeError(f"rng must be None or a dpfast.Stream, not {type(rng).__name__}")
    if ledger is not None and g._user_law is not None:
        raise ArgumentError("a ledger counts epsilon and delta, which a law of your own does not state; draw without it")
    stream = Stream() if rng is None else rng
    stream.draws(column_name, digest, 0)  # what is wrong with a name is said before anything is charged
    payment(ledger, column_name, digest, lambda rows: _figure(g, total, rows))(stream, "draw")
    return stream, stream.draws(column_name, digest, total)


def answers_of(keys: NDArray[np.uint64], words: NDArray[np.uint64], more: Any) -> NDArray[np.uint8]:
    """The answer that each word gives, `more()` being a source of further words."""
    rare = np.minimum(keys, KEY_ONE - keys).view(np.float64)
    scaled = np.ldexp(rare, 64)  # exact, and at most 2^63
    whole = np.floor(scaled)
    limit = whole.astype(np.uint64)
    is_rare = words < limit
    for place in np.flatnonzero((words == limit) & (scaled > whole)).tolist():
        is_rare[place] = _settled(Fraction(float(scaled[place])) - int(limit[place]), more())
    is_one = is_rare == (keys <= KEY_ONE - keys)
    return np.where(is_one, np.uint8(1), np.uint8(2))


def _settled(rest: Fraction, bits: DrawBits) -> bool:
    """Whether a uniform number lies below the rest, bit by bit."""
    for _ in range(MORE_WORDS):
        rest *= 1 << 64
        limit = rest.numerator // rest.denominator
        word = int(bits.words(1)[0])
        if word != limit:
            return word < limit
        rest -= limit
    return False


def _more(stream: Stream, column_name: Column, digest: bytes) -> DrawBits:
    return stream.draws(column_name, digest, MORE_WORDS)


def _figure(g: DatasetGraph, draws: int, rows: int) -> Privacy:
    """What draws cost: the largest epsilon and delta of an edge, once for each row of a person, each draw anew."""
    epsilon = Fraction(float(g._epsilons.max())) if g.n_arcs else Fraction(0)
    delta = Fraction(0) if g._deltas is None else Fraction(float(g._deltas.max()))
    spent, slack = group_figure(epsilon, delta, rows)
    return Privacy(times_up(spent, draws), min(1.0, times_up(slack, draws)), "replace_one", rows)
