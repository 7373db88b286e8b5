"""The faults of medians and quantiles from windows of the data."""

from __future__ import annotations

from faults import Mutant

__all__ = ["MUTANTS"]

WORDS = "tests/exact/test_quantile_words.py"
KERNELS = "tests/parity/test_quantile_kernels.py"

MUTANTS = [
    Mutant(
        "a value on a limit is left out",
        "csrc/quantile/scan.kernel.h",
        "filled += (size_t)((v > l1) & (v <= l2));",
        "filled += (size_t)((v > l1) & (v < l2));",
        KERNELS,
    ),
    Mutant(
        "a group of ties is counted inside its window only",
        "csrc/quantile/groups.kernel.h",
        "over += values[i] == most;",
        "over += values[i] > most;",
        KERNELS,
    ),
    Mutant(
        "a tail point is taken without thinning",
        "dpfast/duff/_select_draw.py",
        "if words.below(law.kernel.weight(law.cap)) < int(exact[0]):",
        "if words.below(law.kernel.weight(law.cap)) >= 0:",
        WORDS,
    ),
    Mutant(
        "a window that is one place short",
        "dpfast/duff/_select_draw.py",
        "first, last = (top * n - most * cap) // bottom,",
        "first, last = (top * n - most * (cap - 2)) // bottom,",
        WORDS,
    ),
    Mutant(
        "fewer bits than the total has",
        "csrc/quantile/select_window.c",
        "most = sum - 1;",
        "most = (sum - 1) >> 1;",
        f"{KERNELS}::test_totals_and_picks_are_those_of_wide_integers",
    ),
    Mutant(
        "what was to the left stays where a pass found values below",
        "dpfast/duff/_select.py",
        "self.left, self.start = [], low",
        "self.start = low",
        "tests/unit/test_quantile.py::test_windows_hold_the_wanted_places",
    ),
    Mutant(
        "more rows of a person are kept",
        "dpfast/duff/groups.py",
        "kept[order[places < most]] = True",
        "kept[order[places <= most]] = True",
        "tests/unit/test_quantile_groups.py::test_of_each_person_some_rows_are_kept",
    ),
    Mutant(
        "what is no number counts in its group",
        "csrc/quantile/groups.c",
        "while (end > start && keys[end - 1] == mask) --end;",
        "while (end > start && keys[end - 1] > mask) --end;",
        f"{KERNELS}::test_keys_of_a_bucket_are_sorted",
    ),
]
