"""Mechanisms that depend on public columns through a function of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfast._numba import check_function, first_lines, need_numba
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.stratified import Stratified

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast._spending import Charges
    from dpfast.mechanism import Mechanism
    from dpfast.randomness import Stream

__all__ = ["ComputedStrata", "response"]

_OUTSIDE = "the function gave a number that is none of a mechanism: it must return 0 .. {last}"


def response(mechanisms: Sequence[Mechanism], *, compiled: bool = True) -> Callable[[Callable[..., int]], ComputedStrata]:
    """Make a function of public values the choice of the mechanism that answers a row.

    Parameters
    ----------
    mechanisms : sequence of mechanisms
        All of one domain. The function returns the place of one of them.
    compiled : bool, default True
        Whether the function is compiled by numba; otherwise Python calls it for each row: slow, and the same answers.

    Returns
    -------
    decorator
        Takes the function, gives a `ComputedStrata`. The function gets one number for each public column and returns an integer.

    Raises
    ------
    ArgumentTypeError, PolicyError, MissingPackageError

    Notes
    -----
    **Privacy guarantee.** Neighbours: ``replace_one``, between tables that agree on the public columns the function reads. It
    never sees the column that is sanitised. Epsilon and delta are those of the worst mechanism, rounded up.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfast import RandomisedResponse, Stream, kernels
    >>> strict, loose = (RandomisedResponse([0, 1], epsilon=epsilon) for epsilon in (0.5, 2.0))
    >>> @kernels.response([strict, loose])
    ... def by_age(age):
    ...     return 0 if age < 18 else 1
    >>> by_age.epsilon_at()
    2.0
    >>> by_age.sanitise(np.array([0, 1, 1]), np.array([12, 40, 71]), rng=Stream.insecure(1)).tolist()
    [0, 1, 1]
    """
    if not isinstance(compiled, bool):
        raise ArgumentTypeError("response takes the mechanisms, and then the function: @kernels.response([first, second])")

    def decorate(function: Callable[..., int]) -> ComputedStrata:
        return ComputedStrata(mechanisms, function, compiled=compiled)

    return decorate


class ComputedStrata:
    """Answer a column by a mechanism that a function of public columns chooses row by row; made by `response`.

    Attributes
    ----------
    function : callable
        As it was written.
    stratified : Stratified
        The rule behind: mechanism i answers where the function returns i.
    """

    def __init__(self, mechanisms: Sequence[Mechanism], function: Callable[..., int], *, compiled: bool = True) -> None:
        if isinstance(mechanisms, str) or not isinstance(mechanisms, Sequence):
            raise ArgumentTypeError("mechanisms is a list: the function returns the place of one of them")
        self.function = check_function(function, "the function of public columns")
        self.stratified = Stratified(f"{function.__name__}()", dict(enumerate(mechanisms)))
        self._block = _compiled_block(self.function) if compiled else _python_block(self.function)
        self.__doc__ = function.__doc__ or type(self).__doc__

    def epsilon_at(self, delta: float = 0.0) -> float:
        """Return the epsilon of the worst mechanism at `delta`, rounded up."""
        return self.stratified.epsilon_at(delta)

    def delta_at(self, epsilon: float) -> float:
        """Return the delta of the worst mechanism at `epsilon`, rounded up."""
        return self.stratified.delta_at(epsilon)

    def strata(self, *public: NDArray[Any]) -> NDArray[np.int64]:
        """Return which mechanism answers each row.

        Parameters
        ----------
        *public : ndarray, shape (n_rows,)
            One for each argument of the function: numbers or booleans, without nulls.

        Returns
        -------
        ndarray of int64, shape (n_rows,)

        Raises
        ------
        ArgumentTypeError, ArgumentError
            Columns that do not fit, a function that does not compile, raises, or returns something else than 0 .. last.
        """
        columns = [_public(column) for column in public]
        wanted = self.function.__code__.co_argcount
        if len(columns) != wanted:
            raise ArgumentTypeError(f"the function reads {wanted} public columns; {len(columns)} were given")
        if len({column.size for column in columns}) != 1:
            raise ArgumentError("the public columns differ in length")
        numbers = np.full(columns[0].size, -1, np.int64)
        try:
            self._block(columns, numbers)
        except (ArgumentError, ArgumentTypeError):
            raise
        except Exception as error:
            raise ArgumentError(f"the function of public columns raised {type(error).__name__}; nothing was drawn") from error
        last = len(self.stratified.mechanisms) - 1
        if numbers.size and not (numbers.min() >= 0 and numbers.max() <= last):
            raise ArgumentError(_OUTSIDE.format(last=last))
        return numbers

    def sanitise(
        self,
        column: Any,
        *public: NDArray[Any],
        rng: Stream | None = None,
        ids: Any = None,
        column_name: str | tuple[str, ...] | None = None,
        threads: int | None = None,
        ledger: Charges | None = None,
    ) -> Any:
        """Randomise every row of a column by the mechanism that the function chooses for it.

        Parameters
        ----------
        column : ndarray, pyarrow Array or ChunkedArray, pandas or polars Series, shape (n_rows,)
            As for a mechanism.
        *public : ndarray, shape (n_rows,)
            One for each argument of the function, as for `strata`.
        rng, ids, column_name, threads, ledger
            As for a mechanism; a ledger is charged the worst one.

        Returns
        -------
        ndarray, pyarrow Array or ChunkedArray, pandas or polars Series, shape (n_rows,)
            As for a mechanism.

        Raises
        ------
        ArgumentTypeError, ArgumentError, IdError, LedgerError, OutsideDomainError
        """
        numbers = self.strata(*public)
        return self.stratified.sanitise(
            column, numbers, rng=rng, ids=ids, column_name=column_name, threads=threads, ledger=ledger
        )

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def __repr__(self) -> str:
        return f"ComputedStrata({self.function.__name__}, {list(self.stratified.mechanisms.values())!r})"


def _public(column: Any) -> NDArray[Any]:
    if not isinstance(column, np.ndarray) or column.ndim != 1 or column.dtype.kind not in "biuf":
        raise ArgumentTypeError("a public column for the function is a one-dimensional numpy array of numbers or booleans")
    return column


def _python_block(function: Callable[..., int]) -> Callable[[list[NDArray[Any]], NDArray[np.int64]], None]:
    def block(columns: list[NDArray[Any]], out: NDArray[np.int64]) -> None:
        for i, values in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            number = function(*values)
            if not isinstance(number, int | np.integer | np.bool_):
                raise ArgumentTypeError(f"the function must return an integer, not {type(number).__name__}")
            out[i] = number

    return block


def _compiled_block(function: Callable[..., int]) -> Callable[[list[NDArray[Any]], NDArray[np.int64]], None]:
    numba = need_numba("dpfast.kernels.response")
    loop = numba.vectorize(function)

    def block(columns: list[NDArray[Any]], out: NDArray[np.int64]) -> None:
        try:
            numbers = loop(*columns)
        except numba.core.errors.NumbaError as error:
            raise ArgumentError(f"the function of public columns does not compile: {first_lines(error)}") from error
        if numbers.dtype.kind not in "biu":
            raise ArgumentTypeError(f"the function must return an integer, not {numbers.dtype}")
        out[:] = numbers

    return block
