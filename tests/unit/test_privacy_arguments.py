"""What the privacy functions accept and refuse, and what their refusals say."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpfast import _rounding, privacy
from dpfast._statement import check_delta, check_epsilon
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.privacy import Privacy

NOT_NUMBERS: list[Any] = [None, "1", b"1", True, np.True_, 1j, [1.0], np.array([1.0]), np.array(1.0), object()]
NAN: list[Any] = [math.nan, np.float32("nan"), np.float64("nan"), Decimal("NaN"), Decimal("sNaN")]
NEGATIVE: list[Any] = [-1, -0.5, -5e-324, -math.inf, np.float32(-1), np.int8(-1), Fraction(-1, 3), Decimal("-1e-400")]
INFINITE: list[Any] = [math.inf, np.float16("inf"), np.longdouble("inf"), Decimal("Infinity")]


@pytest.mark.parametrize("check", [check_epsilon, check_delta])
@pytest.mark.parametrize("value", NOT_NUMBERS, ids=lambda value: type(value).__name__)
def test_not_a_number_is_a_type_error(check: Callable[..., float], value: Any) -> None:
    with pytest.raises(ArgumentTypeError, match=r"^budget must be a real number, not \w+$"):
        check(value, "budget")


@pytest.mark.parametrize("check", [check_epsilon, check_delta])
@pytest.mark.parametrize("value", NAN, ids=repr)
def test_nan_is_refused(check: Callable[..., float], value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^budget must be a number, not NaN$"):
        check(value, "budget")


@pytest.mark.parametrize("check", [check_epsilon, check_delta])
@pytest.mark.parametrize("value", NEGATIVE, ids=repr)
def test_negative_is_refused(check: Callable[..., float], value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^budget must not be negative$"):
        check(value, "budget")


@pytest.mark.parametrize("value", INFINITE, ids=repr)
def test_infinite_epsilon_is_refused_with_a_hint(value: Any) -> None:
    with pytest.raises(ArgumentError, match=r'^epsilon must be finite; .* declare it "public" in a Policy$'):
        check_epsilon(value)


@pytest.mark.parametrize("value", [1, 1.0, 1.5, 7, math.inf, Fraction(1), Decimal(1), np.float32(1)], ids=repr)
def test_delta_of_one_and_more_is_refused(value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^delta must be at least 0 and below 1$"):
        check_delta(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, 0.0),
        (3, 3.0),
        (0.1, 0.1),
        (5e-324, 5e-324),
        (1e308, 1e308),
        (np.int64(2), 2.0),
        (np.uint8(255), 255.0),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.float64(0.1), 0.1),
        (np.longdouble("0.5"), 0.5),
        (Decimal("0.5"), 0.5),
        (Fraction(1, 2), 0.5),
        (2**53 + 1, 2.0**53),
        (10**400, 1.7976931348623157e308),
        (Fraction(1, 10**400), 0.0),
    ],
)
def test_epsilon_comes_back_as_a_float(value: Any, expected: float) -> None:
    result = check_epsilon(value)
    assert type(result) is float
    assert result == expected


def test_negative_zero_is_zero() -> None:
    assert math.copysign(1, check_epsilon(-0.0)) == 1
    assert math.copysign(1, check_delta(-0.0)) == 1


@pytest.mark.parametrize("value", [Fraction(1, 10), Fraction(1, 3), Decimal("0.1"), Decimal("0.7"), 1 - Fraction(1, 10**30)])
def test_numbers_between_doubles_are_rounded_down(value: Any) -> None:
    for check in (check_epsilon, check_delta):
        result = check(value)
        assert Fraction(result) < Fraction(value) < Fraction(math.nextafter(result, 2))


def test_a_user_type_without_exact_value_is_refused() -> None:
    class Odd:
        def __lt__(self, other: object) -> bool:
            return False

    numbers.Real.register(Odd)
    with pytest.raises(ArgumentTypeError, match=r"^epsilon must be a number that converts to a ratio of integers$"):
        check_epsilon(Odd())


@pytest.mark.parametrize(
    "call",
    [
        lambda: privacy.response_threshold(0, 1.0),
        lambda: privacy.response_threshold(-1, 1.0),
        lambda: privacy.response_threshold(2, -1.0),
        lambda: privacy.response_threshold(2, math.nan),
        lambda: privacy.response_threshold(2, 1.0, 1.0),
        lambda: privacy.response_is_uniform(0, 1),
        lambda: privacy.response_is_uniform(2, -1),
        lambda: privacy.response_epsilon(2, 2**64 + 1),
        lambda: privacy.response_epsilon(2, 1, -0.1),
        lambda: privacy.response_delta(2, 1, math.inf),
        lambda: _rounding.exp_bounds(1e7, 40),
        lambda: _rounding.exp_bounds(math.inf, 40),
        lambda: _rounding.exp_bounds(-1.0, 40),
        lambda: _rounding.exp_bounds(1.0, 1),
        lambda: _rounding.sum_up([1.0, -1.0]),
        lambda: _rounding.sum_up([math.nan]),
        lambda: _rounding.times_up(-1.0, 2),
        lambda: _rounding.times_up(1.0, -1),
        lambda: Privacy(-1.0),
        lambda: Privacy(1.0, 1.5),
        lambda: Privacy(1.0, math.inf),
        lambda: Privacy(1.0, neighbours="swap"),
        lambda: Privacy(1.0, rows_per_person=0),
    ],
)
def test_values_out_of_range_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ArgumentError):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: privacy.response_threshold(2.0, 1.0),  # type: ignore[arg-type]
        lambda: privacy.response_threshold(True, 1.0),
        lambda: privacy.response_threshold("2", 1.0),  # type: ignore[arg-type]
        lambda: privacy.response_epsilon(2, 1.0),  # type: ignore[arg-type]
        lambda: _rounding.exp_bounds(1.0, 40.0),  # type: ignore[arg-type]
        lambda: _rounding.times_up(1.0, 2.0),  # type: ignore[arg-type]
        lambda: _rounding.sum_up(["1"]),  # type: ignore[list-item]
        lambda: Privacy("1"),  # type: ignore[arg-type]
        lambda: Privacy(1.0, None),  # type: ignore[arg-type]
        lambda: Privacy(1.0, rows_per_person=1.0),  # type: ignore[arg-type]
    ],
)
def test_wrong_types_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ArgumentTypeError):
        call()


def test_numpy_integers_are_integers() -> None:
    k: Any = np.int8(100)
    t: Any = np.uint64(2**57)
    assert privacy.response_threshold(k, 1.0) == privacy.response_threshold(100, 1.0)
    assert privacy.response_is_uniform(k, t) is False
    assert privacy.response_delta(k, t, 0.0) == privacy.response_delta(100, 2**57, 0.0)
    assert privacy.response_delta(k, t, 0.5) == privacy.response_delta(100, 2**57, 0.5)
    assert privacy.response_epsilon(k, t) == privacy.response_epsilon(100, 2**57)
    assert _rounding.times_up(0.1, k) == _rounding.times_up(0.1, 100)


def test_privacy_is_a_value() -> None:
    two: Any = np.int64(2)
    assert Privacy(1.0, rows_per_person=2) == Privacy(1, 0, "replace_one", two)
    assert hash(Privacy(1.0)) == hash(Privacy(1))
    assert type(Privacy(1).epsilon) is float
    assert type(Privacy(1, rows_per_person=two).rows_per_person) is int
    assert Privacy(math.inf, 1.0).epsilon == math.inf
    with pytest.raises(AttributeError):
        Privacy(1.0).epsilon = 0.5  # type: ignore[misc]


def test_privacy_states_no_less_than_it_was_given() -> None:
    stated = Privacy(Fraction(1, 10), Fraction(1, 3))  # type: ignore[arg-type]
    assert Fraction(stated.epsilon) >= Fraction(1, 10)
    assert Fraction(stated.delta) >= Fraction(1, 3)
