"""Certificates checked without data: what is right passes, and nothing that was changed does."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import (
    CertificateError,
    Domain,
    ExponentialResponse,
    MatrixResponse,
    Policy,
    Privacy,
    RandomisedResponse,
    Stratified,
    Stream,
    optimal_response,
    sanitise_file,
    verify,
)
from dpfast._parquet import ParquetSource
from dpfast.certificates import read_certificate
from dpfast.cli import main

DENSE = np.random.default_rng(1).dirichlet(np.ones(5), 5)
MECHANISMS = {
    "response": RandomisedResponse(["a", "b", "c"], epsilon=1.0),
    "response with delta": RandomisedResponse(range(7), epsilon=0.5, delta=0.01),
    "response at 0": RandomisedResponse(Domain(["x", None], unknown="randomise"), epsilon=0.0),
    "exponential": ExponentialResponse(range(6), distance="ordinal", epsilon=2.0),
    "optimal": optimal_response(range(4), loss="ordinal", epsilon=1.0, delta=0.02),
    "matrix": MatrixResponse(Domain.range(5, unknown="randomise"), DENSE),
    "zeros": MatrixResponse(["a", "b"], [[1.0, 0.0], [0.25, 0.75]]),
}


def policy() -> Policy:
    pair = RandomisedResponse(Domain.product(["u", "v"], range(3)), epsilon=2.0)
    strata = Stratified("town", {"A": MECHANISMS["response"], "B": RandomisedResponse(["a", "b", "c"], epsilon=0.5)})
    columns: dict[str, Any] = {
        "x": MECHANISMS["exponential"],
        "y": strata,
        "z": MECHANISMS["response with delta"],
        "town": "public",
    }
    return Policy(columns, joint={("p", "q"): pair}, rows_per_person=2)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_certificate_proves_what_it_states(name: str) -> None:
    mechanism = MECHANISMS[name]
    certificate = json.loads(json.dumps(mechanism.certificate()))
    found = verify(certificate)
    assert found == Privacy(mechanism.epsilon_at(mechanism.delta), mechanism.delta)
    assert verify(certificate, mechanism=mechanism) == found


def test_a_policy_proves_its_total() -> None:
    certificate = json.loads(json.dumps(policy().certificate()))
    delta = float.fromhex(certificate["delta"])
    assert verify(certificate) == policy().privacy(delta)
    assert certificate["rows_per_person"] == 2


def changes(certificate: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every leaf of a certificate, with another value of its kind."""
    entries = certificate.items() if isinstance(certificate, dict) else enumerate(certificate)
    for key, value in entries:
        if isinstance(value, (dict, list)):
            yield from changes(value, (*path, key))
        elif isinstance(value, bool):
            yield (*path, key), not value
        elif isinstance(value, int):
            yield (*path, key), value + 1
        elif isinstance(value, str) and value.startswith(("0x", "-0x")):
            if float.fromhex(value):
                yield (*path, key), (float.fromhex(value) * 0.5).hex()  # a stronger claim
        elif isinstance(value, str):
            yield (*path, key), "A" + value[1:] if value[:1] != "A" else "B" + value[1:]


# what no figure depends on: names, digests that only a mechanism can be compared with, and the rules beside the table
FREE = {
    "policy",
    "public",
    "unlisted",
    "domain",
    "digest",
    "null",
    "other",
    "by",
    "value",
    "columns",
    "unknown",
    "addressing",
    "ids",
}


@pytest.mark.parametrize("name", [*MECHANISMS, "policy"])
def test_no_changed_figure_passes(name: str) -> None:
    certificate = policy().certificate() if name == "policy" else MECHANISMS[name].certificate()
    tried = 0
    for path, value in changes(certificate):
        if path[-1] in FREE or (len(path) > 1 and path[-2] in ("public", "columns") and isinstance(path[-1], int)):
            continue
        changed = copy.deepcopy(certificate)
        at = changed
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value
        try:
            verify(changed)
        except CertificateError:
            tried += 1
        else:
            pytest.fail(f"passed with another {path}")
    assert tried >= 6


@pytest.mark.parametrize("name", ["response", "matrix", "policy"])
def test_missing_and_unknown_keys_are_said(name: str) -> None:
    certificate = policy().certificate() if name == "policy" else MECHANISMS[name].certificate()
    with pytest.raises(CertificateError, match="does not know: 'colour'"):
        verify(certificate | {"colour": 1})
    for key in certificate:
        with pytest.raises(CertificateError):
            verify({k: v for k, v in certificate.items() if k != key})


@pytest.mark.parametrize("certificate", [None, "text", 3, [], {}, {"kind": "laplace"}, {"columns": 3}, {"columns": {"a": 1}}])
def test_what_is_no_certificate(certificate: Any) -> None:
    with pytest.raises(CertificateError):
        verify(certificate)


def test_another_mechanism_is_seen() -> None:
    certificate = MECHANISMS["matrix"].certificate()
    with pytest.raises(CertificateError, match="given"):
        verify(certificate, mechanism=MECHANISMS["exponential"])


def test_large_matrices_need_the_mechanism() -> None:
    mechanism = ExponentialResponse(range(300), distance="circular", epsilon=1.0)
    certificate = mechanism.certificate()
    assert "table" not in certificate
    with pytest.raises(CertificateError, match="give mechanism="):
        verify(certificate)
    assert verify(certificate, mechanism=mechanism).epsilon <= 1.0
    other = ExponentialResponse(range(300), distance="circular", epsilon=0.5)
    with pytest.raises(CertificateError):
        verify(certificate, mechanism=other)


def certificate_of(path: Path) -> dict[str, Any]:
    with ParquetSource(path) as file:
        return read_certificate(file)


def test_the_certificate_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "policy.toml").write_text('version = 1\n[columns.smoker]\ndomain = ["no", "yes"]\nepsilon = 1.0\n')
    (tmp_path / "other.toml").write_text('version = 1\n[columns.smoker]\ndomain = ["no", "yes"]\nepsilon = 2.0\n')
    rules = Policy.load(tmp_path / "policy.toml")
    pq.write_table(pa.table({"smoker": ["no", "yes"] * 50}), tmp_path / "in.parquet")
    sanitise_file(tmp_path / "in.parquet", tmp_path / "out.parquet", rules)
    assert verify(certificate_of(tmp_path / "out.parquet")).epsilon == 1.0
    assert main(["verify", str(tmp_path / "out.parquet")]) == 0
    assert "give --policy" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "out.parquet"), "--policy", str(tmp_path / "policy.toml"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["epsilon"], shown["cells_checked"]) == (1.0, True)
    assert main(["verify", str(tmp_path / "out.parquet"), "--policy", str(tmp_path / "other.toml")]) == 1
    assert "domain" not in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "in.parquet")]) == 1
    assert "no certificate" in capsys.readouterr().err


def test_insecure_noise_is_refused_unless_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = Policy({"smoker": RandomisedResponse(["no", "yes"], epsilon=1.0)})
    pq.write_table(pa.table({"smoker": ["no", "yes"] * 50}), tmp_path / "in.parquet")
    sanitise_file(tmp_path / "in.parquet", tmp_path / "weak.parquet", rules, rng=Stream.insecure(1))
    weak = certificate_of(tmp_path / "weak.parquet")
    with pytest.raises(CertificateError, match="insecure"):
        verify(weak)
    assert verify(weak, allow_insecure=True).epsilon == 1.0
    assert main(["verify", str(tmp_path / "weak.parquet")]) == 1
    assert "insecure" in capsys.readouterr().err
    assert main(["verify", str(tmp_path / "weak.parquet"), "--allow-insecure"]) == 0


def test_a_cell_outside_the_domain_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "policy.toml").write_text('version = 1\n[columns.smoker]\ndomain = ["no", "yes"]\nepsilon = 1.0\n')
    rules = Policy.load(tmp_path / "policy.toml")
    footer = {b"dpfast": json.dumps(rules.certificate()).encode()}
    table = pa.table({"smoker": ["no", "maybe"]}).replace_schema_metadata(footer)
    pq.write_table(table, tmp_path / "odd.parquet")
    assert main(["verify", str(tmp_path / "odd.parquet")]) == 0
    assert main(["verify", str(tmp_path / "odd.parquet"), "--policy", str(tmp_path / "policy.toml")]) == 1
    said = capsys.readouterr().err
    assert "cannot have answered" in said
    assert "maybe" not in said
