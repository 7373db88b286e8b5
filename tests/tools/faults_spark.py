"""Faults of the work on a cluster; see `mutants.py`."""

from __future__ import annotations

from faults import Mutant

__all__ = ["MUTANTS"]

ARGUMENTS = "tests/unit/test_spark_arguments.py"
BRACKETS = "tests/unit/test_brackets.py"

MUTANTS = [
    Mutant(
        "a window ends at the bin before its last place",
        "dpfast/duff/brackets.py",
        "first.astype(np.int64), stop.astype(np.int64) - 1",
        "first.astype(np.int64), stop.astype(np.int64) - 2",
        f"{BRACKETS}::test_counts_give_the_answers_of_rows_in_memory",
    ),
    Mutant(
        "a place at the edge of two bins is looked for in the lower one",
        "dpfast/duff/brackets.py",
        'before + wanted - below, side="right")',
        'before + wanted - below, side="left")',
        f"{BRACKETS}::test_counts_give_the_answers_of_rows_in_memory",
    ),
    Mutant(
        "rows below a range are forgotten",
        "dpfast/duff/brackets.py",
        "below + self._upto[found] - before",
        "self._upto[found] - before",
        f"{BRACKETS}::test_what_comes_to_the_driver_is_bins_and_windows",
    ),
    Mutant(
        "rows that changed between passes are believed",
        "dpfast/duff/brackets.py",
        "((expected >= 0) & (self.totals != expected)).any()",
        "(self.totals < 0).any()",
        f"{BRACKETS}::test_rows_that_change_between_passes_end_in_one_error",
    ),
    Mutant(
        "the last batches of a partition are lost",
        "dpfast/etl/_spark_tasks.py",
        "            yield from together()\n    yield from together()\n",
        "            yield from together()\n",
        "tests/unit/test_spark_rows.py::test_batches_are_put_together_and_none_is_lost",
    ),
    Mutant(
        "a job on a cluster is charged by another name",
        "dpfast/etl/_spark_tasks.py",
        "stream if recipe.ids or source is None else stream.bind_source(source)",
        "stream",
        f"{ARGUMENTS}::test_tasks_give_the_file_of_one_machine",
    ),
    Mutant(
        "the bytes of a key travel in clear",
        "dpfast/etl/_spark_session.py",
        'if is_remote(spark) or str(spark.sparkContext.getConf().get(ENCRYPTION, "")).lower() != "true":',
        'if is_remote(spark) or _setting(spark, ENCRYPTION).lower() != "true":',
        f"{ARGUMENTS}::test_a_key_travels_as_bytes_only_where_spark_enciphers",
    ),
    Mutant(
        "a key that the driver can read travels with the tasks",
        "dpfast/etl/_spark_session.py",
        "    return Noise(path, context)\n",
        "    return Noise(resolve_key(path), context)\n",
        f"{ARGUMENTS}::test_a_task_holds_the_place_of_a_key_and_not_the_key",
    ),
    Mutant(
        "every piece begins with the noise of the first row",
        "dpfast/etl/_spark_parts.py",
        "stream(first_row=piece.start)",
        "stream(first_row=0)",
        f"{ARGUMENTS}::test_tasks_give_the_file_of_one_machine",
    ),
    Mutant(
        "metadata within a structure passes",
        "dpfast/etl/_spark_session.py",
        "StructType([StructField(one.name, _bare(one.dataType), one.nullable) for one in data_type.fields])",
        "StructType([StructField(one.name, one.dataType, one.nullable, one.metadata) for one in data_type.fields])",
        f"{ARGUMENTS}::test_metadata_stays_behind_at_any_depth",
    ),
    Mutant(
        "another policy on an executor goes unnoticed",
        "dpfast/etl/_spark_tasks.py",
        "if self.stream_version != STREAM_VERSION or self.digest != self.policy.digest:",
        "if self.stream_version != STREAM_VERSION:",
        f"{ARGUMENTS}::test_another_dpfast_on_an_executor_is_noticed",
    ),
    Mutant(
        "a file that changed since its digest is sanitised",
        "dpfast/etl/_spark_parts.py",
        "if _stamp(file.place.path) != (known.size, known.modified):",
        "if _stamp(file.place.path)[0] != known.size:",
        f"{ARGUMENTS}::test_tasks_give_the_file_of_one_machine",
    ),
    Mutant(
        "rows before those asked for are not skipped",
        "dpfast/_parquet.py",
        "skipped = max(0, only.start - start)",
        "skipped = 0",
        f"{ARGUMENTS}::test_some_rows_of_a_file_are_those_rows",
    ),
]
