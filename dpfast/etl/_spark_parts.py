"""What executors do for a job of files: digest the source, name the job, write parts.

A part is a range of rows of one file of the source, sanitised by the code of a job on one machine. Every attempt writes a file of
its own, and gives it a name that says it is complete only when it is: attempts that fail, are lost or come second leave nothing
that anybody takes for a part. Under one key all attempts of a part hold the same rows.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from dpfast._sources.places import CHANGED
from dpfast.errors import FileError
from dpfast.etl._job import Job
from dpfast.etl._spark_tasks import Recipe, TellCharge, Told
from dpfast.etl.jobs import AtomicFile, Background
from dpfast.etl.parquet import ParquetTarget
from dpfast.etl.plan import FilePlan
from dpfast.etl.sources import Source, SourceFile
from dpfast.randomness import Stream

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LAYOUT", "DigestFiles", "Digested", "NameJob", "Piece", "Ready", "WriteParts"]

LAYOUT: Final = "pieces"
NOT_SHARED: Final = (
    "an executor does not find the folder in which the driver makes the target; give a path at which all of them find it, of a "
    "file system that they share"
)


class Digested(NamedTuple):
    """What is known of a file of the source: the digest of its bytes, and how long and old it was then."""

    digest: bytes
    size: int
    modified: int


@dataclass(frozen=True)
class Piece:
    """Some rows of a file, which become one file of the target.

    Attributes
    ----------
    name : str
        Of the part in the target.
    file : int
        Which one of the source.
    start, stop : int
        The rows.
    """

    name: str
    file: int
    start: int
    stop: int


class Ready(NamedTuple):
    """A complete attempt of a part: which part it is, and what its file is called."""

    place: int
    file: str

    @classmethod
    def new(cls, place: int) -> Ready:
        """A name that no other attempt has."""
        return cls(place, f"{place}.{uuid.uuid4().hex}")

    @classmethod
    def found(cls, file: str) -> Ready | None:
        """What a name says; None for that of an attempt that is not complete."""
        place, _, attempt = file.partition(".")
        return cls(int(place), file) if place.isdecimal() and attempt else None


class DigestFiles:
    """For `mapInArrow`: numbers of files in, what is known of them out."""

    SCHEMA = "place long, digest binary, size long, modified long"

    def __init__(self, files: list[SourceFile]) -> None:
        self._files = files

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for place in _numbers(batches):
            path = self._files[place].place.path
            before = _stamp(path)
            digest = self._files[place].place.digest()
            if _stamp(path) != before:
                raise FileError(CHANGED)
            yield _row(place=place, digest=digest, size=before[0], modified=before[1])


class NameJob:
    """For `mapInArrow`: says what only those who have the key can say of a job: its names, its certificate, its charge."""

    SCHEMA = "text string, " + TellCharge.SCHEMA

    def __init__(self, recipe: Recipe, plan: FilePlan, digest: bytes) -> None:
        self._recipe = recipe
        self._plan = plan
        self._digest = digest

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        self._recipe.check()
        for _ in _numbers(batches):
            source = cast(Source, _OnlyDigest(self._digest))
            job = Job(source, self._plan, self._recipe.noise.stream(), 1, LAYOUT)
            told = Told.by(self._recipe, self._digest)
            text = json.dumps({"maker": job.maker, "name": job.name, "certificate": job.certificate})
            yield _row(text=text, spend=told.spend, fingerprint=told.fingerprint)


class _OnlyDigest:
    """A source that nobody reads here."""

    files = ()

    def __init__(self, digest: bytes) -> None:
        self._digest = digest

    def digest(self) -> bytes:
        return self._digest


class WriteParts:
    """For `mapInArrow`: numbers of parts in, names of their complete files out.

    Parameters
    ----------
    recipe : Recipe
    plan : FilePlan
    files : list of SourceFile
    known : list of Digested
        Of each file.
    digest : bytes
        Of the source.
    certificate : dict
    pieces : list of Piece
    todo : list of int
        Which of them the numbers stand for.
    ready : str
        The folder where complete files go.
    """

    SCHEMA = "place long, file string"

    def __init__(
        self,
        recipe: Recipe,
        plan: FilePlan,
        files: list[SourceFile],
        known: list[Digested],
        digest: bytes,
        certificate: dict[str, Any],
        pieces: list[Piece],
        todo: list[int],
        ready: str,
    ) -> None:
        self._recipe = recipe
        self._plan = plan
        self._files = files
        self._known = known
        self._digest = digest
        self._certificate = certificate
        self._pieces = pieces
        self._todo = todo
        self._ready = ready

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        self._recipe.check()
        if not os.path.isdir(self._ready):
            raise FileError(NOT_SHARED)
        for number in _numbers(batches):
            ready = Ready.new(self._todo[number])
            self._write(self._pieces[ready.place], Path(self._ready, ready.file))
            yield _row(place=ready.place, file=ready.file)

    def _write(self, piece: Piece, path: Path) -> None:
        file, known = self._files[piece.file], self._known[piece.file]
        plan, stream, behind = self._plan, self._stream(piece, file.name), Background(None)
        place = AtomicFile(path, sources=[], overwrite=True)
        with place as sink, ParquetTarget(sink, plan, self._certificate) as writer:
            # What tells the driver that a file is the same one need not be so here: another machine, another mount.
            here = replace(file, _identity=file.place.identity(), only=range(piece.start, piece.stop))
            with here.open() as reader:
                for batch in reader.batches(plan.needed, dictionaries=plan.dictionaries, repetitive=plan.repetitive):
                    writer.add(plan.sanitise(batch, stream, 1), behind)
                reader.check_unchanged()
            if _stamp(file.place.path) != (known.size, known.modified):
                raise FileError(CHANGED)
            writer.finish(behind)
            place.commit()

    def _stream(self, piece: Piece, name: str) -> Stream:
        """The noise of a job on one machine, from the first row of the piece on."""
        if self._plan.ids:
            return self._recipe.noise.stream()
        return self._recipe.noise.stream(first_row=piece.start).bind_source(self._digest + name.encode())


def _stamp(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError as error:
        raise FileError(f"cannot read the source {path!r} on an executor: {error.strerror}") from None
    return status.st_size, status.st_mtime_ns


def _numbers(batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _row(**values: Any) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({name: [value] for name, value in values.items()})
