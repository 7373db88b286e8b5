"""Whatever spends, by name: a charge that is refused draws nothing, and a person with three rows pays for all of them.

A name with `ledger=` that is new is not in the list, and fails here until it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from calls_columns import BY, POLICY, RR, STRATA, arrow, by_age
from families import PLAIN
from public_names import calls

from dpfast import Ledger, LedgerError, Privacy, Stream, baselines, duff, graph, histogram, kernels, sanitise_file

LABELS = np.array(PLAIN)
NUMBERS = np.linspace(1, 99, 50)
EXTENSION = graph.extend(graph.DatasetGraph([0, 1, 2], [1, 2, 3], 1.0, 1e-9), [2, 2, 1, 1], {1: 0.25, 2: 0.6})
RAINBOW = graph.rainbow(graph.DatasetGraph([0, 1], [1, 2], 0.5), [[0, 1, 2]] * 3, {0: [0.5, 0.25, 0.25]})
ON_NUMBERS: dict[str, Any] = {"bounds": (0, 100), "epsilon": 1.0}


def file_job(**options: Any) -> None:
    pa.csv.write_csv(arrow(PLAIN), "in.csv")
    sanitise_file("in.csv", "out.csv", POLICY, progress=False, overwrite=True, **options)


def baseline(name: str) -> Callable[..., Any]:
    call = getattr(baselines, name)
    return lambda **options: call(NUMBERS, **ON_NUMBERS, delta=1e-6, neighbours="add_remove", **options)


ROWS: dict[str, Callable[..., Any]] = {
    "Mechanism.sanitise": lambda **options: RR.sanitise(LABELS, **options),
    "Mechanism.sanitise_counts": lambda **options: RR.sanitise_counts([3, 2, 1], **options),
    "Stratified.sanitise": lambda **options: STRATA.sanitise(LABELS, BY, **options),
    "ComputedStrata.sanitise": lambda **options: by_age.sanitise(LABELS, BY, **options),
    "Policy.sanitise": lambda **options: POLICY.sanitise(arrow(PLAIN), **options),
    "histogram.sanitise_counts": lambda **options: histogram.sanitise_counts(RR, [3, 2, 1], **options),
    "histogram.sanitise_contingency": lambda **options: histogram.sanitise_contingency(np.eye(3, dtype=int), [RR, RR], **options),
    "kernels.words": lambda **options: kernels.words(RR, 9, **options),
    "etl.sanitise_file": file_job,
    "Extension.sample": lambda **options: EXTENSION.sample(0, **options),
    "Rainbow.sample": lambda **options: RAINBOW.sample([0], **options),
}
PERSONS: dict[str, Callable[..., Any]] = {
    "duff.median": lambda **options: duff.median(NUMBERS, **ON_NUMBERS, **options),
    "duff.quantile": lambda **options: duff.quantile(NUMBERS, 0.9, **ON_NUMBERS, **options),
    "duff.quantiles": lambda **options: duff.quantiles(NUMBERS, [0.1, 0.9], **ON_NUMBERS, **options),
    "duff.mean": lambda **options: duff.mean(NUMBERS, **ON_NUMBERS, **options),
    "duff.mode": lambda **options: duff.mode(LABELS, domain=PLAIN[:2], epsilon=1.0, **options),
    **{f"baselines.{name}": baseline(name) for name in baselines.__all__ if name.startswith(("laplace", "smooth_", "propose"))},
}
EDGES: dict[str, Callable[..., Any]] = {
    "count_triangles": lambda **options: duff.count_triangles([(0, 1), (1, 2), (2, 0)], n_vertices=4, epsilon=1.0, **options),
}
PERSONS.pop("baselines.smooth_sensitivity")
SPENDING = {
    **{name: ("replace_one", call) for name, call in ROWS.items()},
    **{name: ("add_remove", call) for name, call in PERSONS.items()},
    **{name: ("edge", call) for name, call in EDGES.items()},
}
ON_CLUSTERS = {"etl.spark.sanitise", "etl.spark.sanitise_files", "etl.spark.quantile"}  # tests/process/spark


def test_everything_that_spends_is_here() -> None:
    spending = {name for name, value in calls().items() if "ledger" in parameters(value)}
    assert spending == {*SPENDING, *ON_CLUSTERS}


def parameters(value: Any) -> Any:
    function = getattr(value, "__func__", value)
    return inspect.signature(function).parameters if inspect.isfunction(function) else ()


@pytest.mark.parametrize("name", SPENDING)
def test_a_refused_charge_draws_nothing_whoever_asks(name: str, tmp_path: Path) -> None:
    neighbours, call = SPENDING[name]
    stream = Stream.insecure(1)
    with pytest.raises(LedgerError, match="no room"):
        call(rng=stream, ledger=Ledger(tmp_path / "little", Privacy(1e-3, 0.5, neighbours)))
    assert not any(stream._rows.values())
    ledger = Ledger(tmp_path / "much", Privacy(100.0, 0.5, neighbours))
    call(rng=stream, ledger=ledger)
    assert len(ledger.entries()) == 1
    assert any(stream._rows.values())  # the control


@pytest.mark.parametrize("name", SPENDING)
def test_all_rows_of_a_person_are_paid_for(name: str, tmp_path: Path) -> None:
    neighbours, call = SPENDING[name]
    costs = []
    for rows in (1, 3):
        ledger = Ledger(tmp_path / str(rows), Privacy(100.0, 0.5, neighbours, rows))
        call(ledger=ledger)
        [entry] = ledger.entries()
        assert entry.privacy.rows_per_person == rows
        costs.append(entry.privacy)
    assert costs[1].epsilon >= 3 * costs[0].epsilon > 0
    assert costs[1].delta >= 3 * costs[0].delta
