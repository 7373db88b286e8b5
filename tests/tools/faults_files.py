"""The faults of sources and formats; see `faults.py`."""

from __future__ import annotations

from faults import Mutant

__all__ = ["MUTANTS"]

MUTANTS = [
    Mutant(
        "NA is read as null",
        "dpfast/_sources/csv_file.py",
        'null_values=[""]',
        'null_values=["", "NA"]',
        "tests/unit/test_formats.py::test_only_the_empty_field_is_null",
    ),
    Mutant(
        "values stay under the nulls of an Arrow file",
        "dpfast/_schema.py",
        "    if column.null_count:\n",
        "    if False:\n",
        "tests/unit/test_formats_leaks.py::test_nothing_is_left_under_nulls",
    ),
    Mutant(
        "hidden files are data",
        "dpfast/_sources/names.py",
        'part.startswith(".") or',
        'part.startswith("..") or',
        "tests/unit/test_sources.py::test_a_folder_is_read_to_its_depths_but_for_what_is_no_data",
    ),
    Mutant(
        "a remote target need not arrive whole",
        "dpfast/etl/remote.py",
        "if arrived != size:",
        "if arrived is None:",
        "tests/unit/test_sources.py::test_what_does_not_arrive_whole_is_taken_away",
    ),
    Mutant(
        "a stream of Arrow may end anywhere",
        "dpfast/_sources/ipc_file.py",
        "if self._file.read(len(END)) != END:",
        "if not self._file.size():",
        "tests/unit/test_formats_arrow.py::test_a_stream_without_its_end_is_cut",
    ),
    Mutant(
        "the table of a dictionary outlives it",
        "dpfast/columns/arrow.py",
        " and dictionary.equals(latest[0]):",
        " and len(dictionary) == len(latest[0]):",
        "tests/unit/test_formats_arrow.py::test_dictionaries_that_change_from_batch_to_batch",
    ),
]
