"""The race in doubles against the race to 120 digits on the same words, and the sum of masses against plain integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from duff_cases import TapeWords
from numpy.typing import NDArray
from soak import record

from dpfast._core import duff as core
from dpfast.duff import Levels
from dpfast.duff.exact import Contender, Tape, settle_place, settle_race
from dpfast.duff.race import BlockRace, plain_race
from dpfast.duff.sampling import draw_indices
from dpfast.duff.weights import Weights
from dpfast.reference import duff as reference

TOP = (1 << 64) - 1
CASES = 60
LEVEL_CASES, LOG_CASES, ODD = 66_000, 34_000, 12  # one case in twelve has odd words
MOST_BITS = 6  # of the number of entries of a case

SomeWords = Callable[[np.random.Generator, int], list[int]]


def odd_words(rng: np.random.Generator, n: int) -> list[int]:
    """Words of all kinds: usual ones, small and large ones, all zeros, all ones, and many that are equal."""
    kinds: list[Callable[[], int]] = [
        lambda: int(rng.integers(0, TOP, dtype=np.uint64, endpoint=True)),
        lambda: int(rng.integers(0, 1 << int(rng.integers(1, 40)))),
        lambda: TOP - int(rng.integers(0, 1 << int(rng.integers(1, 40)))),
        lambda: 0,
        lambda: TOP,
        lambda: 1 << 62,
    ]
    kind = int(rng.integers(0, 8))
    if kind < 6:
        return [kinds[kind]() for _ in range(n)]
    if kind == 6:
        return [kinds[0]()] * n
    return [kinds[int(rng.integers(0, 6))]() for _ in range(n)]


def usual_words(rng: np.random.Generator, n: int) -> list[int]:
    return [int(word) for word in rng.integers(0, TOP, n, dtype=np.uint64, endpoint=True)]


def levels_case(seed: int, some_words: SomeWords = odd_words) -> tuple[Levels, NDArray[np.uint64], TapeWords]:
    rng = np.random.default_rng(seed)
    n = int(2 ** rng.uniform(0, MOST_BITS))
    scale = int(rng.integers(1, 56))
    measure = rng.integers(1, 1 << int(rng.integers(1, scale + 1)), n, endpoint=True)
    upper = np.cumsum(measure) - 1
    distance = rng.integers(0, [2, 50, 10_000][int(rng.integers(0, 3))], n)
    epsilon = float(10.0 ** rng.uniform(-6, 3))
    levels = Levels(distance, upper - measure + 1, upper, step=1)
    return levels, Weights(epsilon).of(levels.distance), TapeWords([*some_words(rng, n), 1 << 40], seed)


def wanted_entry(levels: Levels, weights: NDArray[np.uint64], words: TapeWords) -> int:
    masses = [int(m) * int(w) for m, w in zip(levels.measure, weights, strict=True)]
    return reference.race([Fraction(0)] * len(masses), masses, words.word)


def check_levels(cases: range, odd: int = 1) -> int:
    """How often words had to be read further than 64 bits."""
    refined = 0
    for seed in cases:
        levels, weights, words = levels_case(seed, usual_words if seed % odd else odd_words)
        index = int(draw_indices(levels, weights, words, 1, "race")[0])
        refined += words.parts_read > 0
        entry = int(np.searchsorted(levels.upper, index))
        assert entry == wanted_entry(levels, weights, words), seed
    assert refined >= len(cases) // (20 * odd)  # more bits are asked for, else this shows little
    return refined


def test_the_winner_is_that_of_120_digits() -> None:
    check_levels(range(CASES))


@pytest.mark.slow
def test_the_winner_is_that_of_120_digits_in_many_cases() -> None:
    refined = check_levels(range(LEVEL_CASES), ODD)
    record("race_against_320_bits: levels", cases=LEVEL_CASES, read_further=refined, other_winners=0)


def test_keys_that_agree_to_many_bits_are_told_apart() -> None:
    # masses in the ratio of the words, as near as 64 bits can show: E / mass then agrees to some fifty bits
    for seed in range(60):
        rng = np.random.default_rng(seed)
        word = int(rng.integers(1 << 34, 1 << 38))
        ratio = int(rng.integers(2, 1 << 20))
        levels = Levels([0, 0], [0, ratio], [ratio - 1, 2 * ratio], step=1)
        weights = np.array([1, ratio], np.uint64)  # masses ratio and ratio (ratio + 1)
        words = TapeWords([word, word * (ratio + 1) + int(rng.integers(-1, 2)), 0], seed)
        index = int(draw_indices(levels, weights, words, 1, "race")[0])
        assert int(index >= ratio) == wanted_entry(levels, weights, words)
    equal = TapeWords([5, 5, 5, 5], 3)
    assert core_candidates([1, 1, 1, 1], equal.first) == [0, 1, 2, 3]
    winners = {
        int(
            draw_indices(
                Levels([0] * 4, range(4), range(4), step=1), np.ones(4, np.uint64), TapeWords([5] * 4 + [0], seed), 1, "race"
            )[0]
        )
        for seed in range(40)
    }
    assert winners == {0, 1, 2, 3}  # a tie goes to no entry by its place


def core_candidates(masses: list[int], words: list[int]) -> list[int]:
    race = core.Race(1)  # room for one: it grows
    race.masses(np.ones(len(masses), np.int64), np.array(masses, np.uint64), np.array(words, np.uint64), 0)
    return race.candidates()


def logs_case(seed: int, some_words: SomeWords = odd_words) -> tuple[NDArray[np.float64], TapeWords]:
    rng = np.random.default_rng(seed)
    n = int(2 ** rng.uniform(0, MOST_BITS))
    spread = [0.0, 1.0, 50.0, 1e4, 1e7, 1e300][int(rng.integers(0, 6))]
    logs = rng.uniform(-1, 1, n) * spread + [0.0, 1e5, -1e9][int(rng.integers(0, 3))]
    logs[rng.random(n) < 0.2] = -math.inf
    logs[int(rng.integers(0, n))] = rng.uniform(-1, 1) * spread
    return logs, TapeWords(some_words(rng, n), seed)


def wanted_item(logs: NDArray[np.float64], words: TapeWords) -> int:
    exact = [Fraction(log) if log > -math.inf else None for log in logs.tolist()]
    top = max(log for log in exact if log is not None)
    return reference.race([log if log is None else log - top for log in exact], [1] * len(exact), words.word)


def check_logs(cases: range, odd: int = 1) -> int:
    """As `check_levels`."""
    refined = 0
    for seed in cases:
        logs, words = logs_case(seed, usual_words if seed % odd else odd_words)
        winner = plain_race(logs, words)
        refined += words.parts_read > 0
        assert winner == wanted_item(logs, words), seed
        # items change places together with their words, and so does the winner
        order = np.random.default_rng(seed).permutation(logs.size)
        moved = Moved(words, order.tolist())
        assert order[plain_race(logs[order], moved)] == winner, seed
    assert refined >= len(cases) // (20 * odd)
    return refined


class Moved:
    """The words of other indices."""

    def __init__(self, source: TapeWords, order: list[int]) -> None:
        self.source, self.order = source, order

    def words(self, first: int, n: int) -> NDArray[np.uint64]:
        return np.array([self.source.first[place] for place in self.order[first : first + n]], np.uint64)

    def more(self, index: int, part: int) -> tuple[int, int]:
        return self.source.more(self.order[index], part)


def test_log_weights_of_any_range() -> None:
    check_logs(range(CASES))


@pytest.mark.slow
def test_log_weights_of_any_range_in_many_cases() -> None:
    refined = check_logs(range(LOG_CASES), ODD)
    record("race_against_320_bits: log-weights", cases=LOG_CASES, read_further=refined, other_winners=0)


@pytest.mark.parametrize("gap", [0.0, 30.0, 40.0, 300.0, pytest.param(900.0, marks=pytest.mark.slow)])
def test_an_item_of_hardly_any_weight_can_win(gap: float) -> None:
    # The heavier item has E = ln 2; the lighter one wins as its own begins with 1471 zero bits.
    assert plain_race(np.array([0.0, -gap]), Written([1 << 63, 0], {1: 1})) == 1
    block = BlockRace(np.array([0.0, -gap] + [-math.inf] * 5000))
    share = place_of_end(gap, Fraction(float(block._sums[0])))  # V just short of the end of the running sum
    assert block.draws(Written([1 << 63] * 5 + [share >> BITS], {5: share & ((1 << BITS) - 1)}), 1).tolist() == [1]


BITS = 128 * 11


class Written(TapeWords):
    """Words whose parts are written down for some indices: the next 1408 bits, then zeros."""

    def __init__(self, first: list[int], behind: dict[int, int]) -> None:
        super().__init__(first)
        self.behind = behind

    def more(self, index: int, part: int) -> tuple[int, int]:
        if index not in self.behind:
            return super().more(index, part)
        words = self.behind[index] << 128 * part >> BITS
        return words >> 64 & TOP, words & TOP


def place_of_end(gap: float, total: Fraction) -> int:
    """A number of 64 + BITS bits that lies within e^-gap below (1 + e^-gap) / total."""
    light = Fraction(Context(prec=900).exp(Context(prec=900).create_decimal_from_float(-gap)))
    return int((1 + light / 2) / total * (1 << 64 + BITS))


def block_law(logs: NDArray[np.float64], words: TapeWords) -> int | None:
    """What a round should answer, by decimals of 100 digits alone; None if it is to be repeated."""
    blocks = -(-logs.size // core.BLOCK)
    maxima, sums = np.empty(blocks), np.empty(blocks)
    assert core.blocks(logs, maxima, sums)
    exact = [None if top == -math.inf else Fraction(top) for top in maxima.tolist()]
    highest = max(log for log in exact if log is not None)
    block = reference.race(
        [None if log is None else log - highest for log in exact], [Fraction(total) for total in sums.tolist()], words.word
    )
    context, running = Context(prec=100), 0
    uniform = Fraction(words.word(blocks, 0) * 2 + 1, 1 << 65)
    target = context.divide((uniform * Fraction(sums[block])).numerator, (uniform * Fraction(sums[block])).denominator)
    for place, log in enumerate(logs[block * core.BLOCK : (block + 1) * core.BLOCK].tolist()):
        if log > -math.inf:
            running = context.add(running, context.exp(context.create_decimal_from_float(log - float(maxima[block]))))
        if running > target:
            return block * core.BLOCK + place
    return None


def test_blocks_answer_as_decimals_do() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 3000))
        logs = rng.integers(-40, 40, n) * [0.0, 0.125, 16.0][seed % 3]
        logs[rng.random(n) < 0.3] = -math.inf
        logs[0] = 1.0
        blocks = -(-n // core.BLOCK)
        first = odd_words(rng, blocks) if seed % 2 else rng.integers(0, TOP, blocks, dtype=np.uint64).tolist()
        words = TapeWords([*first, *odd_words(rng, 1)] + [0] * 3 * (blocks + 1), seed)
        wanted = block_law(logs, words)
        found = BlockRace(logs)._round(words, 0)
        assert found == wanted, seed


def test_a_place_at_a_boundary_is_settled() -> None:
    # weights 1, 1, 1 of the scale 3: U = 1/3 - 2^-70 and 1/3 + 2^-70 lie on two sides of the first boundary
    def place(uniform: Fraction) -> int:
        bits = int(uniform * (1 << 64 + BITS))
        tape = Tape(Written([bits >> BITS], {0: bits & ((1 << BITS) - 1)}), 0)
        return settle_place([Fraction(0), None, Fraction(0), Fraction(0)], Fraction(3), tape)

    near = Fraction(1, 1 << 70)
    assert [place(Fraction(1, 3) - near), place(Fraction(1, 3) + near)] == [0, 2]
    assert [place(Fraction(2, 3) - near), place(Fraction(2, 3) + near), place(1 - near)] == [2, 3, 3]


def test_logarithms_and_exponentials_are_as_near_as_the_race_takes_them() -> None:
    context = Context(prec=60)
    rng = np.random.default_rng(1)
    numbers = [
        *np.ldexp(1 + rng.random(300), rng.integers(-1000, 1000, 300)),
        *(1 + rng.normal(size=300) * 2.0 ** -rng.integers(1, 50, 300)),
    ]
    for x in [1.0, math.nextafter(1, 0), math.nextafter(1, 2), math.sqrt(0.5), math.sqrt(2.0), *map(abs, numbers)]:
        exact = context.ln(context.create_decimal_from_float(x))
        assert abs(context.subtract(context.create_decimal_from_float(core.ln(x)), exact)) <= context.multiply(
            abs(exact), context.create_decimal_from_float(2.0**-47)
        )
    for word in [0, 1, 2, 1000, (1 << 62) - 1, 1 << 62, 1 << 63, TOP - 5, TOP - 1, TOP, *odd_words(rng, 200)]:
        middle, spread = core.exponential(word)
        spread += 2.0**-46
        if spread < 0.5:
            for end in (word, word + 1):
                left = context.divide((1 << 64) - end, 1 << 64)
                exact = -context.ln(left)
                low, high = (context.create_decimal_from_float(middle * (1 + sign * spread)) for sign in (-1, 1))
                assert low <= exact <= high, word


def test_sums_of_blocks_bound_the_true_ones() -> None:
    rng = np.random.default_rng(2)
    for n, scale in [(1024, 0.0), (1024, 1.0), (1024, 60.0), (1024, 1e5), (1, 1.0), (1000, 3.0), (4097, 20.0)]:
        logs = rng.uniform(-1, 0, n) * scale
        blocks = -(-n // core.BLOCK)
        maxima, sums = np.empty(blocks), np.empty(blocks)
        assert core.blocks(logs, maxima, sums)
        plainly = np.empty(blocks), np.empty(blocks)
        assert core.blocks(logs, *plainly, True)
        assert [part.tobytes() for part in plainly] == [maxima.tobytes(), sums.tobytes()]
        for block in range(blocks):
            part = logs[block * core.BLOCK : (block + 1) * core.BLOCK]
            true = math.fsum(np.exp(part - part.max()))
            assert maxima[block] == part.max()
            assert true <= sums[block] <= true * (1 + 2.0**-13)


@pytest.mark.parametrize("place", [0, 511, 512, 1023, 1024, 1999])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_weight_is_seen_anywhere(place: int, value: float) -> None:
    for others in (0.0, -math.inf, -1.7e308, 1.7e308):
        logs = np.full(2000, others)
        logs[place] = value
        assert not core.blocks(logs, np.empty(2), np.empty(2))
        assert not core.blocks(logs, np.empty(2), np.empty(2), True)
    assert core.blocks(np.full(2000, 1.7e308), np.empty(2), np.empty(2))


def test_a_sum_is_searched_as_integers_are() -> None:
    for seed in range(40):
        levels, weights, _ = levels_case(seed)
        rng = np.random.default_rng(seed)
        points = [(int(low), int(high), int(w)) for low, high, w in zip(levels.lower, levels.upper, weights, strict=True)]
        total = sum((high - low + 1) * w for low, high, w in points)
        assert core.masses_total(levels.measure, weights) == total
        first: list[int] = [int(word) for word in rng.integers(0, TOP, 20, dtype=np.uint64)]
        words = TapeWords(first, seed)
        wanted = []
        for draw in range(10):
            low, high = first[2 * draw : 2 * draw + 2]
            part = 0
            while (number := (high << 64 | low) & ((1 << total.bit_length()) - 1)) >= total:
                part += 1
                low, high = words.more(2 * draw, part)
            for begin, end, weight in points:
                if number < (end - begin + 1) * weight:
                    wanted.append(begin + number // weight)
                    break
                number -= (end - begin + 1) * weight
        assert draw_indices(levels, weights, words, 10, "sum").tolist() == wanted


def test_a_race_of_one_reads_no_more_bits() -> None:
    tape = TapeWords([7])
    assert settle_race([Contender(Tape(tape, 0), Fraction(0), Fraction(1))]) == 0
    assert tape.parts_read == 0
    none: Any = core.Race()
    assert none.candidates() == []
