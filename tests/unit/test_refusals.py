"""Refusals that no other test meets: of arguments of mechanisms, policies, statistics and their words, by class and text."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
import scipy.sparse

from dpfast import (
    ArgumentError,
    ArgumentTypeError,
    Domain,
    DomainError,
    Policy,
    PolicyError,
    RandomisedResponse,
    Stream,
    count_triangles,
    duff,
    median,
    quantiles,
)
from dpfast._numba import check_function
from dpfast._rounding import integer
from dpfast.change import estimate_change
from dpfast.duff._chunks import Memory, as_memory
from dpfast.duff.data import numbers_of
from dpfast.reference import duff as reference_duff
from dpfast.reference import matrix as reference_matrix
from dpfast.reference import sanitise as reference_sanitise
from dpfast.reference import words as reference_words
from dpfast.report import explain
from dpfast.words import DRAW_PARTS, DrawBits

ANY: Any = None
MECHANISM = RandomisedResponse(["a", "b"], epsilon=1.0)
POLICY = Policy({"a": MECHANISM})
TABLE = pa.table({"a": ["a", "b"]})
LEVELS = duff.median_levels([1, 2, 3], bounds=(0, 9), step=1, neighbours="add_remove")
LAW = duff.error_law(LEVELS, epsilon=1.0)
TWO = {"bounds": (0, 9), "epsilon": 1.0}


class Long(list[float]):
    """A list that says to be longer than it is."""

    def __len__(self) -> int:
        return 2**31 + 2


class Unsaid:
    """A number that is none."""

    def __index__(self) -> int:
        raise TypeError


class Chunks:
    """A column in chunks, which can be asked for again and again."""

    def __init__(self, *chunks: Any) -> None:
        self.chunks = chunks

    def __iter__(self) -> Any:
        return iter(self.chunks)


numbers.Real.register(Unsaid)


def bits() -> DrawBits:
    return Stream.insecure(1).draws(None, bytes(32), 64)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: Domain.bins(Long([0.0, 1.0])), DomainError, "at most 2"),
        (lambda: check_function(len, "it"), ArgumentTypeError, "plain Python function"),
        (lambda: check_function(lambda *_: 0, "it"), ArgumentTypeError, "named arguments"),
        (lambda: check_function(lambda: 0, "it"), ArgumentTypeError, "at least one argument"),
        (lambda: integer(Unsaid(), "it", minimum=0), ArgumentTypeError, "must be an integer"),
        (lambda: POLICY.sanitise(TABLE, rng=ANY or 3), ArgumentTypeError, "rng must be"),
        (lambda: POLICY.sanitise(TABLE, connection=3), ArgumentTypeError, "connection= is for"),
        (lambda: POLICY.sanitise(pd.DataFrame([[1]], columns=[["a"], ["b"]])), PolicyError, "several levels"),
        (lambda: estimate_change(ANY, ["a"], ["a"]), ArgumentTypeError, "made both releases"),
        (lambda: estimate_change(MECHANISM, np.array(["a"]), np.array(["a", "b"])), ArgumentError, "differ in length"),
        (lambda: estimate_change(MECHANISM, np.array(["a"]), np.array(["a"])), ArgumentError, "two rows at least"),
        (lambda: explain(ANY, "x.parquet"), ArgumentTypeError, "must be a Policy"),
        (lambda: MECHANISM.estimate(np.array(["a"]), weights=[1, [2]]), ArgumentTypeError, "weights must be"),
    ],
)
def test_arguments_of_columns_and_policies(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: median(np.array([1], "m8"), **TWO), ArgumentTypeError, "without a unit"),
        (lambda: median([Chunks()], **TWO), ArgumentTypeError, "list of values"),
        (lambda: median(Chunks(np.zeros(3), np.zeros(3, np.int64)), **TWO), ArgumentTypeError, "differ in type"),
        (lambda: Memory([np.zeros(1), np.zeros(1, np.int64)]), ArgumentTypeError, "differ in type"),
        (lambda: as_memory("text"), ArgumentTypeError, "no column that is known"),
        (lambda: median([2**64], **TWO), ArgumentTypeError, "64 bits"),
        (lambda: median(pd.Series(pd.Categorical([1, "x"])), **TWO), ArgumentTypeError, "Arrow array"),
        (lambda: numbers_of(pa.array([[1]])), ArgumentTypeError, "not list"),
        (lambda: numbers_of(np.array(["x"])), ArgumentTypeError, "not <U1"),
        (lambda: numbers_of(np.zeros((1, 1))), ArgumentError, "one-dimensional"),
        (lambda: count_triangles(scipy.sparse.csr_matrix((2, 3)), epsilon=1.0), ArgumentError, "square"),
        (lambda: count_triangles((np.array([0]), np.array([1, 2])), n_vertices=3, epsilon=1.0), ArgumentError, "in length"),
        (lambda: median([1, 2], by=["x"], keys=["x"], **TWO), ArgumentError, "differ in length"),
        (lambda: median([1], by=["x", "x"], keys=["x"], **TWO), ArgumentError, "differ in length"),
        (lambda: median(Chunks(np.zeros(3)), by=["x"] * 2, keys=["x"], **TWO), ArgumentError, "differ in length"),
        (lambda: median(Chunks(np.zeros(3)), by=["x"] * 4, keys=["x"], **TWO), ArgumentError, "differ in length"),
        (lambda: median([1, 2], by=["x", 1], keys=["x"], **TWO), ArgumentTypeError, "several types"),
        (lambda: median([1, 2], person=np.array(["x", 1], object), **TWO), ArgumentTypeError, "person must hold"),
        (lambda: median([1, 2], bounds=(0, 9), epsilon=1.0, step=ANY or Unsaid()), ArgumentTypeError, "ratio of integers"),
        (lambda: quantiles([1], [i / 2000 for i in range(1, 2000)], **TWO), ArgumentError, "different quantiles"),
        (lambda: LAW.quantile(2), ArgumentError, "between 0 and 1"),
        (lambda: LAW.likely_error(0), ArgumentError, "between 0 and 1"),
        (lambda: LAW.bounds(beta=0), ArgumentError, "above 0 for these bounds"),
        (lambda: bits().ones(np.array([64 * 64 + 1])), ArgumentError, "more bits"),
        (lambda: bits().words(65), ArgumentError, "more bits"),
        (lambda: bits().as_words().more(0, 0), ArgumentError, "no random bits"),
        (lambda: bits().as_words().blocks(np.zeros(1, np.int64), DRAW_PARTS), ArgumentError, "no random bits"),
    ],
)
def test_arguments_of_statistics(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: reference_duff.race([None], [1], lambda *_: 1), ValueError),
        (lambda: reference_matrix.decide(5, [2, 3]), ValueError),
        (lambda: reference_sanitise.sanitise(["c"], ["a", "b"], 1, master=bytes(32)), ValueError),
        (lambda: reference_words.aes_block(bytes(32), b"short"), ValueError),
        (lambda: reference_words._tagged_value(ANY or 1.5), TypeError),
        (lambda: reference_words._tagged(ANY or 1.5), TypeError),
    ],
)
def test_arguments_of_the_reference(call: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()
