"""What a job did: for the caller, for a log, and for a release."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpfast.privacy import Privacy

__all__ = ["Report", "certificate_text", "stated_privacy"]

_DIGEST_PERSON = b"dpfast/report/1"


@dataclass(frozen=True)
class Report:
    """What a file job did.

    Attributes
    ----------
    rows : int
        Number of rows written; public under ``replace_one``.
    files : int
        Number of files written.
    seconds : float
        Duration; for the operator only.
    privacy : Privacy
        What the release of a whole row costs.
    certificate : dict
        As it stands in the footer of the file, or in ``_dpfast.json`` of a folder.

    Examples
    --------
    >>> from dpfast import Privacy, Report
    >>> Report(rows=3, files=1, seconds=0.1, privacy=Privacy(1.0), certificate={}).rows
    3
    """

    rows: int
    files: int
    seconds: float
    privacy: Privacy
    certificate: dict[str, Any] = field(repr=False)

    @property
    def digest(self) -> str:
        """The digest of the certificate, in hexadecimal: what two people compare who hold the same release."""
        return hashlib.blake2b(certificate_text(self.certificate).encode(), digest_size=32, person=_DIGEST_PERSON).hexdigest()

    def to_json(self) -> str:
        """Return the report as JSON that may be published with the data: without the duration.

        An infinite epsilon, which JSON has no number for, is null; the certificate spells it out.
        """
        privacy = self.privacy
        document = {
            "rows": self.rows,
            "files": self.files,
            "privacy": {
                "epsilon": privacy.epsilon if math.isfinite(privacy.epsilon) else None,
                "delta": privacy.delta,
                "neighbours": privacy.neighbours,
                "rows_per_person": privacy.rows_per_person,
            },
            "certificate": self.certificate,
            "digest": self.digest,
        }
        return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def certificate_text(certificate: Mapping[str, Any]) -> str:
    """Return the one spelling of a certificate."""
    return json.dumps(certificate, sort_keys=True, separators=(",", ":"))


def stated_privacy(certificate: Mapping[str, Any]) -> Privacy:
    """Return what a certificate says a row, or the rows of a person, cost."""
    epsilon, delta = float.fromhex(certificate["epsilon"]), float.fromhex(certificate["delta"])
    return Privacy(epsilon, delta, certificate["neighbours"], certificate["rows_per_person"])
