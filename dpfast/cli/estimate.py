"""``dpfast estimate``: what a sanitised file says about the true shares."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dpfast._text import did_you_mean, read_json
from dpfast.cli._output import add_json, print_json, print_table, printable, share
from dpfast.cli._policy import add_policy, read_policy
from dpfast.errors import CorruptDataError, PolicyError

if TYPE_CHECKING:
    from dpfast._figures import Figures
    from dpfast._sources.source import Source
    from dpfast.policy import Policy

__all__ = ["add_verbs", "confidence"]

EXAMPLE = """examples:
  dpfast estimate released.parquet --policy policy.toml
  dpfast estimate released.parquet --policy policy.toml --columns origin,carrier --by year --keys 2025 2026

Uses the sanitised file and the policy only, and so costs no privacy. The error and the interval cover the noise of the
mechanism and, unless --these-rows is given, the sampling of the rows from a population. Without --columns every sanitised
column is estimated; several columns are cross-tabulated."""


def add_verbs(verbs: Any) -> None:
    """Add the verb to the command."""
    verb = verbs.add_parser("estimate", help="estimate true shares from a sanitised file", epilog=EXAMPLE)
    verb.add_argument("file", metavar="FILE", help="a sanitised file, folder, pattern or address: Parquet, CSV or Arrow IPC")
    add_policy(verb)
    verb.add_argument("--columns", metavar="A,B", help="one sanitised column, or several for a cross-tabulation")
    verb.add_argument("--by", metavar="COLUMN", help="a public column: one estimate for each of --keys")
    verb.add_argument("--keys", metavar="KEY", nargs="+", help="the keys of --by to answer; each one gets an answer")
    verb.add_argument("--weights", metavar="COLUMN", help="a public column of row weights")
    verb.add_argument("--method", choices=("inverse", "mle", "em"), default="inverse", help="default: the unbiased inverse")
    verb.add_argument("--interval", choices=("wilson", "clopper_pearson"), default="wilson", help="default: wilson")
    verb.add_argument("--these-rows", action="store_true", help="errors of the shares in these rows, not in a population")
    verb.add_argument("--simultaneous", action="store_true", help="the intervals of a column or table hold together")
    verb.add_argument("--confidence", type=confidence, default=0.95, metavar="P", help="of the intervals (default 0.95)")
    add_json(verb)
    verb.set_defaults(run=_estimate, verb=verb)


def confidence(text: str) -> float:
    """Read a confidence from the command line."""
    number = float(text)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError("must lie strictly between 0 and 1")
    return number


def _estimate(options: argparse.Namespace) -> int:
    from dpfast._release import release_rows
    from dpfast._sources.source import open_source

    policy = read_policy(options)
    how = {
        "method": options.method,
        "interval": options.interval,
        "population": not options.these_rows,
        "confidence": options.confidence,
        "simultaneous": options.simultaneous,
    }
    file = open_source(options.file)
    _check_certificate(policy, file)
    if options.columns is None and options.by is None and options.keys is None and options.weights is None:
        return _every_column(policy, file, how, as_json=options.json)
    keys = _keys(options, file)
    names = options.columns.split(",") if options.columns else list(policy.mechanisms)
    if options.columns is None and len(names) > 1:
        raise PolicyError("--by, --keys and --weights need --columns: name one column, or several for a cross-tabulation")
    wanted = names[0] if len(names) == 1 else names
    found = policy.estimate(options.file, wanted, by=options.by, keys=keys, weights=options.weights, **how)
    if options.json:
        rows = found.to_arrow().to_pylist()
        print_json(
            {"rows": release_rows(file), "confidence": options.confidence, "columns": names, "by": options.by, "estimates": rows}
        )
        return 0
    groups = [(None, found)] if keys is None else list(found.items())
    for number, (key, estimate) in enumerate(groups):
        if number:
            print()
        if keys is not None:
            print(f"{options.by} {printable(key)}")
        _print_figures(names, estimate)
    return 0


def _print_figures(names: list[str], estimate: Figures) -> None:
    figures = zip(
        estimate.labels(),
        estimate.frequency.ravel(),
        estimate.standard_error.ravel(),
        estimate.interval.reshape(-1, 2),
        strict=True,
    )
    print_table(
        [*names, "estimated", "error", f"{100 * estimate.confidence:g} % interval"],
        [
            (*map(printable, label), share(true), share(error), f"{share(low)} to {share(high)}")
            for label, true, error, (low, high) in figures
        ],
        labels=len(names),
    )


def _keys(options: argparse.Namespace, file: Source) -> list[Any] | None:
    """The keys as values of the type of their column: text on a command line may stand for an integer."""
    import pyarrow.types as t

    if (options.by is None) != (options.keys is None):
        options.verb.error("--by and --keys go together: list the keys that are to be answered")
    if options.by is None:
        return None
    if options.by not in file.schema.names:
        raise PolicyError(f"the file has no column named {options.by!r}{did_you_mean(options.by, file.schema.names)}")
    column_type = file.schema.field(options.by).type
    value_type = column_type.value_type if t.is_dictionary(column_type) else column_type
    if not t.is_integer(value_type):
        return list(options.keys)
    try:
        return [int(key) for key in options.keys]
    except ValueError:
        raise PolicyError(f"--keys: column {options.by!r} holds integers") from None


def _every_column(policy: Policy, file: Source, how: dict[str, Any], *, as_json: bool) -> int:
    from dpfast._release import cell_counts, release_rows

    counts = cell_counts(policy, file)
    columns = {part.label: part.mechanism.estimate_counts(of_values, **how) for part, of_values in counts.items()}
    shares = {part.label: of_values / max(of_values.sum(), 1) for part, of_values in counts.items()}
    if as_json:
        print_json(
            {
                "rows": release_rows(file),
                "confidence": how["confidence"],
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
            [name, "sanitised", "estimated", "error", f"{100 * how['confidence']:g} % interval"],
            [
                (_shown(value), share(seen), share(true), share(error), f"{share(low)} to {share(high)}")
                for value, seen, true, error, (low, high) in figures
            ],
        )
    return 0


def _shown(value: object) -> str:
    return ", ".join(map(printable, value)) if isinstance(value, tuple) else printable(value)


def _check_certificate(policy: Policy, file: Source) -> None:
    """Refuse a policy that did not make this file: its estimates would be wrong and look right."""
    import warnings

    for part in file.files:
        with part.open() as reader:
            text = reader.metadata.get(b"dpfast")
        if text is None:
            warnings.warn("the file has no dpfast certificate; is it sanitised, and by this policy?", stacklevel=2)
            return
        _check_maker(policy, text)


def _check_maker(policy: Policy, text: bytes) -> None:
    try:
        certificate = read_json(text)
        made: dict[tuple[str, ...], Any] = {(name,): rule for name, rule in certificate["columns"].items()}
        made |= {tuple(entry["columns"]): entry["mechanism"] for entry in certificate["joint"]}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CorruptDataError("the dpfast certificate of the file is damaged") from None
    for group in policy.groups:
        if made.get(group.names) != group.rule.certificate():
            raise PolicyError(f"column {group.label!r} of the file was not sanitised by the mechanism of this policy")
