"""The reference against itself: two stages against one, intervals against words, the series against known digits."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpfast.reference import response, words
from dpfast.reference.sanitise import sanitise

E_50 = Fraction("2.71828182845904523536028747135266249775724709369995")


@pytest.mark.parametrize("bits", [3, 10, 64, 160])
def test_the_series_encloses_e(bits: int) -> None:
    lower, upper = response.exp_bounds(1, bits)
    assert lower < E_50 + Fraction(1, 10**50)
    assert upper > E_50
    assert upper - lower <= Fraction(60, 2**bits)


@pytest.mark.parametrize("bits", range(8))
def test_the_series_encloses_with_few_bits(bits: int) -> None:
    for x in (Fraction(n, 20) for n in range(161)):
        lower, upper = response.exp_bounds(x, bits)
        inner_lower, inner_upper = response.exp_bounds(x, 300)
        assert lower <= inner_lower <= inner_upper <= upper


def test_the_series_is_multiplicative() -> None:
    for x in (Fraction(1, 7), Fraction(3, 2), Fraction(20), Fraction(800)):
        lower, upper = response.exp_bounds(x, 3000)
        half_lower, half_upper = response.exp_bounds(x / 2, 3000)
        assert half_lower**2 <= upper
        assert lower <= half_upper**2
        assert upper / lower - 1 < Fraction(1, 2**2000)
    assert response.exp_bounds(0, 8) == (Fraction(1), Fraction(1))


@pytest.mark.parametrize(("high_bits", "low_bits"), [(4, 4), (3, 5), (6, 2)])
def test_two_stages_decide_as_the_whole_word(high_bits: int, low_bits: int) -> None:
    word_range = 1 << high_bits + low_bits
    split = {"high_bits": high_bits, "low_bits": low_bits}
    settled = 0
    for k in (1, 2, 3, 5, 9):
        for t in (0, 1, 2, 7, 16, 23, word_range // k, word_range // k + 1):
            for code in range(k + 1):
                by_word = [response.decide(word, code, k, t, word_range=word_range) for word in range(word_range)]
                by_halves = [
                    response.decide_in_two_stages(high, low, code, k, t, **split)
                    for high in range(1 << high_bits)
                    for low in range(1 << low_bits)
                ]
                assert by_halves == by_word
                intervals = response.pieces(k, t, code, word_range=word_range)
                assert [start for start, _, _ in intervals[1:]] == [stop for _, stop, _ in intervals[:-1]]
                assert (intervals[0][0], intervals[-1][1]) == (0, word_range)
                assert [category for start, stop, category in intervals for _ in range(start, stop)] == by_word
                for high in range(1 << high_bits):
                    category = response.decide_from_high(high, code, k, t, **split)
                    same = set(by_word[high << low_bits : high + 1 << low_bits])
                    assert category is None or same == {category}
                    settled += category is not None
    assert settled > 0


def test_most_rows_are_settled_by_sixteen_bits() -> None:
    # At most k + 1 of the 65,536 high halves hold an end of an interval.
    k, t = 10, response.threshold(10, 1)
    undecided = [high for high in range(2**16) if response.decide_from_high(high, 3, k, t) is None]
    assert len(undecided) == k
    for high in undecided:
        ends = [stop for _, stop, _ in response.pieces(k, t, 3)]
        assert any(high << 48 < end < high + 1 << 48 for end in ends)


def test_a_threshold_is_the_least_that_satisfies_the_request() -> None:
    for k in (2, 3, 10):
        for epsilon in (Fraction(1, 10), 1, 3):
            for delta in (0, Fraction(1, 50)):
                t = response.threshold(k, epsilon, delta, word_range=4096)
                lower, upper = response.exp_bounds(epsilon, 100)
                assert response.worst_delta(response.table(k, t, word_range=4096), lower) <= delta
                assert response.worst_delta(response.table(k, t - 1, word_range=4096), upper) > delta
    assert response.threshold(3, 0, word_range=256) == 86
    assert response.threshold(3, 1000) == 1


def test_a_column_is_decided_row_by_row() -> None:
    master = words.insecure_master_key(5)
    domain = ["a", "b", None]
    t = response.threshold(3, 1)
    column = ["a", "b", None, "b", "a", "zebra"] * 20
    whole = sanitise(column, domain, t, master=master, column="x", unknown="randomise")
    assert set(whole) == set(domain)
    pieces = [
        *sanitise(column[:7], domain, t, master=master, column="x", unknown="randomise"),
        *sanitise(column[7:], domain, t, master=master, column="x", unknown="randomise", first_row=7),
    ]
    assert pieces == whole
    assert sanitise(column, domain, t, master=master, column="y", unknown="randomise") != whole
    replaced = ["b" if value == "zebra" else value for value in column]
    answers = sanitise(column, domain, t, master=master, other="b")
    assert answers == sanitise(replaced, domain, t, master=master, other="b")
    assert answers != sanitise(replaced, domain, t, master=master), "two rules never share words"


def test_noise_by_identifier_follows_the_identifier() -> None:
    domain, t = ["a", "b", "c"], response.threshold(3, 1)
    ids = [f"person {n}" for n in range(60)]
    column = ["a"] * 60
    forward = sanitise(column, domain, t, master=bytes(32), context="people", column="x", ids=ids)
    backward = sanitise(column, domain, t, master=bytes(32), context="people", column="x", ids=ids[::-1])
    assert forward == backward[::-1]
    # Rows that differ in their value only are decided by other words.
    other = sanitise(["b"] * 60, domain, t, master=bytes(32), context="people", column="x", ids=ids)
    redrawn = [(a, b) for a, b in zip(forward, other, strict=True) if a != "a"]
    assert any(a != b for a, b in redrawn)


def test_types_are_told_apart() -> None:
    for value in (True, 1.0, "1"):
        with pytest.raises(ValueError, match="outside the domain"):
            sanitise([value], [1, 2], 1, master=bytes(32))  # type: ignore[list-item]
    with pytest.raises(ValueError, match="outside the domain"):
        sanitise([None], [1, 2], 1, master=bytes(32))
