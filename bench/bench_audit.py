"""Speed of audits by samples: rows a minute of our mechanisms, beside sanitising the same rows and beside numpy.

    pytest bench/bench_audit.py -s

Every verdict is checked before it is timed.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from timing import interleaved

from dpfast import MatrixResponse, RandomisedResponse, Stream
from dpfast.audit import audit

SAMPLES = 1 << 26  # of each of the two categories of a pair
REACH = 1e9  # rows a minute, on one thread
RESPONSE = RandomisedResponse(range(10), epsilon=1.0)
MATRIX = MatrixResponse(range(16), np.full((16, 16), 1 / 32) + np.eye(16) / 2)


def run(mechanism: Any, samples: int, epsilon: float | None = None) -> Any:
    return audit(mechanism, [(0, 1)], epsilon=epsilon, samples=samples, method="samples", rng=Stream.insecure(1), threads=1)


@pytest.mark.parametrize("mechanism", [RESPONSE, MATRIX], ids=["response", "matrix"])
def test_reach(mechanism: Any) -> None:
    epsilon = mechanism.epsilon_at()
    assert not run(mechanism, SAMPLES).rejected
    assert run(mechanism, SAMPLES, 0.98 * epsilon).rejected
    column, out = np.zeros(1 << 23, np.uint8), np.empty(1 << 23, np.uint8)
    p = RESPONSE.threshold / 2**64
    rng = np.random.default_rng(1)

    def sanitise() -> None:
        for _ in range(2 * SAMPLES // column.size):
            mechanism.sanitise(column, rng=Stream.insecure(1), threads=1, out=out)

    def numpy_draws() -> None:  # a quarter of the rows: what an audit without the kernels would draw
        answers = np.where(rng.random(SAMPLES // 2) < 10 * p, rng.integers(0, 10, SAMPLES // 2), 0)
        np.bincount(answers, minlength=10)

    seconds = interleaved({"audit": lambda: run(mechanism, SAMPLES), "rows": sanitise, "numpy": numpy_draws}, rounds=3)
    rate = 2 * SAMPLES / seconds["audit"]
    ratios = seconds["audit"] / seconds["rows"], 4 * seconds["numpy"] / seconds["audit"]
    print(f"\n{60 * rate:.2g} rows a minute; {ratios[0]:.1f} times the rows alone; numpy draws {ratios[1]:.1f} times as long")
    assert 60 * rate >= REACH


def test_cost_grows_linearly() -> None:
    seconds = []
    for samples in (1 << 22, 1 << 24, 1 << 26):
        start = time.thread_time()
        assert not run(RESPONSE, samples).rejected
        seconds.append(time.thread_time() - start)
    print(f"\nexponent {math.log(seconds[2] / seconds[0], 16):.2f}")
    assert seconds[2] < 24 * seconds[0]
