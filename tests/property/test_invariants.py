"""Invariants over random domains, columns and privacy parameters."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfast import Domain, DpfastError, RandomisedResponse, Stream
from dpfast.reference.sanitise import sanitise as reference
from dpfast.reference.words import insecure_master_key

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
ALPHABETS: st.SearchStrategy[list[Any]] = st.one_of(
    st.lists(TEXT, min_size=1, max_size=12, unique=True),
    st.lists(st.one_of(st.none(), TEXT), min_size=2, max_size=12, unique=True),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=12, unique=True),
    st.lists(st.binary(max_size=3), min_size=1, max_size=12, unique=True),
    st.just([False, True]),
)
LOSSES = st.one_of(st.just(0.0), st.floats(1e-6, 60.0))
TYPES = {str: pa.string(), int: pa.int64(), bytes: pa.binary(), bool: pa.bool_()}

common = settings(max_examples=200, deadline=None, derandomize=True)


def arrow_type(alphabet: list[Any]) -> pa.DataType:
    return TYPES[type(next(v for v in alphabet if v is not None))]


@common
@given(st.data(), ALPHABETS, LOSSES, st.integers(0, 2**40))
def test_answers_are_the_reference_in_every_container(data: Any, alphabet: list[Any], epsilon: float, first: int) -> None:
    column = data.draw(st.lists(st.sampled_from(alphabet), max_size=80))
    mechanism = RandomisedResponse(alphabet, epsilon=epsilon)
    expected = reference(column, alphabet, mechanism.threshold, master=insecure_master_key(5), column="c", first_row=first)
    plain = pa.array(column, arrow_type(alphabet))
    cut = data.draw(st.integers(0, len(column)))
    chunked = pa.chunked_array([plain[:cut].dictionary_encode(), plain[cut:].dictionary_encode()])
    for held in (plain, plain.dictionary_encode(), chunked):
        answers = mechanism.sanitise(held, rng=Stream.insecure(5, first), column_name="c")
        assert answers.to_pylist() == expected
    objects = np.empty(len(column), object)
    objects[:] = column
    assert mechanism.sanitise(objects, rng=Stream.insecure(5, first), column_name="c").tolist() == expected


@common
@given(st.data(), ALPHABETS)
def test_decoding_undoes_encoding(data: Any, alphabet: list[Any]) -> None:
    domain = Domain(alphabet)
    column = pa.array(data.draw(st.lists(st.sampled_from(alphabet), max_size=50)), arrow_type(alphabet))
    for held in (column, column.dictionary_encode()):
        assert domain.decode(domain.encode(held), like=held).to_pylist() == column.to_pylist()


def outcome(mechanism: RandomisedResponse, column: Any) -> tuple[Any, ...]:
    """Everything that a caller can see of a call but the answers themselves."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            answers = mechanism.sanitise(column)
        except DpfastError as error:
            return type(error), str(error), len(said)
    kind = answers.dtype if isinstance(answers, np.ndarray) else answers.type
    return str(kind), len(answers), len(said), getattr(answers, "dictionary", pa.nulls(0)).to_pylist()


@common
@given(st.data(), ALPHABETS, st.sampled_from(["randomise", "other"]))
def test_the_outcome_does_not_depend_on_the_values(data: Any, alphabet: list[Any], rule: str) -> None:
    known = [v for v in alphabet if v is not None]
    domain = Domain(alphabet, unknown="randomise") if rule == "randomise" else Domain(alphabet, other=known[0])
    mechanism = RandomisedResponse(domain, epsilon=1.0)
    kind = arrow_type(alphabet)
    any_value = st.one_of(
        st.none(),
        {pa.string(): TEXT, pa.int64(): st.integers(-(2**63), 2**63 - 1), pa.binary(): st.binary(max_size=5)}.get(
            kind, st.booleans()
        ),
    )
    n = data.draw(st.integers(0, 20))
    columns = [pa.array(data.draw(st.lists(any_value, min_size=n, max_size=n)), kind) for _ in range(2)]
    assert outcome(mechanism, columns[0]) == outcome(mechanism, columns[1])
    encoded = [column.dictionary_encode() for column in columns]
    assert outcome(mechanism, encoded[0]) == outcome(mechanism, encoded[1])
    objects = [
        np.array([*data.draw(st.lists(st.one_of(any_value, st.floats(), st.text()), min_size=n, max_size=n)), None], object)
        for _ in (0, 1)
    ]
    assert outcome(mechanism, objects[0]) == outcome(mechanism, objects[1])


@common
@given(st.integers(1, 2**31), st.floats(0, 100), st.floats(0, 100), st.floats(0, 1, exclude_max=True))
def test_more_privacy_never_keeps_more(k: int, one: float, two: float, delta: float) -> None:
    low, high = sorted((one, two))
    strict, loose = (RandomisedResponse(range(k), epsilon=e, delta=delta) for e in (low, high))
    assert strict.threshold >= loose.threshold
    assert strict.keep_probability <= loose.keep_probability
    assert strict.epsilon_at(delta) <= low
    assert loose.epsilon_at(delta) <= high
    assert strict.delta_at(low) <= delta


@common
@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=30), st.floats(0.1, 20))
def test_estimates_sum_to_one_and_invert_the_expectation(counts: list[int], epsilon: float) -> None:
    counts[0] += 1
    mechanism = RandomisedResponse(range(len(counts)), epsilon=epsilon)
    estimate = mechanism.estimate_counts(counts)
    assert abs(estimate.frequency.sum() - 1) < 1e-6
    back = estimate.frequency @ mechanism.matrix
    np.testing.assert_allclose(back, np.array(counts) / sum(counts), atol=1e-9)
