"""Values by group: codes of public keys, rows chosen of each person, and answers from the window of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpfast._core import quantile as core
from dpfast._threads import run_parts, run_rows
from dpfast.columns import adapt, plain_column
from dpfast.domain import Domain
from dpfast.duff._chunks import PIECE_ROWS, Memory
from dpfast.duff._select import PlainCells, Window, all_values, count_at, find_window
from dpfast.duff._select_draw import Recourse, draw_points
from dpfast.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    import threading

    from numpy.typing import NDArray

    from dpfast.duff._select_draw import Blocks, Law, Question
    from dpfast.duff._together import Grouped
    from dpfast.duff.weights import Weights
    from dpfast.randomness import Stream

__all__ = ["check_groups", "codes_of", "domain_of_keys", "group_answers", "keep_rows", "people_of"]

DENSE: Final = 16  # a table of codes pays where the keys span at most this many times their number
LARGE: Final = 1 << 20  # a group that is looked at like a column of its own
TASK_ROWS: Final = 1 << 18


def check_groups(by: Any, keys: Any, *, public_groups: bool, neighbours: str) -> Domain | None:
    """The public groups as a domain; None without groups."""
    if (by is None) != (keys is None):
        raise ArgumentTypeError("by= and keys= go together: keys lists the public groups, each of which is answered")
    if by is None:
        return None
    if neighbours == "replace_one" and not public_groups:
        raise ArgumentError(
            "under replace_one the number of rows is public but not that of a group; say public_groups=True if the group of each "
            "row is public, or use add_remove"
        )
    return domain_of_keys(by, keys)


def domain_of_keys(by: Any, keys: Any) -> Domain:
    """The public groups: a domain of the values of one column, or of the combinations of several."""
    if isinstance(keys, Domain):
        return keys
    if not isinstance(by, tuple):
        if isinstance(keys, list) and keys == list(range(len(keys))) and not any(isinstance(key, bool) for key in keys[:2]):
            keys = range(len(keys))  # a domain that need not be listed
        if isinstance(keys, list) and keys and isinstance(keys[0], tuple):
            raise ArgumentTypeError("keys that are tuples are those of several columns; give by= as a tuple of columns")
        return Domain(keys, unknown="randomise")
    if not isinstance(keys, (list, tuple)) or not all(isinstance(key, tuple) and len(key) == len(by) for key in keys):
        raise ArgumentTypeError("keys of several columns are a list of tuples, one value a column")
    if len(by) == 1:
        return Domain([key[0] for key in keys], unknown="randomise")
    parts = [list(dict.fromkeys(values)) for values in zip(*keys, strict=True)]
    return Domain.product(*parts, only=list(keys), unknown="randomise")


def codes_of(by: Any, domain: Domain, threads: int | None) -> NDArray[np.uint32]:
    """The place of each row's key among the keys, and their number for rows of other groups."""
    column = by[0] if isinstance(by, tuple) and len(by) == 1 else by
    if isinstance(column, list):
        column = _listed(column)
        if column.null_count == len(column):  # nothing says of which type they are
            return np.full(len(column), domain.size if domain.null_code is None else domain.null_code, np.uint32)
    quick = _integer_codes(column, domain, threads) if not isinstance(column, tuple) else None
    if quick is not None:
        return quick
    if isinstance(column, tuple):
        column = tuple(_listed(part) if isinstance(part, list) else part for part in column)
    adapter = adapt(domain, column, "by")
    codes = np.empty(adapter.n_rows, np.uint32)

    def task(start: int, stop: int, cancelled: threading.Event) -> None:
        scratch = np.empty(min(PIECE_ROWS, stop - start), adapter.code_type)
        for first in range(start, stop, PIECE_ROWS):
            if cancelled.is_set():
                return
            last = min(first + PIECE_ROWS, stop)
            codes[first:last] = np.minimum(adapter.tile(first, last, scratch[: last - first]), domain.size)

    run_rows(task, adapter.n_rows, threads)
    return codes


def _listed(values: list[Any]) -> Any:
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        raise ArgumentTypeError("the list of by= holds values of several types") from None


def _integer_codes(column: Any, domain: Domain, threads: int | None) -> NDArray[np.uint32] | None:
    """By a table, where the keys are integers close together; None where that does not serve."""
    plain = plain_column(column)
    if plain is not None and not isinstance(plain, np.ndarray):
        import pyarrow.types as t

        if not t.is_integer(plain.type) or plain.null_count or (hasattr(plain, "chunks") and plain.num_chunks != 1):
            return None
        plain = (plain.chunk(0) if hasattr(plain, "chunks") else plain).to_numpy(zero_copy_only=False)
    if (
        domain.kind not in ("int", "range")
        or plain is None
        or domain.null_code is not None
        or isinstance(plain, np.ma.MaskedArray)
    ):
        return None
    if plain.ndim != 1 or plain.dtype not in (np.dtype(np.int64), np.dtype(np.int32)):
        return None
    keys = list(range(domain.size)) if domain.kind == "range" else list(domain.values)
    least, most = min(keys), max(keys)
    if most - least >= DENSE * len(keys) + PIECE_ROWS or not -(1 << 63) <= least <= most < 1 << 63:
        return None
    table = np.full(most - least + 1, domain.size, np.uint32)
    table[np.array(keys, np.int64) - least] = np.arange(len(keys), dtype=np.uint32)
    codes = np.empty(plain.size, np.uint32)

    def task(start: int, stop: int, cancelled: threading.Event) -> None:
        for first in range(start, stop, PIECE_ROWS):
            if cancelled.is_set():
                return
            last = min(first + PIECE_ROWS, stop)
            piece = np.require(plain[first:last], requirements=["C", "A"])
            core.code_integers(piece, least, table, domain.size, codes[first:last])

    run_rows(task, plain.size, threads)
    return codes


def keep_rows(
    people: NDArray[np.int64], known: NDArray[np.bool_], most: int, stream: Stream, column_name: Any, digest: bytes
) -> NDArray[np.bool_]:
    """A random choice of at most `most` rows of each person; rows of no person are left out.

    Each row has a word of the stream; the rows of a person with the least words are kept. The words of a person's rows are
    independent of everyone else's, so what is kept of others has the same law with and without the person.
    """
    cells = stream.rows(column_name, digest, people.size).reader(0, whole=True)
    words = np.empty(people.size, np.uint64)
    for start in range(0, people.size, TASK_ROWS):
        stop = min(start + TASK_ROWS, people.size)
        words[start:stop] = cells.words(stop - start)
    order = np.lexsort((words, people))
    starts = np.flatnonzero(np.diff(people[order], prepend=people[order[0]] - 1)) if people.size else np.empty(0, np.int64)
    places = np.arange(people.size) - np.repeat(starts, np.diff(starts, append=people.size))
    kept = np.zeros(people.size, np.bool_)
    kept[order[places < most]] = True
    return kept & known


def people_of(person: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """A number for each person, and which rows have one."""
    import pyarrow as pa

    column = _listed(person) if isinstance(person, list) else plain_column(person)
    if column is None or isinstance(column, np.ma.MaskedArray) or (isinstance(column, np.ndarray) and column.ndim != 1):
        raise ArgumentTypeError("person must be one column: a numpy array, a pyarrow, pandas or polars column, or a list")
    if isinstance(column, np.ndarray) and column.dtype.kind in "iu":
        return np.unique(column, return_inverse=True)[1].astype(np.int64), np.ones(column.size, np.bool_)
    try:
        arrays = [pa.array(column, from_pandas=True)] if isinstance(column, np.ndarray) else column
        column = pa.chunked_array(arrays) if isinstance(arrays, list) else arrays
        if pa.types.is_dictionary(column.type):  # two entries of a dictionary may be one value
            column = column.cast(column.type.value_type)
        serves = pa.types.is_integer(column.type) or pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        serves |= column.type == pa.string_view()
        if not serves:
            raise ArgumentTypeError(f"person has type {column.type}, which cannot identify anybody; use integers or text")
        codes = column.dictionary_encode()
        codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
        codes = codes.chunk(0) if isinstance(codes, pa.ChunkedArray) else codes
        indices = codes.indices.fill_null(-1) if codes.indices.null_count else codes.indices
        found = indices.to_numpy(zero_copy_only=False).astype(np.int64)
    except (pa.ArrowException, ValueError):
        raise ArgumentTypeError("person must hold integers or text") from None
    return found, found >= 0


def group_answers(
    grouped: Grouped, question: Question, weights: Weights, blocks: Blocks, threads: int | None
) -> NDArray[np.int64]:
    """Draw the answer of every group, the i-th by draw number i."""
    sizes = grouped.sizes
    law = question.law_of_groups(weights, sizes)
    plain = PlainCells(question.points, grouped.values.dtype)
    large = np.flatnonzero(sizes >= LARGE)
    firsts, lasts = law.places_of_groups(sizes)
    firsts[large] = lasts[large] = 0  # they get their windows below
    rooms = np.concatenate([[0], np.cumsum(lasts - firsts)]).astype(np.uint64)
    points, upto = np.empty(max(1, int(rooms[-1])), np.int64), np.empty(max(1, int(rooms[-1])), np.uint64)
    windows = core.Windows(sizes.size)

    def fill(start: int, stop: int) -> None:
        windows.fill(grouped.values, grouped.starts, sizes, firsts, lasts, rooms, points, upto, start, stop)

    run_parts(fill, sizes.size, max(1, min(1 << 12, sizes.size * TASK_ROWS // max(1, int(sizes.sum())))), threads)
    for place in large.tolist():
        windows.put(place, *find_window(Memory([grouped.group(place)]), plain, law.places, None, threads))

    def recourse(place: int) -> Recourse:
        column = Memory([grouped.group(place)])

        def everything() -> tuple[Law, Window]:
            return question.law(weights, column.rows + 3), all_values(column, plain)

        return Recourse(lambda index: count_at(column, plain, index, None, threads), everything)

    return draw_points(law, windows, blocks, recourse, threads)
