"""Levels of a user: any arrays are levels whose law is a law and whose draws lie on the grid, or an error of ours."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
from fuzz_bytes import Bytes

from dpfast import ArgumentError, ArgumentTypeError, Stream, duff

__all__ = ["one"]

TYPES = ["<i8", "<u8", "<i4", "<u1", ">i2", "<f8", "?"]
STEPS = [1, 2, 0.5, 0.1, 1e-300, 1e300, 0, -1, "1", None, 1 << 70, float("nan"), float("inf")]
FAR = 1 << 22  # weights take 1.5 ns a step of the distance
SAMPLERS = ["race", "sum", "other"]


def one(data: bytes) -> None:
    """Make levels of the bytes, and draw from them by both samplers."""
    given = Bytes(data)
    n, step, epsilon = given.number(0, 6), given.choice(STEPS), given.double()
    origin = given.choice([0, 1, -1, 1 << 64, -(1 << 62), 0.5])
    sampler, size = given.choice(SAMPLERS), given.choice([None, 0, 1, 3, (2, 2), -1])
    arrays = [given.array(n, TYPES) for _ in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            levels = duff.Levels(*arrays, step=step, origin=origin)
        except (ArgumentError, ArgumentTypeError):
            return
        check(levels)
        if int(levels.distance.max()) > FAR:
            return
        try:
            logs = duff.log_probabilities(levels, epsilon=epsilon)
            drawn = duff.sample(levels, epsilon=epsilon, size=size, sampler=sampler, rng=Stream.insecure(len(data)))
        except (ArgumentError, ArgumentTypeError):
            return
    assert logs.shape == (n,)
    assert not np.isnan(logs).any()
    assert (logs <= 0).all()
    assert abs(np.exp(logs).sum() - 1) < 1e-9
    assert np.shape(drawn) == (() if size is None else (size,) if isinstance(size, int) else size)
    least, most = levels.value(int(levels.lower[0])), levels.value(int(levels.upper[-1]))
    assert all(least <= value <= most for value in np.ravel(drawn).tolist())


def check(levels: duff.Levels) -> None:
    """Entries in order and apart, with as many points as they say; the same when they come back from a file."""
    points = [high - low + 1 for low, high in zip(levels.lower.tolist(), levels.upper.tolist(), strict=True)]
    assert points == levels.measure.tolist()
    assert min(points) > 0
    assert sum(points) <= 1 << 62
    assert (levels.lower[1:] > levels.upper[:-1]).all()
    assert not levels.distance.flags.writeable
    again = pickle.loads(pickle.dumps(levels))
    for name in ("distance", "lower", "upper", "measure"):
        assert (getattr(again, name) == getattr(levels, name)).all()
