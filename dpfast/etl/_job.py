"""One job as all ways of running it see it: what it reads, by which plan, with which noise, and what it is called.

**Addresses.** A cell is addressed by file and row: under a key without ids its words are those of (digest of the source, name of
the file within it, row within that file); the name of a source that is one file is empty. Under ids it is addressed by
identifier and true value. So a part that is made again under a key is the same part.

**Fresh noise.** A part that is made again after a stop has other noise. That changes no law: what was drawn before is deleted
unseen, and neither whether a job stops nor where depends on what it drew. (It would if somebody looked at a part and stopped the
job for what it says; whoever may do that may read the source.) What is committed is never drawn again, so no row is answered
twice in what is released, and one charge covers the job.

**Name.** Under a key a job is named by a secret function of key, context, source, policy and ids: equal names are equal jobs, and
nothing else can be told from one. A job with fresh noise has no name that could be published: a digest of the source would let
anyone test a guess of the data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

from dpfast._fields import field
from dpfast._spending import Pay
from dpfast._threads import available
from dpfast.errors import PolicyError
from dpfast.etl.formats import Target
from dpfast.etl.jobs import background, read_ahead
from dpfast.etl.plan import FilePlan
from dpfast.etl.sources import Source, SourceFile
from dpfast.randomness import Stream

__all__ = ["Job", "plan_of_files"]

_RULE_PERSON = b"dpfast/job/1"
_MAKER_PERSON = b"dpfast/maker/1"


class Job:
    """What is to be done, wherever the answers go.

    Parameters
    ----------
    source : Source
    plan : FilePlan
    stream : Stream
        Not bound to the source.
    threads : int or None
    layout : {"one", "each", "pieces"}
        Whether all rows go into one file, or those of each file into one of their own, or into several.
    """

    def __init__(
        self, source: Source, plan: FilePlan, stream: Stream, threads: int | None, layout: Literal["one", "each", "pieces"]
    ) -> None:
        self.source = source
        self.plan = plan
        self.stream = stream
        self.layout = layout
        self._workers = available() if threads is None else threads
        # one reads, one writes; more threads than processors only take the caches from each other
        self._threads = max(1, self._workers - 2)
        self.file_plan = plan if layout == "one" else plan_of_files(plan, source)

    @property
    def randomness(self) -> str:
        """Where the noise comes from: "fresh", "keyed" or "insecure"."""
        return self.stream.kind

    @property
    def is_keyed(self) -> bool:
        """Whether the same job gives the same values again."""
        return self.randomness == "keyed"

    @cached_property
    def digest(self) -> bytes:
        """The digest of the source: of the names and the bytes of its files."""
        return self.source.digest()

    @cached_property
    def rule(self) -> bytes:
        """A digest of what is done to a source, whichever; public."""
        layout = field(b"\0".join([self.layout.encode(), *map(field, sorted(self.plan.metadata))]))
        digest = hashlib.blake2b(field(self.plan.policy.digest) + layout, digest_size=32, person=_RULE_PERSON)
        for name in self.plan.ids:
            digest.update(field(name.encode()))
        return digest.digest()

    @cached_property
    def maker(self) -> str:
        """What the parts depend on beside the source: private, as a digest that a context could be guessed from is."""
        secret = self.stream.spend_key("row", (), self.rule) if self.is_keyed else b""
        return hashlib.blake2b(field(self.rule) + field(secret), digest_size=32, person=_MAKER_PERSON).hexdigest()

    @cached_property
    def name(self) -> str | None:
        """The name of the job, which may be published; None where it has none."""
        return self.stream.bind_source(self.digest).spend_key("row", (), self.rule).hex() if self.is_keyed else None

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """What goes with the target."""
        certificate = self.plan.certificate(self.stream)
        return certificate if self.name is None else {**certificate, "job": self.name}

    def charge(self, pay: Pay, spend: bytes | None = None) -> None:
        """Pay for the whole job; `spend` names the charge where the noise is fresh."""
        by_row = self.is_keyed and not self.plan.ids
        pay(self.stream.bind_source(self.digest) if by_row else self.stream, "id" if self.plan.ids else "row", spend)

    def run(self, file: SourceFile, writer: Target, advance: Callable[[int], object]) -> int:
        """Sanitise one file into a writer, which may be given more of them; return its number of rows."""
        plan, done = self.file_plan, 0
        stream = self._stream(file)
        with file.open() as reader:
            batches = reader.batches(plan.needed, dictionaries=plan.dictionaries, repetitive=plan.repetitive)
            with background(self._workers) as behind, read_ahead(batches, self._workers) as ahead:
                for batch in ahead:
                    writer.add(plan.sanitise(batch, stream, self._threads), behind)
                    done += batch.num_rows
                    advance(done)
                behind.wait()
            # What was digested, decoded and sanitised is one and the same file only if nobody wrote to it meanwhile.
            reader.check_unchanged()
        return done

    def _stream(self, file: SourceFile) -> Stream:
        if not self.is_keyed or self.plan.ids:
            return self.stream
        return self.stream.bind_source(self.digest + file.name.encode())


def plan_of_files(plan: FilePlan, source: Source) -> FilePlan:
    """Return the plan of the files of a folder: columns that the names of folders spell stay there, and are not written twice."""
    return plan.without(_public_partitions(plan, source)) if source.files else plan


def _public_partitions(plan: FilePlan, source: Source) -> tuple[str, ...]:
    """The columns that the names of folders spell; they are published there, and so have to be public."""
    names = tuple(source.files[0].partition)
    for name in names:
        if plan.policy.rule(name) != "public":
            done = "drops" if plan.policy.rule(name) == "drop" else "sanitises"
            raise PolicyError(
                f"the policy {done} column {name!r}, which the names of the folders spell; those of the target would show "
                "its true values: write into one file instead, or make the column public"
            )
    return names
