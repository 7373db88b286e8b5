"""Certificates checked without the data: every figure is computed again from the integers that the certificate holds."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._policy_totals import composed
from dpfast._rounding import integer
from dpfast.errors import CertificateError, DpfastError
from dpfast.hockey_stick import table_delta, table_epsilon
from dpfast.integer_table import IntegerTable
from dpfast.mechanism import Mechanism
from dpfast.privacy import Privacy, response_delta, response_epsilon, response_is_uniform, response_threshold
from dpfast.randomness import STREAM_VERSION

if TYPE_CHECKING:
    from dpfast._parquet import ParquetSource

__all__ = ["read_certificate", "verify"]

FORMAT: Final = 1
MATRICES: Final = ("matrix", "exponential", "optimal")
MECHANISM_KEYS: Final = frozenset(
    "format kind delta k domain realised_epsilon realised_delta neighbours unit null unknown other stream_version".split()
)
POLICY_KEYS: Final = frozenset(
    "format policy columns joint public unlisted neighbours unit rows_per_person epsilon delta".split()
)
FILE_KEYS: Final = frozenset("randomness stream_version key_fingerprint addressing ids ids_unique".split())
RULES: Final = ("error", "randomise")


@dataclass(frozen=True)
class _Part:
    """What one mechanism of a certificate was found to give."""

    delta: float  # as asked for
    epsilon_at: Callable[[float], float]
    composable: Any


def verify(
    certificate: Mapping[str, Any],
    *,
    mechanism: Mechanism | Mapping[Any, Any] | None = None,
    allow_insecure: bool = False,
) -> Privacy:
    """Compute the figures of a certificate again, from its integers and without data, and compare.

    Parameters
    ----------
    certificate : mapping
        What ``certificate()`` of a mechanism or of a `Policy` returned, or the one in a sanitised file; also after JSON.
    mechanism : Mechanism, or mapping from column names (tuples of names for joint groups) to mechanisms, optional
        Needed where a matrix has more than 256 categories, which a certificate does not hold: its digest must match.
    allow_insecure : bool, default False
        Whether a release of ``Stream.insecure`` passes. Its noise can be undone by anyone who guesses the seed.

    Returns
    -------
    Privacy
        What the certificate proves: (epsilon, delta) of a row, or of the rows of a person for a policy.

    Raises
    ------
    CertificateError
        A figure differs, a key is missing or unknown, the format is another, or the randomness was insecure.

    Notes
    -----
    What it cannot know: whether the file was made by these mechanisms, whether the key stayed secret, whether a key and context
    were used again on changed data, whether a person has more rows than stated, and whether ids are unique where it says
    ``unchecked``. **Cost.** That of `epsilon_at` and of `compose`.

    Examples
    --------
    >>> from dpfast import RandomisedResponse, verify
    >>> verify(RandomisedResponse(["no", "yes"], epsilon=1.0).certificate()).epsilon
    1.0
    """
    if not isinstance(certificate, Mapping):
        raise CertificateError("a certificate is a mapping: the dict that certificate() returned, or its JSON read again")
    try:
        if "columns" in certificate:
            return _policy(certificate, mechanism, allow_insecure)
        part = _mechanism(certificate, mechanism if isinstance(mechanism, Mechanism) else None)
        return Privacy(part.epsilon_at(part.delta), part.delta)
    except CertificateError:
        raise
    except DpfastError as error:
        raise CertificateError(f"a value of the certificate is not what it must be: {error}") from None
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
        raise CertificateError("the certificate is not complete, or a value in it is of the wrong kind") from None


def read_certificate(file: ParquetSource) -> dict[str, Any]:
    """Return the certificate in the footer of a sanitised file; CertificateError where there is none."""
    text = file.metadata.get(b"dpfast")
    if text is None:
        raise CertificateError("the file holds no certificate; was it made by dpfast?")
    try:
        certificate = json.loads(text)
    except ValueError:
        raise CertificateError("the certificate of the file is damaged") from None
    if not isinstance(certificate, dict):
        raise CertificateError("the certificate of the file is damaged")
    return certificate


def _policy(certificate: Mapping[str, Any], mechanism: object, allow_insecure: bool) -> Privacy:
    _keys(certificate, POLICY_KEYS, FILE_KEYS)
    _same(certificate["format"], FORMAT, "format")
    _same(certificate["neighbours"], "replace_one", "neighbours")
    _same(certificate["unit"], "row", "unit")
    if certificate.get("randomness") == "insecure" and not allow_insecure:
        raise CertificateError("the noise came from Stream.insecure: whoever guesses the seed can undo it")
    _same(certificate.get("stream_version", STREAM_VERSION), STREAM_VERSION, "stream_version")
    given = mechanism if isinstance(mechanism, Mapping) else {}
    parts = [_mechanism(entry, given.get(name)) for name, entry in _entries(certificate)]
    rows = integer(certificate["rows_per_person"], "rows_per_person", minimum=1)
    delta = float.fromhex(certificate["delta"])
    found = composed([part.composable for part in parts], [(part.epsilon_at, part.delta) for part in parts], delta, rows)
    _same(certificate["epsilon"], found.epsilon.hex(), "epsilon")
    return found


def _entries(certificate: Mapping[str, Any]) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    yield from certificate["columns"].items()
    for group in certificate.get("joint", ()):
        yield tuple(group["columns"]), group["mechanism"]


def _mechanism(certificate: Mapping[str, Any], mechanism: Any) -> _Part:
    kind = certificate["kind"]
    if kind == "stratified":
        return _strata(certificate, mechanism)
    if kind == "randomised_response":
        _keys(certificate, MECHANISM_KEYS | {"epsilon", "threshold"})
        part, delta_at = _response(certificate)
    elif kind in MATRICES:
        _keys(certificate, MECHANISM_KEYS | {"digest"} | ({"epsilon"} if kind != "matrix" else set()), {"table"})
        part, delta_at = _matrix(certificate, mechanism)
    else:
        raise CertificateError("the kind of a mechanism is not known to this version")
    _same(certificate["format"], FORMAT, "format")
    _same(certificate["neighbours"], "replace_one", "neighbours")
    _same(certificate["unit"], "row", "unit")
    _same(certificate["stream_version"], STREAM_VERSION, "stream_version")
    if certificate["unknown"] not in RULES or not isinstance(certificate["null"], bool):
        raise CertificateError("the rules for nulls and unknown values are not rules of this version")
    realised = part.epsilon_at(part.delta)
    _same(certificate["realised_epsilon"], realised.hex(), "realised_epsilon")
    if "epsilon" in certificate:
        asked = float.fromhex(certificate["epsilon"])
        if realised > asked:
            raise CertificateError("the integers give a larger epsilon than was asked for")
        _same(certificate["realised_delta"], min(delta_at(asked), part.delta).hex(), "realised_delta")
    if mechanism is not None:
        _same(certificate.get("digest", mechanism.digest.hex()), mechanism.digest.hex(), "digest")
        _same(certificate["domain"], mechanism.domain.digest.hex(), "domain")
    return part


def _response(certificate: Mapping[str, Any]) -> tuple[_Part, Callable[[float], float]]:
    k = integer(certificate["k"], "k", minimum=1)
    t = integer(certificate["threshold"], "threshold", minimum=0)
    asked = float.fromhex(certificate["epsilon"]), float.fromhex(certificate["delta"])
    _same(t, response_threshold(k, *asked), "threshold")
    part = _Part(
        float.fromhex(certificate["delta"]),
        lambda delta: response_epsilon(k, t, delta),
        SimpleNamespace(threshold=t, is_uniform=response_is_uniform(k, t), domain=SimpleNamespace(size=k)),
    )
    return part, lambda epsilon: response_delta(k, t, epsilon)


def _matrix(certificate: Mapping[str, Any], mechanism: Any) -> tuple[_Part, Callable[[float], float]]:
    k = integer(certificate["k"], "k", minimum=1)
    unknown = certificate["unknown"] == "randomise"
    if "table" in certificate:
        table = IntegerTable.from_bytes(_bytes(certificate["table"]), k, unknown=unknown)
    elif mechanism is None:
        raise CertificateError("a matrix of more than 256 categories is not written out; give mechanism= to check it")
    else:
        table = mechanism.integer_table
    rows = np.array([table.integers(row) for row in range(k + unknown)], object)
    part = _Part(float.fromhex(certificate["delta"]), lambda delta: table_epsilon(table, delta, unknown=unknown), rows)
    return part, lambda epsilon: table_delta(table, epsilon, unknown=unknown)


def _strata(certificate: Mapping[str, Any], mechanism: Any) -> _Part:
    """The stratum of a row is public: the worst one counts."""
    _keys(certificate, {"kind", "by", "strata", "default"})
    entries = [entry["mechanism"] for entry in certificate["strata"]]
    if certificate["default"] is not None:
        entries.append(certificate["default"])
    given = [] if mechanism is None else [*mechanism.mechanisms.values(), *([mechanism.default] if mechanism.default else [])]
    if mechanism is not None and len(given) != len(entries):
        raise CertificateError("the strata are not those of the mechanism that was given")
    parts = [_mechanism(entry, one) for entry, one in zip(entries, given or [None] * len(entries), strict=True)]
    delta = max(part.delta for part in parts)

    def epsilon_at(slack: float) -> float:
        return max(part.epsilon_at(slack) for part in parts)

    return _Part(delta, epsilon_at, Privacy(epsilon_at(delta), delta))


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError):
        raise CertificateError("the table of a mechanism is not base64") from None


def _keys(certificate: Mapping[str, Any], needed: AbstractSet[str], allowed: AbstractSet[str] = frozenset()) -> None:
    if odd := sorted(set(certificate) - needed - allowed):
        raise CertificateError(f"the certificate has keys that this version does not know: {', '.join(map(repr, odd))}")
    if missing := sorted(needed - set(certificate)):
        raise CertificateError(f"the certificate lacks {', '.join(map(repr, missing))}")


def _same(stated: object, found: object, name: str) -> None:
    if stated != found or type(stated) is not type(found):
        raise CertificateError(f"{name} is not what the integers of the certificate give; do not rely on this release")
