"""Sanitise a file into a new file: streaming, complete or not at all.

A reader thread decodes one batch ahead, the caller's thread sanitises, a writer thread encodes the row group before. The
values do not depend on that, nor on how the source is cut into row groups; row groups of the target are a function of its
schema and of the bytes of public values alone. Nothing of the source but its values, names and types reaches the target: no
dictionary, statistics, sort order or metadata.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from dpfast._policy_base import table_payment
from dpfast._sources.places import locate
from dpfast._spending import Charges
from dpfast._threads import available, check_threads
from dpfast.errors import ArgumentError, ArgumentTypeError, FileError
from dpfast.etl.formats import Target, certificate_beside, certificate_text, open_target, target_format
from dpfast.etl.jobs import background, read_ahead, writing
from dpfast.etl.plan import FilePlan
from dpfast.etl.remote import new_file
from dpfast.etl.sources import Reader, open_source
from dpfast.policy import Policy
from dpfast.privacy import Privacy
from dpfast.randomness import Stream

__all__ = ["Report", "sanitise_file"]

# Of a file that does not tell how many rows it has, the total is None.
Progress = Callable[[int, int | None], object]


@dataclass(frozen=True)
class Report:
    """What a file job did.

    Attributes
    ----------
    rows : int
        Number of rows written; public under ``replace_one``.
    files : int
        Number of files written.
    seconds : float
        Duration; for the operator only.
    privacy : Privacy
        What the release of a whole row costs.
    certificate : dict
        As it stands in the footer of the file.

    Examples
    --------
    >>> from dpfast import Privacy, Report
    >>> Report(rows=3, files=1, seconds=0.1, privacy=Privacy(1.0), certificate={}).rows
    3
    """

    rows: int
    files: int
    seconds: float
    privacy: Privacy
    certificate: dict[str, Any]


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
    overwrite: bool = False,
    rng: Stream | None = None,
    ledger: Charges | None = None,
) -> Report:
    """Sanitise one file into another: Parquet, CSV or Arrow IPC, each into any of them.

    Parameters
    ----------
    source : str, path-like, or pair of a file system and a path
        A file or the address of one, in the format that its name ends in (``.csv``, ``.csv.gz``, ``.csv.zst``, ``.arrow``,
        ``.ipc``, ``.feather``, ``.arrows``), else Parquet. It is never written to. See `dpfast.etl.sources.open_source`.
    target : str, path-like, or pair of a file system and a path
        The new file, in the format that its name ends in. It appears when it is complete; on a file system that is not this
        machine's, it is sent when it is complete. The certificate of ``NAME.csv`` stands in ``NAME.csv.dpfast.json``, which
        appears first.
    policy : Policy
        What happens to each column.
    key : bytes, path or "env:NAME", optional
        Secret key: running the same job on the same source again gives the same values. Default: fresh noise.
    context : str, optional
        Needed with `key`: the name of this release or, with `ids`, of the population.
    ids : str or tuple of str, optional
        Names of the columns that identify a row; public or dropped columns of the source. Makes noise permanent over
        releases. Needs `key`. Ids must be unique; this is not checked, and the certificate says so.
    threads : int, optional
        1 keeps the job to one thread. The result does not depend on it.
    progress : callable, False or None
        ``progress(done_rows, total_rows)`` is called after each batch; the total is None for CSV and streams, which do not
        tell. None: a bar on a terminal; False: nothing.
    overwrite : bool, default False
        Whether an existing target may be replaced.
    rng : Stream, optional
        Instead of `key`: a fresh or an insecure stream.
    ledger : Ledger, optional
        Is charged once, before anything is drawn; running the same job on the same source again under a key costs nothing. Under
        `ids` all releases of a context are one charge: that of people whose values stay.

    Returns
    -------
    Report

    Raises
    ------
    ArgumentError, ArgumentTypeError, PolicyError
        If the request is wrong or the policy does not fit; before any value is read.
    FileError
        If the source cannot be read, the target is the source, exists or cannot be written.
    CorruptDataError
        If the source is not a file of its format, truncated or damaged.
    OutsideDomainError
        If a value lies outside a domain with ``unknown="error"``. `Policy.check` shows which.
    LedgerError
        If the ledger has no room, or is damaged; nothing was drawn or written.

    Notes
    -----
    **Privacy guarantee.** ``policy.privacy()``, rounded up, for sources that differ in one row (``replace_one``) and agree on
    public columns and ids. With a key and without ids the noise also depends on a digest of the source's bytes, so other data
    never share it. After a failure there is no file under the target's name, or the old one; only where the disc fails to
    confirm the rename itself is the new one there, complete.
    **Text.** Cells of CSV have no type of their own. Sanitised ones are read as their domain declares, and one that is no such
    value lies outside the domain; public ones stay the text that they are. An empty field without quotes is null (or the empty
    text, under a domain that holds it and no null); with quotes it is the empty text. No other text is null.
    **Cost.** Linear in the number of cells. Memory grows neither with the number of rows nor with their width: batches are cut
    by the mean width of a row group of the source, row groups of the target at 32 MiB and at 16 MiB of public text. It does
    grow with the number of columns, of each of which a page and a dictionary are held as the source has them, and with pages
    of unusual size. A record batch of an Arrow IPC file is held whole. A keyed job without ids reads the source twice.

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
    written_as = target_format(where.name)
    _check_progress(progress)
    stream = _stream(key, context, ids, rng)
    origin = open_source(source)
    if origin.is_folder:
        raise FileError("the source is a folder or a pattern; this version reads one file")
    (from_file,) = origin.files
    with ExitStack() as stack:
        file = stack.enter_context(from_file.open())
        plan = FilePlan.of(policy, origin.schema, ids)
        certificate = plan.certificate(stream)
        beside = certificate_beside(written_as, where.name)
        # A certificate that a stopped job left is replaced: without a target it certifies nothing.
        place, paper = (
            None if one is None else stack.enter_context(new_file(one, sources=[from_file.place], overwrite=replaces))
            for one, replaces in ((where, overwrite), (where.sibling(beside) if beside else None, True))
        )
        assert place is not None
        writer = stack.enter_context(open_target(written_as, place.file, plan, certificate))
        if stream.kind == "keyed" and ids is None:
            stream = stream.bind_source(origin.digest())
        pay(stream, "id" if plan.ids else "row")
        with _progress(progress, file.rows) as advance:
            rows = _run(file, plan, stream, writer, advance, threads)
        # What was digested, decoded and sanitised is one and the same file only if nobody wrote to it meanwhile.
        file.check_unchanged()
        if paper is not None:
            with writing():
                paper.file.write(certificate_text(certificate).encode())
            paper.commit()
        place.commit()
    return Report(rows, 1, time.monotonic() - started, _stated(certificate), certificate)


def _run(
    file: Reader,
    plan: FilePlan,
    stream: Stream,
    writer: Target,
    advance: Callable[[int], object],
    threads: int | None,
) -> int:
    """Sanitise a whole file and return the number of its rows."""
    workers = available() if threads is None else threads
    # one reads, one writes; more threads than processors only take the caches from each other
    threads = max(1, workers - 2)
    batches = file.batches(plan.needed, dictionaries=plan.dictionaries, repetitive=plan.repetitive)
    done = 0
    with background(workers) as behind, read_ahead(batches, workers) as ahead:
        for batch in ahead:
            writer.add(plan.sanitise(batch, stream, threads), behind)
            done += batch.num_rows
            advance(done)
        writer.finish(behind)
    return done


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


def _check_progress(progress: object) -> None:
    if progress is not None and progress is not False and not callable(progress):
        raise ArgumentTypeError("progress must be None, False or a callable that takes (done, total)")


@contextmanager
def _progress(progress: Progress | Literal[False] | None, total: int | None) -> Iterator[Callable[[int], object]]:
    if callable(progress):
        call = progress
        yield lambda done: call(done, total)
    elif progress is None and sys.stderr is not None and sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(total=total, unit="row", unit_scale=True, leave=False) as bar:
            yield lambda done: bar.update(done - bar.n)
    else:
        yield lambda done: None


def _stated(certificate: dict[str, Any]) -> Privacy:
    epsilon, delta = float.fromhex(certificate["epsilon"]), float.fromhex(certificate["delta"])
    return Privacy(epsilon, delta, certificate["neighbours"], certificate["rows_per_person"])
