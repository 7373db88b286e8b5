"""The faults that `mutants.py` puts into the baselines, each with the tests that must see it."""

from __future__ import annotations

from faults import Mutant

__all__ = ["MUTANTS"]

EXACT = "tests/exact/test_baselines_exact.py"
LAW = "tests/exact/test_error_law.py"
CALIBRATIONS = "tests/exact/test_baselines_calibration.py"

MUTANTS = [
    Mutant(
        "smooth sensitivity without the pair of both bounds",
        "dpfast/baselines/sensitivity.py",
        "    found[k >= n] = high - low",
        "    found[k > n] = high - upper[k > n]",
        f"{EXACT}::test_local_sensitivities_are_those_of_walks_over_data_sets",
    ),
    Mutant(
        "a scan that stops too early",
        "dpfast/baselines/sensitivity.py",
        "            if int(falling[-1]) * top <= best:",
        "            if int(falling[-1]) * top <= 2 * best:",
        f"{EXACT}::test_scans_in_pieces_that_stop_early_find_the_largest",
    ),
    Mutant(
        "columns split on the wrong side",
        "dpfast/baselines/_swap.py",
        "np.stack([found, columns[:, 1]], axis=1)",
        "np.stack([found + 1, columns[:, 1]], axis=1)",
        f"{EXACT}::test_swaps_are_searched_without_loss",
    ),
    Mutant(
        "Cauchy noise for twice epsilon",
        "dpfast/baselines/calibration.py",
        "    beta = epsilon / SHARE if beta is None else beta\n    return Calibration(beta, cauchy_alpha(epsilon, beta)",
        "    beta = epsilon / SHARE if beta is None else beta\n    return Calibration(beta, cauchy_alpha(2 * epsilon, beta)",
        f"{CALIBRATIONS}::test_losses_stay_below_epsilon",
    ),
    Mutant(
        "bits that are drawn no further",
        "dpfast/baselines/noise.py",
        "        if first == second:",
        "        if first == second or parts:",
        f"{EXACT}::test_bits_are_drawn_until_the_cell_is_certain",
    ),
    Mutant(
        "a proposal that is tested one step too far",
        "dpfast/baselines/ptr.py",
        "half * gamma - _threshold",
        "half * (gamma + 1) - _threshold",
        f"{EXACT}::test_proposals_pass_with_chance_delta_where_they_are_exceeded",
    ),
    Mutant(
        "errors from the left only between two nearest points",
        "dpfast/duff/utility.py",
        "np.where(has_right, left + (right - left) // 2, upper)",
        "upper",
        f"{LAW}::test_laws_of_any_levels_are_sums_over_their_points",
    ),
    Mutant(
        "bounds of theory without what integers add",
        "dpfast/duff/utility.py",
        "return min(_exp(power) + self._excess() * size / self._normaliser(), 1.0)",
        "return min(_exp(power), 1.0)",
        f"{LAW}::test_bounds_hold_where_the_table_stands_still",
    ),
]
