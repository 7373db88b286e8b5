"""What every domain knows of itself, however it was declared: codes of values, and what becomes of values outside."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from dpfast._domain_values import KINDS, Kind, plain
from dpfast.errors import ArgumentError, DomainError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpfast.product import Cells

__all__ = ["Alphabet"]


class Alphabet:
    """Values in order, with their codes, their digest, and the rule for values outside."""

    __slots__ = (
        "_index",
        "arrow",
        "cells",
        "digest",
        "edges",
        "kind",
        "null_code",
        "other",
        "other_code",
        "parts",
        "size",
        "unknown",
        "values",
    )

    values: Sequence[Any]
    kind: Kind
    size: int
    digest: bytes
    null_code: int | None
    other_code: int | None

    def _settle(self, values: Sequence[Any], kind: Kind, digest: bytes, unknown: Any, other: Any, **shape: Any) -> None:
        self.values, self.kind, self.digest = values, kind, digest
        self.size = len(values)
        self.edges: tuple[float, ...] | None = shape.get("edges")
        self.parts: tuple[Self, ...] = shape.get("parts", ())
        self.cells: Cells | None = shape.get("cells")
        self._index: dict[Any, int] | None = None
        self.arrow: dict[Any, Any] = {}  # the values as Arrow arrays, by type; `columns` fills it
        self.null_code = None if kind in ("range", "product") else self.index.get(None)
        self._rule(unknown, other)

    def _rule(self, unknown: Any, other: Any) -> None:
        if not isinstance(unknown, str) or unknown not in ("error", "randomise"):
            raise ArgumentError("unknown must be 'error' or 'randomise'")
        self.unknown = unknown
        self.other = None
        self.other_code = None
        if other is not None:
            if unknown == "randomise":
                raise DomainError("other= and unknown='randomise' are two answers to one question; give one of them")
            self.other_code = self.code_of(other)
            if self.other_code is None:
                raise DomainError("other= must be one of the values of the domain")
            self.other = self.values[self.other_code]

    def with_rule(self, *, unknown: Literal["error", "randomise"] = "error", other: Any = None) -> Self:
        """Return the same values with another rule for those outside.

        Parameters
        ----------
        unknown, other
            As for `dpfast.Domain`.

        Returns
        -------
        Domain

        Raises
        ------
        ArgumentError, DomainError

        Examples
        --------
        >>> from dpfast import Domain
        >>> Domain(["no", "yes"]).with_rule(other="no").other
        'no'
        """
        domain = copy.copy(self)
        domain._rule(unknown, other)
        return domain

    @property
    def answers(self) -> Self:
        """The alphabet of a sanitised column: the same values, or labels of bins; none of them taken for another."""
        if self.kind == "bins":
            return type(self)(list(self.values))  # type: ignore[call-arg]
        if self.cells is None:
            return self.with_rule()
        domain = copy.copy(self)
        domain.parts = tuple(part.answers for part in self.parts)
        domain._rule("error", None)
        return domain

    @property
    def index(self) -> dict[Any, int]:
        """Code of every value, for a domain that is not a range."""
        if self._index is None:
            self._index = {value: code for code, value in enumerate(self.values)}
        return self._index

    def code_of(self, value: Any) -> int | None:
        """Code of one value, or None outside the domain; True is not 1 and 1.0 is not 1, an Enum member is its value."""
        if self.cells is not None:
            cell = self._cell(value)
            return None if cell is None else self.cells.code_of(cell)
        value = plain(value)
        if value is None:
            return self.null_code
        if KINDS.get(type(value)) != {"range": "int", "bins": "text"}.get(self.kind, self.kind):
            return None
        if self.kind == "range":
            return cast(int, value) if 0 <= cast(int, value) < self.size else None
        return self.index.get(value)

    def _cell(self, value: Any) -> tuple[int, ...] | None:
        """Codes of the parts of a tuple of values, or None where it is none."""
        if not isinstance(value, (tuple, list)) or len(value) != len(self.parts):
            return None
        codes = [part.code_of(one) for part, one in zip(self.parts, value, strict=True)]
        return None if None in codes else cast("tuple[int, ...]", tuple(codes))

    @property
    def rule(self) -> str:
        """What becomes of a value outside the domain; part of a mechanism's digest, so that two rules never share noise."""
        own = self.unknown if self.other_code is None else f"other {self.other_code}"
        return "; ".join([own, *(part.rule for part in self.parts)])

    @property
    def outside_code(self) -> int:
        """Code that a value outside the domain is encoded to: that of `other`, else k."""
        return self.size if self.other_code is None else self.other_code

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Alphabet):
            return NotImplemented
        return self.digest == other.digest and self.rule == other.rule

    def __hash__(self) -> int:
        return hash((self.digest, self.rule))

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        if self.kind == "range":
            return f"Domain({self.values!r})"
        shown = f"[{', '.join(map(repr, self.values[:4]))}"
        return f"Domain({shown}{f', … {self.size - 4} more' if self.size > 4 else ''}])"
