"""Faults of a careless hand, or of one that means harm: in what is charged, shared, chosen and said; see `faults.py`."""

from __future__ import annotations

from faults import Mutant

__all__ = ["MUTANTS"]

AUDITS = "tests/unit/test_audit_arguments.py"
BASELINES = "tests/unit/test_baselines.py"
DRAWS = "tests/unit/test_words.py::test_words_of_draws_meet_the_definition"
CHOSEN = "        chosen = keep_rows(*people, terms.per_person, stream, request.column_name, digest)\n"

MUTANTS = [
    Mutant(
        "each bound of an audit has the whole error",
        "dpfast/audit/_samples.py",
        "own_miss = miss / (len(counted) * DIRECTIONS * EVENTS * ENDS)",
        "own_miss = miss / 2",
        f"{AUDITS}::test_the_bounds_of_all_pairs_share_the_error",
    ),
    Mutant(
        "rules of an audited policy do not share the error",
        "dpfast/audit/__init__.py",
        "return _Run(self.samples, self.miss / max(1, n), self.stream, self.threads)",
        "return self",
        f"{AUDITS}::test_samples_of_a_policy_share_the_error",
    ),
    Mutant(
        "large integers of an audit are told apart by chance",
        "dpfast/audit/_events.py",
        "if is_array and outputs.dtype.kind == self._edges.dtype.kind:",
        "if is_array:",
        f"{AUDITS}::test_the_cell_of_an_output_does_not_depend_on_others",
    ),
    Mutant(
        "vectors of an audit are labels",
        "dpfast/audit/_learnt.py",
        "        if parts:\n            return Scores(first, second, parts)\n",
        "",
        "tests/statistical/test_audit_samples.py::test_faults_of_vectors_are_found",
    ),
    Mutant(
        "outputs of a list are made of one type",
        "dpfast/audit/_sources.py",
        "outputs: Any = found if isinstance(found, (list, tuple)) else np.asarray(found)",
        "outputs: Any = np.asarray(found)",
        "tests/statistical/test_audit_samples.py::test_a_rare_output_of_another_kind_does_not_move_the_others",
    ),
    Mutant(
        "rows of a person are chosen before they are paid for",
        "dpfast/duff/_request.py",
        f"    terms.charge(digest)\n    if people is not None:\n{CHOSEN}",
        f"    if people is not None:\n{CHOSEN}    terms.charge(digest)\n    if people is not None:\n",
        "tests/unit/test_duff_persons.py::test_rows_of_a_person_are_not_chosen_before_they_are_paid_for",
    ),
    Mutant(
        "a baseline takes its words before it is paid for",
        "dpfast/baselines/_release.py",
        "    payment(ledger, column_name,",
        "    stream.draws(column_name, digest, 1)\n    payment(ledger, column_name,",
        "tests/leaks/test_charges.py::test_a_refused_charge_draws_nothing_whoever_asks",
    ),
    Mutant(
        "a delta counts for each row of a person",
        "dpfast/_policy_totals.py",
        "left = Fraction(delta) / rows_per_person - sum",
        "left = Fraction(delta) - sum",
        "tests/exact/test_policy_figures.py::test_a_delta_is_shared_out_among_the_rows_of_a_person",
    ),
    Mutant(
        "a release may stand in a ledger twice",
        "dpfast/etl/_chain.py",
        "if entry.key in keys:",
        "if False:",
        "tests/unit/test_ledger_chain.py::test_one_release_twice_is_no_chain_of_charges",
    ),
    Mutant(
        "more is left in a ledger than there is",
        "dpfast/etl/_chain.py",
        "float_below(Fraction(cap) - Fraction(spent))",
        "float_above(Fraction(cap) - Fraction(spent))",
        "tests/unit/test_ledger_chain.py::test_what_is_left_can_be_spent",
    ),
    Mutant(
        "a charge is lost with the current",
        "dpfast/etl/_ledger_file.py",
        'connection.execute("PRAGMA synchronous = FULL")\n            connection.execute(begin)',
        'connection.execute("PRAGMA synchronous = OFF")\n            connection.execute(begin)',
        "tests/unit/test_ledger_chain.py::test_a_charge_is_on_the_disc_when_it_is_made",
    ),
    Mutant(
        "a digest of the source is published",
        "dpfast/etl/_job.py",
        'return self.stream.bind_source(self.digest).spend_key("row", (), self.rule).hex() if self.is_keyed else None',
        "return hashlib.blake2b(self.digest + self.rule, digest_size=32).hexdigest() if self.is_keyed else None",
        "tests/unit/test_files_leaks.py::test_no_digest_of_a_source_is_published",
    ),
    Mutant(
        "all draws of a stream read the same words",
        "dpfast/words.py",
        "_Keystream(self._subkey, block, self._number).fill(buffer, skip + 8 * n, last=True)",
        "_Keystream(self._subkey, block).fill(buffer, skip + 8 * n, last=True)",
        DRAWS,
    ),
    Mutant(
        "what follows a word is the same for all draws",
        "dpfast/words.py",
        "plane = self._number + (part << PART_SHIFT)",
        "plane = part << PART_SHIFT",
        DRAWS,
    ),
    Mutant(
        "blocks behind many words are the same for all draws",
        "dpfast/words.py",
        "counters[:, 0] = self._number + (part << PART_SHIFT)",
        "counters[:, 0] = part << PART_SHIFT",
        DRAWS,
    ),
    Mutant(
        "smooth Laplace noise is private in one direction",
        "dpfast/baselines/calibration.py",
        "return _below(min(alpha, e, (e - b) * growth))",
        "return _below(min(alpha, e))",
        "tests/exact/test_baselines_calibration.py::test_the_alpha_of_laplace_noise_is_pure_in_the_other_direction",
    ),
    Mutant(
        "two bounds of a baseline share their noise",
        "dpfast/baselines/_release.py",
        "figures = (terms.epsilon, terms.delta, grid.ratio, grid.origin, grid.size)",
        "figures = (terms.delta, grid.ratio, grid.origin, grid.size)",
        f"{BASELINES}::test_no_two_laws_read_the_same_words",
    ),
    Mutant(
        "a null counts as what the data say",
        "dpfast/duff/_request.py",
        '!= "replace_one" else 0 if missing is None',
        '!= "replace_one" else column.rows % grid.size if missing is None',
        "tests/unit/test_quantile.py::test_nulls_are_dropped_or_counted",
    ),
    Mutant(
        "a command may leave a core file",
        "dpfast/cli/__init__.py",
        "    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))\n",
        "",
        "tests/unit/test_cli.py::test_no_core_file_is_left",
    ),
    Mutant(
        "the draft of a domain is open to others",
        "dpfast/cli/domain.py",
        "os.O_EXCL, 0o600)",
        "os.O_EXCL, 0o644)",
        "tests/unit/test_cli_plan.py",
    ),
    Mutant(
        "what arithmetic adds to joint quantiles is not taken from epsilon",
        "dpfast/duff/_joint_law.py",
        "spent = min(epsilon, Fraction(MOST_EPSILON)) - joint_slack(len(quantiles))",
        "spent = min(epsilon, Fraction(MOST_EPSILON))",
        "tests/exact/test_joint_quantiles.py::test_what_the_arithmetic_may_add_is_taken_from_epsilon",
    ),
    Mutant(
        "half of a key is published",
        "dpfast/randomness.py",
        'return hashlib.blake2b(self._key, digest_size=16, person=b"dpfast/print").hexdigest()',
        "return self._key[:16].hex()",
        "tests/unit/test_randomness.py::test_kinds",
    ),
    Mutant(
        "bits of a draw beyond those that were reserved",
        "dpfast/words.py",
        "self._left = 64 * n_draws",
        "self._left = 64 * n_draws + 64",
        "tests/unit/test_words.py::test_draws_stop_where_their_reservation_ends",
    ),
    Mutant(
        "a report that is published tells how long a job took",
        "dpfast/etl/report.py",
        '"rows": self.rows,',
        '"rows": self.rows, "seconds": self.seconds,',
        "tests/unit/test_jobs_papers.py::test_a_report_without_a_bound_is_still_json",
    ),
    Mutant(
        "a person with several rows pays for one edge",
        "dpfast/graph/sampling.py",
        "group_figure(epsilon, delta, rows)",
        "group_figure(epsilon, delta, 1)",
        "tests/unit/test_graph_extension.py::test_draws_by_shape_stream_and_ledger",
    ),
    Mutant(
        "words of a kernel are taken before they are paid for",
        "dpfast/kernels/rows.py",
        "stream.rows(column_name, mechanism.digest, 0)  #",
        "stream.rows(column_name, mechanism.digest, 1)  #",
        "tests/leaks/test_charges.py::test_a_refused_charge_draws_nothing_whoever_asks",
    ),
    Mutant(
        "a footer that ends the process",
        "dpfast/_parquet.py",
        "            self._check_chunks(names)\n",
        "",
        "tests/fuzz/test_fuzz.py::test_the_corpus_holds[sources]",
    ),
    Mutant(
        "a value outside a matrix counts as the last",
        "csrc/rows/stages.kernel.h",
        "x[j] < law->k ? (uint32_t)x[j] : law->k;",
        "x[j] < law->k ? (uint32_t)x[j] : law->k - 1;",
        "tests/exact/test_matrix_kernels.py::test_two_stages_are_the_rows_of_the_matrix[3-random-base]",
    ),
    Mutant(
        "the code behind the last is answered",
        "csrc/rows/stages.kernel.h",
        "UINT32_MAX : law->k - 1; /* the last",
        "UINT32_MAX : law->k; /* the last",
        "tests/exact/test_kernels.py::test_a_code_outside_the_domain_is_found_wherever_it_stands",
    ),
]
