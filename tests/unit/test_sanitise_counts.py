"""`sanitise_counts` and `sanitise_contingency`: arguments, totals, which words they use, and that no call uses another's."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpfast
from dpfast import ArgumentError, ArgumentTypeError, Domain, EntropyError, RandomisedResponse, Stream
from dpfast.histogram import answer_table, sanitise_contingency, sanitise_counts
from dpfast.words import DrawBits

MECHANISM = RandomisedResponse(["a", "b", None], epsilon=1.0)
COUNTS = [500, 0, 300]
DIGEST = bytes(range(32))


class Table:
    """A mechanism of which only the table is known."""

    def __init__(self, rows: list[list[int]]) -> None:
        self.domain = Domain.range(len(rows))
        self.digest = DIGEST
        self.table = np.array(rows, object)


def drawn(stream: Stream | None, counts: Any = COUNTS, name: Any = "c") -> list[int]:
    answers: list[int] = MECHANISM.sanitise_counts(counts, rng=stream, column_name=name).tolist()
    return answers


# arguments


@pytest.mark.parametrize(
    "counts",
    [
        [1.0, 2.0, 3.0],
        [1, 2, 3.5],
        [True, False, True],
        ["1", "2", "3"],
        [1, None, 3],
        [],
        [[1, 2], [3]],
        None,
        "abc",
        np.array([1, 2, 2**64], object),
        np.array([1, 2, 3], "m8[s]"),
        pa.array([1, None, 3]),
    ],
)
def test_counts_are_integers(counts: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="counts must be an array of integers"):
        drawn(None, counts)


@pytest.mark.parametrize("counts", [[1, 2], [1, 2, 3, 4], [[1, 2, 3]], [[1], [2], [3]], 5])
def test_counts_have_one_entry_for_each_category(counts: Any) -> None:
    with pytest.raises(ArgumentError, match="one entry for each category"):
        drawn(None, counts)


@pytest.mark.parametrize(
    "counts",
    [
        [-1, 2, 3],
        [0, 0, -(2**63)],
        [2**49, 1, 0],
        [2**62, 2**62, 2**62],
        np.array([2**63, 2**63, 0], np.uint64),
        np.array([2**64 - 1, 2, 0], np.uint64),
        np.array([127, 127, -128], np.int8),
    ],
    ids=repr,
)
def test_counts_are_not_negative_and_not_too_many(counts: Any) -> None:
    with pytest.raises(ArgumentError, match=r"negative, and their sum must be at most 2\*\*49") as caught:
        drawn(None, counts)
    assert "127" not in str(caught.value), "counts are private data"


def test_other_arguments(key: bytes) -> None:
    with pytest.raises(ArgumentTypeError, match=r"rng must be None or a dpfast\.Stream"):
        drawn(np.random.default_rng(1))  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="column_name="):
        drawn(Stream(key=key, context="a"), name=None)
    with pytest.raises(ArgumentTypeError, match="column_name must be"):
        drawn(Stream(), name=3)
    with pytest.raises(TypeError):
        MECHANISM.sanitise_counts(COUNTS, Stream())  # type: ignore[misc]


@pytest.mark.parametrize(
    ("counts", "mechanisms", "names", "error", "text"),
    [
        ([[1, 2, 3]], [MECHANISM], None, ArgumentError, "one axis for each mechanism"),
        ([1, 2, 3], [MECHANISM, MECHANISM], None, ArgumentError, "one axis for each mechanism"),
        ([[1, 2, 3]] * 2, [MECHANISM, MECHANISM], None, ArgumentError, "one entry for each category"),
        ([1, 2, 3], MECHANISM, None, ArgumentTypeError, "mechanisms must be a list"),
        ([1, 2, 3], [["a", "b", None]], None, ArgumentTypeError, "mechanisms must be a list"),
        (5, [], None, ArgumentError, "mechanisms is empty"),
        ([1, 2, 3], [MECHANISM], "c", ArgumentTypeError, "column_names must be a list"),
        ([1, 2, 3], [MECHANISM], ["c", "d"], ArgumentError, "one name for each mechanism"),
        ([1.0, 2, 3], [MECHANISM], None, ArgumentTypeError, "array of integers"),
    ],
)
def test_arguments_of_a_contingency_table(
    counts: Any, mechanisms: Any, names: Any, error: type[Exception], text: str, key: bytes
) -> None:
    stream = Stream.insecure(1)
    with pytest.raises(error, match=text):
        sanitise_contingency(counts, mechanisms, rng=stream, column_names=names)
    assert drawn(stream) == drawn(Stream.insecure(1)), "nothing was drawn"
    for wrong in (None, ["x", None]):
        with pytest.raises(ArgumentTypeError, match="column_name="):
            sanitise_contingency(np.ones((3, 3), int), [MECHANISM] * 2, rng=Stream(key=key, context="a"), column_names=wrong)


def test_without_entropy_no_histogram_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: int) -> bytes:
        raise OSError("no entropy")

    monkeypatch.setattr(os, "urandom", fails)
    with pytest.raises(EntropyError):
        drawn(None)


# totals


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0, 44.0])
@pytest.mark.parametrize("k", [1, 2, 7, 256, 5000])
def test_no_row_is_lost(k: int, epsilon: float) -> None:
    mechanism = RandomisedResponse(range(k), epsilon=epsilon)
    rng = np.random.default_rng(k)
    for counts in (np.zeros(k, int), np.eye(1, k, k - 1, dtype=int)[0] * 10**6, rng.integers(0, 50, k), np.ones(k, int)):
        before = counts.copy()
        answers = mechanism.sanitise_counts(counts)
        assert answers.dtype == np.int64
        assert answers.shape == (k,)
        assert answers.min() >= 0
        assert answers.sum() == counts.sum()
        assert (counts == before).all()
        answers[:] = 0  # a new array, which may be written to


def test_nothing_is_drawn_of_a_single_category_or_of_no_rows() -> None:
    stream = Stream.insecure(1)
    assert RandomisedResponse(["x"], epsilon=1.0).sanitise_counts([12], rng=stream).tolist() == [12]
    assert drawn(stream, [0, 0, 0]) == [0, 0, 0]
    assert drawn(stream) == drawn(Stream.insecure(1))


def test_an_answer_without_words_never_comes() -> None:
    full = 1 << 64
    identity = Table([[full, 0, 0], [0, full, 0], [0, 0, full]])
    assert sanitise_counts(identity, COUNTS).tolist() == COUNTS
    rotated = Table([[0, full, 0], [0, 0, full], [full, 0, 0]])
    assert sanitise_counts(rotated, COUNTS).tolist() == [300, 500, 0]
    half = Table([[0, full // 2, full // 2], [full, 0, 0], [full - 1, 0, 1]])
    answers = sanitise_counts(half, [1000, 0, 0])
    assert answers[0] == 0
    assert 300 < answers[1] < 700
    assert sanitise_counts(half, [0, 5, 1000]).tolist() == [1005, 0, 0]


def test_a_table_is_read_only_where_rows_are() -> None:
    def rows() -> Any:
        yield [1 << 64, 1 << 64]
        yield None  # the bounds of a category without rows

    assert answer_table(np.array([[3], [0]]), rows(), DrawBits(bytes(32), 0, 3)).tolist() == [[3], [0]]


def test_kinds_of_arrays_do_not_matter() -> None:
    expected = drawn(Stream.insecure(1))
    strided = np.zeros((3, 2), np.int32)
    strided[:, 0] = COUNTS
    read_only = np.array(COUNTS)
    read_only.flags.writeable = False
    for counts in (
        tuple(COUNTS),
        np.array(COUNTS, np.uint16),
        np.array(COUNTS, ">i8"),
        strided[:, 0],
        read_only,
        pa.array(COUNTS),
        pd.Series(COUNTS, index=[2, 1, 0]),
    ):
        assert drawn(Stream.insecure(1), counts) == expected
    table = np.arange(12).reshape(3, 4)
    mechanisms = [MECHANISM, RandomisedResponse(range(4), epsilon=1.0)]
    answers = [
        sanitise_contingency(t, mechanisms, rng=Stream.insecure(1)).tolist()
        for t in (table, np.asfortranarray(table), np.repeat(table, 2, axis=1)[:, ::2], table.tolist())
    ]
    assert all(answer == answers[0] for answer in answers)


def test_a_contingency_table_keeps_what_its_mechanisms_keep() -> None:
    counts = np.random.default_rng(1).integers(0, 1000, (3, 4, 5))
    full = 1 << 64
    still = [Table([[full * (i == j) for j in range(k)] for i in range(k)]) for k in counts.shape]
    assert (sanitise_contingency(counts, still) == counts).all()
    for axis in range(3):  # where one column is answered anew, the counts of the others stay
        mechanisms: list[Any] = list(still)
        mechanisms[axis] = RandomisedResponse(range(counts.shape[axis]), epsilon=0.5)
        answers = sanitise_contingency(counts, mechanisms)
        assert (answers != counts).any()
        assert (answers.sum(axis=axis) == counts.sum(axis=axis)).all()
        assert answers.flags.c_contiguous
    assert sanitise_contingency(COUNTS, [MECHANISM], rng=Stream.insecure(1), column_names=["c"]).tolist() == drawn(
        Stream.insecure(1)
    )
    assert dpfast.histogram.sanitise_contingency is sanitise_contingency


# words


def test_a_keyed_histogram_can_be_drawn_again(key: bytes) -> None:
    def make(**others: Any) -> Stream:
        return Stream(**({"key": key, "context": "a"} | others))

    once = drawn(make())
    assert once == drawn(make())
    assert drawn(Stream()) != drawn(Stream())
    other = RandomisedResponse(["a", "b", None], epsilon=1.0000001)
    assert once != other.sanitise_counts(COUNTS, rng=make(), column_name="c").tolist()
    for stream, name in ((make(context="b"), "c"), (make(key=bytes(32)), "c"), (make(), "d"), (make(first_row=1), "c")):
        assert drawn(stream, name=name) != once


def blocks(bits: DrawBits, n: int = 512) -> set[tuple[int, ...]]:
    """What 32 bits in a row are, wherever they start at a multiple of eight: equal words would be found at any of these."""
    each = bits.ones(np.ones(n, np.int64)).tolist()
    return {tuple(each[start : start + 32]) for start in range(0, n - 31, 8)}


def test_two_calls_never_share_a_word(key: bytes) -> None:
    for make in (lambda: Stream(key=key, context="a"), lambda: Stream.insecure(1), lambda: Stream()):
        stream = make()
        seen: set[tuple[int, ...]] = set()
        for n, size in enumerate([8, 9, 1000, 8, 8] * 5):
            before = len(seen)
            seen |= blocks(stream.draws("c", DIGEST, size))
            assert len(seen) == before + 61, n
    once = blocks(Stream.insecure(1).draws("c", DIGEST, 8))
    assert once == blocks(Stream.insecure(1).draws("c", DIGEST, 9)), "the control: the same draws are the same words"


def test_draws_are_neither_rows_nor_those_of_another_worker(key: bytes) -> None:
    stream = Stream(key=key, context="a")
    rows = np.unpackbits(stream.rows("c", DIGEST, 32).reader(0, whole=False).high(32).view(np.uint8), bitorder="little").tolist()
    seen = {tuple(rows[start : start + 32]) for start in range(0, 481, 8)}
    assert len(seen) == 61
    # Workers whose rows lie one after the other: whatever the sizes of their draws, these are apart.
    for first, sizes in ((0, [8, 9]), (17, [8]), (25, [1000]), (1025, [8])):
        worker = Stream(key=key, context="a", first_row=first)
        for size in sizes:
            before = len(seen)
            seen |= blocks(worker.draws("c", DIGEST, size))
            assert len(seen) == before + 61


def test_draws_are_used_when_they_are_reserved_and_end_where_rows_do() -> None:
    stream = Stream.insecure(1)
    stream.draws("c", MECHANISM.digest, 800)
    again = Stream.insecure(1)
    drawn(again)
    assert drawn(stream) == drawn(again)
    late = Stream.insecure(1, first_row=(1 << 49) - 1000)
    drawn(late)
    with pytest.raises(ArgumentError, match="no rows left"):
        drawn(late)
    assert sum(drawn(late, [100, 100, 0])) == 200
    for wrong in (-1, 1.0, True, None):
        with pytest.raises((ArgumentError, ArgumentTypeError), match="n_draws must"):
            stream.draws("c", DIGEST, wrong)  # type: ignore[arg-type]


def test_eight_threads_draw_from_one_stream() -> None:
    alone = Stream.insecure(3)
    expected = sorted(tuple(drawn(alone)) for _ in range(64))
    stream = Stream.insecure(3)
    start = threading.Barrier(8)

    def work() -> list[tuple[int, ...]]:
        start.wait()
        return [tuple(drawn(stream)) for _ in range(8)]

    with ThreadPoolExecutor(8) as pool:
        found = [answers for future in [pool.submit(work) for _ in range(8)] for answers in future.result()]
    assert sorted(found) == expected
    assert len(set(found)) > 32
