"""What a policy is, in figures: public ones of its columns, and private ones of a table that it does not fit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfast.domain import Domain
from dpfast.errors import ArgumentError
from dpfast.response import RandomisedResponse

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["Check", "ColumnPlan", "check_batches", "plan_column"]


@dataclass(frozen=True)
class ColumnPlan:
    """What a policy does to one sanitised column: public figures only, none of them from data.

    Attributes
    ----------
    column : str
        Name of the column.
    size : int
        Number k of values of its domain.
    epsilon, delta : float
        As asked for.
    epsilon_realised : float
        The epsilon that the integer table has at `delta`, rounded up; never above `epsilon`.
    keep_probability : float
        Probability that a row keeps its true value.
    changed_share : float
        Expected share of rows whose value changes.
    standard_error : float
        Smallest standard error of an estimated share (that of a value no row has), at the number of rows asked about;
        NaN if none was given.
    """

    column: str
    size: int
    epsilon: float
    delta: float
    epsilon_realised: float
    keep_probability: float
    changed_share: float
    standard_error: float


@dataclass(frozen=True, repr=False)
class Check:
    """What `Policy.check` found: for the operator of the data only, never to be published or logged.

    Attributes
    ----------
    ok : bool
        Whether `Policy.sanitise` would run: no value lies outside a domain whose rule is ``unknown="error"``.
    findings : tuple of (column, value, row, count)
        Every value outside its domain, the row where it comes first and the number of rows that hold it; also where a
        rule (``unknown="randomise"``, ``other=``) takes care of it. Text that is not valid UTF-8 is shown as bytes.
    """

    ok: bool
    findings: tuple[tuple[str, object, int, int], ...]

    def __repr__(self) -> str:
        return f"Check(ok={self.ok})"


def plan_column(name: str, mechanism: RandomisedResponse, rows: int | None) -> ColumnPlan:
    """Return the figures of one sanitised column, with standard errors if a number of rows is given."""
    keep = mechanism.keep_probability
    size = mechanism.domain.size
    # A value that no row has is reported with probability p by each; its share is estimated as (observed - p) / gap.
    p = (1 - keep) / (size - 1) if size > 1 else 1 - keep
    gap = keep - p
    if rows is None:
        error = math.nan
    elif gap == 0:
        error = math.inf
    else:
        try:
            error = math.sqrt(float(p * (1 - p)) / rows) / float(gap)
        except OverflowError:
            raise ArgumentError("rows is larger than the number of rows of any table") from None
    return ColumnPlan(
        column=name,
        size=size,
        epsilon=mechanism.epsilon,
        delta=mechanism.delta,
        epsilon_realised=mechanism.epsilon_at(mechanism.delta),
        keep_probability=float(keep),
        changed_share=float(1 - keep),
        standard_error=error,
    )


def check_batches(mechanisms: Mapping[str, RandomisedResponse], batches: Iterable[pa.RecordBatch]) -> Check:
    """Read batches of a table and gather the values outside the domains. Private."""
    probes = {name: _Probe(name, mechanism.domain) for name, mechanism in mechanisms.items()}
    start = 0
    for batch in batches:
        for name, probe in probes.items():
            probe.read(batch.column(name), start)
        start += batch.num_rows
    return Check(
        ok=all(probe.is_handled or not probe.found for probe in probes.values()),
        findings=tuple((name, *finding) for name, probe in probes.items() for finding in probe.findings()),
    )


class _Probe:
    """Gathers what one column holds outside its domain."""

    def __init__(self, name: str, domain: Domain) -> None:
        self.is_handled = domain.unknown != "error" or domain.other is not None
        self.found: dict[Any, tuple[int, int]] = {}
        self._name = name
        # The same domain, with a code of its own for whatever lies outside, also where other= would take that in.
        self._domain = Domain(domain.values, unknown="randomise")

    def read(self, column: pa.Array, start: int) -> None:
        outside = np.flatnonzero(self._domain.encode(column, name=self._name) == self._domain.size)
        for row, value in zip(outside.tolist(), _python_values(column, outside), strict=True):
            first, count = self.found.get(value, (start + row, 0))
            self.found[value] = first, count + 1

    def findings(self) -> list[tuple[object, int, int]]:
        return [(value, first, count) for value, (first, count) in self.found.items()]


def _python_values(column: pa.Array, rows: NDArray[Any]) -> list[object]:
    """Return some values of a column; text that is not UTF-8 as the bytes that it is."""
    import pyarrow as pa

    texts = (pa.string(), pa.large_string(), pa.string_view())
    value_type = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if value_type not in texts:
        return list(column.take(rows).to_pylist())
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    # views cannot be taken from
    data = column.view(pa.binary_view()) if value_type == pa.string_view() else column
    return [None if value is None else _text(value) for value in data.cast(pa.large_binary()).take(rows).to_pylist()]


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value
