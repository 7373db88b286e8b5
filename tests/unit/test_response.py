"""RandomisedResponse as its users meet it: arguments, tables, certificates, outputs into given memory, and what errors tell."""

from __future__ import annotations

import copy
import json
import math
import pickle
import traceback
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest

from dpfast import (
    ArgumentError,
    ArgumentTypeError,
    Domain,
    DomainError,
    DpfastError,
    FileError,
    OutsideDomainError,
    Stream,
)
from dpfast import RandomisedResponse as Response
from dpfast._core import rows as core
from dpfast.reference import response

CANARY = "canary-in-the-mine"
RANGE = 1 << 64


def numbers(k: int, n_rows: int = 1000, dtype: str = "u1") -> npt.NDArray[Any]:
    return (np.arange(n_rows) * 7 % k).astype(dtype)


# arguments


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"epsilon": -1}, ArgumentError),
        ({"epsilon": -5e-324}, ArgumentError),
        ({"epsilon": float("nan")}, ArgumentError),
        ({"epsilon": float("inf")}, ArgumentError),
        ({"epsilon": "1"}, ArgumentTypeError),
        ({"epsilon": None}, ArgumentTypeError),
        ({"epsilon": True}, ArgumentTypeError),
        ({"epsilon": np.array([1.0])}, ArgumentTypeError),
        ({"epsilon": 1, "delta": 1}, ArgumentError),
        ({"epsilon": 1, "delta": -1e-9}, ArgumentError),
        ({"epsilon": 1, "delta": float("nan")}, ArgumentError),
        ({"epsilon": 1, "delta": None}, ArgumentTypeError),
        ({"domain": [], "epsilon": 1}, DomainError),
        ({"domain": ["a", "a"], "epsilon": 1}, DomainError),
        ({"domain": [1, 1.0], "epsilon": 1}, DomainError),
        ({"domain": np.array(["a"]), "epsilon": 1}, ArgumentTypeError),
        ({"domain": pd.Series(["a"]), "epsilon": 1}, ArgumentTypeError),
        ({"domain": pa.array(["a"]), "epsilon": 1}, ArgumentTypeError),
        ({"domain": None, "epsilon": 1}, ArgumentTypeError),
        ({"domain": "no-such-file.txt", "epsilon": 1}, FileError),
    ],
)
def test_wrong_arguments_are_typed_errors(arguments: dict[str, Any], error: type[DpfastError]) -> None:
    domain = arguments.pop("domain", ["a", "b"])
    with pytest.raises(error) as caught:
        Response(domain, **arguments)
    assert isinstance(caught.value, DpfastError)
    assert isinstance(caught.value, (ValueError, TypeError, OSError))


def test_privacy_parameters_are_named() -> None:
    for call in (lambda: Response(["a"], 1.0), lambda: Response(["a"])):  # type: ignore[misc, call-arg]
        with pytest.raises(TypeError, match=r"epsilon|positional"):
            call()


@pytest.mark.parametrize(
    ("domain", "column", "error"),
    [
        (["a", "b"], np.array(["a", "c"]), OutsideDomainError),
        (range(3), np.array([3], np.uint8), OutsideDomainError),
        (range(3), np.array([-1]), OutsideDomainError),
        (range(3), np.array([1.0]), ArgumentTypeError),
        (range(3), [1, 2], ArgumentTypeError),
        (range(3), pd.Series([1.0, 2.0]), ArgumentTypeError),
        (range(3), None, ArgumentTypeError),
        (range(3), pa.table({"a": [1]}), ArgumentTypeError),
        (range(3), pa.scalar(1), ArgumentTypeError),
    ],
)
def test_wrong_columns_are_typed_errors(domain: Any, column: Any, error: type[DpfastError]) -> None:
    with pytest.raises(error):
        Response(domain, epsilon=1.0).sanitise(column)


@pytest.mark.parametrize("threads", [0, -1])
def test_no_threads_are_too_few(threads: int) -> None:
    with pytest.raises(ArgumentError, match="threads must be at least 1"):
        Response(range(3), epsilon=1.0).sanitise(numbers(3), threads=threads)


@pytest.mark.parametrize("threads", [1.0, "2", True, [1]])
def test_threads_are_counted_in_integers(threads: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="threads must be None or an integer"):
        Response(range(3), epsilon=1.0).sanitise(numbers(3), threads=threads)


def test_threads_of_any_number_change_nothing() -> None:
    for threads in (1, 2, 3, 1000):
        drawn = Response(range(3), epsilon=1.0).sanitise(numbers(3), rng=Stream.insecure(1), threads=threads)
        assert (drawn == Response(range(3), epsilon=1.0).sanitise(numbers(3), rng=Stream.insecure(1))).all()


@pytest.mark.parametrize("name", [3, b"a", ["a"], 1.0, ("a", 3), ("a", None)])
def test_column_names_are_text(name: Any) -> None:
    with pytest.raises(ArgumentTypeError):
        Response(range(3), epsilon=1.0).sanitise(numbers(3), column_name=name, rng=Stream.insecure(1))


def test_the_name_of_a_column_is_part_of_its_noise(key: bytes) -> None:
    mechanism = Response(range(4096), epsilon=0.0)
    names: list[Any] = ["a", "b", "", ("a",), ("a", "b"), ("ab",), ("", "ab")]
    drawn = {
        mechanism.sanitise(numbers(4096, 50, "u2"), rng=Stream(key=key, context="x"), column_name=name).tobytes()
        for name in names
    }
    assert len(drawn) == len(names)


# the table


@pytest.mark.parametrize("k", [1, 2, 3, 10, 255, 256, 1000])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1e-300, 0.0), (0.5, 0.1), (1.0, 0.0), (44.0, 0.0), (800.0, 0.0)])
def test_table_matrix_and_keep_probability_are_one_law(k: int, epsilon: float, delta: float) -> None:
    mechanism = Response(range(k), epsilon=epsilon, delta=delta)
    t = response.threshold(k, epsilon, delta)
    assert mechanism.threshold == t
    table = mechanism.table
    assert table.shape == (k, k)
    assert table[:7].tolist() == response.table(k, t)[:7]
    assert all(sum(row) == RANGE for row in table.tolist())
    assert mechanism.keep_probability == (Fraction(1, k) if response.is_uniform(k, t) else Fraction(table[0, 0], RANGE))
    assert mechanism.matrix.dtype == np.float64
    assert np.allclose(mechanism.matrix.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert mechanism.matrix[0, 0] == float(Fraction(table[0, 0], RANGE))
    assert mechanism.epsilon_at(delta) <= epsilon
    assert mechanism.delta_at(epsilon) <= delta


def test_the_profile_falls_and_its_arguments_are_checked() -> None:
    mechanism = Response(range(5), epsilon=2.0, delta=0.01)
    assert mechanism.epsilon_at(0.01) <= 2.0 <= mechanism.epsilon_at(0.0)
    assert mechanism.delta_at(2.0) <= 0.01 < mechanism.delta_at(1.0)
    assert mechanism.epsilon_at(0.99) == mechanism.delta_at(50.0) == 0.0
    wrong: list[Any] = [-0.1, float("nan"), "0", None]
    for value in [*wrong, 1.0]:
        with pytest.raises((ArgumentError, ArgumentTypeError)):
            mechanism.epsilon_at(value)
    for value in wrong:
        with pytest.raises((ArgumentError, ArgumentTypeError)):
            mechanism.delta_at(value)


def test_the_table_is_built_once_and_on_demand() -> None:
    mechanism = Response(range(4096), epsilon=1.0)
    assert mechanism.table is mechanism.table
    for k in (4097, 1 << 31):
        large = Response(range(k), epsilon=1.0)
        for name in ("table", "matrix"):
            with pytest.raises(ArgumentError, match="up to k = 4096; use threshold and keep_probability"):
                getattr(large, name)
        assert 0 < large.keep_probability < 1


@pytest.mark.parametrize("word", [0, 1, RANGE - 1, RANGE - 2, RANGE >> 1, (1 << 48) - 1, 1 << 48])
@pytest.mark.parametrize("k", [1, 2, 3, 1024, 1025, 65_536])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 40.0, 800.0])
def test_words_at_the_ends_of_their_range_are_answered(word: int, k: int, epsilon: float) -> None:
    """A tape of all zeros or all ones never leads outside the domain."""
    mechanism = Response(range(k), epsilon=epsilon)
    codes = np.array([0, k // 2, k - 1], np.uint32)
    out = np.empty(3, np.uint32)
    law: core.ResponseLaw = mechanism.law
    law.whole(codes, np.full(3, word, np.uint64), out)
    assert out.tolist() == [response.decide(word, int(code), k, mechanism.threshold) for code in codes]
    if law.split:
        pending = core.Pending(3)
        high = np.full(3, word >> 48, np.uint16)
        low = np.tile(np.frombuffer((word & ((1 << 48) - 1)).to_bytes(6, "little") + bytes(10), np.uint8), 3)
        law.first(codes, high, out, pending, 0)
        law.settle(pending, low, out)
        assert out.tolist() == [response.decide(word, int(code), k, mechanism.threshold) for code in codes]


def test_expected_changes() -> None:
    mechanism = Response(range(10), epsilon=2.0)
    each = float(1 - mechanism.keep_probability)
    assert [mechanism.expected_changes(n) for n in (0, 1, np.int64(1000))] == pytest.approx([0, each, 1000 * each])
    assert Response(["a"], epsilon=0.0).expected_changes(10**9) == 0
    changed = (mechanism.sanitise(numbers(10, 100_000), rng=Stream.insecure(1)) != numbers(10, 100_000)).sum()
    assert abs(changed - mechanism.expected_changes(100_000)) < 6 * math.sqrt(100_000 / 4)
    for n_rows in (1.0, "1", None, True):
        with pytest.raises(ArgumentTypeError, match="n_rows must be an integer"):
            mechanism.expected_changes(n_rows)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="n_rows must be at least 0"):
        mechanism.expected_changes(-1)


@pytest.mark.parametrize(
    "domain", [Domain(["a", None], unknown="randomise"), Domain([5, 6], other=6), Domain.range(1 << 31), Domain([b"a", b"b"])]
)
def test_a_certificate_is_json_and_holds_no_data(domain: Domain) -> None:
    mechanism = Response(domain, epsilon=0.7, delta=1e-6)
    before = mechanism.certificate()
    mechanism.sanitise(domain.decode(np.zeros(9, np.uint8), like=like(domain)))
    certificate = mechanism.certificate()
    assert json.loads(json.dumps(certificate)) == certificate == before
    assert float.fromhex(certificate["epsilon"]) == 0.7
    assert 0 < float.fromhex(certificate["realised_epsilon"]) <= 0.7
    assert 0 <= float.fromhex(certificate["realised_delta"]) <= 1e-6
    assert bytes.fromhex(certificate["domain"]) == domain.digest
    assert (certificate["k"], certificate["threshold"]) == (domain.size, mechanism.threshold)
    assert (certificate["unknown"], certificate["other"]) == (domain.unknown, domain.other_code)
    assert certificate["null"] is (domain.null_code is not None)
    assert (certificate["neighbours"], certificate["unit"]) == ("replace_one", "row")


def like(domain: Domain) -> npt.NDArray[Any]:
    return np.array([], {"range": "i8", "int": "i8", "bytes": "S1", "text": "O"}[domain.kind])


def test_the_digest_names_what_noise_is_bound_to() -> None:
    plain = Response(["a", "b"], epsilon=1.0)
    assert plain.digest == Response(Domain(["a", "b"]), epsilon=1.0).digest
    others = [Response(["b", "a"], epsilon=1.0), Response(["a", "b"], epsilon=1.1), Response(["a", "b", None], epsilon=1.0)]
    rules: list[dict[str, Any]] = [{"unknown": "randomise"}, {"other": "a"}, {"other": "b"}]
    others += [Response(Domain(["a", "b"], **rule), epsilon=1.0) for rule in rules]
    assert len({plain.digest, *(other.digest for other in others)}) == 7


@pytest.mark.parametrize("by_id", [False, True])
def test_two_rules_under_one_key_do_not_show_which_rows_were_unknown(key: bytes, by_id: bool) -> None:
    """Did two rules share words, known rows would repeat and every row that differs would be an unknown one."""
    column = np.array(["a", "b", "x", "y"])[np.random.default_rng(1).integers(0, 4, 4000)]
    known = np.isin(column, ["a", "b"])
    ids = np.arange(column.size) if by_id else None

    def released(**rule: Any) -> Any:
        stream = Stream(key=key, context="one")
        return Response(Domain(["a", "b"], **rule), epsilon=1.0).sanitise(column, rng=stream, column_name="c", ids=ids)

    first, second, again = released(unknown="randomise"), released(other="b"), released(other="b")
    share = (first != second)[known].mean()
    keep = 1 / (1 + np.exp(-1.0))
    assert abs(share - 2 * keep * (1 - keep)) < 6 * np.sqrt(0.25 / known.sum())
    assert (second == again).all()


def test_a_mechanism_goes_to_other_processes_and_comes_back() -> None:
    """Before its first use and after."""
    mechanism = Response(Domain(["a", "b", None], unknown="randomise"), epsilon=1.0, delta=1e-9)
    column = pa.array(["a", "b", None, "x"] * 50)
    for _ in range(2):
        for twin in (pickle.loads(pickle.dumps(mechanism)), copy.copy(mechanism), copy.deepcopy(mechanism)):
            assert twin.digest == mechanism.digest
            drawn = twin.sanitise(column, rng=Stream.insecure(1))
            assert drawn.equals(Response(mechanism.domain, epsilon=1.0, delta=1e-9).sanitise(column, rng=Stream.insecure(1)))
        mechanism.sanitise(column)


def test_repr_shows_parameters() -> None:
    assert repr(Response(range(3), epsilon=1)) == "RandomisedResponse(Domain(range(0, 3)), epsilon=1.0)"
    assert repr(Response(["a"], epsilon=0.5, delta=0.1)) == "RandomisedResponse(Domain(['a']), epsilon=0.5, delta=0.1)"


# estimates


@pytest.mark.parametrize(
    ("domain", "column"),
    [
        (Domain(["a", "b"]), np.array(["a", CANARY])),
        (Domain(["a", "b"]), pa.array(["a", None])),
        (Domain(["a", "b"]), pa.array(["a", CANARY]).dictionary_encode()),
        (Domain(["a", "b"], unknown="randomise"), np.array([CANARY])),
        (Domain(["a", "b"], other="a"), np.array([CANARY])),
        (Domain(["a", "b"], other="a"), pa.array([None, "a"])),
        (Domain.range(3), np.array([3], np.uint8)),
        (Domain.range(3, other=1), np.array([3], np.uint8)),
        (Domain.range(3), np.array([-1])),
    ],
)
def test_an_estimate_refuses_answers_that_cannot_be(domain: Domain, column: Any) -> None:
    """A sanitised column holds values of the domain only, whatever its rule for values outside was."""
    with pytest.raises(OutsideDomainError, match="cannot have answered") as caught:
        Response(domain, epsilon=1.0).estimate(column)
    assert CANARY not in str(caught.value)


def test_an_estimate_refuses_other_types() -> None:
    for column in (np.array([1.0]), ["a"], np.array([1]), pa.array([1]), np.array([["a"]])):
        with pytest.raises(ArgumentTypeError):
            Response(["a", "b"], epsilon=1.0).estimate(column)
    with pytest.raises(ArgumentError, match="method"):
        Response(["a"], epsilon=1.0).estimate(np.array(["a"]), method="guess")  # type: ignore[arg-type]


def test_an_estimate_counts_what_was_answered() -> None:
    mechanism = Response(["a", None, "c"], epsilon=1.0)
    column = pa.chunked_array([["a", None], [], ["c", "c", "a", "a"]])
    estimate = mechanism.estimate(column)
    assert estimate.frequency.tolist() == mechanism.estimate_counts([3, 1, 2]).frequency.tolist()
    assert mechanism.estimate(column.dictionary_encode()).frequency.tolist() == estimate.frequency.tolist()


# what errors tell


COLUMNS: list[Any] = [
    np.array(["a", CANARY]),
    np.array(["a", CANARY], object),
    np.array([CANARY, None, b"x", 7, float("nan"), [CANARY]], object),
    pa.array(["a", CANARY, None]),
    pa.array(["a", CANARY]).dictionary_encode(),
    pa.array([CANARY] * 1000),
    pa.chunked_array([["a"], [CANARY]]),
]


@pytest.mark.parametrize("column", COLUMNS, ids=range(len(COLUMNS)))
def test_a_value_outside_shows_neither_in_text_nor_in_kind(column: Any) -> None:
    """One text for one unknown value and for a thousand; nothing of them hangs on the error."""
    seen = set()
    for part in (column, column[-1:]):
        if part[0] == "a":
            continue
        with pytest.raises(OutsideDomainError) as caught:
            Response(["a", "b"], epsilon=1.0).sanitise(part, column_name="town")
        shown = "".join(traceback.format_exception(caught.value)) + repr(vars(caught.value))
        assert CANARY not in shown
        seen.add(str(caught.value))
    assert len(seen) == 1
    assert "'town'" in (text := seen.pop())
    assert "dpfast check" in text
    assert not any(character.isdigit() for character in text)


@pytest.mark.parametrize("rule", [{"unknown": "randomise"}, {"other": "a"}])
@pytest.mark.parametrize("column", COLUMNS, ids=range(len(COLUMNS)))
def test_with_a_rule_for_the_unknown_every_column_is_answered(column: Any, rule: Any) -> None:
    answers = Response(Domain(["a", "b"], **rule), epsilon=1.0).sanitise(column)
    assert type(answers) is type(column)
    assert len(answers) == len(column)
    assert set(answers.tolist() if isinstance(answers, np.ndarray) else answers.to_pylist()) <= {"a", "b"}


@pytest.mark.parametrize("column", COLUMNS[3:], ids=range(len(COLUMNS) - 3))
def test_what_kind_of_column_comes_out_does_not_depend_on_the_values(column: Any) -> None:
    harmless = pa.array(["a"] * len(column), column.type)
    answers = [Response(Domain(["a", "b"], other="b"), epsilon=40.0).sanitise(c) for c in (column, harmless)]
    assert answers[0].type == answers[1].type
    if pa.types.is_dictionary(column.type):
        assert answers[0].dictionary.equals(answers[1].dictionary)


def test_a_domain_file_is_a_domain(tmp_path: Path) -> None:
    path = tmp_path / "towns.txt"
    path.write_text("a\nb\n")
    assert Response(path, epsilon=1.0).digest == Response(["a", "b"], epsilon=1.0).digest
