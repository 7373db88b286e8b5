"""Faults of the work on a cluster; see `mutants.py`."""

from __future__ import annotations

from faults import Mutant

__all__ = ["MUTANTS"]

ARGUMENTS = "tests/unit/test_spark_arguments.py"

MUTANTS = [
    Mutant(
        "the bytes of a key travel in clear",
        "dpfast/etl/_spark_session.py",
        'if is_remote(spark) or str(spark.sparkContext.getConf().get(ENCRYPTION, "")).lower() != "true":',
        'if is_remote(spark) or _setting(spark, ENCRYPTION).lower() != "true":',
        f"{ARGUMENTS}::test_a_key_travels_as_bytes_only_where_spark_enciphers",
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
