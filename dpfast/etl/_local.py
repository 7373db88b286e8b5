"""Sources and targets of Parquet on a local disc."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from dpfast._parquet import ParquetSource
from dpfast.errors import FileError
from dpfast.etl.jobs import source_digest
from dpfast.etl.parquet import FilePlan, ParquetTarget


@dataclass(frozen=True)
class SourceFile:
    name: str
    path: Path
    format: str = "parquet"
    partition: Mapping[str, Any] = field(default_factory=dict)

    def identity(self) -> object:
        status = os.stat(self.path)
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    @property
    def rows(self) -> int | None:
        with self.open() as file:
            return file.rows

    def open(self) -> ParquetSource:
        return ParquetSource(self.path)


class Source:
    def __init__(self, path: Path, files: tuple[SourceFile, ...], is_folder: bool) -> None:
        self.root = path if is_folder else None
        self.files = files
        self.is_folder = is_folder
        with files[0].open() as file:
            self.schema = file.schema

    def digest(self) -> bytes:
        return source_digest([(file.name, file.path) for file in self.files])


def open_source(source: str | os.PathLike[str]) -> Source:
    path = Path(source)
    if not path.is_dir():
        return Source(path, (SourceFile("", path),), False)
    files = sorted(
        (
            SourceFile(found.relative_to(path).as_posix(), found)
            for found in path.rglob("*.parquet")
            if not any(part.startswith((".", "_")) for part in found.relative_to(path).parts)
        ),
        key=lambda file: file.name,
    )
    if not files:
        raise FileError(f"the folder {os.fspath(path)!r} holds no data files")
    return Source(path, tuple(files), True)


def open_target(format: str, sink: BinaryIO, plan: FilePlan, certificate: Mapping[str, Any]) -> ParquetTarget:
    return ParquetTarget(sink, plan, certificate)
