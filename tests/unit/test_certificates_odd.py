"""Odd certificates: what `verify` accepts, and that nothing else passes or escapes as another error."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dpfast import (
    ArgumentTypeError,
    CertificateError,
    CorruptDataError,
    Domain,
    ExponentialResponse,
    LedgerError,
    MatrixResponse,
    Policy,
    Privacy,
    RandomisedResponse,
    Stratified,
    verify,
)
from dpfast._text import read_json
from dpfast.etl._chain import Terms
from dpfast.etl._summary import stored_report

RESPONSE = RandomisedResponse(["a", "b", "c"], epsilon=1.0, delta=1e-6)
MATRIX = MatrixResponse(Domain(["a", "b"], unknown="randomise"), [[0.75, 0.25], [0.3, 0.7]])
SYMMETRIC = MatrixResponse(Domain(["a", "b", "c"], unknown="randomise"), [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
ORDINAL = ExponentialResponse(["a", "b", "c"], distance="ordinal", epsilon=1.0)
STRATA = Stratified("s", {"x": RandomisedResponse(["a", "b"], epsilon=1.0), "y": RandomisedResponse(["a", "b"], epsilon=2.0)})
POLICY = Policy(
    {"a": RESPONSE, "b": MATRIX, "c": SYMMETRIC, "s": "public", "t": STRATA},
    joint={("o", "d"): RandomisedResponse(Domain.product(["x", "y"], ["z", "w"]), epsilon=1.0)},
)
# Statements that no integer of the certificate confirms, though some values of them are refused.
STATED = {"domain", "null", "unknown", "other", "by", "value", "public", "policy", "unlisted", "columns", "strata"}
STATED |= {"default", "mechanism"}
ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    10**30,
    "",
    "x",
    "nan",
    "inf",
    "-0x1p0",
    "0x1p+0",
    "0x1.8p-3",
    "0x1p+2000",
    1.5,
    [],
    {},
    [1],
    b"x",
]


def leaves(certificate: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries = certificate.items() if isinstance(certificate, dict) else enumerate(certificate)
    for key, value in entries:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))


@pytest.mark.parametrize("subject", [RESPONSE, MATRIX, SYMMETRIC, ORDINAL, STRATA, POLICY])
def test_a_true_certificate_passes_also_after_json(subject: Any) -> None:
    certificate = subject.certificate()
    assert verify(json.loads(json.dumps(certificate))) == verify(certificate)


@pytest.mark.parametrize("subject", [RESPONSE, MATRIX, ORDINAL, STRATA, POLICY])
def test_a_changed_figure_is_refused_and_no_other_error_escapes(subject: Any) -> None:
    certificate = subject.certificate()
    true = verify(certificate)
    for path in leaves(certificate):
        for odd in ODD:
            changed = copy.deepcopy(certificate)
            place = changed
            for key in path[:-1]:
                place = place[key]
            if place[path[-1]] == odd:
                continue
            same_number = path[-1] == "epsilon" and len(path) > 1 and odd in ("0x1p+0", "0x1.8p-3")
            place[path[-1]] = odd
            try:
                assert verify(changed) == true or path[-1] in STATED or isinstance(path[-1], int)
            except CertificateError:
                continue
            assert path[-1] in STATED or isinstance(path[-1], int) or same_number or path == ("epsilon",), (path, odd)


@pytest.mark.parametrize(
    "key", ["unit", "neighbours", "k", "delta", "realised_epsilon", "realised_delta", "null", "unknown", "domain"]
)
def test_every_key_of_a_mechanism_is_required(key: str) -> None:
    for mechanism in (RESPONSE, MATRIX, ORDINAL):
        certificate = mechanism.certificate()
        del certificate[key]
        with pytest.raises(CertificateError):
            verify(certificate)


def test_the_epsilon_asked_for_belongs_to_the_threshold() -> None:
    certificate = RESPONSE.certificate()
    with pytest.raises(CertificateError, match="threshold"):
        verify({**certificate, "epsilon": (2.0).hex()})


@pytest.mark.parametrize("delta", ["nan", "inf", "-0x1p-1", "0x1p+0"])
def test_a_delta_out_of_range_is_refused_at_once(delta: str) -> None:
    for subject in (RESPONSE, MATRIX, POLICY):
        with pytest.raises(CertificateError):
            verify({**subject.certificate(), "delta": delta})


def test_the_mechanism_given_is_the_one_compared() -> None:
    verify(RESPONSE.certificate(), mechanism=RESPONSE)
    verify(POLICY.certificate(), mechanism={"a": RESPONSE, "t": STRATA})
    other = RandomisedResponse(["a", "b", "c"], epsilon=2.0, delta=1e-6)
    with pytest.raises(CertificateError, match="given"):
        verify(RESPONSE.certificate(), mechanism=other)
    with pytest.raises(CertificateError, match="given"):
        verify(POLICY.certificate(), mechanism={"a": other})
    for odd in (3, "a", {"a": RESPONSE}):
        with pytest.raises(ArgumentTypeError):
            verify(RESPONSE.certificate(), mechanism=odd)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError):
        verify(POLICY.certificate(), mechanism=RESPONSE)


def test_a_large_matrix_needs_its_mechanism() -> None:
    large = MatrixResponse(range(257), np.full((257, 257), 1 / 257) * 0.5 + np.eye(257) * 0.5)
    with pytest.raises(CertificateError, match="mechanism="):
        verify(large.certificate())
    assert verify(large.certificate(), mechanism=large) == Privacy(large.epsilon_at())
    without = large.certificate()
    del without["digest"]
    with pytest.raises(CertificateError):
        verify(without, mechanism=large)


@pytest.mark.parametrize("subject", [SYMMETRIC, MATRIX])
def test_a_composed_policy_with_a_row_of_unknown_values_verifies(subject: MatrixResponse) -> None:
    policy = Policy({"a": subject, "b": RandomisedResponse([0, 1], epsilon=1.0, delta=0.01)})
    assert verify(policy.certificate()) == policy.privacy(0.01)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a": ' * 100_000, "9" * 5000, "", b"\xff"], ids=["lists", "objects", "digits", "", "bytes"]
)
def test_json_that_nobody_meant_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - its text is for nobody
        read_json(text)


@pytest.mark.parametrize("epsilon", ["0x1p+99999", "nan", "-0x1p+0", "", 1.0, None])
def test_figures_of_damaged_papers_are_errors_of_ours(epsilon: Any) -> None:
    figures = {"epsilon": epsilon, "delta": "0x0.0p+0", "neighbours": "replace_one", "rows_per_person": 1}
    with pytest.raises(CorruptDataError):
        stored_report({"rows": 1, "files": 1, "certificate": figures}, 0.0)
    with pytest.raises(LedgerError):
        Terms.of(json.dumps({**figures, "composition": "basic"}))
