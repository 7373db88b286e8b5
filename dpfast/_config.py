"""What this installation is: versions, SIMD target, threads."""

from __future__ import annotations

import platform
from importlib.metadata import version

from dpfast._core import rows as core
from dpfast._threads import available
from dpfast.randomness import STREAM_VERSION

__all__ = ["config", "show_config"]


def config() -> dict[str, str]:
    """Name and value of everything that results or speed may depend on."""
    import dpfast

    found = {
        "dpfast": dpfast.__version__,
        "stream version": str(STREAM_VERSION),
        "SIMD target": f"{core.isa()} (of {', '.join(core.isas())})",
        "threads": str(available()),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    return found | {name: version(name) for name in ("numpy", "pyarrow", "cryptography")}


def show_config() -> None:
    """Print versions, the SIMD target in use and the number of threads; for bug reports.

    Examples
    --------
    >>> import dpfast
    >>> dpfast.show_config()  # doctest: +ELLIPSIS
    dpfast ...
    """
    for name, value in config().items():
        print(f"{name:<15} {value}")
