"""Ratios measured in one run: every contender in turn, round after round, the least of each."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["interleaved", "machine", "save"]

RESULTS = Path(__file__).parent / "results"


def interleaved(contenders: Mapping[str, Callable[[], Any]], rounds: int = 7) -> dict[str, float]:
    """Least seconds of each contender; all take part in every round, so a slow spell of the machine meets all of them."""
    seconds = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    from dpfast._core import rows as core

    model = next((line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.machine())
    return {
        "date": date.today().isoformat(),
        "processor": model,
        "processors": os.cpu_count(),
        "simd": core.isa(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def save(name: str, rows: list[dict[str, Any]]) -> None:
    """Keep a summary under results/, with the machine."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
