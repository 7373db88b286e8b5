"""Baselines as users call them: arguments, refusals, streams, ledgers, answers on the grid."""

from __future__ import annotations

import datetime
import inspect
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfast
from dpfast import ArgumentError, ArgumentTypeError, Ledger, LedgerError, Privacy, Stream, baselines

PURE = ["laplace", "smooth_cauchy", "smooth_student_t", "smooth_polyplace"]
APPROXIMATE = ["smooth_laplace", "smooth_laplace_lognormal", "propose_test_release"]
NAMES = [*PURE, *APPROXIMATE]
ROWS = np.random.default_rng(1).normal(size=2001)
COMMON: dict[str, Any] = {"bounds": (-10.0, 10.0), "epsilon": 1.0, "delta": 1e-6, "neighbours": "add_remove"}


def call(name: str, values: Any = ROWS, **changes: Any) -> Any:
    return getattr(baselines, name)(values, **(COMMON | changes))


def test_all_have_one_signature() -> None:
    own = {"smooth_student_t": {"degrees"}, "propose_test_release": {"tau"}}
    first = list(inspect.signature(baselines.laplace).parameters)
    for name in NAMES:
        parameters = inspect.signature(getattr(baselines, name)).parameters
        assert [one for one in parameters if one not in own.get(name, set())] == first
        assert all(one.kind is one.KEYWORD_ONLY for one in list(parameters.values())[1:])
    assert set(baselines.__all__) == {*NAMES, "smooth_sensitivity", "compare", "datasets"}
    assert dpfast.baselines is baselines


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("statistic", ["median", "mean"])
@pytest.mark.parametrize("name", NAMES)
def test_answers_lie_on_the_public_grid(name: str, statistic: str, neighbours: str) -> None:
    # with a step that is no power of two, and low bits that would show rounding of a double's own
    for seed in range(5):
        answer = call(name, statistic=statistic, neighbours=neighbours, step=0.1, epsilon=3.0, rng=Stream.insecure(seed))
        assert answer is None or answer in {i / 10 for i in range(-100, 101)}
    whole = call(name, [3, 4, 4, 5] * 100, bounds=(0, 9), statistic=statistic, neighbours=neighbours, calibration="exact")
    assert whole is None or isinstance(whole, int)


@pytest.mark.parametrize("name", NAMES)
def test_a_keyed_stream_repeats_and_calls_go_on(name: str) -> None:
    def stream() -> Stream:
        return Stream(key=bytes(32), context="one")

    first, second = stream(), stream()
    values = [call(name, rng=first, column_name="height", epsilon=2.0) for _ in range(4)]
    assert values == [call(name, rng=second, column_name="height", epsilon=2.0) for _ in range(4)]
    assert len(set(values)) > 1
    with pytest.raises(ArgumentTypeError, match="column_name"):
        call(name, rng=stream())


def test_no_two_laws_read_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    # the same key, context and column: only the digest keeps the noise of two laws apart
    seen: list[bytes] = []
    draws = Stream.draws

    def watched(stream: Stream, column: Any, digest: bytes, n_draws: int) -> Any:
        seen.append(digest)
        return draws(stream, column, digest, n_draws)

    monkeypatch.setattr(Stream, "draws", watched)
    changes: list[dict[str, Any]] = [
        {},
        {"epsilon": 2.0},
        {"calibration": "exact"},
        {"statistic": "mean"},
        {"neighbours": "replace_one"},
        {"bounds": (-10.0, 11.0)},
        {"step": 0.5},
    ]
    for name in NAMES:
        own = [{"delta": 1e-7}] if name in APPROXIMATE else []
        own += {"smooth_student_t": [{"degrees": 4}], "propose_test_release": [{"tau": 0.1}, {"tau": 0.2}]}.get(name, [])
        for change in changes + own:
            call(name, rng=Stream(key=bytes(32), context="one"), column_name="height", **change)
    assert len(seen) == len(set(seen)) == len(NAMES) * len(changes) + 6


@pytest.mark.parametrize("name", NAMES)
def test_few_rows_none_and_missing_ones(name: str) -> None:
    for rows in ([], [np.nan], [1.0], [1.0, 2.0], [50.0, -np.inf, None]):
        for statistic in ("median", "mean"):
            for neighbours in ("add_remove", "replace_one"):
                answer = call(name, rows, statistic=statistic, neighbours=neighbours, rng=Stream.insecure(1))
                assert answer is None or -10 <= answer <= 10


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"epsilon": 0.0}, ArgumentError, "above 0"),
        ({"epsilon": -1.0}, ArgumentError, "negative"),
        ({"epsilon": float("inf")}, ArgumentError, "finite"),
        ({"epsilon": "1"}, ArgumentTypeError, "real number"),
        ({"delta": 1.0}, ArgumentError, "below 1"),
        ({"delta": float("nan")}, ArgumentError, "NaN"),
        ({"statistic": "mode"}, ArgumentError, "median"),
        ({"calibration": "best"}, ArgumentError, "paper"),
        ({"neighbours": "swap"}, ArgumentError, "replace_one"),
        ({"bounds": (1, 1)}, ArgumentError, "below the upper"),
        ({"bounds": (0, 5), "step": 10}, ArgumentError, "smaller step"),
        ({"rng": np.random.default_rng(1)}, ArgumentTypeError, "Stream"),
        ({"ledger": 3}, ArgumentTypeError, "Ledger"),
    ],
)
def test_wrong_arguments_are_refused(changes: dict[str, Any], error: type[Exception], text: str) -> None:
    for name in NAMES:
        with pytest.raises(error, match=text):
            call(name, **changes)


def test_a_delta_is_asked_for_where_it_is_needed() -> None:
    for name in PURE:
        assert call(name, delta=0.0) is not None
    for name in APPROXIMATE:
        with pytest.raises(ArgumentError, match="delta above 0"):
            call(name, delta=0.0)
    with pytest.raises(ArgumentError, match="at most 1/2"):
        call("propose_test_release", delta=0.6)
    with pytest.raises(ArgumentError, match="tau"):
        call("propose_test_release", tau=0)
    for degrees in (0, 10**400):
        with pytest.raises(ArgumentError, match="degrees"):
            call("smooth_student_t", degrees=degrees)
    with pytest.raises(ArgumentError, match="not private"):
        call("smooth_laplace", epsilon=40.0, delta=0.5)


def test_ledgers_are_charged_first_and_pure_ones_spend_no_delta(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "spent", cap=Privacy(2.5, 1e-5, "add_remove"))
    call("smooth_polyplace", ledger=ledger)
    assert (ledger.entries()[-1].privacy.epsilon, ledger.entries()[-1].privacy.delta) == (1.0, 0.0)
    call("smooth_laplace", ledger=ledger)
    assert ledger.entries()[-1].privacy.delta == 1e-6
    with pytest.raises(LedgerError):
        call("laplace", ledger=ledger)


def test_persons_with_several_rows_are_charged_for_all_of_them(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "spent", cap=Privacy(20.0, 1e-2, "add_remove", 2))
    call("smooth_laplace", ledger=ledger)
    spent = ledger.entries()[-1].privacy
    assert spent.epsilon == 2.0
    assert 1e-6 * (1 + np.e) <= spent.delta <= 1e-6 * 2 * np.e * (1 + 1e-12)
    with pytest.raises(ArgumentError, match="promise nothing"):
        call("smooth_laplace", ledger=ledger, epsilon=9.0, delta=0.01)


def test_dates_are_answered_as_dates() -> None:
    days = np.datetime64("2020-01-01") + np.arange(1001)
    answer = baselines.smooth_polyplace(
        days, bounds=(datetime.date(2019, 1, 1), datetime.date(2025, 1, 1)), epsilon=8.0, neighbours="add_remove"
    )
    assert abs(answer - days[500]) < np.timedelta64(100, "D")


def test_a_large_epsilon_gives_the_truth_and_a_small_one_still_an_answer() -> None:
    truth = float(np.sort(ROWS)[1000])
    for name in ("smooth_cauchy", "smooth_student_t", "smooth_polyplace"):
        for calibration in ("paper", "exact"):
            assert call(name, epsilon=1e6, calibration=calibration) == pytest.approx(truth, abs=1e-4)
            assert -10 <= call(name, epsilon=1e-7, calibration=calibration) <= 10
            assert -10 <= call(name, epsilon=1e-7, calibration=calibration, neighbours="replace_one") <= 10


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"beta": -1.0}, ArgumentError, "negative"),
        ({"bounds": (2, 1)}, ArgumentError, "below the upper"),
        ({"bounds": 3}, ArgumentError, "pair"),
        ({"rank": 2}, ArgumentError, "replace_one"),
        ({"rank": 9, "neighbours": "replace_one"}, ArgumentError, "number of values"),
        ({"rank": 0, "neighbours": "replace_one"}, ArgumentError, "at least 1"),
        ({"neighbours": "x"}, ArgumentError, "neighbours"),
        ({"values": np.array(["2020-01-01"], "M8[D]")}, ArgumentError, "dates"),
    ],
)
def test_sensitivities_refuse_wrong_arguments(options: dict[str, Any], error: type[Exception], text: str) -> None:
    plain: dict[str, Any] = {"values": [1, 2, 3], "bounds": (0, 4), "beta": 0.1, "neighbours": "add_remove"}
    with pytest.raises(error, match=text):
        baselines.smooth_sensitivity(**(plain | options))


def test_numbers_beyond_doubles_are_clipped_and_integers_stay_exact() -> None:
    plain: dict[str, Any] = {"bounds": (0, 10), "beta": 0.1, "neighbours": "add_remove"}
    wanted = baselines.smooth_sensitivity([10, 1], **plain)
    for huge in (10**400, Decimal("1e400"), Fraction(10**400)):
        assert baselines.smooth_sensitivity([huge, 1], **plain) == wanted
        assert -10 <= call("laplace", [huge, None, Decimal("sNaN")]) <= 10
    assert baselines.smooth_sensitivity([Decimal("sNaN"), float("nan"), 10, 1], **plain) == wanted
    # nanoseconds of some year, a few apart: doubles are 256 apart there
    late = 1_750_000_000_000_000_000 + np.array([0, 3, 10, 11, 30])
    for neighbours, jump in (("add_remove", 7), ("replace_one", 7)):
        bounds = (0, 2_000_000_000_000_000_000)
        assert baselines.smooth_sensitivity(late, bounds=bounds, beta=60.0, neighbours=neighbours) == jump  # type: ignore[arg-type]
    assert baselines.smooth_sensitivity([1, 2, 3], bounds=(0, 10), beta=1e308, neighbours="replace_one") == 1.0


def test_long_columns_are_scanned_no_further_than_they_matter() -> None:
    rows = np.random.default_rng(2).normal(size=300_000)
    for neighbours in ("add_remove", "replace_one"):
        whole = baselines.smooth_sensitivity(rows, bounds=(-100, 100), beta=0.05, neighbours=neighbours)  # type: ignore[arg-type]
        middle = np.sort(rows)[149_999 - 3000 : 149_999 + 3001]
        part = baselines.smooth_sensitivity(middle, bounds=(-100, 100), beta=0.05, neighbours=neighbours)  # type: ignore[arg-type]
        assert 0.5 < whole / part < 2


def test_no_error_shows_a_value() -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        call("laplace", ["secret"])
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("calibration", ["paper", "exact"])
def test_extreme_budgets_are_answered_or_refused(name: str, calibration: str) -> None:
    for epsilon in (5e-324, 1e-20, 70.0, 1e300):
        for delta in (5e-324, 1e-6, 0.5):
            try:
                call(name, range(11), bounds=(0, 10), epsilon=epsilon, delta=delta, calibration=calibration)
            except ArgumentError as error:
                assert "private at this epsilon and delta" in str(error)  # noqa: PT017


def test_the_test_at_the_largest_delta_passes_half_the_time_next_to_none() -> None:
    answers = [call("propose_test_release", [5], bounds=(0, 10), delta=0.5, rng=Stream.insecure(seed)) for seed in range(40)]
    assert 8 <= sum(answer is None for answer in answers) <= 32


def test_bounds_that_are_no_doubles_are_refused() -> None:
    for changes in ({"bounds": (0, 10**400)}, {"beta": 10**400}, {"bounds": (-1.7e308, 1.7e308)}):
        with pytest.raises(ArgumentError, match="double"):
            baselines.smooth_sensitivity([1, 2], **({"bounds": (0, 10), "beta": 0.5, "neighbours": "add_remove"} | changes))
