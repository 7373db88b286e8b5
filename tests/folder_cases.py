"""A folder of three Parquet files, and what jobs on it are asked and looked at with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpfast import Policy, RandomisedResponse, sanitise_file

TOWNS = ["Bray", "Cork", "Dingle", "Ennis"]
NAMES = ("a.parquet", "deep/er/b.parquet", "deep/c.parquet")
ROWS = {"a.parquet": 300, "deep/er/b.parquet": 0, "deep/c.parquet": 170}
POLICY = Policy({"town": RandomisedResponse(TOWNS, epsilon=1.0), "id": "public"})


def table(rows: int, first: int = 0) -> pa.Table:
    codes = np.random.default_rng(first).integers(0, 4, rows)
    ids = pa.array(range(first, first + rows), pa.int64())
    return pa.table({"id": ids, "town": pa.array(TOWNS).take(pa.array(codes))})


def sanitised(target: str = "out", source: str = "source", policy: Policy = POLICY, **options: Any) -> Any:
    return sanitise_file(source, target, policy, **options)


def read(path: Path | str) -> list[str]:
    return list(pq.ParquetFile(path).read()["town"].to_pylist())


def values(target: str = "out") -> dict[str, list[str]]:
    return {name: read(Path(target, name)) for name in ROWS}


def listed(place: str | Path = ".") -> list[str]:
    return sorted(path.relative_to(place).as_posix() for path in Path(place).rglob("*") if path.is_file())


def write_source() -> None:
    """Write the folder ``source`` here."""
    for number, (name, rows) in enumerate(ROWS.items()):
        path = Path("source", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table(rows, 1000 * number), path)
