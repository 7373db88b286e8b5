"""A ledger of what was spent on the same people: a file that says no before a release goes too far.

One SQLite file (write-ahead log, every commit flushed to the disc). A charge is one transaction that takes the only write lock,
reads and verifies the chain, and either appends or refuses; so processes that race for the last of a budget never get more than
there is. Nothing holds the file open between two charges: a ledger can be shared by threads, pickled, and used after a fork.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from dpfast._spending import Spend
from dpfast._statement import check_delta
from dpfast.errors import ArgumentError, ArgumentTypeError, FileError, LedgerError
from dpfast.etl._chain import COMPOSITIONS, Composition, Entry, Terms, add, first_hash, read
from dpfast.etl._ledger_file import make, stored_terms, transaction
from dpfast.privacy import Privacy
from dpfast.randomness import Stream

__all__ = ["Entry", "Ledger", "create_ledger"]


class Ledger:
    """A file that counts what is spent on the same people, and refuses what would exceed its cap.

    Give it as ``ledger=`` to whatever spends. A release is charged once, before its noise is drawn.

    Parameters
    ----------
    path : str or path-like
        The file; on a local disc, in a folder that can be written.
    cap : Privacy, optional
        What may be spent in all, on a person with ``cap.rows_per_person`` rows. Where there is no file, one is made (mode 0600);
        an existing one must have this cap. Default: the file must exist, and its cap holds. An infinite epsilon only records.
        Its neighbours are those of the releases: ``replace_one`` for tables (the default of `Privacy`), ``add_remove`` for
        medians and other statistics as they are by default. Each relation has a ledger of its own: they do not add up.
    composition : {"sum", "optimal"}, optional
        How releases are held against the cap. "sum", the default: epsilons and deltas add. "optimal": also `compose` at
        ``cap.delta``, which finds less for many releases.

    Attributes
    ----------
    cap : Privacy
    composition : str

    Raises
    ------
    ArgumentTypeError, ArgumentError
    FileError
        There is no such file and no cap, or it cannot be read or written.
    LedgerError
        The file is no ledger, has another cap, is damaged or was altered.

    Notes
    -----
    **Privacy guarantee.** All that was charged is together (cap.epsilon, cap.delta)-private, for the neighbours of the cap. Sums
    are exact fractions of the doubles, never rounded (ten times 0.1 is more than 1). "sum" holds however the next release is
    chosen [1]_; "optimal" is proved for releases whose figures were not chosen on the strength of earlier answers.

    **What is charged.** The person's figure, rounded up: of a `Policy` for its ``rows_per_person``, or the cap's if that is more;
    of a mechanism for that of the cap. A keyed release is named by a secret function of key, context, source (of files), column,
    and digest of the mechanism or policy: doing it again, from a new `Stream` or after a crash, is free, as it gives the same
    noise. A second call of *one* keyed stream gets the noise of further rows, so it is charged; pieces of one column are one
    charge if each has a stream of its own with ``first_row=``. Under ids a context is one charge, for people whose values stay:
    for each further value of a person charge the figure again, ``ledger.charge(policy.privacy())``. Fresh and insecure noise is
    charged each time. A stop between charge and release leaves the charge.

    **What it holds.** Figures, names of columns, digests and fingerprints; no data, count, size, time or path: fit to publish.

    **Cost.** A few flushes of the disc for each charge, milliseconds to tens of them, and about 50 microseconds an entry, as
    the whole chain is verified each time; with "optimal" also that of `compose`.

    Not for network file systems. Copy it while no process has it open.

    References
    ----------
    .. [1] R. Rogers, A. Roth, J. Ullman, S. Vadhan, Privacy odometers and filters: pay-as-you-go composition, NIPS 2016.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from dpfast import Ledger, LedgerError, Privacy, RandomisedResponse
    >>> ledger = Ledger(os.path.join(tempfile.mkdtemp(), "people.ledger"), cap=Privacy(1.5))
    >>> mechanism, answers = RandomisedResponse(["no", "yes"], epsilon=1.0), np.array(["no", "yes", "no"])
    >>> sanitised = mechanism.sanitise(answers, ledger=ledger)
    >>> ledger.total().epsilon, ledger.left().epsilon
    (1.0, 0.5)
    >>> try:
    ...     mechanism.sanitise(answers, ledger=ledger)
    ... except LedgerError as error:
    ...     print(str(error)[:26])
    the ledger has no room: th
    """

    __slots__ = ("_path", "_terms")

    def __init__(
        self, path: str | os.PathLike[str], cap: Privacy | None = None, *, composition: Composition | None = None
    ) -> None:
        self._path = _checked_path(path)
        wanted = None if cap is None else _checked_terms(cap, composition or "sum")
        if composition is not None and composition not in COMPOSITIONS:
            raise ArgumentError('composition must be "sum" or "optimal"')
        if not os.path.exists(self._path):
            if wanted is None:
                raise FileError(
                    f"there is no ledger {str(self._path)!r}; open one with Ledger(path, cap=Privacy(epsilon)) or "
                    "`dpfast ledger create`"
                )
            with suppress(FileExistsError):  # another process was quicker
                make(self._path, wanted)
        with transaction(self._path, "BEGIN") as connection:
            self._terms = stored_terms(connection)
        if wanted is not None and wanted.cap != self.cap:
            raise LedgerError(f"the ledger has another cap, {self.cap}; leave cap out, or use a new file")
        if composition is not None and composition != self.composition:
            raise LedgerError(f"the ledger adds releases by {self.composition!r}; leave composition out, or use a new file")

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._path

    @property
    def cap(self) -> Privacy:
        """What may be spent in all."""
        return self._terms.cap

    @property
    def composition(self) -> Composition:
        """How releases are held against the cap."""
        return self._terms.composition

    @property
    def rows_per_person(self) -> int:
        """How many rows a person may own, at least, for what is charged: that of the cap."""
        return self.cap.rows_per_person

    def charge(self, spend: Spend | Privacy, /) -> bool:
        """Charge a release before it is made; every call with ``ledger=`` does so itself.

        Parameters
        ----------
        spend : Privacy
            What a release costs that dpfast does not make, or a further value of a person under ids. (What spends passes a record
            of its own, which also names the release.)

        Returns
        -------
        bool
            False if this release was charged before; of a `Privacy` always True.

        Raises
        ------
        LedgerError
            There is no room, the neighbours are others, or the ledger is damaged; nothing is charged.
        ArgumentTypeError, FileError

        Examples
        --------
        >>> import os, tempfile
        >>> ledger = Ledger(os.path.join(tempfile.mkdtemp(), "people.ledger"), cap=Privacy(2.0, 1e-6))
        >>> ledger.charge(Privacy(1.0, 1e-7)), ledger.left().epsilon
        (True, 1.0)
        """
        if isinstance(spend, Privacy):
            spend = Spend(Stream().spend_key("draw", None, b""), spend, None, b"", None, None, None)
        if not isinstance(spend, Spend):
            raise ArgumentTypeError(f"what is charged must be a Privacy, not {type(spend).__name__}")
        with transaction(self._path, "BEGIN IMMEDIATE") as connection:
            row = add(self._terms, self._read(connection), spend)
            if row is None:
                return False
            connection.execute("INSERT INTO entries VALUES (?, ?, ?)", row)
            connection.execute("UPDATE head SET number = ?, hash = ?", (row[0], row[2]))
            connection.execute("COMMIT")
        return True

    def entries(self) -> list[Entry]:
        """Return all charges, in their order; each may be published."""
        with transaction(self._path, "BEGIN") as connection:
            return self._read(connection)

    def total(self, delta: float = 0.0) -> Privacy:
        """Return what was spent in all: the smallest epsilon that is proved at `delta`, rounded up.

        Parameters
        ----------
        delta : float
            In [0, 1).

        Returns
        -------
        Privacy
            The sum of the epsilons where the deltas add up to at most `delta`; at delta > 0 their composition if that is less
            (`dpfast.compose`: for releases whose figures do not hang on earlier answers). Infinite if nothing holds at `delta`.

        Raises
        ------
        ArgumentTypeError, ArgumentError, LedgerError, FileError

        Examples
        --------
        >>> import os, tempfile
        >>> ledger = Ledger(os.path.join(tempfile.mkdtemp(), "people.ledger"), cap=Privacy(20.0))
        >>> for _ in range(50):
        ...     _ = ledger.charge(Privacy(0.125))
        >>> ledger.total().epsilon, round(ledger.total(1e-6).epsilon, 3)
        (6.25, 4.055)
        """
        return self._terms.total(self.entries(), check_delta(delta))

    def spent(self) -> Privacy:
        """Return what is held against the cap, rounded up.

        Under "sum" the sums of epsilons and of deltas, under "optimal" the `total` at the delta of the cap.
        """
        return self._terms.spent(self.entries())

    def left(self) -> Privacy:
        """Return what may still be spent, rounded down.

        Under "sum" a release with at most this epsilon and this delta has room; under "optimal" about this much, often more.
        """
        return self._terms.left(self.entries())

    def head(self) -> str:
        """Return the hash of the last entry: noted elsewhere, it later proves by `check` that nothing before it was altered."""
        entries = self.entries()
        return entries[-1].hash if entries else first_hash(self._terms.text)

    def check(self, head: str | None = None) -> None:
        """Verify the file and the chain of hashes, from the cap to the last entry.

        Parameters
        ----------
        head : str, optional
            What `head` returned at some time: this chain must go through it. Only so is it seen that somebody wrote the chain
            anew, or went back to an old copy.

        Raises
        ------
        LedgerError
            An entry was altered, removed, moved or put in, entries were cut off, or the file is damaged.
        ArgumentTypeError, FileError

        Examples
        --------
        >>> import os, tempfile
        >>> ledger = Ledger(os.path.join(tempfile.mkdtemp(), "people.ledger"), cap=Privacy(2.0))
        >>> ledger.check(head=ledger.head())
        """
        if head is not None and not isinstance(head, str):
            raise ArgumentTypeError("head must be the text that Ledger.head() returned")
        with transaction(self._path, "BEGIN") as connection:
            if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                raise LedgerError("the file of the ledger is damaged; go back to a copy")
            entries = self._read(connection)
        hashes = [first_hash(self._terms.text), *(entry.hash for entry in entries)]
        if head is not None and head.strip().lower() not in hashes:
            raise LedgerError(
                "the chain does not go through this head: it is of another ledger, or the chain was cut off or written anew"
            )

    def _read(self, connection: sqlite3.Connection) -> list[Entry]:
        if stored_terms(connection) != self._terms:
            raise LedgerError("the ledger is another one than was opened: its file was replaced; open it again")
        rows = connection.execute("SELECT number, text, hash FROM entries ORDER BY number").fetchall()
        return read(self._terms.text, rows, connection.execute("SELECT number, hash FROM head").fetchall())

    def __repr__(self) -> str:
        return f"Ledger({str(self._path)!r}, cap={self.cap!r}, composition={self.composition!r})"


def create_ledger(path: str | os.PathLike[str], cap: Privacy, composition: Composition = "sum") -> Ledger:
    """Make a ledger where there is no file yet; see `Ledger`."""
    place = _checked_path(path)
    try:
        make(place, _checked_terms(cap, composition))
    except FileExistsError:
        raise FileError(f"{str(place)!r} exists; nothing is replaced: choose another name") from None
    return Ledger(place)


def _checked_path(path: object) -> Path:
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise ArgumentTypeError("the path of a ledger must be text or a pathlib.Path")
    if not text or "\0" in text or "://" in text:
        raise ArgumentError("the path of a ledger must name a file on a local disc")
    return Path(os.path.abspath(text))


def _checked_terms(cap: object, composition: Composition) -> Terms:
    if not isinstance(cap, Privacy):
        raise ArgumentTypeError(f"cap must be a Privacy, such as Privacy(1.0), not {type(cap).__name__}")
    if composition not in COMPOSITIONS:
        raise ArgumentError('composition must be "sum" or "optimal"')
    if cap.delta >= 1.0:
        raise ArgumentError("the delta of a cap must be below 1: at 1 nothing is promised")
    return Terms(cap, composition)
