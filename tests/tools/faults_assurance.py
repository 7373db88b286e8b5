"""Faults that fuzzed bytes, broken columns, pairs of inputs, canaries and clocks must see; see `mutants.py`."""

from __future__ import annotations

from faults import Mutant

__all__ = ["MUTANTS"]

PAIRS = "tests/leaks/test_pairs.py::test_pairs_end_alike"
SOURCES = "tests/unit/test_truncated_sources.py"

MUTANTS = [
    Mutant(
        "a grid reaches beyond the doubles",
        "dpfast/duff/levels.py",
        "self.value(int(lowers[0])), self.value(int(uppers[-1]))",
        "self.value(int(lowers[0]))",
        "tests/fuzz/test_fuzz.py::test_the_corpus_holds[levels] tests/unit/test_duff_sample.py::test_what_are_no_levels",
    ),
    Mutant(
        "a graph of a file is not looked at",
        "dpfast/graph/_sources.py",
        "table.validate(full=True)",
        "table.validate()",
        "tests/unit/test_graph_model.py::test_a_file_that_points_outside_itself",
    ),
    Mutant(
        "a reader's text quotes a size",
        "dpfast/_sources/places.py",
        "raise MemoryError(NO_ROOM) from None",
        "raise",
        f"{SOURCES}::test_lengths_and_places_that_an_arrow_file_lies_about",
    ),
    Mutant(
        "a name that is no text is met later",
        "dpfast/_sources/ipc_file.py",
        "                check_names(self.schema)\n",
        "",
        f"{SOURCES}::test_names_that_are_no_text",
    ),
    Mutant(
        "brackets within brackets end the process of reading a policy",
        "dpfast/_policy_toml.py",
        "except (ValueError, RecursionError):",
        "except ValueError:",
        "tests/fuzz/test_fuzz.py::test_the_corpus_holds[policy]",
    ),
    Mutant(
        "weights that lie far apart warn",
        "dpfast/duff/race.py",
        'with np.errstate(over="ignore"):\n        sums',
        "with np.errstate():\n        sums",
        f"{PAIRS}[race-0]",
    ),
    Mutant(
        "a vertex outside is named",
        "dpfast/duff/_edges.py",
        'OutsideDomainError("an edge names a vertex that is none of 0 .. n_vertices - 1")',
        'OutsideDomainError(f"an edge names vertex {ends.max()}, which is none of 0 .. n_vertices - 1")',
        f"{PAIRS}[count_triangles-0]",
    ),
    Mutant(
        "what is no number is shown",
        "dpfast/duff/_chunks.py",
        "np.floating, np.bool_)) for value in values):\n        raise ArgumentTypeError(wanted)",
        'np.floating, np.bool_)) for value in values):\n        raise ArgumentTypeError(f"{wanted}, not {values}")',
        "tests/leaks/test_canaries.py::test_no_canary_is_shown[duff.median]",
    ),
    Mutant(
        "a search ends at the first category",
        "csrc/rows/response.kernel.h",
        "        code = x > code ? x : code;\n",
        "        code = x > code ? x : code;\n        if (x == 0) break;\n",
        "tests/process/test_timing.py::test_randomised_response_takes_the_same_steps_for_every_category",
    ),
]
