"""Whole files and folders: read, sanitise, write, with nothing lost."""

from __future__ import annotations

from dpfast.etl.files import sanitise_file
from dpfast.etl.report import Report

__all__ = ["Report", "sanitise_file"]
