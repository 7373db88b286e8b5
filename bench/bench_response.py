"""Speed of `RandomisedResponse.sanitise`, as ratios to numpy in the same run.

    pytest bench/bench_response.py                 everything, about two minutes
    pytest bench/bench_response.py -k ratios -s    the ratios of README alone, saved under bench/results/

Every answer is checked before it is timed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import peers
import pytest
from numpy.typing import NDArray
from timing import interleaved, save

from dpfast import RandomisedResponse, Stream
from dpfast.reference.sanitise import sanitise as reference
from dpfast.reference.words import insecure_master_key

N = 10**8
K = 10
EPSILON = 1.0
# what is promised on the two-core machine: at most so many times the copy, at least so many times as fast as numpy
REACH = {"copy": 8.0, "numpy plain": 25.0, "numpy tiled": 10.0}


@pytest.fixture(scope="module")
def mechanism() -> RandomisedResponse:
    return RandomisedResponse(range(K), epsilon=EPSILON)


@pytest.fixture(scope="module")
def column() -> NDArray[np.uint8]:
    return np.random.default_rng(1).integers(0, K, N, dtype=np.uint8)


def check(mechanism: RandomisedResponse, column: NDArray[Any], answers: NDArray[Any]) -> None:
    """Compare the first thousand rows with the reference and the share of kept rows with the law."""
    head = reference(column[:1000].tolist(), list(range(K)), mechanism.threshold, master=insecure_master_key(1))
    assert answers[:1000].tolist() == head
    check_share(float(mechanism.keep_probability), column, answers)


def check_share(keep: float, column: NDArray[Any], answers: NDArray[Any]) -> None:
    spread = np.sqrt(keep * (1 - keep) / column.size)
    assert abs(np.mean(answers == column) - keep) < 6 * spread


def test_ratios(mechanism: RandomisedResponse, column: NDArray[np.uint8]) -> None:
    out = np.zeros_like(column)
    rng = np.random.default_rng(2)
    p = float(mechanism.threshold) / 2**64
    keep = 1 - K * p  # the peers redraw among all k categories

    def ours(threads: int) -> NDArray[np.uint8]:
        return mechanism.sanitise(column, rng=Stream.insecure(1), threads=threads, out=out)

    for threads in (1, 2):
        check(mechanism, column, ours(threads))
    check_share(float(mechanism.keep_probability), column, peers.numpy_plain(column, keep, K, rng))
    check_share(float(mechanism.keep_probability), column, peers.numpy_tiled(column, keep, K, rng, out))

    fast = interleaved(
        {"copy": lambda: peers.copy(column, out), "one thread": lambda: ours(1), "two threads": lambda: ours(2)}, rounds=9
    )
    slow = interleaved(
        {
            "one thread": lambda: ours(1),
            "numpy plain": lambda: peers.numpy_plain(column, keep, K, rng),
            "numpy tiled": lambda: peers.numpy_tiled(column, keep, K, rng, out),
        },
        rounds=3,
    )
    ratios = {
        "copy": fast["one thread"] / fast["copy"],
        "numpy plain": slow["numpy plain"] / slow["one thread"],
        "numpy tiled": slow["numpy tiled"] / slow["one thread"],
        "two threads": fast["one thread"] / fast["two threads"],
    }
    says = [
        {"against": "`numpy.copyto` of the column", "says": f"{ratios['copy']:.1f} times its time"},
        {
            "against": "`np.where(rng.random(n) < keep, x, rng.integers(0, k, n))`",
            "says": f"{ratios['numpy plain']:.0f} times as fast",
        },
        {"against": "the same in tiles, float32 and uint8", "says": f"{ratios['numpy tiled']:.0f} times as fast"},
    ]
    save("response", [{"work": f"`sanitise`, 10⁸ uint8 codes, k = {K}, one thread", "ratios": says}])
    print(f"\n{N / fast['one thread']:.3g} rows a second on one thread")
    print(f"{ratios['copy']:.2f} times the copy (reach: at most {REACH['copy']:.0f})")
    for name in ("numpy plain", "numpy tiled"):
        print(f"{ratios[name]:.1f} times as fast as {name} (reach: {REACH[name]:.0f})")
    print(f"two threads {ratios['two threads']:.2f} times as fast as one (reach: 1.7)")
    assert ratios["copy"] <= REACH["copy"]
    assert ratios["numpy plain"] >= REACH["numpy plain"]
    assert ratios["numpy tiled"] >= REACH["numpy tiled"]


@pytest.mark.parametrize("n", [64, 10**5, 10**7])
@pytest.mark.parametrize(("k", "dtype"), [(10, np.uint8), (1000, np.uint16), (100_000, np.uint32)])
def test_rows(benchmark: Any, n: int, k: int, dtype: Any) -> None:
    mechanism = RandomisedResponse(range(k), epsilon=EPSILON)
    column = np.random.default_rng(1).integers(0, k, n).astype(dtype)
    check_share(float(mechanism.keep_probability), column, mechanism.sanitise(column, rng=Stream.insecure(1)))
    benchmark.group = f"sanitise k={k} {np.dtype(dtype)}"
    benchmark.extra_info["rows"] = n
    benchmark(mechanism.sanitise, column, threads=1)


@pytest.mark.parametrize("kind", ["integers", "text of 36 characters"])
def test_permanent_noise(benchmark: Any, mechanism: RandomisedResponse, kind: str) -> None:
    n = 10**6
    column = np.random.default_rng(1).integers(0, K, n, dtype=np.uint8)
    ids: Any = np.arange(n)
    if kind != "integers":
        import pyarrow as pa

        ids = pa.array([f"{i:036d}" for i in range(n)])
    stream = Stream(key=bytes(32), context="bench")
    once = mechanism.sanitise(column, rng=stream, ids=ids, column_name="c")
    check_share(float(mechanism.keep_probability), column, once)
    assert (once == mechanism.sanitise(column, rng=stream, ids=ids, column_name="c")).all()
    benchmark.group = "permanent noise"
    benchmark.extra_info["rows"] = n
    benchmark(mechanism.sanitise, column, rng=stream, ids=ids, column_name="c", threads=1)
