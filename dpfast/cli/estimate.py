"""``dpfast estimate``: what a sanitised file says about the true shares."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from dpfast.cli._output import add_json, add_policy, print_json, print_table, printable, share
from dpfast.errors import CorruptDataError, PolicyError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpfast._parquet import ParquetSource
    from dpfast.policy import Policy

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
        name: policy.mechanisms[name].estimate_counts(of_values, confidence=options.confidence)
        for name, of_values in counts.items()
    }
    shares = {name: of_values / max(n_rows, 1) for name, of_values in counts.items()}
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
                (printable(value), share(seen), share(true), share(error), f"{share(low)} to {share(high)}")
                for value, seen, true, error, (low, high) in figures
            ],
        )
    return 0


def _counts(policy: Policy, file: ParquetSource) -> dict[str, NDArray[np.int64]]:
    import numpy as np

    from dpfast.sanitise import count_codes

    mechanisms = {name: mechanism for name, mechanism in policy.mechanisms.items()}
    missing = [name for name in mechanisms if name not in file.schema.names]
    if missing:
        raise PolicyError(f"the file has no column named {', '.join(map(repr, missing))}")
    counts = {name: np.zeros(mechanism.domain.size, np.int64) for name, mechanism in mechanisms.items()}
    for batch in file.batches(mechanisms, dictionaries=mechanisms):
        for name, mechanism in mechanisms.items():
            counts[name] += count_codes(mechanism.domain, batch.column(name), name)
    return counts


def _check_certificate(policy: Policy, file: ParquetSource) -> None:
    """Refuse a policy that did not make this file: its estimates would be wrong and look right."""
    import warnings

    text = file.metadata.get(b"dpfast")
    if text is None:
        warnings.warn("the file has no dpfast certificate; is it sanitised, and by this policy?", stacklevel=2)
        return
    try:
        columns = json.loads(text)["columns"]
        made = {name: (columns[name]["domain"], columns[name]["threshold"]) for name in columns}
    except (ValueError, KeyError, TypeError):
        raise CorruptDataError("the dpfast certificate of the file is damaged") from None
    for name, mechanism in policy.mechanisms.items():
        if made.get(name) != (mechanism.domain.digest.hex(), mechanism.threshold):
            raise PolicyError(f"column {name!r} of the file was not sanitised by the mechanism of this policy")
