"""Faults of the graph engine; see `faults`."""

from __future__ import annotations

from faults import Mutant

__all__ = ["MUTANTS"]

LAW = "tests/exact/test_graph_law.py"
EXACT = "tests/exact/test_graph_extension_exact.py"
PARITY = "tests/parity/test_graph_parity.py"

# name, file, what is there, what it becomes, tests
MUTANTS = [
    Mutant(
        "a weight of an edge one unit too high",
        "csrc/graph/law.c",
        "dpf_number(dpf_bits(reduced_exp(epsilon, &k)) - 2)",
        "dpf_number(dpf_bits(reduced_exp(epsilon, &k)) + 1)",
        LAW,
    ),
    Mutant(
        "the second candidate of an edge rounded down",
        "csrc/graph/law.h",
        "y * weight) + 1;",
        "y * weight) - 1;",
        LAW,
    ),
    Mutant(
        "a vertex improved in its own bucket is not followed again",
        "csrc/graph/buckets.c",
        "const int waits_there = word == old && is_at(buckets, place, old);",
        "const int waits_there = is_at(buckets, place, old);",
        PARITY,
    ),
    Mutant(
        "a bucket that holds a whole graph is never divided",
        "csrc/graph/buckets.c",
        "return shift_at_hand(buckets) > 0 && buckets->n_divisions < DPF_DIVISIONS;",
        "return shift_at_hand(buckets) > 0 && buckets->n_divisions < 0;",
        PARITY,
    ),
    Mutant(
        "the weakest of parallel edges holds",
        "csrc/graph/model.c",
        "epsilons[i] < epsilons[0] ? epsilons[i] : epsilons[0];",
        "epsilons[i] > epsilons[0] ? epsilons[i] : epsilons[0];",
        "tests/unit/test_graph_model.py",
    ),
    Mutant(
        "values across the boundary bound nothing",
        "csrc/graph/edges.c",
        "words[v] = bound < words[v] ? bound : words[v];",
        "words[v] = bound < words[v] ? words[v] : words[v];",
        EXACT,
    ),
    Mutant(
        "a broken edge is called proved",
        "csrc/graph/edges.c",
        "return w <= v ||",
        "return 1 || w <= v ||",
        "tests/unit/test_graph_extension.py",
    ),
    Mutant(
        "a fixed value may be moved however far",
        "dpfast/graph/extension.py",
        "if fall <= ULPS_PER_EDGE * unit:",
        "if fall <= ULPS_PER_EDGE:",
        "tests/unit/test_graph_extension.py",
    ),
    Mutant(
        "a draw at the limit is decided by its first word",
        "dpfast/graph/sampling.py",
        "(words == limit) & (scaled > whole)",
        "(words == limit) & (scaled < whole)",
        "tests/unit/test_graph_extension.py",
    ),
]
