"""A canary in every place of a source that holds more than sanitised values: in no byte that a job makes is it found again.

Looked through are all files that a job leaves (pages in the clear, and decoded), hidden ones of failed jobs too, what it writes
to standard output, standard error and the log, its errors with their tracebacks, and its report.
"""

from __future__ import annotations

import errno
import hashlib
import io
import itertools
import logging
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from faulty import faulty, quick_place
from soak import record

from dpfast import Domain, DpfastError, Policy, RandomisedResponse, sanitise_file
from dpfast.cli import main
from dpfast.etl import parquet

CANARY = hashlib.blake2b(b"canary", digest_size=32).hexdigest()
TOWNS = ["Bray", "Cork", "Dingle", "Ennis"]
N = 24
FORMATS = ("parquet", "arrow", "csv")
LAYOUTS = ("file", "folder", "one")
NOISE = ("fresh", "keyed", "ids")


def coded(codes: list[int | None]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array([*TOWNS, CANARY]))


def masked() -> pa.Array:
    """Text whose bytes lie under a null."""
    texts = pa.array([CANARY, *TOWNS] * 5)[:N]
    validity = pa.array([text.as_py() != CANARY for text in texts]).buffers()[1]
    return pa.Array.from_buffers(pa.string(), len(texts), [validity, *texts.buffers()[1:]])


def rows(town: Any, **more: Any) -> pa.Table:
    return pa.table({"id": range(N), "town": town, **more})


def town(**rules: Any) -> RandomisedResponse:
    return RandomisedResponse(Domain([*TOWNS, None] if rules.pop("null", False) else TOWNS, **rules), epsilon=1.0)


PLAIN = TOWNS * (N // 4)
# What the source is, what the policy says beside "id is public", and formats that can hold the canary there.
PLACES: dict[str, tuple[Callable[[], pa.Table], dict[str, Any], tuple[str, ...]]] = {
    "unused entry": (lambda: rows(coded([0, 1, 2, 3] * (N // 4))), {"town": town()}, ("parquet", "arrow")),
    "unused entry of a public column": (
        lambda: rows(PLAIN, note=coded([0, 1, 2, 3] * (N // 4))),
        {"town": town(), "note": "public"},
        ("parquet", "arrow"),
    ),
    "dropped column": (lambda: rows(PLAIN, name=[CANARY] * N), {"town": town(), "name": "drop"}, FORMATS),
    "under a null": (lambda: rows(masked()), {"town": town(null=True)}, ("arrow",)),
    "before a slice": (
        lambda: rows(pa.DictionaryArray.from_arrays(pa.array([4] * 8 + [0, 1, 2, 3] * 6, pa.int8())[8:], [*TOWNS, CANARY])),
        {"town": town()},
        ("parquet", "arrow"),
    ),
    "metadata": (
        lambda: rows(PLAIN).replace_schema_metadata({CANARY: CANARY, "pandas": CANARY}),
        {"town": town()},
        ("parquet", "arrow"),
    ),
    "unknown value": (lambda: rows([CANARY, *PLAIN[1:]]), {"town": town(unknown="randomise")}, FORMATS),
    "other value": (lambda: rows([CANARY, *PLAIN[1:]]), {"town": town(other="Cork")}, FORMATS),
    "refused value": (lambda: rows([*PLAIN[1:], CANARY]), {"town": town()}, FORMATS),
}


def write(path: Path, table: pa.Table) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(table, path, compression="none")
    elif path.suffix == ".arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    else:
        plain = table.set_column(1, "town", table["town"].cast(pa.string()))
        pa.csv.write_csv(plain, str(path))
    return path


def decoded(path: Path) -> str:
    """A file as its reader sees it, with its metadata."""
    if path.suffix == ".parquet":
        file = pq.ParquetFile(path)
        return str(file.metadata.metadata) + str(file.schema_arrow) + str(file.read().to_pydict())
    if path.suffix == ".arrow":
        with pa.ipc.open_file(str(path)) as file:
            return str(file.schema) + str(file.read_all().to_pydict())
    return path.read_text()


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place for everything that a process may write to, with pages in the clear."""
    monkeypatch.setattr(parquet, "COMPRESSION", "none")
    with quick_place() as place:
        for name in ("HOME", "TMPDIR"):
            (place / name).mkdir()
            monkeypatch.setenv(name, str(place / name))
        (place / "in").mkdir()
        (place / "out").mkdir()
        monkeypatch.chdir(place / "out")
        yield place


def found_in(place: Path, texts: list[str]) -> list[str]:
    """Where the canary is, out of the source."""
    wrong = [f"text {number}" for number, text in enumerate(texts) if CANARY in text]
    for path in sorted(place.rglob("*")):
        if path.is_file() and place / "in" not in path.parents:
            if CANARY.encode() in path.read_bytes() or CANARY in path.name:
                wrong.append(str(path))
            elif path.suffix in (".parquet", ".arrow", ".csv") and "partial" not in str(path) and CANARY in decoded(path):
                wrong.append(f"{path}, decoded")
    return wrong


def run(
    place: Path, table: pa.Table, rules: dict[str, Any], kind: str, layout: str, noise: str, stop: str, at: int = 30
) -> list[str]:
    """One scenario; where the canary was found."""
    sources = ["in/all"] if layout == "file" else ["in/many/a", "in/many/deep/b"]
    for name in sources:
        write(place / f"{name}.{kind}", table)
    source = place / (f"{sources[0]}.{kind}" if layout == "file" else "in/many")
    target = place / "out" / ("target" if layout == "folder" else f"target.{kind}")
    options: dict[str, Any] = {} if noise == "fresh" else {"key": bytes(32), "context": "c"}
    if noise == "ids":
        options["ids"] = "id"
    policy = Policy({"id": "public", **rules})
    texts, log, output = [], io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(log)
    logger = logging.getLogger("dpfast")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        with redirect_stdout(output), redirect_stderr(output), faulty(at if stop == "no room" else None, errno.ENOSPC):
            report = sanitise_file(source, target, policy, **options)
            texts += [repr(report), report.to_json()]
    except DpfastError as error:
        texts += [str(error), "".join(traceback.format_exception(error))]
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
    wrong = found_in(place, [*texts, log.getvalue(), output.getvalue()])
    for path in sorted(place.rglob("*"), reverse=True):
        if path.parent != place:
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    return wrong


def scenarios(stops: tuple[str, ...]) -> Iterator[tuple[str, str, str, str, str]]:
    for where, (_, _, kinds) in PLACES.items():
        for kind, layout, noise, stop in itertools.product(kinds, LAYOUTS, NOISE, stops):
            yield where, kind, layout, noise, stop


def test_no_canary_is_found_in_any_of_more_than_200_scenarios(watched: Path) -> None:
    assert look(watched) >= 200


@pytest.mark.slow
def test_no_canary_is_found_wherever_the_disc_is_full(watched: Path) -> None:
    looked = 0
    for at in range(0, 75, 5):
        looked += look(watched, at, "no room")
    record("canaries", scenarios=looked, found=0)


def look(watched: Path, at: int = 30, *stops: str) -> int:
    """Run all scenarios, each of which must show nothing; how many there were."""
    looked = 0
    for where, kind, layout, noise, stop in scenarios(stops or ("whole", "no room")):
        make, rules, _ = PLACES[where]
        assert CANARY.encode() in write(watched / f"in/control.{kind}", make()).read_bytes(), where
        (watched / f"in/control.{kind}").unlink()
        assert run(watched, make(), rules, kind, layout, noise, stop, at) == [], (where, kind, layout, noise, stop)
        looked += 1
    return looked


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_canary_that_is_published_is_found(watched: Path, kind: str, layout: str) -> None:
    # The negative control of the search.
    table = rows(PLAIN, note=[CANARY] * N)
    assert run(watched, table, {"town": town(), "note": "public"}, kind, layout, "fresh", "whole") != []


@pytest.mark.parametrize("where", [name for name, (_, _, kinds) in PLACES.items() if "parquet" in kinds])
@pytest.mark.parametrize("verb", ["sanitise", "sanitise --debug", "check --json", "verify", "estimate"])
def test_the_command_never_shows_a_canary(
    watched: Path, where: str, verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make, rules, _ = PLACES[where]
    write(watched / "in/all.parquet", make())
    (watched / "in/towns.txt").write_text("\n".join(TOWNS))
    more = [word for name, rule in rules.items() if isinstance(rule, str) for word in (f"--{rule}", name)]
    policy = ["--column", "town=@../in/towns.txt", "--epsilon", "1", "--public", "id", *more]
    name, *flags = verb.split()
    if name == "sanitise":
        words = [name, "../in/all.parquet", "out.parquet", *policy, *flags]
    else:
        main(["sanitise", "../in/all.parquet", "out.parquet", *policy])
        words = [name, "../in/all.parquet" if name == "check" else "out.parquet", *policy, *flags]
    main(words)
    shown = capsys.readouterr()
    assert CANARY not in shown.out + shown.err
    assert found_in(watched, []) == []
    assert os.listdir() in ([], ["out.parquet"])
