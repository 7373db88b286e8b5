"""Certificates in footers of files: any text is one whose figures are proved, or one of our errors."""

from __future__ import annotations

import json
import math
from typing import Any

from dpfast import CertificateError, Privacy, verify
from dpfast.certificates import read_certificate

__all__ = ["one"]


class Footer:
    """A file of which no more is known than what it says of itself."""

    def __init__(self, text: bytes) -> None:
        self.metadata = {b"dpfast": text}


def one(data: bytes) -> None:
    """Read the text as a certificate and prove it."""
    try:
        certificate = read_certificate(Footer(data))
        privacy = verify(certificate, allow_insecure=True)
    except CertificateError:
        return
    check(certificate, privacy)


def check(certificate: dict[str, Any], privacy: Privacy) -> None:
    """What was proved is no more than what is stated, a figure, and the same after JSON."""
    stated = certificate.get("realised_epsilon", certificate.get("epsilon"))
    assert 0 <= privacy.epsilon <= float.fromhex(stated)
    assert 0 <= privacy.delta <= 1
    assert not math.isnan(privacy.epsilon)
    assert verify(json.loads(json.dumps(certificate)), allow_insecure=True) == privacy
