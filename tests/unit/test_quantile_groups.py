"""Quantiles by group: every declared group is answered, whatever the containers of keys; persons keep a few rows each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpfast
from dpfast import Domain, Stream, median, quantile
from dpfast.duff import groups
from dpfast.duff.groups import codes_of, domain_of_keys, keep_rows, people_of

RNG = np.random.default_rng(77)
N = 6000
VALUES = RNG.normal(size=N)
CODES = RNG.integers(0, 8, N)
TOWNS = np.array(["Athlone", "Bray", "Cork", "Dublin", "Ennis", "Fethard", "Galway", "Howth"])
KEYS = ["Cork", "Ennis", "Zagreb", "Athlone"]
REQUEST: dict[str, Any] = {"bounds": (-5, 5), "epsilon": 0.5}


def seed(number: int = 1) -> Stream:
    return Stream.insecure(number)


def test_every_container_of_keys_gives_one_answer() -> None:
    towns = TOWNS[CODES]
    wanted = median(VALUES, **REQUEST, by=towns, keys=KEYS, rng=seed())
    assert wanted.shape == (4,)
    assert wanted.dtype == np.float64
    arrow = pa.array(towns)
    for by in (
        towns.astype(object),
        towns.tolist(),
        arrow,
        pa.chunked_array([arrow[:10], arrow[10:]]),
        arrow.dictionary_encode(),
        pd.Series(towns),
        pd.Series(towns, dtype="category"),
        pl.Series(towns),
        pl.Series(towns).cast(pl.Categorical),
        (towns,),
    ):
        keys = [(key,) for key in KEYS] if isinstance(by, tuple) else KEYS
        assert (median(VALUES, **REQUEST, by=by, keys=keys, rng=seed()) == wanted).all()
    assert (median(VALUES, **REQUEST, by=towns, keys=Domain(KEYS, unknown="randomise"), rng=seed()) == wanted).all()
    assert (median(pa.array(VALUES), **REQUEST, by=towns, keys=KEYS, rng=seed(), threads=3) == wanted).all()


@pytest.mark.parametrize("keys", [list(range(8)), range(8), [7, 3, 500, -2], [0, 10**12], [3, None]])
def test_integer_keys_by_table_and_otherwise(keys: Any) -> None:
    domain = domain_of_keys(CODES, keys)
    places = {key: place for place, key in enumerate(keys)}
    wanted = [places.get(code, len(keys)) for code in CODES.tolist()]
    columns: list[Any] = [pa.array(CODES), pd.Series(CODES, dtype="Int64"), pl.Series(CODES), CODES.tolist()]
    if None not in keys:
        columns += [CODES, pd.Series(CODES), CODES[::-1].copy()[::-1]]
    if max(key or 0 for key in keys) < 1 << 31:
        columns += [pa.array(CODES.astype(np.int32)), pa.array(CODES.astype(np.int16))]
    for by in columns:
        assert codes_of(by, domain, None).tolist() == wanted
    assert codes_of(pa.array([None, 3, 99], pa.int64()), domain, None).tolist() == [
        places.get(key, len(keys)) for key in (None, 3, 99)
    ]


def test_groups_of_several_columns() -> None:
    other = (CODES % 2).astype(np.int64)
    keys = [("Cork", 0), ("Bray", 1), ("Bray", 0)]
    found = median(VALUES, bounds=(-5, 5), epsilon=50.0, by=(TOWNS[CODES], other), keys=keys)
    for place, (town, parity) in enumerate(keys):
        rows = VALUES[(TOWNS[CODES] == town) & (other == parity)]
        if rows.size:
            assert abs(found[place] - np.median(rows)) < 0.2
    with pytest.raises(dpfast.ArgumentTypeError, match="list of tuples"):
        median(VALUES, **REQUEST, by=(TOWNS[CODES], other), keys=["Cork"])
    with pytest.raises(TypeError, match="private data"):
        median(VALUES, **REQUEST, by=CODES, keys=np.arange(3))
    with pytest.raises(dpfast.DomainError):
        median(VALUES, **REQUEST, by=CODES, keys=[1, 1])


def test_answers_are_near_the_medians_and_every_key_has_one() -> None:
    found = median(VALUES, bounds=(-5, 5), epsilon=20.0, by=CODES, keys=[*range(8), 99])
    for code in range(8):
        assert abs(found[code] - np.median(VALUES[CODES == code])) < 0.05
    empty = [median(VALUES, bounds=(-5, 5), epsilon=20.0, by=CODES, keys=[99], rng=seed(number))[0] for number in range(40)]
    assert min(empty) < -2 < 2 < max(empty)  # uniform


@pytest.mark.parametrize("values", [RNG.integers(0, 100, N), RNG.integers(0, 100, N).astype("M8[D]"), RNG.random(N) < 0.3])
def test_types_of_answers(values: Any) -> None:
    bounds = (np.datetime64(0, "D"), np.datetime64(99, "D")) if values.dtype.kind == "M" else (0, 99)
    found = median(values, bounds=bounds, epsilon=9.0, by=CODES, keys=[0, 1])
    assert found.dtype == (values.dtype if values.dtype.kind == "M" else np.int64)
    assert median(values, bounds=bounds, epsilon=9.0, person=np.arange(N)) == median(values, bounds=bounds, epsilon=900.0)


def test_nulls_in_groups_are_dropped_or_counted() -> None:
    values = pa.array([None if number % 3 else 7.0 for number in range(900)])
    by = np.arange(900) // 300
    request: dict[str, Any] = {"bounds": (0, 10), "step": 1, "epsilon": 60.0, "by": by, "keys": [0, 1, 2]}
    assert median(values, **request).tolist() == [7, 7, 7]
    holes = np.array(values.to_pylist(), float)
    for column in (values, holes, np.ma.masked_invalid(holes), pl.Series(values)):
        found = median(column, **request, neighbours="replace_one", public_groups=True, missing=4)
        assert found.tolist() == [4, 4, 4]


def test_a_large_group_is_looked_at_like_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = quantile(VALUES, 0.2, **REQUEST, by=CODES, keys=list(range(9)), rng=seed())
    monkeypatch.setattr(groups, "LARGE", 700)
    monkeypatch.setattr("dpfast.duff._select.SMALL", 100)
    assert (quantile(VALUES, 0.2, **REQUEST, by=CODES, keys=list(range(9)), rng=seed()) == wanted).all()


def test_many_groups_and_few_have_the_same_answers() -> None:
    # The first keys of a long list are other draws of the same groups; a group does not see the others.
    keys = list(range(5000))
    by = RNG.integers(0, 5000, N)
    every = quantile(VALUES, 0.5, bounds=(-5, 5), epsilon=400.0, by=by, keys=keys)
    sizes = np.bincount(by, minlength=5000)
    for key in np.flatnonzero(sizes > 2)[:50]:
        rows = np.sort(VALUES[by == key])
        assert abs(every[key] - rows[(rows.size - 1) // 2]) < 0.02


def test_grids_too_fine_for_32_bits() -> None:
    request: dict[str, Any] = {"epsilon": 1.0, "by": CODES, "keys": list(range(8)), "rng": None}
    wide = 1 << 40
    for step in (1, 3):
        request["rng"] = seed()
        found = median((VALUES * 1e9).astype(np.int64), bounds=(-wide, wide), step=step, **request)
        assert (found % step == 0).all()
        assert abs(found).max() < 3e9


def test_of_each_person_some_rows_are_kept() -> None:
    people = np.repeat(np.arange(300), 20)
    order = RNG.permutation(people.size)
    kept = keep_rows(*people_of(people[order]), 4, seed(), "v", bytes(32))
    assert (np.bincount(people[order][kept], minlength=300) == 4).all()
    again = keep_rows(*people_of(pa.array([f"p{number}" for number in people[order]])), 4, seed(), "v", bytes(32))
    assert (kept == again).all()
    other = keep_rows(*people_of(people[order]), 4, seed(2), "v", bytes(32))
    assert (kept != other).any()
    few = keep_rows(*people_of(np.array([5, 5, 9])), 4, seed(), "v", bytes(32))
    assert few.all()
    assert keep_rows(*people_of(np.empty(0, np.int64)), 1, seed(), "v", bytes(32)).size == 0


def test_rows_of_no_person_are_left_out() -> None:
    person = pa.array(["a", None, "b", None, "a", "a"])
    assert keep_rows(*people_of(person), 2, seed(), "v", bytes(32)).tolist().count(True) == 3
    assert not keep_rows(*people_of(person), 2, seed(), "v", bytes(32))[[1, 3]].any()
    doubled = pa.DictionaryArray.from_arrays([0, 1, 2, 0], ["a", "a", "b"])  # one person under two numbers
    assert keep_rows(*people_of(doubled), 1, seed(), "v", bytes(32)).tolist().count(True) == 2


def test_a_person_with_most_of_the_rows_no_longer_decides() -> None:
    values = np.concatenate([np.full(10_000, 90.0), np.arange(2000.0) % 50])
    people = np.concatenate([np.zeros(10_000, np.int64), np.arange(1, 2001)])
    assert median(values, bounds=(0, 100), epsilon=5.0) == 90
    assert median(values, bounds=(0, 100), epsilon=5.0, person=people) < 40
    found = median(values, bounds=(0, 100), epsilon=5.0, person=people, by=people % 2, keys=[0, 1], rows_per_person=2)
    assert (found < 40).all()
