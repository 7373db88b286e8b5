"""Permanent noise by identifier: one word for one identifier and true value, however the identifier is stored."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpfast import ArgumentTypeError, CorruptDataError, Domain, IdError, RandomisedResponse, Stream
from dpfast.ids import prepare_ids
from dpfast.reference import response, words
from dpfast.reference import sanitise as reference
from dpfast.words import IdCells

DIGEST = bytes(range(32))
SUBKEY = words.subkey(words.insecure_master_key(3), "id", column="c", mechanism=DIGEST)
TEXTS = ["", "1234567", "12345678", "123456789", "x" * 24, "x" * 25, "y" * 40, "ü", "\0", "a\0", "a"]
RAW = [text.encode() for text in TEXTS] + [b"\xff\xfe"]
UUIDS = [uuid.UUID(int=1), uuid.UUID("12345678-1234-5678-1234-567812345678"), uuid.UUID(int=(1 << 128) - 1)]


def drawn(ids: Any, codes: npt.ArrayLike | None = None) -> list[int]:
    """Words of some identifiers; the true codes are 0, 1, 2 … unless given."""
    column = prepare_ids(ids)
    trues = np.arange(column.n_rows, dtype=np.uint32) if codes is None else np.asarray(codes, np.uint32)
    return [int(w) for w in column.words(Stream.insecure(3).ids("c", DIGEST), 0, column.n_rows, trues)]


def told(ids: list[Any]) -> list[int]:
    """The same by the definition, one block of AES at a time."""
    return [words.id_word(SUBKEY, identifier, code) for code, identifier in enumerate(ids)]


def objects(values: list[Any]) -> npt.NDArray[Any]:
    column: npt.NDArray[Any] = np.empty(len(values), object)
    column[:] = values
    return column


def indexed(values: pa.Array, indices: Any = None, *, safe: bool = True) -> pa.DictionaryArray:
    indices = list(range(len(values))) if indices is None else indices
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), values, safe=safe)


def stored(values: list[Any], kind: pa.DataType) -> dict[str, Any]:
    """One Arrow column, held in all the ways there are."""
    array = pa.array(values, kind)
    return {
        f"{kind}": array,
        f"{kind}, sliced": pa.array([*values, *values], kind)[len(values) :],
        f"{kind}, chunked": pa.chunked_array([array[:2], array[2:2], array[2:]]),
        f"{kind}, one chunk": pa.chunked_array([array]),
        f"{kind}, dictionary": indexed(pa.array(values[::-1], kind), list(range(len(values)))[::-1]),
        f"{kind}, dictionaries": pa.chunked_array([indexed(pa.array(part, kind)) for part in (values[:1], values[1:])]),
        f"{kind}, null unused": indexed(pa.array([*values, None], kind), list(range(len(values)))),
    }


CASES: dict[str, tuple[Any, list[Any]]] = {}
for _type in (pa.string(), pa.large_string(), pa.string_view()):
    CASES |= {name: (ids, TEXTS) for name, ids in stored(TEXTS, _type).items()}
for _type in (pa.binary(), pa.large_binary(), pa.binary_view()):
    CASES |= {name: (ids, RAW) for name, ids in stored(RAW, _type).items()}
for _size in (1, 7, 8, 9, 24, 25, 40):
    _raw = [bytes([value]) * _size for value in range(3)]
    CASES |= {name: (ids, _raw) for name, ids in stored(_raw, pa.binary(_size)).items()}
for _type in (pa.int8(), pa.int16(), pa.int32(), pa.int64()):
    CASES |= {name: (ids, [-128, -1, 0, 127]) for name, ids in stored([-128, -1, 0, 127], _type).items()}
for _type in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()):
    CASES |= {name: (ids, [255, 0, 127, 128]) for name, ids in stored([255, 0, 127, 128], _type).items()}
CASES |= {
    "text, numpy": (np.array(TEXTS[:8]), TEXTS[:8]),  # numpy's own text has no NUL at its end
    "text, objects": (objects([*TEXTS[1:], np.str_("")]), [*TEXTS[1:], ""]),
    "bytes, numpy": (np.array(RAW[:8]), RAW[:8]),
    "bytes, objects": (objects([*RAW[1:], np.bytes_(b"")]), [*RAW[1:], b""]),
    "uuid, objects": (objects(UUIDS), UUIDS),
    "uuid, storage": (pa.array([u.bytes for u in UUIDS], pa.binary(16)), UUIDS),
    "uuid": (pa.ExtensionArray.from_storage(pa.uuid(), pa.array([u.bytes for u in UUIDS], pa.binary(16))), UUIDS),
    "integers, objects": (objects([5, np.int8(-1), np.uint64(7)]), [5, -1, 7]),
    "large integers, objects": (objects([0, 1 << 63, (1 << 64) - 1]), [0, 1 << 63, (1 << 64) - 1]),
    "large integers": (np.array([0, 1 << 63, (1 << 64) - 1], np.uint64), [0, 1 << 63, (1 << 64) - 1]),
    "smallest integers": (np.array([(1 << 63) - 1, -(1 << 63)]), [(1 << 63) - 1, -(1 << 63)]),
    "polars": (pl.Series(["a", "b"]), ["a", "b"]),
    "polars integers": (pl.Series([1, -2], dtype=pl.Int16), [1, -2]),
    "polars, exported": (pl.Series(["a", "b"]).to_arrow(), ["a", "b"]),
    "pandas": (pd.Series(["a", "b"], index=[5, 4]), ["a", "b"]),
    "pandas objects": (pd.Series(["a", "b"], dtype=object), ["a", "b"]),
    "pandas python text": (pd.Series(["a", "b"], dtype="string[python]"), ["a", "b"]),
    "pandas categories": (pd.Series(["a", "b"], dtype="category"), ["a", "b"]),
    "pandas nullable": (pd.Series([1, 2], dtype="Int8"), [1, 2]),
    "pandas index": (pd.Index([7, 3]), [7, 3]),
    "tuple": ((np.array([1, 1, 2]), pa.array(["a", "b", "a"])), [(1, "a"), (1, "b"), (2, "a")]),
    "tuple of one": ((np.array([1, 2]),), [(1,), (2,)]),
    "tuple, large": ((np.array([1, 1 << 63], np.uint64), np.array([-1, -1])), [(1, -1), (1 << 63, -1)]),
    "tuple, bytes": ((objects(UUIDS[:2]), pa.array([b"", b"x" * 300])), [(UUIDS[0], b""), (UUIDS[1], b"x" * 300)]),
    "tuple, three": (tuple(np.array(part) for part in ([1, 2], ["ü", ""], [b"a", b"b"])), [(1, "ü", b"a"), (2, "", b"b")]),
    "tuple, sliced": ((pa.array(["q", "a", "b"])[1:], pa.array([9, 8, 7])[1:]), [("a", 8), ("b", 7)]),
    "tuple, shifted": ((pa.array(["a", "ab"]), pa.array(["bc", "c"])), [("a", "bc"), ("ab", "c")]),
    "none": (np.array([], np.int64), []),
    "none, text": (pa.array([], pa.string()), []),
    "none, no chunk": (pa.chunked_array([], pa.string_view()), []),
    "none, dictionary": (pa.chunked_array([], pa.dictionary(pa.int8(), pa.int64())), []),
    "none, objects": (np.array([], object), []),
    "none, tuple": ((np.array([], np.int8), pa.array([], pa.binary())), []),
}


@pytest.mark.parametrize("name", CASES)
def test_words_are_those_of_the_definition(name: str) -> None:
    ids, values = CASES[name]
    assert drawn(ids) == told(values)


@pytest.mark.parametrize("dtype", [order + kind + size for order in "<>" for kind in "iu" for size in "1248"])
def test_an_integer_is_the_same_in_every_width_sign_and_byte_order(dtype: str) -> None:
    values = [7, 0, 127, 1]
    for ids in (np.array(values, dtype), np.repeat(np.array(values, dtype), 2)[::2], np.array(values[::-1], dtype)[::-1]):
        assert drawn(ids) == told(values)
    raw = np.frombuffer(b"\0" + np.array(values, dtype).tobytes(), dtype, 4, 1)
    assert drawn(raw) == told(values)


def test_kinds_do_not_meet() -> None:
    """One bit pattern as a signed and an unsigned integer, as text and as bytes, and alone or in a tuple."""
    alike: list[Any] = [
        np.array([-1]),
        np.array([(1 << 64) - 1], np.uint64),
        pa.array([b"\xff" * 8]),
        (np.array([-1]),),
        pa.array(["a"]),
        pa.array([b"a"]),
        (pa.array(["a"]),),
        (pa.array(["a"]), pa.array([""])),
        (pa.array([""]), pa.array(["a"])),
        pa.array([b"a\0"]),
    ]
    assert len({drawn(ids)[0] for ids in alike}) == len(alike)


def test_the_true_code_is_part_of_the_input() -> None:
    ids = np.arange(4)
    assert len(set(drawn(ids, [0] * 4) + drawn(ids, [1] * 4) + drawn(ids, [1 << 31] * 4))) == 12


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        (np.array([1.0, 2.0]), "dtype float64"),
        (np.array([True, False]), "dtype bool"),
        (np.array([1, 2], "M8[s]"), "datetime64"),
        (objects([1.0, 2.0]), "hold floats"),
        (objects([1, float("nan")]), "hold floats"),
        (objects([np.float32(1), np.float32(2)]), "hold floats"),
        (objects([True, False]), "cannot identify"),
        (objects(["a", b"b"]), "several types"),
        (objects([1, "b"]), "several types"),
        (objects([uuid.UUID(int=1), "b"]), "several types"),
        (objects([(1, 2)]), "cannot identify"),
        (pa.array([1.5]), "type double"),
        (pa.array([True]), "type bool"),
        (pa.array([1], pa.date32()), "type date32"),
        (pa.array([1], pa.decimal128(5)), "type decimal"),
        (pa.array([["a"]]), "type list"),
        (pa.array([1.5]).dictionary_encode(), "cannot identify"),
        (np.ma.array([1, 2], mask=[True, False]), "masked array"),
        (np.zeros((2, 2), int), "2 dimensions"),
        (np.array(1), "0 dimensions"),
        (["a"], "not list"),
        (pd.DataFrame({"a": [1]}), "not DataFrame"),
        (pl.Series([object()], dtype=pl.Object), "polars column of type Object"),
        (pd.Series(pd.Categorical([1, "a"])), "no Arrow form"),
        (pd.Series([1.5]), "dtype float64"),
        ("member", "not str"),
        ((np.array([1]), (np.array([1]),)), "not tuple"),
        ((np.array([1]), np.array([1.0])), "dtype float64"),
    ],
)
def test_what_cannot_identify_is_refused(ids: Any, text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=text):
        prepare_ids(ids)


NULLS: list[Any] = [
    pa.array(["a", None]),
    pa.array([1, None]),
    pa.array([b"a", None], pa.binary_view()),
    pa.array([None, None]),
    pa.chunked_array([pa.array(["a"]), pa.array([None], pa.string())]),
    indexed(pa.array(["a", None])),
    indexed(pa.array(["a", "b"]), [0, None]),
    objects(["a", None]),
    objects([None, 1]),
    objects([pd.NA, "a"]),
    objects([pd.NaT, "a"]),
    (np.array([1, 2]), pa.array(["a", None])),
]


@pytest.mark.parametrize("ids", NULLS, ids=range(len(NULLS)))
def test_a_null_identifies_nobody(ids: Any) -> None:
    with pytest.raises(IdError, match=r"^an identifier is null$"):
        prepare_ids(ids)


REPEATED: list[Any] = [
    np.array([1, 2, 1]),
    np.array([1, 1 << 60, 1]),
    np.array([-(1 << 63), (1 << 63) - 1, -(1 << 63)]),
    np.array([1 << 63, 0, 1 << 63], np.uint64),
    np.array([5, 5], np.int8),
    pa.array(["a", "b", "a"]),
    pa.array(["", ""]),
    pa.array([b"x" * 40, b"y", b"x" * 40]),
    pa.chunked_array([["a"], ["a"]]),
    indexed(pa.array(["a", "b", "a"])),
    indexed(pa.array([7, 8]), [0, 1, 0]),
    objects([UUIDS[0], UUIDS[0]]),
    objects([np.int8(3), 3]),
    (np.array([1, 1]), pa.array(["a", "a"])),
]


@pytest.mark.parametrize("ids", REPEATED, ids=range(len(REPEATED)))
def test_a_repeated_identifier_is_refused_unless_the_caller_vouches(ids: Any) -> None:
    with pytest.raises(IdError, match=r"^an identifier is repeated; "):
        prepare_ids(ids)
    assert prepare_ids(ids, unique=False).n_rows >= 2


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u1", "u8"])
def test_distinct_integers_in_any_order_are_accepted(dtype: str) -> None:
    limits = np.iinfo(dtype)
    orders: list[list[int]] = [[3, 1, 2], [1, 2, 3], [3, 2, 1], [limits.max, limits.min, 5], [limits.min, limits.max], [7], []]
    for order in orders:
        assert prepare_ids(np.array(order, dtype), len(order)).n_rows == len(order)


def test_identifiers_that_no_format_holds_are_refused() -> None:
    for values in ([1 << 64, 0], [-(1 << 63) - 1, 0], [-1, 1 << 63]):
        with pytest.raises(IdError, match="64 bits"):
            prepare_ids(objects(values))
    for text in (np.array(["\ud800"]), objects(["\ud800"])):
        with pytest.raises(IdError, match="not valid Unicode"):
            prepare_ids(text)
    with pytest.raises(IdError, match="empty tuple"):
        prepare_ids(())


@pytest.mark.parametrize("index", [2, 99, -1, -128])
@pytest.mark.parametrize("values", [["a", "b"], [5, 6], [b"a", b"b"]])
def test_broken_dictionaries_and_offsets_are_an_ordinary_error(index: int, values: list[Any]) -> None:
    broken = indexed(pa.array(values), [0, index], safe=False)
    for ids in (broken, pa.chunked_array([broken]), (broken, np.array([1, 2]))):
        with pytest.raises(CorruptDataError, match=r"^a dictionary index of ids points outside its dictionary"):
            prepare_ids(ids)
    memory = [None, pa.py_buffer(np.array([0, 2_000_000_000, 1], np.int32)), pa.py_buffer(b"a")]
    with pytest.raises(CorruptDataError, match=r"^an Arrow array is broken"):
        prepare_ids(pa.Array.from_buffers(pa.string(), 2, memory))


def test_two_chunks_that_need_a_wider_index_together() -> None:
    """65 and 64 names fit a signed byte each, and not together."""
    first, second = [f"a{value}" for value in range(65)], [f"b{value}" for value in range(64)]
    assert drawn(pa.chunked_array([indexed(pa.array(first)), indexed(pa.array(second))])) == told(first + second)


KINDS: dict[str, Callable[[npt.NDArray[Any]], Any]] = {
    "integers": lambda numbers: numbers,
    "texts": lambda numbers: pa.array([f"member {n} of the club" for n in numbers]),
    "bytes": lambda numbers: pa.array([int(n).to_bytes(8, "big") for n in numbers], pa.binary(8)),
    "pairs": lambda numbers: (numbers // 100, pa.array([str(n % 100) for n in numbers])),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [4, 5000])
def test_noise_stays_with_the_identifier(kind: str, k: int, key: bytes) -> None:
    """Through permutation, pieces, other rows and a new process's stream; another key, context or column changes it."""
    mechanism = RandomisedResponse(range(k), epsilon=1.0)
    numbers = np.arange(1000)
    column = (numbers * 7 % k).astype(np.uint16)

    def release(rows: Any, *, context: str = "club", name: str = "town", master: bytes = key) -> npt.NDArray[Any]:
        stream = Stream(key=master, context=context)
        answers: npt.NDArray[Any] = mechanism.sanitise(column[rows], rng=stream, ids=KINDS[kind](numbers[rows]), column_name=name)
        return answers

    whole = release(slice(None))
    assert 0 < (whole != column).sum() <= 1000
    order = np.random.default_rng(1).permutation(1000)
    assert (release(order) == whole[order]).all()
    pieces = [release(slice(start, start + 137)) for start in range(0, 1000, 137)]
    assert (np.concatenate(pieces) == whole).all()
    again = Stream(key=key, context="club")
    for _ in range(2):
        repeated = mechanism.sanitise(column, rng=again, ids=KINDS[kind](numbers), column_name="town")
        assert (repeated == whole).all()
    for changed in ({"context": "other"}, {"name": "street"}, {"master": bytes(32)}):
        assert (release(slice(None), **changed) != whole).sum() > 100


def test_answers_are_those_of_the_reference(key: bytes) -> None:
    """With nulls, values outside the domain (code k) and a code through `other`."""
    ids = [f"member {number}" for number in range(300)]
    column = pa.array([["a", "b", None, "x"][number % 4] for number in range(300)])
    for domain in (
        Domain(["a", "b", None], unknown="randomise"),
        Domain(["b", "a"], other="b"),
        Domain(["a"], unknown="randomise"),
    ):
        answers = RandomisedResponse(domain, epsilon=1.0).sanitise(
            column, rng=Stream(key=key, context="club"), ids=pa.array(ids), column_name=("town", "street")
        )
        assert answers.to_pylist() == reference.sanitise(
            column.to_pylist(),
            list(domain.values),
            response.threshold(domain.size, 1),
            master=key,
            context="club",
            column=("town", "street"),
            ids=ids,
            unknown=domain.unknown,
            other=domain.other,
        )


def test_permanent_noise_needs_a_key_and_an_identifier_a_row(key: bytes) -> None:
    mechanism = RandomisedResponse(range(4), epsilon=1.0)
    column = np.zeros(5, np.uint8)
    for stream in (None, Stream()):
        with pytest.raises(ArgumentTypeError, match="needs a keyed stream"):
            mechanism.sanitise(column, rng=stream, ids=np.arange(5), column_name="town")
    keyed = Stream(key=key, context="club")
    with pytest.raises(ArgumentTypeError, match="column_name="):
        mechanism.sanitise(column, rng=keyed, ids=np.arange(5))
    wrong: list[Any] = [np.arange(4), np.arange(6), np.arange(0), pa.array(["a"]), (np.arange(4), np.arange(4))]
    for ids in wrong:
        with pytest.raises(IdError, match="differ in length"):
            mechanism.sanitise(column, rng=keyed, ids=ids, column_name="town")
    with pytest.raises(IdError, match="differ in length"):
        prepare_ids((np.arange(4), np.arange(5)))


def test_broken_ids_leave_the_output_alone(key: bytes) -> None:
    column = np.arange(4, dtype=np.uint8)
    out = np.full(4, 77, np.uint8)
    for ids in (np.array([1, 1, 2, 3]), pa.array([1, None, 2, 3]), np.arange(3), np.arange(4.0)):
        with pytest.raises((IdError, ArgumentTypeError)):
            RandomisedResponse(range(4), epsilon=1.0).sanitise(
                column, rng=Stream(key=key, context="club"), ids=ids, column_name="town", out=out
            )
        assert out.tolist() == [77] * 4


def test_words_that_happen_to_be_equal_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Identifiers are told apart by words first; where these are equal, by themselves."""
    monkeypatch.setattr(IdCells, "of_bytes", lambda self, data, offsets, tag, codes: np.zeros(codes.size, np.uint64))
    distinct = pa.array([f"{i:036d}" for i in range(100)])
    assert prepare_ids(distinct).n_rows == 100
    assert prepare_ids(distinct.slice(7, 20)).n_rows == 20
    with pytest.raises(IdError, match="repeated"):
        prepare_ids(pa.concat_arrays([distinct, distinct.slice(99)]))
