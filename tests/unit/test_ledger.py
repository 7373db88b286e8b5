"""The ledger charges what a release costs, once, before anything is drawn, and refuses what exceeds its cap."""

from __future__ import annotations

import math
import os
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import (
    ArgumentError,
    ArgumentTypeError,
    IdError,
    Ledger,
    LedgerError,
    OutsideDomainError,
    Policy,
    Privacy,
    RandomisedResponse,
    Stratified,
    Stream,
    compose,
    sanitise_file,
)
from dpfast.histogram import sanitise_contingency

TOWNS = ["Bray", "Cork", "Dingle", "Ennis"]
COLUMN = np.array(TOWNS * 25)
IDS = np.arange(100)
TABLE = pa.table({"town": COLUMN, "id": IDS})
RESPONSE = RandomisedResponse(TOWNS, epsilon=1.0)
OTHER = RandomisedResponse(TOWNS, epsilon=0.5)
POLICY = Policy({"town": RESPONSE, "id": "public"})
STRATA = Stratified("id", {0: OTHER}, default=RESPONSE)


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Ledger]:
    def call(epsilon: float = 100.0, delta: float = 0.0, *, name: str = "people.ledger", **options: Any) -> Ledger:
        rows = options.pop("rows_per_person", 1)
        return Ledger(tmp_path / name, cap=Privacy(epsilon, delta, rows_per_person=rows), **options)

    return call


def keyed(key: bytes, context: str = "c", **options: Any) -> Stream:
    return Stream(key=key, context=context, **options)


def file_of(folder: Path, table: pa.Table = TABLE) -> Path:
    pq.write_table(table, folder / "source.parquet")
    return folder / "source.parquet"


# Everything that spends: what is called with a stream and a ledger, and what that costs.
SPENDERS: dict[str, Callable[..., Any]] = {
    "sanitise": lambda rng, ledger: RESPONSE.sanitise(COLUMN, rng=rng, column_name="town", ledger=ledger),
    "counts": lambda rng, ledger: RESPONSE.sanitise_counts([25] * 4, rng=rng, column_name="town", ledger=ledger),
    "contingency": lambda rng, ledger: sanitise_contingency(
        np.full((4, 4), 5), [RESPONSE, OTHER], rng=rng, column_names=["a", "b"], ledger=ledger
    ),
    "stratified": lambda rng, ledger: STRATA.sanitise(COLUMN, IDS, rng=rng, column_name="town", ledger=ledger),
    "policy": lambda rng, ledger: POLICY.sanitise(TABLE, rng=rng, ledger=ledger),
}
COSTS = {"sanitise": 1.0, "counts": 1.0, "contingency": 1.5, "stratified": 1.0, "policy": 1.0}


def same(first: Any, second: Any) -> bool:
    return bool(first.equals(second) if isinstance(first, pa.Table) else np.array_equal(first, second))


@pytest.mark.parametrize("name", SPENDERS)
def test_fresh_and_insecure_noise_is_charged_each_time(name: str, opened: Callable[..., Ledger]) -> None:
    ledger = opened()
    for number, rng in enumerate([None, Stream(), Stream.insecure(1), Stream.insecure(1)], start=1):
        SPENDERS[name](rng, ledger)
        assert ledger.total() == Privacy(number * COSTS[name])
    assert [entry.randomness for entry in ledger.entries()] == ["fresh", "fresh", "insecure", "insecure"]
    assert ledger.entries()[3].key_fingerprint == Stream.insecure(1).fingerprint


@pytest.mark.parametrize("name", SPENDERS)
def test_a_keyed_release_is_charged_once_and_gives_the_same_again(name: str, opened: Callable[..., Ledger], key: bytes) -> None:
    ledger = opened(COSTS[name])  # room for one
    first = SPENDERS[name](keyed(key), ledger)
    assert same(SPENDERS[name](keyed(key), ledger), first)
    [entry] = ledger.entries()
    assert (entry.randomness, entry.key_fingerprint) == ("keyed", keyed(key).fingerprint)
    # another context, another key: other noise, and no room for it
    for stream in (keyed(key, "d"), keyed(bytes(32))):
        with pytest.raises(LedgerError, match="no room"):
            SPENDERS[name](stream, ledger)
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("name", SPENDERS)
def test_a_second_call_of_one_keyed_stream_is_charged(name: str, opened: Callable[..., Ledger], key: bytes) -> None:
    # It answers the same rows with other noise, and their average says more.
    ledger, stream = opened(), keyed(key)
    first, second = SPENDERS[name](stream, ledger), SPENDERS[name](stream, ledger)
    assert not same(first, second)
    assert ledger.total().epsilon == 2 * COSTS[name]
    stream = keyed(key)
    assert same(SPENDERS[name](stream, ledger), first)
    assert same(SPENDERS[name](stream, ledger), second)
    assert ledger.total().epsilon == 2 * COSTS[name]


@pytest.mark.parametrize("name", SPENDERS)
def test_a_refused_charge_draws_nothing(name: str, opened: Callable[..., Ledger], key: bytes) -> None:
    ledger = opened(math.nextafter(COSTS[name], 0.0))
    for make in (lambda: keyed(key), lambda: Stream.insecure(1)):
        refused = make()
        with pytest.raises(LedgerError, match="no room"):
            SPENDERS[name](refused, ledger)
        # the rows of the stream are untouched: it goes on where it would have begun
        assert same(SPENDERS[name](refused, None), SPENDERS[name](make(), None))
    assert ledger.entries() == []
    out = COLUMN.copy()
    with pytest.raises(LedgerError):
        RESPONSE.sanitise(COLUMN, out=out, ledger=opened(0.5, name="small"))
    assert (out == COLUMN).all()


def test_a_ledger_changes_no_answer(opened: Callable[..., Ledger], key: bytes) -> None:
    for call in SPENDERS.values():
        assert same(call(keyed(key), opened()), call(keyed(key), None))


def test_pieces_with_a_first_row_are_one_charge(opened: Callable[..., Ledger], key: bytes) -> None:
    ledger = opened(1.0)
    whole = RESPONSE.sanitise(COLUMN, rng=keyed(key), column_name="town")
    pieces = [
        RESPONSE.sanitise(COLUMN[at : at + 30], rng=keyed(key, first_row=at), column_name="town", ledger=ledger)
        for at in range(0, 100, 30)
    ]
    assert np.concatenate(pieces).tolist() == whole.tolist()
    assert ledger.total() == Privacy(1.0)


def test_under_ids_a_context_is_one_charge(opened: Callable[..., Ledger], key: bytes) -> None:
    ledger, stream = opened(1.0), keyed(key)
    first = RESPONSE.sanitise(COLUMN, rng=stream, ids=IDS, column_name="town", ledger=ledger)
    again = RESPONSE.sanitise(COLUMN[::-1], rng=stream, ids=IDS[::-1], column_name="town", ledger=ledger)
    assert again.tolist() == first.tolist()[::-1]
    assert [entry.addressing for entry in ledger.entries()] == ["id"]
    assert ledger.charge(Privacy(0.0))
    with pytest.raises(LedgerError):
        POLICY.sanitise(TABLE, ids="id", rng=keyed(key), ledger=ledger)


def test_a_changed_rule_is_charged(opened: Callable[..., Ledger], key: bytes) -> None:
    ledger = opened()
    for column, rule in (("town", RESPONSE), ("town", OTHER), ("home", RESPONSE), ("town", RESPONSE)):
        rule.sanitise(COLUMN, rng=keyed(key), column_name=column, ledger=ledger)
    for policy in (POLICY, Policy({"town": OTHER, "id": "public"}), Policy({"town": RESPONSE, "id": "drop"}), POLICY):
        policy.sanitise(TABLE, rng=keyed(key), ledger=ledger)
    assert [entry.privacy.epsilon for entry in ledger.entries()] == [1.0, 0.5, 1.0, 1.0, 0.5, 1.0]
    assert [entry.column for entry in ledger.entries()] == ["town", "town", "home", None, None, None]
    assert ledger.entries()[3].rule == POLICY.digest.hex()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda ledger, key: RESPONSE.sanitise(COLUMN, rng=keyed(key), ledger=ledger), ArgumentTypeError),
        (lambda ledger, key: RESPONSE.sanitise(COLUMN, rng=7, ledger=ledger), ArgumentTypeError),
        (lambda ledger, key: RESPONSE.sanitise(COLUMN, threads=0, ledger=ledger), ArgumentError),
        (lambda ledger, key: RESPONSE.sanitise(COLUMN, ids=IDS, ledger=ledger), ArgumentTypeError),
        (lambda ledger, key: RESPONSE.sanitise(COLUMN, ids=IDS // 2, rng=keyed(key), column_name="a", ledger=ledger), IdError),
        (lambda ledger, key: RESPONSE.sanitise(np.zeros(3), ledger=ledger), ArgumentTypeError),
        (lambda ledger, key: RESPONSE.sanitise_counts([1], ledger=ledger), ArgumentError),
        (lambda ledger, key: RESPONSE.sanitise_counts([1] * 4, rng=keyed(key), ledger=ledger), ArgumentTypeError),
        (lambda ledger, key: sanitise_contingency([1] * 4, [RESPONSE], rng=keyed(key), ledger=ledger), ArgumentTypeError),
        (lambda ledger, key: sanitise_contingency([1] * 4, [RESPONSE], column_names=[7], ledger=ledger), ArgumentTypeError),
        (lambda ledger, key: STRATA.sanitise(COLUMN, IDS[1:], ledger=ledger), ArgumentError),
        (lambda ledger, key: STRATA.sanitise(COLUMN, IDS, ids=IDS, ledger=ledger), ArgumentTypeError),
        (lambda ledger, key: POLICY.sanitise(TABLE, rng=7, ledger=ledger), ArgumentTypeError),
        (lambda ledger, key: POLICY.sanitise(TABLE, threads=0, ledger=ledger), ArgumentError),
        (lambda ledger, key: POLICY.sanitise(TABLE, ids="id", ledger=ledger), ArgumentTypeError),
    ],
)
def test_a_wrong_request_is_not_charged(call: Any, error: type[Exception], opened: Callable[..., Ledger], key: bytes) -> None:
    ledger = opened()
    with pytest.raises(error):
        call(ledger, key)
    assert ledger.entries() == []


@pytest.mark.parametrize("call", [*SPENDERS.values(), lambda rng, ledger: sanitise_file("a", "b", POLICY, ledger=ledger)])
def test_what_is_no_ledger_is_a_type_error(call: Any) -> None:
    for wrong in ("people.ledger", 1.0, Privacy(1.0)):
        with pytest.raises(ArgumentTypeError, match=r"ledger must be None or a dpfast\.Ledger"):
            call(None, wrong)


def test_a_value_outside_leaves_the_charge(opened: Callable[..., Ledger]) -> None:
    ledger = opened()
    with pytest.raises(OutsideDomainError):
        RESPONSE.sanitise(np.array(["Bray", "Derry"]), ledger=ledger)
    assert ledger.total() == Privacy(1.0)


def test_a_file_is_one_charge_and_its_retry_is_free(tmp_path: Path, opened: Callable[..., Ledger], key: bytes) -> None:
    source, target, ledger = file_of(tmp_path), tmp_path / "target.parquet", opened(2.0)
    options: dict[str, Any] = {"key": key, "context": "c", "ledger": ledger, "overwrite": True}
    sanitise_file(source, target, POLICY, **options)
    first = target.read_bytes()
    sanitise_file(source, target, POLICY, **options)
    assert (target.read_bytes(), len(ledger.entries())) == (first, 1)
    # other data get other noise, so they are another release
    file_of(tmp_path, TABLE.slice(1))
    sanitise_file(source, target, POLICY, **options)
    assert ledger.total() == Privacy(2.0)
    assert [entry.addressing for entry in ledger.entries()] == ["row", "row"]
    file_of(tmp_path, TABLE.slice(2))
    target.unlink()
    with pytest.raises(LedgerError, match="no room"):
        sanitise_file(source, target, POLICY, **options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.ledger", "source.parquet"]


def test_files_under_ids_and_fresh_files(tmp_path: Path, opened: Callable[..., Ledger], key: bytes) -> None:
    ledger, target = opened(), tmp_path / "target.parquet"
    for rows in (50, 100):
        source = file_of(tmp_path, TABLE.slice(0, rows))
        sanitise_file(source, target, POLICY, key=key, context="c", ids="id", ledger=ledger, overwrite=True)
    assert [entry.addressing for entry in ledger.entries()] == ["id"]
    for _ in range(2):
        sanitise_file(source, target, POLICY, ledger=ledger, overwrite=True)
    assert ledger.total() == Privacy(3.0)
    with pytest.raises(OSError, match="exists"):
        sanitise_file(source, target, POLICY, ledger=ledger)
    with pytest.raises(OSError, match="cannot write"):
        sanitise_file(source, tmp_path / "missing" / "target.parquet", POLICY, ledger=ledger)
    assert ledger.total() == Privacy(3.0)


def test_the_persons_figure_is_charged(opened: Callable[..., Ledger]) -> None:
    loose = RandomisedResponse(TOWNS, epsilon=1.0, delta=1e-3)
    three = Policy({"town": loose, "id": "public"}, rows_per_person=3)
    one = opened(100.0, 0.5)
    three.sanitise(TABLE, ledger=one)
    [entry] = one.entries()
    assert entry.privacy == three.privacy(entry.privacy.delta)
    assert entry.privacy.rows_per_person == 3
    assert Fraction(math.nextafter(entry.privacy.delta, 0.0)) < 3 * Fraction(1e-3) <= Fraction(entry.privacy.delta)
    assert entry.privacy.epsilon.hex() == three.certificate()["epsilon"]
    many = opened(100.0, 0.5, rows_per_person=5, name="five")
    three.sanitise(TABLE, ledger=many)
    loose.sanitise(COLUMN, ledger=many)
    RESPONSE.sanitise(COLUMN, ledger=many)
    assert [entry.privacy.rows_per_person for entry in many.entries()] == [5, 5, 5]
    assert many.entries()[0].privacy == three.privacy(many.entries()[0].privacy.delta, rows_per_person=5)
    assert many.entries()[1].privacy.epsilon == 5 * loose.epsilon_at(1e-3)
    assert Fraction(many.entries()[1].privacy.delta) >= 5 * Fraction(1e-3)
    assert many.entries()[2].privacy == Privacy(5.0, rows_per_person=5)
    with pytest.raises(LedgerError, match="rows_per_person=5"):
        many.charge(Privacy(1.0))


def test_a_delta_that_states_nothing_is_not_charged(opened: Callable[..., Ledger]) -> None:
    half = RandomisedResponse(TOWNS, epsilon=0.1, delta=0.5)
    ledger = opened(1e3, 0.9, rows_per_person=2)
    half.sanitise(COLUMN, ledger=ledger)
    assert ledger.entries()[0].privacy == Privacy(2 * half.epsilon_at(0.0), 0.0, rows_per_person=2)


def charged(ledger: Ledger, privacy: Privacy) -> bool:
    try:
        return ledger.charge(privacy)
    except LedgerError:
        return False


def test_sums_are_exact_fractions(opened: Callable[..., Ledger]) -> None:
    # ten times the double 0.1 is more than 1, though adding doubles says less
    assert sum([0.1] * 10) < 1.0 < 10 * Fraction(0.1)
    ledger = opened(1.0)
    for _ in range(9):
        assert ledger.charge(Privacy(0.1))
    left = ledger.left().epsilon
    assert Fraction(left) <= 1 - 9 * Fraction(0.1) < Fraction(math.nextafter(left, 1.0))
    with pytest.raises(LedgerError, match="no room"):
        ledger.charge(Privacy(0.1))
    assert ledger.charge(Privacy(left))
    spent = 9 * Fraction(0.1) + Fraction(left)
    assert Fraction(math.nextafter(ledger.total().epsilon, 0.0)) < spent <= Fraction(ledger.total().epsilon) <= 1
    # three times the double 1e-7 is less than the double 3e-7, and three times 1e-5 more than 3e-5
    for one, cap, room in ((1e-7, 3e-7, 3), (1e-5, 3e-5, 2)):
        assert (3 * Fraction(one) <= Fraction(cap)) == (room == 3)
        deltas = opened(10.0, cap, name=str(cap))
        assert [charged(deltas, Privacy(1.0, one)) for _ in range(4)] == [number < room for number in range(4)]


def test_a_charge_without_epsilon_has_room_where_nothing_is_left(opened: Callable[..., Ledger]) -> None:
    ledger = opened(1.0)
    ledger.charge(Privacy(1.0))
    assert ledger.left() == Privacy(0.0)
    assert ledger.charge(Privacy(0.0))
    with pytest.raises(LedgerError, match=r"costs epsilon 5e-324.* epsilon 0\.0, delta 0\.0 are left of 1\.0, 0\.0"):
        ledger.charge(Privacy(5e-324))


def test_totals_at_a_delta_are_composed(opened: Callable[..., Ledger]) -> None:
    ledger = opened(100.0, 1e-6)
    parts = [Privacy(0.25)] * 15 + [Privacy(0.5, 1e-7)]
    for part in parts:
        ledger.charge(part)
    assert ledger.total() == Privacy(math.inf)
    assert ledger.total(1e-7).epsilon == 4.25
    assert ledger.spent() == Privacy(4.25, 1e-7)
    assert ledger.total(1e-6).epsilon == min(4.25, compose(parts, delta=1e-6).epsilon) < 4.25
    for wrong in (-0.1, 1.0, "x"):
        with pytest.raises((ArgumentError, ArgumentTypeError)):
            ledger.total(wrong)  # type: ignore[arg-type]


def test_optimal_composition_has_room_for_more_and_keeps_the_cap(opened: Callable[..., Ledger]) -> None:
    cap, counts = 2.0, {}
    for composition in ("sum", "optimal"):
        ledger, n = opened(cap, 1e-4, name=composition, composition=composition), 0
        while True:
            left = ledger.left()
            try:
                ledger.charge(Privacy(0.125))
            except LedgerError:
                break
            n += 1
        counts[composition] = n
        spent = ledger.spent()
        assert spent == (Privacy(n * 0.125) if composition == "sum" else ledger.total(1e-4))
        assert spent.epsilon + ledger.left().epsilon <= cap
        assert left.epsilon < 0.125
        assert compose([Privacy(0.125)] * n, delta=1e-4).epsilon <= cap
    assert counts["sum"] == 16 < counts["optimal"]
    assert compose([Privacy(0.125)] * (counts["optimal"] + 1), delta=1e-4).epsilon > cap


def test_infinite_figures(opened: Callable[..., Ledger]) -> None:
    with pytest.raises(LedgerError):
        opened(1e300).charge(Privacy(math.inf))
    records = opened(math.inf, name="records")
    records.charge(Privacy(1.0))
    assert records.left().epsilon == math.inf
    records.charge(Privacy(math.inf))
    assert records.total() == Privacy(math.inf)
    assert records.total(1e-6).epsilon == math.inf


def test_neighbours_agree(tmp_path: Path, opened: Callable[..., Ledger]) -> None:
    with pytest.raises(LedgerError, match="'add_remove', the ledger for 'replace_one'"):
        opened().charge(Privacy(1.0, neighbours="add_remove"))
    other = Ledger(tmp_path / "other", cap=Privacy(9.0, neighbours="add_remove"))
    with pytest.raises(LedgerError, match="neighbours"):
        RESPONSE.sanitise(COLUMN, ledger=other)
    assert other.charge(Privacy(1.0, neighbours="add_remove"))
    assert other.total().neighbours == other.left().neighbours == "add_remove"


def test_a_ledger_is_opened_again_shared_and_pickled(tmp_path: Path, opened: Callable[..., Ledger]) -> None:
    ledger = opened(2.0, 1e-6, composition="optimal")
    ledger.charge(Privacy(1.0))
    for again in (opened(2.0, 1e-6), Ledger(tmp_path / "people.ledger"), pickle.loads(pickle.dumps(ledger))):
        assert (again.cap, again.composition) == (Privacy(2.0, 1e-6), "optimal")
        assert again.entries() == ledger.entries()
        assert "people.ledger" in repr(again)
    with pytest.raises(LedgerError, match="another cap"):
        opened(3.0, 1e-6)
    with pytest.raises(LedgerError, match="adds releases by 'optimal'"):
        opened(2.0, 1e-6, composition="sum")


def test_arguments_of_a_ledger(tmp_path: Path) -> None:
    for wrong in (1.0, "1", (1.0, 0.0)):
        with pytest.raises(ArgumentTypeError, match="cap must be a Privacy"):
            Ledger(tmp_path / "a", cap=wrong)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="below 1"):
        Ledger(tmp_path / "a", cap=Privacy(1.0, 1.0))
    with pytest.raises(ArgumentError, match="composition"):
        Ledger(tmp_path / "a", cap=Privacy(1.0), composition="best")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="path of a ledger"):
        Ledger(7, cap=Privacy(1.0))  # type: ignore[arg-type]
    for path in ("", "a\0b", "s3://bucket/ledger"):
        with pytest.raises(ArgumentError, match="local disc"):
            Ledger(path, cap=Privacy(1.0))
    with pytest.raises(ArgumentTypeError, match="must be a Privacy"):
        Ledger(tmp_path / "a", cap=Privacy(1.0)).charge(1.0)  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == ["a"]
