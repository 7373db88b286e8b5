"""A nightly job, as Airflow or any other scheduler runs it: small tasks that may be run again after a failure.

Each task is a plain function of paths; with Airflow put ``@task`` above each and call them in the order of `main`. What makes
a retry safe is not the scheduler:

* a target appears when it is complete, and a finished job under the same key returns its report and draws nothing;
* noise is permanent by key and id: the same data give the same values, and a new night costs only what changed;
* the ledger is charged once for a key and context, before anything is drawn. That is the cost for people whose values stay: a
  value that changes costs epsilon again (``docs/permanent_noise.md``), so keep room below the true limit.

Run it: ``python examples/nightly.py people.parquet published/ --key people.key --ledger people.ledger``
Its table has the columns member_id, smoker and region; ``dpfast keygen people.key`` makes the key, the first run the ledger.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import dpfast
from dpfast import Ledger, Policy, Privacy, RandomisedResponse, Report, sanitise_file
from dpfast.report import explain

CONTEXT = "members"  # one name for the population, the same every night: its rows keep their noise
CAP = Privacy(4.0)  # what may ever be spent on one of them


def policy() -> Policy:
    """What is published; kept in the repository of the job, not beside the data."""
    return Policy(
        {
            "member_id": "public",
            "smoker": RandomisedResponse(["no", "yes", None], epsilon=1.0),
            "region": RandomisedResponse(["north", "east", "south", "west"], epsilon=1.5),
        },
        unlisted="drop",
    )


def check(source: Path) -> Path:
    """Stop the night if the data do not fit, without a value of theirs in the log."""
    found = policy().check(source)
    if not found.ok:
        columns = sorted({column for column, *_ in found.findings})
        raise dpfast.PolicyError(f"values outside the domains of {columns}; run `dpfast check` by hand to see them")
    return source


def sanitise(source: Path, target: Path, key: Path, ledger: Path) -> Report:
    """Write the release of this night; run again, it returns the same report."""
    spent = Ledger(ledger, cap=CAP)
    return sanitise_file(source, target, policy(), key=str(key), context=CONTEXT, ids="member_id", ledger=spent)


def publish(target: Path, page: Path) -> Path:
    """Explain the release, and refuse to go on if its certificate does not hold."""
    explained = explain(policy(), target, title=f"Members, {target.stem}")
    if explained.problem is not None:
        raise dpfast.CertificateError(explained.problem)
    page.write_text(explained.html, encoding="utf-8")
    return page


def main(arguments: list[str] | None = None) -> int:
    """All tasks in their order."""
    parser = argparse.ArgumentParser(description="sanitise a table of members and explain the release")
    parser.add_argument("source", type=Path)
    parser.add_argument("folder", type=Path, help="where releases go")
    parser.add_argument("--night", default="today", help="names the release")
    parser.add_argument("--key", type=Path, required=True)
    parser.add_argument("--ledger", type=Path, required=True)
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    target = options.folder / f"{options.night}.parquet"
    report = sanitise(check(options.source), target, options.key, options.ledger)
    page = publish(target, target.with_suffix(".html"))
    print(f"{target}: {report.rows:,} rows, epsilon {report.privacy.epsilon:g}; explained in {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
