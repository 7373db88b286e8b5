"""The faults of joint quantiles, modes, means and triangles."""

from __future__ import annotations

from faults import Mutant

__all__ = ["MUTANTS"]

LAWS = "tests/exact/test_joint_quantiles.py"
STATISTICS = "tests/exact/test_duff_statistics.py"

MUTANTS = [
    Mutant(
        "a sum of a row forgets the blocks before",
        "csrc/joint/joint.c",
        "return dpf_wide_plus(row->decayed, dpf_wide_times(row->carried, row->powers->low[place + 1]));",
        "return dpf_wide_plus(row->decayed, dpf_wide_times(row->carried, row->powers->low[place]));",
        f"{LAWS}::test_sums_of_a_row_are_the_convolution",
    ),
    Mutant(
        "the sensitivity forgets the end gaps",
        "dpfast/duff/_joint_law.py",
        "return 2 * (1 - min(gaps_of(quantiles)))",
        "return 2 * (1 - min(gaps_of(quantiles)[1:-1] or gaps_of(quantiles)))",
        LAWS,
    ),
    Mutant(
        "tuples outside the windows are too likely",
        "dpfast/duff/_joint_windows.py",
        "found = power_of(self.ratio, Fraction(2 * self.half))",
        "found = power_of(self.ratio, Fraction(self.half))",
        f"{LAWS}::test_law_of_windows_is_that_of_the_list",
    ),
    Mutant(
        "a pair of strangers is passed over",
        "csrc/joint/triangles.c",
        "j < graph->n && d_i + degree(graph, j) > stairs[0]; ++j)",
        "j < graph->n && d_i + degree(graph, j) > stairs[0] + 1; ++j)",
        f"{STATISTICS}::test_sensitivities_are_those_of_all_pairs",
    ),
    Mutant(
        "what is shared beside a light vertex is forgotten",
        "csrc/joint/triangles.c",
        "for (size_t t = 0; heavy > begin && t < met; ++t) {",
        "for (size_t t = 0; heavy > end && t < met; ++t) {",
        f"{STATISTICS}::test_it_does_not_matter_which_vertices_are_heavy",
    ),
    Mutant(
        "a pair that is joined counts as strangers",
        "csrc/joint/triangles.c",
        "- 2 * a - 2 * adjacent)",
        "- 2 * a)",
        f"{STATISTICS}::test_sensitivities_are_those_of_all_pairs",
    ),
    Mutant(
        "a degree too high is left out",
        "csrc/joint/triangles.c",
        "stairs[a] + 1 + 2 * a",
        "stairs[a] + 2 + 2 * a",
        f"{STATISTICS}::test_sensitivities_are_those_of_all_pairs",
    ),
    Mutant(
        "what one vertex shared counts for the next",
        "csrc/joint/triangles.c",
        "for (size_t t = 0; t < all; ++t) graph->shared",
        "for (size_t t = 0; t < met; ++t) graph->shared",
        f"{STATISTICS}::test_it_does_not_matter_which_vertices_are_heavy",
    ),
    Mutant(
        "the mode spends twice under replace_one",
        "dpfast/duff/mode.py",
        'WHOLE if neighbours == "add_remove" else HALF',
        "WHOLE",
        "tests/unit/test_duff_joint.py::test_the_mode_draws_with_its_own_factor",
    ),
    Mutant(
        "a part too many of a step",
        "dpfast/duff/laplace.py",
        "weights = Weights(epsilon, Fraction(1, 2 * parts))",
        "weights = Weights(epsilon, Fraction(1, parts))",
        f"{STATISTICS}::test_piecewise_laplace_is_private",
    ),
    Mutant(
        "one vertex stands for all with its neighbours",
        "dpfast/duff/triangles.py",
        "found[order[2:]] = same[2:] & same[1:-1]",
        "found[order[2:]] = same[2:]",
        f"{STATISTICS}::test_vertices_with_the_same_neighbours_change_nothing",
    ),
    Mutant(
        "a list of floats chooses its grid",
        "dpfast/duff/_chunks.py",
        "if pa.types.is_null(array.type) else array], logical=logical)",
        "if pa.types.is_null(array.type) else array])",
        "tests/unit/test_duff_lists.py",
    ),
    Mutant(
        "a quotient below zero is below all",
        "dpfast/duff/_cauchy.py",
        "y if left + 2 > 0 else y + 1",
        "y if left + 2 >= 0 else y + 1",
        "tests/exact/test_cauchy.py",
    ),
    Mutant(
        "a mean spends what its weights cannot show",
        "dpfast/duff/mean.py",
        "Weights(min(rows.epsilon, LARGEST))",
        "Weights(rows.epsilon)",
        "tests/unit/test_duff_persons.py",
    ),
]
