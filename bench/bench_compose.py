"""Speed of `compose` and of the split of a budget; every answer is checked before it is timed.

pytest bench/bench_compose.py                 everything, half a minute
pytest bench/bench_compose.py -k reach -s     the promised figures
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from timing import interleaved

from dpfast import RandomisedResponse, compose, compose_bounds
from dpfast.privacy import allocate

DELTA = 1e-6
# Seconds on the two-core machine: 100 parts of at most three laws; 100 different laws with a gap of at most 1e-4 epsilon.
REACH = {"three laws": 0.025, "different laws": 1.0}

THREE = [RandomisedResponse(range(k), epsilon=e) for k, e in [(2, 0.1), (10, 0.3), (100, 1.0)]]
MIXTURES = [(34, 33, 33), (50, 50, 0), (60, 30, 10), (98, 1, 1), (100, 0, 0)]
DIFFERENT = [RandomisedResponse(range(2 + j), epsilon=0.05 + 0.01 * j) for j in range(100)]


def mixture(counts: tuple[int, ...]) -> list[RandomisedResponse]:
    return [part for part, n in zip(THREE, counts, strict=True) for _ in range(n)]


def check(parts: list[RandomisedResponse], *, within: float) -> None:
    """Compare the bounds with each other and with a plain convolution in doubles."""
    lower, upper = compose_bounds(parts, delta=DELTA)
    assert lower <= upper <= lower + within * upper
    step = 2e-4 * upper
    weights, first = np.ones(1), 0
    for part in parts:
        k, p = part.domain.size, part.threshold / 2**64
        cells = round(part.epsilon_at() / step)
        law = np.zeros(2 * cells + 1)
        law[[0, cells, -1]] = p, (k - 2) * p, 1 - (k - 1) * p
        total = np.zeros(weights.size + 2 * cells)
        for place in (0, cells, 2 * cells):
            total[place : place + weights.size] += law[place] * weights
        weights, first = total, first - cells
    losses = step * np.arange(first, first + weights.size)
    low, high = 0.0, float(losses[-1])
    for _ in range(60):
        middle = (low + high) / 2
        excess = float(np.sum(weights * np.maximum(0.0, -np.expm1(np.minimum(0.0, middle - losses)))))
        low, high = (middle, high) if excess > DELTA else (low, middle)
    assert math.isclose(upper, high, rel_tol=0.01)


def test_reach() -> None:
    for counts in MIXTURES:
        check(mixture(counts), within=1e-9)
    check(DIFFERENT, within=1e-4)
    seconds = interleaved(
        {
            **{str(counts): (lambda parts: lambda: compose(parts, delta=DELTA))(mixture(counts)) for counts in MIXTURES},
            "different": lambda: compose(DIFFERENT, delta=DELTA),
        }
    )
    for name, found in seconds.items():
        print(f"\n{name}: {1e3 * found:.2f} ms", end="")
    print()
    assert max(seconds[str(counts)] for counts in MIXTURES) <= REACH["three laws"]
    assert seconds["different"] <= REACH["different laws"]


@pytest.mark.parametrize("counts", MIXTURES, ids=str)
def test_three_laws(benchmark: Any, counts: tuple[int, ...]) -> None:
    parts = mixture(counts)
    check(parts, within=1e-9)
    benchmark.group = "100 parts of three laws"
    benchmark(compose, parts, delta=DELTA)


@pytest.mark.parametrize("n", [10, 100, 1000, 10_000])
def test_copies(benchmark: Any, n: int) -> None:
    parts = [THREE[1]] * n
    lower, upper = compose_bounds(parts, delta=DELTA)
    assert lower <= upper <= lower + 1e-9
    benchmark.group = "copies of one law"
    benchmark(compose, parts, delta=DELTA)


@pytest.mark.parametrize("n", [25, 50, 100])
def test_different_laws(benchmark: Any, n: int) -> None:
    check(DIFFERENT[:n], within=1e-4)
    benchmark.group = "different laws"
    benchmark(compose, DIFFERENT[:n], delta=DELTA)


@pytest.mark.parametrize("k", [4, 16, 64])
def test_tables(benchmark: Any, k: int) -> None:
    # Answers near the truth are likelier: weights e^-|i - j| / 2, as integers with one sum.
    weights = np.exp(-0.5 * np.abs(np.subtract.outer(np.arange(k), np.arange(k))))
    table = (weights / weights.sum(axis=1, keepdims=True) * 2.0**60).astype(np.int64)
    np.fill_diagonal(table, table.diagonal() + 2**60 - table.sum(axis=1))
    lower, upper = compose_bounds([table] * 5, delta=DELTA)
    assert lower <= upper <= lower * 1.05
    benchmark.group = "five copies of a table"
    benchmark.pedantic(compose, ([table] * 5,), {"delta": DELTA}, rounds=3)


@pytest.mark.parametrize("n", [8, 50, 200])
def test_split(benchmark: Any, n: int) -> None:
    sizes = [2 + j % 30 for j in range(n)]
    shares = allocate(sizes, epsilon=float(n))
    cost = sum((k - 1) / (math.exp(e) + k - 1) for k, e in zip(sizes, shares, strict=True))
    assert cost < sum((k - 1) / (math.e + k - 1) for k in sizes)
    assert math.isclose(math.fsum(shares), n)
    benchmark.group = "split of a budget"
    benchmark(allocate, sizes, epsilon=float(n))
