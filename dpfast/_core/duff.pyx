# The binding of Duff's weights and of the race: checks lengths, releases the GIL, calls C. No algorithms.
cimport cython
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint64_t

from dpfast._core._need cimport need


cdef extern from "weights.h" nogil:
    uint64_t dpf_weights_skip(uint64_t, uint64_t, uint64_t) noexcept
    uint64_t dpf_weights_fill(uint64_t, uint64_t, uint64_t *, size_t) noexcept


cdef extern from "race.h" nogil:
    ctypedef struct dpf_race_t:
        double best
        uint64_t *entries
        double *keys
        size_t count
        size_t capacity

    size_t dpf_race_masses(const int64_t *, const uint64_t *, const uint64_t *, size_t, uint64_t, dpf_race_t *) noexcept
    size_t dpf_race_logs(const double *, const uint64_t *, size_t, uint64_t, dpf_race_t *) noexcept
    void dpf_race_prune(dpf_race_t *) noexcept
    double dpf_exponential(uint64_t, double *) noexcept
    double dpf_ln(double) noexcept


cdef extern from "masses.h" nogil:
    void dpf_masses_total(const int64_t *, const uint64_t *, size_t, uint64_t *) noexcept
    size_t dpf_masses_find(const int64_t *, const uint64_t *, size_t, uint64_t, uint64_t *, const uint64_t *, size_t,
                           uint64_t *, uint64_t *) noexcept


cdef extern from "blocks.h" nogil:
    size_t DPF_BLOCK
    int dpf_blocks(const double *, size_t, double *, double *, int) noexcept

BLOCK = DPF_BLOCK


def weights_skip(uint64_t w, uint64_t decay, uint64_t steps):
    """The weight `steps` steps after w."""
    cdef uint64_t found
    with nogil:
        found = dpf_weights_skip(w, decay, steps)
    return found


def weights_fill(uint64_t w, uint64_t decay, uint64_t[::1] out not None):
    """Write the weights after w; the last of them is returned."""
    cdef size_t n = out.shape[0]
    cdef uint64_t last
    if n == 0:
        return w
    with nogil:
        last = dpf_weights_fill(w, decay, &out[0], n)
    return last


@cython.final
cdef class Race:
    """A race in progress: the least upper end of a key so far, and the candidates whose keys reach below it."""
    cdef dpf_race_t state

    def __cinit__(self, size_t capacity=64):
        need(0 < capacity <= 1 << 32, "room for no candidate, or for too many")
        self.state.best = INFINITY
        self.state.count = 0
        self.state.capacity = capacity
        self.state.entries = <uint64_t *>PyMem_RawMalloc(capacity * sizeof(uint64_t))
        self.state.keys = <double *>PyMem_RawMalloc(capacity * sizeof(double))
        if self.state.entries == NULL or self.state.keys == NULL:
            raise MemoryError("no memory for the candidates")

    def __dealloc__(self):
        PyMem_RawFree(self.state.entries)
        PyMem_RawFree(self.state.keys)

    cdef int grow(self) except -1:
        cdef size_t capacity = 2 * self.state.capacity
        cdef void *entries = PyMem_RawRealloc(self.state.entries, capacity * sizeof(uint64_t))
        if entries == NULL:
            raise MemoryError("no memory for the candidates")
        self.state.entries = <uint64_t *>entries
        cdef void *keys = PyMem_RawRealloc(self.state.keys, capacity * sizeof(double))
        if keys == NULL:
            raise MemoryError("no memory for the candidates")
        self.state.keys = <double *>keys
        self.state.capacity = capacity
        return 0

    def masses(self, const int64_t[::1] measures not None, const uint64_t[::1] weights not None,
               const uint64_t[::1] words not None, uint64_t base):
        """Enter entries base, base + 1, ... of mass measure * weight."""
        cdef size_t n = measures.shape[0], at = 0
        need(weights.shape[0] == measures.shape[0] == words.shape[0], "one weight and one word for each measure")
        while at < n:
            with nogil:
                at += dpf_race_masses(&measures[at], &weights[at], &words[at], n - at, base + at, &self.state)
            if at < n:
                self.grow()

    def logs(self, const double[::1] logs not None, const uint64_t[::1] words not None, uint64_t base):
        """Enter entries base, base + 1, ... of mass e^log."""
        cdef size_t n = logs.shape[0], at = 0
        need(words.shape[0] == logs.shape[0], "one word for each log")
        while at < n:
            with nogil:
                at += dpf_race_logs(&logs[at], &words[at], n - at, base + at, &self.state)
            if at < n:
                self.grow()

    def candidates(self):
        """The entries that can still have won, in order; those of no mass never are among them."""
        dpf_race_prune(&self.state)
        return [self.state.entries[i] for i in range(self.state.count)]


def masses_total(const int64_t[::1] measures not None, const uint64_t[::1] weights not None, total=0):
    """total + the sum of measure * weight; below 2^128."""
    cdef size_t n = measures.shape[0]
    cdef uint64_t parts[2]
    need(weights.shape[0] == measures.shape[0], "one weight for each measure")
    parts[0], parts[1] = total & 0xffffffffffffffff, total >> 64
    if n:
        with nogil:
            dpf_masses_total(&measures[0], &weights[0], n, parts)
    return (<object>parts[1] << 64) | parts[0]


def masses_find(const int64_t[::1] measures not None, const uint64_t[::1] weights not None, uint64_t base, before,
                const uint64_t[:, ::1] targets not None, uint64_t[::1] entries not None, uint64_t[:, ::1] rests not None):
    """Place ascending targets (low and high word) in the running sum, which is `before` at entry base.

    Returns how many were placed, and the sum after the last entry that was read.
    """
    cdef size_t n = measures.shape[0], n_targets = targets.shape[0], found
    cdef uint64_t parts[2]
    need(weights.shape[0] == measures.shape[0], "one weight for each measure")
    need(targets.shape[1] == rests.shape[1] == 2, "a target and its rest are two words")
    need(<size_t>entries.shape[0] == n_targets == <size_t>rests.shape[0], "one entry and one rest for each target")
    parts[0], parts[1] = before & 0xffffffffffffffff, before >> 64
    if n == 0 or n_targets == 0:
        return 0, before
    with nogil:
        found = dpf_masses_find(&measures[0], &weights[0], n, base, parts, &targets[0, 0], n_targets, &entries[0], &rests[0, 0])
    return found, (<object>parts[1] << 64) | parts[0]


def blocks(const double[::1] logs not None, double[::1] maxima not None, double[::1] sums not None,
           bint plain=False):
    """The largest log of each block, and a bound of its sum of powers; False where a log is NaN or plus infinity."""
    cdef size_t n = logs.shape[0], n_blocks = (n + DPF_BLOCK - 1) // DPF_BLOCK
    cdef int status
    need(<size_t>maxima.shape[0] == n_blocks == <size_t>sums.shape[0], "one maximum and one sum for each block")
    if n == 0:
        return True
    with nogil:
        status = dpf_blocks(&logs[0], n, &maxima[0], &sums[0], plain)
    return status == 0


def ln(double x):
    """The natural logarithm that keys are made of; x is normal and positive."""
    need(2.2250738585072014e-308 <= x < INFINITY, "the logarithm of no normal number")
    return dpf_ln(x)


def exponential(uint64_t word):
    """The exponential variate at the middle of a word's interval, and by which part of itself others there differ from it."""
    cdef double spread
    cdef double middle = dpf_exponential(word, &spread)
    return middle, spread
