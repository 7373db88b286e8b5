"""Which column of a table gets which mechanism, and what a row then costs.

A policy is made of public things only: names of columns, declared domains, epsilons. It is planned against the *schema* of
a table before a value is read, so that what is wrong with the request is said first; after that, no error but that of a
value outside its domain (under ``unknown="error"``) depends on the data.

**Guarantee.** Columns are randomised row by row with words that no two cells share, so the release of one row is the
composition of its columns' mechanisms: epsilons add up, deltas add up. Tables that differ in one row (``replace_one``; the
number of rows is public) and agree on every public column are told apart no better than `Policy.privacy` says. A person
with g rows changes g rows, each with randomness of its own: both figures times g.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dpfast._parquet import BATCH_ROWS, ParquetSource
from dpfast._policy_estimate import estimate_table
from dpfast._policy_figures import Check, ColumnPlan, check_batches, plan_column
from dpfast._policy_plan import Rule, check_rule, id_columns, id_names, planned_schema, policy_digest
from dpfast._policy_toml import read_policy_file
from dpfast._rounding import integer
from dpfast.errors import ArgumentTypeError, PolicyError
from dpfast.ids import prepare_ids
from dpfast.privacy import Privacy, check_delta, sum_up, times_up
from dpfast.randomness import Stream
from dpfast.response import RandomisedResponse

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Check", "ColumnPlan", "Policy"]

CERTIFICATE_FORMAT = 1
UNLISTED = ("error", "public", "drop")


class Policy:
    """How a table is published: one rule for each column.

    Parameters
    ----------
    columns : mapping of str to RandomisedResponse, "public" or "drop"
        ``"public"`` columns pass through unchanged, ``"drop"`` columns are left out.
    unlisted : {"error", "public", "drop"}
        What happens to a column of the table that `columns` does not name.

    Attributes
    ----------
    columns : mapping
        The rules, read-only.
    unlisted : str
        As given.
    digest : bytes
        32 bytes that identify the policy: names, rules, mechanisms; not the order of the columns.

    Raises
    ------
    PolicyError
        If a name or a rule is not one of the above.

    Notes
    -----
    **Privacy guarantee.** `privacy` states it, rounded up, for tables that differ in one row (``replace_one``). Public columns
    are taken to be known: it holds between tables that agree on them, and on the identifiers if noise is permanent. That a row
    exists, and the order of rows, are public.

    Examples
    --------
    >>> from dpfast import Policy, RandomisedResponse
    >>> policy = Policy({"smoker": RandomisedResponse(["no", "yes"], epsilon=1.0), "town": "public", "name": "drop"})
    >>> policy.privacy().epsilon
    1.0
    """

    __slots__ = ("columns", "digest", "unlisted")

    columns: Mapping[str, Rule]
    digest: bytes
    estimate = estimate_table

    def __init__(self, columns: Mapping[str, Rule], *, unlisted: str = "error") -> None:
        if not isinstance(columns, Mapping):
            raise PolicyError('columns must be a mapping from names to mechanisms, "public" or "drop"')
        if not columns:
            raise PolicyError("the policy names no column")
        if unlisted not in UNLISTED:
            raise PolicyError(f"unlisted must be one of {', '.join(map(repr, UNLISTED))}")
        for name, rule in columns.items():
            check_rule(name, rule)
        self.columns = MappingProxyType(dict(columns))
        self.unlisted = unlisted
        self.digest = policy_digest(self.columns, unlisted)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a policy from a TOML file.

        Parameters
        ----------
        path : str or path-like
            The file. It holds ``version = 1``, optionally ``unlisted``, and a table ``[columns.NAME]`` for each column:
            either ``use = "public"`` or ``"drop"``, or ``epsilon``, ``domain`` (a list, or the path of a file, relative
            to the policy) and optionally ``mechanism``, ``delta``, ``null`` (true makes null the last value of the
            domain), ``unknown`` and ``other``.

        Returns
        -------
        Policy

        Raises
        ------
        FileError
            If the file cannot be read.
        PolicyError
            If something in it is missing, misspelt or out of range; the text names the column and the key.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "policy.toml")
        >>> _ = path.write_text('version = 1\\n[columns.smoker]\\ndomain = ["no", "yes"]\\nepsilon = 1.0\\n')
        >>> Policy.load(path)
        Policy({'smoker': RandomisedResponse of 2 values, epsilon=1.0}, unlisted='error')
        """
        columns, unlisted = read_policy_file(path)
        return cls(columns, unlisted=unlisted)

    @property
    def mechanisms(self) -> dict[str, RandomisedResponse]:
        """The sanitised columns and their mechanisms."""
        return {name: rule for name, rule in self.columns.items() if isinstance(rule, RandomisedResponse)}

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (dict(self.columns), self.unlisted)

    def __repr__(self) -> str:
        rules = ", ".join(f"{name!r}: {_described(rule)}" for name, rule in self.columns.items())
        return f"Policy({{{rules}}}, unlisted={self.unlisted!r})"

    def privacy(self, delta: float = 0.0, *, rows_per_person: int = 1) -> Privacy:
        """Return what the release of a whole row costs, by basic composition, rounded up.

        Parameters
        ----------
        delta : float
            The largest delta to be stated, in [0, 1).
        rows_per_person : int
            Number of rows that one person may own; the caller vouches for it.

        Returns
        -------
        Privacy
            Let D be the sum of the deltas that the columns ask for, times `rows_per_person`. If D <= `delta`: the sum of
            the columns' epsilons at their deltas, and D. Otherwise the sum of their pure epsilons, and delta 0. Epsilon
            is multiplied by `rows_per_person`. Neighbours are ``replace_one``.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            For a delta outside [0, 1) or a `rows_per_person` below 1.

        Notes
        -----
        Sums and products are exact and then rounded up to a double. The bound holds for any dependence between the columns
        of a row; it is not the tightest one.

        Examples
        --------
        >>> policy = Policy({"smoker": RandomisedResponse(["no", "yes"], epsilon=1.0)})
        >>> policy.privacy(rows_per_person=3).epsilon
        3.0
        """
        delta = check_delta(delta)
        rows = integer(rows_per_person, "rows_per_person", minimum=1)
        mechanisms = self.mechanisms.values()
        asked = self._asked_delta(rows)
        if asked <= delta:
            epsilon = sum_up(mechanism.epsilon_at(mechanism.delta) for mechanism in mechanisms)
        else:
            epsilon, asked = sum_up(mechanism.epsilon_at(0.0) for mechanism in mechanisms), 0.0
        return Privacy(times_up(epsilon, rows), asked, "replace_one", rows)

    def _asked_delta(self, rows_per_person: int) -> float:
        return times_up(sum_up(mechanism.delta for mechanism in self.mechanisms.values()), rows_per_person)

    def certificate(self, *, rows_per_person: int = 1) -> dict[str, Any]:
        """Return what a reader of the release may know about how it was made.

        Parameters
        ----------
        rows_per_person : int
            Number of rows that one person may own; the caller vouches for it.

        Returns
        -------
        dict
            Ready for JSON: format version, each sanitised column's mechanism, the public columns, the digest of the
            policy, neighbours, unit, `rows_per_person`, and the realised epsilon and delta. Doubles are written in
            hexadecimal, so that nothing is lost. No time, path or count; nothing that depends on data.

        Examples
        --------
        >>> Policy({"smoker": RandomisedResponse(["no", "yes"], epsilon=1.0)}).certificate()["epsilon"]
        '0x1.0000000000000p+0'
        """
        asked = self._asked_delta(integer(rows_per_person, "rows_per_person", minimum=1))
        # Deltas that add up to 1 state nothing; the pure epsilon then does.
        realised = self.privacy(asked if asked < 1.0 else 0.0, rows_per_person=rows_per_person)
        return {
            "format": CERTIFICATE_FORMAT,
            "policy": self.digest.hex(),
            "columns": {name: mechanism.certificate() for name, mechanism in self.mechanisms.items()},
            "public": sorted(name for name, rule in self.columns.items() if rule == "public"),
            "unlisted": self.unlisted,
            "neighbours": realised.neighbours,
            "unit": "row",
            "rows_per_person": realised.rows_per_person,
            "epsilon": realised.epsilon.hex(),
            "delta": realised.delta.hex(),
        }

    def describe(self, rows: int | None = None) -> list[ColumnPlan]:
        """Return the figures of each sanitised column, without data.

        Parameters
        ----------
        rows : int, optional
            Number of rows of the table, for the standard errors.

        Returns
        -------
        list of ColumnPlan
            In the order of the policy.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            If `rows` is not a positive integer.

        Examples
        --------
        >>> [plan] = Policy({"smoker": RandomisedResponse(["no", "yes"], epsilon=1.0)}).describe(10_000)
        >>> round(plan.keep_probability, 4), round(plan.standard_error, 4)
        (0.7311, 0.0096)
        """
        n = None if rows is None else integer(rows, "rows", minimum=1)
        return [plan_column(name, mechanism, n) for name, mechanism in self.mechanisms.items()]

    def plan_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of the sanitised table, or say why the policy does not fit.

        Parameters
        ----------
        schema : pyarrow.Schema
            Schema of the table to be sanitised.

        Returns
        -------
        pyarrow.Schema
            The columns that are published, in the order of `schema`: names, types and nullability. Metadata is left out.

        Raises
        ------
        PolicyError
            If a column of the policy is missing, one of the table is not listed (``unlisted="error"``), a name is
            repeated, no column would be left, or a column declared non-null has null in its domain.
        ArgumentTypeError
            If the type of a column does not fit the domain of its mechanism.
        """
        return planned_schema(self.columns, self.unlisted, schema)

    def rule(self, name: str) -> Rule:
        """Return the rule of a column that a table has: a mechanism, ``"public"`` or ``"drop"``."""
        return self.columns.get(name, self.unlisted)

    def sanitise(
        self,
        table: pa.Table | pa.RecordBatch,
        *,
        rng: Stream | None = None,
        ids: Any = None,
        threads: int | None = None,
    ) -> pa.Table | pa.RecordBatch:
        """Sanitise a table: every row independently, every column by its rule.

        Parameters
        ----------
        table : pyarrow.Table or pyarrow.RecordBatch
            Not modified.
        rng : Stream, optional
            Default: one fresh stream for the whole call.
        ids : str, tuple of str, or column, optional
            Makes noise permanent: identifiers of the rows, public and unique. A name stands for a public or dropped
            column of `table`. Needs a keyed `rng`.
        threads : int, optional
            The result does not depend on it.

        Returns
        -------
        pyarrow.Table or pyarrow.RecordBatch
            As `table`, without the dropped columns and without any metadata. Sanitised columns are new memory, with the
            declared domain as their dictionary if they have one. Public columns are the same objects, with all they
            hold, unused entries of their dictionaries included.

        Raises
        ------
        PolicyError, ArgumentError, ArgumentTypeError
            If the policy does not fit; before any value is read.
        OutsideDomainError
            If a value lies outside a domain with ``unknown="error"``. `check` shows which.
        IdError
            If an id is null or comes twice.

        Notes
        -----
        **Privacy guarantee.** ``self.privacy()``, for tables that differ in one row and agree on public columns and ids.
        **Cost.** Linear in the number of cells; one column in memory beside the result.

        Examples
        --------
        >>> import pyarrow as pa
        >>> policy = Policy({"smoker": RandomisedResponse(["no", "yes"], epsilon=1.0), "name": "drop"})
        >>> table = pa.table({"name": ["Ann", "Bob"], "smoker": ["no", "yes"]})
        >>> policy.sanitise(table, rng=Stream.insecure(1)).column_names
        ['smoker']
        """
        import pyarrow as pa

        if not isinstance(table, pa.Table | pa.RecordBatch):
            raise ArgumentTypeError("table must be a pyarrow Table or RecordBatch (see pyarrow.Table.from_pandas)")
        schema = self.plan_schema(table.schema)
        if isinstance(ids, str) or (isinstance(ids, tuple) and all(isinstance(part, str) for part in ids)):
            ids = id_columns(table, id_names(self, ids, table.schema.names))
        ids = None if ids is None else prepare_ids(ids, table.num_rows)
        rng = Stream() if rng is None else rng
        return type(table).from_arrays(
            [self._sanitised(table.column(name), name, rng, ids, threads) for name in schema.names], schema=schema
        )

    def _sanitised(self, column: Any, name: str, rng: Stream, ids: Any, threads: int | None) -> Any:
        rule = self.rule(name)
        if not isinstance(rule, RandomisedResponse):
            return column
        return rule.sanitise(column, rng=rng, ids=ids, column_name=name, threads=threads)

    def check(self, source: pa.Table | pa.RecordBatch | str | os.PathLike[str]) -> Check:
        """Read everything and list the values outside their domains. For the operator's eyes only.

        Parameters
        ----------
        source : pyarrow.Table, pyarrow.RecordBatch or path
            A table, or a Parquet file, which is read batch by batch.

        Returns
        -------
        Check
            Private: it holds values of the data and where they stand.

        Raises
        ------
        PolicyError, ArgumentTypeError
            If the policy does not fit the schema.
        FileError, CorruptDataError
            If the file cannot be read.

        Examples
        --------
        >>> import pyarrow as pa
        >>> policy = Policy({"smoker": RandomisedResponse(["no", "yes"], epsilon=1.0)})
        >>> policy.check(pa.table({"smoker": ["no", "Yes", "Yes"]})).findings
        (('smoker', 'Yes', 1, 2),)
        """
        import pyarrow as pa

        if isinstance(source, pa.RecordBatch):
            source = pa.Table.from_batches([source])
        if isinstance(source, pa.Table):
            self.plan_schema(source.schema)
            return check_batches(self.mechanisms, source.to_batches(BATCH_ROWS))
        if not isinstance(source, str | os.PathLike):
            raise ArgumentTypeError("source must be a pyarrow Table or RecordBatch, or the path of a Parquet file")
        with ParquetSource(source) as file:
            self.plan_schema(file.schema)
            return check_batches(self.mechanisms, file.batches(self.mechanisms, dictionaries=self.mechanisms))


def _described(rule: Rule) -> str:
    if isinstance(rule, str):
        return repr(rule)
    delta = f", delta={rule.delta!r}" if rule.delta else ""
    return f"RandomisedResponse of {rule.domain.size} values, epsilon={rule.epsilon!r}{delta}"


def _remade(columns: dict[str, Rule], unlisted: str) -> Policy:
    """Make a policy from its pickled parts; a read-only mapping has no pickled form."""
    return Policy(columns, unlisted=unlisted)
