"""Write stream_1.json: what stream version 1 is, computed by the reference alone. A change to it is a new stream version.

Run from the project's root: python tests/golden/make_golden.py
"""

from __future__ import annotations

import json
import random
from itertools import islice
from pathlib import Path
from typing import Any

from dpfast.reference import histogram, response, sanitise, words

GOLDEN = Path(__file__).with_name("stream_1.json")
CONTEXTS = ["", "flights/2026-11-30", "Übersicht"]
COLUMNS: list[Any] = [None, "origin", "dest", ("origin", "dest"), "naïve"]
DOMAINS: list[list[Any]] = [
    ["a"],
    ["EWR", "JFK", "LGA"],
    ["yes", "no", None],
    [None, "", "é"],
    [False, True],
    [10, -3, 2**64 - 1, -(2**63)],
    [b"", b"\x00", b"\xff\xfe"],
    list(range(2)),
    list(range(10)),
    [1, 0],
]
IDS: list[Any] = [
    0,
    1,
    -1,
    2**63 - 1,
    -(2**63),
    2**63,
    2**64 - 1,
    "",
    "a",
    "12345678",
    "123456789",
    "ü" * 20,
    b"",
    b"a",
    b"\x00" * 40,
]


def entries() -> dict[str, list[dict[str, Any]]]:
    draw = random.Random(20261130)
    golden: dict[str, list[dict[str, Any]]] = {}
    sizes = [1, 2, 3, 10, 105, 256, 1000, 1024, 1025, 10**6, 2**31]
    losses = [0.0, 5e-324, 1e-9, 0.1, 1.0, 2.5, 8.0, 20.0, 44.0, 45.0, 800.0]
    golden["thresholds"] = [
        {"k": k, "epsilon": e.hex(), "delta": d.hex(), "t": response.threshold(k, e, d)}
        for k, e, d in [(draw.choice(sizes), draw.choice(losses), draw.choice([0.0, 0.0, 1e-6, 0.3])) for _ in range(60)]
    ]
    golden["domains"] = [{"values": packed(d), "digest": words.domain_digest(d).hex()} for d in DOMAINS]
    golden["ranges"] = [{"k": k, "digest": words.range_digest(k).hex()} for k in sizes]
    golden["subkeys"] = [
        {
            "kind": kind,
            "context": context,
            "source": source.hex(),
            "column": column,
            "subkey": words.subkey(
                bytes(range(32)), kind, context=context, source=source, column=column, mechanism=bytes(32)
            ).hex(),
        }
        for kind in ("row", "id", "draw")
        for context in CONTEXTS
        for column in COLUMNS[: 3 + 2 * (kind == "row")]
        for source in (b"", b"\x01\x02")
    ]
    golden["rows"] = [
        {"row": row, "k": k, "word": words.row_word(bytes(range(32)), row, k)}
        for k in (2, 1024, 1025)
        for row in (0, 1, 7, 8, 9, 131071, 131072, 524287, 524288, 2**32, 2**48)
    ]
    golden["ids"] = [
        {"id": packed([i])[0], "code": code, "word": words.id_word(bytes(range(32)), i, code)} for i in IDS for code in (0, 3)
    ]
    golden["tuples"] = [
        {"id": packed(list(i)), "word": words.id_word(bytes(range(32)), i, 1)}
        for i in [(1,), (1, 2), ("a", "b"), ("ab", ""), (b"ab", 7, "x" * 30), (2**63, "é")]
    ]
    golden["columns"] = []
    for number, domain in enumerate(DOMAINS):
        t = response.threshold(len(domain), 1.0)
        column = [draw.choice(domain) for _ in range(20)]
        master = words.insecure_master_key(number)
        answers = sanitise.sanitise(column, domain, t, master=master, column="c", first_row=number * 1000)
        golden["columns"].append({"seed": number, "domain": packed(domain), "column": packed(column), "answers": packed(answers)})
    golden["draws"] = [
        {"number": number, "bits": "".join(map(str, islice(words.draw_bits(bytes(range(32)), number), 256)))}
        for number in (0, 1, 2, 255, 256, 2**32, 2**49 - 1)
    ]
    golden["histograms"] = []
    for number, (k, epsilon) in enumerate(
        [(1, 1.0), (2, 1.0), (2, 0.0), (3, 0.0), (10, 1.0), (10, 44.0), (105, 3.0), (1025, 8.0)]
    ):
        counts = [draw.choice([0, 1, 2, 30]) for _ in range(k)]
        t = response.threshold(k, epsilon)
        master = words.insecure_master_key(number)
        answers = histogram.sanitise_counts(counts, list(range(k)), t, master=master, column="c", first_row=number * 1000)
        golden["histograms"].append({"seed": number, "k": k, "epsilon": epsilon.hex(), "counts": counts, "answers": answers})
    return golden


def packed(values: list[Any]) -> list[Any]:
    """Bytes as {"hex": ...}, the rest as JSON has it."""
    return [{"hex": v.hex()} if isinstance(v, bytes) else v for v in values]


def unpacked(values: list[Any]) -> list[Any]:
    return [bytes.fromhex(v["hex"]) if isinstance(v, dict) else v for v in values]


def text(golden: dict[str, list[dict[str, Any]]]) -> str:
    """One entry a line."""
    groups = []
    for name, group in golden.items():
        lines = ",\n".join("  " + json.dumps(entry, ensure_ascii=False) for entry in group)
        groups.append(f" {json.dumps(name)}: [\n{lines}\n ]")
    return "{\n" + ",\n".join(groups) + "\n}\n"


if __name__ == "__main__":
    GOLDEN.write_text(text(entries()), encoding="utf-8")
