"""A mechanism per value of a public column: rows of different strata get different epsilons, or different laws.

**Guarantee.** The column `by` is public: neighbouring tables agree on it, so the row in which they differ is answered by one and
the same mechanism in both. The column costs what its worst stratum costs.

**Words.** Each mechanism draws from a subkey of its own, which its digest gives, and a row uses the word of its own number in the
*whole* column, whatever its stratum and its neighbours are. So each mechanism reserves every row and uses those of its strata;
strata with equal mechanisms are one. A column in pieces equals the column whole, and which rows belong to which stratum moves no
other row's noise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfast._core import rows as core
from dpfast._core.rows import Pending
from dpfast._spending import payment, persons_figure
from dpfast._threads import check_threads, run_rows
from dpfast.columns import adapt
from dpfast.columns.base import clip_codes, code_type
from dpfast.domain import Domain, outside_text
from dpfast.errors import ArgumentError, ArgumentTypeError, DpfastError, OutsideDomainError, PolicyError
from dpfast.ids import prepare_ids
from dpfast.mechanism import Mechanism
from dpfast.randomness import Stream
from dpfast.words import TILE_ROWS, TILE_WORDS

if TYPE_CHECKING:
    import threading

    from numpy.typing import NDArray

    from dpfast._spending import Charges
    from dpfast.words import IdCells, RowCells

__all__ = ["Stratified"]


class Stratified:
    """Answer a column by a mechanism for each value of a public column.

    Parameters
    ----------
    by : str
        Name of the column that says which stratum a row belongs to. It must be ``"public"`` in the policy.
    mechanisms : mapping
        A mechanism for each value of `by`: text, integer, boolean, bytes or None. All have one domain.
    default : mechanism, optional
        For rows with any other value of `by`; without it such a row is an `OutsideDomainError`.

    Attributes
    ----------
    by : str
    mechanisms : mapping
        Read-only.
    default : mechanism or None
    domain : Domain
        The domain of all mechanisms.
    delta : float
        The largest delta that a mechanism was asked for.
    digest : bytes
        32 bytes that identify `by`, the values, the mechanisms and the default.

    Raises
    ------
    PolicyError
        No value, a value that cannot be one of a column, a rule that is no mechanism, or domains that differ.

    Notes
    -----
    **Privacy guarantee.** Neighbours: ``replace_one``, between tables that agree on `by`. Epsilon and delta are those of the
    worst stratum, each rounded up. **Cost.** At most one pass of AES over the column for each distinct mechanism; a tile without
    rows of a stratum costs it nothing.

    Examples
    --------
    >>> from dpfast import RandomisedResponse
    >>> strict, loose = (RandomisedResponse(["no", "yes"], epsilon=epsilon) for epsilon in (0.5, 2.0))
    >>> rule = Stratified("age", {"minor": strict, "adult": loose})
    >>> rule.epsilon_at()
    2.0
    """

    __slots__ = ("_codes", "_distinct", "by", "by_domain", "default", "delta", "digest", "domain", "mechanisms")

    mechanisms: Mapping[Any, Mechanism]

    def __init__(self, by: str, mechanisms: Mapping[Any, Mechanism], *, default: Mechanism | None = None) -> None:
        if not isinstance(by, str):
            raise PolicyError("by must be the name of a public column")
        if not isinstance(mechanisms, Mapping) or not mechanisms:
            raise PolicyError("a stratified column needs a mapping from values of its public column to mechanisms")
        rules = [*mechanisms.values(), *([] if default is None else [default])]
        if not all(isinstance(rule, Mechanism) for rule in rules):
            raise PolicyError("a stratified column has a mechanism for each value; it cannot be public in some strata")
        if any(rule.domain != rules[0].domain for rule in rules):
            raise PolicyError("the mechanisms of a stratified column share one domain and one rule for unknown values")
        try:
            self.by_domain = Domain(list(mechanisms), unknown="randomise")
        except DpfastError as error:
            raise PolicyError(f"the values of {by!r} are no domain: {error}") from None
        self.by = by
        self.mechanisms = MappingProxyType(dict(mechanisms))
        self.default = default
        self.domain = rules[0].domain
        self.delta = max(rule.delta for rule in rules)
        # strata with equal mechanisms draw from one subkey: they are one, or they would reserve its rows twice
        distinct = list({rule.digest: rule for rule in rules}.values())
        numbers = {rule.digest: number for number, rule in enumerate(distinct)}
        self._distinct = tuple(distinct)
        without = [len(distinct)] * (default is None)  # the code of a value that has no mechanism
        self._codes = np.array([numbers[rule.digest] for rule in rules] + without, code_type(len(distinct)))
        self.digest = self._digest()

    def _digest(self) -> bytes:
        fields = [b"stratified", self.by.encode(), self.by_domain.digest, *(rule.digest for rule in self.mechanisms.values())]
        fields.append(b"" if self.default is None else self.default.digest)
        data = b"".join(len(field).to_bytes(8, "little") + field for field in fields)
        return hashlib.blake2b(data, digest_size=32, person=b"dpfast/mech/1").digest()

    @property
    def strata(self) -> list[tuple[object, Mechanism]]:
        """Each value of `by` with its mechanism; the default, if there is one, at the end under ``...``."""
        return [*self.mechanisms.items(), *([] if self.default is None else [(..., self.default)])]

    def epsilon_at(self, delta: float = 0.0) -> float:
        """Return the epsilon of the worst stratum at `delta`, rounded up."""
        return max(mechanism.epsilon_at(delta) for mechanism in self._distinct)

    def delta_at(self, epsilon: float) -> float:
        """Return the delta of the worst stratum at `epsilon`, rounded up."""
        return max(mechanism.delta_at(epsilon) for mechanism in self._distinct)

    def expected_changes(self, n_rows: int) -> float:
        """Return the largest expected number of rows that change: as if all rows were of that stratum."""
        return max(mechanism.expected_changes(n_rows) for mechanism in self._distinct)

    def certificate(self) -> dict[str, Any]:
        """Return what anyone needs to check the privacy of every stratum, without data: a dict fit for JSON."""
        strata = [
            {"value": value.hex() if isinstance(value, bytes) else value, "mechanism": mechanism.certificate()}
            for value, mechanism in self.mechanisms.items()
        ]
        default = None if self.default is None else self.default.certificate()
        return {"kind": "stratified", "by": self.by, "strata": strata, "default": default}

    def sanitise(
        self,
        column: Any,
        by: Any,
        *,
        rng: Stream | None = None,
        ids: Any = None,
        column_name: str | tuple[str, ...] | None = None,
        threads: int | None = None,
        ledger: Charges | None = None,
    ) -> Any:
        """Randomise every row of a column by the mechanism of its stratum.

        Parameters
        ----------
        column : ndarray, pyarrow Array or ChunkedArray, pandas or polars Series, shape (n_rows,)
            As for a mechanism; a tuple of columns if the domain is a product.
        by : ndarray, pyarrow Array or ChunkedArray, pandas or polars Series, shape (n_rows,)
            The public column; a value of it has a mechanism, or there is a default.
        rng, ids, column_name, threads, ledger
            As for a mechanism; a ledger is charged the worst stratum.

        Returns
        -------
        ndarray, pyarrow Array or ChunkedArray, pandas or polars Series, shape (n_rows,)
            As for a mechanism.

        Raises
        ------
        ArgumentTypeError, ArgumentError, IdError, LedgerError
            Before any value is read or drawn.
        OutsideDomainError
            A value outside the domain under ``unknown="error"``, or a value of `by` that has no mechanism.

        Examples
        --------
        >>> from dpfast import RandomisedResponse
        >>> blind, open_book = (RandomisedResponse([0, 1], epsilon=epsilon) for epsilon in (0, 44))
        >>> rule = Stratified("age", {"minor": blind}, default=open_book)
        >>> rule.sanitise(np.array([1, 0, 1]), np.array(["adult", "adult", "adult"])).tolist()
        [1, 0, 1]
        """
        adapter, strata = adapt(self.domain, column, column_name), adapt(self.by_domain, by, self.by)
        check_threads(threads)
        pay = payment(ledger, column_name, self.digest, lambda rows: persons_figure([self], rows))
        if rng is not None and not isinstance(rng, Stream):
            raise ArgumentTypeError(f"rng must be None or a dpfast.Stream, not {type(rng).__name__}")
        if strata.n_rows != adapter.n_rows:
            raise ArgumentError("the column and the public column that stratifies it have equally many rows; these differ")
        stream = Stream() if rng is None else rng
        answers = adapter.answers(None)
        run = _Run(self, adapter, strata, answers, column_name)
        if ids is None:
            pay(stream, "row")
            run.by_row([stream.rows(column_name, rule.digest, adapter.n_rows) for rule in self._distinct], threads)
        else:
            cells = [stream.ids(column_name, rule.digest) for rule in self._distinct]
            places = prepare_ids(ids, adapter.n_rows)
            pay(stream, "id")
            run.by_id(cells, places, threads)
        return adapter.rebuild(answers)

    def __repr__(self) -> str:
        default = "" if self.default is None else f", default={self.default!r}"
        return f"Stratified({self.by!r}, {dict(self.mechanisms)!r}{default})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (self.by, dict(self.mechanisms), self.default)


class _Run:
    """One column, tile by tile: its codes, the strata of its rows, and the answers of each mechanism where they belong."""

    def __init__(self, rule: Stratified, adapter: Any, strata: Any, answers: NDArray[Any], name: Any) -> None:
        self.rule, self.adapter, self.strata, self.answers, self.name = rule, adapter, strata, answers, name
        self.laws = [mechanism.law for mechanism in rule._distinct]

    def by_row(self, cells: list[RowCells], threads: int | None) -> None:
        def answer(number: int, first: int, codes: NDArray[Any], out: NDArray[Any]) -> None:
            law = self.laws[number]
            reader = cells[number].reader(first, whole=not law.split)
            if not law.split:
                law.whole(codes, reader.words(codes.size), out)
                return
            pending = Pending(codes.size)
            law.first(codes, reader.high(codes.size), out, pending, 0)
            if pending:
                law.settle(pending, reader.low(pending, 0), out)

        self._run(TILE_ROWS if all(law.split for law in self.laws) else TILE_WORDS, answer, threads)

    def by_id(self, cells: list[IdCells], ids: Any, threads: int | None) -> None:
        def answer(number: int, first: int, codes: NDArray[Any], out: NDArray[Any]) -> None:
            true_codes = clip_codes(codes, self.rule.domain.size).astype(np.uint32)
            self.laws[number].whole(codes, ids.words(cells[number], first, first + codes.size, true_codes), out)

        self._run(TILE_WORDS, answer, threads)

    def _run(self, rows: int, answer: Any, threads: int | None) -> None:
        def task(start: int, stop: int, cancelled: threading.Event) -> None:
            for first in range(start, stop, rows):
                if cancelled.is_set():
                    return
                self._tile(first, min(first + rows, stop), answer)

        run_rows(task, self.adapter.n_rows, threads)

    def _tile(self, first: int, last: int, answer: Any) -> None:
        codes = self.adapter.tile(first, last, np.empty(last - first, self.adapter.code_type))
        # a reader takes memory in one piece
        codes = np.ascontiguousarray(codes)
        numbers = self._numbers(first, last)
        present = [(number, rows) for number in range(len(self.laws)) if (rows := numbers == number).any()]
        target = self.answers[first:last]
        out = target if len(present) == 1 else np.empty_like(codes)
        if out is not target:
            target[:] = 0
        for number, rows in present:
            try:
                answer(number, first, codes, out)
            except OutsideDomainError:
                raise OutsideDomainError(outside_text(self.name)) from None
            if out is not target:
                # each row is in one stratum: a product and a sum are vectors where a copy under a mask is not
                out *= rows.view(np.uint8).astype(codes.dtype, copy=False)
                target += out

    def _numbers(self, first: int, last: int) -> NDArray[Any]:
        """Which mechanism each row has."""
        codes = self.strata.tile(first, last, np.empty(last - first, self.strata.code_type))
        numbers = np.empty(last - first, self.rule._codes.dtype)
        core.remap(np.ascontiguousarray(clip_codes(codes, self.rule.by_domain.size)), None, 0, self.rule._codes, 0, numbers)
        if self.rule.default is None and numbers.size and int(numbers.max()) == len(self.laws):
            raise OutsideDomainError(
                f"public column {self.rule.by!r} holds a value that has no mechanism; run `dpfast check` to see which, then give "
                "it one, or a default"
            )
        return numbers


def _remade(by: str, mechanisms: dict[Any, Mechanism], default: Mechanism | None) -> Stratified:
    """Make a rule from its pickled parts; a read-only mapping has no pickled form."""
    return Stratified(by, mechanisms, default=default)
