"""A model of dbt on DuckDB that publishes a sanitised table: put it under ``models/`` as ``released_members.py``.

dbt calls ``model(dbt, session)``; ``dbt.ref`` gives a DuckDB relation, which is a query and not a table. It is read once here,
and what is returned holds noise that is already drawn, so that dbt may materialise it and every later model reads the same.
`materialized` is "table" and not "view" for that reason: a view would be drawn again by whoever looks.

dbt finds the key in ``DPFAST_KEY``: ``export DPFAST_KEY=$(cat people.key)``, where ``dpfast keygen people.key`` made it. Run it
without dbt: ``python examples/dbt_model.py`` makes a database in memory and prints what the sanitised table says.
"""

from __future__ import annotations

import base64
import os
import sys
from typing import Any

from dpfast import Policy, RandomisedResponse, Stream

POLICY = Policy(
    {
        "member_id": "public",
        "smoker": RandomisedResponse(["no", "yes"], epsilon=1.0),
        "region": RandomisedResponse(["north", "east", "south", "west"], epsilon=1.5),
    },
    unlisted="drop",
)


def model(dbt: Any, session: Any) -> Any:
    """The released table: same rows, same ids, cells changed at random."""
    dbt.config(materialized="table")
    members = dbt.ref("members")
    rng = Stream(key="env:DPFAST_KEY", context="members")  # permanent noise: a full refresh changes no answer
    return POLICY.sanitise(members, rng=rng, ids="member_id", connection=session)


class Example:
    """What of dbt the model uses, for a look without it."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.options: dict[str, Any] = {}

    def config(self, **options: Any) -> None:
        """Keep the options."""
        self.options |= options

    def ref(self, name: str) -> Any:
        """The relation of that name."""
        return self.session.table(name)


def main() -> int:
    """Make members, run the model, materialise it, and estimate from the table."""
    import duckdb

    os.environ.setdefault("DPFAST_KEY", base64.b64encode(os.urandom(32)).decode())  # for a look; it is lost at the end
    session = duckdb.connect()
    session.sql("""
        create table members as select range as member_id, if(range % 5 = 0, 'yes', 'no') as smoker,
        ['north', 'east', 'south', 'west'][1 + range % 4] as region, 'name ' || range as name from range(40000)
    """)
    model(Example(session), session).create("released_members")
    released = session.table("released_members")
    print(f"columns: {', '.join(released.columns)}")
    print(POLICY.estimate(released.to_arrow_table(), "smoker"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
