"""Windows by counts: the answers of `dpfast.quantile` for rows that nobody holds, whatever the number of parts they lie in."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfast import Stream, quantile
from dpfast.duff import brackets
from dpfast.duff._request import Request, grid_of, terms_of
from dpfast.duff._select_draw import Question
from dpfast.duff.brackets import Bins, Ranges, bins_of, counted_answers, find_windows, most_passes
from dpfast.duff.selection import Asked
from dpfast.duff.weights import Weights
from dpfast.errors import CorruptDataError

KEYS = [3, 1, 7]  # of which 7 has no rows


class Parts:
    """Rows in parts, counted one part after another, as executors do."""

    def __init__(self, groups: Any, at: Any, parts: int = 3) -> None:
        self.parts = list(zip(np.array_split(groups, parts), np.array_split(at, parts), strict=True))
        self.passes = 0
        self.most = 0

    def __call__(self, ranges: Ranges) -> Bins:
        self.passes += 1
        sums: dict[tuple[int, int], int] = {}
        for groups, at in self.parts:
            for number, (group, first, last, width) in enumerate(zip(*ranges, strict=True)):
                inside = at[(groups == group) & (first <= at) & (at <= last)]
                for one, count in zip(*np.unique((inside - first) // width, return_counts=True), strict=True):
                    sums[number, int(one)] = sums.get((number, int(one)), 0) + int(count)
        self.most = max(self.most, len(sums))
        found = np.array([(*place, count) for place, count in reversed(sums.items())], np.int64).reshape(-1, 3)
        return Bins(*found.T)


def counted(
    values: Any,
    groups: Any,
    q: Any,
    rng: Stream,
    *,
    epsilon: float = 1.0,
    neighbours: Any = "add_remove",
    parts: int = 3,
    bounds: Any,
) -> tuple[list[Any], Parts]:
    """Answers for the groups KEYS by counts, and what counted."""
    asked = Asked.of(q, grid_of(values, bounds, None, neighbours, None), neighbours)
    terms = terms_of(Request(epsilon, neighbours, "g", KEYS, True, 1, None, None, rng, None, None))
    blocks = rng.draws(None, terms.digest(asked.digest), len(KEYS)).as_words()
    places = np.array([KEYS.index(group) if group in KEYS else -1 for group in groups.tolist()], np.int64)
    count = Parts(places, asked.numbers.cells.snap(values), parts)
    found = counted_answers(count, len(KEYS), asked.question(terms.share), Weights(terms.share), blocks)
    return asked.numbers.grid.values(found).tolist(), count


def in_memory(values: Any, groups: Any, q: Any, rng: Stream, **options: Any) -> list[Any]:
    options = {"epsilon": 1.0, **options}
    found: list[Any] = quantile(values, q, by=groups, keys=KEYS, public_groups=True, rng=rng, **options).tolist()
    return found


@pytest.mark.parametrize("bins", [1, 1 << 20])
@given(
    st.lists(st.tuples(st.integers(-20, 1 << 40), st.sampled_from([1, 3, 9])), max_size=60),
    st.sampled_from([0, Fraction(1, 3), 0.5, 0.999, 1]),
    st.sampled_from(["add_remove", "replace_one"]),
    st.sampled_from([0.01, 20.0, 900.0]),
    st.sampled_from([(0, 30), (-(1 << 41), 1 << 41)]),
    st.booleans(),
)
def test_counts_give_the_answers_of_rows_in_memory(
    bins: int, pairs: list[tuple[int, int]], q: Any, neighbours: Any, epsilon: float, bounds: Any, tied: bool
) -> None:
    values, groups = np.array(pairs, np.int64).reshape(-1, 2).T
    values = values % 40 if tied else values
    options: dict[str, Any] = {"bounds": bounds, "neighbours": neighbours, "epsilon": epsilon}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(brackets, "BINS", bins)
        patch.setattr(brackets, "BINS_LEAST", 2)
        found, count = counted(values, groups, q, Stream.insecure(5), parts=len(pairs) % 4 + 1, **options)
        assert count.passes <= most_passes(bounds[1] - bounds[0] + 1, len(KEYS))
    assert found == in_memory(values, groups, q, Stream.insecure(5), **options)


def test_what_comes_to_the_driver_is_bins_and_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brackets, "BINS", 48)
    rng = np.random.default_rng(3)
    values, groups = np.exp(rng.normal(8, 3, 30_000)).astype(np.int64), rng.choice([1, 3], 30_000)
    options: dict[str, Any] = {"bounds": (0, 1 << 50), "epsilon": 5.0}
    found, count = counted(values, groups, 0.9, Stream.insecure(2), **options)
    assert found == in_memory(values, groups, 0.9, Stream.insecure(2), **options)
    places = np.ptp(Question(9, 10, (1 << 50) + 1, Fraction(5), False).law(Weights(Fraction(5)), 30).places(30_000))
    assert count.most <= 2 * (2 * bins_of(3) + 2 * places)
    assert 3 < count.passes <= most_passes((1 << 50) + 1, 3) == 14


def test_a_point_far_out_is_settled_by_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Question, "cap", property(lambda self: 2))
    values, groups = np.arange(60) // 2, np.repeat([1, 3], 30)
    far = 0
    for seed in range(8):
        found, count = counted(values, groups, 0.5, Stream.insecure(seed), epsilon=0.1, bounds=(0, 40))
        assert found == in_memory(values, groups, 0.5, Stream.insecure(seed), epsilon=0.1, bounds=(0, 40))
        far += count.passes > 1
    assert far


@pytest.mark.parametrize("change", ["one more", "one less", "one moved", "another each time"])
def test_rows_that_change_between_passes_end_in_one_error(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    monkeypatch.setattr(brackets, "BINS", 1)
    rng = np.random.default_rng(4)
    values, at = np.zeros(4000, np.int64), rng.integers(0, 1 << 30, 4000)
    middle = int(np.sort(at)[2000])
    law = Question(1, 2, 1 << 30, Fraction(1), False)

    class Changing(Parts):
        def __call__(self, ranges: Ranges) -> Bins:
            found = super().__call__(ranges)
            if self.passes == 1:
                new = {
                    "one more": np.append(at, middle),
                    "one less": np.delete(at, np.flatnonzero(at == middle)[0]),
                    "one moved": np.where(at == middle, 0, at),
                    "another each time": at,
                }[change]
                self.parts = [(np.zeros(new.size, np.int64), new)]
            if change == "another each time":
                self.parts = [(values, rng.integers(0, 1 << 30, 4000))]
            return found

    count = Changing(values, at)
    with pytest.raises(CorruptDataError) as caught:
        find_windows(count, 1, 1 << 30, lambda sizes: law.law_of_groups(Weights(Fraction(1)), sizes))
    assert str(caught.value) == brackets.CHANGED
    assert count.passes == 2


def test_counts_that_do_not_change_end() -> None:
    """The control of the test above."""
    at = np.random.default_rng(4).integers(0, 1 << 30, 4000)
    law = Question(1, 2, 1 << 30, Fraction(1), False)
    windows, _ = find_windows(
        Parts(np.zeros(4000, np.int64), at), 1, 1 << 30, lambda sizes: law.law_of_groups(Weights(Fraction(1)), sizes)
    )
    assert windows.window(0)[3] == 4000
