"""The same policy on a cluster: DataFrames and folders of Parquet in Spark, with the noise that one machine would draw.

Spark runs a query again whenever it likes: for every action, for a lost executor, for a task that is slow. Noise is therefore a
function of a key and of the identifier of a row, never of the order of rows, the partition or the attempt. pyspark (3.5 or newer)
is the user's own and is imported on first use.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpfast._frames_spark import arrow_schema
from dpfast._policy_base import table_payment
from dpfast._policy_plan import id_columns, id_names
from dpfast._sources.places import locate
from dpfast.duff._request import Request, grid_of, terms_of
from dpfast.duff.brackets import counted_answers
from dpfast.duff.groups import codes_of
from dpfast.duff.selection import Asked
from dpfast.duff.weights import Weights
from dpfast.errors import ArgumentTypeError
from dpfast.etl._spark_files import ClusterJob, check_places, translated
from dpfast.etl._spark_quantile import IndexRows, KeptRows, empty_column
from dpfast.etl._spark_session import check_frame, check_keeps_rows, check_session, noise_of, spark_schema
from dpfast.etl._spark_tasks import Recipe, SanitiseBatches, TellCharge, Told
from dpfast.etl.folders import sanitise_folder
from dpfast.etl.plan import FilePlan
from dpfast.etl.report import Report
from dpfast.etl.sources import open_source
from dpfast.ids import prepare_ids
from dpfast.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from dpfast._spending import Charges
    from dpfast.domain import Domain
    from dpfast.duff.data import Neighbours
    from dpfast.randomness import Column, Stream

__all__ = ["estimate", "quantile", "sanitise", "sanitise_files"]

_NO_IDS = (
    "ids= is needed: the rows of a DataFrame have no order, and Spark computes them again for every action, after a failure and "
    "for slow tasks. Noise drawn anew would answer a row twice, and the answers together say more than was paid for. Name a "
    "column that identifies a row and does not change: the noise is then a function of key, column and id. For files without "
    "ids use sanitise_files"
)


def sanitise(
    df: DataFrame,
    policy: Policy,
    *,
    key: bytes | str | os.PathLike[str] | None = None,
    context: str | None = None,
    ids: str | tuple[str, ...] | None = None,
    ledger: Charges | None = None,
) -> DataFrame:
    """Sanitise a DataFrame of Spark: lazily, and with the same answers however often and wherever it is computed.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Not modified.
    policy : Policy
        What happens to each column.
    key : path or "env:NAME"
        Secret key, looked up on the executors: a file there that only they can read, or an environment variable there. 32 bytes
        are accepted only where ``spark.io.encryption.enabled`` is set.
    context : str
        The name of the population; the same for all its releases.
    ids : str or tuple of str
        Names of the columns that identify a row; public or dropped ones. They must be unique; this is not checked.
    ledger : Ledger, optional
        On the driver; charged by this call, once for the policy under one key and context. Starts a job of one row: executors
        name the charge, as they have the key.

    Returns
    -------
    pyspark.sql.DataFrame
        Without the dropped columns: same order, types and nullability, no metadata. Bins come as their labels. Nothing has
        run; planned are errors of the request, which come at once.

    Raises
    ------
    ArgumentError, ArgumentTypeError, PolicyError
        If the request is wrong or the policy does not fit the schema; before any job.
    LedgerError
        If the ledger has no room.
    MissingPackageError
        Without pyspark, or with one that is too old.

    Notes
    -----
    **Privacy guarantee.** ``policy.privacy()``, rounded up, for tables that differ in one row (``replace_one``) and agree on
    public columns and ids; once for all actions on the result, and for all DataFrames with the same values under the same key and
    context. A value that changes under its id is another release of that row.
    On the executors an `OutsideDomainError` or `IdError` ends the task; Spark tries it again as often as it is told, and then
    fails the job. Its text holds no value.
    **Cost.** That of handing the columns to Python and back; see ``docs/spark.md``.

    Examples
    --------
    >>> from dpfast.etl import spark as on_spark
    >>> released = on_spark.sanitise(df, policy, key="env:DPFAST_KEY", context="members", ids="id")  # doctest: +SKIP
    >>> released.write.parquet("released.parquet")  # doctest: +SKIP
    """
    check_frame(df)
    if not isinstance(policy, Policy):
        raise ArgumentTypeError("policy must be a Policy; Policy.load(path) reads one from a file")
    noise, pay = noise_of(df.sparkSession, key, context), table_payment(policy, ledger)
    if ids is None:
        raise ArgumentTypeError(_NO_IDS)
    schema = arrow_schema(df.schema)
    planned = policy.plan_schema(schema)
    names = id_names(policy.sanitised, ids, schema.names)
    prepare_ids(id_columns(schema.empty_table(), names))  # whether their types can identify
    needed = [place for place, name in enumerate(schema.names) if name in {*planned.names, *names}]
    recipe = Recipe(policy, noise, names, policy.digest)
    kept = [schema.names[place] for place in needed]
    task = SanitiseBatches(recipe, kept, [name for name in schema.names if name not in kept])
    if ledger is not None:
        tell = TellCharge(recipe)
        with translated():
            [row] = df.sparkSession.range(1).mapInArrow(tell, tell.SCHEMA).collect()
        Told(bytes(row["spend"]), row["fingerprint"]).charge(pay, recipe)
    # By place: Spark takes a dot in a name for a step into a structure, and two names that differ in case for one.
    numbered = df.toDF(*(f"c{place}" for place in range(len(schema))))
    return numbered.select(*(f"c{place}" for place in needed)).mapInArrow(task, spark_schema(df.schema, planned))


def sanitise_files(
    spark: SparkSession,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    policy: Policy,
    *,
    key: bytes | str | os.PathLike[str] | None = None,
    context: str | None = None,
    ids: str | tuple[str, ...] | None = None,
    overwrite: bool = False,
    resume: bool = True,
    ledger: Charges | None = None,
) -> Report:
    """Sanitise Parquet files on a cluster: Spark schedules, its workers read and write as `sanitise_file` does.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
    source : str or path-like
        A Parquet file, a folder of them or a pattern, at a path where the driver and all executors find it.
    target : str or path-like
        The new folder, at such a path. It appears when it is complete.
    policy : Policy
        What happens to each column.
    key : path or "env:NAME"
        As for `sanitise`; under it the same job gives the same values.
    context : str
        The name of this release or, with `ids`, of the population.
    ids : str or tuple of str, optional
        Names of the columns that identify a row; makes noise permanent over releases. Without them a row is addressed by its
        file and its place in that.
    overwrite : bool, default False
        Whether an existing target that dpfast made may be replaced.
    resume : bool, default True
        Whether parts that a stopped run of this job has made are taken; otherwise they are deleted.
    ledger : Ledger, optional
        On the driver; charged before anything is drawn, and as `sanitise_file` charges: the same job only once.

    Returns
    -------
    Report

    Raises
    ------
    ArgumentError, ArgumentTypeError, PolicyError
        If the request is wrong or the policy does not fit; before any job.
    FileError, CorruptDataError, OutsideDomainError, IdError, LedgerError
        As `sanitise_file`, also where an executor raised them.
    MissingPackageError
        Without pyspark, with one that is too old, or where executors have another version of dpfast.

    Notes
    -----
    **Privacy guarantee.** ``policy.privacy()``, rounded up, for sources that differ in one row (``replace_one``) and agree on
    public columns, ids, and the names of files. The values are those of `sanitise_file` for the same source, key and context.

    Files of many rows become several parts, ``NAME.part-00000.parquet`` and so on, in the order of the rows; how many hangs on
    the number of rows and the types of columns alone. Every attempt of a part writes a file of its own; the driver moves one
    complete attempt of each into the target, so that retries and speculation leave nothing behind. After a stop, run the same
    call again.

    **Cost.** One task a part, on one core and with some 300 MB. The source is read twice: once for its digest.

    Examples
    --------
    >>> from dpfast.etl import spark as on_spark
    >>> on_spark.sanitise_files(spark, "people", "released", policy, key="env:DPFAST_KEY", context="2026-11")  # doctest: +SKIP
    """
    started = time.monotonic()
    check_session(spark)
    if not isinstance(policy, Policy):
        raise ArgumentTypeError("policy must be a Policy; Policy.load(path) reads one from a file")
    noise, pay = noise_of(spark, key, context), table_payment(policy, ledger)
    where = locate(target, "target")
    origin = open_source(source)
    check_places(origin, where, noise.key)
    plan = FilePlan.of(policy, origin.schema, ids)
    job = ClusterJob(spark, origin, Recipe(policy, noise, plan.ids or None, policy.digest), plan)
    report = sanitise_folder(job, where, pay, False, overwrite=overwrite, resume=resume, write_parts=job.write_parts)
    return replace(report, seconds=time.monotonic() - started)


def estimate(
    df: DataFrame,
    policy: Policy,
    columns: str | list[str] | tuple[str, ...],
    *,
    by: str | tuple[str, ...] | None = None,
    **options: Any,
) -> Any:
    """Estimate true frequencies from a sanitised DataFrame: counted on the cluster, fitted here.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        What `sanitise` returned, or what was read back from where it was written.
    policy : Policy
    columns : str, or list of str
        A sanitised column, or several for a cross-tabulation.
    by : str or tuple of str, optional
        Public columns: one estimate for each of ``keys``.
    **options
        Everything else that `Policy.estimate` takes: ``keys``, ``weights``, ``method``, ``interval``, ``confidence``, …

    Returns
    -------
    Estimate, CrossTab, or Grouped of either
        As `Policy.estimate`, which does the same for a DataFrame of Spark.

    Raises
    ------
    ArgumentError, ArgumentTypeError, PolicyError
        Before any job.
    OutsideDomainError
        If a column cannot be an answer of its mechanism.

    Notes
    -----
    Post-processing: no privacy cost. **Cost.** One aggregation on the cluster; what comes to the driver is one row for each
    combination of answers and keys that occurs.

    Examples
    --------
    >>> from dpfast.etl import spark as on_spark
    >>> on_spark.estimate(spark.read.parquet("released"), policy, "smoker", by="town", keys=["Bonn", "Ulm"])  # doctest: +SKIP
    """
    check_frame(df)
    if not isinstance(policy, Policy):
        raise ArgumentTypeError("policy must be a Policy; Policy.load(path) reads one from a file")
    return policy.estimate(df, columns, by=by, **options)


def quantile(
    df: DataFrame,
    column: str,
    q: Any,
    *,
    bounds: Any,
    epsilon: float,
    neighbours: Neighbours = "add_remove",
    step: Any = None,
    missing: Any = None,
    by: str | tuple[str, ...] | None = None,
    keys: Sequence[Any] | Domain | None = None,
    public_groups: bool = False,
    rows_per_person: int = 1,
    rng: Stream | None = None,
    column_name: Column = None,
    ledger: Charges | None = None,
) -> Any:
    """Release the q-quantile of a column, or of each group of it; `epsilon` is what the whole call spends, however many groups.

    What `dpfast.quantile` gives for the same rows in memory, also draw by draw: executors count, the driver draws once.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Read once.
    column : str
        Its name: integers, floats, booleans, dates or timestamps.
    q, bounds, epsilon, neighbours, step, missing
        As for `dpfast.median`.
    by : str or tuple of str, optional
        Names of the columns that say which group a row is in.
    keys, public_groups, rows_per_person
        As for `dpfast.median`.
    rng : Stream, optional
        On the driver. Default: a fresh stream, new entropy for this call.
    column_name : str or tuple of str
        Required with a keyed stream; keeps the noise of two columns apart.
    ledger : Ledger, optional
        Is charged before the first job.

    Returns
    -------
    int, float, numpy.datetime64 or timedelta64; with `by=` an ndarray of shape (len(keys),), in the order of the keys
        Values of the grid.

    Raises
    ------
    ArgumentError, ArgumentTypeError, DomainError, LedgerError
        Before any job.
    CorruptDataError
        If counts of two passes do not agree.
    MissingPackageError
        Without pyspark, or with one that is too old.

    Notes
    -----
    **Privacy guarantee.** Pure `epsilon` for neighbouring DataFrames, exactly; see `dpfast.quantile`. The ledger is charged
    before the first job: one that fails has spent, and under a key the same call again is free. The time a call takes, and what
    Spark itself logs of its passes, are not protected.

    The group and the grid index of each row that counts are made once and kept on the executors, in memory and on local disks,
    until Spark cleans up after the call: every pass sees the same rows, also of a DataFrame that is not the same each time it is
    computed. If an executor is lost, the call fails.

    **Cost.** One pass of Python for all groups together; then passes of Spark's own over what is kept, as a rule two, and at most
    1 + ceil(log points / log b), where b = max(2^20 / groups, 16). To the driver come some b bins for each group, and at last
    its order statistics around the rank, about 4 (ln points + 14) / epsilon of them. There is no `person=`, which would need the
    rows of a person together, and no `method=`.

    References
    ----------
    Duff: arXiv 2010.04235.

    Examples
    --------
    >>> from dpfast.etl import spark as on_spark
    >>> on_spark.quantile(df, "delay", 0.9, bounds=(0, 600), epsilon=1.0, by="origin", keys=["EWR", "JFK"])  # doctest: +SKIP
    """
    check_frame(df)
    check_keeps_rows(df)
    asked = Asked.of(q, grid_of(empty_column(df, column, "column"), bounds, step, neighbours, missing), neighbours)
    names = () if by is None else by if isinstance(by, tuple) else (by,)
    request = Request(epsilon, neighbours, by, keys, public_groups, rows_per_person, None, column_name, rng, None, ledger)
    terms, groups = terms_of(request), tuple(empty_column(df, name, "by=") for name in names)
    if terms.domain is not None:
        codes_of(groups, terms.domain, 1)  # whether keys and columns fit
    digest, weights = terms.digest(asked.digest), Weights(terms.share)
    terms.charge(digest)
    blocks = terms.stream.draws(column_name, digest, terms.n_groups).as_words()
    with translated():
        rows = KeptRows(df, [column, *names], IndexRows(asked.numbers, terms.domain))
        answers = counted_answers(rows, terms.n_groups, asked.question(terms.share), weights, blocks)
    grid = asked.numbers.grid
    return grid.value(int(answers[0])) if terms.domain is None else grid.values(answers)
