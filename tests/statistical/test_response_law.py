"""The law of randomised response through the public API, at a million rows, and mutants that the same test must reject.

Three resolutions, each against the law of the paper computed here in floats and each with its own false-alarm rate of
1e-6: was the cell changed (one degree of freedom, sees the probability of a change), by how much modulo k (k - 1), and
the whole channel (k·(k - 1), sees a single cell of the table). Seeds are fixed: the outcome of each test is too.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import stats

from dpfast import Domain, RandomisedResponse, Stream

Codes = npt.NDArray[Any]
Mutant = Callable[[Codes, int, float, np.random.Generator], Codes]

N_ROWS = 1_000_000
TILE = 65_536
CASES = [
    (2, 1.0, 0.0),
    (2, 0.1, 0.0),
    (3, 0.5, 0.01),
    (4, 1.0, 1e-6),
    (10, 1.0, 0.0),
    (10, 0.25, 0.1),
    (16, 1.0, 0.0),
    (255, 2.0, 0.0),
    (256, 3.0, 1e-3),
]


def change_probability(k: int, epsilon: float, delta: float) -> float:
    """Holohan, Leith & Mason, arXiv 1505.07254: each other category has (1 - delta) / (e^epsilon + k - 1)."""
    return (1 - delta) / (math.exp(epsilon) + k - 1)


def true_codes(k: int, n_rows: int, seed: int) -> Codes:
    """A column in which the category x is about twice as frequent as the category k - 1 - x is, at the ends."""
    weights = np.linspace(2, 1, k)
    codes = np.random.default_rng(seed).choice(k, size=n_rows, p=weights / weights.sum())
    return codes.astype(np.uint8 if k <= 256 else np.uint16)


def shift(values: Codes, output: Codes, k: int) -> Codes:
    """(output - value) modulo k: under the law it is independent of the value, zero with 1 - (k-1)p, else uniform."""
    return ((output.astype(np.int64) - values) % k).astype(np.int64)


def shift_law(k: int, p: float) -> npt.NDArray[np.float64]:
    law = np.full(k, p)
    law[0] = 1 - (k - 1) * p
    return law


def assert_response(values: Codes, output: Codes, k: int, p: float) -> None:
    """Reject when `output` is implausible as randomised response over `values` at the three resolutions."""
    shifts = np.bincount(shift(values, output, k), minlength=k)
    law = shift_law(k, p)
    stats.assert_law([shifts[0], shifts[1:].sum()], [law[0], 1 - law[0]])
    stats.assert_law(shifts, law)
    cells = np.bincount(values.astype(np.int64) * k + output, minlength=k * k).reshape(k, k)
    stats.assert_channel(cells, np.stack([np.roll(law, x) for x in range(k)]))


def assert_rows_independent(values: Codes, output: Codes, k: int, p: float) -> None:
    """Reject when a cell's change depends on that of its neighbour, or of the cell one or two tiles further."""
    shifts = shift(values, output, k)
    # Beyond a few categories the interesting split is kept / changed to the lower half / to the upper half.
    if k > 4:
        shifts = np.where(shifts == 0, 0, np.where(shifts <= k // 2, 1, 2))
        law = np.array([1 - (k - 1) * p, (k // 2) * p, (k - 1 - k // 2) * p])
    else:
        law = shift_law(k, p)
    for lag in (1, TILE, 2 * TILE):
        for offset in (0, lag):
            stats.assert_independent(*stats.lagged_pairs(shifts, lag, offset=offset), law)


@pytest.mark.statistical
@pytest.mark.parametrize(("k", "epsilon", "delta"), CASES)
def test_law_of_the_public_call(k: int, epsilon: float, delta: float) -> None:
    values = true_codes(k, N_ROWS, seed=k)
    mechanism = RandomisedResponse(Domain.range(k), epsilon=epsilon, delta=delta)
    output = mechanism.sanitise(values, rng=Stream.insecure(11))
    assert output.dtype == values.dtype
    p = change_probability(k, epsilon, delta)
    assert_response(values, output, k, p)
    assert_rows_independent(values, output, k, p)


@pytest.mark.statistical
@pytest.mark.parametrize("k", [2, 5, 16, 256])
def test_law_of_no_information(k: int) -> None:
    # epsilon = 0: the answer is uniform whatever the value.
    values = true_codes(k, N_ROWS, seed=k)
    output = RandomisedResponse(Domain.range(k), epsilon=0.0).sanitise(values, rng=Stream.insecure(12))
    assert_response(values, output, k, 1 / k)
    assert_rows_independent(values, output, k, 1 / k)


@pytest.mark.statistical
def test_law_above_the_two_stage_limit() -> None:
    # Past 4,096 categories cells are decided from whole words; the channel is too large to fill, the shifts are not.
    k, epsilon = 5000, 6.0
    values = true_codes(k, N_ROWS, seed=k)
    output = RandomisedResponse(Domain.range(k), epsilon=epsilon).sanitise(values, rng=Stream.insecure(13))
    law = shift_law(k, change_probability(k, epsilon, 0.0))
    shifts = np.bincount(shift(values, output, k), minlength=k)
    stats.assert_law([shifts[0], shifts[1:].sum()], [law[0], 1 - law[0]])
    stats.assert_law(shifts, law)
    assert_rows_independent(values, output, k, law[1])


@pytest.mark.statistical
def test_unknown_values_are_answered_uniformly() -> None:
    k = 10
    values = np.full(N_ROWS, 200, dtype=np.uint8)
    mechanism = RandomisedResponse(Domain.range(k, unknown="randomise"), epsilon=1.0)
    output = mechanism.sanitise(values, rng=Stream.insecure(14))
    stats.assert_law(np.bincount(output, minlength=k), np.full(k, 1 / k))


@pytest.mark.statistical
def test_two_columns_of_one_key_are_independent(key: bytes) -> None:
    k, epsilon = 3, 0.5
    p = change_probability(k, epsilon, 0.0)
    values = true_codes(k, N_ROWS, seed=1)
    mechanism = RandomisedResponse(Domain.range(k), epsilon=epsilon)

    def release(context: str, column: str, of: RandomisedResponse = mechanism) -> Codes:
        rng = Stream(key=key, context=context)
        return shift(values, of.sanitise(values, rng=rng, column_name=column), k)

    first = release("flights/2026-11-30", "origin")
    law = shift_law(k, p)
    stats.assert_independent(first, release("flights/2026-11-30", "dest"), law)
    stats.assert_independent(first, release("flights/2026-12-31", "origin"), law)
    assert np.array_equal(first, release("flights/2026-11-30", "origin"))
    # The control: the same column twice is as dependent as can be.
    with pytest.raises(AssertionError, match="chi-square"):
        stats.assert_independent(first, first.copy(), law)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(("k", "epsilon", "delta"), [(10, 1.0, 0.0), (64, 2.0, 1e-3), (256, 3.0, 0.0)])
def test_law_under_a_key_of_today(k: int, epsilon: float, delta: float) -> None:
    # A random seed, printed: eleven thresholds of 1e-6 a case, three cases a night, 1e-3 false alarms in a month.
    seed = secrets.randbits(64)
    print(f"seed {seed}")
    values = true_codes(k, 20 * N_ROWS, seed=k)
    mechanism = RandomisedResponse(Domain.range(k), epsilon=epsilon, delta=delta)
    output = mechanism.sanitise(values, rng=Stream.insecure(seed))
    p = change_probability(k, epsilon, delta)
    assert_response(values, output, k, p)
    assert_rows_independent(values, output, k, p)


# The controls: wrong mechanisms that a reader might well write. Each must be rejected by the very test above, and the
# right one, written in the same way, must pass it.


def respond(values: Codes, k: int, p: float, rng: np.random.Generator, categories: int | None = None) -> Codes:
    """Randomised response by inverse CDF over one uniform a row, replacing by one of the first `categories`."""
    u = rng.random(values.size)
    drawn = np.minimum((u / p).astype(np.int64), k - 1)
    return np.where(u < (categories or k) * p, drawn, values)


def right(values: Codes, k: int, p: float, rng: np.random.Generator) -> Codes:
    return respond(values, k, p, rng)


def k_off_by_one(values: Codes, k: int, p: float, rng: np.random.Generator) -> Codes:
    return respond(values, k, p, rng, categories=k - 1)


def last_never_drawn(values: Codes, k: int, p: float, rng: np.random.Generator) -> Codes:
    output = respond(values, k, p, rng)
    return np.where((output == k - 1) & (values != k - 1), rng.integers(0, k - 1, values.size), output)


def one_per_cent_more(values: Codes, k: int, p: float, rng: np.random.Generator) -> Codes:
    return respond(values, k, 1.01 * p, rng)


def one_per_cent_less(values: Codes, k: int, p: float, rng: np.random.Generator) -> Codes:
    return respond(values, k, 0.99 * p, rng)


def lie_over_all(values: Codes, k: int, p: float, rng: np.random.Generator) -> Codes:
    # The probability of a lie is right, but the lie is drawn from all k categories instead of the k - 1 others.
    lies = rng.random(values.size) < (k - 1) * p
    return np.where(lies, rng.integers(0, k, values.size), values)


def one_cell_moved(values: Codes, k: int, p: float, rng: np.random.Generator) -> Codes:
    # A fifth of the answers "1" to a true 0 become "k - 1": shifts of other rows hide it, the channel does not.
    output = respond(values, k, p, rng)
    moved = (values == 0) & (output == 1) & (rng.random(values.size) < 0.2)
    return np.where(moved, k - 1, output)


# The deviations that a million rows show with near certainty in these cases.
LAW_MUTANTS = [k_off_by_one, last_never_drawn, one_per_cent_more, one_per_cent_less, lie_over_all, one_cell_moved]
CONTROL_CASES = [(3, 0.5), (4, 1.0), (10, 1.0), (16, 1.0)]


@pytest.mark.statistical
@pytest.mark.parametrize(("k", "epsilon"), CONTROL_CASES)
def test_the_right_mechanism_passes(k: int, epsilon: float) -> None:
    p = change_probability(k, epsilon, 0.0)
    values = true_codes(k, N_ROWS, seed=k)
    output = right(values, k, p, np.random.default_rng(21))
    assert_response(values, output, k, p)
    assert_rows_independent(values, output, k, p)


@pytest.mark.statistical
@pytest.mark.parametrize("mutant", LAW_MUTANTS, ids=lambda mutant: mutant.__name__)
@pytest.mark.parametrize(("k", "epsilon"), CONTROL_CASES)
def test_a_wrong_law_is_rejected(k: int, epsilon: float, mutant: Mutant) -> None:
    p = change_probability(k, epsilon, 0.0)
    values = true_codes(k, N_ROWS, seed=k)
    with pytest.raises(AssertionError, match="chi-square"):
        assert_response(values, mutant(values, k, p, np.random.default_rng(22)), k, p)


@pytest.mark.statistical
@pytest.mark.parametrize("mutant", [k_off_by_one, last_never_drawn, lie_over_all], ids=lambda mutant: mutant.__name__)
@pytest.mark.parametrize(("k", "epsilon"), [(255, 2.0), (256, 3.0)])
def test_a_wrong_law_of_many_categories_is_rejected(k: int, epsilon: float, mutant: Mutant) -> None:
    test_a_wrong_law_is_rejected(k, epsilon, mutant)


@pytest.mark.statistical
@pytest.mark.parametrize("relative", [-0.01, 0.01])
@pytest.mark.parametrize(("k", "epsilon", "delta"), [case for case in CASES if case[0] > 2])
def test_one_per_cent_is_within_reach(k: int, epsilon: float, delta: float, relative: float) -> None:
    # What the first test is worth: in each of its cases an error of one per cent in p would be seen. (With two
    # categories it takes two per cent: a change is then the only thing there is to count.)
    p = change_probability(k, epsilon, delta)
    law, wrong = shift_law(k, p), shift_law(k, p * (1 + relative))
    kept = stats.power_of_law([law[0], 1 - law[0]], [wrong[0], 1 - wrong[0]], N_ROWS)
    assert max(kept, stats.power_of_law(law, wrong, N_ROWS)) > 0.999


@pytest.mark.statistical
@pytest.mark.parametrize(("source", "target"), [(0, TILE), (0, 2 * TILE), (TILE, 3 * TILE)])
def test_a_duplicated_block_is_rejected(source: int, target: int) -> None:
    # Words used twice leave every marginal law as it is: only the test of independence can see them.
    k, p = 3, change_probability(3, 0.5, 0.0)
    values = true_codes(k, N_ROWS, seed=3)
    rng = np.random.default_rng(23)
    u = rng.random(values.size)
    u[target : target + TILE] = u[source : source + TILE]
    output = np.where(u < k * p, np.minimum((u / p).astype(np.int64), k - 1), values)
    assert_response(values, output, k, p)
    with pytest.raises(AssertionError, match="chi-square"):
        assert_rows_independent(values, output, k, p)


@pytest.mark.statistical
def test_dependent_neighbours_are_rejected() -> None:
    k, p = 3, change_probability(3, 0.5, 0.0)
    values = true_codes(k, N_ROWS, seed=3)
    u = np.random.default_rng(24).random(values.size)
    u[1::50] = u[0::50]  # two rows in a hundred share a word
    output = np.where(u < k * p, np.minimum((u / p).astype(np.int64), k - 1), values)
    with pytest.raises(AssertionError, match="chi-square"):
        assert_rows_independent(values, output, k, p)
