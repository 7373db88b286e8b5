"""A folder on another file system, such as an object store: no rename publishes it, so a last object says that it is complete.

First comes ``_dpfast.json``, which names the job; then the parts, each of which appears complete; then ``_dpfast.json`` again,
with the number of rows; and last ``_SUCCESS``, as readers of such folders expect. Without that object the folder is not a target
yet.

Parts are seen as soon as they are there. Under a key a job that was stopped goes on: what is there is what would be made. With
fresh noise whose parts they are cannot be told, and none may be drawn twice: the folder has to be overwritten, and the ledger is
charged again. Nothing keeps two jobs from writing to one folder of a store; that is up to the caller.
"""

from __future__ import annotations

import time
from typing import Any, Final, Literal

from dpfast._sources.names import is_hidden
from dpfast._sources.places import Place
from dpfast._spending import Pay
from dpfast._text import printable, read_json
from dpfast.certificates import read_certificate
from dpfast.errors import DpfastError, FileError
from dpfast.etl._apart import check_apart
from dpfast.etl._job import Job
from dpfast.etl._log import log
from dpfast.etl._summary import SUMMARY, stored_report, summary_text
from dpfast.etl.formats import certificate_beside, certificate_text, open_target
from dpfast.etl.jobs import Background, writing
from dpfast.etl.progress import Progress, showing
from dpfast.etl.remote import RemoteFile
from dpfast.etl.report import Report, stated_privacy
from dpfast.etl.sources import SourceFile, open_source

__all__ = ["SUCCESS", "sanitise_remote_folder"]

SUCCESS: Final = "_SUCCESS"


def sanitise_remote_folder(
    job: Job, where: Place, pay: Pay, progress: Progress | Literal[False] | None, *, overwrite: bool, resume: bool
) -> Report:
    """Run a job whose target is a folder of another file system; see `dpfast.sanitise_file`."""
    started = time.monotonic()
    check_apart(job, where)
    folder = _Folder(where)
    names = folder.names()
    found = folder.summary() if SUMMARY in names else None
    is_ours = found is not None and job.name is not None and found.get("job") == job.name
    if names and not overwrite:
        if SUCCESS in names and is_ours:
            log.info("finished before: nothing was drawn")
            return stored_report(found, started)
        if SUCCESS in names or not is_ours or not resume:
            raise FileError(
                f"the target {where.path!r} exists, or is the unfinished work of a job that cannot be told to be this one; "
                "choose another name, or overwrite=True (--overwrite)"
            )
    if names and overwrite and found is None:
        raise FileError(f"the target {where.path!r} is a folder that dpfast did not make, and is not replaced; remove it")
    job.charge(pay)
    if overwrite:
        folder.remove(names)
        names = []
    folder.put(SUMMARY, summary_text(None, job.certificate, job.name))
    rows = 0
    with showing(progress, job.source.rows) as advance:
        for file in job.source.files:
            there = folder.rows_of(job, file) if file.name in names else None
            if there is None:
                there = _write_part(job, file, folder, lambda done, before=rows: advance(before + done))
                log.info("committed: %s", printable(file.name))
            rows += there
            advance(rows)
    report = Report(rows, len(job.source.files), time.monotonic() - started, stated_privacy(job.certificate), job.certificate)
    folder.put(SUMMARY, summary_text(report, job.certificate, job.name))
    folder.put(SUCCESS, "")
    log.info("finished: a folder")
    return report


def _write_part(job: Job, file: SourceFile, folder: _Folder, advance: Any) -> int:
    if beside := certificate_beside(file.written_as, file.name):
        folder.put(beside, certificate_text(job.certificate))
    with folder.new(file.name) as place:
        with open_target(file.written_as, place.file, job.file_plan, job.certificate) as writer:
            rows = job.run(file, writer, advance)
            writer.finish(Background(None))
            place.commit()
    return rows


class _Folder:
    """The objects under one path."""

    def __init__(self, where: Place) -> None:
        self._where = where
        self._base = where.path.rstrip("/")
        assert where.filesystem is not None
        self._filesystem = where.filesystem
        if where.kind() == "file":
            raise FileError(f"the target {where.path!r} is a file, and the source is a folder: name a folder")

    def place(self, name: str) -> Place:
        return Place(f"{self._base}/{name}", self._filesystem)

    def names(self) -> list[str]:
        import pyarrow.fs as pafs

        with writing():
            infos = self._filesystem.get_file_info(pafs.FileSelector(self._base, allow_not_found=True, recursive=True))
        base = self._base.strip("/") + "/"
        return [info.path.strip("/").removeprefix(base) for info in infos if info.type == pafs.FileType.File]

    def summary(self) -> dict[str, Any] | None:
        try:
            with self.place(SUMMARY).open() as file:
                found = read_json(file.read())
        except (FileError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def rows_of(self, job: Job, file: SourceFile) -> int | None:
        """Rows of a part that is there and this job's; None if it has to be made (again)."""
        try:
            made = open_source((self._filesystem, self.place(file.name).path))
            return made.rows if read_certificate(made) == job.certificate else None
        except DpfastError:
            return None

    def new(self, name: str) -> RemoteFile:
        """A file to be written, in a folder that is there, for file systems that ask for one."""
        place = self.place(name)
        with writing():
            self._filesystem.create_dir(place.path.rpartition("/")[0], recursive=True)
        return RemoteFile(place, sources=[], overwrite=True)

    def put(self, name: str, text: str) -> None:
        with self.new(name) as place:
            with writing():
                place.file.write(text.encode())
            place.commit()

    def remove(self, names: list[str]) -> None:
        """Take all objects away, first the one that says that they are complete, last the one that says whose they are."""
        for name in sorted(names, key=lambda name: (name != SUCCESS, name == SUMMARY, is_hidden(name))):
            with writing():
                self._filesystem.delete_file(self.place(name).path)
