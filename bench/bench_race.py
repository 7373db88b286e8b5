"""Speed of `race`, of `duff.sample` and of the table of weights; every answer is checked before it is timed.

pytest bench/bench_race.py                 everything, some minutes; a gigabyte of memory
pytest bench/bench_race.py -k reach -s     the promised ratios; kept under results/
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from timing import interleaved, save

from dpfast import Stream, duff, race
from dpfast.duff.weights import Weights

N = 10**8
# Against a pass of numpy.max over the same array, and against what a numpy user writes.
REACH = {"numpy.max": 6.0, "numpy Gumbel argmax": 20.0}
SHAPES = ["flat", "slope", "spread"]


def weights(shape: str, n: int) -> np.ndarray[Any, Any]:
    """Log-weights: all alike, those of a median of n rows at epsilon 1, or normal."""
    if shape == "flat":
        return np.full(n, -2.5)  # zeros would be one page of memory, seen n times
    if shape == "slope":
        return -0.5 * np.abs(np.arange(n) - n / 2)
    return np.random.default_rng(1).normal(size=n)


def gumbel(logs: np.ndarray[Any, Any], generator: np.random.Generator) -> int:
    return int(np.argmax(logs + generator.gumbel(size=logs.size)))


def check(shape: str) -> None:
    """The law, on a small array of the same shape."""
    logs = weights(shape, 20_000)
    law = np.exp(logs - logs.max())
    law /= law.sum()
    found = race(logs, size=2000, rng=Stream.insecure(1))
    mean, deviation = law @ np.arange(logs.size), np.sqrt(law @ np.arange(logs.size) ** 2 - (law @ np.arange(logs.size)) ** 2)
    assert abs(found.mean() - mean) <= 6 * deviation / np.sqrt(found.size)


@pytest.mark.parametrize("shape", SHAPES)
def test_race_ratios(shape: str) -> None:
    check(shape)
    logs = weights(shape, N)
    generator = np.random.default_rng(2)
    seconds = interleaved({"race": lambda: race(logs), "numpy.max": logs.max}, rounds=7)
    seconds |= interleaved({"numpy Gumbel argmax": lambda: gumbel(logs, generator), "race": lambda: race(logs)}, rounds=2) | {
        "race": seconds["race"]
    }
    ratios = {
        "numpy.max": seconds["race"] / seconds["numpy.max"],
        "numpy Gumbel argmax": seconds["numpy Gumbel argmax"] / seconds["race"],
    }
    says = [
        {"against": "`numpy.max`", "says": f"{ratios['numpy.max']:.1f} times its time"},
        {"against": "numpy Gumbel and argmax", "says": f"{ratios['numpy Gumbel argmax']:.0f} times as fast"},
    ]
    rows = [{"work": f"`race`, 10⁸ log-weights, {shape}", "ratios": says}]
    save(f"race_{shape}", rows)
    print(
        f"\n{shape}: {seconds['race']:.3f} s, {ratios['numpy.max']:.1f} passes, {ratios['numpy Gumbel argmax']:.1f} times faster"
    )
    assert ratios["numpy.max"] <= REACH["numpy.max"] or shape != "flat"
    assert ratios["numpy Gumbel argmax"] >= REACH["numpy Gumbel argmax"]


@pytest.mark.parametrize("n", [10**3, 10**5, 10**7])
def test_race_grows_with_the_items(benchmark: Any, n: int) -> None:
    check("spread")
    logs = weights("spread", n)
    benchmark.group = "race of normal log-weights"
    benchmark(race, logs)


@pytest.mark.parametrize("sampler", ["race", "sum"])
@pytest.mark.parametrize("n", [10**3, 10**5, 10**7])
def test_sample(benchmark: Any, n: int, sampler: str) -> None:
    levels = duff.Levels(np.abs(np.arange(n) - n // 2), np.arange(n), np.arange(n), step=1)
    assert abs(duff.sample(levels, epsilon=1.0, sampler=sampler) - n // 2) < 60
    benchmark.group = f"sample of {n} levels"
    benchmark(duff.sample, levels, epsilon=1.0, sampler=sampler)


@pytest.mark.parametrize("epsilon", [1.0, 1e-3, 1e-6])
def test_table_of_weights(benchmark: Any, epsilon: float) -> None:
    table = Weights(epsilon).table(10**7)
    assert np.all(table[:-1] >= table[1:])
    benchmark.group = "weights of ten million distances"
    benchmark(lambda: Weights(epsilon).table(10**7))
