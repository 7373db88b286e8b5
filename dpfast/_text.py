"""Values and figures as text for people, and JSON that people or programs wrote."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

__all__ = ["did_you_mean", "printable", "printable_cell", "read_json", "share", "table_lines"]


def table_lines(heads: Sequence[str], rows: Iterable[Sequence[str]], *, labels: int = 1) -> Iterator[str]:
    """Yield the lines of a table: the first `labels` columns to the left, the others to the right."""
    cells = [tuple(heads), *(tuple(row) for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(heads))]
    for row in cells:
        padded = (
            cell.ljust(width) if place < labels else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(padded).rstrip()


def printable(value: object) -> str:
    """Return a value of a domain as one line of text that cannot steer a terminal."""
    if value is None:
        return "(null)"
    text = value if isinstance(value, str) else repr(value)
    return text if text.isprintable() and text else repr(text)


def printable_cell(label: tuple[object, ...]) -> str:
    """Return the values that name a cell of a table as one text; of columns that are answered together they are one value."""
    values = label[0] if len(label) == 1 and isinstance(label[0], tuple) else label
    return ", ".join(map(printable, values))


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """Return a question to add to what is said of a name that is not known, or nothing if no known one is close."""
    import difflib

    names = [name for name in known if isinstance(name, str)]
    close = difflib.get_close_matches(word, names, n=1) if isinstance(word, str) else []
    return f"; did you mean {close[0]!r}?" if close else ""


def share(number: float) -> str:
    """Return a share with four decimals, or a dash where there is none."""
    return f"{number:.4f}" if math.isfinite(number) else "-"


def read_json(text: str | bytes) -> Any:
    """Return what a JSON text holds; a ValueError whatever is wrong with it."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("brackets within brackets") from None
