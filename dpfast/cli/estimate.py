"""``dpfast estimate``: what a sanitised file says about the true shares."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from dpfast.cli._output import add_json, add_policy, print_json, print_table, printable, share
from dpfast.errors import CorruptDataError, PolicyError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from dpfast._parquet import ParquetSource
    from dpfast.mechanism import Mechanism
    from dpfast.policy import Group, Policy

__all__ = ["add_verbs"]

EXAMPLE = """example:
  dpfast estimate released.parquet --policy policy.toml

Uses the sanitised file and the policy only, and so costs no privacy. The error and the interval cover the noise of the
mechanism and the sampling of the rows from a population."""


def add_verbs(verbs: Any) -> None:
    """Add the verb to the command."""
    verb = verbs.add_parser("estimate", help="estimate true shares from a sanitised file", epilog=EXAMPLE)
    verb.add_argument("file", metavar="FILE", help="a sanitised Parquet file")
    add_policy(verb)
    verb.add_argument("--confidence", type=_confidence, default=0.95, metavar="P", help="of the intervals (default 0.95)")
    add_json(verb)
    verb.set_defaults(run=_estimate)


def _confidence(text: str) -> float:
    number = float(text)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError("must lie strictly between 0 and 1")
    return number


def _estimate(options: argparse.Namespace) -> int:
    from dpfast._parquet import ParquetSource
    from dpfast.policy import Policy

    policy = Policy.load(options.policy)
    with ParquetSource(options.file) as file:
        _check_certificate(policy, file)
        counts = _counts(policy, file)
        n_rows = file.rows
    columns = {
        part.label: part.mechanism.estimate_counts(of_values, confidence=options.confidence) for part, of_values in counts.items()
    }
    shares = {part.label: of_values / max(of_values.sum(), 1) for part, of_values in counts.items()}
    if options.json:
        print_json(
            {
                "rows": n_rows,
                "confidence": options.confidence,
                "columns": {
                    name: {
                        "value": list(estimate.values),
                        "sanitised_share": shares[name].tolist(),
                        "estimated_share": estimate.frequency.tolist(),
                        "standard_error": estimate.standard_error.tolist(),
                        "interval": estimate.interval.tolist(),
                    }
                    for name, estimate in columns.items()
                },
            }
        )
        return 0
    for number, (name, estimate) in enumerate(columns.items()):
        if number:
            print()
        figures = zip(estimate.values, shares[name], estimate.frequency, estimate.standard_error, estimate.interval, strict=True)
        print_table(
            [name, "sanitised", "estimated", "error", f"{100 * options.confidence:g} % interval"],
            [
                (_shown(value), share(seen), share(true), share(error), f"{share(low)} to {share(high)}")
                for value, seen, true, error, (low, high) in figures
            ],
        )
    return 0


def _shown(value: object) -> str:
    return ", ".join(map(printable, value)) if isinstance(value, tuple) else printable(value)


class _Part(NamedTuple):
    """What is estimated on its own: a column, a joint group, or one stratum of them."""

    label: str
    group: Group
    mechanism: Mechanism
    stratum: int | None


def _parts(policy: Policy) -> Iterator[_Part]:
    from dpfast.stratified import Stratified

    for group in policy.groups:
        rule = group.rule
        if not isinstance(rule, Stratified):
            yield _Part(group.label, group, rule, None)
            continue
        for number, (value, mechanism) in enumerate(rule.strata):
            shown = "other" if value is ... else printable(value)
            yield _Part(f"{group.label} where {rule.by} is {shown}", group, mechanism, number)


def _counts(policy: Policy, file: ParquetSource) -> dict[_Part, NDArray[np.int64]]:
    import numpy as np

    from dpfast.sanitise import count_codes

    counts = {part: np.zeros(part.mechanism.domain.size, np.int64) for part in _parts(policy)}
    sanitised = [name for group in policy.groups for name in group.names]
    needed = dict.fromkeys([*sanitised, *(group.by for group in policy.groups if group.by is not None)])
    missing = [name for name in needed if name not in file.schema.names]
    if missing:
        raise PolicyError(f"the file has no column named {', '.join(map(repr, missing))}")
    for batch in file.batches(needed, dictionaries=sanitised):
        for part in counts:
            rows = _rows_of(part, batch)
            columns = tuple(rows.column(name) for name in part.group.names)
            column = columns if part.mechanism.domain.kind == "product" else columns[0]
            counts[part] += count_codes(part.mechanism.domain, column, part.group.column)
    # a stratum without rows says nothing
    return {part: found for part, found in counts.items() if part.stratum is None or found.any()}


def _rows_of(part: _Part, batch: pa.RecordBatch) -> pa.RecordBatch:
    import pyarrow as pa

    from dpfast.stratified import Stratified

    rule = part.group.rule
    if not isinstance(rule, Stratified):
        return batch
    return batch.filter(pa.array(rule.by_domain.encode(batch.column(rule.by)) == part.stratum))


def _check_certificate(policy: Policy, file: ParquetSource) -> None:
    """Refuse a policy that did not make this file: its estimates would be wrong and look right."""
    import warnings

    text = file.metadata.get(b"dpfast")
    if text is None:
        warnings.warn("the file has no dpfast certificate; is it sanitised, and by this policy?", stacklevel=2)
        return
    try:
        certificate = json.loads(text)
        made: dict[tuple[str, ...], Any] = {(name,): rule for name, rule in certificate["columns"].items()}
        made |= {tuple(entry["columns"]): entry["mechanism"] for entry in certificate["joint"]}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CorruptDataError("the dpfast certificate of the file is damaged") from None
    for group in policy.groups:
        if made.get(group.names) != group.rule.certificate():
            raise PolicyError(f"column {group.label!r} of the file was not sanitised by the mechanism of this policy")
