"""Every format into every other: one policy, one noise, the same values; and the rules of text."""

from __future__ import annotations

import contextlib
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from memory import PEAK

from dpfast import (
    ArgumentTypeError,
    CorruptDataError,
    Domain,
    FileError,
    OutsideDomainError,
    Policy,
    PolicyError,
    RandomisedResponse,
    Stratified,
    Stream,
    _parquet,
    sanitise_file,
)
from dpfast.cli import main
from dpfast.etl import parquet
from dpfast.etl.sources import open_source

FORMATS = ["parquet", "csv", "csv.gz", "csv.zst", "arrow", "arrows"]
TOWNS = ["Bray", 'D"x, y', "", "two\nlines", "Ennis"]
N = 700


def response(values: Any, epsilon: float = 1.0, **rules: Any) -> RandomisedResponse:
    return RandomisedResponse(values if isinstance(values, Domain) else Domain(values, **rules), epsilon=epsilon)


def exact(values: Any, **rules: Any) -> RandomisedResponse:
    """Nobody's answer changes: what comes out is what was read."""
    return response(values, 44.0, **rules)


BINS = Domain.bins([0, 20, 40, 60, 120], labels=["a", "b", "c", "d"]).with_rule(unknown="randomise")
POLICY = Policy(
    {
        "town": response([*TOWNS, None]),
        "code": response([*range(1, 9), None]),
        "age": response(BINS),
        "sex": Stratified("year", {2024: response(["f", "m"]), 2025: response(["f", "m"], 2.0)}),
        "smoker": response([False, True]),
        "note": "public",
        "year": "public",
        "share": "public",
        "kind": "public",
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same table in each format."""
    rng = np.random.default_rng(2)

    def pick(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(values, kind).take(pa.array(rng.integers(0, len(values), N)))

    table = pa.table(
        {
            "town": pick([*TOWNS, None], pa.string()),
            "code": pick([*range(1, 9), None], pa.int16()),
            "age": pa.array(rng.normal(50, 20, N)),
            "sex": pick(["f", "m"], pa.string()).dictionary_encode(),
            "smoker": pick([False, True], pa.bool_()),
            "note": pick(["plain", "", None, "a,b", 'q"', "ä\r\nö"], pa.string()),
            "year": pick([2024, 2025], pa.int32()),
            "share": pa.array(rng.normal(0, 1e-3, N)),
            "kind": pick(["u", "v"], pa.string()).dictionary_encode(),
        }
    )
    path = tmp_path_factory.mktemp("formats")
    pq.write_table(table, path / "source.parquet")
    keep = Policy({"x": response(["x"])}, unlisted="public")
    pq.write_table(table.append_column("x", pa.array(["x"] * N)), path / "with_x.parquet")
    for name in FORMATS[1:]:
        sanitise_file(path / "with_x.parquet", path / f"source.{name}", keep, rng=Stream.insecure(1))
    return path


def columns(path: Path) -> dict[str, list[Any]]:
    """Columns of a file as texts, nulls apart."""
    source = open_source(path)
    table = pa.Table.from_batches(list(source.batches(source.schema.names)))

    def text(value: Any) -> Any:
        return value if value is None else str(value).lower() if isinstance(value, bool) else str(value)

    shown = {name: [text(value) for value in column] for name, column in table.to_pydict().items()}
    if "share" in shown:  # a float has many spellings
        shown["share"] = [float(value) for value in shown["share"]]
    return shown


def policy_of(source: str) -> Policy:
    return POLICY if source == "parquet" else Policy({**POLICY.columns, "x": "drop"})


@pytest.mark.parametrize("source", FORMATS)
def test_each_format_into_each(folder: Path, tmp_path: Path, source: str) -> None:
    usual = tmp_path / "usual.parquet"
    sanitise_file(folder / "source.parquet", usual, POLICY, rng=Stream.insecure(5))
    expected = columns(usual)
    assert expected["town"] != columns(folder / "source.parquet")["town"]
    for target in FORMATS:
        report = sanitise_file(folder / f"source.{source}", tmp_path / f"out.{target}", policy_of(source), rng=Stream.insecure(5))
        assert report.rows == N
        assert columns(tmp_path / f"out.{target}") == expected


@pytest.mark.parametrize("target", FORMATS)
def test_bytes_do_not_depend_on_batches_or_threads(
    folder: Path, tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS_MAX", 256)
    seen = set()
    for source, rows, threads in [("parquet", 100, 1), ("parquet", 333, 2), ("arrow", 41, 3)]:
        monkeypatch.setattr(_parquet, "BATCH_ROWS", rows)
        out = tmp_path / f"out.{target}"
        policy = policy_of("arrow")
        path = folder / ("with_x.parquet" if source == "parquet" else f"source.{source}")
        sanitise_file(path, out, policy, rng=Stream.insecure(5), threads=threads, overwrite=True)
        seen.add(out.read_bytes())
    # a public dictionary of an Arrow file has become plain there; nothing else may differ
    assert len(seen) == (1 if target.startswith("csv") else 2)


def test_a_keyed_job_repeats_itself_from_text(folder: Path, tmp_path: Path, key: bytes) -> None:
    for name in ("one.csv", "two.csv"):
        sanitise_file(folder / "source.csv", tmp_path / name, policy_of("csv"), key=key, context="c")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_permanent_noise_from_text(tmp_path: Path, key: bytes) -> None:
    people = [(f"p{number}", "abc"[number % 3]) for number in range(200)]
    policy = Policy({"id": "public", "town": response(["a", "b", "c"])})
    released = []
    for order in (people, people[::-1]):
        (tmp_path / "s.csv").write_text("id,town\n" + "".join(f"{one},{town}\n" for one, town in order))
        sanitise_file(tmp_path / "s.csv", tmp_path / "t.csv", policy, key=key, context="c", ids="id", overwrite=True)
        out = columns(tmp_path / "t.csv")
        released.append(dict(zip(out["id"], out["town"], strict=True)))
    assert released[0] == released[1]


@pytest.mark.parametrize("target", FORMATS)
def test_certificates_are_found_and_estimates_are_the_same(folder: Path, tmp_path: Path, target: str, capsys: Any) -> None:
    policy_file = tmp_path / "policy.toml"
    policy_file.write_text(
        'version = 1\nunlisted = "drop"\n[columns.town]\ndomain = ["Bray", "D\\"x, y", "", "two\\nlines", "Ennis"]\nnull = true\n'
        "epsilon = 1.0\n[columns.code]\ndomain = [1, 2, 3, 4, 5, 6, 7, 8]\nnull = true\nepsilon = 1.0\n[columns.age]\n"
        'edges = [0, 20, 40, 60, 120]\nunknown = "randomise"\nepsilon = 1.0\n[columns.year]\nuse = "public"\n'
    )
    policy = Policy.load(policy_file)
    usual, out = tmp_path / "usual.parquet", tmp_path / f"out.{target}"
    for path in {usual, out}:
        report = sanitise_file(folder / "source.parquet", path, policy, rng=Stream())
    assert json.loads(open_source(out).metadata[b"dpfast"]) == report.certificate
    assert main(["verify", str(out), "--policy", str(policy_file)]) == 0
    capsys.readouterr()
    assert main(["estimate", str(out), "--policy", str(policy_file), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["rows"] == N
    assert shown["columns"]["town"]["estimated_share"] == policy.estimate(out, "town").frequency.tolist()
    by = ["2024", "2025"] if target.startswith("csv") else [2024, 2025]
    assert set(policy.estimate(out, "code", by="year", keys=by)) == set(by)


# text


def text_job(path: Path, text: str | bytes, rules: dict[str, Any], name: str = "s.csv") -> dict[str, list[Any]]:
    data = text.encode() if isinstance(text, str) else text
    (path / name).write_bytes(data)
    sanitise_file(path / name, path / "out.parquet", Policy(rules), rng=Stream.insecure(1), overwrite=True)
    return pq.read_table(path / "out.parquet").to_pydict()


def test_only_the_empty_field_is_null(tmp_path: Path) -> None:
    texts = ["NA", "N/A", "null", "nan", "None", "NULL", "-", " ", "''", "0", "007", "1e5", "TRUE", "2024-01-01"]
    document = "x,y\n" + "".join(f"{text},{text}\n" for text in texts) + ',\n"",""\n'
    out = text_job(tmp_path, document, {"x": exact([*texts, "", None]), "y": "public"})
    assert out["x"] == out["y"] == [*texts, None, ""]
    # without a null in the domain the empty field is the empty text, if the domain holds that
    assert text_job(tmp_path, 'x\n\n""\na\n', {"x": exact(["", "a"])})["x"] == ["", "", "a"]
    with pytest.raises(OutsideDomainError):
        text_job(tmp_path, "x,y\n,1\n", {"x": exact(["a"]), "y": "public"})
    assert text_job(tmp_path, "x,y\n,1\n", {"x": exact(["a"], unknown="randomise"), "y": "public"})["x"] == ["a"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("last", [True, False])
def test_ends_of_lines_and_quotes(tmp_path: Path, end: str, mark: str, last: bool) -> None:
    records = ['"x",y', "Bray,1", '"Cork","a,b"', 'Bray,"say ""hi"""', '"Cork","two' + end + 'lines"', '"Bray",it\'s "so"']
    out = text_job(tmp_path, mark + end.join(records) + (end if last else ""), {"x": exact(["Bray", "Cork"]), "y": "public"})
    assert out["x"] == ["Bray", "Cork", "Bray", "Cork", "Bray"]
    assert out["y"] == ["1", "a,b", 'say "hi"', f"two{end}lines", 'it\'s "so"']


def test_integers_booleans_and_numbers_are_read_as_declared(tmp_path: Path) -> None:
    wide = [-(1 << 63), -1, 0, 7, (1 << 63) - 1, (1 << 53) + 1]
    assert text_job(tmp_path, "x\n" + "\n".join(map(str, wide)) + "\n", {"x": exact(wide)})["x"] == wide
    big = [0, 1, (1 << 64) - 1]
    assert text_job(tmp_path, "x\n" + "\n".join(map(str, big)) + "\n", {"x": exact(big)})["x"] == big
    assert text_job(tmp_path, "x\n0\n2\n1\n", {"x": exact(range(3))})["x"] == [0, 2, 1]
    truths = "x\ntrue\nTRUE\n1\nFalse\n0\n"
    assert text_job(tmp_path, truths, {"x": exact([True, False])})["x"] == [True, True, True, False, False]
    bins = Domain.bins([0, 0.1, 10, 1e20], labels=["a", "b", "c"])
    numbers = "x\n0\n.1\n0.09999999999999999\n1e1\n+9.99\n1E20\n-0\n00.5\n"
    assert text_job(tmp_path, numbers, {"x": response(bins, 44.0)})["x"] == ["a", "b", "a", "c", "b", "c", "a", "b"]


@pytest.mark.parametrize(
    ("domain", "strangers"),
    [
        (Domain([1, 2, 3]), ["", "01", "+1", "1.0", "1e0", " 1", "1 ", "one", "99999999999999999999999", "0x1", "-0", "\u0661"]),
        (Domain.range(4), ["", "01", "+1", "-1", "4", "1.0", "99999999999999999999999", "one", "1_0"]),
        (Domain([True, False]), ["", "yes", "tRue", "2", " true"]),
        (Domain.bins([0, 10]), ["", "nan", "inf", "-inf", "1e999", "ten", "1,5", "0x1p3", "1e", "--1", "9" * 400, "11"]),
    ],
)
def test_a_cell_that_is_no_such_value_is_outside_the_domain(tmp_path: Path, domain: Domain, strangers: list[str]) -> None:
    inside = {"bool": "true"}.get(domain.kind, "1")
    for stranger in strangers:
        (tmp_path / "s.csv").write_text(f'x,y\n{inside},y\n"{stranger}",y\n' if stranger else f"x,y\n{inside},y\n,y\n")
        with pytest.raises(OutsideDomainError) as caught:
            sanitise_file(tmp_path / "s.csv", tmp_path / "t.csv", Policy({"x": response(domain), "y": "drop"}))
        assert not stranger or stranger not in str(caught.value)
        total = Policy({"x": response(domain.with_rule(unknown="randomise")), "y": "drop"})
        assert sanitise_file(tmp_path / "s.csv", tmp_path / "t.csv", total, overwrite=True).rows == 2
        (tmp_path / "t.csv").unlink()
        # the operator is shown what stands there, not what it was taken for
        found = Policy({"x": response(domain), "y": "drop"}).check(tmp_path / "s.csv")
        assert found.findings == (("x", stranger or None, 1, 1),)
        assert not found.ok


def test_a_domain_that_leaves_no_room_is_refused_at_plan(tmp_path: Path) -> None:
    with pytest.raises(ArgumentTypeError, match="boolean"):
        text_job(tmp_path, "x\ntrue\n", {"x": response([True, False, None])})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "x,y\n1\n",
        "x,y\n1,2,SECRET\n",
        "x,y\n1,2\n\n1,2,3\n",
        b"x,y\n1,\xff\xfe\n",
        b"x,\xff\n1,2\n",
        '"x"y,z\n1,2\n',
        "x,y\n" + "1," + "S" * (10 << 20) + "\n",
    ],
)
def test_text_that_is_no_table(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(CorruptDataError, match="not a CSV file") as caught:
        text_job(tmp_path, text, {"x": exact(["1"]), "y": "public"})
    assert "SECRET" not in str(caught.value)
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_compressed_text_that_is_cut_or_damaged(tmp_path: Path, codec: str) -> None:
    suffix = {"gzip": "gz", "zstd": "zst"}[codec]
    rng = np.random.default_rng(1)
    text = "x,y\n" + "".join(f"{'ab'[number % 2]},{number:x}\n" for number in rng.integers(0, 1 << 60, 4000))
    whole = pa.compress(text.encode(), codec, asbytes=True) if codec == "zstd" else gzip.compress(text.encode(), mtime=0)
    rules = {"x": exact(["a", "b"]), "y": "public"}
    assert len(text_job(tmp_path, whole, rules, f"s.csv.{suffix}")["x"]) == 4000
    (tmp_path / "out.parquet").unlink()
    for data in [whole[:size] for size in (0, 1, 10, len(whole) // 2, len(whole) - 1)] + [b"x,y\na,1\n"]:
        with pytest.raises(CorruptDataError, match="not a CSV file"):
            text_job(tmp_path, data, rules, f"s.csv.{suffix}")
        assert not (tmp_path / "out.parquet").exists()


def test_headers_alone(tmp_path: Path) -> None:
    for text in ("x,y\n", "x,y", "\ufeffx,y\r\n", "x,y\n\n"):
        assert text_job(tmp_path, text, {"x": exact(["a"]), "y": "public"}) == {"x": [], "y": []}
    assert text_job(tmp_path, "x", {"x": exact(["a", None])}) == {"x": []}
    assert text_job(tmp_path, "x\n\n", {"x": exact(["a", None])}) == {"x": [None]}
    with pytest.raises(PolicyError, match="more than one column named 'x'"):
        text_job(tmp_path, "x,x\na,b\n", {"x": exact(["a"])})


def test_what_text_cannot_hold_is_refused_before_the_ledger(tmp_path: Path) -> None:
    for column in (pa.array([b"a"]), pa.array([[1]]), pa.array([{"a": 1}])):
        pq.write_table(pa.table({"x": ["a"], "y": column}), tmp_path / "s.parquet")
        with pytest.raises(PolicyError, match=r"'y' has type .* CSV"):
            sanitise_file(tmp_path / "s.parquet", tmp_path / "t.csv", Policy({"x": exact(["a"]), "y": "public"}))
        assert [path.name for path in tmp_path.iterdir()] == ["s.parquet"]


def test_nulls_of_one_column_keep_their_rows(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": ["a", None, None, "b"]}), tmp_path / "s.parquet")
    policy = Policy({"x": exact(["a", "b", None])})
    for name in ("t.csv", "u.csv"):
        source = tmp_path / ("s.parquet" if name == "t.csv" else "t.csv")
        assert sanitise_file(source, tmp_path / name, policy).rows == 4
        assert (tmp_path / name).read_text() == "x\na\n\n\nb\n"


def test_the_certificate_of_text_stands_beside_it(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("x\na\n")
    policy = Policy({"x": response(["a", "b"])})
    (tmp_path / "t.csv.dpfast.json").write_text("of a job that was stopped")
    report = sanitise_file(tmp_path / "s.csv", tmp_path / "t.csv", policy)
    assert json.loads((tmp_path / "t.csv.dpfast.json").read_text()) == report.certificate
    with pytest.raises(FileError, match="exists"):
        sanitise_file(tmp_path / "s.csv", tmp_path / "t.csv", policy)
    (tmp_path / "bad.csv").write_text("x\nc\n")
    with pytest.raises(OutsideDomainError):
        sanitise_file(tmp_path / "bad.csv", tmp_path / "u.csv", policy)
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(("u.csv", ".u.csv"))]


# Arrow IPC


def test_arrow_files_that_are_cut_or_none(tmp_path: Path, folder: Path) -> None:
    policy = Policy({**POLICY.columns, "x": "drop"})
    for name in ("source.arrow", "source.arrows"):
        whole = (folder / name).read_bytes()
        for size in (0, 5, 8, 100, len(whole) // 2, len(whole) - (9 if name.endswith("w") else 300)):
            (tmp_path / name).write_bytes(whole[:size])
            with pytest.raises(CorruptDataError, match="not an Arrow IPC"):
                sanitise_file(tmp_path / name, tmp_path / "out.parquet", policy)
            assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("name", ["source.arrow", "source.arrows"])
def test_damaged_arrow_files_end_in_an_error_or_in_values(tmp_path: Path, folder: Path, name: str) -> None:
    policy = Policy({**POLICY.columns, "x": "drop"})
    whole = (folder / name).read_bytes()
    texts = set()
    for place in np.random.default_rng(3).integers(8, len(whole), 40):
        damaged = bytearray(whole)
        damaged[place : place + 4] = b"\xff" * 4
        (tmp_path / name).write_bytes(damaged)
        with contextlib.suppress(OutsideDomainError, ArgumentTypeError, PolicyError):
            try:
                sanitise_file(tmp_path / name, tmp_path / "out.parquet", policy, overwrite=True)
            except CorruptDataError as error:
                texts.add(str(error))
    assert len(texts) in (1, 2)
    assert all(
        text.startswith(
            (f"the source {str(tmp_path / name)!r} is not an Arrow IPC", "a dictionary index", "an Arrow array is broken")
        )
        for text in texts
    )


# memory

JOB = """
from dpfast import Policy, RandomisedResponse, Stream, sanitise_file
policy = Policy({"town": RandomisedResponse(["Bray", "Cork"], epsilon=1.0)}, unlisted="public")
def job(name):
    sanitise_file(name, "out." + sys.argv[1], policy, rng=Stream.insecure(1), progress=False, overwrite=True)
job("small." + sys.argv[1])
before = peak()
job("long." + sys.argv[1])
print(peak() - before)
"""


def test_memory_does_not_grow_with_a_file_of_text(tmp_path: Path) -> None:
    lines = b"Bray," + b"x" * 95 + b"\n"
    for name, count in (("small", 10), ("long", 2_400_000)):  # 240 MB
        with gzip.open(tmp_path / f"{name}.csv.gz", "wb", compresslevel=1) as file:
            file.write(b"town,text\n")
            for _ in range(max(1, count // 100_000)):
                file.write(lines * min(count, 100_000))
    done = subprocess.run([sys.executable, "-c", PEAK + JOB, "csv.gz"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert int(done.stdout) < 290  # reading it whole takes 400 and more
