"""The declared, public alphabet of a column.

A domain is written down by a person and never taken from data: an alphabet that a table decides tells what is in the table.
A column's own category list, dictionary, order and unused entries are data too; its values are remapped to the domain.
"""

from __future__ import annotations

import enum
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from dpfast._domain_base import Alphabet
from dpfast._domain_bins import bin_labels, bins_digest, check_edges
from dpfast._domain_values import Value, canonical, read_domain_file, values_digest
from dpfast.errors import ArgumentError, ArgumentTypeError, DomainError, OutsideDomainError
from dpfast.product import Cells, CellValues

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Domain", "Value"]


class Domain(Alphabet):
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

    __slots__ = ()

    def __init__(
        self,
        values: Sequence[Value] | range | type[enum.Enum] | str | os.PathLike[str],
        *,
        unknown: Literal["error", "randomise"] = "error",
        other: Value = None,
    ) -> None:
        if isinstance(values, (str, os.PathLike)):
            values = read_domain_file(Path(values))
        elif isinstance(values, type) and issubclass(values, enum.Enum):
            values = [member.value for member in values]
        elif not isinstance(values, (list, tuple, range)):
            raise ArgumentTypeError(
                f"a domain is a list, tuple, range, Enum class or file, not {type(values).__name__}: a column is private data; "
                "write its categories down"
            )
        settled, kind = canonical(values)
        self._settle(settled, kind, values_digest(settled, kind), unknown, other)

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
    def bins(
        cls,
        edges: Sequence[float],
        labels: Sequence[str] | None = None,
        *,
        null: bool = False,
        unknown: Literal["error", "randomise"] = "error",
        other: str | None = None,
    ) -> Domain:
        """Declare public cut points of a numeric column.

        Parameters
        ----------
        edges : list or tuple of int or float
            Finite and strictly growing; k + 1 of them make k bins. Bin i holds e_i <= x < e_{i+1}, the last one its upper
            edge too. Never quantiles of the data: those are private.
        labels : list or tuple of str, optional
            Names of the bins; by default their intervals, ``"[0, 10)"``.
        null : bool, default False
            Whether null is a category, the last one. NaN is a null. Otherwise both are unknown, as is every number before
            the first and after the last edge, infinities included.
        unknown, other
            As for `Domain`; `other` is a label.

        Returns
        -------
        Domain
            Its values are the labels, and None. It takes columns of integers or floats; `decode` and every sanitised column
            hold labels: text for numpy (objects with None if null is a category), a dictionary of text for Arrow.

        Raises
        ------
        ArgumentTypeError
            For an array, Series or column: it is private data.
        DomainError

        Notes
        -----
        Comparisons are exact: of integers of 64 bits too.

        Examples
        --------
        >>> ages = Domain.bins([0, 18, 65, 120])
        >>> ages.values
        ('[0, 18)', '[18, 65)', '[65, 120]')
        >>> ages.encode(np.array([17.9, 18.0, 120.0]))
        array([0, 1, 2], dtype=uint8)
        """
        if not isinstance(null, bool):
            raise ArgumentTypeError("null must be True or False")
        cuts = check_edges(edges)
        values: tuple[Value, ...] = bin_labels(cuts, labels) + ((None,) if null else ())
        domain = cls.__new__(cls)
        domain._settle(values, "bins", bins_digest(cuts, values), unknown, other, edges=cuts)
        return domain

    @classmethod
    def product(
        cls,
        *parts: Any,
        only: Sequence[tuple[Any, ...]] | None = None,
        unknown: Literal["error", "randomise"] = "error",
        other: tuple[Any, ...] | None = None,
    ) -> Domain:
        """Declare the joint alphabet of several columns.

        Parameters
        ----------
        *parts : Domain, or what `Domain` takes
            The alphabets of the columns, two or more; the last one runs fastest. A part may have its own ``other=``;
            ``unknown="randomise"`` is for the product to say.
        only : list of tuple, optional
            The cells that are possible, one value a part; impossible ones then cost nothing. Codes are positions in it.
        unknown, other
            As for `Domain`; `other` is a tuple. A cell is unknown if one of its values is, or if `only` does not list it.

        Returns
        -------
        Domain
            Its values are tuples. `encode` takes, and `decode` returns, a tuple of columns.

        Raises
        ------
        ArgumentTypeError, DomainError

        Examples
        --------
        >>> seats = Domain.product(["front", "back"], [1, 2, 3], only=[("front", 1), ("back", 2), ("back", 3)])
        >>> seats.size
        3
        >>> seats.encode((np.array(["back", "front"]), np.array([3, 1])))
        array([2, 0], dtype=uint8)
        """
        domains = tuple(cls.of(part) for part in parts)
        if len(domains) < 2:
            raise DomainError("a product needs two domains or more")
        if any(part.kind == "product" for part in domains):
            raise DomainError("a part of a product is no product; list all columns side by side")
        if any(part.unknown == "randomise" for part in domains):
            raise DomainError("unknown='randomise' belongs to the whole product, not to one of its parts")
        if only is not None and not isinstance(only, (list, tuple)):
            raise ArgumentTypeError("only= is a list of tuples, one value a column: what is possible is public knowledge")
        domain = cls.__new__(cls)
        domain.kind, domain.parts = "product", domains
        listed = None if only is None else [domain._cell(cell) for cell in only]
        if listed is not None and None in listed:
            raise DomainError("every entry of only= is a tuple with one value of each part")
        cells = Cells(tuple(part.size for part in domains), cast("list[tuple[int, ...]] | None", listed))
        values = CellValues(cells, [part.values for part in domains])
        digest = cells.digest([part.digest for part in domains])
        domain._settle(values, "product", digest, unknown, other, parts=domains, cells=cells)
        return domain

    @classmethod
    def of(cls, values: Any) -> Domain:
        """Return `values` if it is a domain, else the domain that `values` declares."""
        return values if isinstance(values, Domain) else cls(values)

    def encode(self, column: Any, *, name: str | None = None) -> NDArray[Any]:
        """Turn a column of values into codes.

        Parameters
        ----------
        column : ndarray, pyarrow Array or ChunkedArray, pandas or polars Series, shape (n_rows,)
            Values of the domain; integer, text, boolean, bytes or dictionary type. Numbers for bins; for a product a tuple
            of columns, one a part.
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
        like : ndarray, pyarrow Array or ChunkedArray, pandas or polars Series
            Gives container and type; of a chunked column also the chunk lengths, where it has as many rows. Numbers for bins,
            whose labels are returned; a tuple of columns for a product.

        Returns
        -------
        ndarray, pyarrow Array or ChunkedArray, pandas or polars Series
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
            raise ArgumentTypeError(
                "codes must be a 1-D array of unsigned integers, as encode returns: codes.astype(numpy.uint32), say"
            )
        if codes.size and int(codes.max()) >= self.size:
            raise ArgumentError("codes must be below the size of the domain")
        adapter = adapt(self, like, None)
        # a copy: the column may keep this memory, and the caller goes on writing to theirs
        return adapter.rebuild(np.array(codes, adapter.code_type, order="C"))


def outside_text(name: Any) -> str:
    """Text for a value outside the domain: the column and the rule, never the value, its place or how many."""
    if isinstance(name, tuple):
        column = f"columns {', '.join(map(repr, name))}: a row holds"
    else:
        column = ("the column" if name is None else f"column {name!r}") + " holds"
    return (
        f"{column} a value outside its domain, and unknown='error'; run `dpfast check` to see which, "
        "then add it to the domain or declare unknown='randomise' or other="
    )
