"""What the statistics of a column have in common: arguments, groups, the ledger, and the words of each draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpfast._rounding import float_above, integer, times_up
from dpfast._spending import payment
from dpfast._statement import Privacy
from dpfast._threads import check_threads
from dpfast.duff._chunks import Memory, open_values
from dpfast.duff._select import GridCells
from dpfast.duff._together import put_together
from dpfast.duff.data import check_neighbours
from dpfast.duff.grid import Grid
from dpfast.duff.groups import check_groups, codes_of, keep_rows, people_of
from dpfast.duff.sampling import digest_of, stream_of
from dpfast.duff.weights import check_epsilon
from dpfast.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction
    from typing import TypeAlias

    from numpy.typing import NDArray

    from dpfast.domain import Domain
    from dpfast.duff.exact import Words
    from dpfast.randomness import Column, Stream

    DigestFor: TypeAlias = Callable[[Fraction, str, int], bytes]

__all__ = ["Numbers", "Request", "Rows", "Terms", "grid_of", "indices_of", "plain_digest", "rows_of", "terms_of"]


class Request(NamedTuple):
    """The arguments that mean the same everywhere."""

    epsilon: Any
    neighbours: Any
    by: Any
    keys: Any
    public_groups: bool
    rows_per_person: Any
    person: Any
    column_name: Column
    rng: Any
    threads: int | None
    ledger: Any


class Rows(NamedTuple):
    """A request that is paid for: which group each row is in, and the words of each group's draw."""

    epsilon: Fraction  # of one draw, per row of a person
    codes: NDArray[np.uint32] | None  # group of each row; as many as there are groups: of none
    n_groups: int
    is_grouped: bool
    stream: Stream
    column_name: Column
    digest: bytes

    def words(self) -> Words:
        """The words of the next draw."""
        return self.stream.draws(self.column_name, self.digest, 1).as_words()


def plain_digest(request: Request, *law: str) -> DigestFor:
    """The digest of a statistic with such a law, all that is public about it."""
    return lambda share, groups, kept: digest_of(*law, str(share), request.neighbours, groups, str(kept))


class Terms(NamedTuple):
    """A request that is known to be right, as far as arguments tell."""

    request: Request
    whole: Fraction  # epsilon of a person
    per_person: int
    domain: Domain | None  # the groups
    stream: Stream

    @property
    def share(self) -> Fraction:
        """Epsilon of one draw, per row of a person."""
        return self.whole / self.per_person

    @property
    def n_groups(self) -> int:
        return 1 if self.domain is None else self.domain.size

    def digest(self, digest_for: DigestFor) -> bytes:
        """The digest of a mechanism under these terms."""
        kept = 0 if self.request.person is None else self.per_person
        return digest_for(self.share, "" if self.domain is None else self.domain.digest.hex(), kept)

    def charge(self, digest: bytes) -> None:
        """Charge the ledger; right before anything is drawn."""

        def privacy_of(rows: int) -> Privacy:
            spent = float_above(self.whole)
            if rows > self.per_person and self.request.person is None:
                spent = times_up(float_above(self.share), rows)
            return Privacy(spent, 0.0, self.request.neighbours, rows)

        payment(self.request.ledger, self.request.column_name, digest, privacy_of)(self.stream, "draw")


def terms_of(request: Request) -> Terms:
    """Check a request, without a look at any row."""
    check_neighbours(request.neighbours)
    check_threads(request.threads)
    per_person = integer(request.rows_per_person, "rows_per_person", minimum=1)
    whole = check_epsilon(request.epsilon)
    domain = check_groups(request.by, request.keys, public_groups=request.public_groups, neighbours=request.neighbours)
    if request.person is not None and request.neighbours != "add_remove":
        raise ArgumentError("person= leaves rows out, and under replace_one their number is public; use add_remove")
    return Terms(request, whole, per_person, domain, stream_of(request.rng))


def rows_of(request: Request, digest_for: DigestFor, check_rows: Callable[[int, str], None]) -> Rows:
    """Check a request, charge the ledger and choose the rows.

    `digest_for` names the mechanism: epsilon of one draw, digest of the groups, the rows kept of a person (0: all).
    """
    terms = terms_of(request)
    domain, n_groups, stream = terms.domain, terms.n_groups, terms.stream
    codes = None if domain is None else codes_of(request.by, domain, request.threads)
    people = None if request.person is None else people_of(request.person)
    for others, name in ((codes, "by="), (None if people is None else people[0], "person=")):
        if others is not None:
            check_rows(others.size, name)
    if codes is not None and people is not None and codes.size != people[0].size:
        raise ArgumentError("by= and person= differ in length")
    digest = terms.digest(digest_for)
    terms.charge(digest)
    if people is not None:
        chosen = keep_rows(*people, terms.per_person, stream, request.column_name, digest)
        codes = np.where(chosen, np.uint32(0) if codes is None else codes, np.uint32(n_groups))
    return Rows(terms.share, codes, n_groups, domain is not None, stream, request.column_name, digest)


class Numbers(NamedTuple):
    """A column of numbers and its grid."""

    column: Any
    grid: Grid
    cells: GridCells
    missing: int | None

    def check_rows(self, n: int, name: str) -> None:
        """Refuse a column of another length; what is not in memory is counted when it is read."""
        if isinstance(self.column, Memory) and self.column.rows != n:
            raise ArgumentError(f"values and {name} differ in length")

    def rows(self) -> int:
        """Rows of the column, also those without a number; what is not in memory is read for it."""
        return sum(memory.rows for memory in self.column.memories())

    @property
    def law(self) -> tuple[str, ...]:
        """What is public about them."""
        return str(self.grid.ratio), str(self.grid.origin), str(self.grid.size), str(self.missing)


def grid_of(values: Any, bounds: Any, step: Any, neighbours: Any, missing: Any) -> Numbers:
    """Values and the grid that they are snapped to."""
    check_neighbours(neighbours)
    column = open_values(values, bounds)
    grid = Grid(bounds, step=step, dtype=column.logical)
    if missing is not None and neighbours != "replace_one":
        raise ArgumentError("missing= is for replace_one; under add_remove rows without a number are dropped")
    filling = None if neighbours != "replace_one" else 0 if missing is None else grid.index_of(missing)
    return Numbers(column, grid, GridCells(grid, column.dtype), filling)


def indices_of(numbers: Numbers, rows: Rows, threads: int | None) -> list[NDArray[np.int64]]:
    """The grid indices of each group, in the order of rows."""
    if rows.codes is not None:
        together = put_together(
            numbers.column, numbers.grid, numbers.cells, rows.codes, rows.n_groups, numbers.missing, threads, in_order=True
        )
        return [together.group(place).astype(np.int64) for place in range(rows.n_groups)]
    found, n = [np.empty(0, np.int64)], 0
    for memory in numbers.column.memories():
        n += memory.rows
        found.extend(numbers.cells.snap(piece) for piece in memory.numbers())
    if numbers.missing is not None:
        found.append(np.full(n - sum(part.size for part in found), numbers.missing, np.int64))
    return [np.concatenate(found)]
