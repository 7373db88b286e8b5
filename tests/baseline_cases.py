"""Closed forms of the laws of noise, and of what a baseline answers on a small grid, for the tests of baselines."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.integrate
import scipy.stats
from numpy.typing import NDArray

from dpfast.baselines.noise import LaplaceLognormalNoise, LaplaceNoise, PolyPlaceNoise, StudentNoise
from dpfast.baselines.sensitivity import Problem, problem_of
from dpfast.reference import duff as reference

__all__ = ["NODES", "NODE_WEIGHTS", "answers", "excess", "hockey_stick", "log_density", "loss", "pairs", "problem", "tail"]

Floats = NDArray[np.float64]
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(60)


def tail(noise: Any, x: Floats) -> Floats:
    """P(Z > x) for x >= 0."""
    if isinstance(noise, LaplaceNoise):
        return np.exp(-x) / 2
    if isinstance(noise, StudentNoise):
        return np.asarray(scipy.stats.t.sf(x, noise.degrees))
    if isinstance(noise, LaplaceLognormalNoise):
        scales = np.exp(float(noise.sigma) * NODES)
        return np.asarray((np.exp(-np.asarray(x)[..., None] / scales) * NODE_WEIGHTS).sum(-1) / NODE_WEIGHTS.sum() / 2)
    assert isinstance(noise, PolyPlaceNoise)
    a, turn, beyond = noise.exponent, float(noise.turn), float(noise.beyond)
    near = 1 - (1 - (1 - np.minimum(x, turn)) ** a) / float(noise.total)
    return np.where(x <= turn, near, beyond * ((1 + turn) / (1 + x)) ** a) / 2


def log_density(noise: Any, x: Floats) -> Floats:
    """Up to a constant."""
    x = np.abs(x)
    if isinstance(noise, LaplaceNoise):
        return -x
    if isinstance(noise, StudentNoise):
        return -(noise.degrees + 1) / 2 * np.log1p(x * x / noise.degrees)
    assert isinstance(noise, PolyPlaceNoise)
    a, turn = noise.exponent, float(noise.turn)
    far = (a - 1) * math.log(1 - turn) + (a + 1) * math.log(1 + turn) - (a + 1) * np.log1p(x)
    return np.where(x <= turn, (a - 1) * np.log1p(-np.minimum(x, turn)), far)


def answers(plan: Any) -> Floats:
    """The law of the grid indices 0 .. top of noise that is rounded and clamped; for a test before, then of no result, too."""
    if hasattr(plan, "surplus"):
        surplus = math.inf if plan.surplus is None else float(plan.surplus)
        passed = 1 - math.exp(-surplus) / 2 if surplus >= 0 else math.exp(surplus) / 2
        return np.append(passed * answers(plan.answer), 1 - passed)
    cuts = (np.arange(plan.top) + 0.5 - float(plan.centre)) / float(plan.scale)
    above = tail(plan.noise, np.abs(cuts))
    above = np.concatenate([[1.0], np.where(cuts >= 0, above, 1 - above), [0.0]])
    # differences of tails on the side where they are small
    below = np.concatenate([[0.0], np.where(cuts < 0, tail(plan.noise, np.abs(cuts)), 1 - tail(plan.noise, np.abs(cuts))), [1.0]])
    return np.where(above[:-1] < 0.5, above[:-1] - above[1:], below[1:] - below[:-1])


def excess(first: Floats, second: Floats, epsilon: float) -> float:
    """The largest P(A) - e^epsilon P'(A)."""
    return float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())


def problem(counts: tuple[int, ...], statistic: str, relation: str) -> Problem:
    rows = np.array(reference.rows_of(counts), np.int64)
    return problem_of(rows, (0, len(counts) - 1), 1, statistic, relation)  # type: ignore[arg-type]


def pairs(sets: list[tuple[int, ...]], relation: str) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    known = set(sets)
    for counts in sets:
        for other in reference.neighbours_of(counts, relation):
            if other in known:
                yield counts, other


def loss(density: Callable[[Floats], Floats], alpha: float, beta: float) -> float:
    """The largest log-ratio between noise of scales 1 / alpha and e^r / alpha, |r| <= beta, and shifts up to the smaller one."""
    z = np.concatenate([np.linspace(-4, 4, 4001), np.geomspace(4, 1e9, 1500), -np.geomspace(4, 1e9, 1500)])
    worst = -math.inf
    for r in np.linspace(-beta, beta, 9):
        for shift in np.linspace(0, alpha * min(1.0, math.exp(r)), 5):
            other = density((z - shift) * math.exp(-r)) - r  # scale e^r times as wide, centre moved
            ratio = density(z) - other
            worst = max(worst, float(ratio.max()), float(-ratio.min()))
    return worst


def hockey_stick(density: Callable[[Any], Any], other: Callable[[Any], Any], epsilon: float, breaks: list[float]) -> float:
    """Integral of (p - e^epsilon q)+ over the line, between the breaks."""
    total = 0.0
    for low, high in itertools.pairwise(breaks):
        total += scipy.integrate.quad(
            lambda x: max(0.0, density(x) - math.exp(epsilon) * other(x)), low, high, epsabs=1e-14, limit=400
        )[0]
    return total
