"""Where random words come from: arguments, keys, the addressing of cells, and that no two cells share a word."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from pending import pending_rows

from dpfast import (
    ArgumentError,
    ArgumentTypeError,
    Domain,
    DpfastError,
    EntropyError,
    OutsideDomainError,
    RandomisedResponse,
    Stream,
)
from dpfast._core import rows as core
from dpfast.reference import words

DIGEST = bytes(range(32))
Row = npt.NDArray[Any]


def high(stream: Stream, n_rows: int, column: Any = "c", digest: bytes = DIGEST) -> list[int]:
    """The high halves of the words of the next rows."""
    return [int(word) for word in stream.rows(column, digest, n_rows).reader(0, whole=False).high(n_rows)]


def whole(stream: Stream, n_rows: int, column: Any = "c", digest: bytes = DIGEST) -> list[int]:
    return [int(word) for word in stream.rows(column, digest, n_rows).reader(0, whole=True).words(n_rows)]


def answers(k: int, stream: Stream, n_rows: int, name: Any = "c") -> list[int]:
    """Answers that are the words themselves, but for their resolution: epsilon 0."""
    column = np.zeros(n_rows, np.uint16)
    drawn: list[int] = RandomisedResponse(range(k), epsilon=0.0).sanitise(column, rng=stream, column_name=name).tolist()
    return drawn


# arguments


def test_kinds(key: bytes) -> None:
    fresh, keyed, insecure = Stream(), Stream(key=key, context="a"), Stream.insecure(1)
    assert [stream.kind for stream in (fresh, keyed, insecure)] == ["fresh", "keyed", "insecure"]
    assert [stream.secure for stream in (fresh, keyed, insecure)] == [True, True, False]
    assert fresh.fingerprint is None
    assert keyed.fingerprint == Stream(key=key, context="b").fingerprint != insecure.fingerprint
    assert Stream.insecure(1).fingerprint == insecure.fingerprint != Stream.insecure(2).fingerprint
    assert len(bytes.fromhex(str(keyed.fingerprint))) == 16
    # it is published: a digest under a name of its own, frozen, and nothing of the key
    assert Stream(key=bytes(range(32)), context="a").fingerprint == "c7b2feb59608f2f7daa75283d98b0f1f"
    assert not any(key[place : place + 4].hex() in str(keyed.fingerprint) for place in range(29))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"key": bytes(32)}, ArgumentTypeError, "needs context="),
        ({"key": bytes(32), "context": b"a"}, ArgumentTypeError, "needs context="),
        ({"key": bytes(32), "context": ""}, ArgumentError, "context is empty"),
        ({"context": "a"}, ArgumentTypeError, "give key= as well"),
        ({"key": 5, "context": "a"}, ArgumentTypeError, "key must be 32 bytes, the path"),
        ({"key": [1] * 32, "context": "a"}, ArgumentTypeError, "key must be 32 bytes, the path"),
        ({"key": b"", "context": "a"}, ArgumentError, "exactly 32 bytes"),
        ({"key": bytes(31), "context": "a"}, ArgumentError, "exactly 32 bytes"),
        ({"key": bytes(64), "context": "a"}, ArgumentError, "exactly 32 bytes"),
        ({"first_row": -1}, ArgumentError, "first_row must lie"),
        ({"first_row": (1 << 49) + 1}, ArgumentError, "first_row must lie"),
        ({"first_row": 1.0}, ArgumentTypeError, "first_row must be an integer"),
        ({"first_row": True}, ArgumentTypeError, "first_row must be an integer"),
        ({"first_row": None}, ArgumentTypeError, "first_row must be an integer"),
    ],
)
def test_wrong_arguments(arguments: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Stream(**arguments)


def test_keyword_only_and_integer_seeds() -> None:
    with pytest.raises(TypeError):
        Stream(bytes(32), "a")  # type: ignore[misc]
    for seed in (1.0, "1", None, True, b"1"):
        with pytest.raises(ArgumentTypeError, match="seed must be an integer"):
            Stream.insecure(seed)  # type: ignore[arg-type]
    assert high(Stream.insecure(-5), 9) == high(Stream.insecure(np.int64(-5)), 9) != high(Stream.insecure(5), 9)  # type: ignore[arg-type]
    assert high(Stream.insecure(1 << 200), 9) != high(Stream.insecure(0), 9)


def test_a_keyed_stream_needs_a_column_name(key: bytes) -> None:
    stream = Stream(key=key, context="a")
    mechanism = RandomisedResponse(range(4), epsilon=1.0)
    for call in (lambda: stream.rows(None, DIGEST, 1), lambda: stream.ids(None, DIGEST)):
        with pytest.raises(ArgumentTypeError, match="column_name="):
            call()
    with pytest.raises(ArgumentTypeError, match="column_name="):
        mechanism.sanitise(np.zeros(3, np.uint8), rng=stream)
    for other in (None, Stream(), Stream.insecure(1)):
        assert mechanism.sanitise(np.zeros(3, np.uint8), rng=other).size == 3


@pytest.mark.parametrize("rng", [1, "seed", b"x" * 32, np.random.default_rng(1), Stream, object()])
def test_only_a_stream_is_a_source_of_noise(rng: Any) -> None:
    with pytest.raises(ArgumentTypeError, match=r"^rng must be None or a dpfast\.Stream, not "):
        RandomisedResponse(range(4), epsilon=1.0).sanitise(np.zeros(3, np.uint8), rng=rng)


def test_no_repr_shows_any_part_of_a_key(key: bytes) -> None:
    for stream in (Stream(key=key, context="secret context"), Stream.insecure(1), Stream()):
        for shown in (repr(stream), str(stream), f"{stream}", repr(stream.rows("c", DIGEST, 1))):
            assert key.hex()[:8] not in shown
            assert "secret context" not in shown
            assert repr(key)[2:14] not in shown
        assert not hasattr(stream, "__dict__")
    assert repr(Stream(key=key, context="a")) == "<dpfast.Stream keyed>"


@pytest.mark.parametrize(
    "duplicate",
    [
        copy.copy,
        copy.deepcopy,
        pickle.dumps,
        lambda s: pickle.dumps(s, 0),
        lambda s: s.__getstate__(),
        lambda s: [s, copy.deepcopy([s])],
    ],
)
def test_a_stream_has_no_copies(duplicate: Callable[[Stream], Any], key: bytes) -> None:
    for stream in (Stream(), Stream(key=key, context="a"), Stream.insecure(1)):
        with pytest.raises(ArgumentTypeError, match="cannot be copied or pickled"):
            duplicate(stream)


# rows


@pytest.mark.parametrize("draw", [high, whole])
@pytest.mark.parametrize("pieces", [[100], [0, 1, 7, 0, 92], [1] * 100, [8, 16, 76], [99, 1]])
def test_pieces_are_the_whole(draw: Callable[..., list[int]], pieces: list[int], key: bytes) -> None:
    for make in (lambda: Stream.insecure(7), lambda: Stream(key=key, context="a")):
        together, apart = make(), make()
        assert draw(together, 100) == [word for n in pieces for word in draw(apart, n)]
        assert draw(together, 5) == draw(apart, 5)


@pytest.mark.parametrize("k", [4, 1024, 1025, 60_000])
def test_a_column_in_pieces_is_the_column_whole(k: int) -> None:
    apart = Stream.insecure(7)
    assert answers(k, Stream.insecure(7), 1000) == [answer for n in (1, 0, 7, 492, 500) for answer in answers(k, apart, n)]
    assert answers(k, Stream.insecure(7, first_row=500), 500) == answers(k, Stream.insecure(7), 1000)[500:]


@pytest.mark.parametrize("draw", [high, whole])
@pytest.mark.parametrize("first", [1, 7, 8, 9, 1 << 17, (1 << 32) + 3, (1 << 49) - 20])
def test_first_row_is_where_every_column_begins(draw: Callable[..., list[int]], first: int, key: bytes) -> None:
    subkey = words.subkey(key, "row", context="a", column="c", mechanism=DIGEST)
    stream = Stream(key=key, context="a", first_row=first)
    k = 1024 if draw is high else 1025
    expected = [words.row_word(subkey, first + row, k) >> (48 if draw is high else 0) for row in range(20)]
    assert draw(stream, 15) + draw(stream, 5) == expected
    assert draw(stream, 15, "d") == draw(Stream(key=key, context="a", first_row=first), 15, "d")


def test_rows_end_before_their_addresses_do() -> None:
    stream = Stream.insecure(1, first_row=(1 << 49) - 5)
    with pytest.raises(ArgumentError, match="no rows left"):
        high(stream, 6)
    assert len(high(stream, 5)) == 5
    with pytest.raises(ArgumentError, match="no rows left"):
        high(stream, 1)
    assert high(stream, 0) == []


@pytest.mark.parametrize("n_rows", [-1, -(1 << 62), 1.0, None, True])
def test_rows_never_go_back(n_rows: Any) -> None:
    stream = Stream.insecure(1)
    before = high(stream, 5)
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        stream.rows("c", DIGEST, n_rows)
    assert before + high(stream, 5) == high(Stream.insecure(1), 10)


def test_columns_and_mechanisms_count_by_themselves() -> None:
    stream = Stream.insecure(1)
    first = [high(stream, 9, name, digest) for name in ("a", "b", None) for digest in (DIGEST, bytes(32))]
    again = Stream.insecure(1)
    high(again, 3, "elsewhere")
    assert [high(again, 9, name, digest) for name in ("a", "b", None) for digest in (DIGEST, bytes(32))] == first


def test_a_failing_call_has_used_its_rows() -> None:
    """It may have shown something: time, a half-written output."""
    stream = Stream.insecure(7)
    mechanism = RandomisedResponse(range(60_000), epsilon=0.0)
    with pytest.raises(OutsideDomainError):
        mechanism.sanitise(np.array([0, 0, 60_000, 0], np.uint16), rng=stream, column_name="c")
    assert answers(60_000, stream, 50) == answers(60_000, Stream.insecure(7), 54)[4:]


def test_a_call_with_wrong_arguments_uses_none() -> None:
    stream = Stream.insecure(7)
    mechanism = RandomisedResponse(range(60_000), epsilon=0.0)
    wrong: list[dict[str, Any]] = [{"threads": 0}, {"out": np.zeros(3, np.uint16)}, {"column_name": 3}, {"ids": [1]}]
    for arguments in wrong:
        with pytest.raises(DpfastError):
            mechanism.sanitise(np.zeros(4, np.uint16), **({"rng": stream, "column_name": "c"} | arguments))
    with pytest.raises(ArgumentTypeError):
        mechanism.sanitise(np.zeros(4), rng=stream, column_name="c")
    assert answers(60_000, stream, 50) == answers(60_000, Stream.insecure(7), 50)


def test_two_uses_never_share_a_word(key: bytes) -> None:
    """Over kinds, keys, contexts, sources, columns, mechanisms and rows: all keystream blocks differ, in both planes."""
    streams = [Stream(key=k, context=c) for k in (key, bytes(32)) for c in ("a", "b", "ab", "a\0")]
    streams += [stream.bind_source(source) for stream in streams for source in (b"b", b"\0", bytes(32))]
    streams += [Stream.insecure(seed) for seed in (0, 1, -1)] + [Stream(), Stream()]
    names: list[Any] = ["c", "d", "cd", "", "sc", ("c",), ("c", "d"), ("cd",), ("c", ""), ("", "c"), ()]
    blocks: list[bytes] = []
    for stream in streams:
        for name in names:
            for digest in (DIGEST, bytes(32)):
                for _ in range(2):
                    reader = stream.rows(name, digest, 16).reader(0, whole=False)
                    blocks += np.split(reader.high(16), 2)
                    blocks += np.split(reader.low(pending_rows(2), 0)[:32], 2)
                blocks += np.split(stream.rows(name, digest, 4).reader(0, whole=True).words(4), 2)
    seen = {np.asarray(block).tobytes() for block in blocks}
    assert len(blocks) == len(streams) * len(names) * 2 * 10
    assert len(seen) == len(blocks)


def test_the_same_use_of_the_same_key_is_the_same_noise(key: bytes) -> None:
    """The negative control of the test above, and what a retry relies on."""
    for make in (lambda: Stream(key=key, context="a"), lambda: Stream(key=key, context="a").bind_source(b"digest")):
        assert high(make(), 50) == high(make(), 50)
        assert whole(make(), 50) == whole(make(), 50)
    assert high(Stream(), 50) != high(Stream(), 50)


@pytest.mark.parametrize("k", [1, 2, 10, 1023, 1024, 1025, 65_536, 1 << 20])
def test_words_are_those_of_the_definition(k: int, key: bytes) -> None:
    """Random rows, through the kernel at epsilon 0: category i of k answers to the i-th share of the words."""
    rows = np.random.default_rng(k).integers(0, 1 << 49, 40)
    law = core.ResponseLaw(k, 0, True, False)
    subkey = words.subkey(key, "row", context="a", column=("c", "d"), mechanism=DIGEST)
    for row in rows:
        stream = Stream(key=key, context="a", first_row=int(row))
        reader = stream.rows(("c", "d"), DIGEST, 3).reader(0, whole=not law.split)
        if law.split:
            low = reader.high(3)
            seconds = reader.low(pending_rows(3), 0)[:48].reshape(3, 16)[:, :6].astype(object)
            drawn = [int(h) << 48 | sum(int(b) << 8 * i for i, b in enumerate(s)) for h, s in zip(low, seconds, strict=True)]
        else:
            drawn = [int(word) for word in reader.words(3)]
        assert drawn == [words.row_word(subkey, int(row) + i, k) for i in range(3)]


def test_a_bound_stream_is_bound_to_a_digest(key: bytes) -> None:
    subkey = words.subkey(key, "row", context="a", source=b"digest", column="c", mechanism=DIGEST)
    stream = Stream(key=key, context="a", first_row=5)
    high(stream, 9)
    assert high(stream.bind_source(b"digest"), 8) == [words.row_word(subkey, 5 + row, 4) >> 48 for row in range(8)]
    assert stream.bind_source(b"digest").fingerprint == stream.fingerprint
    for other in (Stream(), Stream.insecure(1)):
        with pytest.raises(ArgumentTypeError, match="only a keyed stream"):
            other.bind_source(b"digest")
    wrong: list[Any] = ["digest", 5, None]
    for digest in wrong:
        with pytest.raises(ArgumentTypeError):
            stream.bind_source(digest)


def test_names_that_no_encoding_holds_are_refused(key: bytes) -> None:
    with pytest.raises(ArgumentError):
        Stream(key=key, context="\ud800")
    names: list[Any] = ["\ud800", ("a", "\ud800"), ("a", 3), ("a", None), 3, b"a", ["a"]]
    for name in names:
        with pytest.raises((ArgumentError, ArgumentTypeError)):
            answers(4, Stream.insecure(1), 3, name)


def test_eight_threads_share_a_stream_and_no_row() -> None:
    n_calls, n_rows, k = 64, 50, 60_000
    together = np.array(answers(k, Stream.insecure(3), n_calls * n_rows)).reshape(n_calls, n_rows)
    stream = Stream.insecure(3)
    start = threading.Barrier(8)

    def work() -> list[tuple[int, ...]]:
        start.wait()
        return [tuple(answers(k, stream, n_rows)) for _ in range(n_calls // 8)]

    with ThreadPoolExecutor(8) as pool:
        drawn = [piece for future in [pool.submit(work) for _ in range(8)] for piece in future.result()]
    assert sorted(drawn) == sorted(tuple(row) for row in together.tolist())


# entropy


def fails(_: int) -> bytes:
    raise OSError("no entropy")


def absent(_: int) -> bytes:
    raise RuntimeError("no source of entropy")


@pytest.mark.parametrize("source", [fails, absent, lambda n: bytes(n - 1), lambda n: b""])
def test_without_entropy_nothing_is_drawn(source: Callable[[int], bytes], monkeypatch: pytest.MonkeyPatch, key: bytes) -> None:
    mechanism = RandomisedResponse(Domain.range(4), epsilon=1.0)
    out = np.full(5, 9, np.uint8)
    monkeypatch.setattr(os, "urandom", source)
    with pytest.raises(EntropyError, match="entropy; nothing was drawn"):
        Stream()
    with pytest.raises(EntropyError) as caught:
        mechanism.sanitise(np.zeros(5, np.uint8), out=out)
    assert isinstance(caught.value, OSError)
    assert out.tolist() == [9] * 5
    assert Stream(key=key, context="a").kind == "keyed"


def test_every_fresh_stream_asks_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = os.urandom
    monkeypatch.setattr(os, "urandom", lambda n: asked.append(n) or real(n))
    mechanism = RandomisedResponse(range(4), epsilon=1.0)
    for _ in range(3):
        mechanism.sanitise(np.zeros(5, np.uint8))
    Stream()
    assert asked == [32] * 4
