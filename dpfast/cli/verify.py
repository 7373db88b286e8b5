"""``dpfast verify``: the certificate of a sanitised file or folder, checked without the data it was made from."""

from __future__ import annotations

import argparse
from typing import Any

from dpfast.cli._output import add_json, print_json
from dpfast.cli._policy import add_policy, has_policy, read_policy

__all__ = ["add_verbs"]

EXAMPLE = """examples:
  dpfast verify released.parquet
  dpfast verify released/ --policy policy.toml

All files of a folder must have one certificate. With the policy every cell is looked at, too: it must be a value that the
policy declares. What no file can show: that it was made by these mechanisms, that the key stayed secret, that key and context
were not used on other data, and how many rows a person has."""


def add_verbs(verbs: Any) -> None:
    """Add the verb to the command."""
    verb = verbs.add_parser("verify", help="check the certificate of a sanitised file", epilog=EXAMPLE)
    verb.add_argument("file", metavar="FILE", help="a sanitised file or folder")
    add_policy(verb)
    verb.add_argument("--allow-insecure", action="store_true", help="accept noise from an insecure seed")
    add_json(verb)
    verb.set_defaults(run=_verify)


def _verify(options: argparse.Namespace) -> int:
    from dpfast._release import cell_counts, open_questions, release_certificate, verify_release
    from dpfast._sources.source import open_source

    policy = read_policy(options) if has_policy(options) else None
    source = open_source(options.file)
    certificate = release_certificate(source)
    privacy = verify_release(certificate, policy, allow_insecure=options.allow_insecure)
    if policy is not None:
        cell_counts(policy, source)
    unknown = open_questions(certificate, cells_checked=policy is not None)
    if options.json:
        print_json(
            {
                "epsilon": privacy.epsilon,
                "delta": privacy.delta,
                "neighbours": privacy.neighbours,
                "rows_per_person": privacy.rows_per_person,
                "cells_checked": policy is not None,
                "unknown": unknown,
            }
        )
        return 0
    print(f"the certificate holds: epsilon {privacy.epsilon:.6g}, delta {privacy.delta:.3g}")
    print(f"for tables that differ in the rows of one person, {privacy.rows_per_person} at most")
    if policy is not None:
        print("every cell lies in its declared domain")
    print("not shown by a file: " + "; ".join(unknown))
    return 0
