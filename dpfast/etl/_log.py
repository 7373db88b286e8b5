"""The log of jobs: ``logging.getLogger("dpfast")``, silent unless the caller says where it goes.

INFO says what was planned, committed and finished, with names of files; WARNING which files of a folder are not read; DEBUG how a
job was taken up again. No record holds a value, a count, a key or a context.
"""

from __future__ import annotations

import logging

__all__ = ["log"]

logging.getLogger("dpfast").addHandler(logging.NullHandler())
log = logging.getLogger("dpfast.etl")
