"""The draw of a quantile from the window of the sorted data around its rank; the law is that of all n + 1 levels.

Precondition: a window that holds every grid point whose distance d is at most K; the weights w_0 >= w_1 >= ... of distances.
One round: a grid point from the weights w_min(d, K + 1). A point with d <= K is the answer. Of any other one the exact distance
is counted in the data, and it is accepted with probability w_d / w_(K+1). A round therefore gives x with probability
w_d(x) / G, G being the sum of w_min(d, K + 1), whatever x. If the point is rejected a whole new round begins, with other words;
after `ROUNDS` of them all values are sorted and the point is drawn from the weights of the exact distances. Postcondition: x has
probability w_d(x) / sum of w_d; the same for every K and every number of rounds.

K is public: the least for which a point is rejected with probability at most e^-14, if some point has distance 0.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from dpfast._core import quantile as core
from dpfast._threads import run_parts
from dpfast.duff._select import Window
from dpfast.duff.weights import CAP, Weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["ROUNDS", "Blocks", "Law", "Question", "Recourse", "draw_point", "draw_points"]

ROUNDS: Final = 3
TASK_DRAWS: Final = 1 << 13
SLACK: Final = 14  # a point is rejected with probability at most e^-14
LN2: Final = Fraction(710, 1024)  # above ln 2; a rational, so that K is the same on every machine


class Blocks(Protocol):
    """Random words of the draws of a call, two at a time: `words.DrawWords`, or any other to enumerate."""

    def blocks(self, draws: NDArray[np.int64], part: int) -> NDArray[np.uint64]:
        """The two words of part 1, 2, ... of each draw, shape (draws, 2)."""


class Question(NamedTuple):
    """What is asked, all of it public: q = top / bottom, the points of the grid, epsilon, and whether n is fixed."""

    top: int
    bottom: int
    points: int
    epsilon: Fraction
    fixed: bool

    @property
    def cap(self) -> int:
        """K + 1, see the head of this module."""
        if self.epsilon == 0:
            return CAP
        near = 2 / self.epsilon * (self.points.bit_length() * LN2 + SLACK)
        return min(math.ceil(near) + 1, CAP)

    def law(self, weights: Weights, cap: int) -> Law:
        """The law that takes distances of `cap` and more for one."""
        table = weights.table(cap)
        kernel = core.QuantileLaw(table, self.top, self.bottom, self.points, self.fixed)
        # a table that ends before the cap has come to rest: all weights beyond are equal, and nothing is ever rejected
        return Law(self, kernel, weights, table.size - 1, table.size <= cap)

    def law_of_groups(self, weights: Weights, sizes: NDArray[Any]) -> Law:
        """The law of groups with so many values, the same for all of them."""
        return self.law(weights, min(self.cap, int(sizes.max(initial=0)) + 3))

    def places(self, n: int, cap: int) -> tuple[int, int]:
        """Places of the sorted values, from the first to the one after the last, that grid points closer than `cap` depend on."""
        top, bottom = self.top, self.bottom
        if self.fixed:
            rank = max(1, -(-top * n // bottom))
            first, last = rank - cap, rank + cap - 1
        else:
            cap += top == 0  # see `dpf_quantile_distance`
            most = max(top, bottom - top)
            first, last = (top * n - most * cap) // bottom, -(-(top * n + most * (cap - 1)) // bottom)
        first = min(max(first, 0), n)
        return first, min(max(last, first), n)


class Law(NamedTuple):
    """Integer weights of a question's distances up to a cap."""

    question: Question
    kernel: core.QuantileLaw
    weights: Weights
    cap: int
    is_exact: bool

    def places(self, n: int) -> tuple[int, int]:
        return self.question.places(n, self.cap)

    def places_of_groups(self, sizes: NDArray[Any]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """The places of each group, by its number of values."""
        different, where = np.unique(sizes, return_inverse=True)
        ends = np.array([self.places(int(n)) for n in different.tolist()], np.uint64).reshape(-1, 2)
        return np.ascontiguousarray(ends[where, 0]), np.ascontiguousarray(ends[where, 1])


class Recourse(NamedTuple):
    """What a draw may ask of all the data, rarely: counts at a grid point (below it, on it, all); the exact law, and all data."""

    count_at: Callable[[int], tuple[int, int, int]]
    everything: Callable[[], tuple[Law, Window]]


def windows_of(windows: list[Window]) -> core.Windows:
    """Windows for the kernel."""
    found = core.Windows(len(windows))
    for place, window in enumerate(windows):
        found.put(place, window.points, window.upto, window.below, window.n)
    return found


class _Words:
    """The blocks of one draw, in order."""

    def __init__(self, blocks: Blocks, draw: int, part: int) -> None:
        self._blocks, self._draw, self.part = blocks, np.array([draw]), part

    def next(self) -> NDArray[np.uint64]:
        self.part += 1
        return self._blocks.blocks(self._draw, self.part)

    def below(self, bound: int) -> int:
        """A uniform integer below `bound`, at most 2^64."""
        mask = (1 << (bound - 1).bit_length()) - 1
        while True:
            number = int(self.next()[0, 0]) & mask
            if number < bound:
                return number


def draw_points(
    law: Law, windows: core.Windows, blocks: Blocks, recourse: Callable[[int], Recourse], threads: int | None = None
) -> NDArray[np.int64]:
    """Draw the answers to one question on many data sets: of data set i by draw number i, as `draw_point` does."""
    points, parts = np.empty(windows.size, np.int64), np.empty(windows.size, np.int64)
    totals = np.empty((windows.size, 2), np.uint64)
    run_parts(lambda start, stop: law.kernel.totals(windows, totals, start, stop), windows.size, TASK_DRAWS, threads)

    def attempt(which: NDArray[np.int64], words: NDArray[np.uint64], states: NDArray[np.uint8], start: int, stop: int) -> None:
        some = slice(start, stop)
        law.kernel.draw(windows, totals, which[some], words[some], points, states[some])

    waiting = np.arange(windows.size)
    far: list[NDArray[np.int64]] = []
    part = 0
    while waiting.size:
        part += 1
        words = blocks.blocks(waiting, part)
        states = np.empty(waiting.size, np.uint8)

        run_parts(partial(attempt, waiting, words, states), waiting.size, TASK_DRAWS, threads)
        far.append(waiting[states == core.FAR])
        parts[far[-1]] = part
        waiting = waiting[states == core.AGAIN]
    for place in () if law.is_exact else np.concatenate([np.empty(0, np.int64), *far]).tolist():
        window = _window_at(windows, place)
        words_left = _Words(blocks, place, int(parts[place]))
        points[place] = _finish(law, window, words_left, recourse(place), int(points[place]))
    return points


def _window_at(windows: core.Windows, place: int) -> Window:
    points, upto, below, n = windows.window(place)
    return Window(np.array(points, np.int64), np.array(upto, np.uint64), below, n)


def draw_from(law: Law, window: Window, words: _Words) -> tuple[int, bool]:
    """One draw from the weights of a law, and whether the distance of the point is at least the cap."""
    windows = windows_of([window])
    totals, points, states = np.empty((1, 2), np.uint64), np.empty(1, np.int64), np.empty(1, np.uint8)
    law.kernel.totals(windows, totals, 0, 1)
    while True:
        law.kernel.draw(windows, totals, np.zeros(1, np.int64), words.next(), points, states)
        if states[0] != core.AGAIN:
            return int(points[0]), bool(states[0] == core.FAR)


def draw_point(law: Law, window: Window, blocks: Blocks, draw: int, recourse: Recourse) -> int:
    """Draw the answer to one question: draw number `draw` of the blocks."""
    return _finish(law, window, _Words(blocks, draw, 0), recourse, None)


def _finish(law: Law, window: Window, words: _Words, recourse: Recourse, far: int | None) -> int:
    """Rounds, of which the first may have given the point `far` already, and then the exact law."""
    for _ in range(ROUNDS):
        if far is None:
            point, is_far = draw_from(law, window, words)
            if not is_far or law.is_exact:
                return point
            far = point
        less, equal, n = recourse.count_at(far)
        exact = law.weights.of(np.array([law.kernel.distance(n, less, equal)]))
        if words.below(law.kernel.weight(law.cap)) < int(exact[0]):
            return far
        far = None
    return draw_from(*recourse.everything(), words)[0]
