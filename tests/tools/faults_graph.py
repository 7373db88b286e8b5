"""Faults of the graph engine; see `faults`."""

from __future__ import annotations

from faults import Mutant

__all__ = ["MUTANTS"]

LAW = "tests/exact/test_graph_law.py"
EXACT = "tests/exact/test_graph_extension_exact.py"
RAINBOW = "tests/exact/test_graph_rainbow.py"
USER_LAWS = "tests/unit/test_graph_user_laws.py"
PARITY = "tests/parity/test_graph_parity.py"

# name, file, what is there, what it becomes, tests
_FAULTS = [
    (
        "a weight of an edge one unit too high",
        "csrc/graph/law.c",
        "dpf_number(dpf_bits(reduced_exp(epsilon, &k)) - 2)",
        "dpf_number(dpf_bits(reduced_exp(epsilon, &k)) + 1)",
        LAW,
    ),
    (
        "the second candidate of an edge rounded down",
        "csrc/graph/law.h",
        "y * weight) + 1;",
        "y * weight) - 1;",
        LAW,
    ),
    (
        "a law with an epsilon above 709 leaves out its second candidate",
        "csrc/graph/law.h",
        "if (weight > 1.0 && (weight - 1.0)",
        "if ((weight - 1.0)",
        LAW,
    ),
    (
        "a vertex improved in its own bucket is not followed again",
        "csrc/graph/buckets.c",
        "const int waits_there = word == old && is_at(buckets, place, old);",
        "const int waits_there = is_at(buckets, place, old);",
        PARITY,
    ),
    (
        "a bucket that holds a whole graph is never divided",
        "csrc/graph/buckets.c",
        "return shift_at_hand(buckets) > 0 && buckets->n_divisions < DPF_DIVISIONS;",
        "return shift_at_hand(buckets) > 0 && buckets->n_divisions < 0;",
        PARITY,
    ),
    (
        "the weakest of parallel edges holds",
        "csrc/graph/model.c",
        "epsilons[i] < epsilons[0] ? epsilons[i] : epsilons[0];",
        "epsilons[i] > epsilons[0] ? epsilons[i] : epsilons[0];",
        "tests/unit/test_graph_model.py",
    ),
    (
        "values across the boundary bound nothing",
        "csrc/graph/edges.c",
        "words[v] = bound < words[v] ? bound : words[v];",
        "words[v] = bound < words[v] ? words[v] : words[v];",
        EXACT,
    ),
    (
        "a broken edge is called proved",
        "csrc/graph/edges.c",
        "return w <= v ||",
        "return 1 || w <= v ||",
        "tests/unit/test_graph_extension.py",
    ),
    (
        "a fixed value may be moved however far",
        "dpfast/graph/extension.py",
        "if fall <= ULPS_PER_EDGE * unit:",
        "if fall <= ULPS_PER_EDGE:",
        "tests/unit/test_graph_extension.py",
    ),
    (
        "a draw at the limit is decided by its first word",
        "dpfast/graph/sampling.py",
        "(words == limit) & (scaled > whole)",
        "(words == limit) & (scaled < whole)",
        "tests/unit/test_graph_extension.py",
    ),
    (
        "every change of a record has the law of one",
        "dpfast/graph/families.py",
        "np.full(len(rest), law[one, other])",
        "np.full(len(rest), law[0, other])",
        "tests/exact/test_graph_families_exact.py",
    ),
    (
        "bounds from below by the upper half of a law",
        "dpfast/graph/law.py",
        "search = self._user._down if mirror else self._user._up",
        "search = self._user._up",
        USER_LAWS,
    ),
    (
        "a compiled law may give NaN",
        "dpfast/graph/user_laws.py",
        "if not (word <= found <= top):",
        "if found < word or found > top:",
        USER_LAWS,
    ),
    (
        "the least words of an answer rounded down",
        "dpfast/graph/rainbow.py",
        "low = [-(-word * one // power) for word in low]",
        "low = [word * one // power for word in low]",
        RAINBOW,
    ),
    (
        "a solution of a linear program taken as it comes",
        "dpfast/graph/rainbow.py",
        "        if _open_edge(model, found) is None:",
        "        if programs or _open_edge(model, found) is None:",
        RAINBOW,
    ),
]

MUTANTS = [Mutant(*fault) for fault in _FAULTS]
