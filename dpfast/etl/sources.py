"""Sources of file jobs: one file or many, in any format, wherever they are."""

from __future__ import annotations

from dpfast._sources.source import Reader, Source, SourceFile, open_source

__all__ = ["Reader", "Source", "SourceFile", "open_source"]
