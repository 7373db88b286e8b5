"""The most frequent label of a column, or of its groups, by Duff."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpfast.domain import Domain
from dpfast.duff._request import Request, plain_digest, rows_of
from dpfast.duff._words import words_of
from dpfast.duff.modes import counts_of_codes, label_codes, levels_of_counts
from dpfast.duff.recursive import levels_point
from dpfast.duff.weights import HALF, WHOLE, Weights
from dpfast.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpfast._spending import Charges
    from dpfast.duff.data import Neighbours
    from dpfast.randomness import Column, Stream

__all__ = ["mode"]


def mode(
    values: Any,
    *,
    domain: Domain | Sequence[Any],
    epsilon: float,
    neighbours: Neighbours = "add_remove",
    by: Any = None,
    keys: Sequence[Any] | Domain | None = None,
    public_groups: bool = False,
    rows_per_person: int = 1,
    person: Any = None,
    rng: Stream | None = None,
    column_name: Column = None,
    threads: int | None = None,
    ledger: Charges | None = None,
) -> Any:
    """Release the most frequent label of a column, or of each group of it; `epsilon` is what the whole call spends.

    Parameters
    ----------
    values : column
        Of any type that the domain encodes, or a list.
    domain : Domain or list
        The public labels. Values outside it, and nulls where it has none, are not counted; they are no error.
    epsilon, neighbours, by, keys, public_groups, rows_per_person, person, rng, column_name, threads, ledger
        As for `median`.

    Returns
    -------
    label; with `by=` an ndarray of shape (len(keys),)
        One of ``domain.values``; also where no row has any.

    Raises
    ------
    ArgumentError, ArgumentTypeError, DomainError, LedgerError
        Before anything is drawn.

    Notes
    -----
    **Privacy guarantee.** Pure `epsilon` for neighbouring data sets, exactly: a label with c rows is released with probability
    w_d / sum of w in integers, d = (largest count) - c. Under add_remove one person moves one count, and all other weights move
    one way with the total, so w_k <= e^epsilon w_{k+1} is enough; under replace_one two counts move, and w_k <= e^(epsilon / 2)
    w_{k+1}.
    **Cost.** One pass; labels that no row has are never listed, so a domain of 10^9 labels costs nothing.

    References
    ----------
    Duff: arXiv 2010.04235, section 4.

    Examples
    --------
    >>> from dpfast import Domain, Stream
    >>> mode(["no", "yes", "yes"] * 20, domain=["no", "yes", "perhaps"], epsilon=2.0, rng=Stream.insecure(1))
    'yes'
    >>> mode([7] * 60, domain=Domain.range(10**9), epsilon=2.0, rng=Stream.insecure(1))
    7
    """
    labels = domain if isinstance(domain, Domain) else Domain(domain)
    request = Request(epsilon, neighbours, by, keys, public_groups, rows_per_person, person, column_name, rng, threads, ledger)
    codes = label_codes(values, labels)

    def check_rows(n: int, name: str) -> None:
        if n != codes.size:
            raise ArgumentError(f"values and {name} differ in length")

    rows = rows_of(request, plain_digest(request, "mode", labels.digest.hex(), labels.rule), check_rows)
    weights = Weights(rows.epsilon, WHOLE if neighbours == "add_remove" else HALF)
    found = []
    for some in _groups(codes, rows.codes, rows.n_groups):
        levels = levels_of_counts(*counts_of_codes(some, labels.size), labels.size)
        found.append(levels_point(levels, weights.of(levels.distance), words_of(rows.words())))
    answers = [labels.values[code] for code in found]
    if not rows.is_grouped:
        return answers[0]
    released = np.empty(len(answers), np.int64 if labels.kind == "range" else object)
    released[:] = answers
    return released


def _groups(codes: NDArray[Any], groups: NDArray[np.uint32] | None, n_groups: int) -> list[NDArray[Any]]:
    """The codes of the rows of each group."""
    if groups is None:
        return [codes]
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups, minlength=n_groups + 1))
    return np.split(codes[order], ends)[:n_groups]
