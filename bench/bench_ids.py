"""Permanent noise: what it costs to address words by identifier, one thread.

    pytest bench/bench_ids.py -s

For 64-bit integers the measure is the copy of ids and column in the same run; for texts of 36 characters, as UUIDs are written,
the number a second. Ids come in an order of their own and are looked over for repeated ones, as any call of a user's does; the
look takes longer than the noise where they are neither sorted nor dense, so sorted ones are what is held, and the others told.
Every answer is checked before it is timed: by one identifier after another, and against the same rows in another order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import peers
import pyarrow as pa
from timing import interleaved, save

from dpfast import RandomisedResponse, Stream
from dpfast.ids import prepare_ids

N = 10_000_000
TEXTS = 2_000_000
REACH = 8.0  # times the copy of ids and column
REACH_TEXTS = 2e7  # a second
ROUNDS = 7

MECHANISM = RandomisedResponse(range(10), epsilon=1.0)


def sanitised(column: Any, ids: Any) -> Any:
    return MECHANISM.sanitise(column, rng=Stream.insecure(1), ids=ids, column_name="c", threads=1)


def check(column: Any, ids: Any, order: Any) -> None:
    """The answers hang on identifier and value alone."""
    answers = sanitised(column, ids)
    again = sanitised(column[order], ids.take(pa.array(order)) if isinstance(ids, pa.Array) else ids[order])
    assert (again == answers[order]).all()
    assert 0.2 < float((answers == column).mean()) < 0.3  # e / (e + 9)


def test_ids_ratios() -> None:
    rng = np.random.default_rng(1)
    column = rng.integers(0, 10, N, np.uint8)
    ids = np.arange(N) * 1_000_003
    texts = pa.array([f"{i:08x}-0000-4000-8000-{i * 7919 % (1 << 48):012x}" for i in range(TEXTS)])
    few = column[:TEXTS]
    check(few, ids[:TEXTS], rng.permutation(TEXTS))
    check(few, texts, rng.permutation(TEXTS))
    looked = prepare_ids(texts)  # as file jobs have them: ids are not looked over there
    shuffled = rng.permutation(ids)
    room, room_ids = np.empty_like(column), np.empty_like(ids)

    def copy() -> None:
        peers.copy(column, room)
        peers.copy(ids, room_ids)

    times = interleaved(
        {
            "copy": copy,
            "integers": lambda: sanitised(column, ids),
            "integers, shuffled": lambda: sanitised(column, shuffled),
            "texts": lambda: sanitised(few, looked),
            "texts, looked over": lambda: sanitised(few, texts),
        },
        rounds=ROUNDS,
    )
    ratio, speed = times["integers"] / times["copy"], TEXTS / times["texts"]
    print(f"\nsorted 64-bit ids: {ratio:.1f} times the copy of ids and column (reach: {REACH:.0f})")
    print(f"shuffled, looked over for repeated ones: {times['integers, shuffled'] / times['copy']:.1f} times")
    print(f"ids of 36 characters: {speed:.3g} a second (reach: {REACH_TEXTS:.0e})")
    print(f"looked over for repeated ones: {TEXTS / times['texts, looked over']:.3g} a second")
    of_texts = times["texts"] / TEXTS / (times["integers"] / N)
    save(
        "ids",
        [
            {
                "work": "`sanitise` with sorted 64-bit `ids`, uint8, one thread",
                "ratios": [{"against": "`numpy.copyto` of ids and column", "says": f"{ratio:.1f} times its time"}],
            },
            {
                "work": "`sanitise` with `ids` of 36 characters, one thread",
                "ratios": [{"against": "the same with 64-bit ids", "says": f"{of_texts:.1f} times its time a row"}],
            },
        ],
    )
    assert ratio <= REACH
    assert speed >= REACH_TEXTS
