"""`Policy.estimate`: estimates from a sanitised table, read once, batch by batch."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from dpfast._estimate_core import Fit, Options, announce, fit
from dpfast._figures import Grouped, figures
from dpfast._frames import TABLES, Frame, as_frame, open_stream
from dpfast._frames_spark import arrow_schema, counted_cells, is_spark
from dpfast._parquet import BATCH_ROWS
from dpfast._sources.source import open_source
from dpfast._sources.written import typed_batch
from dpfast._tally import Counter, Groups, check_weights
from dpfast.crosstab import CrossTab, fit_crosstab
from dpfast.errors import ArgumentTypeError, PolicyError
from dpfast.estimate import Estimate

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfast.domain import Domain
    from dpfast.mechanism import Mechanism

__all__ = ["estimate_table"]

_WRONG: Final = f"table must be {TABLES}; or an iterable of record batches, or the path or address of files"


class Rules(Protocol):
    """What of a policy is needed here."""

    @property
    def mechanisms(self) -> Mapping[str, Mechanism]:
        """The sanitised columns and their mechanisms."""


def estimate_table(
    self: Rules,
    table: Any,
    columns: str | list[str] | tuple[str, ...],
    *,
    by: str | tuple[str, ...] | None = None,
    keys: Any = None,
    weights: str | None = None,
    method: Literal["inverse", "mle", "em"] = "inverse",
    interval: Literal["wilson", "clopper_pearson"] = "wilson",
    population: bool = True,
    confidence: float = 0.95,
    simultaneous: bool = False,
    tolerance: float = 1e-9,
    max_iterations: int = 10_000,
) -> Any:
    """Estimate the true frequencies of a column, or the joint ones of several, from a sanitised table.

    Parameters
    ----------
    table : table of any kind that `sanitise` takes, DataFrame of Spark, iterable of record batches, or path
        What `sanitise` returned, or the files that it was written to, of any format that `sanitise_file` writes. Spark counts on
        its cluster, in one job; the counts come here.
    columns : str, or list of str
        A sanitised column of the policy, or several for a cross-tabulation.
    by : str or tuple of str, optional
        Public columns: one estimate for each of `keys`.
    keys : list, required with `by`
        The keys to answer; tuples where there are several columns. Rows of other keys are left out.
    weights : str, optional
        A public column of row weights.
    method, interval, population, confidence, simultaneous, tolerance, max_iterations
        As for `RandomisedResponse.estimate`; Clopper-Pearson intervals are for a single column.

    Returns
    -------
    Estimate, CrossTab, or Grouped of either
        For one column given by its name, for a list of columns, and with `by`.

    Raises
    ------
    PolicyError
        If the policy does not sanitise a column, or the table has no such column.
    ArgumentTypeError, ArgumentError
        Before any value is read; also for more than 10**7 cells.
    OutsideDomainError
        If a column cannot be an answer of its mechanism.
    FileError, CorruptDataError
        If the file cannot be read.

    Notes
    -----
    Post-processing: no privacy cost. One pass over the rows; memory is that of a batch and of the table of counts.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from dpfast import Policy, RandomisedResponse, Stream
    >>> yes_no = RandomisedResponse(["no", "yes"], epsilon=4.0)
    >>> policy = Policy({"smoker": yes_no, "cough": yes_no})
    >>> table = pa.table({"smoker": ["no"] * 600 + ["yes"] * 400, "cough": ["no"] * 500 + ["yes"] * 500})
    >>> released = policy.sanitise(table, rng=Stream.insecure(2))
    >>> policy.estimate(released, ["smoker", "cough"])
    smoker  cough  frequency   error     95 % interval
    no      no        0.4969  0.0165  0.4647 to 0.5292
    no      yes       0.0954  0.0104  0.0767 to 0.1174
    yes     no        0.0010  0.0043  0.0000 to 0.0117
    yes     yes       0.4066  0.0161  0.3756 to 0.4385
    (method 'inverse', about the population)
    """
    options = Options(method, interval, population, confidence, simultaneous, tolerance, max_iterations)
    wanted = (columns,) if isinstance(columns, str) else tuple(columns) if isinstance(columns, list | tuple) else ()
    if not wanted or not all(isinstance(name, str) for name in wanted) or len(set(wanted)) != len(wanted):
        raise ArgumentTypeError("columns must be the name of a column, or a list of distinct names")
    mechanisms = self.mechanisms
    for name in wanted:
        if name not in mechanisms:
            raise PolicyError(f"the policy does not sanitise a column named {name!r}, so there is nothing to estimate")
    beside = (by,) if isinstance(by, str) else () if by is None else by
    if not isinstance(beside, tuple) or not all(isinstance(name, str) for name in beside) or (by is not None and not beside):
        raise ArgumentTypeError("by must be the name of a public column, or a tuple of names")
    if weights is not None and not isinstance(weights, str):
        raise ArgumentTypeError("weights must be the name of a public column")
    for name in (*beside, *(() if weights is None else (weights,))):
        if name in mechanisms:
            raise PolicyError(f"column {name!r} is sanitised; by= and weights= take public columns")
    groups = Groups(beside, keys) if beside else Groups.of(None, keys)

    domains = [mechanisms[name].domain for name in wanted]
    counter = Counter(domains, names=wanted, groups=groups, weighted=weights is not None)
    if is_spark(table):
        _count_on_cluster(table, counter, wanted, domains, groups, weights)
    else:
        answers = {name: domain.answers for name, domain in zip(wanted, domains, strict=True)}
        for batch in _batches(table, (*wanted, *beside, *(() if weights is None else (weights,))), answers):
            counter.add(
                [batch.column(name) for name in wanted],
                by=[batch.column(name) for name in beside] or None,
                weights=None if weights is None else check_weights(_numbers(batch.column(weights))),
            )
    estimates: list[Estimate | CrossTab] = []
    fits: list[Fit] = []
    channels = [mechanisms[name].channel for name in wanted]
    for counts, squares in counter.tables():
        one: Estimate | CrossTab
        if isinstance(columns, str):
            found = fit(counts, channels, options, squares=squares)
            one = Estimate(domains[0].values, **figures(found, options))
        else:
            values = [domain.values for domain in domains]
            one, found = fit_crosstab(counts, channels, options, values=values, names=wanted, squares=squares)
        estimates.append(one)
        fits.append(found)
    announce(fits)
    return estimates[0] if groups is None else Grouped(beside, dict(zip(groups.keys, estimates, strict=True)))


def _count_on_cluster(
    table: Any, counter: Counter, wanted: tuple[str, ...], domains: list[Domain], groups: Groups | None, weights: str | None
) -> None:
    """Add the counts that a cluster takes of the cells that occur."""
    import numpy as np

    schema = arrow_schema(table.schema)
    beside = () if groups is None else groups.names
    _check_names(schema.names, (*wanted, *beside, *(() if weights is None else (weights,))))
    empty = schema.empty_table()
    counter.add([empty.column(name) for name in wanted], by=[empty.column(name) for name in beside] or None)  # the types
    if weights is not None:
        check_weights(empty.column(weights))
    keys = () if groups is None else tuple(zip(beside, groups.parts, strict=True))
    cells = counted_cells(table, schema, wanted, [domain.size for domain in domains], keys=keys, weights=weights)
    sums, squares = cells.column("count").to_numpy(), None
    if weights is not None:
        known, least, sums, squares = (cells.column(name).to_numpy() for name in ("known", "least", "sum", "squares"))
        # what is wrong with a weight shows in these: null in the first, below zero in the second, not finite in the last
        check_weights(np.concatenate([np.where(known == cells.column("count").to_numpy(), 0.0, np.nan), least, squares]))
    columns = [cells.column(f"c{place}") for place in range(len(wanted) + len(beside))]
    counter.add(columns[: len(wanted)], by=columns[len(wanted) :] or None, weights=sums, squares=squares)


def _batches(source: Any, names: tuple[str, ...], answers: Mapping[str, Domain]) -> Iterator[pa.RecordBatch | Frame]:
    """Yield the rows of whatever holds a table; `answers` are the domains of the sanitised columns, as they come out."""
    import pyarrow as pa

    if isinstance(source, str | os.PathLike | tuple):
        files = open_source(source)
        _check_names(files.schema.names, names)
        for batch in files.batches(names, dictionaries=list(answers)):
            yield typed_batch(batch, files.schema, answers)
        return
    if (frame := as_frame(source)) is not None:
        _check_names(frame.names, names)
        yield frame.load(names)
        return
    batches: Iterable[pa.RecordBatch]
    if isinstance(source, pa.Table):
        _check_names(source.schema.names, names)
        batches = source.select(list(names)).to_batches(BATCH_ROWS)
    elif isinstance(source, pa.RecordBatch):
        batches = [source]
    elif (reader := open_stream(source)) is not None:
        _check_names(reader.schema.names, names)
        batches = reader
    elif isinstance(source, Iterable):
        batches = source
    else:
        raise ArgumentTypeError(_WRONG)
    for batch in batches:
        if not isinstance(batch, pa.RecordBatch):
            raise ArgumentTypeError(_WRONG)
        _check_names(batch.schema.names, names)
        yield batch


def _numbers(column: Any) -> Any:
    """Weights; those that a file of text holds are read as numbers."""
    import pyarrow as pa

    if isinstance(column, pa.Array) and column.type == pa.string():
        try:
            return column.cast(pa.float64())
        except pa.ArrowInvalid:
            raise ArgumentTypeError("weights must be a one-dimensional column of numbers") from None
    return column


def _check_names(present: list[Any], names: tuple[str, ...]) -> None:
    missing = [name for name in names if name not in present]
    if missing:
        raise PolicyError(f"the table has no column named {', '.join(map(repr, missing))}")
    repeated = [name for name in names if present.count(name) > 1]
    if repeated:
        raise PolicyError(f"the table has more than one column named {', '.join(map(repr, repeated))}")
