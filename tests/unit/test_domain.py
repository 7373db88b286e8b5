"""What a declared domain accepts, how it is identified, and that no column passes for one."""

from __future__ import annotations

import enum
import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpfast import ArgumentError, ArgumentTypeError, Domain, DomainError, DpfastError, FileError
from dpfast.reference import words


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"
    ROT = "red"  # an alias is the member it names, not a second category


class Level(enum.IntEnum):
    LOW = 0
    HIGH = 1


class Town(enum.StrEnum):
    CORK = "cork"
    BRAY = "bray"


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["red", "blue"], "text"),
        (("red", "", " ", "NA", "None", "nan", "null"), "text"),
        ([5, 3, -1], "int"),
        ([0, 1, None], "int"),
        ([-(1 << 63), (1 << 64) - 1], "int"),
        ([True, False], "bool"),
        ([b"\x00\xff", b"", b"a\x00"], "bytes"),
        (["a", None], "text"),
        ([None, True, False], "bool"),
    ],
)
def test_values_keep_their_order_and_kind(values: Any, kind: str) -> None:
    domain = Domain(values)
    assert domain.values == tuple(values)
    assert [type(value) for value in domain.values] == [type(value) for value in values]
    assert (domain.size, len(domain), domain.kind) == (len(values), len(values), kind)
    assert domain.null_code == (list(values).index(None) if None in values else None)
    assert [domain.code_of(value) for value in values] == list(range(len(values)))


@pytest.mark.parametrize("values", [[0, 1, 2], (0, 1, 2), range(3), [np.int8(0), np.uint64(1), 2], range(0, 3, 1)])
def test_codes_from_zero_on_are_a_range(values: Any) -> None:
    assert Domain(values).values == range(3)
    assert Domain(values) == Domain.range(3) == Domain.range(np.int64(3))
    assert Domain(values).digest == words.range_digest(3)


@pytest.mark.parametrize("values", [[1, 2, 3], [2, 1, 0], [0, 2], range(1, 4), range(0, 6, 2), range(2, -1, -1), [0, 1, None]])
def test_other_integers_are_a_list(values: Any) -> None:
    domain = Domain(values)
    assert domain.values == tuple(values)
    assert domain.digest == words.domain_digest(list(values)) != Domain.range(len(values)).digest


def test_a_range_of_any_size_costs_nothing() -> None:
    domain = Domain.range(1 << 31)
    assert domain.size == 1 << 31
    assert (domain.code_of((1 << 31) - 1), domain.code_of(1 << 31), domain.code_of(-1)) == ((1 << 31) - 1, None, None)
    assert repr(domain) == "Domain(range(0, 2147483648))"


@pytest.mark.parametrize("k", [0, -1, (1 << 31) + 1, 1 << 63, 1 << 70])
def test_a_range_has_one_to_two_to_the_31_values(k: int) -> None:
    with pytest.raises(DomainError):
        Domain.range(k)


@pytest.mark.parametrize("k", [True, 3.0, "3", None, np.float32(3), np.bool_(True), [3]])
def test_the_size_of_a_range_is_an_integer(k: Any) -> None:
    with pytest.raises(ArgumentTypeError, match=r"^k must be an integer$"):
        Domain.range(k)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], "at least one value"),
        ((), "at least one value"),
        (range(0), "at least one value"),
        ([None], "not None"),
        (["a", "b", "a"], "repeated"),
        (["a", np.str_("a")], "repeated"),
        ([None, "a", None], "repeated"),
        ([1, True], "one kind"),
        ([0, False], "one kind"),
        (["1", 1], "one kind"),
        (["a", b"a"], "one kind"),
        ([1, 1.5], "bins"),
        ([1.0, 2.0], "bins"),
        ([float("nan"), "a"], "must be text"),
        ([np.float32(1)], "must be text"),
        ([["a"]], "must be text"),
        ([{}, set()], "must be text"),
        ([object()], "must be text"),
        ([np.timedelta64(1, "ns"), 2], "must be text"),
        ([np.timedelta64(1), np.timedelta64(2)], "must be text"),
        ([pd.NA, "a"], "must be text"),
        ([1 << 64], "64 bits"),
        ([-(1 << 63) - 1], "64 bits"),
        (["\ud800", "a"], "not valid Unicode"),
    ],
)
def test_unusable_values_are_refused(values: Any, text: str) -> None:
    with pytest.raises(DomainError, match=text):
        Domain(values)


COLUMNS: list[Any] = [
    np.array(["a"]),
    np.array([0, 1]),
    np.array("a"),
    pd.Series(["a"]),
    pd.Categorical(["a"]),
    pd.Index(["a"]),
    pd.CategoricalDtype(["a"]),
    pl.Series(["a"]),
    pl.Enum(["a"]),
    pl.Categorical(),
    pa.array(["a"]),
    pa.chunked_array([["a"]]),
    pa.array(["a"]).dictionary_encode(),
    pa.scalar("a"),
    pa.dictionary(pa.int8(), pa.string()),
    np.dtype("u1"),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: type(column).__name__)
def test_a_column_is_not_a_domain(column: Any) -> None:
    for make in (Domain, Domain.of):
        with pytest.raises(ArgumentTypeError, match="a column is private data; write its categories down"):
            make(column)


@pytest.mark.parametrize("values", [None, 3, b"abc", {"a": 1}, {"a"}, iter("ab"), object(), dict, enum.Enum.__class__])
def test_other_things_are_not_a_domain(values: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="a domain is a list, tuple, range, Enum class or file"):
        Domain(values)


def test_enum_members_stand_for_their_values() -> None:
    assert Domain(Colour).values == ("red", "blue")
    assert Domain(Level) == Domain.range(2)
    assert Domain(Town).values == ("cork", "bray")
    assert Domain([Colour.BLUE, Colour.RED]).values == ("blue", "red")
    assert Domain(Colour, other=Colour.BLUE) == Domain(["red", "blue"], other="blue")
    assert Domain(Colour).code_of(Colour.ROT) == 0
    column = np.array([Level.HIGH, 0, Level.LOW, 1], object)
    assert Domain(Level).encode(column).tolist() == [1, 0, 0, 1]
    assert Domain(Colour).encode(np.array([Colour.BLUE, "red"], object)).tolist() == [1, 0]
    assert Domain(Town).encode(np.array([Town.BRAY, "cork"], object)).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([0, 1], [None, 1, None, 1, None, None]),
        ([5, 1], [None, 1, None, 1, None, None]),
        ([False, True], [1, None, None, None, 1, None]),
        (["1", "True"], [None] * 6),
        ([b"1"], [None] * 6),
    ],
)
def test_equal_values_of_another_type_are_outside(values: Any, codes: list[int | None]) -> None:
    """Python holds that True == 1 == 1.0; a domain does not."""
    asked: list[Any] = [True, 1, 1.0, np.int8(1), np.True_, [1]]
    assert [Domain(values).code_of(value) for value in asked] == codes


@pytest.mark.parametrize("values", [[0, 1], [5, 1], [True, False]])
@pytest.mark.parametrize("unit", ["ns", "D", "generic"])
def test_a_duration_is_no_integer(values: Any, unit: Any) -> None:
    """numpy derives durations from its signed integers; some units come out as Python integers."""
    duration = np.timedelta64(1) if unit == "generic" else np.timedelta64(1, unit)
    domain = Domain(values, unknown="randomise")
    assert domain.code_of(duration) is None
    assert domain.encode(np.array([duration, values[0]], object)).tolist() == [2, 0]


@pytest.mark.parametrize(
    "values",
    [
        ["a"],
        ["a", None],
        [None, "a"],
        ["b", "a"],
        ["ab"],
        ["a", "b"],
        [b"a"],
        [b"ab"],
        ["0", "1"],
        [0, 1],
        [1, 0],
        [False, True],
        [b"0", b"1"],
        [0, 1, None],
        ["ü", "\U0001f600"],
        [0, -1, 1 << 63],
    ],
)
def test_digest_tells_values_order_and_types_apart(values: list[Any]) -> None:
    assert Domain(values).digest == words.domain_digest(values)
    others = [["a"], ["b"], ["b", "a", None], [1, 0, None], ["1", "0"], [True, False], [b"a", b"b"], [0]]
    assert all(Domain(other).digest != Domain(values).digest for other in others if repr(other) != repr(values))


def test_digest_leaves_the_rules_out_and_equality_does_not() -> None:
    """A permuted list is another domain: codes differ although the sets agree."""
    plain, random = Domain(["a", "b"]), Domain(["a", "b"], unknown="randomise")
    other = Domain(["a", "b"], other="b")
    assert plain.digest == random.digest == other.digest
    assert len({plain, random, other, Domain(("a", "b")), Domain(["b", "a"])}) == 4
    assert plain == Domain(["a", "b"]) != random != other
    assert other != Domain(["a", "b"], other="a")
    assert plain != Domain(["b", "a"])
    assert plain != ["a", "b"]
    assert hash(plain) == hash(Domain(["a", "b"]))


def test_rules_for_values_outside() -> None:
    with pytest.raises(DomainError, match="one of the values"):
        Domain(["a"], other="b")
    with pytest.raises(DomainError, match="one of the values"):
        Domain([0, 1], other=True)
    with pytest.raises(DomainError, match="one of the values"):
        Domain([0, 1], other=1.0)  # type: ignore[arg-type]
    with pytest.raises(DomainError, match="two answers to one question"):
        Domain(["a"], other="a", unknown="randomise")
    assert (Domain(["a", "b"]).outside_code, Domain(["a", "b"], other="b").outside_code) == (2, 1)
    assert Domain.range(5, other=np.int64(3)).other == 3
    assert type(Domain.range(5, other=np.int64(3)).other) is int
    unusable: list[Any] = ["randomize", "", None, True, 1, ["error"], np.array(["error", "error"])]
    for unknown in unusable:
        with pytest.raises(ArgumentError, match=r"^unknown must be 'error' or 'randomise'$"):
            Domain(["a"], unknown=unknown)


def test_repr_is_short() -> None:
    assert repr(Domain(["a", None, "c", "d"])) == "Domain(['a', None, 'c', 'd'])"
    assert repr(Domain(["a", "b", "c", "d", "e"])) == "Domain(['a', 'b', 'c', 'd', … 1 more])"
    assert repr(Domain.range(4)) == "Domain(range(0, 4))"


def test_a_domain_survives_pickling() -> None:
    for domain in (Domain(["a", None], unknown="randomise"), Domain([5, 6], other=6), Domain.range(1 << 31)):
        copy = pickle.loads(pickle.dumps(domain))
        assert copy == domain
        assert (copy.values, copy.other) == (domain.values, domain.other)


def test_of_keeps_a_domain() -> None:
    domain = Domain(["a"], unknown="randomise")
    assert Domain.of(domain) is domain
    assert Domain.of(["a"]) == Domain(["a"])


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (b"red\nblue\n", ("red", "blue")),
        (b"red\nblue", ("red", "blue")),
        (b"red\r\nblue\r\n", ("red", "blue")),
        (b"\xef\xbb\xbfred\r\nblue\r\n", ("red", "blue")),
        (b"red\rgreen\nblue\n", ("red\rgreen", "blue")),
        (b" red\nred \n \n\t\n", (" red", "red ", " ", "\t")),
        ("a\x0b\x0cb\nc\u2028d\x85e\n\u00fc\n".encode(), ("a\x0b\x0cb", "c\u2028d\x85e", "\u00fc")),
        (b"1\n2\n", ("1", "2")),
        (b"[1]\n", ("[1]",)),
    ],
)
def test_a_file_holds_one_text_a_line(tmp_path: Path, data: bytes, values: tuple[str, ...]) -> None:
    path = written(tmp_path, "values.txt", data)
    assert Domain(path).values == values
    assert Domain(str(path)) == Domain.of(path) == Domain(list(values))


def test_a_name_that_reads_like_a_missing_value_is_a_name(tmp_path: Path) -> None:
    """Namibia is NA. Only None, in a list or in JSON, is null."""
    names = ["NA", '"NA"', "N/A", "null", "nan", "NaN", "None", "NULL", " "]
    domain = Domain(written(tmp_path, "countries.csv", "\n".join(names).encode()))
    assert domain.values == tuple(names)
    assert domain.null_code is None
    column = np.array([*names, None], object)
    assert Domain([*names, None]).encode(column).tolist() == list(range(10))
    assert Domain([*names, None]).encode(pa.array(column)).tolist() == list(range(10))


@pytest.mark.parametrize("data", [b"\n", b"red\n\nblue\n", b"red\n\r\nblue", b"red\n\n", b"\xef\xbb\xbf\nred"])
def test_an_empty_line_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(DomainError, match=r"has an empty line; use a \.json file"):
        Domain(written(tmp_path, "values.txt", data))


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(DomainError, match="at least one value"):
        Domain(written(tmp_path, "values.txt", data))
    with pytest.raises(DomainError, match="is not JSON"):
        Domain(written(tmp_path, "values.json", data))


@pytest.mark.parametrize("name", ["values.json", "VALUES.JSON"])
@pytest.mark.parametrize("values", [["a", "", None], [5, None, 3], [0, 1], [True, False], ["ü\u2028"], [-(1 << 63), 1 << 63]])
def test_a_json_file_holds_a_list(tmp_path: Path, name: str, values: list[Any]) -> None:
    for text in (json.dumps(values), json.dumps(values, indent=1, ensure_ascii=False), "\ufeff" + json.dumps(values)):
        assert Domain(written(tmp_path, name, text.encode())) == Domain(values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "is not JSON: .* in line 1"),
        ('["a",\n"b"', "is not JSON: .* in line 2"),
        ('{"a": 1}', "must hold one JSON list"),
        ('"a"', "must hold one JSON list"),
        ("null", "must hold one JSON list"),
        ("[]", "at least one value"),
        ("[null]", "not None"),
        ('["a", "a"]', "repeated"),
        ("[1, true]", "one kind"),
        ("[1.0]", "must be text"),
        ("[NaN]", "must be text"),
        ('[["a"]]', "must be text"),
        ("[18446744073709551616]", "64 bits"),
        ('["\\ud800"]', "not valid Unicode"),
        ("[" + "1" * 5000 + "]", "must hold one JSON list of"),
        ("[" * 100_000, "must hold one JSON list of"),
    ],
    ids=range(16),
)
def test_unusable_json_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DomainError, match=message):
        Domain(written(tmp_path, "values.json", text.encode()))


def test_an_unreadable_file_is_a_file_error(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.txt", tmp_path, str(tmp_path / "absent.json"), "", "no\0name"):
        with pytest.raises(FileError, match="domain file") as caught:
            Domain(path)
        assert isinstance(caught.value, OSError)
        assert isinstance(caught.value, DpfastError)
    for data in (b"caf\xe9\n", "red\n".encode("utf-16")):
        with pytest.raises(FileError, match="is not UTF-8 text"):
            Domain(written(tmp_path, "values.txt", data))


def test_any_path_names_a_file(tmp_path: Path) -> None:
    class Elsewhere(os.PathLike[str]):
        def __fspath__(self) -> str:
            return str(written(tmp_path, "v.txt", b"a\nb\n"))

    assert Domain(Elsewhere()) == Domain(["a", "b"])
