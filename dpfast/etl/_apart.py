"""A target is apart from its source: nothing is sanitised in place, and no run reads what one before it wrote."""

from __future__ import annotations

import os
from pathlib import PurePosixPath

from dpfast._sources.places import Place
from dpfast.errors import FileError
from dpfast.etl._job import Job

__all__ = ["check_apart"]


def check_apart(job: Job, where: Place) -> None:
    """Refuse a target that lies in a folder that is the source, or the source in it."""
    first = job.source.files[0]
    if not job.source.is_folder or not _share(first.place, where):
        return
    root = _real(Place(first.place.path.removesuffix(first.name) or ".", first.place.filesystem))
    place = _real(where)
    if root == place or root in place.parents or place in root.parents:
        raise FileError(f"the target {where.path!r} lies in the source, or the source in it; choose a place apart")


def _share(one: Place, two: Place) -> bool:
    """Whether two places are of one file system, as far as can be told."""
    if one.filesystem is None or two.filesystem is None:
        return one.filesystem is two.filesystem
    return bool(one.filesystem.equals(two.filesystem))


def _real(place: Place) -> PurePosixPath:
    return PurePosixPath(os.path.realpath(place.path) if place.filesystem is None else "/" + place.path.strip("/"))
