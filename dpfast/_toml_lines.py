"""On which line of a TOML text a key stands. The parser of the standard library does not say.

The text is known to be valid, so it is enough to cut it into statements: outside strings, brackets and comments each line is one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any, TypeAlias

__all__ = ["Path", "line_of"]

Path: TypeAlias = tuple[str | int, ...]

# Strings of several lines first: they begin like short ones.
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*"
    r"|[\[\]{}\n]"
    r"|[^\[\]{}\n\"'#]+",
    re.DOTALL,
)
_KEY_PART = re.compile(r"""\s*(?:"(?:\\.|[^"\\])*"|'[^']*'|[A-Za-z0-9_-]+)\s*""")


def line_of(text: str, path: Path) -> int | None:
    """Return the line of a key, or of the nearest table around it.

    Parameters
    ----------
    text : str
        A valid TOML document.
    path : tuple of str and int
        Names of tables and the key; a number is the place in an array of tables.

    Returns
    -------
    int or None
        From 1; None where not even its outermost table stands in the text.

    Examples
    --------
    >>> line_of('a = 1\\n[columns.x]\\nepsilon = 2\\n', ("columns", "x", "epsilon"))
    3
    """
    places = _places(text)
    while path:
        if path in places:
            return places[path]
        path = path[:-1]
    return None


def _places(text: str) -> dict[Path, int]:
    places: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    for line, statement in _statements(text):
        if statement.startswith("[["):
            *around, name = _header(statement)
            names = (*_resolved(around, counts), name)
            number = counts[names] = counts.get(names, -1) + 1
            table = (*names, number)
            places.setdefault(names, line)
        elif statement.startswith("["):
            *around, name = _header(statement)
            table = (*_resolved(around, counts), name)
        else:
            _note(places, (*table, *_key(statement)), line)
            continue
        _note(places, table, line)
    return places


def _note(places: dict[Path, int], path: Path, line: int) -> None:
    for length in range(1, len(path) + 1):
        places.setdefault(path[:length], line)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the first line of each statement and its text without comments."""
    line = start = 1
    depth = 0
    parts: list[str] = []
    for token in _TOKEN.findall(text.replace("\r\n", "\n") + "\n"):
        if token == "\n" and depth == 0:
            if statement := "".join(parts).strip():
                yield start, statement
            parts = []
            start = line + 1
        elif not token.startswith("#"):
            depth += (token in "[{") - (token in "]}")
            parts.append(token)
        line += token.count("\n")


def _header(statement: str) -> tuple[str, ...]:
    return _names(statement.strip("[] \t"))


def _key(statement: str) -> tuple[str, ...]:
    end, part = 0, _KEY_PART.match(statement)
    while part is not None:
        end = part.end()
        part = _KEY_PART.match(statement, end + 1) if statement[end : end + 1] == "." else None
    return _names(statement[:end])


def _names(dotted: str) -> tuple[str, ...]:
    """The names in a dotted key, quotes undone by the parser itself."""
    found, names = tomllib.loads(f"{dotted} = 0"), []
    value: Any = found
    while isinstance(value, dict):
        ((name, value),) = value.items()
        names.append(name)
    return tuple(names)


def _resolved(names: list[str], counts: dict[Path, int]) -> Path:
    """The path of the tables around a header: an array of tables stands for its last entry."""
    path: Path = ()
    for name in names:
        path = (*path, name)
        if path in counts:
            path = (*path, counts[path])
    return path
