"""Randomised response by other libraries: the same law, the same epsilon, k = 10, one thread.

    pytest bench/bench_libraries.py -s

multi-freq-ldpy (GRR, compiled by Numba, a call a value; numpy's generator, not a cryptographic one) and OpenDP
(make_randomized_response, exact, cryptographic, a call a value), each skipped where it is not installed. Both take one value at a
time, so they are measured over fewer rows: theirs is time for a value, ours time for a row of a million.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np
import pytest
from timing import interleaved, save

from dpfast import RandomisedResponse, Stream

K, EPSILON = 10, 1.0
ROWS = 10**6
KEEP = math.exp(EPSILON) / (math.exp(EPSILON) + K - 1)


def multi_freq_ldpy() -> Callable[[int], int]:
    client = pytest.importorskip("multi_freq_ldpy.pure_frequency_oracles.GRR").GRR_Client
    return lambda value: client(value, K, EPSILON)


def opendp() -> Callable[[int], int]:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    respond = dp.m.make_randomized_response(categories=list(range(K)), prob=KEEP)
    assert math.isclose(respond.map(1), EPSILON, rel_tol=1e-9)
    return lambda value: respond(value)


@pytest.mark.parametrize(("package", "client", "n"), [("multi-freq-ldpy", multi_freq_ldpy, 20_000), ("opendp", opendp, 2_000)])
def test_library_ratios(package: str, client: Any, n: int) -> None:
    respond = client()
    column = np.random.default_rng(1).integers(0, K, ROWS, dtype=np.uint8)
    few = column[:n].tolist()
    mechanism = RandomisedResponse(range(K), epsilon=EPSILON)

    def ours() -> Any:
        return mechanism.sanitise(column, rng=Stream.insecure(1), threads=1)

    def theirs() -> list[int]:
        return [respond(value) for value in few]

    for truth, answers in ((column, ours()), (few, theirs())):
        share = np.mean(np.asarray(answers) == np.asarray(truth))
        assert abs(share - KEEP) < 6 * math.sqrt(KEEP * (1 - KEEP) / len(truth))
    seconds = interleaved({"ours": ours, "theirs": theirs}, rounds=5)
    ratio = seconds["theirs"] / n / (seconds["ours"] / ROWS)
    print(f"\n{package}: {seconds['theirs'] / n * 1e9:.0f} ns a value, {ratio:.0f} times that of dpfast")
    says = [{"against": f"{package} {metadata.version(package)}, a call a value", "says": f"{ratio:,.0f} times as fast"}]
    save(f"library_{package}", [{"work": f"randomised response, k = {K}, one thread", "ratios": says}])
    assert ratio > 10
