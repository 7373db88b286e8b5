"""``dpfast info`` and ``dpfast keygen``: the installation, and keys."""

from __future__ import annotations

import argparse
import base64
import os
from typing import Any

from dpfast.cli._output import add_json, print_json
from dpfast.errors import FileError

__all__ = ["add_verbs"]

KEYGEN_EXAMPLE = """example:
  dpfast keygen ~/keys/flights.key

Whoever has the key and a release can undo its noise: keep it as secret as the data, and away from the release."""


def add_verbs(verbs: Any) -> None:
    """Add the verbs to the command."""
    info = verbs.add_parser("info", help="show versions, processor features and threads", epilog="example:\n  dpfast info")
    add_json(info)
    info.set_defaults(run=_info)
    keygen = verbs.add_parser("keygen", help="write a new secret key to a file", epilog=KEYGEN_EXAMPLE)
    keygen.add_argument("path", metavar="PATH", help="the file; it must not exist")
    keygen.set_defaults(run=_keygen)


def _info(options: argparse.Namespace) -> int:
    from dpfast._config import config

    found = config()
    if options.json:
        print_json(found)
        return 0
    for name, value in found.items():
        print(f"{name:<15} {value}")
    return 0


def _keygen(options: argparse.Namespace) -> int:
    from dpfast.randomness import fresh_key

    text = base64.b64encode(fresh_key()) + b"\n"
    try:
        descriptor = os.open(options.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise FileError(f"cannot write the key {options.path!r}: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(options.path)  # half a key is no key, and would be in the way of the next attempt
        raise
    return 0
