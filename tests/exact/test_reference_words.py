"""The byte-for-byte reference of words and digests: published vectors, other modes of AES, literals of the format."""

from __future__ import annotations

import struct
from hashlib import blake2b
from itertools import combinations
from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from dpfast.reference import words

KEY = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
PLAIN = bytes.fromhex(
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
)
BLOCKS = [PLAIN[start : start + 16] for start in range(0, 64, 16)]


def test_fips_197_example() -> None:
    block = bytes.fromhex("00112233445566778899aabbccddeeff")
    assert words.aes_block(bytes(range(32)), block).hex() == "8ea2b7ca516745bfeafc49904b496089"


def test_sp_800_38a_ecb_aes256() -> None:
    # F.1.5 ECB-AES256.Encrypt
    assert [words.aes_block(KEY, block).hex() for block in BLOCKS] == [
        "f3eed1bdb5d2a03c064b5a7e3db181f8",
        "591ccb10d410ed26dc5ba74a31362870",
        "b6ed21b99ca6f4f9f153e7b1beafed1d",
        "23304b7a39f9f3ff067d8d8f9e24ecc7",
    ]


def test_sp_800_38a_ctr_aes256() -> None:
    # F.5.5 CTR-AES256.Encrypt; its counter f0f1...feff, as our plane ‖ counter, carries within the lower eight bytes.
    plane, counter = 0xF0F1F2F3F4F5F6F7, 0xF8F9FAFBFCFDFEFF
    enciphered = [
        bytes(a ^ b for a, b in zip(words.keystream_block(KEY, plane, counter + place), block, strict=True)).hex()
        for place, block in enumerate(BLOCKS)
    ]
    assert enciphered == [
        "601ec313775789a5b7a7f504bbf3d228",
        "f443e3ca4d62b59aca84e990cacaf5c5",
        "2b0930daa23de94ce87017ba2d84988d",
        "dfc9c58db67aada613c2dd08457941a6",
    ]


def test_a_block_is_sixteen_bytes() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        words.aes_block(KEY, bytes(15))


def test_row_blocks_are_messages_of_aes_gcm() -> None:
    """The ciphertext of zeros under nonce number n is the n-th run of 2^16 row blocks."""
    for number in (0, 1, 2**32 - 1):
        message = AESGCM(KEY).encrypt(number.to_bytes(12, "big"), bytes(16 << 16), None)
        for place in (0, 1, 2, 1000, 65_535):
            assert words.row_block(KEY, (number << 16) + place) == message[16 * place : 16 * place + 16]


def test_rows_are_cut_from_the_keystream() -> None:
    n = 100
    stream = b"".join(words.row_block(KEY, block) for block in range(n // 2))
    high = struct.unpack(f"<{n}H", stream[: 2 * n])
    low = [int.from_bytes(words.keystream_block(KEY, 1, row)[:6], "little") for row in range(n)]
    whole = struct.unpack(f"<{n}Q", stream)
    for row in range(n):
        assert words.row_halves(KEY, row) == (high[row], low[row])
        assert words.row_word(KEY, row, 1) == words.row_word(KEY, row, 1024) == high[row] << 48 | low[row]
        assert words.row_word(KEY, row, 1025) == words.row_word(KEY, row, 2**31) == whole[row]


@pytest.mark.parametrize("row", [2**31, 2**32 + 5, 2**40 + 7, 2**49 - 1])
def test_rows_far_away(row: int) -> None:
    segment, place = divmod(row // 8, 2**16)
    block = words.aes_block(KEY, struct.pack(">QLL", 0, segment, 2 + place))
    assert words.row_halves(KEY, row)[0] == struct.unpack("<8H", block)[row % 8]
    block = words.aes_block(KEY, struct.pack(">QQ", 1, row))
    assert words.row_halves(KEY, row)[1] == struct.unpack("<Q", block[:6] + bytes(2))[0]
    segment, place = divmod(row // 2, 2**16)
    block = words.aes_block(KEY, struct.pack(">QLL", 0, segment, 2 + place))
    assert words.row_word(KEY, row, 5000) == struct.unpack("<2Q", block)[row % 2]


IDS: list[Any] = [
    0,
    1,
    -1,
    256,
    2**63 - 1,
    2**63,
    2**64 - 1,
    -(2**63),
    "",
    "0",
    "1",
    "a",
    "12345678",
    "123456789",
    "x" * 300,
    "é",
    b"",
    b"a",
    b"12345678",
    UUID(int=1),
    (),
    ("a",),
    ("a", "b"),
    ("ab",),
    ("a", ""),
    ("", "a"),
    (1, "a"),
    (b"a", UUID(int=1), 2**63),
]


def test_id_blocks_begin_differently_and_never_continue_one_another() -> None:
    messages = [b"".join(words.id_blocks(identifier, code)) for identifier in IDS for code in (0, 1, 2**31)]
    for first, second in combinations(messages, 2):
        assert not first.startswith(second)
        assert not second.startswith(first)


def test_id_words_are_a_cbc_mac() -> None:
    for identifier in IDS:
        message = b"".join(words.id_blocks(identifier, 3))
        last = Cipher(algorithms.AES256(KEY), modes.CBC(bytes(16))).encryptor().update(message)[-16:]
        assert words.id_word(KEY, identifier, 3) == struct.unpack("<Q", last[:8])[0]


def test_id_words_all_differ() -> None:
    found = {words.id_word(KEY, identifier, code) for identifier in IDS for code in (0, 1, 2)}
    assert len(found) == 3 * len(IDS)


@pytest.mark.parametrize(
    ("identifier", "code", "blocks"),
    [
        (-2, 5, ["01080000 05000000 feffffffffffffff"]),
        (2**63, 2**31, ["02080000 00000080 0000000000000080"]),
        ("", 0, ["03000000 00000000 0000000000000000"]),
        ("flight 1517", 0, ["030b0000 00000000 666c696768742031", "35313700 00000000 0000000000000000"]),
        (b"12345678", 1, ["04080000 01000000 3132333435363738"]),
        (UUID(int=7), 1, ["04100000 01000000 0000000000000000", "0000000000000007 0000000000000000"]),
        (("a", 1), 9, ["05110000 09000000 0301000061 010800", "00 0100000000000000 00000000000000"]),
    ],
)
def test_id_blocks_are_these(identifier: words.Id, code: int, blocks: list[str]) -> None:
    assert words.id_blocks(identifier, code) == [bytes.fromhex(block) for block in blocks]


@pytest.mark.parametrize("identifier", [True, 2**64, -(2**63) - 1, 1.0, None, ("a", ("b",)), ("a", None), ["a"]])
def test_other_ids_are_refused(identifier: Any) -> None:
    with pytest.raises(TypeError, match="an identifier is"):
        words.id_blocks(identifier, 0)


def test_subkey_fields_are_framed() -> None:
    data = b"".join(
        struct.pack("<Q", len(field)) + field
        for field in (b"1", b"row", "vols/été".encode(), b"\x01\x02", b"sorigin", bytes(range(32)))
    )
    expected = blake2b(data, key=KEY, digest_size=32).digest()
    arguments: dict[str, Any] = {"source": b"\x01\x02", "column": "origin", "mechanism": bytes(range(32))}
    assert words.subkey(KEY, "row", context="vols/été", **arguments) == expected


def test_any_difference_gives_another_subkey() -> None:
    base: dict[str, Any] = {"context": "c", "source": b"s", "column": "x", "mechanism": bytes(32)}
    changes: list[dict[str, Any]] = [
        {},
        {"context": "cs"},
        {"context": "", "source": b"cs"},
        {"source": b""},
        {"column": None},
        {"column": ""},
        {"column": ("x",)},
        {"column": ("x", "y")},
        {"column": ("xy",)},
        {"column": ("xsy",)},
        {"column": (("x", "y"),)},
        {"mechanism": bytes(31) + b"\x01"},
    ]
    keys = [words.subkey(KEY, kind, **(base | change)) for kind in ("row", "id", "draw") for change in changes]
    keys.append(words.subkey(bytes(32), "row", **base))
    assert len(set(keys)) == len(keys)
    assert {len(key) for key in keys} == {32}


def test_column_fields() -> None:
    assert words.column_field(None) == b""
    assert words.column_field("é") == b"s\xc3\xa9"
    parts = b"\x02" + bytes(7) + b"sa" + b"\x01" + bytes(7) + b"s"
    assert words.column_field(("a", "")) == b"t" + parts


def test_digests_are_tagged_and_ordered() -> None:
    domains: list[list[Any]] = [
        ["a", "b"],
        ["b", "a"],
        ["ab"],
        ["a", "b", None],
        [None, "a", "b"],
        [b"a", b"b"],
        ["0", "1"],
        [0, 1],
        [1, 0],
        [False, True],
        [0, 1, 2],
        [None],
        [""],
        [b""],
    ]
    digests = [words.domain_digest(domain) for domain in domains]
    assert len(set(digests)) == len(digests)
    assert words.domain_digest([0, 1]) == words.range_digest(2)
    assert words.range_digest(2**31) != words.range_digest(2**31 - 1)


def test_digests_are_these() -> None:
    entries = b"s\x02\0\0\0\0\0\0\0\xc3\xa9" + b"n\0\0\0\0\0\0\0\0" + b"s\0\0\0\0\0\0\0\0"
    domain = blake2b(entries, digest_size=32, person=b"dpfast/domain/1").digest()
    assert words.domain_digest(["é", None, ""]) == domain
    entries = b"i\x02\0\0\0\0\0\0\0-7" + b"b\x01\0\0\0\0\0\0\x001" + b"y\x01\0\0\0\0\0\0\0\xff"
    assert words.domain_digest([-7, True, b"\xff"]) == (blake2b(entries, digest_size=32, person=b"dpfast/domain/1").digest())
    fields = b"\x13\0\0\0\0\0\0\0randomised_response" + b"\x20\0\0\0\0\0\0\0" + domain + b"\x02\0\0\0\0\0\0\x0042"
    fields += b"\x07\0\0\0\0\0\0\0other 1"
    assert words.response_digest(domain, 42, "other 1") == blake2b(fields, digest_size=32, person=b"dpfast/mech/1").digest()


def test_other_values_are_refused() -> None:
    with pytest.raises(TypeError, match="a value of an alphabet"):
        words.domain_digest([1.5])  # type: ignore[list-item]


def test_insecure_master_key() -> None:
    assert words.insecure_master_key(-3) == blake2b(b"-3", digest_size=32, person=b"dpfast/insecure").digest()
    assert words.insecure_master_key(1) != words.insecure_master_key(2)
