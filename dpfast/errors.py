"""The errors dpfast raises: each derives from `DpfastError` and from the builtin a caller would expect.

No text holds a data value, a row number or a count: errors travel to logs and tickets, which are not private places.
"""

from __future__ import annotations

from typing import Any

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
    "InfeasibleError",
    "LedgerError",
    "MissingPackageError",
    "OutsideDomainError",
    "PolicyError",
    "SolverError",
    "ViolationError",
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


class InfeasibleError(DpfastError, ValueError):
    """No private mechanism has the probabilities that were fixed. Graphs, epsilons and fixed values are public.

    Attributes
    ----------
    pair : tuple of two labels, or None
        Fixed vertices (u, v): p(v) is larger than the path from u to v allows.
    path : list of labels
        From u to v.
    laws : list of (epsilon, delta)
        Of the edges of the path, in its order.
    largest : float or None
        The largest p(v) that the path allows next to the given p(u), rounded down.
    smallest : float or None
        The smallest p(u) that the path allows next to the given p(v), rounded up. Either change repairs this pair.
    """

    def __init__(
        self,
        text: str,
        *,
        pair: tuple[Any, Any] | None = None,
        path: list[Any] | None = None,
        laws: list[tuple[float, float]] | None = None,
        largest: float | None = None,
        smallest: float | None = None,
    ) -> None:
        super().__init__(text)
        self.pair = pair
        self.path = path or []
        self.laws = laws or []
        self.largest = largest
        self.smallest = smallest


class ViolationError(DpfastError, ValueError):
    """A mechanism on a graph breaks the law of some edges.

    Attributes
    ----------
    edges : list of (u, v, epsilon, delta)
        Labels and laws of broken edges, at most ten: p(v) is larger than p(u) allows.
    """

    def __init__(self, text: str, *, edges: list[tuple[Any, Any, float, float]] | None = None) -> None:
        super().__init__(text)
        self.edges = edges or []
