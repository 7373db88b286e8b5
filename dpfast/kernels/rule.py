"""`respond`: one row of a mechanism, decided by one word. A Python function that numba also knows how to compile."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfast.kernels.rows import MatrixTable, ResponseTable, Table

__all__ = ["respond"]

_U = np.uint64
_REFUSED = "a code outside the domain; encode the column first, or give the domain a rule for unknown values"


def respond(code: Any, word: Any, table: Table) -> Any:
    """Answer one row; for use within your own ``numba.njit`` functions, or as plain Python.

    Parameters
    ----------
    code : int
        The true category, 0..k-1. Any other number stands for a value outside the domain.
    word : uint64
        The word of that row, from `words`.
    table : ResponseTable or MatrixTable
        From `table`.

    Returns
    -------
    int
        The answer, 0..k-1: that of `sanitise` for the same row of the same stream.

    Raises
    ------
    ValueError
        Where the code is outside the domain and the mechanism does not answer such values.

    Notes
    -----
    **Privacy guarantee.** That of the mechanism, if each word answers the one row it belongs to and is then forgotten. What your
    loop does to an answer is post-processing; what it does with true values is yours to account for.
    **Cost.** Some 5 ns in compiled code for randomised response, a binary search of the row for any other mechanism. Your
    function may be compiled with ``cache=True``; numba does not run it in parallel, because an answer may be an error.

    Examples
    --------
    >>> import numba, numpy as np
    >>> from dpfast import RandomisedResponse, Stream, kernels
    >>> mechanism = RandomisedResponse([0, 1, 2], epsilon=1.0)
    >>> @numba.njit
    ... def loop(codes, words, table):
    ...     answers = np.empty_like(codes)
    ...     for i in range(codes.size):
    ...         answers[i] = kernels.respond(codes[i], words[i], table)
    ...     return answers
    >>> codes = np.array([0, 1, 2, 2])
    >>> words = kernels.words(mechanism, 4, rng=Stream.insecure(1))
    >>> loop(codes, words, kernels.table(mechanism)).tolist() == mechanism.sanitise(codes, rng=Stream.insecure(1)).tolist()
    True
    """
    rule = _by_search if isinstance(table, MatrixTable) else _by_division
    return rule(code, np.uint64(word), table)


def _by_division(code: Any, word: Any, table: Any) -> Any:
    """The rule of a `ResponseTable`."""
    known = 0 <= code < table.k
    if not known and not table.unknown:
        raise ValueError(_REFUSED)
    if known and table.step > _U(0):
        return np.int64(word // table.step) if word <= table.last else np.int64(code)
    # the uniform row: the first `wide` categories own share + 2 words, the others share + 1, and a single category all
    if table.k == 1:
        return np.int64(0)
    broad = table.wide * (table.share + _U(2))
    if word < broad:
        return np.int64(word // (table.share + _U(2)))
    return np.int64(table.wide + (word - broad) // (table.share + _U(1)))


def _by_search(code: Any, word: Any, table: Any) -> Any:
    """The rule of a `MatrixTable`: the first category whose last word is not below the word."""
    known = 0 <= code < table.k
    if not known and not table.unknown:
        raise ValueError(_REFUSED)
    row = np.int64(code) if known else table.k
    low, high = np.int64(table.firsts[row]), table.k - np.int64(1)
    while low < high:
        middle = (low + high) // np.int64(2)
        if word <= table.tops[row, middle]:
            high = middle
        else:
            low = middle + np.int64(1)
    return low


def _teach_numba() -> None:
    """Tell numba, where it is installed, which of the two rules a compiled call means."""
    try:
        from numba.core import types
        from numba.extending import overload
    except ImportError:
        return

    @overload(respond, inline="always", jit_options={"nogil": True})
    def _(code: Any, word: Any, table: Any) -> Any:
        if not isinstance(table, types.NamedTuple) or not isinstance(word, types.Integer) or not isinstance(code, types.Integer):
            return None
        return {ResponseTable: _by_division, MatrixTable: _by_search}.get(table.instance_class)


_teach_numba()
