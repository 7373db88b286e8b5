"""Private inputs in pairs of one schema, the containers they come in, and the places where a canary may hide."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

__all__ = ["CANARY", "FAMILIES", "NUMBER", "TOWNS", "Family", "Scenario", "held"]

CANARY = hashlib.blake2b(b"canary", digest_size=16).hexdigest()
NUMBER = 271828.1828459045  # outside all bounds of the scenarios
# In text, in memory, and in a pickle, whole or rounded.
MARKS = (CANARY.encode(), b"271828", *(struct.pack(kind, NUMBER) for kind in ("<d", ">d")), struct.pack("<q", int(NUMBER)))
TOWNS = ["Bray", "Cork", "Dingle"]
Make = Callable[[Any], Any]


@dataclass(frozen=True)
class Family:
    """Inputs of one kind."""

    pairs: Mapping[str, tuple[Any, Any]]
    containers: Mapping[str, Make] = field(default_factory=lambda: {"as it is": lambda raw: raw})
    canaries: Mapping[str, Callable[[], Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Scenario:
    """One way to call something public with an input of a family."""

    call: Callable[[Any], Any]
    family: str
    result: str = "released"


def held(data: bytes) -> bool:
    """Whether a canary is in there."""
    return any(mark in data for mark in MARKS)


# Labels


def objects(raw: list[Any]) -> np.ndarray:
    column = np.empty(len(raw), object)
    column[:] = raw
    return column


def chunked(raw: list[Any]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(raw[:1], pa.string()), pa.array(raw[1:], pa.string())])


LABEL_CONTAINERS: dict[str, Make] = {
    "objects": objects,
    "arrow": lambda raw: pa.array(raw, pa.string()),
    "arrow dictionary": lambda raw: pa.array(raw, pa.string()).dictionary_encode(),
    "arrow chunks": chunked,
    "pandas": lambda raw: pd.Series(raw, dtype=object),
    "categorical": lambda raw: pd.Series(pd.Categorical(raw, categories=sorted({*TOWNS, *raw} - {None}))),
    "polars": lambda raw: pl.Series(raw, dtype=pl.String),
    "polars enum": lambda raw: pl.Series(raw, dtype=pl.Enum(sorted({*TOWNS, *raw} - {None}))),
}
PLAIN = ["Bray", "Cork", "Bray", "Dingle", "Cork", "Bray"]
LABELS = {
    "usual": (PLAIN, PLAIN[::-1]),
    "strangers": (["Mars", *PLAIN[1:]], [*PLAIN[:5], "a stranger of another length"]),
    "no stranger": (["Mars"] * 6, PLAIN),
    "nulls": ([None, *PLAIN[1:]], [*PLAIN[:5], None]),
    "all null": ([None] * 6, PLAIN),
    "all equal": (["Cork"] * 6, ["Dingle"] * 6),
    "empty text": ([""] * 6, PLAIN),
    "controls": (["\x1b[31m", "\0", *PLAIN[2:]], PLAIN),
}


def coded(codes: list[int | None]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array([*TOWNS, CANARY]))


def masked() -> pa.Array:
    """Text whose bytes lie under a null."""
    texts = pa.array([CANARY, *PLAIN[1:]])
    return pa.Array.from_buffers(pa.string(), 6, [pa.py_buffer(b"\xfe"), *texts.buffers()[1:]])


LABEL_CANARIES: dict[str, Callable[[], Any]] = {
    "unused entry": lambda: coded([0, 1, 2, 0, 1, 2]),
    "unused category": lambda: pd.Series(pd.Categorical(PLAIN, categories=[*TOWNS, CANARY])),
    "unused of an enum": lambda: pl.Series(PLAIN, dtype=pl.Enum([*TOWNS, CANARY])),
    "under a null": masked,
    "entry under a null": lambda: coded([None, 3, 0, 1, 2, 0])[:1],
    "before a slice": lambda: pa.array([CANARY, *PLAIN]).slice(1),
    "before a coded slice": lambda: coded([3, 0, 1, 2, 0, 1, 2]).slice(1),
    **{f"stranger, {name}": (lambda make=make: make([CANARY, *PLAIN[1:]])) for name, make in LABEL_CONTAINERS.items()},
}

# Numbers

NUMBER_CONTAINERS: dict[str, Make] = {
    "list": lambda raw: raw,
    "float64": lambda raw: np.array(raw, np.float64),
    "float32": lambda raw: np.clip(np.array(raw, np.float64), -1e38, 1e38).astype(np.float32),
    "arrow": lambda raw: pa.array(raw, pa.float64(), from_pandas=True),
    "pandas": lambda raw: pd.Series(raw, dtype="float64"),
    "polars": lambda raw: pl.Series(raw, dtype=pl.Float64),
}
FEW = [1.0, 2.5, 3.0, 50.0, 99.0, 7.0]
SAME_SIZE = {
    "usual": (FEW, [5.0, 4.0, 77.0, 8.0, 9.0, 0.5]),
    "extremes": ([1e308, -1e308, 0.0, 5e-324, -0.0, 1e300], FEW),
    "special": ([float("nan"), float("inf"), float("-inf"), 1.0, 2.0, 3.0], FEW),
    "all missing": ([float("nan")] * 6, FEW),
    "all equal": ([5.0] * 6, FEW),
    "all outside": ([1e9] * 6, [-1e9] * 6),
    # beyond the sizes that are simply sorted
    "large": ([1e308, -1e308, float("nan"), 7.0] * 8200, [row % 1000 / 10 for row in range(32_800)]),
}
SIZES = {
    "none": ([], FEW),
    "one": ([3.0], FEW * 40),
    "many equal": ([0.0] * 1500, FEW),
}
NUMBER_CANARIES: dict[str, Callable[[], Any]] = {
    **{
        f"outside, {name}": (lambda make=make: make([NUMBER, *FEW]))
        for name, make in NUMBER_CONTAINERS.items()
        if name != "float32"
    },
    "under a null": lambda: pa.Array.from_buffers(
        pa.float64(), 6, [pa.py_buffer(b"\xfe"), pa.py_buffer(np.array([NUMBER, *FEW[1:]]))]
    ),
    "before a slice": lambda: pa.array([NUMBER, *FEW]).slice(1),
    "between strides": lambda: np.array([[value, NUMBER] for value in FEW])[:, 0],
}

INTEGERS = {
    "usual": ([1, 2, 3], [99, 98, 50]),
    "extremes": ([2**63 - 1, -(2**63), 0], [1, 2, 3]),
}
INTEGER_CONTAINERS: dict[str, Make] = {
    "int64": lambda raw: np.array(raw, np.int64),
    "big-endian": lambda raw: np.array(raw, ">i8"),
    "arrow": lambda raw: pa.array(raw, pa.int64()),
    "nullable": lambda raw: pd.Series(raw, dtype="Int64"),
    "polars": lambda raw: pl.Series(raw, dtype=pl.Int64),
}
INTEGER_CANARIES: dict[str, Callable[[], Any]] = {
    "outside": lambda: np.array([int(NUMBER), 1, 2]),
    "before a slice": lambda: pa.array([int(NUMBER), 1, 2]).slice(1),
}

FAMILIES: dict[str, Family] = {
    "labels": Family(LABELS, LABEL_CONTAINERS, LABEL_CANARIES),
    "labels, one refused": Family(
        {
            "first or last": (["Mars", *PLAIN[1:]], [*PLAIN[:5], "a stranger of another length"]),
            "one or all": (["Mars", *PLAIN[1:]], ["Venus"] * 6),
            "null or stranger": ([None, *PLAIN[1:]], [*PLAIN[:5], "Mars"]),
            "empty or control": (["", *PLAIN[1:]], [*PLAIN[:5], "\x1b[31m"]),
        },
        LABEL_CONTAINERS,
        {name: make for name, make in LABEL_CANARIES.items() if name.startswith("stranger")},
    ),
    "labels, any number": Family({**LABELS, "none": ([], PLAIN), "one": (["Cork"], PLAIN * 9)}, LABEL_CONTAINERS, LABEL_CANARIES),
    "numbers": Family({**SAME_SIZE, **SIZES}, NUMBER_CONTAINERS, NUMBER_CANARIES),
    "numbers, n public": Family(SAME_SIZE, NUMBER_CONTAINERS, NUMBER_CANARIES),
    "integers": Family({**INTEGERS, "sizes": ([], [1] * 1000)}, INTEGER_CONTAINERS, INTEGER_CANARIES),
    "integers, n public": Family(INTEGERS, INTEGER_CONTAINERS, INTEGER_CANARIES),
    "no numbers": Family(
        {"one or two": ([1.0, "secret", 2.0], ["a longer secret", 3.0, "x"])},
        {"list": lambda raw: raw, "objects": objects},
        {"in a list": lambda: [1.0, CANARY, 2.0], "in objects": lambda: objects([1.0, CANARY, 2.0])},
    ),
}
