"""``dpfast report``: a release explained on one page, for people who did not make it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from dpfast.cli.estimate import confidence

__all__ = ["add_verbs"]

EXAMPLE = """example:
  dpfast report policy.toml released.parquet -o report.html

One HTML page: what was released, how each column was answered, what is promised and what an attacker can learn, estimates with
pictures, and whether the certificate holds. It needs no network, holds no script and no value of the original data, and may be
published with the table. Exit code 1 if the certificate does not verify: the page is written all the same, and says so."""


def add_verbs(verbs: Any) -> None:
    """Add the verb to the command."""
    verb = verbs.add_parser("report", help="explain a sanitised file on one page of HTML", epilog=EXAMPLE)
    verb.add_argument("policy", metavar="POLICY", help="the policy that made the file (TOML)")
    verb.add_argument("file", metavar="FILE", help="a sanitised file, folder, pattern or address: Parquet, CSV or Arrow IPC")
    verb.add_argument("-o", "--out", metavar="PAGE", required=True, help="the page to write")
    verb.add_argument("--title", metavar="TEXT", help="default: the name of the file")
    verb.add_argument("--confidence", type=confidence, default=0.95, metavar="P", help="of the intervals (default 0.95)")
    verb.add_argument("--these-rows", action="store_true", help="errors of the shares in these rows, not in a population")
    verb.add_argument("--allow-insecure", action="store_true", help="accept noise from an insecure seed")
    verb.add_argument("--overwrite", action="store_true", help="replace an existing page")
    verb.set_defaults(run=_report)


def _report(options: argparse.Namespace) -> int:
    from dpfast._sources.source import open_source
    from dpfast.etl.jobs import AtomicFile
    from dpfast.policy import Policy
    from dpfast.report import explain

    policy = Policy.load(options.policy)
    files = (file.place.local for file in open_source(options.file).files)
    sources = [Path(options.policy), *(path for path in files if path is not None)]
    target = AtomicFile(options.out, sources=sources, overwrite=options.overwrite)
    explained = explain(
        policy,
        options.file,
        title=options.title,
        confidence=options.confidence,
        population=not options.these_rows,
        allow_insecure=options.allow_insecure,
    )
    with target as file:
        file.write(explained.html.encode())
        target.commit()
    if explained.problem is not None:
        print(f"dpfast: the certificate does not verify: {explained.problem}", file=sys.stderr)
        return 1
    print(f"the certificate holds; {options.out} explains the release")
    return 0
