# The binding of laws and of words by row: converts arguments, checks lengths, releases the GIL, calls C. No algorithms.
# Status codes become errors in `check`, after the GIL is back.
import os

cimport cython
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from dpfast._core._need cimport need
from dpfast.errors import ArgumentError, CorruptDataError, OutsideDomainError


cdef extern from "dpf.h" nogil:
    int DPF_OK
    int DPF_EDOMAIN
    int DPF_ECORRUPT


cdef extern from "kernels.h" nogil:
    ctypedef struct dpf_pending_t:
        uint32_t *rows
        uint32_t *trues
        uint16_t *highs
        size_t count

    ctypedef struct dpf_kernels_t:
        int (*first[3])(const void *, const uint16_t *, void *, size_t, uint32_t, const void *, dpf_pending_t *) noexcept nogil
        void (*settle[3])(const dpf_pending_t *, const uint8_t *, void *, const void *) noexcept nogil
        int (*whole[3])(const void *, const uint64_t *, void *, size_t, const void *) noexcept nogil

    uint32_t DPF_SPLIT_MAX


cdef extern from "response.h" nogil:
    ctypedef struct dpf_response_t:
        uint32_t uniform

    int dpf_response_prepare(uint32_t k, uint64_t step, int uniform, int accept_unknown, dpf_response_t *law) noexcept


cdef extern from "matrix.h" nogil:
    ctypedef struct dpf_matrix_t:
        uint32_t k
        uint32_t accept_unknown
        const uint64_t *tops
        const uint32_t *guide

    uint32_t DPF_MATRIX_MAX
    uint32_t DPF_GUIDE_SIZE
    int dpf_matrix_guide(const uint64_t *tops, uint32_t k, uint32_t first, uint32_t *guide) noexcept


cdef extern from "isa.h" nogil:
    ctypedef struct dpf_isa_t:
        const char *name
        int (*supported)() noexcept nogil
        const dpf_kernels_t *response
        const dpf_kernels_t *matrix

    const dpf_isa_t *dpf_isa_at(size_t i) noexcept
    int dpf_isa_select(const char *name) noexcept
    const dpf_isa_t *dpf_isa_current() noexcept
    int dpf_has_vector_aes() noexcept


cdef extern from "words.h" nogil:
    void dpf_counter_blocks(uint64_t, uint64_t, const uint32_t *, size_t, uint8_t *) noexcept
    void dpf_row_blocks(uint64_t, uint64_t, size_t, uint8_t *) noexcept
    void dpf_join_words(const uint16_t *, const uint8_t *, size_t, uint64_t *) noexcept


cdef extern from "remap.h" nogil:
    int dpf_remap(const void *, size_t, const uint8_t *, size_t, const void *, size_t, size_t, uint32_t, void *,
                  size_t) noexcept


cdef extern from "popcount.h" nogil:
    size_t dpf_count_ones(const uint8_t *, uint64_t, uint64_t, const int64_t *, size_t, uint64_t, int64_t *) noexcept


@cython.final
cdef class _Span:
    """A borrowed contiguous buffer of any unsigned integer type. (A fused signature would cost microseconds a call.)"""
    cdef Py_buffer view
    cdef size_t size
    cdef size_t width

    def __cinit__(self, owner, bint writable=False):
        PyObject_GetBuffer(owner, &self.view, (PyBUF_WRITABLE if writable else 0) | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
        kind = self.view.format if self.view.format != NULL else b"B"
        need(kind in (b"B", b"H", b"I", b"L", b"Q") and self.view.itemsize > 0,
             "codes and indices are native unsigned integers")
        self.width = self.view.itemsize
        self.size = self.view.len // self.width

    def __dealloc__(self):
        PyBuffer_Release(&self.view)

    cdef int code(self) except -1:
        """Number of the code width: 0, 1 or 2 for 8, 16 or 32 bits."""
        need(self.width <= 4, "codes have 8, 16 or 32 bits")
        return self.width >> 1

    cdef int code_of(self, uint32_t k) except -1:
        """Number of the code width, which must hold k categories."""
        cdef int width = self.code()
        need(self.width == 4 or k <= <uint32_t>1 << 8 * self.width, "these codes are too narrow for the law")
        return width


SPLIT_MAX = DPF_SPLIT_MAX
MATRIX_MAX = DPF_MATRIX_MAX
GUIDE_SIZE = DPF_GUIDE_SIZE


cdef int check(int status) except -1:
    if status == DPF_OK:
        return 0
    if status == DPF_EDOMAIN:
        raise OutsideDomainError("a code is outside the domain")
    if status == DPF_ECORRUPT:
        raise CorruptDataError("a dictionary index points outside its dictionary")
    raise ArgumentError("these integers are not a law")


def isas():
    """Names of the SIMD targets that this processor supports, from plainest to widest."""
    names = []
    cdef size_t i = 0
    while dpf_isa_at(i) != NULL:
        if dpf_isa_at(i).supported():
            names.append(dpf_isa_at(i).name.decode())
        i += 1
    return names


def isa():
    """Name of the SIMD target in use."""
    return dpf_isa_current().name.decode()


def set_isa(name):
    """Use the named SIMD target; None takes the widest supported one."""
    if name is None:
        check(dpf_isa_select(NULL))
        return
    if name not in isas():
        raise ArgumentError(f"SIMD target {name!r} is unknown or not supported here; choose one of {', '.join(isas())}")
    encoded = name.encode()
    check(dpf_isa_select(encoded))


def has_vector_aes():
    """Whether this processor enciphers several AES blocks in one instruction."""
    return bool(dpf_has_vector_aes())


@cython.final
cdef class Pending:
    """Cells that the first stage leaves to the low bits: their rows, true codes and high words."""
    cdef dpf_pending_t listed
    cdef readonly size_t capacity

    def __cinit__(self, size_t capacity):
        need(0 < capacity <= 1 << 32, "room for no cell, or for too many")
        self.capacity = capacity
        self.listed.rows = <uint32_t *>PyMem_RawMalloc(capacity * sizeof(uint32_t))
        self.listed.trues = <uint32_t *>PyMem_RawMalloc(capacity * sizeof(uint32_t))
        self.listed.highs = <uint16_t *>PyMem_RawMalloc(capacity * sizeof(uint16_t))
        if self.listed.rows == NULL or self.listed.trues == NULL or self.listed.highs == NULL:
            raise MemoryError("no memory for the pending cells")

    def __dealloc__(self):
        PyMem_RawFree(self.listed.rows)
        PyMem_RawFree(self.listed.trues)
        PyMem_RawFree(self.listed.highs)

    def __len__(self):
        return self.listed.count

    def cells(self):
        """(row, true code, high word) of each cell."""
        return [(self.listed.rows[i], self.listed.trues[i], self.listed.highs[i]) for i in range(self.listed.count)]

    def add(self, uint32_t row, uint32_t true, uint16_t high):
        """List a cell."""
        need(self.listed.count < self.capacity, "no room for pending rows")
        self.listed.rows[self.listed.count] = row
        self.listed.trues[self.listed.count] = true
        self.listed.highs[self.listed.count] = high
        self.listed.count += 1

    def clear(self):
        """Forget the cells."""
        self.listed.count = 0

    def counter_blocks(self, uint64_t first, uint8_t[::1] blocks not None):
        """Counter blocks of plane 1 for the cells of a column whose row 0 is row `first` of the stream."""
        need(<size_t>blocks.shape[0] >= 16 * self.listed.count, "blocks needs 16 bytes a cell")
        if self.listed.count:
            with nogil:
                dpf_counter_blocks(1, first, self.listed.rows, self.listed.count, &blocks[0])


cdef class Law:
    """What the laws have in common: two stages for up to SPLIT_MAX categories, and whole words."""
    cdef const void *law
    cdef uint32_t size
    cdef readonly bint accept_unknown

    cdef const dpf_kernels_t *kernels(self) noexcept:
        return NULL

    @property
    def k(self):
        """Number of categories."""
        return self.size

    @property
    def split(self):
        """Whether cells are decided in two stages, `first` and `settle`; otherwise from `whole` words."""
        return self.size <= DPF_SPLIT_MAX

    def first(self, codes, high, out, Pending pending not None, uint32_t base):
        """First stage of rows base, base + 1, ... of a column; the cells that stay open are added to `pending`."""
        cdef _Span source = _Span(codes)
        cdef _Span words = _Span(high)
        cdef _Span target = _Span(out, True)
        cdef size_t n = source.size
        cdef int width = source.code_of(self.size)
        cdef int status
        need(self.size <= DPF_SPLIT_MAX, "this law is decided from whole words")
        need(words.width == 2 and words.size >= n and target.width == source.width and target.size >= n,
             "high and out need as many elements as codes, high of 16 bits, out of the type of codes")
        need(n <= pending.capacity - pending.listed.count and n <= <uint64_t>(1 << 32) - base, "no room for pending rows")
        if n == 0:
            return
        cdef const dpf_kernels_t *kernels = self.kernels()
        need(kernels != NULL, "these integers are not a law")
        with nogil:
            status = kernels.first[width](source.view.buf, <const uint16_t *>words.view.buf, target.view.buf, n, base,
                                          self.law, &pending.listed)
        check(status)

    def settle(self, Pending pending not None, const uint8_t[::1] low not None, out):
        """Second stage: the pending cells of the column `out`, from 16 bytes of `low` each."""
        cdef _Span target = _Span(out, True)
        cdef int width = target.code_of(self.size)
        cdef size_t i
        need(<size_t>low.shape[0] >= 16 * pending.listed.count, "low is too short")
        for i in range(pending.listed.count):
            need(pending.listed.rows[i] < target.size, "a pending row lies outside the column")
            need(pending.listed.trues[i] < self.size or self.accept_unknown, "a pending code lies outside the domain")
        if pending.listed.count == 0:
            return
        cdef const dpf_kernels_t *kernels = self.kernels()
        need(kernels != NULL, "these integers are not a law")
        with nogil:
            kernels.settle[width](&pending.listed, &low[0], target.view.buf, self.law)

    def whole(self, codes, const uint64_t[::1] words not None, out):
        """The law from whole 64-bit words."""
        cdef _Span source = _Span(codes)
        cdef _Span target = _Span(out, True)
        cdef size_t n = source.size
        cdef int width = source.code_of(self.size)
        cdef int status
        need(target.width == source.width and target.size >= n and <size_t>words.shape[0] >= n,
             "words and out need as many elements as codes, and out its type")
        if n == 0:
            return
        cdef const dpf_kernels_t *kernels = self.kernels()
        need(kernels != NULL, "these integers are not a law")
        with nogil:
            status = kernels.whole[width](source.view.buf, &words[0], target.view.buf, n, self.law)
        check(status)


@cython.final
cdef class ResponseLaw(Law):
    """The k-ary response law of `k` categories with `step` words each, or the uniform table."""
    cdef dpf_response_t prepared
    cdef readonly object step
    cdef readonly bint uniform

    def __init__(self, k, step, uniform, accept_unknown):
        need(0 < k <= 1 << 31 and 0 <= step < 1 << 64, "these integers are not a law")
        check(dpf_response_prepare(k, step, uniform, accept_unknown, &self.prepared))
        self.law = &self.prepared
        self.size = k
        self.step = step
        self.uniform = self.prepared.uniform
        self.accept_unknown = accept_unknown

    cdef const dpf_kernels_t *kernels(self) noexcept:
        return dpf_isa_current().response if self.law != NULL else NULL

    def __reduce__(self):
        return ResponseLaw, (self.size, self.step, self.uniform, self.accept_unknown)


@cython.final
cdef class MatrixLaw(Law):
    """The law of a matrix: `tops[i, x]` is the last word of category x in row i; `firsts[i]` the first that owns a word.

    One row for each category, and one more, for codes outside the domain, where these are accepted. `guide` is room for
    GUIDE_SIZE entries a row, filled here and kept. (numpy's large arrays lie in huge pages, which random access needs.)
    """
    cdef dpf_matrix_t prepared
    cdef const uint64_t[:, ::1] tops
    cdef const uint32_t[::1] firsts
    cdef uint32_t[::1] guide

    def __init__(self, const uint64_t[:, ::1] tops not None, const uint32_t[::1] firsts not None,
                 uint32_t[::1] guide not None, bint accept_unknown):
        cdef size_t k = tops.shape[1]
        cdef size_t rows = tops.shape[0]
        cdef size_t i
        need(0 < k <= DPF_MATRIX_MAX and rows == k + accept_unknown and <size_t>firsts.shape[0] == rows,
             "tops has k columns, and a row for each category and perhaps for codes outside the domain")
        need(<size_t>guide.shape[0] >= rows * DPF_GUIDE_SIZE, "the guide is too small")
        for i in range(rows):
            check(dpf_matrix_guide(&tops[i, 0], k, firsts[i], &guide[i * DPF_GUIDE_SIZE]))
        self.tops, self.firsts, self.guide = tops, firsts, guide
        self.prepared.k = k
        self.prepared.accept_unknown = accept_unknown
        self.prepared.tops = &tops[0, 0]
        self.prepared.guide = &guide[0]
        self.law = &self.prepared
        self.size = k
        self.accept_unknown = accept_unknown

    cdef const dpf_kernels_t *kernels(self) noexcept:
        return dpf_isa_current().matrix if self.law != NULL else NULL

    def __reduce__(self):
        return MatrixLaw, (self.tops.base, self.firsts.base, self.guide.base, self.accept_unknown)


def row_blocks(uint64_t first, uint8_t[::1] blocks not None):
    """Counter blocks of plane 1 for consecutive rows from `first` on."""
    cdef size_t n = blocks.shape[0] // 16
    if n:
        with nogil:
            dpf_row_blocks(1, first, n, &blocks[0])


def join_words(const uint16_t[::1] high not None, const uint8_t[::1] blocks not None, uint64_t[::1] words not None):
    """The words whose 16 high bits are `high`, and whose low ones are in the enciphered blocks."""
    cdef size_t n = words.shape[0]
    need(<size_t>high.shape[0] == n and <size_t>blocks.shape[0] >= 16 * n, "high needs a cell a word, blocks 16 bytes")
    if n:
        with nogil:
            dpf_join_words(&high[0], &blocks[0], n, &words[0])


def remap(indices, const uint8_t[::1] validity, size_t offset, table, uint32_t null_code, out):
    """out = table[indices], null_code where the validity bitmap (None: no nulls) is 0."""
    cdef _Span source = _Span(indices)
    cdef _Span entries = _Span(table)
    cdef _Span target = _Span(out, True)
    cdef size_t n = source.size
    cdef const uint8_t *bits = NULL
    cdef int status
    need(target.width == entries.width <= 4 and target.size >= n,
         "out needs as many elements as indices, and the type of table")
    if n == 0:
        return
    if validity is not None:
        need(n <= <size_t>validity.shape[0] * 8 and offset <= <size_t>validity.shape[0] * 8 - n,
             "the validity bitmap is too short")
        bits = &validity[0]
    with nogil:
        status = dpf_remap(source.view.buf, source.width, bits, offset, entries.view.buf, entries.width, entries.size,
                           null_code, target.view.buf, n)
    check(status)


def count_ones(const uint8_t[::1] bits not None, uint64_t first, uint64_t size, const int64_t[::1] lengths not None, size_t run,
               uint64_t skip, int64_t[::1] ones not None):
    """Add to `ones` the one bits of the runs from `run` on, without its first `skip` bits, as far as the `size` bits from
    `first` on reach; returns the run that is not counted to its end."""
    cdef size_t n = lengths.shape[0]
    cdef uint64_t room = 8 * <uint64_t>bits.shape[0]
    need(<size_t>ones.shape[0] >= n and first <= room and size <= room - first, "ones or bits too short")
    need(run <= n and (skip == 0 or (run < n and lengths[run] >= 0 and skip <= <uint64_t>lengths[run])), "there is no such run")
    cdef const uint8_t *start = &bits[0] if bits.shape[0] else NULL
    if run < n:
        with nogil:
            run += dpf_count_ones(start, first, size, &lengths[run], n - run, skip, &ones[run])
    return run


set_isa(os.environ.get("DPFAST_ISA") or None)
