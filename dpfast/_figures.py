"""What estimates of one column and of several have in common: figures, a table to look at, tables to go on with."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import numpy as np

from dpfast._estimate_core import Fit, Options
from dpfast._text import printable, share, table_lines
from dpfast.errors import ArgumentTypeError, MissingPackageError

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from numpy.typing import NDArray

__all__ = ["Figures", "Grouped", "figures"]

SHOWN: Final = 20  # rows of a printed table; to_arrow has all


@dataclass(frozen=True, eq=False, repr=False)
class Figures:
    """Figures of an estimate, with the values they are for; `dpfast.Estimate` and `dpfast.crosstab.CrossTab` say more."""

    values: Sequence[Any]
    frequency: NDArray[np.float64]
    count: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    interval: NDArray[np.float64]
    confidence: float
    method: str
    population: bool
    simultaneous: bool
    interval_method: str
    condition: float
    iterations: int
    converged: bool

    def __post_init__(self) -> None:
        for array in (self.frequency, self.count, self.standard_error, self.interval):
            array.flags.writeable = False

    @property
    @abstractmethod
    def heads(self) -> tuple[str, ...]:
        """Names of the columns of values."""

    @abstractmethod
    def labels(self) -> Iterator[tuple[Any, ...]]:
        """Yield the values that name each figure, in the order of the flattened figures."""

    def __repr__(self) -> str:
        level = f"{100 * self.confidence:g} %"
        pairs = self.interval.reshape(-1, 2)
        rows = zip(self.labels(), self.frequency.ravel(), self.standard_error.ravel(), pairs, strict=True)
        lines = table_lines(
            (*self.heads, "frequency", "error", f"{level} interval"),
            [
                (*map(printable, label), share(true), share(error), f"{share(low)} to {share(high)}")
                for label, true, error, (low, high) in itertools.islice(rows, SHOWN)
            ],
            labels=len(self.heads),
        )
        more = [f"... and {self.frequency.size - SHOWN} more"] if self.frequency.size > SHOWN else []
        about = "the population" if self.population else "these rows"
        together = ", intervals hold together" if self.simultaneous else ""
        return "\n".join([*lines, *more, f"(method {self.method!r}, about {about}{together})"])

    def to_arrow(self) -> pyarrow.Table:
        """Return the estimate as a table, one row a category or cell.

        Returns
        -------
        pyarrow.Table
            The values, then frequency, count, standard_error, lower, upper.

        Raises
        ------
        ArgumentTypeError
            If the categories have no common Arrow type.

        Examples
        --------
        >>> from dpfast import RandomisedResponse
        >>> estimate = RandomisedResponse(["no", "yes"], epsilon=1.0).estimate_counts([60, 40])
        >>> estimate.to_arrow().column_names
        ['value', 'frequency', 'count', 'standard_error', 'lower', 'upper']
        """
        return arrow_table([self], {})

    def to_pandas(self) -> pandas.DataFrame:
        """Return the estimate as a data frame, with the columns of `to_arrow`.

        Returns
        -------
        pandas.DataFrame
            Integer categories beside a null stay integers (dtype object).

        Raises
        ------
        MissingPackageError
            If pandas is not installed.
        ArgumentTypeError
            If the categories have no common Arrow type.

        Examples
        --------
        >>> from dpfast import RandomisedResponse
        >>> estimate = RandomisedResponse(["no", "yes"], epsilon=1.0).estimate_counts([60, 40])
        >>> estimate.to_pandas()["value"].tolist()
        ['no', 'yes']
        """
        return _pandas(self.to_arrow())


F = TypeVar("F", bound=Figures)


class Grouped(Mapping[Any, F], Generic[F]):
    """One estimate for each key of public columns: a mapping from keys, in the order in which they were listed.

    Parameters
    ----------
    names : tuple of str
        Names of the public columns.
    estimates : mapping
        The estimates. Keys of several columns are tuples.

    Notes
    -----
    Intervals that hold together do so within a key.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfast import RandomisedResponse
    >>> mechanism = RandomisedResponse(["no", "yes"], epsilon=3.0)
    >>> answers, year = np.array(["no", "no", "yes", "yes"]), np.array([2025, 2025, 2025, 2026])
    >>> by_year = mechanism.estimate(answers, by=year, keys=[2025, 2026])
    >>> by_year[2025].frequency.round(3).tolist()
    [0.684, 0.316]
    >>> by_year.to_arrow().column_names[:3]
    ['key', 'value', 'frequency']
    """

    def __init__(self, names: tuple[str, ...], estimates: Mapping[Any, F]) -> None:
        self.names = names
        self._estimates = dict(estimates)

    def __getitem__(self, key: Any) -> F:
        estimate: F = self._estimates[key]
        return estimate

    def __iter__(self) -> Iterator[Any]:
        return iter(self._estimates)

    def __len__(self) -> int:
        return len(self._estimates)

    def __repr__(self) -> str:
        parts = []
        for key, estimate in itertools.islice(self._estimates.items(), SHOWN):
            values = key if len(self.names) > 1 else (key,)
            title = ", ".join(f"{name} {printable(value)}" for name, value in zip(self.names, values, strict=True))
            parts.append(f"{title}\n{estimate!r}")
        more = [f"... and {len(self) - SHOWN} more keys"] if len(self) > SHOWN else []
        return "\n\n".join([*parts, *more])

    def to_arrow(self) -> pyarrow.Table:
        """Return one long table: the columns of the key, then those of each estimate.

        Returns
        -------
        pyarrow.Table

        Raises
        ------
        ArgumentTypeError
            If keys or categories have no common Arrow type.
        """
        keys = [key if len(self.names) > 1 else (key,) for key in self]
        return arrow_table(list(self.values()), {name: [key[i] for key in keys] for i, name in enumerate(self.names)})

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table of `to_arrow` as a data frame.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        MissingPackageError
            If pandas is not installed.
        ArgumentTypeError
            If keys or categories have no common Arrow type.
        """
        return _pandas(self.to_arrow())


def figures(fit: Fit, options: Options) -> dict[str, Any]:
    """Return what a fit and its options say, by the names of `Figures`; all but the values."""
    return {
        "frequency": fit.frequency,
        "count": fit.count,
        "standard_error": fit.standard_error,
        "interval": fit.interval,
        "confidence": float(options.confidence),
        "method": options.method,
        "population": bool(options.population),
        "simultaneous": bool(options.simultaneous),
        "interval_method": fit.interval_method,
        "condition": fit.condition,
        "iterations": fit.iterations,
        "converged": fit.status != "unconverged",
    }


def arrow_table(estimates: Sequence[Figures], keys: Mapping[str, Sequence[Any]]) -> pyarrow.Table:
    """Return estimates below one another, each with its entry of the key columns."""
    import pyarrow

    first = estimates[0]
    cells = first.frequency.size
    columns: dict[str, Any] = {name: [value for value in values for _ in range(cells)] for name, values in keys.items()}
    labels = {
        name: list(values) * len(estimates) for name, values in zip(first.heads, zip(*first.labels(), strict=True), strict=True)
    }
    clashing = (set(columns) & set(labels)) | ((set(columns) | set(labels)) & set(_NUMBERS))
    if clashing:
        raise ArgumentTypeError(f"the table would have two columns named {', '.join(map(repr, sorted(clashing)))}; rename one")
    try:
        columns = {name: pyarrow.array(values) for name, values in (columns | labels).items()}
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        raise ArgumentTypeError("the categories have no common Arrow type") from None
    for name in _NUMBERS[:3]:
        columns[name] = np.concatenate([getattr(one, name).ravel() for one in estimates])
    for end, name in enumerate(_NUMBERS[3:]):
        columns[name] = np.concatenate([one.interval[..., end].ravel() for one in estimates])
    return pyarrow.table(columns)


_NUMBERS: Final = ("frequency", "count", "standard_error", "lower", "upper")


def _pandas(table: pyarrow.Table) -> pandas.DataFrame:
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise MissingPackageError('to_pandas needs pandas: pip install "dpfast[pandas]"') from error
    return table.to_pandas(integer_object_nulls=True)
