"""Joint groups, strata and bins over every way in which a column may come: the values decide, never the container."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfast import CorruptDataError, Domain, Policy, RandomisedResponse, Stratified, Stream

WORDS = ["a", "b", "c", None]
EDGES = [0, 10, 20, 30]
JOINT = RandomisedResponse(Domain.product(WORDS, Domain.bins(EDGES, null=True), unknown="randomise"), epsilon=1.0)
STRATA = Stratified("by", {0: RandomisedResponse(range(3), epsilon=0.5)}, default=RandomisedResponse(range(3), epsilon=2.0))
POLICY = Policy({"level": STRATA, "by": "public"}, joint={("word", "number"): JOINT})

ROWS = st.lists(
    st.tuples(
        st.sampled_from([*WORDS, "unknown"]),
        st.one_of(st.none(), st.integers(-5, 35).map(float), st.just(float("nan"))),
        st.integers(0, 2),
        st.integers(0, 3),
    ),
    max_size=30,
)


def plain(rows: list[Any]) -> pa.Table:
    words, numbers, levels, by = zip(*rows, strict=True) if rows else ((), (), (), ())
    return pa.table(
        {
            "word": pa.array(words, pa.string()),
            "number": pa.array(numbers, pa.float64()),
            "level": pa.array(levels, pa.int8()),
            "by": pa.array(by, pa.int8()),
        }
    )


def dressed(column: pa.Array, data: st.DataObject) -> pa.ChunkedArray:
    """The same values in chunks, some of them slices of longer arrays, some dictionaries with entries that no row uses."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(column)), max_size=3)))
    encode = data.draw(st.booleans())
    chunks = []
    for start, stop in zip([0, *cuts], [*cuts, len(column)], strict=True):
        chunk = column.slice(start, stop - start)
        before = data.draw(st.integers(0, 9))
        chunk = pa.concat_arrays([pa.nulls(before, column.type), chunk, pa.nulls(3, column.type)])
        if encode:
            chunk = chunk.dictionary_encode()
            entries = pa.concat_arrays([pa.nulls(1, column.type), chunk.dictionary, chunk.dictionary])
            chunk = pa.DictionaryArray.from_arrays(pa.compute.add(chunk.indices, 1).cast(pa.int16()), entries)
        chunks.append(chunk.slice(before, stop - start))
    return pa.chunked_array(chunks)


@settings(max_examples=150, deadline=None)
@given(ROWS, st.data())
def test_the_container_does_not_matter(rows: list[Any], data: st.DataObject) -> None:
    table = plain(rows)
    expected = POLICY.sanitise(table, rng=Stream.insecure(1)).to_pydict()
    other = pa.table({name: dressed(table[name].combine_chunks(), data) for name in table.column_names if name != "by"})
    other = other.append_column("by", table["by"])
    assert POLICY.sanitise(other, rng=Stream.insecure(1)).to_pydict() == expected
    assert POLICY.check(other).ok
    found = {name: sum(row[3] for row in POLICY.check(other).findings if row[0] == name) for name in ("word", "number", "by")}
    assert found["word"] == sum(row[0] == "unknown" for row in rows)
    assert found["number"] == sum(row[1] is not None and not 0 <= row[1] <= 30 and row[1] == row[1] for row in rows)
    assert found["by"] == sum(row[3] != 0 for row in rows)


def test_read_only_and_mapped_memory(tmp_path: Path) -> None:
    numbers, words = np.linspace(0, 30, 500), np.array(["a", "b"] * 250)
    kept = (numbers.copy(), words.copy())
    for column in (numbers, words):
        column.flags.writeable = False
    np.save(tmp_path / "n.npy", numbers)
    mapped = np.load(tmp_path / "n.npy", mmap_mode="r")
    domain = Domain.product(["a", "b"], Domain.bins(EDGES))
    mechanism = RandomisedResponse(domain, epsilon=1.0)
    first = [part.tolist() for part in mechanism.sanitise((words, numbers), rng=Stream.insecure(1))]
    second = [part.tolist() for part in mechanism.sanitise((words, mapped), rng=Stream.insecure(1))]
    assert first == second
    assert np.array_equal(numbers, kept[0])
    assert np.array_equal(words, kept[1])


@pytest.mark.parametrize("index", [99, -1, -128])
def test_an_index_outside_its_dictionary_is_an_ordinary_error(index: int) -> None:
    hostile = pa.DictionaryArray.from_arrays(pa.array([0, index], pa.int8()), pa.array(["a", "b"]), safe=False)
    numbers = pa.DictionaryArray.from_arrays(pa.array([0, index], pa.int8()), pa.array([1.0, 2.0]), safe=False)
    for columns in ((hostile, pa.array([1.0, 2.0])), (pa.array(["a", "b"]), numbers)):
        with pytest.raises(CorruptDataError):
            JOINT.sanitise(columns)
