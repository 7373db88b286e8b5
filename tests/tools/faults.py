"""The faults that `mutants.py` puts into the code, each with the tests that must see it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["MUTANTS", "Mutant"]


class Mutant(NamedTuple):
    """One fault: `old` becomes `new` in `file`; `tests` are what pytest is given."""

    name: str
    file: str
    old: str
    new: str
    tests: str


COMPOSITION = "tests/exact/test_composition.py"
STAGES = "tests/exact/test_kernels.py::test_two_stages_are_the_64_bit_table"
UNIFORM = f"{STAGES}[6-0.0-base]"
USUAL = f"{STAGES}[9-1.0-base]"
STAGED = "tests/exact/test_matrix_kernels.py::test_two_stages_are_the_rows_of_the_matrix"
MATRIX = f"{STAGED}[16-random-base]"

MUTANTS = [
    Mutant(
        "a uniform boundary misjudged",
        "csrc/rows/response.c",
        "const unsigned margin = law->uniform ? 1 : 0;",
        "const unsigned margin = 0;",
        UNIFORM,
    ),
    Mutant(
        "a straddling block called decided",
        "csrc/rows/response.c",
        "(1u << shift) - 2 - margin)",
        "(1u << shift) - 1 - margin)",
        f"{STAGES}[1000-1.0-base]",
    ),
    Mutant(
        "the last redrawing block keeps",
        "csrc/rows/response.c",
        "(uint16_t)(law->redraw_last >> 48)",
        "(uint16_t)((law->redraw_last >> 48) - 1)",
        USUAL,
    ),
    Mutant("quotient without its correction", "csrc/rows/response.c", "return q + (a - q * b >= b);", "return q;", USUAL),
    Mutant("one word too many redraws", "csrc/rows/response.c", "(dpf_u128)k * step - 1)", "(dpf_u128)k * step)", USUAL),
    Mutant(
        "a low byte not read",
        "csrc/rows/stages.kernel.h",
        "(uint64_t)b[5] << 40 |",
        "(uint64_t)b[4] << 40 |",
        USUAL,
    ),
    Mutant(
        "a pending cell shows its true code",
        "csrc/rows/stages.kernel.h",
        "            tile[j] = 0;",
        "            tile[j] = x[j];",
        USUAL,
    ),
    Mutant(
        "a pending cell with another's high word",
        "csrc/rows/stages.kernel.h",
        "pending->highs[listed] = h[j];",
        "pending->highs[listed] = h[0];",
        "tests/parity/test_against_reference.py",
    ),
    Mutant(
        "segments of the keystream that overlap",
        "dpfast/words.py",
        "self._block += SEGMENT_BLOCKS - place",
        "self._block += SEGMENT_BLOCKS - place - 1",
        "tests/unit/test_words.py",
    ),
    Mutant(
        "a change of category taken as decided",
        "csrc/rows/matrix.kernel.h",
        "(uint32_t)(one == here) | ",
        "",
        MATRIX,
    ),
    Mutant(
        "a bin of many changes taken as one of three",
        "csrc/rows/matrix.c",
        "if (changes && change == 2) look = tops[y + 1] < highest;",
        "",
        f"{STAGED}[256-steep-base]",
    ),
    Mutant(
        "entries rounded away from the average",
        "dpfast/integer_table.py",
        "np.where(down >= centre, down, up)",
        "np.where(down >= centre, up, down)",
        "tests/unit/test_integer_table.py",
    ),
    Mutant(
        "the row of unknown values left out of epsilon",
        "dpfast/integer_table.py",
        "return np.vstack([self.words, self.unknown]) if unknown else self.words",
        "return self.words",
        "tests/exact/test_hockey_stick.py",
    ),
    Mutant(
        "a rate that is not checked after rounding",
        "dpfast/exponential.py",
        "if table_epsilon(table, 0.0, unknown=False) <= epsilon:",
        "if True:",
        "tests/unit/test_exponential.py",
    ),
    Mutant(
        "an optimum that is not repaired",
        "dpfast/optimal.py",
        "if private or share >= 1.0:",
        "if True:",
        "tests/unit/test_optimal.py",
    ),
    Mutant(
        "a certificate whose total is not computed again",
        "dpfast/certificates.py",
        '_same(certificate["epsilon"], found.epsilon.hex(), "epsilon")',
        "pass",
        "tests/unit/test_certificates.py",
    ),
    Mutant(
        "a code outside the domain is kept",
        "csrc/rows/response.kernel.h",
        " || code >= law->k;",
        ";",
        "tests/exact/test_kernels.py::test_a_code_outside_the_domain_is_found_wherever_it_stands",
    ),
    Mutant(
        "permanent noise without the true code",
        "csrc/ids/ids.c",
        "| (uint64_t)code << 32);",
        "| (uint64_t)(0 * code) << 32);",
        "tests/exact/test_permanent_noise.py",
    ),
    Mutant(
        "planes in one order of bytes, rows in another",
        "csrc/rows/words.c",
        "store_be64(blocks + DPF_BLOCK_BYTES * i + 8, first + rows[i]);",
        "store_le64(blocks + DPF_BLOCK_BYTES * i + 8, first + rows[i]);",
        "tests/parity/test_golden.py",
    ),
    Mutant(
        "validity read from the start of the buffer",
        "csrc/rows/remap.c",
        "const size_t bit = offset + i;",
        "const size_t bit = offset * 0 + i;",
        "tests/unit/test_columns_arrow.py",
    ),
    Mutant(
        "rows not counted",
        "dpfast/randomness.py",
        "self._rows[subkey] = first + int(n)",
        "self._rows[subkey] = first",
        "tests/parity/test_parity.py",
    ),
    Mutant(
        "two columns share noise",
        "dpfast/randomness.py",
        "field(column_bytes(column)) + field(digest)",
        'field(b"") + field(digest)',
        "tests/parity/test_golden.py",
    ),
    Mutant(
        "a forked child goes on with the parent's stream",
        "dpfast/randomness.py",
        "if self._process == _process():",
        "if True:",
        "tests/process/test_fork.py",
    ),
    Mutant(
        "the threshold rounded down",
        "dpfast/privacy.py",
        "            return smallest\n",
        "            return max(1, smallest - 1)\n",
        "tests/exact/test_privacy.py",
    ),
    Mutant(
        "the dictionary of the input reaches the output",
        "dpfast/columns/arrow.py",
        "_array(indices, wanted, mask), values, ordered",
        "_array(indices, wanted, mask), self.chunks[0].dictionary, ordered",
        "tests/unit/test_columns_arrow.py",
    ),
    Mutant(
        "a failed job leaves its file",
        "dpfast/etl/jobs.py",
        "temporary.unlink()",
        "os.replace(temporary, self._target)",
        "tests/unit/test_jobs.py",
    ),
    Mutant(
        "a last bit is not counted",
        "csrc/rows/popcount.c",
        "if (length % 8) sum +=",
        "if (length % 8 > 1) sum +=",
        "tests/parity/test_histogram_parity.py",
    ),
    Mutant(
        "a run in three tiles loses its place",
        "dpfast/words.py",
        "skip = size - (int(runs[run:reached].sum()) - skip)",
        "skip = size - int(runs[run:reached].sum())",
        "tests/parity/test_histogram_parity.py",
    ),
    Mutant(
        "all histograms of a column share their bits",
        "dpfast/words.py",
        'return self._plane + segment.to_bytes(4, "big")',
        'return segment.to_bytes(12, "big")',
        "tests/unit/test_sanitise_counts.py",
    ),
    Mutant(
        "a boundary in the middle belongs to neither half",
        "dpfast/histogram.py",
        "before = after - (starts[after] == middle)",
        "before = after",
        "tests/exact/test_histogram.py",
    ),
    Mutant(
        "redraws begin at the first word",
        "dpfast/histogram.py",
        "pool.open(height, boundary - place,",
        "pool.open(height, 0,",
        "tests/exact/test_histogram.py",
    ),
    Mutant(
        "those at the boundary are forgotten to keep",
        "dpfast/histogram.py",
        "return keep + cut, pool",
        "return keep, pool",
        "tests/exact/test_histogram.py",
    ),
    Mutant(
        "joint codes in another order than declared",
        "dpfast/product.py",
        "for radix in reversed(self.radices):\n            index, part = divmod",
        "for radix in self.radices:\n            index, part = divmod",
        "tests/unit/test_domain_product.py",
    ),
    Mutant(
        "an unknown part answered as the first value",
        "dpfast/product.py",
        "        out[outside] = self.size\n",
        "",
        "tests/unit/test_domain_product.py",
    ),
    Mutant(
        "every stratum reads from the first row",
        "dpfast/stratified.py",
        "cells[number].reader(first,",
        "cells[number].reader(0 * first,",
        "tests/unit/test_stratified.py",
    ),
    Mutant(
        "equal mechanisms of strata reserve rows twice",
        "dpfast/stratified.py",
        "list({rule.digest: rule for rule in rules}.values())",
        "rules",
        "tests/unit/test_stratified.py",
    ),
    Mutant(
        "the cost of the mildest stratum",
        "dpfast/stratified.py",
        "return max(mechanism.epsilon_at(delta)",
        "return min(mechanism.epsilon_at(delta)",
        "tests/unit/test_stratified.py",
    ),
    Mutant(
        "bins closed above",
        "dpfast/columns/bins.py",
        "codes += numbers >= start",
        "codes += numbers > start",
        "tests/unit/test_domain_bins.py",
    ),
    Mutant(
        "edges of integers rounded down",
        "dpfast/columns/bins.py",
        "max(math.ceil(edge), least)",
        "max(math.floor(edge), least)",
        "tests/unit/test_domain_bins.py",
    ),
    Mutant(
        "one attribute stated for the whole row",
        "dpfast/_policy_totals.py",
        "epsilon = times_up(_sum(figures, [0.0] * len(figures)), rows_per_person)",
        "epsilon = max(epsilon_at(0.0) for epsilon_at, _ in figures)",
        "tests/unit/test_policy_joint.py",
    ),
    Mutant(
        "a dropped column may stratify",
        "dpfast/_policy_groups.py",
        'if use != "public":',
        "if use not in USES:",
        "tests/unit/test_policy_joint.py",
    ),
    Mutant(
        "composition forgets what the shares miss",
        "dpfast/_exact_composition.py",
        "// bottom + points.error",
        "// bottom",
        f"{COMPOSITION}::test_bounds_hold_at_any_precision",
    ),
    Mutant(
        "losses near the threshold taken as ordered",
        "dpfast/_exact_composition.py",
        "<< _UNIT, q * ((1 << _UNIT) - slack)",
        "<< _UNIT, q * (1 << _UNIT)",
        f"{COMPOSITION}::test_bounds_hold_where_losses_are_off",
    ),
    Mutant(
        "losses rounded down to the grid",
        "dpfast/_grid_composition.py",
        "np.abs(pair.losses) * 2.0**-47, 0.0, step)",
        "np.abs(pair.losses) * 2.0**-47, 0.0, step) / 2",
        f"{COMPOSITION}::test_the_grid_holds_the_true_epsilon_between_its_bounds",
    ),
    Mutant(
        "one order of each pair of rows",
        "dpfast/_losses.py",
        "if i != j:\n                    found",
        "if i < j:\n                    found",
        f"{COMPOSITION}::test_worst_pairs_do_not_multiply",
    ),
    Mutant(
        "a statement that loses half its delta",
        "dpfast/_losses.py",
        "(up + down) * top)",
        "(up + down) * top // 2)",
        f"{COMPOSITION}::test_statements_compose_as_their_worst_mechanisms",
    ),
    Mutant(
        "the split forgets idle columns",
        "dpfast/budget.py",
        "spent + idle.sum() - idle[[*members, j]].sum()",
        "spent",
        "tests/unit/test_budget.py::test_no_exchange_between_two_columns_is_better",
    ),
    Mutant(
        "a ledger charged after the draw",
        "dpfast/sanitise.py",
        'pay(stream, "row")',
        'stream.rows(column_name, digest, adapter.n_rows), pay(stream, "row")',
        "tests/unit/test_ledger.py",
    ),
    Mutant(
        "the next rows of a keyed stream are free",
        "dpfast/randomness.py",
        "self._spends[subkey] = number + 1",
        "self._spends[subkey] = number",
        "tests/unit/test_ledger.py",
    ),
    Mutant(
        "a seed makes releases free",
        "dpfast/randomness.py",
        '        if self.kind != "keyed":\n            return fresh_key()',
        '        if self.kind == "fresh":\n            return fresh_key()',
        "tests/unit/test_ledger.py",
    ),
    Mutant(
        "a ledger sums doubles",
        "dpfast/etl/_chain.py",
        "else epsilon + Fraction(part.epsilon)",
        "else float(epsilon) + part.epsilon",
        "tests/unit/test_ledger.py",
    ),
    Mutant(
        "a ledger is read without its lock",
        "dpfast/etl/ledger.py",
        'transaction(self._path, "BEGIN IMMEDIATE")',
        'transaction(self._path, "PRAGMA query_only = 0")',
        "tests/process/test_ledger_processes.py",
    ),
    Mutant(
        "the end of a chain may be cut off",
        "dpfast/etl/_chain.py",
        "if [*head] != [(len(entries), last)]:",
        "if not head:",
        "tests/unit/test_ledger_chain.py",
    ),
]
