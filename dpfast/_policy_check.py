"""What a table holds that a policy does not know. Private: for the operator's eyes only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpfast._frames import TABLES, Frame, as_frame, open_stream, values_at
from dpfast._parquet import BATCH_ROWS
from dpfast._policy_groups import Group, read_as
from dpfast._policy_plan import Planned, plan_frame
from dpfast._sources.source import open_source
from dpfast._sources.written import typed_batch, typed_schema
from dpfast.errors import ArgumentTypeError
from dpfast.stratified import Stratified

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from dpfast.domain import Domain
    from dpfast.product import Cells

__all__ = ["Check", "check_source"]


@dataclass(frozen=True, repr=False)
class Check:
    """What `Policy.check` found: for the operator of the data only, never to be published or logged.

    Attributes
    ----------
    ok : bool
        Whether `Policy.sanitise` would run: no value lies outside a domain whose rule is ``unknown="error"``, and each value
        of a public column that stratifies another has a mechanism.
    findings : tuple of (column, value, row, count)
        Every value outside its domain, the row where it comes first and the number of rows that hold it; also where a
        rule (``unknown="randomise"``, ``other=``) takes care of it. Text that is not valid UTF-8 is shown as bytes. Of
        columns that are answered together also the cells whose values are all known but which ``only=`` does not list:
        names and values are tuples then.
    """

    ok: bool
    findings: tuple[tuple[str | tuple[str, ...], object, int, int], ...]

    def __repr__(self) -> str:
        return f"Check(ok={self.ok})"


def check_source(policy: Planned, plan: Callable[[pa.Schema], object], source: Any) -> Check:
    """Check a table or files, once `plan` has accepted its schema; see `dpfast.Policy.check`."""
    import pyarrow as pa

    groups = policy.groups
    needed = dict.fromkeys(name for group in groups for name in (*group.names, *(() if group.by is None else (group.by,))))
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        plan(source.schema)
        return _check_batches(groups, ((batch, batch) for batch in source.to_batches(BATCH_ROWS)))
    if isinstance(source, str | os.PathLike | tuple):
        files = open_source(source)
        domains = read_as(groups)
        plan(typed_schema(files.schema, domains))
        batches = files.batches(needed, dictionaries=[name for group in groups for name in group.names])
        return _check_batches(groups, ((typed_batch(batch, files.schema, domains), batch) for batch in batches))
    if (frame := as_frame(source)) is not None:
        plan_frame(policy, frame)
        loaded = frame.load(needed)
        return _check_batches(groups, [(loaded, loaded)])
    if (reader := open_stream(source)) is not None:
        plan(reader.schema)
        return _check_batches(groups, ((batch, batch) for batch in reader))
    raise ArgumentTypeError(
        f"source must be {TABLES}, or the path or address of Parquet, CSV or Arrow IPC files; not {type(source).__name__}"
    )


def is_total(group: Group) -> bool:
    """Whether a group has an answer for every row, whatever it holds."""
    return all(probe.is_handled for probe in _probes(group))


def _check_batches(groups: Sequence[Group], batches: Iterable[tuple[pa.RecordBatch | Frame, pa.RecordBatch | Frame]]) -> Check:
    """Read batches of a table, as their domains have them and as they are shown, and gather the values outside. Private."""
    probes = [probe for group in groups for probe in _probes(group)]
    start = 0
    for batch, shown in batches:
        for probe in probes:
            probe.read([batch.column(name) for name in probe.names], [shown.column(name) for name in probe.names], start)
        start += batch.num_rows
    return Check(
        ok=all(probe.is_handled or not probe.found for probe in probes),
        findings=tuple(finding for probe in probes for finding in probe.findings()),
    )


def _probes(group: Group) -> list[_Probe]:
    domain = group.rule.domain
    handled = _is_handled(domain)
    probes: list[_Probe] = [
        _Probe((name,), part, handled or _is_handled(part)) for name, part in zip(group.names, group.parts, strict=True)
    ]
    if domain.cells is not None and domain.cells.indices is not None:
        probes.append(_CellProbe(group.names, domain, handled))
    if isinstance(group.rule, Stratified):
        probes.append(_Probe((group.rule.by,), group.rule.by_domain, group.rule.default is not None))
    return probes


def _is_handled(domain: Domain) -> bool:
    return domain.unknown != "error" or domain.other is not None


class _Probe:
    """Gathers what one column holds outside its domain."""

    def __init__(self, names: tuple[str, ...], domain: Domain, is_handled: bool) -> None:
        self.names = names
        self.is_handled = is_handled
        self.found: dict[Any, tuple[int, int]] = {}
        # The same domain, with a code of its own for whatever lies outside, also where other= would take that in.
        self.domain = domain.with_rule(unknown="randomise")

    def read(self, columns: list[Any], shown: list[Any], start: int) -> None:
        outside = self.outside(columns)
        values = [_python_values(column, outside) for column in shown]
        for row, *value in zip(outside.tolist(), *values, strict=True):
            # NaN equals nothing, itself included; all of them are one finding
            key = tuple("nan" if one != one else one for one in value)
            first, count = self.found.get(key, (start + row, 0))
            self.found[key] = first, count + 1

    def outside(self, columns: list[Any]) -> NDArray[Any]:
        """Rows of a batch that lie outside."""
        return np.flatnonzero(self.domain.encode(columns[0], name=self.names[0]) == self.domain.size)

    def findings(self) -> list[tuple[str | tuple[str, ...], object, int, int]]:
        return [(self.names[0], value[0], first, count) for value, (first, count) in self.found.items()]


class _CellProbe(_Probe):
    """Gathers the cells of known values that are not declared possible."""

    def __init__(self, names: tuple[str, ...], domain: Domain, is_handled: bool) -> None:
        super().__init__(names, domain, is_handled)
        self._parts = [part.with_rule(unknown="randomise", other=None) if part.other is None else part for part in domain.parts]

    def outside(self, columns: list[Any]) -> NDArray[Any]:
        cells = cast("Cells", self.domain.cells)
        codes = [part.encode(column) for part, column in zip(self._parts, columns, strict=True)]
        known = np.logical_and.reduce([code < part.size for code, part in zip(codes, self._parts, strict=True)])
        joined = cells.join(codes, np.empty(known.size, np.uint32))
        return np.flatnonzero(known & (joined == cells.size))

    def findings(self) -> list[tuple[str | tuple[str, ...], object, int, int]]:
        return [(self.names, value, first, count) for value, (first, count) in self.found.items()]


def _python_values(column: Any, rows: NDArray[Any]) -> list[object]:
    """Return some values of a column; text that is not UTF-8 as the bytes that it is."""
    import pyarrow as pa

    if not isinstance(column, pa.Array):
        return values_at(column, rows)

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
