"""A job of files on a cluster: Spark says who works on what and when; the parts are read and written as on one machine.

The driver plans and commits, executors read the source and write. What is common with a job on one machine is its code: the
hidden folder beside the target, its manifest, the publication by one rename (`dpfast.etl.folders`). Attempts of parts grow in a
folder ``ready-…`` within the hidden one. The driver takes one complete attempt of each part into the target; those of a run that
was stopped are found there by the next one. An attempt that ends later than the job finds its folder gone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Final

import dpfast.errors
from dpfast._sources.places import Place
from dpfast._sources.source import combined_digest
from dpfast._spending import Pay
from dpfast.errors import ArgumentError, DpfastError, FileError
from dpfast.etl._apart import check_keeps
from dpfast.etl._job import Job, plan_of_files
from dpfast.etl._manifest import Manifest, Part
from dpfast.etl._spark_parts import LAYOUT, Digested, DigestFiles, NameJob, Piece, Ready, WriteParts
from dpfast.etl._spark_session import is_remote
from dpfast.etl._spark_tasks import Recipe, Told
from dpfast.etl.folders import make_folders
from dpfast.etl.jobs import flush_folder, writing
from dpfast.etl.parquet import group_rows
from dpfast.etl.plan import FilePlan
from dpfast.etl.sources import Source, SourceFile

__all__ = ["ClusterJob", "check_places", "pieces_of", "translated"]

# Row groups of the target that a part has at most: about a quarter of a gigabyte of memory, some seconds of work.
PIECE_GROUPS: Final = 8
FILES_A_TASK: Final = 64
_ERROR = re.compile(r"^(?:dpfast\.errors\.)(\w+): (.*)$", re.MULTILINE)


class ClusterJob(Job):
    """A keyed job whose key is on the executors: what a `Job` would tell of itself, they tell.

    Parameters
    ----------
    spark : SparkSession
    source : Source
    recipe : Recipe
    plan : FilePlan
    """

    def __init__(self, spark: Any, source: Source, recipe: Recipe, plan: FilePlan) -> None:
        self.source = source
        self.plan = plan
        self.layout = LAYOUT
        self.file_plan = plan_of_files(plan, source)
        self._spark = spark
        self._recipe = recipe
        self._files = list(source.files)
        self._pieces = pieces_of(self._files, self.file_plan)
        self._known = self._digests()
        self.digest = combined_digest((file.name, known.digest) for file, known in zip(self._files, self._known, strict=True))
        with translated():
            [row] = self._run(NameJob(recipe, plan, self.digest), 1, 1)
        told = json.loads(row["text"])
        self._told = Told(bytes(row["spend"]), row["fingerprint"])
        self.maker, self.name, self.certificate = told["maker"], told["name"], told["certificate"]

    @property
    def randomness(self) -> str:
        """That of the stream, which is not here."""
        return "keyed"

    def charge(self, pay: Pay, spend: bytes | None = None) -> None:
        """Pay as a job on one machine would: the same charge, so that the same job is charged once, wherever it runs."""
        self._told.charge(pay, self._recipe)

    def _digests(self) -> list[Digested]:
        n = len(self._files)
        tasks = min(n, max(0 if is_remote(self._spark) else self._spark.sparkContext.defaultParallelism, -(-n // FILES_A_TASK)))
        with translated():
            rows = self._run(DigestFiles(self._files), n, tasks)
        for file in self._files:  # pieces are cut by the rows that were found when the source was opened
            file.check_unchanged()
        found = {row["place"]: Digested(bytes(row["digest"]), row["size"], row["modified"]) for row in rows}
        return [found[place] for place in range(n)]

    def _run(self, task: Any, n: int, tasks: int) -> list[Any]:
        """Give the numbers below `n` to executors."""
        rows: list[Any] = self._spark.range(0, n, 1, max(1, tasks)).mapInArrow(task, task.SCHEMA).collect()
        return rows

    def write_parts(self, manifest: Manifest) -> None:
        """Have the parts made that the target lacks, and commit them."""
        assert self.name is not None
        # by the name of the job, which may be published: of the source's digest nothing stands in a path, a log or an error
        ready = manifest.folder / f"ready-{self.maker[:16]}-{self.name[:16]}"
        _make_alone(ready)
        done = {one.place: one for one in _complete(ready)}
        todo = [place for place, piece in enumerate(self._pieces) if piece.name not in manifest.parts and place not in done]
        if todo:
            task = WriteParts(
                self._recipe,
                self.file_plan,
                self._files,
                self._known,
                self.digest,
                self.certificate,
                self._pieces,
                todo,
                os.fspath(ready),
            )
            with translated():
                rows = self._run(task, len(todo), len(todo))
            done |= {row["place"]: Ready(row["place"], row["file"]) for row in rows}
        for place, piece in enumerate(self._pieces):
            if piece.name not in manifest.parts:
                manifest.commit(_taken(ready / done[place].file, manifest.data, piece))


def pieces_of(files: list[SourceFile], plan: FilePlan) -> list[Piece]:
    """Cut the files of a source into pieces, by their numbers of rows and the types of columns alone.

    A file of more rows than a piece has becomes several parts, numbered so that their names are in the order of the rows.
    """
    most = PIECE_GROUPS * group_rows(plan.stored)
    pieces = []
    for number, file in enumerate(files):
        assert file.rows is not None
        name = file.name or file.place.name
        starts = range(0, max(file.rows, 1), most)
        for part, start in enumerate(starts):
            own = name if len(starts) == 1 else _numbered(name, part)
            pieces.append(Piece(own, number, start, min(start + most, file.rows)))
    if len({piece.name for piece in pieces}) < len(pieces):
        raise FileError("a file of the source is named as a part of another one would be; rename it, or sanitise it apart")
    return pieces


def _numbered(name: str, part: int) -> str:
    path = PurePosixPath(name)
    return str(path.with_name(f"{path.stem}.part-{part:05}{path.suffix}"))


def _make_alone(ready: Path) -> None:
    """Make the folder of complete attempts, and remove those of other jobs."""
    with writing():
        for other in ready.parent.glob("ready-*"):
            if other != ready:
                shutil.rmtree(other)
        ready.mkdir(mode=0o700, exist_ok=True)


def _complete(ready: Path) -> Iterator[Ready]:
    for path in sorted(ready.iterdir()):
        if (found := Ready.found(path.name)) is not None:
            yield found


def _taken(path: Path, data: Path, piece: Piece) -> Part:
    """Move a complete attempt into the target."""
    make_folders(data, piece.name)
    target = data / piece.name
    with writing():
        size = path.stat().st_size
        os.replace(path, target)
        flush_folder(target.parent)
    return Part(piece.name, piece.stop - piece.start, size)


@contextmanager
def translated() -> Iterator[None]:
    """Raise the error of ours that ended a task, without the traceback that Spark puts around it."""
    try:
        yield
    except DpfastError:
        raise
    except Exception as error:
        for name, text in reversed(_ERROR.findall(str(error))):
            kind = getattr(dpfast.errors, name, None)
            if isinstance(kind, type) and issubclass(kind, DpfastError):
                raise kind(text) from None
        raise


def check_places(source: Source, target: Place, key: object) -> None:
    """Refuse what executors cannot read, or not in pieces, where they cannot write, and a target that holds what they need."""
    if target.filesystem is not None:
        raise ArgumentError("target is an address; give a path at which every executor finds it, of a file system they share")
    for file in source.files:
        if file.format != "parquet":
            raise ArgumentError(
                f"the source is {file.format.upper()}; on a cluster it has to be Parquet, which can be read in pieces"
            )
        if file.place.filesystem is not None:
            raise ArgumentError("source is an address; give a path at which every executor finds it, of a file system they share")
    check_keeps(target, {"key": key} if source.is_folder else {"key": key, "source": source.files[0].place.path})
