"""Whole files: read, sanitise, write, with nothing lost."""

from __future__ import annotations

from dpfast.etl.files import Report, sanitise_file

__all__ = ["Report", "sanitise_file"]
