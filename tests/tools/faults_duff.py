"""The faults of Duff."""

from __future__ import annotations

from faults import Mutant

__all__ = ["DUFF"]

PARITY = "tests/parity/test_duff_race.py"
WINNER = f"{PARITY}::test_the_winner_is_that_of_120_digits {PARITY}::test_keys_that_agree_to_many_bits_are_told_apart"
DISTANCES = "tests/exact/test_duff_distances.py::test_quantiles_of_small_data_sets"

DUFF = [
    Mutant(
        "weights round down",
        "csrc/duff/weights.c",
        "return w - (uint64_t)((dpf_u128)w * decay >> 64);",
        "return w - (uint64_t)((dpf_u128)w * decay >> 64) - 1;",
        "tests/exact/test_duff_weights.py",
    ),
    Mutant(
        "a race takes no care of roundings",
        "csrc/duff/race.c",
        "if (low > race->best) return 1;",
        "if (high >= race->best) return 1;",
        WINNER,
    ),
    Mutant(
        "an entry is out too early",
        "csrc/duff/race.c",
        "race->best * mass * (1.0 + 0x1p-40)) continue;",
        "race->best * mass * 0.75) continue;",
        WINNER,
    ),
    Mutant("a tie goes to the first", "dpfast/duff/exact.py", "if key[0] <= best]", "if key[1] <= best]", WINNER),
    Mutant(
        "a block weighs too little",
        "csrc/duff/blocks.kernel.h",
        "(1.0 + 0x1p-14)",
        "(1.0 - 0x1p-14)",
        f"{PARITY}::test_sums_of_blocks_bound_the_true_ones",
    ),
    Mutant(
        "epsilon without its half",
        "dpfast/duff/sampling.py",
        "Weights(exact, HALF)",
        "Weights(exact, 2 * HALF)",
        "tests/statistical/test_duff_law.py",
    ),
    Mutant(
        "a gap beyond the quantile is a step too near",
        "dpfast/duff/orders.py",
        "2 + (too_high - num) // most)",
        "1 + (too_high - num) // most)",
        DISTANCES,
    ),
    Mutant(
        "a half is rounded down",
        "dpfast/duff/grid.py",
        "index = (floor + (part >= 0.5))",
        "index = (floor + (part > 0.5))",
        "tests/unit/test_duff_grid.py",
    ),
    Mutant(
        "means without anyone who comes",
        "dpfast/duff/means.py",
        "while j < min(k - 1, n):",
        "while j < min(k, n - 1):",
        "tests/exact/test_duff_distances.py::test_modes_and_means_of_small_data_sets",
    ),
]
