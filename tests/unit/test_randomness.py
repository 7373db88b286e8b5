"""Streams: arguments, keys, counting, and words that are the reference's and never used twice."""

from __future__ import annotations

import base64
import copy
import os
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpfast import EntropyError, FileError, RandomisedResponse, Stream
from dpfast.keys import resolve_key
from dpfast.reference import words as reference
from dpfast.words import RowReader

KEY = bytes(range(32))
MECHANISM = RandomisedResponse(range(4), epsilon=1.0)


def keyed(**kwargs: Any) -> Stream:
    return Stream(key=KEY, context="tests", **kwargs)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"key": KEY}, TypeError),
        ({"key": KEY, "context": ""}, ValueError),
        ({"key": KEY, "context": 7}, TypeError),
        ({"context": "no key"}, TypeError),
        ({"key": KEY[:31], "context": "c"}, ValueError),
        ({"key": 5, "context": "c"}, TypeError),
        ({"first_row": -1}, ValueError),
        ({"first_row": 1.0}, TypeError),
        ({"first_row": True}, TypeError),
        ({"first_row": 1 << 61}, ValueError),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Stream(**arguments)


def test_kinds() -> None:
    assert (Stream().kind, Stream().secure, Stream().fingerprint) == ("fresh", True, None)
    assert keyed().kind == "keyed"
    assert keyed().secure
    assert not Stream.insecure(1).secure
    assert keyed().fingerprint == Stream(key=KEY, context="other").fingerprint != Stream(key=bytes(32), context="c").fingerprint
    for seed in ("1", 1.0, None, True):
        with pytest.raises(TypeError):
            Stream.insecure(seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("raw", [True, False])
def test_key_files_and_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bool) -> None:
    path = tmp_path / "secret.key"
    path.write_bytes(KEY if raw else base64.b64encode(KEY) + b"\n")
    path.chmod(0o600)
    assert resolve_key(path) == resolve_key(str(path)) == resolve_key(bytearray(KEY)) == KEY
    monkeypatch.setenv("DPFAST_TEST_KEY", base64.b64encode(KEY).decode())
    assert resolve_key("env:DPFAST_TEST_KEY") == KEY
    path.chmod(0o640)
    with pytest.raises(FileError, match="chmod 600"):
        resolve_key(path)


def test_bad_keys_are_refused_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    canary = "c4n4ryc4n4ryc4n4ry"
    path = tmp_path / "bad.key"
    path.write_text(canary)
    path.chmod(0o600)
    monkeypatch.setenv("DPFAST_TEST_KEY", canary)
    for key in (path, "env:DPFAST_TEST_KEY", canary.encode(), "env:DPFAST_MISSING", tmp_path / "missing"):
        with pytest.raises((ValueError, OSError)) as caught:
            resolve_key(key)
        assert canary not in str(caught.value)
    for stream in (keyed(), Stream(), Stream.insecure(3)):
        assert KEY.hex() not in repr(stream)
        assert repr(KEY) not in repr(stream)


def test_no_copies() -> None:
    for stream in (Stream(), keyed(), Stream.insecure(1)):
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="copied or pickled"):
                attempt(stream)


@pytest.mark.parametrize("failure", ["raises", "short"])
def test_without_entropy_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch, failure: str) -> None:
    def urandom(n: int) -> bytes:
        if failure == "raises":
            raise OSError("no entropy here")
        return b"too short"

    monkeypatch.setattr(os, "urandom", urandom)
    out = np.full(10, 3, np.uint8)
    with pytest.raises(EntropyError):
        MECHANISM.sanitise(np.zeros(10, np.uint8), out=out)
    assert (out == 3).all()


@pytest.mark.parametrize("k", [2, 4096, 4097])
def test_row_words_are_the_reference(k: int) -> None:
    subkey = reference.subkey(KEY, "row", context="tests", column="c", mechanism=bytes(32))
    draw = np.random.default_rng(k)
    for start in [0, 1, 7, 8, 1 << 33, *draw.integers(0, 1 << 40, 5).tolist()]:
        n = int(draw.integers(1, 40))
        reader = keyed(first_row=start).rows("c", bytes(32), n).reader(0, whole=k > 4096)
        if k > 4096:
            got = reader.words(n).tolist()
        else:
            high = reader.high(n).tolist()
            low = reader.low(np.arange(n, dtype=np.uint32), n).reshape(n, 16)[:, :6]
            got = [h << 48 | int.from_bytes(part.tobytes(), "little") for h, part in zip(high, low, strict=True)]
        assert got == [reference.row_word(subkey, start + i, k) for i in range(n)]


def test_keystream_is_that_of_sp_800_38a() -> None:
    """AES-256 CTR vector F.5.5 of the standard: its counter begins in both halves, so it is a row far down a plane."""
    from dpfast.words import _block_mode, _counter_mode

    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    counter = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    first = bytes.fromhex("6bc1bee22e409f96e93d7e117393172a")
    assert _counter_mode(key, counter).update(first).hex() == "601ec313775789a5b7a7f504bbf3d228"
    assert _block_mode(key).update(first).hex() == "f3eed1bdb5d2a03c064b5a7e3db181f8"
    assert RowReader(key, 8, whole=False).high(8).tobytes() == _block_mode(key).update(bytes(15) + b"\x01")


def blocks(stream: Stream, column: Any, digest: bytes, n: int = 8000) -> set[bytes]:
    taken = stream.rows(column, digest, n).reader(0, whole=False).high(n).tobytes()
    return {taken[i : i + 16] for i in range(0, len(taken), 16)}


def test_columns_contexts_mechanisms_and_sources_never_share_words() -> None:
    bound = Stream(key=KEY, context="a").bind_source(b"x" * 32)
    cases = [
        (Stream(key=KEY, context="a"), "one", bytes(32)),
        (Stream(key=KEY, context="a"), "two", bytes(32)),
        (Stream(key=KEY, context="a"), ("one", "two"), bytes(32)),
        (Stream(key=KEY, context="b"), "one", bytes(32)),
        (Stream(key=KEY, context="a"), "one", b"1" * 32),
        (Stream(key=bytes(32), context="a"), "one", bytes(32)),
        (bound, "one", bytes(32)),
        (Stream(key=KEY, context="a").bind_source(b"y" * 32), "one", bytes(32)),
        (Stream.insecure(1), "one", bytes(32)),
        (Stream(), "one", bytes(32)),
    ]
    seen = [blocks(*case) for case in cases]
    assert len(set.union(*seen)) == sum(map(len, seen)) == 1000 * len(cases)
    # the negative control: the same case again
    assert blocks(Stream(key=KEY, context="a"), "one", bytes(32)) == seen[0]


def test_calls_take_the_next_rows_even_after_a_failure() -> None:
    stream = keyed()
    whole = blocks(keyed(), "c", bytes(32), 24_000)
    parts = [blocks(stream, "c", bytes(32)) for _ in range(3)]
    assert set.union(*parts) == whole
    assert sum(map(len, parts)) == len(whole)

    column = np.zeros(1000, np.uint8)
    expected = MECHANISM.sanitise(np.zeros(2000, np.uint8), rng=keyed(), column_name="c")[1000:]
    stream = keyed()
    with pytest.raises(ValueError, match="outside its domain"):
        MECHANISM.sanitise(np.full(1000, 9, np.uint8), rng=stream, column_name="c")
    assert (MECHANISM.sanitise(column, rng=stream, column_name="c") == expected).all()


def test_a_stream_runs_out_rather_than_repeat() -> None:
    stream = keyed(first_row=(1 << 60) - 5)
    with pytest.raises(ValueError, match="no rows left"):
        stream.rows("c", bytes(32), 6)
    stream.rows("c", bytes(32), 5)
    with pytest.raises(ValueError, match="no rows left"):
        stream.rows("c", bytes(32), 1)


def test_threads_share_a_stream_without_sharing_rows() -> None:
    stream = keyed()
    whole = blocks(keyed(), "c", bytes(32), 8 * 50 * 80)
    seen: list[set[bytes]] = []
    start = threading.Barrier(8)

    def take() -> None:
        start.wait()
        for _ in range(50):
            seen.append(blocks(stream, "c", bytes(32), 80))

    workers = [threading.Thread(target=take) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sum(map(len, seen)) == len(set.union(*seen)) == len(whole)
    assert set.union(*seen) == whole


def test_ids_need_a_key_and_a_name() -> None:
    ids = np.arange(5)
    column = np.zeros(5, np.uint8)
    with pytest.raises(TypeError, match="keyed stream"):
        MECHANISM.sanitise(column, ids=ids)
    with pytest.raises(TypeError, match="column_name"):
        MECHANISM.sanitise(column, ids=ids, rng=keyed())
    with pytest.raises(TypeError, match="column_name"):
        MECHANISM.sanitise(column, rng=keyed())


def test_only_a_keyed_stream_is_bound_to_a_source() -> None:
    for stream in (Stream(), Stream.insecure(1)):
        with pytest.raises(TypeError):
            stream.bind_source(bytes(32))
