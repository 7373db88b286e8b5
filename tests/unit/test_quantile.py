"""`median` and `quantile`: every container gives one answer under one key; hostile data, refusals, what is spent."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpfast
from dpfast import Ledger, Privacy, Stream, median, quantile
from dpfast.duff import Grid, _chunks, _select, quantile_levels
from dpfast.duff._chunks import Memory, Source
from dpfast.duff._select import GridCells, all_values, count_at, find_window
from dpfast.duff._select_draw import Question

RNG = np.random.default_rng(31)
DAY = datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)


def seed(number: int = 1) -> Stream:
    return Stream.insecure(number)


class Again:
    """Chunks that can be asked for again and again."""

    def __init__(self, chunks: list[Any]) -> None:
        self.chunks = chunks

    def __iter__(self) -> Any:
        return iter(self.chunks)


def test_every_container_gives_one_answer(tmp_path: Path) -> None:
    values = RNG.normal(size=5000)
    np.save(tmp_path / "values.npy", values)
    wanted = median(values, bounds=(-5, 5), epsilon=0.1, rng=seed())
    assert isinstance(wanted, float)
    assert wanted != median(values, bounds=(-5, 5), epsilon=0.1, rng=seed(2))
    padded = pa.array([None, *values, None])
    for column in (
        np.append(values, [np.nan] * 100),
        np.ma.MaskedArray(np.append(values, 7.0), [False] * 5000 + [True]),
        values.astype(">f8"),
        np.repeat(values, 2)[::2],
        np.load(tmp_path / "values.npy", mmap_mode="r"),
        padded,
        pa.chunked_array([padded[:1], padded[1:4000], padded[4000:4000], padded[4000:]]),
        pd.Series(values, index=range(5, 5005)),
        pd.Series(padded.to_pylist(), dtype="Float64"),
        pd.Series(padded, dtype=pd.ArrowDtype(pa.float64())),
        pl.Series(padded),
        pl.concat([pl.Series(values[:7]), pl.Series(values[7:])], rechunk=False),
        Again([values[:100], pa.array(values[100:4000]), values[4000:]]),
        Again([values[:0], values]),
    ):
        assert median(column, bounds=(-5, 5), epsilon=0.1, rng=seed()) == wanted
    assert median(padded.dictionary_encode(), bounds=(-5, 5), epsilon=0.1, rng=seed()) == wanted


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"])
def test_every_width_gives_one_answer(dtype: str) -> None:
    values = RNG.integers(0, 100, 3000)
    wanted = quantile(values, 0.3, bounds=(-20, 300), step=1, epsilon=0.05, rng=seed())
    assert isinstance(wanted, int)
    for column in (values.astype(dtype), pa.array(values.astype(dtype))):
        assert quantile(column, 0.3, bounds=(-20, 300), step=1, epsilon=0.05, rng=seed()) == wanted


def test_integers_at_the_ends_of_their_type_do_not_wrap() -> None:
    assert median(np.array([32767, -1], np.int16), bounds=(-(1 << 15), (1 << 15) - 1), epsilon=100.0) == -1
    high = (1 << 64) - 3
    assert median(np.array([high] * 50, np.uint64), bounds=(1 << 63, (1 << 63) + 100), epsilon=10.0) == (1 << 63) + 100
    assert median([high] * 50, bounds=(high - 4, high + 2), epsilon=50.0) == high
    assert median(np.full(50, -128, np.int8), bounds=(-128, 127), epsilon=50.0) == -128
    assert median(np.full(50, 5, np.uint8), bounds=(-300, -200), epsilon=50.0) == -200
    assert median(np.full(50, 5, np.uint8), bounds=(300, 400), epsilon=50.0) == 300


def test_dates_and_times_come_back_as_such() -> None:
    days = [datetime.date(2020, 5, 5)] * 50 + [None]
    found = median(days, bounds=DAY, epsilon=50.0)
    assert found == np.datetime64("2020-05-05")
    times = np.array(["2020-05-05T01:02:03", "NaT"] * 40, "M8[s]")
    for column in (times, times.astype("M8[s]")[:40], pd.Series(times), pa.array(times), pl.Series(times.astype("M8[ms]"))):
        assert median(column, bounds=DAY, epsilon=50.0, step=datetime.timedelta(seconds=1)) == times[0]
    zoned = pd.Series([pd.Timestamp("2020-05-05 12:00", tz="Europe/Berlin")] * 50)
    assert median(zoned, bounds=DAY, epsilon=50.0, step=np.timedelta64(1, "h")) == np.datetime64("2020-05-05T10:00")
    waits = np.array([90] * 50, "m8[s]")
    assert median(waits, bounds=(datetime.timedelta(0), datetime.timedelta(hours=1)), epsilon=50.0) == np.timedelta64(90, "s")
    assert median([True, None] * 50, bounds=(0, 1), epsilon=50.0) == 1


def test_nulls_are_dropped_or_counted() -> None:
    values = np.array([10.0] * 40 + [np.nan] * 60)
    assert median(values, bounds=(0, 100), step=1, epsilon=50.0) == 10
    assert median(values, bounds=(0, 100), step=1, epsilon=50.0, neighbours="replace_one") == 0
    assert median(values, bounds=(0, 100), step=1, epsilon=50.0, neighbours="replace_one", missing=70) == 70
    absent = pa.nulls(100)
    assert median(absent, bounds=(0, 100), step=1, epsilon=50.0, neighbours="replace_one", missing=70) == 70
    assert 0 <= median(absent, bounds=(0, 100), step=1, epsilon=50.0) <= 100
    assert median([np.inf] * 60 + [-np.inf] * 20, bounds=(0, 100), step=1, epsilon=50.0) == 100


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("word", [0, (1 << 64) - 1])
def test_extreme_words_give_a_point_of_the_grid(n: int, word: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Words of zeros only, and of ones until the first attempt is over.
    from dpfast.words import DrawWords

    def blocks(self: Any, draws: Any, part: int) -> Any:
        return np.full((draws.size, 2), word if part == 1 else 0, np.uint64)

    monkeypatch.setattr(DrawWords, "blocks", blocks)
    for by in (None, np.zeros(n, np.int64)):
        keys = None if by is None else [0]
        found = median(np.arange(n, dtype=float), bounds=(0, 4), step=0.5, epsilon=1.0, by=by, keys=keys)
        assert 0 <= float(np.ravel(found)[0]) <= 4


def test_ties_of_any_number_are_answered() -> None:
    spike = np.concatenate([np.full(80_000, 65_000), RNG.integers(0, 500_000, 20_000)])
    for epsilon in (0.3, 0.5, 1.0):
        assert median(spike, bounds=(0, 500_000), epsilon=epsilon) == 65_000
    for rows in (1491, 1492):
        assert median([0] * rows + [1], bounds=(0, 1), epsilon=1.0) == 0
    assert median(np.full(200_000, 3.25), bounds=(0, 10), step=0.25, epsilon=1.0) == 3.25


def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_select, "SMALL", 8)
    monkeypatch.setattr(_select, "SAMPLE", 1024)  # that is 64 places of what is in memory
    monkeypatch.setattr(_select, "RUN", 4)
    monkeypatch.setattr(_select, "MARGINS", (1.0, 3.0, 9.0))


def check_window(values: np.ndarray[Any, Any], column: Any, grid: Grid, places: Any, missing: int | None) -> None:
    cells = GridCells(grid, values.dtype)
    snapped = grid.snap(values[values == values])
    if missing is not None:
        snapped = np.append(snapped, np.full(values.size - snapped.size, missing))
    window = find_window(column, cells, places, missing, None)
    first, last = places(snapped.size)
    assert window.n == snapped.size
    assert window.below <= first
    assert (int(window.upto[-1]) if window.upto.size else window.below) >= last
    assert window.below == (int((snapped < window.points[0]).sum()) if window.points.size else 0)
    assert window.upto.tolist() == [int((snapped <= point).sum()) for point in window.points]
    inside = snapped[(snapped >= window.points[0]) & (snapped <= window.points[-1])] if window.points.size else snapped[:0]
    assert window.points.tolist() == np.unique(inside).tolist()
    every = all_values(column, cells, missing)
    assert every.points.tolist() == np.unique(snapped).tolist()
    assert every.n == snapped.size
    for index in (0, grid.size // 2, grid.size - 1):
        counts = int((snapped < index).sum()), int((snapped == index).sum()), snapped.size
        assert count_at(column, cells, index, missing) == counts


@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "u1", "i2", "u8"])
def test_windows_hold_the_wanted_places(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small_pieces(monkeypatch)
    for number in range(60):
        n = int(RNG.choice([0, 1, 2, 5, 9, 20, 50, 300, 1000]))
        ties = float(RNG.choice([0, 0.5, 1]))
        if kind[0] == "f":
            values = np.where(RNG.random(n) < ties, RNG.choice([3.5, 7, np.inf, -np.inf], n), RNG.uniform(-5, 15, n)).astype(kind)
            values[RNG.random(n) < RNG.choice([0, 0, 0.5, 0.9, 1])] = np.nan
        else:
            values = np.where(RNG.random(n) < ties, 7, RNG.integers(0, 100, n)).astype(kind)
        steps: list[Any] = [1, 0.25, 0.1, 3, Fraction(1, 3)]
        grid = Grid([(-3, 12), (0, 10), (5, 30)][number % 3], step=steps[number % 5])
        q, fixed = Fraction([1, 1, 9, 10, 0][number % 5], [2, 10, 10, 10, 10][number % 5]), bool(number % 2)
        question = Question(q.numerator, q.denominator, grid.size, Fraction(1), fixed)
        cap = int(RNG.choice([0, 1, 5, 30]))
        missing = int(RNG.integers(grid.size)) if RNG.random() < 0.5 else None
        parts = [values[at : at + 40] for at in range(0, max(n, 1), 40)]
        for column in (Memory([values]), Memory(parts), Source(parts)):
            check_window(values, column, grid, lambda n, question=question, cap=cap: question.places(n, cap), missing)


HOSTILE = {
    "sorted": np.arange(200_000.0),
    "reversed": np.arange(200_000.0)[::-1],
    "organ pipes": np.concatenate([np.arange(100_000.0), np.arange(100_000.0)[::-1]]),
    "constant": np.full(200_000, 5.0),
    "two values": np.arange(200_000) % 2 * 1e5,
    "one needle": np.append(np.zeros(199_999), 7.0),
    "mostly nothing": np.append(np.full(199_000, np.nan), np.arange(1000.0)),
    "infinite": np.where(np.arange(200_000) % 3, np.inf, -np.inf),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_orders_end_and_answer_alike(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = HOSTILE[name]
    passes = 0
    scan = _select._pass

    def counted(*arguments: Any) -> Any:
        nonlocal passes
        passes += 1
        return scan(*arguments)

    monkeypatch.setattr(_select, "_pass", counted)
    request: dict[str, Any] = {"bounds": (0, 200_000), "step": 1, "epsilon": 0.5}
    found = [median(column, **request, rng=seed()) for column in (values, Again(np.array_split(values, 7)), np.sort(values))]
    assert len(set(found)) == 1
    assert passes <= 12
    # the sample looks only where it misleads: the margins widen until there are none
    monkeypatch.setattr(Memory, "sample", lambda self, size, run: (np.full(64, 1e5), 64, self.rows))
    assert median(values, **request, rng=seed()) == found[0]


def test_a_tie_at_the_cap_is_counted_in_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    small_pieces(monkeypatch)
    monkeypatch.setattr(Question, "cap", property(lambda self: 2))
    values = RNG.integers(0, 50, 2000).astype(float)
    groups = np.repeat(np.arange(20), 100)
    calls = 0

    def counted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        return count_at(*arguments)

    monkeypatch.setattr("dpfast.duff.selection.count_at", counted)
    monkeypatch.setattr("dpfast.duff.groups.count_at", counted)
    one = [median(values, bounds=(0, 49), step=1, epsilon=0.01, rng=seed(number)) for number in range(30)]
    alike = [median(values, bounds=(0, 49), step=1, epsilon=0.01, rng=seed(number), threads=2) for number in range(30)]
    assert one == alike
    assert calls > 30
    assert len(set(one)) > 5
    many = median(values, bounds=(0, 49), step=1, epsilon=0.01, by=groups, keys=list(range(20)), rng=seed())
    assert len(set(many.tolist())) > 3


@pytest.mark.parametrize("epsilon", [0, 1e-6, 1e-3, 1.0, 50.0, 1e3])
@pytest.mark.parametrize("n", [1, 2, 3, 17, 400, 2000])
def test_any_size_ties_and_epsilon_answer_on_the_grid(n: int, epsilon: float) -> None:
    for ties in (0.0, 0.5, 1.0):
        values = np.where(RNG.random(n) < ties, 1.0, RNG.uniform(0, 3, n))
        found = quantile(values, 0.9, bounds=(0, 3), step=0.125, epsilon=epsilon)
        assert 0 <= found <= 3
        assert (found / 0.125).is_integer()


def test_q_is_read_exactly() -> None:
    values = np.arange(1, 4)
    answers = {quantile(values, q, bounds=(0, 5), epsilon=200.0) for q in ((1, 3), Fraction(1, 3))}
    assert answers == {1}
    assert quantile(values, 0, bounds=(0, 5), epsilon=200.0) == 1
    assert quantile(values, 1.0, bounds=(0, 5), epsilon=200.0) == 3
    levels = quantile_levels(values, 0.9, bounds=(0, 5), neighbours="add_remove")
    assert levels.lower[levels.distance == 0].tolist() == [3]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"values": np.zeros((2, 2))}, "2 dimensions"),
    ({"values": iter([1])}, "only once"),
    ({"values": (number for number in range(3))}, "only once"),
    ({"values": pa.RecordBatchReader.from_batches(pa.schema([]), [])}, "only once"),
    ({"values": pa.table({"a": [1]})}, "not a table"),
    ({"values": pd.DataFrame({"a": [1]})}, "not a table"),
    ({"values": "abc"}, "not str"),
    ({"values": 5}, "not int"),
    ({"values": ["a", "b"]}, "must hold numbers"),
    ({"values": np.array(["a"])}, "no grid"),
    ({"values": [1, "b"]}, "must hold numbers"),
    ({"values": [[1], [2]]}, "nested"),
    ({"values": np.array([1j])}, "no grid"),
    ({"values": np.zeros(2, np.longdouble)}, "no grid"),
    ({"values": Again([])}, "no chunk"),
    ({"values": Again([np.zeros(1), np.zeros(1, np.int64)])}, "differ in type"),
    ({"bounds": (1, 0)}, "below the upper"),
    ({"bounds": None}, "never taken from the data"),
    ({"epsilon": math.inf}, "finite"),
    ({"epsilon": -1.0}, "negative"),
    ({"neighbours": "swap"}, "neighbours"),
    ({"method": "laplace"}, "method"),
    ({"missing": 3}, "replace_one"),
    ({"by": np.zeros(3)}, "go together"),
    ({"keys": [1]}, "go together"),
    ({"by": np.zeros(3, int), "keys": [0], "neighbours": "replace_one"}, "public_groups=True"),
    ({"by": np.zeros(2, int), "keys": [0]}, "differ in length"),
    ({"person": np.zeros(2, int)}, "differ in length"),
    ({"person": np.zeros(3)}, "identify"),
    ({"person": np.zeros((3, 1), int)}, "one column"),
    ({"person": np.zeros(3, int), "neighbours": "replace_one"}, "add_remove"),
    ({"rows_per_person": 0}, "at least 1"),
    ({"threads": 0}, "threads"),
    ({"rng": np.random.default_rng(1)}, "rng"),
    ({"rng": Stream(key=bytes(32), context="c")}, "column_name"),
    ({"q": 1.5}, "between 0 and 1"),
    ({"q": Fraction(1, 1 << 62)}, "digits"),
    ({"ledger": "ledger"}, "Ledger"),
]


@pytest.mark.parametrize(("change", "text"), REFUSED)
def test_what_is_wrong_is_refused(change: dict[str, Any], text: str) -> None:
    request: dict[str, Any] = {"values": np.arange(3), "q": 0.5, "bounds": (0, 5), "epsilon": 1.0} | change
    with pytest.raises((dpfast.ArgumentError, dpfast.ArgumentTypeError), match=text):
        quantile(request.pop("values"), request.pop("q"), **request)


def test_a_ledger_is_charged_what_the_call_spends(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger", cap=Privacy(3.0, 0.0, "add_remove"))
    values, groups = np.arange(100), np.arange(100) % 3
    median(values, bounds=(0, 99), epsilon=1.0, ledger=ledger)
    assert ledger.left().epsilon == 2.0
    median(values, bounds=(0, 99), epsilon=1.5, by=groups, keys=[0, 1, 2], ledger=ledger)
    assert ledger.left().epsilon == 0.5
    with pytest.raises(dpfast.LedgerError):
        median(values, bounds=(0, 99), epsilon=0.6, ledger=ledger)
    keyed = [Stream(key=bytes(32), context="a") for _ in range(2)]
    answers = [median(values, bounds=(0, 99), epsilon=0.5, column_name="v", rng=rng, ledger=ledger) for rng in keyed]
    assert answers[0] == answers[1]  # the same release, charged once
    with pytest.raises(dpfast.LedgerError):
        median(values, bounds=(0, 99), epsilon=0.5, ledger=Ledger(tmp_path / "other", cap=Privacy(3.0)))


def test_a_ledger_for_persons_with_several_rows(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger", cap=Privacy(8.0, 0.0, "add_remove", 4))
    values, people = np.arange(100), np.arange(100) % 30
    median(values, bounds=(0, 99), epsilon=1.0, rows_per_person=2, ledger=ledger)
    assert ledger.left().epsilon == 6.0
    median(values, bounds=(0, 99), epsilon=1.0, rows_per_person=2, person=people, ledger=ledger)
    assert ledger.left().epsilon == 5.0


@pytest.mark.parametrize("g", [1, 3, 7])
def test_rows_per_person_share_epsilon(g: int) -> None:
    values = np.arange(1000.0)
    request: dict[str, Any] = {"bounds": (0, 1000), "rng": None}
    for number in range(10):
        request["rng"] = seed(number)
        shared = median(values, epsilon=0.25, rows_per_person=g, **request)
        request["rng"] = seed(number)
        assert shared == median(values, epsilon=Fraction(1, 4 * g), **request)  # type: ignore[arg-type]


def test_threads_and_pieces_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpfast._threads.INLINE_ROWS", 1000)
    monkeypatch.setattr("dpfast._threads.TASK_ROWS", 5000)
    values = RNG.normal(size=100_000)
    wanted = quantile(values, 0.9, bounds=(-5, 5), epsilon=0.01, rng=seed(), threads=1)
    for pieces in (512, 1 << 17):
        monkeypatch.setattr(_chunks, "PIECE_ROWS", pieces)
        for threads in (2, 5):
            assert quantile(values, 0.9, bounds=(-5, 5), epsilon=0.01, rng=seed(), threads=threads) == wanted
