"""The formats of targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

from dpfast._sources.csv_file import CERTIFICATE_SUFFIX
from dpfast._sources.names import OTHER_FORMATS, file_format
from dpfast.errors import ArgumentError
from dpfast.etl.formats.csv import CsvTarget
from dpfast.etl.formats.ipc import IpcTarget
from dpfast.etl.formats.target import Target, certificate_text
from dpfast.etl.parquet import ParquetTarget
from dpfast.etl.plan import FilePlan

__all__ = ["Target", "certificate_beside", "certificate_text", "open_target", "target_format"]


def target_format(name: str) -> str:
    """Return the format that a target of a name is written in: that of its suffix, Parquet where it has none that is known.

    Raises
    ------
    ArgumentError
        If the suffix is that of a format which is not written.
    """
    known = file_format(name)
    suffix = "." + name.rsplit(".", 1)[-1].lower()
    if known is None and suffix in OTHER_FORMATS:
        raise ArgumentError(f"target is a {suffix} file; what is written is Parquet, CSV and Arrow IPC")
    return known or "parquet"


def certificate_beside(written_as: str, name: str) -> str | None:
    """Return the name of the file that holds the certificate, if the format has no room for one in the target itself."""
    return name + CERTIFICATE_SUFFIX if written_as.startswith("csv") else None


def open_target(written_as: str, sink: BinaryIO, plan: FilePlan, certificate: Mapping[str, Any]) -> Target:
    """Open a target of a format.

    Parameters
    ----------
    written_as : {"parquet", "csv", "csv.gz", "csv.zst", "ipc", "arrows"}
        As `target_format` and ``SourceFile.written_as`` give it.
    sink : binary file
        Where the bytes go; it is not closed.
    plan : FilePlan
    certificate : mapping
        Goes into the file, but for CSV: see `certificate_beside`.

    Returns
    -------
    Target

    Raises
    ------
    PolicyError
        If the format cannot hold a column.
    """
    if written_as == "parquet":
        return ParquetTarget(sink, plan, certificate)
    if written_as in ("ipc", "arrows"):
        return IpcTarget(sink, plan, certificate, stream=written_as == "arrows")
    return CsvTarget(sink, plan, written_as)
