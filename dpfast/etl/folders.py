"""A folder of files into a folder of files: each part committed on its own, the whole renamed once, a stopped job taken up again.

The target has one file for each of the source, under the same relative name, and ``_dpfast.json``: the certificate, the number of
rows and files and, under a key, the name of the job. Names of files and folders are public.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from dpfast._sources.csv_file import CERTIFICATE_SUFFIX
from dpfast._sources.names import is_hidden
from dpfast._sources.places import Place
from dpfast._spending import Pay
from dpfast._text import printable, read_json
from dpfast.errors import CorruptDataError, FileError, IdError, LedgerError, OutsideDomainError
from dpfast.etl._apart import check_apart
from dpfast.etl._job import Job
from dpfast.etl._log import log
from dpfast.etl._manifest import Head, Manifest, Part, locked, partial_path
from dpfast.etl._publish import is_exchanged, publish, put_back
from dpfast.etl._summary import SUMMARY, stored_report, summary_text
from dpfast.etl.formats import certificate_beside, certificate_text, open_target
from dpfast.etl.jobs import AtomicFile, Background, flush_folder, writing
from dpfast.etl.progress import Progress, showing
from dpfast.etl.report import Report, stated_privacy
from dpfast.etl.sources import SourceFile
from dpfast.randomness import fresh_key

__all__ = ["make_folders", "sanitise_folder"]


def sanitise_folder(
    job: Job,
    where: Place,
    pay: Pay,
    progress: Progress | Literal[False] | None,
    *,
    overwrite: bool,
    resume: bool,
    write_parts: Callable[[Manifest], None] | None = None,
) -> Report:
    """Run a job whose target is a folder; see `dpfast.sanitise_file`. Parts are made here unless `write_parts` has them made."""
    started = time.monotonic()
    place = Path(os.path.realpath(where.path))
    _check_place(job, where, place, overwrite)
    hidden = partial_path(place)
    if _exists(place) and not overwrite and not hidden.exists():
        return _finished(job, place, started)
    with locked(hidden):
        put_back(place, hidden / "old")
        manifest = Manifest(hidden) if resume else _emptied(hidden)
        if is_exchanged(place, manifest.published):
            # The target is in place; the stop came before the hidden folder was removed.
            head = manifest.head
            manifest.clear()
            if head is not None and (head.job, head.source) == (job.maker, job.digest.hex()):
                return _stored(place, started)
        if _exists(place) and not overwrite:
            return _finished(job, place, started)
        _take_up(job, manifest)
        assert manifest.head is not None
        try:
            job.charge(pay, bytes.fromhex(manifest.head.spend) or None)
        except LedgerError:
            if not manifest.parts:
                manifest.clear()  # nothing was charged or drawn: no other job has to wait for this one
            raise
        try:
            if write_parts is None:
                _write_parts(job, manifest, progress)
            else:
                write_parts(manifest)
        except (OutsideDomainError, IdError, CorruptDataError) as error:
            # The same job would fail again. A connection that breaks may look like a file that is damaged.
            if not isinstance(error, CorruptDataError) or job.source.files[0].place.filesystem is None:
                manifest.clear()
            raise
        rows = sum(part.rows for part in manifest.parts.values())
        report = Report(rows, len(manifest.parts), 0.0, stated_privacy(job.certificate), job.certificate)
        _write(manifest.data / SUMMARY, summary_text(report, job.certificate, job.name))
        manifest.publish()
        publish(manifest.data, place, hidden / "old", overwrite=overwrite)
        manifest.clear()
    log.info("finished: a folder")
    return Report(rows, report.files, time.monotonic() - started, report.privacy, report.certificate)


def _take_up(job: Job, manifest: Manifest) -> None:
    """Go on with the job that the hidden folder holds if it is this one, or begin it."""
    head = Head(job.maker, job.digest.hex(), job.randomness, "" if job.is_keyed else fresh_key().hex())
    found = manifest.head
    # Noise of a seed comes from one stream over all files. It protects nobody, so nothing is lost by drawing it again.
    if found is None or (head.randomness == found.randomness == "insecure"):
        manifest.begin(head)
        return
    if (found.job, found.randomness) != (head.job, head.randomness):
        raise FileError(
            "beside the target is the unfinished work of another job (another policy, key, context or ids); run that job again "
            "to finish it, or start over with resume=False (--no-resume), which deletes it"
        )
    if found.source != head.source:
        raise FileError(
            "the source was changed since the unfinished job began; start over with resume=False (--no-resume), or bring the "
            "source back"
        )
    manifest.sweep()
    log.debug("taken up again after a stop")


def _write_parts(job: Job, manifest: Manifest, progress: Progress | Literal[False] | None) -> None:
    before = 0
    with showing(progress, job.source.rows) as advance:
        for file in job.source.files:
            if file.name in manifest.parts:
                before += manifest.parts[file.name].rows
                advance(before)
                continue
            make_folders(manifest.data, file.name)
            part = _write_part(job, file, manifest.data, lambda done, before=before: advance(before + done))
            manifest.commit(part)
            log.info("committed: %s", printable(file.name))
            before += part.rows


def _write_part(job: Job, file: SourceFile, data: Path, advance: Any) -> Part:
    path = data / file.name
    if beside := certificate_beside(file.written_as, path.name):
        _write(path.with_name(beside), certificate_text(job.certificate))
    place = AtomicFile(path, sources=[], overwrite=True)
    with place as sink, open_target(file.written_as, sink, job.file_plan, job.certificate) as writer:
        rows = job.run(file, writer, advance)
        writer.finish(Background(None))
        place.commit()
    return Part.of(path, file.name, rows)


def make_folders(data: Path, name: str) -> None:
    """Make the folders of a part, each flushed into the one above it."""
    path = data
    for step in name.split("/")[:-1]:
        above, path = path, path / step
        if not path.is_dir():
            with writing():
                path.mkdir()
                flush_folder(above)


def _write(path: Path, text: str) -> None:
    place = AtomicFile(path, sources=[], overwrite=True)
    with place as sink:
        with writing():
            sink.write(text.encode())
        place.commit()


def _emptied(hidden: Path) -> Manifest:
    """What a job left is deleted, whether it can be read or not."""
    (hidden / "manifest").unlink(missing_ok=True)
    manifest = Manifest(hidden)
    manifest.clear()
    return manifest


def _exists(place: Path) -> bool:
    return os.path.lexists(place)


def _check_place(job: Job, where: Place, place: Path, overwrite: bool) -> None:
    """Refuse a target that is not apart from the source, that is no folder, or that dpfast did not make."""
    shown = repr(where.path)
    check_apart(job, where)
    if _exists(place) and not place.is_dir():
        raise FileError(f"the target {shown} is a file, and the source is a folder: name a folder")
    # What is replaced is deleted: no folder of anything else goes that way.
    if overwrite and place.is_dir() and not (place / SUMMARY).is_file() and any(place.iterdir()):
        raise FileError(f"the target {shown} is a folder that dpfast did not make, and is not replaced; remove it first")


def _finished(job: Job, place: Path, started: float) -> Report:
    """Return the stored report of a target that this job has made, or refuse any other target."""
    if job.name is not None and (_summary(place) or {}).get("job") == job.name:
        report = _stored(place, started)
        if _files(place) != report.files:
            raise FileError(
                f"the target {str(place)!r} is of this job, but files were added or removed since; overwrite it on purpose"
            )
        return report
    why = "" if job.name is not None else " (with fresh noise none can be told to be that of this job)"
    raise FileError(f"the target {str(place)!r} exists{why}; choose another name, or overwrite=True (--overwrite)")


def _stored(place: Path, started: float) -> Report:
    report = stored_report(_summary(place), started)
    log.info("finished before: nothing was drawn")
    return report


def _files(place: Path) -> int:
    """Number of parts that a folder holds."""
    names = [Path(root, name).relative_to(place).as_posix() for root, _, found in os.walk(place) for name in found]
    return sum(not is_hidden(name) and not name.endswith(CERTIFICATE_SUFFIX) for name in names)


def _summary(place: Path) -> dict[str, Any] | None:
    try:
        found = read_json((place / SUMMARY).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
