"""Every accepted form of a key is one key, every other is refused, and no error shows any part of it."""

from __future__ import annotations

import base64
import os
import traceback
from pathlib import Path
from typing import Any

import pytest

from dpfast import ArgumentError, FileError, Stream
from dpfast.keys import resolve_key


def key_file(folder: Path, data: bytes, mode: int = 0o600) -> Path:
    path = folder / "key"
    path.write_bytes(data)
    path.chmod(mode)
    return path


def test_every_form_of_a_key_is_the_same_key(tmp_path: Path, key: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    text = base64.b64encode(key)
    monkeypatch.setenv("DPFAST_TEST_KEY", text.decode())
    forms: list[Any] = [key, bytearray(key), memoryview(key), "env:DPFAST_TEST_KEY"]
    assert all(resolve_key(form) == key for form in forms)
    for data in (key, text, text + b"\n", b" " + text + b"\r\n"):
        path = key_file(tmp_path, data)
        assert resolve_key(path) == resolve_key(str(path)) == key
    assert Stream(key=path, context="a").fingerprint == Stream(key=key, context="a").fingerprint


def test_bytes_are_a_raw_key_unless_they_are_text(tmp_path: Path) -> None:
    """Random bytes are all printable as Latin-1 once in some twenty thousand times: that makes no password of them."""
    raw = bytes(range(0xC0, 0xE0))
    assert raw.decode("latin-1").isprintable()
    assert resolve_key(key_file(tmp_path, raw)) == raw
    for text in ("p" * 32, "p" * 31 + "\n", "pä" * 10 + "pp", "p€" * 8):
        assert len(text.encode()) == 32
        with pytest.raises(ArgumentError, match="32 bytes in base64"):
            resolve_key(key_file(tmp_path, text.encode()))


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o601, 0o700 | 0o020, 0o777])
def test_a_key_file_that_others_may_touch_is_refused(tmp_path: Path, key: bytes, mode: int) -> None:
    path = key_file(tmp_path, key, mode)
    with pytest.raises(FileError, match="can be read by others; run: chmod 600"):
        Stream(key=path, context="a")
    path.chmod(0o400)
    assert resolve_key(path) == key


def test_a_missing_key_is_an_error_that_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DPFAST_TEST_KEY", raising=False)
    with pytest.raises(ArgumentError, match="environment variable DPFAST_TEST_KEY is not set"):
        resolve_key("env:DPFAST_TEST_KEY")
    for path in (tmp_path / "absent", tmp_path, "", str(tmp_path / "absent" / "deeper")):
        with pytest.raises(FileError, match="cannot read key file"):
            resolve_key(path)
    with pytest.raises(FileError, match="NUL"):
        resolve_key("no\0name")


BAD_TEXTS = [
    b"",
    b"SECRET",
    b"SECRET" * 9,
    b"SECRET!" * 5,
    base64.b64encode(b"SECRETSECRET" * 3),
    b"SECRET\xff\xfe" * 5,
    b"\0" * 33,
]


@pytest.mark.parametrize("text", BAD_TEXTS, ids=range(len(BAD_TEXTS)))
def test_no_error_shows_any_part_of_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    """Nor does anything that hangs on the error: causes, contexts, and the text of the traceback."""
    monkeypatch.setitem(os.environb, b"DPFAST_TEST_KEY", text.replace(b"\0", b""))
    attempts: list[Any] = [text, key_file(tmp_path, text), "env:DPFAST_TEST_KEY"]
    for key in attempts:
        with pytest.raises(ArgumentError, match="32 bytes") as caught:
            Stream(key=key, context="a")
        chain: BaseException | None = caught.value
        shown = "".join(traceback.format_exception(caught.value))
        while chain is not None:
            shown += repr(chain) + repr(vars(chain)) + repr(chain.args)
            chain = chain.__cause__ or chain.__context__
        assert "SECRET" not in shown
        assert base64.b64encode(b"SECRETSECRET")[:12].decode() not in shown


@pytest.mark.parametrize("text", [base64.b64encode(bytes(24)), b"a password of 31 characters....\n", b"x" * 32])
def test_a_password_of_32_bytes_is_no_key(tmp_path: Path, text: bytes) -> None:
    assert len(text) == 32
    path = tmp_path / "password.key"
    path.write_bytes(text)
    path.chmod(0o600)
    with pytest.raises(ArgumentError, match="does not hold 32 bytes in base64"):
        resolve_key(path)


def test_a_key_in_place_of_a_path_is_not_shown() -> None:
    key = base64.b64encode(bytes(range(32))).decode()
    with pytest.raises(FileError, match="cannot read key file") as caught:
        resolve_key(key)
    assert key not in str(caught.value)
