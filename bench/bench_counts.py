"""Speed of `sanitise_counts`, as ratios to sanitising the rows and counting them, and of the keystream it counts.

    pytest bench/bench_counts.py                 everything, about a minute
    pytest bench/bench_counts.py -k ratios -s    the ratios of README alone, saved under bench/results/

Every histogram is checked before it is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from timing import interleaved, save

from dpfast import Domain, RandomisedResponse, Stream
from dpfast.histogram import sanitise_contingency, sanitise_counts

K = 10
EPSILON = 1.0
N = 10**8  # rows of the column that is sanitised
MANY = 10**9  # rows of the histogram alone
REACH = {"rows": 20.0, "sanitised": 3.0}  # at least so many times as fast, on the two-core machine


def moments(counts: NDArray[Any], mechanism: RandomisedResponse) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and variance of each answered count."""
    p = float(mechanism.threshold) / 2**64
    keep, others = 1 - (counts.size - 1) * p, counts.sum() - counts
    return counts * keep + others * p, counts * keep * (1 - keep) + others * p * (1 - p)


def check(counts: NDArray[Any], mechanism: RandomisedResponse, answers: NDArray[np.int64]) -> None:
    mean, variance = moments(counts, mechanism)
    assert answers.sum() == counts.sum()
    assert (np.abs(answers - mean) < 6 * np.sqrt(variance) + 8).all()  # 8: the skew of small counts


def processor_seconds(run: Callable[[], Any]) -> float:
    """Of this thread: what others do on the machine does not count."""
    start = time.thread_time()
    run()
    return time.thread_time() - start


def test_ratios() -> None:
    mechanism = RandomisedResponse(range(K), epsilon=EPSILON)
    counts = np.full(K, N // K)
    column = np.repeat(np.arange(K, dtype=np.uint8), counts)
    out = np.zeros_like(column)

    def rows() -> NDArray[np.int64]:
        mechanism.sanitise(column, rng=Stream.insecure(1), threads=1, out=out)
        return np.bincount(out, minlength=K)

    def direct(n: int = 1) -> NDArray[np.int64]:
        return mechanism.sanitise_counts(counts * n, rng=Stream.insecure(1))

    check(counts, mechanism, rows())
    check(counts, mechanism, direct())
    check(counts * 10, mechanism, direct(10))
    seconds = interleaved(
        {
            "rows": rows,
            "sanitised": lambda: mechanism.sanitise(column, rng=Stream.insecure(1), threads=1, out=out),
            "direct": direct,
            "many": lambda: direct(MANY // N),
        },
        rounds=7,
    )
    ratios = {name: seconds[name] / seconds["direct"] for name in ("rows", "sanitised")}
    says = [
        {"against": "`sanitise` and `numpy.bincount` of the rows, one thread", "says": f"{ratios['rows']:.0f} times as fast"},
        {"against": "`sanitise` alone, one thread", "says": f"{ratios['sanitised']:.1f} times as fast"},
    ]
    save("counts", [{"work": f"`sanitise_counts`, 10⁸ rows, k = {K}", "ratios": says}])
    print(f"\n{MANY:.0e} rows in {seconds['many']:.3f} s")
    print(f"{ratios['rows']:.1f} times as fast as sanitising and counting, {ratios['sanitised']:.1f} as sanitising alone")
    assert all(ratios[name] >= least for name, least in REACH.items())


def test_mean_and_variance_of_many_rows() -> None:
    """Many draws of 10^8 rows: the standardised counts have mean 0 and variance 1, within six of their own deviations."""
    mechanism = RandomisedResponse(range(K), epsilon=EPSILON)
    counts = np.floor(N * 0.6 ** np.arange(K) * 0.4).astype(np.int64)
    mean, variance = moments(counts, mechanism)
    stream, draws = Stream.insecure(2), 300
    z = np.stack([(mechanism.sanitise_counts(counts, rng=stream) - mean) / np.sqrt(variance) for _ in range(draws)])
    print(
        f"\nlargest |mean| {np.abs(z.mean(axis=0)).max():.3f}, variances {z.var(axis=0).min():.3f} to {z.var(axis=0).max():.3f}"
    )
    assert np.abs(z.mean(axis=0)).max() < 6 / np.sqrt(draws)
    assert np.abs(z.var(axis=0) - 1).max() < 6 * np.sqrt(2 / draws)


@pytest.mark.parametrize("k", [2, 10, 1000, 10**6])
def test_cost_is_linear_in_rows(k: int) -> None:
    """Over three decades: ten times the rows take at most twelve times the time, once it is more than the fixed part."""
    mechanism = RandomisedResponse(range(k), epsilon=EPSILON)
    seconds = []
    for n in (10**6, 10**7, 10**8, 10**9):
        counts = np.full(k, n // k)
        check(counts, mechanism, mechanism.sanitise_counts(counts, rng=Stream.insecure(1)))
        seconds.append(min(processor_seconds(lambda: mechanism.sanitise_counts(counts)) for _ in range(5)))  # noqa: B023
    print(f"\nk = {k}: " + ", ".join(f"{s * 1e3:.2f} ms" for s in seconds))
    assert all(b < 12 * a + 0.01 for a, b in pairwise(seconds))


@pytest.mark.parametrize("n", [0, 100, 10**5, 10**7])
def test_rows_of_a_histogram(benchmark: Any, n: int) -> None:
    mechanism = RandomisedResponse(range(K), epsilon=EPSILON)
    counts = np.full(K, n // K)
    check(counts, mechanism, mechanism.sanitise_counts(counts, rng=Stream.insecure(1)))
    benchmark.group = f"sanitise_counts k={K}"
    benchmark.extra_info["rows"] = n
    benchmark(mechanism.sanitise_counts, counts)


class Table:
    """A dense mechanism of which only the table is known."""

    def __init__(self, k: int) -> None:
        self.domain = Domain.range(k)
        self.digest = bytes(32)
        self.table = RandomisedResponse(range(k), epsilon=6.0).table


@pytest.mark.parametrize("k", [10, 256, 4096])
def test_a_dense_table(k: int) -> None:
    mechanism, counts = Table(k), np.full(k, 10**9 // k)
    response = RandomisedResponse(range(k), epsilon=6.0)
    start = time.thread_time()
    answers = sanitise_counts(mechanism, counts, rng=Stream.insecure(1))
    print(f"\n10^9 rows, dense {k} x {k} table: {time.thread_time() - start:.2f} s")
    check(counts, response, answers)


def test_a_contingency_table() -> None:
    mechanisms = [RandomisedResponse(range(k), epsilon=2.0) for k in (16, 3, 105)]
    counts = np.full((16, 3, 105), 10**9 // (16 * 3 * 105))
    start = time.thread_time()
    answers = sanitise_contingency(counts, mechanisms, rng=Stream.insecure(1))
    print(f"\n10^9 rows, 16 x 3 x 105 contingency table: {time.thread_time() - start:.2f} s")
    assert answers.sum() == counts.sum()
    for axis, mechanism in enumerate(mechanisms):
        others = tuple(a for a in range(3) if a != axis)
        check(counts.sum(axis=others), mechanism, answers.sum(axis=others))
