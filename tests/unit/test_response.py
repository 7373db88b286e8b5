"""RandomisedResponse: arguments, tables, certificates, outputs, and errors that say nothing of the data."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpfast import Domain, OutsideDomainError, RandomisedResponse, Stream

WORDS = 1 << 64


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"epsilon": -1.0}, ValueError, "epsilon"),
        ({"epsilon": float("nan")}, ValueError, "epsilon"),
        ({"epsilon": float("inf")}, ValueError, '"public"'),
        ({"epsilon": "1"}, TypeError, "epsilon"),
        ({"epsilon": None}, TypeError, "epsilon"),
        ({"epsilon": True}, TypeError, "epsilon"),
        ({"epsilon": 1 + 0j}, TypeError, "epsilon"),
        ({"epsilon": 1.0, "delta": 1.0}, ValueError, "delta"),
        ({"epsilon": 1.0, "delta": -1e-9}, ValueError, "delta"),
        ({"epsilon": 1.0, "delta": None}, TypeError, "delta"),
    ],
)
def test_bad_privacy_arguments(arguments: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        RandomisedResponse([0, 1], **arguments)


@pytest.mark.parametrize("domain", [[], ["a", "a"], [1, "a"], [0.5], [None]])
def test_bad_domains(domain: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"[Dd]omain"):
        RandomisedResponse(domain, epsilon=1.0)


def test_privacy_is_spelled_out() -> None:
    with pytest.raises(TypeError):
        RandomisedResponse([0, 1], 1.0)  # type: ignore[misc]


@pytest.mark.parametrize("k", [1, 2, 3, 10, 4096])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 50.0])
def test_tables_and_matrices(k: int, epsilon: float) -> None:
    mechanism = RandomisedResponse(range(k), epsilon=epsilon)
    table = mechanism.table
    assert table.shape == (k, k)
    assert table.dtype == object
    assert (table.sum(axis=1) == WORDS).all()
    assert type(table[0, -1]) is int
    matrix = mechanism.matrix
    assert matrix.dtype == np.float64
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, rtol=1e-12)
    assert float(mechanism.keep_probability) == pytest.approx(matrix[0, 0], rel=1e-15)
    if epsilon == 0.0:
        assert mechanism.keep_probability == Fraction(1, k)
        assert (table == table[0]).all()
        assert mechanism.epsilon_at() == 0.0


def test_a_large_table_is_not_written_out() -> None:
    mechanism = RandomisedResponse(range(4097), epsilon=1.0)
    for name in ("table", "matrix"):
        with pytest.raises(ValueError, match="4096"):
            getattr(mechanism, name)
    assert RandomisedResponse(range(1 << 31), epsilon=800.0).keep_probability == 1 - Fraction((1 << 31) - 1, WORDS)


def test_profile_arguments_and_shape() -> None:
    mechanism = RandomisedResponse(range(5), epsilon=2.0, delta=0.01)
    assert mechanism.epsilon_at(0.01) <= 2.0 <= mechanism.epsilon_at(0.0)
    assert mechanism.delta_at(2.0) <= 0.01 < mechanism.delta_at(1.0)
    assert mechanism.epsilon_at(0.99) == 0.0
    assert mechanism.delta_at(50.0) == 0.0
    for wrong in (-0.1, 1.0, "0", None):
        with pytest.raises((ValueError, TypeError)):
            mechanism.epsilon_at(wrong)  # type: ignore[arg-type]
    for wrong in (-0.1, float("nan"), "0", None):
        with pytest.raises((ValueError, TypeError)):
            mechanism.delta_at(wrong)  # type: ignore[arg-type]


def test_expected_changes() -> None:
    mechanism = RandomisedResponse(range(10), epsilon=2.0)
    assert mechanism.expected_changes(0) == 0.0
    assert mechanism.expected_changes(10**6) == pytest.approx(10**6 * 9 / (np.exp(2.0) + 9))
    for wrong, error in ((-1, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error):
            mechanism.expected_changes(wrong)  # type: ignore[arg-type]


def test_the_digest_is_that_of_kind_domain_and_integers() -> None:
    base = RandomisedResponse(["a", "b"], epsilon=1.0)
    assert base.digest == RandomisedResponse(Domain(["a", "b"], unknown="randomise"), epsilon=1.0).digest
    others = [
        RandomisedResponse(["b", "a"], epsilon=1.0),
        RandomisedResponse(["a", "b", None], epsilon=1.0),
        RandomisedResponse(["a", "b"], epsilon=1.0000001),
        RandomisedResponse([b"a", b"b"], epsilon=1.0),
        RandomisedResponse(range(2), epsilon=1.0),
    ]
    assert len({base.digest, *(m.digest for m in others)}) == 6


def test_the_certificate_is_json_and_keeps_every_bit() -> None:
    mechanism = RandomisedResponse(Domain(["a", "b", None], unknown="randomise"), epsilon=0.1, delta=1e-7)
    certificate = json.loads(json.dumps(mechanism.certificate()))
    assert float.fromhex(certificate["epsilon"]) == 0.1
    assert float.fromhex(certificate["delta"]) == 1e-7
    assert float.fromhex(certificate["realised_epsilon"]) <= 0.1
    assert certificate["threshold"] == mechanism.threshold
    assert (certificate["k"], certificate["null"], certificate["unknown"]) == (3, True, "randomise")
    assert bytes.fromhex(certificate["domain"]) == mechanism.domain.digest
    assert certificate == mechanism.certificate()


class TestOut:
    """out= may be the column itself, or any writable array of its length and dtype."""

    mechanism = RandomisedResponse(range(7), epsilon=0.5)
    column = np.random.default_rng(1).integers(0, 7, 5000).astype(np.uint8)

    def expected(self) -> np.ndarray:
        return self.mechanism.sanitise(self.column, rng=Stream.insecure(4))

    def test_itself_and_another(self) -> None:
        for out in (np.empty_like(self.column), self.column.copy()):
            assert self.mechanism.sanitise(self.column, rng=Stream.insecure(4), out=out) is out
            assert (out == self.expected()).all()
        column = self.column.copy()
        self.mechanism.sanitise(column, rng=Stream.insecure(4), out=column)
        assert (column == self.expected()).all()

    @pytest.mark.parametrize("shift", [1, 7, 64, 4999])
    def test_overlapping_views(self, shift: int) -> None:
        for source, target in ((0, shift), (shift, 0)):
            memory = np.zeros(10_000, np.uint8)
            memory[source : source + 5000] = self.column
            out = memory[target : target + 5000]
            self.mechanism.sanitise(memory[source : source + 5000], rng=Stream.insecure(4), out=out)
            assert (out == self.expected()).all()

    def test_strided(self) -> None:
        out = np.zeros(10_000, np.uint8)[::2]
        self.mechanism.sanitise(self.column, rng=Stream.insecure(4), out=out)
        assert (out == self.expected()).all()
        backwards = self.column[::-1].copy()[::-1]
        self.mechanism.sanitise(backwards, rng=Stream.insecure(4), out=backwards)
        assert (backwards == self.expected()).all()

    @pytest.mark.parametrize("dtype", [np.int64, ">i4", np.int16])
    def test_other_integers(self, dtype: Any) -> None:
        column = self.column.astype(dtype)
        answers = self.mechanism.sanitise(column, rng=Stream.insecure(4), out=column)
        assert answers is column
        assert (column == self.expected()).all()

    def test_unfit(self) -> None:
        read_only = np.zeros(5000, np.uint8)
        read_only.flags.writeable = False
        for out in (np.zeros(4999, np.uint8), np.zeros(5000, np.int8), np.zeros((5000, 1), np.uint8), read_only, [0] * 5000):
            with pytest.raises((ValueError, TypeError), match="out"):
                self.mechanism.sanitise(self.column, out=out)
        with pytest.raises(TypeError, match="out"):
            self.mechanism.sanitise(pa.array([1, 2]), out=np.zeros(2, np.int64))


@pytest.mark.parametrize("rng", [5, "stream", np.random.default_rng(1)])
def test_only_a_stream_is_random(rng: Any) -> None:
    with pytest.raises(TypeError, match=r"dpfast\.Stream"):
        RandomisedResponse([0, 1], epsilon=1.0).sanitise(np.zeros(3, np.uint8), rng=rng)


def test_the_name_of_a_column() -> None:
    mechanism = RandomisedResponse([0, 1], epsilon=1.0)
    column = np.zeros(1000, np.uint8)
    stream = Stream(key=bytes(32), context="c")
    one = mechanism.sanitise(column, rng=stream, column_name="one")
    pair = mechanism.sanitise(column, rng=stream, column_name=("one", "two"))
    assert (one != pair).any()
    with pytest.raises(TypeError, match="column_name"):
        mechanism.sanitise(column, rng=stream, column_name=5)  # type: ignore[arg-type]


CANARY = "c4n4ry"
COLUMNS: list[Any] = [
    np.array(["a", CANARY]),
    np.array(["a", CANARY, None, 7.5], object),
    pa.array(["a", CANARY]),
    pa.array(["a", CANARY]).dictionary_encode(),
    pa.chunked_array([["a"], [CANARY]]),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda c: str(getattr(c, "dtype", getattr(c, "type", ""))))
def test_an_error_names_column_and_rule_and_no_value(column: Any) -> None:
    with pytest.raises(OutsideDomainError) as caught:
        RandomisedResponse(["a", "b"], epsilon=1.0).sanitise(column, column_name="the colour")
    text = str(caught.value)
    assert "'the colour'" in text
    assert "unknown='error'" in text
    assert "dpfast check" in text
    assert CANARY not in text
    assert not any(character.isdigit() for character in text)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("column", COLUMNS, ids=lambda c: str(getattr(c, "dtype", getattr(c, "type", ""))))
@pytest.mark.parametrize("rule", [{"unknown": "randomise"}, {"other": "b"}])
def test_a_declared_rule_makes_the_call_total(column: Any, rule: dict[str, Any]) -> None:
    answers = RandomisedResponse(Domain(["a", "b"], **rule), epsilon=1.0).sanitise(column)
    assert set(answers.tolist() if isinstance(answers, np.ndarray) else answers.to_pylist()) <= {"a", "b"}


def test_an_estimate_wants_answers_of_this_mechanism() -> None:
    mechanism = RandomisedResponse(["a", "b"], epsilon=1.0)
    with pytest.raises(OutsideDomainError, match="another domain") as caught:
        mechanism.estimate(np.array(["a", CANARY]))
    assert CANARY not in str(caught.value)
    with pytest.raises(TypeError):
        mechanism.estimate(np.array([0, 1]))
    with pytest.raises(ValueError, match="method"):
        mechanism.estimate(np.array(["a"]), method="guess")  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [0, 1])
def test_short_columns(n: int) -> None:
    mechanism = RandomisedResponse(["a", "b"], epsilon=1.0)
    for column in (
        np.array(["a"])[:n],
        pa.array(["a"])[:n],
        pa.chunked_array([pa.array(["a"])[:n]]),
        pa.array(["a"])[:n].dictionary_encode(),
    ):
        assert len(mechanism.sanitise(column)) == n
