"""Faults of jobs on files and folders, and of what is estimated from two releases; see `faults.py`."""

from __future__ import annotations

from faults import Mutant

__all__ = ["MUTANTS"]

FOLDERS = "tests/unit/test_folders.py"
RESUMED = "tests/unit/test_folders_resumed.py"
CRASHED = "tests/process/test_crash_folders.py"
APART = "tests/unit/test_jobs_apart.py"
PAPERS = "tests/unit/test_jobs_papers.py"
ENDS = "tests/unit/test_formats_ends.py"

MUTANTS = [
    Mutant(
        "two files share their noise",
        "dpfast/etl/_job.py",
        "self.stream.bind_source(self.digest + file.name.encode())",
        "self.stream.bind_source(self.digest)",
        f"{FOLDERS}::test_each_file_has_noise_of_its_own_addressed_by_name_and_row",
    ),
    Mutant(
        "any job that is finished is this one",
        "dpfast/etl/folders.py",
        'if job.name is not None and (_summary(place) or {}).get("job") == job.name:',
        "if job.name is not None:",
        f"{FOLDERS}::test_any_other_target_is_let_alone",
    ),
    Mutant(
        "a torn line counts",
        "dpfast/etl/_manifest.py",
        "lines.pop()  #",
        "lines[-1:] = [line for line in lines[-1:] if line]  #",
        f"{RESUMED}::test_a_torn_line_of_the_manifest_counts_for_nothing_and_a_damaged_one_is_said",
    ),
    Mutant(
        "what was not committed stays",
        "dpfast/etl/_manifest.py",
        "not in self.parts:\n                        path.unlink()",
        "not in self.parts:\n                        pass",
        f"{CRASHED}::test_two_kills_in_a_row",
    ),
    Mutant(
        "a changed source goes on",
        "dpfast/etl/folders.py",
        "if found.source != head.source:",
        "if len(found.source) != len(head.source):",
        f"{RESUMED}::test_a_source_that_was_changed_since_is_refused",
    ),
    Mutant(
        "a job that goes on is charged again",
        "dpfast/etl/folders.py",
        "job.charge(pay, bytes.fromhex(manifest.head.spend) or None)",
        "job.charge(pay)",
        f"{CRASHED}::test_committed_parts_of_a_fresh_job_are_never_drawn_again_and_one_charge_covers_it",
    ),
    Mutant(
        "an exchange that was interrupted is done again",
        "dpfast/etl/_publish.py",
        "return inode is not None and target.stat().st_ino == inode",
        "return False",
        f"{CRASHED}::test_a_kill_at_any_call_leaves_old_or_new_and_the_next_run_goes_on",
    ),
    Mutant(
        "unchanged rows count for nothing in the error of a change",
        "dpfast/change.py",
        "np.maximum(squares - sums**2 / n, 0.0) / (n * (n - 1))",
        "np.maximum(squares - sums**2 / n, 0.0) / (n * n)",
        "tests/exact/test_change.py",
    ),
    Mutant(
        "a folder's slashes lead out of the target",
        "dpfast/_sources/places.py",
        'path.removeprefix(base).lstrip("/")',
        'path.removeprefix(base).removeprefix("/")',
        f"{APART}::test_a_folder_is_the_same_however_it_is_spelt",
    ),
    Mutant(
        "a view of the source is another place",
        "dpfast/_sources/places.py",
        'return Place(path) if "file" in protocols else Place(path, filesystem)',
        "return Place(path, filesystem)",
        f"{APART}::test_no_view_of_a_source_is_a_target",
    ),
    Mutant(
        "an old target stands under the new certificate",
        "dpfast/etl/remote.py",
        "    rows.commit()  # refuses what it may not replace\n    paper.commit()",
        "    paper.commit()\n    rows.commit()",
        f"{PAPERS}::test_a_stopped_replacement_never_leaves_rows_under_the_certificate_of_others",
    ),
    Mutant(
        "a quote is closed by the end of the file",
        "dpfast/_sources/csv_file.py",
        "if last is None or last.column(0)[-1].as_py() != _END:",
        "if last is None:",
        f"{ENDS}::test_a_quote_that_is_never_closed_is_refused",
    ),
    Mutant(
        "all metadata may be kept",
        "dpfast/etl/_metadata.py",
        "if not name or name.lower().startswith(_OF_WRITERS):",
        "if not name:",
        "tests/unit/test_files_metadata.py::test_wrong_names_of_metadata",
    ),
    Mutant(
        "the hidden file of a living job is removed",
        "dpfast/etl/_hidden.py",
        "if _lock(descriptor) and _is_named(descriptor, path):",
        "if _is_named(descriptor, path):",
        "tests/unit/test_jobs_hidden.py::test_what_a_living_job_writes_stays",
    ),
    Mutant(
        "a job writes to a hidden file that another has removed",
        "dpfast/etl/_hidden.py",
        "if _lock(descriptor) is not False and _is_named(descriptor, name):",
        "if _lock(descriptor) is not False:",
        "tests/unit/test_jobs_hidden.py::test_a_file_that_is_being_removed_is_not_written_to",
    ),
    Mutant(
        "a committed part is known by its size alone",
        "dpfast/etl/_manifest.py",
        'or part.end not in ("", found.end):',
        "or False:",
        "tests/unit/test_folders_resumed.py::test_a_committed_part_that_was_touched_is_refused",
    ),
    Mutant(
        "indices are looked up without a question",
        "csrc/rows/remap.c",
        "beyond |= x[j] > last;",
        "beyond |= 0;",
        "tests/unit/test_binding.py::test_an_index_without_an_entry_is_refused_wherever_it_stands",
    ),
]
