"""One rename makes a folder the target; where there is an old one, both change places at one instant.

Linux and macOS can exchange two names. Where that is missing (an old kernel, some network file systems), the old folder is
renamed away first: between the two renames there is no target, and the next run puts the old one back if the job was stopped
there.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path
from typing import Final, NoReturn

from dpfast.errors import FileError
from dpfast.etl.jobs import flush_folder, writing

__all__ = ["is_exchanged", "publish", "put_back"]

_EXCHANGE: Final = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_AT_FDCWD: Final = -100
_MISSING: Final = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}
_TAKEN: Final = {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR}


def publish(data: Path, target: Path, old: Path, *, overwrite: bool) -> None:
    """Give `data` the name of the target.

    Parameters
    ----------
    data : Path
        The complete folder, all of it flushed.
    target : Path
    old : Path
        Where an old target goes if the two cannot be exchanged; otherwise it is under the name of `data` afterwards.
    overwrite : bool
        Whether an old target may be replaced.

    Raises
    ------
    FileError
        If the target exists and may not be replaced, or the operating system refuses.
    """
    with writing():
        if overwrite and os.path.lexists(target):
            if not _exchange(data, target):
                os.rename(target, old)
                os.rename(data, target)
        else:
            try:
                os.rename(data, target)
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise
                _refuse(target)
    try:
        flush_folder(target.parent)
    except OSError as error:
        raise FileError(
            f"the target {str(target)!r} is in place, new and complete, but the disc did not confirm its name "
            f"({error.strerror or 'no reason given'}): a power cut may still undo that"
        ) from None


def put_back(target: Path, old: Path) -> None:
    """Give an old target its name again if a stop came between the two renames."""
    if old.exists() and not os.path.lexists(target):
        with writing():
            os.rename(old, target)
            flush_folder(target.parent)


def is_exchanged(target: Path, inode: int | None) -> bool:
    """Whether the target is the folder with this inode."""
    try:
        return inode is not None and target.stat().st_ino == inode
    except OSError:
        return False


def _exchange(one: Path, two: Path) -> bool:
    """Exchange two names at one instant; False where the system cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(two)
    if sys.platform == "darwin":
        call, arguments = getattr(library, "renamex_np", None), (*names, ctypes.c_uint(_EXCHANGE))
    else:
        call = getattr(library, "renameat2", None)
        arguments = (ctypes.c_int(_AT_FDCWD), names[0], ctypes.c_int(_AT_FDCWD), names[1], ctypes.c_uint(_EXCHANGE))
    if call is None:
        return False
    if call(*arguments) == 0:
        return True
    number = ctypes.get_errno()
    if number in _MISSING:
        return False
    raise OSError(number, os.strerror(number))


def _refuse(target: Path) -> NoReturn:
    raise FileError(f"the target {str(target)!r} exists; choose another name, or overwrite=True (--overwrite)") from None
