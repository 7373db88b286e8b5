"""The declared, public alphabet of a column.

A domain is written down by a person and never taken from data: an alphabet that a table decides tells what is in the table.
A column's own category list, dictionary, order and unused entries are data too; its values are remapped to the domain.
"""

from __future__ import annotations

import enum
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

import numpy as np

from dpfast.errors import ArgumentError, ArgumentTypeError, DomainError, FileError, OutsideDomainError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Domain", "Value"]

SIZE_MAX: Final = 1 << 31

Value: TypeAlias = "str | int | bool | bytes | None"
Kind: TypeAlias = Literal["range", "int", "text", "bool", "bytes"]

_KINDS: dict[type, Kind] = {str: "text", bytes: "bytes", bool: "bool", int: "int"}
_TAGS: dict[type, bytes] = {type(None): b"n", str: b"s", bytes: b"y", bool: b"b", int: b"i"}


class Domain:
    """Declare the categories that a column may hold.

    Parameters
    ----------
    values : list, tuple, range, Enum class, or path
        The categories, in the order that outputs and dictionaries will have: text, integers, booleans or bytes, one kind only.
        None among them makes null a category. An Enum class stands for its members' values. A path (text or PathLike) names a
        UTF-8 file with one text a line, or a ``.json`` file holding one list; a byte order mark is not part of the first text.
    unknown : {"error", "randomise"}, default "error"
        What becomes of a value that is not in the domain: an `OutsideDomainError`, or an answer drawn uniformly from the
        domain, which is never worse for privacy than a known value.
    other : value, optional
        A category of the domain that takes the place of every value outside it, nulls included where null is no category.

    Attributes
    ----------
    values : tuple or range
    size : int
        The number of categories k, at most 2^31.
    digest : bytes
        32 bytes that identify the values and their order, whatever `unknown` and `other` are.
    unknown, other
        As given.

    Raises
    ------
    ArgumentTypeError
        For an array, Series, Arrow or polars column: a column is private data.
    DomainError
        Empty, repeated, mixed or unusable values; `other` not among them; both `other` and ``unknown="randomise"``.
    FileError
        The file cannot be read.

    Notes
    -----
    ``Domain([0, 1, 2])`` and ``Domain.range(3)`` are the same domain.

    Examples
    --------
    >>> from dpfast import Domain
    >>> colours = Domain(["red", "green", "blue", None])
    >>> colours.size
    4
    >>> import numpy as np
    >>> colours.encode(np.array(["blue", "red", None], dtype=object))
    array([2, 0, 3], dtype=uint8)
    """

    __slots__ = ("_index", "arrow", "digest", "kind", "null_code", "other", "other_code", "size", "unknown", "values")

    values: tuple[Value, ...] | range
    kind: Kind
    size: int
    digest: bytes
    null_code: int | None
    other_code: int | None

    def __init__(
        self,
        values: Sequence[Value] | range | type[enum.Enum] | str | os.PathLike[str],
        *,
        unknown: Literal["error", "randomise"] = "error",
        other: Value = None,
    ) -> None:
        if isinstance(values, (str, os.PathLike)):
            values = _read(Path(values))
        elif isinstance(values, type) and issubclass(values, enum.Enum):
            values = [member.value for member in values]
        elif not isinstance(values, (list, tuple, range)):
            raise ArgumentTypeError(
                f"a domain is a list, tuple, range, Enum class or file, not {type(values).__name__}: a column is private data; "
                "write its categories down"
            )
        if not isinstance(unknown, str) or unknown not in ("error", "randomise"):
            raise ArgumentError("unknown must be 'error' or 'randomise'")
        self.unknown = unknown
        self.values, self.kind = _canonical(values)
        self.size = len(self.values)
        self.digest = _digest(self.values, self.kind)
        self._index: dict[Any, int] | None = None
        self.arrow: dict[Any, Any] = {}  # the values as Arrow arrays, by type; `columns` fills it
        self.null_code = None if self.kind == "range" else self.index.get(None)
        self.other = None
        self.other_code = None
        if other is not None:
            if unknown == "randomise":
                raise DomainError("other= and unknown='randomise' are two answers to one question; give one of them")
            self.other_code = self.code_of(other)
            if self.other_code is None:
                raise DomainError("other= must be one of the values of the domain")
            self.other = self.values[self.other_code]

    @classmethod
    def range(cls, k: int, *, unknown: Literal["error", "randomise"] = "error", other: Value = None) -> Domain:
        """Declare the integer codes 0 .. k-1.

        Parameters
        ----------
        k : int
            Number of categories, 1 to 2^31.
        unknown, other
            As for `Domain`.

        Returns
        -------
        Domain

        Raises
        ------
        ArgumentTypeError, DomainError

        Examples
        --------
        >>> Domain.range(10).values
        range(0, 10)
        """
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
            raise ArgumentTypeError("k must be an integer")
        return cls(range(int(k)), unknown=unknown, other=other)

    @classmethod
    def of(cls, values: Any) -> Domain:
        """Return `values` if it is a domain, else the domain that `values` declares."""
        return values if isinstance(values, Domain) else cls(values)

    def without_other(self) -> Domain:
        """Return the same values, with no category that takes the place of those outside."""
        return Domain(self.values)

    @property
    def index(self) -> dict[Any, int]:
        """Code of every value, for a domain that is not a range."""
        if self._index is None:
            self._index = {value: code for code, value in enumerate(self.values)}
        return self._index

    def code_of(self, value: Any) -> int | None:
        """Code of one value, or None outside the domain; True is not 1 and 1.0 is not 1, an Enum member is its value."""
        value = _plain(value)
        if value is None:
            return self.null_code
        if _KINDS.get(type(value)) != ("int" if self.kind == "range" else self.kind):
            return None
        if self.kind == "range":
            return cast(int, value) if 0 <= cast(int, value) < self.size else None
        return self.index.get(value)

    @property
    def rule(self) -> str:
        """What becomes of a value outside the domain; part of a mechanism's digest, so that two rules never share noise."""
        return self.unknown if self.other_code is None else f"other {self.other_code}"

    @property
    def outside_code(self) -> int:
        """Code that a value outside the domain is encoded to: that of `other`, else k."""
        return self.size if self.other_code is None else self.other_code

    def encode(self, column: Any, *, name: str | None = None) -> NDArray[Any]:
        """Turn a column of values into codes.

        Parameters
        ----------
        column : ndarray, pyarrow Array or ChunkedArray, shape (n_rows,)
            Values of the domain; integer, text, boolean, bytes or dictionary type.
        name : str, optional
            Name of the column, for error texts.

        Returns
        -------
        ndarray of uint8, uint16 or uint32, shape (n_rows,)
            Position of each value; k for a value outside the domain under ``unknown="randomise"``.

        Raises
        ------
        ArgumentTypeError
            The type of the column does not fit the domain.
        OutsideDomainError
            A value outside the domain, under ``unknown="error"``.
        CorruptDataError
            A dictionary index that points outside its dictionary.

        Notes
        -----
        Not private: codes are the data. Cost: O(n_rows).

        Examples
        --------
        >>> Domain(["no", "yes"]).encode(np.array(["yes", "yes", "no"]))
        array([1, 1, 0], dtype=uint8)
        """
        from dpfast.columns import adapt
        from dpfast.columns.base import clip_codes

        adapter = adapt(self, column, name)
        codes = np.empty(adapter.n_rows, adapter.code_type)
        tile = adapter.tile(0, adapter.n_rows, codes)
        if self.unknown == "error" and tile.size and int(tile.max()) >= self.size:
            raise OutsideDomainError(outside_text(name))
        return clip_codes(tile, self.size).copy()

    def decode(self, codes: NDArray[Any], *, like: Any) -> Any:
        """Turn codes into a column of the same container and logical type as `like`.

        Parameters
        ----------
        codes : ndarray of unsigned integers, shape (n_rows,)
            Each below `size`.
        like : ndarray, pyarrow Array or ChunkedArray
            Gives container and type; of a chunked column also the chunk lengths, where it has as many rows.

        Returns
        -------
        ndarray, pyarrow Array or ChunkedArray
            A dictionary type gets the declared domain and the narrowest index that holds it.

        Raises
        ------
        ArgumentTypeError, ArgumentError

        Examples
        --------
        >>> Domain(["no", "yes"]).decode(np.array([1, 0], np.uint8), like=np.array(["no"]))
        array(['yes', 'no'], dtype='<U3')
        """
        from dpfast.columns import adapt

        codes = np.asarray(codes)
        if codes.dtype.kind != "u" or codes.ndim != 1:
            raise ArgumentTypeError("codes must be a 1-D array of unsigned integers")
        if codes.size and int(codes.max()) >= self.size:
            raise ArgumentError("codes must be below the size of the domain")
        adapter = adapt(self, like, None)
        # a copy: the column may keep this memory, and the caller goes on writing to theirs
        return adapter.rebuild(np.array(codes, adapter.code_type, order="C"))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Domain):
            return NotImplemented
        same_rules = (self.unknown, self.other_code) == (other.unknown, other.other_code)
        return self.digest == other.digest and same_rules

    def __hash__(self) -> int:
        return hash((self.digest, self.unknown, self.other_code))

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        shown = repr(self.values) if self.kind == "range" else f"[{', '.join(map(repr, self.values[:4]))}"
        if self.kind != "range":
            shown += f", … {self.size - 4} more]" if self.size > 4 else "]"
        return f"Domain({shown})"


def outside_text(name: Any) -> str:
    """Text for a value outside the domain: the column and the rule, never the value, its place or how many."""
    column = "the column" if name is None else f"column {name!r}"
    return (
        f"{column} holds a value outside its domain, and unknown='error'; run `dpfast check` to see which, "
        "then add it to the domain or declare unknown='randomise' or other="
    )


def _canonical(values: Sequence[Value] | range) -> tuple[tuple[Value, ...] | range, Kind]:
    """Check values and settle their kind; a list equal to 0 .. k-1 is the range."""
    try:
        size = len(values)
    except OverflowError:  # a range of 2^63 values and more
        size = SIZE_MAX + 1
    if size == 0:
        raise DomainError("a domain needs at least one value")
    if size > SIZE_MAX:
        raise DomainError("a domain has at most 2**31 values")
    if isinstance(values, range):
        return (values, "range") if values == range(size) else _canonical(list(values))
    plain = [_plain(v) for v in values]
    kinds = {_KINDS.get(type(v)) for v in plain if v is not None}
    if None in kinds:
        raise DomainError("domain values must be text, integers, booleans, bytes or None; for numbers, cut them into bins first")
    if len(kinds) > 1:
        raise DomainError("domain values must be of one kind (and None): a column holds one type")
    if not kinds:
        raise DomainError("a domain needs at least one value that is not None")
    if len(set(plain)) != size:
        raise DomainError("a domain lists each value once; some value is repeated")
    kind = cast(Kind, kinds.pop())
    if kind == "int":
        if plain == list(range(size)):
            return range(size), "range"
        if not all(v is None or -(1 << 63) <= cast(int, v) < 1 << 64 for v in plain):
            raise DomainError("integer values must fit 64 bits")
    if kind == "text" and not all(v is None or _is_unicode(cast(str, v)) for v in plain):
        raise DomainError("a text of the domain is not valid Unicode")
    return tuple(plain), kind


def _plain(value: Any) -> Any:
    """The Python value of a numpy scalar or Enum member; anything else as it is, durations included: they are no integers."""
    if isinstance(value, enum.Enum):
        value = value.value
    is_scalar = isinstance(value, (np.str_, np.bytes_, np.bool_, np.integer)) and not isinstance(value, np.timedelta64)
    return value.item() if is_scalar else value


def _is_unicode(text: str) -> bool:
    """Whether a text can be written down: halves of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _digest(values: tuple[Value, ...] | range, kind: Kind) -> bytes:
    state = hashlib.blake2b(digest_size=32, person=b"dpfast/domain/1")
    if kind == "range":
        _update(state, b"r", str(len(values)).encode())
        return state.digest()
    for value in values:
        if value is None:
            payload = b""
        elif isinstance(value, bool):
            payload = b"1" if value else b"0"
        elif isinstance(value, int):
            payload = str(value).encode()
        else:
            payload = value.encode() if isinstance(value, str) else value
        _update(state, _TAGS[type(value)], payload)
    return state.digest()


def _update(state: hashlib.blake2b, tag: bytes, payload: bytes) -> None:
    state.update(tag + len(payload).to_bytes(8, "little") + payload)


def _read(path: Path) -> list[Value]:
    """Values of a domain file: a JSON list, or one text a line with nothing stripped but the line end."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"domain file '{path}' is not UTF-8 text") from None
    except OSError as error:
        raise FileError(f"cannot read domain file '{path}': {error.strerror}") from None
    except ValueError:  # a NUL in the path
        raise FileError("the path of a domain file holds a NUL character") from None
    if path.suffix.lower() != ".json":
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        lines = [line.removesuffix("\r") for line in lines]
        if "" in lines:
            raise DomainError(f"domain file '{path}' has an empty line; use a .json file to declare the empty text")
        return list(lines)
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise DomainError(f"domain file '{path}' is not JSON: {error.msg} in line {error.lineno}") from None
    except (ValueError, RecursionError):  # an integer of thousands of digits; brackets within brackets
        raise DomainError(f"domain file '{path}' must hold one JSON list of texts, integers, booleans or null") from None
    if not isinstance(values, list):
        raise DomainError(f"domain file '{path}' must hold one JSON list")
    return values
