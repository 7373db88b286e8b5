"""Scenarios of everything that takes a column of labels, counts of them, or a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from families import CANARY, FAMILIES, LABELS, PLAIN, TOWNS, Family, Scenario, coded, masked

from dpfast import (
    Domain,
    ExponentialResponse,
    MatrixResponse,
    Policy,
    RandomisedResponse,
    Stratified,
    Stream,
    duff,
    histogram,
    kernels,
    optimal_response,
)

__all__ = ["CALLS"]

TOTAL = Domain(TOWNS, unknown="randomise")
OTHER = Domain(TOWNS, other="Cork")
NULL = Domain([*TOWNS, None], other="Cork")
STRICT = Domain(TOWNS)
MATRIX = np.full((3, 3), 0.25) + np.eye(3) / 4
RR = RandomisedResponse(TOTAL, epsilon=1.0)
WITH_OTHER = RandomisedResponse(OTHER, epsilon=1.0)
UNIFORM = RandomisedResponse(NULL, epsilon=0.0)
REFUSER = RandomisedResponse(STRICT, epsilon=1.0)
STRATA = Stratified("age", {0: RR, 1: RandomisedResponse(TOTAL, epsilon=2.0)})
BY = np.array([0, 1, 0, 1, 1, 0])
IDS = np.arange(6)

BINS = RandomisedResponse(Domain.bins([0, 1, 50, 100], unknown="randomise"), epsilon=1.0)
JOINED = RandomisedResponse(Domain.product(Domain.bins([0, 50]), Domain.bins([0, 9, 90]), unknown="randomise"), epsilon=1.0)


@kernels.response([RR, RandomisedResponse(TOTAL, epsilon=2.0)], compiled=False)
def by_age(age: int) -> int:
    return int(age > 0)


def keyed() -> Stream:
    return Stream(key=bytes(32), context="c")


# Counts of six rows; n is public.
FAMILIES["counts"] = Family(
    {"usual": ([3, 2, 1], [1, 2, 3]), "one category": ([6, 0, 0], [2, 2, 2]), "refused": ([7, -1, 0], [-2, 4, 4])},
    {"list": lambda raw: raw, "array": lambda raw: np.array(raw, np.int64)},
)
FAMILIES["tables of counts"] = Family(
    {"usual": (np.eye(3, dtype=int), np.ones((3, 3), int)[:, ::-1] // 1), "sparse": (np.diag([9, 0, 0]), np.ones((3, 3), int))}
)


def table(town: Any, **more: Any) -> pa.Table:
    return pa.table({"id": range(6), "town": town, "age": BY, "name": [CANARY] * 6, **more})


def arrow(raw: list[Any]) -> pa.Table:
    return table(pa.array(raw, pa.string()))


POLICY = Policy({"id": "public", "town": RR, "age": "public", "name": "drop"})
REFUSING = Policy({"id": "public", "town": RandomisedResponse(STRICT, epsilon=1.0), "age": "public", "name": "drop"})
STRATIFIED = Policy({"id": "public", "town": STRATA, "age": "public", "name": "drop"})
JOINT = Policy(
    {"id": "public", "name": "drop"},
    joint={("town", "age"): RandomisedResponse(Domain.product(TOWNS, [0, 1], unknown="randomise"), epsilon=1.0)},
)


def with_attrs(frame: pd.DataFrame) -> pd.DataFrame:
    frame.attrs["note"] = CANARY
    return frame


TABLES: dict[str, Any] = {
    "arrow": arrow,
    "batch": lambda raw: arrow(raw).to_batches()[0],
    "pandas": lambda raw: arrow(raw).to_pandas(),
    "categorical": lambda raw: arrow(raw).to_pandas().astype({"town": "category"}),
    "polars": lambda raw: pl.DataFrame(arrow(raw)),
    "lazy": lambda raw: pl.DataFrame(arrow(raw)).lazy(),
}
HIDING: dict[str, Any] = {
    **{f"stranger and dropped, {name}": (lambda make=make: make([CANARY, *PLAIN[1:]])) for name, make in TABLES.items()},
    "unused entry": lambda: table(coded([0, 1, 2] * 2)),
    "under a null": lambda: table(masked()),
    "metadata": lambda: arrow(PLAIN).replace_schema_metadata({CANARY: CANARY, "pandas": CANARY}),
    "attributes": lambda: with_attrs(arrow(PLAIN).to_pandas()),
    "before a slice": lambda: pa.table(
        {
            name: pa.concat_arrays([pa.array(c.to_pylist()[:1], c.type), *c.chunks])
            for name, c in zip(arrow(PLAIN).column_names, table(coded([3, 0, 1, 2, 0, 1])).columns, strict=True)
        }
    )[1:],
}
FAMILIES["tables"] = Family(LABELS, TABLES, HIDING)
FAMILIES["tables, one refused"] = Family(
    FAMILIES["labels, one refused"].pairs, TABLES, {name: make for name, make in HIDING.items() if name.startswith("stranger")}
)

SANITISE = {
    "labels": [
        RR.sanitise,
        lambda column: WITH_OTHER.sanitise(column, rng=keyed(), column_name="town"),
        lambda column: UNIFORM.sanitise(column, threads=2),
        lambda column: RR.sanitise(column, rng=keyed(), ids=IDS[: len(column)], column_name="town"),
        ExponentialResponse(OTHER, distance="ordinal", epsilon=1.0).sanitise,
        MatrixResponse(TOTAL, MATRIX).sanitise,
        optimal_response(TOTAL, loss="hamming", epsilon=1.0).sanitise,
    ],
    "numbers, n public": [
        lambda column: BINS.sanitise(np.asarray(column, float)),
        lambda column: JOINED.sanitise((column, column)),
    ],
    "integers, n public": [
        RandomisedResponse(Domain.range(50, unknown="randomise"), epsilon=1.0).sanitise,
        RandomisedResponse(Domain([1, 2, 7], other=7), epsilon=1.0).sanitise,
    ],
    "labels, one refused": [
        REFUSER.sanitise,
        MatrixResponse(STRICT, MATRIX).sanitise,
        lambda column: REFUSER.sanitise(column, rng=keyed(), ids=IDS[: len(column)], column_name="town", threads=2),
    ],
}
PAIR = [RandomisedResponse(TOWNS, epsilon=1.0), MatrixResponse(TOWNS, MATRIX)]
BITS = "x", bytes(32), 9

CALLS: dict[str, list[Scenario]] = {
    "Domain.encode": [
        Scenario(TOTAL.encode, "labels", "private"),
        Scenario(STRICT.encode, "labels, one refused", "private"),
    ],
    "Mechanism.sanitise": [Scenario(call, family) for family, calls in SANITISE.items() for call in calls],
    "Stratified.sanitise": [
        Scenario(lambda column: STRATA.sanitise(column, BY[: len(column)]), "labels"),
        Scenario(
            lambda column: Stratified("age", {0: PAIR[0], 1: PAIR[1]}).sanitise(column, BY[: len(column)]), "labels, one refused"
        ),
    ],
    "ComputedStrata.sanitise": [Scenario(lambda column: by_age.sanitise(column, BY[: len(column)]), "labels")],
    "duff.mode": [
        Scenario(lambda column: duff.mode(column, domain=TOWNS, epsilon=1.0), "labels, any number"),
        Scenario(lambda column: duff.mode(column, domain=TOWNS, epsilon=1.0, neighbours="replace_one"), "labels"),
        Scenario(lambda column: duff.mode(column, domain=TOWNS, epsilon=1.0, by=BY[: len(column)], keys=[0, 1, 2]), "labels"),
        Scenario(
            lambda column: duff.mode(column, domain=TOWNS, epsilon=1.0, person=BY[: len(column)], rows_per_person=2), "labels"
        ),
    ],
    "duff.mode_levels": [
        Scenario(lambda column: duff.mode_levels(column, domain=TOTAL, neighbours="add_remove"), "labels", "private")
    ],
    "Mechanism.sanitise_counts": [
        Scenario(mechanism.sanitise_counts, "counts") for mechanism in PAIR
    ],
    "histogram.sanitise_counts": [Scenario(lambda counts: histogram.sanitise_counts(PAIR[0], counts), "counts")],
    "histogram.sanitise_contingency": [
        Scenario(lambda counts: histogram.sanitise_contingency(counts, PAIR), "tables of counts")
    ],
    "histogram.answer_response": [
        Scenario(
            lambda counts: histogram.answer_response(counts.reshape(3, -1), 1 << 60, False, Stream().draws(None, bytes(32), 9)),
            "tables of counts",
        )
    ],
    "histogram.answer_table": [
        Scenario(
            lambda counts: histogram.answer_table(
                counts.reshape(3, -1), [[1 << 62, 1 << 63, 1 << 64]] * 3, Stream().draws(None, bytes(32), 9)
            ),
            "tables of counts",
        )
    ],
    "Policy.sanitise": [
        *(Scenario(policy.sanitise, "tables") for policy in (POLICY, STRATIFIED, JOINT)),
        Scenario(lambda found: POLICY.sanitise(found, rng=keyed(), ids="id", threads=2), "tables"),
        Scenario(REFUSING.sanitise, "tables, one refused"),
    ],
    "Policy.check": [
        Scenario(POLICY.check, "tables", "operator"),
        Scenario(REFUSING.check, "tables, one refused", "operator"),
    ],
}  # fmt: skip
