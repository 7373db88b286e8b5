"""Nine quantiles at once against the published joint algorithm by fast Fourier transforms; and where piecewise Laplace is better.

The Fourier peer is written after Gillenwater, Joseph and Kulesza (ICML 2021): log-space tables of all counts of quantiles in one
cell, convolutions by FFT.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.special
from numpy.typing import NDArray
from timing import interleaved, save

import dpfast
from dpfast import Stream

N = 10**6
QS = [i / 10 for i in range(1, 10)]
BOUNDS = (-100.0, 100.0)
REACH = 20.0


def fourier_quantiles(
    values: NDArray[np.float64], qs: list[float], epsilon: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """The published algorithm: O(m n log n + m^2 n) time and m^2 n numbers."""
    data = np.sort(np.clip(values, *BOUNDS))
    n, m = data.size, len(qs)
    edges = np.concatenate([[BOUNDS[0]], data, [BOUNDS[1]]])
    with np.errstate(divide="ignore"):
        log_widths = np.log(np.diff(edges))
    gaps = np.diff(np.concatenate([[0.0], qs, [1.0]]))
    slope = epsilon / (4 * (1 - gaps.min()))
    cells, counts = n + 1, np.arange(n + 1)
    tables = np.full((m, cells, m), -np.inf)
    tables[0, :, 0] = -slope * np.abs(counts - gaps[0] * n) + log_widths
    size = 1 << (2 * cells - 1).bit_length()
    for j in range(1, m):
        phi = -slope * np.abs(counts - gaps[j] * n)
        before = scipy.special.logsumexp(tables[j - 1, :, :j], axis=1)
        top = before.max()
        kernel = np.exp(phi)
        kernel[0] = 0.0
        product = np.fft.irfft(np.fft.rfft(np.exp(before - top), size) * np.fft.rfft(kernel, size), size)[:cells]
        with np.errstate(divide="ignore"):
            tables[j, :, 0] = np.log(np.maximum(product, 0.0)) + top + log_widths
        for k in range(1, j + 1):
            tables[j, :, k] = log_widths + phi[0] + tables[j - 1, :, k - 1] - np.log(k + 1)
    found: list[float] = []
    j, ahead = m - 1, n
    while j >= 0:
        way = -slope * np.abs(ahead - counts[: ahead + 1] - gaps[j + 1] * n)
        if found:
            way[-1] = -np.inf
        weights = tables[j, : ahead + 1, : j + 1] + way[:, None]
        place = int(np.argmax(weights + rng.gumbel(size=weights.shape)))
        cell, together = divmod(place, j + 1)
        found.extend(rng.uniform(edges[cell], edges[cell + 1], together + 1).tolist())
        j, ahead = j - together - 1, cell
    return np.sort(found)


def ranks_off(values: NDArray[np.float64], answers: NDArray[Any]) -> float:
    ranks = np.searchsorted(np.sort(values), answers)
    return float(np.abs(ranks - np.array(QS) * values.size).max())


def test_joint_ratios() -> None:
    values = np.random.default_rng(0).normal(0, 10, N)
    random = np.random.default_rng(1)

    def ours(epsilon: float = 1.0) -> NDArray[Any]:
        return dpfast.quantiles(values, QS, bounds=BOUNDS, epsilon=epsilon, rng=Stream.insecure(1))

    assert ranks_off(values, ours()) < 60
    assert ranks_off(values, fourier_quantiles(values, QS, 1.0, random)) < 60
    seconds = interleaved(
        {
            "ours": ours,
            "all rows": lambda: ours(0.01),
            "fourier": lambda: fourier_quantiles(values, QS, 1.0, random),
        },
        rounds=3,
    )
    ratio, slow = seconds["fourier"] / seconds["ours"], seconds["fourier"] / seconds["all rows"]
    print("\n" + ", ".join(f"{name} {second:.3f} s" for name, second in seconds.items()) + f": {ratio:.0f}, {slow:.1f}")
    says = [
        {"against": "the published FFT algorithm, epsilon 1", "says": f"{ratio:.0f} times as fast"},
        {"against": "the same, epsilon 0.01 (all rows matter)", "says": f"{slow:.1f} times as fast"},
    ]
    save("joint", [{"work": "`quantiles`, 9 of 10⁶ rows", "ratios": says}])
    assert ratio >= REACH


def test_cost_is_linear_in_rows() -> None:
    for epsilon in (1.0, 0.001):
        seconds = []
        for n in (10**4, 10**5, 10**6):
            values = np.random.default_rng(0).normal(0, 10, n)
            start = time.thread_time()
            dpfast.quantiles(values, QS, bounds=BOUNDS, epsilon=epsilon, rng=Stream.insecure(1), threads=1)
            seconds.append(time.thread_time() - start)
        print(f"\nepsilon {epsilon}: " + ", ".join(f"{s * 1e3:.1f} ms" for s in seconds))
        assert seconds[2] < 14 * seconds[1] + 0.05


def test_error_of_piecewise_laplace_and_duff() -> None:
    """Mean absolute error of the median: fine and coarse grids."""
    draws, stream = 300, Stream.insecure(1)
    for name, n, step, epsilon in (
        ("101 normal values", 101, None, 0.2),
        ("101 normal values", 101, None, 1.0),
        ("1001 normal values", 1001, None, 1.0),
        ("1001 integers", 1001, 1, 1.0),
    ):
        values = np.random.default_rng(2).normal(0, 1 if step is None else 10, n)
        errors = {}
        for method in ("duff", "piecewise_laplace"):
            found = [
                dpfast.median(values, bounds=(-100, 100), step=step, epsilon=epsilon, method=method, rng=stream)
                for _ in range(draws)
            ]
            errors[method] = float(np.abs(np.array(found) - np.sort(values)[(n - 1) // 2]).mean())
        print(f"\n{name}, epsilon {epsilon}: " + ", ".join(f"{method} {error:.4f}" for method, error in errors.items()))
