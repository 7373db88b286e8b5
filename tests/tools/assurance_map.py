"""The promises of docs/assurance.md: each with its goals, and the tests that hold them."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FIGURES", "Figure", "Held"]

TEST, CHECK = "make test", "make check"


class Held(NamedTuple):
    """A goal and what finds it: files of a run of every push (`every` names it), or functions of `make soak`."""

    goal: str
    tests: tuple[str, ...] = ()
    every: str = ""


class Figure(NamedTuple):
    """A promise."""

    number: str
    title: str
    promise: str
    held: tuple[Held, ...]


def often(goal: str, *tests: str, every: str = TEST) -> Held:
    """A goal that is held in every run."""
    return Held(goal, tuple(f"tests/{test}.py" for test in tests), every)


def long(goal: str, *tests: str) -> Held:
    """A goal that a long test holds."""
    return Held(goal, tuple("tests/" + test.replace("::", ".py::") for test in tests))


FIGURES = (
    Figure(
        "G1",
        "Tables",
        "The epsilon of randomised response and of matrices is that of the integers from which cells are drawn, and never "
        "above the "
        "one asked for. Kernels follow these integers word for word.",
        (
            often("no column of a realised matrix spreads further than the matrix given", "unit/test_integer_table"),
            often(
                "claims hold in rational arithmetic", "exact/test_privacy", "exact/test_hockey_stick", "exact/test_unknown_row"
            ),
            often("words of each category counted by the kernels: the table", "exact/test_kernels", "exact/test_matrix_kernels"),
        ),
    ),
    Figure(
        "G2",
        "Race",
        "The race in doubles has the winner of the race in as many digits as it takes; whatever has weight can win.",
        (
            often("winners of 120 digits on the same words", "parity/test_duff_race"),
            long(
                "the same winner in every case of a long run",
                "parity/test_duff_race::test_the_winner_is_that_of_120_digits_in_many_cases",
                "parity/test_duff_race::test_log_weights_of_any_range_in_many_cases",
            ),
            long("a lead of 900 nats can be lost", "parity/test_duff_race::test_an_item_of_hardly_any_weight_can_win"),
        ),
    ),
    Figure(
        "G3",
        "Every small data set",
        "Medians, quantiles, modes and means have pure epsilon, found by listing all data sets and their neighbours, in "
        "integers.",
        (
            often("data sets of few rows, both relations", "exact/test_duff_privacy", "exact/test_duff_distances"),
            long(
                "all data sets of up to six rows over five values",
                "exact/test_duff_privacy::test_epsilon_holds_for_all_data_sets_of_six_rows",
                "exact/test_duff_distances::test_all_data_sets_of_six_rows",
            ),
            long(
                "triangles: all graphs of five vertices",
                "exact/test_duff_statistics::test_the_ladder_is_private_on_all_graphs_of_five_vertices",
            ),
            long(
                "the law of a median from words, on larger data sets",
                "exact/test_quantile_words::test_the_law_of_larger_data_sets",
            ),
            long("bounds on the error hold for 5,000 laws", "exact/test_error_law::test_bounds_hold_on_thousands"),
            often("smooth sensitivities are those of brute force", "exact/test_baselines_exact"),
            long(
                "rivals, at all budgets: no ratio beyond what is stated",
                "exact/test_baselines_exact::test_all_budgets_hold_on_all_small_data_sets",
            ),
        ),
    ),
    Figure(
        "G4",
        "Graphs",
        "No edge of an extension breaks its law, proved for the numbers returned; extensions are optimal; order and labels do "
        "not matter.",
        (
            often(
                "paths in fractions and linear programs on small graphs",
                "exact/test_graph_extension_exact",
                "exact/test_graph_law",
            ),
            often("any order, labels, queue: one answer bit for bit", "parity/test_graph_parity"),
            long(
                "10,000 random graphs: no violated edge",
                "exact/test_graph_extension_exact::test_random_graphs_break_no_edge_at_length",
            ),
            long("linear programs on 2,000 graphs", "exact/test_graph_extension_exact::test_linear_programs_at_length"),
            long(
                "all paths of 2,000 graphs, in fractions",
                "exact/test_graph_extension_exact::test_all_paths_in_fractions_at_length",
            ),
            long(
                "linear programs of queries with several answers",
                "exact/test_graph_rainbow::test_linear_programs_of_rainbows_at_length",
            ),
            long(
                "families collapsed by symmetry are their whole graphs",
                "exact/test_graph_families_exact::test_families_are_the_graphs_of_all_datasets_at_length",
            ),
            long(
                "three graphs of ten million edges: no violated edge",
                "parity/test_graph_parity::test_ten_million_edges_break_none",
            ),
        ),
    ),
    Figure(
        "G5",
        "Audits by samples",
        "Laws are judged through the public calls, at a false-alarm rate of a millionth a test, each beside a mistake that "
        "must be rejected.",
        (
            often(
                "laws of all engines",
                "statistical/test_response_law",
                "statistical/test_matrix_law",
                "statistical/test_duff_law",
                "statistical/test_graph_sampling_law",
                "statistical/test_baselines_law",
            ),
            often("an excess of one per cent of epsilon is seen", "statistical/test_audit_samples"),
            long("laws under a key of the day", "statistical/test_response_law::test_law_under_a_key_of_today"),
            long(
                "an excess of two per mille of epsilon is seen, and none where there is none",
                "statistical/test_audit_samples::test_two_per_mille_of_epsilon_are_seen_in_a_thousand_million",
            ),
        ),
    ),
    Figure(
        "G6",
        "Seeded faults",
        "The code is broken on purpose, one fault at a time, and a test goes red.",
        (often("every fault is found", "tools/mutants", every=CHECK),),
    ),
    Figure(
        "G7",
        "Random words",
        "Words are AES-256 under a key that nothing else has; none is used twice, by whatever thread, column, release or "
        "forked child.",
        (
            often(
                "published vectors of AES and of its modes", "exact/test_reference_words", "unit/test_words", "parity/test_golden"
            ),
            often("forks, workers and copies: no block of 16 bytes twice", "process/test_fork", "unit/test_randomness"),
            often("without entropy an error, and nothing is drawn", "unit/test_randomness"),
            often(
                "64 MiB of words as they are laid out pass a battery that rejects six weak sources",
                "statistical/test_word_battery",
            ),
            long("16 GiB pass the same battery", "statistical/test_word_battery::test_sixteen_gib_of_words_pass"),
            long(
                "2^26 blocks of columns, releases, threads and 64 children: none twice",
                "process/test_words_apart::test_no_block_of_many_streams_comes_twice_at_length",
            ),
        ),
    ),
    Figure(
        "G8",
        "Outcomes that tell nothing",
        "Whether a job ends well, its errors, warnings, files, schemas and certificates do not depend on the values.",
        (
            often("pairs of sources of one schema, one outcome", "property/test_outcomes"),
            often("pairs through every public name and verb, found by looking: one outcome", "leaks/test_pairs"),
            long("thousands of such pairs: no difference", "leaks/test_pairs::test_thousands_of_pairs_end_alike"),
            long(
                "10,000 such pairs: no difference", "property/test_outcomes::test_ten_thousand_pairs_of_sources_have_one_outcome"
            ),
        ),
    ),
    Figure(
        "G9",
        "Canaries",
        "A mark put wherever a source can hold more than its values is in no byte that a job makes.",
        (
            often("every place of every format", "unit/test_files_canaries", "unit/test_files_leaks", "unit/test_formats_leaks"),
            often("every public name and verb, found by looking", "leaks/test_canaries"),
            long(
                "the same in hundreds of places: shown nowhere",
                "leaks/test_canaries::test_no_canary_is_shown_in_hundreds_of_places",
            ),
            long(
                "the same with a disc that is full at each call: found nowhere",
                "unit/test_files_canaries::test_no_canary_is_found_wherever_the_disc_is_full",
            ),
        ),
    ),
    Figure(
        "G10",
        "Bytes of files",
        "Under one key, neighbouring sources give targets that differ in the cells of the changed rows alone.",
        (often("Parquet, Arrow IPC, CSV", "unit/test_files_leaks", "unit/test_formats_leaks"),),
    ),
    Figure(
        "G11",
        "Jobs run again",
        "A keyed job gives the same values however often, in whatever pieces and threads; a ledger is charged once a release.",
        (
            often("pieces, threads, files, stops", "unit/test_folders_resumed", "process/test_crash_folders"),
            long("no cell differs", "process/test_crash_soak::test_the_same_rows_over_and_over_have_the_same_answers"),
            often("refused charges draw nothing, persons pay for all rows", "leaks/test_charges"),
            long(
                "the ledger is exact over stopped jobs",
                "process/test_crash_soak::test_a_ledger_is_exact_however_often_fresh_jobs_are_stopped",
            ),
        ),
    ),
    Figure(
        "G12",
        "One answer everywhere",
        "The same words give the same answers on every SIMD target, with any number of threads, tiles, pieces and containers.",
        (often("bit for bit", "parity/test_parity", "parity/test_against_reference", "parity/test_quantile_kernels"),),
    ),
    Figure(
        "G13",
        "Crashes",
        "Killed at any moment, or with a disc that fails, a job leaves the old target or the whole new one, and is simply run "
        "again.",
        (
            often("a kill, a failing write, at many calls", "process/test_crash", "process/test_crash_folders"),
            long("a kill at every call: no torn target", "process/test_crash_folders::test_a_kill_at_every_call"),
            long("every call failing, three ways: no torn target", "process/test_crash_folders::test_every_failing_call"),
            long(
                "processes killed at random times: no torn target",
                "process/test_crash_soak::test_a_hundred_processes_killed_at_random_times",
            ),
        ),
    ),
    Figure(
        "G14",
        "Hostile input",
        "Bytes from a stranger are read or refused with a constant text; nothing crashes, hangs or reads beyond its memory.",
        (
            often(
                "codes, offsets and pieces that lie", "unit/test_binding", "unit/test_frames_refusals", "unit/test_files_leaks"
            ),
            often(
                "56 broken columns, four formats cut at every byte: constant errors",
                "unit/test_corrupt_columns",
                "unit/test_truncated_sources",
            ),
            long("four formats with every bit flipped", "unit/test_truncated_sources::test_every_bit_flipped"),
            often("a corpus of inputs that once broke something, and bytes near it", "fuzz/test_fuzz"),
            long(
                "ten minutes of a fuzzer on each of five targets: nothing found", "fuzz/test_fuzz::test_the_fuzzer_finds_nothing"
            ),
            often("kernels under the address and undefined-behaviour sanitizers", "parity/test_parity", "exact/test_kernels"),
            often("threads under the thread sanitizer", "unit/test_threads", "process/test_fork", every=CHECK),
        ),
    ),
    Figure(
        "G15",
        "Memory",
        "Work of any size stays below a stated ceiling, which the operating system enforces; below that it ends with an error, "
        "no file, "
        "and no spending that is not written down. So it does at whichever allocation fails.",
        (
            often("ceilings at small sizes, and an error below them", "process/test_memory_ceilings"),
            often("long text and wide files", "unit/test_files_wide", "unit/test_formats"),
            often("each allocation of the core and of the interpreter failing", "process/test_allocation_failures"),
            long(
                "a file of 50 million rows, 20 million values of Parquet, 20 million arcs, 1,000 million log-weights",
                "process/test_memory_ceilings::test_large_work_stays_below_its_ceiling",
            ),
        ),
    ),
    Figure(
        "G16",
        "Sizes",
        "Numbers of rows, entries and offsets beyond 2^31 and 2^32 are right, or refused before anything is drawn.",
        (
            often("rows and counters about 2^31, 2^32 and 2^49", "parity/test_far_rows"),
            often("offsets, lengths and vertices beyond their types", "unit/test_far_offsets"),
            long("2^31 - 1, 2^31 and 2^31 + 1 rows", "process/test_sizes::test_columns_of_more_rows_than_an_int_counts"),
            long("2^32 + 16 rows", "process/test_sizes::test_a_column_of_more_rows_than_32_bits_count"),
            long("2^32 + 16 entries of a race", "process/test_sizes::test_a_race_of_more_entries_than_32_bits_count"),
            long("2^32 + 16 arcs of a graph", "process/test_sizes::test_a_graph_of_more_arcs_than_32_bits_count"),
            long("the median of 2^32 + 16 values", "process/test_sizes::test_the_median_of_more_values_than_32_bits_count"),
        ),
    ),
    Figure(
        "G17",
        "Time",
        "None: nothing is promised about how long a call takes. Found is that randomised response does the same for every "
        "category and takes the same time, and that matrices do not.",
        (
            often("the text claims nothing about time", "api/test_assurance"),
            often(
                "randomised response executes the same instructions, one by one, whatever the categories", "process/test_timing"
            ),
            long(
                "its time for one category and for random ones: t within 4.5 in a million timings each",
                "process/test_timing::test_a_million_timings_of_randomised_response_tell_no_category",
            ),
            long("the same t sees an early exit in a kernel", "process/test_timing::test_timings_see_an_early_exit"),
            long("the same t tells categories of a matrix", "process/test_timing::test_timings_of_matrices_tell_categories"),
        ),
    ),
    Figure(
        "G18",
        "The project",
        "Every mechanism has a proof note and a test that lists its law; what the guide and the docstrings show runs.",
        (
            often("names, docstrings, examples, stubs, layers", "api/test_docstrings", "api/test_pages", "api/test_stub"),
            long(
                "95 per cent of the lines and of the branches of the C core are reached by the tests of every push",
                "process/test_reached::test_the_core_is_reached",
            ),
            long("every refusal is met by them, or has a reason", "process/test_reached::test_every_refusal_is_met"),
        ),
    ),
)
