"""The laws of joint groups, strata and bins through `Policy.sanitise`, each beside a mistake that the same test must reject."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import stats

from dpfast import Domain, Policy, RandomisedResponse, Stratified, Stream

pytestmark = pytest.mark.statistical

N = 400_000
SEX, TOWNS = ["f", "m"], ["Bray", "Cork", "Dingle"]


def channel(k: int, epsilon: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    p = 1 / (math.exp(epsilon) + k - 1)
    return np.full((k, k), p) + np.eye(k) * (1 - k * p)


def counted(true: np.ndarray[Any, Any], seen: np.ndarray[Any, Any], k: int) -> np.ndarray[Any, Any]:
    return np.bincount(true.astype(np.int64) * k + seen, minlength=k * k).reshape(k, k)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(11)
    sex, town = rng.integers(0, 2, N), rng.choice(3, N, p=[0.5, 0.3, 0.2])
    return pa.table(
        {
            "sex": pa.array(SEX).take(pa.array(sex)),
            "town": pa.array(TOWNS).take(pa.array(town)),
            "age": rng.uniform(0, 120, N),
            "level": pa.array(rng.integers(0, 4, N), pa.int8()),
            "year": pa.array(rng.integers(0, 2, N), pa.int8()),
        }
    )


def codes(domain: Domain, table: pa.Table, *names: str) -> np.ndarray[Any, Any]:
    columns = tuple(table[name] for name in names)
    return domain.encode(columns if len(names) > 1 else columns[0])


def test_a_joint_group_is_one_response_over_cells(table: pa.Table) -> None:
    domain = Domain.product(SEX, TOWNS)
    mechanism = RandomisedResponse(domain, epsilon=1.0)
    out = Policy({}, joint={("sex", "town"): mechanism}, unlisted="public").sanitise(table, rng=Stream.insecure(21))
    true = codes(domain, table, "sex", "town")
    cells = counted(true, codes(domain, out, "sex", "town"), 6)
    stats.assert_channel(cells, channel(6, 1.0))
    # two columns on their own, at half the epsilon each, are another law
    halves = {name: RandomisedResponse(values, epsilon=0.5) for name, values in (("sex", SEX), ("town", TOWNS))}
    apart = Policy(halves, unlisted="public").sanitise(table, rng=Stream.insecure(21))
    with pytest.raises(AssertionError, match="chi-square"):
        stats.assert_channel(counted(true, codes(domain, apart, "sex", "town"), 6), channel(6, 1.0))


def test_only_the_declared_cells_are_answered_evenly(table: pa.Table) -> None:
    only = [("m", "Cork"), ("f", "Bray"), ("f", "Dingle"), ("m", "Bray")]
    domain = Domain.product(SEX, TOWNS, only=only, unknown="randomise")
    mechanism = RandomisedResponse(domain, epsilon=1.5)
    out = Policy({}, joint={("sex", "town"): mechanism}, unlisted="public").sanitise(table, rng=Stream.insecure(22))
    true, seen = codes(domain, table, "sex", "town"), codes(domain, out, "sex", "town")
    known = true < 4
    stats.assert_channel(counted(true[known], seen[known], 4), channel(4, 1.5))
    rest = np.bincount(seen[~known], minlength=4)
    stats.assert_law(rest, np.full(4, 0.25))
    with pytest.raises(AssertionError, match="chi-square"):
        stats.assert_law(rest, np.array([0.26, 0.25, 0.25, 0.24]))


def test_each_stratum_has_its_own_law(table: pa.Table) -> None:
    rules = {0: RandomisedResponse(range(4), epsilon=0.5), 1: RandomisedResponse(range(4), epsilon=2.0)}
    policy = Policy({"level": Stratified("year", rules), "year": "public"}, unlisted="drop")
    out = policy.sanitise(table, rng=Stream.insecure(23))
    year = table["year"].to_numpy()
    true, seen = table["level"].to_numpy(), out["level"].to_numpy()
    for value, epsilon in ((0, 0.5), (1, 2.0)):
        rows = year == value
        cells = counted(true[rows], seen[rows], 4)
        stats.assert_channel(cells, channel(4, epsilon))
        with pytest.raises(AssertionError, match="chi-square"):
            stats.assert_channel(cells, channel(4, 2.5 - epsilon))
    # neighbours in different strata are independent too: kept or not, beside the next row
    kept = (true == seen).astype(np.int64)
    pair = 2 * year[:-1:2] + year[1::2] == 1
    law = [channel(4, 0.5)[0, 0], channel(4, 2.0)[0, 0]]
    joint = np.bincount(2 * kept[:-1:2][pair] + kept[1::2][pair], minlength=4)
    expected = np.outer([1 - law[0], law[0]], [1 - law[1], law[1]])
    stats.assert_law(joint, expected)
    with pytest.raises(AssertionError, match="chi-square"):
        stats.assert_law(joint + np.array([300, -300, -300, 300]), expected)


def test_bins_are_one_response_over_labels(table: pa.Table) -> None:
    domain = Domain.bins([0, 18, 65, 120])
    out = Policy({"age": RandomisedResponse(domain, epsilon=1.0)}, unlisted="drop").sanitise(table, rng=Stream.insecure(24))
    true, seen = codes(domain, table, "age"), codes(domain.answers, out, "age")
    cells = counted(true, seen, 3)
    stats.assert_channel(cells, channel(3, 1.0))
    with pytest.raises(AssertionError, match="chi-square"):
        stats.assert_channel(cells, channel(3, 1.05))
