"""The shipped kernels of a matrix against its integer rows, word for word, in both stages and from whole words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from two_stages import WORDS, check_code

from dpfast._core import rows as core
from dpfast.errors import ArgumentError, OutsideDomainError
from dpfast.integer_table import IntegerTable, realise, stochastic
from dpfast.reference import matrix as reference

KINDS = ["even", "random", "steep", "banded", "holes", "identity", "one column", "near the ends"]


def table_of(k: int, kind: str, seed: int = 1) -> IntegerTable:
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.ones(k), k)
    if kind == "even":
        matrix = np.full((k, k), 1.0 / k)
    elif kind == "steep":
        matrix = np.exp(-30.0 * rng.random((k, k)))
    elif kind == "banded":
        matrix[np.abs(np.subtract.outer(np.arange(k), np.arange(k))) > 1] = 0.0
    elif kind == "holes":  # categories that own no word, amid others
        matrix[rng.random((k, k)) < 0.5] = 0.0
        matrix[:, [0, -1]] += 0.1
    elif kind == "identity":
        matrix = np.eye(k)
    elif kind == "one column":
        matrix = np.zeros((k, k))
        matrix[:, k // 2] = 1.0
    elif kind == "near the ends":  # entries of a few words: changes of category within one high word
        matrix = np.full((k, k), 2.0**-62)
        matrix[:, k // 2] = 1.0
    return realise(stochastic(matrix / matrix.sum(axis=1, keepdims=True), k))


def rows_to_try(k: int) -> list[int]:
    return list(range(k + 1)) if k <= 3 else [0, k // 2, k - 1, k]


# All cases on the widest target; on the others, of one source and compared in tests/parity, those that differ most.
SPLIT = [
    (k, kind, isa)
    for isa in core.isas()
    for k in (1, 2, 3, 5, 9, 16, 255, 256, 1000, 1024)
    for kind in (KINDS if k <= 16 else ("random", "steep"))
    if isa == core.isas()[-1] or (k in (3, 16, 256) and kind in ("random", "steep", "holes", "near the ends"))
]
WHOLE = [
    (k, kind, isa)
    for isa in core.isas()
    for k in (1, 3, 9, 256, 1024, 1025, 2000)
    for kind in KINDS
    if isa == core.isas()[-1] or (k in (3, 256, 1025) and kind in ("random", "holes", "near the ends"))
]


@pytest.mark.parametrize(("k", "kind", "isa"), SPLIT, indirect=["isa"])
def test_two_stages_are_the_rows_of_the_matrix(k: int, kind: str, isa: str) -> None:
    table = table_of(k, kind)
    law = table.law(unknown=True)
    dtypes: list[Any] = [np.uint8, np.uint16, np.uint32] if k in (3, 9) else [np.uint8 if k < 256 else np.uint16]
    for dtype in dtypes:
        for row in rows_to_try(k):
            if row <= np.iinfo(dtype).max:
                words = table.integers(row)
                assert check_code(law, reference.pieces(words), row, dtype) == words


@pytest.mark.parametrize(("k", "kind", "isa"), WHOLE, indirect=["isa"])
def test_whole_words_are_the_rows_of_the_matrix(k: int, kind: str, isa: str) -> None:
    """Every boundary of a row with the words just before and after it, the ends, and random words."""
    table = table_of(k, kind)
    law = table.law(unknown=True)
    rng = np.random.default_rng(k)
    for row in rows_to_try(k):
        pieces = reference.pieces(table.integers(row))
        picked = [pieces[int(i)] for i in rng.integers(0, len(pieces), min(len(pieces), 100))]
        words = [word for start, stop, _ in picked for word in (start, min(start + 1, stop - 1), stop - 1)]
        words += [0, WORDS - 1, *rng.integers(0, WORDS - 1, 50, dtype=np.uint64, endpoint=True).tolist()]
        codes = np.full(len(words), row, np.uint32)
        out = np.empty_like(codes)
        law.whole(codes, np.array(words, np.uint64), out)
        assert out.tolist() == [reference.decide(word, table.integers(row)) for word in words]


def test_codes_of_every_row_at_once(isa: str) -> None:
    """A column of all codes, high words and pending cells mixed, is what the cells are one by one; in place too."""
    k, n = 37, 50_000
    table = table_of(k, "random")
    law = table.law(unknown=True)
    rng = np.random.default_rng(2)
    codes = rng.integers(0, k + 3, n).astype(np.uint8)
    words = rng.integers(0, WORDS - 1, n, dtype=np.uint64, endpoint=True)
    rows = [table.integers(row) for row in range(k + 1)]
    expected = [reference.decide(int(word), rows[min(int(code), k)]) for word, code in zip(words, codes, strict=True)]
    out = codes.copy()
    pending = core.Pending(n)
    law.first(out, (words >> np.uint64(48)).astype(np.uint16), out, pending, 0)
    cells = pending.cells()
    assert [true for _, true, _ in cells] == [min(int(codes[row]), k) for row, _, _ in cells]
    low = np.zeros((max(len(cells), 1), 16), np.uint8)
    for place, (row, _, _) in enumerate(cells):
        low[place, :6] = np.frombuffer(int(words[row]).to_bytes(8, "little")[:6], np.uint8)
    law.settle(pending, low.reshape(-1), out)
    assert out.tolist() == expected
    whole = codes.copy()
    law.whole(whole, words, whole)
    assert whole.tolist() == expected


def test_few_cells_of_a_matrix_are_pending() -> None:
    for k, most in ((2, 0.0002), (16, 0.002), (256, 0.02), (1000, 0.06)):
        law = table_of(k, "random").law(unknown=False)
        rng = np.random.default_rng(k)
        codes = rng.integers(0, k, 1 << 16).astype(np.uint16)
        pending = core.Pending(codes.size)
        law.first(codes, rng.integers(0, 1 << 16, codes.size).astype(np.uint16), codes, pending, 0)
        assert len(pending) <= most * codes.size


@pytest.mark.parametrize("place", [0, 1, 63, 64, 127, 128, 200, 299])
def test_a_code_outside_a_matrix_is_found_wherever_it_stands(place: int, isa: str) -> None:
    law = table_of(5, "random").law(unknown=False)
    codes = np.zeros(300, np.uint8)
    codes[place] = 5
    out = np.full(300, 77, np.uint8)
    with pytest.raises(OutsideDomainError):
        law.first(codes, np.zeros(300, np.uint16), out, core.Pending(300), 0)
    assert out[place] == 0
    out[place] = 77
    with pytest.raises(OutsideDomainError):
        law.whole(codes, np.zeros(300, np.uint64), out)
    assert out[place] == 0


def test_integers_that_are_no_rows_are_refused() -> None:
    def law(tops: list[list[int]], firsts: list[int], unknown: bool = False) -> None:
        rows = len(tops)
        core.MatrixLaw(
            np.array(tops, np.uint64), np.array(firsts, np.uint32), np.empty(rows * core.GUIDE_SIZE, np.uint32), unknown
        )

    top = WORDS - 1
    law([[5, top], [9, top]], [0, 0])
    for tops, firsts, unknown in [
        ([[5, top - 1], [9, top]], [0, 0], False),  # words that no category owns
        ([[5, top], [9, top]], [0, 2], False),
        ([[5, top], [9, top]], [0, 0], True),
        ([[5, top], [9, top]], [0], False),
        ([[5, 4, top], [1, 2, top], [1, 2, top]], [0, 0, 0], False),
    ]:
        with pytest.raises(ArgumentError):
            law(tops, firsts, unknown)
    with pytest.raises(ArgumentError, match="guide"):
        core.MatrixLaw(np.array([[top]], np.uint64), np.zeros(1, np.uint32), np.empty(5, np.uint32), False)
