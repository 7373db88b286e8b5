"""Where long tests leave their figures: what was tried, how often, and what was found."""

from __future__ import annotations

import json
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "bench" / "results" / "soak_etl.json"


def record(name: str, **figures: int | str) -> None:
    """Keep the figures of one long test; others stay."""
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    found[name] = figures
    RESULTS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
