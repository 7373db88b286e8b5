"""Mechanisms chosen by a function of public columns: compiled or not, the same strata and the same answers as `Stratified`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpfast import ArgumentError, ArgumentTypeError, Domain, PolicyError, RandomisedResponse, Stratified, Stream, kernels

STRICT, LOOSE = (RandomisedResponse(Domain.range(5), epsilon=epsilon) for epsilon in (0.5, 2.0))


def by_age(age: Any) -> int:
    return 0 if age < 18 else 1


def by_both(age: Any, member: Any) -> int:
    return 1 if age >= 18 and member else 0


def test_compiled_plain_and_stratified_give_the_same_answers() -> None:
    generator = np.random.default_rng(3)
    codes, age = generator.integers(0, 5, 5000), generator.integers(0, 90, 5000)
    named = Stratified("adult", {0: STRICT, 1: LOOSE})
    expected = named.sanitise(codes, (age >= 18).astype(int), rng=Stream.insecure(2))
    for compiled in (True, False):
        rule = kernels.response([STRICT, LOOSE], compiled=compiled)(by_age)
        assert np.array_equal(rule.sanitise(codes, age, rng=Stream.insecure(2)), expected)
        assert np.array_equal(rule.strata(age.astype(np.float32)), age >= 18)
    other = named.sanitise(codes, (age < 18).astype(int), rng=Stream.insecure(2))
    assert not np.array_equal(other, expected)


def test_several_public_columns_are_several_arguments() -> None:
    age, member = np.array([12, 40, 41]), np.array([True, True, False])
    for compiled in (True, False):
        assert kernels.response([STRICT, LOOSE], compiled=compiled)(by_both).strata(age, member).tolist() == [0, 1, 0]


def test_the_figures_are_those_of_the_worst_mechanism() -> None:
    rule = kernels.response([STRICT, LOOSE])(by_age)
    assert rule.epsilon_at() == LOOSE.epsilon_at()
    assert rule.delta_at(1.0) == LOOSE.delta_at(1.0)
    assert rule(17) == 0
    assert repr(rule).startswith("ComputedStrata(by_age, [RandomisedResponse(")


def test_permanent_noise_depends_on_the_id_and_not_on_the_order() -> None:
    rule = kernels.response([STRICT, LOOSE])(by_age)
    codes, age, ids = np.array([0, 1, 2, 3]), np.array([5, 30, 60, 9]), np.array([11, 12, 13, 14])
    arguments: dict[str, Any] = {"column_name": "status"}
    stream = Stream(key=bytes(32), context="members")
    first = rule.sanitise(codes, age, rng=stream, ids=ids, **arguments)
    second = rule.sanitise(codes[::-1].copy(), age[::-1].copy(), rng=stream, ids=ids[::-1].copy(), **arguments)
    assert np.array_equal(first, second[::-1])


def out_of_range(age: Any) -> int:
    return 2 if age > 50 else 0


def negative(age: Any) -> int:
    return -1 if age > 50 else 0


def fraction(age: Any) -> float:
    return age / 2


def raises(age: Any) -> int:
    if age > 50:
        raise ValueError("age")
    return 0


def unknown_name(age: Any) -> int:
    return int(nowhere(age))  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (out_of_range, ArgumentError, "must return 0 .. 1"),
        (negative, ArgumentError, "must return 0 .. 1"),
        (fraction, ArgumentTypeError, "must return an integer"),
        (raises, ArgumentError, "raised ValueError; nothing was drawn"),
        (unknown_name, ArgumentError, "does not compile|raised NameError"),
    ],
)
@pytest.mark.parametrize("compiled", [True, False])
def test_a_function_that_fails_is_an_error_and_no_other_law(function: Any, error: Any, text: str, compiled: bool) -> None:
    rule = kernels.response([STRICT, LOOSE], compiled=compiled)(function)
    with pytest.raises(error, match=text) as caught:
        rule.sanitise(np.zeros(3, np.int64), np.array([20, 51, 20]))
    assert "51" not in str(caught.value)


def test_an_empty_column_is_answered() -> None:
    for compiled in (True, False):
        rule = kernels.response([STRICT, LOOSE], compiled=compiled)(by_age)
        assert rule.sanitise(np.zeros(0, np.int64), np.zeros(0)).size == 0


def test_wrong_use_is_explained() -> None:
    with pytest.raises(ArgumentTypeError, match="a plain Python function, not int"):
        kernels.response([STRICT])(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="at least one argument"):
        kernels.response([STRICT])(lambda: 0)
    with pytest.raises(ArgumentTypeError, match="named arguments only"):
        kernels.response([STRICT])(lambda *ages: 0)
    with pytest.raises(ArgumentTypeError, match="the place of one of them"):
        kernels.response(STRICT)(by_age)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match=r"@kernels\.response"):
        kernels.response([STRICT], compiled=by_age)  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="share one domain"):
        kernels.response([STRICT, RandomisedResponse(["a"], epsilon=1.0)])(by_age)
    rule = kernels.response([STRICT, LOOSE])(by_age)
    with pytest.raises(ArgumentTypeError, match="reads 1 public columns; 2 were given"):
        rule.strata(np.zeros(2), np.zeros(2))
    with pytest.raises(ArgumentTypeError, match="numbers or booleans"):
        rule.strata(np.array(["child"]))
    with pytest.raises(ArgumentError, match="differ in length"):
        kernels.response([STRICT, LOOSE])(by_both).strata(np.zeros(2), np.zeros(3))
    with pytest.raises(ArgumentError, match="equally many rows"):
        rule.sanitise(np.zeros(3, np.int64), np.zeros(2))


def by_product(age: Any) -> int:
    return 0 if age * 10 > 300 else 1


def test_small_integers_do_not_overflow_in_python_either() -> None:
    ages = np.array([31, 3], np.uint8)
    for compiled in (True, False):
        assert kernels.response([STRICT, LOOSE], compiled=compiled)(by_product).strata(ages).tolist() == [0, 1]
