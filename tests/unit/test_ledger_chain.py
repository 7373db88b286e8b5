"""What was altered in a ledger is seen; what is no ledger, or cannot be read or written, is an error that says what to do."""

from __future__ import annotations

import json
import math
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpfast import FileError, Ledger, LedgerError, Privacy, RandomisedResponse, Stream
from dpfast.etl import _ledger_file
from dpfast.etl._chain import _next_hash, read
from dpfast.etl.ledger import create_ledger

RESPONSE = RandomisedResponse(["no", "yes"], epsilon=1.0)
GUARDS = "SELECT name FROM sqlite_master WHERE type = 'trigger'"


@pytest.fixture
def path(tmp_path: Path, key: bytes) -> Path:
    """A ledger of four charges."""
    made = tmp_path / "people.ledger"
    ledger = Ledger(made, cap=Privacy(10.0, 1e-6))
    ledger.charge(Privacy(0.5, 1e-7))
    RESPONSE.sanitise(np.array(["no"]), ledger=ledger)
    RESPONSE.sanitise(np.array(["no"]), rng=Stream(key=key, context="c"), column_name=("a", "b"), ledger=ledger)
    ledger.charge(Privacy(0.25))
    ledger.check()
    return made


def alter(path: Path, *statements: str, parameters: tuple[Any, ...] = ()) -> None:
    """Do what somebody does who has the file and wants to hide something."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for (name,) in connection.execute(GUARDS).fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement, parameters)


REMOVED = "DELETE FROM entries WHERE number = "
SHIFTED = "UPDATE entries SET number = number - 1 WHERE number > "
TAMPERING = {
    "a smaller epsilon": ["UPDATE entries SET text = replace(text, '000p+0', '000p-9') WHERE number = 2"],
    "another name": ["""UPDATE entries SET text = replace(text, '"a"', '"c"')"""],
    "a space": ["UPDATE entries SET text = text || ' ' WHERE number = 3"],
    "another hash": ["UPDATE entries SET hash = (SELECT hash FROM head) WHERE number = 3"],
    "the first is gone": [REMOVED + "1"],
    "one is gone": [REMOVED + "2"],
    "one is gone and the others moved up": [REMOVED + "2", SHIFTED + "2"],
    "the last is gone": [REMOVED + "4"],
    "the last is gone and the head counts less": [REMOVED + "4", "UPDATE head SET number = 3"],
    "all are gone": ["DELETE FROM entries"],
    "two change places": [
        "UPDATE entries SET number = 99 WHERE number = 2",
        "UPDATE entries SET number = 2 WHERE number = 3",
        "UPDATE entries SET number = 3 WHERE number = 99",
    ],
    "one is there twice": ["INSERT INTO entries SELECT 5, text, hash FROM entries WHERE number = 4"],
    "a larger cap": ["UPDATE terms SET text = replace(text, '0x1.4', '0x1.f')"],
    "no cap": ["DELETE FROM terms"],
    "two caps": ["INSERT INTO terms SELECT text FROM terms"],
    "no head": ["DELETE FROM head"],
    "two heads": ["INSERT INTO head SELECT * FROM head"],
    "a text that is none": ["UPDATE entries SET text = x'ff00' WHERE number = 1"],
    "a text that is no Unicode": ["UPDATE entries SET text = CAST(x'ff00' AS TEXT) WHERE number = 1"],
    "terms that do not read": ["UPDATE terms SET text = '{}'"],
    "terms in another spelling": ["UPDATE terms SET text = ' ' || text"],
    "terms that are a number": ["UPDATE terms SET text = x'00'"],
    "no table": ["DROP TABLE entries"],
}  # fmt: skip


@pytest.mark.parametrize("name", TAMPERING)
def test_what_was_altered_is_seen_by_a_check_and_by_the_next_charge(name: str, path: Path) -> None:
    ledger = Ledger(path)
    alter(path, *TAMPERING[name])
    for call in (
        ledger.check,
        ledger.entries,
        ledger.total,
        ledger.spent,
        ledger.left,
        ledger.head,
        lambda: ledger.charge(Privacy(0.1)),
    ):
        with pytest.raises(LedgerError):
            call()
    stream = Stream.insecure(1)
    with pytest.raises(LedgerError):
        RESPONSE.sanitise(np.array(["no"] * 64), rng=stream, ledger=ledger)
    again = RESPONSE.sanitise(np.array(["no"] * 64), rng=stream)
    assert (again == RESPONSE.sanitise(np.array(["no"] * 64), rng=Stream.insecure(1))).all()


def test_what_is_not_altered_passes(path: Path) -> None:
    # The control of the test above: the same hands, doing nothing, or something and back again.
    alter(path, "UPDATE head SET number = number + 1", "UPDATE head SET number = number - 1")
    Ledger(path).check()
    assert Ledger(path).charge(Privacy(0.1))


def test_a_chain_that_is_written_anew_is_seen_by_its_head(path: Path, tmp_path: Path) -> None:
    ledger = Ledger(path)
    old = tmp_path / "old.ledger"
    shutil.copy(path, old)
    ledger.charge(Privacy(0.125))
    head = ledger.head()
    ledger.charge(Privacy(0.125))
    ledger.check(head=head)
    ledger.check(head=f" {head.upper()}\n")
    # an old copy is whole in itself
    Ledger(old).check()
    with pytest.raises(LedgerError, match="does not go through this head"):
        Ledger(old).check(head=head)
    # so is one whose end was cut off by somebody who knows how
    last = ledger.entries()[3]
    alter(path, "DELETE FROM entries WHERE number > 4", "UPDATE head SET number = 4")
    alter(path, "UPDATE head SET hash = ?", parameters=(last.hash,))
    ledger.check(head=last.hash)
    with pytest.raises(LedgerError, match="does not go through this head"):
        ledger.check(head=head)
    with pytest.raises(TypeError):
        ledger.check(head=7)  # type: ignore[arg-type]


def test_one_release_twice_is_no_chain_of_charges(path: Path) -> None:
    # Such a chain is whole, and no ledger writes it: it would hide that another release was never charged.
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT number, text, hash FROM entries ORDER BY number").fetchall()
        [(terms,)] = connection.execute("SELECT text FROM terms").fetchall()
    read(terms, rows, [(4, rows[3][2])])
    again = rows[3][1].replace('"number":4', '"number":5')
    link = _next_hash(rows[3][2], again)
    with pytest.raises(LedgerError, match="entry 5 repeats another"):
        read(terms, [*rows, (5, again, link)], [(5, link)])


def test_a_charge_is_on_the_disc_when_it_is_made(path: Path) -> None:
    with _ledger_file.transaction(path, "BEGIN IMMEDIATE") as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL: flushed at every commit
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_accidents_are_refused_by_the_file_itself(path: Path) -> None:
    for statement in (
        "DELETE FROM entries",
        "UPDATE entries SET hash = ''",
        "DELETE FROM terms",
        "INSERT INTO terms VALUES ('')",
    ):
        with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(statement)
    Ledger(path).check()


def test_entries_hold_public_things_only(path: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        texts = [json.loads(text) for (text,) in connection.execute("SELECT text FROM entries")]
        [(terms,)] = connection.execute("SELECT text FROM terms").fetchall()
    assert {key for text in texts for key in text} == {
        "addressing", "column", "delta", "epsilon", "key", "key_fingerprint", "neighbours", "number", "randomness",
        "rows_per_person", "rule",
    }  # fmt: skip
    assert set(json.loads(terms)) == {"composition", "delta", "epsilon", "neighbours", "rows_per_person"}
    held = path.read_bytes()
    for private in (str(tmp_path).encode(), os.uname().nodename.encode(), bytes(range(32))):
        assert private not in held
    assert Ledger(path).entries()[2].column == ("a", "b")


def test_the_name_of_a_release_says_nothing_without_the_key(key: bytes) -> None:
    # It binds the bytes of the source, which somebody who knows all but one row could otherwise try out.
    names = {
        Stream(key=other, context="c").bind_source(source).spend_key("row", (), bytes(32))
        for other in (key, bytes(32))
        for source in (b"1", b"2")
    }
    assert len(names) == 4


def test_a_ledger_is_private_and_appears_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mask = os.umask(0)
    try:
        ledger = Ledger(tmp_path / "a", cap=Privacy(1.0))
    finally:
        os.umask(mask)
    ledger.charge(Privacy(0.5))
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["a"]
    linked = os.link

    def late(source: str, target: Path) -> None:
        shutil.copy(tmp_path / "a", target)
        linked(source, target)

    monkeypatch.setattr(os, "link", late)
    # a file that appears at the last moment is not replaced
    assert Ledger(tmp_path / "b", cap=Privacy(1.0)).total() == Privacy(0.5)
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_nothing_is_replaced_on_creation(tmp_path: Path) -> None:
    create_ledger(tmp_path / "a", Privacy(1.0))
    with pytest.raises(FileError, match="exists; nothing is replaced"):
        create_ledger(tmp_path / "a", Privacy(1.0))
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("name", ["a?mode=memory#b%20c", ":memory:", "file:a", "d\udcff\u00e9 ;'\""])
def test_names_of_files_mean_what_they_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Ledger(name, cap=Privacy(1.0)).charge(Privacy(0.5))
    assert os.listdir() == [name]
    assert Ledger(name).spent() == Privacy(0.5)


def test_a_missing_ledger(tmp_path: Path, path: Path) -> None:
    with pytest.raises(FileError, match=r"there is no ledger .*dpfast ledger create"):
        Ledger(tmp_path / "missing")
    ledger = Ledger(path)
    path.unlink()
    with pytest.raises(FileError, match="cannot be read or written"):
        ledger.charge(Privacy(0.1))
    assert not path.exists()
    # a new one under the old name is not taken for the old one
    Ledger(path, cap=Privacy(11.0))
    with pytest.raises(LedgerError, match="another one than was opened"):
        ledger.charge(Privacy(0.1))


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot make the ledger .*No such file"):
        Ledger(tmp_path / "no" / "folder", cap=Privacy(1.0))
    with pytest.raises(FileError, match="cannot make the ledger"):
        Ledger("/proc/people.ledger", cap=Privacy(1.0))
    with pytest.raises(FileError, match=r"cannot make the ledger .*too long"):
        Ledger(tmp_path / ("a" * 300), cap=Privacy(1.0))
    with pytest.raises(FileError, match="cannot be read or written"):
        Ledger(tmp_path)


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE terms (text)")


def newer(path: Path) -> None:
    Ledger(path, cap=Privacy(1.0))
    alter(path, "PRAGMA user_version = 2")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda path: path.write_bytes(b""), "is no dpfast ledger; make one"),
        (lambda path: path.write_bytes(b"people, 1.0\n" * 100), "is no dpfast ledger, or is damaged"),
        (foreign, "is no dpfast ledger; make one"),
        (newer, "format 2; this version of dpfast knows format 1"),
    ],
)
def test_what_is_no_ledger(make: Callable[[Path], Any], text: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    make(path)
    held = path.read_bytes()
    for options in ({}, {"cap": Privacy(1.0)}):
        with pytest.raises(LedgerError, match=text):
            Ledger(path, **options)
    assert path.read_bytes() == held


def test_a_damaged_file_is_an_error_wherever_the_damage_is(path: Path) -> None:
    whole = path.read_bytes()
    ledger, entries = Ledger(path), Ledger(path).entries()
    seen = 0
    for size in range(0, len(whole), 1024):
        path.write_bytes(whole[:size])
        with pytest.raises((LedgerError, FileError)):
            ledger.check()
    for place in range(0, len(whole), 97):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            ledger.check()
        except (LedgerError, FileError):
            seen += 1
        else:  # a byte that nothing is read from
            assert ledger.entries() == entries
    assert seen > 10
    path.write_bytes(whole)
    ledger.check()


def test_a_ledger_in_use_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ledger_file, "BUSY_SECONDS", 0.05)
    ledger = Ledger(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(FileError, match="in use by another process"):
            ledger.charge(Privacy(0.1))
        assert len(ledger.entries()) == 4  # reading does not wait
    assert ledger.charge(Privacy(0.1))


def test_what_is_left_can_be_spent(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "small.ledger", cap=Privacy(1.0, 0.5))
    ledger.charge(Privacy(1e-17, 1e-18))
    left = ledger.left()
    assert (left.epsilon, left.delta) == (math.nextafter(1.0, 0.0), math.nextafter(0.5, 0.0))  # rounded down
    assert ledger.charge(left)
    assert ledger.left().epsilon < 2.0**-52
