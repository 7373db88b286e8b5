"""Windows by counts: the answers of `dpfast.quantile` for rows that nobody holds, whatever the number of parts they lie in."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfast import Stream, quantile
from dpfast.duff import _select_draw, brackets
from dpfast.duff._request import Request, grid_of, terms_of
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


def answers(values: Any, codes: Any, q: Any, neighbours: Any, epsilon: float, rng: Stream, parts: int = 3, **options: Any) -> Any:
    """By counts, of the groups that KEYS are."""
    asked = Asked.of(q, grid_of(values, options["bounds"], options.get("step"), neighbours, None), neighbours)
    request = Request(epsilon, neighbours, "g", KEYS, True, 1, None, None, rng, None, None)
    terms = terms_of(request)
    blocks = rng.draws(None, terms.digest(asked.digest), terms.n_groups).as_words()
    places = np.array([KEYS.index(code) if code in KEYS else -1 for code in codes.tolist()], np.int64)
    count = Parts(places, asked.numbers.cells.snap(values), parts)
    found = counted_answers(count, terms.n_groups, asked.question(terms.share), Weights(terms.share), blocks)
    assert count.passes <= most_passes(asked.numbers.grid.size, 3)
    return asked.numbers.grid.values(found)


@pytest.mark.parametrize("bins", [1, 1 << 20])
@given(
    st.lists(st.tuples(st.integers(-20, 1 << 40), st.sampled_from([1, 3, 9])), max_size=60),
    st.sampled_from([0, Fraction(1, 3), 0.5, 0.999, 1]),
    st.sampled_from(["add_remove", "replace_one"]),
    st.sampled_from([0.01, 1.0, 20.0]),
    st.sampled_from([(0, 30), (-(1 << 41), 1 << 41)]),
    st.booleans(),
)
def test_answers_are_those_of_rows_in_memory(
    bins: int, pairs: list[tuple[int, int]], q: Any, neighbours: Any, epsilon: float, bounds: Any, tied: bool
) -> None:
    values, groups = np.array(pairs, np.int64).reshape(-1, 2).T
    values = values % 40 if tied else values
    options: dict[str, Any] = {"bounds": bounds}
    want = quantile(
        values, q, epsilon=epsilon, neighbours=neighbours, by=groups, keys=KEYS, public_groups=True, rng=Stream.insecure(5), **options
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(brackets, "BINS", bins)
        patch.setattr(brackets, "BINS_LEAST", 2)
        found = answers(values, groups, q, neighbours, epsilon, Stream.insecure(5), parts=len(pairs) % 4 + 1, **options)
    assert found.tolist() == want.tolist()
