"""Domains of bins: cut points, labels, and exact comparison of every numeric type."""

from __future__ import annotations

import hashlib
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfast import ArgumentTypeError, Domain, DomainError, OutsideDomainError, RandomisedResponse, Stream

AGES = [0, 18, 65, 120]
LABELS = ["minor", "adult", "old"]


def bins(**rules: Any) -> Domain:
    return Domain.bins(AGES, LABELS, **rules)


def slow_code(edges: list[float], value: Any, null: bool) -> int:
    """The definition, in exact arithmetic."""
    k = len(edges) - 1
    if isinstance(value, float) and math.isnan(value):
        return k if null else k + null
    if isinstance(value, float) and math.isinf(value):
        return k + null
    exact, cuts = Fraction(value), [Fraction(edge) for edge in edges]
    for i in range(k):
        if cuts[i] <= exact < cuts[i + 1] or (i == k - 1 and exact == cuts[k]):
            return i
    return k + null


def test_half_open_and_the_last_closed() -> None:
    column = np.array([-0.1, -0.0, 0.0, 17.99, 18.0, 64, 65, 120, 120.0001, np.inf, -np.inf, np.nan])
    assert bins(unknown="randomise").encode(column).tolist() == [3, 0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 3]
    assert bins(null=True, unknown="randomise").encode(column).tolist() == [4, 0, 0, 0, 1, 1, 2, 2, 4, 4, 4, 3]
    assert bins(other="old").encode(column).tolist() == [2, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 2]
    with pytest.raises(OutsideDomainError) as caught:
        bins().encode(column, name="age")
    assert "'age'" in str(caught.value)
    assert "120" not in str(caught.value)


NUMBERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32, np.float64]


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("order", ["<", ">"])
def test_every_numeric_type_and_byte_order(dtype: type, order: str) -> None:
    values = [0, 1, 17, 18, 64, 65, 120, 121]
    column = np.array(values).astype(np.dtype(dtype).newbyteorder(order))
    domain = bins(unknown="randomise")
    expected = [slow_code([float(edge) for edge in AGES], value, False) for value in values]
    assert domain.encode(column).tolist() == expected
    if order == "<":
        arrow = pa.array(column)
        for given_ in (arrow, pa.chunked_array([arrow[:3], arrow[3:]]), arrow.dictionary_encode()):
            assert domain.encode(given_).tolist() == expected
        padded = pa.concat_arrays([pa.array([99] * 3, arrow.type), arrow])[3:]
        assert domain.encode(padded).tolist() == expected
    with np.errstate(over="ignore"):
        strided = np.repeat(column, 2)[::2]
    assert domain.encode(strided).tolist() == expected


def test_integers_of_64_bits_are_not_rounded() -> None:
    # 2^53 + 1 has no double; as a double it would be 2^53 and fall into the bin before.
    domain = Domain.bins([0.0, float(2**53 + 2), float(2**54)], unknown="randomise")
    column = np.array([2**53 + 1, 2**53 + 2, 2**54, 2**54 + 1, -1], np.int64)
    assert domain.encode(column).tolist() == [0, 1, 1, 2, 2]
    wide = Domain.bins([float(2**63), float(2**64)], unknown="randomise")
    assert wide.encode(np.array([2**63 - 1, 2**63, 2**64 - 1], np.uint64)).tolist() == [1, 0, 0]
    assert wide.encode(np.array([2**63 - 1, -1], np.int64)).tolist() == [1, 1]
    below = Domain.bins([-5.5, -0.5], unknown="randomise")
    assert below.encode(np.array([0, 1, 200], np.uint8)).tolist() == [1, 1, 1]
    assert below.encode(np.array([-6, -5, -1, 0], np.int8)).tolist() == [1, 0, 0, 1]


EDGES = st.lists(
    st.one_of(st.floats(allow_nan=False, allow_infinity=False, width=32), st.integers(-(2**53), 2**53).map(float)),
    min_size=2,
    max_size=6,
    unique=True,
).map(sorted)


@settings(max_examples=200, deadline=None)
@given(EDGES, st.data(), st.booleans())
def test_codes_are_the_definition(edges: list[float], data: st.DataObject, null: bool) -> None:
    domain = Domain.bins(edges, null=null, unknown="randomise")
    near = [edge for edge in edges] + [math.nextafter(edge, math.inf) for edge in edges]
    floats = data.draw(st.lists(st.one_of(st.sampled_from(near), st.floats()), max_size=20))
    assert domain.encode(np.array(floats, np.float64)).tolist() == [slow_code(edges, value, null) for value in floats]
    close = [min(max(math.floor(edge) + step, -(2**63)), 2**63 - 1) for edge in edges for step in (-1, 0, 1)]
    whole = data.draw(st.lists(st.one_of(st.sampled_from(close), st.integers(-(2**63), 2**63 - 1)), max_size=20))
    assert domain.encode(np.array(whole, np.int64)).tolist() == [slow_code(edges, value, null) for value in whole]


def test_nulls_of_arrow() -> None:
    column = pa.array([20.0, None, math.nan, 70.0])
    assert bins(null=True).encode(column).tolist() == [1, 3, 3, 2]
    assert bins(unknown="randomise").encode(column).tolist() == [1, 3, 3, 2]
    assert bins(other="minor").encode(column).tolist() == [1, 0, 0, 2]
    with pytest.raises(OutsideDomainError):
        bins().encode(column)
    # a dictionary whose entry is null, and an index that is
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array([None, 20.0]))
    assert bins(null=True).encode(dictionary).tolist() == [3, 1, 3]


def test_labels() -> None:
    assert Domain.bins([0, 10, 20.5]).values == ("[0, 10)", "[10, 20.5]")
    assert Domain.bins([-1e300, 0.1, 2**60]).values == ("[-1e+300, 0.1)", "[0.1, 1.152921504606847e+18]")
    assert bins(null=True).values == (*LABELS, None)
    assert bins().size == 3
    assert Domain.bins(range(0, 30, 10)).size == 2
    assert Domain.bins((np.float32(0.5), np.int8(1))).values == ("[0.5, 1]",)


def test_decode_gives_labels() -> None:
    codes = np.array([0, 2, 1], np.uint8)
    answers = bins().decode(codes, like=np.array([1.0]))
    assert (answers.tolist(), answers.dtype) == (["minor", "old", "adult"], np.dtype("<U5"))
    with_null = bins(null=True).decode(np.array([3, 0], np.uint8), like=np.array([1]))
    assert (with_null.tolist(), with_null.dtype) == ([None, "minor"], np.dtype(object))
    arrow = bins(null=True).decode(np.array([3, 0, 2], np.uint8), like=pa.array([1], pa.int8()))
    assert arrow.type == pa.dictionary(pa.int8(), pa.string(), ordered=True)
    assert arrow.dictionary.to_pylist() == LABELS
    assert arrow.to_pylist() == [None, "minor", "old"]


def test_digest_is_of_edges_and_labels_and_no_list_of_values() -> None:
    state = hashlib.blake2b(digest_size=32, person=b"dpfast/domain/1")
    for tag, payload in [(b"e", edge.hex().encode()) for edge in (0.0, 18.0)] + [(b"s", b"[0, 18]"), (b"n", b"")]:
        state.update(tag + len(payload).to_bytes(8, "little") + payload)
    assert Domain.bins([0, 18], null=True).digest == state.digest()
    assert Domain.bins([0, 18]) == Domain.bins([-0.0, 18.0])
    others = [
        bins(),
        bins(null=True),
        Domain.bins(AGES),
        Domain.bins([0, 18, 65, 121], LABELS),
        Domain.bins(AGES, ["a", "b", "c"]),
        Domain(LABELS),
        Domain(["[0, 18)", "[18, 65)", "[65, 120]"]),
    ]
    assert len({domain.digest for domain in others}) == len(others)
    assert len({bins(), bins(unknown="randomise"), bins(other="old")}) == 3
    again = pickle.loads(pickle.dumps(bins(other="old")))
    assert again == bins(other="old")
    assert again.encode(np.array([1.0, 999.0])).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("edges", "error", "text"),
    [
        (np.array([0, 1]), ArgumentTypeError, "a column is private data"),
        (pd.Series([0, 1]), ArgumentTypeError, "a column is private data"),
        (pa.array([0, 1]), ArgumentTypeError, "a column is private data"),
        ("0,1", ArgumentTypeError, "list or tuple of numbers"),
        ([0, "1"], ArgumentTypeError, "int or a float"),
        ([False, True], ArgumentTypeError, "int or a float"),
        ([0, None], ArgumentTypeError, "int or a float"),
        ([], DomainError, "at least two"),
        ([1], DomainError, "at least two"),
        ([0, 0], DomainError, "grow strictly"),
        ([0.0, -0.0], DomainError, "grow strictly"),
        ([1, 0], DomainError, "grow strictly"),
        ([0, math.inf], DomainError, "finite"),
        ([-math.inf, 0], DomainError, "finite"),
        ([0, math.nan], DomainError, "finite"),
        ([0, 10**400], DomainError, "finite"),
        ([0, 2**53 + 1], DomainError, "no exact double"),
    ],
)
def test_unusable_edges(edges: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Domain.bins(edges)


@pytest.mark.parametrize(
    ("labels", "error", "text"),
    [
        (["a"], DomainError, "each with one label"),
        (["a", "b", "c", None], DomainError, "null=True"),
        (["a", "b", 3], DomainError, "texts"),
        (["a", "b", "\ud800"], DomainError, "valid Unicode"),
        (["a", "b", "a"], DomainError, "repeated"),
        ("abc", ArgumentTypeError, "list or tuple"),
        (np.array(LABELS), ArgumentTypeError, "list or tuple"),
    ],
)
def test_unusable_labels(labels: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Domain.bins(AGES, labels)


def test_other_is_a_label_and_null_a_bool() -> None:
    with pytest.raises(DomainError, match="one of the values"):
        bins(other=18)
    with pytest.raises(ArgumentTypeError, match="null must be"):
        bins(null=1)


@pytest.mark.parametrize(
    "column",
    [
        np.array(["minor"]),
        np.array([True]),
        np.array([1.0], object),
        np.array([1j]),
        np.array([[1.0]]),
        np.ma.masked_array([1.0], [True]),
        np.array([1], "M8[s]"),
        np.array([1], np.longdouble),
        pa.array(["minor"]),
        pa.array([True]),
        pa.array([1], pa.date32()),
        pa.array(["minor"]).dictionary_encode(),
    ],
    ids=str,
)
def test_columns_of_other_types_are_refused(column: Any) -> None:
    with pytest.raises(ArgumentTypeError):
        bins().encode(column)


@pytest.mark.parametrize("null", [False, True])
def test_a_mechanism_over_bins(null: bool) -> None:
    mechanism = RandomisedResponse(bins(null=null), epsilon=44.0)
    floats = np.array([3.0, 30.0, 80.0] * 50)
    labels = LABELS * 50
    assert mechanism.sanitise(floats, rng=Stream.insecure(1)).tolist() == labels
    arrow = mechanism.sanitise(pa.array(floats), rng=Stream.insecure(1))
    assert arrow.to_pylist() == labels
    # what was sanitised is read back by its labels, whatever holds them
    for answers in (np.array(labels), np.array(labels, object), arrow, pa.array(labels), pa.chunked_array([labels])):
        if null and isinstance(answers, np.ndarray) and answers.dtype.kind == "U":
            continue
        assert mechanism.estimate(answers).frequency[:3].tolist() == pytest.approx([1 / 3] * 3, abs=1e-9)
    with pytest.raises(OutsideDomainError):
        mechanism.estimate(pa.array(["elder"]))
