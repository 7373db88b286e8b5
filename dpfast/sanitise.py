"""One column: plan, then run over tiles and threads; the same kind of column out as in.

Planning raises every error that can be known without a value. After it the only errors are memory, a value outside the
domain under ``unknown="error"``, and broken dictionaries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from dpfast._core.rows import Pending
from dpfast._threads import check_threads, run_rows
from dpfast.columns import ColumnAdapter, adapt
from dpfast.columns.base import clip_codes
from dpfast.domain import outside_text
from dpfast.errors import ArgumentTypeError, OutsideDomainError
from dpfast.ids import prepare_ids
from dpfast.randomness import Stream
from dpfast.words import TILE_IDS, TILE_ROWS, TILE_WORDS

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dpfast._spending import Pay
    from dpfast.domain import Domain
    from dpfast.ids import IdColumn
    from dpfast.randomness import Column
    from dpfast.words import IdCells, RowCells

GROUP_ROWS: Final = 1 << 24  # rows whose pending cells are settled together

__all__ = ["Answers", "Law", "count_codes", "sanitise_column"]


class Law(Protocol):
    """A mechanism as kernels: either two stages, or whole words."""

    @property
    def split(self) -> bool: ...
    def first(self, codes: NDArray[Any], high: NDArray[np.uint16], out: NDArray[Any], pending: Pending, base: int) -> None: ...
    def settle(self, pending: Pending, low: NDArray[np.uint8], out: NDArray[Any]) -> None: ...
    def whole(self, codes: NDArray[Any], words: NDArray[np.uint64], out: NDArray[Any]) -> None: ...


def sanitise_column(
    domain: Domain,
    law: Law,
    digest: bytes,
    column: Any,
    *,
    rng: Stream | None = None,
    ids: Any = None,
    column_name: Column = None,
    threads: int | None = None,
    out: Any = None,
    pay: Pay | None = None,
) -> Any:
    """Randomise every row of a column by a law; see ``RandomisedResponse.sanitise``. `pay` is called before any draw."""
    adapter = adapt(domain, column, column_name)
    check_threads(threads)
    if rng is not None and not isinstance(rng, Stream):
        raise ArgumentTypeError(f"rng must be None or a dpfast.Stream, not {type(rng).__name__}")
    stream = Stream() if rng is None else rng
    answers = adapter.answers(out)
    try:
        if ids is None:
            if pay is not None:
                pay(stream, "row")
            _by_row(law, adapter, answers, stream.rows(column_name, digest, adapter.n_rows), threads)
        else:
            cells, places = stream.ids(column_name, digest), prepare_ids(ids, adapter.n_rows)
            if pay is not None:
                pay(stream, "id")
            _by_id(law, domain.size, adapter, answers, cells, places, threads)
    except OutsideDomainError:
        raise OutsideDomainError(outside_text(column_name)) from None
    return adapter.rebuild(answers, out)


def _by_row(law: Law, adapter: ColumnAdapter, answers: NDArray[Any], cells: RowCells, threads: int | None) -> None:
    def tiles(start: int, stop: int, cancelled: threading.Event) -> Iterator[tuple[int, int, NDArray[Any], NDArray[Any]]]:
        """First and last row, codes, and place of the answers, tile by tile."""
        rows = TILE_ROWS if law.split else TILE_WORDS
        for first in range(start, stop, rows):
            if cancelled.is_set():
                return
            last = min(first + rows, stop)
            out = answers[first:last]
            yield first, last, adapter.tile(first, last, out), out

    def split(start: int, stop: int, cancelled: threading.Event) -> None:
        reader = cells.reader(start, whole=False)
        pending = Pending(max(1, 2 * min(TILE_ROWS, stop - start)))
        settled = start
        for first, last, codes, out in tiles(start, stop, cancelled):
            law.first(codes, reader.high(last - first), out, pending, first - settled)
            # few cells are pending, so many tiles share the second stage
            if last == stop or len(pending) > TILE_ROWS or last - settled > GROUP_ROWS:
                if pending:
                    law.settle(pending, reader.low(pending, settled - start), answers[settled:last])
                    pending.clear()
                settled = last

    def whole(start: int, stop: int, cancelled: threading.Event) -> None:
        reader = cells.reader(start, whole=True)
        for first, last, codes, out in tiles(start, stop, cancelled):
            law.whole(codes, reader.words(last - first), out)

    run_rows(split if law.split else whole, adapter.n_rows, threads)


def _by_id(
    law: Law, k: int, adapter: ColumnAdapter, answers: NDArray[Any], cells: IdCells, ids: IdColumn, threads: int | None
) -> None:
    def task(start: int, stop: int, cancelled: threading.Event) -> None:
        for first in range(start, stop, TILE_IDS):
            if cancelled.is_set():
                return
            last = min(first + TILE_IDS, stop)
            out = answers[first:last]
            codes = adapter.tile(first, last, out)
            true_codes = clip_codes(codes, k).astype(np.uint32)
            law.whole(codes, ids.words(cells, first, last, true_codes), out)

    run_rows(task, adapter.n_rows, threads)


def count_codes(domain: Domain, column: Any, name: Any = None) -> NDArray[np.int64]:
    """How often each category occurs in a sanitised column."""
    answers = Answers(domain, column, name)
    counts = np.zeros(domain.size, np.int64)
    for start in range(0, answers.n_rows, TILE_ROWS):
        counts += np.bincount(answers.codes(start, min(start + TILE_ROWS, answers.n_rows)), minlength=domain.size)
    return counts


class Answers:
    """A sanitised column as codes, tile by tile.

    Parameters
    ----------
    domain : Domain
        That of its mechanism.
    column : ndarray, pyarrow Array or ChunkedArray, pandas or polars Series
        The answers.
    name : str, optional
        For error texts.
    """

    def __init__(self, domain: Domain, column: Any, name: Any = None) -> None:
        domain = domain.answers  # an answer is a value of the domain: none is taken for another
        self._adapter = adapt(domain, column, name)
        self._size = domain.size
        self._name = name
        self.n_rows = self._adapter.n_rows
        self._scratch = np.empty(min(TILE_ROWS, self.n_rows), self._adapter.code_type)

    def codes(self, start: int, stop: int) -> NDArray[Any]:
        """Return the codes of at most `TILE_ROWS` rows, each below the size of the domain; valid until the next call."""
        codes = clip_codes(self._adapter.tile(start, stop, self._scratch[: stop - start]), self._size)
        if codes.size and int(codes.max()) >= self._size:
            raise OutsideDomainError(
                f"{'the column' if self._name is None else f'column {self._name!r}'} holds values that this mechanism cannot "
                "have answered; was it sanitised with another domain?"
            )
        return codes
