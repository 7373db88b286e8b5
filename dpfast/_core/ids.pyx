# The binding of identifiers: their blocks, chained by CBC-MAC, and the words they end as.
# Checks lengths, releases the GIL, calls C. No algorithms.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from dpfast._core._need cimport need


cdef extern from "ids.h" nogil:
    void dpf_id_integer_blocks(const uint64_t *, int, uint8_t, const uint32_t *, size_t, uint8_t *) noexcept
    void dpf_id_bytes_first(const uint8_t *, const int64_t *, uint8_t, const uint32_t *, size_t, uint8_t *) noexcept
    size_t dpf_id_bytes_next(const uint8_t *, const int64_t *, size_t, const uint8_t *, const uint32_t *, size_t,
                             uint8_t *, uint32_t *) noexcept
    void dpf_blocks_scatter(const uint8_t *, const uint32_t *, size_t, uint8_t *) noexcept
    void dpf_block_words(const uint8_t *, size_t, uint64_t *) noexcept


def id_integer_blocks(const uint64_t[::1] ids not None, bint is_unsigned, uint8_t tag,
                      const uint32_t[::1] codes not None, uint8_t[::1] blocks not None):
    """First (and only) blocks of integer identifiers with their codes."""
    cdef size_t n = ids.shape[0]
    need(<size_t>codes.shape[0] >= n and <size_t>blocks.shape[0] >= 16 * n, "codes or blocks too short")
    if n:
        with nogil:
            dpf_id_integer_blocks(&ids[0], is_unsigned, tag, &codes[0], n, &blocks[0])


cdef int check_strings(const uint8_t[::1] data, const int64_t[::1] offsets) except -1:
    cdef Py_ssize_t i
    cdef Py_ssize_t n = offsets.shape[0]
    need(n >= 1 and offsets[0] >= 0 and offsets[n - 1] <= data.shape[0], "offsets lie outside the data")
    for i in range(n - 1):
        need(0 <= offsets[i + 1] - offsets[i] < 1 << 24, "an identifier is longer than 16 MiB, or offsets descend")
    return 0


def id_bytes_first(const uint8_t[::1] data not None, const int64_t[::1] offsets not None, uint8_t tag,
                   const uint32_t[::1] codes not None, uint8_t[::1] blocks not None):
    """First blocks of byte-string identifiers with their codes."""
    check_strings(data, offsets)
    cdef size_t n = offsets.shape[0] - 1
    need(<size_t>codes.shape[0] >= n and <size_t>blocks.shape[0] >= 16 * n, "codes or blocks too short")
    cdef const uint8_t *start = &data[0] if data.shape[0] else NULL
    if n:
        with nogil:
            dpf_id_bytes_first(start, &offsets[0], tag, &codes[0], n, &blocks[0])


def id_bytes_next(const uint8_t[::1] data not None, const int64_t[::1] offsets not None, size_t block,
                  const uint8_t[::1] state not None, const uint32_t[::1] active not None,
                  uint8_t[::1] blocks not None, uint32_t[::1] reached not None):
    """Chaining inputs of block `block` for the active rows that reach it; returns how many do."""
    need(offsets.shape[0] >= 1, "offsets lie outside the data")
    cdef size_t rows = offsets.shape[0] - 1
    cdef size_t n = active.shape[0]
    cdef size_t i
    cdef size_t count
    need(block >= 1 and <size_t>state.shape[0] >= 16 * rows and <size_t>blocks.shape[0] >= 16 * n
         and <size_t>reached.shape[0] >= n, "state, blocks or reached too short")
    # Only what is read: the rounds of one long identifier must not cost all rows each time.
    for i in range(n):
        need(active[i] < rows, "an active row lies outside the column")
        need(0 <= offsets[active[i]] <= offsets[active[i] + 1] <= data.shape[0], "offsets lie outside the data, or descend")
    if n == 0 or data.shape[0] == 0:
        return 0
    with nogil:
        count = dpf_id_bytes_next(&data[0], &offsets[0], block, &state[0], &active[0], n, &blocks[0], &reached[0])
    return count


def blocks_scatter(const uint8_t[::1] blocks not None, const uint32_t[::1] rows not None, uint8_t[::1] state not None):
    """state block rows[i] = block i."""
    cdef size_t n = rows.shape[0]
    cdef size_t size = state.shape[0] // 16
    cdef size_t i
    need(<size_t>blocks.shape[0] >= 16 * n, "blocks needs 16 bytes a row")
    for i in range(n):
        need(rows[i] < size, "a row lies outside the state")
    if n:
        with nogil:
            dpf_blocks_scatter(&blocks[0], &rows[0], n, &state[0])


def block_words(const uint8_t[::1] blocks not None, uint64_t[::1] words not None):
    """The first 8 bytes of each block as a little-endian word."""
    cdef size_t n = words.shape[0]
    need(<size_t>blocks.shape[0] >= 16 * n, "blocks needs 16 bytes a word")
    if n:
        with nogil:
            dpf_block_words(&blocks[0], n, &words[0])
