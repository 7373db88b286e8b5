"""A study in one file: how far from the true median are Duff and its rivals, and how much of that was to be expected?

Trials are drawn from a seed, so that the figures of a paper can be made again by its readers; the exact law of Duff's error
stands beside them and needs no trial. Run it: ``python examples/research.py --trials 2000 --out study/``
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pyarrow.parquet as pq

from dpfast import Stream, baselines, duff, plots

SEED = 20101004
MECHANISMS = ("duff", "piecewise_laplace", "laplace", "smooth_cauchy/exact", "smooth_laplace/exact")
EPSILONS = (0.1, 0.3, 1.0)


def main(arguments: list[str] | None = None) -> int:
    """Compare, check against the law, draw."""
    parser = argparse.ArgumentParser(description="compare private medians")
    parser.add_argument("--rows", type=int, default=1001)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=Path("study"))
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    data = {name: found for name, found in baselines.datasets(options.rows).items() if name in ("normal", "bimodal")}
    table = baselines.compare(
        data, epsilons=EPSILONS, trials=options.trials, mechanisms=MECHANISMS, rng=Stream.insecure(SEED), progress=False
    )
    pq.write_table(table, options.out / "errors.parquet")
    for name, (values, bounds) in data.items():
        plots.svg(plots.errors(table, dataset=name, error="error_mean"), options.out / f"{name}.svg")
        print(f"{name}: mean error of {options.trials} answers")
        print(f"{'':<22}" + "".join(f"{f'epsilon {epsilon:g}':>14}" for epsilon in EPSILONS))
        rows = [row for row in table.to_pylist() if row["dataset"] == name]
        for mechanism in MECHANISMS:
            found = [row["error_mean"] for row in rows if row["mechanism"] == mechanism]
            print(f"{mechanism:<22}" + "".join(f"{error:>14.4g}" for error in found))
        levels = duff.median_levels(values, bounds=bounds, neighbours="add_remove")
        law = [duff.error_law(levels, epsilon=epsilon).mean for epsilon in EPSILONS]
        print(f"{'duff, by its law':<22}" + "".join(f"{error:>14.4g}" for error in law) + "\n")
    print(f"The table and the pictures are in {options.out}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
