"""Policy files and what they point to: any bytes are a policy whose figures verify, or one of our errors."""

from __future__ import annotations

import json
import math
from pathlib import Path

from faulty import quick_place

from dpfast import DpfastError, Policy, verify

__all__ = ["one"]

TOML = b"version = 1\n[columns.a]\ndomain = %s\nepsilon = 1.0\n"
MATRIX = b'version = 1\n[columns.a]\ndomain = ["x", "y"]\nmechanism = "matrix"\nmatrix_file = "%s"\n'
# What the bytes are: the name of the file that holds them, and the policy that points to it.
FILES = (
    ("policy.toml", None),
    ("d.txt", TOML % b'"d.txt"'),
    ("d.json", TOML % b'"d.json"'),
    ("m.csv", MATRIX % b"m.csv"),
    ("m.json", MATRIX % b"m.json"),
    ("m.npy", MATRIX % b"m.npy"),
)


def one(data: bytes) -> None:
    """Load what the bytes say; an error is one of ours, and a policy is the same one when it is loaded again."""
    name, pointing = FILES[data[0] % len(FILES)] if data else FILES[0]
    with quick_place() as place:
        (place / name).write_bytes(data[1:])
        if pointing is not None:
            (place / "policy.toml").write_bytes(pointing)
        try:
            policy = Policy.load(place / "policy.toml")
        except DpfastError as error:
            refused = error
        else:
            check(policy, place / "policy.toml")
            return
        assert type(refused) is not DpfastError, "an error of no kind"
        assert str(refused)


def check(policy: Policy, path: Path) -> None:
    """Its figures are figures, its certificate proves them, and nothing depends on when it was loaded."""
    assert Policy.load(path).digest == policy.digest
    if not policy.sanitised:
        return
    privacy = policy.privacy()
    assert privacy.epsilon >= 0
    assert 0 <= privacy.delta <= 1
    assert not math.isnan(policy.privacy(delta=0.5).epsilon)
    repr(policy)
    policy.describe()
    certificate = json.loads(json.dumps(policy.certificate()))
    assert verify(certificate).epsilon <= privacy.epsilon
