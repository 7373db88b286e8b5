"""Stream version 1, byte by byte: subkeys, the words of rows and identifiers, digests of domains and mechanisms.

Only hashing and single-block AES-256 are used. All lengths, codes and words are little-endian; the two halves of a
counter block are big-endian.

    master key                32 bytes, secret
    subkey                    keyed BLAKE2b of (version, kind, context, source, column, mechanism digest)
    keystream block (p, c)    AES(subkey, plane p ‖ counter c), 8 bytes each
    row block b               block (0, 2^32 * (b div 2^16) + 2 + (b mod 2^16))
    word of a row, k <= 1024  16 high bits: 8 rows to a row block; 48 low bits: block (1, row), first 6 bytes
    word of a row, k > 1024   64 bits: 2 rows to a row block
    bits of a draw n          block (n, 2^32 * (b div 2^16) + 2 + (b mod 2^16)) for b = 0, 1, ...; each byte from its lowest bit
    word of an identifier     first 8 bytes of the AES CBC-MAC of (identifier, true code)

References
----------
.. [1] FIPS 197, Advanced Encryption Standard; NIST SP 800-38A, Recommendation for block cipher modes (CTR).
.. [2] RFC 7693, The BLAKE2 cryptographic hash.
.. [3] M. Bellare, J. Kilian, P. Rogaway, The security of the cipher block chaining message authentication code,
   2000: a pseudorandom function on prefix-free messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import count
from uuid import UUID

__all__ = [
    "aes_block",
    "column_field",
    "domain_digest",
    "draw_bits",
    "id_blocks",
    "id_word",
    "insecure_master_key",
    "keystream_block",
    "range_digest",
    "response_digest",
    "row_block",
    "row_halves",
    "row_word",
    "subkey",
]

VERSION = b"1"
LARGEST_TWO_PLANE_K = 1024

DomainValue = str | int | bool | bytes | None
ScalarId = int | str | bytes | UUID
Id = ScalarId | tuple[ScalarId, ...]


def insecure_master_key(seed: int) -> bytes:
    """Return the master key of a test seed: anyone who knows the seed knows it.

    Examples
    --------
    >>> insecure_master_key(7).hex()[:16]
    '6bbac361a248af85'
    """
    return blake2b(str(seed).encode("ascii"), digest_size=32, person=b"dpfast/insecure").digest()


def subkey(
    master: bytes,
    kind: str,
    *,
    context: str = "",
    source: bytes = b"",
    column: str | tuple[str, ...] | None = None,
    mechanism: bytes,
) -> bytes:
    """Return the 32-byte key of one column under one mechanism; kind is "row", "id" or "draw".

    Each field is preceded by its length, so different fields never run together to the same bytes.

    Examples
    --------
    >>> key = subkey(bytes(32), "row", context="flights/2026-11-30", column="origin", mechanism=bytes(32))
    >>> key == subkey(bytes(32), "row", context="flights/2026-11-3", column="0origin", mechanism=bytes(32))
    False
    """
    fields = (VERSION, kind.encode("ascii"), context.encode("utf-8"), source, column_field(column), mechanism)
    return blake2b(_framed(fields), key=master, digest_size=32).digest()


def column_field(column: str | tuple[str, ...] | None) -> bytes:
    """Return how a column is named in a subkey: nothing, ``s`` and the name, or ``t`` and the framed parts.

    Examples
    --------
    >>> column_field("origin"), column_field(None)
    (b'sorigin', b'')
    """
    if column is None:
        return b""
    if isinstance(column, str):
        return b"s" + column.encode("utf-8")
    return b"t" + _framed(column_field(part) for part in column)


def aes_block(key: bytes, block: bytes) -> bytes:
    """Return the AES encryption of one 16-byte block.

    Examples
    --------
    >>> aes_block(bytes(range(32)), bytes.fromhex("00112233445566778899aabbccddeeff")).hex()      # FIPS 197, C.3
    '8ea2b7ca516745bfeafc49904b496089'
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    if len(block) != 16:
        raise ValueError("an AES block has 16 bytes")
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)


def keystream_block(key: bytes, plane: int, counter: int) -> bytes:
    """Return the 16 bytes of one counter of one plane.

    Examples
    --------
    >>> keystream_block(bytes(32), 1, 2) == aes_block(bytes(32), bytes.fromhex("00000000000000010000000000000002"))
    True
    """
    return aes_block(key, plane.to_bytes(8, "big") + counter.to_bytes(8, "big"))


def row_block(key: bytes, block: int) -> bytes:
    """Return block `block` of the bytes that rows share, in plane 0.

    Every 2^16 blocks have the counters of one AES-GCM message: its number, then 2, 3, ... in 32 bits.

    Examples
    --------
    >>> row_block(bytes(32), 65537) == keystream_block(bytes(32), 0, (1 << 32) + 3)
    True
    """
    return _long_block(key, 0, block)


def draw_bits(key: bytes, number: int) -> Iterator[int]:
    """Yield the bits of the call whose first draw has this number, in order.

    Examples
    --------
    >>> bits = draw_bits(bytes(32), 7)
    >>> first = [next(bits) for _ in range(8)]
    >>> sum(bit << place for place, bit in enumerate(first)) == keystream_block(bytes(32), 7, 2)[0]
    True
    """
    for block in count():
        for byte in _long_block(key, number, block):
            yield from (byte >> place & 1 for place in range(8))


def _long_block(key: bytes, plane: int, block: int) -> bytes:
    segment, place = divmod(block, 1 << 16)
    return keystream_block(key, plane, (segment << 32) + 2 + place)


def row_halves(key: bytes, row: int) -> tuple[int, int]:
    """Return the 16 high and the 48 low bits of the word of a row, for alphabets of at most 1024 categories.

    Examples
    --------
    >>> high, low = row_halves(bytes(32), 9)
    >>> high == int.from_bytes(row_block(bytes(32), 1)[2:4], "little")
    True
    """
    block, place = divmod(row, 8)
    high = row_block(key, block)[2 * place : 2 * place + 2]
    low = keystream_block(key, 1, row)[:6]
    return int.from_bytes(high, "little"), int.from_bytes(low, "little")


def row_word(key: bytes, row: int, k: int) -> int:
    """Return the 64-bit word of a row under the alphabet size k, which decides the layout.

    Examples
    --------
    >>> row_word(bytes(32), 9, 1024) >> 48 == row_halves(bytes(32), 9)[0]
    True
    >>> row_word(bytes(32), 9, 1025) == int.from_bytes(row_block(bytes(32), 4)[8:], "little")
    True
    """
    if k <= LARGEST_TWO_PLANE_K:
        high, low = row_halves(key, row)
        return high << 48 | low
    block, place = divmod(row, 2)
    return int.from_bytes(row_block(key, block)[8 * place : 8 * place + 8], "little")


def id_blocks(identifier: Id, code: int) -> list[bytes]:
    """Return the 16-byte blocks that stand for an identifier and a true code.

    The first block begins with the type tag and the length of the payload, which fix how many blocks there are: no
    message is the beginning of another. The code is the true one; a value outside the alphabet has code k.

    Examples
    --------
    >>> [block.hex() for block in id_blocks(-2, 5)]
    ['0108000005000000feffffffffffffff']
    >>> [block.hex() for block in id_blocks("flight 1517", 0)]
    ['030b000000000000666c696768742031', '35313700000000000000000000000000']
    """
    tag, payload = _tagged(identifier)
    message = bytes([tag]) + len(payload).to_bytes(3, "little") + code.to_bytes(4, "little") + payload
    message += bytes(-len(message) % 16)
    return [message[start : start + 16] for start in range(0, len(message), 16)]


def id_word(key: bytes, identifier: Id, code: int) -> int:
    """Return the 64-bit word of an identifier and a true code: the first half of the CBC-MAC of `id_blocks`.

    Examples
    --------
    >>> id_word(bytes(32), 7, 0) == id_word(bytes(32), 7, 1)
    False
    """
    state = bytes(16)
    for block in id_blocks(identifier, code):
        state = aes_block(key, bytes(a ^ b for a, b in zip(state, block, strict=True)))
    return int.from_bytes(state[:8], "little")


def domain_digest(values: Sequence[DomainValue]) -> bytes:
    """Return the digest of an alphabet: its values in order, each with its type. The integers 0..k-1 are a range.

    Examples
    --------
    >>> domain_digest(["1", "2"]) == domain_digest([1, 2])
    False
    >>> domain_digest([0, 1, 2]) == range_digest(3)
    True
    """
    if all(type(value) is int for value in values) and list(values) == list(range(len(values))):
        return range_digest(len(values))
    return _domain_hash(_tagged_value(value) for value in values)


def range_digest(k: int) -> bytes:
    """Return the digest of the alphabet 0..k-1, without enumerating it.

    Examples
    --------
    >>> range_digest(3).hex()[:16]
    '32654b0244f8bbd9'
    """
    return _domain_hash([(b"r", str(k).encode("ascii"))])


def response_digest(domain: bytes, t: int, rule: str = "error") -> bytes:
    """Return the digest of randomised response: its kind, the digest of its alphabet, its threshold, its rule.

    The rule is what becomes of a value outside the alphabet: "error", "randomise", or "other" and the code of the category
    that takes its place ("other 2"). Two releases under different rules must not share words: where they did, a row that
    differs between them would be one with an unknown value.

    Examples
    --------
    >>> response_digest(range_digest(3), 5).hex()[:16]
    'eeec3a493424f74f'
    """
    fields = (b"randomised_response", domain, str(t).encode("ascii"), rule.encode("ascii"))
    return blake2b(_framed(fields), digest_size=32, person=b"dpfast/mech/1").digest()


def _framed(fields: Iterable[bytes]) -> bytes:
    return b"".join(len(field).to_bytes(8, "little") + field for field in fields)


def _domain_hash(entries: Iterable[tuple[bytes, bytes]]) -> bytes:
    data = b"".join(tag + _framed([payload]) for tag, payload in entries)
    return blake2b(data, digest_size=32, person=b"dpfast/domain/1").digest()


def _tagged_value(value: DomainValue) -> tuple[bytes, bytes]:
    match value:
        case None:
            return b"n", b""
        case bool():
            return b"b", b"1" if value else b"0"
        case int():
            return b"i", str(value).encode("ascii")
        case str():
            return b"s", value.encode("utf-8")
        case bytes():
            return b"y", value
    raise TypeError("a value of an alphabet is a str, an int, a bool, bytes or None")


def _tagged(identifier: Id) -> tuple[int, bytes]:
    match identifier:
        case bool():
            pass
        case int() if -(2**63) <= identifier < 2**63:
            return 1, identifier.to_bytes(8, "little", signed=True)
        case int() if 2**63 <= identifier < 2**64:
            return 2, identifier.to_bytes(8, "little")
        case str():
            return 3, identifier.encode("utf-8")
        case bytes():
            return 4, identifier
        case UUID():
            return 4, identifier.bytes
        case tuple() if not any(isinstance(part, tuple) for part in identifier):
            parts = [_tagged(part) for part in identifier]
            return 5, b"".join(bytes([tag]) + len(payload).to_bytes(3, "little") + payload for tag, payload in parts)
    raise TypeError("an identifier is a 64-bit integer, a str, bytes, a UUID or a flat tuple of these")
