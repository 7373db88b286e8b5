"""Whole files: read, sanitise, write, with nothing lost; and the ledger of what was spent."""

from __future__ import annotations

from dpfast.etl.files import Report, sanitise_file
from dpfast.etl.ledger import Ledger

__all__ = ["Ledger", "Report", "sanitise_file"]
