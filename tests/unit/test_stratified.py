"""Rules by strata of a public column: each row by its own mechanism, with the word of its own row."""

from __future__ import annotations

import json
import pickle
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpfast import (
    ArgumentError,
    ArgumentTypeError,
    Domain,
    OutsideDomainError,
    PolicyError,
    RandomisedResponse,
    Stratified,
    Stream,
)
from dpfast.words import TILE_ROWS

VALUES = ["a", "b", "c"]


def response(epsilon: float, values: Any = VALUES, **rules: Any) -> RandomisedResponse:
    delta = rules.pop("delta", 0.0)
    return RandomisedResponse(Domain(values, **rules), epsilon=epsilon, delta=delta)


def joined(parts: list[list[Any]]) -> list[Any]:
    return list(chain.from_iterable(parts))


def each_alone(rule: Stratified, column: Any, by: Any, **options: Any) -> list[Any]:
    """What the definition says: every mechanism answers the whole column, and each row takes the answer of its stratum."""
    whole = {
        mechanism.digest: mechanism.sanitise(column, rng=Stream.insecure(9), **options).tolist() for _, mechanism in rule.strata
    }
    of = {value: mechanism.digest for value, mechanism in rule.mechanisms.items()}
    rest = b"" if rule.default is None else rule.default.digest
    return [whole[of.get(stratum, rest)][row] for row, stratum in enumerate(by)]


@pytest.fixture
def rule() -> Stratified:
    return Stratified("town", {"Bray": response(0.5), "Cork": response(2.0), None: response(1.0)}, default=response(0.25))


def test_each_row_has_the_answer_of_its_mechanism_over_the_whole_column(rule: Stratified) -> None:
    n = 3000
    column = np.array(VALUES * (n // 3))
    by = pa.array([["Bray", "Cork", None, "Dingle"][i * i % 7 % 4] for i in range(n)])
    answers = rule.sanitise(column, by, rng=Stream.insecure(9), column_name="x")
    assert answers.tolist() == each_alone(rule, column, by.to_pylist(), column_name="x")
    # and under ids
    ids = np.arange(n)
    kept = rule.sanitise(column, by, rng=Stream.insecure(9), ids=ids, column_name="x")
    assert kept.tolist() == each_alone(rule, column, by.to_pylist(), column_name="x", ids=ids)
    assert kept.tolist() != answers.tolist()


@pytest.mark.parametrize("size", [1, 7, 3000])
@pytest.mark.parametrize("threads", [1, 2])
def test_pieces_equal_the_whole(rule: Stratified, size: int, threads: int) -> None:
    n = 3 * size
    column, by = np.array(VALUES * size), np.array(["Bray", "Bray", "Cork"] * size, object)
    by[: n // 2] = "Bray"  # pieces that some strata have no row in
    whole = rule.sanitise(column, by, rng=Stream.insecure(4), column_name="x")
    stream = Stream.insecure(4)
    cuts = [0, n // 5, n // 2, n // 2, n - 1, n]
    parts = [
        rule.sanitise(column[a:b], by[a:b], rng=stream, column_name="x", threads=threads).tolist() for a, b in pairwise(cuts)
    ]
    assert joined(parts) == whole.tolist()


def test_tiles_and_threads_do_not_matter() -> None:
    # Rows of the second stage, and strata that change within and at the edges of tiles.
    n = 2 * TILE_ROWS + 17
    rule = Stratified("by", {0: response(0.1, range(200)), 1: response(3.0, range(200))})
    column = (np.arange(n) % 200).astype(np.uint8)
    by = np.zeros(n, np.int8)
    by[TILE_ROWS - 1 : TILE_ROWS + 1] = 1
    by[-1] = 1
    expected = np.where(
        by == 0,
        rule.mechanisms[0].sanitise(column, rng=Stream.insecure(2)),
        rule.mechanisms[1].sanitise(column, rng=Stream.insecure(2)),
    )
    for threads in (1, 2):
        assert np.array_equal(rule.sanitise(column, by, rng=Stream.insecure(2), threads=threads), expected)


def test_the_stratum_of_one_row_moves_no_other(rule: Stratified) -> None:
    column, by = np.array(VALUES * 100), np.array(["Bray", "Cork", "Bray"] * 100, object)
    before = rule.sanitise(column, by, rng=Stream.insecure(1))
    by[7] = "Cork" if by[7] == "Bray" else "Bray"
    after = rule.sanitise(column, by, rng=Stream.insecure(1))
    assert np.delete(before, 7).tolist() == np.delete(after, 7).tolist()


def test_equal_mechanisms_are_one() -> None:
    """Their subkey is one: if both reserved its rows, a piece would not take the words of the whole."""
    rule = Stratified("by", {0: response(1.0), 1: response(1.0)}, default=response(1.0))
    column, by = np.array(VALUES * 20), np.arange(60) % 3
    alone = response(1.0).sanitise(column, rng=Stream.insecure(3))
    assert rule.sanitise(column, by, rng=Stream.insecure(3)).tolist() == alone.tolist()
    stream = Stream.insecure(3)
    parts = [rule.sanitise(column[s], by[s], rng=stream).tolist() for s in (slice(0, 11), slice(11, 60))]
    assert joined(parts) == alone.tolist()


def test_more_categories_than_two_stages_take() -> None:
    k = 5000
    rule = Stratified("by", {0: response(6.0, range(k)), 1: response(9.0, range(k))})
    column, by = np.arange(k, dtype=np.uint16), np.arange(k, dtype=np.uint8) % 2
    answers = rule.sanitise(column, by, rng=Stream.insecure(9))
    assert answers.tolist() == each_alone(rule, column, by.tolist())


def test_a_product_may_be_stratified() -> None:
    domain = Domain.product(VALUES, range(3))
    rule = Stratified(
        "by", {0: RandomisedResponse(domain, epsilon=1.0), 1: RandomisedResponse(domain, epsilon=44.0)}, default=None
    )
    columns = (np.array(VALUES * 10), np.arange(30) % 3)
    first, second = rule.sanitise(columns, np.ones(30, np.int8), rng=Stream.insecure(1), column_name=("p", "q"))
    assert (first.tolist(), second.tolist()) == (columns[0].tolist(), columns[1].tolist())


def test_unknown_values_and_unknown_strata(rule: Stratified) -> None:
    with pytest.raises(OutsideDomainError, match="column 'x' holds a value outside its domain"):
        rule.sanitise(np.array(["z"]), pa.array(["Bray"]), column_name="x", rng=Stream.insecure(1))
    strict = Stratified("town", {"Bray": response(1.0)})
    with pytest.raises(OutsideDomainError, match="public column 'town' holds a value that has no mechanism") as caught:
        strict.sanitise(np.array(["a", "b"]), np.array(["Bray", "Kilkenny"]))
    assert "Kilkenny" not in str(caught.value)
    with pytest.raises(OutsideDomainError, match="has no mechanism"):
        strict.sanitise(np.array(["a"]), pa.array([None], pa.string()))
    random = Stratified("town", {"Bray": response(1.0, unknown="randomise")}, default=response(2.0, unknown="randomise"))
    assert set(random.sanitise(np.array(["z"] * 200), np.array(["Bray", "x"] * 100), rng=Stream.insecure(1))) == set(VALUES)


def test_arguments_come_first(rule: Stratified) -> None:
    with pytest.raises(ArgumentTypeError, match="column 'town'"):
        rule.sanitise(np.array(["a"]), np.array([1.5]))
    with pytest.raises(ArgumentError, match="equally many rows"):
        rule.sanitise(np.array(["a"]), pa.array(["Bray", "Bray"]))
    with pytest.raises(ArgumentTypeError, match="rng must be"):
        rule.sanitise(np.array(["a"]), pa.array(["Bray"]), rng=7)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="column_name="):
        rule.sanitise(np.array(["a"]), pa.array(["Bray"]), rng=Stream(key=bytes(32), context="c"))


def test_privacy_is_that_of_the_worst_stratum() -> None:
    weak, strong = response(2.0, delta=0.01), response(0.5, delta=0.125)
    for rule in (Stratified("by", {0: weak, 1: strong}), Stratified("by", {0: strong}, default=weak)):
        assert rule.delta == 0.125
        for delta in (0.0, 0.01, 0.125):
            assert rule.epsilon_at(delta) == max(weak.epsilon_at(delta), strong.epsilon_at(delta))
        for epsilon in (0.0, 0.5, 2.0):
            assert rule.delta_at(epsilon) == max(weak.delta_at(epsilon), strong.delta_at(epsilon))
        assert rule.expected_changes(100) == max(weak.expected_changes(100), strong.expected_changes(100))


def test_certificate_digest_and_pickle(rule: Stratified) -> None:
    certificate = rule.certificate()
    assert json.loads(json.dumps(certificate)) == certificate
    assert [entry["value"] for entry in certificate["strata"]] == ["Bray", "Cork", None]
    assert certificate["default"] == response(0.25).certificate()
    again = pickle.loads(pickle.dumps(rule))
    assert again.digest == rule.digest
    others = [
        Stratified("city", dict(rule.mechanisms), default=rule.default),
        Stratified("town", dict(rule.mechanisms)),
        Stratified("town", {**rule.mechanisms, "Bray": response(0.75)}, default=rule.default),
        Stratified("town", {"Bray": response(0.5), "Cork": response(2.0)}, default=rule.default),
    ]
    assert len({other.digest for other in [rule, *others]}) == 5
    assert "Stratified('town'" in repr(rule)


@pytest.mark.parametrize(
    ("by", "mechanisms", "default", "text"),
    [
        (3, {0: response(1.0)}, None, "name of a public column"),
        ("by", {}, None, "mapping from values"),
        ("by", [response(1.0)], None, "mapping from values"),
        ("by", {0: "public"}, None, "cannot be public in some strata"),
        ("by", {0: response(1.0)}, "drop", "cannot be public in some strata"),
        ("by", {0: response(1.0), 1: response(1.0, ["a", "b"])}, None, "share one domain"),
        ("by", {0: response(1.0), 1: response(1.0, unknown="randomise")}, None, "share one domain"),
        ("by", {0: response(1.0)}, response(1.0, other="a"), "share one domain"),
        ("by", {0.5: response(1.0)}, None, "are no domain"),
        ("by", {None: response(1.0)}, None, "are no domain"),
        ("by", {0: response(1.0), "a": response(2.0)}, None, "are no domain"),
    ],
)
def test_unusable_strata(by: Any, mechanisms: Any, default: Any, text: str) -> None:
    with pytest.raises(PolicyError, match=text):
        Stratified(by, mechanisms, default=default)
