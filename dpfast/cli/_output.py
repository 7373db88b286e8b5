"""How results look: tables for people, JSON for programs."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["add_json", "add_policy", "print_json", "print_table", "printable", "share"]


def add_policy(verb: argparse.ArgumentParser) -> None:
    """Give a verb its ``--policy``."""
    verb.add_argument("--policy", metavar="FILE", required=True, help="the policy, a TOML file")


def add_json(verb: argparse.ArgumentParser, text: str = "print JSON, which may be published with the data") -> None:
    """Give a verb its ``--json``."""
    verb.add_argument("--json", action="store_true", help=text)


def print_json(document: Any) -> None:
    """Print a document; numbers that JSON does not know (NaN, infinity) as null."""
    print(json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False))


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, indent: str = "") -> None:
    """Print columns: the first to the left, the others to the right."""
    cells = [tuple(heads), *(tuple(row) for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(heads))]
    for row in cells:
        first, *others = (
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print((indent + "  ".join([first, *others])).rstrip())


def printable(value: object) -> str:
    """Return a value of a domain as one line of text that cannot steer a terminal."""
    if value is None:
        return "(null)"
    text = value if isinstance(value, str) else repr(value)
    return text if text.isprintable() and text else repr(text)


def share(number: float) -> str:
    """Return a share with four decimals, or a dash where there is none."""
    return f"{number:.4f}" if math.isfinite(number) else "-"


def _plain(document: Any) -> Any:
    if isinstance(document, dict):
        return {key: _plain(value) for key, value in document.items()}
    if isinstance(document, (list, tuple, range)):
        return [_plain(value) for value in document]
    if isinstance(document, float):
        return document if math.isfinite(document) else None
    return document.hex() if isinstance(document, bytes) else document
