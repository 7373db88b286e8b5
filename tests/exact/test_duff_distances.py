"""Distances of medians, quantiles, modes and means: those of walking from data set to data set, and the published vectors."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from duff_cases import data_sets, dense

from dpfast import Domain, duff
from dpfast.duff.orders import envelope_ranks, quantile_distances
from dpfast.reference import duff as reference

RELATIONS = ["add_remove", "replace_one"]
FRACTIONS = [0, 0.1, 0.25, Fraction(1, 3), 0.5, (2, 3), 0.9, 1.0]
FEW, MANY = (4, 3), (6, 5)  # rows, points


def exactly(q: Any) -> Fraction:
    return Fraction(*q) if isinstance(q, tuple) else Fraction(str(q))


def rows_array(counts: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.array(reference.rows_of(counts), np.int64)


def without_rows(relation: str, size: int) -> list[int]:
    return [int(relation == "add_remove")] * size


def check_quantiles(size: tuple[int, int], fractions: list[Any]) -> None:
    for counts in data_sets(*size):
        for relation in RELATIONS:
            for q in fractions:
                levels = duff.quantile_levels(rows_array(counts), q, bounds=(0, size[1] - 1), neighbours=relation)
                wanted = (
                    reference.distances(counts, lambda data, q=q: reference.quantile(data, exactly(q)), relation)
                    if any(counts)
                    else without_rows(relation, size[1])
                )
                assert dense(levels, size[1]) == wanted, (counts, relation, q)


def check_modes_and_means(size: tuple[int, int]) -> None:
    domain = Domain.range(size[1])
    for counts in data_sets(*size):
        for relation in RELATIONS:
            mode = duff.mode_levels(rows_array(counts), domain=domain, neighbours=relation)
            assert dense(mode, size[1]) == reference.distances(counts, reference.modes, "add_remove")
            mean = duff.mean_levels(rows_array(counts), bounds=(0, size[1] - 1), neighbours=relation)
            assert dense(mean, size[1]) == reference.mean_distances(counts, relation), (counts, relation)


def test_quantiles_of_small_data_sets() -> None:
    check_quantiles(FEW, FRACTIONS)


def test_modes_and_means_of_small_data_sets() -> None:
    check_modes_and_means(FEW)


@pytest.mark.slow
def test_all_data_sets_of_six_rows() -> None:
    check_quantiles(MANY, [0, 0.1, 0.5, 0.9, 1.0])
    check_modes_and_means(MANY)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("scale", [1, 10**19])
def test_no_distance_moves_by_more_than_a_step(relation: str, scale: int) -> None:
    # Also where Python's integers take over, and for many rows.
    rng = np.random.default_rng(1)
    q = Fraction(scale // 3 + 1, scale) if scale > 1 else Fraction(1, 3)
    for _ in range(30):
        rows = rng.integers(0, 12, rng.integers(2, 40))
        other = rows[1:] if relation == "add_remove" else np.append(rows[1:], rng.integers(0, 12))
        first, second = (dense(duff.quantile_levels(part, q, bounds=(0, 11), neighbours=relation), 12) for part in (rows, other))
        assert max(abs(a - b) for a, b in zip(first, second, strict=True)) <= 1


def in_doubles(q: float, below: int, equal: int, above: int) -> int:
    """The formula of B.3 as it is written, with what it compares rounded."""
    most = max(q, 1 - q)
    too_high, too_low = (1 - q) * below - q * above - q * equal, q * above - (1 - q) * below - (1 - q) * equal
    if equal:
        return math.floor(too_high / most) + 1 if too_high >= 0 else math.ceil(too_low / most) if too_low > 0 else 0
    if too_high >= 0:
        return 1 if too_high < q else 2 + math.floor((too_high - q) / most)
    return 1 if too_low <= 1 - q else 1 + math.ceil((too_low - (1 - q)) / most)


def test_distances_in_doubles_would_move_by_two() -> None:
    # So the search below sees what exact integers avoid.
    def worst(distance: Callable[[int, int, int], int]) -> int:
        steps = []
        for below, equal, above in itertools.product(range(12), range(3), range(12)):
            if below + equal + above > 1:
                here = distance(below, equal, above)
                fewer = [(below - 1, equal, above), (below, equal - 1, above), (below, equal, above - 1)]
                steps += [abs(here - distance(*counts)) for counts in fewer if min(counts) >= 0]
        return max(steps)

    def exact(*counts: int) -> int:
        return int(quantile_distances(Fraction(1, 3), *(np.array([count]) for count in counts), "add_remove")[0])

    assert worst(exact) == 1
    assert worst(functools.partial(in_doubles, 1 / 3)) == 2


def gaps(rows: list[float], q: Any, *, relation: str = "add_remove") -> list[int]:
    """Distances of what lies between rows, on a grid so fine that rows hardly count."""
    levels = duff.quantile_levels(rows, q, bounds=(0.0, 10.0), neighbours=relation)
    return levels.distance[levels.measure > 1].tolist()


def test_published_vectors() -> None:
    five, six = [1.0, 2.0, 4.0, 8.0, 9.0], [1.0, 2.0, 4.0, 5.0, 8.0, 9.0]
    assert gaps(five, 0.5) == [5, 3, 1, 2, 4, 6]
    assert gaps(six, 0.5) == [6, 4, 2, 1, 3, 5, 7]
    assert gaps(six, 0.25) == [2, 1, 2, 3, 5, 6, 7]
    assert gaps(six, 0.9) == [7, 6, 5, 4, 3, 2, 1]
    for rows, law in [
        (five, [0.02585422, 0.07027906, 0.38207659, 0.46348234, 0.04262641, 0.01568138]),
        (six, [0.02156139, 0.05860992, 0.31863659, 0.26267146, 0.28989429, 0.03554872, 0.01307764]),
    ]:
        levels = duff.median_levels(rows, bounds=(0.0, 10.0), step=2.0**-40, neighbours="add_remove")
        found = np.exp(duff.log_probabilities(levels, epsilon=1.0))[levels.measure > 1]
        assert np.allclose(found, law, rtol=0, atol=1e-8)
    mean = duff.mean_levels(five, bounds=(0.0, 10.0), step=2.0**-20, neighbours="add_remove")
    highs = [levels_end(mean, k) for k in range(1, 7)]
    assert np.allclose(highs, [5.66666667, 6.6, 7.75, 9, 9.5, 10], rtol=0, atol=2.0**-20)
    lows = [float(mean.lower[mean.distance <= k].min()) * 2.0**-20 for k in range(1, 7)]
    assert np.allclose(lows, [4, 3, 1.75, 1, 0.5, 0], rtol=0, atol=2.0**-20)


def levels_end(levels: duff.Levels, k: int) -> float:
    return float(levels.upper[levels.distance <= k].max()) * 2.0**-20


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("q", FRACTIONS)
def test_envelopes_are_nested_between_neighbours(q: Any, relation: str) -> None:
    # B_k(S) lies within B_{k+1}(S'): what piecewise Laplace needs.
    fraction = exactly(q)

    def envelope(counts: tuple[int, ...], k: int) -> tuple[int, int]:
        rows = [0, *reference.rows_of(counts), len(counts) - 1]
        low, high = envelope_ranks(fraction, len(rows) - 2, k, relation)
        return rows[low[k]], rows[high[k]]

    for counts in data_sets(4, 3):
        for other in reference.neighbours_of(counts, relation):
            for k in range(5):
                (low, high), (other_low, other_high) = envelope(counts, k), envelope(other, k + 1)
                assert other_low <= low <= high <= other_high, (counts, other, k)
        rows = reference.rows_of(counts)
        if rows:
            assert set(envelope(counts, 0)) == reference.quantile(counts, fraction)


def test_unseen_labels_of_a_large_domain_are_blocks() -> None:
    levels = duff.mode_levels(np.array([5, 5, 7]), domain=Domain.range(2**31), neighbours="add_remove")
    assert levels.distance.tolist() == [2, 0, 2, 1, 2]
    assert levels.measure.tolist() == [5, 1, 1, 1, 2**31 - 8]
    assert duff.mode_levels(np.array([], np.int64), domain=Domain.range(9), neighbours="add_remove").measure.tolist() == [9]
    for others in (["z", "a"], np.array(["z", "a"])):
        found = duff.mode_levels(others, domain=Domain(["a", "b"]), neighbours="add_remove")
        assert dense(found, 2) == [0, 1]


MEDIANS: dict[str, Callable[[Any], duff.Levels]] = {
    "median": lambda rows: duff.median_levels(rows, bounds=(0, 4), neighbours="add_remove"),
    "half": lambda rows: duff.quantile_levels(rows, 0.5, bounds=(0, 4), neighbours="add_remove"),
}


@pytest.mark.parametrize("name", sorted(MEDIANS))
@pytest.mark.parametrize(
    ("rows", "wanted"),
    [([], [1, 1, 1, 1, 1]), ([2], [1, 1, 0, 2, 2]), ([1, 2], [2, 0, 1, 3, 3]), ([2, 2, 2], [3, 3, 0, 4, 4])],
)
def test_few_rows(name: str, rows: list[int], wanted: list[int]) -> None:
    assert dense(MEDIANS[name](np.array(rows, np.int64)), 5) == wanted
