"""A release read again: its certificate, checked, and its sanitised cells, counted category by category."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from dpfast._text import printable
from dpfast.certificates import read_certificate, verify
from dpfast.errors import CertificateError, PolicyError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from dpfast._sources.source import Source
    from dpfast.mechanism import Mechanism
    from dpfast.policy import Group, Policy
    from dpfast.privacy import Privacy

__all__ = ["Part", "cell_counts", "open_questions", "release_certificate", "release_rows", "verify_release"]


class Part(NamedTuple):
    """What is estimated on its own: a column, a joint group, or one stratum of them."""

    label: str
    group: Group
    mechanism: Mechanism
    stratum: int | None


def _parts(policy: Policy) -> Iterator[Part]:
    from dpfast.stratified import Stratified

    for group in policy.groups:
        rule = group.rule
        if not isinstance(rule, Stratified):
            yield Part(group.label, group, rule, None)
            continue
        for number, (value, mechanism) in enumerate(rule.strata):
            shown = "other" if value is ... else printable(value)
            yield Part(f"{group.label} where {rule.by} is {shown}", group, mechanism, number)


def cell_counts(policy: Policy, file: Source) -> dict[Part, NDArray[np.int64]]:
    """Count the categories of every sanitised column of a file, each of which must lie in its domain."""
    import numpy as np

    from dpfast._policy_groups import read_as
    from dpfast._sources.written import typed_batch
    from dpfast.sanitise import count_codes

    counts = {part: np.zeros(part.mechanism.domain.size, np.int64) for part in _parts(policy)}
    sanitised = [name for group in policy.groups for name in group.names]
    needed = dict.fromkeys([*sanitised, *(group.by for group in policy.groups if group.by is not None)])
    missing = [name for name in needed if name not in file.schema.names]
    if missing:
        raise PolicyError(f"the file has no column named {', '.join(map(repr, missing))}")
    domains = {name: domain.answers if name in sanitised else domain for name, domain in read_as(policy.groups).items()}
    for batch in file.batches(needed, dictionaries=sanitised):
        batch = typed_batch(batch, file.schema, domains)
        for part in counts:
            rows = _rows_of(part, batch)
            columns = tuple(rows.column(name) for name in part.group.names)
            column = columns if part.mechanism.domain.kind == "product" else columns[0]
            counts[part] += count_codes(part.mechanism.domain, column, part.group.column)
    # a stratum without rows says nothing
    return {part: found for part, found in counts.items() if part.stratum is None or found.any()}


def _rows_of(part: Part, batch: pa.RecordBatch) -> pa.RecordBatch:
    import pyarrow as pa

    from dpfast.stratified import Stratified

    rule = part.group.rule
    if not isinstance(rule, Stratified):
        return batch
    return batch.filter(pa.array(rule.by_domain.encode(batch.column(rule.by)) == part.stratum))


def release_certificate(source: Source) -> dict[str, Any]:
    """Return the certificate of a file, or that of all files of a folder; CertificateError where there is none, or several."""
    first: dict[str, Any] | None = None
    for file in source.files:
        with file.open() as reader:
            found = read_certificate(reader)
        if first is None:
            first = found
        elif found != first:
            raise CertificateError("the files of the folder have different certificates: they are not of one release")
    assert first is not None
    return first


def verify_release(certificate: Mapping[str, Any], policy: Policy | None, *, allow_insecure: bool = False) -> Privacy:
    """Check a certificate by itself and, if there is a policy, that it is of this one."""
    mechanisms = (
        {group.names if len(group.names) > 1 else group.names[0]: group.rule for group in policy.groups} if policy else {}
    )
    if policy is not None and certificate.get("policy") != policy.digest.hex():
        raise CertificateError("the file was made by another policy")
    return verify(certificate, mechanism=mechanisms or None, allow_insecure=allow_insecure)


def open_questions(certificate: Mapping[str, Any], *, cells_checked: bool) -> list[str]:
    """What no file shows of itself."""
    unknown = ["whether these mechanisms made the file", "whether the key stayed secret", "how many rows a person has"]
    if not cells_checked:
        unknown.insert(0, "whether every cell lies in its domain (give --policy)")
    if certificate.get("ids_unique") == "unchecked":
        unknown.append("whether the ids are unique")
    return unknown


def release_rows(source: Source) -> int:
    """Number of rows; files that do not tell are read for it, by one column."""
    return sum(batch.num_rows for batch in source.batches(source.schema.names[:1])) if source.rows is None else source.rows
