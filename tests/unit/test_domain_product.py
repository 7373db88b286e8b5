"""Joint alphabets: codes in mixed radix or by position in a list, and columns that come back as they were."""

from __future__ import annotations

import hashlib
import itertools
import pickle
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfast import ArgumentError, ArgumentTypeError, Domain, DomainError, OutsideDomainError, RandomisedResponse, Stream, product
from dpfast.product import TABLE_MAX, Cells
from dpfast.sanitise import count_codes

SEX = ["f", "m"]
TOWNS = ["Bray", "Cork", None]
ONLY = [("m", "Cork"), ("f", None), ("f", "Bray")]


def test_mixed_radix_in_declared_order() -> None:
    domain = Domain.product(SEX, TOWNS, range(4))
    every = list(itertools.product(SEX, TOWNS, range(4)))
    assert domain.size == len(every) == len(domain)
    assert list(domain.values) == every
    columns = tuple(pa.array(part) for part in zip(*every, strict=True))
    assert domain.encode(columns).tolist() == list(range(24))
    assert [domain.code_of(cell) for cell in every] == list(range(24))
    assert domain.values[-1] == every[-1]
    assert list(domain.values[2:9:3]) == every[2:9:3]
    with pytest.raises(IndexError):
        domain.values[24]


def test_decode_gives_columns_of_their_own_kinds() -> None:
    domain = Domain.product(SEX, TOWNS, Domain.bins([0, 10, 20], ["low", "high"]))
    like = (np.array(["f", "f"]), pa.array(["Cork", None]).dictionary_encode(), pa.chunked_array([[1.5], [2.5]]))
    sex, town, level = domain.decode(np.array([0, 11], np.uint16), like=like)
    assert (sex.tolist(), sex.dtype.kind) == (["f", "m"], "U")
    assert town.to_pylist() == ["Bray", None]
    assert town.type == pa.dictionary(pa.int8(), pa.string())
    assert level.to_pylist() == ["low", "high"]
    assert [len(chunk) for chunk in level.chunks] == [1, 1]


def test_only_the_listed_cells_have_codes() -> None:
    domain = Domain.product(SEX, TOWNS, only=ONLY, unknown="randomise")
    assert (domain.size, list(domain.values)) == (3, ONLY)
    columns = (pa.array(["f", "f", "f", "m", "m", "x"]), pa.array(["Bray", "Cork", None, "Cork", "Bray", "Cork"]))
    assert domain.encode(columns).tolist() == [2, 3, 1, 0, 3, 3]
    with pytest.raises(OutsideDomainError, match="a row holds a value outside"):
        Domain.product(SEX, TOWNS, only=ONLY).encode(columns, name=("sex", "town"))  # type: ignore[arg-type]
    other = Domain.product(SEX, TOWNS, only=ONLY, other=("f", None))
    assert other.encode(columns).tolist() == [2, 1, 1, 0, 1, 1]
    assert other.other == ("f", None)


def test_an_unknown_part_makes_the_cell_unknown_but_for_its_own_other() -> None:
    columns = (np.array(["f", "x", "m"]), np.array([0, 1, 9]))
    assert Domain.product(SEX, range(2), unknown="randomise").encode(columns).tolist() == [0, 4, 4]
    kept = Domain.product(Domain(SEX, other="m"), range(2), unknown="randomise")
    assert kept.encode(columns).tolist() == [0, 3, 4]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=2, max_size=4), st.data())
def test_join_and_split_are_inverse(radices: list[int], data: st.DataObject) -> None:
    """By tables and, as for large products, by arithmetic."""
    for limit in (TABLE_MAX, 0):
        with mock.patch.object(product, "TABLE_MAX", limit):
            check_cells(radices, data)


def check_cells(radices: list[int], data: st.DataObject) -> None:
    every = list(itertools.product(*(range(radix) for radix in radices)))
    listed = data.draw(st.one_of(st.none(), st.lists(st.sampled_from(every), min_size=1, unique=True)))
    cells = Cells(tuple(radices), listed)
    known = every if listed is None else listed
    # codes at and past the radix stand for unknown parts
    rows = data.draw(st.lists(st.tuples(*(st.integers(0, radix + 1) for radix in radices)), max_size=30))
    parts = [np.array([row[j] for row in rows], np.uint8) for j in range(len(radices))]
    joined = cells.join(parts, np.empty(len(rows), np.uint32)).tolist()
    assert joined == [known.index(row) if row in known else len(known) for row in rows]
    codes = np.arange(len(known), dtype=np.uint32)
    assert [tuple(cell) for cell in np.transpose(cells.split(codes, [np.dtype(np.uint32)] * len(radices))).tolist()] == known
    assert [cells.cell_of(code) for code in codes.tolist()] == known
    assert [cells.code_of(cell) for cell in every] == [known.index(cell) if cell in known else None for cell in every]


def test_a_large_product_searches_instead_of_a_table() -> None:
    radices = (1 << 16, 1 << 16, 4)
    listed = [(65535, 65535, 3), (0, 0, 0), (1, 65535, 2)]
    assert np.prod(radices) > TABLE_MAX
    cells = Cells(radices, listed)
    assert cells.split(np.arange(3, dtype=np.uint8), [np.dtype(np.uint16)] * 3)[2].tolist() == [3, 0, 2]
    rows = [*listed, (0, 0, 1), (65535, 65535, 2), (65536, 0, 0)]
    parts = [np.array([row[j] for row in rows], np.uint32) for j in range(3)]
    assert cells.join(parts, np.empty(6, np.uint8)).tolist() == [0, 1, 2, 3, 3, 3]


def test_digest_is_of_the_parts_in_order_and_of_the_list() -> None:
    sex, town = Domain(SEX), Domain(TOWNS)
    state = hashlib.blake2b(digest_size=32, person=b"dpfast/domain/1")
    for tag, payload in [(b"p", sex.digest), (b"p", town.digest), (b"o", np.array([4, 2, 0], "<u8").tobytes())]:
        state.update(tag + len(payload).to_bytes(8, "little") + payload)
    assert Domain.product(sex, town, only=ONLY).digest == state.digest()
    others = [
        Domain.product(sex, town),
        Domain.product(town, sex),
        Domain.product(sex, town, only=ONLY),
        Domain.product(sex, town, only=ONLY[::-1]),
        Domain.product(sex, town, only=list(itertools.product(SEX, TOWNS))),
        Domain.product(sex, ["Bray", "Cork"]),
        Domain.product(sex, town, ["x"]),
        sex,
        Domain.range(6),
    ]
    assert len({domain.digest for domain in others}) == len(others)


def test_rules_of_parts_belong_to_the_rule() -> None:
    """Two rules for unknown values never share noise, also where a part has them."""
    plain = Domain.product(SEX, TOWNS)
    part = Domain.product(Domain(SEX, other="f"), TOWNS)
    assert plain.digest == part.digest
    assert plain != part
    assert RandomisedResponse(plain, epsilon=1.0).digest != RandomisedResponse(part, epsilon=1.0).digest
    assert part.answers.encode((np.array(["m"]), pa.array(["Cork"]))).tolist() == [4]
    with pytest.raises(OutsideDomainError):
        part.answers.encode((np.array(["x"]), pa.array(["Cork"])))


def test_pickles() -> None:
    domain = Domain.product(SEX, TOWNS, only=ONLY, other=("f", None))
    again = pickle.loads(pickle.dumps(domain))
    assert again == domain
    assert list(again.values) == ONLY
    assert again.encode((np.array(["m"]), pa.array(["Bray"]))).tolist() == [1]


@pytest.mark.parametrize(
    ("parts", "rules", "error", "text"),
    [
        ((SEX,), {}, DomainError, "two domains or more"),
        ((SEX, Domain.product(SEX, SEX)), {}, DomainError, "side by side"),
        ((Domain(SEX, unknown="randomise"), SEX), {}, DomainError, "belongs to the whole product"),
        ((SEX, np.array(SEX)), {}, ArgumentTypeError, "a column is private data"),
        ((SEX, TOWNS), {"only": []}, DomainError, "lists no cell"),
        ((SEX, TOWNS), {"only": [("f", "Bray"), ("f", "Bray")]}, DomainError, "each cell once"),
        ((SEX, TOWNS), {"only": [("f", "Rome")]}, DomainError, "one value of each part"),
        ((SEX, TOWNS), {"only": [("f",)]}, DomainError, "one value of each part"),
        ((SEX, TOWNS), {"only": ["fB"]}, DomainError, "one value of each part"),
        ((SEX, TOWNS), {"only": np.array([["f", "Bray"]])}, ArgumentTypeError, "list of tuples"),
        ((SEX, TOWNS), {"other": ("f", "Rome")}, DomainError, "one of the values"),
        ((SEX, TOWNS), {"only": ONLY, "other": ("m", "Bray")}, DomainError, "one of the values"),
        ((SEX, TOWNS), {"other": "f"}, DomainError, "one of the values"),
        ((range(1 << 16), range(1 << 16)), {}, DomainError, "at most 2\\*\\*31 cells"),
        ((range(1 << 31),) * 3, {"only": [(0, 0, 0)]}, DomainError, "2\\*\\*63"),
    ],
)
def test_unusable_products(parts: Any, rules: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Domain.product(*parts, **rules)


def test_columns_are_as_many_and_as_long_as_the_parts() -> None:
    domain = Domain.product(SEX, range(2))
    with pytest.raises(ArgumentTypeError, match="tuple of 2 columns"):
        domain.encode(np.array(["f"]))
    with pytest.raises(ArgumentError, match="as many columns"):
        domain.encode((np.array(["f"]),))
    with pytest.raises(ArgumentError, match="equally many rows"):
        domain.encode((np.array(["f"]), np.array([0, 1])))
    with pytest.raises(ArgumentTypeError, match="column 'b'"):
        domain.encode((np.array(["f"]), np.array(["0"])), name=("a", "b"))  # type: ignore[arg-type]
    mechanism = RandomisedResponse(domain, epsilon=1.0)
    with pytest.raises(ArgumentTypeError, match="out= is for one numpy column"):
        mechanism.sanitise((np.array(["f"]), np.array([0])), out=np.array(["f"]))
    empty = mechanism.sanitise((np.array([], "U1"), np.array([], np.int8)))
    assert [len(part) for part in empty] == [0, 0]


def test_counts_of_answers() -> None:
    domain = Domain.product(Domain(SEX, other="f"), Domain.bins([0, 10, 20], ["low", "high"]))
    mechanism = RandomisedResponse(domain, epsilon=3.0)
    answers = mechanism.sanitise((np.array(["f", "m"] * 100), np.array([1.0, 11.0] * 100)), rng=Stream.insecure(1))
    counts = count_codes(domain, answers)
    assert counts.sum() == 200
    assert counts.tolist() == [
        int(((answers[0] == sex) & (answers[1] == level)).sum()) for sex in SEX for level in ("low", "high")
    ]
    assert list(mechanism.estimate(answers).values) == list(domain.values)
