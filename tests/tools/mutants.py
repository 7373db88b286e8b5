"""Break the code on purpose, one fault at a time, and see that a test goes red.

    python tests/tools/mutants.py            every fault; prints which test found it
    python tests/tools/mutants.py NAME ...   some of them

Each fault is put into a copy of the sources in a temporary folder, built there where it is C, and met with the tests named
beside it. Exit status 1 if one survives, or if the text that it replaces is not there (then the list below is out of date).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Mutant(NamedTuple):
    """One fault: `old` becomes `new` in `file`; `tests` are what pytest is given."""

    name: str
    file: str
    old: str
    new: str
    tests: str


STAGES = "tests/exact/test_kernels.py::test_two_stages_are_the_64_bit_table"
UNIFORM = f"{STAGES}[base-0.0-6]"
USUAL = f"{STAGES}[base-1.0-6]"

MUTANTS = [
    Mutant(
        "a uniform boundary misjudged",
        "csrc/response.c",
        "law->margin = law->uniform ? 1 : 0;",
        "law->margin = 0;",
        UNIFORM,
    ),
    Mutant(
        "a straddling block called decided",
        "csrc/response.c",
        "(uint16_t)(law->mask - 1 - law->margin)",
        "(uint16_t)(law->mask + 1 - law->margin)",
        USUAL,
    ),
    Mutant(
        "the last redrawing block keeps",
        "csrc/response.c",
        "(uint16_t)(law->redraw_last >> 48)",
        "(uint16_t)((law->redraw_last >> 48) - 1)",
        USUAL,
    ),
    Mutant("quotient without its correction", "csrc/response.c", "return q + (a - q * b >= b);", "return q;", USUAL),
    Mutant("one word too many redraws", "csrc/response.c", "(dpf_u128)k * step - 1)", "(dpf_u128)k * step)", USUAL),
    Mutant(
        "a low byte not read",
        "csrc/response.kernel.h",
        "(uint64_t)b[5] << 40 |",
        "(uint64_t)b[4] << 40 |",
        USUAL,
    ),
    Mutant(
        "a pending cell shows its true code",
        "csrc/response.kernel.h",
        "            tile[j] = 0;",
        "            tile[j] = x[j];",
        USUAL,
    ),
    Mutant(
        "a pending cell with another's high word",
        "csrc/response.kernel.h",
        "pending->highs[listed] = h[j];",
        "pending->highs[listed] = h[0];",
        USUAL,
    ),
    Mutant(
        "segments of the keystream that overlap",
        "dpfast/words.py",
        "self._block += SEGMENT_BLOCKS - place",
        "self._block += SEGMENT_BLOCKS - place - 1",
        "tests/unit/test_randomness.py",
    ),
    Mutant(
        "a code outside the domain is kept",
        "csrc/response.kernel.h",
        " || code >= law->k;",
        ";",
        "tests/exact/test_kernels.py::test_a_code_outside_the_domain_is_found_wherever_it_stands",
    ),
    Mutant(
        "permanent noise without the true code",
        "csrc/words.c",
        "store_le(block + 4, code, 4);",
        "store_le(block + 4, 0 * code, 4);",
        "tests/exact/test_permanent_noise.py",
    ),
    Mutant(
        "planes in one order of bytes, rows in another",
        "csrc/words.c",
        "at[i] = (uint8_t)(v >> (56 - 8 * i))",
        "at[i] = (uint8_t)(v >> (8 * i))",
        "tests/parity/test_golden.py",
    ),
    Mutant(
        "validity read from the start of the buffer",
        "csrc/remap.c",
        "const size_t bit = offset + i;",
        "const size_t bit = offset * 0 + i;",
        "tests/unit/test_columns_arrow.py",
    ),
    Mutant(
        "rows not counted",
        "dpfast/randomness.py",
        "self._rows[subkey] = first + n_rows",
        "self._rows[subkey] = first",
        "tests/parity/test_parity.py",
    ),
    Mutant(
        "two columns share noise",
        "dpfast/randomness.py",
        "field(column_bytes(column))",
        'field(b"")',
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
        "csrc/popcount.c",
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
        'nonce = self._plane + segment.to_bytes(4, "big")',
        'nonce = segment.to_bytes(12, "big")',
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
        '        if self.kind != "keyed":\n            return _entropy()',
        '        if self.kind == "fresh":\n            return _entropy()',
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


def survives(mutant: Mutant, folder: Path) -> str:
    """Say how the mutant lived on; empty if a test found it."""
    for part in ("dpfast", "csrc"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.py", folder)
    path = folder / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        return "does not apply: the text it replaces is not there once"
    path.write_text(text.replace(mutant.old, mutant.new))
    if mutant.file.startswith("csrc"):
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "--force"]
        built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if built.returncode:
            return "does not build:\n" + built.stderr[-2000:]
    # a safe path: else `python -m pytest` would find the package of the current folder first
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1", "DPFAST_TESTED_BUILD": str(folder)}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *mutant.tests.split()]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    if run.returncode == 0:
        return "survives " + mutant.tests
    if run.returncode != 1:
        return "was not tested:\n" + run.stdout[-2000:] + run.stderr[-2000:]
    found = [line.split(" ")[1] for line in run.stdout.splitlines() if line.startswith("FAILED")]
    print(f"found  {mutant.name}: {found[0] if found else mutant.tests}", flush=True)
    return ""


def main(names: list[str]) -> int:
    failures = 0
    for mutant in MUTANTS:
        if names and mutant.name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            if said := survives(mutant, Path(folder)):
                failures += 1
                print(f"ALIVE  {mutant.name}: {said}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
