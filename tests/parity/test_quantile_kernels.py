"""The kernels of selection against what numpy and plain integers say: passes, snapping, windows of groups, totals and picks."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpfast._core import quantile as core
from dpfast.duff import Grid
from dpfast.duff._chunks import Memory
from dpfast.duff._select import GridCells
from dpfast.duff._together import put_together
from dpfast.duff.orders import quantile_distances
from dpfast.errors import ArgumentError

TYPES = core.SCAN_TYPES
RNG = np.random.default_rng(20101)


def hostile(kind: str, n: int) -> np.ndarray[Any, Any]:
    """Values of a type with its ends, ties and, for floats, what is no number."""
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        values = RNG.normal(size=n).astype(dtype)
        special = np.array(
            [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 1e30, np.nextafter(dtype.type(0.5), dtype.type(0))], dtype
        )
    else:
        ends = np.iinfo(dtype)
        values = RNG.integers(ends.min, ends.max, n, dtype, endpoint=True)
        special = np.array([ends.min, ends.max, 0, 1, 7], dtype)
    return np.where(RNG.random(n) < 0.5, values, RNG.choice(special, n))


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("kind", TYPES)
def test_a_pass_counts_and_keeps_what_numpy_does(kind: str, *, plain: bool) -> None:
    for n in (0, 1, 63, 64, 65, 128, 1000):
        values = hostile(kind, n)
        limits = np.sort(hostile(kind, 4))
        for order in (limits, limits[[0, 1, 0, 1]], limits[[2, 2, 2, 2]]):
            with np.errstate(invalid="ignore"):
                kept = values[(values > order[1]) & (values <= order[2])]
                wanted = [int((values <= order[place]).sum()) for place in (0, 1, 3)]
            if not (wanted[0] <= wanted[1] <= wanted[1] + kept.size <= wanted[2]):
                continue  # a limit that is no number, in a place where none may be
            out, counts = np.zeros(n + 1, kind), np.zeros(core.SCAN_COUNTS, np.uint64)
            core.scan(TYPES.index(kind), values.view(np.uint8), order.view(np.uint8), out[:n].view(np.uint8), counts, plain)
            assert counts.tolist() == [*wanted, int((values == values).sum()), kept.size]
            assert out[: kept.size].tobytes() == kept.tobytes()
            assert out[n] == 0


def test_a_pass_without_room_is_refused() -> None:
    values = np.zeros(10)
    with pytest.raises(ArgumentError, match="no room"):
        core.scan(9, values.view(np.uint8), np.zeros(4).view(np.uint8), np.zeros(9).view(np.uint8), np.zeros(5, np.uint64))


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("bounds", "step"), [((0, 1), 2.0**-20), ((-7.3, 100), 0.25), ((-1000, -10), 8.0), ((0.4, 3), 0.5)])
def test_fast_snapping_is_that_of_the_grid(bounds: Any, step: float, dtype: Any, *, plain: bool) -> None:
    grid = Grid(bounds, step=step)
    halves = (np.arange(-9, 40) + 0.5) * step
    tight = np.concatenate([halves, np.nextafter(halves, -np.inf), np.nextafter(halves, np.inf), [5e-324, -5e-324, -0.0]])
    values = np.concatenate([tight, RNG.normal(0, 50, 1000), hostile("f8", 500)]).astype(dtype)
    found = np.empty(values.size, np.uint32)
    last = grid.origin + grid.size - 1
    strange = core.snap_floats(values, 1 / step, grid.origin, last, found, plain)
    numbers = values == values
    assert strange == (~numbers).sum()
    assert (found[~numbers] == (1 << 32) - 1).all()
    assert (found[numbers] == grid.snap(values[numbers])).all()


@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
def test_windows_of_groups_are_sorted_data(dtype: Any) -> None:
    shapes = [
        RNG.integers(0, 50, 300),
        np.zeros(500),
        np.arange(700),
        np.arange(700)[::-1],
        np.concatenate([np.arange(400), np.arange(400)[::-1]]),  # organ pipes
        np.arange(1000) % 2,
        np.empty(0),
        RNG.integers(0, 1 << 31, 2000),
        np.tile([0, 3, 1, 2], 600),
    ]
    for sizes in range(1, 30):
        shapes.append(RNG.integers(0, 9, sizes))
    together = np.concatenate(shapes).astype(dtype)
    starts = np.cumsum([0, *(shape.size for shape in shapes)]).astype(np.uint64)
    n = np.diff(starts.astype(np.int64))
    for low, high in ((0.0, 1.0), (0.3, 0.4), (0.5, 0.5), (0.9, 1.0)):
        firsts, lasts = (n * low).astype(np.uint64), np.ceil(n * high).astype(np.uint64)
        rooms = np.cumsum([0, *(lasts - firsts).tolist()]).astype(np.uint64)
        points, upto = np.empty(int(rooms[-1]) + 1, np.int64), np.empty(int(rooms[-1]) + 1, np.uint64)
        windows = core.Windows(len(shapes))
        windows.fill(together.copy(), starts[:-1], n.astype(np.uint64), firsts, lasts, rooms, points, upto, 0, len(shapes))
        for place, shape in enumerate(shapes):
            first, last = int(firsts[place]), int(lasts[place])
            ordered = np.sort(shape).astype(np.int64)
            different = np.unique(ordered[first:last])
            seen = windows.window(place)
            assert seen[0] == different.tolist()
            assert seen[1] == [int((shape <= point).sum()) for point in different]
            assert seen[2] == (int((shape < different[0]).sum()) if different.size else 0)
            assert seen[3] == shape.size


def adversary(n: int) -> list[int]:
    """Values that make every pivot of the kernel one of the least: decided while a copy of its method runs (McIlroy, 1999).

    Values are open ("gas") until a pivot is chosen; then those that the pivot was taken from get the least values still free.
    """
    gas = n
    value = [gas] * n
    places = list(range(n))  # what the kernel moves about
    solid = 0

    def freeze(item: int) -> None:
        nonlocal solid
        if value[item] == gas:
            value[item] = solid
            solid += 1

    def middle(a: int, b: int, c: int) -> int:
        for item in (a, b, c)[: 2 if sum(value[item] == gas for item in (a, b, c)) == 3 else 3]:
            if sum(value[other] == gas for other in (a, b, c)) > 1:
                freeze(item)
        return sorted((a, b, c), key=value.__getitem__)[1]

    low = 0
    while n - low > 24:
        size, half, eighth, high = n - low, low + (n - low) // 2, (n - low) // 8, n
        at = places.__getitem__
        if size > 200:
            pivot = middle(
                middle(at(low), at(low + eighth), at(low + 2 * eighth)),
                middle(at(half - eighth), at(half), at(half + eighth)),
                middle(at(high - 1 - 2 * eighth), at(high - 1 - eighth), at(high - 1)),
            )
        else:
            pivot = middle(at(low), at(half), at(high - 1))
        freeze(pivot)
        limit, below = value[pivot], low
        for place in range(low, n):
            item = places[place]
            places[place], places[below] = places[below], item
            below += value[item] < limit
        low = below if below > low else low + 1
        if below == low - 1:
            places.insert(low - 1, places.pop(places.index(pivot, low - 1)))
    for item in places:
        freeze(item)
    return value


def test_quicksort_that_is_cut_badly_goes_on_by_heap() -> None:
    # Every cut takes away a handful of values, so the budget of cuts ends and a heap has to put the rest in order.
    n = 3000
    array = np.array(adversary(n), np.uint32)
    assert sorted(array.tolist()) == list(range(n))
    points, upto = np.empty(n, np.int64), np.empty(n, np.uint64)
    edges = np.array([0, n], np.uint64)
    windows = core.Windows(1)
    windows.fill(array, edges[:1], edges[1:], edges[:1], edges[1:], edges, points, upto, 0, 1)
    assert (points == np.arange(n)).all()
    assert (array == np.arange(n)).all()


def distance_of_counts(q: Fraction, n: int, less: int, equal: int, relation: str) -> int:
    """B.2 and B.3 in fractions."""
    above = n - less - equal
    if relation == "replace_one":
        rank = max(1, math.ceil(q * n))
        return max(0, less - rank + 1, rank - less - equal)
    if q == 0:
        return less + (equal == 0)
    most = max(q, 1 - q)
    too_high, too_low = (1 - q) * less - q * (above + equal), q * above - (1 - q) * (less + equal)
    if equal:
        return math.floor(too_high / most) + 1 if too_high >= 0 else max(math.ceil(too_low / most), 0)
    if too_high >= 0:
        return 1 if too_high < q else 2 + math.floor((too_high - q) / most)
    return 1 if too_low <= 1 - q else 1 + math.ceil((too_low - (1 - q)) / most)


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("q", ["1/2", "1/10", "9/10", "1/3", "0", "1", "123456789012345677/1000000000000000000"])
def test_distances_are_those_of_the_levels(q: str, *, fixed: bool) -> None:
    fraction = Fraction(q)
    for n in (1, 2, 7, 1000, 10**9 + 7):
        less = np.unique(np.concatenate([RNG.integers(0, n + 1, 50), [0, n // 2, n]]))
        equal = np.minimum(RNG.integers(0, 4, less.size), n - less)
        law = core.QuantileLaw(np.ones(1, np.uint64), fraction.numerator, fraction.denominator, 100, fixed)
        relation: Any = "replace_one" if fixed else "add_remove"
        pairs = list(zip(less.tolist(), equal.tolist(), strict=True))
        found = [law.distance(n, *pair) for pair in pairs]
        assert found == [distance_of_counts(fraction, n, *pair, relation) for pair in pairs]
        assert found == quantile_distances(fraction, less, equal, n - less - equal, relation).tolist()


def owner(masses: list[tuple[int, int, int]], target: int) -> int:
    """The grid point that owns an integer: entries are (first point, points, weight) in ascending order."""
    for first, measure, weight in masses:
        if target < measure * weight:
            return first + target // weight
        target -= measure * weight
    raise AssertionError


def test_totals_and_picks_are_those_of_wide_integers() -> None:
    size = 1 << 62
    weights = np.array([1 << 62, (1 << 62) - 12345, (1 << 61) + 7, 1 << 61], np.uint64)
    points = np.array([0, 5, 6, 1 << 61, size - 1], np.int64)
    upto = np.array([2, 3, 7, 9, 10], np.uint64)
    law = core.QuantileLaw(weights, 1, 2, size, False)
    windows = core.Windows(1)
    windows.put(0, points, upto, 0, 10)
    masses, before, start = [], 0, 0
    for point, count in zip(points.tolist(), upto.tolist(), strict=True):
        masses.append((start, point - start, law.weight(law.distance(10, before, 0))))
        masses.append((point, 1, law.weight(law.distance(10, before, count - before))))
        before, start = count, point + 1
    masses.append((start, size - start, law.weight(law.distance(10, before, 0))))
    total = sum(measure * weight for _, measure, weight in masses)
    totals = np.empty((1, 2), np.uint64)
    law.totals(windows, totals, 0, 1)
    assert int(totals[0, 0]) + (int(totals[0, 1]) << 64) == total
    assert total > 1 << 122
    edges = np.cumsum([0, *(measure * weight for _, measure, weight in masses)], dtype=object)
    targets = {0, total - 1, *(int(edge) + shift for edge in edges for shift in (-1, 0, 1))}
    targets |= {int(RNG.integers(1 << 62)) * total >> 62 for _ in range(50)}
    for target in sorted(targets):
        if target < 0:
            continue
        words = np.array([[target & (1 << 64) - 1, target >> 64]], np.uint64)
        found, states = np.zeros(1, np.int64), np.zeros(1, np.uint8)
        law.draw(windows, totals, np.zeros(1, np.int64), words, found, states)
        if target >= total:
            assert states[0] == core.AGAIN
        else:
            assert states[0] != core.AGAIN
            assert found[0] == owner(masses, target)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("k", [3, 5000])
@pytest.mark.parametrize("step", [2.0**-10, 0.1, 2.0**-30, 2.0**-40])
def test_values_are_put_together_by_group(step: float, k: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpfast.duff import _together

    monkeypatch.setattr(_together, "TASK_ROWS", 1000)
    n = 20_000
    values, codes = hostile("f8", n), RNG.integers(0, k + 1, n).astype(np.uint32)
    grid = Grid((-1, 1), step=step)
    cells = GridCells(grid, values.dtype)
    for missing, full in ((None, 1 << 24), (3, 1 << 24), (None, 10)):  # a bucket that is too full: another way
        monkeypatch.setattr(_together, "FULL", full)
        grouped = put_together(Memory([values[:77], values[77:]]), grid, cells, codes.copy(), k, missing, threads)
        snapped = np.full(n, -1 if missing is None else missing)
        snapped[values == values] = grid.snap(values[values == values])
        for group in [*RNG.integers(0, k, 40), 0, k - 1]:
            wanted = snapped[(codes == group) & (snapped >= 0)]
            assert (np.sort(grouped.group(int(group))) == np.sort(wanted)).all()
        assert grouped.sizes.sum() == ((codes < k) & (snapped >= 0)).sum()
        memory = Memory([values])
        ordered = put_together(memory, grid, cells, codes.copy(), k, missing, threads, in_order=True)
        assert (ordered.group(7 % k) == snapped[(codes == 7 % k) & (snapped >= 0)]).all()


@pytest.mark.parametrize(("shift", "bits"), [(0, 1), (0, 32), (3, 7), (11, 21), (5, 12)])
def test_keys_of_a_bucket_are_sorted(shift: int, bits: int) -> None:
    none = (1 << bits) - 1
    for n in (0, 1, 5000):
        codes = RNG.integers(0, 3 << shift, n).astype(np.uint32)
        values = np.where(RNG.random(n) < 0.1, (1 << 32) - 1, RNG.integers(0, none, n)).astype(np.uint32)
        counts = np.zeros(3, np.uint64)
        core.group_count(codes, shift, counts)
        edges = np.append(np.uint64(0), np.cumsum(counts, dtype=np.uint64))
        together, places = np.empty(n, np.uint32), edges[:-1].copy()
        for rows in (slice(0, n // 3), slice(n // 3, n)):
            core.group_spread(codes[rows], values[rows], shift, bits, places, together)
        assert (places == edges[1:]).all()
        starts, sizes = np.empty(3 << shift, np.uint64), np.empty(3 << shift, np.uint64)
        core.group_order(together, edges, shift, bits, np.empty(n + 1, np.uint32), starts, sizes, 0, 3)
        for code in range(3 << shift):
            start, wanted = int(starts[code]), np.sort(values[(codes == code) & (values < none)])
            assert (together[start : start + int(sizes[code])] == wanted).all()
            assert sizes[code] == wanted.size


def test_keys_without_room_are_refused() -> None:
    edges, some = np.array([0, 4], np.uint64), np.zeros(4, np.uint32)
    groups = np.zeros(2, np.uint64)
    for keys, spare, wrong in ((some[:3], some, edges), (some, some[:3], edges), (some, some, edges[::-1].copy())):
        with pytest.raises(ArgumentError, match="a bucket outside the keys, or without room"):
            core.group_order(keys, wrong, 1, 8, spare, groups, groups.copy(), 0, 1)
    with pytest.raises(ArgumentError, match="no such buckets"):
        core.group_order(some, edges, 2, 8, some, groups, groups, 0, 1)
    with pytest.raises(ArgumentError, match="32 bits"):
        core.group_order(some, edges, 1, 32, some, groups, groups, 0, 1)
    with pytest.raises(ArgumentError, match="32 bits"):
        core.group_spread(some, some, 8, 25, edges, some)
    with pytest.raises(ArgumentError, match="no counter"):
        core.group_count(some + np.uint32(32), 4, edges)
