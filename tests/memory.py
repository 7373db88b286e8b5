"""The peak of memory of a process, as that process tells it: text for a child to run."""

from __future__ import annotations

__all__ = ["PEAK"]

# Linux hands the peak of a parent down in what getrusage tells, so a child of a large one would seem large from its start.
PEAK = """
import os, resource, sys

def peak():
    if os.path.exists("/proc/self/status"):
        return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) >> 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 << 20 if sys.platform == "darwin" else 1 << 10)
"""
