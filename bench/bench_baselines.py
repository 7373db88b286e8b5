"""Speed of comparisons, of releases and of smooth sensitivity; every answer is checked before it is timed.

pytest bench/bench_baselines.py                 everything, a minute or two
pytest bench/bench_baselines.py -k reach -s     the promised figures; kept under results/

Peers, each skipped where it is not installed: OpenDP (opendp), diffprivlib (0.6 needs scikit-learn below 1.6). Both release a
quantile by the exponential mechanism on ranks, with floating-point weights, of a column in memory.
"""

from __future__ import annotations

import time
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest
from timing import interleaved, save

from dpfast import Stream, baselines, median
from dpfast.baselines.data_sets import REAL

EPSILONS = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0]
SEVEN = [
    "duff",
    "laplace",
    "smooth_cauchy",
    "smooth_student_t",
    "smooth_polyplace",
    "smooth_laplace",
    "smooth_laplace_lognormal",
]
MOST_SECONDS = 60.0
NOISES = [name for name in baselines.__all__ if name not in ("compare", "datasets", "smooth_sensitivity")]


def column(n: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).normal(size=n)


def test_reach_of_a_comparison() -> None:
    """A thousand trials of seven mechanisms at six epsilons on seven data sets of ten thousand rows."""
    data = {name: pair for name, pair in baselines.datasets(10_000).items() if name not in REAL}
    assert len(data) == 7
    start, used = time.perf_counter(), time.process_time()
    table = baselines.compare(data, epsilons=EPSILONS, trials=1000, mechanisms=SEVEN, rng=Stream.insecure(1), progress=False)
    seconds, used = time.perf_counter() - start, time.process_time() - used
    assert table.num_rows == 7 * 7 * 6
    rows = {(row["dataset"], row["mechanism"], row["epsilon"]): row["error_mean"] for row in table.to_pylist()}
    assert rows["normal", "duff", 1.0] < rows["normal", "smooth_polyplace", 1.0] < rows["normal", "smooth_cauchy", 1.0]
    save("baselines_compare", [{"answers": 1000 * table.num_rows, "seconds": seconds, "processor seconds": used}])
    print(f"\n{seconds:.1f} s, {used:.1f} of a processor")
    assert used <= MOST_SECONDS


@pytest.mark.parametrize("name", NOISES)
def test_release(benchmark: Any, name: str) -> None:
    values = column(10_000)
    call = getattr(baselines, name)
    options: dict[str, Any] = {"bounds": (-10.0, 10.0), "epsilon": 1.0, "delta": 1e-6, "neighbours": "add_remove"}
    answer = call(values, **options)
    assert answer is None or -10 <= answer <= 10
    benchmark.group = "one release of ten thousand rows"
    benchmark(call, values, **options)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("n", [10**4, 10**5, 10**6])
def test_smooth_sensitivity_grows_with_the_rows(benchmark: Any, n: int, neighbours: Any) -> None:
    values = np.sort(column(n))
    assert 0 < baselines.smooth_sensitivity(values, bounds=(-10, 10), beta=0.01, neighbours=neighbours) < 1
    benchmark.group = f"smooth sensitivity, {neighbours}"
    benchmark(baselines.smooth_sensitivity, values, bounds=(-10, 10), beta=0.01, neighbours=neighbours)


CANDIDATES = np.linspace(-10, 10, 4001)


def opendp_median(epsilon: float) -> Any:
    """Its quantile of a public grid of candidates; neighbours differ by one row more or less."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    scores = dp.t.then_quantile_score_candidates(CANDIDATES.tolist(), alpha=0.5)

    def release(scale: float) -> Any:
        return space >> scores >> dp.m.then_noisy_max(dp.max_divergence(), scale=scale, negate=True)

    spending = release(release(1.0).map(1) / epsilon)
    assert spending.map(1) == pytest.approx(epsilon)
    return lambda values: float(CANDIDATES[spending(values)])


def diffprivlib_median(epsilon: float) -> Any:
    """Its median; the score's sensitivity is that of a row that changes."""
    tools = pytest.importorskip("diffprivlib.tools", exc_type=ImportError)
    return lambda values: float(tools.median(values, epsilon=epsilon, bounds=(-10, 10)))


# How a peer is made, what it takes, and what we are given so that neighbours and answers are the same: the candidates of OpenDP
# are our grid, diffprivlib answers with doubles.
PEERS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "opendp": (opendp_median, np.ndarray.tolist, {"neighbours": "add_remove", "step": 0.005}),
    "diffprivlib": (diffprivlib_median, np.asarray, {"neighbours": "replace_one"}),
}


def both(peer: str, values: np.ndarray[Any, Any], epsilon: float) -> dict[str, Any]:
    """A release of ours and one of theirs."""
    make, taken, same = PEERS[peer]
    ours = partial(median, values, bounds=(-10.0, 10.0), epsilon=epsilon, **same)
    return {"dpfast": ours, peer: partial(make(epsilon), taken(values))}


@pytest.mark.parametrize("peer", sorted(PEERS))
def test_reach_of_a_median(peer: str) -> None:
    few, many = column(1000), column(100_000)
    truth = np.sort(few)[499]
    errors = {name: float(np.mean([abs(run() - truth) for _ in range(400)])) for name, run in both(peer, few, 0.1).items()}
    assert errors["dpfast"] < 1.25 * errors[peer], errors
    contenders = both(peer, many, 1.0)
    for name, run in contenders.items():
        assert abs(np.mean([run() for _ in range(5)]) - np.median(many)) < 0.02, name
    seconds = interleaved(contenders, rounds=5)
    ratio = seconds[peer] / seconds["dpfast"]
    row = {"n": many.size, "version": version(peer), "seconds": seconds, "times faster": ratio}
    save(f"baselines_{peer}", [row | {"mean errors of n = 1000 at epsilon 0.1": errors}])
    print(f"\n{peer} {version(peer)}: {ratio:.1f} times the time of dpfast.median; mean errors {errors}")
    assert ratio > 1
