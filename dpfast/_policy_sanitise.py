"""`Policy.sanitise`: every kind of table to one of its own kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dpfast._frames import TABLES, Frame, as_frame, is_relation, open_stream
from dpfast._policy_check import is_total
from dpfast._policy_plan import id_columns, id_names, plan_frame
from dpfast._schema import bare_column
from dpfast._threads import check_threads
from dpfast.errors import ArgumentTypeError, PolicyError
from dpfast.ids import prepare_ids
from dpfast.randomness import Stream

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfast._policy_base import Rules
    from dpfast._spending import Pay

__all__ = ["sanitise_table"]


def sanitise_table(
    policy: Rules,
    plan: Callable[[pa.Schema], pa.Schema],
    table: Any,
    *,
    rng: Any,
    ids: Any,
    threads: Any,
    connection: Any,
    pay: Pay,
) -> Any:
    """Sanitise a table of any kind; see `dpfast.Policy.sanitise`."""
    import pyarrow as pa

    if rng is not None and not isinstance(rng, Stream):
        raise ArgumentTypeError(f"rng must be None or a dpfast.Stream, not {type(rng).__name__}")
    if connection is not None and not is_relation(table):
        raise ArgumentTypeError("connection= is for a DuckDB relation: it is where the sanitised relation will live")
    check_threads(threads)
    run = _Run(policy, plan, rng, threads, pay)
    if isinstance(table, pa.Table | pa.RecordBatch):
        return run.arrow(table, ids)
    if isinstance(table, pa.RecordBatchReader):
        return run.reader(table, ids)
    frame = as_frame(table)
    if frame is not None:
        return run.frame(frame, ids)
    reader = open_stream(table)
    if reader is None:
        raise ArgumentTypeError(f"table must be {TABLES}; not {type(table).__name__}")
    with reader:
        plan(reader.schema)
        answers = run.arrow(reader.read_all(), ids)
    if connection is None:
        return answers
    from dpfast._frames_duckdb import relation_of

    return relation_of(connection, answers)


class _Run:
    """One call."""

    def __init__(
        self, policy: Rules, plan: Callable[[pa.Schema], pa.Schema], rng: Stream | None, threads: int | None, pay: Pay
    ) -> None:
        self._policy = policy
        self._plan = plan
        self._rng = rng
        self._threads = threads
        self._pay = pay

    def arrow(self, table: Any, ids: Any) -> Any:
        """A Table or RecordBatch."""
        schema = self._plan(table.schema)
        ids = self._ids(table, ids, table.schema.names)
        columns = {name: bare_column(table.column(name)) for name in schema.names}
        columns |= self._answers(table, ids, self._stream(ids))
        return type(table).from_arrays(list(columns.values()), schema=schema)

    def reader(self, reader: pa.RecordBatchReader, ids: Any) -> pa.RecordBatchReader:
        """Batch by batch, when they are asked for: rows are numbered over the whole stream."""
        import pyarrow as pa

        if ids is not None:
            raise ArgumentTypeError("ids= needs all rows, to see that none comes twice; pass reader.read_all()")
        schema = self._plan(reader.schema)
        for group in self._policy.groups:
            if not is_total(group):
                raise PolicyError(
                    f"column {group.label!r} may stop a stream in its middle; reader -> reader only with an explicit unknown: "
                    "declare unknown='randomise' or other= in its domain, and a default for its strata, or pass reader.read_all()"
                )
        rng = self._stream(None)

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in reader:
                columns = {name: bare_column(batch.column(name)) for name in schema.names}
                columns |= self._answers(batch, None, rng)
                yield pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)

        return pa.RecordBatchReader.from_batches(schema, batches())

    def frame(self, frame: Frame, ids: Any) -> Any:
        """A table of pandas or polars."""
        kept = plan_frame(self._policy, frame)
        named = self._id_names(ids, frame.names)
        by = [group.by for group in self._policy.groups if group.by is not None]
        frame = frame.load([*kept, *self._policy.sanitised, *by, *named])
        ids = self._ids(frame, ids, frame.names)
        return frame.rebuild(kept, self._answers(frame, ids, self._stream(ids)))

    def _stream(self, ids: Any) -> Stream:
        """Where the words come from; from here on they are paid for."""
        rng = Stream() if self._rng is None else self._rng
        self._pay(rng, "row" if ids is None else "id")
        return rng

    def _id_names(self, ids: Any, names: list[Any]) -> tuple[str, ...]:
        """The names that `ids` consists of; none if it is a column, or columns."""
        if isinstance(ids, str) or (isinstance(ids, tuple) and all(isinstance(part, str) for part in ids)):
            return id_names(self._policy.sanitised, ids, names)
        return ()

    def _ids(self, table: Any, ids: Any, names: list[Any]) -> Any:
        if named := self._id_names(ids, names):
            ids = id_columns(table, named)
        return None if ids is None else prepare_ids(ids, table.num_rows)

    def _answers(self, table: Any, ids: Any, rng: Stream) -> dict[str, Any]:
        answers: dict[str, Any] = {}
        for group in self._policy.groups:
            by = None if group.by is None else table.column(group.by)
            answers |= group.sanitise(table.column, rng=rng, ids=ids, threads=self._threads, by=by)
        return answers
