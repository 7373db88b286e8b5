"""The figures of plans against the channels themselves: margins of joint mechanisms, alternatives, errors wanted."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpfast import Domain, Policy, Privacy, RandomisedResponse
from dpfast._policy_compare import alternatives, epsilon_for_error, plans_for_error
from dpfast._policy_figures import attributes, plan_column
from dpfast._policy_groups import Group
from dpfast.mechanism import Mechanism
from dpfast.stratified import Stratified

ROWS = 10_000


def response(values: Any, epsilon: float, delta: float = 0.0) -> RandomisedResponse:
    return RandomisedResponse(values, epsilon=epsilon, delta=delta)


class Foreign(Mechanism):
    """A mechanism of a kind that the plan does not know, which happens to be a randomised response."""

    def __init__(self, inner: RandomisedResponse) -> None:
        self.domain, self.matrix = inner.domain, inner.matrix
        self.inner = inner

    law = property(lambda self: self.inner.law)
    digest = property(lambda self: self.inner.digest)
    channel = property(lambda self: self.inner.channel)

    def epsilon_at(self, delta: float = 0.0) -> float:
        return self.inner.epsilon_at(delta)

    def delta_at(self, epsilon: float) -> float:
        return self.inner.delta_at(epsilon)

    def expected_changes(self, n_rows: int) -> float:
        return self.inner.expected_changes(n_rows)

    def certificate(self) -> dict[str, Any]:
        return {**self.inner.certificate(), "kind": "foreign"}


def margin(mechanism: RandomisedResponse, place: int) -> tuple[Fraction, list[list[Fraction]]]:
    """Share of equally frequent cells that change on one part, and the channel of cells to values of that part."""
    cells, table = list(mechanism.domain.values), mechanism.table
    values = list(mechanism.domain.parts[place].values)
    channel = [
        [
            sum((Fraction(table[i, x], 2**64) for x in range(len(cells)) if cells[x][place] == value), Fraction(0))
            for value in values
        ]
        for i in range(len(cells))
    ]
    stay = [channel[i][values.index(cell[place])] for i, cell in enumerate(cells)]
    return 1 - sum(stay, Fraction(0)) / len(cells), channel


ONLY = [("a", 0), ("a", 1), ("b", 2), ("c", 1), ("c", 2), ("c", 0)]


@pytest.mark.parametrize("only", [None, ONLY])
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 3.0])
def test_margins_of_a_joint_response(only: Any, epsilon: float) -> None:
    mechanism = response(Domain.product(["a", "b", "c"], range(4 if only is None else 3), only=only), epsilon)
    found = attributes(Group(("p", "q"), mechanism), ROWS)
    assert [plan.column for plan in found] == ["p", "q"]
    for place, plan in enumerate(found):
        changed, channel = margin(mechanism, place)
        assert plan.changed_share == pytest.approx(float(changed), rel=1e-12)
        if epsilon == 0.0:
            assert plan.standard_error == math.inf
            continue
        # a value no cell of which is true is answered with probability q; a true one with q + gap
        cells = [cell[place] for cell in mechanism.domain.values]
        values = list(mechanism.domain.parts[place].values)
        rows = [
            (channel[i][v], channel[cells.index(value)][v])
            for v, value in enumerate(values)
            for i in range(len(cells))
            if cells[i] != value
        ]
        errors = [math.sqrt(float(q * (1 - q)) / ROWS) / float(top - q) for q, top in rows]
        assert plan.standard_error == pytest.approx(min(errors), rel=1e-9)


def test_a_column_alone_is_its_own_margin() -> None:
    group = Group(("x",), response(range(5), 1.0))
    assert attributes(group, ROWS) == [plan_column(group, ROWS)]


def test_strata_show_the_worst() -> None:
    weak, strong = response(range(5), 3.0, 0.01), response(range(5), 0.5)
    plan = plan_column(Group(("x",), Stratified("by", {0: weak, 1: strong})), ROWS)
    both = [plan_column(Group(("x",), rule), ROWS) for rule in (weak, strong)]
    assert plan.epsilon == 3.0
    assert plan.delta == 0.01
    assert plan.epsilon_realised == max(weak.epsilon_at(0.01), strong.epsilon_at(0.01))
    assert plan.changed_share == pytest.approx(max(one.changed_share for one in both))
    assert plan.standard_error == max(one.standard_error for one in both)


def test_alternatives_spend_the_same_total() -> None:
    groups = [
        Group(("a",), response(["x", "y"], 0.5)),
        Group(("b", "c"), response(Domain.product(range(3), Domain(["u", "v"])), 2.5, 0.01)),
    ]
    total = Privacy(3.0, 0.01)
    policy, split, joint = alternatives(groups, total, ROWS)
    assert [way.name for way in (policy, split, joint)] == ["policy", "equal_split", "joint"]
    assert all((way.epsilon, way.delta) == (3.0, 0.01) for way in (policy, split, joint))
    assert [[column.column for column in way.columns] for way in (policy, split, joint)] == [["a", "b", "c"]] * 3
    assert [column.epsilon for column in split.columns] == [1.0, 1.0, 1.0]
    assert sum(Fraction(column.delta) for column in split.columns) <= Fraction(0.01)
    alone = response(Domain.product(["x", "y"], range(3), ["u", "v"]), 3.0, 0.01)
    # expected wrong cells a row, cell by cell
    cells, table = list(alone.domain.values), alone.table
    wrong = sum(
        Fraction(table[0, x], 2**64) * sum(left != right for left, right in zip(cells[0], cells[x], strict=True))
        for x in range(len(cells))
    )
    assert joint.changed_cells == pytest.approx(float(wrong), rel=1e-12)
    by_hand = sum((k - 1) * (1 - 0.01 / 3) / (math.e + k - 1) for k in (2, 3, 2))
    assert split.changed_cells == pytest.approx(by_hand, rel=1e-9)


def test_the_published_example_of_two_large_columns() -> None:
    # Two columns of 100 values, epsilon 4: 1.861 wrong cells a row when it is split equally.
    groups = [Group((name,), response(range(100), 2.0)) for name in "ab"]
    policy, split, joint = alternatives(groups, Privacy(4.0), None)
    assert split.changed_cells == policy.changed_cells == pytest.approx(1.861, abs=5e-4)
    p = 1 / (math.exp(4.0) + 100 * 100 - 1)
    assert joint.changed_cells == pytest.approx(2 * p * 99 * 100, rel=1e-9)
    assert math.isnan(joint.columns[0].standard_error)


def test_alternatives_that_do_not_exist_are_left_out() -> None:
    one = [Group(("a",), response(range(3), 1.0))]
    assert [way.name for way in alternatives(one, Privacy(1.0), None)] == ["policy"]
    large = [Group((name,), response(range(1 << 12), 1.0)) for name in "abc"]
    assert [way.name for way in alternatives(large, Privacy(3.0), None)] == ["policy", "equal_split"]
    random = [Group((name,), response(Domain(["x"], unknown="randomise"), 1.0)) for name in "ab"]
    assert len(alternatives(random, Privacy(2.0), None)) == 3


@pytest.mark.parametrize(
    ("k", "rows", "error", "delta"),
    [
        *itertools.product([2, 3, 17, 1000], [100, 10**6], [1e-4, 0.003, 0.2], [0.0, 0.05]),
        (2, 10**12, 1e-9, 0.0),
        (10**6, 10**4, 0.01, 0.0),
    ],
)
def test_epsilon_for_an_error_is_the_least(k: int, rows: int, error: float, delta: float) -> None:
    epsilon = epsilon_for_error(k, rows, error, delta)

    def reached(epsilon: float) -> float:
        return plan_column(Group(("x",), response(range(k), epsilon, delta)), rows).standard_error

    assert reached(epsilon) <= error
    if epsilon > 0:
        assert reached(epsilon * (1 - 1e-9)) > error


def test_errors_that_need_nothing_or_cannot_be_had() -> None:
    assert epsilon_for_error(1, 10, 0.01) == 0.0
    assert math.isinf(epsilon_for_error(2, 10, 1e-12))
    near = epsilon_for_error(2, 100, 1e-9)
    assert 36.0 < near < 37.0


def test_plans_for_an_error_follow_the_groups() -> None:
    groups = [
        Group(("a",), response(range(3), 1.0, 0.01)),
        Group(("b", "c"), response(Domain.product(["x", "y"], [0, 1]), 1.0)),
    ]
    first, second = plans_for_error(groups, ROWS, 0.01)
    assert first is not None
    assert second is not None
    assert (first.column, first.size, first.delta) == ("a", 3, 0.01)
    assert (second.column, second.size) == ("b, c", 4)
    assert max(first.standard_error, second.standard_error) <= 0.01
    assert plans_for_error(groups, 10, 1e-13) == [None, None]


class Revealing(Foreign):
    """A mechanism that lets some rows through: private with a delta only, and asked for none."""

    def epsilon_at(self, delta: float = 0.0) -> float:
        return 1.0 if delta >= 2.0**-10 else math.inf


def test_delta_goes_to_mechanisms_that_cannot_do_without() -> None:
    rules = {name: Revealing(response(range(3), 1.0)) for name in "ab"}
    policy = Policy({**rules, "c": response(range(3), 1.0, 2.0**-10)})
    assert policy.privacy().epsilon == math.inf
    for delta in (2.0**-9, 2.9 * 2.0**-10):  # what the columns asked for, and too little for all
        assert policy.privacy(delta).epsilon == math.inf
    for rows in (1, 3):
        stated = policy.privacy(rows * 2.0**-8, rows_per_person=rows)
        assert stated.epsilon <= rows * 3.0
        assert stated.delta <= rows * 2.0**-8
    assert math.isinf(float.fromhex(policy.certificate()["epsilon"]))
    # a delta above what was asked for is used up
    stated = Policy({"c": response(range(3), 1.0, 0.125)}).privacy(0.5)
    assert (stated.epsilon, stated.delta) == (response(range(3), 1.0, 0.125).epsilon_at(0.5), 0.5)


def test_other_mechanisms_are_planned_by_their_own_estimator() -> None:
    mechanism = response(range(4), 1.0)
    other = Foreign(mechanism)
    plan = plan_column(Group(("x",), other), ROWS)
    assert plan.changed_share == mechanism.expected_changes(1)
    reported = mechanism.estimate_counts(np.full(4, ROWS // 4)).standard_error
    assert plan.standard_error == pytest.approx(reported.min())
    assert plan.epsilon == plan.epsilon_realised == mechanism.epsilon_at()
    joint = Foreign(response(Domain.product(["a", "b"], [0, 1]), 1.0))
    assert all(math.isnan(column.changed_share) for column in attributes(Group(("x", "y"), joint), ROWS))


def test_a_delta_is_shared_out_among_the_rows_of_a_person() -> None:
    # more rows than are composed: what remains is the sum, each row at its share of delta
    mechanism, rows = response(range(3), 1.0), 10_001
    for delta in (0.5, 2.0**-10):
        stated = Policy({"c": mechanism}).privacy(delta, rows_per_person=rows).epsilon
        assert Fraction(stated) >= rows * Fraction(math.nextafter(mechanism.epsilon_at(delta / rows), 0.0))
        assert stated < rows
