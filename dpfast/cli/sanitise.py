"""``dpfast check`` and ``dpfast sanitise``: from a file to the file that is published."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dpfast.cli._output import add_json, print_json, print_table, printable
from dpfast.cli._policy import QUICK_EXAMPLE, add_policy, read_policy
from dpfast.cli.plan import positive

if TYPE_CHECKING:
    from dpfast.etl.ledger import Ledger

__all__ = ["add_noise", "add_verbs", "key_option", "ledger_option"]

SANITISE_EXAMPLE = f"""examples:
  dpfast sanitise flights.parquet released.parquet --policy policy.toml
  dpfast sanitise flights.csv released.csv {QUICK_EXAMPLE}
  dpfast sanitise flights/ released/ --policy policy.toml --key ~/keys/flights.key --context flights/2026-11
  dpfast keygen ~/keys/flights.key
  dpfast sanitise flights.parquet released.parquet --policy policy.toml --key ~/keys/flights.key --context flights/2026-11

Without a key the noise is fresh: running the command again spends the budget again. With a key the same job on the same file
gives the same values again. With --ids as well, a row keeps its noise from release to release.

A target appears when it is complete. A folder grows beside it, in .NAME.dpfast-partial; a job that was stopped, by whatever,
goes on when the same command is run again."""

CHECK_EXAMPLE = """example:
  dpfast check flights.parquet --policy policy.toml

The output shows private values and where they stand: it is for the operator's eyes only. With --json it shows none."""


def add_verbs(verbs: Any) -> None:
    """Add the verbs to the command."""
    check = verbs.add_parser("check", help="list the values that a policy does not know", epilog=CHECK_EXAMPLE)
    check.add_argument("source", metavar="SOURCE", help="a file, folder, pattern or address: Parquet, CSV or Arrow IPC")
    add_policy(check)
    add_json(check, "print as JSON whether the policy fits and which columns do not, without any value")
    check.set_defaults(run=_check)

    verb = verbs.add_parser("sanitise", help="write the file that is published", epilog=SANITISE_EXAMPLE)
    verb.add_argument("source", metavar="SOURCE", help="a file, folder, pattern or address: Parquet, CSV or Arrow IPC")
    verb.add_argument("target", metavar="TARGET", help="the file or folder to be written, in the format that its name ends in")
    add_policy(verb)
    add_noise(verb)
    verb.add_argument("--ids", action="append", metavar="COLUMN", help="column that identifies a row; may be repeated")
    verb.add_argument("--metadata", action="append", metavar="NAME", help="metadata of the source to publish; may be repeated")
    verb.add_argument("--ledger", metavar="FILE", help="charge this ledger first, which refuses what exceeds its cap")
    verb.add_argument("--threads", type=positive, metavar="N", help="number of threads; the result does not depend on it")
    verb.add_argument("--overwrite", action="store_true", help="replace an existing target; of folders one that dpfast made")
    verb.add_argument(
        "--resume",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="go on with a folder where a stopped run left off, or delete what it left and start over (default: go on)",
    )
    verb.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="tell how far the job is, or do not (default: a bar on a terminal, else a line now and then if it takes long)",
    )
    add_json(verb)
    verb.set_defaults(run=_sanitise, verb=verb)


def add_noise(verb: argparse.ArgumentParser) -> None:
    """Give a verb the options that say where its noise comes from."""
    noise = verb.add_mutually_exclusive_group()
    noise.add_argument("--key", metavar="FILE|env:NAME", help="secret key: a file of mode 0600, or a variable with base64")
    noise.add_argument("--insecure-seed", type=int, metavar="N", help="noise that anyone can undo; for tests only")
    verb.add_argument("--context", metavar="NAME", help="with --key: the name of this release, such as flights/2026-11")


def _check(options: argparse.Namespace) -> int:
    policy = read_policy(options)
    check = policy.check(options.source)
    if options.json:
        outside = {name for name, *_ in check.findings}
        columns = {
            name: {"outside": name in outside, "unknown": mechanism.domain.unknown, "other": mechanism.domain.other_code}
            for name, mechanism in policy.mechanisms.items()
        }
        print_json({"ok": check.ok, "columns": columns})
        return 0 if check.ok else 1
    if check.findings:
        print("PRIVATE: values of the data outside their domains; do not publish or log this")
        print_table(
            ["column", "value", "first row", "rows"],
            [
                (name if isinstance(name, str) else ", ".join(name), _shown(value), str(row), str(count))
                for name, value, row, count in check.findings
            ],
        )
    if check.ok:
        print("the policy fits the file")
        return 0
    print("the policy does not fit: add these values to the domains (null = true for null), or declare unknown or other")
    return 1


def _shown(value: object) -> str:
    return ", ".join(map(printable, value)) if isinstance(value, tuple) else printable(value)


def _sanitise(options: argparse.Namespace) -> int:
    from dpfast._sources.places import locate
    from dpfast.etl._apart import check_keeps
    from dpfast.etl.files import sanitise_file
    from dpfast.randomness import Stream

    key = key_option(options)
    ledger = ledger_option(options.ledger)
    check_keeps(locate(options.target, "target"), {"key": options.key, "policy": options.policy})
    with _warnings_shown():
        report = sanitise_file(
            options.source,
            options.target,
            read_policy(options),
            key=key,
            context=options.context,
            ids=_ids(options.ids),
            threads=options.threads,
            progress=_progress(options.progress),
            resume=options.resume,
            overwrite=options.overwrite,
            rng=None if options.insecure_seed is None else Stream.insecure(options.insecure_seed),
            ledger=ledger,
            metadata=tuple(options.metadata or ()),
        )
    if options.json:
        print(report.to_json())
        return 0
    # few rows tell how long a job takes to start, and no more
    is_measured = report.rows >= 1_000_000 and report.seconds > 0
    speed = f", {report.rows / report.seconds / 1e6:.1f} million rows a second" if is_measured else ""
    files = f" in {report.files} files" if report.files != 1 else ""
    print(f"{report.rows:,} rows{files} in {report.seconds:.2f} seconds{speed}")
    print(f"a whole row: epsilon {report.privacy.epsilon:.6g}, delta {report.privacy.delta:.6g}")
    if ledger is not None:
        left = ledger.left()
        print(f"left in the ledger: epsilon {left.epsilon:.6g}, delta {left.delta:.6g}")
    if report.certificate["randomness"] == "insecure":
        print("INSECURE: the noise comes from a seed and protects nobody; for tests only")
    return 0


def key_option(options: argparse.Namespace) -> bytes | None:
    """Return the key, or end the command with a usage error where the options do not fit together."""
    from dpfast.errors import ArgumentError
    from dpfast.keys import resolve_key

    verb: argparse.ArgumentParser = options.verb
    if options.key is None:
        if options.context is not None:
            needed = "--insecure-seed takes none" if options.insecure_seed is not None else "give --key as well"
            verb.error(f"--context belongs to --key; {needed}")
        if options.ids is not None and options.insecure_seed is None:
            verb.error("--ids makes noise permanent and so needs --key and --context")
        return None
    if not options.context:
        verb.error("--key needs --context, the name of this release or, with --ids, of the population")
    try:
        options.context.encode()
        return resolve_key(options.key)
    except UnicodeEncodeError:
        verb.error("--context is not valid Unicode text")
    except ArgumentError as error:
        verb.error(f"--key: {error}")


@contextmanager
def _warnings_shown() -> Iterator[None]:
    """Say to the operator what the job warns of, such as files of a folder that are not read."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("dpfast: warning: %(message)s"))
    logger = logging.getLogger("dpfast")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _progress(wanted: bool | None) -> Any:
    """None leaves it to the job, False is silence; who asks for progress gets it from the first row on."""
    if not wanted:
        return wanted
    if sys.stderr.isatty():
        return None
    from dpfast.etl.progress import Lines

    return Lines(quiet_seconds=0.0)


def ledger_option(path: str | None) -> Ledger | None:
    if path is None:
        return None
    from dpfast.etl.ledger import Ledger

    return Ledger(path)


def _ids(names: list[str] | None) -> str | tuple[str, ...] | None:
    if names is None:
        return None
    return names[0] if len(names) == 1 else tuple(names)
