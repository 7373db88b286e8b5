"""What runs on executors, batch by batch. Pickled by the name of its class: executors need the dpfast of the driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, cast

from dpfast._schema import plain_type
from dpfast._spending import Pay
from dpfast.errors import MissingPackageError
from dpfast.etl._spark_session import Noise
from dpfast.etl.plan import FilePlan
from dpfast.policy import Policy
from dpfast.randomness import STREAM_VERSION, Stream

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Recipe", "SanitiseBatches", "TellCharge", "Told", "gathered"]

# Spark hands over 10,000 rows at a time if not told otherwise; what a batch costs whatever its size is then half of all.
BATCH_ROWS: Final = 1 << 16
BATCH_BYTES: Final = 1 << 24


@dataclass(frozen=True, repr=False)
class Recipe:
    """A policy and its noise, as the driver sends them, with what shows that they mean the same on both sides.

    Attributes
    ----------
    policy : Policy
    noise : Noise
    ids : str, tuple of str, or None
    digest : bytes
        Of the policy on the driver.
    stream_version : int
        Of the driver.
    """

    policy: Policy
    noise: Noise
    ids: str | tuple[str, ...] | None
    digest: bytes
    stream_version: int = STREAM_VERSION

    @property
    def addressing(self) -> Literal["id", "row"]:
        return "id" if self.ids else "row"

    def check(self) -> None:
        """Refuse to work where another dpfast than that of the driver is installed, as far as it matters."""
        if self.stream_version != STREAM_VERSION or self.digest != self.policy.digest:
            raise MissingPackageError(
                "the executor has another version of dpfast than the driver: the noise would differ; install the same on both"
            )


@dataclass(frozen=True)
class Told:
    """What executors tell the driver of a stream that it does not have: enough to charge a ledger, and to publish.

    Attributes
    ----------
    spend : bytes
        Names the charge, as the stream itself would.
    fingerprint : str
        Of the key.
    """

    spend: bytes
    fingerprint: str | None
    kind: str = "keyed"

    @classmethod
    def by(cls, recipe: Recipe, source: bytes | None = None) -> Told:
        """Where the key is; with the digest of the source, if there is one."""
        stream = recipe.noise.stream()
        stream = stream if recipe.ids or source is None else stream.bind_source(source)
        return cls(stream.spend_key(recipe.addressing, (), recipe.digest), stream.fingerprint)

    def charge(self, pay: Pay, recipe: Recipe) -> None:
        """On the driver."""
        pay(cast(Stream, self), recipe.addressing, self.spend)


class TellCharge:
    """For `mapInArrow`: one row with what a ledger has to know of a DataFrame's noise."""

    SCHEMA = "spend binary, fingerprint string"

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        self._recipe.check()
        for _ in (number for batch in batches for number in batch.column(0).to_pylist()):
            told = Told.by(self._recipe)
            yield pa.RecordBatch.from_pydict({"spend": [told.spend], "fingerprint": [told.fingerprint]})


class SanitiseBatches:
    """What `mapInArrow` calls for each task: batches in, sanitised batches out.

    Parameters
    ----------
    recipe : Recipe
        With ids: a row's noise must not depend on where in which task it is.
    names : list of str
        Of the columns of a batch; what Spark calls them does not matter.
    dropped : list of str
        Of columns that stayed behind.
    """

    def __init__(self, recipe: Recipe, names: list[str], dropped: list[str]) -> None:
        self._recipe = recipe
        self._names = names
        self._dropped = dropped

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        recipe = self._recipe
        recipe.check()
        stream = recipe.noise.stream()
        plan: FilePlan | None = None
        for numbered in gathered(batches):
            batch = numbered.rename_columns(self._names)
            if plan is None:
                plan = FilePlan.of(recipe.policy, self._whole(batch.schema), recipe.ids)
            yield _plain(plan.sanitise(batch, stream, 1))

    def _whole(self, schema: pa.Schema) -> pa.Schema:
        """The schema of the table, as the policy expects it; nobody asks what type a dropped column has."""
        import pyarrow as pa

        return pa.schema([*schema, *(pa.field(name, pa.null()) for name in self._dropped)])


def gathered(batches: Iterator[pa.RecordBatch], rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    """Put batches together until they have `rows` rows or some megabytes."""
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []

    def together() -> Iterator[pa.RecordBatch]:
        if len(waiting) == 1:
            yield waiting[0]
        else:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches() if waiting else ()
        waiting.clear()

    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= rows or sum(one.nbytes for one in waiting) >= BATCH_BYTES:
            yield from together()
    yield from together()


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch without dictionaries: Spark knows none."""
    import pyarrow as pa

    columns, fields = [], []
    for one, column in zip(batch.schema, batch.columns, strict=True):
        kind = plain_type(one.type)
        columns.append(column.dictionary_decode() if pa.types.is_dictionary(one.type) else column)
        fields.append(one.with_type(kind))
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
