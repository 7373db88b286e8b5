"""Laws of edges that a user wrote: what they must be, checked before use, and the search by them, in Python or compiled.

A search works on *words* that only rise: Pr[answer 1] where that is bounded from above; for bounds from below Pr[answer 2] by the
same function (a law that treats both answers alike), or minus Pr[answer 1] by minus `lower`. One heap serves all three.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np

from dpfast._numba import check_function, first_lines, need_numba
from dpfast.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Law", "law"]

Function = Callable[[float, float, float], float]
Pair = tuple[float, float]

GRID: Final = np.unique(
    np.concatenate([np.linspace(0.0, 1.0, 129), 2.0 ** -np.arange(8, 60, 4), 1.0 - 2.0 ** -np.arange(8, 52, 4)])
)
PAIRS: Final = 24  # laws of a graph that are checked: the extremes and some between
ROUNDING: Final = 2.0**-40  # by which the two halves of a pair, or Python and compiled code, may differ
PIECE: Final = 1 << 16  # vertices that the compiled search settles between two looks at the keyboard


class Law:
    """An edge law of your own: which p(v) a neighbour's p(u) allows. Give it to `DatasetGraph.with_law`.

    Parameters
    ----------
    upper : callable
        ``upper(x, epsilon, delta)``: the largest Pr[answer 1] next to x, from x to 1, never less for a larger x, epsilon or
        delta. A plain Python function of three numbers that returns one; epsilon and delta are those of the edge and mean what it
        makes of them.
    lower : callable, optional
        ``lower(y, epsilon, delta)``: the smallest next to y, so that y <= upper(x) just where lower(y) <= x (a Galois pair).
        By default 1 - upper(1 - y): a law that treats both answers alike.
    compiled : bool, default False
        Whether numba compiles both, and the search with them. `dpfast.kernels.law` is the decorator for that.

    Attributes
    ----------
    upper, lower : callable
        As they were written; lower None if it was not given.
    compiled : bool

    Raises
    ------
    ArgumentTypeError, ArgumentError, MissingPackageError

    Notes
    -----
    **Privacy guarantee.** What your law means. An edge holds if p(v) <= upper(p(u)), or, the same by the Galois pair,
    lower(p(v)) <= p(u). Functions are taken at their word as functions of doubles: round upper down and lower up, or leave
    out what rounding may add.
    **Checks.** Before a graph takes a law it is evaluated on a grid for epsilons and deltas of its edges: monotone,
    upper(x) >= x, a Galois pair, the same compiled as in Python. Every further value is checked for its range when it is used.

    References
    ----------
    .. [1] Suitable pairs: arXiv 2310.20486.

    Examples
    --------
    >>> import math
    >>> from dpfast import graph
    >>> def total_variation(x, epsilon, delta):
    ...     return min(1.0, x + delta)
    >>> g = graph.DatasetGraph([0, 1], [1, 2], 0.0, 0.125).with_law(graph.Law(total_variation))
    >>> graph.upper(g, {0: 0.25}).probability.tolist()
    [0.25, 0.375, 0.5]
    """

    def __init__(self, upper: Function, lower: Function | None = None, *, compiled: bool = False) -> None:
        if not isinstance(compiled, bool):
            raise ArgumentTypeError("compiled is True or False")
        self.upper = _checked(upper, "upper")
        self.lower = None if lower is None else _checked(lower, "lower")
        self.compiled = compiled
        self._up = _Search(self.upper, "upper", compiled, falls=False)
        self._down = self._up if self.lower is None else _Search(self.lower, "lower", compiled, falls=True)

    def __call__(self, x: float, epsilon: float, delta: float = 0.0) -> float:
        return float(self.upper(x, epsilon, delta))

    def __repr__(self) -> str:
        names = ", ".join(function.__name__ for function in (self.upper, self.lower) if function is not None)
        return f"Law({names}{', compiled=True' if self.compiled else ''})"

    def check(self, epsilons: NDArray[np.float64], deltas: NDArray[np.float64]) -> None:
        """Check the law on a grid for some of the laws of edges; see Notes.

        Parameters
        ----------
        epsilons, deltas : ndarray of float64
            Of the edges.

        Returns
        -------
        None

        Raises
        ------
        ArgumentError, ArgumentTypeError
        """
        pairs = np.unique(epsilons + 1j * deltas if deltas.any() else epsilons).astype(np.complex128)
        chosen = pairs[np.unique(np.linspace(0, pairs.size - 1, min(PAIRS, pairs.size)).astype(np.int64))]
        before: tuple[Pair, NDArray[np.float64]] | None = None
        for epsilon, delta in zip(chosen.real.tolist(), chosen.imag.tolist(), strict=True):
            ups = self._table(epsilon, delta)
            # Parallel edges: a graph has kept the smaller (epsilon, delta) only.
            if before is not None and before[0][1] <= delta and (before[1] > ups).any():
                raise ArgumentError("upper must not fall where epsilon or delta rises: of parallel edges the smaller is kept")
            before = (epsilon, delta), ups

    def _table(self, epsilon: float, delta: float) -> NDArray[np.float64]:
        """Values of upper on the grid, checked."""
        ups = self._up.values(GRID, epsilon, delta)
        if (np.diff(ups) < 0).any():
            raise ArgumentError(f"upper falls somewhere at epsilon {epsilon!r} and delta {delta!r}; it must be monotone")
        if self.lower is None:
            lows = 1.0 - self._up.values(1.0 - GRID, epsilon, delta)
        else:
            lows = -self._down.values(-GRID[::-1], epsilon, delta)[::-1]
            if (np.diff(lows) < 0).any():
                raise ArgumentError(f"lower falls somewhere at epsilon {epsilon!r} and delta {delta!r}; it must be monotone")
        # y <= U(x) must be L(y) <= x: where one holds clearly, the other must.
        x, y = GRID[:, np.newaxis], GRID[np.newaxis, :]
        allowed, clearly = y <= ups[:, np.newaxis] - ROUNDING, y > ups[:, np.newaxis] + ROUNDING
        if (allowed & (lows > x + ROUNDING)).any() or (clearly & (lows < x - ROUNDING)).any():
            other = "1 - upper(1 - y), for want of a lower," if self.lower is None else "lower(y)"
            raise ArgumentError(
                f"upper and lower are no Galois pair at epsilon {epsilon!r} and delta {delta!r}: y <= upper(x) must hold just "
                f"where {other} is at most x"
            )
        return ups


@overload
def law(function: Function, *, lower: Function | None = None, compiled: bool = True) -> Law: ...
@overload
def law(function: None = None, *, lower: Function | None = None, compiled: bool = True) -> Callable[[Function], Law]: ...
def law(function: Function | None = None, *, lower: Function | None = None, compiled: bool = True) -> Any:
    """Make a function the law of the edges of a graph, compiled by numba.

    Parameters
    ----------
    function : callable
        ``upper(x, epsilon, delta)``; see `dpfast.graph.Law`.
    lower : callable, optional
        The other half of the pair, if it does not treat both answers alike.
    compiled : bool, default True
        Whether numba compiles them; otherwise Python calls them for each edge: slow, and the same answers.

    Returns
    -------
    Law
        For `DatasetGraph.with_law`; or a decorator, where the function is not given.

    Raises
    ------
    ArgumentTypeError, ArgumentError, MissingPackageError

    Notes
    -----
    Global variables that the function reads are those of the moment it is compiled. Arithmetic is numba's: 64-bit integers, IEEE
    doubles without reordering; a difference to Python on the grid is an error. **Cost.** Some seconds to compile, once; then
    a heap search, a fraction of a microsecond an edge.

    Examples
    --------
    >>> import math
    >>> from dpfast import graph, kernels
    >>> @kernels.law
    ... def gaussian_like(x, epsilon, delta):
    ...     return min(1.0, x + epsilon * math.sqrt(x * (1.0 - x)) / 4 if x < 0.5 else x + epsilon * (1.0 - x) / 4)
    >>> gaussian_like(0.25, 0.5)
    0.3041265877365274
    """
    if function is None:
        return lambda written: Law(written, lower, compiled=compiled)
    return Law(function, lower, compiled=compiled)


class _Search:
    """One half of a law, on words that rise."""

    def __init__(self, function: Function, name: str, compiled: bool, *, falls: bool) -> None:
        self.function = function
        self.name = name
        self.falls = falls
        self.top = 0.0 if falls else 1.0
        self._block: Any = None
        self._heap: Any = None
        if compiled:
            self._block, self._heap = _compiled(function, falls=falls)

    def step(self, word: float, epsilon: float, delta: float) -> float:
        """What a word allows a neighbour, by Python."""
        try:
            y = self.function(-word, epsilon, delta) if self.falls else self.function(word, epsilon, delta)
        except Exception as error:
            raise ArgumentError(f"the function {self.name} raised {type(error).__name__} at x = {abs(word)!r}") from error
        if isinstance(y, (bool, np.bool_)) or not isinstance(y, (int, float, np.integer, np.floating)):
            raise ArgumentTypeError(f"the function {self.name} must return a number, not {type(y).__name__}")
        found = -float(y) if self.falls else float(y)
        if not word <= found <= self.top:
            raise self._wrong(word, epsilon, delta, found)
        return found

    def values(self, words: NDArray[np.float64], epsilon: float, delta: float) -> NDArray[np.float64]:
        """Steps of several words by one law; compiled code is compared with Python."""
        found = np.array([self.step(word, epsilon, delta) for word in words.tolist()])
        if self._block is not None:
            compiled = self.steps(words, np.full(words.size, epsilon), np.full(words.size, delta))
            if (np.abs(compiled - found) > ROUNDING).any():
                raise ArgumentError(f"the function {self.name} gives other values compiled than in Python")
            return compiled
        return found

    def steps(
        self, words: NDArray[np.float64], epsilons: NDArray[np.float64], deltas: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Steps of words, each by its own law."""
        if self._block is None:
            rows = zip(words.tolist(), epsilons.tolist(), deltas.tolist(), strict=True)
            return np.array([self.step(*row) for row in rows], np.float64)
        out = np.empty(words.size)
        self._run(lambda: self._block(words, epsilons, deltas, out))
        bad = np.flatnonzero(~((out >= words) & (out <= self.top)))
        if bad.size:
            place = int(bad[0])
            raise self._wrong(*(float(column[place]) for column in (words, epsilons, deltas, out)))
        return out

    def close(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        epsilons: NDArray[np.float64],
        deltas: NDArray[np.float64],
        words: NDArray[np.float64],
        inside: NDArray[np.bool_],
    ) -> None:
        """Lower the words of the vertices inside to the least that paths inside allow."""
        if self._heap is None:
            self._close_in_python(indptr, indices, epsilons, deltas, words, inside)
            return
        seeds = np.flatnonzero(inside & (words < self.top))
        seeds = seeds[np.argsort(words[seeds], kind="stable")]  # an ascending list is a heap
        keys, vertices = np.empty(seeds.size + indices.size + 1), np.empty(seeds.size + indices.size + 1, np.int64)
        keys[: seeds.size], vertices[: seeds.size] = words[seeds], seeds
        state, wrong = np.array([seeds.size, 0, 0]), np.zeros(4)
        while state[0]:
            self._run(
                lambda: self._heap(
                    indptr, indices, epsilons, deltas, words, inside, keys, vertices, state, wrong, self.top, PIECE
                )
            )
            if state[1]:
                raise self._wrong(*wrong.tolist())

    def _close_in_python(self, indptr: Any, indices: Any, epsilons: Any, deltas: Any, words: Any, inside: Any) -> None:
        begins, targets, laws = indptr.tolist(), indices.tolist(), (epsilons.tolist(), deltas.tolist())
        heap = [(float(words[vertex]), int(vertex)) for vertex in np.flatnonzero(inside & (words < self.top))]
        heapq.heapify(heap)
        while heap:
            word, vertex = heapq.heappop(heap)
            if word > words[vertex]:
                continue
            for arc in range(begins[vertex], begins[vertex + 1]):
                target = targets[arc]
                # A step never falls below its argument: no need to ask where nothing can be gained.
                if inside[target] and words[target] > word:
                    found = self.step(word, laws[0][arc], laws[1][arc])
                    if found < words[target]:
                        words[target] = found
                        heapq.heappush(heap, (found, target))

    def _run(self, call: Callable[[], None]) -> None:
        """Call compiled code; an exception of the user's function becomes ours."""
        try:
            call()
        except KeyboardInterrupt:
            raise
        except Exception as error:
            if type(error).__module__.startswith("numba"):
                raise ArgumentError(f"the function {self.name} does not compile: {first_lines(error)}") from error
            raise ArgumentError(f"the function {self.name} raised {type(error).__name__}") from error

    def _wrong(self, word: float, epsilon: float, delta: float, found: float) -> ArgumentError:
        x, y = (-word, -found) if self.falls else (word, found)
        span = "0 to its argument" if self.falls else "its argument to 1"
        return ArgumentError(f"{self.name}({x!r}, {epsilon!r}, {delta!r}) is {y!r}; it must be a number from {span}")


def _checked(function: Any, name: str) -> Function:
    found = check_function(function, f"the function {name}")
    if found.__code__.co_argcount != 3:
        raise ArgumentTypeError(f"the function {name} takes three arguments: x, epsilon, delta")
    return found


def _compiled(function: Function, *, falls: bool) -> tuple[Any, Any]:
    """The steps of a block, and a heap search in pieces, both around the compiled function."""
    numba = need_numba("a compiled law")
    inner = numba.njit(function)
    try:
        inner.compile((numba.float64,) * 3)
        returned = inner.nopython_signatures[0].return_type
    except numba.core.errors.NumbaError as error:
        raise ArgumentError(f"the function {function.__name__} does not compile: {first_lines(error)}") from error
    if not isinstance(returned, (numba.types.Float, numba.types.Integer)):
        raise ArgumentTypeError(f"the function {function.__name__} must return a number, not {returned}")
    if falls:
        step = numba.njit(lambda word, epsilon, delta: -float(inner(-word, epsilon, delta)))
    else:
        step = numba.njit(lambda word, epsilon, delta: float(inner(word, epsilon, delta)))

    def block(words: Any, epsilons: Any, deltas: Any, out: Any) -> None:
        for i in range(words.size):
            out[i] = step(words[i], epsilons[i], deltas[i])

    def search(
        indptr: Any, indices: Any, epsilons: Any, deltas: Any, words: Any, inside: Any,
        keys: Any, vertices: Any, state: Any, wrong: Any, top: float, pops: int,
    ) -> None:  # fmt: skip
        size = state[0]
        while size > 0 and pops > 0:
            pops -= 1
            word, vertex = keys[0], vertices[0]
            size -= 1
            last, last_vertex, place = keys[size], vertices[size], 0
            while True:  # the last entry sinks from the root
                child = 2 * place + 1
                if child >= size:
                    break
                if child + 1 < size and keys[child + 1] < keys[child]:
                    child += 1
                if keys[child] >= last:
                    break
                keys[place], vertices[place] = keys[child], vertices[child]
                place = child
            keys[place], vertices[place] = last, last_vertex
            if word > words[vertex]:
                continue
            for arc in range(indptr[vertex], indptr[vertex + 1]):
                target = indices[arc]
                if not inside[target] or words[target] <= word:
                    continue
                found = step(word, epsilons[arc], deltas[arc])
                if not (word <= found <= top):
                    state[1] = 1
                    wrong[0], wrong[1], wrong[2], wrong[3] = word, epsilons[arc], deltas[arc], found
                    return
                if found < words[target]:
                    words[target] = found
                    place = size
                    size += 1
                    while place > 0 and keys[(place - 1) // 2] > found:  # the new entry rises
                        parent = (place - 1) // 2
                        keys[place], vertices[place] = keys[parent], vertices[parent]
                        place = parent
                    keys[place], vertices[place] = found, target
        state[0] = size

    return numba.njit(block), numba.njit(search)
