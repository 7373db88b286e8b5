"""Estimates by public keys and with public weights: what is counted, what variance is stated, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpfast import RandomisedResponse
from dpfast.errors import ArgumentError, ArgumentTypeError, OutsideDomainError
from dpfast.estimate import EstimateWarning, Grouped

MECHANISM = RandomisedResponse(["a", "b", "c"], epsilon=2.0)
RNG = np.random.default_rng(11)
ANSWERS = RNG.choice(["a", "b", "c"], 200_000, p=[0.5, 0.3, 0.2])
YEAR = RNG.integers(2020, 2024, ANSWERS.size)
TOWN = RNG.choice(["Bray", "Cork"], ANSWERS.size)


def test_each_key_has_the_estimate_of_its_rows() -> None:
    keys = [2023, 2020, 1999, 2021]  # not 2022, in another order, and one that no row has
    with pytest.warns(EstimateWarning, match="nothing") as caught:
        found = MECHANISM.estimate(ANSWERS, by=YEAR, keys=keys, population=False, confidence=0.9)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert isinstance(found, Grouped)
    assert list(found) == keys
    assert len(found) == 4
    for key in keys:
        if key != 1999:
            alone = MECHANISM.estimate(ANSWERS[key == YEAR], population=False, confidence=0.9)
            assert found[key].frequency.tolist() == alone.frequency.tolist()
            assert found[key].interval.tolist() == alone.interval.tolist()
    assert np.isnan(found[1999].frequency).all()


def test_several_public_columns() -> None:
    keys = [("Cork", 2021), ("Bray", 2022)]
    found = MECHANISM.estimate(pa.array(ANSWERS), by=(pa.array(TOWN), YEAR), keys=keys)
    for key in keys:
        alone = MECHANISM.estimate(ANSWERS[(key[0] == TOWN) & (key[1] == YEAR)])
        assert found[key].frequency.tolist() == alone.frequency.tolist()
    table = found.to_arrow()
    assert table.column_names[:4] == ["key_1", "key_2", "value", "frequency"]
    assert table["key_1"].to_pylist() == ["Cork"] * 3 + ["Bray"] * 3
    assert table["key_2"].to_pylist() == [2021] * 3 + [2022] * 3
    assert table["value"].to_pylist() == ["a", "b", "c"] * 2
    assert table["lower"].to_pylist() == np.concatenate([found[key].interval[:, 0] for key in keys]).tolist()


def test_null_is_a_key_where_it_is_listed() -> None:
    answers, by = pa.array(["a", "a", "b", "c"]), pa.array(["x", None, None, "y"])
    found = MECHANISM.estimate(answers, by=by, keys=["x", None])
    assert found[None].count.sum() == pytest.approx(2)
    assert found["x"].count.sum() == pytest.approx(1)


def test_a_grouped_estimate_prints_key_by_key() -> None:
    found = MECHANISM.estimate(ANSWERS, by=YEAR, keys=[2020, 2021])
    assert repr(found).splitlines()[0] == "key 2020"
    assert repr(found).count("frequency") == 2
    assert found.to_pandas()["key"].tolist() == [2020] * 3 + [2021] * 3


def test_equal_weights_change_nothing() -> None:
    plain = MECHANISM.estimate(ANSWERS)
    for population in (True, False):
        plain = MECHANISM.estimate(ANSWERS, population=population)
        weighted = MECHANISM.estimate(ANSWERS, weights=np.full(ANSWERS.size, 2.5), population=population)
        np.testing.assert_allclose(weighted.frequency, plain.frequency, atol=1e-12)
        np.testing.assert_allclose(weighted.standard_error, plain.standard_error, rtol=1e-9)
        np.testing.assert_allclose(weighted.interval, plain.interval, atol=1e-9)
        np.testing.assert_allclose(weighted.count, 2.5 * plain.count, rtol=1e-9)


def test_weights_of_zero_and_one_choose_rows() -> None:
    chosen = (YEAR == 2021).astype(int)
    weighted, alone = MECHANISM.estimate(ANSWERS, weights=chosen), MECHANISM.estimate(ANSWERS[YEAR == 2021])
    np.testing.assert_allclose(weighted.interval, alone.interval, atol=1e-9)
    by_key = MECHANISM.estimate(ANSWERS, weights=chosen, by=YEAR, keys=[2021])
    np.testing.assert_allclose(by_key[2021].standard_error, alone.standard_error, rtol=1e-9)


def test_the_error_of_weighted_shares_is_that_of_the_weighted_mean() -> None:
    # Straight from the definition: sum of w^2 (A[j, X] - pi_j)^2 / W^2, with weights that go with the answers.
    weights = np.where(ANSWERS == "a", 1.6, 1.0) * RNG.uniform(0.5, 1.5, ANSWERS.size)
    found = MECHANISM.estimate(ANSWERS, weights=weights)
    inverse = np.linalg.inv(MECHANISM.matrix.T)
    codes = np.searchsorted(["a", "b", "c"], ANSWERS)
    mean = (inverse[:, codes] * weights).sum(axis=1) / weights.sum()
    np.testing.assert_allclose(found.frequency, mean, atol=1e-11)
    deviations = (inverse[:, codes] - mean[:, None]) ** 2
    error = np.sqrt((deviations * weights**2).sum(axis=1)) / weights.sum()
    np.testing.assert_allclose(found.standard_error, error, rtol=1e-9)
    # The number of rows at which shares without weights would have these errors.
    half = np.diff(found.interval)[:, 0] / 2
    np.testing.assert_allclose(half, 1.959964 * error, rtol=1e-3)
    # The control: the weights' own mean square alone does not say it.
    kish = np.sqrt((inverse**2 @ np.bincount(codes, weights) / weights.sum() - mean**2) * (weights**2).sum()) / weights.sum()
    assert (abs(kish / error - 1) > 0.02).any()


@pytest.mark.parametrize("convert", [list, pd.Series, pa.array, lambda w: pa.chunked_array([w[:10], w[10:]])])
def test_weights_of_every_kind(convert: Any) -> None:
    weights = RNG.uniform(0, 1, 1000)
    found = MECHANISM.estimate(ANSWERS[:1000], weights=convert(weights))
    assert found.frequency.tolist() == MECHANISM.estimate(ANSWERS[:1000], weights=weights).frequency.tolist()


def test_weights_that_are_all_zero_say_nothing() -> None:
    with pytest.warns(EstimateWarning, match="nothing"):
        assert np.isnan(MECHANISM.estimate(ANSWERS, weights=np.zeros(ANSWERS.size)).frequency).all()


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"by": YEAR}, ArgumentTypeError, "keys="),
        ({"keys": [2020]}, ArgumentTypeError, "by="),
        ({"by": YEAR, "keys": []}, ArgumentTypeError, "keys="),
        ({"by": YEAR, "keys": np.array([2020])}, ArgumentTypeError, "write them down"),
        ({"by": YEAR, "keys": [2020, 2020]}, ArgumentError, "once"),
        ({"by": YEAR, "keys": ["2020"]}, ArgumentTypeError, "type"),
        ({"by": (YEAR, TOWN), "keys": [2020]}, ArgumentTypeError, "tuple of 2"),
        ({"by": (YEAR, TOWN[1:]), "keys": [(2020, "Cork")]}, ArgumentError, "as many rows"),
        ({"by": (), "keys": [()]}, ArgumentTypeError, "by="),
        ({"by": YEAR[1:], "keys": [2020]}, ArgumentError, "as many rows"),
        ({"by": YEAR, "keys": range(10**7 + 1)}, ArgumentError, "cells"),
        ({"weights": [1.0]}, ArgumentError, "as many rows"),
        ({"weights": -np.ones(ANSWERS.size)}, ArgumentError, "negative"),
        ({"weights": np.full(ANSWERS.size, np.nan)}, ArgumentError, "finite"),
        ({"weights": pa.array([None, 1.0])}, ArgumentError, "null"),
        ({"weights": ["1"]}, ArgumentTypeError, "numbers"),
        ({"weights": [[1.0]]}, ArgumentTypeError, "one-dimensional"),
    ],
)
def test_wrong_groups_and_weights_are_refused(arguments: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        MECHANISM.estimate(ANSWERS, **arguments)


def test_answers_outside_the_domain_are_refused_by_key_too() -> None:
    with pytest.raises(OutsideDomainError, match="cannot have answered") as caught:
        MECHANISM.estimate(np.array(["a", "canary"]), by=np.array([1, 2]), keys=[1])
    assert "canary" not in str(caught.value)
