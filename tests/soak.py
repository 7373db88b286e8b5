"""Where long tests leave their figures: what was tried, how often, what was found, on which day, and how long it took."""

from __future__ import annotations

import datetime
import fcntl
import json
from pathlib import Path

__all__ = ["RESULTS", "begin", "keep", "record"]

RESULTS = Path(__file__).resolve().parents[1] / "bench" / "results" / "soak.json"

_figures: dict[str, dict[str, int | float | str]] = {}


def record(name: str, **figures: int | float | str) -> None:
    """Keep the figures of the test that runs, once it has ended; those of tests that are not slow are not kept."""
    _figures[name] = figures


def begin() -> None:
    """Forget figures of the test before."""
    _figures.clear()


def keep(test: str, *, passed: bool, seconds: float) -> None:
    """Write down how a slow test ended. What the file says of other tests stays."""
    entry = {
        "date": datetime.date.today().isoformat(),
        "seconds": round(seconds, 1),
        "passed": passed,
        "figures": dict(_figures),
    }
    with RESULTS.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        found = json.loads(file.read() or "{}")
        found[test] = entry
        file.truncate(0)
        file.write(json.dumps(found, indent=1, sort_keys=True) + "\n")
