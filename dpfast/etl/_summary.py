"""``_dpfast.json`` of a folder: what it was made by and what it holds, for readers and for the same job run again."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, Final

from dpfast.errors import CorruptDataError
from dpfast.etl.report import Report, stated_privacy

__all__ = ["SUMMARY", "stored_report", "summary_text"]

SUMMARY: Final = "_dpfast.json"
SUMMARY_FORMAT: Final = 1


def summary_text(report: Report | None, certificate: Mapping[str, Any], name: str | None) -> str:
    """Return the text of a finished job, or of one that has only begun."""
    document = {
        "format": SUMMARY_FORMAT,
        "rows": None if report is None else report.rows,
        "files": None if report is None else report.files,
        "job": name,
        "certificate": certificate,
        "digest": None if report is None else report.digest,
    }
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def stored_report(found: Mapping[str, Any] | None, started: float) -> Report:
    """Return the report of a finished job from its text, read again."""
    try:
        if found is None or not isinstance(found["rows"], int) or not isinstance(found["files"], int):
            raise ValueError
        certificate = found["certificate"]
        return Report(found["rows"], found["files"], time.monotonic() - started, stated_privacy(certificate), certificate)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise CorruptDataError(f"the file {SUMMARY} of the target is damaged; overwrite the target on purpose") from None
