"""Random words: where they come from, how they are addressed, and that none is used twice.

A `Stream` owns a 32-byte master key. From it a subkey is derived for every (kind of use, context, source, column, mechanism)
by keyed BLAKE2b, and from the subkey the words of a cell by AES-256. A cell is addressed, never taken from what is left in a
buffer, so its word does not depend on threads, chunks, batches or the engine that asks.

Stream version 1, a frozen format (``tests/golden`` pins it):

* subkey = BLAKE2b-256(key=master; version, kind, context, source, column, mechanism digest), each field preceded by its length
  (8 bytes, little-endian). kind is ``row``, ``id`` or ``draw``; a column is empty, ``s`` + UTF-8, or ``t`` + its parts,
  each preceded by its length.
* A counter block is plane (8 bytes, big-endian) followed by counter (8 bytes, big-endian). The keystream of plane 0 is its
  enciphered blocks in order; the counter of block b is 2^32 * (b div 2^16) + 2 + (b mod 2^16), so that every 2^16 blocks are
  the counter part of one AES-GCM message. In plane 1 the counter is the row.
* Row cells of at most 1024 categories: the 16 high bits of the word of row i are bytes 2i, 2i+1 (little-endian) of the
  keystream of plane 0; the 48 low bits are the first 6 bytes (little-endian) of the enciphered block (plane 1, counter i).
* Row cells of more categories: the word is bytes 8i .. 8i+7 (little-endian) of plane 0.
* Draws are numbered as rows are, from ``first_row`` on. Those of one call share the bits of the plane with the number of the
  first of them: bit j is bit j mod 8, from the lowest, of byte j div 8 of its enciphered blocks, whose counters are those of
  plane 0. How a call spends its bits is said where it draws (`histogram`); it has 64 for each draw, so a plane never runs out.
* Identifier cells: the word is the first 8 bytes (little-endian) of the AES CBC-MAC over tag, length (3 bytes), true code
  (4 bytes) and the identifier, zero padded; see `IdCells`. The true code is part of the input: were it not, two values released
  under one identifier would be decided by one word, and both could be told from the pair of answers.

The guarantee is as strong as AES-256 and BLAKE2b as pseudo-random functions and as secret as the key.
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeAlias

import numpy as np

from dpfast._fields import Column, column_bytes, field, utf8
from dpfast.errors import ArgumentError, ArgumentTypeError, EntropyError
from dpfast.keys import KEY_BYTES, resolve_key
from dpfast.words import DrawBits, IdCells, RowCells

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["STREAM_VERSION", "Column", "Kind", "Stream", "fresh_key"]

STREAM_VERSION: Final = 1
ROWS_MAX: Final = 1 << 49  # rows of 8 bytes whose block, below 2^48, has its segment number in 4 bytes of the counter

Kind: TypeAlias = Literal["row", "id", "draw"]

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


def _process() -> tuple[int, int]:
    """Changes in a forked child: by the hook for os.fork, by the process number for a fork made outside Python."""
    return _forks, os.getpid()


def fresh_key() -> bytes:
    try:
        key = os.urandom(KEY_BYTES)
    except (OSError, RuntimeError) as error:  # RuntimeError: a platform without a source of entropy
        raise EntropyError("the operating system gave no entropy; nothing was drawn") from error
    if len(key) != KEY_BYTES:
        raise EntropyError("the operating system gave too little entropy; nothing was drawn")
    return key


def _check_rows(value: object, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ArgumentTypeError(f"{name} must be an integer")
    if not 0 <= value <= ROWS_MAX:
        raise ArgumentError(f"{name} must lie between 0 and 2**49")


_VERSION_FIELD = field(str(STREAM_VERSION).encode())
_KIND_FIELDS: dict[Kind, bytes] = {"row": field(b"row"), "id": field(b"id"), "draw": field(b"draw")}


class Stream:
    """A source of random words that never gives the same word twice.

    Parameters
    ----------
    key : bytes, path or "env:NAME", optional
        None: 32 bytes of entropy from the operating system, *fresh*. Otherwise a 32-byte secret key (`resolve_key`): the
        noise is then a function of key, context, column, mechanism and row, and as secret as the key.
    context : str
        Required with a key: names one release of one data set (``"flights/2026-11-30"``) or, with ``ids=``, the population,
        the same over releases. **A key and context used again on changed data without ids void the guarantee**: equal noise
        on two versions shows what changed.
    first_row : int, default 0
        The row at which every column begins. Workers that share a keyed column pass the number of rows before theirs.

    Attributes
    ----------
    kind : {"fresh", "keyed", "insecure"}
    secure : bool
        False for `Stream.insecure` only.
    fingerprint : str or None
        A digest that tells keys apart without revealing them; None for a fresh stream.

    Raises
    ------
    ArgumentTypeError, ArgumentError, EntropyError

    Notes
    -----
    A stream counts the rows and draws used for each column and mechanism, under a lock: two calls never share one, and a
    column given in pieces gets the same noise as the column given whole. They are reserved when a call starts, also if it fails.
    After a fork a fresh stream draws a new key in the child; a keyed or insecure one raises there. Streams refuse pickling and
    copying. Python gives no way to wipe a key from memory.

    Examples
    --------
    >>> from dpfast import Stream
    >>> Stream().secure
    True
    >>> Stream(key=bytes(32), context="flights/2026-11-30").kind
    'keyed'
    """

    __slots__ = ("_context", "_first_row", "_key", "_lock", "_process", "_release", "_rows", "_spends", "kind")

    kind: Literal["fresh", "keyed", "insecure"]

    def __init__(
        self, *, key: bytes | str | os.PathLike[str] | None = None, context: str | None = None, first_row: int = 0
    ) -> None:
        if key is None:
            if context is not None:
                raise ArgumentTypeError("context belongs to a keyed stream; give key= as well")
            self._start("fresh", fresh_key(), "", b"", first_row)
            return
        if not isinstance(context, str):
            raise ArgumentTypeError('a keyed stream needs context=, a text that names the release: "flights/2026-11-30"')
        if not context:
            raise ArgumentError("context is empty; it names the release this noise is for")
        self._start("keyed", resolve_key(key), context, b"", first_row)

    @classmethod
    def insecure(cls, seed: int, first_row: int = 0) -> Stream:
        """Make a reproducible stream for tests and benchmarks; anyone who guesses the seed can undo its noise.

        Parameters
        ----------
        seed : int
            Any integer.
        first_row : int, default 0
            As for `Stream`.

        Returns
        -------
        Stream
            With ``secure = False``; certificates record it and the command line refuses it unless told.

        Raises
        ------
        ArgumentTypeError, ArgumentError

        Examples
        --------
        >>> Stream.insecure(1).secure
        False
        """
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise ArgumentTypeError("seed must be an integer")
        key = hashlib.blake2b(str(int(seed)).encode(), digest_size=KEY_BYTES, person=b"dpfast/insecure").digest()
        stream = cls.__new__(cls)
        stream._start("insecure", key, "", b"", first_row)
        return stream

    def _start(
        self, kind: Literal["fresh", "keyed", "insecure"], key: bytes, context: str, source: bytes, first_row: int
    ) -> None:
        _check_rows(first_row, "first_row")
        self.kind = kind
        self._key = key
        self._context = context
        self._release = field(utf8(context, "context")) + field(source)
        self._first_row = int(first_row)
        self._rows: dict[bytes, int] = {}
        self._spends: dict[bytes, int] = {}
        self._lock = threading.Lock()
        self._process = _process()

    @property
    def secure(self) -> bool:
        """Whether the noise is as secret as its key: False for `Stream.insecure` only."""
        return self.kind != "insecure"

    @property
    def fingerprint(self) -> str | None:
        """A digest that tells keys apart without revealing them; None for a fresh stream."""
        if self.kind == "fresh":
            return None
        return hashlib.blake2b(self._key, digest_size=16, person=b"dpfast/print").hexdigest()

    def bind_source(self, digest: bytes) -> Stream:
        """Return this keyed stream tied to one source: other data never share its noise, a retry on the same data does.

        Parameters
        ----------
        digest : bytes
            A digest of the source data.

        Returns
        -------
        Stream
            A new stream with its own row counts.

        Raises
        ------
        ArgumentTypeError
            Where the stream is not keyed.

        Examples
        --------
        >>> Stream(key=bytes(32), context="release 1").bind_source(bytes(32)).kind
        'keyed'
        """
        self._check_process()
        if self.kind != "keyed":
            raise ArgumentTypeError("only a keyed stream can be bound to a source")
        if not isinstance(digest, bytes) or not digest:
            raise ArgumentTypeError("the digest of a source is bytes, at least one")
        bound = type(self).__new__(type(self))
        bound._start("keyed", self._key, self._context, digest, self._first_row)
        return bound

    def rows(self, column: Column, digest: bytes, n_rows: int) -> RowCells:
        """Reserve the next cells of a column and mechanism; for those who write mechanisms of their own.

        Parameters
        ----------
        column : str, tuple of str, or None
            Name of the column; with a key not None.
        digest : bytes
            32 bytes that identify the mechanism.
        n_rows : int
            How many rows; they count as used from now on.

        Returns
        -------
        RowCells

        Raises
        ------
        ArgumentTypeError, ArgumentError

        Examples
        --------
        >>> cells = Stream.insecure(1).rows("origin", bytes(32), 1000)
        >>> cells.reader(0, whole=False).high(2).tolist()
        [54365, 51691]
        """
        subkey, first = self._reserve("row", column, digest, n_rows, "n_rows")
        return RowCells(subkey, first, int(n_rows))

    def draws(self, column: Column, digest: bytes, n_draws: int) -> DrawBits:
        """Reserve the next draws of a column and mechanism, which share one string of bits.

        Parameters
        ----------
        column : str, tuple of str, or None
            Name of the column; with a key not None.
        digest : bytes
            32 bytes that identify the mechanism.
        n_draws : int
            How many; they count as used from now on. Workers that share a keyed column number them from their `first_row`.

        Returns
        -------
        DrawBits

        Raises
        ------
        ArgumentTypeError, ArgumentError

        Examples
        --------
        >>> import numpy as np
        >>> Stream.insecure(1).draws("origin", bytes(32), 1000).ones(np.array([1000, 64])).tolist()
        [502, 38]
        """
        subkey, first = self._reserve("draw", column, digest, n_draws, "n_draws")
        return DrawBits(subkey, first, int(n_draws))

    def ids(self, column: Column, digest: bytes) -> IdCells:
        """Return the cells of a column and mechanism that are addressed by identifier instead of row.

        Parameters
        ----------
        column : str, tuple of str, or None
        digest : bytes
            32 bytes that identify the mechanism.

        Returns
        -------
        IdCells

        Raises
        ------
        ArgumentTypeError
            The stream is fresh: permanent noise needs a key.

        Examples
        --------
        >>> cells = Stream(key=bytes(32), context="members").ids("origin", bytes(32))
        """
        self._check_process()
        if self.kind == "fresh":
            raise ArgumentTypeError("ids= makes noise permanent and so needs a keyed stream: Stream(key=, context=)")
        return IdCells(self._subkey("id", column, digest))

    def spend_key(self, kind: Kind, column: Column, digest: bytes) -> bytes:
        """Return 32 bytes that name what a call is about to release, so that a ledger charges it once.

        Parameters
        ----------
        kind, column, digest
            What `rows`, `ids` or `draws` will be asked for; the empty tuple is the column of a whole table.

        Returns
        -------
        bytes
            Of a fresh or insecure stream new ones each time. Of a keyed one a secret function of context, source and the
            arguments and, but for ids, of how often this stream was asked before: its next call gets other noise.
        """
        self._check_process()
        if kind == "id":
            self.ids(column, digest)
        subkey = self._subkey(kind, column, digest)
        if self.kind != "keyed":
            return fresh_key()
        with self._lock:
            number = 0 if kind == "id" else self._spends.get(subkey, 0)
            self._spends[subkey] = number + 1
        numbered = subkey + number.to_bytes(8, "little")
        return hashlib.blake2b(numbered, key=self._key, digest_size=32, person=b"dpfast/spend").digest()

    def _reserve(self, kind: Kind, column: Column, digest: bytes, n: int, name: str) -> tuple[bytes, int]:
        """The subkey and the number of the first of `n` cells that no other call gets."""
        self._check_process()
        _check_rows(n, name)
        subkey = self._subkey(kind, column, digest)
        with self._lock:
            first = self._rows.get(subkey, self._first_row)
            if first + n > ROWS_MAX:
                raise ArgumentError("this stream has no rows left for the column; use a new context")
            self._rows[subkey] = first + int(n)
        return subkey, first

    def _subkey(self, kind: Kind, column: Column, digest: bytes) -> bytes:
        if column is None and self.kind == "keyed":
            raise ArgumentTypeError("a keyed stream needs column_name=: two columns must never share noise")
        data = _VERSION_FIELD + _KIND_FIELDS[kind] + self._release + field(column_bytes(column)) + field(digest)
        return hashlib.blake2b(data, key=self._key, digest_size=KEY_BYTES).digest()

    def _check_process(self) -> None:
        if self._process == _process():
            return
        if self.kind != "fresh":
            raise ArgumentError(
                f"this {self.kind} stream was made before a fork and would repeat the parent's noise; make one in the child, "
                "with first_row= for its share of the rows"
            )
        with _reseeding:
            if self._process != _process():
                self._start("fresh", fresh_key(), "", b"", self._first_row)

    def __repr__(self) -> str:
        return f"<dpfast.Stream {self.kind}>"

    def _refuse(self, *_: Any) -> NoReturn:
        raise ArgumentTypeError("a Stream cannot be copied or pickled: the copy would repeat its noise; pass key and context")

    __copy__ = __deepcopy__ = __reduce__ = __getstate__ = _refuse
    __reduce_ex__: Callable[..., NoReturn] = _refuse


_reseeding = threading.Lock()


def _renew_lock() -> None:
    """A lock held by another thread at the time of a fork would never be released in the child."""
    global _reseeding
    _reseeding = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)
