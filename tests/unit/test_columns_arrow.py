"""Arrow columns: each chunk by its own dictionary, offset and validity; outputs hold the declared domain and nothing else."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import ArgumentTypeError, CorruptDataError, Domain, OutsideDomainError, RandomisedResponse, Stream
from dpfast.reference import response, words
from dpfast.reference import sanitise as reference

TRUTHFUL = 40.0  # an epsilon at which an answer differs from the truth once in 10^17 rows
CANARY = "canary-in-the-mine"

INDEX_TYPES = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
TEXT_TYPES = [pa.string(), pa.large_string(), pa.string_view()]
BYTES_TYPES = [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2)]
VALUES: dict[pa.DataType, list[Any]] = {
    **{kind: ["no", "ü", "a longer text than a view holds"] for kind in TEXT_TYPES},
    **{kind: [b"no", b"\xff\x00", b"\x00\x00"] for kind in BYTES_TYPES},
    **{kind: [7, 0, 100] for kind in INDEX_TYPES},
    pa.bool_(): [True, False],
}


def truth(domain: Any, column: Any) -> Any:
    return RandomisedResponse(domain, epsilon=TRUTHFUL).sanitise(column)


def noisy(domain: Domain, column: Any) -> Any:
    return RandomisedResponse(domain, epsilon=1.0).sanitise(column, rng=Stream.insecure(5))


def by_reference(domain: Domain, values: list[Any]) -> list[Any]:
    return reference.sanitise(
        values,
        list(domain.values),
        response.threshold(domain.size, 1),
        master=words.insecure_master_key(5),
        unknown=domain.unknown,
        other=domain.other,
    )


def dictionary(indices: list[Any], values: Any, index: pa.DataType = None, *, safe: bool = True) -> pa.DictionaryArray:
    values = values if isinstance(values, pa.Array) else pa.array(values)
    return pa.DictionaryArray.from_arrays(pa.array(indices, index or pa.int8()), values, safe=safe)


def buffers(column: Any) -> Iterator[pa.Buffer]:
    """All memory that a column refers to."""
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        parts = [chunk.indices, chunk.dictionary] if pa.types.is_dictionary(chunk.type) else [chunk]
        for part in parts:
            yield from (buffer for buffer in part.buffers() if buffer is not None and buffer.size)


def bytes_of(column: Any) -> bytes:
    return b"".join(buffer.to_pybytes() for buffer in buffers(column))


def written(column: Any) -> list[bytes]:
    """The column as files: Arrow IPC and Parquet, with all they keep beside the values."""
    table = pa.table({"c": column})
    ipc, parquet = io.BytesIO(), io.BytesIO()
    with pa.ipc.new_file(ipc, table.schema) as file:
        file.write_table(table)
    pq.write_table(table, parquet, compression="none")
    return [ipc.getvalue(), parquet.getvalue()]


def assert_apart(column: Any, answers: Any) -> None:
    """No output buffer lies within memory of the input."""
    taken = [(buffer.address, buffer.address + buffer.size) for buffer in buffers(column)]
    for buffer in buffers(answers):
        assert not any(low < buffer.address + buffer.size and buffer.address < high for low, high in taken)


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_plain_columns(kind: pa.DataType, null: bool) -> None:
    values = [*VALUES[kind], None] if null else VALUES[kind]
    # integers with a null are a list: a range has no room for one
    domain = Domain(values)
    rows = (values[::-1] + values[:1]) * 20
    column = pa.array(rows, kind)
    before = bytes_of(column)
    assert domain.encode(column).tolist() == [domain.values.index(value) for value in rows]
    for answers in (truth(domain, column), domain.decode(domain.encode(column), like=column)):
        answers.validate(full=True)
        assert answers.type == kind
        assert answers.to_pylist() == rows
        assert_apart(column, answers)
    assert noisy(domain, column).to_pylist() == by_reference(domain, rows)
    assert bytes_of(column) == before
    chunked = pa.chunked_array([column[:7], column[7:7], column[7:21], column[21:]])
    answers = truth(domain, chunked)
    assert [len(chunk) for chunk in answers.chunks] == [7, 0, 14, len(rows) - 21]
    assert answers.to_pylist() == rows
    assert noisy(domain, chunked).to_pylist() == by_reference(domain, rows)


@pytest.mark.parametrize("index", INDEX_TYPES, ids=str)
@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_dictionary_columns(kind: pa.DataType, index: pa.DataType) -> None:
    """The output's dictionary is the declared domain, in order; nulls sit in the index however they came in."""
    values = VALUES[kind]
    domain = Domain([*values, None])
    entries = pa.array([*values[::-1], None], kind)
    column = pa.DictionaryArray.from_arrays(pa.array([*range(len(values)), None, len(values), 0], index), entries)
    rows = column.to_pylist()
    before = bytes_of(column)
    answers = truth(domain, column)
    answers.validate(full=True)
    assert answers.type == pa.dictionary(pa.int8(), kind)
    assert answers.dictionary.to_pylist() == values
    assert answers.dictionary.null_count == 0
    assert answers.to_pylist() == rows
    assert_apart(column, answers)
    assert bytes_of(column) == before
    many = pa.concat_arrays([column] * 30)
    assert noisy(domain, many).to_pylist() == by_reference(domain, rows * 30)


@pytest.mark.parametrize("ordered", [False, True])
def test_dictionary_flags_are_the_columns(ordered: bool) -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["a"]), ordered=ordered)
    assert truth(["a", "b"], column).type == pa.dictionary(pa.int8(), pa.string(), ordered)


@pytest.mark.parametrize(
    ("size", "null", "index"),
    [(127, 0, 8), (128, 0, 8), (128, 1, 8), (129, 0, 16), (129, 1, 16), (1 << 15, 1, 16), ((1 << 15) + 1, 0, 32)],
)
def test_the_index_is_the_narrowest_that_holds_the_domain(size: int, null: int, index: int) -> None:
    domain = Domain([str(value) for value in range(size)] + [None] * null)
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([str(size - 1), "0"]))
    answers = truth(domain, column)
    assert answers.type.index_type.bit_width == index
    assert answers.to_pylist() == [str(size - 1), "0"]
    assert len(answers.dictionary) == size
    assert domain.decode(np.array([size + null - 1, 0], np.uint32), like=column)[0].as_py() == (None if null else str(size - 1))


@pytest.mark.parametrize("k", [126, 127, 128, 129, 130, 200, 255, 256])
def test_pandas_categoricals_around_the_limits_of_a_byte(k: int) -> None:
    """A null is code -1, which as an unsigned byte is category 255."""
    names = [f"n{value}" for value in range(k)]
    series = pd.Categorical([None, *names, "n0"], categories=names[::-1])
    column = pa.array(series)
    rows = [None, *names, "n0"]
    assert truth([*names, None], column).to_pylist() == rows
    assert truth([None, *names], column).to_pylist() == rows
    assert Domain(names, unknown="randomise").encode(column).tolist() == [k, *range(k), 0]
    codes = series.codes
    with pytest.raises(OutsideDomainError):
        truth(range(min(k, 127)), codes)
    assert Domain.range(min(k, 127), unknown="randomise").encode(codes)[0] == min(k, 127)


def test_polars_columns_by_way_of_arrow() -> None:
    rows = ["b", None, "a", "b"]
    for kind in (pl.String, pl.Categorical, pl.Enum(["a", "b", CANARY])):
        column = pl.Series(rows, dtype=kind).to_arrow()
        answers = truth(["a", "b", None], column)
        assert answers.to_pylist() == rows
        assert CANARY.encode() not in bytes_of(answers)


def test_every_chunk_has_its_own_dictionary() -> None:
    """Decoding the second chunk with the first one's dictionary gives a, b, c, and an index too many."""
    chunks = [dictionary([0, 1, 2], ["a", "b", "c"]), dictionary([0, 3, 1, 2], ["d", "e", "f", "g"]), dictionary([1], ["g", "a"])]
    column = pa.chunked_array(chunks)
    answers = truth(list("gfedcba"), column)
    assert answers.to_pylist() == list("abcdgefa")
    assert all(chunk.dictionary.to_pylist() == list("gfedcba") for chunk in answers.chunks)
    assert noisy(Domain(list("abcdefg")), column).to_pylist() == by_reference(Domain(list("abcdefg")), list("abcdgefa"))


def test_two_chunks_that_need_a_wider_index_together() -> None:
    """65 and 64 names fit a signed byte each, and not together."""
    first, second = [f"a{value}" for value in range(65)], [f"b{value}" for value in range(64)]
    column = pa.chunked_array([dictionary(list(range(len(names))), names) for names in (first, second)] * 50)
    answers = truth([*first, *second], column)
    assert answers.type.index_type == pa.int16()
    assert answers.to_pylist() == (first + second) * 50


def test_domains_and_dictionaries_meet_by_value_not_by_place() -> None:
    first, second = dictionary([0, 1], ["a", "b"]), dictionary([0, 1], ["b", "a"])
    assert Domain(["a", "b"]).encode(first).tolist() == Domain(["b", "a"]).encode(second).tolist() == [0, 1]
    assert truth(["a", "b"], second).to_pylist() == ["b", "a"]


@pytest.mark.parametrize("start", [*range(10), 15, 16, 17, 63, 64, 65])
@pytest.mark.parametrize("kind", ["dictionary", *VALUES], ids=str)
def test_slices_begin_where_they_say(kind: Any, start: int) -> None:
    """Offsets that are no multiple of 8 lie within a byte of the validity bitmap."""
    values = ["x", "y", "z"] if kind == "dictionary" else VALUES[kind]
    rows = [None if row % 5 == 0 else values[row % len(values)] for row in range(100)]
    column = pa.array(rows).dictionary_encode() if kind == "dictionary" else pa.array(rows, kind)
    domain = Domain([*values, None])
    for stop in (start, start + 1, start + 9, 100):
        assert truth(domain, column[start:stop]).to_pylist() == rows[start:stop]
        part = column[start - start % 3 :][start % 3 : stop - start + start % 3]
        assert domain.encode(part).tolist() == [domain.values.index(row) for row in rows[start:stop]]
    chunked = pa.chunked_array([column[start : start + 3], column[start + 3 :]])
    assert truth(domain, chunked).to_pylist() == rows[start:]


def test_a_null_is_a_null_wherever_it_is_written() -> None:
    """A valid index to a null entry is no value either."""
    column = dictionary([0, 0, 1, None], [None, "abc"])
    plain = pa.array([None, None, "abc", None])
    assert truth(["abc", None], column).to_pylist() == plain.to_pylist()
    for domain in (Domain(["abc", None]), Domain(["x", "abc"], other="x"), Domain(["abc", "x"], unknown="randomise")):
        assert domain.encode(column).tolist() == domain.encode(plain).tolist()
        assert noisy(domain, column).to_pylist() == noisy(domain, plain).to_pylist()
    for nulls in (column, plain, pa.array([None, "abc"]).dictionary_encode()):
        with pytest.raises(OutsideDomainError):
            truth(["abc", "x"], nulls)


def test_equal_entries_of_a_dictionary_are_one_category() -> None:
    column = dictionary([0, 1, 2, 3], ["a", "b", "a", "b"])
    assert Domain(["b", "a"]).encode(column).tolist() == [1, 0, 1, 0]
    assert truth(["b", "a"], column).dictionary.to_pylist() == ["b", "a"]


@pytest.mark.parametrize("kind", [*VALUES, "dictionary"], ids=str)
def test_empty_columns_keep_their_type_and_domain(kind: Any) -> None:
    values = ["a", "b"] if kind == "dictionary" else VALUES[kind]
    domain = Domain([*values, None])
    wanted = pa.dictionary(pa.int8(), pa.string()) if kind == "dictionary" else kind
    empty = pa.array([], wanted)
    for column in (empty, pa.chunked_array([], wanted), pa.chunked_array([empty, empty]), pa.array([None], wanted)[:0]):
        answers = truth(domain, column)
        assert (answers.type, len(answers)) == (wanted, 0)
        assert isinstance(answers, pa.ChunkedArray) == isinstance(column, pa.ChunkedArray)
        assert domain.encode(column).size == 0
        for chunk in answers.chunks if isinstance(answers, pa.ChunkedArray) else [answers]:
            assert kind != "dictionary" or chunk.dictionary.to_pylist() == ["a", "b"]
    nulls = pa.array([None] * 9, wanted)
    assert truth(domain, nulls).to_pylist() == [None] * 9
    assert noisy(domain, nulls).to_pylist() == by_reference(domain, [None] * 9)
    assert truth(Domain(values, other=values[1]), nulls).to_pylist() == [values[1]] * 9


def test_a_dictionary_without_entries() -> None:
    column = dictionary([None, None], pa.array([], pa.string()))
    assert truth(["a", None], column).to_pylist() == [None, None]
    assert Domain(["a"], unknown="randomise").encode(column).tolist() == [1, 1]


@pytest.mark.parametrize("index", [99, 2, -1, -128])
@pytest.mark.parametrize("rows", [1, 3, 1000])
@pytest.mark.parametrize("rule", [{}, {"unknown": "randomise"}, {"other": "a"}])
def test_hostile_indices_are_an_ordinary_error(index: int, rows: int, rule: Any) -> None:
    """Memory beyond the dictionary is not read, and the text is the same for every index and every number of rows."""
    domain = Domain(["a", "b"], **rule)
    for indices in ([index] * rows, [0] * rows + [index], [index] + [None] * rows):
        column = dictionary(indices, ["a", "b"], safe=False)
        for broken in (column, pa.chunked_array([column[:0], column])):
            for call in (domain.encode, RandomisedResponse(domain, epsilon=1.0).sanitise):
                with pytest.raises(CorruptDataError, match=r"^a dictionary index points outside its dictionary$"):
                    call(broken)


@pytest.mark.parametrize("kind", [*TEXT_TYPES[:2], *BYTES_TYPES[:2]], ids=str)
def test_hostile_offsets_are_an_ordinary_error(kind: pa.DataType) -> None:
    """Such an array passes pyarrow's quick validation; reading its value kills the process."""
    wide = np.int64 if "large" in str(kind) else np.int32
    values = [b"a"] if kind in BYTES_TYPES else ["a"]
    for offsets in ([0, 2_000_000_000, 1], [0, 1, 0, 1]):
        memory = [None, pa.py_buffer(np.array(offsets, wide)), pa.py_buffer(b"a")]
        broken = pa.Array.from_buffers(kind, len(offsets) - 1, memory)
        indices = pa.array([0], pa.int8())
        for column in (broken, pa.DictionaryArray.from_arrays(indices, broken, safe=False)):
            with pytest.raises(CorruptDataError, match=r"^an Arrow array is broken: "):
                Domain(values, unknown="randomise").encode(column)


def test_text_that_is_not_utf8_is_a_value_like_any_other() -> None:
    broken = pa.array([b"\xff", b"a"]).view(pa.string())
    assert Domain(["a"], unknown="randomise").encode(broken).tolist() == [1, 0]
    with pytest.raises(OutsideDomainError):
        truth(["a"], broken)


def test_memory_at_odd_addresses_is_read() -> None:
    raw = pa.py_buffer(b"\xff" + np.array([1, 0, 1], np.int32).tobytes())[1:]
    odd = pa.Array.from_buffers(pa.int32(), 3, [None, raw])
    assert truth(range(2), odd).to_pylist() == [1, 0, 1]
    assert truth(["a", "b"], pa.DictionaryArray.from_arrays(odd, pa.array(["a", "b"]))).to_pylist() == ["b", "a", "b"]


def test_unused_entries_are_no_values_and_never_come_out() -> None:
    """A filtered column keeps all its names; so does the file that it is written to."""
    names = [f"{CANARY}-{value}" for value in range(1000)]
    column = pa.array(["a", "b", *names]).dictionary_encode()[:2]
    assert any(CANARY.encode() in data for data in written(column))
    answers = truth(["a", "b"], column)
    assert answers.to_pylist() == ["a", "b"]
    assert not any(CANARY.encode() in data for data in [bytes_of(answers), *written(answers)])
    with pytest.raises(OutsideDomainError):
        truth(["a", "b"], pa.array(["a", "b", *names]).dictionary_encode()[:3])
    assert noisy(Domain(["a", "b"]), column).equals(noisy(Domain(["a", "b"]), dictionary([0, 1], ["a", "b"])))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_binary(), pa.binary(len(CANARY))], ids=str)
def test_what_lies_under_nulls_and_beside_slices_stays_there(kind: pa.DataType) -> None:
    hidden = CANARY.encode() if "binary" in str(kind) else CANARY
    short = "ordinary-in-a-mine"
    plain = short.encode() if "binary" in str(kind) else short
    full = pa.array([hidden, plain, hidden, plain] * 8, kind)
    mask = pa.py_buffer(np.packbits([0, 1, 0, 1] * 8, bitorder="little"))
    column = pa.Array.from_buffers(kind, 32, [mask, *full.buffers()[1:]])
    assert CANARY.encode() in bytes_of(column)
    for domain in (Domain([plain, None]), Domain([plain], other=plain)):
        for part in (column, column[1:], pa.chunked_array([column[:5], column[5:]])):
            answers = truth(domain, part)
            assert CANARY.encode() not in bytes_of(answers)
            assert not any(CANARY.encode() in data for data in written(answers))


@pytest.mark.parametrize("kind", [pa.int64(), "dictionary"], ids=str)
def test_the_bytes_under_output_nulls_do_not_depend_on_the_data(kind: Any) -> None:
    values = [5, 9] if kind == pa.int64() else ["a", "b"]
    domain = Domain([*values, None])
    wanted = pa.dictionary(pa.int8(), pa.string()) if kind == "dictionary" else kind
    columns = [pa.array([value] * 400, wanted) for value in (*values, None)]
    for column in columns:
        answers = noisy(domain, column)
        places = answers.indices if kind == "dictionary" else answers
        under = np.frombuffer(places.buffers()[1], np.dtype(places.type.to_pandas_dtype()), 400)[places.is_null().to_numpy(False)]
        assert under.size > 50
        assert set(under.tolist()) == {0}


@pytest.mark.parametrize(
    ("values", "column", "text"),
    [
        (["a"], pa.array([1]), "type int64, but its domain declares text"),
        ([1], pa.array(["a"]), "type string, but its domain declares integer"),
        ([b"a"], pa.array(["a"]), "declares binary"),
        ([True], pa.array([1]), "declares boolean"),
        (range(2), pa.array([True]), "declares integer"),
        (range(2), pa.array([0.0]), "cut numbers into bins"),
        (range(2), pa.array([0.0]).dictionary_encode(), "declares integer"),
        (["a", None], pa.array([None, None]), "type null"),
        (["a", None], dictionary([0], pa.array([None])), "values=null"),
        (range(2), pa.array([1], pa.date32()), "type date32"),
        (["a"], pa.array([["a"]]), "type list"),
        (["a"], pa.array([{"x": "a"}]), "type struct"),
        (["a"], pa.RunEndEncodedArray.from_arrays([1], ["a"]), "run_end_encoded"),
        (["a"], dictionary([0], dictionary([0], ["a"])), "dictionary<values=dictionary"),
        ([b"a" * 16], pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"a" * 16], pa.binary(16))), "extension type"),
        ([b"ab"], pa.array([b"abc"], pa.binary(3)), "cannot hold all values"),
        (range(300), pa.array([1], pa.int8()), "cannot hold all values"),
        (range(1 << 31), pa.array([1], pa.int16()), "cannot hold all values"),
        ([-1], pa.array([1], pa.uint8()), "cannot hold all values"),
        ([1 << 63], pa.array([1]).dictionary_encode(), "cannot hold all values"),
        (["a", "b" * (1 << 20)], pa.array(["a"] * (1 << 11)), "2 GiB a chunk"),
        ([b"a", b"b" * (1 << 20)], pa.array([b"a"] * (1 << 11)), "2 GiB a chunk"),
    ],
)
def test_a_type_that_does_not_fit_is_refused(values: Any, column: Any, text: str) -> None:
    """Also one whose offsets might not hold the answers: whether they do would depend on the data."""
    for shape in (column, pa.chunked_array([column])):
        wanted = "type extension" if text == "extension type" and shape is not column else text
        with pytest.raises(ArgumentTypeError, match=f"^column 'town' has .*{wanted}"):
            RandomisedResponse(values, epsilon=1.0).sanitise(shape, column_name="town")


def test_smaller_chunks_or_wider_offsets_take_long_values() -> None:
    domain = ["a", "b" * (1 << 20)]
    chunk = pa.array(["a"] * (1 << 10))
    assert truth(domain, pa.chunked_array([chunk, chunk])).to_pylist() == ["a"] * (1 << 11)
    assert truth(domain, pa.array(["a"] * (1 << 11), pa.large_string())).to_pylist() == ["a"] * (1 << 11)


def test_a_range_of_any_size_reads_arrow_integers() -> None:
    column = pa.array([0, None, (1 << 31) - 1, -1, 1 << 40])
    assert Domain.range(1 << 31, unknown="randomise").encode(column).tolist() == [0, 1 << 31, (1 << 31) - 1, 1 << 31, 1 << 31]
    assert truth(range(1 << 31), column[2:3]).to_pylist() == [(1 << 31) - 1]
