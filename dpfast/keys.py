"""Secret keys as users keep them: bytes, a file only they can read, or an environment variable."""

from __future__ import annotations

import base64
import binascii
import os
import stat
from pathlib import Path
from typing import Final

from dpfast.errors import ArgumentError, ArgumentTypeError, FileError

__all__ = ["KEY_BYTES", "resolve_key"]

KEY_BYTES: Final = 32


def resolve_key(key: bytes | str | os.PathLike[str]) -> bytes:
    """Turn any accepted form of a key into its 32 bytes.

    Parameters
    ----------
    key : bytes, str or path
        32 bytes; or the path of a key file that only its owner can read, holding 32 raw bytes or their base64; or
        ``"env:NAME"``, an environment variable holding base64.

    Returns
    -------
    bytes
        32 bytes.

    Raises
    ------
    ArgumentTypeError, ArgumentError, FileError
        Wrong type; wrong length or encoding, or a missing variable; a file that is missing or open to others. No text shows
        any part of a key.

    Examples
    --------
    >>> len(resolve_key(bytes(range(32))))
    32
    """
    if isinstance(key, (bytes, bytearray, memoryview)):
        raw = bytes(key)
        if len(raw) != KEY_BYTES:
            raise ArgumentError("key must have exactly 32 bytes; make one with `dpfast keygen`")
        return raw
    if isinstance(key, str) and key.startswith("env:"):
        name = key.removeprefix("env:")
        if name not in os.environ:
            raise ArgumentError(f"environment variable {name} is not set; it should hold the key in base64")
        return _decode_key(os.environ[name].encode(errors="replace"), f"environment variable {name}")
    if not isinstance(key, (str, os.PathLike)):
        raise ArgumentTypeError("key must be 32 bytes, the path of a key file, or 'env:NAME'")
    path = Path(key)
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise FileError(f"key file '{path}' can be read by others; run: chmod 600 '{path}'")
            text = file.read(4 * KEY_BYTES)
    except FileError:
        raise
    except OSError as error:
        # the text is not shown: it may be a key that was given in place of a path
        raise FileError(f"cannot read key file: {error.strerror}; key is the path of a file, or 'env:NAME'") from None
    except ValueError:
        raise FileError("cannot read the key file: its path holds a NUL") from None
    # 32 bytes of text are a password, or the base64 of a shorter key, and no 32 random bytes
    is_raw = len(text) == KEY_BYTES and not _is_text(text.strip())
    return text if is_raw else _decode_key(text, f"key file '{path}'")


def _is_text(data: bytes) -> bool:
    try:
        return data.decode().isprintable()
    except UnicodeDecodeError:
        return False


def _decode_key(text: bytes, place: str) -> bytes:
    try:
        raw = base64.b64decode(text.strip(), validate=True)
    except binascii.Error:
        raw = b""
    if len(raw) != KEY_BYTES:
        raise ArgumentError(f"{place} does not hold 32 bytes in base64; make a key with `dpfast keygen`")
    return raw
