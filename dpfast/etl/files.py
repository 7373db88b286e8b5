"""Sanitise a file into a new file, or a folder of files into a folder: streaming, complete or not at all.

A reader thread decodes one batch ahead, the caller's thread sanitises, a writer thread encodes the row group before. The
values do not depend on that, nor on how the source is cut into row groups; row groups of the target are a function of its
schema and of the bytes of public values alone. Nothing of the source but its values, names and types reaches the target: no
dictionary, statistics, sort order or metadata, but what the caller names.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from typing import Literal

from dpfast._policy_base import table_payment
from dpfast._sources.names import file_format, is_hidden
from dpfast._sources.places import Place, locate
from dpfast._spending import Charges, Pay
from dpfast._text import printable
from dpfast._threads import check_threads
from dpfast.certificates import read_certificate
from dpfast.errors import ArgumentError, ArgumentTypeError, DpfastError, FileError
from dpfast.etl._apart import check_apart, check_keeps
from dpfast.etl._job import Job
from dpfast.etl._log import log
from dpfast.etl._metadata import kept_metadata
from dpfast.etl.folders import sanitise_folder
from dpfast.etl.formats import certificate_beside, certificate_text, open_target, target_format
from dpfast.etl.jobs import Background, writing
from dpfast.etl.plan import FilePlan
from dpfast.etl.progress import Progress, check_progress, showing
from dpfast.etl.remote import new_file, put_with_paper
from dpfast.etl.remote_folders import sanitise_remote_folder
from dpfast.etl.report import Report, stated_privacy
from dpfast.etl.sources import open_source
from dpfast.policy import Policy
from dpfast.randomness import Stream

__all__ = ["Report", "sanitise_file"]


def sanitise_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    policy: Policy,
    *,
    key: bytes | str | os.PathLike[str] | None = None,
    context: str | None = None,
    ids: str | tuple[str, ...] | None = None,
    threads: int | None = None,
    progress: Progress | Literal[False] | None = None,
    resume: bool = True,
    overwrite: bool = False,
    rng: Stream | None = None,
    ledger: Charges | None = None,
    metadata: tuple[str, ...] = (),
) -> Report:
    """Sanitise a file into another, or a folder of files into a folder: Parquet, CSV or Arrow IPC.

    Parameters
    ----------
    source : str, path-like, or pair of a file system and a path
        A file, a folder, a pattern, or the address of one, in the format that names end in (``.csv``, ``.csv.gz``, ``.csv.zst``,
        ``.arrow``, ``.ipc``, ``.feather``, ``.arrows``), else Parquet; see `dpfast.etl.sources.open_source`. Of a folder all
        files of a table are read, at any depth; names that begin with ``.`` or ``_`` are passed over. It is never written to.
    target : str, path-like, or pair of a file system and a path
        What is made; it appears when it is complete. For a file a file, in the format that its name ends in. For a folder a
        folder, with a file for each of the source, under the same relative name; or, if `target` is named like a file, one file
        with all rows, in the order of the names. On another file system a file is sent when it is complete, and a folder is
        complete when it holds ``_SUCCESS``. The certificate of ``NAME.csv`` stands in ``NAME.csv.dpfast.json``: it appears before
        a new target, and after one that replaces another, so that it never stands beside other rows.
    policy : Policy
        What happens to each column.
    key : bytes, path or "env:NAME", optional
        Secret key: running the same job on the same source again gives the same values. Default: fresh noise.
    context : str, optional
        Needed with `key`: the name of this release or, with `ids`, of the population.
    ids : str or tuple of str, optional
        Names of the columns that identify a row; public or dropped columns of the source. Makes noise permanent over
        releases: unchanged rows cost nothing again, that a value changed is visible, and rows can be followed. Needs `key`.
        Ids must be unique; this is not checked, and the certificate says so.
    threads : int, optional
        1 keeps the job to one thread. The result does not depend on it.
    progress : callable, False or None
        ``progress(done_rows, total_rows)`` is called after each batch; the total is None for CSV and streams, which do not
        tell. None: a bar on a terminal, elsewhere a line for each 5 % of work that lasts longer than a few seconds; False:
        nothing.
    resume : bool, default True
        Of a folder: go on where a stopped run of the same job left off. False deletes what any job left beside the target, and
        starts over. A file is always made from its beginning.
    overwrite : bool, default False
        Whether an existing target may be replaced. Without it, a finished target of the same job under the same key returns its
        report, and nothing is drawn; any other existing target is an error. A folder is replaced only if dpfast made it.
    rng : Stream, optional
        Instead of `key`: a fresh or an insecure stream.
    ledger : Ledger, optional
        Is charged once, before anything is drawn; running the same job on the same source again under a key costs nothing. Under
        `ids` all releases of a context are one charge: that of people whose values stay.
    metadata : tuple of str, optional
        Names of metadata of the source's schema that the target keeps as they are, and so publishes: the guarantee is for
        sources that agree on them. All files must have the same. Default: none is kept; what writers of files note themselves
        (pandas, Arrow, Spark) never is.

    Returns
    -------
    Report

    Raises
    ------
    ArgumentError, ArgumentTypeError, PolicyError
        If the request is wrong or the policy does not fit; before any value is read.
    FileError
        If the source cannot be read, or was changed since the job began; if the target is the source or lies in it, exists,
        holds the key or the ledger of the job, cannot be written, is being written by another process, or has the unfinished
        work of another job beside it.
    CorruptDataError
        If the source is not a file of its format, truncated or damaged.
    OutsideDomainError
        If a value lies outside a domain with ``unknown="error"``. `Policy.check` shows which.
    LedgerError
        If the ledger has no room, or is damaged; nothing was drawn or written.

    Notes
    -----
    **Privacy guarantee.** ``policy.privacy()``, rounded up, for sources that differ in one row (``replace_one``) and agree on
    public columns, ids, and the names of files. With a key and without ids the noise also depends on a digest of the source's
    bytes, so other data never share it; rows are addressed by file and by row within it. Under a key the certificate names the
    job by a secret function of key, context, source and policy: two releases show whether they are the same job, and so, under
    ids, whether their sources are equal byte for byte. What changes under ids from release to release, and what that shows, is
    told in ``docs/permanent_noise.md``.

    **After a stop** (an error, Ctrl-C, ``kill -9``, a full disc, a power cut) there is the old target, or none; only where the
    disc fails to confirm the rename itself is the new one there, complete. Run the same call again. A folder grows beside its
    target, in ``.NAME.dpfast-partial``, and goes on after the last file that was committed; under a key with the values of an
    undisturbed run. With fresh noise a committed file is never drawn again; one that was not is deleted unseen and drawn anew,
    which changes no law, as no stop depends on what was drawn, and costs nothing more: one charge covers the job.

    **Text.** Cells of CSV have no type of their own. Sanitised ones are read as their domain declares, and one that is no such
    value lies outside the domain; public ones stay the text that they are. An empty field without quotes is null (or the empty
    text, under a domain that holds it and no null); with quotes it is the empty text. No other text is null.

    **Cost.** Linear in the number of cells. Memory grows neither with the number of rows nor with their width: batches are cut
    by the mean width of a row group of the source, row groups of the target at 32 MiB and at 16 MiB of public text. It does
    grow with the number of columns, of each of which a page and a dictionary are held as the source has them, and with pages
    of unusual size. A record batch of an Arrow IPC file is held whole. A keyed job, and one of a folder, reads the source twice.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from dpfast import Policy, RandomisedResponse, sanitise_file
    >>> pq.write_table(pa.table({"smoker": ["no", "yes", "no"]}), "people.parquet")
    >>> policy = Policy({"smoker": RandomisedResponse(["no", "yes"], epsilon=1.0)})
    >>> report = sanitise_file("people.parquet", "released.parquet", policy)
    >>> report.rows, report.privacy.epsilon, pq.read_schema("released.parquet").names
    (3, 1.0, ['smoker'])
    """
    started = time.monotonic()
    if not isinstance(policy, Policy):
        raise ArgumentTypeError("policy must be a Policy; Policy.load(path) reads one from a file")
    pay = table_payment(policy, ledger)
    check_threads(threads)
    where = locate(target, "target")
    check_progress(progress)
    stream = _stream(key, context, ids, rng)
    check_keeps(where, {"key": key, "ledger": getattr(ledger, "path", None)})
    origin = open_source(source)
    plan = FilePlan.of(policy, origin.schema, ids)
    each = origin.is_folder and not _is_file(where)
    written = {file.written_as for file in origin.files} if each else {target_format(where.name)}
    plan = plan.keeping(kept_metadata(origin, metadata, written))
    job = Job(origin, plan, stream, threads, "each" if each else "one")
    log.info("planned: %s into %s", "a folder" if origin.is_folder else "a file", "a folder" if each else "a file")
    if strange := [name for name in origin.skipped if not is_hidden(name)]:
        log.warning("not read, as their names do not end as those of tables do: %s", ", ".join(map(printable, strange)))
    if each:
        run = sanitise_folder if where.filesystem is None else sanitise_remote_folder
        return run(job, where, pay, progress, overwrite=overwrite, resume=resume)
    return _sanitise_into_one(job, where, pay, progress, overwrite, started)


def _sanitise_into_one(
    job: Job, where: Place, pay: Pay, progress: Progress | Literal[False] | None, overwrite: bool, started: float
) -> Report:
    """All rows of the source, file after file, into one file."""
    check_apart(job, where)
    if where.path.endswith("/"):
        raise FileError(f"the target {where.path!r} is called a folder, and the source is a file: name a file")
    written_as = target_format(where.name)
    if not overwrite and job.is_keyed and (report := _finished(job, where, started)) is not None:
        log.info("finished before: nothing was drawn")
        return report
    # beside the rows themselves, also where they are named by a link: there may be the certificate of the old ones
    rows_at = where.followed()
    name = certificate_beside(written_as, rows_at.name)
    beside = rows_at.sibling(name) if name else None
    sources = [file.place for file in job.source.files]
    rows = 0
    with ExitStack() as stack:
        # A certificate that a stopped job left is replaced: without a target it certifies nothing.
        place, paper = (
            None if one is None else stack.enter_context(new_file(one, sources=sources, overwrite=replaces))
            for one, replaces in ((where, overwrite), (beside, True))
        )
        assert place is not None
        writer = stack.enter_context(open_target(written_as, place.file, job.plan, job.certificate))
        job.charge(pay)
        advance = stack.enter_context(showing(progress, job.source.rows))
        for file in job.source.files:
            rows += job.run(file, writer, lambda done, before=rows: advance(before + done))  # type: ignore[misc]
        writer.finish(Background(None))
        if paper is None or beside is None:
            place.commit()
        else:
            with writing():
                paper.file.write(certificate_text(job.certificate).encode())
            put_with_paper(where, place, beside, paper, overwrite=overwrite)
    log.info("finished: a file")
    return Report(rows, 1, time.monotonic() - started, stated_privacy(job.certificate), job.certificate)


def _finished(job: Job, where: Place, started: float) -> Report | None:
    """Return the report of a target that this very job has made; None for any other, or none."""
    if where.kind() != "file":
        return None
    try:
        made = open_source((where.filesystem, where.path) if where.filesystem else where.path)
        certificate = read_certificate(made)
        if certificate.get("job") != job.name:
            return None
        rows = made.rows
        if rows is None:
            rows = sum(batch.num_rows for batch in made.batches(made.schema.names[:1]))
        return Report(rows, 1, time.monotonic() - started, stated_privacy(certificate), certificate)
    except DpfastError:
        return None


def _is_file(where: Place) -> bool:
    """Whether a target for a folder is named like a file."""
    return not where.path.endswith("/") and file_format(where.name) is not None and where.kind() != "folder"


def _stream(key: bytes | str | os.PathLike[str] | None, context: str | None, ids: object, rng: Stream | None) -> Stream:
    if rng is None:
        stream = Stream(key=key, context=context)
    elif not isinstance(rng, Stream):
        raise ArgumentTypeError("rng must be a Stream")
    elif key is not None or context is not None:
        raise ArgumentError("give either rng or key and context")
    elif rng.kind == "keyed":
        raise ArgumentError("give key= and context= instead of a keyed stream: the job binds its noise to the source")
    else:
        stream = rng
    if ids is not None and stream.kind == "fresh":
        raise ArgumentError("ids= makes noise permanent and so needs key= and context=")
    return stream
