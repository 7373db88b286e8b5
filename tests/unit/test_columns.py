"""numpy columns: every dtype and memory layout is read as its values, answered in kind, and left as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from dpfast import ArgumentError, ArgumentTypeError, Domain, OutsideDomainError, RandomisedResponse, Stream
from dpfast.reference import response, words
from dpfast.reference import sanitise as reference

Column = npt.NDArray[Any]

INTEGERS = [order + kind + size for order in "<>" for kind in "iu" for size in "248"] + ["i1", "u1"]
TRUTHFUL = 40.0  # an epsilon at which an answer differs from the truth once in 10^17 rows


def truth(domain: Any, column: Column, **options: Any) -> Any:
    return RandomisedResponse(domain, epsilon=TRUTHFUL).sanitise(column, **options)


def noisy(domain: Any, column: Column) -> list[Any]:
    answers: list[Any] = RandomisedResponse(domain, epsilon=1.0).sanitise(column, rng=Stream.insecure(5)).tolist()
    return answers


def by_reference(domain: Domain, values: list[Any]) -> list[Any]:
    return reference.sanitise(
        values,
        list(domain.values),
        response.threshold(domain.size, 1),
        master=words.insecure_master_key(5),
        unknown=domain.unknown,
        other=domain.other,
    )


# One column of each kind, with its domain.
def integers(dtype: str) -> tuple[Domain, Column]:
    return Domain.range(100), np.array([3, 0, 99, 42, 42, 7, 1, 98], dtype)


def listed(dtype: str) -> tuple[Domain, Column]:
    known = [5, 120, 3, 0] + ([-7, -128] if "i" in dtype else [1, 127])
    return Domain(known), np.array([3, 0, 5, known[-1], known[-2], 120, 120, 5], dtype)


COLUMNS: dict[str, tuple[Domain, Column]] = {
    **{f"range {dtype}": integers(dtype) for dtype in INTEGERS},
    **{f"listed {dtype}": listed(dtype) for dtype in INTEGERS},
    "extreme i8": (Domain([-(1 << 63), (1 << 63) - 1, 0]), np.array([0, -(1 << 63), (1 << 63) - 1, 0], "i8")),
    "extreme u8": (Domain([(1 << 64) - 1, 1 << 63, 0]), np.array([0, 1 << 63, (1 << 64) - 1, 0], "u8")),
    "bool": (Domain([True, False]), np.array([True, False, False, True, True])),
    "bool alone": (Domain([True]), np.array([True, True, True])),
    "text": (Domain(["ü", "", "Köln", "a b"]), np.array(["Köln", "", "ü", "a b", "ü"])),
    "text, swapped": (Domain(["ü", "", "Köln"]), np.array(["Köln", "", "ü", "ü"], ">U9")),
    "bytes": (Domain([b"\xff\x00a", b"", b"b"]), np.array([b"b", b"", b"\xff\x00a", b"b"])),
    "objects, text": (Domain(["b", None, "a\0"]), np.array(["a\0", None, "b", np.str_("b"), None], object)),
    "objects, integers": (Domain([5, None, 1 << 63]), np.array([1 << 63, None, 5, np.int8(5)], object)),
    "objects, range": (Domain.range(3), np.array([2, np.uint64(0), 1, 2], object)),
    "objects, bool": (Domain([None, True, False]), np.array([True, np.False_, None, True], object)),
    "objects, bytes": (Domain([b"a\0", b"a"]), np.array([b"a", b"a\0", np.bytes_(b"a")], object)),
}


@pytest.fixture(params=COLUMNS)
def case(request: pytest.FixtureRequest) -> tuple[Domain, Column]:
    domain, column = COLUMNS[request.param]
    return domain, column.copy()


def test_round_trip(case: tuple[Domain, Column]) -> None:
    domain, column = case
    values = column.tolist()
    codes = domain.encode(column)
    assert codes.dtype in (np.uint8, np.uint16, np.uint32)
    assert codes.tolist() == [domain.code_of(value) for value in values]
    for back in (domain.decode(codes, like=column), truth(domain, column)):
        assert back.tolist() == values
        assert type(back) is np.ndarray
        assert back.dtype.kind == column.dtype.kind
        assert column.dtype.kind in "US" or back.dtype == column.dtype
    assert column.tolist() == values


def test_answers_are_those_of_the_reference(case: tuple[Domain, Column]) -> None:
    domain, column = case
    column = np.resize(column, 300)
    values = [value.item() if isinstance(value, np.generic) else value for value in column.tolist()]
    assert noisy(domain, column) == by_reference(domain, values)


def unaligned(column: Column) -> Column:
    raw = np.zeros(column.nbytes + 1, np.uint8)
    view = raw[1:].view(column.dtype)
    view[:] = column
    return view


def field(column: Column) -> Column:
    table = np.zeros(column.size, [("flag", "u1"), ("value", column.dtype), ("rest", "u2")])
    table["value"] = column
    return table["value"]


LAYOUTS: dict[str, Callable[[Column], Column]] = {
    "backwards": lambda column: column[::-1].copy()[::-1],
    "every second": lambda column: np.repeat(column, 2)[::2],
    "every third, backwards": lambda column: np.repeat(column[::-1], 3)[::-3],
    "tail": lambda column: np.concatenate([column[:1], column])[1:],
    "column of a matrix": lambda column: np.stack([column, column[::-1]], axis=1)[:, 0],
    "row of a matrix": lambda column: np.asfortranarray(np.stack([column[::-1], column]))[1],
    "unaligned": unaligned,
    "field": field,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_memory_gives_the_same_answers(case: tuple[Domain, Column], layout: str) -> None:
    domain, column = case
    if column.dtype == object and layout == "unaligned":
        column, layout = column.copy(), "backwards"  # an object array is always aligned
    laid = LAYOUTS[layout](column)
    assert laid.tolist() == column.tolist()
    assert noisy(domain, laid) == noisy(domain, column)
    assert domain.encode(laid).tolist() == domain.encode(column).tolist()
    laid.flags.writeable = False
    assert truth(domain, laid).tolist() == column.tolist()


def test_read_only_memory_maps_and_bytes_are_read_as_they_are(case: tuple[Domain, Column], tmp_path: Path) -> None:
    """A compiled core that asks for writable memory would refuse all three."""
    domain, column = case
    column.flags.writeable = False
    sources = [column]
    if column.dtype != object:
        column.tofile(tmp_path / "column")
        sources.append(np.memmap(tmp_path / "column", column.dtype, "r"))
        sources.append(np.frombuffer(column.tobytes(), column.dtype))
    for source in sources:
        answers = truth(domain, source)
        assert answers.tolist() == column.tolist()
        assert answers.flags.writeable
        assert not np.shares_memory(answers, source)
        assert domain.encode(source).tolist() == domain.encode(column).tolist()
    if column.dtype != object:
        assert (tmp_path / "column").read_bytes() == column.tobytes()


@pytest.mark.parametrize("dtype", [">i2", ">i4", ">i8", ">u2", ">u4", ">u8"])
def test_big_endian_codes_are_not_taken_for_native_ones(dtype: str) -> None:
    """Read without a swap 1 is 256 or more: outside, not a wrong category."""
    column = np.array([1, 0, 2], dtype)
    assert Domain.range(1000).encode(column).tolist() == [1, 0, 2]
    answers = truth(Domain.range(1000), column)
    assert (answers.dtype, answers.tolist()) == (np.dtype(dtype), [1, 0, 2])


@pytest.mark.parametrize("rows", [0, 1])
def test_no_rows_and_one_row(case: tuple[Domain, Column], rows: int) -> None:
    domain, column = case
    answers = truth(domain, column[:rows])
    assert answers.shape == (rows,)
    assert answers.tolist() == column[:rows].tolist()
    assert domain.encode(column[:rows]).shape == (rows,)
    assert domain.decode(np.zeros(rows, np.uint8), like=column[:0]).tolist() == list(domain.values[:1]) * rows
    assert RandomisedResponse(domain, epsilon=1.0).estimate(column[:1]).count.sum() == pytest.approx(1)


# Values outside the domain: column, what lies outside, and the domain
OUTSIDE: list[tuple[Any, Column]] = [
    *((range(3), np.array([1, bad], dtype)) for dtype in INTEGERS for bad in (3, 127)),
    *((range(3), np.array([1, bad], dtype)) for dtype in INTEGERS if "i" in dtype for bad in (-1, -128)),
    *(([5, 9], np.array([5, bad], dtype)) for dtype in INTEGERS for bad in (4, 6, 10)),
    (range(128), np.array([127, -1], "i1")),
    (range(255), np.array([254, 255], "u1")),
    (range(1 << 15), np.array([1, -1], "i2")),
    (range(300), np.array([299, 300], "u2")),
    (range(300), np.array([299, 1 << 63], "u8")),
    (range(300), np.array([299, -(1 << 63)], "i8")),
    ([False], np.array([False, True])),
    (["a"], np.array(["a", "A"])),
    (["a"], np.array(["a", ""])),
    (["a"], np.array(["a", "\ud800"])),
    (["a"], np.array(["a", "aa"])),
    ([b"a"], np.array([b"a", b"b"])),
    *((["a"], np.array(["a", bad], object)) for bad in (None, float("nan"), b"a", 1, [], object(), pd.NA, "\ud800")),
    *(([1, 2], np.array([1, bad], object)) for bad in (True, 1.0, "1", None, np.float32(2), 1 << 64, {})),
    *(([True], np.array([True, bad], object)) for bad in (1, 1.0, "True", False, None, pd.NaT)),
    *((range(2), np.array([1, bad], object)) for bad in (True, 1.0, 2, -1, 1 << 70, None)),
]


@pytest.mark.parametrize(("values", "column"), OUTSIDE, ids=range(len(OUTSIDE)))
def test_a_value_outside_the_domain(values: Any, column: Column) -> None:
    strict, other = Domain(values), Domain(values, other=Domain(values).values[0])
    random = Domain(values, unknown="randomise")
    for call in (strict.encode, RandomisedResponse(strict, epsilon=1.0).sanitise):
        with pytest.raises(OutsideDomainError, match=r"^the column holds a value outside its domain.*`dpfast check`"):
            call(column)
    assert random.encode(column)[1] == random.size
    assert other.encode(column)[1] == 0
    assert truth(other, column).tolist() == [column.tolist()[0], other.values[0]]
    many = np.resize(column, 200)
    spelled = [value if strict.code_of(value) is not None else "outside" for value in many.tolist()]
    assert noisy(random, many) == by_reference(random, spelled)
    assert noisy(other, many) == by_reference(other, spelled)


def test_objects_that_mean_missing_are_null() -> None:
    column = np.array([None, float("nan"), np.float64("nan"), np.float32("nan"), pd.NA, pd.NaT, "a", "nan", "None"], object)
    domain = Domain(["a", None], unknown="randomise")
    assert domain.encode(column).tolist() == [1, 1, 1, 1, 1, 1, 0, 2, 2]
    assert truth(Domain(["a", None]), column[:7]).tolist() == [None] * 6 + ["a"]


def test_any_byte_of_a_boolean_is_true_or_false() -> None:
    """Memory of another library may hold booleans that are neither 0 nor 1."""
    column = np.array([0, 1, 2, 255], np.uint8).view(bool)
    assert Domain([False, True]).encode(column).tolist() == [0, 1, 1, 1]
    assert truth([True, False], column).view(np.uint8).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("domain", "column", "text"),
    [
        (range(2), np.zeros((2, 2), int), "has 2 dimensions"),
        (range(2), np.array(1), "has 0 dimensions"),
        (range(2), np.ma.array([0, 1], mask=[True, False]), "is a masked array"),
        (["a"], np.ma.array(["a", "b"]), "is a masked array"),
        (range(2), np.array([0.0, 1.0]), "dtype float64.*cut numbers into bins"),
        (["a"], np.array([np.nan]), "dtype float64"),
        (range(2), np.array([True]), "dtype bool"),
        ([False, True], np.array([0, 1]), "dtype int64"),
        (["a"], np.array([b"a"]), r"dtype bytes"),
        ([b"a"], np.array(["a"]), "dtype str"),
        *((["a"], np.array(["a"], dtype()), "StringDType") for dtype in [getattr(np.dtypes, "StringDType", None)] if dtype),
        (range(2), np.array(["2026-01-01"], "M8[D]"), "datetime64"),
        (range(2), np.array([1j]), "complex"),
        (range(2), np.zeros(1, "V4"), "V4"),
        (range(257), np.array([1], np.uint8), "cannot hold all values"),
        (range(129), np.array([1], np.int8), "cannot hold all values"),
        (range((1 << 16) + 1), np.array([1], np.uint16), "cannot hold all values"),
        ([-1, 1], np.array([1], np.uint32), "cannot hold all values"),
        ([1 << 63, 0], np.array([1], np.int64), "cannot hold all values"),
        (["a", None], np.array(["a"]), "cannot hold the null"),
        ([1, None], np.array([1]), "cannot hold the null"),
        ([True, None], np.array([True]), "cannot hold the null"),
        (["a", "a\0"], np.array(["a"]), "drops the NULs"),
        ([b"a\0"], np.array([b"a"]), "drops the NULs"),
    ],
)
def test_a_type_that_does_not_fit_is_refused_by_name(domain: Any, column: Column, text: str) -> None:
    """numpy ends a text at its last character that is not NUL: two values of such a domain would become one."""
    for call in (Domain(domain).encode, RandomisedResponse(domain, epsilon=1.0).sanitise):
        with pytest.raises(ArgumentTypeError, match=f"^the column .*{text}"):
            call(column)
    with pytest.raises(ArgumentTypeError, match=r"^column 'town' "):
        RandomisedResponse(domain, epsilon=1.0).sanitise(column, column_name="town")


@pytest.mark.parametrize("column", [["a"], ("a",), "a", None, 3, pd.Series(["a"]), np.str_("a")])
def test_other_containers_are_refused(column: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="a column is a 1-D numpy array or a pyarrow Array or ChunkedArray"):
        Domain(["a"]).encode(column)


def test_the_width_of_a_text_column_is_data_and_goes_no_further() -> None:
    long = np.array(["a", "b" * 50])
    domain = Domain(["a", "ccc"], other="a")
    assert domain.decode(np.array([1], np.uint8), like=long).dtype == np.dtype("U3")
    assert truth(domain, long).dtype == truth(domain, np.array(["a", "a"])).dtype == np.dtype("U3")


@pytest.mark.parametrize("size", [2, 255, 256, 257, 65535, 65536, 65537])
def test_codes_take_the_narrowest_type_that_also_holds_unknown(size: int) -> None:
    column = np.array([size - 1, size, 0], np.int64)
    codes = Domain.range(size, unknown="randomise").encode(column)
    assert codes.tolist() == [size - 1, size, 0]
    assert codes.itemsize == (1 if size <= 255 else 2 if size <= 65535 else 4)


@pytest.mark.parametrize("like", [np.zeros(1, np.uint8), np.zeros(1, np.int8), np.zeros(1, np.uint32), np.zeros(1, ">u2")])
def test_decoded_columns_own_their_memory(like: Column) -> None:
    codes = np.array([1, 0, 2], np.uint8)
    column = Domain.range(3).decode(codes, like=like)
    codes[:] = 0
    assert column.tolist() == [1, 0, 2]
    assert column.dtype == like.dtype


def test_decode_checks_its_codes() -> None:
    domain = Domain(["a", "b"])
    like = np.array(["a"])
    wrong: list[Any] = [np.array([1]), np.array([1.0]), np.array([[1]], np.uint8), np.uint8(1), ["a"], None]
    for codes in wrong:
        with pytest.raises(ArgumentTypeError, match="1-D array of unsigned integers"):
            domain.decode(codes, like=like)
    for codes in (np.array([2], np.uint8), np.array([0, 255], np.uint8), np.array([1 << 63], np.uint64)):
        with pytest.raises(ArgumentError, match="below the size"):
            domain.decode(codes, like=like)
    for dtype in ("u1", ">u2", "u4", ">u8"):
        assert domain.decode(np.array([1, 1, 0], dtype)[::-1], like=like).tolist() == ["a", "b", "b"]


def test_a_large_domain_of_integers_is_sorted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the cost of a column grows with rows times categories."""
    domain = Domain([3 * value for value in range(1000)])
    column = np.resize(np.array([2997, 3, 0]), 1_000_000)
    calls: list[int] = []
    monkeypatch.setattr("dpfast.columns.base.sorted", lambda pairs: calls.append(1) or sorted(pairs), raising=False)
    assert (truth(domain, column, threads=1) == column).all()
    assert len(calls) == 1
