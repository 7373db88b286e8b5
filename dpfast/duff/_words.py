"""The random words of one draw, one after the other."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from dpfast.duff.exact import ReadAhead

if TYPE_CHECKING:
    from dpfast.duff._wide import Word
    from dpfast.duff.exact import Words

__all__ = ["words_of"]


def words_of(source: Words, first: int = 0) -> Word:
    """Return a call that gives the words from index `first` on."""
    ahead, places = ReadAhead(source), count(first)
    return lambda: int(ahead.words(next(places), 1)[0])
