"""Arguments that are plausible and wrong: refused by name, without warnings and without endless loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpfast import (
    ArgumentError,
    ArgumentTypeError,
    ExponentialResponse,
    InfeasibleError,
    Policy,
    Privacy,
    RandomisedResponse,
    Report,
    audit,
    duff,
    median,
    optimal_response,
    quantiles,
)
from dpfast.graph import DatasetGraph, boundary, extend
from dpfast.privacy import allocate

MECHANISM = RandomisedResponse(["a", "b"], epsilon=1.0)
RAGGED: Any = [1, [2]]
POLICY = Policy({"a": MECHANISM})


@pytest.mark.parametrize(
    "call",
    [
        lambda: MECHANISM.estimate_counts(RAGGED),
        lambda: MECHANISM.posterior(RAGGED),
        lambda: MECHANISM.estimate(np.array(["a", "b"]), weights=RAGGED),
        lambda: MECHANISM.expected_changes(np.array(1.0)),  # type: ignore[arg-type]
        lambda: MECHANISM.privacy_loss(np.array(1.0), 0),  # type: ignore[arg-type]
        lambda: Privacy(1.0, 0.0, "replace_one", np.array(1.0)),  # type: ignore[arg-type]
        lambda: allocate(None, epsilon=1.0),  # type: ignore[arg-type]
        lambda: allocate("12", epsilon=1.0),  # type: ignore[arg-type]
        lambda: Policy.load(None),  # type: ignore[arg-type]
        lambda: POLICY.estimate(None, None),  # type: ignore[arg-type]
        lambda: optimal_response(["a", "b"], loss="hamming", epsilon=1.0, objective="bayes", prior=[10**400, 1]),
    ],
)
def test_the_type_of_an_argument_is_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(ArgumentTypeError):
        call()


def test_a_number_of_categories_beyond_the_words_is_refused() -> None:
    objectives: tuple[Any, ...] = ("errors", "variance")
    for objective in objectives:
        with pytest.raises(ArgumentError, match="2\\*\\*64"):
            allocate([10**400, 3], epsilon=1.0, minimise=objective)


@pytest.mark.parametrize("distance", ["hamming", "ordinal"])
def test_the_least_epsilon_answers_uniformly(distance: str) -> None:
    mechanism = ExponentialResponse(["a", "b", "c"], distance=distance, epsilon=5e-324)
    assert mechanism.epsilon_at() == 0.0


@pytest.mark.parametrize("longest", ["secret", "a longer secret"])
def test_the_text_of_an_error_does_not_tell_the_longest_value(longest: str) -> None:
    numbers = RandomisedResponse([1, 2], epsilon=1.0)
    for column, name in ((np.array(["a", longest]), "str"), (np.array([b"a", longest.encode()]), "bytes")):
        with pytest.raises(ArgumentTypeError, match=f"has dtype {name},"):
            numbers.sanitise(column)


def test_lists_are_taken_where_they_declare_enough() -> None:
    grid = duff.Grid((0, 10), step=5)
    assert grid.snap([1, 4, 9]).tolist() == [0, 1, 2]
    assert duff.mode_levels(["a", "a"], domain=["a", "b"]).distance.tolist() == [0, 2]
    with pytest.raises(ArgumentTypeError, match=r"not list: make it one of these, as by numpy\.array"):
        MECHANISM.sanitise(["a", "b"])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: median([1, 2], bounds=None, epsilon=1.0), "bounds must be a pair"),
        (lambda: quantiles("12", [0.5], bounds=(0, 1), epsilon=1.0), "not str"),
        (lambda: median([1], by=[["x"], ["y"]], keys=[("x", "y")], bounds=(0, 1), epsilon=1.0), "tuple of columns"),
        (lambda: duff.Grid((0, 1)).value("a"), "index must be an integer"),  # type: ignore[arg-type]
        (lambda: duff.median_levels([1], bounds=(0, 1)).value(0.5), "index must be an integer"),  # type: ignore[arg-type]
        (lambda: duff.mode_levels(["a"], domain=np.array(["a"])), "write its categories down"),  # type: ignore[arg-type]
        (lambda: MECHANISM.domain.decode(np.array([0, 1]), like=np.array(["a"])), "as encode returns"),
        (lambda: DatasetGraph(["a"], ["b"], 1.0).from_csr([0, 1]), "from_csr takes"),
    ],
)
def test_an_error_says_what_to_give_instead(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=text):
        call()


def test_a_vertex_that_is_not_there_is_named_by_its_argument() -> None:
    graph = DatasetGraph(["a", "b"], ["b", "c"], 1.0)
    with pytest.raises(ArgumentError, match="query: no such vertex; see the labels"):
        boundary(graph, {"a": 2, "b": 2, "z": 1})
    with pytest.raises(InfeasibleError, match="a path of 1 edge allows"):
        extend(graph, [2, 1, 1], {"a": 0.1, "b": 0.9})


def test_what_holds_much_shows_little() -> None:
    report = audit.audit(MECHANISM)
    assert repr(report) == f"<dpfast.audit.AuditReport: {report}>"
    bounds = duff.error_law(duff.median_levels(range(9), bounds=(0, 9)), epsilon=1.0).bounds(beta=0.1)
    assert len(repr(bounds)) < 250
    assert "certificate" not in repr(Report(rows=1, files=1, seconds=0.0, privacy=Privacy(1.0), certificate={"k": 1}))
