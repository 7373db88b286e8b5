"""A service that embeds dpfast: FastAPI takes records, answers sanitised ones, and tells what that costs.

The policy is made once, at the start; it is immutable and shared by all requests. Each request draws fresh noise. A ledger, a
file that all workers share, says no when the budget of its population is used up; requests about other people need one of their
own. What is refused has a status code and a text without a value of the data, which may go to the client.

Run it: ``pip install fastapi uvicorn``, then ``uvicorn --factory examples.service:create_app``
"""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa

import dpfast
from dpfast import Ledger, Policy, Privacy, RandomisedResponse

POLICY = Policy(
    {
        "smoker": RandomisedResponse(["no", "yes", None], epsilon=1.0),
        "region": RandomisedResponse(["north", "east", "south", "west"], epsilon=1.5),
    }
)
# A table that cannot be read, values without a rule, no budget left.
STATUS = {dpfast.LedgerError: 429, dpfast.OutsideDomainError: 422, dpfast.PolicyError: 422, dpfast.ArgumentTypeError: 422}


def release(records: list[dict[str, Any]], ledger: Ledger | None) -> tuple[int, dict[str, Any]]:
    """Return a status and a body for a request; whatever framework carries it."""
    try:
        table = pa.Table.from_pylist(records, schema=pa.schema({"smoker": pa.string(), "region": pa.string()}))
    except (pa.ArrowInvalid, pa.ArrowTypeError, AttributeError, UnicodeError):
        return 422, {"error": "a list of records with the texts smoker and region is needed"}
    try:
        released = POLICY.sanitise(table, threads=1, ledger=ledger)
    except tuple(STATUS) as error:
        return STATUS[type(error)], {"error": str(error)}
    privacy = POLICY.privacy()
    return 200, {
        "records": released.to_pylist(),
        "privacy": {"epsilon": privacy.epsilon, "delta": privacy.delta, "neighbours": privacy.neighbours},
    }


def create_app() -> Any:
    """The application. DPFAST_LEDGER names the ledger; without it nothing is counted."""
    from fastapi import Body, FastAPI
    from fastapi.responses import JSONResponse

    path = os.environ.get("DPFAST_LEDGER")
    ledger = None if path is None else Ledger(path, cap=Privacy(10.0))
    app = FastAPI(title="sanitised records")

    # A plain function: FastAPI runs it in a thread, and the compiled core lets others run meanwhile.
    @app.post("/release")
    def post(records: list[dict[str, Any]] = Body()) -> JSONResponse:  # noqa: B008 - how FastAPI is told
        status, body = release(records, ledger)
        return JSONResponse(body, status_code=status)

    @app.get("/policy")
    def policy() -> dict[str, Any]:
        return POLICY.certificate()

    return app
