"""What a ledger holds, as texts in a chain of hashes, and what may still be spent: no file here, only the rules.

The terms (cap, neighbours, rows a person, how releases are added) are the first text, each charge a further one, as JSON in one
spelling. hash 0 = BLAKE2b(terms), hash n = BLAKE2b(hash n-1, text n). So whatever is altered, left out or moved changes all
hashes after it; what is cut off at the end differs from the head, which is kept apart. The chain has no key: whoever can write
the file can write another chain. Against that, note the head elsewhere (`Ledger.head`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NoReturn, TypeAlias

from dpfast._rounding import float_above, float_below
from dpfast._spending import Spend
from dpfast._text import read_json
from dpfast.composition import compose
from dpfast.errors import LedgerError
from dpfast.privacy import Privacy

__all__ = ["COMPOSITIONS", "Composition", "Entry", "Terms", "add", "read"]

Composition: TypeAlias = Literal["sum", "optimal"]
COMPOSITIONS: tuple[Composition, ...] = ("sum", "optimal")

_PERSON = b"dpfast/ledger/1"
_ENTRY_KEYS = {
    "addressing", "column", "delta", "epsilon", "key", "key_fingerprint", "neighbours", "number", "randomness", "rows_per_person",
    "rule",
}  # fmt: skip
_TERM_KEYS = {"composition", "delta", "epsilon", "neighbours", "rows_per_person"}


@dataclass(frozen=True)
class Entry:
    """One charge of a ledger, in public terms only.

    Attributes
    ----------
    number : int
        From 1 on.
    privacy : Privacy
        What was charged, for a person with ``privacy.rows_per_person`` rows.
    column : str, tuple of str, or None
        None for a whole table.
    rule : str or None
        Digest of the mechanism or policy, in hexadecimal; None for a statement that was charged by hand.
    addressing : {"row", "id", "draw"} or None
    randomness : {"fresh", "keyed", "insecure"} or None
    key_fingerprint : str or None
    key : str
        Names the release; says nothing about data or keys.
    hash : str
        Of the chain up to here.
    """

    number: int
    privacy: Privacy
    column: str | tuple[str, ...] | None
    rule: str | None
    addressing: str | None
    randomness: str | None
    key_fingerprint: str | None
    key: str
    hash: str


@dataclass(frozen=True)
class Terms:
    """What a ledger was opened for; never changed after that."""

    cap: Privacy
    composition: Composition

    @property
    def text(self) -> str:
        """The one spelling."""
        return _spelt({**_figures(self.cap), "composition": self.composition})

    @classmethod
    def of(cls, text: str) -> Terms:
        """Read the spelling again."""
        try:
            found = _mapping(text, _TERM_KEYS)
            if found["composition"] not in COMPOSITIONS:
                raise ValueError
            terms = cls(_privacy(found), found["composition"])
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            _altered("its terms do not read")
        if terms.text != text:
            _altered("its terms are not spelt as dpfast spells them")
        return terms

    def total(self, entries: Sequence[Entry], delta: float) -> Privacy:
        """What all entries cost together, at a delta: their sum, or their composition where that is less."""
        epsilon, needed = _sums(entry.privacy for entry in entries)
        stated = math.inf if needed > delta else float_above(epsilon)
        if delta > 0.0 and entries:
            stated = min(stated, compose([_bare(entry.privacy) for entry in entries], delta=delta).epsilon)
        return Privacy(stated, delta, self.cap.neighbours, self.cap.rows_per_person)

    def spent(self, entries: Sequence[Entry]) -> Privacy:
        """What is held against the cap."""
        if self.composition == "optimal":
            return self.total(entries, self.cap.delta)
        epsilon, delta = _sums(entry.privacy for entry in entries)
        return Privacy(float_above(epsilon), float_above(delta), self.cap.neighbours, self.cap.rows_per_person)

    def left(self, entries: Sequence[Entry]) -> Privacy:
        """What may still be spent, rounded down."""
        epsilon, delta = _sums(entry.privacy for entry in entries)
        cap = self.cap
        rest = Privacy(_rest(cap.epsilon, epsilon), _rest(cap.delta, delta), cap.neighbours, cap.rows_per_person)
        if self.composition == "sum" or not cap.delta:
            return rest
        total = self.total(entries, cap.delta).epsilon
        more = 0.0 if total == math.inf else _rest(cap.epsilon, Fraction(total))
        # One more release without a delta adds no more than its epsilon to what is composed at the delta of the cap.
        return rest if more <= rest.epsilon else Privacy(more, 0.0, cap.neighbours, cap.rows_per_person)

    def check_room(self, entries: Sequence[Entry], privacy: Privacy) -> None:
        """Refuse a charge that is stated for other people, or would exceed the cap."""
        cap = self.cap
        if privacy.neighbours != cap.neighbours:
            raise LedgerError(
                f"the release is stated for neighbours {privacy.neighbours!r}, the ledger for {cap.neighbours!r}: they do not "
                "add up; use a ledger of its own. Nothing was drawn"
            )
        if privacy.rows_per_person < cap.rows_per_person:
            raise LedgerError(
                f"the ledger is for people with {cap.rows_per_person} rows; state the release for rows_per_person="
                f"{cap.rows_per_person}. Nothing was drawn"
            )
        epsilon, delta = _sums([*(entry.privacy for entry in entries), privacy])
        if epsilon <= cap.epsilon and delta <= cap.delta:
            return
        if self.composition == "optimal" and cap.delta:
            parts = [_bare(one) for one in (*(entry.privacy for entry in entries), privacy)]
            if compose(parts, delta=cap.delta).epsilon <= cap.epsilon:
                return
        left = self.left(entries)
        raise LedgerError(
            f"the ledger has no room: the release costs epsilon {privacy.epsilon!r}, delta {privacy.delta!r}, and epsilon "
            f"{left.epsilon!r}, delta {left.delta!r} are left of {cap.epsilon!r}, {cap.delta!r}. Nothing was drawn; ask for "
            "less, or open a new ledger if people agreed to more"
        )


def read(terms_text: object, rows: Sequence[tuple[object, object, object]], head: Sequence[tuple[object, object]]) -> list[Entry]:
    """Return the entries of rows (number, text, hash), or say where the chain is broken."""
    entries: list[Entry] = []
    last = first_hash(terms_text)
    keys = set()
    for place, (number, text, stored) in enumerate(rows, start=1):
        if number != place:
            _altered(f"entry {place} is missing")
        last = _next_hash(last, text)
        if stored != last:
            _altered(f"entry {place} was altered, or one before it was removed or moved")
        entry = _entry(text, place, last)
        if entry.key in keys:
            _altered(f"entry {place} repeats another")
        keys.add(entry.key)
        entries.append(entry)
    if [*head] != [(len(entries), last)]:
        _altered("its last entry is not the one it ended with: entries were cut off or put in")
    return entries


def add(terms: Terms, entries: Sequence[Entry], spend: Spend) -> tuple[int, str, str] | None:
    """Return the row (number, text, hash) of a new charge, None if it was charged before; or refuse it."""
    key = spend.key.hex()
    if any(entry.key == key for entry in entries):
        return None
    terms.check_room(entries, spend.privacy)
    body: dict[str, Any] = {
        **_figures(spend.privacy),
        "number": len(entries) + 1,
        "key": key,
        "column": spend.column,
        "rule": spend.rule.hex() or None,
        "addressing": spend.addressing,
        "randomness": spend.randomness,
        "key_fingerprint": spend.key_fingerprint,
    }
    text = _spelt(body)
    last = entries[-1].hash if entries else first_hash(terms.text)
    return len(entries) + 1, text, _next_hash(last, text)


def first_hash(terms_text: object) -> str:
    """The hash that a chain begins with."""
    return hashlib.blake2b(_bytes(terms_text), digest_size=32, person=_PERSON).hexdigest()


def _next_hash(last: str, text: object) -> str:
    return hashlib.blake2b(bytes.fromhex(last) + _bytes(text), digest_size=32, person=_PERSON).hexdigest()


def _entry(text: object, number: int, hashed: str) -> Entry:
    try:
        found = _mapping(text, _ENTRY_KEYS)
        column = found["column"]
        if found["number"] != number:
            raise ValueError
        return Entry(
            number,
            _privacy(found),
            tuple(column) if isinstance(column, list) else column,
            found["rule"],
            found["addressing"],
            found["randomness"],
            found["key_fingerprint"],
            found["key"],
            hashed,
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        _altered(f"entry {number} does not read")


def _mapping(text: object, keys: set[str]) -> dict[str, Any]:
    found = read_json(_bytes(text))
    if not isinstance(found, dict) or set(found) != keys:
        raise ValueError
    return found


def _privacy(found: dict[str, Any]) -> Privacy:
    epsilon, delta = float.fromhex(found["epsilon"]), float.fromhex(found["delta"])
    return Privacy(epsilon, delta, found["neighbours"], found["rows_per_person"])


def _figures(privacy: Privacy) -> dict[str, Any]:
    return {
        "epsilon": privacy.epsilon.hex(),
        "delta": privacy.delta.hex(),
        "neighbours": privacy.neighbours,
        "rows_per_person": privacy.rows_per_person,
    }


def _spelt(body: dict[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, separators=(",", ":"))


def _bytes(text: object) -> bytes:
    if not isinstance(text, str):
        _altered("a text in it is none")
    return text.encode(errors="surrogatepass")


def _sums(parts: Iterable[Privacy]) -> tuple[Fraction | float, Fraction]:
    """The exact sums of epsilons and of deltas; doubles are fractions."""
    epsilon: Fraction | float = Fraction(0)
    delta = Fraction(0)
    for part in parts:
        epsilon = math.inf if math.inf in (epsilon, part.epsilon) else epsilon + Fraction(part.epsilon)
        delta += Fraction(part.delta)
    return epsilon, delta


def _rest(cap: float, spent: Fraction | float) -> float:
    if cap == math.inf:
        return cap
    return 0.0 if spent >= cap else float_below(Fraction(cap) - Fraction(spent))


def _bare(privacy: Privacy) -> Privacy:
    """The statement about a person, however many rows that is in each table: such statements compose."""
    return Privacy(privacy.epsilon, privacy.delta, privacy.neighbours)


def _altered(what: str) -> NoReturn:
    raise LedgerError(f"the ledger is damaged or was altered: {what}. Go back to a copy, and find out who wrote to it") from None
