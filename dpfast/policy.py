"""Which column of a table gets which mechanism, and what a row then costs.

A policy is made of public things only: names of columns, declared domains, epsilons. It is planned against the *schema* of
a table before a value is read, so that what is wrong with the request is said first; after that, no error but that of a
value outside its domain (under ``unknown="error"``) depends on the data.

**Guarantee.** Columns are randomised row by row with words that no two cells share, so the release of one row is the
composition of its columns' mechanisms: pure epsilons add up, and at delta > 0 `dpfast.compose` finds less. Tables that
differ in one row (``replace_one``; the number of rows is public) and agree on every public column are told apart no better
than `Policy.privacy` says. A person with g rows changes g rows, each with randomness of its own.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dpfast._policy_base import Rules, table_payment
from dpfast._policy_check import Check, check_source
from dpfast._policy_estimate import estimate_table
from dpfast._policy_figures import ColumnPlan
from dpfast._policy_groups import Group
from dpfast._policy_plan import planned_schema
from dpfast._policy_sanitise import sanitise_table
from dpfast._policy_toml import read_policy_file
from dpfast.randomness import Stream

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfast._spending import Charges

__all__ = ["Check", "ColumnPlan", "Group", "Policy"]


class Policy(Rules):
    """How a table is published: one rule for each column.

    Parameters
    ----------
    columns : mapping of str to mechanism, Stratified, "public" or "drop"
        ``"public"`` columns pass through unchanged, ``"drop"`` columns are left out.
    joint : mapping of tuple of str to mechanism or Stratified
        Columns that are answered together, as one cell of a `Domain.product` in the order of the tuple. Each comes out with its
        own type and declared domain.
    unlisted : {"error", "public", "drop"}
        What happens to a column of the table that neither names.
    rows_per_person : int
        Number of rows that one person may own, for the figures of `privacy`; the caller vouches for it.

    Attributes
    ----------
    columns, joint : mapping
        The rules, read-only.
    unlisted, rows_per_person
        As given.
    groups : tuple of Group
        What is sanitised: single columns and joint groups, each with its rule.
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

    __slots__ = ()
    estimate = estimate_table

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a policy from a TOML file.

        Parameters
        ----------
        path : str or path-like
            The file. It holds ``version = 1``, optionally ``unlisted`` and ``rows_per_person``, a table ``[columns.NAME]`` for
            each column and ``[[joint]]`` for each group of ``columns``. A table has either ``use = "public"`` or ``"drop"``, or
            ``domain`` (a list, or the path of a file, relative to the policy) or ``edges``, and the keys of a mechanism:
            ``epsilon``, ``delta``; ``policy.schema.json`` in the package lists all.

        Returns
        -------
        Policy

        Raises
        ------
        FileError
        PolicyError
            If something in it is missing, misspelt or out of range; the text names the line, the column and the key.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "policy.toml")
        >>> _ = path.write_text('version = 1\\n[columns.smoker]\\ndomain = ["no", "yes"]\\nepsilon = 1.0\\n')
        >>> Policy.load(path)
        Policy({'smoker': RandomisedResponse of 2 values, epsilon=1.0}, unlisted='error')
        """
        return cls(**read_policy_file(path))

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
            If the type of a column does not fit the domain of its mechanism, or that of a public one the strata by it.
        """
        return planned_schema(self.columns, self.groups, self.unlisted, schema)

    def sanitise(
        self,
        table: Any,
        *,
        rng: Stream | None = None,
        ids: Any = None,
        threads: int | None = None,
        ledger: Charges | None = None,
        connection: Any = None,
    ) -> Any:
        """Sanitise a table: every row independently, every column by its rule.

        Parameters
        ----------
        table : pyarrow Table, RecordBatch or RecordBatchReader, pandas or polars DataFrame, polars LazyFrame, or other
            Other: a DuckDB relation, or anything with ``__arrow_c_stream__``. Not modified; read once.
        rng : Stream, optional
            Default: one fresh stream for the whole call.
        ids : str, tuple of str, or column, optional
            Makes noise permanent: identifiers of the rows, public and unique. A name stands for a public or dropped
            column of `table`. Unchanged rows cost nothing when they are released again; that a value changed is visible, and
            rows can be followed (``docs/permanent_noise.md``). Needs a keyed `rng`.
        threads : int, optional
            The result does not depend on it.
        ledger : Ledger, optional
            Is charged once for the whole table, before anything is drawn; a `LedgerError` if it has no room.
        connection : DuckDB connection, optional
            Where the answers to a DuckDB relation become one; without it they are a pyarrow.Table.

        Returns
        -------
        the kind of `table`
            Without the dropped columns and without any metadata. Sanitised columns are new memory, with the declared domain as
            their dictionary or categories if they have any. Public columns are the same memory, with all it holds, unused
            entries of their dictionaries included. A pandas index is kept, so it is public. A LazyFrame is run and gives a
            DataFrame, other streams a pyarrow.Table. A RecordBatchReader gives one that reads as it is read, for as long as
            `rng` lives with it; its rows are numbered over the whole stream, so that pieces equal the whole.

        Raises
        ------
        PolicyError, ArgumentError, ArgumentTypeError
            If the policy does not fit; before any value is read. Also for a RecordBatchReader under a domain with neither
            ``unknown="randomise"`` nor ``other=``: its stream might end in the middle.
        OutsideDomainError
            If a value lies outside a domain with ``unknown="error"``. `check` shows which.
        IdError
            If an id is null or comes twice.
        LedgerError

        Notes
        -----
        **Privacy guarantee.** ``self.privacy()``, for tables that differ in one row and agree on public columns and ids.
        **Cost.** Linear in the number of cells; one column in memory beside the result.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from dpfast import RandomisedResponse
        >>> policy = Policy({"smoker": RandomisedResponse(["no", "yes"], epsilon=1.0), "name": "drop"})
        >>> table = pa.table({"name": ["Ann", "Bob"], "smoker": ["no", "yes"]})
        >>> policy.sanitise(table, rng=Stream.insecure(1)).column_names
        ['smoker']
        """
        return sanitise_table(
            self,
            self.plan_schema,
            table,
            rng=rng,
            ids=ids,
            threads=threads,
            connection=connection,
            pay=table_payment(self, ledger),
        )

    def check(self, source: Any) -> Check:
        """Read everything and list the values outside their domains. For the operator's eyes only.

        Parameters
        ----------
        source : table, path, address, or pair of a file system and a path
            A table of any kind that `sanitise` takes, or files as for `dpfast.etl.sources.open_source`; a stream or files are
            read batch by batch. Cells of CSV files are shown as they are written.

        Returns
        -------
        Check
            Private: it holds values of the data and where they stand; joint cells and strata without a mechanism included.

        Raises
        ------
        PolicyError, ArgumentTypeError
            If the policy does not fit the schema.
        FileError, CorruptDataError
            If the file cannot be read.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from dpfast import RandomisedResponse
        >>> policy = Policy({"smoker": RandomisedResponse(["no", "yes"], epsilon=1.0)})
        >>> policy.check(pa.table({"smoker": ["no", "Yes", "Yes"]})).findings
        (('smoker', 'Yes', 1, 2),)
        """
        return check_source(self, self.plan_schema, source)
