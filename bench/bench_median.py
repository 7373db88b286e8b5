"""Speed of `median` of 10^8 unsorted doubles, as ratios to `numpy.median` and to a pass of `numpy.max`; other orders of the data.

    pytest bench/bench_median.py                 everything, about two minutes, 2 GB
    pytest bench/bench_median.py -k ratios -s    the ratios of README alone, saved under bench/results/

Every answer is checked before it is timed.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from timing import interleaved, save

from dpfast import Stream, median

N = 10**8
BOUNDS = (0.0, 1.0)
EPSILONS = (0.1, 1.0)
PASSES = 4.0  # of numpy.max, at most; twice as many for other orders
TIMES = 20.0  # as fast as numpy.median, at least


def answer(values: NDArray[np.float64], epsilon: float) -> float:
    return float(median(values, bounds=BOUNDS, epsilon=epsilon, rng=Stream.insecure(1)))


def check(values: NDArray[np.float64], middle: float) -> None:
    for epsilon in EPSILONS:
        assert abs(answer(values, epsilon) - middle) < 1e-5


def uniform() -> NDArray[np.float64]:
    return np.random.default_rng(1).random(N)


def test_ratios() -> None:
    values = uniform()
    check(values, float(np.partition(values, N // 2)[N // 2]))
    seconds = interleaved(
        {"max": values.max, **{f"{epsilon}": lambda epsilon=epsilon: answer(values, epsilon) for epsilon in EPSILONS}}
    )
    start = time.perf_counter()
    np.median(values)
    whole = time.perf_counter() - start
    ratios = {epsilon: (seconds[f"{epsilon}"] / seconds["max"], whole / seconds[f"{epsilon}"]) for epsilon in EPSILONS}
    says = []
    for epsilon, (passes, times) in ratios.items():
        says.append({"against": f"`numpy.max`, epsilon {epsilon:g}", "says": f"{passes:.1f} times its time"})
        says.append({"against": f"`numpy.median`, epsilon {epsilon:g}", "says": f"{times:.0f} times as fast"})
    save("median", [{"work": "`median`, 10⁸ unsorted doubles", "ratios": says}])
    for epsilon, (passes, times) in ratios.items():
        print(f"\nepsilon {epsilon:g}: {passes:.2f} passes of numpy.max, {times:.0f} times as fast as numpy.median")
    assert all(passes <= PASSES and times >= TIMES for passes, times in ratios.values())


def orders() -> dict[str, Any]:
    ramp = np.linspace(0, 1, N)
    return {
        "sorted": lambda: ramp,
        "reversed": lambda: ramp[::-1].copy(),
        "constant": lambda: np.full(N, 0.25),
        "two values": lambda: (np.arange(N) % 2).astype(np.float64),
        "organ pipes": lambda: np.concatenate([ramp[::2], ramp[::-2]]),
        "nine values": lambda: np.floor(9 * uniform()) / 8,
        "half NaN": lambda: np.where(np.arange(N) % 2, ramp, np.nan),
    }


@pytest.mark.parametrize("name", list(orders()))
def test_orders_of_the_data(name: str) -> None:
    values = orders()[name]()
    seconds = interleaved({"max": values.max, "median": lambda: answer(values, 1.0)}, rounds=3)
    print(f"\n{name}: {seconds['median'] / seconds['max']:.2f} passes of numpy.max")
    assert seconds["median"] <= 2 * PASSES * seconds["max"]


def test_time_grows_with_the_rows() -> None:
    values = uniform()
    sizes = [N // 1000, N // 100, N // 10, N]
    seconds = [interleaved({"median": lambda n=n: answer(values[:n], 1.0)}, rounds=5)["median"] for n in sizes]
    print("\n" + ", ".join(f"{n:.0e} rows {1e9 * second / n:.2f} ns a row" for n, second in zip(sizes, seconds, strict=True)))
    assert seconds[-1] <= 15 * seconds[-2]
