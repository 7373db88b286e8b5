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
from dpfast.errors import ArgumentTypeError
from dpfast.etl._spark_files import ClusterJob, check_places
from dpfast.etl._spark_session import check_frame, check_session, noise_of, spark_schema
from dpfast.etl._spark_tasks import Recipe, SanitiseBatches
from dpfast.etl.folders import sanitise_folder
from dpfast.etl.plan import FilePlan
from dpfast.etl.report import Report
from dpfast.etl.sources import open_source
from dpfast.ids import prepare_ids
from dpfast.policy import Policy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["estimate", "sanitise", "sanitise_files"]

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

    Returns
    -------
    pyspark.sql.DataFrame
        Without the dropped columns: same order, types and nullability, no metadata. Bins come as their labels. Nothing has
        run; planned are errors of the request, which come at once.

    Raises
    ------
    ArgumentError, ArgumentTypeError, PolicyError
        If the request is wrong or the policy does not fit the schema; before any job.
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
    noise = noise_of(df.sparkSession, key, context)
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

    Returns
    -------
    Report

    Raises
    ------
    ArgumentError, ArgumentTypeError, PolicyError
        If the request is wrong or the policy does not fit; before any job.
    FileError, CorruptDataError, OutsideDomainError, IdError
        As `sanitise_file`, also where an executor raised them.
    MissingPackageError
        Without pyspark, with one that is too old, or where executors have another version of dpfast.

    Notes
    -----
    **Privacy guarantee.** ``policy.privacy()``, rounded up, for sources that differ in one row (``replace_one``) and agree on
    public columns, ids, and the names of files. The values are those of `sanitise_file` for the same source, key and context. No
    ledger is charged.

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
    noise = noise_of(spark, key, context)
    where = locate(target, "target")
    origin = open_source(source)
    check_places(origin, where, noise.key)
    plan = FilePlan.of(policy, origin.schema, ids)
    job = ClusterJob(spark, origin, Recipe(policy, noise, plan.ids or None, policy.digest), plan)
    pay = table_payment(policy, None)
    report = sanitise_folder(job, where, pay, False, overwrite=overwrite, resume=resume, write_parts=job.write_parts)
    return replace(report, seconds=time.monotonic() - started)


def estimate(
    df: DataFrame,
    policy: Policy,
    columns: str | list[str] | tuple[str, ...],
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
