"""Faults of words far out, of repeated words, and of what is short: memory, threads; see `faults.py`."""

from __future__ import annotations

from faults import Mutant

__all__ = ["MUTANTS"]

FAR = "tests/parity/test_far_rows.py"
OFFSETS = "tests/unit/test_far_offsets.py"
BATTERY = "tests/statistical/test_word_battery.py"

MUTANTS = [
    Mutant(
        "pending rows count in 32 bits",
        "csrc/rows/words.c",
        "store_be64(blocks + DPF_BLOCK_BYTES * i + 8, first + rows[i]);",
        "store_be64(blocks + DPF_BLOCK_BYTES * i + 8, (uint32_t)(first + rows[i]));",
        f"{FAR}::test_rows_of_the_second_stage_far_from_the_reader",
    ),
    Mutant(
        "joined rows begin again after 2^32",
        "dpfast/words.py",
        "core.row_blocks(self._first + start, blocks[:size])",
        "core.row_blocks((self._first + start) % (1 << 32), blocks[:size])",
        f"{FAR}::test_words_that_begin_far_are_the_reference",
    ),
    Mutant(
        "a segment of the keystream is repeated",
        "dpfast/words.py",
        "self._block += SEGMENT_BLOCKS - place",
        "self._block -= place",
        "tests/process/test_words_apart.py::test_no_block_of_many_streams_comes_twice",
    ),
    Mutant(
        "identifiers are not enciphered",
        "dpfast/words.py",
        "return self._words(_encipher(_block_mode(self._subkey), blocks))",
        "return self._words(blocks ^ np.resize(np.frombuffer(self._subkey, np.uint8), blocks.size))",
        f"{BATTERY}::test_words_as_laid_out_pass",
    ),
    Mutant(
        "without a thread its rows are left out",
        "dpfast/_threads.py",
        "            work()\n        wait(futures)",
        "            pass\n        wait(futures)",
        "tests/unit/test_threads.py::test_without_room_for_another_thread_the_caller_does_the_rest",
    ),
    Mutant(
        "a range of vertices beyond any length",
        "dpfast/graph/_labels.py",
        "range(min(n, VERTICES_MAX + 1))",
        "range(n)",
        f"{OFFSETS}::test_more_vertices_than_31_bits_are_refused",
    ),
    Mutant(
        "vertices wrap to 32 bits",
        "dpfast/duff/_edges.py",
        "if ends.size and (int(ends.min()) < 0 or int(ends.max()) >= n):",
        "ends = ends.astype(np.int32)\n    if ends.size and (int(ends.min()) < 0 or int(ends.max()) >= n):",
        f"{OFFSETS}::test_a_vertex_whose_low_bits_are_one_is_refused",
    ),
]
