"""Speed of mechanisms that are matrices, as ratios to the copy of the column in the same run.

    pytest bench/bench_matrix.py                 everything
    pytest bench/bench_matrix.py -k ratios -s    the ratios of README alone, saved under bench/results/

Every answer is checked before it is timed.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import peers
import pytest
from timing import interleaved, save

from dpfast import MatrixResponse, Stream

REACH = 20.0  # times the copy
CASES = [(16, np.uint8, 10**8), (1000, np.uint16, 5 * 10**7)]


def dense(k: int) -> Any:
    """A matrix without structure."""
    return np.random.default_rng(k).dirichlet(np.ones(k), k)


def check(mechanism: MatrixResponse, column: Any, answers: Any) -> None:
    """Answers of one category follow its row: chi-square below its mean plus six deviations."""
    k = mechanism.domain.size
    seen = np.bincount(answers[column == k // 2], minlength=k)
    expected = seen.sum() * mechanism.matrix[k // 2]
    likely = expected > 5
    chi = float(((seen - expected)[likely] ** 2 / expected[likely]).sum())
    assert chi < likely.sum() + 6 * np.sqrt(2 * likely.sum())


def test_matrix_ratios() -> None:
    rows = []
    for k, dtype, n in CASES:
        mechanism = MatrixResponse(range(k), dense(k))
        column = np.random.default_rng(1).integers(0, k, n).astype(dtype)
        out = np.empty_like(column)

        def ours(threads: int, mechanism: Any = mechanism, column: Any = column, out: Any = out) -> Any:
            return mechanism.sanitise(column, rng=Stream.insecure(1), threads=threads, out=out)

        one = ours(1).copy()
        check(mechanism, column, one)
        assert (ours(2) == one).all()
        times = interleaved(
            {"copy": lambda column=column, out=out: peers.copy(column, out), "one": lambda ours=ours: ours(1)}, rounds=5
        )
        ratio = times["one"] / times["copy"]
        print(f"\n{k} x {k} {np.dtype(dtype)}: {ratio:.1f} times the copy (reach: {REACH:.0f}), {n / times['one']:.3g} rows/s")
        says = [{"against": "`numpy.copyto` of the column", "says": f"{ratio:.0f} times its time"}]
        rows.append({"work": f"`sanitise`, dense {k} by {k}, {np.dtype(dtype)}, one thread", "ratios": says, "ratio": ratio})
    save("matrix", [{key: row[key] for key in ("work", "ratios")} for row in rows])
    assert all(row["ratio"] <= REACH for row in rows)


def test_exact_delta_of_a_thousand_categories() -> None:
    """The largest delta over a million ordered pairs of rows, in ten seconds at most."""
    mechanism = MatrixResponse(range(1000), dense(1000))
    start = time.perf_counter()
    delta = mechanism.delta_at(1.0)
    seconds = time.perf_counter() - start
    print(f"\ndelta_at, k = 1000: {seconds:.1f} s")
    rows = mechanism.matrix
    assert 0 <= delta - np.maximum(rows[0] - np.e * rows[1], 0).sum()
    assert seconds <= 10


@pytest.mark.parametrize("k", [2, 16, 256, 1000, 4096])
def test_matrix_rows(benchmark: Any, k: int) -> None:
    mechanism = MatrixResponse(range(k), dense(k))
    column = np.random.default_rng(1).integers(0, k, 10**6).astype(np.uint16)
    check(mechanism, column, mechanism.sanitise(column, rng=Stream.insecure(1)))
    benchmark.group = "matrices"
    benchmark.extra_info["rows"] = column.size
    benchmark(mechanism.sanitise, column, threads=1)
