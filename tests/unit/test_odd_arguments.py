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
    Policy,
    Privacy,
    RandomisedResponse,
    optimal_response,
)
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
