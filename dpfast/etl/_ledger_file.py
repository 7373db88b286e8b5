"""The SQLite file of a ledger: made complete or not at all, opened for one transaction at a time, its failures in words."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, NoReturn
from urllib.parse import quote

from dpfast.errors import FileError, LedgerError
from dpfast.etl._chain import Terms, first_hash

__all__ = ["make", "stored_terms", "transaction"]

APPLICATION_ID: Final = 0x64704C67
FORMAT: Final = 1
BUSY_SECONDS = 60.0
_PRIMARY: Final = 0xFF  # the part of an SQLite error code that says what kind it is
_UNWRITABLE: Final = {
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_AUTH,
}  # fmt: skip
_TABLES: Final = [
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT}",
    "CREATE TABLE terms (text TEXT NOT NULL)",
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, text TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE head (number INTEGER NOT NULL, hash TEXT NOT NULL)",
]
# Against accidents; the chain is what shows intent.
_GUARDS: Final = [
    f"CREATE TRIGGER {table}_{verb} BEFORE {verb} ON {table} BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
    for table, verbs in (("terms", ("insert", "update", "delete")), ("entries", ("update", "delete")))
    for verb in verbs
]


@contextmanager
def transaction(path: Path, begin: str) -> Iterator[sqlite3.Connection]:
    """A connection of its own, in a transaction; what is not committed at the end is taken back."""
    with _explained(path):
        # The mode says that no file is made: one that was removed is missed, and not replaced by an empty one.
        address = f"file:{quote(os.fsencode(path))}?mode=rw"
        with closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(begin)
            yield connection


def make(path: Path, terms: Terms) -> None:
    """Make a file that appears complete, and only where there is none: FileExistsError otherwise."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        os.close(descriptor)
        try:
            with _explained(path), closing(sqlite3.connect(name, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                for statement in ("BEGIN", *_TABLES):
                    connection.execute(statement)
                connection.execute("INSERT INTO terms VALUES (?)", (terms.text,))
                connection.execute("INSERT INTO head VALUES (0, ?)", (first_hash(terms.text),))
                for statement in (*_GUARDS, "COMMIT"):
                    connection.execute(statement)
            os.link(name, path)
        finally:
            for end in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    os.unlink(name + end)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except FileExistsError:
        raise
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(
            f"cannot make the ledger {str(path)!r}: {error.strerror or 'the write failed'}; it needs a folder that exists, can "
            "be written, and has links"
        ) from None


def stored_terms(connection: sqlite3.Connection) -> Terms:
    """Return what the ledger was opened for, or say why the file is none."""
    if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
        raise LedgerError("the file is no dpfast ledger; make one with `dpfast ledger create`, under another name")
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if version != FORMAT:
        raise LedgerError(f"the ledger has format {version}; this version of dpfast knows format {FORMAT}")
    rows = connection.execute("SELECT text FROM terms").fetchall()
    if len(rows) != 1:
        raise LedgerError("the ledger is damaged or was altered: it has no single cap. Go back to a copy")
    return Terms.of(rows[0][0])


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what SQLite says into an error that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        _explain(path, getattr(error, "sqlite_errorcode", -1) & _PRIMARY)


def _explain(path: Path, code: int) -> NoReturn:
    shown = repr(str(path))
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        raise FileError(f"the ledger {shown} is in use by another process and did not become free; try again") from None
    if code in _UNWRITABLE:
        raise FileError(
            f"the ledger {shown} cannot be read or written: it needs a file and a folder that this user may write, on a local "
            "disc that is not full"
        ) from None
    raise LedgerError(f"{shown} is no dpfast ledger, or is damaged; go back to a copy, or make a new one") from None
