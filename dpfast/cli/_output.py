"""How results look: tables for people, JSON for programs."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from dpfast._text import printable, share, table_lines

__all__ = ["add_json", "print_json", "print_table", "printable", "share"]


def add_json(verb: argparse.ArgumentParser, text: str = "print JSON, which may be published with the data") -> None:
    """Give a verb its ``--json``."""
    verb.add_argument("--json", action="store_true", help=text)


def print_json(document: Any) -> None:
    """Print a document; numbers that JSON does not know (NaN, infinity) as null."""
    print(json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False))


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, indent: str = "", labels: int = 1) -> None:
    """Print columns: the first `labels` to the left, the others to the right."""
    for line in table_lines(heads, rows, labels=labels):
        print(indent + line)


def _plain(document: Any) -> Any:
    if isinstance(document, dict):
        return {key: _plain(value) for key, value in document.items()}
    if isinstance(document, (list, tuple, range)):
        return [_plain(value) for value in document]
    if isinstance(document, float):
        return document if math.isfinite(document) else None
    return document.hex() if isinstance(document, bytes) else document
