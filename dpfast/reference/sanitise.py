"""A whole column, list in and list out: what a release under a known key must look like, value by value."""

from __future__ import annotations

from collections.abc import Sequence

from dpfast.reference import response, words

__all__ = ["sanitise"]


def sanitise(
    values: Sequence[words.DomainValue],
    domain: Sequence[words.DomainValue],
    t: int,
    *,
    master: bytes,
    context: str = "",
    source: bytes = b"",
    column: str | tuple[str, ...] | None = None,
    first_row: int = 0,
    ids: Sequence[words.Id] | None = None,
    unknown: str = "error",
    other: words.DomainValue = None,
) -> list[words.DomainValue]:
    """Return the sanitised column under randomised response with t words off the diagonal.

    Parameters
    ----------
    values : sequence
        The true column. None is a null.
    domain : sequence
        The public alphabet in order; it may contain None.
    t : int
        The threshold, see `dpfast.reference.response.threshold`.
    master : bytes
        The 32-byte master key.
    context, source, column
        The fields of the subkey, see `dpfast.reference.words.subkey`.
    first_row : int
        Number of the first row in the stream. Ignored with `ids`.
    ids : sequence, optional
        One identifier a row: the noise is then a function of (identifier, true value).
    unknown : {"error", "randomise"}
        What becomes of a value outside the alphabet: ValueError, or a uniform draw.
    other : value of the alphabet, optional
        Takes the place of every value outside the alphabet, before anything is drawn.

    Returns
    -------
    list
        One value of the alphabet for each row.

    Examples
    --------
    >>> t = response.threshold(3, 1)
    >>> sanitise(["b"] * 6, ["a", "b", "c"], t, master=words.insecure_master_key(2))
    ['b', 'a', 'c', 'c', 'a', 'b']
    """
    k = len(domain)
    codes = {_typed(value): code for code, value in enumerate(domain)}
    rule = unknown if other is None else f"other {codes[_typed(other)]}"
    digest = words.response_digest(words.domain_digest(domain), t, rule)
    key = words.subkey(master, "row" if ids is None else "id", context=context, source=source, column=column, mechanism=digest)
    sanitised = []
    for index, value in enumerate(values):
        code = codes.get(_typed(value), k)
        if code == k and other is not None:
            code = codes[_typed(other)]
        if code == k and unknown != "randomise":
            raise ValueError("the column holds a value outside the domain")
        word = words.row_word(key, first_row + index, k) if ids is None else words.id_word(key, ids[index], code)
        sanitised.append(domain[response.decide(word, code, k, t)])
    return sanitised


def _typed(value: words.DomainValue) -> tuple[type, words.DomainValue]:
    """Return a dictionary key that tells 1 from True, which Python holds to be equal."""
    return type(value), value
