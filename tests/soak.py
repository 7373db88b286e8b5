"""Where long tests leave their figures: what was tried, how often, and what was found."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "bench" / "results" / "soak.json"


def record(name: str, **figures: int | str) -> None:
    """Keep the figures of one long test; others stay."""
    with RESULTS.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        found = json.loads(file.read() or "{}")
        found[name] = figures
        file.truncate(0)
        file.write(json.dumps(found, indent=1, sort_keys=True) + "\n")
