"""Speed of `median` by 10^5 groups of 2 * 10^7 rows, as a ratio to `polars` finding the exact medians.

    pytest bench/bench_groups.py -s              the ratio of README, saved under bench/results/; a minute

Answers are checked against the exact medians before anything is timed.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from timing import interleaved, save

from dpfast import Stream, median

N = 2 * 10**7
GROUPS = 10**5
REACH = 0.5  # of the time of polars, at most


def test_ratios() -> None:
    generator = np.random.default_rng(1)
    values, by = generator.normal(size=N), generator.integers(0, GROUPS, N)
    frame = pl.DataFrame({"by": by, "value": values})
    keys = range(GROUPS)

    def private(epsilon: float = 1.0) -> np.ndarray:
        return median(values, bounds=(-5, 5), epsilon=epsilon, by=by, keys=keys, rng=Stream.insecure(1))

    def exact() -> pl.DataFrame:
        return frame.group_by("by").median()

    wanted = exact().sort("by")["value"].to_numpy()
    assert np.abs(private(1e3) - wanted).max() < 0.2  # the lower one of two middle values
    assert np.abs(private() - wanted).mean() < 0.1
    seconds = interleaved({"private": private, "polars": exact}, rounds=5)
    ratio = seconds["private"] / seconds["polars"]
    says = [{"against": "polars `group_by().median()`, not private", "says": f"{ratio:.2f} times its time"}]
    save("groups", [{"work": "`median` by 10⁵ groups, 2 · 10⁷ rows", "ratios": says}])
    print(f"\n{ratio:.2f} times the time of polars ({pl.thread_pool_size()} threads)")
    assert ratio <= REACH
