"""More than fifty Arrow columns that are broken, each with several contents: one error of constant text, nothing else, no file.

A broken column is never shown, sliced or validated here: only the package touches it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from faulty import quick_place

from dpfast import (
    ArgumentTypeError,
    CorruptDataError,
    Domain,
    OutsideDomainError,
    Policy,
    RandomisedResponse,
    duff,
    sanitise_file,
)

INDEX = "a dictionary index points outside its dictionary"
BROKEN = "an Arrow array is broken: its buffers are too short, or its offsets point outside them"
DAMAGED = "the source {!r} is not an Arrow IPC file or stream, or it is truncated or damaged"
SIGNED = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
UNSIGNED = [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
TEXTS = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]
# Two contents of each column, of one type: names, and where the bad rows are.
CONTENTS = [(("no", "yes"), 0), (("secret one", "a longer secret"), 2)]
Make = Callable[[tuple[str, str], int], pa.Array]


def coded(kind: pa.DataType, bad: int, entries: int = 2) -> Make:
    """A dictionary column with one index that points nowhere."""

    def make(names: tuple[str, str], place: int) -> pa.Array:
        codes = [0, 0, 0] if entries else [None] * 3
        codes[place] = bad
        return pa.DictionaryArray.from_arrays(pa.array(codes, kind), pa.array(names[:entries], pa.string()), safe=False)

    return make


def chunked(make: Make) -> Make:
    def chunks(names: tuple[str, str], place: int) -> Any:
        good = pa.array(list(names)).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
        return pa.chunked_array([good, make(names, place)])

    return chunks


def sliced(make: Make) -> Make:
    """The rows that are left hold the bad one."""
    return lambda names, place: make(names, place).slice(place, 1)


def offsets(kind: pa.DataType, fault: str, *, in_dictionary: bool) -> Make:
    """Three values whose inner offsets are wrong; a quick validation looks at the first and the last only."""

    def make(names: tuple[str, str], place: int) -> pa.Array:
        data = "".join(names).encode()
        inner = {"beyond": [2_000_000_000, 3], "falling": [3, 1], "negative": [-7, 3]}[fault]
        width = np.int64 if kind in (pa.large_string(), pa.large_binary()) else np.int32
        memory = np.array([0, *inner, len(data)], width)
        found = pa.Array.from_buffers(kind, 3, [None, pa.py_buffer(memory), pa.py_buffer(data)])
        return pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), found, safe=False) if in_dictionary else found

    return make


def view(number: int, offset: int) -> Make:
    """A text view of twenty bytes that points into a buffer that is not there, or behind its end."""

    def make(names: tuple[str, str], place: int) -> pa.Array:
        data = (names[0] * 20).encode()[:20]
        one = np.array([20], "<i4").tobytes() + data[:4] + np.array([number, offset], "<i4").tobytes()
        return pa.Array.from_buffers(pa.string_view(), 2, [None, pa.py_buffer(one * 2), pa.py_buffer(data)])

    return make


def cases() -> Iterator[tuple[str, str, Make]]:
    """Name, text of the error, and column."""
    for kind in (*SIGNED, *UNSIGNED):
        most = 2 ** (kind.bit_width - (kind in SIGNED)) - 1
        for bad in (2, most, *((-1, -most - 1) if kind in SIGNED else ())):
            yield f"{kind} index {bad}", INDEX, coded(kind, bad)
    for bad in (2, -1):
        yield f"index {bad} of the second chunk", INDEX, chunked(coded(pa.int8(), bad))
        yield f"index {bad} in a slice", INDEX, sliced(coded(pa.int16(), bad))
    for kind in (pa.int8(), pa.uint32()):
        yield f"{kind} index into no entries", INDEX, coded(kind, 0, entries=0)
    for kind, fault, inside in itertools.product(TEXTS, ("beyond", "falling", "negative"), (True, False)):
        yield f"{kind} offsets {fault}, {'entries' if inside else 'plain'}", BROKEN, offsets(kind, fault, in_dictionary=inside)
    yield "view into no buffer", BROKEN, view(5, 0)
    yield "view behind its buffer", BROKEN, view(0, 1000)


CASES = {name: (text, make) for name, text, make in cases()}


def domain_of(column: Any, names: tuple[str, str]) -> Domain:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if kind in (pa.binary(), pa.large_binary()):
        return Domain([name.encode() for name in names], unknown="randomise")
    return Domain(list(names), unknown="randomise")


def test_there_are_more_than_fifty() -> None:
    assert len(CASES) > 50


@pytest.mark.parametrize("case", CASES)
def test_a_broken_column_is_one_error(case: str) -> None:
    expected, make = CASES[case]
    for names, place in CONTENTS:
        column = make(names, place)
        domain = domain_of(column, names)
        mechanism = RandomisedResponse(domain, epsilon=1.0)
        policy = Policy({"x": mechanism})
        for call in (
            lambda column, domain=domain: domain.encode(column),
            mechanism.sanitise,
            lambda column, policy=policy: policy.sanitise(pa.table({"x": column})),
            lambda column, domain=domain: duff.mode(column, domain=domain, epsilon=1.0),
        ):
            with pytest.raises(CorruptDataError) as caught:
                call(column)
            assert str(caught.value) == expected
            assert caught.value.__cause__ is None
            assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("suffix", ["arrow", "arrows"])
def test_indices_that_point_nowhere_in_a_file(suffix: str) -> None:
    """All of them that a writer can put into a file, read by a job."""
    found = {case: make for case, (text, make) in CASES.items() if text == INDEX}
    assert len(found) > 25
    with quick_place() as place:
        source, target = place / f"s.{suffix}", place / "t.parquet"
        for case, make in found.items():
            for names, row in CONTENTS:
                table = pa.table({"x": make(names, row)})
                with (pa.ipc.new_file if suffix == "arrow" else pa.ipc.new_stream)(str(source), table.schema) as writer:
                    writer.write_table(table)
                policy = Policy({"x": RandomisedResponse(Domain(list(names), unknown="randomise"), epsilon=1.0)})
                with pytest.raises(CorruptDataError) as caught:
                    sanitise_file(source, target, policy)
                assert str(caught.value) == DAMAGED.format(str(source)), case
                assert [path.name for path in place.iterdir()] == [source.name]


@pytest.mark.parametrize(
    "entries",
    [
        pa.array(["no", "yes"]).dictionary_encode(),
        pa.array([["no"], ["yes"]]),
        pa.array([{"a": "no"}, {"a": "yes"}]),
        pa.array([0.5, 1.5]),
        pa.nulls(2),
    ],
    ids=lambda entries: str(entries.type),
)
def test_dictionaries_of_what_no_domain_holds_are_refused_by_their_type(entries: pa.Array) -> None:
    texts = set()
    for codes in ([0, 1], [1, 1, None]):
        column = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), entries)
        with pytest.raises(ArgumentTypeError) as caught:
            RandomisedResponse(["no", "yes"], epsilon=1.0).sanitise(column)
        texts.add(str(caught.value))
    assert len(texts) == 1


def test_what_looks_broken_and_is_not(tmp_path: Path) -> None:
    """The controls: bad indices under a null or outside the slice, equal, null and unreadable entries, no rows at all."""
    domain = Domain(["no", "yes", None])
    hidden = pa.Array.from_buffers(pa.int8(), 2, [pa.py_buffer(b"\x01"), pa.py_buffer(b"\x01\x63")])
    names = pa.array(["no", "yes"])
    assert domain.encode(pa.DictionaryArray.from_arrays(hidden, names, safe=False)).tolist() == [1, 2]
    outside = pa.DictionaryArray.from_arrays(pa.array([99, 1, 0], pa.int8()), names, safe=False)
    assert domain.encode(outside[1:]).tolist() == [1, 0]
    assert domain.encode(outside[:0]).tolist() == []
    double = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), pa.array(["no", "no", None]))
    assert domain.encode(double).tolist() == [0, 0, 2]
    unread = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array([b"\xff\xfe", b"yes"]).view(pa.string()))
    assert Domain(["yes"], unknown="randomise").encode(unread).tolist() == [1, 0]
    with pytest.raises(OutsideDomainError):
        domain.encode(unread)
