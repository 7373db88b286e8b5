"""The shipped kernels of randomised response against the integer law: the words of each category sum to the 64-bit table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from two_stages import WORDS, check_code, first_stage, list_first_stage

from dpfast._core import rows as core
from dpfast.errors import OutsideDomainError
from dpfast.privacy import response_is_uniform, response_threshold
from dpfast.reference import response as reference

WIDTHS = {np.uint8: 255, np.uint16: 65535, np.uint32: 2**32 - 1}

SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 255, 256, 1000, 1024]
EPSILONS = [0.0, 1e-18, 0.3, 1.0, 5.0, 11.0, 20.0, 44.0]
# All cases on the widest target; on the others, of one source and compared in tests/parity, those that differ most.
CASES = [
    (k, epsilon, isa)
    for isa in core.isas()
    for k in SIZES
    for epsilon in EPSILONS
    if isa == core.isas()[-1] or (k in (1, 2, 6, 9, 256, 1000) and epsilon in (0.0, 1.0, 20.0))
]


def check_response(law: core.Law, k: int, t: int, uniform: bool, code: int, dtype: Any) -> list[int]:
    pieces = [(0, WORDS, code)] if t == 0 and not uniform else reference.pieces(k, t, code)
    return [*check_code(law, pieces, code, dtype), 0]


def codes_to_try(k: int) -> list[int]:
    """The kernels know a code only by comparison: ends and middle stand for all, and small k is tried whole."""
    return list(range(k)) if k <= 3 or k == 9 else [0, k // 2, k - 1]


def law_of(k: int, epsilon: float) -> tuple[int, bool]:
    t = response_threshold(k, epsilon, 0.0)
    return t, response_is_uniform(k, t)


@pytest.mark.parametrize(("k", "epsilon", "isa"), CASES, indirect=["isa"])
def test_two_stages_are_the_64_bit_table(k: int, epsilon: float, isa: str) -> None:
    t, uniform = law_of(k, epsilon)
    law = core.ResponseLaw(k, 0 if uniform else t, uniform, True)
    table = reference.table(k, t) if k <= 256 else None
    for dtype, largest in WIDTHS.items():
        if k - 1 > largest or (dtype != np.uint8 and k <= 256 and epsilon not in (0.0, 1.0)):
            continue
        for code in codes_to_try(k):
            counts = check_response(law, k, t, uniform, code, dtype)
            row = reference.known_row(k, t, code) if table is None else table[code]
            assert counts == [*row, 0]
        if k <= largest:
            assert check_response(law, k, t, uniform, k, dtype) == [*reference.uniform_row(k), 0]


@pytest.mark.parametrize("k", [2, 3, 9, 256, 1000])
def test_p_zero_never_errs(k: int, isa: str) -> None:
    law = core.ResponseLaw(k, 0, False, False)
    for code in codes_to_try(k):
        counts = check_response(law, k, 0, False, code, np.uint16)
        assert counts[code] == WORDS


@pytest.mark.parametrize("k", [2, 4, 8, 256, 1024])
def test_p_one_in_k_is_uniform_to_the_word(k: int, isa: str) -> None:
    t = WORDS // k  # k t = 2^64: every word redraws
    law = core.ResponseLaw(k, t, False, False)
    for code in codes_to_try(k):
        assert check_response(law, k, t, False, code, np.uint16)[:k] == [t] * k


@pytest.mark.parametrize("k", [2, 3, 10, 4096, 4097, 70_000, 2**31 - 1, 2**31])
@pytest.mark.parametrize("epsilon", [0.0, 1e-18, 0.7, 9.0, 30.0, 44.0])
def test_whole_words(k: int, epsilon: float, isa: str) -> None:
    t, uniform = law_of(k, epsilon)
    law = core.ResponseLaw(k, 0 if uniform else t, uniform, True)
    share, wide = divmod(WORDS, k)
    step = share if uniform else t
    some = sorted(j for j in {0, 1, 2, k // 3, k // 2, k - 2, k - 1, k} if 0 <= j <= k)
    boundaries = {j * step for j in some} | {j * share + min(j, wide) for j in some} | {wide * (share + 1)}
    words = sorted({w for b in boundaries for w in (b - 1, b, b + 1) if 0 <= w < WORDS} | {0, WORDS - 1, 1 << 63})
    for code in some:
        codes = np.full(len(words), code, np.uint32)
        law.whole(codes, np.array(words, np.uint64), codes)  # in place
        assert codes.tolist() == [reference.decide(w, code, k, t) for w in words]


@pytest.mark.parametrize("dtype", list(WIDTHS))
@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 200])
def test_a_code_outside_the_domain_is_found_wherever_it_stands(dtype: Any, n: int, isa: str) -> None:
    law = core.ResponseLaw(10, response_threshold(10, 1.0, 0.0), False, False)
    high = np.arange(n, dtype=np.uint16) * 311
    codes = (np.arange(n) % 10).astype(dtype)
    first_stage(law, codes, high)
    for place in {0, n // 2, n - 1} if n else set():
        for bad in {10, 11, np.iinfo(dtype).max}:
            broken = codes.copy()
            broken[place] = bad
            with pytest.raises(OutsideDomainError):
                first_stage(law, broken, high)
            with pytest.raises(OutsideDomainError):
                law.whole(broken, high.astype(np.uint64), broken.copy())


@pytest.mark.parametrize("dtype", list(WIDTHS))
@pytest.mark.parametrize("n", [1, 63, 64, 65, 127, 128, 129, 5000])
def test_in_place_and_every_tile_edge(dtype: Any, n: int, isa: str) -> None:
    k = 7
    t = response_threshold(k, 0.5, 0.0)
    law = core.ResponseLaw(k, t, False, False)
    rng = np.random.default_rng(n)
    codes = rng.integers(0, k, n).astype(dtype)
    high = rng.integers(0, 65536, n).astype(np.uint16)
    out, rows, _ = first_stage(law, codes, high)
    for place in range(n):
        settled = reference.decide_from_high(int(high[place]), int(codes[place]), k, t)
        assert place in rows or out[place] == settled
    again = codes.copy()
    rows_too, trues, highs = list_first_stage(law, again, high, again)
    assert (again == out).all()
    assert (rows_too == rows).all()
    assert (trues == codes[rows]).all()
    assert (highs == high[rows]).all()


def test_few_cells_are_pending() -> None:
    """The first stage decides nearly all: at most 6 in 65,536 for each category."""
    for k in (2, 10, 100, 1000):
        for epsilon in (0.0, 1.0, 4.0):
            t, uniform = law_of(k, epsilon)
            law = core.ResponseLaw(k, 0 if uniform else t, uniform, False)
            _, rows, _ = first_stage(law, np.zeros(65536, np.uint16), np.arange(65536, dtype=np.uint16))
            assert rows.size <= 6 * k + 2
