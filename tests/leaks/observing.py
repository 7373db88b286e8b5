"""All that can be seen of a call but the values it releases."""

from __future__ import annotations

import io
import json
import logging
import os
import pickle
import re
import shutil
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["Exit", "Observed", "kept", "observe", "shape"]

NUMBER = re.compile(r"-?(?:\d[\d.]*(?:e[+-]?\d+)?|\binf\b)")


class Exit(int):
    """The exit code of a command, which is seen."""


@dataclass
class Observed:
    """What was seen, in a form that two calls share (`outcome`), and everything that was written (`texts`)."""

    outcome: dict[str, Any] = field(default_factory=dict)
    texts: list[bytes] = field(default_factory=list)


def observe(call: Callable[[Any], Any], data: Any, *, result: str = "released", clear: bool = True) -> Observed:
    """Run a call in the folder where we are and look at everything that it leaves.

    `result` says what is looked at of what it returns or prints: "released": its shape and all its bytes; "private": that it
    does not show itself, as levels and codes do; "operator": nothing, it is for those who hold the data.
    """
    seen = Observed()
    log, out, err = io.StringIO(), io.StringIO(), io.StringIO()
    value: Any = None
    with _logged(log), warnings.catch_warnings(record=True) as warned, redirect_stdout(out), redirect_stderr(err):
        warnings.simplefilter("always")
        try:
            value = call(data)
        except Exception as error:
            seen.outcome["error"] = [(type(one).__mro__[:2], str(one), getattr(one, "__notes__", [])) for one in _chain(error)]
            seen.texts.append("".join(traceback.format_exception(error)).encode())
    seen.outcome["warned"] = [(one.category, str(one.message)) for one in warned]
    seen.outcome["log"] = log.getvalue()
    seen.outcome["stderr"] = re.sub(r"[\d.]+ seconds?", "# seconds", err.getvalue())
    seen.texts += [repr(seen.outcome).encode()]
    if result == "released":
        seen.outcome["stdout"] = _printed(out.getvalue())
        seen.outcome["value"] = shape(value)
        seen.texts += [out.getvalue().encode(), repr(value).encode(), kept(value)]
    elif result == "private":
        seen.texts += [out.getvalue().encode(), repr(value).encode() if not isinstance(value, np.ndarray) else b""]
    seen.outcome["files"] = sorted((path.relative_to(Path()).as_posix(), path.stat().st_mode) for path in Path().rglob("*"))
    for path in sorted(Path().rglob("*")):
        seen.texts.append(str(path).encode())
        if path.is_file():
            seen.texts += [path.read_bytes(), _decoded(path)]
    if clear:
        for path in Path().iterdir():
            shutil.rmtree(path) if path.is_dir() else os.unlink(path)
    return seen


@contextmanager
def _logged(log: io.StringIO) -> Iterator[None]:
    """Every line that anything of ours logs."""
    handler, logger = logging.StreamHandler(log), logging.getLogger("dpfast")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and those that a traceback shows with it."""
    one: BaseException | None = error
    while one is not None:
        yield one
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def shape(value: Any) -> Any:
    """What a result is but for its values: kind, type and length, and the names in it."""
    if isinstance(value, np.ndarray):
        return "ndarray", value.dtype.str, value.shape
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        entries = [part.dictionary.to_pylist() for part in _parts(value) if pa.types.is_dictionary(part.type)]
        return type(value).__name__, str(value.type), len(value), entries
    if isinstance(value, (pa.Table, pa.RecordBatch)):
        return "table", value.schema.to_string(), {name: shape(value[name]) for name in value.schema.names}
    if isinstance(value, pd.Series):
        return "Series", repr(value.dtype), list(value.index), value.name
    if isinstance(value, pd.DataFrame):
        return "DataFrame", {name: shape(value[name]) for name in value.columns}, value.attrs
    if isinstance(value, (pl.Series, pl.DataFrame)):
        return type(value).__name__, repr(value.schema if isinstance(value, pl.DataFrame) else value.dtype), value.shape
    if isinstance(value, Mapping):
        return {str(name): shape(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [shape(inner) for inner in value]
    return ("exit", int(value)) if isinstance(value, Exit) else type(value).__name__


def _parts(column: Any) -> list[Any]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _printed(text: str) -> Any:
    """What a command printed: the names and types of its JSON, or its text without numbers and labels."""
    try:
        return shape(json.loads(text))
    except ValueError:
        return re.sub(r" +", " ", NUMBER.sub("#", re.sub(r"\b(?:Bray|Cork|Dingle)\b", "@", text)))


def kept(value: Any) -> bytes:
    """All memory that a result keeps alive."""
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        return kept(pa.table({"x": value}))
    if isinstance(value, (pa.Table, pa.RecordBatch)):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, value.schema) as writer:
            writer.write(value)
        held = [buffer for column in value.columns for part in _parts(column) for buffer in _buffers(part)]
        return sink.getvalue().to_pybytes() + b"".join(buffer.to_pybytes() for buffer in held)
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.tobytes() + (b"" if value.base is None else kept(value.base))
    try:
        return pickle.dumps(value)
    except (TypeError, AttributeError, pickle.PicklingError):  # what refuses to be kept
        return b""


def _buffers(part: Any) -> Iterator[Any]:
    arrays = [part.indices, part.dictionary] if pa.types.is_dictionary(part.type) else [part]
    yield from (buffer for array in arrays for buffer in array.buffers() if buffer is not None)


def _decoded(path: Path) -> bytes:
    """A file as its reader sees it, with its metadata."""
    if path.suffix == ".parquet":
        file = pq.ParquetFile(path)
        return f"{file.metadata.metadata} {file.schema_arrow} {file.read().to_pydict()}".encode()
    return b""
