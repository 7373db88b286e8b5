"""A target is apart from its source: nothing is sanitised in place, and no run reads what one before it wrote."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from dpfast._sources.places import Place, bare
from dpfast.errors import FileError
from dpfast.etl._job import Job
from dpfast.etl._manifest import partial_path

__all__ = ["check_apart", "check_keeps"]


def check_apart(job: Job, where: Place) -> None:
    """Refuse a target that lies in a folder that is the source, or the source, or a file that it links to, in the target."""
    first = job.source.files[0]
    if not job.source.is_folder:
        return
    folder = bare(Place(first.place.path.removesuffix(first.name) or ".", first.place.filesystem))
    target = bare(where)
    if not _share(folder, target):
        return
    root, place = _real(folder), _real(target)
    # what lies in either of them is deleted when the target is replaced, or begun
    taken = {place, PurePosixPath(partial_path(Path(place)))}
    inner = {root} if target.filesystem else {root, *(_real(bare(file.place)) for file in job.source.files)}
    if root in place.parents or any(not taken.isdisjoint([one, *one.parents]) for one in inner):
        raise FileError(f"the target {where.path!r} lies in the source, or the source in it; choose a place apart")


def check_keeps(where: Place, needed: Mapping[str, object]) -> None:
    """Refuse a target that is, or holds, a file that the job needs: replaced, it would be lost."""
    target = bare(where)
    for what, path in needed.items():
        if target.filesystem is not None or not isinstance(path, str | os.PathLike):
            continue
        file = PurePosixPath(os.path.realpath(os.fsdecode(path)))
        if os.path.exists(file) and _real(target) in (file, *file.parents):
            raise FileError(f"the target {where.path!r} is, or holds, the {what} of this job; keep that apart")


def _share(one: Place, two: Place) -> bool:
    """Whether two places are of one file system, as far as can be told."""
    if one.filesystem is None or two.filesystem is None:
        return one.filesystem is two.filesystem
    return bool(one.filesystem.equals(two.filesystem))


def _real(place: Place) -> PurePosixPath:
    return PurePosixPath(os.path.realpath(place.path) if place.filesystem is None else "/" + place.path.strip("/"))
