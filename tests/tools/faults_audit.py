"""The faults that `mutants.py` puts into the audits, each with the tests that must see it."""

from __future__ import annotations

from faults import Mutant

__all__ = ["MUTANTS"]

AUDIT_SAMPLES = "tests/statistical/test_audit_samples.py"

MUTANTS = [
    Mutant(
        "an event tested on the samples that chose it",
        "dpfast/audit/_samples.py",
        "    return Counted(chooses, tests)",
        "    return Counted(chooses, chooses)",
        f"{AUDIT_SAMPLES}::test_true_claims_are_refuted_as_seldom_as_is_stated",
    ),
    Mutant(
        "audited shares at half their error",
        "dpfast/audit/_bounds.py",
        "miss * (1 - TAIL_SLACK)",
        "2 * miss * (1 - TAIL_SLACK)",
        "tests/exact/test_audit_exact.py::test_ends_of_shares_have_the_tails_that_they_state",
    ),
    Mutant(
        "an audit that takes equality for a violation",
        "dpfast/audit/_exact.py",
        "if _excess(rows, high, one) * scale > allowed:",
        "if _excess(rows, high, one) * scale >= allowed:",
        "tests/exact/test_audit_exact.py::test_equality_is_no_violation",
    ),
    Mutant(
        "an audit in one direction",
        "dpfast/audit/_samples.py",
        "((neighbour, dataset), second, first)",
        "((neighbour, dataset), first, second)",
        f"{AUDIT_SAMPLES}::test_one_output_at_a_time_and_refusals",
    ),
    Mutant(
        "the audited row of unknown values is a usual one",
        "dpfast/audit/_exact.py",
        "if mechanism.is_uniform or row == k else",
        "if mechanism.is_uniform else",
        "tests/exact/test_audit_exact.py::test_rows_of_randomised_response_are_those_of_its_table",
    ),
    Mutant(
        "NaN among the greatest numbers of an audit",
        "dpfast/audit/_events.py",
        "cells[np.isnan(doubles)] = self.size - 1",
        "cells[np.isnan(doubles)] = self.size - 2",
        "tests/unit/test_audit_arguments.py::test_numbers_are_cut_at_edges_that_are_cells",
    ),
]
