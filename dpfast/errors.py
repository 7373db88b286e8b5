"""The errors dpfast raises: each derives from `DpfastError` and from the builtin a caller would expect.

No text holds a data value, a row number or a count: errors travel to logs and tickets, which are not private places.
"""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "CertificateError",
    "CorruptDataError",
    "DomainError",
    "DpfastError",
    "EntropyError",
    "FileError",
    "IdError",
    "LedgerError",
    "MissingPackageError",
    "OutsideDomainError",
    "PolicyError",
    "SolverError",
]


class DpfastError(Exception):
    """Base of every error that dpfast raises on purpose."""


class ArgumentError(DpfastError, ValueError):
    """An argument has the right type and a wrong value."""


class ArgumentTypeError(DpfastError, TypeError):
    """An argument, or the type of a column, is not one that the call takes."""


class DomainError(DpfastError, ValueError):
    """A declared domain is not usable: empty, repeated values, mixed types."""


class OutsideDomainError(DpfastError, ValueError):
    """A column holds a value that its domain does not declare, under ``unknown="error"``."""


class PolicyError(DpfastError, ValueError):
    """A policy, or the fit of a policy to a table, is wrong."""


class IdError(DpfastError, ValueError):
    """Identifiers for permanent noise are null, repeated or of an unusable kind."""


class CorruptDataError(DpfastError, ValueError):
    """A file or an Arrow buffer is structurally broken (not a matter of its values)."""


class FileError(DpfastError, OSError):
    """A file cannot be read or written as asked."""


class MissingPackageError(DpfastError, ImportError):
    """An optional package is needed and not installed."""


class CertificateError(DpfastError, ValueError):
    """A certificate does not prove what it states."""


class LedgerError(DpfastError, RuntimeError):
    """A ledger has no room for what would be spent, or is damaged, altered or none at all; nothing was drawn."""


class SolverError(DpfastError, RuntimeError):
    """A linear program was not solved."""


class EntropyError(DpfastError, OSError):
    """The operating system gave no entropy; nothing was drawn and nothing written."""
